/* Records: whole or not at all. */
#include "task_fixture.h"

#include <sys/resource.h>

static const char *words[] = {"one", "", "two\nlines", "end\n", "argv=3:abc\n", NULL};

static struct adl_task_spec rich_spec(void)
{
    return (struct adl_task_spec){.job_id = INT64_MIN,
                                  .argv = {words, 5},
                                  .env = {plain_env, 1},
                                  .cwd = "/a b\n",
                                  .stdout_path = "",
                                  .append = true,
                                  .uid = 5,
                                  .time_limit_us = INT64_MAX,
                                  .limits = {[ADL_RESOURCE_STACK] = -1},
                                  .cpuset = "0-3"};
}

static int open_home(void)
{
    const int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    return dir;
}

static void what_was_stored_is_loaded(void **state)
{
    (void)state;
    struct adl_error err;
    struct adl_record record = {0};
    struct adl_task_spec read = {0};
    const struct adl_task_spec spec = rich_spec();
    const int dir = open_home();
    assert_int_equal(adl_record_load(dir, "job", &adl_task_spec_form, &read, &record, &err), ADL_RECORD_MISSING);
    assert_int_equal(adl_record_store(dir, "job", &adl_task_spec_form, &spec, ADL_RECORD_SYNC, &err), 0);
    assert_int_equal(adl_record_load(dir, "job", &adl_task_spec_form, &read, &record, &err), 0);
    assert_true(read.job_id == spec.job_id && read.uid == 5 && read.time_limit_us == INT64_MAX && read.append);
    assert_int_equal(read.limits[ADL_RESOURCE_STACK], -1);
    assert_string_equal(read.cwd, spec.cwd);
    assert_string_equal(read.stdout_path, "");
    assert_string_equal(read.cpuset, "0-3");
    assert_null(read.shell);
    assert_int_equal(read.argv.count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(read.argv.items[i], words[i]);
    assert_null(read.argv.items[5]);
    adl_record_clear(&record, &adl_task_spec_form, &read);
    adl_record_clear(&record, &adl_task_spec_form, &read);
    close(dir);
}

static void long_lists_come_back(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static char texts[COUNT][16];
    static const char *items[COUNT + 1];
    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "A=%d", i);
        items[i] = texts[i];
    }
    for (uint32_t count = 0; count < COUNT; count = count * 2 + 1) {
        struct adl_error err;
        struct adl_text text = {0};
        struct adl_task_spec read = {0};
        struct adl_record record = {0};
        const struct adl_task_spec spec = {.env = {items, count}};
        adl_record_print(&text, &adl_task_spec_form, &spec);
        assert_int_equal(adl_text_status(&text), 0);
        assert_int_equal(adl_record_parse(text.data, text.size, &adl_task_spec_form, &read, "x", &err), 0);
        assert_int_equal(read.env.count, count);
        for (uint32_t i = 0; i < count; i++)
            assert_string_equal(read.env.items[i], items[i]);
        adl_record_clear(&record, &adl_task_spec_form, &read);
        adl_text_clear(&text);
    }
}

/* Parses a copy of exactly its size, so that the address sanitizer sees a read beyond its end. */
static int parse_copy(const char *data, size_t size)
{
    struct adl_error err = {{0}};
    struct adl_task_spec read = {0};
    struct adl_record record = {malloc(size + 1)};
    assert_non_null(record.bytes);
    memcpy(record.bytes, data, size);
    record.bytes[size] = 0;
    const int status = adl_record_parse(record.bytes, size, &adl_task_spec_form, &read, "job", &err);
    assert_true(status == 0 || err.text[0] != 0);
    adl_record_clear(&record, &adl_task_spec_form, &read);
    return status;
}

static void a_part_of_a_record_is_refused(void **state)
{
    (void)state;
    struct adl_text text = {0};
    const struct adl_task_spec spec = rich_spec();
    adl_record_print(&text, &adl_task_spec_form, &spec);
    for (size_t size = 0; size < text.size; size++)
        assert_int_equal(parse_copy(text.data, size), ADL_EINVAL);
    assert_int_equal(parse_copy(text.data, text.size), 0);
    adl_text_clear(&text);
}

static void bytes_that_changed_do_no_harm(void **state)
{
    (void)state;
    struct adl_text text = {0};
    const struct adl_task_spec spec = rich_spec();
    adl_record_print(&text, &adl_task_spec_form, &spec);
    const char others[] = {0, '\n', '=', ':', '9', '-', 'e', (char)0xff};
    for (size_t i = 0; i < text.size; i++) {
        const char was = text.data[i];
        for (size_t k = 0; k < sizeof others; k++) {
            text.data[i] = others[k];
            parse_copy(text.data, text.size);
        }
        text.data[i] = was;
    }
    adl_text_clear(&text);
}

static void malformed_records_are_refused(void **state)
{
    (void)state;
    const char *bad[] = {
        "",
        "adlro-job 2\nend\n",
        "adlro-job 1\nend\nmore",
        "adlro-job 1\nunknown=1:x\nend\n",
        "adlro-job 1\nuid=1:x\nend\n",
        "adlro-job 1\nuid=0:\nend\n",
        "adlro-job 1\nuid=20:99999999999999999999\nend\n",
        "adlro-job 1\ncwd=99999999999999999999999:x\nend\n",
        "adlro-job 1\ncwd=-1:x\nend\n",
        "adlro-job 1\ncwd= 1:x\nend\n",
        "adlro-job 1\n=1:x\nend\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_copy(bad[i], strlen(bad[i])), ADL_EINVAL);
    assert_int_equal(parse_copy("adlro-job 1\ncwd=3:a\0b\nend\n", 26), ADL_EINVAL);
    assert_int_equal(parse_copy("adlro-job 1\nend\n", 16), 0);
}

static void an_exclusive_record_is_made_once(void **state)
{
    (void)state;
    struct adl_error err;
    struct adl_record record = {0};
    struct adl_task_cancel first = {"first"}, second = {"second"}, read = {{0}};
    const int dir = open_home();
    assert_int_equal(adl_record_store(dir, "c", &adl_task_cancel_form, &first, ADL_RECORD_EXCLUSIVE, &err), 0);
    assert_int_equal(adl_record_store(dir, "c", &adl_task_cancel_form, &second, ADL_RECORD_EXCLUSIVE, &err),
                     ADL_EREFUSED);
    assert_int_equal(adl_record_load(dir, "c", &adl_task_cancel_form, &read, &record, &err), 0);
    assert_string_equal(read.reason, "first");
    adl_record_clear(&record, &adl_task_cancel_form, &read);
    close(dir);
}

/* Whatever parts of it reach the disk before the power fails. */
static void a_record_in_reserved_space_is_complete_or_missing(void **state)
{
    (void)state;
    struct adl_error err;
    struct adl_record record = {0};
    struct adl_task_result result = {.outcome = ADL_TASK_EXITED, .exit_code = 3}, read = {0};
    char whole[4096], part[4096];
    const int dir = open_home();
    memset(result.reason, 'r', sizeof result.reason - 1);
    memset(result.notes, 'n', sizeof result.notes - 1);
    assert_int_equal(adl_record_reserve(dir, "r", &adl_task_result_form, ADL_RECORD_SYNC, &err), 0);
    assert_int_equal(adl_record_load(dir, "r", &adl_task_result_form, &read, &record, &err), ADL_RECORD_MISSING);
    assert_int_equal(adl_record_fill(dir, "r", &adl_task_result_form, &result, &err), 0);
    assert_int_equal(adl_record_reserve(dir, "r", &adl_task_result_form, ADL_RECORD_SYNC, &err), 0);
    assert_int_equal(adl_record_load(dir, "r", &adl_task_result_form, &read, &record, &err), 0);
    assert_int_equal(read.exit_code, 3);
    assert_string_equal(read.reason, result.reason);
    adl_record_clear(&record, &adl_task_result_form, &read);
    assert_int_equal(adl_record_fill(dir, "r", &adl_task_result_form, &result, &err), ADL_EREFUSED);
    const int fd = openat(dir, "r", O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, whole, sizeof whole, 0), sizeof whole);
    for (unsigned sectors = 0; sectors < 7; sectors++) { /* of 256 bytes: the record takes three and a part */
        memset(part, 0, sizeof part);
        for (unsigned i = 0; i < 4; i++)
            if (i == 3 || sectors >> i & 1)
                memcpy(part + 256 * i, whole + 256 * i, 256);
        assert_int_equal(pwrite(fd, part, sizeof part, 0), sizeof part);
        assert_int_equal(adl_record_load(dir, "r", &adl_task_result_form, &read, &record, &err), ADL_RECORD_MISSING);
    }
    result.exit_code = 4; /* what counts as missing can be written again */
    assert_int_equal(adl_record_fill(dir, "r", &adl_task_result_form, &result, &err), 0);
    assert_int_equal(adl_record_load(dir, "r", &adl_task_result_form, &read, &record, &err), 0);
    assert_int_equal(read.exit_code, 4);
    adl_record_clear(&record, &adl_task_result_form, &read);
    close(fd);
    close(dir);
}

static void a_result_of_an_earlier_version_is_read(void **state)
{
    (void)state;
    struct adl_error err;
    struct adl_record record = {0};
    struct adl_task_result read = {0};
    const int dir = open_home();
    task_write_text("r", "adlro-result 1\noutcome=1:1\nexit_code=1:5\nend\n", 0600);
    assert_int_equal(adl_record_load(dir, "r", &adl_task_result_form, &read, &record, &err), 0);
    assert_int_equal(read.exit_code, 5);
    adl_record_clear(&record, &adl_task_result_form, &read);
    close(dir);
}

/* All but the record itself. */
static uint32_t count_files(void)
{
    uint32_t count = 0;
    DIR *dir = opendir(home);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void a_record_that_cannot_be_written_leaves_the_old_one_and_no_litter(void **state)
{
    (void)state;
    struct adl_error err;
    struct adl_record record = {0};
    struct adl_task_cancel old = {"old"}, new = {"new"}, read = {{0}};
    struct rlimit before, tiny;
    const int dir = open_home();
    assert_int_equal(adl_record_store(dir, "c", &adl_task_cancel_form, &old, 0, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    tiny = before;
    /* Writing stops after so many bytes, as on a disk that is full. */
    for (rlim_t size = 0; size < 20; size++) {
        tiny.rlim_cur = size;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
        const int status = adl_record_store(dir, "c", &adl_task_cancel_form, &new, ADL_RECORD_SYNC, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, ADL_EIO);
        assert_non_null(strstr(err.text, "c: cannot be written"));
        assert_int_equal(adl_record_load(dir, "c", &adl_task_cancel_form, &read, &record, &err), 0);
        assert_string_equal(read.reason, "old");
        adl_record_clear(&record, &adl_task_cancel_form, &read);
        assert_int_equal(count_files(), 1);
    }
    signal(SIGXFSZ, handler);
    close(dir);
}

static void records_are_files_and_not_links_or_pipes(void **state)
{
    (void)state;
    struct adl_error err;
    struct adl_record record = {0};
    struct adl_task_cancel read = {{0}};
    const int dir = open_home();
    task_write_text("real", "adlro-cancel 1\nend\n", 0600);
    assert_int_equal(symlink("real", in_home("link")), 0);
    assert_int_equal(mkfifo(in_home("pipe"), 0600), 0);
    assert_int_equal(adl_record_load(dir, "real", &adl_task_cancel_form, &read, &record, &err), 0);
    adl_record_clear(&record, &adl_task_cancel_form, &read);
    assert_int_equal(adl_record_load(dir, "link", &adl_task_cancel_form, &read, &record, &err), ADL_EIO);
    assert_int_equal(adl_record_load(dir, "pipe", &adl_task_cancel_form, &read, &record, &err), ADL_EINVAL);
    close(dir);
}

static void contradictory_tasks_are_refused(void **state)
{
    (void)state;
    struct adl_error err;
    const char *bad_env[] = {"NOVALUE", NULL}, *bad_group[] = {"wheel", NULL}, *argv[] = {"true", NULL};
    const struct adl_task_spec good = {.shell = "x", .cwd = "/", .uid = 1};
    assert_int_equal(adl_task_spec_check(&good, &err), 0);
    struct adl_task_spec bad[8];
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].argv = (struct adl_strings){argv, 1};
    bad[1].shell = NULL;
    bad[2].cwd = NULL;
    bad[3].env = (struct adl_strings){bad_env, 1};
    bad[4].groups = (struct adl_strings){bad_group, 1};
    bad[5].uid = (int64_t)UINT32_MAX; /* means "leave it" to setuid's kin */
    bad[6].time_limit_us = -1;
    bad[7].memory_max_mib = INT64_MAX;
    for (int i = 0; i < 8; i++)
        assert_int_equal(adl_task_spec_check(&bad[i], &err), ADL_EINVAL);
}

static void notes_are_cut_where_there_is_no_room(void **state)
{
    (void)state;
    struct adl_task_result result = {0};
    adl_task_note(&result, "%s", "first");
    adl_task_note(&result, "%s", "second");
    assert_string_equal(result.notes, "first; second");
    for (int i = 0; i < 100; i++)
        adl_task_note(&result, "note %d", i);
    assert_true(strlen(result.notes) < sizeof result.notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASK_TEST(what_was_stored_is_loaded),
        TASK_TEST(long_lists_come_back),
        TASK_TEST(a_part_of_a_record_is_refused),
        TASK_TEST(bytes_that_changed_do_no_harm),
        TASK_TEST(malformed_records_are_refused),
        TASK_TEST(an_exclusive_record_is_made_once),
        TASK_TEST(a_record_in_reserved_space_is_complete_or_missing),
        TASK_TEST(a_result_of_an_earlier_version_is_read),
        TASK_TEST(a_record_that_cannot_be_written_leaves_the_old_one_and_no_litter),
        TASK_TEST(records_are_files_and_not_links_or_pipes),
        TASK_TEST(contradictory_tasks_are_refused),
        TASK_TEST(notes_are_cut_where_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
