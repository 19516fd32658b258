/* What policies are told in each regime, and where people read it. */
#include "tiny_scenario.h"

#include "experiment/run.h"
#include "sim/world_sim.h"

#include <math.h>
#include <string.h>

#define DOCS ADL_SOURCE_DIR "/docs/information.md"

/* The second type is four times as fast, by specification as fast; jobs of 400 s there, 100 s here. */
static struct adl_scenario misleading(void)
{
    struct adl_scenario s = tiny_start(60);
    tiny_type(&s);
    tiny_type(&s);
    tiny_node(&s, 0, 2);
    tiny_node(&s, 1, 2);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1)->steps_per_s[1] = 4;
    tiny_mix(&s, 0, 400, 1, 0);
    s.workload.arrivals.process = ADL_ARRIVAL_POISSON;
    s.workload.arrivals.rate_per_h = 3600 / 100.0;
    s.telemetry = (struct adl_telemetry_model){.interval_s = 20, .progress = true};
    return s;
}

/* Of the last job that was submitted: predicted time on the first type relative to the second. */
static int on_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)hash;
    double *ratio = self;
    uint64_t newest = 0;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE && state->jobs[slot].spec.id >= newest) {
            newest = state->jobs[slot].spec.id;
            *ratio = (double)adl_state_runtime(state, slot, 0) / (double)adl_state_runtime(state, slot, 1);
        }
    return 0;
}

static double ratio_told(const struct adl_scenario *s, const struct adl_policy_ops *policy, int regime)
{
    double ratio = 0;
    struct adl_result result;
    struct adl_error err = {.text = ""};
    const struct adl_observer observer = {.self = &ratio, .decided = on_decided};
    const struct adl_run run = {.scenario = s, .policy = policy, .seed = 1, .regime = regime, .observer = &observer};
    if (adl_run(&run, &result, &err))
        fail_msg("%s", err.text);
    return ratio;
}

/* A policy that takes what jobs report has it in every regime (docs/information.md). */
static void speeds_are_specified_measured_or_true_by_regime_for_every_policy(void **unused)
{
    (void)unused;
    struct adl_scenario s = misleading();
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const struct adl_policy_ops *policy = adl_policy_at(p);
        const double declared = ratio_told(&s, policy, ADL_REGIME_DECLARED),
                     learned = ratio_told(&s, policy, ADL_REGIME_LEARNED),
                     oracle = ratio_told(&s, policy, ADL_REGIME_ORACLE);
        const double specified = policy->takes_reported ? learned : 1;
        if (!(fabs(declared - specified) < 0.01 && fabs(learned - 4) < 0.2 && fabs(oracle - 4) < 0.01))
            fail_msg("%s is told ratios of %g declared, %g learned, %g oracle", policy->name, declared, learned,
                     oracle);
    }
    adl_scenario_clear(&s);
}

/* Words of a text, with one blank between them, as far as it fits. */
static void squeeze(const char *from, char *ret, size_t size)
{
    size_t at = 0;
    for (; *from && at + 1 < size; from++)
        if (*from != '\n' && !(*from == ' ' && at > 0 && ret[at - 1] == ' '))
            ret[at++] = *from;
        else if (*from == '\n' && at > 0 && ret[at - 1] != ' ')
            ret[at++] = ' ';
    ret[at] = '\0';
}

static void the_docs_say_of_each_regime_what_reports_say(void **unused)
{
    (void)unused;
    static char text[20000], docs[20000];
    FILE *file = fopen(DOCS, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    squeeze(text, docs, sizeof docs);
    for (int regime = 0; regime < ADL_REGIME_COUNT; regime++) {
        char line[600];
        snprintf(line, sizeof line, "`%s`: %s.", adl_regime_name(regime), adl_regime_told(regime));
        if (!strstr(docs, line))
            fail_msg("%s lacks: %s", DOCS, line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speeds_are_specified_measured_or_true_by_regime_for_every_policy),
        cmocka_unit_test(the_docs_say_of_each_regime_what_reports_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
