/* Jobs and directories for tests of the store. A job is a function of its number, so that whoever finds one in a store
 * can say what every field of it must be. Include after nothing: it brings cmocka along. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char path[64];
};

static inline struct place place_make_in(const char *parent)
{
    struct place place;
    snprintf(place.path, sizeof place.path, "%s/adlro-store-XXXXXX", parent);
    assert_non_null(mkdtemp(place.path));
    return place;
}

static inline struct place place_make(void)
{
    return place_make_in("/tmp");
}

/* In memory where there is such a place, for tests that never sync in earnest. */
static inline struct place place_make_fast(void)
{
    return place_make_in(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

static inline void place_empty(const struct place *place)
{
    DIR *dir = opendir(place->path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static inline void place_remove(const struct place *place)
{
    place_empty(place);
    rmdir(place->path);
}

static inline struct adl_store *store_open(const struct place *place)
{
    struct adl_store *store = NULL;
    struct adl_error err;
    if (adl_store_open(place->path, ADL_STORE_SERVE, &store, &err))
        fail_msg("%s", err.text);
    return store;
}

/* 0..count-1, also beyond 32 bits. */
static inline int64_t draw(struct adl_rng *rng, int64_t count)
{
    return (int64_t)(adl_rng_next(rng) % (uint64_t)count);
}

/* ---- jobs from numbers ---- */

enum { JOB_STRINGS = 12, JOB_TEXT = 3000 };

/* Holds what the job points to. */
struct made_job {
    struct adl_store_job job;
    char name[32];
    char reason[80];
    char script[JOB_TEXT];
    char strings[3 * JOB_STRINGS][40];
    const char *argv[JOB_STRINGS + 1];
    const char *environment[JOB_STRINGS + 1];
    const char *gpus[JOB_STRINGS + 1];
    struct adl_store_dependency dependencies[5];
};

/* Any bytes but zero; some strings are empty. */
static inline void make_string(struct adl_rng *rng, char *ret, size_t size)
{
    const int64_t length = draw(rng, (int64_t)size);
    for (int64_t i = 0; i < length; i++)
        ret[i] = (char)(1 + draw(rng, 255));
    ret[length] = '\0';
}

static inline void make_list(struct adl_rng *rng, char (*strings)[40], const char **ret)
{
    const int64_t count = draw(rng, JOB_STRINGS + 1);
    for (int64_t i = 0; i < count; i++) {
        make_string(rng, strings[i], 40);
        ret[i] = strings[i];
    }
    ret[count] = NULL;
}

static inline void make_status(struct adl_rng *rng, uint64_t number, struct made_job *ret)
{
    snprintf(ret->reason, sizeof ret->reason, "reason of %llu \xf0\x9f\x98\x80", (unsigned long long)number);
    make_list(rng, ret->strings + 2 * JOB_STRINGS, ret->gpus);
    ret->job.status = (struct adl_store_status){
        .state = (uint8_t)draw(rng, ADL_STORE_STATE_COUNT),
        .hold = (uint8_t)draw(rng, 3),
        .priority = (float)draw(rng, 1000) / 7,
        .reason = ret->reason,
        .start_us = draw(rng, INT64_MAX),
        .end_us = draw(rng, INT64_MAX),
        .exit_code = (int32_t)draw(rng, 256) - 1,
        .signal = (int32_t)draw(rng, 64),
        .attempts = (uint32_t)draw(rng, 1ll << 32),
        .gpus = ret->gpus,
        .pid = draw(rng, 1 << 22),
        .pid_ticks = (uint64_t)draw(rng, INT64_MAX),
        .boot = "3b8f7d0e-1f5c-4a42-9a57-0d9c0b6c2f11",
        .energy_j = (double)draw(rng, INT64_MAX) / 3,
    };
}

static inline void make_job(uint64_t number, struct made_job *ret)
{
    static const char *const limits[2][3] = {{NULL}, {"nofile=9", "core=unlimited", NULL}};
    struct adl_rng rng;
    adl_rng_seed(&rng, number, "store");
    memset(ret, 0, sizeof *ret);
    snprintf(ret->name, sizeof ret->name, "job-%llu", (unsigned long long)number);
    make_string(&rng, ret->script, draw(&rng, 4) ? 200 : JOB_TEXT);
    make_list(&rng, ret->strings, ret->argv);
    make_list(&rng, ret->strings + JOB_STRINGS, ret->environment);
    const uint32_t dependency_count = (uint32_t)draw(&rng, 6);
    for (uint32_t i = 0; i < dependency_count; i++) {
        ret->dependencies[i].job = (uint64_t)draw(&rng, INT64_MAX) * 2 + 1;
        ret->dependencies[i].after = (uint8_t)draw(&rng, ADL_AFTER_COUNT);
    }
    ret->job = (struct adl_store_job){
        .spec = {.user = (uint32_t)draw(&rng, 1ll << 32),
                 .name_id = adl_job_name_id(ret->name),
                 .class_index = (uint16_t)draw(&rng, 1 << 16),
                 .gpus = (uint16_t)draw(&rng, ADL_JOB_GPUS_MAX + 1),
                 .types = (uint32_t)draw(&rng, 1ll << 32),
                 .kind = (uint8_t)draw(&rng, ADL_KIND_COUNT),
                 .flags = (uint8_t)draw(&rng, 8),
                 .cpu_cores = (int32_t)draw(&rng, 1000),
                 .memory_mib = (int32_t)draw(&rng, INT32_MAX),
                 .gpu_memory_mib = (int32_t)draw(&rng, INT32_MAX),
                 .priority = (float)draw(&rng, 1000) / 999,
                 .min_steps_per_s = (float)draw(&rng, 1000) / 3,
                 .limit_us = draw(&rng, INT64_MAX),
                 .deadline_us = draw(&rng, INT64_MAX)},
        .uid = (uint32_t)(1000 + number % 3),
        .gid = (uint32_t)draw(&rng, 1ll << 32),
        .user = "alice",
        .name = ret->name,
        .request = "v100:2|a100:1",
        .argv = ret->argv,
        .script = ret->script,
        .directory = "/home/alice/a b\n'c'",
        .environment = ret->environment,
        .mask = number % 3 ? "027" : "",
        .limits = limits[number % 2],
        .stdout_path = "out-%j.txt",
        .stderr_path = "",
        .dependencies = ret->dependencies,
        .dependency_count = dependency_count,
        .dependency_any = number % 4 == 1,
        .begin_us = draw(&rng, INT64_MAX),
        .warn_signal = number % 3 ? "" : "B:USR1@60",
        .array = {.count = (uint32_t)draw(&rng, 10000),
                  .limit = (uint32_t)draw(&rng, 100),
                  .min = (int32_t)draw(&rng, 1000),
                  .max = (int32_t)draw(&rng, 1000000),
                  .step = (int32_t)draw(&rng, 100)},
        .array_id = number % 5 == 0 ? number + 1 : 0,
        .array_index = number % 5 == 0 ? (int32_t)number : -1,
        .submit_us = 1700000000000000 + (int64_t)number,
    };
    make_status(&rng, number, ret);
}

static inline uint64_t job_number(const struct adl_store_job *job)
{
    assert_int_equal(strncmp(job->name, "job-", 4), 0);
    return strtoull(job->name + 4, NULL, 10);
}

static inline bool lists_equal(const char *const *a, const char *const *b)
{
    while (*a && *b && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return !*a && !*b;
}

/* The first field that differs, or NULL. */
static inline const char *status_difference(const struct adl_store_status *a, const struct adl_store_status *b)
{
#define SAME(member)                                                                                                   \
    if (a->member != b->member)                                                                                        \
    return #member
#define SAME_TEXT(member)                                                                                              \
    if (strcmp(a->member, b->member) != 0)                                                                             \
    return #member
    SAME(state);
    SAME(hold);
    SAME(priority);
    SAME_TEXT(reason);
    SAME(start_us);
    SAME(end_us);
    SAME(exit_code);
    SAME(signal);
    SAME(attempts);
    if (!lists_equal(a->gpus, b->gpus))
        return "gpus";
    SAME(pid);
    SAME(pid_ticks);
    SAME_TEXT(boot);
    SAME(energy_j);
    SAME(requeue_us);
    SAME(requeue_end);
    return NULL;
}

static inline const char *spec_difference(const struct adl_job_spec *a, const struct adl_job_spec *b)
{
    SAME(user);
    SAME(name_id);
    SAME(class_index);
    SAME(gpus);
    SAME(types);
    SAME(kind);
    SAME(flags);
    SAME(cpu_cores);
    SAME(memory_mib);
    SAME(gpu_memory_mib);
    SAME(priority);
    SAME(min_steps_per_s);
    SAME(limit_us);
    SAME(deadline_us);
    return NULL;
}

static inline const char *submission_difference(const struct adl_store_job *a, const struct adl_store_job *b)
{
    const char *difference = spec_difference(&a->spec, &b->spec);
    if (difference)
        return difference;
    SAME(uid);
    SAME(gid);
    SAME_TEXT(user);
    SAME_TEXT(name);
    SAME_TEXT(request);
    if (!lists_equal(a->argv, b->argv))
        return "argv";
    SAME_TEXT(script);
    SAME_TEXT(directory);
    if (!lists_equal(a->environment, b->environment))
        return "environment";
    if (strcmp(a->mask, b->mask) != 0 || !lists_equal(a->limits, b->limits))
        return "mask or limits";
    SAME_TEXT(stdout_path);
    SAME_TEXT(stderr_path);
    SAME(dependency_count);
    for (uint32_t i = 0; i < a->dependency_count; i++)
        if (a->dependencies[i].job != b->dependencies[i].job || a->dependencies[i].after != b->dependencies[i].after)
            return "dependencies";
    SAME(dependency_any);
    SAME(begin_us);
    SAME_TEXT(warn_signal);
    SAME(array.count);
    SAME(array.limit);
    SAME(array.min);
    SAME(array.max);
    SAME(array.step);
    SAME(array_id);
    SAME(array_index);
    SAME(submit_us);
    return NULL;
}
#undef SAME
#undef SAME_TEXT

static inline void check_job(const struct adl_store_job *job, uint64_t number, uint64_t status_number)
{
    static struct made_job made, later;
    make_job(number, &made);
    make_job(status_number, &later);
    const char *difference = submission_difference(&made.job, job);
    if (!difference)
        difference = status_difference(&later.job.status, &job->status);
    if (difference)
        fail_msg("job %llu: %s is not what was written", (unsigned long long)number, difference);
}

static inline uint64_t add_job(struct adl_store *store, uint64_t number)
{
    static struct made_job made;
    struct adl_error err;
    uint64_t id = 0;
    make_job(number, &made);
    if (adl_store_job_add(store, &made.job, &id, &err))
        fail_msg("%s", err.text);
    return id;
}

#endif
