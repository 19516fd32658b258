/* slurm_messages: what the service says to the Slurm adapter, one JSON object each (docs/slurm-protocol.md). */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_MESSAGES_H
#define ADLRO_EXECUTOR_SLURM_SLURM_MESSAGES_H

#include "base/text.h"
#include "executor/slurm/executor_slurm.h"
#include "executor/slurm/slurm_mirror.h"

/* Each writes into a text that is empty. */
void adl_slurm_say_hello(struct adl_text *text, const struct adl_executor_slurm_config *config, uint32_t poll_ms);
void adl_slurm_say_heartbeat(struct adl_text *text);
/* On the GPUs it holds. */
void adl_slurm_say_place(struct adl_text *text, uint64_t seq, const struct adl_cluster *cluster,
                         const struct adl_slurm_job *job, const char *comment);
/* "requeue", "hold", "cancel", "giveback" or "comment", and words for people. */
void adl_slurm_say_job(struct adl_text *text, const char *op, uint64_t seq, const struct adl_slurm_job *job,
                       const char *words);

#endif
