/* The job table against plain arrays, and what a job's dependencies come to. */
#include "base/index.h"
#include "base/rng.h"
#include "jobs/job_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct adl_job_entry *add(struct adl_job_table *job_table, uint64_t id, uint64_t array_id, int32_t array_index)
{
    static const char *const argv[] = {"train", "--lr", "1", NULL};
    const struct adl_store_job row = {.spec = {.id = id, .gpus = 1},
                                      .user = "ann",
                                      .name = "train",
                                      .request = "v100:1",
                                      .argv = argv,
                                      .directory = "/home/ann",
                                      .stdout_path = "out",
                                      .stderr_path = "out",
                                      .array_id = array_id,
                                      .array_index = array_index,
                                      .submit_us = (int64_t)id};
    struct adl_job_entry *job = adl_job_table_add(job_table, &row);
    assert_non_null(job);
    job->alternative_count = 1;
    job->alternatives[0].slot = ADL_NONE;
    return job;
}

static void run(struct adl_job_table *job_table, struct adl_job_entry *job)
{
    assert_non_null(adl_job_table_move(job_table, job, ADL_ON_ENQUEUE, 1));
    assert_non_null(adl_job_table_move(job_table, job, ADL_ON_START, 1));
}

static void jobs_that_come_and_go_are_found_by_number_and_by_slot(void **state)
{
    (void)state;
    enum { NUMBERS = 4000, SLOTS = 500 };
    static bool there[NUMBERS + 1];
    static uint64_t in_slot[SLOTS];
    struct adl_job_table job_table;
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "jobs");
    assert_int_equal(adl_job_table_create(&job_table), 0);
    for (uint64_t id = 1; id <= NUMBERS; id++) {
        struct adl_job_entry *job = add(&job_table, id, 0, -1);
        const uint32_t slot = adl_rng_below(&rng, SLOTS);
        there[id] = true;
        if (in_slot[slot] == 0) {
            assert_int_equal(adl_job_table_set_slot(&job_table, job, 0, slot), 0);
            in_slot[slot] = id;
        }
        for (int i = 0; i < 2 && id > 100; i++) { /* old ones leave at random */
            const uint64_t leaves = 1 + adl_rng_below(&rng, (uint32_t)id);
            struct adl_job_entry *found = adl_job_table_find(&job_table, leaves);
            assert_int_equal(found != NULL, there[leaves]);
            if (!found || i == 1)
                continue;
            if (found->alternatives[0].slot != ADL_NONE)
                in_slot[found->alternatives[0].slot] = 0;
            adl_job_table_remove(&job_table, found);
            there[leaves] = false;
        }
    }
    uint32_t count = 0;
    uint64_t last = 0;
    size_t bytes = 0;
    for (const struct adl_job_entry *job = job_table.first; job; job = job->next) {
        assert_true(there[job->id] && job->id > last);
        last = job->id;
        bytes += job->bytes + job->shared->memory; /* no two share anything here */
        count++;
    }
    for (uint64_t id = 1; id <= NUMBERS; id++)
        count -= there[id];
    assert_int_equal(count, 0);
    assert_int_equal(job_table.bytes, bytes);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct adl_job_entry *job = adl_job_table_at(&job_table, slot);
        assert_int_equal(job ? job->id : 0, in_slot[slot]);
    }
    adl_job_table_clear(&job_table);
}

static void a_job_says_what_it_runs_and_where(void **state)
{
    (void)state;
    struct adl_job_table job_table;
    assert_int_equal(adl_job_table_create(&job_table), 0);
    struct adl_job_entry *job = add(&job_table, 7, 0, -1);
    assert_string_equal(job->command, "train --lr 1");
    assert_string_equal(job->user, "ann");
    assert_string_equal(job->directory, "/home/ann");
    assert_int_equal(job_table.by_stage[ADL_STAGE_NEW], 1);
    assert_int_equal(adl_job_table_running(&job_table), 0);
    run(&job_table, job);
    assert_int_equal(job_table.by_stage[ADL_STAGE_NEW], 0);
    assert_int_equal(job_table.by_stage[ADL_STAGE_RUNNING], 1);
    assert_int_equal(adl_job_table_running(&job_table), 1);
    assert_true(adl_job_table_holds_gpus(job));
    adl_job_table_clear(&job_table);
}

static void jobs_of_an_array_share_their_strings_and_their_users_account_counts_them_once(void **state)
{
    (void)state;
    struct adl_job_table job_table;
    struct adl_store_job row = {.uid = 5, .user = "ann", .name = "a", .script = "0123456789", .payload = 7};
    struct adl_job_entry *jobs[3];
    assert_int_equal(adl_job_table_create(&job_table), 0);
    for (uint64_t i = 0; i < 3; i++) {
        row.spec.id = 7 + i;
        jobs[i] = adl_job_table_add(&job_table, &row);
        assert_ptr_equal(jobs[i]->name, jobs[0]->name);
        assert_int_equal(adl_job_table_user(&job_table, 5).bytes, 10 + (i + 1) * ADL_STORE_JOB_SIZE);
    }
    row = (struct adl_store_job){.spec.id = 20, .uid = 5, .name = "b", .payload = 20};
    assert_string_equal(adl_job_table_add(&job_table, &row)->name, "b");
    assert_int_equal(adl_job_table_user(&job_table, 5).jobs, 4);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(jobs[i]->name, "a");
        adl_job_table_remove(&job_table, jobs[i]);
        assert_int_equal(adl_job_table_user(&job_table, 5).bytes, (i < 2 ? 10 : 0) + (3 - i) * ADL_STORE_JOB_SIZE);
    }
    adl_job_table_remove(&job_table, adl_job_table_find(&job_table, 20));
    assert_int_equal(job_table.user_count, 0);
    assert_int_equal(job_table.bytes, 0);
    adl_job_table_clear(&job_table);
}

/* How jobs that are not in the job table ended; those above 90 never were, and 88 was deleted since. */
static int end_of(void *context, uint64_t id)
{
    (void)context;
    if (id == 88)
        return ADL_JOB_TABLE_PURGED;
    return id > 90 ? -1 : id % 2 == 0 ? ADL_END_COMPLETED : ADL_END_FAILED;
}

static int ask(const struct adl_job_table *job_table, uint64_t on, uint8_t after, uint64_t *ret_culprit)
{
    struct adl_store_dependency dependency = {.job = on, .after = after};
    const struct adl_store_dependency *culprit = NULL;
    const struct adl_job_entry job = {
        .id = 1000, .submit_us = 1000, .name = "train", .dependencies = &dependency, .dependency_count = 1};
    const int answer = adl_job_table_dependencies(job_table, &job, end_of, NULL, &culprit);
    *ret_culprit = culprit ? culprit->job : 0;
    return answer;
}

static void who_depends_on_a_job_waits_for_its_end_and_on_an_array_for_all_of_it(void **state)
{
    (void)state;
    struct adl_job_table job_table;
    uint64_t culprit;
    assert_int_equal(adl_job_table_create(&job_table), 0);
    add(&job_table, 50, 0, -1);
    add(&job_table, 62, 60, 2); /* the last of array 60 that still runs */
    assert_int_equal(ask(&job_table, 50, ADL_AFTER_ANY, &culprit), 0);
    assert_int_equal(culprit, 50);
    assert_int_equal(ask(&job_table, 60, ADL_AFTER_OK, &culprit), 0);
    assert_int_equal(culprit, 60);
    assert_int_equal(ask(&job_table, 4, ADL_AFTER_OK, &culprit), 1);
    assert_int_equal(ask(&job_table, 5, ADL_AFTER_ANY, &culprit), 1);
    assert_int_equal(ask(&job_table, 88, ADL_AFTER_OK, &culprit), 1);
    assert_int_equal(ask(&job_table, 5, ADL_AFTER_OK, &culprit), -1);
    assert_int_equal(culprit, 5);
    adl_job_table_remove(&job_table, adl_job_table_find(&job_table, 62));
    assert_int_equal(ask(&job_table, 60, ADL_AFTER_OK, &culprit), 1);
    adl_job_table_clear(&job_table);
}

static void every_kind_of_dependency_waits_for_what_slurm_says(void **state)
{
    (void)state;
    struct adl_job_table job_table;
    uint64_t culprit;
    assert_int_equal(adl_job_table_create(&job_table), 0);
    struct adl_job_entry *job = add(&job_table, 50, 0, -1);
    assert_int_equal(ask(&job_table, 50, ADL_AFTER_NOT_OK, &culprit), 0);
    assert_int_equal(ask(&job_table, 5, ADL_AFTER_NOT_OK, &culprit), 1); /* it failed */
    assert_int_equal(ask(&job_table, 4, ADL_AFTER_NOT_OK, &culprit), -1);
    assert_int_equal(culprit, 4);
    assert_int_equal(ask(&job_table, 99, ADL_AFTER_NOT_OK, &culprit), 1); /* deleted since */
    assert_int_equal(ask(&job_table, 50, ADL_AFTER_START, &culprit), 0);
    assert_int_equal(ask(&job_table, 5, ADL_AFTER_START, &culprit), 1);
    run(&job_table, job);
    assert_int_equal(ask(&job_table, 50, ADL_AFTER_START, &culprit), 1);
    assert_int_equal(ask(&job_table, 50, ADL_AFTER_ANY, &culprit), 0);
    assert_int_equal(ask(&job_table, 0, ADL_AFTER_SINGLETON, &culprit), 0); /* of the same name and user */
    job->uid = 7;
    assert_int_equal(ask(&job_table, 0, ADL_AFTER_SINGLETON, &culprit), 1);
    /* It ended, and was put back after the other was submitted: that one does not wait for it again. */
    job->requeue_us = 1001;
    assert_int_equal(ask(&job_table, 50, ADL_AFTER_ANY, &culprit), 1);
    job->requeue_us = 999;
    assert_int_equal(ask(&job_table, 50, ADL_AFTER_ANY, &culprit), 0);
    adl_job_table_clear(&job_table);
}

static void one_of_several_dependencies_is_enough_if_that_was_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint8_t on[2]; /* 50 is live, 4 completed, 5 failed */
        int all, any;
    } cases[] = {{{50, 4}, 0, 1},  {{4, 50}, 0, 1},  {{50, 5}, -1, 0},
                 {{5, 50}, -1, 0}, {{5, 7}, -1, -1}, {{4, 6}, 1, 1}};
    struct adl_job_table job_table;
    assert_int_equal(adl_job_table_create(&job_table), 0);
    add(&job_table, 50, 0, -1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_store_dependency on[2] = {{cases[i].on[0], ADL_AFTER_OK}, {cases[i].on[1], ADL_AFTER_OK}};
        struct adl_job_entry job = {.id = 1000, .name = "x", .dependencies = on, .dependency_count = 2};
        const struct adl_store_dependency *culprit = NULL;
        assert_int_equal(adl_job_table_dependencies(&job_table, &job, end_of, NULL, &culprit), cases[i].all);
        job.dependency_any = true;
        assert_int_equal(adl_job_table_dependencies(&job_table, &job, end_of, NULL, &culprit), cases[i].any);
        assert_true(cases[i].any > 0 || culprit);
    }
    adl_job_table_clear(&job_table);
}

static void jobs_of_a_bounded_array_are_counted_together_and_one_that_comes_back_finds_its_place(void **state)
{
    (void)state;
    struct adl_job_table job_table;
    struct adl_store_job row = {
        .spec = {.id = 1, .gpus = 1}, .payload = 1, .array_index = 0, .array = {.count = 4, .limit = 2}};
    assert_int_equal(adl_job_table_create(&job_table), 0);
    for (uint64_t id = 1; id <= 4; id++) {
        row.spec.id = id;
        row.array_id = id > 1 ? 1 : 0;
        assert_non_null(adl_job_table_add(&job_table, &row));
    }
    add(&job_table, 9, 0, -1);
    struct adl_job_entry *first = job_table.first, *second = first->next;
    assert_ptr_equal(first->shared, second->shared);
    assert_int_equal(first->shared->jobs, 4);
    assert_int_equal(first->shared->array.limit, 2);
    adl_job_table_move(&job_table, first, ADL_ON_ENQUEUE, 1);
    run(&job_table, second);
    assert_int_equal(first->shared->active, 2);
    adl_job_table_move(&job_table, second->next, ADL_ON_AWAIT_ARRAY, 1);
    adl_job_table_move(&job_table, second->next, ADL_ON_AWAIT_TIME, 1);
    assert_int_equal(job_table.by_stage[ADL_STAGE_AWAITS_ARRAY], 0);
    assert_int_equal(job_table.by_stage[ADL_STAGE_AWAITS_TIME], 1);
    adl_job_table_remove(&job_table, second);
    assert_int_equal(first->shared->active, 1);
    row.spec.id = 2;
    second = adl_job_table_add(&job_table, &row);
    assert_ptr_equal(second->previous, first);
    assert_int_equal(second->next->id, 3);
    assert_ptr_equal(second->next->previous, second);
    assert_ptr_equal(second->shared, first->shared);
    assert_int_equal(first->shared->jobs, 4);
    adl_job_table_clear(&job_table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_come_and_go_are_found_by_number_and_by_slot),
        cmocka_unit_test(a_job_says_what_it_runs_and_where),
        cmocka_unit_test(jobs_of_an_array_share_their_strings_and_their_users_account_counts_them_once),
        cmocka_unit_test(who_depends_on_a_job_waits_for_its_end_and_on_an_array_for_all_of_it),
        cmocka_unit_test(every_kind_of_dependency_waits_for_what_slurm_says),
        cmocka_unit_test(one_of_several_dependencies_is_enough_if_that_was_asked_for),
        cmocka_unit_test(jobs_of_a_bounded_array_are_counted_together_and_one_that_comes_back_finds_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
