/* The command line: what it takes, the exact words with which it refuses the rest, and the help it shows. */
#include "base/options.h"
#include "base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ARGS_MAX     12

static const char *const regimes[] = {"declared", "learned", "oracle", NULL};

struct target {
    bool json;
    const char *output;
    int64_t seeds;
    double share;
    int regime;
    bool quiet;
};
static const struct adl_option options[] = {
    {"json", 'j', ADL_OPTION_FLAG, offsetof(struct target, json), .help = "write JSON"},
    {"output", 'o', ADL_OPTION_TEXT, offsetof(struct target, output), .value = "FILE", .help = "where to write"},
    {"seeds", 'n', ADL_OPTION_INT, offsetof(struct target, seeds), 1, 1000000, .value = "N",
     .help = "independent runs of every policy, each with a workload of its own, so that means and their "
             "spread can be "
             "told"},
    {"share", 0, ADL_OPTION_REAL, offsetof(struct target, share), -1, 1, .value = "X", .help = "a share"},
    {"regime", 0, ADL_OPTION_NAME, offsetof(struct target, regime), .names = regimes, .value = "NAME",
     .help = "what policies know"},
    {"quiet", 'q', ADL_OPTION_FLAG, offsetof(struct target, quiet), .help = "say nothing"},
};
static const struct adl_verb verb = {.name = "compare",
                                     .summary = "Runs policies on a scenario and compares them.",
                                     .operands = "SCENARIO [POLICY]",
                                     .operands_min = 1,
                                     .operands_max = 2,
                                     .options = options,
                                     .option_count = COUNT(options),
                                     .alias = {"runs", "seeds"},
                                     .example = "adlro compare scenarios/paper16.yaml --seeds 30"};
static const struct target defaults = {.seeds = 30, .share = 0.25, .regime = 1};

/* Splits the words into argv; returns argc. */
static int split(char *words, char **argv)
{
    int argc = 0;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        assert_true(argc < ARGS_MAX);
        argv[argc++] = word;
    }
    return argc;
}

static int parse(const char *line, char buffer[200], struct target *target, struct adl_operands *operands,
                 struct adl_error *err)
{
    static char *argv[ARGS_MAX]; /* operands stay valid until the next call */
    snprintf(buffer, 200, "%s", line);
    return adl_options_parse(&verb, split(buffer, argv), argv, target, operands, err);
}

static void all_kinds_and_spellings_are_read(void **state)
{
    (void)state;
    char buffer[200];
    struct target t = defaults;
    struct adl_operands operands;
    assert_int_equal(parse("-n 5 a.yaml --json --share=-0.5 - --output - --regime oracle", buffer, &t, &operands, NULL),
                     0);
    assert_true(t.json && !t.quiet && t.seeds == 5 && t.share == -0.5 && t.regime == 2);
    assert_string_equal(t.output, "-");
    assert_int_equal(operands.count, 2);
    assert_string_equal(operands.items[0], "a.yaml");
    assert_string_equal(operands.items[1], "-");

    t = defaults;
    assert_int_equal(parse("--share -.5 --output=--x -q -- --json -n", buffer, &t, &operands, NULL), 0);
    assert_true(!t.json && t.quiet && t.seeds == 30 && t.share == -0.5);
    assert_string_equal(t.output, "--x");
    assert_int_equal(operands.count, 2);
    assert_string_equal(operands.items[0], "--json");
    assert_string_equal(operands.items[1], "-n");

    t = defaults;
    assert_int_equal(parse("a -- --", buffer, &t, &operands, NULL), 0);
    assert_int_equal(operands.count, 2);
    assert_string_equal(operands.items[1], "--");
    assert_int_equal(parse("--output= a", buffer, &t, &operands, NULL), 0);
    assert_string_equal(t.output, "");
}

static void an_option_is_understood_by_its_other_name_and_the_caller_learns_which_were_given(void **state)
{
    (void)state;
    char buffer[200];
    struct target t = defaults;
    struct adl_operands operands;
    struct adl_error err;
    assert_int_equal(parse("--runs=7 a.yaml --regime learned", buffer, &t, &operands, NULL), 0);
    assert_int_equal(t.seeds, 7);
    assert_int_equal(operands.seen, 1 << 2 | 1 << 4); /* the default, said aloud, was given too */
    assert_int_equal(parse("--runs 7 --seeds 7 a.yaml", buffer, &t, &operands, &err), ADL_EINVAL);
    assert_string_equal(err.text, "--seeds is given twice");
}

static void bad_command_lines_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"", "'compare' needs SCENARIO [POLICY]"},
        {"--json", "'compare' needs SCENARIO [POLICY]"},
        {"a b c", "'compare' takes at most 2 of SCENARIO [POLICY], got 3"},
        {"a --sedes 3", "unknown option '--sedes' for 'compare'; did you mean '--seeds'?"},
        {"a --sedes=3", "unknown option '--sedes' for 'compare'; did you mean '--seeds'?"},
        {"a --seed 3", "unknown option '--seed' for 'compare'; did you mean '--seeds'?"},
        {"a -json", "unknown option '-json' for 'compare'; did you mean '--json'?"},
        {"a --hlep", "unknown option '--hlep' for 'compare'; did you mean '--help'?"},
        {"a --xyzzy", "unknown option '--xyzzy' for 'compare'"},
        {"a -x", "unknown option '-x' for 'compare'"},
        {"a --=3", "unknown option '--' for 'compare'"},
        {"a -5", "unknown option '-5' for 'compare'"},
        {"a --json --json", "--json is given twice"},
        {"a -n 3 --seeds 4", "--seeds is given twice"},
        {"a --json=yes", "--json takes no value, got 'yes'"},
        {"a --seeds", "--seeds needs a value: --seeds N"},
        {"a -n", "--seeds needs a value: --seeds N"},
        {"a --output --json",
         "--output needs a value, got the option '--json' (a value that begins with a dash: --output=FILE)"},
        {"a --output --",
         "--output needs a value, got the option '--' (a value that begins with a dash: --output=FILE)"},
        {"a --seeds 0", "--seeds must be between 1 and 1e6, got 0"},
        {"a --seeds -3", "--seeds must be between 1 and 1e6, got -3"},
        {"a --seeds=1e3", "--seeds must be a whole number in plain digits; write 1000 for '1e3'"},
        {"a --seeds 3x", "--seeds must be a whole number, got '3x'"},
        {"a --seeds=", "--seeds must be a whole number, got ''"},
        {"a --share 1.5", "--share must be between -1 and 1, got 1.5"},
        {"a --share nan", "--share must be a finite decimal number, got 'nan'"},
        {"a --regime lerned",
         "--regime must be one of declared, learned, oracle, got 'lerned'; did you mean 'learned'?"},
        {"-q -n 7 a --regime=x", "--regime must be one of declared, learned, oracle, got 'x'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buffer[200];
        struct target t = defaults;
        struct adl_operands operands = {.count = -1};
        struct adl_error err = {{0}};
        assert_int_equal(parse(cases[i].line, buffer, &t, &operands, &err), ADL_EINVAL);
        assert_string_equal(err.text, cases[i].message);
        assert_memory_equal(&t, &defaults, sizeof t);
        assert_int_equal(operands.count, -1);
    }
}

static void operands_keep_their_order_and_a_failed_call_leaves_argv_alone(void **state)
{
    (void)state;
    char *argv[] = {"--json", "a", "-n", "3", "b", NULL};
    char *bad[] = {"--json", "a", "-n", "0", NULL};
    struct target t = defaults;
    struct adl_operands operands;
    assert_int_equal(adl_options_parse(&verb, 5, argv, &t, &operands, NULL), 0);
    static const char *const expected[] = {"a", "b", "--json", "-n", "3"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(argv[i], expected[i]);
    assert_ptr_equal(operands.items, argv);
    assert_int_equal(adl_options_parse(&verb, 4, bad, &t, &operands, NULL), ADL_EINVAL);
    assert_string_equal(bad[0], "--json");
    assert_string_equal(bad[1], "a");
}

static void a_verb_may_have_neither_options_nor_operands(void **state)
{
    (void)state;
    const struct adl_verb bare = {.name = "policies", .summary = "Lists them."};
    char *argv[] = {"x", NULL};
    struct adl_operands operands;
    struct adl_error err = {{0}};
    assert_int_equal(adl_options_parse(&bare, 0, argv, NULL, &operands, &err), 0);
    assert_int_equal(operands.count, 0);
    assert_int_equal(adl_options_parse(&bare, 1, argv, NULL, &operands, &err), ADL_EINVAL);
    assert_string_equal(err.text, "'policies' takes no arguments beside options, got 'x'");
}

static void help_wins_over_every_fault_before_the_double_dash(void **state)
{
    (void)state;
    char buffer[200];
    struct target t = defaults;
    struct adl_operands operands;
    assert_int_equal(parse("--nonsense --help", buffer, &t, &operands, NULL), ADL_OPTIONS_HELP);
    assert_int_equal(parse("-h", buffer, &t, &operands, NULL), ADL_OPTIONS_HELP);
    assert_int_equal(parse("-- --help", buffer, &t, &operands, NULL), 0);
    assert_string_equal(operands.items[0], "--help");
}

struct page {
    char text[8192];
    size_t size;
};

static void append(void *context, const char *text)
{
    struct page *page = context;
    const size_t size = strlen(text);
    assert_true(page->size + size < sizeof page->text);
    memcpy(page->text + page->size, text, size + 1);
    page->size += size;
}

static void help_shows_the_table_in_100_columns(void **state)
{
    (void)state;
    static const char expected[] =
        "usage: adlro compare [options] SCENARIO [POLICY]\n"
        "\n"
        "Runs policies on a scenario and compares them.\n"
        "\n"
        "options:\n"
        "  -j, --json         write JSON\n"
        "  -o, --output FILE  where to write\n"
        "  -n, --seeds N      independent runs of every policy, each with a workload of its own, so that\n"
        "                     means and their spread can be told (1 to 1e6, default 30)\n"
        "      --share X      a share (-1 to 1, default 0.25)\n"
        "      --regime NAME  what policies know (declared, learned, oracle; default learned)\n"
        "  -q, --quiet        say nothing\n"
        "  -h, --help         show this text\n"
        "\n"
        "example:\n"
        "  adlro compare scenarios/paper16.yaml --seeds 30\n";
    struct page page = {.size = 0};
    adl_options_help(&verb, "adlro", &defaults, append, &page);
    assert_string_equal(page.text, expected);
}

static void a_wide_option_gets_its_help_below_it(void **state)
{
    (void)state;
    static const struct adl_option wide[] = {
        {"a-very-long-name-of-an-option", 0, ADL_OPTION_TEXT, 0, .value = "SOMETHING", .help = "what it does"},
        {"x", 0, ADL_OPTION_FLAG, 0, .help = "short"},
    };
    const struct adl_verb odd = {.name = "v",
                                 .summary = "Does it.",
                                 .operands_max = 0,
                                 .options = wide,
                                 .option_count = COUNT(wide),
                                 .example = "v --x\nv"};
    struct page page = {.size = 0};
    adl_options_help(&odd, "adlro", NULL, append, &page);
    assert_string_equal(page.text, "usage: adlro v [options]\n\nDoes it.\n\noptions:\n"
                                   "      --a-very-long-name-of-an-option SOMETHING\n"
                                   "              what it does\n"
                                   "      --x     short\n"
                                   "  -h, --help  show this text\n"
                                   "\nexamples:\n  v --x\n  v\n");
}

static void edit_distance_counts_inserted_dropped_replaced_and_swapped_letters(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        unsigned distance;
    } cases[] = {{"", "", 0},       {"", "abc", 3},          {"abc", "abc", 0},        {"abc", "ABC", 0},
                 {"abc", "acb", 1}, {"wieght", "weight", 1}, {"kitten", "sitting", 3}, {"abc", "abcd", 1},
                 {"ca", "abc", 3}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(adl_edit_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(adl_edit_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(adl_edit_distance(longer, ""), 63);
}

static void the_nearest_word_is_suggested_and_a_far_one_is_not(void **state)
{
    (void)state;
    static const struct {
        const char *word, *best;
    } cases[] = {{"memory", "memory_mib"},
                 {"mem", "memory_mib"},
                 {"V100", "v100"},
                 {"p100x", "p100"},
                 {"zz", NULL},
                 {"a", NULL},
                 {"", NULL}};
    static const char *const known[] = {"v100", "p100", "memory_mib", "t4"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adl_suggest suggest = {.word = cases[i].word};
        for (size_t k = 0; k < COUNT(known); k++)
            adl_suggest_offer(&suggest, known[k]);
        if (cases[i].best)
            assert_string_equal(suggest.best, cases[i].best);
        else
            assert_null(suggest.best);
    }
}

static void a_list_that_does_not_fit_says_that_there_is_more(void **state)
{
    (void)state;
    char list[20] = "";
    adl_list_append(list, sizeof list, "alpha");
    adl_list_append(list, sizeof list, "beta");
    assert_string_equal(list, "alpha, beta");
    adl_list_append(list, sizeof list, "gamma");
    adl_list_append(list, sizeof list, "d");
    assert_string_equal(list, "alpha, beta, ...");
}

static void where_the_first_operand_ends_the_options_the_rest_is_left_alone(void **state)
{
    (void)state;
    struct adl_verb first = verb;
    struct target target = defaults;
    struct adl_operands operands;
    struct adl_error err;
    char words[] = "--seeds 3 python --help -j -- --seeds", dashed[] = "-n 4 -- --help x",
         asks[] = "--seeds 3 -h python";
    char *argv[ARGS_MAX];
    first.options_first = true;
    first.operands_max = 9;
    assert_int_equal(adl_options_parse(&first, split(words, argv), argv, &target, &operands, &err), 0);
    assert_int_equal(target.seeds, 3);
    assert_false(target.json);
    assert_int_equal(operands.count, 5);
    assert_string_equal(operands.items[0], "python");
    assert_string_equal(operands.items[1], "--help");
    assert_string_equal(operands.items[4], "--seeds");
    const int argc = split(dashed, argv);
    assert_int_equal(adl_options_parse(&first, argc, argv, &target, &operands, &err), 0);
    assert_int_equal(operands.count, 2);
    assert_string_equal(operands.items[0], "--help");
    assert_string_equal(argv[argc - 1], "--"); /* so a verb can tell that it was there */
    assert_int_equal(adl_options_parse(&first, split(asks, argv), argv, &target, &operands, &err), ADL_OPTIONS_HELP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_and_spellings_are_read),
        cmocka_unit_test(an_option_is_understood_by_its_other_name_and_the_caller_learns_which_were_given),
        cmocka_unit_test(bad_command_lines_are_refused_and_change_nothing),
        cmocka_unit_test(operands_keep_their_order_and_a_failed_call_leaves_argv_alone),
        cmocka_unit_test(a_verb_may_have_neither_options_nor_operands),
        cmocka_unit_test(help_wins_over_every_fault_before_the_double_dash),
        cmocka_unit_test(where_the_first_operand_ends_the_options_the_rest_is_left_alone),
        cmocka_unit_test(help_shows_the_table_in_100_columns),
        cmocka_unit_test(a_wide_option_gets_its_help_below_it),
        cmocka_unit_test(edit_distance_counts_inserted_dropped_replaced_and_swapped_letters),
        cmocka_unit_test(the_nearest_word_is_suggested_and_a_far_one_is_not),
        cmocka_unit_test(a_list_that_does_not_fit_says_that_there_is_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
