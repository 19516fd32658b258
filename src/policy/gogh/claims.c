#include "policy/gogh/claims.h"

#include "policy/mechanism/preemption_victims.h"

#include <assert.h>
#include <stdlib.h>

int adl_claims_create(struct adl_claims *ret, const struct adl_cluster *cluster)
{
    struct adl_claims it = {.capacity = ADL_GPU_JOBS_MAX * cluster->gpu_count};
    it.list = malloc((it.capacity + 1) * sizeof *it.list);
    it.next_gpu = malloc((cluster->gpu_count + 1) * sizeof *it.next_gpu);
    it.withheld = calloc(cluster->gpu_count + 1, sizeof *it.withheld);
    if (!it.list || !it.next_gpu || !it.withheld) {
        adl_claims_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_claims_clear(struct adl_claims *claims)
{
    free(claims->list);
    free(claims->next_gpu);
    free(claims->withheld);
    *claims = (struct adl_claims){0};
}

void adl_claims_add(struct adl_claims *claims, struct adl_claim claim, const uint32_t *gpus)
{
    assert(claims->count < claims->capacity);
    claim.first_gpu = ADL_NONE;
    for (uint32_t i = claim.gpu_count; i-- > 0;) {
        assert(!claims->withheld[gpus[i]]);
        claims->withheld[gpus[i]] = true;
        claims->next_gpu[gpus[i]] = claim.first_gpu;
        claim.first_gpu = gpus[i];
    }
    claims->list[claims->count++] = claim;
}

/* Keeps the order of the others. */
static void drop(struct adl_claims *claims, uint32_t index)
{
    for (uint32_t gpu = claims->list[index].first_gpu; gpu != ADL_NONE; gpu = claims->next_gpu[gpu])
        claims->withheld[gpu] = false;
    claims->count--;
    for (uint32_t i = index; i < claims->count; i++)
        claims->list[i] = claims->list[i + 1];
}

static bool is_stopping(const struct adl_state *state, uint32_t slot)
{
    return slot != ADL_NONE && state->jobs[slot].phase == ADL_PHASE_STOPPING;
}

/* True if the GPU is free for the claim, or will be. */
static bool gpu_stands(const struct adl_state *state, const struct adl_claim *claim, uint32_t gpu)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    if (use->down)
        return false;
    for (int place = 0; place < ADL_GPU_JOBS_MAX; place++)
        if (use->job[place] != ADL_NONE && use->job[place] != claim->beside && !is_stopping(state, use->job[place]))
            return false;
    return claim->beside == ADL_NONE || use->job[0] == claim->beside || use->job[1] == claim->beside;
}

/* True if somebody is about to leave a node of the claim. */
static bool node_clears(const struct adl_claims *claims, const struct adl_state *state, const struct adl_claim *claim)
{
    for (uint32_t gpu = claim->first_gpu; gpu != ADL_NONE; gpu = claims->next_gpu[gpu]) {
        const struct adl_node *node = &state->cluster->nodes[adl_gpu_node_of(state->cluster, gpu)];
        for (uint32_t g = node->gpu_first; g < node->gpu_first + node->gpu_count; g++)
            if (is_stopping(state, state->gpus[g].job[0]) || is_stopping(state, state->gpus[g].job[1]))
                return true;
    }
    return false;
}

static bool shares_now(const struct adl_state *state, const struct adl_claim *claim)
{
    const struct adl_job_spec *spec = &state->jobs[claim->job].spec;
    const struct adl_gpu_use *use = &state->gpus[claim->first_gpu];
    const struct adl_node_use *node = &state->nodes_use[adl_gpu_node_of(state->cluster, claim->first_gpu)];
    return use->job[0] == claim->beside && use->job[1] == ADL_NONE && use->free_memory_mib >= spec->gpu_memory_mib &&
           node->free_cores >= spec->cpu_cores && node->free_memory_mib >= spec->memory_mib;
}

static bool is_ready(const struct adl_claims *claims, const struct adl_state *state, const struct adl_claim *claim,
                     uint32_t *ret_gpus)
{
    uint32_t count = 0;
    for (uint32_t gpu = claim->first_gpu; gpu != ADL_NONE; gpu = claims->next_gpu[gpu])
        ret_gpus[count++] = gpu;
    if (state->jobs[claim->job].phase != ADL_PHASE_PENDING)
        return false;
    return claim->beside != ADL_NONE ? shares_now(state, claim)
                                     : adl_preemption_victims_ready(state, claim->job, ret_gpus);
}

static bool stands(const struct adl_claims *claims, const struct adl_state *state, const struct adl_claim *claim)
{
    const struct adl_job *job = &state->jobs[claim->job];
    if (job->spec.id != claim->id || (job->phase != ADL_PHASE_PENDING && job->phase != ADL_PHASE_STOPPING))
        return false;
    if (claim->beside != ADL_NONE && state->jobs[claim->beside].phase != ADL_PHASE_RUNNING)
        return false;
    for (uint32_t gpu = claim->first_gpu; gpu != ADL_NONE; gpu = claims->next_gpu[gpu])
        if (!gpu_stands(state, claim, gpu))
            return false;
    return true;
}

void adl_claims_drop_broken(struct adl_claims *claims, const struct adl_state *state)
{
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    for (uint32_t i = claims->count; i-- > 0;) {
        const struct adl_claim *claim = &claims->list[i];
        const bool waits = state->jobs[claim->job].phase == ADL_PHASE_PENDING;
        if (!stands(claims, state, claim) ||
            (waits && !is_ready(claims, state, claim, gpus) && !node_clears(claims, state, claim)))
            drop(claims, i);
    }
}

bool adl_claims_take_ready(struct adl_claims *claims, const struct adl_state *state, struct adl_claim *ret,
                           uint32_t *ret_gpus)
{
    for (uint32_t i = 0; i < claims->count; i++)
        if (is_ready(claims, state, &claims->list[i], ret_gpus)) {
            *ret = claims->list[i];
            drop(claims, i);
            return true;
        }
    return false;
}

bool adl_claims_has(const struct adl_claims *claims, uint32_t slot)
{
    for (uint32_t i = 0; i < claims->count; i++)
        if (claims->list[i].job == slot)
            return true;
    return false;
}

double adl_claims_power_w(const struct adl_claims *claims)
{
    double power_w = 0;
    for (uint32_t i = 0; i < claims->count; i++)
        power_w += claims->list[i].power_w;
    return power_w;
}
