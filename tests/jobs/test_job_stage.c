/* The state machine of a live job: its table, random walks through it, and what the documentation says of it.
 * `test_job_stage tables` prints the tables of docs/service.md. */
#include "base/rng.h"
#include "base/text.h"
#include "jobs/job_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WALKS = 2000, STEPS = 60 };

static void every_stage_and_event_has_a_name_and_no_two_rows_name_the_same_move(void **state)
{
    (void)state;
    for (int stage = 0; stage < ADL_STAGE_COUNT; stage++)
        assert_true(adl_stages[stage].name && adl_stages[stage].shown && adl_stages[stage].meaning);
    for (int event = 0; event < ADL_ON_COUNT; event++) {
        uint32_t from = 0;
        assert_true(adl_stage_events[event].name && adl_stage_events[event].meaning);
        for (size_t i = 0; i < adl_stage_move_count; i++) {
            if (adl_stage_moves[i].event != event)
                continue;
            assert_int_equal(from & adl_stage_moves[i].from, 0);
            from |= adl_stage_moves[i].from;
        }
        assert_int_not_equal(from, 0); /* some stage has a use for it */
    }
}

static void every_stage_is_reached_from_new(void **state)
{
    (void)state;
    uint32_t reached = 1u << ADL_STAGE_NEW;
    for (int round = 0; round < ADL_STAGE_COUNT; round++)
        for (int stage = 0; stage < ADL_STAGE_COUNT; stage++)
            for (int event = 0; event < ADL_ON_COUNT && reached >> stage & 1; event++) {
                const int next = adl_stage_next(stage, event);
                reached |= next < 0 ? 0 : 1u << next;
            }
    assert_int_equal(reached, (1u << ADL_STAGE_COUNT) - 1);
}

static void nothing_moves_a_job_that_has_ended_and_every_other_can_end(void **state)
{
    (void)state;
    for (int event = 0; event < ADL_ON_COUNT; event++) {
        assert_int_equal(adl_stage_next(ADL_STAGE_ENDED, event), -1);
        assert_string_equal(adl_stage_refusal(ADL_STAGE_ENDED, event), "has ended");
    }
    for (int stage = 0; stage < ADL_STAGE_ENDED; stage++)
        assert_int_equal(adl_stage_next(stage, ADL_ON_ENDED), ADL_STAGE_ENDED);
}

static void only_jobs_that_may_be_started_get_an_attempt_and_only_those_that_hold_gpus_are_stopped(void **state)
{
    (void)state;
    for (int stage = 0; stage < ADL_STAGE_ENDED; stage++) {
        const bool holds = adl_stages[stage].holds_gpus;
        assert_int_equal(adl_stage_next(stage, ADL_ON_START) >= 0, stage == ADL_STAGE_QUEUED);
        assert_int_equal(adl_stage_next(stage, ADL_ON_HOLD) >= 0, !holds);
        assert_int_equal(adl_stage_next(stage, ADL_ON_CANCEL), holds ? ADL_STAGE_CANCELLING : ADL_STAGE_ENDED);
        assert_int_equal(adl_stages[stage].order != ADL_ORDER_NONE, holds);
        assert_true(!adl_stages[stage].runs || holds);
        assert_true(!holds || adl_stages[stage].in_queue);
    }
}

/* ---- random walks ---- */

static struct adl_job_entry *add(struct adl_job_table *job_table, uint64_t id)
{
    const struct adl_store_job row = {.spec = {.id = id, .gpus = 1}, .name = "a", .array_index = -1};
    struct adl_job_entry *job = adl_job_table_add(job_table, &row);
    assert_non_null(job);
    return job;
}

static bool is_same(const struct adl_job_entry *one, const struct adl_job_entry *other)
{
    return one->stage == other->stage && one->gpus == other->gpus && one->start_us == other->start_us &&
           one->ran_us == other->ran_us && one->attempts == other->attempts && one->reason == other->reason;
}

static void expect_sound(const struct adl_job_table *job_table, const struct adl_job_entry *job)
{
    uint32_t count = 0;
    assert_true(job->stage < ADL_STAGE_COUNT);
    for (int stage = 0; stage < ADL_STAGE_COUNT; stage++) {
        assert_true(job_table->by_stage[stage] <= job_table->count);
        count += job_table->by_stage[stage];
    }
    assert_int_equal(count, job_table->count);
    assert_int_equal(job->shared->active, adl_stages[job->stage].in_queue);
    assert_true(job->attempts < STEPS && job->ran_us >= 0);
}

/* What the service does beside: a job that gets GPUs has them. */
static void step(struct adl_job_table *job_table, struct adl_job_entry *job, int event, int64_t now_us)
{
    const int expected = adl_stage_next(job->stage, event);
    const struct adl_job_entry before = *job;
    const struct adl_stage_move *move = adl_job_table_move(job_table, job, event, now_us);
    assert_int_equal(move != NULL, expected >= 0);
    if (!move) {
        assert_true(is_same(job, &before));
        return;
    }
    assert_int_equal(job->stage, expected);
    const struct adl_job_entry once = *job;
    adl_job_entry_act(job, move->actions, now_us);
    assert_true(is_same(job, &once));
    if (event == ADL_ON_RECOVER) { /* the store has these */
        job->start_us = now_us;
        job->attempts = 1;
    }
    if ((adl_stages[job->stage].holds_gpus || job->stage == ADL_STAGE_CLUSTER_STARTED) && !job->gpus) {
        job->gpus = calloc(1, sizeof *job->gpus);
        assert_non_null(job->gpus);
    }
    assert_true(adl_stages[job->stage].holds_gpus || job->stage == ADL_STAGE_CLUSTER_STARTED ||
                job->stage == ADL_STAGE_ENDED || (!job->gpus && job->start_us == 0));
}

static void random_events_never_leave_the_table_and_actions_done_twice_are_done_once(void **state)
{
    (void)state;
    struct adl_job_table job_table;
    struct adl_rng rng;
    uint32_t seen = 0, ended = 0;
    adl_rng_seed(&rng, 11, "stages");
    assert_int_equal(adl_job_table_create(&job_table), 0);
    for (uint64_t walk = 1; walk <= WALKS; walk++) {
        struct adl_job_entry *job = add(&job_table, walk);
        for (int64_t now_us = 1; now_us <= STEPS; now_us++) {
            int event = (int)adl_rng_below(&rng, ADL_ON_COUNT);
            if (event == ADL_ON_ENDED && adl_rng_below(&rng, 4) > 0)
                event = ADL_ON_ENQUEUE; /* most live for longer */
            step(&job_table, job, event, now_us);
            expect_sound(&job_table, job);
            seen |= 1u << job->stage;
        }
        ended += job->stage == ADL_STAGE_ENDED;
        adl_job_table_remove(&job_table, job);
    }
    assert_int_equal(seen, (1u << ADL_STAGE_COUNT) - 1);
    assert_true(ended > 0);
    adl_job_table_clear(&job_table);
}

/* ---- docs/service.md ---- */

static void describe_stages(struct adl_text *text)
{
    static const char *const orders[] = {"", "start", "stop", "stop, to run again"};
    adl_text_printf(
        text,
        "| stage | shown as | state | GPUs | what it means | order to the executor |\n|---|---|---|---|---|---|\n");
    for (int stage = 0; stage < ADL_STAGE_COUNT; stage++) {
        const struct adl_stage_info *info = &adl_stages[stage];
        adl_text_printf(text, "| %s | `%s` | %s | %s | %s | %s |\n", info->name, info->shown,
                        stage == ADL_STAGE_ENDED ? "CD, F, CA, TO"
                        : info->runs             ? "R"
                                                 : "PD",
                        info->holds_gpus ? "holds" : "", info->meaning, orders[info->order]);
    }
}

static void describe_moves(struct adl_text *text)
{
    adl_text_printf(text, "| event | from | to | what the move does | when |\n|---|---|---|---|---|\n");
    for (const struct adl_stage_move *move = adl_stage_moves; move < adl_stage_moves + adl_stage_move_count; move++) {
        const char *between = "";
        adl_text_printf(text, "| %s | ", adl_stage_events[move->event].name);
        for (int stage = 0; stage < ADL_STAGE_COUNT; stage++)
            if (move->from >> stage & 1) {
                adl_text_printf(text, "%s%s", between, adl_stages[stage].name);
                between = ", ";
            }
        adl_text_printf(text, " | %s | ", move->to == ADL_STAGE_COUNT ? "stays" : adl_stages[move->to].name);
        between = "";
        for (int bit = 0; bit < ADL_DO_COUNT; bit++)
            if (move->actions >> bit & 1) {
                adl_text_printf(text, "%s%s", between, adl_stage_actions[bit]);
                between = "; ";
            }
        adl_text_printf(text, " | %s |\n", adl_stage_events[move->event].meaning);
    }
}

static char *describe(void)
{
    struct adl_text text = {0};
    describe_stages(&text);
    adl_text_printf(&text, "\n");
    describe_moves(&text);
    assert_int_equal(adl_text_status(&text), 0);
    return text.data;
}

static void the_documentation_has_the_tables(void **state)
{
    (void)state;
    static char document[1 << 17];
    char *tables = describe();
    FILE *file = fopen(ADL_SOURCE_DIR "/docs/service.md", "r");
    assert_non_null(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
    char *begin = strstr(document, "<!-- stages -->\n"), *end = strstr(document, "<!-- end of stages -->");
    assert_true(begin && end && begin < end);
    *end = '\0';
    if (strcmp(begin + strlen("<!-- stages -->\n"), tables) != 0)
        fail_msg("docs/service.md differs from src/jobs/job_stage.c. Between its markers should stand:\n%s", tables);
    free(tables);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "tables") == 0) {
        char *tables = describe();
        printf("%s", tables);
        free(tables);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_and_event_has_a_name_and_no_two_rows_name_the_same_move),
        cmocka_unit_test(every_stage_is_reached_from_new),
        cmocka_unit_test(nothing_moves_a_job_that_has_ended_and_every_other_can_end),
        cmocka_unit_test(only_jobs_that_may_be_started_get_an_attempt_and_only_those_that_hold_gpus_are_stopped),
        cmocka_unit_test(random_events_never_leave_the_table_and_actions_done_twice_are_done_once),
        cmocka_unit_test(the_documentation_has_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
