#include "policy/gogh/ilp_model.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE  4096 /* a power of two, several times ADL_ILP_MODEL_GROUPS */
#define SWAPS       2000
#define NODES       200
#define ITERATIONS  1500
#define GROUPS_FULL 128 /* groups up to which these are given in full */
#define GAP         0.001

int adl_ilp_model_create(struct adl_ilp_model *ret, const struct adl_policy_config *config,
                         const struct adl_cluster *cluster, struct adl_cost_model *cost_model)
{
    struct adl_ilp_model it = {.cluster = cluster,
                               .cost_model = cost_model,
                               .job_capacity = ADL_ILP_MODEL_QUEUE + ADL_GPU_JOBS_MAX * cluster->gpu_count,
                               .power_limit_w = config->power_limit_w,
                               .share = config->share,
                               .stay = config->stay,
                               .limits = {.swaps = SWAPS,
                                          .nodes = config->greedy             ? 0
                                                   : config->solver_nodes > 0 ? config->solver_nodes
                                                                              : NODES,
                                          .iterations = ITERATIONS,
                                          .gap = GAP}};
    for (uint32_t i = 0; i < ADL_POWER_CAPS_MAX && config->power_caps[i] > 0; i++)
        it.caps[it.cap_count++] = config->power_caps[i];
    it.groups = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.groups);
    it.table = malloc(TABLE_SIZE * sizeof *it.table);
    it.jobs = malloc(it.job_capacity * sizeof *it.jobs);
    it.next = malloc(it.job_capacity * sizeof *it.next);
    it.offers = malloc(ADL_ILP_MODEL_OFFERS * sizeof *it.offers);
    it.cap_w = malloc(ADL_ILP_MODEL_OFFERS * sizeof *it.cap_w);
    it.times = malloc(ADL_ILP_MODEL_OFFERS * sizeof *it.times);
    it.group_jobs = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.group_jobs);
    it.wait_cost = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.wait_cost);
    if (!it.groups || !it.table || !it.jobs || !it.next || !it.offers || !it.cap_w || !it.times || !it.group_jobs ||
        !it.wait_cost ||
        adl_allotment_create(ADL_ILP_MODEL_GROUPS, cluster->type_count, ADL_ILP_MODEL_OFFERS, &it.allotment)) {
        adl_ilp_model_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_ilp_model_clear(struct adl_ilp_model *program)
{
    free(program->groups);
    free(program->table);
    free(program->jobs);
    free(program->next);
    free(program->offers);
    free(program->cap_w);
    free(program->times);
    free(program->group_jobs);
    free(program->wait_cost);
    adl_allotment_destroy(program->allotment);
    *program = (struct adl_ilp_model){0};
}

/* ---- who ---- */

static bool alike(const struct adl_standing *a, const struct adl_standing *b)
{
    return a->profile == b->profile && a->spanning == b->spanning && a->beside == b->beside && a->types == b->types &&
           a->min_steps_per_s == b->min_steps_per_s && a->share_slowdown == b->share_slowdown &&
           a->gpu_memory_mib == b->gpu_memory_mib && a->gpus == b->gpus && a->place == b->place &&
           a->flags == b->flags && a->kind == b->kind && a->settled == b->settled && a->left == b->left &&
           a->lost == b->lost && a->urgency == b->urgency && a->slack == b->slack;
}

/* The group of such a standing, made if new; ADL_NONE if there is no room. */
static uint32_t group_of(struct adl_ilp_model *program, const struct adl_standing *standing)
{
    uint32_t at = (uint32_t)adl_hash_bytes(adl_hash_start(), standing, sizeof *standing) % TABLE_SIZE;
    while (program->table[at] != ADL_NONE) {
        if (alike(&program->groups[program->table[at]].standing, standing))
            return program->table[at];
        at = (at + 1) % TABLE_SIZE;
    }
    if (program->group_count == ADL_ILP_MODEL_GROUPS)
        return ADL_NONE;
    const uint32_t group = program->table[at] = program->group_count++;
    struct adl_ilp_model_group *it = &program->groups[group];
    it->standing = *standing;
    it->first = it->last = ADL_NONE;
    program->group_jobs[group] = 0;
    adl_cost_model_look(program->cost_model, standing, &it->prospect);
    return group;
}

static bool is_withheld(const struct adl_ilp_model *program, uint32_t gpu)
{
    return program->claims && gpu != ADL_NONE && program->claims->withheld[gpu];
}

static void add_job(struct adl_ilp_model *program, const struct adl_state *state, uint32_t slot)
{
    struct adl_standing standing;
    if (program->job_count == program->job_capacity)
        return;
    if (program->claims && adl_claims_has(program->claims, slot))
        return;
    adl_cost_model_stand(program->cost_model, state, slot, &standing);
    if (is_withheld(program, state->jobs[slot].first_gpu))
        standing.settled = true; /* another is about to join it there */
    program->ripens |= adl_standing_ripens(&standing);
    const uint32_t group = group_of(program, &standing);
    if (group == ADL_NONE)
        return;
    struct adl_ilp_model_group *it = &program->groups[group];
    const uint32_t member = program->job_count++;
    program->jobs[member] = slot;
    program->next[member] = ADL_NONE;
    if (it->first == ADL_NONE)
        it->first = member;
    else
        program->next[it->last] = member;
    it->last = member;
    program->group_jobs[group]++;
}

static void add_holder(struct adl_ilp_model *program, const struct adl_state *state, uint32_t slot)
{
    if (state->jobs[slot].phase == ADL_PHASE_STOPPING)
        program->stopping_w += adl_cost_model_stopping_w(program->cost_model, state, slot);
    add_job(program, state, slot);
}

/* Those that run first: there is always room for them. A job that was told to stop is about to wait: it is looked at as
 * one that does, and its GPUs and what they draw are not yet there to be given. */
static void gather(struct adl_ilp_model *program, const struct adl_state *state)
{
    program->group_count = program->job_count = 0;
    program->stopping_w = 0;
    program->ripens = false;
    for (uint32_t i = 0; i < TABLE_SIZE; i++)
        program->table[i] = ADL_NONE;
    memset(program->pool_gpus, 0, sizeof program->pool_gpus);
    for (uint32_t gpu = 0; gpu < program->cluster->gpu_count; gpu++) {
        const struct adl_gpu_use *use = &state->gpus[gpu];
        bool usable = use->job[0] == ADL_NONE && !use->down && !is_withheld(program, gpu);
        for (int place = 0; place < ADL_GPU_JOBS_MAX && use->job[place] != ADL_NONE; place++) {
            usable |= state->jobs[use->job[place]].phase == ADL_PHASE_RUNNING;
            if (state->jobs[use->job[place]].first_gpu == gpu)
                add_holder(program, state, use->job[place]);
        }
        program->pool_gpus[adl_gpu_type_of(program->cluster, gpu)] += usable;
    }
    uint32_t looked = 0;
    adl_walk_begin(&state->queue);
    for (uint32_t slot; looked < ADL_ILP_MODEL_QUEUE && (slot = adl_walk_job(&state->queue)) != ADL_NONE; looked++) {
        add_job(program, state, slot);
        adl_walk_next(&state->queue);
    }
}

/* ---- in which ways ---- */

static struct adl_party party(const struct adl_ilp_model *program, uint32_t group)
{
    return (struct adl_party){&program->groups[group].standing, &program->groups[group].prospect};
}

static void add_offer(struct adl_ilp_model *program, uint32_t a, uint32_t b, uint32_t type, double cap_w,
                      const struct adl_price *price)
{
    if (program->offer_count == ADL_ILP_MODEL_OFFERS)
        return;
    program->cap_w[program->offer_count] = cap_w;
    program->offers[program->offer_count++] =
        (struct adl_offer){.group = {a, b},
                           .pool = type,
                           .gpus = b == ADL_NONE ? program->groups[a].standing.gpus : 1,
                           .cost = price->cost_w,
                           .power_w = price->power_w > 0 ? price->power_w : 0};
}

/* The n-th cap that GPUs of a type may have; the first is none. */
static double cap_at(const struct adl_ilp_model *program, uint32_t type, uint32_t n)
{
    return n == 0 ? 0 : program->caps[n - 1] * program->cluster->types[type].max_w;
}

static bool stays(const struct adl_ilp_model *program, const struct adl_standing *job)
{
    return adl_standing_fixed(job) || (program->stay && job->place != ADL_PLACE_QUEUE);
}

/* True if the job may be given GPUs of the type at all. */
static bool may_have(const struct adl_ilp_model *program, const struct adl_standing *job, uint32_t type)
{
    return !stays(program, job) || job->place == type;
}

static void offer_alone(struct adl_ilp_model *program, uint32_t group)
{
    const struct adl_standing *job = &program->groups[group].standing;
    struct adl_price price;
    const double wait_w = adl_cost_model_wait(program->cost_model, party(program, group));
    double worst_w = -HUGE_VAL;
    for (uint32_t type = 0; type < program->cluster->type_count; type++)
        for (uint32_t n = 0; n <= program->cap_count && may_have(program, job, type); n++) {
            const double cap_w = cap_at(program, type, n);
            if (!adl_cost_model_alone(program->cost_model, party(program, group), type, cap_w, &price) ||
                (job->place == ADL_PLACE_QUEUE && price.cost_w >= wait_w))
                continue;
            worst_w = price.cost_w > worst_w ? price.cost_w : worst_w;
            add_offer(program, group, ADL_NONE, type, cap_w, &price);
        }
    /* To stop a job that runs costs more than the worst it is offered and than leaving one in the queue, but not so
     * much more that sums drown in it. */
    program->wait_cost[group] = job->place == ADL_PLACE_QUEUE || worst_w < 0 ? wait_w : worst_w + wait_w;
}

static bool shares(const struct adl_standing *job)
{
    return job->flags & ADL_JOB_SHARE && job->gpus == 1;
}

/* Two that cannot be moved are offered each other only if they share a GPU already. */
static bool may_pair(const struct adl_ilp_model *program, const struct adl_standing *a, const struct adl_standing *b,
                     uint32_t type)
{
    const bool both_stay = stays(program, a) && stays(program, b);
    return may_have(program, a, type) && may_have(program, b, type) &&
           (!both_stay || adl_standing_together(a, b, type));
}

/* The partners that a group's jobs gain most with on one type, the best first. */
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

static void offer_pair(struct adl_ilp_model *program, uint32_t a, uint32_t b, uint32_t type)
{
    struct adl_price price;
    for (uint32_t n = 0; n <= program->cap_count; n++) {
        const double cap_w = cap_at(program, type, n);
        if (adl_cost_model_pair(program->cost_model, party(program, a), party(program, b), type, cap_w, &price) &&
            price.cost_w < program->wait_cost[a] + program->wait_cost[b])
            add_offer(program, a, b, type, cap_w, &price);
    }
}

/* What a group's jobs can share GPUs of one type with: those beside them now, and the few they gain most with. */
static void offer_pairs(struct adl_ilp_model *program, uint32_t a, uint32_t type)
{
    const struct adl_standing *x = &program->groups[a].standing;
    struct partners partners = {.count = 0};
    struct adl_price price;
    for (uint32_t b = program->group_jobs[a] > 1 ? a : a + 1; b < program->group_count; b++) {
        const struct adl_standing *y = &program->groups[b].standing;
        if (!shares(y) || !may_pair(program, x, y, type))
            continue;
        if (adl_standing_together(x, y, type))
            offer_pair(program, a, b, type);
        else if (adl_cost_model_pair(program->cost_model, party(program, a), party(program, b), type, 0, &price))
            keep_partner(&partners, b, -price.cost_w);
    }
    for (uint32_t i = 0; i < partners.count; i++)
        offer_pair(program, a, partners.group[i], type);
}

static void list_offers(struct adl_ilp_model *program)
{
    program->offer_count = 0;
    for (uint32_t a = 0; a < program->group_count; a++)
        offer_alone(program, a);
    for (uint32_t a = 0; a < program->group_count && program->share; a++)
        for (uint32_t type = 0; shares(&program->groups[a].standing) && type < program->cluster->type_count; type++)
            offer_pairs(program, a, type);
}

/* ---- the plan to begin with: everyone who runs stays, at no cap ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void begin_with_running(struct adl_ilp_model *program)
{
    memset(program->times, 0, program->offer_count * sizeof *program->times);
    for (uint32_t o = 0; o < program->offer_count; o++) {
        const struct adl_offer *offer = &program->offers[o];
        const uint32_t a = offer->group[0], b = offer->group[1];
        const struct adl_standing *x = &program->groups[a].standing;
        if (x->place != offer->pool || program->cap_w[o] > 0)
            continue;
        if (b == ADL_NONE)
            program->times[o] = x->beside == ADL_NONE ? program->group_jobs[a] : 0;
        else if (adl_standing_together(x, &program->groups[b].standing, offer->pool))
            program->times[o] =
                a == b ? program->group_jobs[a] / 2 : least(program->group_jobs[a], program->group_jobs[b]);
    }
}

void adl_ilp_model_solve(struct adl_ilp_model *program, const struct adl_state *state, const struct adl_claims *claims,
                         struct adl_allotment_answer *ret)
{
    double idle_w = 0;
    program->claims = claims;
    gather(program, state);
    list_offers(program);
    begin_with_running(program);
    for (uint32_t t = 0; t < program->cluster->type_count; t++)
        idle_w += program->cluster->types[t].idle_w * program->cluster->type_gpus[t];
    /* Under a limit nobody with a claim starts before all who are stopped are gone. */
    const double claimed_w = claims ? adl_claims_power_w(claims) : 0;
    const double taken_w = idle_w + (claimed_w > program->stopping_w ? claimed_w : program->stopping_w);
    const double cap_w = program->power_limit_w > 0 ? program->power_limit_w - taken_w : HUGE_VAL;
    const struct adl_allotment_problem problem = {.group_count = program->group_count,
                                                  .pool_count = program->cluster->type_count,
                                                  .offer_count = program->offer_count,
                                                  .group_jobs = program->group_jobs,
                                                  .wait_cost = program->wait_cost,
                                                  .pool_gpus = program->pool_gpus,
                                                  .offers = program->offers,
                                                  .power_cap_w = cap_w > 0 ? cap_w : 0};
    /* The work of one node or iteration grows with the rows: a large program is given fewer. */
    struct adl_allotment_limits limits = program->limits;
    if (program->group_count > GROUPS_FULL) {
        limits.nodes = limits.nodes * GROUPS_FULL / program->group_count;
        limits.iterations = limits.iterations * GROUPS_FULL / program->group_count;
    }
    adl_allotment_solve(program->allotment, &problem, &limits, program->times, ret);
    program->counts.solved++;
    program->counts.proved += ret->optimal;
    program->counts.greedy += ret->by == ADL_ALLOTMENT_GREEDY;
}
