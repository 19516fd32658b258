/* Writers that are killed: a child runs the load of store_load.h and says through a pipe what was acknowledged; it is
 * killed at a random moment, and everything it was promised must be in the store. */
#ifndef STORE_CRASH_H
#define STORE_CRASH_H

#include "store_load.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* What a child says: sizes below PIPE_BUF are written whole or not at all. */
struct crash_word {
    uint32_t step;
    int32_t part;
    int32_t acknowledged; /* 0 = is about to be tried */
    uint64_t ids[LOAD_GROUP];
};

static inline void crash_say(int pipe, const struct crash_word *word)
{
    if (write(pipe, word, sizeof *word) != (ssize_t)sizeof *word)
        _exit(3);
}

/* In the child. Steps first..first + count - 1; a failure is a status of 2, having come to the end one of 0. */
static inline void crash_write(const char *path, int pipe, uint32_t first, uint32_t count)
{
    struct adl_store *store = NULL;
    struct adl_error err;
    struct load load = load_make(first + count);
    if (adl_store_open(path, ADL_STORE_SERVE, &store, &err))
        _exit(2);
    for (uint32_t step = first; step < first + count; step++)
        for (int part = 0; part < LOAD_PARTS; part++) {
            struct crash_word word = {.step = step, .part = part};
            crash_say(pipe, &word);
            if (load_part(store, &load, step, part, &err))
                _exit(2);
            word.acknowledged = 1;
            const uint64_t at = (uint64_t)step * LOAD_STRIDE + (part == LOAD_ALONE ? LOAD_GROUP : 0);
            memcpy(word.ids, load.ids + at, (part == LOAD_ALONE ? 1 : LOAD_GROUP) * sizeof word.ids[0]);
            crash_say(pipe, &word);
        }
    _exit(0);
}

static inline uint32_t crash_listen(int pipe, struct load *load)
{
    struct crash_word word;
    uint32_t acknowledged = 0;
    while (read(pipe, &word, sizeof word) == (ssize_t)sizeof word) {
        load->tried[word.step * LOAD_PARTS + (uint32_t)word.part] = true;
        if (!word.acknowledged)
            continue;
        acknowledged++;
        load->acknowledged[word.step * LOAD_PARTS + (uint32_t)word.part] = true;
        const uint64_t at = (uint64_t)word.step * LOAD_STRIDE + (word.part == LOAD_ALONE ? LOAD_GROUP : 0);
        if (word.part != LOAD_CHANGE)
            memcpy(load->ids + at, word.ids, (word.part == LOAD_ALONE ? 1 : LOAD_GROUP) * sizeof word.ids[0]);
    }
    return acknowledged;
}

/* One child's life; returns how many parts it was acknowledged. A pipe holds a step_count of up to 300. */
static inline uint32_t crash_once(const struct place *place, struct load *load, uint32_t first, uint32_t count,
                                  int64_t delay_us)
{
    int ends[2];
    assert_true(count * LOAD_PARTS * 2 * sizeof(struct crash_word) <= 65536 && pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        crash_write(place->path, ends[1], first, count);
    }
    assert_true(child > 0);
    close(ends[1]);
    const struct timespec delay = {delay_us / 1000000, delay_us % 1000000 * 1000};
    nanosleep(&delay, NULL);
    kill(child, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    const uint32_t acknowledged = crash_listen(ends[0], load);
    close(ends[0]);
    return acknowledged;
}

struct crash_tally {
    uint32_t rounds, acknowledged, in_flight; /* in_flight: rounds that were killed between a try and its answer */
    int jobs;
};

/* So many children one after the other, on one state, which is checked after each. */
static inline struct crash_tally crash_rounds(uint32_t rounds, int64_t delay_max_us, uint64_t seed)
{
    enum { STEPS = 200 };
    struct place place = place_make();
    struct load load = load_make(rounds * STEPS);
    struct crash_tally tally = {.rounds = rounds};
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "crash");
    for (uint32_t round = 0; round < rounds; round++) {
        tally.acknowledged += crash_once(&place, &load, round * STEPS, STEPS, draw(&rng, delay_max_us));
        for (uint32_t i = round * STEPS * LOAD_PARTS; i < (round + 1) * STEPS * LOAD_PARTS; i++)
            tally.in_flight += load.tried[i] && !load.acknowledged[i];
        struct adl_store *store = store_open(&place);
        tally.jobs = load_verify(store, &load, false);
        adl_store_close(store);
    }
    load_clear(&load);
    place_remove(&place);
    return tally;
}

#endif
