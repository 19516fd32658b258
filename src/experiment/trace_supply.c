#include "experiment/trace_supply.h"

#include "base/hash.h"
#include "telemetry/gpu_name.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VERDICTS 256 /* cached results of adl_demand_possible: a trace has few different demands */

struct adl_trace_supply {
    struct adl_trace_plan plan;
    pthread_mutex_t lock; /* guards what follows */
    struct adl_trace_account account;
};

struct demand {
    uint32_t types;
    uint32_t gpus;
    int32_t cpu_cores;
    int32_t memory_mib;
    int32_t gpu_memory_mib;
};

struct verdict {
    struct demand demand;
    bool known, possible;
};

struct source {
    struct adl_trace_supply *supply;
    struct adl_trace *trace;
    struct adl_trace_row row; /* that was read last */
    uint64_t issued;
    uint64_t without_limit;
    uint64_t unknown_line; /* see adl_trace_account */
    char unknown_types[2 * ADL_TRACE_WORD];
    struct verdict verdicts[VERDICTS];
};

static uint32_t all_types(const struct adl_cluster *cluster)
{
    return (uint32_t)((UINT64_C(1) << cluster->type_count) - 1);
}

/* The type of that name as a mask, ignoring case; 0 = the cluster lacks it. */
static uint32_t find_type(const struct adl_cluster *cluster, const char *name)
{
    uint32_t types = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (strcasecmp(cluster->types[t].name, name) == 0)
            types |= 1u << t;
    return types;
}

/* "A|B" as a mask; types that the cluster lacks are ignored. Names may be as drivers print them:
 * "nvidia_a100-sxm4-80gb" is an a100. */
static uint32_t find_types(const struct adl_cluster *cluster, const char *names)
{
    uint32_t types = 0;
    if (!*names || find_type(cluster, ADL_TYPE_ANY) != 0)
        return all_types(cluster);
    for (const char *at = names; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        char name[2 * ADL_TRACE_WORD], shorter[ADL_NAME_SIZE];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "|"), at);
        const uint32_t found = find_type(cluster, name);
        types |= found ? found : find_type(cluster, adl_gpu_name_shorten(name, shorter));
    }
    return types;
}

/* Of the GPU with the least memory, so that the share fits on every acceptable type. */
static int32_t share_mib(const struct adl_cluster *cluster, uint32_t types, uint32_t milli)
{
    int64_t least_mib = INT32_MAX;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (types & (1u << t) && cluster->types[t].memory_mib < least_mib)
            least_mib = cluster->types[t].memory_mib;
    return (int32_t)((least_mib * milli + 999) / 1000);
}

static int32_t per_gpu(int32_t amount, uint32_t gpus, uint32_t unit)
{
    const uint64_t parts = (uint64_t)gpus * unit;
    return amount > 0 ? (int32_t)(((uint64_t)amount + parts - 1) / parts) : 0;
}

/* Run times by type; types on which the job cannot run are removed from the mask. 0, or why it has none. */
static int find_runtimes(const struct source *source, const struct adl_trace_row *row, struct adl_true_job *job)
{
    const struct adl_trace_plan *plan = &source->supply->plan;
    const struct adl_cluster *cluster = &plan->scenario->cluster;
    uint32_t measured = 0;
    memset(job->runtime_us, 0, sizeof job->runtime_us);
    for (uint32_t t = 0; t < cluster->type_count && plan->throughputs && row->steps > 0; t++) {
        const double steps_per_s =
            adl_throughputs_find(plan->throughputs, cluster->types[t].name, row->name, row->gpus);
        const double us = steps_per_s > 0 ? row->steps / steps_per_s * 1e6 + 0.5 : 0;
        if (us >= 1 && us < 9e18 && job->spec.types & (1u << t)) {
            job->runtime_us[t] = (int64_t)us;
            measured |= 1u << t;
        }
    }
    if (measured == 0 && row->duration_us <= 0 && row->steps > 0)
        return ADL_TRACE_BAD_TIME;
    for (uint32_t t = 0; t < cluster->type_count && measured == 0; t++)
        if (job->spec.types & (1u << t))
            job->runtime_us[t] = row->duration_us > 0 ? row->duration_us : 1;
    job->spec.types = measured ? measured : job->spec.types;
    job->ideal_us = INT64_MAX;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        if (job->runtime_us[t] <= 0)
            continue;
        job->ideal_us = job->runtime_us[t] < job->ideal_us ? job->runtime_us[t] : job->ideal_us;
    }
    job->steps = row->steps > 0 ? row->steps : (double)job->ideal_us * 1e-6;
    job->without_limit = row->limit_us <= 0;
    job->spec.limit_us = job->without_limit ? plan->site_limit_us : row->limit_us;
    return ADL_TRACE_USED;
}

static bool possible(struct source *source, const struct adl_job_spec *spec)
{
    const struct demand demand = {spec->types, spec->gpus, spec->cpu_cores, spec->memory_mib, spec->gpu_memory_mib};
    const uint64_t hash = adl_hash_bytes(adl_hash_start(), &demand, sizeof demand);
    struct verdict *verdict = &source->verdicts[hash % VERDICTS];
    if (!verdict->known || memcmp(&verdict->demand, &demand, sizeof demand) != 0)
        *verdict =
            (struct verdict){demand, true, adl_demand_possible(&source->supply->plan.scenario->cluster, spec, NULL)};
    return verdict->possible;
}

/* ADL_TRACE_USED and the job, or why the cluster cannot run it. */
static int make_job(struct source *source, const struct adl_trace_row *row, struct adl_true_job *ret)
{
    const struct adl_cluster *cluster = &source->supply->plan.scenario->cluster;
    const uint32_t types = find_types(cluster, row->types);
    const bool shares = row->gpus == 1 && row->gpu_milli > 0 && row->gpu_milli < 1000;
    if (types == 0)
        return ADL_TRACE_UNKNOWN_TYPE;
    if (row->gpus > ADL_JOB_GPUS_MAX)
        return ADL_TRACE_NEVER_FITS;
    ret->submit_us = row->submit_us;
    ret->spec = (struct adl_job_spec){
        .id = source->issued,
        .user = adl_job_name_id(row->user),
        .name_id = adl_job_name_id(row->name),
        .gpus = (uint16_t)row->gpus,
        .types = types,
        .kind = ADL_KIND_TRAINING,
        .flags = (uint8_t)(ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN | (shares ? ADL_JOB_SHARE : 0)),
        .cpu_cores = per_gpu(row->cpu_milli, row->gpus, 1000),
        .memory_mib = per_gpu(row->memory_mib, row->gpus, 1),
        .gpu_memory_mib = shares ? share_mib(cluster, types, row->gpu_milli) : 0,
        .priority = row->priority < 0 ? 0.5f : (float)row->priority,
        .deadline_us = row->deadline_us,
    };
    const int reason = find_runtimes(source, row, ret);
    if (reason != ADL_TRACE_USED)
        return reason;
    return possible(source, &ret->spec) ? ADL_TRACE_USED : ADL_TRACE_NEVER_FITS;
}

/* Several sources may end at once; they have read the same rows, so any of their figures will do. */
static void store_account(struct source *source)
{
    struct adl_trace_account account = {.jobs = source->issued,
                                        .without_limit = source->without_limit,
                                        .format = adl_trace_format(source->trace),
                                        .unknown_line = source->unknown_line};
    memcpy(account.unknown_types, source->unknown_types, sizeof account.unknown_types);
    memcpy(account.rows, adl_trace_counts(source->trace), sizeof account.rows);
    pthread_mutex_lock(&source->supply->lock);
    source->supply->account = account;
    pthread_mutex_unlock(&source->supply->lock);
}

static int next_job(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    struct source *source = self;
    const struct adl_trace_plan *plan = &source->supply->plan;
    const struct adl_trace_row *row = &source->row;
    int status = 0;
    while ((plan->jobs_max == 0 || source->issued < plan->jobs_max) &&
           (status = adl_trace_next(source->trace, &source->row, err)) > 0) {
        if (row->steps > 0 && row->duration_us <= 0 && !plan->throughputs)
            return adl_fail(err, ADL_EINVAL,
                            "%.200s:%llu: the job has steps and no run time; throughputs (--throughputs FILE) say how "
                            "long it runs",
                            plan->path, (unsigned long long)row->line);
        const int reason = make_job(source, row, ret);
        if (reason == ADL_TRACE_USED) {
            source->issued++;
            source->without_limit += row->limit_us <= 0;
            return 1;
        }
        if (reason == ADL_TRACE_UNKNOWN_TYPE && source->unknown_line == 0) {
            source->unknown_line = row->line;
            memcpy(source->unknown_types, row->types, sizeof source->unknown_types);
        }
        status = adl_trace_reject(source->trace, row, reason, err);
        if (status)
            return status;
    }
    if (status == 0)
        store_account(source);
    return status;
}

static void close_source(void *self)
{
    struct source *source = self;
    if (!source)
        return;
    adl_trace_close(source->trace);
    free(source);
}

static int open_source(void *self, uint64_t seed, struct adl_job_source *ret, struct adl_error *err)
{
    struct adl_trace_supply *supply = self;
    struct source *source = calloc(1, sizeof *source);
    (void)seed;
    if (!source)
        return adl_fail(err, ADL_ENOMEM, "%.200s: out of memory", supply->plan.path);
    source->supply = supply;
    const int status = adl_trace_open(supply->plan.path, &supply->plan.options, &source->trace, err);
    if (status)
        free(source);
    else
        *ret = (struct adl_job_source){.self = source, .next = next_job, .close = close_source};
    return status;
}

int adl_trace_has_limits(const char *path, const struct adl_trace_options *options, bool *ret, struct adl_error *err)
{
    struct adl_trace *trace;
    struct adl_trace_row row;
    bool found = false;
    int status = adl_trace_open(path, options, &trace, err);
    if (status)
        return status;
    while (!found && (status = adl_trace_next(trace, &row, err)) > 0)
        found = row.limit_us > 0;
    adl_trace_close(trace);
    if (status < 0)
        return status;
    *ret = found;
    return 0;
}

int adl_trace_supply_create(const struct adl_trace_plan *plan, struct adl_trace_supply **ret, struct adl_error *err)
{
    struct adl_trace_supply *supply = calloc(1, sizeof *supply);
    if (!supply || pthread_mutex_init(&supply->lock, NULL)) {
        free(supply);
        return adl_fail(err, ADL_ENOMEM, "%.200s: out of memory", plan->path);
    }
    supply->plan = *plan;
    if (plan->site_limit_us <= 0)
        supply->plan.site_limit_us = ADL_SITE_LIMIT_US;
    *ret = supply;
    return 0;
}

void adl_trace_supply_destroy(struct adl_trace_supply *supply)
{
    if (!supply)
        return;
    pthread_mutex_destroy(&supply->lock);
    free(supply);
}

struct adl_job_supply adl_trace_supply_jobs(struct adl_trace_supply *supply)
{
    return (struct adl_job_supply){.self = supply, .open = open_source};
}

const struct adl_trace_row *adl_trace_supply_row(const struct adl_job_source *source)
{
    return &((const struct source *)source->self)->row;
}

struct adl_trace_account adl_trace_supply_account(struct adl_trace_supply *supply)
{
    pthread_mutex_lock(&supply->lock);
    const struct adl_trace_account account = supply->account;
    pthread_mutex_unlock(&supply->lock);
    return account;
}
