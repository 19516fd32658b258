#include "telemetry/gpu_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Brand words, which do not identify the chip. */
static const char *const trade_words[] = {"nvidia",      "amd",      "ati",      "tesla",      "geforce", "quadro",
                                          "grid",        "instinct", "pro",      "corp",       "tm",      "gpu",
                                          "corporation", "inc",      "graphics", "generation", "device"};
/* From these words on, the name is about the board, not the chip. */
static const char *const board_words[] = {"sxm", "pcie", "pci", "hbm", "nvl", "oam", "mig", "ms"};

static bool is_one_of(const char *word, const char *const *words, size_t count, bool prefix)
{
    for (size_t i = 0; i < count; i++)
        if (prefix ? strncmp(word, words[i], strlen(words[i])) == 0 : strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static bool is_size(const char *word)
{
    const size_t digits = strspn(word, "0123456789");
    return digits > 0 && (strcmp(word + digits, "gb") == 0 || strcmp(word + digits, "g") == 0);
}

/* The next word in lower case; false at the end. */
static bool next_word(const char **at, char word[ADL_NAME_SIZE])
{
    size_t length = 0;
    const char *p = *at + strspn(*at, " -_()[],");
    for (; *p && !strchr(" -_()[],/", *p); p++) {
        const char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        if (((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) && length < ADL_NAME_SIZE - 1)
            word[length++] = c;
    }
    word[length] = '\0';
    *at = p;
    return length > 0 || (*p && *p != '/');
}

/* Boards of one chip that differ in speed or power, by the word after the chip's name. */
static const struct {
    const char *chip, *word, *name;
} boards[] = {
    {"v100", "sxm2", "v100-sxm2"}, {"v100", "sxm3", "v100-sxm2"}, {"h100", "sxm5", "h100-sxm5"},
    {"h100", "hbm3", "h100-sxm5"}, {"h100", "nvl", "h100-nvl"},
};

static const char *board_name(const char *chip, const char *word)
{
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (strcmp(boards[i].chip, chip) == 0 && strcmp(boards[i].word, word) == 0)
            return boards[i].name;
    return NULL;
}

/* "1g.5gb": a slice of a GPU. */
static bool is_slice(const char *at)
{
    const size_t slices = strspn(at, "1234567");
    if (slices != 1 || at[1] != 'g' || at[2] != '.')
        return false;
    const size_t digits = strspn(at + 3, "0123456789");
    return digits > 0 && digits <= 3 && strncmp(at + 3 + digits, "gb", 2) == 0;
}

/* "MIG 1g.5gb" or "_1g.5gb" anywhere in the model's name; NULL if it is a whole GPU. */
static const char *find_slice(const char *model)
{
    for (const char *at = model; *at; at++)
        if (is_slice(at) && (at == model || strchr(" -_.", at[-1])))
            return at;
    return NULL;
}

/* Names by which the chips are sold, where the words alone do not give the one in use. */
static void apply_habit(char name[ADL_NAME_SIZE], bool radeon)
{
    if (radeon && strcmp(name, "vii") == 0)
        snprintf(name, ADL_NAME_SIZE, "radeon-vii");
    else if (strncmp(name, "rtxa", 4) == 0 && name[4] >= '0' && name[4] <= '9') /* "RTX A6000" */
        memmove(name, name + 3, strlen(name + 3) + 1);
}

const char *adl_gpu_name_shorten(const char *model, char ret[ADL_NAME_SIZE])
{
    char word[ADL_NAME_SIZE], name[ADL_NAME_SIZE] = "";
    const char *at = model, *slice = find_slice(model), *board = NULL;
    bool radeon = false, ended = false;
    while (next_word(&at, word) && !(slice && at > slice)) {
        radeon = radeon || strcmp(word, "radeon") == 0;
        if (strcmp(word, "radeon") == 0 ||
            is_one_of(word, trade_words, sizeof trade_words / sizeof *trade_words, false))
            continue;
        ended = ended || (name[0] && (is_size(word) ||
                                      is_one_of(word, board_words, sizeof board_words / sizeof *board_words, true)));
        if (ended) {
            board = board ? board : board_name(name, word);
            continue;
        }
        const size_t used = strlen(name);
        snprintf(name + used, sizeof name - used, "%s", word);
    }
    apply_habit(name, radeon);
    if (slice && name[0])
        snprintf(ret, ADL_NAME_SIZE, "%.30s-%.*s", name, (int)strspn(slice, "0123456789g.b"), slice);
    else
        snprintf(ret, ADL_NAME_SIZE, "%s", board ? board : name[0] ? name : "unknown");
    return ret;
}

const char *adl_gpu_name_amd(uint32_t pci_device, int64_t memory_mib)
{
    static const struct {
        uint32_t device;
        const char *name;
    } known[] = {
        {0x6860, "Radeon Instinct MI25"}, {0x66af, "Radeon VII"},          {0x738c, "AMD Instinct MI100"},
        {0x738e, "AMD Instinct MI100"},   {0x7408, "AMD Instinct MI250X"}, {0x740c, "AMD Instinct MI250X / MI250"},
        {0x740f, "AMD Instinct MI210"},   {0x74a0, "AMD Instinct MI300A"}, {0x74a1, "AMD Instinct MI300X"},
        {0x74b5, "AMD Instinct MI300X"},  {0x74a5, "AMD Instinct MI325X"}, {0x6861, "Radeon Pro WX 9100"},
        {0x73df, "Radeon RX 6700 XT"},    {0x744c, "Radeon RX 7900 XTX"},
    };
    if (pci_device == 0x66a0 || pci_device == 0x66a1)
        return memory_mib > 24576 ? "Radeon Instinct MI60" : "Radeon Instinct MI50";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].device == pci_device)
            return known[i].name;
    return NULL;
}

static bool read_hex(const char **at, char after, unsigned long max, unsigned long *ret)
{
    char *end;
    if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
        return false;
    *ret = strtoul(*at, &end, 16);
    if (*ret > max || *end != after)
        return false;
    *at = after ? end + 1 : end;
    return true;
}

bool adl_pci_normalize(const char *text, char ret[ADL_PCI_SIZE])
{
    unsigned long domain, bus, device, function;
    if (!read_hex(&text, ':', 0xffffffff, &domain) || !read_hex(&text, ':', 0xff, &bus) ||
        !read_hex(&text, '.', 0x1f, &device) || !read_hex(&text, '\0', 7, &function))
        return false;
    snprintf(ret, ADL_PCI_SIZE, "%04lx:%02lx:%02lx.%lx", domain, bus, device, function);
    return true;
}
