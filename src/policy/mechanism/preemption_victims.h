/* preemption_victims: the GPUs that a waiting job could have at once if younger jobs were stopped for it.
 *
 * Only jobs that were submitted later and may be stopped lose theirs, so two jobs never take turns: there is always an
 * older one of the two. */
#ifndef ADLRO_POLICY_MECHANISM_PREEMPTION_VICTIMS_H
#define ADLRO_POLICY_MECHANISM_PREEMPTION_VICTIMS_H

#include "model/reason.h"
#include "state/state.h"

/* Finds GPUs of one type for the job: free ones first, then those of jobs with few GPUs. In one node if it can be, else
 * over several if the job may. On true ret_gpus has spec.gpus entries, at least one of them held by a job to be
 * stopped.
 */
bool adl_preemption_victims_find(const struct adl_state *state, uint32_t slot, uint32_t type, uint32_t *ret_gpus);

/* True if the job can start on GPUs that were found for it: those who held them are gone. */
bool adl_preemption_victims_ready(const struct adl_state *state, uint32_t slot, const uint32_t *gpus);

/* Why a job is stopped for another. */
struct adl_reason adl_preemption_victims_reason(const struct adl_state *state, uint32_t victim, uint32_t claimant);

/* The jobs that hold these GPUs, each once; how many. ret has room for gpu_count. */
uint32_t adl_preemption_victims_list(const struct adl_state *state, const uint32_t *gpus, uint32_t gpu_count,
                                     uint32_t *ret);

#endif
