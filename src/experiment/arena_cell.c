#include "experiment/arena_cell.h"

#include "base/json.h"
#include "experiment/run.h"
#include "scenario/text_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FORMAT 1 /* of the files; another one is stale */

/* ---- running ---- */

/* Processor time of this thread, so that the other programs of the machine do not count. */
static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct budget {
    double end_s; /* 0 = no limit */
    bool spent;
};

/* Ends the run at the next decision after the budget was spent. */
static int on_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    struct budget *budget = self;
    (void)hash, (void)state;
    budget->spent = budget->end_s > 0 && cpu_s() > budget->end_s;
    return budget->spent ? ADL_EREFUSED : 0;
}

int adl_arena_cell_run(const struct adl_arena_cell_key *key, const struct adl_arena_setup *setup,
                       const struct adl_policy_ops *policy, struct adl_arena_cell *ret, struct adl_error *err)
{
    const uint32_t seeds = key->workload->seed_count;
    const double start_s = cpu_s();
    struct budget budget = {.end_s = key->budget_s > 0 ? start_s + key->budget_s : 0};
    const struct adl_observer observer = {.self = &budget, .decided = on_decided};
    struct adl_arena_cell cell = {.state = ADL_ARENA_DONE};
    struct adl_error inner = {{0}};
    int status = 0;
    cell.runs = calloc(seeds, sizeof *cell.runs);
    if (!cell.runs)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u runs of %s", seeds, key->policy);
    for (uint32_t s = 0; s < seeds && status == 0; s++) {
        const struct adl_run run = {.scenario = &setup->scenario,
                                    .policy = policy,
                                    .seed = key->workload->first_seed + s,
                                    .regime = setup->regime,
                                    .supply = setup->trace ? &setup->supply : NULL,
                                    .observer = &observer};
        status = adl_run(&run, &cell.runs[s], &inner);
        memset(cell.runs[s].quarters, 0, sizeof cell.runs[s].quarters);
    }
    cell.cpu_s = cpu_s() - start_s;
    if (status == 0) {
        *ret = cell;
        return 0;
    }
    free(cell.runs);
    if (!budget.spent)
        return adl_fail(err, status, "%s on %s: %s", key->policy, key->workload->name, inner.text);
    *ret = (struct adl_arena_cell){.state = ADL_ARENA_OVER_BUDGET, .cpu_s = cell.cpu_s};
    return 0;
}

/* ---- files ---- */

/* "paper16.easy.declared.800000+30.json" in the folder, so that cells of other seeds and regimes stand beside it. */
static int print_path(const struct adl_arena_cell_key *key, const char *folder, char *ret, size_t size)
{
    const struct adl_arena_workload *workload = key->workload;
    const int length = snprintf(ret, size, "%s/%s.%s.%s.%" PRIu64 "+%" PRIu32 ".json", folder, workload->name,
                                key->policy, workload->regime, workload->first_seed, workload->seed_count);
    return length > 0 && (size_t)length < size ? 0 : ADL_EINVAL;
}

static void put_hash(struct adl_json *json, const char *name, uint64_t hash)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash); /* as text: JSON numbers keep 53 bits in most readers */
    adl_json_put_string(json, name, text);
}

/* The counters of a run that a cell has, for the writer and the reader. */
static const struct {
    const char *name;
    size_t offset;
} counters[] = {
    {"jobs", offsetof(struct adl_result, jobs)},
    {"timeouts", offsetof(struct adl_result, timeouts)},
    {"sla_jobs", offsetof(struct adl_result, sla_jobs)},
    {"evictions", offsetof(struct adl_result, evictions)},
    {"lost_gpu_s", offsetof(struct adl_result, lost_gpu_s)},
    {"events", offsetof(struct adl_result, events)},
    {"decisions", offsetof(struct adl_result, decisions)},
    {"refused", offsetof(struct adl_result, refused)},
    {"unfinished", offsetof(struct adl_result, unfinished)},
};
#define COUNTERS (sizeof counters / sizeof *counters)

static void put_run(struct adl_json *json, const struct adl_result *run, uint64_t seed)
{
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_uint(json, "seed", seed);
    for (int m = 0; m < ADL_METRIC_COUNT; m++)
        adl_json_put_real(json, adl_metric_table[m].name, run->value[m]);
    for (size_t i = 0; i < COUNTERS; i++) {
        uint64_t count;
        memcpy(&count, (const char *)run + counters[i].offset, sizeof count);
        adl_json_put_uint(json, counters[i].name, count);
    }
    put_hash(json, "plan_hash", run->plan_hash);
    adl_json_end(json);
}

static void put_cell(struct adl_text *text, const struct adl_arena_cell_key *key, const struct adl_arena_cell *cell)
{
    struct adl_json json = adl_json_start(text, true);
    adl_json_object(&json);
    adl_json_put_string(&json, "adlro", "arena cell");
    adl_json_put_int(&json, "format", FORMAT);
    adl_json_put_string(&json, "workload", key->workload->name);
    adl_json_put_string(&json, "policy", key->policy);
    adl_json_put_string(&json, "regime", key->workload->regime);
    put_hash(&json, "inputs", key->inputs);
    put_hash(&json, "build", key->build);
    adl_json_put_bool(&json, "over_budget", cell->state == ADL_ARENA_OVER_BUDGET);
    adl_json_put_real(&json, "budget_s", key->budget_s);
    adl_json_put_real(&json, "cpu_s", cell->cpu_s);
    adl_json_key(&json, "runs");
    adl_json_array(&json);
    for (uint32_t s = 0; cell->runs && s < key->workload->seed_count; s++)
        put_run(&json, &cell->runs[s], key->workload->first_seed + s);
    adl_json_end(&json);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

static int write_file(const char *path, const struct adl_text *text, struct adl_error *err)
{
    char other[4200];
    snprintf(other, sizeof other, "%s.%ld.part", path, (long)getpid());
    FILE *file = fopen(other, "wb");
    bool good = file && fwrite(text->data, 1, text->size, file) == text->size;
    if (file)
        good = fclose(file) == 0 && good;
    if (good && rename(other, path) == 0)
        return 0;
    const int status = adl_fail(err, ADL_EIO, "cannot write %.300s: %s", path, strerror(errno));
    unlink(other);
    return status;
}

int adl_arena_cell_save(const struct adl_arena_cell_key *key, const char *folder, const struct adl_arena_cell *cell,
                        struct adl_error *err)
{
    struct adl_text text = {0};
    char path[4096];
    if (print_path(key, folder, path, sizeof path))
        return adl_fail(err, ADL_EINVAL, "the name of the folder is too long: %.300s", folder);
    put_cell(&text, key, cell);
    const int status =
        adl_text_status(&text) ? adl_fail(err, ADL_ENOMEM, "out of memory for a cell") : write_file(path, &text, err);
    adl_text_clear(&text);
    return status;
}

static bool hash_matches(const cJSON *json, const char *name, uint64_t hash)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    return cJSON_IsString(item) && strcmp(item->valuestring, text) == 0;
}

/* A number, or NAN: a figure that is not finite was written as null. */
static double number_of(const cJSON *json, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static bool read_run(const cJSON *json, uint64_t seed, struct adl_result *ret)
{
    if (!(number_of(json, "seed") == (double)seed))
        return false;
    for (int m = 0; m < ADL_METRIC_COUNT; m++)
        ret->value[m] = number_of(json, adl_metric_table[m].name);
    for (size_t i = 0; i < COUNTERS; i++) {
        const double value = number_of(json, counters[i].name);
        if (!(value >= 0 && value < 9e15))
            return false;
        const uint64_t count = (uint64_t)value;
        memcpy((char *)ret + counters[i].offset, &count, sizeof count);
    }
    const cJSON *hash = cJSON_GetObjectItemCaseSensitive(json, "plan_hash");
    ret->plan_hash = cJSON_IsString(hash) ? strtoull(hash->valuestring, NULL, 16) : 0;
    return true;
}

static bool read_runs(const cJSON *json, const struct adl_arena_workload *workload, struct adl_arena_cell *ret)
{
    const cJSON *runs = cJSON_GetObjectItemCaseSensitive(json, "runs"), *run;
    uint32_t seed = 0;
    if (cJSON_GetArraySize(runs) != (int)workload->seed_count)
        return false;
    ret->runs = calloc(workload->seed_count, sizeof *ret->runs);
    if (!ret->runs)
        return false;
    cJSON_ArrayForEach(run, runs)
    {
        if (!read_run(run, workload->first_seed + seed, &ret->runs[seed])) {
            free(ret->runs);
            ret->runs = NULL;
            return false;
        }
        seed++;
    }
    return true;
}

/* A cell that was done within its budget holds for every other one; one that was not holds for a smaller one too. */
static bool read_cell(const cJSON *json, const struct adl_arena_cell_key *key, struct adl_arena_cell *ret)
{
    struct adl_arena_cell cell = {.state = ADL_ARENA_DONE, .cpu_s = number_of(json, "cpu_s")};
    if (!(number_of(json, "format") == FORMAT) || !hash_matches(json, "inputs", key->inputs) ||
        !(key->any_build || hash_matches(json, "build", key->build)))
        return false;
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "over_budget"))) {
        cell.state = ADL_ARENA_OVER_BUDGET;
        if (!(key->budget_s > 0 && key->budget_s <= number_of(json, "budget_s")))
            return false;
    } else if (!read_runs(json, key->workload, &cell)) {
        return false;
    }
    *ret = cell;
    return true;
}

bool adl_arena_cell_load(const struct adl_arena_cell_key *key, const char *folder, struct adl_arena_cell *ret)
{
    char path[4096], *text = NULL;
    size_t size = 0;
    struct adl_error ignored;
    if (print_path(key, folder, path, sizeof path) || access(path, R_OK) != 0 ||
        adl_text_file_read(path, &text, &size, &ignored))
        return false;
    cJSON *json = cJSON_ParseWithLength(text, size);
    const bool good = json && read_cell(json, key, ret);
    cJSON_Delete(json);
    free(text);
    return good;
}
