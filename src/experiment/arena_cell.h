/* arena_cell: runs one policy on the seeds of one workload, and keeps the results in a file. */
#ifndef ADLRO_EXPERIMENT_ARENA_CELL_H
#define ADLRO_EXPERIMENT_ARENA_CELL_H

#include "experiment/arena_setup.h"

/* What a cell is, and what makes a stored one stale. */
struct adl_arena_cell_key {
    const struct adl_arena_workload *workload;
    const char *policy;
    uint64_t inputs; /* hash of the workload's texts, the policy's settings and its network */
    uint64_t build;
    bool any_build;  /* a stored cell of another build is good enough */
    double budget_s; /* 0 = no limit */
};

/* Runs it. A cell that is over budget is no failure. On failure *ret is untouched. */
int adl_arena_cell_run(const struct adl_arena_cell_key *key, const struct adl_arena_setup *setup,
                       const struct adl_policy_ops *policy, struct adl_arena_cell *ret, struct adl_error *err);

/* True and the cell, if the folder has a file that matches the key. */
bool adl_arena_cell_load(const struct adl_arena_cell_key *key, const char *folder, struct adl_arena_cell *ret);
int adl_arena_cell_save(const struct adl_arena_cell_key *key, const char *folder, const struct adl_arena_cell *cell,
                        struct adl_error *err);

#endif
