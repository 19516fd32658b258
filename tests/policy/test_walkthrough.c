/* The walk-through of CONTRIBUTING.md: its listing is examples/new_policy.c, which works. */
#include "random_scenario.h"

#include "experiment/run.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

extern const struct adl_policy_ops adl_policy_lwf;

#include "../../examples/new_policy.c" // NOLINT(bugprone-suspicious-include): the listing, as it stands

static uint64_t plans_of(const struct adl_scenario *s, const struct adl_policy_ops *policy)
{
    struct adl_result result;
    struct adl_error err = {.text = ""};
    const struct adl_run run = {.scenario = s, .policy = policy, .seed = 1};
    if (adl_run(&run, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(result.unfinished, 0);
    assert_int_equal(result.refused, 0);
    return result.plan_hash;
}

static void the_policy_of_the_walk_through_finishes_every_job_and_obeys_its_option(void **state)
{
    (void)state;
    uint32_t differ = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct adl_scenario s = random_scenario(seed, 60);
        const uint64_t by_work = plans_of(&s, &adl_policy_lwf);
        set_flag(&s, "by_time", true);
        differ += plans_of(&s, &adl_policy_lwf) != by_work;
        assert_true(plans_of(&s, &adl_policy_lwf) == plans_of(&s, &adl_policy_sjf_strict)); /* that is what sjf does */
        adl_scenario_clear(&s);
    }
    assert_true(differ > 0);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Each line of the example follows, indented, where its first line stands in the text. */
static void the_walk_through_shows_the_example_word_for_word(void **state)
{
    (void)state;
    char *guide = read_file(ADL_SOURCE_DIR "/CONTRIBUTING.md"),
         *code = read_file(ADL_SOURCE_DIR "/examples/new_policy.c");
    const char *shown = strstr(guide, "    /* lwf: least work first");
    if (!shown)
        fail_msg("CONTRIBUTING.md does not show examples/new_policy.c");
    for (char *line = strtok(code, "\n"); line; line = strtok(NULL, "\n")) {
        while (*shown == '\n')
            shown++;
        if (strncmp(shown, "    ", 4) != 0 || strncmp(shown + 4, line, strlen(line)) != 0 ||
            shown[4 + strlen(line)] != '\n')
            fail_msg("CONTRIBUTING.md differs from examples/new_policy.c at: %s", line);
        shown += 4 + strlen(line);
    }
    free(guide);
    free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_of_the_walk_through_finishes_every_job_and_obeys_its_option),
        cmocka_unit_test(the_walk_through_shows_the_example_word_for_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
