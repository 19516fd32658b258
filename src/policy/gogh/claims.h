/* claims: GPUs that jobs are to have once those that hold them have left. What jobs were stopped for is then carried
 * out as it was planned, unless the world makes it impossible: the GPUs of a claim are given to nobody else, and
 * neither is the job that has one given others. */
#ifndef ADLRO_POLICY_GOGH_CLAIMS_H
#define ADLRO_POLICY_GOGH_CLAIMS_H

#include "state/state.h"

struct adl_claim {
    uint32_t job; /* waits, or is being stopped and starts elsewhere */
    uint64_t id;
    uint32_t beside; /* the running job whose GPU it is to share, or ADL_NONE */
    uint32_t gpu_count;
    uint32_t first_gpu;    /* its GPUs: a chain through next_gpu */
    double cap_w;          /* that they are to be held to; 0 = not held */
    double power_w;        /* what it will draw beyond idle */
    double cost_w, else_w; /* of the plan: what serving it costs, and what letting it wait would */
    bool cleared;          /* others were stopped for it because it had waited long */
};

struct adl_claims {
    struct adl_claim *list; /* [GPUs of the cluster * ADL_GPU_JOBS_MAX] */
    uint32_t count, capacity;
    uint32_t *next_gpu; /* [gpu] */
    bool *withheld;     /* [gpu] one of a claim */
};

int adl_claims_create(struct adl_claims *ret, const struct adl_cluster *cluster); /* 0 or ADL_ENOMEM */
void adl_claims_clear(struct adl_claims *claims);                                 /* frees; accepts a zeroed one */

/* Adds one; its GPUs must be nobody's claim. */
void adl_claims_add(struct adl_claims *claims, struct adl_claim claim, const uint32_t *gpus);

/* Gives up those that cannot come true any more: the job is gone or runs, a GPU has failed or somebody runs there who
 * was not told to stop, or cores and memory are short though nobody is about to leave. */
void adl_claims_drop_broken(struct adl_claims *claims, const struct adl_state *state);

/* A claim whose GPUs are free by now, taken off the list, and its GPUs; false if there is none. */
bool adl_claims_take_ready(struct adl_claims *claims, const struct adl_state *state, struct adl_claim *ret,
                           uint32_t *ret_gpus);

bool adl_claims_has(const struct adl_claims *claims, uint32_t slot); /* true if the job has a claim */
double adl_claims_power_w(const struct adl_claims *claims);

#endif
