/* learner: fits a Q-network to lessons: shuffled batches, Huber's loss, Adam. */
#ifndef ADLRO_RL_LEARNER_H
#define ADLRO_RL_LEARNER_H

#include "experiment/thread_pool.h"
#include "nn/adam.h"
#include "nn/qnet.h"
#include "rl/experience.h"

/* Pieces of a batch, whatever the number of threads: sums of gradients then come out the same. */
#define ADL_LEARNER_SHARDS 4

struct adl_learner_shard;

struct adl_learner {
    const struct adl_qnet *net;
    struct adl_thread_pool *team;
    struct adl_adam *adam;
    float *params, *grads;
    struct adl_learner_shard *shards;
    uint32_t *order; /* of the lessons, shuffled */
    size_t order_capacity;
    size_t batch;
    uint32_t gpus; /* of every state */
    uint64_t updates;
    double value_offset, value_scale; /* a network's output times scale plus offset is a worth */
    /* Of the batch at hand. */
    const struct adl_experience *lessons;
    size_t first, count;
};

/* net and team outlive the learner; its parameters start at random, by the seed. */
int adl_learner_create(const struct adl_qnet *net, struct adl_thread_pool *team, const struct adlro_shape *shape,
                       uint32_t batch, uint64_t seed, struct adl_learner **ret, struct adl_error *err);
void adl_learner_destroy(struct adl_learner *learner); /* accepts NULL */

/* Lets outputs of about unit size stand for worths like these. */
void adl_learner_set_scale(struct adl_learner *learner, const struct adl_experience *lessons, uint32_t count);

/* So many passes over all lessons, in an order that follows from the seed. */
int adl_learner_learn(struct adl_learner *learner, const struct adl_experience *lessons, uint32_t count,
                      uint32_t passes, double learning_rate, uint64_t seed, double *ret_loss, struct adl_error *err);

#endif
