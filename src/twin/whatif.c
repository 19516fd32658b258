#include "twin/whatif.h"

#include "twin/alternatives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_US (INT64_C(600) * 1000000) /* futures are played at least that far */

/* What one future was like. Times from now. */
struct tally {
    double start_us, end_us;
    bool started, ended;
    double job_energy_j, energy_j;
    double present_us; /* sum over all jobs of the time that they were there */
    double own_us;     /* the same of the job alone */
    uint32_t jobs;
};

/* The base, or an alternative: an engine of its own, and the future of it that is played. */
struct side {
    const struct adl_whatif_config *config;
    struct adl_cluster cluster; /* if it has more nodes */
    struct adl_engine *engine;
    struct adl_fork *fork;
    const struct adl_change *change;
    bool adopted;          /* it took over the state instead of being a copy */
    bool rejoins;          /* the job joins the queue again, changed or not: another side changes it */
    struct tally *tallies; /* [future] */
    uint32_t jobs;         /* at the beginning */
    /* of the future that is played: */
    struct tally tally;
    int64_t begin_us, last_us, until_us;
    uint32_t present; /* jobs that are there */
    uint32_t left;    /* of those that were there at the beginning */
};

struct game {
    const struct adl_whatif_config *config;
    struct side base, again; /* again: the base, for alternatives that took over the state */
    struct side *sides;      /* [alternative] */
    int64_t until_us;
};

/* ---- what happens in a future ---- */

static bool is_target(const struct side *side, const struct adl_state *state, uint32_t slot)
{
    return side->config->of_job && state->jobs[slot].spec.id == side->config->job;
}

static void pass_time(struct side *side, int64_t time_us)
{
    time_us = time_us < side->until_us ? time_us : side->until_us;
    if (time_us <= side->last_us)
        return;
    side->tally.present_us += (double)side->present * (double)(time_us - side->last_us);
    side->last_us = time_us;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct side *side = self;
    pass_time(side, event->time_us);
    if (event->kind == ADL_EVENT_SUBMIT && event->time_us <= side->until_us) {
        side->present++;
        side->tally.jobs++;
    }
    if (event->kind != ADL_EVENT_FINISH || state->jobs[event->job].phase == ADL_PHASE_PENDING)
        return 0;
    side->present--;
    side->left -= state->jobs[event->job].spec.id < ADL_FORK_FIRST_ID;
    if (is_target(side, state, event->job)) {
        side->tally.ended = true;
        side->tally.end_us = (double)(event->time_us - side->begin_us);
        side->tally.job_energy_j = event->outcome.energy_j;
    }
    return 0;
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)gpus;
    struct side *side = self;
    if (command->kind == ADL_COMMAND_START && is_target(side, state, command->job) && !side->tally.started) {
        side->tally.started = true;
        side->tally.start_us = (double)(state->now_us - side->begin_us);
    }
    return 0;
}

/* ---- the sides ---- */

/* Jobs, not slots: a job that accepts alternatives has several. */
static int count_jobs(const struct adl_state *state, uint32_t *ret)
{
    struct adl_alternatives alternatives = {0};
    if (adl_alternatives_list(&alternatives, state))
        return ADL_ENOMEM;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++) {
        bool first = state->jobs[slot].phase != ADL_PHASE_NONE;
        for (uint32_t other = alternatives.next[slot]; first && other != slot; other = alternatives.next[other])
            first = other > slot;
        *ret += first;
    }
    adl_alternatives_clear(&alternatives);
    return 0;
}

static uint32_t find_slot(const struct adl_state *state, uint64_t id, uint32_t from)
{
    for (uint32_t slot = from; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE && state->jobs[slot].spec.id == id)
            return slot;
    return ADL_NONE;
}

static bool changes_job(const struct adl_change *change)
{
    return change->add_types || change->set_types || change->gpus || change->limit_us || change->has_priority;
}

static struct adl_job_spec changed_spec(const struct adl_change *change, const struct adl_job_spec *from)
{
    struct adl_job_spec spec = *from;
    spec.types = change->set_types ? change->set_types : spec.types | change->add_types;
    spec.gpus = change->gpus ? change->gpus : spec.gpus;
    spec.limit_us = change->limit_us ? change->limit_us : spec.limit_us;
    spec.priority = change->has_priority ? change->priority : spec.priority;
    return spec;
}

static bool is_same(const struct adl_job_spec *a, const struct adl_job_spec *b)
{
    return a->types == b->types && a->gpus == b->gpus && a->limit_us == b->limit_us && a->priority == b->priority;
}

/* A waiting job with several requests keeps the first one, changed, unless only its rank or limit changes. */
static int change_job(struct side *side, struct adl_error *err)
{
    const struct adl_change *change = side->change;
    const struct adl_state *state = adl_engine_state(side->engine);
    const uint32_t first = find_slot(state, side->config->job, 0);
    const bool replaces = change->set_types || change->gpus;
    bool same = !change->policy && !change->nodes && !change->drains;
    if (state->jobs[first].phase != ADL_PHASE_PENDING)
        return adl_fail(err, ADL_EINVAL, "the job runs already");
    for (uint32_t slot = first, next; slot != ADL_NONE; slot = next) {
        const struct adl_job_spec spec = changed_spec(change, &state->jobs[slot].spec);
        struct adl_event gone = {
            .time_us = state->now_us, .kind = ADL_EVENT_FINISH, .job = slot, .gpu = ADL_NONE, .more = true};
        gone.outcome.end = ADL_END_CANCELLED;
        next = find_slot(state, side->config->job, slot + 1);
        same = same && is_same(&spec, &state->jobs[slot].spec) && !(slot != first && replaces);
        const int status = slot != first && replaces ? adl_engine_tell(side->engine, &gone, err)
                                                     : adl_engine_change_job(side->engine, slot, &spec, err);
        if (status)
            return status;
    }
    return same ? adl_fail(err, ADL_EINVAL, "it asks for that already, so that nothing would change") : 0;
}

/* A job that is changed comes last among its equals. So it does on the sides that are compared, where it stays as it
 * is.
 */
static int rejoin_job(struct side *side, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(side->engine);
    int status = 0;
    for (uint32_t slot = find_slot(state, side->config->job, 0), next; slot != ADL_NONE && status == 0; slot = next) {
        const struct adl_job_spec spec = state->jobs[slot].spec;
        next = find_slot(state, side->config->job, slot + 1);
        if (state->jobs[slot].phase == ADL_PHASE_PENDING)
            status = adl_engine_change_job(side->engine, slot, &spec, err);
    }
    return status;
}

static int submit_job(struct side *side, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(side->engine);
    struct adl_job_spec spec = *side->config->submit;
    const char *why = NULL;
    uint32_t slot = 0;
    while (slot < state->job_capacity && state->jobs[slot].phase != ADL_PHASE_NONE)
        slot++;
    spec.id = side->config->job;
    if (!adl_demand_possible(state->cluster, &spec, &why))
        return adl_fail(err, ADL_EINVAL, "it can never run: %s", why);
    struct adl_event event = {.time_us = state->now_us, .kind = ADL_EVENT_SUBMIT, .job = slot, .gpu = ADL_NONE};
    event.submit.spec = &spec;
    return adl_engine_tell(side->engine, &event, err);
}

/* The cluster with further nodes: as the first node that has GPUs of the type, but for their number. */
static int grow_cluster(struct adl_cluster *ret, const struct adl_cluster *from, const struct adl_change *change,
                        struct adl_error *err)
{
    const struct adl_node *model = NULL;
    int status = 0;
    for (uint32_t t = 0; t < from->type_count && status == 0; t++)
        status = adl_cluster_add_type(ret, &from->types[t], err);
    for (uint32_t n = 0; n < from->node_count && status == 0; n++) {
        struct adl_bank_spec banks[ADL_TYPES_MAX];
        const struct adl_node *node = &from->nodes[n];
        for (uint32_t b = 0; b < node->bank_count; b++) {
            const struct adl_bank *bank = &from->banks[node->bank_first + b];
            banks[b] = (struct adl_bank_spec){bank->type, bank->gpu_count};
            model = !model && bank->type == change->node_type ? node : model;
        }
        status = adl_cluster_add_node(ret, node, banks, node->bank_count, err);
    }
    ret->network_gbs = from->network_gbs;
    if (status == 0 && !model)
        return adl_fail(err, ADL_EINVAL, "no node of the cluster has GPUs of that type");
    for (uint32_t i = 0; i < change->nodes && status == 0; i++) {
        const struct adl_bank_spec bank = {change->node_type, change->node_gpus};
        struct adl_node node = *model;
        const double more = (double)change->node_gpus / model->gpu_count;
        snprintf(node.name, sizeof node.name, "new-%u", i + 1);
        node.cpu_cores = (int32_t)ceil(model->cpu_cores * fmax(more, 1));
        node.memory_mib = (int32_t)fmin(INT32_MAX, ceil(model->memory_mib * fmax(more, 1)));
        status = adl_cluster_add_node(ret, &node, &bank, 1, err);
    }
    return status;
}

static int no_world_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    (void)self, (void)ret, (void)err;
    return 0;
}

static int no_world_submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    (void)self, (void)command, (void)gpus, (void)err;
    return 0;
}

static const struct adl_world_ops no_world = {.name = "none", .next_event = no_world_event, .submit = no_world_submit};

static int create_engine(struct side *side, struct adl_error *err)
{
    const struct adl_engine *base = side->config->fork.engine;
    struct adl_engine_config config = *adl_engine_config(base);
    config.world_ops = &no_world;
    config.world = NULL;
    config.observer_count = 0;
    config.clock_ns = NULL;
    int status = 0;
    if (side->adopted)
        config.ignore_drift = true;
    if (side->change && side->change->policy) {
        config.policy = side->change->policy;
        config.policy_config = side->change->policy_config;
    }
    if (side->change && side->change->nodes > 0) {
        status = grow_cluster(&side->cluster, config.cluster, side->change, err);
        config.cluster = &side->cluster;
    }
    if (status == 0)
        status = adl_engine_create(&config, &side->engine, err);
    if (status == 0)
        status = side->adopted ? adl_engine_adopt(side->engine, base, err) : adl_engine_copy(side->engine, base, err);
    return status;
}

static int open_side(struct side *side, struct adl_error *err)
{
    struct adl_fork_config fork = side->config->fork;
    side->tallies = calloc((size_t)side->config->futures + 1, sizeof *side->tallies);
    int status = side->tallies ? create_engine(side, err) : adl_fail(err, ADL_ENOMEM, "out of memory for futures");
    if (status == 0 && side->config->submit)
        status = submit_job(side, err);
    if (status == 0 && side->change && changes_job(side->change))
        status = change_job(side, err);
    else if (status == 0 && side->rejoins)
        status = rejoin_job(side, err);
    if (status)
        return status;
    if (count_jobs(adl_engine_state(side->engine), &side->jobs))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the jobs of a future");
    fork.engine = side->engine;
    fork.observer = (struct adl_observer){.self = side, .event = on_event, .command = on_command};
    return adl_fork_create(&fork, &side->fork, err);
}

static void close_side(struct side *side)
{
    adl_fork_destroy(side->fork);
    adl_engine_destroy(side->engine);
    adl_cluster_clear(&side->cluster);
    free(side->tallies);
}

/* ---- playing ---- */

static int begin(struct side *side, uint32_t number, int64_t until_us, struct adl_error *err)
{
    const struct adl_whatif_config *config = side->config;
    const struct adl_state *state = adl_engine_state(side->engine);
    const struct adl_cluster *cluster = state->cluster;
    const struct adl_future future = {.base = side->engine,
                                      .recent = config->recent,
                                      .seed = config->seed,
                                      .number = number,
                                      .count = config->futures,
                                      .until_us = until_us};
    const uint32_t slot = config->of_job ? find_slot(state, config->job, 0) : ADL_NONE;
    const bool runs = slot != ADL_NONE && state->jobs[slot].phase != ADL_PHASE_PENDING;
    side->begin_us = side->last_us = state->now_us;
    side->until_us = until_us;
    side->present = side->left = side->jobs;
    side->tally = (struct tally){.started = runs,
                                 .start_us = runs ? 0 : (double)(until_us - state->now_us),
                                 .end_us = (double)(until_us - state->now_us),
                                 .jobs = side->present};
    int status = adl_fork_begin(side->fork, &future, err);
    if (status)
        return status;
    bool memory = adl_fork_wake(side->fork, state->now_us) == 0 && adl_fork_wake(side->fork, until_us) == 0;
    if (side->change && side->change->drains) {
        const struct adl_node *node = &cluster->nodes[side->change->drain_node];
        for (uint32_t g = node->gpu_first; memory && g < node->gpu_first + node->gpu_count; g++)
            memory = adl_fork_drain(side->fork, g, side->change->drain_us) == 0;
    }
    return memory ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for a future");
}

/* GPUs that stay idle until the end of what is played, once nothing happens any more. */
static double idle_j(const struct side *side, int64_t from_us)
{
    const struct adl_cluster *cluster = adl_engine_state(side->engine)->cluster;
    double idle_w = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        idle_w += cluster->type_gpus[t] * cluster->types[t].idle_w;
    return from_us < side->until_us ? idle_w * (double)(side->until_us - from_us) * 1e-6 : 0;
}

/* Nine of ten jobs that were there have ended, and the job that is meant. */
static bool is_enough(const struct side *side)
{
    return side->left <= side->jobs / 10 && (side->tally.ended || !side->config->of_job);
}

/* Plays one future until its end, or until that is enough. */
static int play(struct side *side, uint32_t number, int64_t until_us, bool until_enough, struct adl_error *err)
{
    int status = begin(side, number, until_us, err);
    if (status)
        return status;
    struct adl_engine *engine = adl_fork_engine(side->fork);
    const struct adl_state *state = adl_engine_state(engine);
    const struct adl_engine_counts *counts = adl_engine_counts(engine);
    const uint64_t before = counts->events, most = side->config->events_max;
    int more = 1;
    while (more > 0 && state->now_us < until_us && !(until_enough && is_enough(side)) &&
           (most == 0 || counts->events - before < most))
        more = adl_engine_step(engine, err);
    if (more < 0)
        return more;
    pass_time(side, until_enough ? state->now_us : until_us);
    struct tally *tally = &side->tally;
    tally->energy_j = adl_fork_energy_j(side->fork) + idle_j(side, state->now_us);
    tally->own_us = side->config->of_job ? fmin(tally->end_us, (double)(until_us - side->begin_us)) : 0;
    side->tallies[number] = *tally;
    return 0;
}

/* Time until the last of the nodes is drained. */
static int64_t until_drains_us(const struct game *game, uint32_t count, int64_t now_us)
{
    int64_t last_us = now_us;
    for (uint32_t a = 0; a < count; a++)
        if (game->sides[a].change->drains && game->sides[a].change->drain_us > last_us)
            last_us = game->sides[a].change->drain_us;
    return last_us - now_us;
}

/* How far to play: from the last drain on, half as long again as nine of ten jobs that are there now, and the one that
 * is meant, take in the longest of a few futures. A few jobs may take for ever, and would make all else small. */
static int find_end(struct game *game, uint32_t count, struct adl_error *err)
{
    const int64_t now_us = adl_engine_state(game->base.engine)->now_us;
    const int64_t most_us = (int64_t)(game->config->horizon_s * 1e6);
    int64_t longest_us = LEAST_US;
    int status = 0;
    for (uint32_t i = 0; i < ADL_WHATIF_LEAST && i < game->config->futures && status == 0; i++) {
        if (i > 0 && game->config->go_on && !game->config->go_on(game->config->self, 0))
            break;
        status = play(&game->base, i, now_us + most_us, true, err);
        const int64_t played_us = (game->base.last_us - now_us) / 2 * 3;
        longest_us = played_us > longest_us ? played_us : longest_us;
    }
    longest_us += until_drains_us(game, count, now_us);
    game->until_us = now_us + (longest_us < most_us ? longest_us : most_us);
    return status;
}

/* ---- figures ---- */

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values. */
static double quantile(const double *values, uint32_t count, double q)
{
    const double at = q * (count - 1);
    const uint32_t i = (uint32_t)at;
    return i + 1 < count ? values[i] + (at - i) * (values[i + 1] - values[i]) : values[count - 1];
}

enum figure { FIGURE_START, FIGURE_END, FIGURE_JOB_ENERGY, FIGURE_JCT, FIGURE_OTHERS, FIGURE_ENERGY };

static double figure_of(const struct tally *tally, enum figure figure, double jobs)
{
    switch (figure) {
    case FIGURE_START:
        return tally->start_us * 1e-6;
    case FIGURE_END:
        return tally->end_us * 1e-6;
    case FIGURE_JOB_ENERGY:
        return tally->job_energy_j;
    case FIGURE_JCT:
        return tally->present_us * 1e-6 / fmax(jobs, 1);
    case FIGURE_OTHERS:
        return (tally->present_us - tally->own_us) * 1e-6 / fmax(jobs - (tally->own_us > 0), 1);
    default:
        return tally->energy_j;
    }
}

static struct adl_difference compare(const struct tally *base, const struct tally *with, uint32_t count,
                                     enum figure figure, double *values)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = figure_of(&with[i], figure, base[i].jobs) - figure_of(&base[i], figure, base[i].jobs);
        sum += values[i];
    }
    qsort(values, count, sizeof *values, compare_reals);
    return (struct adl_difference){sum / count, quantile(values, count, 0.05), quantile(values, count, 0.95)};
}

static struct adl_odds odds_of(const struct tally *tallies, uint32_t count, enum figure figure, double *values)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] = figure_of(&tallies[i], figure, 1);
    qsort(values, count, sizeof *values, compare_reals);
    return (struct adl_odds){quantile(values, count, 0.1), quantile(values, count, 0.5), quantile(values, count, 0.9)};
}

static struct adl_prospect outlook_of(const struct tally *tallies, uint32_t count, double *values)
{
    struct adl_prospect outlook = {.start_s = odds_of(tallies, count, FIGURE_START, values),
                                   .end_s = odds_of(tallies, count, FIGURE_END, values)};
    for (uint32_t i = 0; i < count; i++) {
        outlook.job_energy_j += tallies[i].job_energy_j / count;
        outlook.never += !tallies[i].started;
    }
    return outlook;
}

static void answer(const struct side *base, const struct side *with, uint32_t count, double *values,
                   struct adl_answer *ret)
{
    const struct tally *a = base->tallies, *b = with->tallies;
    ret->possible = true;
    ret->job = outlook_of(b, count, values);
    ret->start_s = compare(a, b, count, FIGURE_START, values);
    ret->end_s = compare(a, b, count, FIGURE_END, values);
    ret->job_energy_j = compare(a, b, count, FIGURE_JOB_ENERGY, values);
    ret->jct_s = compare(a, b, count, FIGURE_JCT, values);
    ret->others_s = compare(a, b, count, FIGURE_OTHERS, values);
    ret->energy_j = compare(a, b, count, FIGURE_ENERGY, values);
    ret->sooner = 0;
    for (uint32_t i = 0; i < count; i++)
        ret->sooner += (b[i].start_us < a[i].start_us) / (double)count;
}

/* ---- the whole ---- */

static bool adopts(const struct adl_change *change)
{
    return change->policy || change->nodes > 0;
}

/* A side that cannot be opened is an alternative that is not possible; for lack of memory it is an error. */
static int open_sides(struct game *game, struct adl_answer *alternatives, uint32_t count, struct adl_error *err)
{
    bool again = false, changed = false;
    for (uint32_t i = 0; i < count; i++)
        changed |= changes_job(&alternatives[i].change);
    game->base.rejoins = changed;
    int status = open_side(&game->base, err);
    for (uint32_t i = 0; i < count && status == 0; i++) {
        struct side *side = &game->sides[i];
        struct adl_error why = {.text = ""};
        *side = (struct side){.config = game->config,
                              .change = &alternatives[i].change,
                              .adopted = adopts(&alternatives[i].change),
                              .rejoins = changed};
        const int opened = open_side(side, &why);
        alternatives[i].possible = opened == 0;
        snprintf(alternatives[i].why_not, sizeof alternatives[i].why_not, "%.250s", why.text);
        again |= opened == 0 && side->adopted;
        status = opened == ADL_ENOMEM ? adl_fail(err, opened, "%s", why.text) : 0;
    }
    if (status == 0 && again) {
        game->again = (struct side){.config = game->config, .adopted = true, .rejoins = changed};
        status = open_side(&game->again, err);
    }
    return status;
}

static int play_all(struct game *game, const struct adl_answer *alternatives, uint32_t count, uint32_t *ret_played,
                    struct adl_error *err)
{
    const struct adl_whatif_config *config = game->config;
    int status = 0;
    uint32_t i = 0;
    for (; i < config->futures && status == 0; i++) {
        if (config->go_on && !config->go_on(config->self, i))
            break;
        status = play(&game->base, i, game->until_us, false, err);
        if (status == 0 && game->again.fork)
            status = play(&game->again, i, game->until_us, false, err);
        for (uint32_t a = 0; a < count && status == 0; a++)
            if (alternatives[a].possible)
                status = play(&game->sides[a], i, game->until_us, false, err);
    }
    *ret_played = i;
    return status || i > 0 ? status : adl_fail(err, ADL_EREFUSED, "no future could be played in time");
}

static int check_job(const struct adl_whatif_config *config, struct adl_whatif *ret, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(config->fork.engine);
    if (!config->of_job || config->submit)
        return 0;
    const uint32_t slot = find_slot(state, config->job, 0);
    if (slot == ADL_NONE)
        return adl_fail(err, ADL_EABSENT, "job %llu neither waits nor runs then", (unsigned long long)config->job);
    ret->runs = state->jobs[slot].phase != ADL_PHASE_PENDING;
    return 0;
}

static int play_game(struct game *game, struct adl_answer *alternatives, uint32_t count, struct adl_whatif *ret,
                     double *values, struct adl_error *err)
{
    uint32_t played = 0;
    int status = open_sides(game, alternatives, count, err);
    if (status == 0)
        status = find_end(game, count, err);
    if (status == 0)
        status = play_all(game, alternatives, count, &played, err);
    if (status)
        return status;
    ret->job = outlook_of(game->base.tallies, played, values);
    ret->futures = played;
    ret->played_s = (double)(game->until_us - game->base.begin_us) * 1e-6;
    ret->jobs = game->base.tallies[0].jobs;
    for (uint32_t a = 0; a < count; a++)
        if (alternatives[a].possible)
            answer(game->sides[a].adopted ? &game->again : &game->base, &game->sides[a], played, values,
                   &alternatives[a]);
    return 0;
}

int adl_whatif_play(const struct adl_whatif_config *config, struct adl_answer *alternatives, uint32_t count,
                    struct adl_whatif *ret, struct adl_error *err)
{
    struct adl_whatif_config own = *config;
    struct game game = {.config = &own, .base = {.config = &own}};
    if (own.submit) {
        own.of_job = true;
        own.job = ADL_FORK_FIRST_ID - 1;
    }
    *ret = (struct adl_whatif){0};
    int status = check_job(&own, ret, err);
    if (status)
        return status;
    double *values = calloc((size_t)own.futures + 1, sizeof *values);
    game.sides = calloc((size_t)count + 1, sizeof *game.sides);
    status = values && game.sides ? play_game(&game, alternatives, count, ret, values, err)
                                  : adl_fail(err, ADL_ENOMEM, "out of memory for %u alternatives", count);
    for (uint32_t a = 0; game.sides && a < count; a++)
        close_side(&game.sides[a]);
    close_side(&game.base);
    close_side(&game.again);
    free(game.sides);
    free(values);
    return status;
}
