/* trace_supply: rows of a trace become jobs of a cluster, and what it cannot run is counted. */
#include "experiment/run.h"
#include "experiment/trace_supply.h"
#include "scenario_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static const char cluster_text[] = "name: bare\n"
                                   "description: hardware alone\n"
                                   "catalogue: catalogue.yaml\n"
                                   "kill_at_limit: false\n"
                                   "cluster:\n"
                                   "  network_gbs: 10\n"
                                   "  nodes: [{name: n, count: 2, cpu_cores: 8, memory_mib: 8192, link_gbs: 10,\n"
                                   "           gpus: [{type: small, count: 4}, {type: big, count: 1}]}]\n";

static const char throughput_text[] = "{\"BIG\": {\"('train', 1)\": {\"null\": 4.0}, \"('train', 2)\": {\"null\": 7},\n"
                                      "         \"('idle', 1)\": {\"null\": 0.0}},\n"
                                      " \"small\": {\"('train', 1)\": {\"null\": 2.0, \"('x', 1)\": [1, 1]}}}\n";

struct bench {
    char path[64];
    struct adl_scenario scenario;
    struct adl_throughputs *throughputs;
    struct adl_trace_supply *supply;
};

static void setup(struct bench *bench, const char *trace, bool strict, bool measured, uint64_t jobs_max)
{
    const struct adl_scenario_source source = {.read = fixture_read, .context = (void *)(uintptr_t)fixture_catalogue};
    struct adl_error err = {{0}};
    *bench = (struct bench){.path = "/tmp/adlro_trace_XXXXXX"};
    const int file = mkstemp(bench->path);
    assert_true(file >= 0);
    assert_int_equal(write(file, trace, strlen(trace)), (ssize_t)strlen(trace));
    close(file);
    if (adl_cluster_parse("c.yaml", cluster_text, strlen(cluster_text), &source, &bench->scenario, &err))
        fail_msg("%s", err.text);
    if (measured &&
        adl_throughputs_parse("t.json", throughput_text, strlen(throughput_text), &bench->throughputs, &err))
        fail_msg("%s", err.text);
    const struct adl_trace_plan plan = {.path = bench->path,
                                        .options = {.format = ADL_TRACE_CSV, .strict = strict},
                                        .scenario = &bench->scenario,
                                        .throughputs = bench->throughputs,
                                        .jobs_max = jobs_max};
    assert_int_equal(adl_trace_supply_create(&plan, &bench->supply, &err), 0);
}

static void teardown(struct bench *bench)
{
    adl_trace_supply_destroy(bench->supply);
    adl_throughputs_destroy(bench->throughputs);
    adl_scenario_clear(&bench->scenario);
    remove(bench->path);
}

/* All jobs of one source; returns how many, or a negative status. */
static int read_jobs(struct bench *bench, struct adl_true_job *ret, int max, struct adl_error *err)
{
    const struct adl_job_supply supply = adl_trace_supply_jobs(bench->supply);
    struct adl_job_source source;
    int count = 0, status = supply.open(supply.self, 1, &source, err);
    if (status)
        return status;
    while (count < max && (status = source.next(source.self, &ret[count], err)) > 0)
        count++;
    source.close(source.self);
    return status < 0 ? status : count;
}

static void a_row_becomes_a_job_with_all_that_it_says(void **state)
{
    (void)state;
    struct bench bench;
    struct adl_true_job job[4];
    struct adl_error err = {{0}};
    setup(&bench,
          "id,submit,gpus,duration,limit,user,name,types,cpu_milli,memory_mib,priority,deadline\n"
          "a,100,2,50.5,80,ann,net,SMALL|gone,3500,1001,0.25,200\n"
          "b,160,1,7,,bob,,,,,,\n"
          "c,161,1,7,,ann,net,,,,,\n",
          false, false, 0);
    assert_int_equal(read_jobs(&bench, job, 4, &err), 3);
    const struct adl_job_spec *spec = &job[0].spec;
    assert_int_equal(job[0].submit_us, 0);
    assert_int_equal(job[1].submit_us, 60000000);
    assert_int_equal(spec->gpus, 2);
    assert_int_equal(spec->types, 1);
    assert_int_equal(spec->class_index, 0);
    assert_int_equal(spec->kind, ADL_KIND_TRAINING);
    assert_int_equal(spec->flags, ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN);
    assert_int_equal(spec->cpu_cores, 2);    /* 1.75 per GPU */
    assert_int_equal(spec->memory_mib, 501); /* 500.5 */
    assert_int_equal(spec->gpu_memory_mib, 0);
    assert_true(spec->priority == 0.25f && job[1].spec.priority == 0.5f);
    assert_int_equal(spec->limit_us, 80000000);
    assert_int_equal(spec->deadline_us, 200000000);
    assert_int_equal(job[0].runtime_us[0], 50500000);
    assert_int_equal(job[0].runtime_us[1], 0);
    assert_int_equal(job[0].ideal_us, 50500000);
    assert_true(job[0].steps == 50.5);
    assert_int_equal(job[1].spec.types, 3);
    assert_int_equal(job[1].runtime_us[0], 7000000);
    assert_int_equal(job[1].runtime_us[1], 7000000);
    assert_int_equal(job[1].spec.limit_us, ADL_SITE_LIMIT_US); /* not its run time: nobody could know that */
    assert_true(job[1].without_limit && !job[0].without_limit);
    assert_int_equal(job[0].spec.user, job[2].spec.user);
    assert_int_not_equal(job[0].spec.user, job[1].spec.user);
    assert_int_equal(job[0].spec.name_id, adl_job_name_id("net"));
    assert_int_equal(job[0].spec.name_id, job[2].spec.name_id);
    assert_int_equal(job[1].spec.name_id, 0);
    const struct adl_trace_account account = adl_trace_supply_account(bench.supply);
    assert_int_equal(account.jobs, 3);
    assert_int_equal(account.without_limit, 2);
    assert_int_equal(account.format, ADL_TRACE_CSV);
    teardown(&bench);
}

static void a_part_of_a_gpu_is_a_part_of_the_memory_of_the_least_acceptable_one(void **state)
{
    (void)state;
    struct bench bench;
    struct adl_true_job job[4];
    struct adl_error err = {{0}};
    setup(&bench,
          "id,submit,gpus,duration,types,gpu_milli\n"
          "1,0,1,5,,250\n"
          "2,0,1,5,big,250\n"
          "3,0,2,5,,250\n"
          "4,0,1,5,,1000\n",
          false, false, 0);
    assert_int_equal(read_jobs(&bench, job, 4, &err), 4);
    assert_int_equal(job[0].spec.gpu_memory_mib, 2048);
    assert_true(job[0].spec.flags & ADL_JOB_SHARE);
    assert_int_equal(job[1].spec.gpu_memory_mib, 4096);
    assert_false(job[2].spec.flags & ADL_JOB_SHARE);
    assert_false(job[3].spec.flags & ADL_JOB_SHARE);
    teardown(&bench);
}

static const char misfits[] = "id,submit,gpus,duration,types,cpu_milli,memory_mib\n"
                              "1,0,1,5,,,\n"
                              "2,0,1,5,h100,,\n"
                              "3,0,9,5,,,\n"
                              "4,0,3,5,big,,\n"
                              "5,0,1,5,,8001,\n"
                              "6,0,1,5,,,8193\n"
                              "7,0,5000,5,,,\n"
                              "8,0,8,5,small,8000,8192\n"
                              "9,0,0,5,,,\n";

static void rows_that_the_cluster_can_never_run_are_counted_by_reason(void **state)
{
    (void)state;
    struct bench bench;
    struct adl_true_job job[9];
    struct adl_error err = {{0}};
    setup(&bench, misfits, false, false, 0);
    assert_int_equal(read_jobs(&bench, job, 9, &err), 2);
    const struct adl_trace_account account = adl_trace_supply_account(bench.supply);
    assert_int_equal(account.rows[ADL_TRACE_USED], 2);
    assert_int_equal(account.rows[ADL_TRACE_UNKNOWN_TYPE], 1);
    assert_int_equal(account.rows[ADL_TRACE_NEVER_FITS], 5);
    assert_int_equal(account.rows[ADL_TRACE_NO_GPU], 1);
    teardown(&bench);
}

static void a_strict_supply_fails_at_the_line_that_it_cannot_use(void **state)
{
    (void)state;
    struct bench bench;
    struct adl_true_job job[9];
    struct adl_error err = {{0}};
    setup(&bench, "id,submit,gpus,duration,types\n1,0,1,5,\n2,0,1,5,h100\n", true, false, 0);
    assert_true(read_jobs(&bench, job, 9, &err) < 0);
    assert_non_null(strstr(err.text, ":3: "));
    teardown(&bench);
}

static void only_the_first_jobs_come_if_so_many_were_asked_for(void **state)
{
    (void)state;
    struct bench bench;
    struct adl_true_job job[9];
    struct adl_error err = {{0}};
    setup(&bench, "id,submit,gpus,duration\n1,0,1,5\n2,1,90,5\n3,2,1,6\n4,3,1,7\n", false, false, 2);
    assert_int_equal(read_jobs(&bench, job, 9, &err), 2);
    assert_int_equal(job[1].submit_us, 2000000);
    assert_int_equal(adl_trace_supply_account(bench.supply).jobs, 2);
    teardown(&bench);
}

static void steps_take_as_long_as_the_throughput_of_each_type_says(void **state)
{
    (void)state;
    struct bench bench;
    struct adl_true_job job[9];
    struct adl_error err = {{0}};
    const char trace[] = "id,submit,gpus,duration,name,steps\n"
                         "1,0,1,,train,100\n"
                         "2,0,2,,train,100\n"
                         "3,0,1,9,other,100\n"
                         "4,0,1,,idle,100\n"
                         "5,0,1,,other,100\n";
    setup(&bench, trace, false, true, 0);
    assert_int_equal(read_jobs(&bench, job, 9, &err), 3);
    assert_int_equal(job[0].runtime_us[0], 50000000); /* small */
    assert_int_equal(job[0].runtime_us[1], 25000000);
    assert_int_equal(job[0].ideal_us, 25000000);
    assert_int_equal(job[0].spec.limit_us, ADL_SITE_LIMIT_US);
    assert_true(job[0].steps == 100);
    assert_int_equal(job[1].spec.types, 2); /* two GPUs were measured on big alone */
    assert_int_equal(job[1].runtime_us[1], 14285714);
    assert_int_equal(job[2].runtime_us[0], 9000000); /* not measured at all: its duration stands */
    assert_int_equal(adl_trace_supply_account(bench.supply).rows[ADL_TRACE_BAD_TIME], 2);
    teardown(&bench);

    setup(&bench, trace, false, false, 0);
    assert_int_equal(read_jobs(&bench, job, 9, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, ":2: the job has steps and no run time"));
    teardown(&bench);
}

static void throughputs_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\n\"v100\": {,}", "t.json:2: this is not JSON"},
        {"[1]", "t.json: must be a JSON object of GPU types"},
        {"{\"v100\": 3}", "t.json: 'v100' must be a GPU type of at most 63 bytes with an object of jobs"},
        {"{\"v100\": {\"LM\": {\"null\": 1}}}", "t.json: under 'v100': a job must be named like ('NAME', 1), got 'LM'"},
        {"{\"v100\": {\"('LM', 1)\": {}}}",
         "t.json: 'v100', \"('LM', 1)\": \"null\" must be steps/s, a number of at least 0"},
        {"{\"v100\": {\"('LM', 1)\": {\"null\": -1}}}",
         "t.json: 'v100', \"('LM', 1)\": \"null\" must be steps/s, a number of at least 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_throughputs *throughputs = NULL;
        struct adl_error err = {{0}};
        assert_int_equal(adl_throughputs_parse("t.json", cases[i].text, strlen(cases[i].text), &throughputs, &err),
                         ADL_EINVAL);
        assert_string_equal(err.text, cases[i].message);
        assert_null(throughputs);
    }
}

struct reader {
    struct bench *bench;
    int count;
};

static void *read_all(void *self)
{
    struct reader *reader = self;
    struct adl_true_job job[9];
    struct adl_error err;
    for (int i = 0; i < 50; i++)
        reader->count += read_jobs(reader->bench, job, 9, &err);
    return NULL;
}

static void sources_open_at_once_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct bench bench;
    pthread_t threads[4];
    struct reader readers[4];
    setup(&bench, misfits, false, false, 0);
    for (int i = 0; i < 4; i++) {
        readers[i] = (struct reader){.bench = &bench};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].count, 100);
    }
    assert_int_equal(adl_trace_supply_account(bench.supply).rows[ADL_TRACE_NEVER_FITS], 5);
    teardown(&bench);
}

/* Ten GPUs; three jobs of eight small ones must follow each other. */
static void a_run_on_a_trace_takes_as_long_as_its_durations_add_up_to(void **state)
{
    (void)state;
    struct bench bench;
    struct adl_result result;
    struct adl_error err = {{0}};
    setup(&bench, "id,submit,gpus,duration,types\n1,5,8,10,small\n2,5,8,20,small\n3,6,8,30,small\n", false, false, 0);
    const struct adl_job_supply supply = adl_trace_supply_jobs(bench.supply);
    const struct adl_run run = {
        .scenario = &bench.scenario, .policy = adl_policy_find("fcfs"), .seed = 1, .supply = &supply};
    if (adl_run(&run, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(result.jobs, 3);
    assert_int_equal(result.timeouts, 0);
    assert_true(result.value[ADL_METRIC_MAKESPAN] == 60);
    assert_true(result.value[ADL_METRIC_JCT_MEAN] == (10 + 30 + 59) / 3.0);
    teardown(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_becomes_a_job_with_all_that_it_says),
        cmocka_unit_test(a_part_of_a_gpu_is_a_part_of_the_memory_of_the_least_acceptable_one),
        cmocka_unit_test(rows_that_the_cluster_can_never_run_are_counted_by_reason),
        cmocka_unit_test(a_strict_supply_fails_at_the_line_that_it_cannot_use),
        cmocka_unit_test(only_the_first_jobs_come_if_so_many_were_asked_for),
        cmocka_unit_test(steps_take_as_long_as_the_throughput_of_each_type_says),
        cmocka_unit_test(throughputs_that_make_no_sense_are_refused),
        cmocka_unit_test(sources_open_at_once_do_not_disturb_each_other),
        cmocka_unit_test(a_run_on_a_trace_takes_as_long_as_its_durations_add_up_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
