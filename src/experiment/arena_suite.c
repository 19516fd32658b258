#include "experiment/arena_suite.h"

#include "scenario/generator.h"

#include <stdio.h>

const char *const adl_arena_group_names[] = {"frozen", "shift", "random", "trace", NULL};

/* Numbers of runs of each policy: in the suite, and in its quick form, 0 = not in it. */
struct runs {
    uint32_t seeds, quick;
};

static const struct {
    const char *scenario;
    struct runs runs;
    bool measured;
} frozen[] = {
    {"paper16", {30, 10}, false}, {"paper16p", {30, 10}, false}, {"surge16", {20, 6}, false},
    {"mixed64", {20, 3}, false},  {"wear64", {12, 0}, false},    {"campus512", {6, 0}, false},
    {"gavel108", {10, 0}, true},
};

/* All of paper16. */
static const struct {
    const char *name;
    struct runs runs;
    struct adl_arena_shift shift;
} shifts[] = {
    {"load-70", {20, 0}, {.load = 0.7}},
    {"load-120", {20, 10}, {.load = 1.2}},
    {"mix-training", {20, 0}, {.kind = ADL_KIND_TRAINING, .kind_weight = 3}},
    {"mix-data", {20, 0}, {.kind = ADL_KIND_DATA, .kind_weight = 3}},
    {"mix-gangs", {20, 0}, {.gang_weight = 3}},
    {"long", {20, 0}, {.duration = 10}},
    {"heavy-tail", {20, 10}, {.duration = 10, .sigma = 0.8}},
};

/* More of the small ones, because they take less. */
static const struct {
    int size;
    uint32_t count, count_quick;
    struct runs runs;
} randoms[] = {
    {ADL_GENERATOR_SMALL, 12, 4, {10, 5}},
    {ADL_GENERATOR_MEDIUM, 9, 0, {5, 0}},
    {ADL_GENERATOR_LARGE, 3, 0, {3, 0}},
};

/* The clusters are such that jobs wait. A trace is the same on every seed, so it runs once. */
static const struct {
    const char *name, *trace, *cluster;
    struct runs runs;
    bool measured;
} traces[] = {
    {"philly-sample", "philly.csv", "nodes64", {1, 1}, false},
    {"lcg-sample", "swf.swf", "pool64", {1, 1}, false},
    {"gavel-msr", "gavel/traces/msr/11cb48.trace", "gavel108", {1, 1}, true},
    {"philly", "philly/philly_2017_sep_oct.csv", "philly", {1, 0}, false},
    {"lcg2005", "swf/LCG-2005-1.swf.gz", "lcg2005", {1, 0}, false},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The rows so far. */
struct suite {
    struct adl_arena_entry *entries;
    uint32_t count;
    bool quick;
};

/* Another row, or NULL if the quick form has none of these. */
static struct adl_arena_entry *add(struct suite *suite, int group, const char *name, struct runs runs)
{
    const uint32_t seeds = suite->quick ? runs.quick : runs.seeds;
    if (seeds == 0)
        return NULL;
    struct adl_arena_entry *entry = &suite->entries[suite->count++];
    *entry = (struct adl_arena_entry){.group = group, .seeds = seeds};
    snprintf(entry->name, sizeof entry->name, "%s", name);
    return entry;
}

static void add_frozen(struct suite *suite)
{
    for (size_t i = 0; i < COUNT(frozen); i++) {
        struct adl_arena_entry *entry = add(suite, ADL_ARENA_FROZEN, frozen[i].scenario, frozen[i].runs);
        if (!entry)
            continue;
        entry->scenario = frozen[i].scenario;
        entry->measured = frozen[i].measured;
    }
}

static void add_shifts(struct suite *suite)
{
    for (size_t i = 0; i < COUNT(shifts); i++) {
        struct adl_arena_entry *entry = add(suite, ADL_ARENA_SHIFT, shifts[i].name, shifts[i].runs);
        if (!entry)
            continue;
        entry->scenario = "paper16";
        entry->shift = shifts[i].shift;
    }
}

static void add_randoms(struct suite *suite)
{
    uint32_t number = 0;
    for (size_t i = 0; i < COUNT(randoms); i++) {
        const uint32_t count = suite->quick ? randoms[i].count_quick : randoms[i].count;
        for (uint32_t n = 0; n < count; n++) {
            char name[ADL_NAME_SIZE];
            snprintf(name, sizeof name, "%s-%u", adl_generator_size_names[randoms[i].size], n + 1);
            struct adl_arena_entry *entry = add(suite, ADL_ARENA_RANDOM, name, randoms[i].runs);
            if (!entry)
                continue;
            entry->size = randoms[i].size;
            entry->number = number++;
        }
    }
}

static void add_traces(struct suite *suite)
{
    for (size_t i = 0; i < COUNT(traces); i++) {
        struct adl_arena_entry *entry = add(suite, ADL_ARENA_TRACE, traces[i].name, traces[i].runs);
        if (!entry)
            continue;
        entry->trace = traces[i].trace;
        entry->cluster = traces[i].cluster;
        entry->measured = traces[i].measured;
    }
}

uint32_t adl_arena_suite(bool quick, struct adl_arena_entry ret[ADL_ARENA_ENTRIES_MAX])
{
    struct suite suite = {.entries = ret, .quick = quick};
    add_frozen(&suite);
    add_shifts(&suite);
    add_randoms(&suite);
    add_traces(&suite);
    return suite.count;
}
