#include "sacct_dump.h"

#include "scenario/scenario.h"
#include "sim/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GPUS     64
#define LOAD     0.9                 /* of these GPUs */
#define FIRST_S  INT64_C(1715558400) /* 2024-05-13 */
#define DATE     "%Y-%m-%dT%H:%M:%S"
#define GPUS_MAX 8 /* of a job: a node */

struct writer {
    struct adl_scenario scenario;
    uint32_t type; /* v100 */
    FILE *file;    /* NULL: only the sum is wanted */
    double gpu_s;  /* of all jobs */
    uint64_t count;
};

static int64_t run_s(const struct writer *writer, const struct adl_true_job *job)
{
    return job->runtime_us[writer->type] / 1000000;
}

static void write_job(const struct writer *writer, const struct adl_true_job *job)
{
    char submit[64] = "";
    struct tm parts;
    const time_t moment = (time_t)(FIRST_S + job->submit_us / 1000000);
    const int64_t limit_s = job->spec.limit_us / 1000000;
    if (gmtime_r(&moment, &parts))
        strftime(submit, sizeof submit, DATE, &parts);
    fprintf(writer->file,
            "%" PRIu64 "|%s|u%" PRIu32 "|COMPLETED|%s|%" PRId64 "|%" PRId64 "-%02d:%02d:%02d|cpu=%d,mem=%dM,node=1,"
            "gres/gpu:v100=%u,gres/gpu=%u\n",
            writer->count, writer->scenario.classes[job->spec.class_index].name, job->spec.user, submit,
            run_s(writer, job), limit_s / 86400, (int)(limit_s / 3600 % 24), (int)(limit_s / 60 % 60),
            (int)(limit_s % 60), job->spec.cpu_cores * job->spec.gpus, job->spec.memory_mib * job->spec.gpus,
            (unsigned)job->spec.gpus, (unsigned)job->spec.gpus);
}

static int each_job(struct writer *writer, uint64_t jobs, uint64_t seed, struct adl_error *err)
{
    struct adl_job_source source;
    struct adl_true_job job;
    writer->scenario.workload.jobs = 2 * jobs;
    int status = adl_workload_open(&writer->scenario, seed, &source, err);
    if (status)
        return status;
    writer->gpu_s = 0;
    writer->count = 0;
    while (writer->count < jobs && (status = source.next(source.self, &job, err)) > 0) {
        if (job.spec.gpus > GPUS_MAX || run_s(writer, &job) <= 0)
            continue;
        writer->gpu_s += (double)run_s(writer, &job) * job.spec.gpus;
        writer->count++;
        if (writer->file)
            write_job(writer, &job);
    }
    source.close(source.self);
    return status < 0 ? status : 0;
}

static int open_writer(struct writer *writer, struct adl_error *err)
{
    const int status = adl_scenario_load("campus512", &writer->scenario, NULL, err);
    if (status == 0)
        writer->type = adl_cluster_find_type(&writer->scenario.cluster, "v100");
    return status;
}

int sacct_dump_rate(uint64_t jobs, uint64_t seed, double *ret_per_h, struct adl_error *err)
{
    struct writer writer = {.file = NULL};
    int status = open_writer(&writer, err);
    if (status == 0)
        status = each_job(&writer, jobs, seed, err);
    if (status == 0)
        *ret_per_h = LOAD * GPUS * 3600 * (double)writer.count / writer.gpu_s;
    adl_scenario_clear(&writer.scenario);
    return status;
}

int sacct_dump_write(char *path, uint64_t jobs, uint64_t seed, double per_h, struct adl_error *err)
{
    struct writer writer = {.file = NULL};
    int status = open_writer(&writer, err);
    const int fd = status ? -1 : mkstemp(path);
    if (status == 0 && fd < 0)
        status = adl_fail(err, ADL_EIO, "%s cannot be made", path);
    if (status == 0) {
        writer.scenario.workload.arrivals.rate_per_h = per_h;
        writer.file = fdopen(fd, "w");
        fprintf(writer.file, "JobID|JobName|User|State|Submit|ElapsedRaw|Timelimit|AllocTRES\n");
        status = each_job(&writer, jobs, seed, err);
        if (fclose(writer.file) && status == 0)
            status = adl_fail(err, ADL_EIO, "%s cannot be written", path);
    }
    adl_scenario_clear(&writer.scenario);
    return status;
}
