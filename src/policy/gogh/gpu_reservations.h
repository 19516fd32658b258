/* gpu_reservations: GPUs reserved for jobs that start there once the present holders have left. So a plan for which
 * jobs were preempted is executed unless events make it impossible: reserved GPUs go to no other job, and a job with a
 * reservation gets no other GPUs. */
#ifndef ADLRO_POLICY_GOGH_GPU_RESERVATIONS_H
#define ADLRO_POLICY_GOGH_GPU_RESERVATIONS_H

#include "state/state.h"

struct adl_gpu_reservation {
    uint32_t job; /* waits, or is stopping in order to move */
    uint64_t id;
    uint32_t beside; /* the running job whose GPU it is to share, or ADL_NONE */
    uint32_t gpu_count;
    uint32_t first_gpu;    /* its GPUs: a chain through next_gpu */
    double cap_w;          /* power cap of its GPUs; 0 = none */
    double power_w;        /* its draw beyond idle */
    double cost_w, wait_w; /* of the plan: cost of serving it, and of letting it wait */
    bool by_preemption;    /* jobs were preempted for it because it had waited long */
};

struct adl_gpu_reservations {
    struct adl_gpu_reservation *list; /* [GPUs of the cluster * ADL_GPU_JOBS_MAX] */
    uint32_t count, capacity;
    uint32_t *next_gpu; /* [gpu] */
    bool *reserved;     /* [gpu] */
};

int adl_gpu_reservations_create(struct adl_gpu_reservations *ret,
                                const struct adl_cluster *cluster);         /* 0 or ADL_ENOMEM */
void adl_gpu_reservations_clear(struct adl_gpu_reservations *reservations); /* frees; accepts a zeroed one */
void adl_gpu_reservations_copy(struct adl_gpu_reservations *to, const struct adl_gpu_reservations *from);

/* Adds a reservation; its GPUs must not be reserved. */
void adl_gpu_reservations_add(struct adl_gpu_reservations *reservations, struct adl_gpu_reservation reservation,
                              const uint32_t *gpus);

/* Drops reservations that cannot be used any more: the job is gone or runs, a GPU has failed or runs a job that is not
 * stopping, or the node lacks cores or memory and no job is about to leave it. */
void adl_gpu_reservations_drop_broken(struct adl_gpu_reservations *reservations, const struct adl_state *state);

/* Removes a reservation whose GPUs are free now and returns it with its GPUs; false if there is none. */
bool adl_gpu_reservations_take_ready(struct adl_gpu_reservations *reservations, const struct adl_state *state,
                                     struct adl_gpu_reservation *ret, uint32_t *ret_gpus);

bool adl_gpu_reservations_has(const struct adl_gpu_reservations *reservations,
                              uint32_t slot); /* true if the job has a reservation */
double adl_gpu_reservations_power_w(const struct adl_gpu_reservations *reservations);

#endif
