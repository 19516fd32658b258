#include "cli/client/sbatch.h"

#include "base/range.h"
#include "base/suggest.h"
#include "cli/begin.h"
#include "cli/client/dependency.h"
#include "cli/quantity.h"
#include "jobs/warn_signal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum key {
    KEY_NAME,
    KEY_OUTPUT,
    KEY_ERROR,
    KEY_CHDIR,
    KEY_ARRAY,
    KEY_EXPORT,
    KEY_TIME,
    KEY_CPUS_PER_TASK,
    KEY_CPUS_PER_GPU,
    KEY_MEM,
    KEY_MEM_PER_CPU,
    KEY_MEM_PER_GPU,
    KEY_GRES,
    KEY_GPUS,
    KEY_ONE, /* nodes, tasks: only 1 is possible */
    KEY_DEPENDENCY,
    KEY_BEGIN,
    KEY_SIGNAL,
    KEY_HOLD,
    KEY_REQUEUE,
    KEY_NO_REQUEUE,
    KEY_CHECKPOINT,
    KEY_CHECKPOINT_ON_STOP,
    KEY_NONE, /* Slurm's, ignored here */
};

enum takes { TAKES_NOTHING, TAKES_VALUE, TAKES_MAYBE };

static const struct row {
    const char *name;
    char letter;
    uint8_t key;
    uint8_t takes;
} rows[] = {
    {"job-name", 'J', KEY_NAME, TAKES_VALUE},
    {"output", 'o', KEY_OUTPUT, TAKES_VALUE},
    {"error", 'e', KEY_ERROR, TAKES_VALUE},
    {"chdir", 'D', KEY_CHDIR, TAKES_VALUE},
    {"workdir", 0, KEY_CHDIR, TAKES_VALUE},
    {"array", 'a', KEY_ARRAY, TAKES_VALUE},
    {"export", 0, KEY_EXPORT, TAKES_VALUE},
    {"time", 't', KEY_TIME, TAKES_VALUE},
    {"cpus-per-task", 'c', KEY_CPUS_PER_TASK, TAKES_VALUE},
    {"cpus-per-gpu", 0, KEY_CPUS_PER_GPU, TAKES_VALUE},
    {"mem", 0, KEY_MEM, TAKES_VALUE},
    {"mem-per-cpu", 0, KEY_MEM_PER_CPU, TAKES_VALUE},
    {"mem-per-gpu", 0, KEY_MEM_PER_GPU, TAKES_VALUE},
    {"gres", 0, KEY_GRES, TAKES_VALUE},
    {"gpus", 'G', KEY_GPUS, TAKES_VALUE},
    {"gpus-per-node", 0, KEY_GPUS, TAKES_VALUE},
    {"gpus-per-task", 0, KEY_GPUS, TAKES_VALUE},
    {"nodes", 'N', KEY_ONE, TAKES_VALUE},
    {"ntasks", 'n', KEY_ONE, TAKES_VALUE},
    {"ntasks-per-node", 0, KEY_ONE, TAKES_VALUE},
    {"dependency", 'd', KEY_DEPENDENCY, TAKES_VALUE},
    {"hold", 'H', KEY_HOLD, TAKES_NOTHING},
    {"requeue", 0, KEY_REQUEUE, TAKES_NOTHING},
    {"no-requeue", 0, KEY_NO_REQUEUE, TAKES_NOTHING},
    {"checkpoint", 0, KEY_CHECKPOINT, TAKES_VALUE},
    {"checkpoint-every", 0, KEY_CHECKPOINT, TAKES_VALUE},
    {"checkpoint-on-stop", 0, KEY_CHECKPOINT_ON_STOP, TAKES_NOTHING},
    {"partition", 'p', KEY_NONE, TAKES_VALUE},
    {"account", 'A', KEY_NONE, TAKES_VALUE},
    {"qos", 'q', KEY_NONE, TAKES_VALUE},
    {"mail-type", 0, KEY_NONE, TAKES_VALUE},
    {"mail-user", 0, KEY_NONE, TAKES_VALUE},
    {"comment", 0, KEY_NONE, TAKES_VALUE},
    {"constraint", 'C', KEY_NONE, TAKES_VALUE},
    {"begin", 'b', KEY_BEGIN, TAKES_VALUE},
    {"deadline", 0, KEY_NONE, TAKES_VALUE},
    {"priority", 0, KEY_NONE, TAKES_VALUE},
    {"nice", 0, KEY_NONE, TAKES_MAYBE},
    {"nodelist", 'w', KEY_NONE, TAKES_VALUE},
    {"exclude", 'x', KEY_NONE, TAKES_VALUE},
    {"exclusive", 0, KEY_NONE, TAKES_MAYBE},
    {"oversubscribe", 's', KEY_NONE, TAKES_NOTHING},
    {"overcommit", 'O', KEY_NONE, TAKES_NOTHING},
    {"reservation", 0, KEY_NONE, TAKES_VALUE},
    {"licenses", 'L', KEY_NONE, TAKES_VALUE},
    {"clusters", 'M', KEY_NONE, TAKES_VALUE},
    {"wckey", 0, KEY_NONE, TAKES_VALUE},
    {"get-user-env", 0, KEY_NONE, TAKES_MAYBE},
    {"export-file", 0, KEY_NONE, TAKES_VALUE},
    {"open-mode", 0, KEY_NONE, TAKES_VALUE},
    {"input", 'i', KEY_NONE, TAKES_VALUE},
    {"signal", 0, KEY_SIGNAL, TAKES_VALUE},
    {"verbose", 'v', KEY_NONE, TAKES_NOTHING},
    {"quiet", 'Q', KEY_NONE, TAKES_NOTHING},
    {"parsable", 0, KEY_NONE, TAKES_NOTHING},
    {"wait", 'W', KEY_NONE, TAKES_NOTHING},
    {"wait-all-nodes", 0, KEY_NONE, TAKES_VALUE},
    {"no-kill", 'k', KEY_NONE, TAKES_MAYBE},
    {"gpus-per-socket", 0, KEY_NONE, TAKES_VALUE},
    {"ntasks-per-gpu", 0, KEY_NONE, TAKES_VALUE},
    {"ntasks-per-core", 0, KEY_NONE, TAKES_VALUE},
    {"ntasks-per-socket", 0, KEY_NONE, TAKES_VALUE},
    {"gpu-bind", 0, KEY_NONE, TAKES_VALUE},
    {"gpu-freq", 0, KEY_NONE, TAKES_VALUE},
    {"gres-flags", 0, KEY_NONE, TAKES_VALUE},
    {"cpu-freq", 0, KEY_NONE, TAKES_VALUE},
    {"mem-bind", 0, KEY_NONE, TAKES_VALUE},
    {"hint", 0, KEY_NONE, TAKES_VALUE},
    {"distribution", 'm', KEY_NONE, TAKES_VALUE},
    {"mincpus", 0, KEY_NONE, TAKES_VALUE},
    {"cores-per-socket", 0, KEY_NONE, TAKES_VALUE},
    {"sockets-per-node", 0, KEY_NONE, TAKES_VALUE},
    {"threads-per-core", 0, KEY_NONE, TAKES_VALUE},
    {"core-spec", 'S', KEY_NONE, TAKES_VALUE},
    {"contiguous", 0, KEY_NONE, TAKES_NOTHING},
    {"spread-job", 0, KEY_NONE, TAKES_NOTHING},
    {"use-min-nodes", 0, KEY_NONE, TAKES_NOTHING},
    {"propagate", 0, KEY_NONE, TAKES_MAYBE},
    {"switches", 0, KEY_NONE, TAKES_VALUE},
    {"time-min", 0, KEY_NONE, TAKES_VALUE},
    {"tmp", 0, KEY_NONE, TAKES_VALUE},
    {"profile", 0, KEY_NONE, TAKES_VALUE},
    {"acctg-freq", 0, KEY_NONE, TAKES_VALUE},
    {"kill-on-invalid-dep", 0, KEY_NONE, TAKES_VALUE},
    {"reboot", 0, KEY_NONE, TAKES_NOTHING},
    {"ignore-pbs", 0, KEY_NONE, TAKES_NOTHING},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

struct reader {
    const char *name;
    int line;
    struct adl_sbatch out;
    char *free; /* where the next word goes in out.words, which is as long as the script, so all words fit */
    struct adl_error *err;
};

#define FAIL(reader, fmt, ...)                                                                                         \
    adl_fail((reader)->err, ADL_EINVAL, "%.100s:%d: #SBATCH " fmt, (reader)->name, (reader)->line, __VA_ARGS__)

static void warn(struct reader *reader, const char *option, const char *text)
{
    adl_text_printf(&reader->out.warnings, "%.100s:%d: #SBATCH --%s %s\n", reader->name, reader->line, option, text);
}

/* ---- words ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Copies the next word of the line [*at, end), unquoted; NULL at its end. *ret_bad: a quote is not closed. */
static char *next_word(struct reader *reader, const char **at, const char *end, bool *ret_bad)
{
    const char *c = *at;
    char *word = reader->free, quote = 0;
    while (c < end && is_blank(*c))
        c++;
    if (c == end || *c == '#')
        return NULL;
    for (; c < end && (quote || !is_blank(*c)); c++) {
        if (quote ? *c == quote : *c == '\'' || *c == '"')
            quote = quote ? 0 : *c;
        else if (*c == '\\' && quote != '\'' && c + 1 < end)
            *reader->free++ = *++c;
        else
            *reader->free++ = *c;
    }
    *reader->free++ = '\0';
    *at = c;
    *ret_bad = quote != 0;
    return word;
}

/* ---- values ---- */

static int read_count(const struct reader *reader, const char *option, const char *text, int64_t *ret)
{
    const struct adl_range range = {.min = 1, .max = 65536};
    char reason[ADL_REFUSAL_SIZE];
    if (!adl_range_read_int(text, &range, ret, reason))
        return FAIL(reader, "--%s %s", option, reason);
    return 0;
}

/* "1", or "1-4" for nodes: a minimum of 1 is fine. */
static int read_one(const struct reader *reader, const char *option, const char *text)
{
    char quoted[ADL_QUOTE_SIZE];
    if (strcmp(text, "1") != 0 && strncmp(text, "1-", 2) != 0)
        return FAIL(reader, "--%s must be 1: a job is one script on one node, got %s", option, adl_quote(text, quoted));
    return 0;
}

static int read_time(struct reader *reader, const char *option, const char *text)
{
    struct adl_error inner;
    if (strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0 || strcmp(text, "0") == 0) {
        warn(reader, option, "without a limit is not possible here: the service's own limit applies");
        reader->out.time_s = 0;
        return 0;
    }
    if (adl_duration_read(text, "--time", &reader->out.time_s, &inner))
        return FAIL(reader, "%s", inner.text);
    return 0;
}

static int read_interval(struct reader *reader, const char *option, const char *text, int64_t *ret)
{
    struct adl_error inner;
    char what[32];
    snprintf(what, sizeof what, "--%s", option);
    return adl_duration_read(text, what, ret, &inner) ? FAIL(reader, "%s", inner.text) : 0;
}

static int read_memory(struct reader *reader, const char *option, const char *text, int64_t *ret)
{
    struct adl_error inner;
    char what[32];
    int64_t value = 0;
    snprintf(what, sizeof what, "--%s", option);
    if (strcmp(text, "0") == 0) {
        warn(reader, option, "0, all memory of a node, means nothing here");
        return 0;
    }
    if (adl_memory_read(text, what, &value, &inner))
        return FAIL(reader, "%s", inner.text);
    reader->out.mem_mib = reader->out.mem_per_cpu_mib = reader->out.mem_per_gpu_mib = 0;
    *ret = value;
    return 0;
}

/* "gpu", "gpu:2", "gpu:v100", "gpu:v100:2", and others, separated by commas. Modifies text. */
static int read_gres(struct reader *reader, const char *option, char *text)
{
    char quoted[ADL_QUOTE_SIZE];
    bool found = false;
    for (char *next = NULL; text; text = next) {
        next = strchr(text, ',');
        if (next)
            *next++ = '\0';
        if (strncmp(text, "gres/", 5) == 0)
            text += 5;
        if (strncmp(text, "gpu", 3) != 0 || (text[3] != '\0' && text[3] != ':' && text[3] != '=')) {
            char complaint[120];
            snprintf(complaint, sizeof complaint, "%s means nothing here: there are only GPUs",
                     adl_quote(text, quoted));
            warn(reader, option, complaint);
        } else if (found || (text[3] != '\0' && text[4] == '\0')) {
            return FAIL(reader, "--gres must name GPUs once, as gpu:2 or gpu:v100:2 (%s)", adl_quote(text, quoted));
        } else {
            found = true;
            reader->out.form.gpus = text[3] ? text + 4 : "1";
        }
    }
    return 0;
}

static int read_dependency(struct reader *reader, const char *text)
{
    struct adl_error inner;
    bool any;
    if (adl_dependency_read(text, NULL, NULL, &any, &inner))
        return FAIL(reader, "%s", inner.text);
    reader->out.form.dependency = text;
    return 0;
}

static int read_begin(struct reader *reader, const char *text)
{
    struct adl_error inner;
    int64_t begin_s;
    if (adl_begin_read(text, "--begin", (int64_t)time(NULL), &begin_s, &inner))
        return FAIL(reader, "%s", inner.text);
    reader->out.form.begin = text;
    return 0;
}

static int read_signal(struct reader *reader, const char *text)
{
    struct adl_error inner;
    struct adl_warn_signal warn;
    if (adl_warn_signal_read(text, "--signal", &warn, &inner))
        return FAIL(reader, "%s", inner.text);
    reader->out.form.signal = text;
    return 0;
}

static int set_option(struct reader *reader, const struct row *row, char *value)
{
    struct adl_sbatch *out = &reader->out;
    switch ((enum key)row->key) {
    case KEY_NAME:
        out->form.name = value;
        return 0;
    case KEY_OUTPUT:
        out->form.output = value;
        return 0;
    case KEY_ERROR:
        out->form.error = value;
        return 0;
    case KEY_CHDIR:
        out->form.chdir = value;
        return 0;
    case KEY_ARRAY:
        out->form.array = value;
        return 0;
    case KEY_BEGIN:
        return read_begin(reader, value);
    case KEY_SIGNAL:
        return read_signal(reader, value);
    case KEY_EXPORT:
        out->form.exported = value;
        return 0;
    case KEY_TIME:
        return read_time(reader, row->name, value);
    case KEY_CPUS_PER_TASK:
        return read_count(reader, row->name, value, &out->cpus);
    case KEY_CPUS_PER_GPU:
        return read_count(reader, row->name, value, &out->cpus_per_gpu);
    case KEY_MEM:
        return read_memory(reader, row->name, value, &out->mem_mib);
    case KEY_MEM_PER_CPU:
        return read_memory(reader, row->name, value, &out->mem_per_cpu_mib);
    case KEY_MEM_PER_GPU:
        return read_memory(reader, row->name, value, &out->mem_per_gpu_mib);
    case KEY_GRES:
        return read_gres(reader, row->name, value);
    case KEY_GPUS:
        out->form.gpus = value;
        return 0;
    case KEY_ONE:
        return read_one(reader, row->name, value);
    case KEY_DEPENDENCY:
        return read_dependency(reader, value);
    case KEY_HOLD:
        out->form.hold = true;
        return 0;
    case KEY_REQUEUE:
    case KEY_NO_REQUEUE:
        out->form.requeue = row->key == KEY_REQUEUE;
        out->no_requeue = !out->form.requeue;
        return 0;
    case KEY_CHECKPOINT:
        return read_interval(reader, row->name, value, &out->checkpoint_s);
    case KEY_CHECKPOINT_ON_STOP:
        out->form.checkpoint_on_stop = true;
        return 0;
    case KEY_NONE:
        break;
    }
    warn(reader, row->name, "means nothing here");
    return 0;
}

/* ---- options ---- */

static int refuse_unknown(const struct reader *reader, const char *word)
{
    char name[64], quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE] = "";
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    struct adl_suggest suggest = {.word = name + strspn(name, "-")};
    for (size_t i = 0; i < ROW_COUNT; i++)
        adl_suggest_offer(&suggest, rows[i].name);
    if (suggest.best && word[1] == '-')
        snprintf(phrase, sizeof phrase, "; did you mean '--%.60s'?", suggest.best);
    return FAIL(reader, "has no option %s%s", adl_quote(name, quoted), phrase);
}

static const struct row *find_row(const char *word)
{
    const bool is_long = word[1] == '-';
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (is_long ? strlen(rows[i].name) == length - 2 && strncmp(rows[i].name, word + 2, length - 2) == 0
                    : rows[i].letter && rows[i].letter == word[1])
            return &rows[i];
    return NULL;
}

static int read_option(struct reader *reader, char *word, const char **at, const char *end)
{
    char quoted[ADL_QUOTE_SIZE];
    bool bad = false;
    if (word[0] != '-' || word[1] == '\0')
        return FAIL(reader, "takes options only, got %s", adl_quote(word, quoted));
    const struct row *row = find_row(word);
    if (!row)
        return refuse_unknown(reader, word);
    const bool is_long = word[1] == '-';
    char *value = is_long ? strchr(word, '=') : word[2] ? word + 2 : NULL;
    if (is_long && value)
        value++;
    if (row->takes == TAKES_NOTHING && value)
        return FAIL(reader, "--%s takes no value, got %s", row->name, adl_quote(value, quoted));
    if (row->takes == TAKES_VALUE && !value) {
        value = next_word(reader, at, end, &bad);
        if (bad)
            return FAIL(reader, "has a quote that is not closed: %s", adl_quote(value, quoted));
    }
    if (row->takes == TAKES_VALUE && (!value || *value == '\0'))
        return FAIL(reader, "--%s needs a value", row->name);
    return set_option(reader, row, value ? value : word + strlen(word));
}

static int read_line(struct reader *reader, const char *at, const char *end)
{
    char quoted[ADL_QUOTE_SIZE];
    bool bad = false;
    for (char *word; (word = next_word(reader, &at, end, &bad));) {
        if (bad)
            return FAIL(reader, "has a quote that is not closed: %s", adl_quote(word, quoted));
        const int status = read_option(reader, word, &at, end);
        if (status)
            return status;
    }
    return 0;
}

static int read_script(struct reader *reader, const char *script, size_t size)
{
    static const char mark[] = "#SBATCH";
    const size_t mark_size = sizeof mark - 1;
    const char *const end = script + size;
    for (const char *line = script; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        const char *c = line;
        reader->line++;
        while (c < stop && is_blank(*c))
            c++;
        if (c < stop && *c != '#')
            return 0; /* the first command */
        const bool marked = (size_t)(stop - line) >= mark_size && memcmp(line, mark, mark_size) == 0 &&
                            (line + mark_size == stop || is_blank(line[mark_size]));
        if (marked && memchr(line, '\0', (size_t)(stop - line)))
            return FAIL(reader, "%s", "has a zero byte in it");
        const int status = marked ? read_line(reader, line + mark_size, stop) : 0;
        if (status)
            return status;
        line = stop + 1;
    }
    return 0;
}

int adl_sbatch_read(const char *script, size_t size, const char *name, struct adl_sbatch *ret, struct adl_error *err)
{
    struct reader reader = {.name = name, .err = err};
    /* A word and its end take no more than the word and the blank before it. */
    reader.out.words = reader.free = malloc(size + 64);
    if (!reader.free)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the script");
    int status = read_script(&reader, script, size);
    if (status == 0 && adl_text_status(&reader.out.warnings))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the script");
    if (status)
        adl_sbatch_clear(&reader.out);
    else
        *ret = reader.out;
    return status;
}

void adl_sbatch_clear(struct adl_sbatch *sbatch)
{
    adl_text_clear(&sbatch->warnings);
    free(sbatch->words);
    *sbatch = (struct adl_sbatch){0};
}

int64_t adl_gpu_request_least(const char *gpus)
{
    int64_t least = 0;
    for (const char *at = gpus; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        const size_t length = strcspn(at, "|");
        const char *colon = memchr(at, ':', length);
        const char *number = colon ? colon + 1 : at;
        int64_t count = 0;
        while (*number >= '0' && *number <= '9' && count < 65536)
            count = count * 10 + (*number++ - '0');
        if (count < 1 || (*number != '|' && *number != '\0'))
            count = 1;
        least = least == 0 || count < least ? count : least;
    }
    return least ? least : 1;
}
