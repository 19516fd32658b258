/* foresight: past submissions with their true run times, and how well they can be told before.
 *
 * Each job is predicted when it is submitted, from nothing but the jobs that had ended by then; a job ends its run time
 * after its submission. Baselines: what the user says, the mean of the user's jobs, plain and geometric, and the mean
 * of the user's last two (Tsafrir et al., TPDS 2007). Who has no jobs yet gets everybody's. */
#ifndef ADLRO_BENCH_FORESIGHT_H
#define ADLRO_BENCH_FORESIGHT_H

#include "predict/similar.h"
#include "scenario/scenario.h"
#include "sim/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct past_job {
    struct adl_traits traits;
    struct adl_job_spec spec; /* for history; only of workloads */
    int64_t submit_us, run_us;
    int64_t told_us;      /* what the user says, as time on the type it is measured on; 0 = nothing */
    uint32_t user;        /* below USERS */
    uint32_t class_index; /* ADL_CLASS_UNKNOWN = not known */
};

enum foreteller { BY_LIMIT, BY_MEAN, BY_GEOMETRIC_MEAN, BY_LAST_TWO, BY_HISTORY, BY_SIMILAR, FORETELLERS };

struct foresight {
    double error[FORETELLERS]; /* median of |ln(predicted / true)| */
    size_t count[FORETELLERS]; /* of jobs predicted */
    double spread_covers;      /* share of jobs whose truth is within one spread of what similar says */
    double class_share;        /* of classes told right */
    size_t class_count;
};

/* Jobs in order of submission; those from first on are counted, the others only learned from. told_only: only those of
 * which the user said something. */
struct foresight look_ahead(const struct past_job *jobs, size_t count, size_t first, bool told_only,
                            struct adl_similar *similar);

/* A scenario's workload: run times are those on the fastest type a job accepts, and what the user says is what is made
 * of the limit for that type where nothing else is known (predict/belief.h). */
struct past_job *jobs_of_scenario(const struct adl_scenario *scenario, uint64_t seed, size_t *ret_count);

/* Chronus: model, virtual cluster and GPUs are known, and of jobs with a deadline how long they may take, the only
 * thing that users say of time: it stands for the limit. The file has no users: a virtual cluster stands for one.
 * Iterations are not used, as the duration may have been made from them. NULL if the file is not there. */
struct past_job *jobs_of_chronus(const char *path, bool with_deadlines, size_t *ret_count);

/* Philly as a replay sees it: GPUs, virtual cluster (which stands for the user) and time of submission; no limits. NULL
 * if the file is not there. */
struct past_job *jobs_of_philly(const char *path, size_t *ret_count);

#endif
