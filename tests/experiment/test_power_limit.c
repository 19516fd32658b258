/* A limit on what all GPUs draw that changes during a run: it is part of recordings, and no policy ignores it. */
#include "random_scenario.h"
#include "tape.h"

#include "sim/world_sim.h"

#include <string.h>

/* Jobs that may be stopped, on three GPUs, with readings. */
static struct adl_scenario small_day(uint64_t jobs)
{
    struct adl_scenario s = tiny_start(jobs);
    const uint32_t type = tiny_type(&s);
    tiny_node(&s, type, 2);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_class(&s, ADL_KIND_TRAINING, 0.7, 0.5);
    tiny_mix(&s, 0, 60, 1, ADL_JOB_PREEMPTIBLE);
    s.telemetry = (struct adl_telemetry_model){.interval_s = 10, .noise = 0.02};
    return s;
}

/* A limit that changes is an event of the recording: a replay that never heard of the scenario's list decides alike,
 * and does not if the limit is another. */
static void a_power_limit_that_changes_replays_as_recorded(void **state)
{
    (void)state;
    struct adl_scenario s = small_day(60);
    struct adl_result limited, unlimited;
    struct replayed replayed;
    struct adl_error err;
    double idle_w = 0, most_w = 0;
    for (uint32_t t = 0; t < s.cluster.type_count; t++) {
        idle_w += s.cluster.types[t].idle_w * s.cluster.type_gpus[t];
        most_w += s.cluster.types[t].max_w * s.cluster.type_gpus[t];
    }
    struct tape tape = record(&s, 11, adl_policy_find("gogh"), ADL_REGIME_DECLARED, &unlimited);
    adl_text_clear(&tape.text);
    s.power_limits[0] = (struct adl_power_limit){0, idle_w + 0.3 * (most_w - idle_w)};
    s.power_limits[1] = (struct adl_power_limit){2000, 0};
    s.power_limit_count = 2;
    tape = record(&s, 11, adl_policy_find("gogh"), ADL_REGIME_DECLARED, &limited);
    assert_true(limited.plan_hash != unlimited.plan_hash);
    adl_text_char(&tape.text, '\0');
    assert_non_null(strstr(tape.text.data, "\"event\":\"power_limit\""));
    tape.text.size--;
    s.power_limit_count = 0;
    if (replay(&s, tape.text.data, tape.text.size, &replayed, &err))
        fail_msg("%s", err.text);
    assert_true(replayed.counts.plan_hash == limited.plan_hash);
    adl_text_clear(&tape.text);
    s.power_limit_count = 2;
    struct adl_run run = {.scenario = &s, .policy = adl_policy_find("easy"), .seed = 1};
    assert_int_equal(adl_run(&run, &limited, &err), ADL_EREFUSED); /* not ignored */
    assert_non_null(strstr(err.text, "policy easy cannot follow the power_limit"));
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_limit_that_changes_replays_as_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
