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
    const struct adl_tap tap = reason_tap(&checker);
    const struct adl_run run = {.scenario = s, .policy = policy, .seed = seed, .regime = regime, .tap = &tap};
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
        cmocka_unit_test(another_reason_is_told_and_an_old_recording_without_reasons_is_read),
        cmocka_unit_test(every_start_and_stop_of_every_policy_says_why_and_what_it_says_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
