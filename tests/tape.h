/* tape: a run recorded into memory, and a recording in memory replayed. */
#ifndef ADLRO_TESTS_TAPE_H
#define ADLRO_TESTS_TAPE_H

#include "engine/engine.h"
#include "engine/recording.h"
#include "engine/world_log.h"
#include "experiment/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PATH "folder/run.log" /* what messages call the recording */

/* ---- recording into memory ---- */

struct tape {
    struct adl_text text;
    struct adl_recording_seal seal;
    uint32_t type_count;
    uint64_t decisions;
    uint64_t reasons; /* hash of those of this instant */
};

static inline void seal_from(struct tape *tape, size_t before)
{
    assert_int_equal(adl_text_status(&tape->text), 0);
    adl_recording_seal_line(&tape->seal, tape->text.data + before, tape->text.size - before);
}

static inline int tape_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    struct tape *tape = self;
    const size_t before = tape->text.size;
    adl_recording_write_event(&tape->text, event, tape->type_count);
    seal_from(tape, before);
    return 0;
}

static inline int tape_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                               const struct adl_state *state)
{
    (void)state;
    struct tape *tape = self;
    const size_t before = tape->text.size;
    adl_recording_write_command(&tape->text, command, gpus);
    tape->reasons = adl_command_hash_reason(tape->reasons, command);
    seal_from(tape, before);
    return 0;
}

static inline int tape_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)state;
    struct tape *tape = self;
    const size_t before = tape->text.size;
    adl_recording_write_decision(&tape->text, hash, tape->reasons);
    tape->reasons = 0;
    seal_from(tape, before);
    tape->decisions++;
    return 0;
}

static inline struct tape tape_start(const char *policy, uint64_t seed, uint32_t type_count)
{
    struct tape tape = {.type_count = type_count};
    const struct adl_recording_head head = {.policy = policy,
                                            .regime = "declared",
                                            .name = "odd \"name\"\n.yaml",
                                            .seed = seed,
                                            .scenario = "name: x\n",
                                            .catalogue = "gpu_types: []\n"};
    adl_recording_write_head(&tape.text, &head);
    seal_from(&tape, 0);
    return tape;
}

/* A run with a tape: its recording, sealed. */
static inline struct tape record(const struct adl_scenario *s, uint64_t seed, const struct adl_policy_ops *policy,
                                 int regime, struct adl_result *ret)
{
    struct tape tape = tape_start(policy->name, seed, s->cluster.type_count);
    struct adl_error err;
    const struct adl_tap tap = {.self = &tape, .event = tape_event, .command = tape_command, .decided = tape_decided};
    const struct adl_run run = {.scenario = s, .policy = policy, .seed = seed, .regime = regime, .tap = &tap};
    if (adl_run(&run, ret, &err))
        fail_msg("%s", err.text);
    adl_recording_write_end(&tape.text, &tape.seal);
    assert_int_equal(adl_text_status(&tape.text), 0);
    return tape;
}

/* ---- replay from memory ---- */

struct replayed {
    struct adl_engine_counts counts;
    uint64_t decisions, reasoned, differ; /* as in struct adl_world_log */
};

/* A policy of a test's own, which the registry does not know. */
static const struct adl_policy_ops *tape_unlisted;

static inline const struct adl_policy_ops *tape_policy(const char *name)
{
    return tape_unlisted && strcmp(tape_unlisted->name, name) == 0 ? tape_unlisted : adl_policy_find(name);
}

/* One more observer of replays, or NULL. */
static const struct adl_tap *tape_tap;

static inline int replay_file(const struct adl_scenario *s, FILE *file, struct replayed *ret, struct adl_error *err)
{
    struct adl_recording *recording = NULL;
    struct adl_recording_head head;
    struct adl_engine *engine = NULL;
    int status = adl_recording_open(PATH, file, &recording, &head, err);
    if (status)
        return status;
    adl_recording_set_types(recording, s->cluster.type_count);
    struct adl_world_log world = {.source = {recording, adl_recording_next}};
    struct adl_engine_config config = {.cluster = &s->cluster,
                                       .policy = tape_policy(head.policy),
                                       .policy_config = adl_run_policy_config(s),
                                       .seed = head.seed,
                                       .world_ops = &adl_world_log_ops,
                                       .world = &world};
    assert_non_null(config.policy);
    if (tape_tap)
        config.taps[config.tap_count++] = *tape_tap;
    assert_int_equal(adl_engine_create(&config, &engine, err), 0);
    status = adl_engine_run(engine, err);
    if (status)
        adl_recording_blame(recording, status, err);
    *ret = (struct replayed){*adl_engine_counts(engine), world.decisions, world.reasoned, world.differ};
    adl_engine_destroy(engine);
    adl_recording_close(recording);
    return status;
}

static inline int replay(const struct adl_scenario *s, const char *text, size_t size, struct replayed *ret,
                         struct adl_error *err)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    rewind(file);
    *err = (struct adl_error){.text = ""};
    const int status = replay_file(s, file, ret, err);
    fclose(file);
    return status;
}

#endif
