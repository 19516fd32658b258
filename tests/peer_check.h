/* peer_check: the pieces of peer_trace.h for tests, where a failure ends the test. */
#ifndef ADLRO_TESTS_PEER_CHECK_H
#define ADLRO_TESTS_PEER_CHECK_H

#include "peer_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static inline struct adl_scenario peer_check_scenario(uint32_t nodes, uint32_t gpus)
{
    struct adl_scenario scenario;
    struct adl_error err = {.text = ""};
    if (peer_scenario(nodes, gpus, &scenario, &err))
        fail_msg("%s", err.text);
    return scenario;
}

/* Runs the policy as the scenario has it, in regime oracle. */
static inline struct peer_answer peer_check_run(const struct adl_scenario *scenario, struct peer_trace *trace,
                                                const struct adl_policy_ops *policy)
{
    struct peer_answer answer = {0};
    struct adl_error err = {.text = ""};
    if (peer_run(scenario, trace, policy, ADL_REGIME_ORACLE, &answer, &err))
        fail_msg("%s: the run failed: %s", policy->name, err.text);
    if (answer.counts.refused)
        fail_msg("%s: refused: %s", policy->name, answer.counts.last_refusal.text);
    return answer;
}

#endif
