/* telemetry_amd: AMD GPUs through the amdgpu and amdkfd drivers' files in sysfs, complemented by ROCm SMI. */
#include "base/range.h"
#include "telemetry/rocm_smi.h"
#include "telemetry/telemetry_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PATH_SIZE = 512, FILE_SIZE = 4096, CARDS_MAX = 256, ENTRIES_MAX = 65536 };

struct card {
    char folder[PATH_SIZE]; /* ROOT/class/drm/cardN/device */
    int rocm;               /* ROCm SMI's number, -1 = unknown to it */
    uint32_t kfd;           /* amdkfd's id of it; 0 = not a compute device */
};

struct amd_state {
    char root[PATH_SIZE];
    struct adl_rocm_smi *rocm;
    struct card cards[CARDS_MAX]; /* [device] */
    struct adl_reading_faults *faults;
};

/* ---- files ---- */

/* The start of a small file, zero-terminated, without its line feed; false if it cannot be read. */
static bool read_text(const char *folder, const char *name, char *ret, size_t size)
{
    char path[PATH_SIZE + 64];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    ssize_t got;
    do
        got = read(fd, ret, size - 1);
    while (got < 0 && errno == EINTR);
    close(fd);
    if (got < 0)
        return false;
    while (got > 0 && (ret[got - 1] == '\n' || ret[got - 1] == ' '))
        got--;
    ret[got] = '\0';
    return strlen(ret) == (size_t)got;
}

/* A whole number in decimal. A missing file means that the card does not have the value. */
static bool read_number(const char *folder, const char *name, struct adl_reading_faults *faults, double *ret)
{
    static const struct adl_range any = {-9.3e18, 9.3e18, false, false};
    char text[64], reason[ADL_REFUSAL_SIZE];
    int64_t value;
    errno = 0;
    if (!read_text(folder, name, text, sizeof text)) {
        faults->count[errno == ENOENT || errno == EOPNOTSUPP ? ADL_FAULT_ABSENT : ADL_FAULT_FAILED]++;
        return false;
    }
    if (!adl_range_read_int(text, &any, &value, reason)) {
        faults->count[ADL_FAULT_MALFORMED]++;
        return false;
    }
    *ret = (double)value;
    return true;
}

static bool read_value(const char *folder, const char *name, int unit, struct adl_reading_faults *faults, double *ret)
{
    double raw;
    return read_number(folder, name, faults, &raw) && adl_reading_check(raw, unit, faults, ret);
}

static bool read_hex(const char *folder, const char *name, uint64_t *ret)
{
    char text[64], *end;
    if (!read_text(folder, name, text, sizeof text) || text[0] == '\0' || text[0] == '-')
        return false;
    errno = 0;
    *ret = strtoull(text, &end, 16);
    return *end == '\0' && errno == 0;
}

/* The rest of the line that starts with this word; NULL if there is none. */
static const char *find_line(const char *text, const char *word)
{
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, word, strlen(word)) == 0)
            return at + strlen(word);
    }
    return NULL;
}

/* Digits and nothing else, as in card0, hwmon3 and the names of processes; -1 otherwise. */
static int64_t number_after(const char *name, const char *prefix)
{
    const size_t skip = strlen(prefix);
    if (strncmp(name, prefix, skip) != 0)
        return -1;
    const size_t digits = strspn(name + skip, "0123456789");
    return digits > 0 && digits < 10 && name[skip + digits] == '\0' ? strtoll(name + skip, NULL, 10) : -1;
}

/* ---- finding the cards ---- */

/* amdkfd numbers its nodes, including CPUs; programs see GPUs in this order. */
struct kfd_node {
    int64_t number;
    uint32_t id;
    char pci[ADL_PCI_SIZE];
};

static bool read_kfd_node(const char *folder, struct kfd_node *ret)
{
    char text[FILE_SIZE], name[24];
    struct adl_reading_faults unused = {{0}};
    double id;
    if (!read_number(folder, "gpu_id", &unused, &id) || id < 1 || id > UINT32_MAX ||
        !read_text(folder, "properties", text, sizeof text))
        return false;
    const char *location = find_line(text, "location_id "), *domain = find_line(text, "domain ");
    const unsigned long at = location ? strtoul(location, NULL, 10) : 0;
    ret->id = (uint32_t)id;
    snprintf(name, sizeof name, "%04lx:%02lx:%02lx.%lx", domain ? strtoul(domain, NULL, 10) & 0xffffffff : 0,
             at >> 8 & 0xff, at >> 3 & 0x1f, at & 7);
    memcpy(ret->pci, name, sizeof ret->pci);
    return location != NULL;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = ((const struct kfd_node *)a)->number, y = ((const struct kfd_node *)b)->number;
    return (x > y) - (x < y);
}

static uint32_t list_kfd_nodes(const char *root, struct kfd_node nodes[CARDS_MAX])
{
    char folder[PATH_SIZE + 64], node[PATH_SIZE + 128];
    uint32_t count = 0;
    snprintf(folder, sizeof folder, "%s/class/kfd/kfd/topology/nodes", root);
    DIR *dir = opendir(folder);
    if (!dir)
        return 0;
    for (const struct dirent *entry; count < CARDS_MAX && (entry = readdir(dir));) {
        const int64_t number = number_after(entry->d_name, "");
        if (number < 0)
            continue;
        snprintf(node, sizeof node, "%s/%lld", folder, (long long)number);
        nodes[count].number = number;
        count += read_kfd_node(node, &nodes[count]);
    }
    closedir(dir);
    qsort(nodes, count, sizeof *nodes, by_number);
    return count;
}

static bool read_card(struct amd_state *state, const char *folder, struct adl_gpu_device *ret)
{
    char text[FILE_SIZE];
    uint64_t vendor, id;
    double value;
    struct adl_gpu_device device = {.vendor = "amd"};
    if (!read_hex(folder, "vendor", &vendor) || vendor != 0x1002 || !read_text(folder, "uevent", text, sizeof text))
        return false;
    const char *slot = find_line(text, "PCI_SLOT_NAME=");
    if (slot)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(slot, "\n"), slot);
    if (!slot || !adl_pci_normalize(text, device.pci))
        return false;
    if (read_hex(folder, "unique_id", &id) && id != 0)
        snprintf(device.uuid, sizeof device.uuid, "GPU-%016llx", (unsigned long long)id);
    if (read_value(folder, "mem_info_vram_total", ADL_UNIT_BYTE, state->faults, &value))
        device.memory_mib = (int64_t)value;
    if (read_text(folder, "product_name", text, sizeof text) && text[0])
        snprintf(device.model, sizeof device.model, "%.90s", text);
    *ret = device;
    return true;
}

/* Its name from sysfs, or from ROCm SMI, or from the list of known chips. */
static void name_card(struct amd_state *state, const struct card *card, struct adl_gpu_device *device)
{
    uint64_t chip = 0;
    if (!device->model[0] && !adl_rocm_smi_name(state->rocm, card->rocm, device->model, sizeof device->model)) {
        const bool known = read_hex(card->folder, "device", &chip);
        const char *name = known ? adl_gpu_name_amd((uint32_t)chip, device->memory_mib) : NULL;
        if (name)
            snprintf(device->model, sizeof device->model, "%s", name);
        else
            snprintf(device->model, sizeof device->model, "AMD %04llx", (unsigned long long)chip);
    }
    adl_gpu_name_shorten(device->model, device->type);
}

struct found {
    struct adl_gpu_device device;
    struct card card;
    int64_t order; /* its node's number, or above all of them */
};

static int by_order(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->device.pci, y->device.pci);
}

static uint32_t find_cards(struct amd_state *state, struct found *found)
{
    static const int64_t BEYOND = INT64_C(1) << 40;
    struct kfd_node nodes[CARDS_MAX];
    char folder[PATH_SIZE + 32];
    uint32_t count = 0;
    const uint32_t node_count = list_kfd_nodes(state->root, nodes);
    snprintf(folder, sizeof folder, "%s/class/drm", state->root);
    DIR *dir = opendir(folder);
    if (!dir)
        return 0;
    for (const struct dirent *entry; count < CARDS_MAX && (entry = readdir(dir));) {
        struct found *card = &found[count];
        const int64_t number = number_after(entry->d_name, "card");
        if (number < 0 || (size_t)snprintf(card->card.folder, PATH_SIZE, "%s/class/drm/card%lld/device", state->root,
                                           (long long)number) >= PATH_SIZE)
            continue;
        if (!read_card(state, card->card.folder, &card->device))
            continue;
        card->order = BEYOND;
        card->card.kfd = 0;
        for (uint32_t i = 0; i < node_count; i++)
            if (strcmp(nodes[i].pci, card->device.pci) == 0) {
                card->order = nodes[i].number;
                card->card.kfd = nodes[i].id;
            }
        count++;
    }
    closedir(dir);
    qsort(found, count, sizeof *found, by_order);
    return count;
}

static int add_cards(struct adl_telemetry_source *source, struct amd_state *state, struct found *found, uint32_t count,
                     const char *rocm_path)
{
    if (count > 0)
        state->rocm = adl_rocm_smi_open(rocm_path);
    for (uint32_t i = 0; i < count; i++) {
        found[i].device.index = i;
        found[i].card.rocm = adl_rocm_smi_find(state->rocm, found[i].device.pci);
        name_card(state, &found[i].card, &found[i].device);
        const int place = adl_source_add_device(source, &found[i].device);
        if (place < 0)
            return place;
        state->cards[place] = found[i].card;
    }
    return 0;
}

static int amd_open(struct adl_telemetry_source *source, const struct adl_telemetry_options *options,
                    struct adl_error *err)
{
    struct amd_state *state = calloc(1, sizeof *state);
    source->state = state;
    if (!state || adl_source_set_statuses(source, 1) < 0)
        return ADL_ENOMEM;
    struct adl_telemetry_status *status = &source->statuses[0];
    snprintf(status->name, sizeof status->name, "amd");
    state->faults = &status->faults;
    const char *root = options->sysfs_root ? options->sysfs_root : "/sys";
    if (strlen(root) > PATH_SIZE - 64)
        return adl_fail(err, ADL_EINVAL, "telemetry: the path of sysfs is longer than %d bytes", PATH_SIZE - 64);
    snprintf(state->root, sizeof state->root, "%s", root);
    struct found *found = malloc(CARDS_MAX * sizeof *found);
    if (!found)
        return ADL_ENOMEM;
    const uint32_t count = find_cards(state, found);
    const int added = add_cards(source, state, found, count, options->rocm_path);
    free(found);
    status->device_count = source->count;
    if (count > 0)
        adl_status_set(status, true, "%s", "");
    else
        adl_status_set(status, false, "no AMD GPU in %.100s/class/drm", root);
    return added;
}

static void amd_close(void *memory)
{
    struct amd_state *state = memory;
    if (!state)
        return;
    adl_rocm_smi_close(state->rocm);
    free(state);
}

/* ---- sampling ---- */

/* Its number changes when the driver is reloaded, so it is looked up each time. */
static bool find_hwmon(const char *folder, char *ret, size_t size)
{
    char path[PATH_SIZE + 16];
    int64_t number = -1;
    snprintf(path, sizeof path, "%s/hwmon", folder);
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    for (const struct dirent *entry; number < 0 && (entry = readdir(dir));)
        number = number_after(entry->d_name, "hwmon");
    closedir(dir);
    return number >= 0 && (size_t)snprintf(ret, size, "%s/hwmon%lld", path, (long long)number) < size;
}

/* Lines like "1: 1725Mhz *"; the star marks the current level. */
static void sample_clock(struct amd_state *state, const char *folder, struct adl_telemetry *to)
{
    char text[FILE_SIZE];
    double now_mhz = -1, top_mhz = -1;
    if (!read_text(folder, "pp_dpm_sclk", text, sizeof text)) {
        state->faults->count[ADL_FAULT_ABSENT]++;
        return;
    }
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        const char *colon = memchr(line, ':', length);
        char *end = NULL;
        const long level = colon ? strtol(colon + 1, &end, 10) : -1;
        if (end && end > colon + 1 && end < line + length && strncasecmp(end, "mhz", 3) == 0 && level >= 0) {
            top_mhz = (double)level > top_mhz ? (double)level : top_mhz;
            if (memchr(line, '*', length))
                now_mhz = (double)level;
        }
        line += length + (line[length] == '\n');
    }
    if (now_mhz < 0)
        state->faults->count[top_mhz < 0 ? ADL_FAULT_MALFORMED : ADL_FAULT_ABSENT]++;
    else
        adl_telemetry_set_share(to, ADL_READ_CLOCK, now_mhz, top_mhz, state->faults);
}

static void sample_power(struct amd_state *state, const struct card *card, const char *hwmon, struct adl_telemetry *to)
{
    struct adl_reading_faults aside = {{0}}; /* only the fault of the last attempt counts */
    double raw, value;
    if ((hwmon && (read_value(hwmon, "power1_average", ADL_UNIT_UW, &aside, &value) ||
                   read_value(hwmon, "power1_input", ADL_UNIT_UW, state->faults, &value))) ||
        (adl_rocm_smi_power(state->rocm, card->rocm, &raw) &&
         adl_reading_check(raw, ADL_UNIT_UW, state->faults, &value)))
        adl_telemetry_set(to, ADL_READ_POWER, value);
    else if (!hwmon)
        state->faults->count[ADL_FAULT_ABSENT]++;
    /* A value that was present but impossible stays counted. */
    state->faults->count[ADL_FAULT_IMPOSSIBLE] += aside.count[ADL_FAULT_IMPOSSIBLE];
}

/* temp1 is the edge of the die; accelerators since MI300 have only its hottest point, temp2. */
static void sample_temperature(struct amd_state *state, const struct card *card, const char *hwmon,
                               struct adl_telemetry *to)
{
    struct adl_reading_faults aside = {{0}};
    double raw, value;
    if ((hwmon && (read_value(hwmon, "temp1_input", ADL_UNIT_MC, &aside, &value) ||
                   read_value(hwmon, "temp2_input", ADL_UNIT_MC, state->faults, &value))) ||
        (adl_rocm_smi_temperature(state->rocm, card->rocm, &raw) &&
         adl_reading_check(raw, ADL_UNIT_MC, state->faults, &value)))
        adl_telemetry_set(to, ADL_READ_TEMPERATURE, value);
    else if (!hwmon)
        state->faults->count[ADL_FAULT_ABSENT]++;
    state->faults->count[ADL_FAULT_IMPOSSIBLE] += aside.count[ADL_FAULT_IMPOSSIBLE];
}

static void sample_card(struct amd_state *state, const struct card *card, struct adl_gpu_device *device,
                        struct adl_gpu_sample *sample)
{
    char path[PATH_SIZE + 64];
    uint64_t vendor;
    double value, raw;
    if (!read_hex(card->folder, "vendor", &vendor) || vendor != 0x1002) {
        sample->lost = true;
        return;
    }
    const char *hwmon = find_hwmon(card->folder, path, sizeof path) ? path : NULL;
    if (read_value(card->folder, "gpu_busy_percent", ADL_UNIT_PERCENT, state->faults, &value))
        adl_telemetry_set(&sample->telemetry, ADL_READ_UTILIZATION, value);
    if (read_value(card->folder, "mem_busy_percent", ADL_UNIT_PERCENT, state->faults, &value))
        adl_telemetry_set(&sample->telemetry, ADL_READ_BANDWIDTH, value);
    if (read_value(card->folder, "mem_info_vram_used", ADL_UNIT_BYTE, state->faults, &value))
        sample->memory_used_mib = (int64_t)value;
    sample_power(state, card, hwmon, &sample->telemetry);
    sample_temperature(state, card, hwmon, &sample->telemetry);
    sample_clock(state, card->folder, &sample->telemetry);
    if (hwmon && read_value(hwmon, "power1_cap", ADL_UNIT_UW, state->faults, &value))
        device->limit_w = value;
    snprintf(path, sizeof path, "%s/module/amdgpu", state->root);
    if (!read_text(path, "version", sample->version, sizeof sample->version))
        sample->version[0] = '\0'; /* the kernel's own driver has none */
    if (adl_rocm_smi_energy(state->rocm, card->rocm, &raw) &&
        adl_reading_check(raw, ADL_UNIT_UJ, state->faults, &value))
        sample->energy_j = value;
}

/* ---- processes ---- */

/* amdkfd creates the files of a process for every GPU when it opens the driver; the process uses those on which it has
 * memory or a queue. */
static bool has_queue(const char *folder, uint32_t kfd)
{
    char queues[PATH_SIZE + 128], queue[PATH_SIZE + 160];
    struct adl_reading_faults unused = {{0}};
    bool found = false;
    int left = ENTRIES_MAX;
    double id;
    snprintf(queues, sizeof queues, "%s/queues", folder);
    DIR *dir = opendir(queues);
    if (!dir)
        return false;
    for (const struct dirent *entry; !found && left-- > 0 && (entry = readdir(dir));) {
        const int64_t number = number_after(entry->d_name, "");
        if (number < 0)
            continue;
        snprintf(queue, sizeof queue, "%s/%lld", queues, (long long)number);
        found = read_number(queue, "gpuid", &unused, &id) && id == (double)kfd;
    }
    closedir(dir);
    return found;
}

static void sample_process(struct adl_telemetry_source *source, const struct amd_state *state, const char *folder,
                           int64_t pid)
{
    char name[32];
    struct adl_reading_faults unused = {{0}};
    for (uint32_t i = 0; i < source->count; i++) {
        const uint32_t kfd = state->cards[i].kfd;
        double bytes = 0;
        if (kfd == 0)
            continue;
        snprintf(name, sizeof name, "vram_%u", (unsigned)kfd);
        if ((read_number(folder, name, &unused, &bytes) && bytes > 0) || has_queue(folder, kfd))
            adl_gpu_sample_add_pid(&source->samples[i], pid);
    }
}

static void sample_processes(struct adl_telemetry_source *source, struct amd_state *state)
{
    char folder[PATH_SIZE + 32], process[PATH_SIZE + 64];
    int left = ENTRIES_MAX;
    snprintf(folder, sizeof folder, "%s/class/kfd/kfd/proc", state->root);
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *entry; left-- > 0 && (entry = readdir(dir));) {
        const int64_t pid = number_after(entry->d_name, "");
        if (pid <= 0)
            continue;
        snprintf(process, sizeof process, "%s/%lld", folder, (long long)pid);
        sample_process(source, state, process, pid);
    }
    closedir(dir);
    for (uint32_t i = 0; i < source->count; i++)
        source->samples[i].pids_known = state->cards[i].kfd != 0;
}

static int amd_sample(struct adl_telemetry_source *source, int64_t now_us)
{
    struct amd_state *state = source->state;
    for (uint32_t i = 0; i < source->count; i++) {
        source->samples[i].time_us = now_us;
        sample_card(state, &state->cards[i], &source->devices[i], &source->samples[i]);
    }
    if (source->count > 0)
        sample_processes(source, state);
    return 0;
}

const struct adl_telemetry_source_ops adl_telemetry_amd = {amd_open, amd_sample, amd_close};
