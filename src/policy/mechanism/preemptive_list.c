#include "policy/mechanism/preemptive_list.h"

#include "policy/mechanism/placement.h"
#include "state/stop.h"

#include <assert.h>

#define SPANNING (ADL_NONE - 1) /* place of a job that may span nodes: all banks of the type */

enum verdict { UNSERVED, WAITS, PROPOSED, FULL };

int adl_preemptive_list_add(struct adl_preemptive_list *list, uint32_t slot, const struct adl_job_spec *spec,
                            int64_t key)
{
    const size_t known = list->job_capacity, count = (size_t)slot + 1;
    if (adl_grow((void **)&list->jobs, &list->job_capacity, count, sizeof *list->jobs))
        return ADL_ENOMEM;
    for (size_t i = known; i < list->job_capacity; i++)
        list->jobs[i].phase = ADL_PREEMPTIVE_ABSENT;
    if (adl_grow((void **)&list->nodes, &list->node_capacity, count, sizeof *list->nodes))
        return ADL_ENOMEM;
    list->queue.nodes = list->nodes;
    adl_preemptive_list_remove(list, slot);
    const uint32_t lane = list->ranked ? 0 : adl_queue_lane(&list->queue, spec);
    if (lane == ADL_NONE)
        return ADL_ENOMEM;
    list->jobs[slot].key = key;
    list->jobs[slot].lane = lane;
    list->jobs[slot].phase = ADL_PREEMPTIVE_WAITING;
    if (!list->ranked)
        adl_queue_push(&list->queue, slot, lane, key, 0);
    return 0;
}

void adl_preemptive_list_remove(struct adl_preemptive_list *list, uint32_t slot)
{
    list->resumable = false;
    if (slot >= list->job_capacity)
        return;
    struct adl_preemptive_job *job = &list->jobs[slot];
    if (job->phase == ADL_PREEMPTIVE_WAITING && !list->ranked) {
        adl_queue_remove(&list->queue, slot, job->lane);
    } else if (job->phase == ADL_PREEMPTIVE_HOLDING) {
        adl_order_remove(list->nodes, &list->holding[job->type], slot);
        list->holding_count--;
    }
    job->phase = ADL_PREEMPTIVE_ABSENT;
    if (list->last_start == slot)
        list->last_start = ADL_NONE;
    if (list->preemptor == slot)
        list->preemptor = ADL_NONE;
}

static void hold(struct adl_preemptive_list *list, uint32_t slot, uint16_t type, int64_t key)
{
    list->jobs[slot].type = type;
    list->jobs[slot].phase = ADL_PREEMPTIVE_HOLDING;
    adl_order_insert(list->nodes, &list->holding[type], slot, key, list->sequence++, 0);
    list->holding_count++;
}

/* Sets the key of a job that holds GPUs if that leaves it between the same two; keys of neighbours must differ from
 * it, because among equal ones the last that was ranked comes last. */
static bool rerank_in_place(struct adl_preemptive_list *list, uint32_t slot, int64_t key)
{
    struct adl_order_node *node = &list->nodes[slot];
    if ((node->previous != ADL_NONE && list->nodes[node->previous].key >= key) ||
        (node->next != ADL_NONE && list->nodes[node->next].key <= key))
        return false;
    node->key = key;
    if (list->preemptor == slot)
        list->preemptor = ADL_NONE;
    return true;
}

void adl_preemptive_list_rerank(struct adl_preemptive_list *list, uint32_t slot, int64_t key)
{
    const struct adl_preemptive_job job = list->jobs[slot];
    assert(job.phase == ADL_PREEMPTIVE_HOLDING || (job.phase == ADL_PREEMPTIVE_WAITING && !list->ranked));
    list->resumable = false;
    if (job.phase == ADL_PREEMPTIVE_WAITING) {
        list->jobs[slot].key = key;
        /* The lane stays valid while it is empty: only adl_queue_lane() recycles empty lanes. */
        adl_queue_remove(&list->queue, slot, job.lane);
        adl_queue_push(&list->queue, slot, job.lane, key, 0);
    } else if (!rerank_in_place(list, slot, key)) {
        adl_preemptive_list_remove(list, slot);
        hold(list, slot, job.type, key);
    }
}

static bool started(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot)
{
    return list->jobs[slot].phase == ADL_PREEMPTIVE_WAITING && state->jobs[slot].phase >= ADL_PHASE_RUNNING;
}

uint32_t adl_preemptive_list_next_started(struct adl_preemptive_list *list, const struct adl_state *state)
{
    uint32_t slot = list->last_start;
    list->last_start = ADL_NONE;
    if (slot == ADL_NONE || !started(list, state, slot)) {
        list->resumable &= slot == ADL_NONE;
        if (list->holding_count == state->running_jobs)
            return ADL_NONE;
        /* The guard decided instead: rare enough to scan all jobs. */
        list->resumable = false;
        for (slot = 0; slot < state->job_capacity && slot < list->job_capacity; slot++)
            if (started(list, state, slot))
                break;
        if (slot == state->job_capacity || slot == list->job_capacity)
            return ADL_NONE;
    }
    if (!list->ranked)
        adl_queue_remove(&list->queue, slot, list->jobs[slot].lane);
    hold(list, slot, state->jobs[slot].type, list->jobs[slot].key);
    return slot;
}

void adl_preemptive_list_explain(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t wanted,
                                 struct adl_plan *plan)
{
    const struct adl_command *command = &plan->commands[plan->command_count - 1];
    if (plan->reasons_unread)
        return;
    if (command->kind == ADL_COMMAND_PREEMPT) {
        adl_plan_because(plan, list->reason(list->reason_context, state, command->job, wanted, true));
        return;
    }
    const struct adl_queue *queue = adl_preemptive_list_queue(list, state);
    const uint32_t head = adl_queue_head(queue);
    const uint32_t other = head == command->job ? adl_queue_second(queue) : head;
    struct adl_reason reason = list->reason(list->reason_context, state, command->job, other, false);
    reason.passed = head != command->job;
    adl_plan_because(plan, reason);
}

/* The key beyond which a job that holds GPUs ranks below a waiting one; among equals the holder keeps them. */
static int64_t key_limit(const struct adl_preemptive_list *list, uint32_t waiting)
{
    return list->jobs[waiting].key + list->bonus;
}

static inline bool may_stop(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t victim,
                            uint32_t wanted)
{
    const struct adl_job *job = &state->jobs[victim];
    return job->phase == ADL_PHASE_RUNNING && (job->spec.flags & ADL_JOB_PREEMPTIBLE) &&
           (list->weighs_loss || adl_stop_pays(state, victim, wanted));
}

/* GPUs of the type not reserved for jobs of higher rank: free now, and once stopping jobs have left. */
static int64_t unreserved_now(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t type)
{
    return (int64_t)state->pool.free_gpus[type] - list->reserved[type];
}

static int64_t unreserved_soon(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t type)
{
    return unreserved_now(list, state, type) + list->stopping[type];
}

/* GPUs of preemptible jobs that rank below the waiting one, counted up to `wanted`. */
static int64_t preemptible_below(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t type,
                                 uint32_t waiting, int64_t wanted)
{
    const struct adl_order_node *nodes = list->nodes;
    const int64_t limit = key_limit(list, waiting);
    int64_t found = 0;
    for (uint32_t v = list->holding[type].last; v != ADL_NONE && found < wanted && nodes[v].key > limit;
         v = nodes[v].previous)
        if (may_stop(list, state, v, waiting))
            found += state->jobs[v].spec.gpus;
    return found;
}

/* A waiting job takes GPUs of the type if it needs only a number of GPUs and no other type has enough free. */
static bool competes(const struct adl_state *state, uint32_t slot, uint32_t type)
{
    const struct adl_job *job = &state->jobs[slot];
    if (!(job->eligible >> type & 1) || !adl_fit_counts_alone(state, &job->spec))
        return false;
    for (uint32_t left = job->eligible & ~(UINT32_C(1) << type); left; left &= left - 1)
        if (state->pool.free_gpus[__builtin_ctz(left)] >= job->spec.gpus)
            return false;
    return true;
}

/* The rest of the pass over one type, from a waiting job that is served, at the present position of the walk: running
 * jobs that get nothing are preempted.
 *
 * If there is but one type, that pass is complete: each GPU that becomes free has a job of higher rank than those who
 * get nothing, and the stops change nothing for the jobs before this one, which count the same GPUs as free soon that
 * they counted as preemptible. So nothing follows until jobs have stopped. Elsewhere other types have GPUs, and whether
 * a stop that loses work pays depends on who asks. */
static enum verdict pass_down(struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot,
                              uint32_t type, struct adl_plan *plan)
{
    const struct adl_queue *queue = adl_preemptive_list_queue(list, state);
    int64_t left = unreserved_soon(list, state, type) - state->jobs[slot].spec.gpus, missing = -left;
    uint32_t holder = ADL_NONE, last = slot; /* the last waiting job that is served */
    bool complete = list->by_count && list->cluster->type_count == 1;
    const int64_t limit = key_limit(list, slot);
    for (uint32_t v = list->holding[type].last; v != ADL_NONE && list->nodes[v].key > limit;
         v = list->nodes[v].previous) {
        left += may_stop(list, state, v, slot) ? state->jobs[v].spec.gpus : 0;
        complete &= list->weighs_loss || adl_stop_lost_us(state, v) == 0;
        holder = v;
    }
    adl_walk_next(queue);
    while (holder != ADL_NONE) {
        const uint32_t waiting = adl_walk_job(queue);
        if (waiting == ADL_NONE || list->nodes[holder].key <= key_limit(list, waiting)) {
            const struct adl_job *job = &state->jobs[holder];
            if (!may_stop(list, state, holder, slot))
                ;
            else if (job->spec.gpus <= left)
                left -= job->spec.gpus;
            else if (adl_plan_preempt(plan, holder))
                return FULL;
            else {
                adl_preemptive_list_explain(list, state, missing > 0 ? slot : last, plan);
                missing -= job->spec.gpus;
            }
            holder = list->nodes[holder].next;
        } else if (competes(state, waiting, type) && state->jobs[waiting].spec.gpus <= left) {
            left -= state->jobs[waiting].spec.gpus;
            last = waiting;
            adl_walk_next(queue);
        } else {
            adl_walk_leave(queue);
        }
    }
    list->resumable = complete;
    list->pass_stopping += plan->command_count;
    adl_walk_end(queue);
    return PROPOSED;
}

static struct adl_bank_capacity *capacity_of(struct adl_preemptive_list *list, const struct adl_state *state,
                                             uint32_t bank)
{
    struct adl_bank_capacity *capacity = &list->capacities[bank];
    if (capacity->epoch != list->epoch) {
        const struct adl_node_use *node = &state->nodes_use[list->cluster->banks[bank].node];
        *capacity = (struct adl_bank_capacity){.epoch = list->epoch,
                                               .gpus = adl_pool_bank_free(&state->pool, bank),
                                               .cores = node->free_cores,
                                               .memory_mib = node->free_memory_mib};
    }
    return capacity;
}

/* GPUs of a bank with this capacity that such a job could use. */
static int64_t usable(const struct adl_bank_capacity *capacity, const struct adl_job_spec *spec)
{
    int64_t count = capacity->gpus;
    if (spec->cpu_cores > 0 && capacity->cores / spec->cpu_cores < count)
        count = capacity->cores / spec->cpu_cores;
    if (spec->memory_mib > 0 && capacity->memory_mib / spec->memory_mib < count)
        count = capacity->memory_mib / spec->memory_mib;
    return count > 0 ? count : 0;
}

/* A search for a place: the demand, and what the departures so far would free. */
struct search {
    const struct adl_job_spec *spec;
    uint32_t type;
    bool spans;
    int64_t across; /* GPUs usable in all banks of the type together */
    uint32_t found; /* a bank that suffices, SPANNING, or ADL_NONE */
};

static struct search search_begin(struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot,
                                  uint32_t type)
{
    struct search search = {.spec = &state->jobs[slot].spec, .type = type, .found = ADL_NONE};
    search.spans = (search.spec->flags & ADL_JOB_SPAN) && state->placement == ADL_PLACEMENT_BEST_FIT;
    list->epoch++;
    for (uint32_t b = 0; search.spans && b < list->cluster->bank_count; b++)
        if (list->cluster->banks[b].type == type)
            search.across += usable(capacity_of(list, state, b), search.spec);
    if (search.spans && search.across >= search.spec->gpus)
        search.found = SPANNING;
    return search;
}

static bool suffices(struct adl_preemptive_list *list, const struct adl_state *state, const struct search *search,
                     uint32_t place)
{
    if (place == SPANNING)
        return search->across >= search->spec->gpus;
    return usable(capacity_of(list, state, place), search->spec) >= search->spec->gpus;
}

/* True if the place suffices even if this job stays; the capacities then count it as staying. */
static bool can_stay(struct adl_preemptive_list *list, const struct adl_state *state, struct search *search,
                     uint32_t slot, uint32_t place)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    for (int sign = -1;; sign = 1) {
        for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu)) {
            struct adl_bank_capacity *capacity = capacity_of(list, state, list->cluster->gpu_bank[gpu]);
            search->across -= usable(capacity, search->spec);
            capacity->gpus += (uint32_t)sign * (state->gpus[gpu].job[1] == ADL_NONE);
            capacity->cores += sign * spec->cpu_cores;
            capacity->memory_mib += sign * spec->memory_mib;
            search->across += usable(capacity, search->spec);
        }
        if (sign > 0)
            return false;
        if (suffices(list, state, search, place))
            return true;
    }
}

/* Counts a job's resources as free. */
static void search_release(struct adl_preemptive_list *list, const struct adl_state *state, struct search *search,
                           uint32_t leaving)
{
    const struct adl_job_spec *spec = &state->jobs[leaving].spec;
    for (uint32_t gpu = state->jobs[leaving].first_gpu; gpu != ADL_NONE;
         gpu = adl_state_next_gpu(state, leaving, gpu)) {
        const uint32_t bank = list->cluster->gpu_bank[gpu];
        struct adl_bank_capacity *capacity = capacity_of(list, state, bank);
        const int64_t before = usable(capacity, search->spec);
        capacity->gpus += state->gpus[gpu].job[1] == ADL_NONE; /* a job that shares its GPU does not free it */
        capacity->cores += spec->cpu_cores;
        capacity->memory_mib += spec->memory_mib;
        const int64_t after = usable(capacity, search->spec);
        search->across += after - before;
        if (search->found == ADL_NONE && after >= search->spec->gpus)
            search->found = bank;
    }
    if (search->found == ADL_NONE && search->spans && search->across >= search->spec->gpus)
        search->found = SPANNING;
}

static void release_stopping(struct adl_preemptive_list *list, const struct adl_state *state, struct search *search)
{
    if (list->stopping[search->type] == 0)
        return;
    for (uint32_t v = list->holding[search->type].last; v != ADL_NONE; v = list->nodes[v].previous)
        if (state->jobs[v].phase == ADL_PHASE_STOPPING)
            search_release(list, state, search, v);
}

static bool holds_in(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot,
                     uint32_t place)
{
    if (place == SPANNING)
        return true;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (list->cluster->gpu_bank[gpu] == place)
            return true;
    return false;
}

/* Reserves the place of a job that waits for others to stop, against jobs of lower rank. */
static void reserve_place(struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot, uint32_t type,
                          uint32_t place)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    list->reserved[type] += spec->gpus;
    list->blocks |= place == SPANNING;
    if (place == SPANNING || list->reservation_count == ADL_PREEMPTIVE_RESERVATIONS_MAX)
        return;
    const struct adl_bank_capacity *capacity = capacity_of(list, state, place);
    list->reservations[list->reservation_count++] =
        (struct adl_reservation){.start_us = state->now_us,
                                 .end_us = INT64_MAX,
                                 .job = slot,
                                 .type = type,
                                 .bank = place,
                                 .gpus = spec->gpus,
                                 .spare = capacity->gpus - spec->gpus,
                                 .spare_cores = capacity->cores - spec->gpus * spec->cpu_cores,
                                 .spare_memory_mib = capacity->memory_mib - spec->gpus * spec->memory_mib};
}

/* Preempts jobs that hold GPUs of the place, lowest rank first, until it suffices. */
static enum verdict preempt_for_place(struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot,
                                      uint32_t type, uint32_t place, struct adl_plan *plan)
{
    struct search search = search_begin(list, state, slot, type);
    const uint32_t first = plan->command_count;
    release_stopping(list, state, &search);
    for (uint32_t v = list->holding[type].last; v != ADL_NONE && !suffices(list, state, &search, place);
         v = list->nodes[v].previous) {
        if (!may_stop(list, state, v, slot) || !holds_in(list, state, v, place))
            continue;
        search_release(list, state, &search, v);
        if (adl_plan_preempt(plan, v))
            return FULL;
        adl_preemptive_list_explain(list, state, slot, plan);
    }
    /* A later, larger victim may make earlier ones unnecessary. */
    for (uint32_t i = first; i < plan->command_count;)
        if (can_stay(list, state, &search, plan->commands[i].job, place))
            adl_plan_drop(plan, i);
        else
            i++;
    if (plan->command_count > first) {
        list->preemptor = slot;
        list->preemptor_place = place;
        list->preemptor_type = type;
    }
    return PROPOSED;
}

/* Finds a place on one type for a job that needs more than a number of GPUs: where stopping jobs make room, else where
 * preempting jobs of lower rank would. */
static enum verdict find_place(struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot,
                               uint32_t type, struct adl_plan *plan)
{
    const int64_t wanted = state->jobs[slot].spec.gpus;
    if (unreserved_soon(list, state, type) + preemptible_below(list, state, type, slot, wanted + list->reserved[type]) <
        wanted)
        return UNSERVED;
    struct search search = search_begin(list, state, slot, type);
    release_stopping(list, state, &search);
    if (search.found != ADL_NONE && list->stopping[type] > 0) {
        reserve_place(list, state, slot, type, search.found);
        return WAITS;
    }
    /* Free GPUs are reserved for others, or jobs are being preempted for another job: one preemptor at a time. */
    if (search.found != ADL_NONE || list->reserved[type] > 0 ||
        (list->preemptor != ADL_NONE && list->preemptor != slot))
        return UNSERVED;
    const int64_t limit = key_limit(list, slot);
    for (uint32_t v = list->holding[type].last; v != ADL_NONE && search.found == ADL_NONE && list->nodes[v].key > limit;
         v = list->nodes[v].previous)
        if (may_stop(list, state, v, slot))
            search_release(list, state, &search, v);
    return search.found == ADL_NONE ? UNSERVED : preempt_for_place(list, state, slot, type, search.found, plan);
}

static enum verdict serve_on(struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot,
                             uint32_t type, struct adl_plan *plan)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    if (!adl_fit_counts_alone(state, spec)) {
        list->by_count = false;
        return find_place(list, state, slot, type, plan);
    }
    const int64_t missing = spec->gpus - unreserved_soon(list, state, type);
    if (missing <= 0) {
        list->reserved[type] += spec->gpus;
        return WAITS;
    }
    if (preemptible_below(list, state, type, slot, missing) < missing)
        return UNSERVED;
    return pass_down(list, state, slot, type, plan);
}

/* A preemptor waits for the place that its victims leave, and for no other. */
static enum verdict wait_for_place(struct adl_preemptive_list *list, const struct adl_state *state)
{
    struct search search = search_begin(list, state, list->preemptor, list->preemptor_type);
    release_stopping(list, state, &search);
    list->by_count = false;
    reserve_place(list, state, list->preemptor, list->preemptor_type, list->preemptor_place);
    return WAITS;
}

static enum verdict serve(struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot,
                          struct adl_plan *plan)
{
    uint32_t types[ADL_TYPES_MAX];
    if (slot == list->preemptor)
        return wait_for_place(list, state);
    const uint32_t count = adl_placement_order_types(state, slot, UINT32_MAX, types);
    enum verdict verdict = UNSERVED;
    for (uint32_t i = 0; i < count; i++) {
        if (unreserved_now(list, state, types[i]) < state->jobs[slot].spec.gpus)
            continue;
        const struct adl_placement_request request = {.types = UINT32_C(1) << types[i],
                                                      .reservations = list->reservations,
                                                      .reservation_count = list->reservation_count};
        if (adl_placement_start(state, slot, &request, plan)) {
            adl_preemptive_list_explain(list, state, slot, plan);
            list->last_start = slot;
            list->resumable = list->by_count;
            adl_walk_next(adl_preemptive_list_queue(list, state));
            return PROPOSED;
        }
    }
    for (uint32_t i = 0; i < count && verdict == UNSERVED; i++)
        verdict = serve_on(list, state, slot, types[i], plan);
    return verdict;
}

/* Those that stop are mostly the last in rank. */
static void begin_decision(struct adl_preemptive_list *list, const struct adl_state *state)
{
    uint32_t unseen = state->stopping_jobs;
    list->reservation_count = 0;
    list->blocks = false;
    list->by_count = true;
    for (uint32_t t = 0; t < list->cluster->type_count; t++) {
        list->reserved[t] = list->stopping[t] = 0;
        for (uint32_t v = list->holding[t].last; v != ADL_NONE && unseen > 0; v = list->nodes[v].previous)
            if (state->jobs[v].phase == ADL_PHASE_STOPPING) {
                list->stopping[t] += state->jobs[v].spec.gpus;
                unseen--;
            }
    }
}

/* True if no job from this one on can be served: no GPU is unreserved, and no holder ranks below it. */
static bool exhausted(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t slot)
{
    const int64_t limit = key_limit(list, slot);
    for (uint32_t t = 0; t < list->cluster->type_count; t++) {
        const uint32_t last = list->holding[t].last;
        if (unreserved_soon(list, state, t) > 0 || (last != ADL_NONE && list->nodes[last].key > limit))
            return false;
    }
    return true;
}

/* Positions the walk. After a start the pass resumes behind that job if all skipped jobs need only a number of GPUs:
 * for them there are fewer unreserved GPUs now, and at most as many more preemptible ones. After stops see pass_down().
 */
static void begin_pass(struct adl_preemptive_list *list, const struct adl_state *state)
{
    const bool resumable = list->resumable && list->pass_us == state->now_us &&
                           list->pass_releases == state->releases && list->pass_down_gpus == state->down_gpus &&
                           list->pass_stopping == state->stopping_jobs;
    list->resumable = false;
    list->pass_us = state->now_us;
    list->pass_releases = state->releases;
    list->pass_down_gpus = state->down_gpus;
    list->pass_stopping = state->stopping_jobs;
    if (resumable)
        return;
    begin_decision(list, state);
    adl_walk_begin(adl_preemptive_list_queue(list, state));
}

/* A preemptor starts before its victims, even if they rank higher by now, because a stop revealed how much work is left
 * or because their turn has come. */
static bool serve_preemptor(struct adl_preemptive_list *list, const struct adl_state *state, struct adl_plan *plan)
{
    const uint32_t slot = list->preemptor;
    if (slot == ADL_NONE || list->jobs[slot].phase != ADL_PREEMPTIVE_WAITING)
        return false;
    const struct adl_placement_request request = {.types = UINT32_MAX, .fastest = true};
    const bool starts = list->preemptor_place == SPANNING
                            ? adl_placement_start(state, slot, &request, plan)
                            : adl_placement_try_bank(state, slot, list->preemptor_place, plan);
    if (starts) {
        list->last_start = slot;
        list->resumable = false;
        adl_plan_because(plan, adl_reason_make(ADL_RULE_CLEARED, ADL_NONE, 0, 0));
    }
    if (starts || state->stopping_jobs == 0)
        list->preemptor = ADL_NONE;
    return starts;
}

int adl_preemptive_list_decide(struct adl_preemptive_list *list, const struct adl_state *state, struct adl_plan *plan)
{
    const struct adl_queue *queue = adl_preemptive_list_queue(list, state);
    if (serve_preemptor(list, state, plan))
        return 0;
    begin_pass(list, state);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE && !exhausted(list, state, slot);) {
        switch (serve(list, state, slot, plan)) {
        case PROPOSED:
            return 0;
        case FULL:
            return ADL_EREFUSED;
        case WAITS:
            if (list->blocks)
                return 0;
            adl_walk_next(queue);
            break;
        case UNSERVED:
            adl_walk_leave(queue);
            break;
        }
    }
    return 0;
}
