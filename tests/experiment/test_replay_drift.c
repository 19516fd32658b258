/* What a run finds about drift comes from its events alone: a replay of its recording finds the same. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tape.h"

#include <cmocka.h>

#include "base/hash.h"
#include "predict/drift/bytes.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

/* What was found at every sixteenth decision, as a hash of its bytes. */
struct witness {
    const struct adl_engine *engine;
    uint64_t hash, decisions;
    uint32_t slow; /* GPUs at the last of them */
};

static void see_engine(void *self, const struct adl_engine *engine)
{
    ((struct witness *)self)->engine = engine;
}

static int see_decision(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)hash;
    struct witness *witness = self;
    const struct adl_drift *drift = adl_engine_drift(witness->engine);
    struct adl_text text = {0};
    struct adl_gpu_drift found;
    if (witness->decisions++ % 16 != 0)
        return 0;
    adl_drift_encode(drift, &text);
    witness->hash = adl_hash_bytes(witness->hash, text.data, text.size);
    adl_text_clear(&text);
    witness->slow = 0;
    for (uint32_t g = 0; g < state->cluster->gpu_count; g++) {
        adl_drift_gpu(drift, g, &found);
        witness->slow += found.kind != ADL_DRIFT_NONE;
    }
    return 0;
}

static void a_replay_finds_the_same_drift_bit_for_bit(void **state)
{
    (void)state;
    struct adl_scenario wear = {0};
    struct adl_result result;
    struct replayed replayed;
    struct adl_error err = {""};
    struct witness of_run = {.hash = adl_hash_start()}, of_replay = of_run;
    const struct adl_observer run_observer = {.self = &of_run, .bind = see_engine, .decided = see_decision},
                              replay_observer = {.self = &of_replay, .bind = see_engine, .decided = see_decision};
    const struct adl_run run = {
        .scenario = &wear, .policy = adl_policy_find("sjf"), .seed = 3, .observer = &run_observer};
    assert_int_equal(adl_scenario_load(ADL_SOURCE_DIR "/scenarios/wear64.yaml", &wear, NULL, &err), 0);
    adl_scenario_set_jobs(&wear, 200);
    assert_int_equal(adl_run(&run, &result, &err), 0);
    struct tape tape = record(&wear, 3, run.policy, ADL_REGIME_DECLARED, &result);
    tape_observer = &replay_observer;
    assert_int_equal(replay(&wear, tape.text.data, tape.text.size, &replayed, &err), 0);
    tape_observer = NULL;
    assert_true(of_run.slow > 0);
    assert_int_equal(of_run.decisions, of_replay.decisions);
    assert_true(of_run.hash == of_replay.hash);
    adl_text_clear(&tape.text);
    adl_scenario_clear(&wear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_finds_the_same_drift_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
