#include "experiment/arena_setup.h"

#include "base/hash.h"
#include "scenario/generator.h"
#include "scenario/load.h"
#include "scenario/scenario.h"
#include "scenario/shipped.h"
#include "sim/world_sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THROUGHPUTS "gavel/simulation_throughputs.json"

/* ---- shifts ---- */

static void stretch_mix(struct adl_mix *mix, const struct adl_arena_shift *shift)
{
    const double factor = shift->duration > 0 ? shift->duration : 1;
    mix->median_s *= factor;
    mix->min_s *= factor;
    mix->max_s *= shift->sigma > 0 ? 10 * factor : factor;
    mix->sigma += shift->sigma;
}

static void weigh_mix(struct adl_mix *mix, int kind, const struct adl_arena_shift *shift)
{
    if (shift->kind_weight > 0 && kind == shift->kind)
        mix->weight *= shift->kind_weight;
    for (uint32_t g = 0; g < mix->gang_count && shift->gang_weight > 0; g++)
        if (mix->gang_gpus[g] > 1)
            mix->gang_weight[g] *= shift->gang_weight;
}

static int shift_scenario(struct adl_scenario *scenario, const struct adl_arena_shift *shift, struct adl_error *err)
{
    struct adl_workload *workload = &scenario->workload;
    double before = 0, after = 0;
    int status = adl_scenario_capacity(scenario, &before, err);
    for (uint32_t i = 0; i < workload->mix_count; i++) {
        stretch_mix(&workload->mix[i], shift);
        weigh_mix(&workload->mix[i], scenario->classes[workload->mix[i].class_index].kind, shift);
    }
    if (status == 0)
        status = adl_scenario_capacity(scenario, &after, err);
    if (status == 0)
        workload->arrivals.rate_per_h *= after / before * (shift->load > 0 ? shift->load : 1);
    scenario->references = (struct adl_score_figures){0}; /* measured without the shift */
    return status;
}

static uint64_t hash_shift(uint64_t hash, const struct adl_arena_shift *shift)
{
    const double values[] = {shift->load,        shift->duration,     shift->sigma,
                             shift->kind_weight, (double)shift->kind, shift->gang_weight};
    return adl_hash_bytes(hash, values, sizeof values);
}

/* ---- files ---- */

/* The first data folder that has the file; false if none has. */
static bool find_file(const struct adl_arena_request *request, const char *file, char *ret, size_t size)
{
    for (uint32_t i = 0; i < request->data_count; i++) {
        const int length = snprintf(ret, size, "%s/%s", request->data[i], file);
        if (length > 0 && (size_t)length < size && access(ret, R_OK) == 0)
            return true;
    }
    return false;
}

int adl_arena_hash_file(const char *path, uint64_t *hash, struct adl_error *err)
{
    unsigned char block[65536];
    FILE *file = fopen(path, "rb");
    size_t size;
    if (!file)
        return adl_fail(err, ADL_EIO, "cannot open %.300s: %s", path, strerror(errno));
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        *hash = adl_hash_bytes(*hash, block, size);
    const bool failed = ferror(file);
    fclose(file);
    return failed ? adl_fail(err, ADL_EIO, "cannot read %.300s", path) : 0;
}

/* The file with measured speeds: the one that was given, else that of a data folder. */
static int load_throughputs(const struct adl_arena_request *request, struct adl_arena_setup *setup,
                            struct adl_arena_workload *workload, struct adl_error *err)
{
    char found[4096];
    const char *path = request->throughputs;
    if (!path && find_file(request, THROUGHPUTS, found, sizeof found))
        path = found;
    if (!path) {
        snprintf(workload->skipped, sizeof workload->skipped,
                 "needs measured speeds: --throughputs FILE, or " THROUGHPUTS " in a folder of --data");
        return 0;
    }
    const int status = adl_arena_hash_file(path, &setup->hash, err);
    return status ? status : adl_throughputs_load(path, &setup->throughputs, err);
}

/* ---- the three kinds of workload ---- */

static int read_shipped(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    uint64_t *hash = context;
    const int status = adl_shipped_read(NULL, path, ret_text, ret_size, err);
    if (status == 0)
        *hash = adl_hash_bytes(*hash, *ret_text, *ret_size);
    return status;
}

static struct adl_scenario_source shipped_source(struct adl_arena_setup *setup)
{
    return (struct adl_scenario_source){
        .read = read_shipped, .context = &setup->hash, .throughputs = setup->throughputs};
}

static int set_up_scenario(const struct adl_arena_entry *entry, struct adl_arena_setup *setup, struct adl_error *err)
{
    const struct adl_shipped_file *file = adl_shipped_find(ADL_SHIPPED_SCENARIOS, entry->scenario);
    const struct adl_scenario_source source = shipped_source(setup);
    if (!file)
        return adl_shipped_refuse(ADL_SHIPPED_SCENARIOS, entry->scenario, err);
    setup->hash = adl_hash_bytes(setup->hash, file->text, file->size);
    setup->hash = hash_shift(setup->hash, &entry->shift);
    int status = adl_scenario_parse(file->path, (const char *)file->text, file->size, &source, &setup->scenario, err);
    if (status == 0 && entry->group == ADL_ARENA_SHIFT)
        status = shift_scenario(&setup->scenario, &entry->shift, err);
    return status;
}

static int set_up_random(const struct adl_arena_request *request, const struct adl_arena_entry *entry,
                         struct adl_arena_setup *setup, struct adl_error *err)
{
    const struct adl_scenario_source source = shipped_source(setup);
    struct adl_text text = {0};
    int status = adl_scenario_generate(request->first_seed + entry->number, entry->size, false, &text, err);
    if (status == 0) {
        setup->hash = adl_hash_bytes(setup->hash, text.data, text.size);
        status = adl_scenario_parse("random.yaml", text.data, text.size, &source, &setup->scenario, err);
    }
    adl_text_clear(&text);
    return status;
}

/* A regime that the trace has: without limits there is no declared one. */
static int choose_regime(const char *path, struct adl_arena_setup *setup, struct adl_error *err)
{
    const struct adl_trace_options options = {.format = ADL_TRACE_AUTO};
    bool limits = true;
    const int status = setup->regime == ADL_REGIME_DECLARED ? adl_trace_has_limits(path, &options, &limits, err) : 0;
    if (!limits)
        setup->regime = ADL_REGIME_LEARNED;
    return status;
}

/* Reads the whole trace once, to know how many jobs it has on the cluster. */
static int count_jobs(struct adl_arena_setup *setup, struct adl_error *err)
{
    struct adl_job_source source;
    struct adl_true_job job;
    int status = setup->supply.open(setup->supply.self, 0, &source, err);
    if (status)
        return status;
    while ((status = source.next(source.self, &job, err)) > 0)
        ;
    source.close(source.self);
    setup->scenario.workload.jobs = adl_trace_supply_account(setup->trace).jobs;
    return status;
}

static int set_up_trace(const struct adl_arena_request *request, const struct adl_arena_entry *entry,
                        struct adl_arena_setup *setup, struct adl_arena_workload *workload, struct adl_error *err)
{
    const struct adl_shipped_file *file = adl_shipped_find(ADL_SHIPPED_CLUSTERS, entry->cluster);
    const struct adl_scenario_source source = shipped_source(setup);
    const char *path = setup->path;
    if (!file)
        return adl_shipped_refuse(ADL_SHIPPED_CLUSTERS, entry->cluster, err);
    if (!find_file(request, entry->trace, setup->path, sizeof setup->path)) {
        snprintf(workload->skipped, sizeof workload->skipped, "needs %.100s in a folder of --data", entry->trace);
        return 0;
    }
    setup->hash = adl_hash_bytes(setup->hash, file->text, file->size);
    int status = adl_arena_hash_file(path, &setup->hash, err);
    if (status == 0)
        status = adl_cluster_parse(file->path, (const char *)file->text, file->size, &source, &setup->scenario, err);
    const struct adl_trace_plan plan = {.path = path,
                                        .scenario = &setup->scenario,
                                        .throughputs = setup->throughputs,
                                        .options.format = ADL_TRACE_AUTO};
    if (status == 0)
        status = choose_regime(path, setup, err);
    if (status == 0)
        status = adl_trace_supply_create(&plan, &setup->trace, err);
    if (status == 0) {
        setup->supply = adl_trace_supply_jobs(setup->trace);
        status = count_jobs(setup, err);
    }
    return status;
}

static bool has_sla(const struct adl_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->workload.mix_count; i++)
        if (scenario->workload.mix[i].deadline_share > 0 || scenario->workload.mix[i].throughput_share > 0)
            return true;
    return false;
}

static void describe(const struct adl_arena_entry *entry, const struct adl_arena_setup *setup,
                     struct adl_arena_workload *workload)
{
    const char *about = setup->scenario.description;
    workload->gpus = setup->scenario.cluster.gpu_count;
    workload->jobs = setup->scenario.workload.jobs;
    workload->sla = has_sla(&setup->scenario);
    workload->regime = adl_regime_name(setup->regime);
    workload->told = adl_regime_told(setup->regime);
    workload->trace = entry->trace != NULL;
    workload->without_limit = setup->trace ? adl_trace_supply_account(setup->trace).without_limit : 0;
    if (entry->group == ADL_ARENA_SHIFT)
        snprintf(workload->about, sizeof workload->about, "paper16 shifted: %s", entry->name);
    else if (entry->trace)
        snprintf(workload->about, sizeof workload->about, "the trace %.80s on the cluster %.40s", entry->trace,
                 entry->cluster);
    else
        snprintf(workload->about, sizeof workload->about, "%.190s", about);
}

int adl_arena_setup(const struct adl_arena_request *request, const struct adl_arena_entry *entry,
                    struct adl_arena_setup *ret, struct adl_arena_workload *ret_workload, struct adl_error *err)
{
    struct adl_error inner = {{0}};
    int status = 0;
    *ret = (struct adl_arena_setup){.regime = request->regime, .hash = adl_hash_start()};
    *ret_workload = (struct adl_arena_workload){.group = adl_arena_group_names[entry->group],
                                                .regime = adl_regime_name(request->regime),
                                                .first_seed = request->first_seed,
                                                .seed_count = entry->seeds,
                                                .best_peer = ADL_NONE};
    snprintf(ret_workload->name, sizeof ret_workload->name, "%s", entry->name);
    if (request->seeds > 0 && !entry->trace) /* a trace is the same on every seed */
        ret_workload->seed_count = request->seeds;
    if (entry->measured)
        status = load_throughputs(request, ret, ret_workload, &inner);
    if (status == 0 && !ret_workload->skipped[0])
        status = entry->trace                       ? set_up_trace(request, entry, ret, ret_workload, &inner)
                 : entry->group == ADL_ARENA_RANDOM ? set_up_random(request, entry, ret, &inner)
                                                    : set_up_scenario(entry, ret, &inner);
    if (status || ret_workload->skipped[0])
        adl_arena_setup_clear(ret);
    else
        describe(entry, ret, ret_workload);
    return status ? adl_fail(err, status, "workload %s: %s", entry->name, inner.text) : 0;
}

void adl_arena_setup_clear(struct adl_arena_setup *setup)
{
    adl_trace_supply_destroy(setup->trace);
    adl_throughputs_destroy(setup->throughputs);
    adl_scenario_clear(&setup->scenario);
    *setup = (struct adl_arena_setup){0};
}
