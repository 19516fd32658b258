/* test_slurm_mirror: what the adapter says of nodes and jobs, sense and nonsense, and whose each GPU is then. */
#include "slurm_fixture.h"

static struct adl_inventory inventory;
static struct adl_slurm_mirror mirror;

static int open_mirror(void **state)
{
    (void)state;
    struct adl_error err = {""};
    struct adl_catalogue catalogue;
    const struct adl_executor_slurm_config config = {0};
    cJSON *messages = cJSON_CreateArray();
    memset(&inventory, 0, sizeof inventory);
    assert_int_equal(adl_inventory_catalogue(NULL, &catalogue, &err), 0);
    for (size_t i = 0; i < sizeof fixture_nodes / sizeof *fixture_nodes; i++)
        cJSON_AddItemToArray(messages, parse_json(fixture_nodes[i]));
    if (adl_slurm_nodes_add(&config, &catalogue, messages, &inventory, &err))
        fail_msg("%s", err.text);
    cJSON_Delete(messages);
    adl_catalogue_clear(&catalogue);
    assert_int_equal(adl_slurm_mirror_create(&mirror, &inventory), 0);
    return 0;
}

static int close_mirror(void **state)
{
    (void)state;
    adl_slurm_mirror_clear(&mirror);
    adl_inventory_clear(&inventory);
    return 0;
}

static struct adl_mirror_job *read_job(const char *text)
{
    cJSON *message = parse_json(text);
    struct adl_mirror_job *job = adl_slurm_mirror_read_job(&mirror, message, false);
    cJSON_Delete(message);
    return job;
}

static void read_node(const char *text)
{
    cJSON *message = parse_json(text);
    adl_slurm_mirror_read_node(&mirror, message);
    cJSON_Delete(message);
}

static uint32_t find_gpus(const struct adl_mirror_job *job, const char *text, uint32_t *gpus)
{
    cJSON *message = parse_json(text);
    const uint32_t count = adl_slurm_mirror_find_gpus(&mirror, job, message, gpus);
    cJSON_Delete(message);
    return count;
}

static void the_cluster_has_the_gpus_of_the_messages(void **state)
{
    (void)state;
    assert_int_equal(inventory.scenario.cluster.node_count, 4);
    assert_int_equal(inventory.scenario.cluster.gpu_count, 7);
    assert_int_equal(inventory.scenario.cluster.type_count, 2);
}

static void a_job_is_kept_with_what_it_asks_for(void **state)
{
    (void)state;
    const struct adl_mirror_job *job = read_job(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"eligible\":true,\"request\":\"volta:2|turing:1\","
        "\"nodes_min\":1,\"cpus\":4,\"memory_mib\":1000,\"limit_s\":120,\"name\":\"x\",\"user\":\"ann\"}");
    assert_non_null(job);
    assert_ptr_equal(adl_slurm_mirror_find(&mirror, 7), job);
    assert_int_equal(job->spec.gpus, 2);
    assert_int_equal(job->spec.cpu_cores, 2);
    assert_int_equal(job->spec.memory_mib, 500);
    assert_true(job->spec.limit_us == INT64_C(120000000));
    assert_string_equal(job->unfit, "");
    assert_string_equal(job->arrival.request, "volta:2|turing:1");
}

static void a_job_without_a_limit_does_not_seem_short(void **state)
{
    (void)state;
    const struct adl_mirror_job *job =
        read_job("{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"*:1\",\"limit_s\":null}");
    assert_true(job->spec.limit_us > INT64_C(86400000000));
}

static void a_gang_counts_the_gpus_of_all_its_nodes(void **state)
{
    (void)state;
    const struct adl_mirror_job *job =
        read_job("{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:2\",\"nodes_min\":2,\"cpus\":4,"
                 "\"memory_mib\":1000}");
    assert_int_equal(job->spec.gpus, 4);
    assert_true(job->spec.flags & ADL_JOB_SPAN);
    assert_int_equal(job->spec.cpu_cores, 1);
    assert_int_equal(job->spec.memory_mib, 500); /* that of a node is shared by its two GPUs */
    assert_string_equal(job->arrival.request, "volta:4");
}

static void a_type_is_accepted_if_enough_allowed_nodes_have_it(void **state)
{
    (void)state;
    const struct adl_mirror_job *job =
        read_job("{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"*:1\",\"exclude\":[\"t0\",\"nowhere\",5]}");
    assert_string_equal(job->arrival.request, "volta:1|turing:1"); /* turing is in m0 too */
    job = read_job("{\"id\":8,\"state\":\"PD\",\"ours\":true,\"request\":\"turing:1\",\"exclude\":[\"t0\",\"m0\"]}");
    assert_true(job->unfit[0] != '\0');
    job = read_job("{\"id\":9,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:1\",\"require\":[\"v0\"]}");
    assert_string_equal(job->unfit, "");
    job = read_job("{\"id\":10,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:2\",\"require\":[\"m0\"]}");
    assert_true(job->unfit[0] != '\0');
}

static void room_is_as_many_gpus_on_each_node_that_may_be_used(void **state)
{
    (void)state;
    const bool down[7] = {false};
    struct adl_mirror_job *gang =
        read_job("{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:2\",\"nodes_min\":2}");
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    assert_int_equal(adl_slurm_mirror_find_free(&mirror, gang, 0, 4, down, gpus), 4);
    struct adl_mirror_job *one = read_job("{\"id\":8,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:1\"}");
    assert_int_equal(adl_slurm_mirror_hold(&mirror, one, (const uint32_t[]){1}, 1), 0);
    assert_int_equal(adl_slurm_mirror_find_free(&mirror, gang, 0, 4, down, gpus), 0); /* 1 + 2 + 1 are left */
    gang->slots[0] = 0;
    gang->wants[0] = (struct adl_alternative){.gpus = 4, .types = 1};
    assert_false(adl_slurm_mirror_has_room(&mirror, gang, down));
    adl_slurm_mirror_release(&mirror, one);
    assert_true(adl_slurm_mirror_has_room(&mirror, gang, down));
}

static void a_job_that_fits_on_no_node_is_unfit(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:3\"}",
        "{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"hopper:1\"}",
        "{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"\"}",
        "{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:1\",\"cpus\":4294967294}",
        "{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:4000\",\"nodes_min\":4000}",
        "{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:2\",\"nodes_min\":1e300}",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (read_job(requests[i])->unfit[0] == '\0')
            fail_msg("it is thought to fit: %s", requests[i]);
}

static void nonsense_is_no_job(void **state)
{
    (void)state;
    assert_null(read_job("{}"));
    assert_null(read_job("{\"id\":\"7\",\"state\":\"PD\"}"));
    assert_null(read_job("{\"id\":-7,\"state\":\"PD\"}"));
    assert_null(read_job("{\"id\":7,\"state\":\"CD\",\"ours\":true}")); /* nobody asked for it, and it is over */
    assert_int_equal(mirror.job_count, 0);
}

static void absurd_numbers_are_cut_to_what_fits(void **state)
{
    (void)state;
    const struct adl_mirror_job *job =
        read_job("{\"id\":1e300,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:1\",\"limit_s\":-5,\"priority\":1e9,"
                 "\"exit_code\":99999,\"signal\":-3,\"memory_mib\":-1,\"uid\":1e20,\"submit_s\":\"x\"}");
    assert_non_null(job);
    assert_true(job->external == INT64_C(1) << 52);
    assert_true(job->spec.limit_us == INT64_C(60000000));
    assert_true(job->spec.priority == 1.0f);
    assert_int_equal(job->exit_code, 255);
    assert_int_equal(job->signal, 0);
    assert_true(job->arrival.uid == UINT32_MAX);
}

static void each_state_of_slurm_has_its_end(void **state)
{
    (void)state;
    struct adl_mirror_job *job = read_job("{\"id\":7,\"state\":\"PD\",\"ours\":true,\"request\":\"volta:1\"}");
    static const struct {
        const char *text;
        int state, end;
    } rows[] = {
        {"{\"id\":7,\"state\":\"R\"}", ADL_SLURM_RUNS, 0},
        {"{\"id\":7,\"state\":\"CG\"}", ADL_SLURM_RUNS, 0},
        {"{\"id\":7,\"state\":\"CD\"}", ADL_SLURM_ENDED, ADL_END_COMPLETED},
        {"{\"id\":7,\"state\":\"CA\"}", ADL_SLURM_ENDED, ADL_END_CANCELLED},
        {"{\"id\":7,\"state\":\"TO\"}", ADL_SLURM_ENDED, ADL_END_TIMEOUT},
        {"{\"id\":7,\"state\":\"NF\"}", ADL_SLURM_ENDED, ADL_END_FAILED},
        {"{\"id\":7}", ADL_SLURM_ENDED, ADL_END_FAILED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ptr_equal(read_job(rows[i].text), job);
        assert_int_equal(job->state, rows[i].state);
        assert_int_equal(job->end, rows[i].end);
    }
}

static void a_running_job_gets_gpus_of_its_node_that_nobody_holds(void **state)
{
    (void)state;
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    struct adl_mirror_job *a = read_job("{\"id\":7,\"state\":\"R\",\"ours\":true,\"request\":\"volta:1\"}");
    struct adl_mirror_job *b = read_job("{\"id\":8,\"state\":\"R\",\"ours\":true,\"request\":\"volta:1\"}");
    a = adl_slurm_mirror_find(&mirror, 7);
    const char *one = "{\"gpus\":[{\"node\":\"v0\",\"type\":\"volta\",\"count\":1}]}";
    assert_int_equal(find_gpus(a, one, gpus), 1);
    assert_int_equal(adl_slurm_mirror_hold(&mirror, a, gpus, 1), 0);
    const uint32_t first = gpus[0];
    assert_int_equal(find_gpus(b, one, gpus), 1);
    assert_int_not_equal(gpus[0], first);
    assert_int_equal(adl_slurm_mirror_hold(&mirror, b, gpus, 1), 0);
    struct adl_mirror_job *c = read_job("{\"id\":9,\"state\":\"R\",\"ours\":true,\"request\":\"volta:1\"}");
    assert_int_equal(find_gpus(c, one, gpus), 0); /* there are two, and both are held */
    assert_int_equal(find_gpus(a, one, gpus), 1);
    assert_int_equal(gpus[0], first); /* its own come first */
    assert_int_equal(find_gpus(c, "{\"gpus\":[{\"node\":\"x\",\"type\":\"volta\",\"count\":1}]}", gpus), 0);
    assert_int_equal(find_gpus(c, "{\"gpus\":[{\"node\":\"v1\",\"type\":\"turing\",\"count\":1}]}", gpus), 0);
    assert_int_equal(find_gpus(c, "{\"gpus\":[{\"node\":\"v1\",\"type\":\"volta\",\"count\":1e9}]}", gpus), 0);
    assert_int_equal(find_gpus(c, "{\"gpus\":7}", gpus), 0);
    adl_slurm_mirror_remove(&mirror, a);
    assert_int_equal(find_gpus(c, one, gpus), 1);
    assert_int_equal(gpus[0], first);
}

static void the_same_gpu_is_not_given_twice_for_two_parts_of_a_message(void **state)
{
    (void)state;
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    struct adl_mirror_job *job = read_job("{\"id\":7,\"state\":\"R\",\"ours\":true,\"request\":\"volta:2\"}");
    assert_int_equal(find_gpus(job,
                               "{\"gpus\":[{\"node\":\"v0\",\"type\":\"volta\",\"count\":1},"
                               "{\"node\":\"v0\",\"type\":\"volta\",\"count\":1}]}",
                               gpus),
                     2);
    assert_int_not_equal(gpus[0], gpus[1]);
}

static void gpus_are_alike_by_node_and_type(void **state)
{
    (void)state;
    const uint32_t a[] = {0, 2}, b[] = {3, 1}, c[] = {0, 1};
    assert_true(adl_slurm_mirror_alike(&mirror, a, 2, b, 2));
    assert_false(adl_slurm_mirror_alike(&mirror, a, 2, c, 2));
    assert_false(adl_slurm_mirror_alike(&mirror, a, 2, c, 1));
}

static void what_the_node_has_in_use_beyond_our_jobs_is_foreign(void **state)
{
    (void)state;
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    read_node(NODE("v0", "{\"type\":\"volta\",\"count\":2,\"used\":2}"));
    assert_int_equal(adl_slurm_mirror_foreign(&mirror, 0), 2);
    struct adl_mirror_job *job = read_job("{\"id\":7,\"state\":\"R\",\"ours\":true,\"request\":\"volta:1\"}");
    assert_int_equal(find_gpus(job, "{\"gpus\":[{\"node\":\"v0\",\"type\":\"volta\",\"count\":1}]}", gpus), 1);
    adl_slurm_mirror_hold(&mirror, job, gpus, 1);
    assert_int_equal(adl_slurm_mirror_foreign(&mirror, 0), 1);
    read_node(NODE("v0", "{\"type\":\"volta\",\"count\":2,\"used\":1e12}")); /* not more than there are */
    assert_int_equal(adl_slurm_mirror_foreign(&mirror, 0), 1);
    read_node(NODE("v0", "{\"type\":\"volta\",\"count\":2,\"used\":-4}"));
    assert_int_equal(adl_slurm_mirror_foreign(&mirror, 0), 0);
    read_node(NODE("elsewhere", "{\"type\":\"volta\",\"count\":2,\"used\":2}"));
    read_node("{\"name\":\"v0\",\"gpus\":{\"type\":7}}");
    assert_false(mirror.usable[0]);
}

static void a_feature_of_a_node_says_the_version_of_its_driver(void **state)
{
    (void)state;
    static const char *const before = "{\"name\":\"v0\",\"usable\":true,\"features\":[\"ib\",7,\"driver=535.1\"]}";
    const uint32_t node = 0;
    read_node("{\"name\":\"v0\",\"usable\":true,\"features\":[\"ib\"]}");
    assert_false(mirror.versions[node].fresh);
    read_node(before);
    assert_true(mirror.versions[node].fresh);
    assert_string_equal(mirror.versions[node].text, "535.1");
    mirror.versions[node].fresh = false;
    read_node(before);
    assert_false(mirror.versions[node].fresh);
    read_node("{\"name\":\"v0\",\"features\":[\"driver=12345678901234567890123456789012345678901234567890\"]}");
    assert_true(mirror.versions[node].fresh);
    assert_int_equal(strlen(mirror.versions[node].text), ADL_VERSION_SIZE - 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_mirror, close_mirror)
    const struct CMUnitTest tests[] = {
        TEST(the_cluster_has_the_gpus_of_the_messages),
        TEST(a_job_is_kept_with_what_it_asks_for),
        TEST(a_job_without_a_limit_does_not_seem_short),
        TEST(a_gang_counts_the_gpus_of_all_its_nodes),
        TEST(a_type_is_accepted_if_enough_allowed_nodes_have_it),
        TEST(room_is_as_many_gpus_on_each_node_that_may_be_used),
        TEST(a_job_that_fits_on_no_node_is_unfit),
        TEST(nonsense_is_no_job),
        TEST(absurd_numbers_are_cut_to_what_fits),
        TEST(each_state_of_slurm_has_its_end),
        TEST(a_running_job_gets_gpus_of_its_node_that_nobody_holds),
        TEST(the_same_gpu_is_not_given_twice_for_two_parts_of_a_message),
        TEST(gpus_are_alike_by_node_and_type),
        TEST(what_the_node_has_in_use_beyond_our_jobs_is_foreign),
        TEST(a_feature_of_a_node_says_the_version_of_its_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
