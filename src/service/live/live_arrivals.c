/* live_arrivals: jobs that the executor brings: those of a simulated workload, and those that users submitted to the
 * cluster underneath. The row is made from the report twice, to be written and to be admitted. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <unistd.h>

struct row {
    struct adl_store_job job;
    char user[32], request[400];
};

/* "v100:2|a100:2" */
static void say_request(const struct adl_live *live, const struct adl_job_spec *spec, char *ret, size_t size)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    size_t at = 0;
    for (uint32_t left = spec->types; left && at < size; left &= left - 1) {
        const int wrote = snprintf(ret + at, size - at, "%s%s:%u", at > 0 ? "|" : "",
                                   cluster->types[__builtin_ctz(left)].name, spec->gpus);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
}

static void describe_generated(const struct adl_live *live, const struct adl_live_report *report, struct row *ret)
{
    static const char *const argv[] = {"(simulated)", NULL};
    const struct adl_job_spec *spec = &report->spec;
    snprintf(ret->user, sizeof ret->user, "user%u", spec->user);
    say_request(live, spec, ret->request, sizeof ret->request);
    ret->job = (struct adl_store_job){.uid = geteuid(),
                                      .gid = getegid(),
                                      .user = ret->user,
                                      .name = live->shared->inventory->scenario.classes[spec->class_index].name,
                                      .request = ret->request,
                                      .argv = argv,
                                      .directory = "/",
                                      .array_index = -1,
                                      .submit_us = live->now_us};
}

static void describe_submitted(const struct adl_live *live, const struct adl_live_report *report, struct row *ret)
{
    static const char *const argv[] = {"(the cluster's own)", NULL};
    const struct adl_arrival *from = &report->arrival;
    ret->job = (struct adl_store_job){.uid = from->uid,
                                      .gid = from->gid,
                                      .user = from->user,
                                      .name = from->name,
                                      .request = from->request,
                                      .argv = argv,
                                      .directory = from->directory[0] != '\0' ? from->directory : "/",
                                      .array_id = from->array_id > 0 ? (uint64_t)from->array_id : 0,
                                      .array_index = from->array_id > 0 ? from->array_index : -1,
                                      .external = from->external,
                                      .submit_us = from->submit_us > 0 ? from->submit_us : live->now_us};
}

/* What is written; once it has a number, what the store would read. */
static void describe(const struct adl_live *live, const struct adl_live_report *report, struct row *ret)
{
    if (report->base.kind == ADL_REPORT_GENERATED)
        describe_generated(live, report, ret);
    else
        describe_submitted(live, report, ret);
    struct adl_store_job *job = &ret->job;
    job->spec = report->spec;
    job->status.priority = report->spec.priority;
    job->script = job->stdout_path = job->stderr_path = job->mask = job->warn_signal = "";
    job->status.reason = job->status.boot = "";
}

int adl_live_arrival_prepare(struct adl_live *live, struct adl_live_report *report, struct adl_error *err)
{
    struct row row = {.user = ""};
    describe(live, report, &row);
    return adl_store_job_add(live->config.store, &row.job, &report->number, err);
}

/* It has its slot from the executor and is queued at once. */
static bool queue_generated(struct adl_live *live, const struct adl_live_report *report, struct adl_job_entry *job)
{
    const uint32_t slot = report->base.slot;
    struct adl_live_item item = {.event = {.kind = ADL_EVENT_SUBMIT, .job = slot}, .spec = report->spec};
    item.spec.id = job->id;
    job->eligible_us = live->now_us;
    job->alternative_count = 1;
    job->alternatives[0] = (struct adl_alternative){item.spec.gpus, item.spec.types, ADL_NONE};
    return adl_job_table_set_slot(&live->shared->job_table, job, 0, slot) == 0 && adl_live_post(live, &item) == 0 &&
           adl_live_transition(live, job, ADL_ON_ENQUEUE) == 0;
}

static void place_submitted(struct adl_live *live, const struct adl_live_report *report, struct adl_job_entry *job)
{
    job->ineligible = report->arrival.ineligible[0] != '\0';
    job->eligible_us = job->ineligible ? 0 : live->now_us;
    adl_live_place(live, job);
    if (job->ineligible)
        adl_job_table_set_reason(job, report->arrival.ineligible);
}

void adl_live_arrival_apply(struct adl_live *live, const struct adl_live_report *report)
{
    struct adl_error err;
    struct row row = {.user = ""};
    describe(live, report, &row);
    row.job.spec.id = row.job.payload = report->number;
    struct adl_job_entry *job = adl_live_admit(live, &row.job, &err);
    if (!job)
        return; /* out of memory; it is in the store, and a restart finds it */
    if (report->base.kind != ADL_REPORT_GENERATED)
        place_submitted(live, report, job);
    else if (!queue_generated(live, report, job))
        return;
    live->shared->counts.submitted++;
    adl_live_publish_job(live, job, NULL);
}
