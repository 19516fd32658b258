#include "experiment/actual.h"

#include "experiment/trace_supply.h"

#include <math.h>
#include <stdlib.h>

/* GPUs taken, or given back if negative. */
struct change {
    int64_t time_us;
    double gpus;
};

struct reading {
    const struct adl_scenario *scenario;
    struct adl_metrics *metrics;
    struct change *changes;
    size_t count, capacity;
    struct adl_actual actual;
};

/* At one time GPUs are given back first. */
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

static uint32_t most_held(struct reading *reading)
{
    double held = 0, most = 0;
    if (reading->count > 0)
        qsort(reading->changes, reading->count, sizeof *reading->changes, compare_changes);
    for (size_t i = 0; i < reading->count; i++) {
        held += reading->changes[i].gpus;
        most = held > most ? held : most;
    }
    return (uint32_t)ceil(most - 1e-6);
}

static int add_job(struct reading *reading, const struct adl_true_job *job, const struct adl_trace_row *row)
{
    const bool overran = reading->scenario->kill_at_limit && row->limit_us > 0 && row->duration_us > row->limit_us;
    const double gpus = row->gpus * (double)row->gpu_milli / 1000;
    const struct adl_outcome outcome = {.end = overran ? ADL_END_TIMEOUT : ADL_END_COMPLETED,
                                        .run_us = row->duration_us > 0 ? row->duration_us : row->end_us - row->start_us,
                                        .ideal_us = job->ideal_us,
                                        .steps = job->steps};
    if (adl_grow((void **)&reading->changes, &reading->capacity, reading->count + 2, sizeof *reading->changes))
        return ADL_ENOMEM;
    reading->changes[reading->count++] = (struct change){row->start_us, gpus};
    reading->changes[reading->count++] = (struct change){row->end_us, -gpus};
    return adl_metrics_record(reading->metrics, &job->spec, gpus, row->submit_us, row->end_us, &outcome);
}

static int read_all(struct reading *reading, const struct adl_job_supply *supply, struct adl_error *err)
{
    struct adl_true_job job;
    struct adl_job_source source;
    int status = supply->open(supply->self, 0, &source, err);
    if (status)
        return status;
    while (status == 0 && (status = source.next(source.self, &job, err)) > 0) {
        const struct adl_trace_row *row = adl_trace_supply_row(&source);
        const bool known = row->start_us >= 0;
        reading->actual.without += !known;
        status = known && add_job(reading, &job, row) ? ADL_ENOMEM : 0;
        if (status)
            adl_fail(err, status, "out of memory for what happened to %zu jobs", reading->count / 2);
        else if (known)
            reading->actual.jobs++;
    }
    source.close(source.self);
    return status;
}

int adl_actual_read(const struct adl_scenario *scenario, const struct adl_job_supply *supply, struct adl_actual *ret,
                    struct adl_result *ret_result, struct adl_error *err)
{
    struct reading reading = {.scenario = scenario};
    int status = adl_metrics_create(scenario->lambda, &reading.metrics)
                     ? adl_fail(err, ADL_ENOMEM, "out of memory for metrics")
                     : read_all(&reading, supply, err);
    if (status == 0 && reading.actual.jobs < 9 * reading.actual.without)
        reading.actual.jobs = 0;
    if (status == 0) {
        reading.actual.gpus_most = most_held(&reading);
        adl_metrics_record_result(reading.metrics, scenario->cluster.gpu_count, ret_result);
        *ret = reading.actual;
    }
    adl_metrics_destroy(reading.metrics);
    free(reading.changes);
    return status;
}
