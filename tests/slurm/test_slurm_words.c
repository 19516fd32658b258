/* The words of the adapter to Slurm: requests, GRES, constraints, dependencies, orders and settings. */
#include "slurm/constraint.h"
#include "slurm/dependency.h"
#include "slurm/meter.h"
#include "slurm/protocol.h"
#include "slurm/request.h"
#include "slurm/settings.h"
#include "slurm/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assert_words(const struct adl_gpu_counts *counts, const char *expected)
{
    struct adl_text text = {0};
    adl_gpu_counts_write(counts, &text);
    assert_string_equal(text.data ? text.data : "", expected);
    adl_text_clear(&text);
}

static void a_request_reads_back_as_it_was_written(void **state)
{
    (void)state;
    static const char *const good[] = {"volta:2", "*:1", "volta:2|turing:1|*:4", "a100-80gb:8", "mi250.x_1:2"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct adl_gpu_counts counts;
        assert_int_equal(adl_gpu_counts_parse(good[i], &counts, NULL), 0);
        assert_words(&counts, good[i]);
    }
}

static void a_request_that_makes_no_sense_is_refused_and_nothing_written(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "volta",     "volta:",   "volta:0",  ":2",       "volta:2|",
                                      "|vol:2", "volta:x",   "volta:-1", "vo lta:1", "volta:2;", "**:1",
                                      "a:1|b",  "a:1234567", "a:1:2",    "volta: 2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct adl_gpu_counts counts = {.count = 7};
        struct adl_error err = {.text = ""};
        assert_int_equal(adl_gpu_counts_parse(bad[i], &counts, &err), ADL_EINVAL);
        assert_int_equal(counts.count, 7);
        assert_true(err.text[0] != '\0');
    }
}

static void a_request_knows_how_many_of_a_type_it_takes(void **state)
{
    (void)state;
    struct adl_gpu_counts counts;
    assert_int_equal(adl_gpu_counts_parse("volta:2|turing:1", &counts, NULL), 0);
    assert_int_equal(adl_gpu_counts_count(&counts, "volta"), 2);
    assert_int_equal(adl_gpu_counts_count(&counts, "turing"), 1);
    assert_int_equal(adl_gpu_counts_count(&counts, "radeon"), 0);
    assert_int_equal(adl_gpu_counts_parse("volta:2|*:4", &counts, NULL), 0);
    assert_int_equal(adl_gpu_counts_count(&counts, "radeon"), 4);
}

static void gpus_are_found_in_every_way_that_slurm_writes_them(void **state)
{
    (void)state;
    static const struct {
        const char *gres, *words;
    } cases[] = {
        {NULL, ""},
        {"", ""},
        {"gpu", "*:1"},
        {"gpu:4", "*:4"},
        {"gpu:volta", "volta:1"},
        {"gpu:volta:2(S:0)", "volta:2"},
        {"gpu:volta:1(S:0),gpu:turing:1(S:0-1)", "volta:1|turing:1"},
        {"gpu:volta:2(IDX:0,2),gpu:turing:0(IDX:N/A)", "volta:2|turing:0"},
        {"nic:2,gpu:volta:1,gpu:volta:2", "volta:3"},
        {"gres:gpu:volta:2", "volta:2"},
        {"gres/gpu:volta:2", "volta:2"},
        {"gres/gpu:volta=2", "volta:2"},
        {"gres:gpu:2", "*:2"},
        {"gres:", ""},
        {"gpuish:2,shard:4", ""},
        {"gpu:(", "" /* cut off */},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct adl_gpu_counts counts = adl_gres_parse(cases[i].gres);
        assert_words(&counts, cases[i].words);
    }
}

static void what_the_hook_wrote_is_understood_and_nothing_else_is(void **state)
{
    (void)state;
    struct adl_catch caught;
    assert_true(adl_catch_parse("adlro:volta:2|turing:1", &caught));
    assert_words(&caught.request, "volta:2|turing:1");
    assert_string_equal(caught.nodes, "");
    assert_true(adl_catch_parse("adlro:*:1;nodes=v[0-1],t0", &caught));
    assert_string_equal(caught.nodes, "v[0-1],t0");
    assert_true(adl_catch_parse("adlro:volta:6;by=job;nodes=v[0-1]", &caught));
    assert_string_equal(caught.nodes, "v[0-1]");
    adl_catch_divide(&caught, 2, 1, true);
    assert_int_equal(caught.request.items[0].count, 3);
    assert_int_equal(caught.asked.items[0].count, 6);
    assert_false(caught.uneven);
    adl_catch_divide(&caught, 4, 1, true);
    assert_true(caught.uneven);
    assert_true(adl_catch_parse("adlro:volta:1;by=task", &caught));
    adl_catch_divide(&caught, 1, 4, true);
    assert_int_equal(caught.request.items[0].count, 4);
    adl_catch_divide(&caught, 2, 4, false); /* Slurm would put three on one node and one on the other */
    assert_true(caught.uneven);
    assert_false(adl_catch_parse(NULL, &caught));
    assert_false(adl_catch_parse("adlro-given:volta:2", &caught));
    assert_false(adl_catch_parse("adlro: placed", &caught));
    assert_false(adl_catch_parse("mine", &caught));
}

static void a_constraint_holds_for_the_nodes_that_have_its_features(void **state)
{
    (void)state;
    static const struct {
        const char *constraint, *features;
        int holds;
    } cases[] = {
        {NULL, "volta", 1},
        {"", NULL, 1},
        {"volta", "volta", 1},
        {"volta", "volta2", 0},
        {"volta", NULL, 0},
        {"volta|turing", "turing,ib", 1},
        {"volta|turing", "radeon,ib", 0},
        {"volta&ib", "ib,volta", 1},
        {"volta,ib", "volta", 0},
        {"(volta|turing)&ib", "turing,ib", 1},
        {"(volta|turing)&ib", "turing", 0},
        {"a&(b|(c&d))", "a,c,d", 1},
        {"volta|turing&ib", "volta", ADL_EINVAL},
        {"ib*2", "ib", ADL_EINVAL},
        {"[rack1|rack2]", "rack1", ADL_EINVAL},
        {"volta|", "volta", ADL_EINVAL},
        {"(volta", "volta", ADL_EINVAL},
        {"volta)", "volta", ADL_EINVAL},
        {"()", "volta", ADL_EINVAL},
        {"a b", "a", ADL_EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(adl_constraint_holds(cases[i].constraint, cases[i].features), cases[i].holds);
}

/* Jobs by their last digit: 1 waits, 2 runs, 3 went well, 4 badly; others are forgotten. */
static enum adl_slurm_dependee by_digit(void *context, uint32_t job, int64_t array_index)
{
    (void)context;
    static const enum adl_slurm_dependee states[10] = {ADL_DEPENDEE_FORGOTTEN, ADL_DEPENDEE_PENDING,
                                                       ADL_DEPENDEE_RUNNING, ADL_DEPENDEE_SUCCEEDED,
                                                       ADL_DEPENDEE_FAILED};
    return states[array_index >= 0 ? array_index % 10 : job % 10];
}

static void a_dependency_is_met_when_slurm_would_say_so(void **state)
{
    (void)state;
    static const struct {
        const char *dependency;
        int met;
    } cases[] = {
        {NULL, 1},
        {"after:11(unfulfilled)", 0},
        {"after:12(unfulfilled)", 1},
        {"afterany:12(unfulfilled)", 0},
        {"afterany:14(unfulfilled)", 1},
        {"afterok:13(unfulfilled)", 1},
        {"afterok:14(failed)", 0},
        {"afterok:15(unfulfilled)", 1},
        {"afternotok:14", 1},
        {"afternotok:13", 0},
        {"afterok:13(unfulfilled),afterany:12(unfulfilled)", 0},
        {"afterok:13(unfulfilled)?afterany:12(unfulfilled)", 1},
        {"afterok:13:23:33", 1},
        {"afterok:13:24:33", 0},
        {"afterok:10_*(unfulfilled)", 1},
        {"afterok:10_4(unfulfilled)", 0},
        {"singleton(unfulfilled)", ADL_EINVAL},
        {"aftercorr:13", ADL_EINVAL},
        {"after:12+5(unfulfilled)", ADL_EINVAL},
        {"afterok:", ADL_EINVAL},
        {"afterok:13,", ADL_EINVAL},
        {"afterok:13,afterok:13?afterok:13", ADL_EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(adl_slurm_dependency_met(cases[i].dependency, by_digit, NULL), cases[i].met);
}

static struct adl_slurm_order order;

static void orders_are_read(void **state)
{
    (void)state;
    assert_int_equal(
        adl_slurm_order_read("{\"op\":\"place\",\"seq\":7,\"job\":12884901892,\"nodes\":[{\"node\":\"v0\",\"gpus\":2},"
                             "{\"node\":\"v1\",\"gpus\":2}],\"type\":\"volta\",\"comment\":\"adlro: easy: first\"}",
                             &order, NULL),
        0);
    assert_int_equal(order.op, ADL_SLURM_PLACE);
    assert_int_equal(order.seq, 7);
    assert_true(order.job == UINT64_C(12884901892));
    assert_int_equal(order.node_count, 2);
    assert_string_equal(order.nodes[1].name, "v1");
    assert_int_equal(order.nodes[1].gpus, 2);
    assert_string_equal(order.type, "volta");
    assert_string_equal(order.text, "adlro: easy: first");
    assert_int_equal(
        adl_slurm_order_read("{\"op\":\"hello\",\"partitions\":[\"gpu\",\"big\"],\"mode\":\"act\"}", &order, NULL), 0);
    assert_int_equal(order.mode, ADL_SLURM_ACT);
    assert_int_equal(order.partition_count, 2);
    assert_int_equal(order.poll_ms, 200);
    assert_int_equal(order.seq, -1);
}

static void orders_that_make_no_sense_are_refused_with_their_number(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"seq\":5,\"op\":\"dance\"}",
        "{\"seq\":5,\"op\":\"cancel\"}",
        "{\"seq\":5,\"op\":\"cancel\",\"job\":0}",
        "{\"seq\":5,\"op\":\"cancel\",\"job\":1.5}",
        "{\"seq\":5,\"op\":\"cancel\",\"job\":\"1\"}",
        "{\"seq\":5,\"op\":\"place\",\"job\":1}",
        "{\"seq\":5,\"op\":\"place\",\"job\":1,\"nodes\":[]}",
        "{\"seq\":5,\"op\":\"place\",\"job\":1,\"nodes\":[{\"node\":\"v0\"}]}",
        "{\"seq\":5,\"op\":\"place\",\"job\":1,\"nodes\":[{\"node\":\"v0\",\"gpus\":0}]}",
        "{\"seq\":5,\"op\":\"place\",\"job\":1,\"nodes\":[7]}",
        "{\"seq\":5,\"op\":\"hello\",\"mode\":\"destroy\"}",
        "{\"seq\":5,\"op\":\"hello\",\"poll_ms\":0}",
        "{\"seq\":5,\"op\":\"hello\",\"partitions\":[3]}",
        "{\"seq\":5,\"op\":\"comment\",\"job\":1,\"text\":4}",
        "{\"seq\":5}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct adl_error err = {.text = ""};
        assert_int_equal(adl_slurm_order_read(bad[i], &order, &err), ADL_EINVAL);
        assert_int_equal(order.seq, 5);
        assert_true(err.text[0] != '\0');
    }
    assert_int_equal(adl_slurm_order_read("nonsense", &order, NULL), ADL_EINVAL);
    assert_int_equal(order.seq, -1);
}

static void answers_are_one_line_each(void **state)
{
    (void)state;
    struct adl_text out = {0};
    adl_slurm_write_done(&out, 7, 0, NULL);
    adl_slurm_write_done(&out, 8, ADL_EABSENT, &(struct adl_error){.text = "line\nbreak"});
    adl_slurm_write_done(&out, -1, 0, NULL);
    adl_slurm_write_synced(&out, 2);
    assert_string_equal(out.data,
                        "{\"ev\":\"done\",\"seq\":7,\"ok\":true}\n"
                        "{\"ev\":\"done\",\"seq\":8,\"ok\":false,\"error\":\"line\\nbreak\",\"absent\":true}\n"
                        "{\"ev\":\"synced\",\"seq\":2}\n");
    adl_text_clear(&out);
}

static void settings_are_shared_with_the_hook(void **state)
{
    (void)state;
    char path[] = "/tmp/adlro-settings-XXXXXX";
    const int fd = mkstemp(path);
    static const char text[] = "# comment\npartitions gpu, big\nheartbeat /tmp/beat # here\nstale_s 60\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct adl_slurm_settings settings;
    assert_int_equal(adl_slurm_settings_read(path, &settings, NULL), 0);
    assert_int_equal(settings.partition_count, 2);
    assert_string_equal(settings.partitions[1], "big");
    assert_string_equal(settings.heartbeat, "/tmp/beat");
    unlink(path);
    assert_int_equal(adl_slurm_settings_read(path, &settings, NULL), 0);
    assert_int_equal(settings.partition_count, 0);
}

static void a_heartbeat_ages_and_one_that_never_was_is_old(void **state)
{
    (void)state;
    char path[] = "/tmp/adlro-beat-XXXXXX";
    close(mkstemp(path));
    assert_true(adl_slurm_heartbeat_age_s(path, 1000) == INT64_MAX);
    assert_int_equal(adl_slurm_heartbeat_write(path, 1000, NULL), 0);
    assert_int_equal(adl_slurm_heartbeat_age_s(path, 1007), 7);
    unlink(path);
    assert_true(adl_slurm_heartbeat_age_s(path, 1000) == INT64_MAX);
    assert_int_equal(adl_slurm_heartbeat_write("/nowhere/beat", 1000, NULL), ADL_EIO);
}

static void meters_are_known_by_the_names_of_plugins(void **state)
{
    (void)state;
    static const struct {
        const char *types, *meter;
    } cases[] = {
        {"acct_gather_energy/gpu", "gpus"},
        {"gpu", "gpus"},
        {"acct_gather_energy/gpu_file", "gpus"},
        {"acct_gather_energy/ipmi", "node"},
        {"acct_gather_energy/gpu,acct_gather_energy/rapl", "node"},
        {"acct_gather_energy/gpu,none", "gpus"},
        {"acct_gather_energy/rapl", "cpus"},
        {"acct_gather_energy/none", NULL},
        {"gpus_of_mine", "node"},
        {",,", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *meter = adl_slurm_meter(cases[i].types);
        assert_true(!meter == !cases[i].meter);
        if (meter)
            assert_string_equal(meter, cases[i].meter);
    }
}

static void usage_keeps_the_amounts_of_many_keys_apart(void **state)
{
    (void)state;
    struct adl_usage usage = {0};
    for (uint32_t width = 1; width <= 3; width += 2) {
        adl_usage_empty(&usage, width);
        assert_null(adl_usage_find(&usage, 0));
        for (uint64_t round = 0; round < 2; round++)
            for (uint64_t key = 0; key < 1000; key++)
                adl_usage_at(&usage, key << 32)[width - 1] += key + round;
        assert_int_equal(usage.count, 1000);
        for (uint64_t key = 0; key < 1000; key++) {
            const uint64_t *amounts = adl_usage_find(&usage, key << 32);
            assert_int_equal(amounts[width - 1], 2 * key + 1);
            assert_true(width == 1 || (amounts[0] == 0 && amounts[1] == 0));
        }
        assert_null(adl_usage_find(&usage, 1));
    }
    adl_usage_clear(&usage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_reads_back_as_it_was_written),
        cmocka_unit_test(a_request_that_makes_no_sense_is_refused_and_nothing_written),
        cmocka_unit_test(a_request_knows_how_many_of_a_type_it_takes),
        cmocka_unit_test(gpus_are_found_in_every_way_that_slurm_writes_them),
        cmocka_unit_test(what_the_hook_wrote_is_understood_and_nothing_else_is),
        cmocka_unit_test(a_constraint_holds_for_the_nodes_that_have_its_features),
        cmocka_unit_test(a_dependency_is_met_when_slurm_would_say_so),
        cmocka_unit_test(meters_are_known_by_the_names_of_plugins),
        cmocka_unit_test(orders_are_read),
        cmocka_unit_test(orders_that_make_no_sense_are_refused_with_their_number),
        cmocka_unit_test(answers_are_one_line_each),
        cmocka_unit_test(settings_are_shared_with_the_hook),
        cmocka_unit_test(a_heartbeat_ages_and_one_that_never_was_is_old),
        cmocka_unit_test(usage_keeps_the_amounts_of_many_keys_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
