#include "rl/market_learner.h"

#include "base/real.h"
#include "base/rng.h"

#include <string.h>

#define SOFTNESS       0.2  /* of the choice between two bids, in logarithms */
#define DIFFERENCE_MAX 3    /* a difference counts at most so many mean completion times: the rest is chance */
#define CLOSENESS      0.02 /* what leaving the hand-written bid costs, times the square of the logarithm */
#define CRITIC_PASSES  4
#define AVERAGE_SHARE  0.1F /* of a round in the average: single rounds are mostly chance */

int adl_market_learner_create(uint64_t seed, double learning_rate, double noise, struct adl_market_learner *ret,
                              struct adl_error *err)
{
    const struct adl_adam_config adam = {.norm_max = 0};
    struct adl_rng rng;
    *ret = (struct adl_market_learner){.seed = seed, .learning_rate = learning_rate, .noise = noise};
    int status = adl_adam_create(&adam, ADL_VALUATION_PARAMS, &ret->adam, err);
    if (status == 0)
        status = adl_adam_create(&adam, ADL_VALUATION_PARAMS, &ret->critic_adam, err);
    if (status) {
        adl_market_learner_clear(ret);
        return status;
    }
    adl_rng_seed(&rng, seed, "network of bids");
    for (int i = 0; i < (ADL_BID_FEATURES + 1) * ADL_VALUATION_HIDDEN; i++) {
        ret->params[i] = (float)(0.7 * adl_rng_normal(&rng));
        ret->critic[i] = (float)(0.7 * adl_rng_normal(&rng));
    }
    memcpy(ret->average, ret->params, sizeof ret->average);
    return 0;
}

void adl_market_learner_clear(struct adl_market_learner *learner)
{
    adl_adam_destroy(learner->adam);
    adl_adam_destroy(learner->critic_adam);
    learner->adam = learner->critic_adam = NULL;
}

static float slope(float sign)
{
    const float rest = 1 - (sign < 0 ? -sign : sign);
    return rest * rest; /* of x / (1 + |x|), by its value */
}

/* Adds scale times the gradient of the network's output. */
static void add_gradient(const float *params, const float *features, double scale, float *grads)
{
    const float *out = &params[(size_t)(ADL_BID_FEATURES + 1) * ADL_VALUATION_HIDDEN];
    float hidden[ADL_VALUATION_HIDDEN];
    const float log_factor = adl_valuation_log(params, features, hidden);
    const float up = (float)scale * slope(log_factor / ADL_VALUATION_LIMIT);
    float *bias = &grads[(size_t)ADL_BID_FEATURES * ADL_VALUATION_HIDDEN], *grads_out = bias + ADL_VALUATION_HIDDEN;
    for (int j = 0; j < ADL_VALUATION_HIDDEN; j++) {
        const float down = up * out[j] * slope(hidden[j]);
        for (int i = 0; i < ADL_BID_FEATURES; i++)
            grads[i * ADL_VALUATION_HIDDEN + j] += down * features[i];
        bias[j] += down;
        grads_out[j] += up * hidden[j];
    }
    grads_out[ADL_VALUATION_HIDDEN] += up;
}

static void step(struct adl_market_learner *learner, const float *grads)
{
    adl_adam_step(learner->adam, adl_kernels_choose(false), learner->learning_rate, grads, learner->params);
}

/* ---- difference rewards ---- */

/* The expected cost if the lower bid wins softly, and its gradient; the bids stay close to the hand-written ones. */
static double learn_pair(const float *params, const struct adl_bid_pair *pair, double weight, float *grads)
{
    const double first = (double)adl_valuation_log(params, pair->first, NULL);
    const double second = (double)adl_valuation_log(params, pair->second, NULL);
    const double difference = pair->difference > DIFFERENCE_MAX    ? DIFFERENCE_MAX
                              : pair->difference < -DIFFERENCE_MAX ? -DIFFERENCE_MAX
                                                                   : pair->difference;
    const double wins = 1 / (1 + adl_exp(-(pair->log_gap + second - first) / SOFTNESS));
    const double push = wins * (1 - wins) / SOFTNESS * difference;
    add_gradient(params, pair->first, weight * (-push + 2 * CLOSENESS * first), grads);
    add_gradient(params, pair->second, weight * (push + 2 * CLOSENESS * second), grads);
    return weight * (wins * difference + CLOSENESS * (first * first + second * second));
}

static double learn_differences(struct adl_market_learner *learner, const struct adl_market_group *groups,
                                uint32_t count)
{
    float grads[ADL_VALUATION_PARAMS] = {0};
    double loss = 0;
    size_t pairs = 0;
    for (uint32_t g = 0; g < count; g++)
        pairs += groups[g].pair_count;
    for (uint32_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].pair_count; i++)
            loss += learn_pair(learner->params, &groups[g].pairs[i], 1 / (double)pairs, grads);
    step(learner, grads);
    return loss;
}

/* ---- values of disturbed bids ---- */

/* Bids that share a return: those of one step, or each one alone. */
static size_t bids_together(const struct adl_market_group *group, size_t from)
{
    size_t to = from + 1;
    while (group->method == ADL_MARKET_DECOMPOSITION && to < group->bid_count &&
           group->bids[to].step == group->bids[from].step && group->bids[to].play == group->bids[from].play)
        to++;
    return to - from;
}

/* One pass of the critic: the advantage of bids is the sum of value * noise. */
static double learn_critic(struct adl_market_learner *learner, const struct adl_market_group *groups, uint32_t count)
{
    float grads[ADL_VALUATION_PARAMS] = {0};
    double loss = 0;
    size_t all = 0;
    for (uint32_t g = 0; g < count; g++)
        all += groups[g].bid_count;
    for (uint32_t g = 0; g < count; g++)
        for (size_t i = 0, n; i < groups[g].bid_count; i += n) {
            const struct adl_bid_trial *bids = &groups[g].bids[i];
            double error = -bids[0].advantage;
            n = bids_together(&groups[g], i);
            for (size_t k = 0; k < n; k++)
                error += (double)(adl_valuation_log(learner->critic, bids[k].features, NULL) * bids[k].noise);
            for (size_t k = 0; k < n; k++)
                add_gradient(learner->critic, bids[k].features, 2 * error * (double)bids[k].noise / (double)all, grads);
            loss += error * error / (double)all;
        }
    adl_adam_step(learner->critic_adam, adl_kernels_choose(false), learner->learning_rate, grads, learner->critic);
    return loss;
}

/* Raises bids whose raising pays, and stays close to the hand-written ones. */
static double learn_values(struct adl_market_learner *learner, const struct adl_market_group *groups, uint32_t count)
{
    float grads[ADL_VALUATION_PARAMS] = {0};
    double loss = 0;
    size_t all = 0;
    for (int pass = 0; pass < CRITIC_PASSES; pass++)
        loss = learn_critic(learner, groups, count);
    for (uint32_t g = 0; g < count; g++)
        all += groups[g].bid_count;
    for (uint32_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].bid_count; i++) {
            const float *features = groups[g].bids[i].features;
            const double value = (double)adl_valuation_log(learner->critic, features, NULL);
            const double own = (double)adl_valuation_log(learner->params, features, NULL);
            add_gradient(learner->params, features, (2 * CLOSENESS * own - value) / (double)all, grads);
        }
    step(learner, grads);
    return loss;
}

/* ---- evolution strategies ---- */

/* Trials 2 i and 2 i + 1 are disturbed in opposite directions. */
static void draw_direction(const struct adl_market_learner *learner, uint32_t trial, float *ret)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, (learner->seed << 32) + learner->updates * 64 + trial / 2, "direction of weights");
    for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
        ret[i] = (float)adl_rng_normal(&rng) * (trial % 2 ? -1.0F : 1.0F);
}

const float *adl_market_learner_disturb(const void *self, uint32_t trial, float *room)
{
    const struct adl_market_learner *learner = self;
    draw_direction(learner, trial, room);
    for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
        room[i] = learner->params[i] + (float)learner->noise * room[i];
    return room;
}

static double learn_evolution(struct adl_market_learner *learner, const struct adl_market_group *groups, uint32_t count)
{
    float grads[ADL_VALUATION_PARAMS] = {0}, direction[ADL_VALUATION_PARAMS];
    const uint32_t trials = groups[0].trials;
    double loss = 0;
    for (uint32_t t = 0; t + 1 < trials; t += 2) {
        double worse = 0; /* of the first of the two */
        for (uint32_t g = 0; g < count; g++)
            worse += adl_log(groups[g].costs[t]) - adl_log(groups[g].costs[t + 1]);
        worse /= count;
        draw_direction(learner, t, direction);
        for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
            grads[i] += (float)(worse / (learner->noise * trials)) * direction[i];
        loss += worse * worse / trials;
    }
    step(learner, grads);
    return loss;
}

double adl_market_learner_update(struct adl_market_learner *learner, const struct adl_market_group *groups,
                                 uint32_t count)
{
    const enum adl_market_method method = groups[0].method;
    const double loss = method == ADL_MARKET_DIFFERENCE  ? learn_differences(learner, groups, count)
                        : method == ADL_MARKET_EVOLUTION ? learn_evolution(learner, groups, count)
                                                         : learn_values(learner, groups, count);
    for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
        learner->average[i] += AVERAGE_SHARE * (learner->params[i] - learner->average[i]);
    learner->updates++;
    return loss;
}
