/* stop_checker: what becomes of the stops of a run. It watches events and commands and keeps its own books of who was
 * stopped where, when and for whom.
 *
 * A stop is good if, once the stopped job has left its GPUs, the job that the stop named as the one it is for has
 * started (or, of a job that is to move, that job itself, elsewhere), and if the stopped job is not started again on
 * just the GPUs that it left, where nobody was meanwhile, within what the stop cost: stopping, restarting and the work
 * lost. Neither can be promised if something happens between the stop and that moment that no policy can foresee: a job
 * comes, ends by itself or fails, a GPU fails or is back. A job that was stopped for another may then rightly be the
 * next to run on its old GPUs, for example because a third one ended and made room for the other. Such stops are
 * counted as disturbed and not judged; the caller bounds how many there are. */
#ifndef ADLRO_TESTS_STOP_CHECKER_H
#define ADLRO_TESTS_STOP_CHECKER_H

#include "engine/engine.h"
#include "state/stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_OPEN_MAX 1024
#define STOP_GPUS_MAX 64

/* A stop of which not all is known yet. */
struct stop_record {
    uint64_t id, other; /* who was stopped, for whom */
    uint8_t rule;
    int64_t stop_us, evict_us; /* evict_us -1 = it still holds its GPUs */
    int64_t cost_us;
    uint32_t gpus[STOP_GPUS_MAX], gpu_count;
    bool disturbed, judged;
    bool served; /* whom it was for has started since */
    bool taken;  /* another job was on one of its GPUs since, before it ran again */
    bool again;  /* it runs again, or did */
};

struct stop_checker {
    int64_t switch_us; /* what stopping and restarting take */
    struct stop_record open[STOP_OPEN_MAX];
    uint32_t open_count;
    uint64_t stops, undisturbed;
    uint64_t unserved; /* of the undisturbed: whom they were for did not start */
    uint64_t same;     /* started again on the same GPUs within its cost ... */
    uint64_t same_bad; /* ... though nothing had happened */
    uint64_t taken;    /* another job took GPUs of it before it ran again */
    char wrong[300];   /* the last that was bad */
};

static inline bool stop_is_surprise(const struct adl_event *event)
{
    return event->kind == ADL_EVENT_SUBMIT || event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_GPU_DOWN ||
           event->kind == ADL_EVENT_GPU_UP || (event->kind == ADL_EVENT_EVICT && event->evict.fault);
}

/* The instant at which the stopped job left its GPUs is over. */
static inline void stop_judge(struct stop_checker *checker, struct stop_record *it)
{
    it->judged = true;
    if (it->disturbed)
        return;
    checker->undisturbed++;
    if (it->served || it->rule == ADL_RULE_SAVING)
        return;
    checker->unserved++;
    snprintf(checker->wrong, sizeof checker->wrong,
             "job %" PRIu64 " was stopped at %.6f s by rule %s for job %" PRIu64 ", which has not started at %.6f s",
             it->id, (double)it->stop_us * 1e-6, adl_rule_name(it->rule), it->other, (double)it->evict_us * 1e-6);
}

static inline void stop_forget(struct stop_checker *checker, uint32_t index)
{
    checker->taken += checker->open[index].taken;
    checker->open[index] = checker->open[--checker->open_count];
}

static inline int stop_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct stop_checker *checker = self;
    const bool leaves = event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_EVICT;
    const uint64_t id = leaves ? state->jobs[event->job].spec.id : 0;
    for (uint32_t i = checker->open_count; i-- > 0;) {
        struct stop_record *it = &checker->open[i];
        if (!it->judged && it->evict_us >= 0 && event->time_us > it->evict_us)
            stop_judge(checker, it);
        it->disturbed |= stop_is_surprise(event);
        if (event->kind == ADL_EVENT_EVICT && it->id == id && it->evict_us < 0)
            it->evict_us = event->time_us;
        if ((event->kind == ADL_EVENT_FINISH && it->id == id) ||
            (it->judged && event->time_us - it->evict_us > it->cost_us))
            stop_forget(checker, i);
    }
    return 0;
}

static inline uint32_t stop_common(const struct stop_record *it, const uint32_t *gpus, uint32_t count)
{
    uint32_t common = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < it->gpu_count; k++)
            common += it->gpus[k] == gpus[i];
    return common;
}

static inline int stop_add(struct stop_checker *checker, const struct adl_command *command,
                           const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[command->job];
    if (checker->open_count == STOP_OPEN_MAX || job->spec.gpus > STOP_GPUS_MAX) {
        snprintf(checker->wrong, sizeof checker->wrong, "more stops than the checker has room for");
        return -1;
    }
    if (command->reason.other_id == 0 || !adl_rule_stops(command->reason.rule)) {
        snprintf(checker->wrong, sizeof checker->wrong, "the stop of job %" PRIu64 " names neither a job nor a saving",
                 job->spec.id);
        return -1;
    }
    struct stop_record *it = &checker->open[checker->open_count++];
    *it = (struct stop_record){.id = job->spec.id,
                               .other = command->reason.other_id,
                               .rule = command->reason.rule,
                               .stop_us = state->now_us,
                               .evict_us = -1,
                               .cost_us = adl_stop_cost_us(state, command->job, checker->switch_us)};
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, command->job, gpu))
        it->gpus[it->gpu_count++] = gpu;
    checker->stops++;
    return 0;
}

/* Its first start after the stop. */
static inline void stop_again(struct stop_checker *checker, struct stop_record *it, uint32_t common, int64_t now_us)
{
    const bool same = common == it->gpu_count && !it->taken && now_us - it->evict_us <= it->cost_us;
    it->served |= it->other == it->id && common < it->gpu_count;
    it->again = true;
    checker->same += same;
    if (!same || it->disturbed)
        return;
    checker->same_bad++;
    snprintf(checker->wrong, sizeof checker->wrong,
             "job %" PRIu64 " was stopped at %.6f s by rule %s for job %" PRIu64 " and is on the same GPUs at %.6f s",
             it->id, (double)it->stop_us * 1e-6, adl_rule_name(it->rule), it->other, (double)now_us * 1e-6);
}

static inline int stop_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                               const struct adl_state *state)
{
    struct stop_checker *checker = self;
    if (command->kind == ADL_COMMAND_PREEMPT)
        return stop_add(checker, command, state);
    for (uint32_t i = checker->open_count; command->kind == ADL_COMMAND_START && i-- > 0;) {
        struct stop_record *it = &checker->open[i];
        const uint32_t common = stop_common(it, gpus, command->gpu_count);
        if (it->id != state->jobs[command->job].spec.id) {
            it->taken |= common > 0 && !it->again;
            it->served |= it->other == state->jobs[command->job].spec.id;
            continue;
        }
        if (!it->again)
            stop_again(checker, it, common, state->now_us);
    }
    return 0;
}

static inline struct adl_tap stop_tap(struct stop_checker *checker)
{
    return (struct adl_tap){.self = checker, .event = stop_event, .command = stop_command};
}

#endif
