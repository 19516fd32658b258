/* executor_slurm_internal: the inside of the Slurm executor, shared by executor_slurm*.c. */
#ifndef ADLRO_EXECUTOR_SLURM_EXECUTOR_SLURM_INTERNAL_H
#define ADLRO_EXECUTOR_SLURM_EXECUTOR_SLURM_INTERNAL_H

#include "executor/slurm/executor_slurm.h"
#include "executor/slurm/slurm_link.h"
#include "executor/slurm/slurm_mirror.h"

#include "base/text.h"

#define ADL_SLURM_REFUSALS_MAX 3 /* of placements in a row: then the job is given back to Slurm */

#define ADL_SLURM_NODES_FULL "the nodes that it may use are full"

/* A report that poll has not returned yet. */
struct adl_slurm_queued_report {
    struct adl_report report;
    struct adl_mirror_job *job; /* ARRIVED, CLUSTER_STARTED: the report points into it */
};

struct adl_executor_slurm {
    struct adl_executor_slurm_config config;
    struct adl_slurm_link *link; /* NULL: the adapter does not run */
    struct adl_slurm_mirror mirror;
    struct adl_slurm_queued_report *reports;
    size_t report_capacity;
    uint32_t report_first, report_count; /* reports[first .. count - 1] */
    struct adl_mirror_job **slots;       /* [slot] */
    size_t slot_capacity;
    uint32_t slot_count;
    uint32_t *free_slots;
    size_t free_capacity;
    uint32_t free_count;
    uint64_t seq;
    uint32_t sync; /* round of reconciliation */
    bool synced;   /* the last was completed */
    bool opening;  /* the service has not introduced the jobs that it knows yet */
    bool dirty;    /* the service has changed jobs: reconcile all */
    int64_t now_us, heartbeat_us, restart_us, checked_us;
    bool *down;          /* [gpu] as reported */
    int64_t *foreign_us; /* [bank] since when others use GPUs of it; 0 = they do not */
};

/* executor_slurm.c: sends the adapter an order about a job, or drops it if the adapter does not run. */
void adl_executor_slurm_send(struct adl_executor_slurm *executor, const char *op, const struct adl_mirror_job *job,
                             const char *comment);

/* executor_slurm_reports.c: reports to the service, queued for poll. */
void adl_executor_slurm_post(struct adl_executor_slurm *executor, const struct adl_report *report,
                             struct adl_mirror_job *job);
/* why: it may not start yet; "": it may. */
void adl_executor_slurm_post_arrived(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *why);
void adl_executor_slurm_post_ended(struct adl_executor_slurm *executor, struct adl_mirror_job *job);
void adl_executor_slurm_post_requeued(struct adl_executor_slurm *executor, struct adl_mirror_job *job,
                                      const char *text);
/* Whether it may start, and why not. */
void adl_executor_slurm_post_eligibility(struct adl_executor_slurm *executor, struct adl_mirror_job *job,
                                         const char *why);
/* It runs on the GPUs it holds, which the service did not choose. */
void adl_executor_slurm_post_cluster_started(struct adl_executor_slurm *executor, struct adl_mirror_job *job,
                                             const char *why);
/* A report of this kind without further fields. */
void adl_executor_slurm_post_job(struct adl_executor_slurm *executor, struct adl_mirror_job *job, int kind);
/* It runs, and the service did not start it: finds the slot of the alternative it runs as. */
void adl_executor_slurm_post_found_running(struct adl_executor_slurm *executor, struct adl_mirror_job *job);
void adl_executor_slurm_remove(struct adl_executor_slurm *executor,
                               struct adl_mirror_job *job); /* and its queued reports */
int adl_executor_slurm_next_report(struct adl_executor_slurm *executor,
                                   struct adl_report *ret); /* 1, or 0: there is none */

/* executor_slurm_reconcile.c: what to do with a job, from its phase and its state in Slurm. */
/* Sends an order in mode act, unless it was sent less than 3 s ago. */
void adl_executor_slurm_ask(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *op,
                            const char *comment);
void adl_executor_slurm_give_back(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *why);
void adl_executor_slurm_post_ended_as(struct adl_executor_slurm *executor, struct adl_mirror_job *job, int end,
                                      const char *why);
void adl_executor_slurm_reconcile(struct adl_executor_slurm *executor,
                                  struct adl_mirror_job *job); /* may remove the job */
void adl_executor_slurm_reconcile_all(struct adl_executor_slurm *executor);

/* executor_slurm_receive.c: messages of the adapter. */
void adl_executor_slurm_receive(struct adl_executor_slurm *executor, const struct cJSON *message);
/* Reports GPUs that others use or that cannot be used, and those that can again. */
void adl_executor_slurm_check_gpus(struct adl_executor_slurm *executor);

#endif
