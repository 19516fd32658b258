/* What policies can be told: their tables, the text of settings, and the page that documents them. */
#include "policy/policy.h"
#include "state_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a policy of this test, with an option of every type ---- */

struct every {
    bool yes;
    int64_t integer;
    double real;
    int word;
    char text[ADL_POLICY_TEXT_SIZE];
    struct adl_policy_reals reals;
    struct adl_policy_affinity affinity;
    struct adl_objective objective;
};

static const char *const words[] = {"one", "two", NULL};

#define AT(member) .name = #member, .offset = offsetof(struct every, member)
static const struct adl_policy_option table[] = {
    {AT(yes), .type = ADL_POLICY_BOOL, .value = "true", .help = "h"},
    {AT(integer), .type = ADL_POLICY_INTEGER, .value = "7", .range = {.min = 1, .max = 9}, .help = "h"},
    {AT(real), .type = ADL_POLICY_REAL, .value = "0", .range = {.min = 0.5, .max = 2, .or_zero = true}, .help = "h"},
    {AT(word), .type = ADL_POLICY_WORD, .value = "two", .words = words, .help = "h"},
    {AT(text), .type = ADL_POLICY_TEXT, .value = "as it was", .help = "h"},
    {AT(reals), .type = ADL_POLICY_REALS, .value = "1,2", .range = {.max = 10, .open = true}, .most = 3,
     .ascending = true, .help = "h"},
    {AT(affinity), .type = ADL_POLICY_AFFINITY, .value = "", .help = "h"},
    {AT(objective), .type = ADL_POLICY_OBJECTIVE, .value = ADL_OBJECTIVE_DEFAULT, .help = "h"},
};

static struct every given; /* what create() was given */
static struct adl_policy_config given_config;

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed, (void)err;
    given = *(const struct every *)config->options;
    given_config = *config;
    *ret_policy = NULL;
    return 0;
}

static const struct adl_policy_ops every = {
    .name = "every", .summary = "s", ADL_POLICY_OPTIONS(table, struct every), .create = create};

static int tell(const char *settings, struct adl_error *err)
{
    struct adl_cluster cluster = {0};
    struct adl_policy_config config = {.settings = settings};
    void *policy;
    fixture_types(&cluster, 3);
    const int status = adl_policy_create(&every, &config, &cluster, 1, &policy, err);
    adl_cluster_clear(&cluster);
    return status;
}

static void a_policy_gets_its_defaults_where_nothing_is_set(void **state)
{
    (void)state;
    assert_int_equal(tell(NULL, NULL), 0);
    assert_true(given.yes && given.integer == 7 && given.real == 0 && given.word == 1);
    assert_string_equal(given.text, "as it was");
    assert_true(given.reals.count == 2 && given.reals.items[1] == 2);
    assert_int_equal(given.affinity.types[ADL_KIND_DATA], UINT32_MAX);
    assert_true(given_config.placement == ADL_PLACEMENT_BEST_FIT && given_config.priority_s == 0);
}

static void settings_reach_the_struct_and_the_last_of_equal_ones_wins(void **state)
{
    (void)state;
    assert_int_equal(tell("yes=false\ninteger=3\nreal=1.5\nword=one\ntext=a=b c\nreals=0.5,0.75,9\n"
                          "affinity=data:type-0/type-2,training:type-1\nplacement=consolidated\npriority_s=60\n"
                          "integer=4\nnot_of_this_policy=whatever",
                          NULL),
                     0);
    assert_true(!given.yes && given.integer == 4 && given.real == 1.5 && given.word == 0);
    assert_string_equal(given.text, "a=b c");
    assert_true(given.reals.count == 3 && given.reals.items[2] == 9);
    assert_int_equal(given.affinity.types[ADL_KIND_DATA], 5);
    assert_int_equal(given.affinity.types[ADL_KIND_TRAINING], 2);
    assert_int_equal(given.affinity.types[ADL_KIND_INFERENCE], UINT32_MAX);
    assert_true(given_config.placement == ADL_PLACEMENT_CONSOLIDATED && given_config.priority_s == 60);
}

static void a_value_that_an_option_does_not_take_is_refused_with_what_it_takes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"yes=1", "policy every: yes must be true or false, got '1'"},
        {"integer=10", "policy every: integer must be between 1 and 9, got 10"},
        {"integer=2.5", "policy every: integer must be a whole number, got '2.5'"},
        {"real=0.1", "policy every: real must be 0 or between 0.5 and 2, got 0.1"},
        {"word=tow", "policy every: word must be one of one, two, got 'tow'; did you mean 'two'?"},
        {"reals=1,1", "policy every: reals[1] must be above the one before it"},
        {"reals=1,2,3,4", "policy every: reals must have 1 to 3 elements, got 4"},
        {"reals=", "policy every: reals must have 1 to 3 elements, got 0"},
        {"reals=1,10", "policy every: reals[1] must be between 0 and 10, both excluded, got 10"},
        {"affinity=date:type-0",
         "policy every: affinity must be one of training, inference, simulation, data, got 'date'; did you mean "
         "'data'?"},
        {"affinity=data", "policy every: affinity must be KIND:TYPE/TYPE,KIND:TYPE ..., got 'data'"},
        {"affinity=data:type-9",
         "policy every: affinity names the GPU type 'type-9', which no node has (types: type-0, type-1, type-2)"},
        {"objective=fats",
         "policy every: objective must have a preset or weights NAME:WEIGHT (fast, balanced, frugal), "
         "got 'fats'; did you mean 'fast'?"},
        {"objective=tial:1", "policy every: objective must have known weights (mean, tail, energy, fairness), got "
                             "'tial'; did you mean 'tail'?"},
        {"objective=tail:-1", "policy every: objective.tail must be between 0 and 1000, got -1"},
        {"objective=mean:0", "policy every: objective.mean must be between 0.001 and 1000, got 0"},
        {"objective=energy:nan", "policy every: objective.energy must be a finite decimal number, got 'nan'"},
        {"objective=energy:", "policy every: objective.energy must be a finite decimal number, got ''"},
        {"objective=tail:1,tail:2", "policy every: objective has the weight 'tail' twice"},
        {"objective=tail:1,fast", "policy every: objective must have its preset 'fast' before all weights"},
        {"placement=best",
         "policy every: placement must be one of best_fit, consolidated, got 'best'; did you mean 'best_fit'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_error err = {.text = ""};
        assert_int_equal(tell(cases[i][0], &err), ADL_EINVAL);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void an_objective_is_a_preset_whose_weights_can_be_changed(void **state)
{
    (void)state;
    assert_int_equal(tell("objective=fast", NULL), 0);
    const struct adl_objective fast = given.objective;
    assert_int_equal(tell("objective=fast,tail:3,fairness:0.5", NULL), 0);
    assert_true(given.objective.mean == fast.mean && given.objective.energy == fast.energy);
    assert_true(given.objective.tail == 3 && given.objective.fairness == 0.5);
    assert_int_equal(tell("objective=energy:7", NULL), 0);
    const struct adl_objective weighed = given.objective;
    assert_int_equal(tell("objective=" ADL_OBJECTIVE_DEFAULT, NULL), 0);
    assert_true(weighed.energy == 7 && given.objective.energy != 7);
    assert_true(weighed.mean == given.objective.mean && weighed.tail == given.objective.tail);
}

/* ---- the tables of the policies ---- */

static void every_option_has_a_default_that_it_takes_a_help_and_a_name_of_its_own(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const struct adl_policy_ops *ops = adl_policy_at(p);
        for (uint32_t i = 0; i < adl_policy_option_count(ops); i++) {
            const struct adl_policy_option *option = adl_policy_option_at(ops, i);
            char reason[ADL_POLICY_REASON_SIZE];
            if (!option->help || !option->help[0] || strpbrk(option->help, "\n|"))
                fail_msg("%s.%s: the help must be one line", ops->name, option->name);
            if (!adl_policy_option_check(option, option->value, &cluster, reason))
                fail_msg("%s.%s: its default %s", ops->name, option->name, reason);
            if (adl_policy_option_find(ops, option->name) != option)
                fail_msg("%s.%s is there twice", ops->name, option->name);
            if (i < ops->option_count && option->offset >= ops->options_size)
                fail_msg("%s.%s lies outside its struct", ops->name, option->name);
        }
    }
    adl_cluster_clear(&cluster);
}

/* ---- the page ---- */

static char page[1 << 16];

static void put(const char *text)
{
    assert_true(strlen(page) + strlen(text) < sizeof page);
    strcat(page, text);
}

/* Options that several policies have with the same words are one row. */
static bool same(const struct adl_policy_option *a, const struct adl_policy_option *b)
{
    return b && strcmp(a->help, b->help) == 0 && strcmp(a->value, b->value) == 0;
}

/* Shipped variants have the options of their policies. */
static bool has(uint32_t policy, const struct adl_policy_option *option)
{
    const struct adl_policy_ops *ops = adl_policy_at(policy);
    return !ops->variant_of && same(option, adl_policy_option_find(ops, option->name));
}

static bool shown_before(uint32_t policy, const struct adl_policy_option *option)
{
    for (uint32_t p = 0; p < policy; p++)
        if (has(p, option))
            return true;
    return false;
}

static void put_row(const struct adl_policy_option *option)
{
    char row[1024], value[ADL_REFUSAL_SIZE];
    uint32_t count = 0, policies = 0;
    snprintf(row, sizeof row, "| `%s` | ", option->name);
    put(row);
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        count += has(p, option);
        policies += !adl_policy_at(p)->variant_of;
    }
    if (count == policies)
        put("all");
    for (uint32_t p = 0, listed = 0; p < adl_policy_count() && count < policies; p++)
        if (has(p, option)) {
            put(listed++ > 0 ? ", " : "");
            put(adl_policy_at(p)->name);
        }
    snprintf(row, sizeof row, " | %s | %s | %s | %s |\n", adl_policy_option_describe(option, value),
             adl_policy_option_default(option), option->help, option->source ? option->source : "");
    put(row);
}

static void print_page(void)
{
    page[0] = '\0';
    put("| Option | Policies | Value | Default | Meaning | Source |\n|---|---|---|---|---|---|\n");
    for (uint32_t p = 0; p < adl_policy_count(); p++)
        for (uint32_t i = 0; i < adl_policy_option_count(adl_policy_at(p)); i++)
            if (!adl_policy_at(p)->variant_of && !shown_before(p, adl_policy_option_at(adl_policy_at(p), i)))
                put_row(adl_policy_option_at(adl_policy_at(p), i));
}

static void the_page_says_what_the_tables_say(void **state)
{
    (void)state;
    static char document[1 << 17];
    FILE *file = fopen(ADL_SOURCE_DIR "/docs/policies.md", "r");
    assert_non_null(file);
    const size_t size = fread(document, 1, sizeof document - 1, file);
    fclose(file);
    assert_true(size > 0 && size < sizeof document - 1);
    print_page();
    assert_non_null(strstr(page, "| `solver_nodes` | gogh | whole number between 1 and 1e6 | 200 |"));
    if (!strstr(document, page))
        fail_msg("docs/policies.md differs from the tables; `test_policy_options table` prints what belongs there");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "table") == 0) {
        print_page();
        fputs(page, stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_gets_its_defaults_where_nothing_is_set),
        cmocka_unit_test(settings_reach_the_struct_and_the_last_of_equal_ones_wins),
        cmocka_unit_test(a_value_that_an_option_does_not_take_is_refused_with_what_it_takes),
        cmocka_unit_test(an_objective_is_a_preset_whose_weights_can_be_changed),
        cmocka_unit_test(every_option_has_a_default_that_it_takes_a_help_and_a_name_of_its_own),
        cmocka_unit_test(the_page_says_what_the_tables_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
