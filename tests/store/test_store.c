/* Jobs in the store: what was written is read back the same, pages and filters show what they should, and what must not
 * be written is refused with a text. */
#include "store_fixture.h"

#include "store/store_internal.h"

#include <math.h>

/* ---- jobs ---- */

struct seen {
    uint64_t ids[64];
    uint64_t numbers[64];
    int count;
    int stop_after;
};

static int see(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    struct seen *seen = context;
    seen->ids[seen->count] = job->spec.id;
    seen->numbers[seen->count++] = stored_number(job);
    return seen->stop_after && seen->count == seen->stop_after;
}

static int check_one(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    const uint64_t *numbers = context;
    check_job(job, numbers[0], numbers[1]);
    return 0;
}

static void every_field_of_a_job_is_read_back_as_written_also_after_a_restart(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    uint64_t ids[COUNT];
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (uint64_t i = 0; i < COUNT; i++)
        ids[i] = store_numbered(store, i);
    assert_int_equal(adl_store_commit(store, &err), 0);
    for (int restart = 0; restart < 2; restart++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            uint64_t numbers[] = {i, i};
            assert_int_equal(adl_store_job_read(store, ids[i], check_one, numbers, &err), 1);
            assert_true(i == 0 || ids[i] > ids[i - 1]);
        }
        adl_store_close(store);
        store = store_open(&place);
    }
    adl_store_close(store);
    place_remove(&place);
}

static int check_empty(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    (void)context;
    const char *const texts[] = {job->user,        job->request,     job->script,        job->directory,
                                 job->stdout_path, job->stderr_path, job->status.reason, job->status.boot};
    const char *const *const lists[] = {job->argv, job->environment, job->status.gpus};
    for (int i = 0; i < 8; i++)
        assert_string_equal(texts[i], "");
    for (int i = 0; i < 3; i++)
        assert_null(lists[i][0]);
    assert_int_equal(job->dependency_count, 0);
    return 0;
}

static void strings_and_lists_that_are_null_are_read_as_empty(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    const struct adl_store_job bare = {.array_index = -1};
    uint64_t id;
    assert_int_equal(adl_store_job_add(store, &bare, &id, &err), 0);
    assert_int_equal(adl_store_job_read(store, id, check_empty, NULL, &err), 1);
    adl_store_close(store);
    place_remove(&place);
}

static void a_change_replaces_the_whole_status_and_nothing_of_the_submission(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct made_job later;
    const uint64_t first = store_numbered(store, 1), second = store_numbered(store, 2);
    make_job(77, &later);
    assert_int_equal(adl_store_job_update(store, first, &later.job.status, &err), 0);
    assert_int_equal(adl_store_job_read(store, first, check_one, (uint64_t[]){1, 77}, &err), 1);
    assert_int_equal(adl_store_job_read(store, second, check_one, (uint64_t[]){2, 2}, &err), 1);
    assert_int_equal(adl_store_job_update(store, 99, &later.job.status, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "no job 99"));
    assert_int_equal(adl_store_job_read(store, 99, check_one, NULL, &err), 0);
    adl_store_close(store);
    place_remove(&place);
}

static void a_group_is_committed_completely_or_not_at_all(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct seen seen = {0};
    const struct adl_store_page page = {.limit = 10};
    const uint64_t kept = store_numbered(store, 1);
    assert_int_equal(adl_store_begin(store, &err), 0);
    store_numbered(store, 2);
    store_numbered(store, 3);
    adl_store_rollback(store);
    assert_int_equal(adl_store_begin(store, &err), 0);
    store_numbered(store, 4);
    adl_store_close(store);
    store = store_open(&place);
    assert_int_equal(adl_store_jobs_page(store, &page, see, &seen, &err), 1);
    assert_int_equal(seen.ids[0], kept);
    adl_store_close(store);
    place_remove(&place);
}

static int take_array(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    *(uint64_t *)context = job->array_id;
    return 0;
}

static void an_array_has_the_number_of_its_first_job(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct adl_store_job job = {.name = "job-5", .array_index = 3};
    uint64_t first = 0, second = 0, array = 0;
    const uint64_t other = store_numbered(store, 1);
    assert_int_equal(adl_store_job_add(store, &job, &first, &err), 0);
    job.array_id = first;
    job.array_index = 4;
    assert_int_equal(adl_store_job_add(store, &job, &second, &err), 0);
    assert_int_equal(adl_store_job_read(store, first, take_array, &array, &err), 1);
    assert_int_equal(array, first);
    assert_int_equal(adl_store_job_read(store, second, take_array, &array, &err), 1);
    assert_int_equal(array, first);
    assert_int_equal(adl_store_job_read(store, other, take_array, &array, &err), 1);
    assert_int_equal(array, 0);
    adl_store_close(store);
    place_remove(&place);
}

static int check_shared(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    const struct adl_store_job *expected = context;
    const char *difference = submission_difference(expected, job);
    assert_true(!difference || strcmp(difference, "array_id") == 0 || strcmp(difference, "array_index") == 0);
    assert_int_equal(job->payload, expected->payload);
    assert_string_equal(job->script, expected->script);
    return 0;
}

static off_t size_of(const struct place *place, const char *name)
{
    char path[128];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", place->path, name);
    return stat(path, &about) ? 0 : about.st_size;
}

static void an_array_of_300_jobs_keeps_its_script_once_and_each_of_them_has_it(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    struct place place = place_make_fast();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    static struct made_job made;
    char *script = malloc(SIZE + 1);
    assert_non_null(script);
    memset(script, 'x', SIZE);
    script[SIZE] = '\0';
    make_job(1, &made);
    const uint64_t other = store_numbered(store, 2);
    made.job.script = script;
    uint64_t first = 0, id = 0;
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (int i = 0; i < 300; i++) {
        made.job.array_index = i;
        made.job.array_id = made.job.payload = first;
        assert_int_equal(adl_store_job_add(store, &made.job, &id, &err), 0);
        first = first ? first : id;
    }
    assert_int_equal(adl_store_commit(store, &err), 0);
    made.job.payload = first;
    const struct adl_store_page pages[] = {{.after = other, .limit = 300}, {.limit = 300, .newest_first = true}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(adl_store_jobs_page(store, &pages[i], check_shared, &made.job, &err), 300);
    assert_int_equal(adl_store_job_read(store, id, check_shared, &made.job, &err), 1);
    assert_int_equal(adl_store_job_read(store, other, check_one, (uint64_t[]){2, 2}, &err), 1);
    assert_true(adl_store_payload_size(&made.job) > SIZE);
    assert_in_range(size_of(&place, "adlro.db") + size_of(&place, "adlro.db-wal"), SIZE, 3 * SIZE);
    adl_store_close(store);
    assert_in_range(size_of(&place, "adlro.db"), SIZE, 2 * SIZE);
    free(script);
    place_remove(&place);
}

static void data_out_of_range_are_refused_and_the_group_goes_on_without_them(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct made_job made;
    struct seen seen = {0};
    char *long_text = malloc(ADL_STORE_SCRIPT_MAX + 2);
    assert_non_null(long_text);
    memset(long_text, 'x', ADL_STORE_SCRIPT_MAX + 1);
    long_text[ADL_STORE_SCRIPT_MAX + 1] = '\0';
    const char *const long_list[] = {"a", long_text, NULL};
    struct adl_store_dependency after = {.job = 1, .after = ADL_AFTER_COUNT};
    make_job(1, &made);
    struct adl_store_job bad[9];
    for (size_t i = 0; i < 9; i++)
        bad[i] = made.job;
    bad[0].script = long_text;
    bad[1].argv = long_list;
    bad[2].name = long_text;
    bad[3].spec.kind = ADL_KIND_COUNT;
    bad[4].status.state = ADL_STORE_STATE_COUNT;
    bad[5].status.energy_j = NAN;
    bad[6].array_id = UINT64_MAX;
    bad[7].dependencies = &after;
    bad[7].dependency_count = 1;
    bad[8].dependency_count = ADL_STORE_DEPENDENCIES_MAX + 1;
    static const char *const names[] = {"script",   "argv",     "name",       "kind",  "state",
                                        "energy_j", "array_id", "dependency", "depend"};
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (size_t i = 0; i < 9; i++) {
        uint64_t id = 4711;
        assert_int_equal(adl_store_job_add(store, &bad[i], &id, &err), ADL_EINVAL);
        if (!strstr(err.text, names[i]))
            fail_msg("no %s in: %s", names[i], err.text);
        assert_int_equal(id, 4711);
    }
    const uint64_t good = store_numbered(store, 1);
    assert_int_equal(adl_store_job_update(store, good, &bad[4].status, &err), ADL_EINVAL);
    assert_int_equal(adl_store_commit(store, &err), 0);
    long_text[ADL_STORE_SCRIPT_MAX] = '\0';
    bad[0].script = long_text; /* just short enough */
    uint64_t id = 0;
    assert_int_equal(adl_store_job_add(store, &bad[0], &id, &err), 0);
    assert_int_equal(adl_store_jobs_page(store, &(struct adl_store_page){.limit = 10}, see, &seen, &err), 2);
    assert_int_equal(adl_store_job_read(store, good, check_one, (uint64_t[]){1, 1}, &err), 1);
    free(long_text);
    adl_store_close(store);
    place_remove(&place);
}

/* ---- pages ---- */

/* What a page must show, found the slow way. */
static int expected_page(const struct adl_store_page *page, const struct made_job *jobs, int count, uint64_t *ret)
{
    int found = 0;
    for (int i = 0; i < count && found < (int)page->limit; i++) {
        const int at = page->newest_first ? count - 1 - i : i;
        const uint64_t id = (uint64_t)at + 1;
        if (page->after && (page->newest_first ? id >= page->after : id <= page->after))
            continue;
        if (page->states && !(page->states >> jobs[at].job.status.state & 1))
            continue;
        if (page->by_user && jobs[at].job.uid != page->uid)
            continue;
        ret[found++] = id;
    }
    return found;
}

static void pages_show_what_a_search_of_everything_finds(void **state)
{
    (void)state;
    enum { COUNT = 60 };
    static struct made_job jobs[COUNT];
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct adl_rng rng;
    int shown = 0;
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        make_job(i, &jobs[i]);
        assert_int_equal(store_numbered(store, i), i + 1);
    }
    assert_int_equal(adl_store_commit(store, &err), 0);
    adl_rng_seed(&rng, 1, "pages");
    for (int trial = 0; trial < 2000; trial++) {
        const struct adl_store_page page = {.after = draw_below(&rng, 2) ? (uint64_t)draw_below(&rng, COUNT + 2) : 0,
                                            .limit = 1 + (uint32_t)draw_below(&rng, COUNT),
                                            .states = (uint32_t)draw_below(&rng, 2) *
                                                      (uint32_t)draw_below(&rng, 1 << ADL_STORE_STATE_COUNT),
                                            .newest_first = draw_below(&rng, 2),
                                            .by_user = draw_below(&rng, 2),
                                            .uid = 1000 + (uint32_t)draw_below(&rng, 4)};
        uint64_t expected[COUNT];
        struct seen seen = {0};
        const int count = expected_page(&page, jobs, COUNT, expected);
        assert_int_equal(adl_store_jobs_page(store, &page, see, &seen, &err), count);
        assert_int_equal(seen.count, count);
        assert_memory_equal(seen.ids, expected, (size_t)count * sizeof *expected);
        shown += count;
    }
    assert_true(shown > 10000);
    for (uint32_t limit = 0; limit <= ADL_STORE_PAGE_MAX + 1; limit += ADL_STORE_PAGE_MAX + 1)
        assert_int_equal(adl_store_jobs_page(store, &(struct adl_store_page){.limit = limit}, see, NULL, &err),
                         ADL_EINVAL);
    adl_store_close(store);
    place_remove(&place);
}

static void live_jobs_are_all_that_wait_or_run_and_a_visitor_can_stop(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct seen seen = {0}, few = {.stop_after = 2};
    int live = 0;
    for (uint64_t i = 0; i < 40; i++) {
        struct made_job made;
        make_job(i, &made);
        live += made.job.status.state <= ADL_STORE_RUNNING;
        store_numbered(store, i);
    }
    assert_true(live > 3);
    assert_int_equal(adl_store_jobs_live(store, see, &seen, &err), live);
    for (int i = 1; i < live; i++)
        assert_true(seen.ids[i] > seen.ids[i - 1]);
    assert_int_equal(adl_store_jobs_live(store, see, &few, &err), 2);
    adl_store_close(store);
    place_remove(&place);
}

static int refuse(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)context;
    return adl_fail(err, ADL_EREFUSED, "not job %llu", (unsigned long long)job->spec.id);
}

static void a_visitor_that_fails_ends_the_reading_with_its_own_status_and_text(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    store_numbered(store, 1);
    store_numbered(store, 2);
    assert_int_equal(adl_store_jobs_page(store, &(struct adl_store_page){.limit = 9}, refuse, NULL, &err),
                     ADL_EREFUSED);
    assert_string_equal(err.text, "not job 1");
    store_numbered(store, 3);
    adl_store_close(store);
    place_remove(&place);
}

static void ids_are_not_reused_when_the_last_job_is_deleted(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    const uint64_t last = (store_numbered(store, 1), store_numbered(store, 2));
    assert_int_equal(sqlite3_exec(store->db, "DELETE FROM submission; DELETE FROM job", NULL, NULL, NULL), SQLITE_OK);
    adl_store_close(store);
    store = store_open(&place);
    assert_true(store_numbered(store, 3) > last);
    adl_store_close(store);
    place_remove(&place);
}

static void names_of_states_are_those_of_slurm(void **state)
{
    (void)state;
    for (int i = 0; i < ADL_STORE_STATE_COUNT; i++)
        assert_int_equal(adl_store_state_find(adl_store_state_name(i)), i);
    for (int end = ADL_END_COMPLETED; end <= ADL_END_TIMEOUT; end++)
        assert_string_equal(adl_store_state_name(ADL_STORE_ENDED + end), adl_job_end_name(end));
    assert_int_equal(adl_store_state_find("X"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_job_is_read_back_as_written_also_after_a_restart),
        cmocka_unit_test(strings_and_lists_that_are_null_are_read_as_empty),
        cmocka_unit_test(a_change_replaces_the_whole_status_and_nothing_of_the_submission),
        cmocka_unit_test(a_group_is_committed_completely_or_not_at_all),
        cmocka_unit_test(an_array_has_the_number_of_its_first_job),
        cmocka_unit_test(an_array_of_300_jobs_keeps_its_script_once_and_each_of_them_has_it),
        cmocka_unit_test(data_out_of_range_are_refused_and_the_group_goes_on_without_them),
        cmocka_unit_test(pages_show_what_a_search_of_everything_finds),
        cmocka_unit_test(live_jobs_are_all_that_wait_or_run_and_a_visitor_can_stop),
        cmocka_unit_test(a_visitor_that_fails_ends_the_reading_with_its_own_status_and_text),
        cmocka_unit_test(ids_are_not_reused_when_the_last_job_is_deleted),
        cmocka_unit_test(names_of_states_are_those_of_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
