#include "cli/job_timeline.h"

#include "policy/mechanism/reason.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof((struct adl_job_timeline *)0)->reason == ADL_REASON_SIZE, "a reason does not fit");

static void stamp(struct adl_job_timeline *story, int64_t time_us)
{
    const int64_t s = time_us / 1000000;
    adl_text_printf(&story->text, "%4lld:%02lld:%02lld  ", (long long)(s / 3600), (long long)(s / 60 % 60),
                    (long long)(s % 60));
}

static void tell_submission(struct adl_job_timeline *story, const struct adl_event *event,
                            const struct adl_state *state)
{
    const struct adl_job_spec *spec = event->submit.spec;
    char names[96];
    adl_reason_types(state, spec->types, names, sizeof names);
    stamp(story, event->time_us);
    adl_text_printf(&story->text, "submitted: %s on %u GPU%s of %s, limit %lld s", adl_job_kind_name(spec->kind),
                    spec->gpus, spec->gpus == 1 ? "" : "s", names, (long long)(spec->limit_us / 1000000));
    if (spec->deadline_us > 0)
        adl_text_printf(&story->text, ", deadline after %lld s", (long long)(spec->deadline_us / 1000000));
    if (spec->min_steps_per_s > 0) {
        adl_text_put(&story->text, ", at least ");
        adl_text_fixed(&story->text, (double)spec->min_steps_per_s, 2);
        adl_text_put(&story->text, " steps/s");
    }
    adl_text_char(&story->text, '\n');
    story->slot = event->job;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_job_timeline *story = self;
    static const char *const ends[] = {"completed", "failed", "cancelled", "ended at its time limit"};
    const bool own = story->slot != ADL_NONE && event->job == story->slot;
    if (event->kind == ADL_EVENT_SUBMIT && event->submit.spec->id == story->job_id) {
        tell_submission(story, event, state);
    } else if (own && event->kind == ADL_EVENT_EVICT) {
        stamp(story, event->time_us);
        adl_text_put(&story->text, event->evict.fault ? "stopped by a failure, " : "stopped, ");
        adl_text_fixed(&story->text, 100.0 * event->evict.remaining, 0);
        adl_text_put(&story->text, " % of its work left\n");
        story->reason[0] = '\0';
    } else if (own && event->kind == ADL_EVENT_FINISH) {
        stamp(story, event->time_us);
        adl_text_put(&story->text, ends[event->outcome.end]);
        adl_text_char(&story->text, '\n');
        story->slot = ADL_NONE;
    }
    return story->next && story->next->event ? story->next->event(story->next->self, event, state) : 0;
}

static void tell_reason(struct adl_job_timeline *story, const struct adl_reason *reason)
{
    char words[ADL_REASON_SIZE];
    adl_reason_words(reason, NULL, words, sizeof words);
    adl_text_printf(&story->text, ": %s\n", words);
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    struct adl_job_timeline *story = self;
    const struct adl_cluster *cluster = state->cluster;
    if (story->slot != ADL_NONE && command->kind == ADL_COMMAND_START && command->job == story->slot) {
        const struct adl_gpu_use *use = &state->gpus[gpus[0]];
        stamp(story, state->now_us);
        adl_text_printf(&story->text, "starts on %u × %s, GPU %u of %s", command->gpu_count,
                        cluster->types[adl_gpu_type_of(cluster, gpus[0])].name,
                        gpus[0] - cluster->nodes[adl_gpu_node_of(cluster, gpus[0])].gpu_first,
                        cluster->nodes[adl_gpu_node_of(cluster, gpus[0])].name);
        if (use->job[1] == story->slot)
            adl_text_printf(&story->text, ", beside job %llu", (unsigned long long)state->jobs[use->job[0]].spec.id);
        tell_reason(story, &command->reason);
    } else if (story->slot != ADL_NONE && command->kind == ADL_COMMAND_PREEMPT && command->job == story->slot) {
        stamp(story, state->now_us);
        adl_text_put(&story->text, "told to stop");
        tell_reason(story, &command->reason);
    }
    return story->next && story->next->command ? story->next->command(story->next->self, command, gpus, state) : 0;
}

/* A reason is told again when it has changed. */
static int on_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    struct adl_job_timeline *story = self;
    char reason[ADL_REASON_SIZE];
    if (story->slot != ADL_NONE && state->jobs[story->slot].phase == ADL_PHASE_PENDING) {
        adl_engine_explain(story->engine, story->slot, reason, sizeof reason);
        if (strcmp(reason, story->reason) != 0) {
            stamp(story, state->now_us);
            adl_text_printf(&story->text, "waits: %s\n", reason);
            memcpy(story->reason, reason, sizeof reason);
        }
    }
    return story->next && story->next->decided ? story->next->decided(story->next->self, hash, state) : 0;
}

static void bind(void *self, const struct adl_engine *engine)
{
    ((struct adl_job_timeline *)self)->engine = engine;
}

struct adl_tap adl_job_timeline_tap(struct adl_job_timeline *story)
{
    story->slot = ADL_NONE;
    return (struct adl_tap){
        .self = story, .bind = bind, .event = on_event, .command = on_command, .decided = on_decided};
}

void adl_job_timeline_clear(struct adl_job_timeline *story)
{
    adl_text_clear(&story->text);
}
