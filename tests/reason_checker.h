/* reason_checker: holds the reasons of a run against what happened. It watches events and commands and keeps its own
 * books of who waits, who runs and since when; of the engine's state it reads what the policies read. */
#ifndef ADLRO_TESTS_REASON_CHECKER_H
#define ADLRO_TESTS_REASON_CHECKER_H

#include "engine/engine.h"
#include "policy/mechanism/reason.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_SLOTS 4096
#define REASON_JOBS  8192

enum reason_phase { REASON_ABSENT, REASON_WAITS, REASON_RUNS, REASON_STOPS };

struct reason_job {
    uint64_t id;
    int64_t submit_us, start_us, held_us, stopped_us;
    uint8_t phase;    /* enum reason_phase */
    uint64_t for_id;  /* the job that it was last stopped for, which did not start since; 0 = none */
    bool cleared;     /* another was stopped for it since it last started */
    uint32_t leaving; /* jobs stopped for it that still hold their GPUs */
    bool disturbed;   /* since these were stopped something happened that may change who comes first */
    bool due;         /* the last of them left at this instant */
};

struct reason_checker {
    struct reason_job jobs[REASON_SLOTS]; /* [slot] */
    int64_t reserved_us[REASON_JOBS]; /* [id] when its reservation begins, by the last that was backfilled; 0 = none */
    uint32_t touched[REASON_SLOTS], touched_count; /* slots that a start of this instant said not to fit */
    uint32_t heirs[REASON_SLOTS], heir_count;      /* slots that a stop of this instant was for */
    uint64_t count[ADL_RULE_COUNT];
    uint64_t starts, stops;
    uint64_t kept, late; /* starts of jobs that others were backfilled before: in time, and later than reserved */
    uint64_t followed, unfollowed; /* jobs that others were stopped for, when these had left: started at once, or not */
    char wrong[600];
};

#define REASON_THAT(checker, condition, ...)                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            snprintf((checker)->wrong, sizeof(checker)->wrong, __VA_ARGS__);                                           \
            return -1;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* A job that was stopped for another has left its GPUs. */
static inline void reason_left(struct reason_checker *checker, struct reason_job *job)
{
    for (uint32_t i = 0; i < REASON_SLOTS && job->for_id > 0; i++) {
        struct reason_job *heir = &checker->jobs[i];
        if (heir->id == job->for_id && heir->leaving > 0 && --heir->leaving == 0)
            heir->due = heir->phase == REASON_WAITS;
    }
    job->for_id = 0;
}

static inline int reason_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct reason_checker *checker = self;
    (void)state;
    if (event->kind != ADL_EVENT_METER && (event->kind != ADL_EVENT_EVICT || event->evict.fault))
        for (uint32_t i = 0; i < REASON_SLOTS; i++)
            checker->jobs[i].disturbed |= checker->jobs[i].leaving > 0;
    if (event->kind != ADL_EVENT_SUBMIT && event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT)
        return 0;
    REASON_THAT(checker, event->job < REASON_SLOTS, "slot %u is beyond the checker's books", event->job);
    struct reason_job *job = &checker->jobs[event->job];
    if (event->kind == ADL_EVENT_SUBMIT) {
        const uint64_t id = event->submit.spec->id;
        REASON_THAT(checker, id < REASON_JOBS, "job %" PRIu64 " is beyond the checker's books", id);
        *job = (struct reason_job){.id = id, .submit_us = event->time_us, .phase = REASON_WAITS};
    } else if (event->kind == ADL_EVENT_FINISH) {
        reason_left(checker, job);
        for (uint32_t i = 0; i < REASON_SLOTS; i++)
            checker->jobs[i].for_id = checker->jobs[i].for_id == job->id ? 0 : checker->jobs[i].for_id;
        *job = (struct reason_job){.phase = REASON_ABSENT};
    } else {
        job->held_us += event->time_us - job->start_us;
        job->phase = REASON_WAITS;
        reason_left(checker, job);
    }
    return 0;
}

/* The words name the other job, and leave nothing to be filled in. */
static inline int check_words(struct reason_checker *checker, const struct adl_reason *reason)
{
    char words[ADL_REASON_SIZE];
    adl_reason_words(reason, NULL, words, sizeof words);
    REASON_THAT(checker, strlen(words) > 8 && strlen(words) < sizeof words - 1 && !strchr(words, '{'),
                "the words of rule %s are '%s'", adl_rule_name(reason->rule), words);
    REASON_THAT(checker, !strstr(words, "nan") && !strstr(words, "inf"), "rule %s has no figures: '%s'",
                adl_rule_name(reason->rule), words);
    return 0;
}

static inline int64_t reason_shortest_us(const struct adl_state *state)
{
    int64_t least_us = INT64_MAX;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING && adl_state_shortest_us(state, slot) < least_us)
            least_us = adl_state_shortest_us(state, slot);
    return least_us;
}

static inline void note_reservation(struct reason_checker *checker, const struct adl_reason *reason,
                                    const struct adl_state *state)
{
    checker->reserved_us[reason->other_id] = state->now_us + (int64_t)(reason->against * 1e6 + 0.5);
}

/* The figures of a start, as far as the state alone tells them. The job runs already, the others still wait. */
static inline int check_start_figures(struct reason_checker *checker, const struct adl_command *command,
                                      const struct adl_state *state)
{
    const struct adl_reason *reason = &command->reason;
    const struct adl_job *job = &state->jobs[command->job];
    const double slack = 1e-6 + 1e-9 * fabs(reason->against);
    const double own_s = (double)adl_state_shortest_us(state, command->job) * 1e-6;
    const double here_s = (double)adl_state_remaining_us(state, command->job, job->type) * 1e-6;
    const char *rule = adl_rule_name(reason->rule);
    switch (reason->rule) {
    case ADL_RULE_FIRST:
        REASON_THAT(checker,
                    reason->passed ? reason->value <= reason->against + slack
                                   : reason->value >= reason->against - slack,
                    "first in the queue with %g s against %g s", reason->value, reason->against);
        break;
    case ADL_RULE_SHORTEST:
        REASON_THAT(checker, fabs(reason->value - own_s) <= slack, "%s: has %g s left, not %g s", rule, own_s,
                    reason->value);
        REASON_THAT(checker, reason->passed || reason->value <= (double)reason_shortest_us(state) * 1e-6 + slack,
                    "%s: %g s is not the shortest", rule, reason->value);
        break;
    case ADL_RULE_LEAST_WORK:
    case ADL_RULE_LEAST_HAD:
        REASON_THAT(checker,
                    reason->passed ? reason->value >= reason->against - slack
                                   : reason->other == ADL_NONE || reason->value <= reason->against + slack,
                    "%s: %g against %g", rule, reason->value, reason->against);
        break;
    case ADL_RULE_ONLY:
        if (reason->other != ADL_NONE)
            note_reservation(checker, reason, state);
        break;
    case ADL_RULE_BACKFILL:
        note_reservation(checker, reason, state);
        REASON_THAT(checker, fabs(reason->value - here_s) <= slack && reason->against >= 0,
                    "backfilled for %g s of %g s, before a reservation in %g s", reason->value, here_s,
                    reason->against);
        break;
    case ADL_RULE_MATCHING:
        REASON_THAT(checker, fabs(reason->value - here_s) <= slack && job->spec.gpus == 1, "%s: %g s of %g s", rule,
                    reason->value, here_s);
        break;
    case ADL_RULE_OVERDUE:
    case ADL_RULE_VALUE:
        REASON_THAT(checker, reason->value >= reason->against - slack, "%s: %g against %g", rule, reason->value,
                    reason->against);
        break;
    case ADL_RULE_COST:
        REASON_THAT(checker, reason->value < reason->against, "%s: %g W against %g W", rule, reason->value,
                    reason->against);
        break;
    case ADL_RULE_FRAGMENTS:
        REASON_THAT(checker, reason->value <= reason->against + slack, "%s: %g against %g", rule, reason->value,
                    reason->against);
        break;
    case ADL_RULE_SHARE:
        REASON_THAT(checker, reason->value > 0 && reason->value <= 1 + 1e-6 && reason->against >= 0,
                    "%s: due %g, had %g", rule, reason->value, reason->against);
        break;
    case ADL_RULE_SPREAD:
        REASON_THAT(checker, reason->value > 0 && reason->value <= 1, "%s: %g of the node is free", rule,
                    reason->value);
        break;
    case ADL_RULE_CLEARED:
        REASON_THAT(checker, checker->jobs[command->job].cleared, "nobody was stopped for it");
        break;
    default:
        break;
    }
    return 0;
}

static inline int check_start(struct reason_checker *checker, const struct adl_command *command, const uint32_t *gpus,
                              const struct adl_state *state)
{
    struct reason_job *job = &checker->jobs[command->job];
    const struct adl_reason *reason = &command->reason;
    const int64_t waited_us = state->now_us - job->submit_us - job->held_us;
    (void)gpus;
    checker->starts++;
    REASON_THAT(checker, reason->rule != ADL_RULE_NONE && !adl_rule_stops(reason->rule), "start by rule %s",
                adl_rule_name(reason->rule));
    REASON_THAT(checker, reason->rule != ADL_RULE_AGENT && reason->rule != ADL_RULE_RUNS, "start by rule %s",
                adl_rule_name(reason->rule));
    REASON_THAT(checker, reason->waited_us == waited_us, "job %" PRIu64 " waited %lld us, not %lld", job->id,
                (long long)waited_us, (long long)reason->waited_us);
    if (reason->other != ADL_NONE) {
        const struct reason_job *other = &checker->jobs[reason->other];
        const uint8_t phase = reason->rule == ADL_RULE_COST ? REASON_RUNS : REASON_WAITS;
        REASON_THAT(checker, other->id == reason->other_id && other->phase == phase && other != job,
                    "rule %s compares job %" PRIu64 " with job %" PRIu64 ", which is in phase %d",
                    adl_rule_name(reason->rule), job->id, reason->other_id, other->phase);
    }
    if (reason->passed)
        checker->touched[checker->touched_count++] = reason->other;
    const int64_t reserved_us = checker->reserved_us[job->id];
    checker->kept += reserved_us > 0 && state->now_us <= reserved_us;
    checker->late += reserved_us > 0 && state->now_us > reserved_us;
    checker->reserved_us[job->id] = 0;
    job->phase = REASON_RUNS;
    job->start_us = state->now_us;
    job->for_id = 0;
    job->leaving = 0;
    for (uint32_t i = 0; i < REASON_SLOTS; i++)
        if (checker->jobs[i].for_id == job->id)
            checker->jobs[i].for_id = 0;
    const int wrong = check_start_figures(checker, command, state);
    job->cleared = false;
    return wrong;
}

static inline int check_stop(struct reason_checker *checker, const struct adl_command *command,
                             const struct adl_state *state)
{
    struct reason_job *job = &checker->jobs[command->job];
    const struct adl_reason *reason = &command->reason;
    const bool self = reason->rule == ADL_RULE_MOVES || reason->rule == ADL_RULE_MOVES_SHARE ||
                      reason->rule == ADL_RULE_MOVES_OWED || reason->rule == ADL_RULE_SAVING;
    checker->stops++;
    REASON_THAT(checker, adl_rule_stops(reason->rule), "stop by rule %s", adl_rule_name(reason->rule));
    REASON_THAT(checker, reason->other != ADL_NONE, "job %" PRIu64 " is stopped by rule %s for nobody", job->id,
                adl_rule_name(reason->rule));
    struct reason_job *other = &checker->jobs[reason->other];
    REASON_THAT(checker, other->id == reason->other_id && self == (other == job),
                "job %" PRIu64 " is stopped by rule %s for job %" PRIu64, job->id, adl_rule_name(reason->rule),
                reason->other_id);
    if (!self) {
        assert_true(checker->heir_count < REASON_SLOTS);
        checker->heirs[checker->heir_count++] = reason->other;
    }
    if (reason->rule == ADL_RULE_FOR_SHORTER || reason->rule == ADL_RULE_FOR_LESS_WORK ||
        reason->rule == ADL_RULE_FOR_LESS_HAD)
        REASON_THAT(checker, reason->value >= reason->against, "stopped by rule %s with %g for one with %g",
                    adl_rule_name(reason->rule), reason->value, reason->against);
    if (reason->rule == ADL_RULE_FOR_OLDER)
        REASON_THAT(checker, other->submit_us <= job->submit_us && reason->value <= reason->against,
                    "stopped for an older one that is younger");
    job->phase = REASON_STOPS;
    job->stopped_us = state->now_us;
    job->for_id = self ? 0 : other->id;
    other->cleared = true;
    if (!self && other->leaving++ == 0)
        other->disturbed = other->due = false;
    return 0;
}

static inline int reason_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                                 const struct adl_state *state)
{
    struct reason_checker *checker = self;
    if (command->kind != ADL_COMMAND_START && command->kind != ADL_COMMAND_PREEMPT)
        return 0;
    checker->count[command->reason.rule < ADL_RULE_COUNT ? command->reason.rule : ADL_RULE_NONE]++;
    if (check_words(checker, &command->reason))
        return -1;
    return command->kind == ADL_COMMAND_START ? check_start(checker, command, gpus, state)
                                              : check_stop(checker, command, state);
}

/* Who was said not to fit did not start at this instant. Who gets GPUs of a job that is stopped waits, or is stopped as
 * well to move there. */
static inline int reason_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    struct reason_checker *checker = self;
    (void)hash;
    for (uint32_t i = 0; i < checker->touched_count; i++)
        REASON_THAT(checker, checker->jobs[checker->touched[i]].phase == REASON_WAITS,
                    "job %" PRIu64 " was said not to fit and started at once", checker->jobs[checker->touched[i]].id);
    for (uint32_t i = 0; i < checker->heir_count; i++) {
        const struct reason_job *heir = &checker->jobs[checker->heirs[i]];
        REASON_THAT(
            checker, heir->phase == REASON_WAITS || heir->phase == REASON_STOPS || heir->start_us == state->now_us,
            "a job was stopped for job %" PRIu64 ", which runs since %lld us", heir->id, (long long)heir->start_us);
    }
    checker->touched_count = checker->heir_count = 0;
    for (uint32_t i = 0; i < REASON_SLOTS; i++) {
        struct reason_job *job = &checker->jobs[i];
        if (job->due && !job->disturbed) {
            const bool started = job->start_us == state->now_us; /* it may have been stopped again for yet another */
            checker->followed += started;
            checker->unfollowed += !started;
        }
        job->due = false;
    }
    return 0;
}

static inline struct adl_tap reason_tap(struct reason_checker *checker)
{
    return (struct adl_tap){
        .self = checker, .event = reason_event, .command = reason_command, .decided = reason_decided};
}

#endif
