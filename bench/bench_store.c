/* bench_store: how many jobs a second the store takes, one a commit and many a commit, beside what the disk can sync,
 * and how long opening, reading and pruning take with much data. In ./build, so that the disk is the one built on.
 */
#include "experiment/run.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *text)
{
    fprintf(stderr, "bench_store: %s\n", text);
    exit(1);
}

static void check(int status, const struct adl_error *err)
{
    if (status < 0)
        die(err->text);
}

static double since_s(int64_t start_ns)
{
    return (double)(adl_clock_ns() - start_ns) * 1e-9;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A job as people submit them: some environment, a short script. */
static void add_jobs(struct adl_store *store, int count)
{
    static const char *const argv[] = {"python3", "train.py", "--epochs", "90", NULL};
    static char variables[40][64];
    const char *environment[41] = {NULL};
    static char script[1200];
    struct adl_error err;
    memset(script, '#', sizeof script - 1);
    for (int i = 0; i < 40; i++) {
        snprintf(variables[i], sizeof variables[i], "VARIABLE_%d=/some/path/like/others/%d", i, i);
        environment[i] = variables[i];
    }
    const struct adl_store_job job = {.spec = {.gpus = 1, .types = 3, .limit_us = 3600000000},
                                      .uid = 1000,
                                      .user = "alice",
                                      .name = "train",
                                      .argv = argv,
                                      .script = script,
                                      .directory = "/home/alice/project",
                                      .environment = environment,
                                      .array_index = -1};
    for (int i = 0; i < count; i++) {
        uint64_t id;
        check(adl_store_job_add(store, &job, &id, &err), &err);
        const struct adl_store_event event = {
            .kind = "submit", .job = id, .payload = "{\"gpus\":1,\"user\":\"alice\"}"};
        check(adl_store_event_append(store, &event, NULL, &err), &err);
    }
}

/* What a commit at the least is: some bytes appended and synced. */
static double bare_syncs_per_s(const char *directory)
{
    enum { COUNT = 200 };
    char path[300];
    static char bytes[8192];
    snprintf(path, sizeof path, "%s/bare", directory);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        die("cannot write a file");
    const int64_t start_ns = adl_clock_ns();
    for (int i = 0; i < COUNT; i++)
        if (write(fd, bytes, sizeof bytes) != sizeof bytes || fdatasync(fd) != 0)
            die("cannot sync a file");
    const double rate = COUNT / since_s(start_ns);
    close(fd);
    unlink(path);
    return rate;
}

/* Groups of so many jobs, for a second. */
static void bench_group(struct adl_store *store, int size)
{
    enum { COMMITS_MAX = 20000 };
    static double times_s[COMMITS_MAX];
    struct adl_error err;
    const int64_t start_ns = adl_clock_ns();
    int commits = 0;
    while (commits < COMMITS_MAX && since_s(start_ns) < 2) {
        const int64_t one_ns = adl_clock_ns();
        check(adl_store_begin(store, &err), &err);
        add_jobs(store, size);
        check(adl_store_commit(store, &err), &err);
        times_s[commits++] = since_s(one_ns);
    }
    const double spent_s = since_s(start_ns);
    qsort(times_s, (size_t)commits, sizeof times_s[0], compare);
    printf("%5d jobs a commit  %8.0f commits/s %9.0f jobs/s   p50 %7.2f ms   p99 %7.2f ms\n", size, commits / spent_s,
           commits * size / spent_s, times_s[commits / 2] * 1e3, times_s[commits * 99 / 100] * 1e3);
}

static int count_job(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    *(uint64_t *)context = job->spec.id;
    return 0;
}

static void bench_much(const char *directory, struct adl_store **store)
{
    enum { SAMPLES = 1000000, STEP = 1000 };
    struct adl_error err;
    uint64_t last = 0;
    int64_t start_ns = adl_clock_ns();
    const int live = adl_store_jobs_live(*store, count_job, &last, &err);
    printf("\n%d live jobs read in %.0f ms\n", live, since_s(start_ns) * 1e3);
    start_ns = adl_clock_ns();
    for (int i = 0; i < 1000; i++)
        check(adl_store_jobs_page(*store, &(struct adl_store_page){.limit = 50, .newest_first = true}, count_job, &last,
                                  &err),
              &err);
    printf("a page of 50 in %.2f ms\n", since_s(start_ns));
    start_ns = adl_clock_ns();
    for (int i = 0; i < SAMPLES; i += STEP) {
        check(adl_store_begin(*store, &err), &err);
        for (int j = i; j < i + STEP; j++)
            check(adl_store_sample_append(*store, &(struct adl_store_sample){.time_us = j, .gpu = "GPU-0"}, &err),
                  &err);
        check(adl_store_commit(*store, &err), &err);
    }
    printf("%d samples in %.1f s, 1000 a commit\n", SAMPLES, since_s(start_ns));
    adl_store_close(*store);
    *store = NULL;
    start_ns = adl_clock_ns();
    check(adl_store_open(directory, ADL_STORE_SERVE, store, &err), &err);
    printf("opened, every page checked, in %.0f ms\n", since_s(start_ns) * 1e3);
    double most_s = 0;
    for (int i = 0; i < 100; i++) {
        start_ns = adl_clock_ns();
        check(adl_store_prune(*store, INT64_MAX, 0, STEP, &err), &err);
        const double spent_s = since_s(start_ns);
        most_s = spent_s > most_s ? spent_s : most_s;
    }
    printf("1000 samples deleted in at most %.1f ms\n", most_s * 1e3);
}

int main(void)
{
    static const int sizes[] = {1, 10, 100, 1000};
    char directory[] = ADL_SOURCE_DIR "/build/bench-store-XXXXXX";
    struct adl_store *store = NULL;
    struct adl_error err;
    if (!mkdtemp(directory))
        die("cannot make a directory in build/");
    check(adl_store_open(directory, ADL_STORE_SERVE, &store, &err), &err);
    printf("8 KiB appended and synced  %8.0f a second\n", bare_syncs_per_s(directory));
    for (int i = 0; i < 4; i++)
        bench_group(store, sizes[i]);
    bench_much(directory, &store);
    adl_store_close(store);
    static const char *const names[] = {"adlro.db", "lock"};
    for (int i = 0; i < 2; i++) {
        char path[sizeof directory + 16];
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    return rmdir(directory) != 0;
}
