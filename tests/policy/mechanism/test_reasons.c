/* Reasons of decisions: every policy gives one for each start and stop, and it agrees with what happened. */
#include "random_scenario.h"
#include "reason_checker.h"
#include "tape.h"

#include "experiment/run.h"

static char label[120];
static struct reason_checker checker;

static void run_checked(const struct adl_scenario *s, uint64_t seed, const struct adl_policy_ops *policy, int regime)
{
    struct adl_error err = {.text = ""};
    struct adl_result result;
    memset(&checker, 0, sizeof checker);
    const struct adl_observer observer = reason_observer(&checker);
    const struct adl_run run = {.scenario = s, .policy = policy, .seed = seed, .regime = regime, .observer = &observer};
    if (adl_run(&run, &result, &err))
        fail_msg("%s: %s: %s", label, err.text, checker.wrong);
}

static void every_start_and_stop_of_every_policy_says_why_and_what_it_says_is_true(void **state)
{
    (void)state;
    uint64_t count[ADL_RULE_COUNT] = {0};
    for (uint64_t i = 1; i <= 24; i++) {
        struct adl_scenario s = random_scenario(i, 60);
        for (uint32_t p = 0; p < adl_policy_count(); p++) {
            snprintf(label, sizeof label, "random scenario %llu, %s", (unsigned long long)i, adl_policy_at(p)->name);
            run_checked(&s, i, adl_policy_at(p), (int)(i % 2));
            for (uint32_t r = 0; r < ADL_RULE_COUNT; r++)
                count[r] += checker.count[r];
        }
        adl_scenario_clear(&s);
    }
    assert_int_equal(count[ADL_RULE_NONE], 0);
    assert_true(count[ADL_RULE_FIRST] > 1000 && count[ADL_RULE_SHORTEST] > 1000 && count[ADL_RULE_BACKFILL] > 500);
    assert_true(count[ADL_RULE_COST] > 500 && count[ADL_RULE_VALUE] > 100 && count[ADL_RULE_FOR_SHORTER] > 20);
}

/* Options that change by what policies go, and rounds and classes of service as short as these jobs. */
static void vary(struct adl_scenario *s, uint64_t i)
{
    static const char *const objectives[] = {"max_min", "agnostic", "finish_time", "makespan"};
    set_flag(s, "first_fit", i & 1);
    set_flag(s, "by_gpu_time", i >> 1 & 1);
    set_flag(s, "by_count", i % 3 == 0);
    set_option(s, "backfill_rule", "%s", i >> 1 & 1 ? "ends_before" : "queue_order");
    set_option(s, "las_limits_gpu_s", "10,40");
    set_option(s, "las_promote", i % 4 ? "20" : "0");
    set_flag(s, "las_running_first", i >> 2 & 1);
    set_flag(s, "las_lazy", i >> 3 & 1);
    set_option(s, "round_s", "%d", 5 + (int)(i % 10));
    set_option(s, "gavel_objective", "%s", objectives[i % 4]);
    set_flag(s, "gavel_type_by_type", i >> 2 & 1);
    set_flag(s, "gavel_by_owed_time", i >> 3 & 1);
    set_flag(s, "gavel_new_jobs_wait", i % 5 == 0);
    set_flag(s, "stops", i >> 1 & 1);
    set_option(s, "power_limit_w", "%g", i % 4 == 3 ? 350.0 * s->cluster.gpu_count : 0);
}

static void other_readings_of_the_policies_say_why_as_well(void **state)
{
    (void)state;
    uint64_t count[ADL_RULE_COUNT] = {0}, followed = 0;
    for (uint64_t i = 1; i <= 24; i++) {
        struct adl_scenario s = random_scenario(100 + i, 50);
        vary(&s, i);
        for (uint32_t p = 0; p < adl_policy_count(); p++) {
            snprintf(label, sizeof label, "varied scenario %llu, %s", (unsigned long long)i, adl_policy_at(p)->name);
            run_checked(&s, i, adl_policy_at(p), (int)(i % 2));
            for (uint32_t r = 0; r < ADL_RULE_COUNT; r++)
                count[r] += checker.count[r];
            followed += checker.followed;
            /* Who is chosen by count may find no place together, and keeps others from the GPUs all the same. */
            const bool may_wait =
                i % 3 == 0 && (adl_policy_at(p) == &adl_policy_srtf || adl_policy_at(p) == &adl_policy_srtf_strict);
            if (checker.unfollowed > 0 && !may_wait)
                fail_msg("%s: %llu jobs that others were stopped for did not start when these had left", label,
                         (unsigned long long)checker.unfollowed);
        }
        adl_scenario_clear(&s);
    }
    assert_int_equal(count[ADL_RULE_NONE], 0);
    assert_true(followed > 1000);
    for (enum adl_rule r = ADL_RULE_FOR_SHORTER; r < ADL_RULE_FOR_PLUGIN; r++)
        if (count[r] == 0)
            fail_msg("no job was stopped by rule %s", adl_rule_name((uint8_t)r));
}

/* Nothing fails or changes, and no job shares a GPU or is spread over nodes, which slows it. */
static void make_exact(struct adl_scenario *s)
{
    s->faults = (struct adl_faults){0};
    s->drift.wear_per_kh = s->drift.throttle_share = 0;
    s->drift.update_count = 0;
    set_flag(s, "share", false);
    for (uint32_t m = 0; m < s->workload.mix_count; m++) {
        struct adl_mix *mix = &s->workload.mix[m];
        uint32_t kept = 0;
        mix->flags = 0;
        for (uint32_t g = 0; g < mix->gang_count; g++)
            if (gang_possible(s, mix, UINT32_MAX, mix->gang_gpus[g])) {
                mix->gang_gpus[kept] = mix->gang_gpus[g];
                mix->gang_weight[kept++] = mix->gang_weight[g];
            }
        mix->gang_count = kept;
    }
}

/* Where jobs run as long as is believed, nobody who is backfilled delays the job that his reason names. */
static void who_is_backfilled_does_not_delay_the_job_that_the_reason_names(void **state)
{
    (void)state;
    static const struct adl_policy_ops *const policies[] = {&adl_policy_easy, &adl_policy_conservative,
                                                            &adl_policy_dqn};
    uint64_t kept = 0;
    for (uint64_t i = 1; i <= 60; i++) {
        struct adl_scenario s = random_scenario(300 + i, 60);
        make_exact(&s);
        for (int p = 0; p < 3; p++) {
            snprintf(label, sizeof label, "exact scenario %llu, %s", (unsigned long long)i, policies[p]->name);
            run_checked(&s, i, policies[p], 1);
            if (checker.late > 0)
                fail_msg("%s: %llu of %llu jobs started later than reserved", label, (unsigned long long)checker.late,
                         (unsigned long long)(checker.late + checker.kept));
            kept += checker.kept;
        }
        adl_scenario_clear(&s);
    }
    assert_true(kept > 500);
}

static void a_replay_gives_reasons_that_agree_with_what_happened_in_the_run(void **state)
{
    (void)state;
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        struct adl_scenario s = random_scenario(17, 80); /* preemption, sharing, deadlines, faults */
        struct adl_result result;
        struct replayed replayed;
        struct adl_error err = {.text = ""};
        set_option(&s, "round_s", "10");
        set_flag(&s, "share", true);
        struct tape tape = record(&s, 17, adl_policy_at(p), 0, &result);
        memset(&checker, 0, sizeof checker);
        const struct adl_observer observer = reason_observer(&checker);
        tape_observer = &observer;
        if (replay(&s, tape.text.data, tape.text.size, &replayed, &err))
            fail_msg("%s: %s: %s", adl_policy_at(p)->name, err.text, checker.wrong);
        tape_observer = NULL;
        assert_true(checker.starts >= 80);
        assert_int_equal(replayed.differ, 0);
        adl_text_clear(&tape.text);
        adl_scenario_clear(&s);
    }
}

/* ---- the checker itself ---- */

static int (*told)(struct adl_plan *plan); /* what is done to a plan of sjf */

static int decide_and_lie(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const int status = adl_policy_sjf.decide(policy, state, plan);
    return status ? status : plan->command_count == 0 ? 0 : told(plan);
}

static int say_nothing(struct adl_plan *plan)
{
    plan->commands[0].reason = (struct adl_reason){.other = ADL_NONE};
    return 0;
}

static int say_longer(struct adl_plan *plan)
{
    plan->commands[0].reason.value += 1;
    return 0;
}

static int name_itself(struct adl_plan *plan)
{
    plan->commands[0].reason.other = plan->commands[0].job;
    return 0;
}

static int say_it_does_not_fit(struct adl_plan *plan)
{
    plan->commands[0].reason.passed = plan->commands[0].reason.other != ADL_NONE;
    return 0;
}

static void a_reason_that_is_not_true_is_found(void **state)
{
    (void)state;
    static const struct {
        int (*lie)(struct adl_plan *plan);
        const char *wrong;
    } lies[] = {{say_nothing, "start by rule none"},
                {say_longer, "s left, not"},
                {name_itself, "compares job"},
                {say_it_does_not_fit, "was said not to fit and started at once"}};
    struct adl_policy_ops liar = adl_policy_sjf;
    liar.decide = decide_and_lie;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct adl_scenario s = random_scenario(3, 60);
        struct adl_result result;
        struct adl_error err;
        memset(&checker, 0, sizeof checker);
        const struct adl_observer observer = reason_observer(&checker);
        const struct adl_run run = {.scenario = &s, .policy = &liar, .seed = 3, .regime = 1, .observer = &observer};
        told = lies[i].lie;
        assert_int_not_equal(adl_run(&run, &result, &err), 0);
        if (!strstr(checker.wrong, lies[i].wrong))
            fail_msg("found '%s', not '%s'", checker.wrong, lies[i].wrong);
        adl_scenario_clear(&s);
    }
}

/* The first hash of reasons with another first digit, and the seal with it. */
static void another_reason_is_told_and_an_old_recording_without_reasons_is_read(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(3, 60);
    struct adl_result result;
    struct replayed replayed;
    struct adl_error err;
    struct tape tape = record(&s, 11, &adl_policy_easy, 0, &result), other = {0}, old = {0};
    bool changed = false;
    for (const char *line = tape.text.data, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        char *copy = strndup(line, (size_t)(next - line)), *reasons = strstr(copy, ",\"reasons\":\"");
        if (strncmp(copy, "{\"end\"", 6) == 0) {
            adl_recording_write_end(&other.text, &other.seal);
            adl_recording_write_end(&old.text, &old.seal);
            free(copy);
            continue;
        }
        if (reasons && !changed) {
            reasons[12] = reasons[12] == '0' ? '1' : '0';
            changed = true;
        }
        size_t before = other.text.size;
        adl_text_put(&other.text, copy);
        seal_from(&other, before);
        before = old.text.size;
        if (reasons)
            strcpy(reasons, "}\n");
        adl_text_put(&old.text, copy);
        seal_from(&old, before);
        free(copy);
    }
    assert_int_equal(replay(&s, other.text.data, other.text.size, &replayed, &err), 0);
    assert_int_equal(replayed.differ, 1);
    assert_int_equal(replay(&s, old.text.data, old.text.size, &replayed, &err), 0);
    assert_int_equal(replayed.reasoned, 0);
    assert_int_equal(replayed.decisions, tape.decisions);
    adl_text_clear(&tape.text);
    adl_text_clear(&other.text);
    adl_text_clear(&old.text);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_readings_of_the_policies_say_why_as_well),
        cmocka_unit_test(who_is_backfilled_does_not_delay_the_job_that_the_reason_names),
        cmocka_unit_test(a_replay_gives_reasons_that_agree_with_what_happened_in_the_run),
        cmocka_unit_test(a_reason_that_is_not_true_is_found),
        cmocka_unit_test(another_reason_is_told_and_an_old_recording_without_reasons_is_read),
        cmocka_unit_test(every_start_and_stop_of_every_policy_says_why_and_what_it_says_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
