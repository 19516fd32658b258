/* slurm_messages: messages of the service to the Slurm adapter, one JSON object each (docs/formats/slurm-protocol.md).
 */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_MESSAGES_H
#define ADLRO_EXECUTOR_SLURM_SLURM_MESSAGES_H

#include "base/text.h"
#include "executor/slurm/executor_slurm.h"
#include "executor/slurm/slurm_mirror.h"

/* Each writes into a text that is empty. */
void adl_slurm_message_hello(struct adl_text *text, const struct adl_executor_slurm_config *config, uint32_t poll_ms);
void adl_slurm_message_heartbeat(struct adl_text *text);
/* On the GPUs it holds. */
void adl_slurm_message_place(struct adl_text *text, uint64_t seq, const struct adl_cluster *cluster,
                             const struct adl_mirror_job *job, const char *comment);
/* "requeue", "hold", "cancel", "giveback" or "comment", with a text for people. */
void adl_slurm_message_job(struct adl_text *text, const char *op, uint64_t seq, const struct adl_mirror_job *job,
                           const char *comment);

#endif
