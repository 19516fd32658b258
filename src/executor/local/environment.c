#include "executor/local/environment.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OWN_MAX 64

/* The job's own entries: texts one after another, each ended by a zero byte. */
struct own {
    struct adl_text text;
    size_t at[OWN_MAX];
    uint32_t count;
};

static void begin(struct own *own, const char *name)
{
    own->at[own->count++] = own->text.size;
    adl_text_put(&own->text, name);
    adl_text_char(&own->text, '=');
}

static void put_string(struct own *own, const char *name, const char *value)
{
    if (!value)
        return;
    begin(own, name);
    adl_text_put(&own->text, value);
    adl_text_char(&own->text, 0);
}

static void put_int(struct own *own, const char *name, int64_t value)
{
    begin(own, name);
    adl_text_printf(&own->text, "%" PRId64, value);
    adl_text_char(&own->text, 0);
}

/* The GPUs of one vendor by id; renumbered: as 0, 1, ... instead. */
static void put_gpus(struct own *own, const char *name, const struct adl_environment *environment,
                     enum adl_gpu_vendor vendor, bool renumbered)
{
    uint32_t count = 0;
    begin(own, name);
    for (uint32_t i = 0; i < environment->gpu_count; i++) {
        if (environment->gpus[i].vendor != vendor)
            continue;
        adl_text_put(&own->text, count > 0 ? "," : "");
        if (renumbered)
            adl_text_printf(&own->text, "%u", count);
        else
            adl_text_put(&own->text, environment->gpus[i].id);
        count++;
    }
    adl_text_char(&own->text, 0);
}

static void put_slurm(struct own *own, const struct adl_environment *environment)
{
    put_int(own, "SLURM_JOB_ID", environment->job_id);
    put_int(own, "SLURM_JOBID", environment->job_id);
    put_string(own, "SLURM_JOB_NAME", environment->name);
    put_string(own, "SLURM_JOB_USER", environment->user);
    put_int(own, "SLURM_JOB_UID", environment->uid);
    put_int(own, "SLURM_JOB_GID", environment->gid);
    put_string(own, "SLURM_SUBMIT_DIR", environment->submit_dir);
    put_string(own, "SLURMD_NODENAME", environment->node);
    put_string(own, "SLURM_JOB_NODELIST", environment->node);
    put_string(own, "SLURM_NODELIST", environment->node);
    put_int(own, "SLURM_JOB_NUM_NODES", 1);
    put_int(own, "SLURM_NNODES", 1);
    put_int(own, "SLURM_NTASKS", 1);
    put_int(own, "SLURM_NPROCS", 1);
    put_int(own, "SLURM_TASKS_PER_NODE", 1);
    put_int(own, "SLURM_PROCID", 0);
    put_int(own, "SLURM_LOCALID", 0);
    put_int(own, "SLURM_NODEID", 0);
    if (environment->array_index >= 0) {
        put_int(own, "SLURM_ARRAY_JOB_ID", environment->array_id);
        put_int(own, "SLURM_ARRAY_TASK_ID", environment->array_index);
    }
    if (environment->array_index >= 0 && environment->array_count > 0) {
        put_int(own, "SLURM_ARRAY_TASK_COUNT", environment->array_count);
        put_int(own, "SLURM_ARRAY_TASK_MIN", environment->array_min);
        put_int(own, "SLURM_ARRAY_TASK_MAX", environment->array_max);
        put_int(own, "SLURM_ARRAY_TASK_STEP", environment->array_step);
    }
    if (environment->start_us > 0) {
        put_int(own, "SLURM_JOB_START_TIME", environment->start_us / 1000000);
        if (environment->limit_us > 0)
            put_int(own, "SLURM_JOB_END_TIME", (environment->start_us + environment->limit_us) / 1000000);
    }
    if (environment->cpu_count > 0) {
        put_int(own, "SLURM_CPUS_PER_TASK", environment->cpu_count);
        put_int(own, "SLURM_CPUS_ON_NODE", environment->cpu_count);
        put_int(own, "SLURM_JOB_CPUS_PER_NODE", environment->cpu_count);
    }
    if (environment->memory_mib > 0)
        put_int(own, "SLURM_MEM_PER_NODE", environment->memory_mib);
    if (environment->restart_count > 0)
        put_int(own, "SLURM_RESTART_COUNT", environment->restart_count);
    put_int(own, "SLURM_GPUS", environment->gpu_count);
    put_int(own, "SLURM_GPUS_ON_NODE", environment->gpu_count);
    begin(own, "SLURM_JOB_GPUS");
    for (uint32_t i = 0; i < environment->gpu_count; i++)
        adl_text_printf(&own->text, "%s%u", i > 0 ? "," : "", environment->gpus[i].index);
    adl_text_char(&own->text, 0);
}

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

static bool same_name(const char *a, const char *b)
{
    const size_t length = name_length(a);
    return length == name_length(b) && memcmp(a, b, length) == 0;
}

/* Not inherited: variables of the job that submitted this one. */
static bool inherited(const char *entry)
{
    return strncmp(entry, "SLURM_", 6) == 0 || strncmp(entry, "SLURMD_", 7) == 0 ||
           strncmp(entry, "ADLRO_SHEPHERD=", 15) == 0;
}

struct ordered {
    const char *entry;
    uint32_t place;
};

static int compare_names(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    const size_t length_x = name_length(x->entry), length_y = name_length(y->entry);
    const int order = memcmp(x->entry, y->entry, length_x < length_y ? length_x : length_y);
    if (order != 0)
        return order;
    if (length_x != length_y)
        return length_x < length_y ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Keeps only the last of equal names, in its place; returns the new count. */
static uint32_t drop_repeats(const char **entries, uint32_t count, struct ordered *scratch)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = (struct ordered){entries[i], i};
    qsort(scratch, count, sizeof *scratch, compare_names);
    for (uint32_t i = 0; i + 1 < count; i++)
        if (same_name(scratch[i].entry, scratch[i + 1].entry))
            entries[scratch[i].place] = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (entries[i])
            entries[kept++] = entries[i];
    return kept;
}

/* Copies the entries after the list's pointers, so that one free() frees all. */
static int pack(const char **entries, uint32_t count, struct adl_strings *ret_env)
{
    size_t size = ((size_t)count + 1) * sizeof *entries;
    for (uint32_t i = 0; i < count; i++)
        size += strlen(entries[i]) + 1;
    const char **items = malloc(size);
    if (!items)
        return ADL_ENOMEM;
    char *at = (char *)(items + count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = strlen(entries[i]) + 1;
        memcpy(at, entries[i], length);
        items[i] = at;
        at += length;
    }
    items[count] = NULL;
    *ret_env = (struct adl_strings){items, count};
    return 0;
}

int adl_environment_build(const struct adl_environment *environment, const struct adl_strings *submitted,
                          struct adl_strings *ret_env, struct adl_error *err)
{
    struct own own = {0};
    put_string(&own, "USER", environment->user);
    put_string(&own, "LOGNAME", environment->user);
    put_string(&own, "HOME", environment->home);
    put_string(&own, "SHELL", environment->shell);
    put_string(&own, "PATH", environment->path);
    put_string(&own, "LANG", environment->lang);
    put_string(&own, "ADLRO_SOCKET", environment->socket);
    const uint32_t defaults = own.count;
    put_gpus(&own, "CUDA_VISIBLE_DEVICES", environment, ADL_GPU_NVIDIA, false);
    put_gpus(&own, "ROCR_VISIBLE_DEVICES", environment, ADL_GPU_AMD, false);
    /* HIP numbers the devices that ROCR leaves visible. */
    put_gpus(&own, "HIP_VISIBLE_DEVICES", environment, ADL_GPU_AMD, true);
    put_slurm(&own, environment);

    uint32_t count = 0;
    const size_t room = (size_t)submitted->count + own.count + 1;
    const char **entries = calloc(room, sizeof *entries);
    struct ordered *scratch = calloc(room, sizeof *scratch);
    int status = adl_text_status(&own.text) || !entries || !scratch ? ADL_ENOMEM : 0;
    for (uint32_t i = 0; !status && i < defaults; i++)
        entries[count++] = own.text.data + own.at[i];
    for (uint32_t i = 0; !status && i < submitted->count; i++)
        if (!inherited(submitted->items[i]))
            entries[count++] = submitted->items[i];
    for (uint32_t i = defaults; !status && i < own.count; i++)
        entries[count++] = own.text.data + own.at[i];
    if (!status)
        status = pack(entries, drop_repeats(entries, count, scratch), ret_env);
    free(scratch);
    free(entries);
    adl_text_clear(&own.text);
    return status ? adl_fail(err, status, "job %" PRId64 ": out of memory for its environment", environment->job_id)
                  : 0;
}

void adl_environment_clear(struct adl_strings *env)
{
    free(env->items);
    *env = (struct adl_strings){0};
}
