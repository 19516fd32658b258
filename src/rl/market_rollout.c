#include "rl/market_rollout.h"

#include "base/index.h"
#include "base/real.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define HORIZON_JOBS 64 /* arrivals after which a return counts no longer: what follows is due to other bids */
#define ROWS_MAX     64

const char *const adl_market_method_names[ADL_MARKET_METHODS + 1] = {"difference", "decomposition", "independent",
                                                                     "evolution", NULL};

/* One play: the environment and what it shows. */
struct play {
    struct adlro_agents *env;
    struct adlro_agents_shape shape;
    struct adlro_agents_buffers shown;
    double actions[ROWS_MAX];
    double cost_s;
};

static void close_play(struct play *play)
{
    adlro_agents_destroy(play->env);
    adl_agents_buffers_clear(&play->shown);
}

static int open_play(const struct adl_scenario *scenario, bool rewards, struct play *ret, struct adl_error *err)
{
    *ret = (struct play){0};
    const struct adlro_agents_config config = {.settings = NULL};
    const int status = adl_agents_create(scenario, &config, &ret->env, err);
    if (status)
        return status;
    adlro_agents_shape(ret->env, &ret->shape, sizeof ret->shape);
    if (adl_agents_buffers_create(&ret->shape, &ret->shown))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a rollout");
    if (rewards)
        ret->shown.rewards = calloc(ret->shape.agents, sizeof *ret->shown.rewards);
    return rewards && !ret->shown.rewards ? adl_fail(err, ADL_ENOMEM, "out of memory for a rollout") : 0;
}

static int begin(struct play *play, uint64_t seed, struct adl_error *err)
{
    const int status = adlro_agents_reset(play->env, seed, &play->shown, err->text);
    play->cost_s = -*play->shown.shared_reward;
    return status;
}

static void bid(struct play *play, const float *params)
{
    for (int32_t r = 0; r < *play->shown.row_count; r++)
        play->actions[r] =
            (double)adl_valuation_log(params, &play->shown.observations[(size_t)r * ADL_BID_FEATURES], NULL);
}

static int advance(struct play *play, struct adl_error *err)
{
    const int status = adlro_agents_step(play->env, play->actions, &play->shown, err->text);
    play->cost_s -= *play->shown.shared_reward;
    return status;
}

static int play_out(struct play *play, const float *params, uint64_t *decisions, struct adl_error *err)
{
    int status = 0;
    while (status == 0 && !*play->shown.done) {
        bid(play, params);
        ++*decisions;
        status = advance(play, err);
    }
    return status;
}

int adl_market_evaluate(const struct adl_scenario *scenario, uint64_t seed, const float *params, double *ret_cost_s,
                        struct adlro_result *ret, struct adl_error *err)
{
    struct play play;
    uint64_t decisions = 0;
    int status = open_play(scenario, false, &play, err);
    if (status == 0)
        status = begin(&play, seed, err);
    if (status == 0)
        status = play_out(&play, params, &decisions, err);
    if (status == 0) {
        *ret_cost_s = play.cost_s;
        adlro_agents_result(play.env, ret, sizeof *ret);
    }
    close_play(&play);
    return status;
}

/* ---- difference rewards ---- */

/* The best row and the next best, by the bids that are about to be made; false: there are no two bids for one job. */
static bool best_two(const struct play *play, uint32_t ret[2])
{
    const struct adlro_agents_buffers *b = &play->shown;
    double least[2] = {0, 0};
    ret[0] = ret[1] = ADL_NONE;
    for (uint32_t r = 0; r < (uint32_t)*b->row_count; r++) {
        const double log_bid = adl_log(b->bid_s[r]) + play->actions[r];
        if (b->jobs[r] != b->jobs[0])
            return false;
        if (ret[0] == ADL_NONE || log_bid < least[0]) {
            ret[1] = ret[0];
            least[1] = least[0];
            ret[0] = r;
            least[0] = log_bid;
        } else if (ret[1] == ADL_NONE || log_bid < least[1]) {
            ret[1] = r;
            least[1] = log_bid;
        }
    }
    return ret[1] != ADL_NONE;
}

/* The same auction without the winner's bid, to the end of the episode; its cost. */
static int without_winner(struct adl_market_group *group, const struct play *play, struct play *other,
                          const uint32_t best[2], struct adl_bid_pair *ret)
{
    const struct adlro_agents_buffers *b = &play->shown;
    memcpy(ret->first, &b->observations[(size_t)best[0] * ADL_BID_FEATURES], sizeof ret->first);
    memcpy(ret->second, &b->observations[(size_t)best[1] * ADL_BID_FEATURES], sizeof ret->second);
    ret->log_gap = adl_log(b->bid_s[best[1]]) - adl_log(b->bid_s[best[0]]);
    int status = adlro_agents_restore(other->env, play->env, &other->shown, group->err.text);
    other->cost_s = play->cost_s;
    memcpy(other->actions, play->actions, sizeof other->actions);
    other->actions[best[0]] = ADLRO_AGENTS_ACTION_MAX;
    if (status == 0)
        status = advance(other, &group->err);
    if (status == 0)
        status = play_out(other, group->params, &group->decisions, &group->err);
    ret->difference = -other->cost_s;
    return status;
}

static int count_auctions(struct adl_market_group *group, struct play *play, uint32_t *ret)
{
    uint32_t best[2];
    int status = begin(play, group->seed, &group->err);
    *ret = 0;
    while (status == 0 && !*play->shown.done) {
        bid(play, group->params);
        *ret += best_two(play, best);
        status = advance(play, &group->err);
    }
    group->costs[group->trials] = play->cost_s;
    adlro_agents_result(play->env, &group->result, sizeof group->result);
    return status;
}

/* The network plays; at auctions drawn at random it is also played what follows without the winner. */
static int play_difference(struct adl_market_group *group, struct play *play, struct play *other)
{
    struct adl_rng rng;
    uint32_t auctions, best[2];
    adl_rng_seed(&rng, group->seed, "counterfactuals");
    group->pairs = calloc(group->trials, sizeof *group->pairs);
    if (!group->pairs)
        return adl_fail(&group->err, ADL_ENOMEM, "out of memory for a rollout");
    int status = count_auctions(group, play, &auctions);
    if (status == 0)
        status = begin(play, group->seed, &group->err);
    for (uint32_t left = auctions; status == 0 && !*play->shown.done;) {
        bid(play, group->params);
        group->decisions++;
        const uint32_t wanted = group->trials - (uint32_t)group->pair_count;
        if (best_two(play, best) && adl_rng_below(&rng, left--) < wanted)
            status = without_winner(group, play, other, best, &group->pairs[group->pair_count++]);
        if (status == 0)
            status = advance(play, &group->err);
    }
    for (size_t i = 0; i < group->pair_count && status == 0; i++) {
        struct adl_bid_pair *pair = &group->pairs[i];
        group->costs[i] = -pair->difference;
        pair->difference = (play->cost_s + pair->difference) / group->result.jct_mean_s;
    }
    return status;
}

/* ---- disturbed bids ---- */

/* What had been paid when each job arrived: by all, and by each agent. */
struct ledger {
    double *shared_s; /* [plays][jobs + 2] */
    double *own_s;    /* [plays][jobs + 2][agents] */
    double *now_s;    /* [agents] so far in this play */
    size_t jobs, agents;
};

static double *own_at(const struct ledger *ledger, uint32_t play, size_t arrival)
{
    return &ledger->own_s[((size_t)play * (ledger->jobs + 2) + arrival) * ledger->agents];
}

/* All arrivals from one on that has not been noted get what is paid now; later ones overwrite it. */
static void note(const struct ledger *ledger, uint32_t play, size_t *next, size_t arrival, double cost_s)
{
    for (; *next <= arrival && *next < ledger->jobs + 2; ++*next) {
        ledger->shared_s[(size_t)play * (ledger->jobs + 2) + *next] = cost_s;
        memcpy(own_at(ledger, play, *next), ledger->now_s, ledger->agents * sizeof *ledger->now_s);
    }
}

static int keep_bids(struct adl_market_group *group, const struct play *play, const float *noise, uint32_t trial,
                     uint32_t step, size_t arrival)
{
    const size_t rows = (size_t)*play->shown.row_count;
    if (adl_grow((void **)&group->bids, &group->bid_capacity, group->bid_count + rows, sizeof *group->bids))
        return adl_fail(&group->err, ADL_ENOMEM, "out of memory for a rollout");
    for (size_t r = 0; r < rows; r++) {
        struct adl_bid_trial *it = &group->bids[group->bid_count++];
        *it = (struct adl_bid_trial){.noise = noise[r],
                                     .play = trial,
                                     .step = step,
                                     .agent = (uint32_t)play->shown.agents[r],
                                     .arrival = (uint32_t)arrival};
        memcpy(it->features, &play->shown.observations[r * ADL_BID_FEATURES], sizeof it->features);
    }
    return 0;
}

static void pay(struct ledger *ledger, const struct play *play)
{
    for (size_t a = 0; a < ledger->agents; a++)
        ledger->now_s[a] -= play->shown.rewards[a];
}

static int play_disturbed(struct adl_market_group *group, struct play *play, struct ledger *ledger, uint32_t trial)
{
    struct adl_rng rng;
    float noise[ROWS_MAX];
    size_t next = 0, arrival = 0;
    adl_rng_seed(&rng, group->seed * 64 + trial, "noise of bids");
    memset(ledger->now_s, 0, ledger->agents * sizeof *ledger->now_s);
    int status = begin(play, group->seed, &group->err);
    for (uint32_t step = 0; status == 0 && !*play->shown.done; step++) {
        bid(play, group->params);
        group->decisions++;
        for (int32_t r = 0; r < *play->shown.row_count; r++) {
            arrival =
                play->shown.jobs[r] > arrival && play->shown.jobs[r] <= ledger->jobs ? play->shown.jobs[r] : arrival;
            noise[r] = (float)(group->noise * adl_rng_normal(&rng));
            play->actions[r] += (double)noise[r];
        }
        note(ledger, trial, &next, arrival, play->cost_s);
        status = keep_bids(group, play, noise, trial, step, arrival);
        if (status == 0)
            status = advance(play, &group->err);
        pay(ledger, play);
    }
    note(ledger, trial, &next, ledger->jobs + 1, play->cost_s);
    group->costs[trial] = play->cost_s;
    return status;
}

static double paid(const struct ledger *ledger, const struct adl_bid_trial *bid, uint32_t play, bool own)
{
    const size_t from = bid->arrival,
                 to = from + HORIZON_JOBS < ledger->jobs + 1 ? from + HORIZON_JOBS : ledger->jobs + 1;
    const double *shared_s = &ledger->shared_s[(size_t)play * (ledger->jobs + 2)];
    return own ? own_at(ledger, play, to)[bid->agent] - own_at(ledger, play, from)[bid->agent]
               : shared_s[to] - shared_s[from];
}

/* Less than the other plays paid from the same arrival on; in mean completion times. */
static void set_advantages(struct adl_market_group *group, const struct ledger *ledger)
{
    const bool own = group->method == ADL_MARKET_INDEPENDENT;
    const double unit_s = group->costs[0] / (double)ledger->jobs;
    for (size_t i = 0; i < group->bid_count; i++) {
        struct adl_bid_trial *it = &group->bids[i];
        double others_s = 0;
        for (uint32_t p = 0; p < group->trials; p++)
            others_s += p == it->play ? 0 : paid(ledger, it, p, own);
        it->advantage = (others_s / (group->trials - 1) - paid(ledger, it, it->play, own)) / unit_s;
    }
}

static int play_ledger(struct adl_market_group *group, struct play *play, struct ledger *ledger)
{
    int status = 0;
    for (uint32_t t = 0; t < group->trials && status == 0; t++)
        status = play_disturbed(group, play, ledger, t);
    adlro_agents_result(play->env, &group->result, sizeof group->result);
    if (status == 0)
        set_advantages(group, ledger);
    return status;
}

static int play_noise(struct adl_market_group *group, struct play *play)
{
    struct ledger ledger = {.jobs = (size_t)group->scenario->workload.jobs, .agents = play->shape.agents};
    const size_t rows = (ledger.jobs + 2) * group->trials;
    ledger.shared_s = calloc(rows, sizeof *ledger.shared_s);
    ledger.own_s = calloc(rows * ledger.agents, sizeof *ledger.own_s);
    ledger.now_s = calloc(ledger.agents, sizeof *ledger.now_s);
    int status = ADL_ENOMEM;
    if (ledger.shared_s && ledger.own_s && ledger.now_s)
        status = play_ledger(group, play, &ledger);
    else
        adl_fail(&group->err, status, "out of memory for a rollout");
    free(ledger.shared_s);
    free(ledger.own_s);
    free(ledger.now_s);
    return status;
}

/* ---- disturbed weights ---- */

static int play_evolution(struct adl_market_group *group, struct play *play)
{
    float room[ADL_VALUATION_PARAMS];
    int status = 0;
    for (uint32_t t = 0; t < group->trials && status == 0; t++) {
        status = begin(play, group->seed, &group->err);
        if (status == 0)
            status = play_out(play, group->disturbed(group->self, t, room), &group->decisions, &group->err);
        group->costs[t] = play->cost_s;
    }
    adlro_agents_result(play->env, &group->result, sizeof group->result);
    return status;
}

void adl_market_group_play(struct adl_market_group *group)
{
    struct play play = {0}, other = {0};
    group->costs = calloc((size_t)group->trials + 1, sizeof *group->costs);
    if (!group->costs) {
        group->status = adl_fail(&group->err, ADL_ENOMEM, "out of memory for a rollout");
        return;
    }
    const bool noise = group->method == ADL_MARKET_DECOMPOSITION || group->method == ADL_MARKET_INDEPENDENT;
    group->status = open_play(group->scenario, noise, &play, &group->err);
    if (group->status == 0 && group->method == ADL_MARKET_DIFFERENCE)
        group->status = open_play(group->scenario, false, &other, &group->err);
    if (group->status == 0)
        group->status = noise                                    ? play_noise(group, &play)
                        : group->method == ADL_MARKET_DIFFERENCE ? play_difference(group, &play, &other)
                                                                 : play_evolution(group, &play);
    close_play(&play);
    close_play(&other);
}

void adl_market_group_clear(struct adl_market_group *group)
{
    free(group->pairs);
    free(group->bids);
    free(group->costs);
    group->pairs = NULL;
    group->bids = NULL;
    group->costs = NULL;
    group->pair_count = group->bid_count = group->bid_capacity = 0;
}
