/* arena_suite: the workloads of the arena, a frozen list. */
#ifndef ADLRO_EXPERIMENT_ARENA_SUITE_H
#define ADLRO_EXPERIMENT_ARENA_SUITE_H

#include "experiment/arena.h"
#include "model/scenario.h"

/* How a scenario differs from its file; 0 = not at all. All but load keep the load: the rate of arrivals changes as
 * much as the number of jobs that the cluster can finish. */
struct adl_arena_shift {
    double load;        /* factor of the rate of arrivals */
    double duration;    /* factor of all run times */
    double sigma;       /* added to the spread of run times; the longest may be ten times as long */
    double kind_weight; /* factor of the weight of one kind of job */
    int kind;           /* enum adl_job_kind, that one */
    double gang_weight; /* factor of the weight of jobs with more than one GPU */
};

/* One row of the suite. */
struct adl_arena_entry {
    char name[ADL_NAME_SIZE];
    int group;            /* enum adl_arena_group */
    const char *scenario; /* shipped */
    struct adl_arena_shift shift;
    int size;            /* random: enum adl_generator_size */
    uint32_t number;     /* random: added to the first seed of the range */
    const char *trace;   /* a file of the data folders */
    const char *cluster; /* of the trace; shipped */
    bool measured;       /* needs the file with measured speeds */
    uint32_t seeds;      /* runs of each policy */
};

#define ADL_ARENA_ENTRIES_MAX 64

/* The rows of the suite, or of its quick form. Returns how many. */
uint32_t adl_arena_suite(bool quick, struct adl_arena_entry ret[ADL_ARENA_ENTRIES_MAX]);

#endif
