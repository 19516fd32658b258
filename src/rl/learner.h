/* learner: fits a Q-network to what actions gained over the greedy one: shuffled batches, Huber loss, Adam, and an
 * average of the parameters over the last updates (Polyak and Juditsky 1992). */
#ifndef ADLRO_RL_LEARNER_H
#define ADLRO_RL_LEARNER_H

#include "experiment/thread_pool.h"
#include "nn/adam.h"
#include "nn/qnet.h"
#include "rl/experience.h"

/* Shards of a batch, independent of the number of threads, so that sums of gradients are always the same. */
#define ADL_LEARNER_SHARDS 4

struct adl_learner_shard;

struct adl_learner {
    const struct adl_qnet *net;
    struct adl_thread_pool *pool;
    struct adl_adam *adam;
    float *params, *average, *grads;
    struct adl_learner_shard *shards;
    uint32_t *order; /* of the decisions, shuffled */
    size_t order_capacity;
    size_t batch;
    uint32_t gpus; /* of every state */
    uint64_t updates;
    /* Of the current batch. */
    const struct adl_experience *const *experience;
    size_t first, count;
};

/* net and pool outlive the learner; its initial parameters are drawn from the seed. */
int adl_learner_create(const struct adl_qnet *net, struct adl_thread_pool *pool, const struct adlro_shape *shape,
                       uint32_t batch, uint64_t seed, struct adl_learner **ret, struct adl_error *err);
void adl_learner_destroy(struct adl_learner *learner); /* accepts NULL */

/* passes passes over all decisions, in an order drawn from the seed. */
int adl_learner_learn(struct adl_learner *learner, const struct adl_experience *const *experience, uint32_t count,
                      uint32_t passes, double learning_rate, uint64_t seed, double *ret_loss, struct adl_error *err);

#endif
