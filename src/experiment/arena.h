/* arena: the results of every policy on every workload of a suite, and how one policy compares with the best of the
 * others on each. */
#ifndef ADLRO_EXPERIMENT_ARENA_H
#define ADLRO_EXPERIMENT_ARENA_H

#include "metrics/metrics.h"
#include "metrics/statistics.h"

#include <stdbool.h>
#include <stdint.h>

enum adl_arena_state {
    ADL_ARENA_ABSENT, /* the workload was skipped, or another cell failed first */
    ADL_ARENA_DONE,
    ADL_ARENA_OVER_BUDGET, /* the policy took more processor time than a cell may */
};

enum adl_arena_verdict { ADL_ARENA_DRAW, ADL_ARENA_WIN, ADL_ARENA_LOSS };

/* Mean JCT of one policy over that of another: the geometric mean over the seeds of the ratio on each. Not finite if
 * there is none. */
struct adl_arena_ratio {
    double ratio;  /* below 1: the first is better */
    double lo, hi; /* 95 % confidence interval, by Student's t on the logarithms; equal to the ratio for one seed */
    double p;      /* paired t test of the logarithms; 1 for one seed */
};

/* A policy on a workload, on all its seeds. */
struct adl_arena_cell {
    int state;               /* enum adl_arena_state; what follows is 0 unless it is done */
    struct adl_result *runs; /* [seed_count of the workload], without quarters */
    struct adl_summary metrics[ADL_METRIC_COUNT];
    double evictions;                   /* mean of a run */
    double lost_gpu_s;                  /* mean of a run: GPU time of work lost by preemptions */
    uint64_t unfinished, refused;       /* sums over the seeds */
    double cpu_s;                       /* processor time that the cell took; also set if it is over budget */
    struct adl_arena_ratio versus_peer; /* to the workload's best peer, whose own is 1; p not corrected */
};

struct adl_arena_policy {
    char name[ADL_NAME_SIZE];
    bool ours;                          /* the policy that is compared with its peers, or a variant of it */
    uint32_t workloads;                 /* on which it is done */
    struct adl_arena_ratio versus_peer; /* geometric mean over these workloads of its ratio to the workload's best peer;
                                         * interval and p over the workloads */
};

struct adl_arena_workload {
    char name[ADL_NAME_SIZE];
    const char *group;  /* "frozen", "shift", "random", "trace" */
    char about[200];    /* one line */
    char skipped[200];  /* why it did not run; empty: it ran */
    const char *regime; /* "declared", "learned", "oracle" */
    uint32_t gpus;
    uint64_t jobs;       /* a seed */
    uint64_t first_seed; /* seeds are first_seed .. first_seed + seed_count - 1 */
    uint32_t seed_count;
    bool sla;                    /* some job has a deadline or a least throughput */
    uint32_t best_peer;          /* the policy of least geometric mean JCT that is not ours; ADL_NONE = none is done */
    struct adl_arena_ratio ours; /* ours over the best peer; p Holm-corrected over the workloads */
    int verdict;                 /* enum adl_arena_verdict of ours: p below 0.05 or a draw */
};

/* Ours against the best peers, over the workloads of a group. */
struct adl_arena_total {
    const char *group; /* NULL = of all groups */
    uint32_t workloads, wins, losses, draws;
    uint32_t below;               /* workloads with a ratio below 1, whatever p */
    struct adl_arena_ratio ratio; /* geometric mean over workloads; interval and p over the workloads */
};

#define ADL_ARENA_GROUPS 4 /* "frozen", "shift", "random", "trace" */

struct adl_arena {
    char version[64];   /* of the program that ran the cells */
    const char *regime; /* that was asked for */
    const char *seeds;  /* the range of seeds, for people: "validation", "test" */
    double budget_s;    /* processor time of a cell; 0 = no limit */
    uint32_t ours;      /* policy */
    uint32_t policy_count, workload_count;
    struct adl_arena_policy *policies;
    struct adl_arena_workload *workloads;
    struct adl_arena_cell *cells;                         /* [workload * policy_count + policy] */
    struct adl_arena_total all, groups[ADL_ARENA_GROUPS]; /* a group without workloads has 0 of them */
};

#endif
