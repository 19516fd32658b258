#include "rl/warm_start.h"

#include "policy/dqn/normalize.h"

#include <math.h>
#include <string.h>

#define RULES      48 /* drawn in each generation */
#define ELITE      8
#define EPISODES   16   /* for each rule, the same for all */
#define SPREAD_MIN 0.03 /* of the initial spread, the least of any generation */

struct rule {
    float weights[ADL_WARM_START_FEATURES_MAX];
    double mean_return;
};

struct cem {
    const struct adl_warm_start_search *search;
    struct rule rules[RULES];
    uint64_t first_seed;
    int status[RULES];
    struct adl_error error[RULES];
    uint32_t round; /* first rule of this batch: rollouts are fewer than rules */
};

static void evaluate(void *self, uint32_t index)
{
    struct cem *cem = self;
    const uint32_t r = cem->round + index;
    struct rule *rule = &cem->rules[r];
    const struct adl_agent agent = {.rule = rule->weights};
    struct adl_rng unused = {{1, 2, 3, 4}};
    rule->mean_return = 0;
    cem->status[r] = 0;
    for (uint32_t first = 0; first < EPISODES && cem->status[r] == 0; first += ADL_ROLLOUT_CELLS) {
        uint64_t seeds[ADL_ROLLOUT_CELLS];
        double returns[ADL_ROLLOUT_CELLS] = {0};
        for (uint32_t i = 0; i < ADL_ROLLOUT_CELLS; i++)
            seeds[i] = cem->first_seed + first + i;
        cem->status[r] = adl_rollout_run(cem->search->rollouts[index], &agent, seeds, ADL_ROLLOUT_CELLS, &unused, NULL,
                                         NULL, returns, &cem->error[r]);
        for (uint32_t i = 0; i < ADL_ROLLOUT_CELLS; i++)
            rule->mean_return += returns[i] / EPISODES;
    }
}

/* Best first; few, so by insertion. */
static void sort_rules(struct rule *rules)
{
    for (int i = 1; i < RULES; i++) {
        const struct rule it = rules[i];
        int at = i;
        for (; at > 0 && rules[at - 1].mean_return < it.mean_return; at--)
            rules[at] = rules[at - 1];
        rules[at] = it;
    }
}

static void draw(struct rule *rules, const double *mean, const double *spread, uint32_t features, struct adl_rng *rng)
{
    for (int r = 0; r < RULES; r++)
        for (uint32_t f = 0; f < features; f++)
            rules[r].weights[f] = (float)(mean[f] + spread[f] * adl_rng_normal(rng));
}

/* Initial standard deviation: features that differ little between actions get larger weights. */
static double initial_spread(uint32_t feature)
{
    switch (adl_feature_table[(uint32_t)adl_row_first(ADL_ROW_ACTION) + feature].transform) {
    case ADL_TRANSFORM_FLAG:
        return 0.5;
    case ADL_TRANSFORM_SPREAD:
    case ADL_TRANSFORM_SPREAD_LOG:
        return 8.0;
    default:
        return 2.0;
    }
}

static void fit_to_elite(const struct rule *rules, uint32_t features, double *mean, double *spread)
{
    for (uint32_t f = 0; f < features; f++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < ELITE; r++)
            sum += (double)rules[r].weights[f];
        mean[f] = sum / ELITE;
        for (int r = 0; r < ELITE; r++)
            squares += ((double)rules[r].weights[f] - mean[f]) * ((double)rules[r].weights[f] - mean[f]);
        spread[f] = sqrt(squares / ELITE) + SPREAD_MIN * initial_spread(f);
    }
}

static int evaluate_all(struct cem *cem, struct adl_error *err)
{
    const struct adl_warm_start_search *search = cem->search;
    for (cem->round = 0; cem->round < RULES; cem->round += search->rollout_count) {
        const uint32_t left = RULES - cem->round;
        adl_thread_pool_run(search->pool, left < search->rollout_count ? left : search->rollout_count, evaluate, cem);
    }
    for (int r = 0; r < RULES; r++)
        if (cem->status[r])
            return adl_fail(err, cem->status[r], "%s", cem->error[r].text);
    return 0;
}

int adl_warm_start_find(const struct adl_warm_start_search *search, struct adl_warm_start *ret, struct adl_error *err)
{
    struct cem cem = {.search = search};
    struct adl_rng rng;
    const uint32_t features = search->rollouts[0]->shape.action_features;
    double mean[ADL_WARM_START_FEATURES_MAX] = {0}, spread[ADL_WARM_START_FEATURES_MAX];
    struct adl_warm_start best = {.mean_return = -HUGE_VAL};
    if (features > ADL_WARM_START_FEATURES_MAX)
        return adl_fail(err, ADL_EINVAL, "a rule has at most %d features, not %u", ADL_WARM_START_FEATURES_MAX,
                        features);
    for (uint32_t f = 0; f < features; f++)
        spread[f] = initial_spread(f);
    adl_rng_seed(&rng, search->seed, "guide");
    for (uint32_t g = 0; g < search->generations; g++) {
        draw(cem.rules, mean, spread, features, &rng);
        cem.first_seed = search->first_seed + (uint64_t)g * EPISODES;
        const int status = evaluate_all(&cem, err);
        if (status)
            return status;
        sort_rules(cem.rules);
        fit_to_elite(cem.rules, features, mean, spread);
        best.mean_return = cem.rules[0].mean_return;
        if (search->progress && search->progress(search->progress_self, g, best.mean_return))
            break;
    }
    for (uint32_t f = 0; f < features; f++)
        best.weights[f] = (float)mean[f];
    *ret = best;
    return 0;
}
