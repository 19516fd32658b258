/* What jobs are called, and who is called so. */
#include "store_fixture.h"

#include "jobs/label.h"

static uint64_t add(struct adl_store *store, uint64_t array_id, int32_t array_index, int64_t external)
{
    const struct adl_store_job job = {.name = "job",
                                      .user = "ann",
                                      .request = "1",
                                      .script = "",
                                      .directory = "/",
                                      .stdout_path = "",
                                      .stderr_path = "",
                                      .array_id = array_id,
                                      .array_index = array_index,
                                      .external = external,
                                      .status = {.reason = "", .boot = ""}};
    struct adl_error err;
    uint64_t id = 0;
    if (adl_store_job_add(store, &job, &id, &err))
        fail_msg("%s", err.text);
    return id;
}

static int see(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    adl_label_of_stored(job, context);
    return 0;
}

static const char *stored_label(struct adl_store *store, uint64_t id, char ret[ADL_LABEL_SIZE])
{
    assert_int_equal(adl_store_job_read(store, id, see, ret, NULL), 1);
    return ret;
}

/* The number, or 0 for ADL_EABSENT. */
static uint64_t find(struct adl_store *store, const char *label, bool external)
{
    struct adl_error err = {""};
    uint64_t id = 0;
    const int status = adl_label_find(store, label, external, &id, &err);
    if (status == ADL_EABSENT)
        assert_non_null(strstr(err.text, label));
    else if (status)
        fail_msg("%s: %s", label, err.text);
    return id;
}

static void the_longest_label_fits(void **state)
{
    char label[ADL_LABEL_SIZE];
    (void)state;
    assert_string_equal(adl_label_print(UINT64_MAX, 0, -1, label), "18446744073709551615");
    assert_string_equal(adl_label_print(1, UINT64_MAX, INT32_MAX, label), "18446744073709551615_2147483647");
}

static void every_member_of_an_array_is_found_by_its_index_and_nothing_else_is(void **state)
{
    const struct place place = place_make_fast();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct adl_rng rng;
    char label[ADL_LABEL_SIZE], found[ADL_LABEL_SIZE];
    (void)state;
    adl_rng_seed(&rng, 1, "label");
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (int round = 0; round < 60; round++) {
        uint64_t of_index[64] = {0}, array = 0;
        for (int single = (int)draw_below(&rng, 3); single > 0; single--)
            add(store, 0, -1, 0);
        for (int32_t index = 0; index < 64; index++)
            if (draw_below(&rng, 4) < round % 5) {
                of_index[index] = add(store, array, index, 0);
                array = array ? array : of_index[index];
            }
        for (int32_t index = 0; array && index < 64; index++) {
            snprintf(label, sizeof label, "%llu_%d", (unsigned long long)array, index);
            assert_int_equal(find(store, label, false), of_index[index]);
            if (of_index[index])
                assert_string_equal(stored_label(store, of_index[index], found), label);
            if (array != of_index[index] && of_index[index]) { /* a member's own number is no array's */
                snprintf(label, sizeof label, "%llu_%d", (unsigned long long)of_index[index], index);
                assert_int_equal(find(store, label, false), 0);
            }
        }
    }
    assert_int_equal(find(store, "1_999999999", false), 0);
    assert_int_equal(find(store, "999999999999999999_999999999", false), 0);
    assert_int_equal(find(store, "77777", false), 77777); /* not looked for */
    adl_store_rollback(store);
    adl_store_close(store);
    place_remove(&place);
}

static void jobs_of_slurm_are_called_as_they_are_there(void **state)
{
    const struct place place = place_make_fast();
    struct adl_store *store = store_open(&place);
    const int64_t task = INT64_C(1) << 32;
    const uint64_t plain = add(store, 0, -1, 2), first = add(store, 3, 0, 3 + task),
                   other = add(store, 3, 7, 3 + 8 * task);
    char label[ADL_LABEL_SIZE];
    (void)state;
    assert_string_equal(stored_label(store, plain, label), "2");
    assert_string_equal(stored_label(store, first, label), "3_0");
    assert_string_equal(stored_label(store, other, label), "3_7");
    assert_int_equal(find(store, "2", true), plain);
    assert_int_equal(find(store, "3_0", true), first);
    assert_int_equal(find(store, "3_7", true), other);
    assert_int_equal(find(store, "4294967299", true), first); /* as programs have it */
    assert_int_equal(find(store, "3", true), 0);
    assert_int_equal(find(store, "1", true), 0); /* there is one of that number, but it is nobody's name */
    assert_int_equal(find(store, "3_1", true), 0);
    assert_int_equal(find(store, "4294967299_0", true), 0);
    adl_store_close(store);
    place_remove(&place);
}

static void what_is_no_label_is_refused(void **state)
{
    static const char *const bad[] = {
        "", "_", "1_", "_1", "1_2_3", "1_*", "x", "-1", "1 ", "1_2x", "1234567890123456789", "1_1234567890"};
    const struct place place = place_make_fast();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    uint64_t id = 99;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int external = 0; external < 2; external++)
            if (adl_label_find(store, bad[i], external, &id, &err) != ADL_EINVAL)
                fail_msg("'%s' is taken for a job", bad[i]);
    assert_int_equal(id, 99);
    adl_store_close(store);
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_label_fits),
        cmocka_unit_test(every_member_of_an_array_is_found_by_its_index_and_nothing_else_is),
        cmocka_unit_test(jobs_of_slurm_are_called_as_they_are_there),
        cmocka_unit_test(what_is_no_label_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
