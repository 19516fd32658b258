/* choices: what may be done now, listed for a policy that weighs each: start one of the waiting jobs on one type of
 * GPU.
 *
 * Offered are the oldest and the shortest job of each lane, on every type where it fits. The oldest job of all holds a
 * promise, as under EASY, and nothing is offered that would delay it. So no job starves, whatever the policy prefers.
 * To leave GPUs idle though something may start is not offered: docs/decisions/0006-no-waiting.md says why. */
#ifndef ADLRO_DECIDE_CHOICES_H
#define ADLRO_DECIDE_CHOICES_H

#include "decide/forecast.h"
#include "state/state.h"

/* Lanes looked at, the one with the oldest job first, and choices listed; what is beyond waits its turn. */
#define ADL_CHOICE_LANES 32
#define ADL_CHOICES_MAX  128

struct adl_choice {
    uint32_t job;
    uint32_t gpu_offset; /* its GPUs are gpus[gpu_offset .. gpu_offset + gpu_count - 1] */
    uint16_t gpu_count;
    uint16_t type;
    bool shared; /* beside another job */
};

struct adl_choices {
    struct adl_choice list[ADL_CHOICES_MAX];
    uint32_t count;
    uint32_t *gpus;
    uint32_t gpu_count, gpu_capacity;
    uint32_t head; /* the oldest job that waits, or ADL_NONE */
    bool promised; /* promise holds for head */
    struct adl_reservation promise;
    struct adl_forecast *forecast;
    bool share;
    int64_t patience_us; /* the oldest job holds a promise once it has waited this long */
};

int adl_choices_create(const struct adl_cluster *cluster, bool share, struct adl_choices **ret); /* 0 or ADL_ENOMEM */
void adl_choices_destroy(struct adl_choices *choices);                                           /* accepts NULL */

/* Lists them anew. Needs a queue in order of submission and state->running. */
void adl_choices_find(struct adl_choices *choices, const struct adl_state *state);

/* Keeps those of the first job listed, the oldest that fits: for an agent that is asked about one job at a time. */
void adl_choices_keep_first_job(struct adl_choices *choices);

#endif
