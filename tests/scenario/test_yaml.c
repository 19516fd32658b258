/* The YAML reader: what it takes, and the exact words with which it refuses the rest. */
#include "scenario/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const colours[] = {"red", "green", "blue", NULL};

struct pair {
    const struct adl_yaml_node *at;
    int32_t a;
    double b;
};
static const struct adl_yaml_field pair_fields[] = {
    {"a", ADL_YAML_INT, ADL_YAML_AT(struct pair, a), .min = -5, .max = 5, .required = true, .help = "an a"},
    {"b", ADL_YAML_REAL, ADL_YAML_AT(struct pair, b), .min = 0, .max = 1e6, .help = "a b"},
};
static const struct adl_yaml_table pair_table = {.fields = pair_fields,
                                                 .field_count = COUNT(pair_fields),
                                                 .located = true,
                                                 .size = sizeof(struct pair),
                                                 .defaults = &(const struct pair){.b = 7}};

struct thing {
    int64_t count;
    int32_t small;
    double weight, share, wait_s;
    bool yes;
    char text[8];
    char word[8];
    struct adl_yaml_link link;
    int colour;
    struct pair pair;
    struct adl_yaml_list pairs;
    struct adl_yaml_list links;
};
#define THING(member) ADL_YAML_AT(struct thing, member)
static const struct adl_yaml_field thing_fields[] = {
    {"count", ADL_YAML_INT, THING(count), .min = 1, .max = 1e9, .help = "how many"},
    {"small", ADL_YAML_INT, THING(small), .min = -10, .max = 100, .help = "a small one"},
    {"weight", ADL_YAML_REAL, THING(weight), .min = 0, .max = 1e6, .help = "how heavy"},
    {"share", ADL_YAML_REAL, THING(share), .min = 0, .max = 1, .open = true, .help = "a share"},
    {"wait_s", ADL_YAML_REAL, THING(wait_s), .min = 0.5, .max = 60, .or_zero = true, .help = "how long"},
    {"yes", ADL_YAML_BOOL, THING(yes), .help = "whether"},
    {"text", ADL_YAML_TEXT, THING(text), .help = "free text"},
    {"word", ADL_YAML_WORD, THING(word), .help = "a word"},
    {"link", ADL_YAML_LINK, THING(link), .help = "a link"},
    {"colour", ADL_YAML_NAME, THING(colour), .names = colours, .help = "which colour"},
    {"pair", ADL_YAML_GROUP, THING(pair), .table = &pair_table, .help = "one pair"},
    {"pairs", ADL_YAML_LIST, THING(pairs), .min = 1, .max = 3, .table = &pair_table, .help = "pairs"},
    {"links", ADL_YAML_LINKS, THING(links), .min = 1, .max = 3, .help = "links"},
};
static const struct thing thing_defaults = {.count = 42, .colour = 2, .pair = {.b = 3}};
static const struct adl_yaml_table thing_table = {.fields = thing_fields,
                                                  .field_count = COUNT(thing_fields),
                                                  .size = sizeof(struct thing),
                                                  .defaults = &thing_defaults};

static int read_sized(const char *text, size_t size, struct adl_yaml **ret_yaml, struct thing *ret,
                      struct adl_error *err)
{
    struct adl_yaml *yaml = NULL;
    int status = adl_yaml_parse("t.yaml", text, size, &yaml, err);
    if (status)
        return status;
    status = adl_yaml_read(yaml, &thing_table, ret, err);
    if (status)
        adl_yaml_destroy(yaml);
    else
        *ret_yaml = yaml;
    return status;
}

static void refused(const char *text, size_t size, const char *message)
{
    struct adl_yaml *yaml = NULL;
    struct thing thing;
    struct adl_error err = {{0}};
    assert_int_equal(read_sized(text, size, &yaml, &thing, &err), ADL_EINVAL);
    assert_string_equal(err.text, message);
    assert_null(yaml);
    assert_int_equal(read_sized(text, size, &yaml, &thing, NULL), ADL_EINVAL); /* nobody has to listen */
}

#define KEYS "(keys: count, small, weight, share, wait_s, yes, text, word, link, colour, pair, pairs, links)"

static void bad_input_is_refused_with_its_line_and_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        /* files */
        {"", "t.yaml:1: the file is empty"},
        {"# only a remark\n", "t.yaml:1: the file is empty"},
        {"---\n...\n", "t.yaml:2: the file must be a mapping (key: value), got nothing"},
        {"- 1\n", "t.yaml:1: the file must be a mapping (key: value), got a list"},
        {"hello\n", "t.yaml:1: the file must be a mapping (key: value), got 'hello'"},
        {"count: 1\n---\ncount: 2\n", "t.yaml:2: a second document begins here (---); a file holds one"},
        {"count: 1\n...\ncount: 2\n", "t.yaml:3: not valid YAML: did not find expected <document start>"},
        /* syntax */
        {"count: 1\npair: {a: 1\n", "t.yaml:3: not valid YAML: did not find expected ',' or '}' while "
                                    "parsing a flow mapping that began on line 2"},
        {"a: b: c\n", "t.yaml:1: not valid YAML: mapping values are not allowed in this context"},
        {"count: 1\npair:\n\ta: 1\n", "t.yaml:3: not valid YAML: found character that cannot start any "
                                      "token; indent with spaces, the line begins "
                                      "with a tab"},
        {"text: \"open\n", "t.yaml:2: not valid YAML: found unexpected end of stream while scanning a quoted "
                           "scalar that began on line 1"},
        {"count: 1\ntext: \xff\xfe\n", "t.yaml:2: not plain UTF-8 text: invalid leading UTF-8 octet"},
        {"count: 1\n\ntext: a\x01\n", "t.yaml:3: not plain UTF-8 text: control characters are not allowed"},
        {"text: \"a\\0b\"\n", "t.yaml:1: text may not hold a zero byte (\\0)"},
        {"\"text\\0x\": a\n", "t.yaml:1: text may not hold a zero byte (\\0)"},
        /* what is not read */
        {"count: &n 1\n", "t.yaml:1: anchors (&name) are not read; write the value out"},
        {"pair: &p {a: 1}\n", "t.yaml:1: anchors (&name) are not read; write the value out"},
        {"count: 1\nlinks: *n\n", "t.yaml:2: aliases (*name) are not read; write the value out"},
        {"count: !!int 1\n", "t.yaml:1: tags (!name) are not read; the key decides the kind"},
        {"pair: !mine {a: 1}\n", "t.yaml:1: tags (!name) are not read; the key decides the kind"},
        {"[a]: 1\n", "t.yaml:1: a key must be a word, got a list"},
        {"? {a: 1}\n: 1\n", "t.yaml:1: a key must be a word, got a mapping"},
        /* keys */
        {"count: 1\nwieght: 2\n", "t.yaml:2: unknown key 'wieght'; did you mean 'weight'? " KEYS},
        {"COUNT: 1\n", "t.yaml:1: unknown key 'COUNT'; did you mean 'count'? " KEYS},
        {"zzzzzz: 1\n", "t.yaml:1: unknown key 'zzzzzz' " KEYS},
        {"<<: 1\n", "t.yaml:1: unknown key '<<' " KEYS},
        {"\"\\e[31m\": 1\n", "t.yaml:1: unknown key '?[31m' " KEYS},
        {"count: 1\nweight: 1\ncount: 2\n", "t.yaml:3: count is given twice; the first is on line 1"},
        {"pairs:\n  - a: 1\n  - b: 2\n", "t.yaml:3: missing key 'a' in pairs[1] (an a)"},
        {"pair: {}\n", "t.yaml:1: missing key 'a' in pair (an a)"},
        {"pairs:\n  - a: 1\n    c: 2\n", "t.yaml:3: unknown key 'c' in pairs[0] (keys: a, b)"},
        {"pairs:\n  - a: 1\n  - {a: 1,\n     a: 2}\n", "t.yaml:4: pairs[1].a is given twice; the first is on line 3"},
        /* whole numbers */
        {"count: 0\n", "t.yaml:1: count must be between 1 and 1e9, got 0"},
        {"count: -3\n", "t.yaml:1: count must be between 1 and 1e9, got -3"},
        {"count: 99999999999999999999\n", "t.yaml:1: count must be between 1 and 1e9, got 99999999999999999999"},
        {"count: 1e3\n", "t.yaml:1: count must be a whole number in plain digits; write 1000 for '1e3'"},
        {"count: 8.0\n", "t.yaml:1: count must be a whole number in plain digits; write 8 for '8.0'"},
        {"count: +8\n", "t.yaml:1: count must be a whole number in plain digits; write 8 for '+8'"},
        {"count: 010\n", "t.yaml:1: count must be a whole number in plain digits; write 10 for '010'"},
        {"count: 1.5\n", "t.yaml:1: count must be a whole number, got '1.5'"},
        {"count: 0x10\n", "t.yaml:1: count must be a whole number, got '0x10'"},
        {"count: 12 GB\n", "t.yaml:1: count must be a whole number, got '12 GB'"},
        {"count: 1_000\n", "t.yaml:1: count must be a whole number, got '1_000'"},
        {"count: many\n", "t.yaml:1: count must be a whole number, got 'many'"},
        {"count:\n", "t.yaml:1: count must be a whole number, got nothing"},
        {"count: ~\n", "t.yaml:1: count must be a whole number, got nothing"},
        {"count: null\n", "t.yaml:1: count must be a whole number, got nothing"},
        {"count: \"\"\n", "t.yaml:1: count must be a whole number, got ''"},
        {"count: [1]\n", "t.yaml:1: count must be a whole number, got a list"},
        {"count: {a: 1}\n", "t.yaml:1: count must be a whole number, got a mapping"},
        {"small: 101\n", "t.yaml:1: small must be between -10 and 100, got 101"},
        /* reals */
        {"pairs:\n  - {a: 1}\n  - {a: 1}\n  - {a: 1, b: -3}\n",
         "t.yaml:4: pairs[2].b must be between 0 and 1e6, got -3"},
        {"weight: 1000001\n", "t.yaml:1: weight must be between 0 and 1e6, got 1000001"},
        {"weight: 1e999\n", "t.yaml:1: weight must be between 0 and 1e6, got 1e999"},
        {"weight: .nan\n", "t.yaml:1: weight must be a finite decimal number, got '.nan'"},
        {"weight: NaN\n", "t.yaml:1: weight must be a finite decimal number, got 'NaN'"},
        {"weight: .inf\n", "t.yaml:1: weight must be a finite decimal number, got '.inf'"},
        {"weight: inf\n", "t.yaml:1: weight must be a finite decimal number, got 'inf'"},
        {"weight: 1.5x\n", "t.yaml:1: weight must be a finite decimal number, got '1.5x'"},
        {"weight: 1,5\n", "t.yaml:1: weight must be a finite decimal number, got '1,5'"},
        {"weight: 0x1p3\n", "t.yaml:1: weight must be a finite decimal number, got '0x1p3'"},
        {"weight: 1e\n", "t.yaml:1: weight must be a finite decimal number, got '1e'"},
        {"weight: .\n", "t.yaml:1: weight must be a finite decimal number, got '.'"},
        {"weight: []\n", "t.yaml:1: weight must be a number, got a list"},
        {"share: 0\n", "t.yaml:1: share must be between 0 and 1, both excluded, got 0"},
        {"share: 1\n", "t.yaml:1: share must be between 0 and 1, both excluded, got 1"},
        {"wait_s: 0.1\n", "t.yaml:1: wait_s must be 0 or between 0.5 and 60, got 0.1"},
        /* the rest */
        {"yes: yes\n", "t.yaml:1: yes must be true or false, got 'yes'"},
        {"yes: \"true\"\n", "t.yaml:1: yes must be true or false, got 'true'"},
        {"yes: 1\n", "t.yaml:1: yes must be true or false, got '1'"},
        {"yes: [true]\n", "t.yaml:1: yes must be true or false, got a list"},
        {"text: 12345678\n", "t.yaml:1: text must have at most 7 bytes, got 8"},
        {"text: \"\"\n", "t.yaml:1: text must not be empty"},
        {"text: \" \"\n", "t.yaml:1: text must not be empty"},
        {"text: \"a\\eb\"\n", "t.yaml:1: text must not hold control characters"},
        {"text: {a: b}\n", "t.yaml:1: text must be a text, got a mapping"},
        {"word: a b\n", "t.yaml:1: word must be a letter or digit followed by letters, digits and . _ + -, got 'a b'"},
        {"word: -a\n", "t.yaml:1: word must be a letter or digit followed by letters, digits and . _ + -, got '-a'"},
        {"word: ../a\n",
         "t.yaml:1: word must be a letter or digit followed by letters, digits and . _ + -, got '../a'"},
        {"word: abcdefgh\n", "t.yaml:1: word must have at most 7 bytes, got 8"},
        {"link: \"\"\n", "t.yaml:1: link must not be empty"},
        {"link: \"a\\nb\"\n", "t.yaml:1: link must not hold control characters"},
        {"colour: gren\n", "t.yaml:1: colour must be one of red, green, blue, got 'gren'; did you mean 'green'?"},
        {"colour: 1\n", "t.yaml:1: colour must be one of red, green, blue, got '1'"},
        {"pair: 1\n", "t.yaml:1: pair must be a mapping, got '1'"},
        {"pair:\ncount: 1\n", "t.yaml:1: pair must be a mapping, got nothing"},
        {"pair: [a]\n", "t.yaml:1: pair must be a mapping, got a list"},
        {"pairs: {a: 1}\n", "t.yaml:1: pairs must be a list, got a mapping"},
        {"pairs: []\n", "t.yaml:1: pairs must have 1 to 3 elements, got 0"},
        {"links: [a, b,\n  c, d]\n", "t.yaml:1: links must have 1 to 3 elements, got 4"},
        {"pairs: [1]\n", "t.yaml:1: pairs[0] must be a mapping (key: value), got '1'"},
        {"links:\n  - a\n  - [b]\n", "t.yaml:3: links[1] must be a name, got a list"},
        {"links:\n  - a\n  -\n", "t.yaml:3: links[1] must be a name, got nothing"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        refused(cases[i].text, strlen(cases[i].text), cases[i].message);
}

static void good_input_fills_every_field(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf%YAML 1.1\n---\n"
                               "count: 7\nsmall: -10\nweight: 1e6\nshare: +.5\nwait_s: 0\nyes: true\n"
                               "text: >\n  a b\n  c\nword: 'x-1'\nlink: \"somewhere else\"\ncolour: green\n"
                               "pair: {a: -5}\n"
                               "pairs:\n  - {a: 1, b: 2.5}\n  - a: 2\nlinks: [one,\n two]\n...\n";
    struct adl_yaml *yaml = NULL;
    struct thing thing;
    struct adl_error err = {{0}};
    if (read_sized(text, sizeof text - 1, &yaml, &thing, &err))
        fail_msg("%s", err.text);
    assert_int_equal(thing.count, 7);
    assert_int_equal(thing.small, -10);
    assert_true(thing.weight == 1e6 && thing.share == 0.5 && thing.wait_s == 0);
    assert_true(thing.yes);
    assert_string_equal(thing.text, "a b c");
    assert_string_equal(thing.word, "x-1");
    assert_string_equal(thing.link.text, "somewhere else");
    assert_int_equal(thing.link.line, 13);
    assert_int_equal(thing.colour, 1);
    assert_int_equal(thing.pair.a, -5);
    assert_true(thing.pair.b == 3);
    const struct pair *pairs = thing.pairs.items;
    assert_int_equal(thing.pairs.count, 2);
    assert_true(pairs[0].a == 1 && pairs[0].b == 2.5 && pairs[1].a == 2 && pairs[1].b == 7);
    assert_int_equal(pairs[1].at->line, 18);
    assert_int_equal(adl_yaml_line(pairs[1].at, "a"), 18);
    assert_int_equal(adl_yaml_line(adl_yaml_root(yaml), "links"), 19);
    const struct adl_yaml_link *links = thing.links.items;
    assert_int_equal(thing.links.count, 2);
    assert_string_equal(links[1].text, "two");
    assert_int_equal(links[1].line, 20);
    adl_yaml_destroy(yaml);
}

static void an_absent_key_keeps_the_default(void **state)
{
    (void)state;
    struct adl_yaml *yaml = NULL;
    struct thing thing;
    assert_int_equal(read_sized("weight: 2\n", 10, &yaml, &thing, NULL), 0);
    assert_int_equal(thing.count, 42);
    assert_int_equal(thing.colour, 2);
    assert_null(thing.pair.at);
    assert_null(thing.link.text);
    adl_yaml_destroy(yaml);
    adl_yaml_destroy(NULL);
}

/* pattern repeated, after a head; the caller frees. */
static char *repeat(const char *head, const char *pattern, size_t times)
{
    const size_t length = strlen(pattern), first = strlen(head);
    char *text = malloc(first + length * times + 1);
    assert_non_null(text);
    memcpy(text, head, first + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(text + first + i * length, pattern, length + 1);
    return text;
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    char *text = repeat("links: ", "[", 100000);
    refused(text, strlen(text), "t.yaml:1: nested more than 32 levels deep");
    free(text);
    text = repeat("", "- ", 33);
    refused(text, strlen(text), "t.yaml:1: nested more than 32 levels deep");
    free(text);
    text = repeat("", "- ", 32);
    refused(text, strlen(text), "t.yaml:1: the file must be a mapping (key: value), got a list");
    free(text);
}

static void a_million_values_is_the_limit(void **state)
{
    (void)state;
    char *text = repeat("links: [", "a,", ADL_YAML_NODES_MAX);
    refused(text, strlen(text), "t.yaml:1: more than 1000000 values in one file");
    free(text);
}

static void sixteen_mebibytes_is_the_limit(void **state)
{
    (void)state;
    char *text = repeat("", "#234567\n", (16u << 20) / 8 + 1);
    refused(text, strlen(text), "t.yaml:1: the file has 16777224 bytes; at most 16777216 are read");
    refused(text, 16u << 20, "t.yaml:1: the file is empty");
    free(text);
}

static void a_long_unknown_key_is_cut_at_a_whole_letter(void **state)
{
    (void)state;
    char *text = repeat("x", "\xc3\xa4", 60); /* two bytes each */
    char expected[200] = "t.yaml:1: unknown key 'x";
    for (int i = 0; i < 24; i++)
        strcat(expected, "\xc3\xa4");
    strcat(expected, "...' " KEYS);
    char line[200];
    snprintf(line, sizeof line, "%s: 1", text);
    free(text);
    refused(line, strlen(line), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_is_refused_with_its_line_and_what_would_be_right),
        cmocka_unit_test(good_input_fills_every_field),
        cmocka_unit_test(an_absent_key_keeps_the_default),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_million_values_is_the_limit),
        cmocka_unit_test(sixteen_mebibytes_is_the_limit),
        cmocka_unit_test(a_long_unknown_key_is_cut_at_a_whole_letter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
