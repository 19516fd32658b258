/* executor_slurm_internal: the inside of the executor that is a Slurm cluster, shared by executor_slurm*.c. */
#ifndef ADLRO_EXECUTOR_SLURM_EXECUTOR_SLURM_INTERNAL_H
#define ADLRO_EXECUTOR_SLURM_EXECUTOR_SLURM_INTERNAL_H

#include "executor/slurm/executor_slurm.h"
#include "executor/slurm/slurm_link.h"
#include "executor/slurm/slurm_mirror.h"

#include "base/text.h"

#define ADL_SLURM_REFUSALS_MAX 3 /* placements in a row: then Slurm may have it */

#define ADL_SLURM_NODES_FULL "the nodes that it may use are full"

/* A report that waits to be given out. */
struct adl_slurm_waiting {
    struct adl_report report;
    struct adl_slurm_job *job; /* of an arrival or a seizure; the report points into it */
};

struct adl_executor_slurm {
    struct adl_executor_slurm_config config;
    struct adl_slurm_link *link; /* NULL: the adapter is away */
    struct adl_slurm_mirror mirror;
    struct adl_slurm_waiting *waiting;
    size_t waiting_capacity;
    uint32_t waiting_first, waiting_count; /* waiting[first .. count - 1] */
    struct adl_slurm_job **slots;          /* [slot] */
    size_t slot_capacity;
    uint32_t slot_count;
    uint32_t *free_slots;
    size_t free_capacity;
    uint32_t free_count;
    uint64_t seq;
    uint32_t sync; /* round of reconciliation */
    bool synced;   /* the last was completed */
    bool opening;  /* the service has yet to say which jobs it knows */
    bool restless; /* jobs have changed from the service's side: they are to be settled */
    int64_t now_us, beat_us, restart_us, looked_us;
    bool *down;          /* [gpu] as reported */
    int64_t *foreign_us; /* [bank] since when others seem to use some; 0 = they do not */
};

/* executor_slurm.c: a message about a job to the adapter. What cannot be sent is not lost: the whole cluster is looked
 * at when the adapter is back. */
void adl_executor_slurm_say(struct adl_executor_slurm *executor, const char *op, const struct adl_slurm_job *job,
                            const char *words);

/* executor_slurm_commands.c: reports to the service, which is given them one by one. */
void adl_executor_slurm_post(struct adl_executor_slurm *executor, const struct adl_report *report,
                             struct adl_slurm_job *job);
/* bar: why it may not start yet; "": it may. */
void adl_executor_slurm_post_arrival(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *bar);
void adl_executor_slurm_post_end(struct adl_executor_slurm *executor, struct adl_slurm_job *job);
void adl_executor_slurm_post_evict(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *text);
/* Whether it may start, and why not. */
void adl_executor_slurm_post_bar(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *why);
/* It runs on the GPUs it holds, and not where the service put it, if it did. */
void adl_executor_slurm_post_place(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *why);
/* A report of this kind about the job, with nothing more to say. */
void adl_executor_slurm_post_job(struct adl_executor_slurm *executor, struct adl_slurm_job *job, int kind);
/* It runs, and nobody here said so: under the slot of what it got. */
void adl_executor_slurm_post_seizure(struct adl_executor_slurm *executor, struct adl_slurm_job *job);
void adl_executor_slurm_remove(struct adl_executor_slurm *executor,
                               struct adl_slurm_job *job);                                /* with what waits about it */
int adl_executor_slurm_give(struct adl_executor_slurm *executor, struct adl_report *ret); /* 1, or 0: there is none */

/* executor_slurm_reconcile.c: what follows from where a job stands there, and here. */
/* Asks for what was asked for before, unless that was only just now. */
void adl_executor_slurm_ask(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *op,
                            const char *words);
void adl_executor_slurm_give_back(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *why);
void adl_executor_slurm_end_as(struct adl_executor_slurm *executor, struct adl_slurm_job *job, int end,
                               const char *why);
void adl_executor_slurm_settle(struct adl_executor_slurm *executor, struct adl_slurm_job *job); /* may remove the job */
void adl_executor_slurm_settle_all(struct adl_executor_slurm *executor);

/* executor_slurm_reports.c: what the adapter says. */
void adl_executor_slurm_hear(struct adl_executor_slurm *executor, const struct cJSON *message);
/* At GPUs that others use, or nobody can. */
void adl_executor_slurm_look_at_gpus(struct adl_executor_slurm *executor);

#endif
