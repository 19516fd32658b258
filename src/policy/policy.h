/* policy: what ranks the queue and proposes starts. The engine owns the truth, validates and carries out.
 *
 * Equal (config, seed, sequence of states) gives equal plans: no clock, no I/O, no global state. */
#ifndef ADLRO_POLICY_POLICY_H
#define ADLRO_POLICY_POLICY_H

#include "base/error.h"
#include "model/plan.h"
#include "model/scenario.h"
#include "policy/option.h"
#include "state/state.h"

struct adl_policy_ops {
    const char *name;
    const char *summary; /* one line, shown by `adlro policies` */
    bool track_running;  /* wants state->running kept */
    bool sorts_running;  /* with track_running: it calls adl_state_sort_running() before it reads that */
    bool blind;          /* reads no predictions of run times */
    bool points_only;    /* of run times it reads the state's predictions, nothing of state->belief */
    bool limits_power;   /* follows ADL_EVENT_POWER_LIMIT */
    bool takes_reported; /* adl_belief_take_reported: its belief has speeds that jobs reported in every regime */

    /* Its options: policy/option.h; ADL_POLICY_OPTIONS() sets all three. */
    const struct adl_policy_option *options;
    uint32_t option_count;
    size_t options_size; /* of the struct that the table fills */

    /* Of a variant of a policy, which is a copy of it with another name: */
    const char *settings;   /* lines of OPTION=VALUE that win over those of the configuration; NULL = none */
    const char *variant_of; /* the policy's name; NULL = it is no variant */

    const void *context; /* whatever create() needs that is not in its arguments: config->ops->context */

    /* Called by adl_policy_create(), with the policy's own options in config->options. */
    int (*create)(const struct adl_policy_config *, const struct adl_cluster *, uint64_t seed, void **ret_policy,
                  struct adl_error *);
    void (*destroy)(void *policy); /* accepts NULL */

    /* A job's place in the queue, least first, asked each time it joins; equal ranks keep their order. NULL: by
     * time of submission, less priority * config.priority_s. */
    int64_t (*rank)(void *policy, const struct adl_state *, uint32_t slot);

    /* Adds to an empty plan what to do now. Commands are carried out in order, then it is asked again, until the plan
     * is empty or starts and stops nothing. So it may propose one start at a time and see the state after it. */
    int (*decide)(void *policy, const struct adl_state *, struct adl_plan *);

    void (*observe)(void *policy, const struct adl_event *, const struct adl_state *); /* optional: events, before they
                                                                                        * change the state */

    /* Optional: takes over what another policy of the same kind has learned, which runs on the same cluster's GPUs and
     * is only destroyed afterwards. Called before the policy has seen anything; cannot fail. */
    void (*inherit)(void *policy, void *from);

    /* Becomes equal to another policy of the same kind, with the same options and cluster, which stays as it is: both
     * then decide alike. 0 or ADL_ENOMEM. NULL: it cannot be copied. */
    int (*copy)(void *policy, const void *from);

    bool (*tracks_running)(const void *policy); /* optional: what track_running says, where options decide that */
    double (*round_s)(const void *policy);      /* optional: the present length of its rounds, for reports */

    /* Optional: why a waiting job waits, in words (policy/mechanism/reason.h), as the policy sees it now. */
    void (*explain)(void *policy, const struct adl_state *, uint32_t slot, char *ret, size_t size);
};

/* The registry: a row for each policy adl_policy_NAME, in the order in which `adlro policies` shows them. */
#define ADL_POLICIES(ROW)                                                                                              \
    ROW(fcfs)                                                                                                          \
    ROW(fcfs_ff)                                                                                                       \
    ROW(static)                                                                                                        \
    ROW(sjf)                                                                                                           \
    ROW(sjf_strict)                                                                                                    \
    ROW(srtf)                                                                                                          \
    ROW(srtf_strict)                                                                                                   \
    ROW(gittins)                                                                                                       \
    ROW(easy)                                                                                                          \
    ROW(easy_sjf)                                                                                                      \
    ROW(conservative)                                                                                                  \
    ROW(las)                                                                                                           \
    ROW(qssf)                                                                                                          \
    ROW(qssf_strict)                                                                                                   \
    ROW(wfp3)                                                                                                          \
    ROW(unicep)                                                                                                        \
    ROW(f1)                                                                                                            \
    ROW(allox)                                                                                                         \
    ROW(gavel)                                                                                                         \
    ROW(gavel_jct)                                                                                                     \
    ROW(fgd)                                                                                                           \
    ROW(least_loaded)                                                                                                  \
    ROW(dqn)                                                                                                           \
    ROW(dqn_fast)                                                                                                      \
    ROW(gogh)                                                                                                          \
    ROW(market)                                                                                                        \
    ROW(adlro)

#define ADL_POLICY_DECLARE(name) extern const struct adl_policy_ops adl_policy_##name;
ADL_POLICIES(ADL_POLICY_DECLARE)

/* The guard: what decides for the rest of an instant after a plan was refused. Not in the list of policies. */
extern const struct adl_policy_ops adl_policy_guard;

uint32_t adl_policy_count(void);
const struct adl_policy_ops *adl_policy_at(uint32_t index);
const struct adl_policy_ops *adl_policy_find(const char *name); /* NULL if there is none */

#endif
