/* node_profile: what is believed to be free in one node, from now on: GPUs of each of its banks, cores and memory.
 *
 * Steps in order of time, each valid until the next. Running jobs release what they hold at their believed end; planned
 * jobs take what they need from their planned start to their end. Steps without planned jobs are kept from decision to
 * decision: a node is read again only after something changed in it or a job outlived its believed end. */
#ifndef ADLRO_POLICY_ADLRO_NODE_PROFILE_H
#define ADLRO_POLICY_ADLRO_NODE_PROFILE_H

#include "state/state.h"

/* Where a job could run on one type, and when. */
struct adl_opening {
    int64_t start_us; /* INT64_MAX: nowhere */
    int64_t run_us;
    int64_t delay_us; /* that a start now causes to a job that is planned there */
    bool reserved;    /* of a planned job: no start may delay it */
    uint32_t bank;    /* ADL_NONE: across nodes */
    uint32_t spare;   /* GPUs of that bank that stay free beside it */
};

struct adl_step {
    int64_t time_us;
    int32_t cores, memory_mib; /* negative where a job started beside a planned one */
};

struct adl_node_profile {
    struct adl_step *steps, *base; /* base: without planned jobs. Until something is planned steps is base */
    struct adl_step *planned;      /* room for steps with planned jobs */
    int32_t *gpus, *base_gpus;     /* [step * banks + bank of the node] free GPUs */
    int32_t *planned_gpus;
    uint32_t count, base_count, capacity;
    uint32_t banks, bank_first;
    bool full;     /* no room for more steps: nothing more is planned here */
    bool reserved; /* no start may delay what is planned here */
};

/* Room that a node's profile needs. */
uint32_t adl_node_profile_steps(const struct adl_node *node);

/* Reads what the node holds now. end_us(context, slot): when a job is believed to leave. */
void adl_node_profile_read(struct adl_node_profile *node, const struct adl_state *state, uint32_t number,
                           int64_t (*end_us)(const void *context, const struct adl_state *state, uint32_t slot),
                           const void *context);

void adl_node_profile_unplan(struct adl_node_profile *node); /* without planned jobs again */

/* When it has to be read again, unless something changes before: a job outlives its believed end. */
static inline int64_t adl_node_profile_due_us(const struct adl_node_profile *node)
{
    return node->base_count > 1 ? node->base[1].time_us : INT64_MAX;
}

/* Offers the openings of a bank to such a job, without delaying planned jobs and, if that is later, a start now that
 * does; *best is the one with least wait + delay_weight * delay, of equal ones the one with least spare. Returns when
 * the one starts that delays nobody, INT64_MAX = never. */
int64_t adl_node_profile_find(const struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec,
                              int64_t run_us, int64_t now_us, double delay_weight, struct adl_opening *best);

/* now_us if such a job may start in the bank now and delays nobody; else a time before which it may not, INT64_MAX = it
 * never may. */
int64_t adl_node_profile_start_now(const struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec,
                                   int64_t run_us, int64_t now_us);

/* GPUs that the bank has for such a job from one time to another, all the while. */
uint32_t adl_node_profile_has(const struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec,
                              int64_t start_us, int64_t end_us);

/* A job takes GPUs of the bank from one time to another. */
void adl_node_profile_take(struct adl_node_profile *node, uint32_t bank, const struct adl_job_spec *spec, uint32_t gpus,
                           int64_t start_us, int64_t end_us, int64_t now_us);

/* When the bank first has 1, 2 ... count free GPUs; INT64_MAX = never. stride: between two elements of ret. */
void adl_node_profile_ready(const struct adl_node_profile *node, uint32_t bank, uint32_t count, int64_t *ret,
                            size_t stride);

/* Wait and weighed delay. An infinite weight counts only where there is a delay. */
static inline double adl_opening_wait_us(const struct adl_opening *opening, int64_t now_us, double delay_weight)
{
    const double wait_us = (double)(opening->start_us - now_us);
    return opening->delay_us > 0 ? wait_us + delay_weight * (double)opening->delay_us : wait_us;
}

/* *best becomes this one if that and the run time are less, or equal with less spare. */
static inline void adl_opening_offer(const struct adl_opening *opening, int64_t now_us, double delay_weight,
                                     struct adl_opening *best)
{
    const double wait_us =
        adl_opening_wait_us(opening, now_us, delay_weight) + (double)(opening->run_us - best->run_us);
    const double least_us = best->start_us == INT64_MAX ? 0 : adl_opening_wait_us(best, now_us, delay_weight);
    if (best->start_us == INT64_MAX || wait_us < least_us || (wait_us == least_us && opening->spare < best->spare))
        *best = *opening;
}

#endif
