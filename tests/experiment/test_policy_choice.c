/* Which policies stand in a run, and what each of them is told. */
#include "tiny_scenario.h"

#include "experiment/comparison.h"
#include "experiment/policy_choice.h"

#include <string.h>

static struct adl_variant variants[] = {{.name = "sjf-blocks", .policy = "sjf", .settings = "first_fit=false\n", 3},
                                        {.name = "fast-las", .policy = "las", .settings = "las_promote=8\n", 4},
                                        {.name = "lost", .policy = "nowhere", .line = 5},
                                        {.name = "wrong", .policy = "sjf", .settings = "las_promote=8\n", 6}};

static struct adl_scenario scenario;

static struct adl_policy_request request_for(const char *list, const char *const *sets, uint32_t count)
{
    return (struct adl_policy_request){.option = "--policies",
                                       .list = list,
                                       .most = 4,
                                       .scenario = &scenario,
                                       .variants = variants,
                                       .variant_count = 4,
                                       .sets = sets,
                                       .set_count = count};
}

static void each_policy_gets_the_settings_that_concern_it(void **state)
{
    (void)state;
    const char *const sets[] = {"first_fit=true", "sjf.share=true", "las_promote=2", "fast-las.las_lazy=true"};
    const struct adl_policy_request request = request_for("sjf,sjf-blocks,easy,fast-las", sets, 4);
    struct adl_policy_choices choices;
    assert_int_equal(adl_policy_choices_make(&request, &choices, NULL), 0);
    assert_int_equal(choices.count, 4);
    assert_string_equal(choices.policies[0]->settings, "first_fit=true\nshare=true\n");
    assert_null(choices.policies[0]->variant_of);
    /* What the variant says comes last and wins. */
    assert_string_equal(choices.policies[1]->name, "sjf-blocks");
    assert_string_equal(choices.policies[1]->variant_of, "sjf");
    assert_string_equal(choices.policies[1]->settings, "first_fit=true\nshare=true\nfirst_fit=false\n");
    assert_ptr_equal(choices.policies[2], &adl_policy_easy);
    assert_string_equal(choices.policies[3]->settings, "las_promote=2\nlas_promote=8\nlas_lazy=true\n");
    adl_policy_choices_clear(&choices);
}

static void a_wrong_name_option_or_value_is_refused_with_those_that_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *list, *set, *message;
    } cases[] = {
        {"sjf,esy", NULL, "there is no policy 'esy'; did you mean 'easy'? (`adlro policies` lists them)"},
        {"sjf,sjf", NULL, "policy 'sjf' is listed twice"},
        {"sjf,,easy", NULL, "--policies must be names separated by commas, got 'sjf,,easy'"},
        {"sjf,easy,las,fcfs,srtf", NULL, "--policies takes at most 4, got 'sjf,easy,las,fcfs,srtf'"},
        {"lost", NULL, "there is no policy 'nowhere' (`adlro policies` lists them)"},
        {"wrong", NULL,
         "variant wrong (line 6): policy sjf has no option 'las_promote' (options: first_fit, share, placement)"},
        {"sjf", "sjf.first_fot=true",
         "policy sjf has no option 'first_fot'; did you mean 'first_fit'? (options: first_fit, share, placement)"},
        {"sjf", "sjf.first_fit=yes", "policy sjf: first_fit must be true or false, got 'yes'"},
        {"sjf", "sfj.first_fit=true", "there is no policy 'sfj'; did you mean 'sjf'? (`adlro policies` lists them)"},
        {"sjf", "easy.share=true", "--set 'easy.share=true': policy 'easy' is not part of this run (policies: sjf)"},
        {"sjf,easy", "las_lazy=true",
         "no policy of this run has an option 'las_lazy' (policies: sjf, easy; `adlro policies NAME` lists a policy's "
         "options)"},
        {"las", "las_limits_gpu_s=2,1", "policy las: las_limits_gpu_s[1] must be above the one before it"},
        {"sjf", "first_fit", "--set must be [POLICY.]OPTION=VALUE, got 'first_fit'"},
        {"sjf", ".first_fit=true", "--set must be [POLICY.]OPTION=VALUE, got '.first_fit=true'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct adl_policy_request request = request_for(cases[i].list, &cases[i].set, cases[i].set ? 1 : 0);
        struct adl_policy_choices choices;
        struct adl_error err = {.text = ""};
        assert_int_equal(adl_policy_choices_make(&request, &choices, &err), ADL_EINVAL);
        assert_string_equal(err.text, cases[i].message);
    }
}

static void a_variant_may_not_have_the_name_of_another_or_of_a_policy(void **state)
{
    (void)state;
    static const char *const names[] = {"sjf-blocks", "easy"};
    for (int i = 0; i < 2; i++) {
        struct adl_policy_request request = request_for("sjf", NULL, 0);
        struct adl_policy_choices choices;
        struct adl_error err = {.text = ""};
        struct adl_variant own = {.policy = "sjf", .line = 9};
        snprintf(own.name, sizeof own.name, "%s", names[i]);
        struct adl_scenario with = scenario;
        with.variants = &own;
        with.variant_count = 1;
        request.scenario = &with;
        assert_int_equal(adl_policy_choices_make(&request, &choices, &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, names[i]));
    }
}

/* Two readings of one policy stand in one comparison, and decide as each does alone. */
/* What is set for a shipped variant wins over what it says, and that over what is set for its policy or for all. */
static void a_shipped_variant_keeps_its_option_unless_it_is_set_for_it_by_name(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(20, 4, 100, 0);
    const char *const sets[] = {"first_fit=true", "sjf.share=true", "srtf-strict.first_fit=true"};
    struct adl_policy_request request = request_for("sjf-strict,srtf-strict,fcfs-ff", sets, 3);
    struct adl_policy_choices choices;
    request.scenario = &s;
    assert_int_equal(adl_policy_choices_make(&request, &choices, NULL), 0);
    assert_string_equal(choices.policies[0]->settings, "first_fit=true\nshare=true\nfirst_fit=false\n");
    assert_string_equal(choices.policies[0]->variant_of, "sjf");
    assert_string_equal(choices.policies[1]->settings, "first_fit=true\nfirst_fit=false\nfirst_fit=true\n");
    adl_policy_choices_clear(&choices);
    adl_scenario_clear(&s);
}

static void variants_of_one_policy_differ_in_one_comparison(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(20, 4, 100, 0);
    s.workload.mix[0].gang_count = 2;
    s.workload.mix[0].gang_gpus[1] = 3;
    s.workload.mix[0].gang_weight[1] = 1;
    struct adl_policy_request request = request_for("sjf,sjf-blocks", (const char *const[]){"sjf.first_fit=true"}, 1);
    struct adl_policy_choices choices;
    struct adl_comparison comparison = {0};
    request.scenario = &s;
    assert_int_equal(adl_policy_choices_make(&request, &choices, NULL), 0);
    const struct adl_comparison_request runs = {.scenario = &s,
                                                .policies = choices.policies,
                                                .policy_count = 2,
                                                .first_seed = 1,
                                                .seed_count = 3,
                                                .threads = 1};
    assert_int_equal(adl_comparison_run(&runs, &comparison, NULL), 0);
    assert_string_equal(comparison.policies[0].name, "sjf");
    assert_null(comparison.policies[0].options); /* what is set is the default */
    assert_string_equal(comparison.policies[1].name, "sjf-blocks");
    assert_string_equal(comparison.policies[1].variant_of, "sjf");
    assert_string_equal(comparison.policies[1].options, "first_fit=false\n");
    assert_true(comparison.policies[0].runs[0].plan_hash != comparison.policies[1].runs[0].plan_hash);
    adl_comparison_clear(&comparison);
    adl_policy_choices_clear(&choices);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_gets_the_settings_that_concern_it),
        cmocka_unit_test(a_wrong_name_option_or_value_is_refused_with_those_that_are_known),
        cmocka_unit_test(a_variant_may_not_have_the_name_of_another_or_of_a_policy),
        cmocka_unit_test(a_shipped_variant_keeps_its_option_unless_it_is_set_for_it_by_name),
        cmocka_unit_test(variants_of_one_policy_differ_in_one_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
