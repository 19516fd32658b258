/* arena_setup: a workload of the arena, loaded and ready to run. */
#ifndef ADLRO_EXPERIMENT_ARENA_SETUP_H
#define ADLRO_EXPERIMENT_ARENA_SETUP_H

#include "experiment/arena_suite.h"
#include "experiment/trace_supply.h"
#include "scenario/throughputs.h"

/* A workload that can run. Points into itself: stays where it was made. */
struct adl_arena_setup {
    struct adl_scenario scenario;
    struct adl_throughputs *throughputs;
    struct adl_trace_supply *trace;
    struct adl_job_supply supply; /* of the trace; its self is NULL without one */
    char path[4096];              /* of the trace */
    int regime;                   /* enum adl_regime: a trace without limits has no regime declared */
    uint64_t hash;                /* of all texts that it was made from */
};

/* Loads a workload and describes it. If its data is not here, *ret_workload says so in skipped, *ret is zeroed, and the
 * status is 0. Frees: adl_arena_setup_clear(). */
int adl_arena_setup(const struct adl_arena_request *request, const struct adl_arena_entry *entry,
                    struct adl_arena_setup *ret, struct adl_arena_workload *ret_workload, struct adl_error *err);
void adl_arena_setup_clear(struct adl_arena_setup *setup); /* accepts a zeroed one */

/* Continues a hash with the bytes of a file. */
int adl_arena_hash_file(const char *path, uint64_t *hash, struct adl_error *err);

#endif
