/* preemption_victims: the GPUs that a waiting job could get if younger jobs were preempted for it.
 *
 * Only preemptible jobs that were submitted later are victims, so two jobs never preempt each other in turn. */
#ifndef ADLRO_POLICY_MECHANISM_PREEMPTION_VICTIMS_H
#define ADLRO_POLICY_MECHANISM_PREEMPTION_VICTIMS_H

#include "model/reason.h"
#include "state/state.h"

/* Finds GPUs of one type for the job: free ones first, then those of jobs with few GPUs. In one node if possible, else
 * over several if the job may span. On true ret_gpus has spec.gpus entries, at least one of them held by a victim. */
bool adl_preemption_victims_find(const struct adl_state *state, uint32_t slot, uint32_t type, uint32_t *ret_gpus);

/* True if the job can start on the GPUs that were found for it: the victims have left. */
bool adl_preemption_victims_ready(const struct adl_state *state, uint32_t slot, const uint32_t *gpus);

/* Why the victim is preempted for the other job. */
struct adl_reason adl_preemption_victims_reason(const struct adl_state *state, uint32_t victim, uint32_t claimant);

/* Lists the jobs that hold these GPUs, each once; returns their number. ret has room for gpu_count. */
uint32_t adl_preemption_victims_list(const struct adl_state *state, const uint32_t *gpus, uint32_t gpu_count,
                                     uint32_t *ret);

#endif
