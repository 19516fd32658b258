/* slurm.conf and gres.conf: read as Slurm reads them, every setting with its place; lists of hosts; nodes, GPUs and
 * partitions; and diffs of what is changed. */
#include "base/index.h"
#include "executor/slurm/hostlist.h"
#include "executor/slurm/slurm_layout.h"
#include "report/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Files by name, in place of a disk. */
struct shelf {
    const char *path;
    const char *text;
};

static int read_shelf(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    for (const struct shelf *file = context; file->path; file++)
        if (strcmp(file->path, path) == 0) {
            *ret_text = strdup(file->text);
            *ret_size = strlen(file->text);
            return *ret_text ? 0 : ADL_ENOMEM;
        }
    return adl_fail(err, ADL_EIO, "cannot open %s", path);
}

static int parse(const struct shelf *files, struct adl_slurm_conf *ret, struct adl_error *err)
{
    struct shelf copy[12];
    size_t count = 0;
    for (; files[count].path; count++)
        copy[count] = files[count];
    copy[count] = files[count];
    const struct adl_slurm_source source = {read_shelf, copy};
    return adl_slurm_conf_parse(files[0].path, files[0].text, strlen(files[0].text), &source, ret, err);
}

static struct adl_slurm_conf read_text(const char *text)
{
    const struct shelf files[] = {{"etc/slurm.conf", text}, {NULL, NULL}};
    struct adl_slurm_conf conf;
    struct adl_error err;
    if (parse(files, &conf, &err))
        fail_msg("%s", err.text);
    return conf;
}

static const char *value_of(const struct adl_slurm_conf *conf, const char *key)
{
    const struct adl_slurm_setting *setting = adl_slurm_conf_find(conf, key);
    return setting ? setting->value : "(none)";
}

/* ---- settings ---- */

static void lines_are_read_as_slurm_reads_them(void **state)
{
    static const struct {
        const char *text;
        const char *value; /* of the key K */
    } cases[] = {
        {"K=v\n", "v"},
        {"k = v # x\n", "v"},
        {"  K=\tv", "v"},
        {"K=a b=c\n", "a"},
        {"b=c K=a\n", "a"},
        {"K=\"two words\" b=c\n", "two words"},
        {"K=\"\"\n", ""},
        {"K=\"a\"b\n", "\"a\"b"},
        {"K=a\\#b # c\n", "a#b"},
        {"K=a\\\\b\n", "a\\b"},
        {"K=a,\\\nb\n", "a,b"},
        {"K=a,\\  \nb\n", "a,b"},
        {"K=a, \\\n  b=1\n", "a,"},
        {"K=a \\ # more\n b=1\n", "a"},
        {"K=a\\\\\nb=1\n", "a\\"},
        {"K=a\r\nb=1\r\n", "a"},
        {"K=a\nK=b\n", "b"},
        {"K+=3\n", "3"},
        {"#K=1\n#\nK=2", "2"},
        {"K=1 \\", "1"},
        {"x=1\nNodeName=n K=3\n", "(none)"},
        {"Includes=1 K=2\n", "2"},
        {"Include=1 K=2\n", "2"},
        {"", "(none)"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adl_slurm_conf conf = read_text(cases[i].text);
        if (strcmp(value_of(&conf, "K"), cases[i].value) != 0)
            fail_msg("'%s' gives %s", cases[i].text, value_of(&conf, "K"));
        adl_slurm_conf_clear(&conf);
    }
}

static void every_value_is_at_its_recorded_position(void **state)
{
    static const char text[] = "# head\nA=1 \\\n  Bee = \"x y\"\nC=a\\#b\nD=\"\"\nE=p,\\\nq";
    static const struct {
        const char *key;
        const char *bytes;
        uint32_t line;
    } cases[] = {{"a", "1", 2}, {"bee", "x y", 2}, {"c", "a\\#b", 4}, {"d", "", 5}, {"e", "p,\\\nq", 6}};
    struct adl_slurm_conf conf = read_text(text);
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct adl_slurm_setting *setting = adl_slurm_conf_find(&conf, cases[i].key);
        const size_t size = strlen(cases[i].bytes);
        assert_non_null(setting);
        assert_int_equal(setting->line, cases[i].line);
        assert_int_equal(setting->value_end - setting->value_at, size);
        assert_memory_equal(text + setting->value_at, cases[i].bytes, size);
    }
    adl_slurm_conf_clear(&conf);
}

static void included_files_stand_where_they_are_named(void **state)
{
    static const struct shelf files[] = {
        {"etc/slurm.conf", "ClusterName=big\nA=1\nInclude sub/nodes-%c.conf\nB=%c\n"},
        {"etc/sub/nodes-big.conf", "A=2\nINCLUDE more.conf # from slurm.conf's folder\nB=2\n"},
        {"etc/more.conf", "C=3\n"},
        {NULL, NULL},
    };
    struct adl_slurm_conf conf;
    struct adl_error err;
    (void)state;
    assert_int_equal(parse(files, &conf, &err), 0);
    assert_string_equal(value_of(&conf, "A"), "2");
    assert_string_equal(value_of(&conf, "B"), "%c");
    assert_string_equal(value_of(&conf, "C"), "3");
    assert_int_equal(conf.file_count, 3);
    assert_string_equal(conf.files[adl_slurm_conf_find(&conf, "C")->file].path, "etc/more.conf");
    assert_int_equal(adl_slurm_conf_find(&conf, "B")->line, 4);
    adl_slurm_conf_clear(&conf);
}

static void errors_name_file_and_line(void **state)
{
    static const struct {
        struct shelf files[4];
        const char *message;
    } cases[] = {
        {{{"a", "K=1\nK\n"}}, "a:2: Key=value is expected, got 'K'"},
        {{{"a", "K=1 =2\n"}}, "a:1: Key=value is expected, got '=2'"},
        {{{"a", "\n\nK=\n"}}, "a:3: Key=value is expected, got 'K='"},
        {{{"a", "K=\"a b\n"}}, "a:1: Key=value is expected, got 'b'"},
        {{{"a", "K=1 \\\n L\n"}}, "a:1: Key=value is expected, got 'L'"},
        {{{"a", "K=1\nInclude b\n"}}, "a:2: cannot open b"},
        {{{"a", "Include b\n"}, {"b", "\nX\n"}}, "b:2: Key=value is expected, got 'X'"},
        {{{"a", "Include a\n"}}, "a:1: files include one another more than 8 deep"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adl_slurm_conf conf = {.file_count = 77};
        struct adl_error err;
        assert_int_not_equal(parse(cases[i].files, &conf, &err), 0);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(conf.file_count, 77);
    }
}

static void defaults_hold_for_the_lines_below_them_until_others_replace_them(void **state)
{
    struct adl_slurm_conf conf = read_text("NodeName=a CPUs=1\n"
                                           "NodeName=DEFAULT CPUs=2 Gres=gpu:1\n"
                                           "PartitionName=default Gres=no\n"
                                           "NodeName=b\n"
                                           "nodename=default CPUs=3\n"
                                           "NodeName=c\n"
                                           "NodeName=d CPUs=4\n");
    static const struct {
        size_t line;
        const char *cpus, *gres;
    } cases[] = {{0, "1", NULL}, {3, "2", "gpu:1"}, {5, "3", "gpu:1"}, {6, "4", "gpu:1"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct adl_slurm_setting *gres = adl_slurm_line_inherit(&conf, cases[i].line, "gres");
        assert_string_equal(adl_slurm_line_inherit(&conf, cases[i].line, "cpus")->value, cases[i].cpus);
        assert_string_equal(gres ? gres->value : "", cases[i].gres ? cases[i].gres : "");
    }
    adl_slurm_conf_clear(&conf);
}

/* ---- hosts ---- */

static int add_name(void *arg, const char *name)
{
    char *all = arg;
    const size_t used = strlen(all);
    snprintf(all + used, 512 - used, "%s%s", used ? " " : "", name);
    return 0;
}

static int count_name(void *arg, const char *name)
{
    (void)name;
    ++*(size_t *)arg;
    return 0;
}

static int stop_at_two(void *arg, const char *name)
{
    (void)name;
    return ++*(size_t *)arg == 2 ? 42 : 0;
}

static void lists_of_hosts_are_expanded(void **state)
{
    static const struct {
        const char *list, *names;
    } cases[] = {
        {"a", "a"},
        {"a,b", "a b"},
        {"v[0-3,7]", "v0 v1 v2 v3 v7"},
        {"n[08-11]-ib,x", "n08-ib n09-ib n10-ib n11-ib x"},
        {"r[0-1]n[1-2]", "r0n1 r0n2 r1n1 r1n2"},
        {"n[9-11]", "n9 n10 n11"},
        {"/dev/nvidia[0-1]", "/dev/nvidia0 /dev/nvidia1"},
        {"a,", "a"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char all[512] = "";
        assert_int_equal(adl_hostlist_each(cases[i].list, add_name, all, NULL), 0);
        assert_string_equal(all, cases[i].names);
    }
    size_t count = 0;
    assert_int_equal(adl_hostlist_each("a[0-65535]", count_name, &count, NULL), 0);
    assert_int_equal(count, 65536);
    count = 0;
    assert_int_equal(adl_hostlist_each("a[1-9]", stop_at_two, &count, NULL), 42);
    assert_int_equal(count, 2);
}

static void lists_of_hosts_that_are_wrong_are_refused(void **state)
{
    static const char *const lists[] = {"a[",
                                        "a]",
                                        "a[0-3",
                                        "a[]",
                                        "a[3-1]",
                                        "a[x]",
                                        "a[1-]",
                                        "a[-1]",
                                        ",a",
                                        "a,,b",
                                        "a[0-65536]",
                                        "a[0-999999999]",
                                        "a[1234567890]",
                                        "a[[1]]",
                                        "a[1][1][1][1][1]",
                                        "a[1,]",
                                        "a[0-999]b[0-999]",
                                        "a[1 ]"};
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct adl_error err = {{0}};
        size_t count = 0;
        if (adl_hostlist_each(lists[i], count_name, &count, &err) != ADL_EINVAL)
            fail_msg("'%s' is taken", lists[i]);
        assert_non_null(strstr(err.text, "in the list of hosts"));
    }
}

/* ---- nodes ---- */

static void gpus_of_a_node_are_counted_by_type(void **state)
{
    static const struct {
        const char *gres, *gpus;
    } cases[] = {
        {"gpu:volta:4", "volta=4 "},
        {"gpu:4", "=4 "},
        {"gpu", "=1 "},
        {"gpu:volta", "volta=1 "},
        {"gpu:volta:2,gpu:turing:2,gpu:volta:1", "volta=3 turing=2 "},
        {"shard:8,gpu:a100:8(S:0-1),nic:2", "a100=8 "},
        {"gpu:no_consume:k80:2", "k80=2 "},
        {"gpu:rtx:4090:2", "rtx:4090=2 "},
        {"gpus:2,mygpu:3", ""},
        {"gpu:0", ""},
        {NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adl_layout_gpus gpus;
        char all[512] = "";
        adl_layout_gpus_read(cases[i].gres, &gpus);
        for (size_t k = 0; k < gpus.count; k++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s=%d ", gpus.kinds[k].type,
                     (int)gpus.kinds[k].count);
        assert_string_equal(all, cases[i].gpus);
    }
}

static void partitions_have_the_nodes_they_name(void **state)
{
    struct adl_slurm_conf conf = read_text("NodeName=b[0-1] Feature=new,big\n"
                                           "NodeName=a0,a1 Features=old\n"
                                           "NodeSet=fresh Feature=new\n"
                                           "NodeSet=both Nodes=fresh,a1\n"
                                           "NodeSet=self Nodes=self\n"
                                           "PartitionName=one Nodes=b1,a0,b1\n"
                                           "PartitionName=DEFAULT Nodes=ALL\n"
                                           "PartitionName=all\n"
                                           "PartitionName=set Nodes=both\n"
                                           "PartitionName=lost Nodes=a0,zz,a1\n"
                                           "PartitionName=circle Nodes=self\n");
    static const struct {
        const char *nodes; /* 0 = a0, 1 = a1, 2 = b0, 3 = b1 */
        const char *absent;
    } wanted[] = {{"03", ""}, {"0123", ""}, {"123", ""}, {"01", "zz"}, {"", "self"}};
    struct adl_slurm_layout cluster;
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_slurm_layout_read(&conf, &cluster, &err), 0);
    assert_int_equal(cluster.node_count, 4);
    assert_int_equal(adl_layout_node_find(&cluster, "b0"), 2);
    assert_int_equal(adl_layout_node_find(&cluster, "b2"), ADL_NONE);
    assert_int_equal(cluster.partition_count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        char nodes[8] = "";
        for (size_t k = 0; k < cluster.partitions[i].node_count; k++)
            nodes[k] = (char)('0' + (int)cluster.partitions[i].nodes[k]);
        assert_string_equal(nodes, wanted[i].nodes);
        assert_string_equal(cluster.partitions[i].absent, wanted[i].absent);
    }
    adl_slurm_layout_clear(&cluster);
    adl_slurm_conf_clear(&conf);
}

/* ---- diffs ---- */

static void diffs_show_what_was_changed_and_three_lines_around_it(void **state)
{
    static const char ten[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
    static const struct {
        const char *text;
        struct adl_edit edits[3];
        size_t count;
        const char *diff; /* without its first two lines */
    } cases[] = {
        {ten, {{8, 9, "five"}}, 1, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
        {ten, {{21, 21, "x\n"}}, 1, "@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+x\n"},
        {ten,
         {{21, 21, "x\n"}, {0, 1, "A"}},
         2,
         "@@ -1,4 +1,4 @@\n-1\n+A\n 2\n 3\n 4\n@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+x\n"},
        {"a b\n", {{2, 3, "y"}, {0, 1, "x"}}, 2, "@@ -1,1 +1,1 @@\n-a b\n+x y\n"},
        {"a\nb\n", {{0, 1, "x"}, {2, 3, "y"}}, 2, "@@ -1,2 +1,2 @@\n-a\n-b\n+x\n+y\n"},
        {"a\nb\nc", {{0, 3, "x"}}, 1, "@@ -1,3 +1,2 @@\n-a\n-b\n+x\n c\n\\ No newline at end of file\n"},
        {"a", {{1, 1, "\nx\n"}}, 1, "@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+x\n"},
        {"", {{0, 0, "x\n"}, {0, 0, "y\n"}}, 2, "@@ -0,0 +1,2 @@\n+x\n+y\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        static const char head[] = "--- a/f\n+++ b/f\n";
        struct adl_text diff = {0};
        assert_int_equal(
            adl_diff_put(&diff, "/f", cases[i].text, strlen(cases[i].text), cases[i].edits, cases[i].count), 0);
        assert_memory_equal(diff.data, head, sizeof head - 1);
        assert_string_equal(diff.data + sizeof head - 1, cases[i].diff);
        adl_text_clear(&diff);
    }
}

static void no_change_gives_no_diff_and_blanks_in_a_path_are_marked(void **state)
{
    const struct adl_edit edit = {0, 0, "x\n"};
    struct adl_text diff = {0};
    (void)state;
    assert_int_equal(adl_diff_put(&diff, "/f", "a\n", 2, NULL, 0), 0);
    assert_int_equal(diff.size, 0);
    assert_int_equal(adl_diff_put(&diff, "/a b", "", 0, &edit, 1), 0);
    assert_non_null(strstr(diff.data, "--- a/a b\t\n+++ b/a b\t\n"));
    adl_text_clear(&diff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_as_slurm_reads_them),
        cmocka_unit_test(every_value_is_at_its_recorded_position),
        cmocka_unit_test(included_files_stand_where_they_are_named),
        cmocka_unit_test(errors_name_file_and_line),
        cmocka_unit_test(defaults_hold_for_the_lines_below_them_until_others_replace_them),
        cmocka_unit_test(lists_of_hosts_are_expanded),
        cmocka_unit_test(lists_of_hosts_that_are_wrong_are_refused),
        cmocka_unit_test(gpus_of_a_node_are_counted_by_type),
        cmocka_unit_test(partitions_have_the_nodes_they_name),
        cmocka_unit_test(diffs_show_what_was_changed_and_three_lines_around_it),
        cmocka_unit_test(no_change_gives_no_diff_and_blanks_in_a_path_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
