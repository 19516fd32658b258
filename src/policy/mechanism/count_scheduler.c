#include "policy/mechanism/count_scheduler.h"

#include "policy/mechanism/placement.h"

/* One pass down the order. */
struct pass {
    int64_t left[ADL_TYPES_MAX];    /* GPUs not yet taken */
    uint32_t holder[ADL_TYPES_MAX]; /* the next job, in order, that holds GPUs of the type */
    uint32_t served[ADL_TYPES_MAX]; /* the last waiting job that took GPUs of the type */
};

static bool may_stop(const struct adl_job *job)
{
    return job->phase == ADL_PHASE_RUNNING && (job->spec.flags & ADL_JOB_PREEMPTIBLE);
}

/* GPUs of jobs that may not be stopped do not count. */
static struct pass pass_begin(const struct adl_preemptive_list *list, const struct adl_state *state)
{
    struct pass pass = {0};
    for (uint32_t t = 0; t < list->cluster->type_count; t++) {
        pass.left[t] = state->pool.free_gpus[t];
        pass.served[t] = ADL_NONE;
        pass.holder[t] = list->holding[t].first;
        for (uint32_t v = pass.holder[t]; v != ADL_NONE; v = list->nodes[v].next)
            pass.left[t] += may_stop(&state->jobs[v]) ? state->jobs[v].spec.gpus : 0;
    }
    return pass;
}

static bool comes_before(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t holder,
                         uint32_t waiting)
{
    const int64_t held = list->nodes[holder].key - list->bonus, wanted = list->jobs[waiting].key;
    return held < wanted || (held == wanted && state->jobs[holder].start_us == state->now_us);
}

/* Serves the holders of GPUs of a type that rank above the waiting job; all of them if that is ADL_NONE. */
static int serve_holders(const struct adl_preemptive_list *list, const struct adl_state *state, struct pass *pass,
                         uint32_t type, uint32_t waiting, struct adl_plan *plan)
{
    uint32_t v = pass->holder[type];
    for (; v != ADL_NONE && (waiting == ADL_NONE || comes_before(list, state, v, waiting)); v = list->nodes[v].next) {
        const struct adl_job *job = &state->jobs[v];
        if (!may_stop(job))
            continue;
        if (job->spec.gpus <= pass->left[type])
            pass->left[type] -= job->spec.gpus;
        else if (adl_plan_preempt(plan, v))
            return ADL_EREFUSED;
        else
            adl_preemptive_list_explain(list, state, pass->served[type], plan);
    }
    pass->holder[type] = v;
    return 0;
}

/* The fastest type with enough GPUs left for a waiting job, or ADL_NONE. */
static uint32_t choose_type(const struct adl_state *state, const struct pass *pass, uint32_t slot)
{
    uint32_t types[ADL_TYPES_MAX];
    const uint32_t count = adl_placement_order_types(state, slot, UINT32_MAX, types);
    for (uint32_t i = 0; i < count; i++)
        if (state->jobs[slot].spec.gpus <= pass->left[types[i]])
            return types[i];
    return ADL_NONE;
}

/* The first pass preempts jobs that get nothing; the second, if there are none, places the chosen jobs.
 * 1 if the pass proposed a start, 0 if it reached its end, or ADL_EREFUSED if the plan is full. */
static int pass_down(struct adl_preemptive_list *list, const struct adl_state *state, bool places,
                     struct adl_plan *plan, uint32_t *ret_chosen)
{
    struct pass pass = pass_begin(list, state);
    const struct adl_queue *queue = adl_preemptive_list_queue(list, state);
    uint32_t slot;
    adl_walk_begin(queue);
    do {
        slot = adl_walk_job(queue);
        for (uint32_t t = 0; t < list->cluster->type_count; t++)
            if (serve_holders(list, state, &pass, t, slot, plan))
                return ADL_EREFUSED;
        const uint32_t type = slot == ADL_NONE ? ADL_NONE : choose_type(state, &pass, slot);
        if (type != ADL_NONE) {
            const struct adl_placement_request request = {.types = UINT32_C(1) << type};
            if (places && adl_placement_start(state, slot, &request, plan)) {
                adl_preemptive_list_explain(list, state, slot, plan);
                list->last_start = slot;
                return 1;
            }
            pass.left[type] -= state->jobs[slot].spec.gpus;
            pass.served[type] = slot;
            ++*ret_chosen;
            adl_walk_next(queue);
        } else if (slot != ADL_NONE) {
            adl_walk_leave(queue); /* fewer and fewer GPUs are left: no job of the lane will be chosen */
        }
    } while (slot != ADL_NONE);
    return 0;
}

int adl_count_scheduler_decide(struct adl_preemptive_list *list, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t chosen = 0;
    if (state->stopping_jobs > 0)
        return 0;
    int status = pass_down(list, state, false, plan, &chosen);
    if (status == 0 && plan->command_count == 0 && chosen > 0)
        status = pass_down(list, state, true, plan, &chosen);
    return status < 0 ? status : 0;
}
