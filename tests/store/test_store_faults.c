/* The store on a disk that is full, fails, or loses power, at each single operation in turn: the error is told, what
 * was acknowledged stays, and nothing is there by halves. */
#include "faulty_vfs.h"
#include "store_load.h"

#include "store/store_internal.h"

enum { STEPS = 2 };

/* A checkpoint every few pages, so that writes into the database itself are among those that fail, and hardly any
 * memory, so that a group is written to the disk before its commit and can fail in the middle. */
static struct adl_store *open_small(const struct place *place, struct adl_error *err)
{
    struct adl_store *store = NULL;
    if (adl_store_open(place->path, ADL_STORE_SERVE, &store, err))
        return NULL;
    assert_int_equal(sqlite3_exec(store->db, "PRAGMA wal_autocheckpoint = 8; PRAGMA cache_size = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    return store;
}

/* A state with all its tables. Making them takes most of the time, and is done anew only where it is to fail. */
static struct place place_with_tables(void)
{
    static char *bytes;
    static size_t size;
    struct place place = place_make_fast();
    char path[128];
    snprintf(path, sizeof path, "%s/adlro.db", place.path);
    if (!bytes) {
        adl_store_close(store_open(&place));
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        bytes = malloc(1 << 20);
        assert_non_null(bytes);
        size = fread(bytes, 1, 1 << 20, file);
        assert_in_range(size, 1, (1 << 20) - 1);
        fclose(file);
        return place;
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return place;
}

/* All steps; returns how many parts failed, and keeps the first text. */
static int run_load(struct adl_store *store, struct store_load *load, struct adl_error *ret_first)
{
    int failed = 0;
    for (uint32_t step = 0; step < STEPS; step++)
        for (int part = 0; part < LOAD_PARTS; part++) {
            struct adl_error err = {{0}};
            const int status = load_part(store, load, step, part, &err);
            if (status && err.text[0]) {
                if (!strstr(err.text, "adlro.db"))
                    fail_msg("no file in: %s", err.text);
                if (failed++ == 0)
                    *ret_first = err;
            }
        }
    return failed;
}

struct tally {
    int runs, refused_open, with_errors;
};

/* One run on a disk whose n-th operation fails; false when the run was over before. */
static bool fail_once(enum fault fault, int64_t n, bool lasting, bool in_open, struct tally *tally)
{
    struct place place = in_open ? place_make_fast() : place_with_tables();
    struct store_load load = load_make(STEPS + 1);
    struct adl_error err = {{0}}, first = {{0}};
    if (in_open)
        faulty_arm(fault, n, lasting);
    struct adl_store *store = open_small(&place, &err);
    if (!store) {
        assert_true(in_open && strlen(err.text) > 20);
        tally->refused_open++;
    } else {
        if (!in_open)
            faulty_arm(fault, n, lasting);
        const int failed = run_load(store, &load, &first);
        if (faulty.failures > 0 && lasting)
            assert_true(failed > 0 || faulty.operations < n + 3);
        tally->with_errors += failed > 0;
        if (failed > 0 && fault == FAULT_FULL && !strstr(first.text, "full"))
            fail_msg("not full: %s", first.text);
    }
    const bool struck = faulty.failures > 0;
    if (store && !lasting) { /* the disk is well again: the store that saw the failure goes on */
        faulty_arm(fault, 0, false);
        load_verify(store, &load, true);
        assert_int_equal(load_part(store, &load, STEPS, LOAD_JOBS, &err), 0);
    }
    adl_store_close(store);
    faulty_arm(fault, 0, false);
    store = store_open(&place);
    load_verify(store, &load, !lasting);
    adl_store_close(store);
    load_clear(&load);
    place_remove(&place);
    tally->runs++;
    return struck;
}

static void each_operation_fails_in_turn(enum fault fault, bool lasting, bool in_open)
{
    struct tally tally = {0};
    for (int64_t n = 1; fail_once(fault, n, lasting, in_open, &tally); n++)
        ;
    print_message("%d runs, %d could not open, %d told of errors\n", tally.runs, tally.refused_open, tally.with_errors);
    assert_true(tally.runs > 30 && tally.with_errors > 20);
    assert_true(!in_open || tally.refused_open > 3);
}

static void a_disk_that_is_full_once_loses_only_writes_that_failed(void **state)
{
    (void)state;
    each_operation_fails_in_turn(FAULT_FULL, false, false);
}

static void a_disk_that_stays_full_leaves_what_was_acknowledged(void **state)
{
    (void)state;
    each_operation_fails_in_turn(FAULT_FULL, true, true);
}

static void an_io_error_loses_only_writes_that_failed(void **state)
{
    (void)state;
    each_operation_fails_in_turn(FAULT_IO, false, true);
}

static void a_disk_that_died_leaves_what_was_acknowledged(void **state)
{
    (void)state;
    each_operation_fails_in_turn(FAULT_IO, true, false);
}

/* ---- power ---- */

static bool cut_power(int64_t n, uint64_t coins, bool in_open)
{
    struct place place = in_open ? place_make_fast() : place_with_tables();
    struct store_load load = load_make(STEPS + 1);
    struct adl_error err = {{0}};
    faulty_arm(FAULT_POWER, in_open ? n : 0, true);
    struct adl_store *store = open_small(&place, &err);
    if (store) {
        if (!in_open)
            faulty_arm(FAULT_POWER, n, true);
        run_load(store, &load, &err);
    }
    const bool struck = faulty.failures > 0;
    adl_store_close(store);
    faulty_lose_power(coins);
    faulty_arm(FAULT_IO, 0, false);
    store = store_open(&place);
    load_verify(store, &load, false);
    adl_store_close(store);
    load_clear(&load);
    place_remove(&place);
    return struck;
}

static void what_was_acknowledged_survives_a_power_cut_at_any_moment(void **state)
{
    (void)state;
    int cuts = 0;
    for (int in_open = 0; in_open < 2; in_open++)
        for (int64_t n = 1; cut_power(n, 0, in_open); n++)
            cuts++;
    assert_true(cuts > 60);
}

static void what_was_acknowledged_survives_also_when_the_disk_wrote_in_another_order(void **state)
{
    (void)state;
    for (uint64_t coins = 1; coins <= 3; coins++)
        for (int64_t n = 1; cut_power(n, coins * 7919, coins == 3); n++)
            ;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_that_is_full_once_loses_only_writes_that_failed),
        cmocka_unit_test(a_disk_that_stays_full_leaves_what_was_acknowledged),
        cmocka_unit_test(an_io_error_loses_only_writes_that_failed),
        cmocka_unit_test(a_disk_that_died_leaves_what_was_acknowledged),
        cmocka_unit_test(what_was_acknowledged_survives_a_power_cut_at_any_moment),
        cmocka_unit_test(what_was_acknowledged_survives_also_when_the_disk_wrote_in_another_order),
    };
    faulty_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
