/* Opening a store: whatever must not be opened is refused with a text that says why and what to do. */
#include "store_fixture.h"

#include "store/store_internal.h"

#include <limits.h>
#include <sys/wait.h>

static int check_one(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    const uint64_t *numbers = context;
    check_job(job, numbers[0], numbers[1]);
    return 0;
}

static int count_one(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)context;
    (void)err;
    return job->spec.id == 0;
}

static void check_refused(const struct place *place, enum adl_store_mode mode, int status, const char *says)
{
    struct adl_store *store = (void *)place;
    struct adl_error err = {{0}};
    assert_int_equal(adl_store_open(place->path, mode, &store, &err), status);
    assert_ptr_equal(store, place);
    if (!strstr(err.text, says) || !strstr(err.text, place->path))
        fail_msg("no '%s' in: %s", says, err.text);
}

/* In a child, because a lock belongs to a process. */
static int refused_in_child(const struct place *place, const char *says)
{
    const pid_t child = fork();
    if (child == 0) {
        struct adl_store *store = NULL;
        struct adl_error err = {{0}};
        const int status = adl_store_open(place->path, ADL_STORE_SERVE, &store, &err);
        _exit(status == 0 ? 1 : !says || !strstr(err.text, says) ? 2 : 0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_second_service_is_refused_and_told_whose_the_state_is(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    char pid[32];
    snprintf(pid, sizeof pid, "(pid %ld)", (long)getpid());
    assert_int_equal(refused_in_child(&place, pid), 0);
    store_numbered(store, 1); /* the first one is not disturbed */
    adl_store_close(store);
    assert_int_equal(refused_in_child(&place, pid), 1);
    place_remove(&place);
}

static void a_reader_sees_what_is_committed_and_writes_nothing(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *reader = NULL;
    struct adl_error err;
    check_refused(&place, ADL_STORE_READ, ADL_EIO, "first starts");
    struct adl_store *store = store_open(&place);
    assert_int_equal(adl_store_open(place.path, ADL_STORE_READ, &reader, &err), 0);
    assert_int_equal(adl_store_begin(store, &err), 0);
    const uint64_t id = store_numbered(store, 1);
    assert_int_equal(adl_store_job_read(reader, id, check_one, NULL, &err), 0);
    assert_int_equal(adl_store_commit(store, &err), 0);
    assert_int_equal(adl_store_job_read(reader, id, check_one, (uint64_t[]){1, 1}, &err), 1);
    struct made_job made;
    uint64_t none = 0;
    make_job(2, &made);
    assert_int_equal(adl_store_job_add(reader, &made.job, &none, &err), ADL_EREFUSED);
    adl_store_close(reader);
    adl_store_close(store);
    place_remove(&place);
}

static void run_sql(const struct place *place, const char *sql)
{
    char path[128];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/adlro.db", place->path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_newer_schema_and_another_programs_database_are_left_alone(void **state)
{
    (void)state;
    struct place place = place_make();
    adl_store_close(store_open(&place));
    run_sql(&place, "PRAGMA user_version = 4711");
    check_refused(&place, ADL_STORE_SERVE, ADL_EREFUSED, "newer version of adlro (schema 4711");
    check_refused(&place, ADL_STORE_READ, ADL_EREFUSED, "newer version of adlro (schema 4711");
    run_sql(&place, "PRAGMA user_version = 0");
    check_refused(&place, ADL_STORE_READ, ADL_EREFUSED, "start the service once");
    place_empty(&place);
    run_sql(&place, "CREATE TABLE notes (text TEXT)");
    check_refused(&place, ADL_STORE_SERVE, ADL_EINVAL, "another program");
    place_remove(&place);
}

/* Overwrites bytes of the database. */
static void damage(const struct place *place, off_t at, size_t size)
{
    char path[128], junk[4096];
    memset(junk, 0x5a, sizeof junk);
    snprintf(path, sizeof path, "%s/adlro.db", place->path);
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, junk, size, at), size);
    close(fd);
}

static void a_damaged_database_is_refused_and_not_made_worse(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    for (uint64_t i = 0; i < 50; i++)
        store_numbered(store, i);
    adl_store_close(store);
    char path[128];
    struct stat about;
    snprintf(path, sizeof path, "%s/adlro.db", place.path);
    assert_int_equal(stat(path, &about), 0);
    damage(&place, about.st_size / 2 / 4096 * 4096, 4096);
    check_refused(&place, ADL_STORE_SERVE, ADL_EIO, "damaged");
    damage(&place, 0, 100);
    check_refused(&place, ADL_STORE_SERVE, ADL_EIO, "damaged");
    assert_int_equal(truncate(path, 5000), 0);
    check_refused(&place, ADL_STORE_SERVE, ADL_EIO, "damaged");
    place_remove(&place);
}

/* Any single byte may be wrong: an error or an answer, never a crash. */
static void a_database_with_a_wrong_byte_never_crashes_a_reader(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_rng rng;
    char path[128];
    struct stat about;
    for (uint64_t i = 0; i < 20; i++)
        store_numbered(store, i);
    adl_store_close(store);
    snprintf(path, sizeof path, "%s/adlro.db", place.path);
    assert_int_equal(stat(path, &about), 0);
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    adl_rng_seed(&rng, 3, "damage");
    int read = 0;
    for (int trial = 0; trial < 300; trial++) {
        const off_t at = (off_t)draw_below(&rng, about.st_size);
        const char wrong = (char)draw_below(&rng, 256);
        char right;
        struct adl_error err;
        assert_int_equal(pread(fd, &right, 1, at), 1);
        assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
        store = NULL;
        if (adl_store_open(place.path, ADL_STORE_READ, &store, &err) == 0 &&
            adl_store_jobs_page(store, &(struct adl_store_page){.limit = 64}, count_one, NULL, &err) == 20)
            read++;
        adl_store_close(store);
        assert_int_equal(pwrite(fd, &right, 1, at), 1);
    }
    assert_true(read > 100 && read < 300);
    close(fd);
    place_remove(&place);
}

static void a_directory_that_cannot_be_written_or_made_is_named(void **state)
{
    (void)state;
    struct place place = place_make();
    struct place missing = place;
    strcat(missing.path, "/a/b");
    check_refused(&missing, ADL_STORE_SERVE, ADL_EIO, "create the directory");
    missing.path[strlen(missing.path) - 2] = '\0';
    adl_store_close(store_open(&missing));
    place_remove(&missing);
    assert_int_equal(chmod(place.path, 0500), 0);
    const pid_t child = fork();
    if (child == 0) { /* root may write anywhere, so become somebody else */
        if (getuid() == 0 && (chown(place.path, 65534, 65534) != 0 || setuid(65534) != 0))
            _exit(3);
        struct adl_store *store = NULL;
        struct adl_error err = {{0}};
        const int status = adl_store_open(place.path, ADL_STORE_SERVE, &store, &err);
        _exit(status != ADL_EIO ? 1 : !strstr(err.text, "must be able to write") ? 2 : 0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    place_remove(&place);
}

static void only_the_owner_can_read_the_files(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    store_numbered(store, 1);
    static const char *const names[] = {"adlro.db", "adlro.db-wal", "lock"};
    for (int i = 0; i < 3; i++) {
        char path[128];
        struct stat about;
        snprintf(path, sizeof path, "%s/%s", place.path, names[i]);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
    }
    adl_store_close(store);
    place_remove(&place);
}

/* ---- directories that are not ours ---- */

static mode_t mode_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

static void put_file(const struct place *place, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", place->path, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void a_directory_with_something_else_in_it_is_refused_and_left_as_it_is(void **state)
{
    (void)state;
    struct place place = place_make();
    put_file(&place, "passwd");
    assert_int_equal(chmod(place.path, 0755), 0);
    check_refused(&place, ADL_STORE_SERVE, ADL_EINVAL, "it holds 'passwd' and no adlro.db");
    assert_int_equal(mode_of(place.path), 0755);
    char lock[128];
    snprintf(lock, sizeof lock, "%s/lock", place.path);
    assert_int_equal(access(lock, F_OK), -1);
    place_remove(&place);
}

static void an_empty_directory_of_ours_is_used_and_becomes_private(void **state)
{
    (void)state;
    struct place place = place_make();
    assert_int_equal(chmod(place.path, 0755), 0);
    adl_store_close(store_open(&place));
    assert_int_equal(mode_of(place.path), 0700);
    put_file(&place, "note"); /* what is beside a database of ours does not matter */
    adl_store_close(store_open(&place));
    place_empty(&place);
    put_file(&place, "lock"); /* a start that was cut short */
    adl_store_close(store_open(&place));
    place_remove(&place);
}

static void a_symbolic_link_is_refused_also_with_a_slash_behind_it(void **state)
{
    (void)state;
    static const char *const ends[] = {"", "/", "/.", "//./"};
    struct place place = place_make(), link = place;
    strcat(link.path, "-l");
    assert_int_equal(chmod(place.path, 0755), 0);
    assert_int_equal(symlink(place.path, link.path), 0);
    for (int i = 0; i < 4; i++) {
        struct place at = link;
        strcat(at.path, ends[i]);
        struct adl_store *store = NULL;
        struct adl_error err = {{0}};
        assert_int_equal(adl_store_open(at.path, ADL_STORE_SERVE, &store, &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, "symbolic link"));
    }
    assert_int_equal(mode_of(place.path), 0755);
    unlink(link.path);
    place_remove(&place);
}

static void a_directory_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can give a directory away: skipped\n");
        skip();
    }
    struct place place = place_make();
    assert_int_equal(chown(place.path, 65534, 65534), 0);
    assert_int_equal(chmod(place.path, 0755), 0);
    check_refused(&place, ADL_STORE_SERVE, ADL_EINVAL, "belongs to uid 65534");
    assert_int_equal(mode_of(place.path), 0755);
    place_remove(&place);
}

static void a_database_that_is_a_link_is_refused(void **state)
{
    (void)state;
    struct place place = place_make();
    char path[128];
    snprintf(path, sizeof path, "%s/adlro.db", place.path);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    check_refused(&place, ADL_STORE_SERVE, ADL_EINVAL, "not a plain file");
    place_remove(&place);
}

/* ---- migrations ---- */

static int version_of(sqlite3 *db)
{
    int version = -1;
    struct adl_error err;
    assert_int_equal(adl_store_identify(db, "x.db", INT_MAX, &version, &err), 0);
    return version;
}

static void a_migration_that_fails_leaves_the_version_before_it_whole(void **state)
{
    (void)state;
    static const char *const good[] = {"CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO a VALUES (1)",
                                       "CREATE TABLE c (x)"};
    static const char *const bad[] = {"CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)",
                                      "CREATE TABLE c (x)"};
    sqlite3 *db = NULL;
    struct adl_error err;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(version_of(db), 0);
    assert_true(adl_store_migrate(db, "x.db", bad, 3, &err) < 0);
    assert_non_null(strstr(err.text, "to schema 2; it is still at 1"));
    assert_int_equal(version_of(db), 1);
    assert_int_not_equal(sqlite3_exec(db, "SELECT * FROM b", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(adl_store_migrate(db, "x.db", good, 3, &err), 0); /* only steps that are missing */
    assert_int_equal(version_of(db), 3);
    assert_int_equal(sqlite3_exec(db, "SELECT * FROM a, b, c", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(adl_store_migrate(db, "x.db", good, 3, &err), 0);
    sqlite3_close(db);
}

/* A job of schema 2, in words of its own. */
static void add_old_job(sqlite3 *db, int array_id, int array_index, const char *script)
{
    char sql[1000];
    snprintf(sql, sizeof sql,
             "INSERT INTO submission (user_id, name_id, class_index, gpus, types, kind, flags, cpu_cores, memory_mib,"
             " gpu_memory_mib, submitted_priority, min_steps_per_s, limit_us, deadline_us, uid, gid, user, name,"
             " request, argv, script, directory, environment, stdout_path, stderr_path, dependencies, array_id,"
             " array_index, submit_us) VALUES (0, 0, 0, 1, 1, 0, 2, 1, 1, 1, 0.5, 0, 1, 0, 1000, 1000, 'alice', 'old',"
             " 'a100:1', x'6100', '%s', '/home', x'413d6200', 'out', 'err', x'020000000000000001', %d, %d, 7);"
             "INSERT INTO job VALUES (last_insert_rowid(), 0, 0, 0.5, '', 0, 0, 0, 0, 0, x'', 0, 0, '', 0)",
             script, array_id, array_index);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

struct old_jobs {
    int count;
    uint64_t payloads[8];
    uint64_t last;
};

static int check_old_job(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    struct old_jobs *seen = context;
    assert_string_equal(job->argv[0], "a");
    assert_string_equal(job->environment[0], "A=b");
    assert_string_equal(job->request, "a100:1");
    assert_string_equal(job->stderr_path, "err");
    assert_int_equal(job->spec.stop_loss, ADL_LOSS_ALL); /* it may be stopped, and nobody kept its work */
    assert_int_equal(job->dependencies[0].job, 2);
    assert_string_equal(job->script, seen->count == 3 ? "other" : "equal");
    seen->payloads[seen->count++] = job->payload;
    seen->last = job->spec.id;
    return 0;
}

static void a_state_of_schema_2_is_migrated_and_arrays_share_equal_payloads(void **state)
{
    (void)state;
    struct place place = place_make();
    char path[128];
    sqlite3 *db = NULL;
    struct adl_error err;
    struct old_jobs seen = {0};
    snprintf(path, sizeof path, "%s/adlro.db", place.path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(adl_store_migrate(db, path, adl_store_steps, 2, &err), 0);
    add_old_job(db, 0, 0, "equal");
    add_old_job(db, 1, 1, "equal");
    add_old_job(db, 1, 2, "equal");
    add_old_job(db, 1, 3, "other");
    add_old_job(db, 0, -1, "equal");
    add_old_job(db, 77, 1, "equal"); /* an array of another cluster's */
    sqlite3_close(db);
    struct adl_store *store = store_open(&place);
    assert_int_equal(adl_store_jobs_live(store, check_old_job, &seen, &err), 6);
    assert_memory_equal(seen.payloads, ((uint64_t[]){1, 1, 1, 4, 5, 6}), 6 * sizeof(uint64_t));
    assert_int_equal(store_numbered(store, 1), 7);
    adl_store_close(store);
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_service_is_refused_and_told_whose_the_state_is),
        cmocka_unit_test(a_reader_sees_what_is_committed_and_writes_nothing),
        cmocka_unit_test(a_newer_schema_and_another_programs_database_are_left_alone),
        cmocka_unit_test(a_damaged_database_is_refused_and_not_made_worse),
        cmocka_unit_test(a_database_with_a_wrong_byte_never_crashes_a_reader),
        cmocka_unit_test(a_directory_that_cannot_be_written_or_made_is_named),
        cmocka_unit_test(only_the_owner_can_read_the_files),
        cmocka_unit_test(a_directory_with_something_else_in_it_is_refused_and_left_as_it_is),
        cmocka_unit_test(an_empty_directory_of_ours_is_used_and_becomes_private),
        cmocka_unit_test(a_symbolic_link_is_refused_also_with_a_slash_behind_it),
        cmocka_unit_test(a_directory_of_another_user_is_refused),
        cmocka_unit_test(a_database_that_is_a_link_is_refused),
        cmocka_unit_test(a_migration_that_fails_leaves_the_version_before_it_whole),
        cmocka_unit_test(a_state_of_schema_2_is_migrated_and_arrays_share_equal_payloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
