#include "cli/job_timeline.h"

#include "policy/mechanism/reason.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof((struct adl_job_timeline *)0)->reason == ADL_REASON_SIZE, "a reason does not fit");

static void stamp(struct adl_job_timeline *timeline, int64_t time_us)
{
    const int64_t s = time_us / 1000000;
    adl_text_printf(&timeline->text, "%4lld:%02lld:%02lld  ", (long long)(s / 3600), (long long)(s / 60 % 60),
                    (long long)(s % 60));
}

static void print_submission(struct adl_job_timeline *timeline, const struct adl_event *event,
                             const struct adl_state *state)
{
    const struct adl_job_spec *spec = event->submit.spec;
    char names[96];
    adl_reason_types(state, spec->types, names, sizeof names);
    stamp(timeline, event->time_us);
    adl_text_printf(&timeline->text, "submitted: %s on %u GPU%s of %s, limit %lld s", adl_job_kind_name(spec->kind),
                    spec->gpus, spec->gpus == 1 ? "" : "s", names, (long long)(spec->limit_us / 1000000));
    if (spec->deadline_us > 0)
        adl_text_printf(&timeline->text, ", deadline after %lld s", (long long)(spec->deadline_us / 1000000));
    if (spec->min_steps_per_s > 0) {
        adl_text_put(&timeline->text, ", at least ");
        adl_text_fixed(&timeline->text, (double)spec->min_steps_per_s, 2);
        adl_text_put(&timeline->text, " steps/s");
    }
    adl_text_char(&timeline->text, '\n');
    timeline->slot = event->job;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_job_timeline *timeline = self;
    static const char *const ends[] = {"completed", "failed", "cancelled", "ended at its time limit"};
    const bool own = timeline->slot != ADL_NONE && event->job == timeline->slot;
    if (event->kind == ADL_EVENT_SUBMIT && event->submit.spec->id == timeline->job_id) {
        print_submission(timeline, event, state);
    } else if (own && event->kind == ADL_EVENT_EVICT) {
        stamp(timeline, event->time_us);
        adl_text_put(&timeline->text, event->evict.fault ? "stopped by a failure, " : "stopped, ");
        adl_text_fixed(&timeline->text, 100.0 * event->evict.remaining, 0);
        adl_text_put(&timeline->text, " % of its work left, by prediction\n");
        timeline->reason[0] = '\0';
    } else if (own && event->kind == ADL_EVENT_FINISH) {
        stamp(timeline, event->time_us);
        adl_text_put(&timeline->text, ends[event->outcome.end]);
        adl_text_char(&timeline->text, '\n');
        timeline->slot = ADL_NONE;
    }
    return timeline->next && timeline->next->event ? timeline->next->event(timeline->next->self, event, state) : 0;
}

static void print_reason(struct adl_job_timeline *timeline, const struct adl_reason *reason)
{
    char words[ADL_REASON_SIZE];
    adl_reason_words(reason, NULL, words, sizeof words);
    adl_text_printf(&timeline->text, ": %s\n", words);
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    struct adl_job_timeline *timeline = self;
    const struct adl_cluster *cluster = state->cluster;
    if (timeline->slot != ADL_NONE && command->kind == ADL_COMMAND_START && command->job == timeline->slot) {
        const struct adl_gpu_use *use = &state->gpus[gpus[0]];
        stamp(timeline, state->now_us);
        adl_text_printf(&timeline->text, "starts on %u × %s, GPU %u of %s", command->gpu_count,
                        cluster->types[adl_gpu_type_of(cluster, gpus[0])].name,
                        gpus[0] - cluster->nodes[adl_gpu_node_of(cluster, gpus[0])].gpu_first,
                        cluster->nodes[adl_gpu_node_of(cluster, gpus[0])].name);
        if (use->job[1] == timeline->slot)
            adl_text_printf(&timeline->text, ", beside job %llu", (unsigned long long)state->jobs[use->job[0]].spec.id);
        print_reason(timeline, &command->reason);
    } else if (timeline->slot != ADL_NONE && command->kind == ADL_COMMAND_PREEMPT && command->job == timeline->slot) {
        stamp(timeline, state->now_us);
        adl_text_put(&timeline->text, "preempted");
        print_reason(timeline, &command->reason);
    }
    return timeline->next && timeline->next->command
               ? timeline->next->command(timeline->next->self, command, gpus, state)
               : 0;
}

/* A reason is printed again when it has changed. */
static int on_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    struct adl_job_timeline *timeline = self;
    char reason[ADL_REASON_SIZE];
    if (timeline->slot != ADL_NONE && state->jobs[timeline->slot].phase == ADL_PHASE_PENDING) {
        adl_engine_explain(timeline->engine, timeline->slot, reason, sizeof reason);
        if (strcmp(reason, timeline->reason) != 0) {
            stamp(timeline, state->now_us);
            adl_text_printf(&timeline->text, "waits: %s\n", reason);
            memcpy(timeline->reason, reason, sizeof reason);
        }
    }
    return timeline->next && timeline->next->decided ? timeline->next->decided(timeline->next->self, hash, state) : 0;
}

static void bind(void *self, const struct adl_engine *engine)
{
    ((struct adl_job_timeline *)self)->engine = engine;
}

struct adl_observer adl_job_timeline_observer(struct adl_job_timeline *timeline)
{
    timeline->slot = ADL_NONE;
    return (struct adl_observer){
        .self = timeline, .bind = bind, .event = on_event, .command = on_command, .decided = on_decided};
}

void adl_job_timeline_clear(struct adl_job_timeline *timeline)
{
    adl_text_clear(&timeline->text);
}
