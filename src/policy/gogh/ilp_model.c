#include "policy/gogh/ilp_model.h"

#include "base/copy.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE  4096 /* a power of two, several times ADL_ILP_MODEL_GROUPS */
#define SWAPS       2000
#define ITERATIONS  1500
#define GROUPS_FULL 128 /* with more groups these limits shrink in proportion */
#define EXACT_GPUS  256 /* on larger clusters the exact solver, whose work grows with the groups, is not asked */
#define GAP         0.001
#define SHORT_NEXT  4 /* so many programs after a plan that broke the power limit, none is tried without the limit */

int adl_ilp_model_create(struct adl_ilp_model *ret, const struct adl_policy_config *config,
                         const struct adl_cluster *cluster, struct adl_cost_model *cost_model)
{
    const struct adl_gogh_options *own = config->options;
    struct adl_ilp_model it = {
        .cluster = cluster,
        .cost_model = cost_model,
        .job_capacity = ADL_ILP_MODEL_QUEUE + ADL_GPU_JOBS_MAX * cluster->gpu_count,
        .power_limit_w = own->power_limit_w,
        .share = own->share,
        .stay = own->stay,
        .limits = {.swaps = SWAPS,
                   .nodes = own->greedy || cluster->gpu_count > EXACT_GPUS ? 0 : (uint32_t)own->solver_nodes,
                   .iterations = ITERATIONS,
                   .gap = GAP}};
    for (uint32_t i = 0; i < own->power_caps.count; i++)
        it.caps[it.cap_count++] = own->power_caps.items[i];
    it.groups = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.groups);
    it.table = malloc(TABLE_SIZE * sizeof *it.table);
    it.jobs = malloc(it.job_capacity * sizeof *it.jobs);
    it.next = malloc(it.job_capacity * sizeof *it.next);
    it.offers = malloc(ADL_ILP_MODEL_OFFERS * sizeof *it.offers);
    it.cap_w = malloc(ADL_ILP_MODEL_OFFERS * sizeof *it.cap_w);
    it.times = malloc(ADL_ILP_MODEL_OFFERS * sizeof *it.times);
    it.group_jobs = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.group_jobs);
    it.jobs_left = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.jobs_left);
    it.wait_cost = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.wait_cost);
    if (!it.groups || !it.table || !it.jobs || !it.next || !it.offers || !it.cap_w || !it.times || !it.group_jobs ||
        !it.jobs_left || !it.wait_cost ||
        adl_allotment_create(ADL_ILP_MODEL_GROUPS, cluster->type_count, ADL_ILP_MODEL_OFFERS, &it.allotment)) {
        adl_ilp_model_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_ilp_model_clear(struct adl_ilp_model *ilp)
{
    free(ilp->groups);
    free(ilp->table);
    free(ilp->jobs);
    free(ilp->next);
    free(ilp->offers);
    free(ilp->cap_w);
    free(ilp->times);
    free(ilp->group_jobs);
    free(ilp->jobs_left);
    free(ilp->wait_cost);
    adl_allotment_destroy(ilp->allotment);
    *ilp = (struct adl_ilp_model){0};
}

void adl_ilp_model_copy(struct adl_ilp_model *to, const struct adl_ilp_model *from)
{
    const struct adl_ilp_model own = *to;
    *to = *from;
    to->cost_model = own.cost_model;
    to->allotment = own.allotment; /* of one program */
    to->reservations = own.reservations;
    ADL_COPY_ARRAY(to, own, from, groups, ADL_ILP_MODEL_GROUPS);
    ADL_COPY_ARRAY(to, own, from, table, TABLE_SIZE);
    ADL_COPY_ARRAY(to, own, from, jobs, from->job_capacity);
    ADL_COPY_ARRAY(to, own, from, next, from->job_capacity);
    ADL_COPY_ARRAY(to, own, from, offers, ADL_ILP_MODEL_OFFERS);
    ADL_COPY_ARRAY(to, own, from, cap_w, ADL_ILP_MODEL_OFFERS);
    ADL_COPY_ARRAY(to, own, from, times, ADL_ILP_MODEL_OFFERS);
    ADL_COPY_ARRAY(to, own, from, group_jobs, ADL_ILP_MODEL_GROUPS);
    ADL_COPY_ARRAY(to, own, from, wait_cost, ADL_ILP_MODEL_GROUPS);
    to->jobs_left = own.jobs_left; /* of one program */
}

void adl_ilp_model_set_limit(struct adl_ilp_model *ilp, double limit_w, bool promised_first)
{
    ilp->power_limit_w = limit_w;
    ilp->promised_first = promised_first;
}

/* ---- groups of jobs ---- */

static bool same_features(const struct adl_job_features *a, const struct adl_job_features *b)
{
    return a->profile == b->profile && a->spanning == b->spanning && a->beside == b->beside && a->types == b->types &&
           a->min_steps_per_s == b->min_steps_per_s && a->share_slowdown == b->share_slowdown &&
           a->gpu_memory_mib == b->gpu_memory_mib && a->gpus == b->gpus && a->current_type == b->current_type &&
           a->flags == b->flags && a->kind == b->kind && a->pinned == b->pinned && a->across == b->across &&
           a->work_left == b->work_left && a->work_lost == b->work_lost && a->urgency == b->urgency &&
           a->slack == b->slack;
}

/* The group with these features, created if new; ADL_NONE if there is no room. */
static uint32_t group_of(struct adl_ilp_model *ilp, const struct adl_job_features *features)
{
    uint32_t at = (uint32_t)adl_hash_bytes(adl_hash_start(), features, sizeof *features) % TABLE_SIZE;
    while (ilp->table[at] != ADL_NONE) {
        if (same_features(&ilp->groups[ilp->table[at]].features, features))
            return ilp->table[at];
        at = (at + 1) % TABLE_SIZE;
    }
    if (ilp->group_count == ADL_ILP_MODEL_GROUPS)
        return ADL_NONE;
    const uint32_t group = ilp->table[at] = ilp->group_count++;
    struct adl_ilp_model_group *it = &ilp->groups[group];
    it->features = *features;
    it->first = it->last = ADL_NONE;
    ilp->group_jobs[group] = 0;
    adl_cost_model_estimate(ilp->cost_model, features, &it->estimates);
    return group;
}

static bool is_reserved(const struct adl_ilp_model *ilp, uint32_t gpu)
{
    return ilp->reservations && gpu != ADL_NONE && ilp->reservations->reserved[gpu];
}

static void add_job(struct adl_ilp_model *ilp, const struct adl_state *state, uint32_t slot)
{
    struct adl_job_features features;
    if (ilp->job_count == ilp->job_capacity)
        return;
    if (ilp->reservations && adl_gpu_reservations_has(ilp->reservations, slot))
        return;
    adl_cost_model_features(ilp->cost_model, state, slot, &features);
    if (is_reserved(ilp, state->jobs[slot].first_gpu))
        features.pinned = true; /* another job is about to join it there */
    ilp->changes_with_time |= adl_features_change_with_time(&features);
    const uint32_t group = group_of(ilp, &features);
    if (group == ADL_NONE)
        return;
    struct adl_ilp_model_group *it = &ilp->groups[group];
    const uint32_t member = ilp->job_count++;
    ilp->jobs[member] = slot;
    ilp->next[member] = ADL_NONE;
    if (it->first == ADL_NONE)
        it->first = member;
    else
        ilp->next[it->last] = member;
    it->last = member;
    ilp->group_jobs[group]++;
}

static void add_holder(struct adl_ilp_model *ilp, const struct adl_state *state, uint32_t slot)
{
    if (state->jobs[slot].phase == ADL_PHASE_STOPPING)
        ilp->stopping_w += adl_cost_model_stopping_w(ilp->cost_model, state, slot);
    add_job(ilp, state, slot);
}

/* Running jobs first: there is always room for them. A stopping job counts as a waiting one; its GPUs and its power are
 * not available yet. */
static void gather(struct adl_ilp_model *ilp, const struct adl_state *state)
{
    ilp->group_count = ilp->job_count = 0;
    ilp->stopping_w = 0;
    ilp->changes_with_time = false;
    for (uint32_t i = 0; i < TABLE_SIZE; i++)
        ilp->table[i] = ADL_NONE;
    memset(ilp->pool_gpus, 0, sizeof ilp->pool_gpus);
    for (uint32_t gpu = 0; gpu < ilp->cluster->gpu_count; gpu++) {
        const struct adl_gpu_use *use = &state->gpus[gpu];
        bool usable = use->job[0] == ADL_NONE && !use->down && !is_reserved(ilp, gpu);
        for (int place = 0; place < ADL_GPU_JOBS_MAX && use->job[place] != ADL_NONE; place++) {
            usable |= state->jobs[use->job[place]].phase == ADL_PHASE_RUNNING;
            if (state->jobs[use->job[place]].first_gpu == gpu)
                add_holder(ilp, state, use->job[place]);
        }
        ilp->pool_gpus[adl_gpu_type_of(ilp->cluster, gpu)] += usable;
    }
    uint32_t seen = 0;
    adl_walk_begin(&state->queue);
    for (uint32_t slot; seen < ADL_ILP_MODEL_QUEUE && (slot = adl_walk_job(&state->queue)) != ADL_NONE; seen++) {
        add_job(ilp, state, slot);
        adl_walk_next(&state->queue);
    }
}

/* ---- offers ---- */

static struct adl_candidate candidate(const struct adl_ilp_model *ilp, uint32_t group)
{
    return (struct adl_candidate){&ilp->groups[group].features, &ilp->groups[group].estimates};
}

static void add_offer(struct adl_ilp_model *ilp, uint32_t a, uint32_t b, uint32_t type, double cap_w,
                      const struct adl_offer_cost *cost)
{
    if (ilp->offer_count == ADL_ILP_MODEL_OFFERS)
        return;
    ilp->cap_w[ilp->offer_count] = cap_w;
    ilp->offers[ilp->offer_count++] = (struct adl_offer){.group = {a, b},
                                                         .pool = type,
                                                         .gpus = b == ADL_NONE ? ilp->groups[a].features.gpus : 1,
                                                         .cost = cost->total_w,
                                                         .power_w = cost->power_w > 0 ? cost->power_w : 0};
}

/* The n-th power cap for GPUs of a type; 0 is no cap. */
static double cap_at(const struct adl_ilp_model *ilp, uint32_t type, uint32_t n)
{
    return n == 0 ? 0 : ilp->caps[n - 1] * ilp->cluster->types[type].max_w;
}

static bool stays(const struct adl_ilp_model *ilp, const struct adl_job_features *job)
{
    return adl_features_fixed(job) || (ilp->stay && job->current_type != ADL_NOT_RUNNING);
}

/* True if the job may get GPUs of the type at all. */
static bool may_have(const struct adl_ilp_model *ilp, const struct adl_job_features *job, uint32_t type)
{
    return !stays(ilp, job) || job->current_type == type;
}

static void offer_alone(struct adl_ilp_model *ilp, uint32_t group)
{
    const struct adl_job_features *job = &ilp->groups[group].features;
    struct adl_offer_cost cost;
    const double wait_w = adl_cost_model_wait(ilp->cost_model, candidate(ilp, group));
    double worst_w = -HUGE_VAL;
    for (uint32_t type = 0; type < ilp->cluster->type_count; type++)
        for (uint32_t n = 0; n <= ilp->cap_count && may_have(ilp, job, type); n++) {
            const double cap_w = cap_at(ilp, type, n);
            if (!adl_cost_model_alone(ilp->cost_model, candidate(ilp, group), type, cap_w, &cost) ||
                (job->current_type == ADL_NOT_RUNNING && cost.total_w >= wait_w))
                continue;
            worst_w = cost.total_w > worst_w ? cost.total_w : worst_w;
            add_offer(ilp, group, ADL_NONE, type, cap_w, &cost);
        }
    /* Preempting a job costs more than its worst offer and more than leaving one in the queue, but not so much more
     * that sums lose precision. */
    ilp->wait_cost[group] = job->current_type == ADL_NOT_RUNNING || worst_w < 0 ? wait_w : worst_w + wait_w;
}

static bool shares(const struct adl_job_features *job)
{
    return job->flags & ADL_JOB_SHARE && job->gpus == 1;
}

/* Two jobs that cannot be moved form a pair only if they share a GPU already. */
static bool may_pair(const struct adl_ilp_model *ilp, const struct adl_job_features *a,
                     const struct adl_job_features *b, uint32_t type)
{
    const bool both_stay = stays(ilp, a) && stays(ilp, b);
    return may_have(ilp, a, type) && may_have(ilp, b, type) && (!both_stay || adl_features_share_gpu(a, b, type));
}

/* The best partners of a group's jobs on one type, the best first. */
struct partners {
    uint32_t group[ADL_ILP_MODEL_PARTNERS];
    double gain[ADL_ILP_MODEL_PARTNERS];
    uint32_t count;
};

static void keep_partner(struct partners *partners, uint32_t group, double gain)
{
    uint32_t at = partners->count;
    for (; at > 0 && gain > partners->gain[at - 1]; at--)
        if (at < ADL_ILP_MODEL_PARTNERS) {
            partners->group[at] = partners->group[at - 1];
            partners->gain[at] = partners->gain[at - 1];
        }
    if (at == ADL_ILP_MODEL_PARTNERS)
        return;
    partners->group[at] = group;
    partners->gain[at] = gain;
    partners->count += partners->count < ADL_ILP_MODEL_PARTNERS;
}

static void offer_pair(struct adl_ilp_model *ilp, uint32_t a, uint32_t b, uint32_t type)
{
    struct adl_offer_cost cost;
    for (uint32_t n = 0; n <= ilp->cap_count; n++) {
        const double cap_w = cap_at(ilp, type, n);
        if (adl_cost_model_pair(ilp->cost_model, candidate(ilp, a), candidate(ilp, b), type, cap_w, &cost) &&
            cost.total_w < ilp->wait_cost[a] + ilp->wait_cost[b])
            add_offer(ilp, a, b, type, cap_w, &cost);
    }
}

/* Offers a group's jobs to share GPUs of one type: with their present neighbours, and with their best partners. */
static void offer_pairs(struct adl_ilp_model *ilp, uint32_t a, uint32_t type)
{
    const struct adl_job_features *x = &ilp->groups[a].features;
    struct partners partners = {.count = 0};
    struct adl_offer_cost cost;
    for (uint32_t b = ilp->group_jobs[a] > 1 ? a : a + 1; b < ilp->group_count; b++) {
        const struct adl_job_features *y = &ilp->groups[b].features;
        if (!shares(y) || !may_pair(ilp, x, y, type))
            continue;
        if (adl_features_share_gpu(x, y, type))
            offer_pair(ilp, a, b, type);
        else if (adl_cost_model_pair(ilp->cost_model, candidate(ilp, a), candidate(ilp, b), type, 0, &cost))
            keep_partner(&partners, b, -cost.total_w);
    }
    for (uint32_t i = 0; i < partners.count; i++)
        offer_pair(ilp, a, partners.group[i], type);
}

static void list_offers(struct adl_ilp_model *ilp)
{
    ilp->offer_count = 0;
    for (uint32_t a = 0; a < ilp->group_count; a++)
        offer_alone(ilp, a);
    for (uint32_t a = 0; a < ilp->group_count && ilp->share; a++)
        for (uint32_t type = 0; shares(&ilp->groups[a].features) && type < ilp->cluster->type_count; type++)
            offer_pairs(ilp, a, type);
}

/* ---- initial solution: every running job stays, without a cap ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void start_from_running(struct adl_ilp_model *ilp)
{
    memset(ilp->times, 0, ilp->offer_count * sizeof *ilp->times);
    for (uint32_t o = 0; o < ilp->offer_count; o++) {
        const struct adl_offer *offer = &ilp->offers[o];
        const uint32_t a = offer->group[0], b = offer->group[1];
        const struct adl_job_features *x = &ilp->groups[a].features;
        if (x->current_type != offer->pool || ilp->cap_w[o] > 0)
            continue;
        if (b == ADL_NONE)
            ilp->times[o] = x->beside == ADL_NONE ? ilp->group_jobs[a] : 0;
        else if (adl_features_share_gpu(x, &ilp->groups[b].features, offer->pool))
            ilp->times[o] = a == b ? ilp->group_jobs[a] / 2 : least(ilp->group_jobs[a], ilp->group_jobs[b]);
    }
}

/* ---- stages: promised jobs are served before the others ---- */

/* True if the offer belongs to the first stage: its jobs are promised, or share a GPU with one that is. */
static bool is_first(const struct adl_ilp_model *ilp, const struct adl_offer *offer)
{
    const struct adl_job_features *a = &ilp->groups[offer->group[0]].features;
    if (offer->group[1] == ADL_NONE)
        return adl_features_promised(a);
    const struct adl_job_features *b = &ilp->groups[offer->group[1]].features;
    return (adl_features_promised(a) && adl_features_promised(b)) ||
           ((adl_features_promised(a) || adl_features_promised(b)) && adl_features_share_gpu(a, b, offer->pool));
}

/* Puts the offers of the first stage first; returns their number. */
static uint32_t part_offers(struct adl_ilp_model *ilp)
{
    uint32_t first = 0;
    for (uint32_t o = 0; o < ilp->offer_count; o++) {
        if (!is_first(ilp, &ilp->offers[o]))
            continue;
        const struct adl_offer offer = ilp->offers[o];
        const double cap_w = ilp->cap_w[o];
        ilp->offers[o] = ilp->offers[first];
        ilp->cap_w[o] = ilp->cap_w[first];
        ilp->offers[first] = offer;
        ilp->cap_w[first++] = cap_w;
    }
    return first;
}

/* The least that a running job draws beyond idle where it is, by the power caps. */
static double least_draw_w(const struct adl_ilp_model *ilp, uint32_t group)
{
    const uint32_t type = ilp->groups[group].features.current_type;
    double least_w = HUGE_VAL;
    for (uint32_t n = 0; n <= ilp->cap_count; n++) {
        struct adl_offer_cost cost;
        if (adl_cost_model_alone(ilp->cost_model, candidate(ilp, group), type, cap_at(ilp, type, n), &cost) &&
            cost.power_w < least_w)
            least_w = cost.power_w;
    }
    return least_w > 0 && least_w < HUGE_VAL ? least_w : 0;
}

/* Takes away what the first stage cannot get: GPUs and power of jobs that are not promised and may not be stopped. A
 * group that has offers of the first stage shares its GPUs with promised jobs. */
static void keep_for_others(const struct adl_ilp_model *ilp, uint32_t *pool_gpus, double *power_w)
{
    for (uint32_t g = 0; g < ilp->group_count; g++) {
        const struct adl_job_features *job = &ilp->groups[g].features;
        if (ilp->jobs_left[g] > 0 || job->current_type == ADL_NOT_RUNNING || job->flags & ADL_JOB_PREEMPTIBLE)
            continue;
        const uint32_t times = job->beside == ADL_NONE ? ilp->group_jobs[g] : (ilp->group_jobs[g] + 1) / 2;
        pool_gpus[job->current_type] -= least(times * job->gpus, pool_gpus[job->current_type]);
        *power_w -= least_draw_w(ilp, g) * times;
    }
}

static void solve_part(struct adl_ilp_model *ilp, const uint32_t *group_jobs, const uint32_t *pool_gpus, uint32_t from,
                       uint32_t count, double power_w, struct adl_allotment_answer *ret)
{
    const struct adl_allotment_problem problem = {.group_count = ilp->group_count,
                                                  .pool_count = ilp->cluster->type_count,
                                                  .offer_count = count,
                                                  .group_jobs = group_jobs,
                                                  .wait_cost = ilp->wait_cost,
                                                  .pool_gpus = pool_gpus,
                                                  .offers = ilp->offers + from,
                                                  .power_cap_w = power_w > 0 ? power_w : 0};
    /* The work of one node or iteration grows with the rows, so large programs get fewer. */
    struct adl_allotment_limits limits = ilp->limits;
    if (ilp->group_count > GROUPS_FULL) {
        limits.nodes = limits.nodes * GROUPS_FULL / ilp->group_count;
        limits.iterations = limits.iterations * GROUPS_FULL / ilp->group_count;
    }
    adl_allotment_solve(ilp->allotment, &problem, &limits, ilp->times + from, ret);
    ilp->counts.solved++;
    ilp->counts.proved += ret->optimal;
    ilp->counts.greedy += ret->by == ADL_ALLOTMENT_GREEDY;
}

/* What the jobs of the program may draw beyond idle. Under a power limit no reserved job starts before all stopping
 * jobs have left. */
static double power_left_w(const struct adl_ilp_model *ilp)
{
    double idle_w = 0;
    if (ilp->power_limit_w <= 0)
        return HUGE_VAL;
    for (uint32_t t = 0; t < ilp->cluster->type_count; t++)
        idle_w += ilp->cluster->types[t].idle_w * ilp->cluster->type_gpus[t];
    const double reserved_w = ilp->reservations ? adl_gpu_reservations_power_w(ilp->reservations) : 0;
    return ilp->power_limit_w - idle_w - (reserved_w > ilp->stopping_w ? reserved_w : ilp->stopping_w);
}

static void solve_in_stages(struct adl_ilp_model *ilp, struct adl_allotment_answer *ret)
{
    struct adl_allotment_answer rest;
    uint32_t pool_gpus[ADL_TYPES_MAX];
    const uint32_t first = ilp->first_count = part_offers(ilp);
    double power_w = power_left_w(ilp), first_w = power_w;
    start_from_running(ilp);
    memset(ilp->jobs_left, 0, ilp->group_count * sizeof *ilp->jobs_left);
    for (uint32_t o = 0; o < first; o++)
        for (int i = 0; i < 2 && ilp->offers[o].group[i] != ADL_NONE; i++)
            ilp->jobs_left[ilp->offers[o].group[i]] = ilp->group_jobs[ilp->offers[o].group[i]];
    memcpy(pool_gpus, ilp->pool_gpus, sizeof pool_gpus);
    keep_for_others(ilp, pool_gpus, &first_w);
    solve_part(ilp, ilp->jobs_left, pool_gpus, 0, first, first_w, ret);
    memcpy(pool_gpus, ilp->pool_gpus, sizeof pool_gpus);
    memcpy(ilp->jobs_left, ilp->group_jobs, ilp->group_count * sizeof *ilp->jobs_left);
    for (uint32_t o = 0; o < first; o++) {
        const struct adl_offer *offer = &ilp->offers[o];
        for (int i = 0; i < 2 && offer->group[i] != ADL_NONE; i++)
            ilp->jobs_left[offer->group[i]] -= ilp->times[o];
        pool_gpus[offer->pool] -= offer->gpus * ilp->times[o];
        power_w -= offer->power_w * ilp->times[o];
    }
    solve_part(ilp, ilp->jobs_left, pool_gpus, first, ilp->offer_count - first, power_w, &rest);
}

static void solve_at_once(struct adl_ilp_model *ilp, const struct adl_state *state, struct adl_allotment_answer *ret)
{
    adl_cost_model_put_promised_first(ilp->cost_model, false);
    gather(ilp, state);
    list_offers(ilp);
    ilp->first_count = ilp->offer_count;
    start_from_running(ilp);
    solve_part(ilp, ilp->group_jobs, ilp->pool_gpus, 0, ilp->offer_count, HUGE_VAL, ret);
}

/* True if the solution draws no more than the limit allows. */
static bool keeps_limit(const struct adl_ilp_model *ilp)
{
    double power_w = 0;
    for (uint32_t o = 0; o < ilp->offer_count; o++)
        power_w += ilp->offers[o].power_w * ilp->times[o];
    return power_w <= power_left_w(ilp);
}

void adl_ilp_model_solve(struct adl_ilp_model *ilp, const struct adl_state *state,
                         const struct adl_gpu_reservations *reservations, struct adl_allotment_answer *ret)
{
    ilp->reservations = reservations;
    if (!ilp->promised_first && (ilp->power_limit_w <= 0 || ilp->short_next == 0)) {
        solve_at_once(ilp, state, ret);
        if (keeps_limit(ilp))
            return;
        ilp->short_next = SHORT_NEXT;
    } else if (ilp->short_next > 0) {
        ilp->short_next--;
    }
    adl_cost_model_put_promised_first(ilp->cost_model, true);
    gather(ilp, state);
    list_offers(ilp);
    solve_in_stages(ilp, ret);
}
