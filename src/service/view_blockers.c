/* view_blockers: who stands in the way of a waiting job, what runs instead of it, and which demand would find room
 * sooner. */
#include "service/privacy.h"
#include "service/view.h"
#include "state/blockers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_MAX    3
#define INSTEAD_MAX 3
#define DEMANDS_MAX (ADL_ALTERNATIVES_MAX + ADL_TYPES_MAX + 16)

struct adl_view_waiting {
    struct adl_state *state; /* a copy: what follows is computed without the lock */
    struct adl_blockers_demand demands[DEMANDS_MAX];
    struct adl_blockers blockers[DEMANDS_MAX];
    bool found[DEMANDS_MAX];
    uint32_t own;   /* demands that are the job's own alternatives; the others would be changes */
    uint32_t count; /* of all demands */
    uint32_t best;  /* of the own, the one with the earliest room; ADL_NONE: there is none */
    uint32_t slot;
    uint64_t id;
};

static void ask(struct adl_view_waiting *it, uint32_t types, uint32_t gpus)
{
    if (it->count < DEMANDS_MAX)
        it->demands[it->count++] = (struct adl_blockers_demand){types, gpus};
}

/* Its alternatives that are queued; then types that it does not accept, and half as many GPUs, a quarter, and so on. */
static void list_demands(struct adl_view_waiting *it, const struct adl_job_entry *job)
{
    const struct adl_cluster *cluster = it->state->cluster;
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < job->alternative_count; i++) {
        const struct adl_alternative *alternative = &job->alternatives[i];
        if (alternative->slot >= it->state->job_capacity ||
            it->state->jobs[alternative->slot].phase != ADL_PHASE_PENDING)
            continue;
        it->slot = alternative->slot;
        accepted |= it->state->jobs[alternative->slot].eligible;
        ask(it, it->state->jobs[alternative->slot].eligible, alternative->gpus);
    }
    it->own = it->count;
    for (uint32_t t = 0; it->own > 0 && t < cluster->type_count; t++)
        if (!(accepted >> t & 1) && cluster->types[t].memory_mib >= job->spec.gpu_memory_mib)
            ask(it, 1u << t, it->demands[0].gpus);
    for (uint32_t gpus = it->own > 0 ? it->demands[0].gpus / 2 : 0; gpus > 0; gpus /= 2)
        ask(it, accepted, gpus);
}

static void find_best(struct adl_view_waiting *it)
{
    it->best = ADL_NONE;
    for (uint32_t i = 0; i < it->own; i++)
        if (it->found[i] && (it->best == ADL_NONE || it->blockers[i].room_us < it->blockers[it->best].room_us))
            it->best = i;
}

void adl_view_waiting_destroy(struct adl_view_waiting *it)
{
    if (it)
        adl_state_destroy(it->state);
    free(it);
}

int adl_view_waiting_create(const struct adl_service_state *shared, const struct adl_job_entry *job,
                            struct adl_view_waiting **ret)
{
    struct adl_view_waiting *it = calloc(1, sizeof *it);
    const struct adl_state *state = adl_engine_state(shared->engine);
    int status = it ? adl_state_create(state->cluster, &it->state) : ADL_ENOMEM;
    if (status == 0)
        status = adl_state_copy(it->state, state);
    if (status < 0) {
        adl_view_waiting_destroy(it);
        return status;
    }
    it->id = job->id;
    list_demands(it, job);
    *ret = it;
    return 0;
}

int adl_view_waiting_find(struct adl_view_waiting *it)
{
    const int status =
        it->count == 0 ? 0 : adl_blockers_find(it->state, it->slot, it->demands, it->count, it->blockers, it->found);
    find_best(it);
    return status;
}

/* The reason of its last start, if that is among the decisions still in memory. */
static const char *why_started(const struct adl_service_state *shared, const struct adl_job_entry *job)
{
    const uint64_t kept = shared->decision_count < ADL_DECISIONS_MAX ? shared->decision_count : ADL_DECISIONS_MAX;
    for (uint64_t i = 0; i < kept; i++) {
        const struct adl_decision *decision = &shared->decisions[(shared->decision_count - 1 - i) % ADL_DECISIONS_MAX];
        if (decision->job == adl_job_table_shown(job) && strcmp(decision->what, "start") == 0)
            return decision->why;
    }
    return NULL;
}

/* Another job, without what the viewer may not know. */
static void put_other(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                      const struct adl_view_waiting *it, uint32_t slot)
{
    const struct adl_job *state_job = &it->state->jobs[slot];
    const struct adl_job_entry *job = adl_job_table_find(&shared->job_table, state_job->spec.id);
    const bool shown = job && adl_privacy_shows(shared, viewer, job->uid);
    char label[ADL_LABEL_SIZE], why[sizeof((struct adl_decision *)0)->why] = "";
    const char *reason = shown ? why_started(shared, job) : NULL;
    adl_json_object(json);
    adl_json_put_string(json, "label", shown ? adl_label_of_live(job, label) : NULL);
    adl_json_put_string(json, "name", shown ? job->name : NULL);
    adl_json_put_string(json, "user", shown ? job->user : NULL);
    adl_view_time(json, "submit_s", shown ? job->submit_us : 0);
    adl_view_time(json, "start_s", shown ? job->start_us : 0);
    adl_view_time(json, "end_s", state_job->expected_us + shared->wall_ahead_us);
    if (reason) {
        snprintf(why, sizeof why, "%s", reason);
        adl_privacy_redact(shared, viewer, why, sizeof why);
    }
    adl_json_put_string(json, "why", reason ? why : NULL);
    adl_json_end(json);
}

static void put_place(struct adl_json *json, const struct adl_service_state *shared, const struct adl_view_waiting *it,
                      uint32_t demand)
{
    const struct adl_blockers *room = &it->blockers[demand];
    const struct adl_cluster *cluster = it->state->cluster;
    adl_json_put_string(json, "type", cluster->types[room->type].name);
    adl_json_put_string(json, "node", room->node == ADL_NONE ? NULL : cluster->nodes[room->node].name);
    adl_json_put_int(json, "gpus", it->demands[demand].gpus);
    adl_json_put_bool(json, "now", room->room_us <= it->state->now_us);
    adl_view_time(json, "at_s", room->room_us + shared->wall_ahead_us);
}

static void put_room(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                     const struct adl_view_waiting *it)
{
    adl_json_key(json, "room");
    if (it->best == ADL_NONE) {
        adl_json_null(json);
        return;
    }
    const struct adl_blockers *room = &it->blockers[it->best];
    adl_json_object(json);
    put_place(json, shared, it, it->best);
    adl_json_put_int(json, "job_count", room->count);
    adl_json_key(json, "jobs");
    adl_json_array(json);
    for (uint32_t i = 0; i < room->count && i < ADL_BLOCKERS_MAX; i++)
        put_other(json, shared, viewer, it, room->jobs[i]);
    adl_json_end(json);
    adl_json_end(json);
}

/* Changes that would find room before the job as it is. */
static void put_help(struct adl_json *json, const struct adl_service_state *shared, const struct adl_view_waiting *it)
{
    uint32_t shown = 0;
    adl_json_key(json, "help");
    adl_json_array(json);
    for (uint32_t i = it->own; i < it->count && shown < HELP_MAX; i++) {
        const bool sooner =
            it->found[i] && (it->best == ADL_NONE || it->blockers[i].room_us < it->blockers[it->best].room_us);
        const bool worse = i > it->own && it->found[i - 1] && it->demands[i].types == it->demands[i - 1].types &&
                           it->blockers[i].room_us >= it->blockers[i - 1].room_us; /* with fewer GPUs, no sooner */
        if (!sooner || worse)
            continue;
        adl_json_object(json);
        adl_json_put_string(json, "change", it->demands[i].gpus == it->demands[0].gpus ? "type" : "gpus");
        put_place(json, shared, it, i);
        adl_json_end(json);
        shown++;
    }
    adl_json_end(json);
}

static void keep_latest(const struct adl_job *jobs, uint32_t slot, uint32_t kept[INSTEAD_MAX], uint32_t *count)
{
    uint32_t at = *count < INSTEAD_MAX ? (*count)++ : INSTEAD_MAX;
    for (; at > 0 && jobs[kept[at - 1]].start_us < jobs[slot].start_us; at--)
        if (at < INSTEAD_MAX)
            kept[at] = kept[at - 1];
    if (at < INSTEAD_MAX)
        kept[at] = slot;
}

/* Of the jobs that were submitted after it and hold GPUs of a type that it accepts, the last to start. */
static void put_instead(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                        const struct adl_view_waiting *it)
{
    const struct adl_job *jobs = it->state->jobs;
    uint32_t kept[INSTEAD_MAX], count = 0, types = 0;
    for (uint32_t i = 0; i < it->own; i++)
        types |= it->demands[i].types;
    for (uint32_t slot = 0; types && slot < it->state->job_capacity; slot++)
        if (jobs[slot].phase >= ADL_PHASE_RUNNING && jobs[slot].submit_us > jobs[it->slot].submit_us &&
            (types >> jobs[slot].type & 1))
            keep_latest(jobs, slot, kept, &count);
    adl_json_key(json, "instead");
    adl_json_array(json);
    for (uint32_t i = 0; i < count; i++)
        put_other(json, shared, viewer, it, kept[i]);
    adl_json_end(json);
}

void adl_view_waiting_put(struct adl_json *json, const struct adl_service_state *shared,
                          const struct adl_caller *viewer, const struct adl_view_waiting *it)
{
    adl_json_object(json);
    adl_json_put_bool(json, "queued", it->own > 0);
    put_room(json, shared, viewer, it);
    put_instead(json, shared, viewer, it);
    put_help(json, shared, it);
    adl_json_end(json);
}
