/* executor_sim: a simulated cluster that carries out the service's decisions: the twin. Jobs of its scenario arrive by
 * themselves; those that people submit are simulated too. */
#ifndef ADLRO_EXECUTOR_SIM_EXECUTOR_SIM_H
#define ADLRO_EXECUTOR_SIM_EXECUTOR_SIM_H

#include "executor/executor.h"
#include "executor/inventory.h"

/* True run time of a submitted job, alone on the slowest type that it accepts, as a share of its time limit. */
#define ADL_TWIN_SHARE_OF_LIMIT 0.6

/* The simulated time t is start_us + t for the service. Nothing here reads a clock: the time is that of the
 * last poll, so poll before you give a command. The inventory outlives the executor, and has to have a workload.
 *
 * A slot is used again once ENDED was reported and forget() was called. */
int adl_executor_sim_create(const struct adl_inventory *inventory, uint64_t seed, int64_t start_us,
                            struct adl_executor *ret, struct adl_error *err);

#endif
