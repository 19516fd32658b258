/* arena: runs every policy on every workload of a suite, and compares one policy with the best of the others on
 * each. */
#ifndef ADLRO_EXPERIMENT_ARENA_H
#define ADLRO_EXPERIMENT_ARENA_H

#include "metrics/metrics.h"
#include "metrics/statistics.h"
#include "policy/policy.h"

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
    double lost_gpu_s;                  /* mean of a run: GPU time lost by preemptions */
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
    const char *group;  /* one of adl_arena_group_names */
    char about[200];    /* one line */
    char skipped[200];  /* why it did not run; empty: it ran */
    const char *regime; /* "declared", "learned", "oracle" */
    const char *told;   /* what policies are told in it */
    bool trace;         /* its jobs are a trace's, not a scenario's */
    uint32_t gpus;
    uint64_t jobs;          /* a seed */
    uint64_t without_limit; /* of these, jobs of a trace without a limit of their user */
    uint64_t first_seed;    /* seeds are first_seed .. first_seed + seed_count - 1 */
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

enum adl_arena_group { ADL_ARENA_FROZEN, ADL_ARENA_SHIFT, ADL_ARENA_RANDOM, ADL_ARENA_TRACE, ADL_ARENA_GROUPS };
extern const char *const adl_arena_group_names[]; /* "frozen", "shift", "random", "trace"; ends with NULL */

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

/* A cell was finished, or found in the folder. */
struct adl_arena_progress {
    uint32_t done, total; /* cells */
    uint32_t reused;      /* of these, from the folder */
    double left_s;        /* of wall time, if the rest is like what was done; 0 = not known yet */
    const char *workload, *policy;
};

struct adl_arena_request {
    bool quick;             /* few small workloads on few seeds */
    uint64_t first_seed;    /* of runs, and of random scenarios */
    uint32_t seeds;         /* runs of each policy on each workload; 0 = as the suite says */
    const char *seeds_name; /* of the range, for people */
    int regime;             /* enum adl_regime; a trace without limits is learned instead of declared */
    const char *workloads;  /* names and groups, with commas; NULL = all */
    const char *policies;   /* names, with commas */
    const char *ours;       /* one of them */
    double budget_s;        /* processor time of a cell; 0 = no limit */
    uint32_t threads;       /* cells that run at a time, at least 1 */

    const char *const *data; /* folders with traces and measurements */
    uint32_t data_count;
    const char *throughputs; /* file with measured speeds; NULL = that of the data folders */

    const char *const *sets; /* these five as in struct adl_policy_request */
    uint32_t set_count;
    const char *variants; /* a file with variants; NULL = none */
    const struct adl_policy_ops *const *plugins;
    uint32_t plugin_count;
    const void *model; /* dqn: a trained network's bytes; NULL = the shipped one */
    size_t model_size;

    const char *folder;  /* where finished cells are kept; exists */
    const char *version; /* of the program, for people */
    uint64_t build;      /* changes with the program and its plugins: cells of another build are run again */
    bool other_builds;   /* but those of peers are not */
    void (*progress)(void *self, const struct adl_arena_progress *progress); /* may be NULL; one thread at a time */
    void *progress_self;
};

/* Runs the cells that the folder lacks. On failure *ret is untouched; finished cells stay in the folder. */
int adl_arena_run(const struct adl_arena_request *request, struct adl_arena *ret, struct adl_error *err);
void adl_arena_clear(struct adl_arena *arena); /* frees; accepts a zeroed one */

#endif
