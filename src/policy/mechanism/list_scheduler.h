/* list_scheduler: the first job in rank order starts or blocks all others; with first fit, the first job that fits
 * starts. fcfs and sjf differ only in the rank. */
#ifndef ADLRO_POLICY_MECHANISM_LIST_SCHEDULER_H
#define ADLRO_POLICY_MECHANISM_LIST_SCHEDULER_H

#include "policy/mechanism/placement.h"
#include "policy/policy.h"

struct adl_list_scheduler {
    struct adl_placement_request request;
    enum adl_rule rule;        /* the reason that starts are given */
    bool first_fit;            /* a job that does not fit does not block those behind it */
    uint32_t blocked_job;      /* did not fit ... */
    uint64_t blocked_releases; /* ... and nothing became free since */
};

int adl_list_scheduler_create(const struct adl_placement_request *request, enum adl_rule rule, bool first_fit,
                              void **ret_policy, struct adl_error *err); /* free() destroys */
int adl_list_scheduler_copy(void *policy, const void *from);
int adl_list_scheduler_decide(void *policy, const struct adl_state *state, struct adl_plan *plan);

#endif
