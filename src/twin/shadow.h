/* shadow: what another policy, the candidate, would do on the same stream of jobs, against the policy in force.
 *
 * At an anchor the engine is copied, and a window (twin/window.h) records what happens from then on. When it is over,
 * two worlds are played from the copy with the jobs, run times and failures that were recorded: one under the policy in
 * force, one under the candidate. Their difference is one paired value; then the next window begins from the real
 * state. What the simulated world does wrong it does in both, and cancels in the difference. How far the world under
 * the policy in force is from what really happened is the model's bias, and is reported (docs/shadow.md).
 *
 * Watch is for the thread that runs the engine, and quick. Play may run in another thread, one at a time. */
#ifndef ADLRO_TWIN_SHADOW_H
#define ADLRO_TWIN_SHADOW_H

#include "twin/confidence.h"
#include "twin/fork.h"

/* What is compared, over the jobs of a window that count; of each less is better. */
enum adl_shadow_figure {
    ADL_SHADOW_JCT,    /* mean time in the system from the anchor on, in s */
    ADL_SHADOW_P99,    /* 99th percentile of the time since submission, in s */
    ADL_SHADOW_ENERGY, /* in J, for equal work */
    ADL_SHADOW_SLA,    /* share of the jobs with a deadline that missed it */
    ADL_SHADOW_FIGURES,
};

extern const char *const adl_shadow_figure_names[ADL_SHADOW_FIGURES]; /* "jct_s", ... */

/* One world, or what really happened. */
struct adl_shadow_arm {
    double figures[ADL_SHADOW_FIGURES];
    uint64_t refused; /* commands that were not valid */
};

/* A window that was played. */
struct adl_shadow_sample {
    struct adl_shadow_arm real, in_force, candidate; /* real: without energy */
    uint32_t jobs;
    int64_t begin_us, end_us;
};

/* Of all windows since it began. Plain data: bytes of one can be kept. */
struct adl_shadow_evidence {
    uint64_t windows, jobs;
    double span_s; /* of all windows together */
    double real[ADL_SHADOW_FIGURES], in_force[ADL_SHADOW_FIGURES], candidate[ADL_SHADOW_FIGURES]; /* means of windows */
    struct adl_confidence change[ADL_SHADOW_FIGURES]; /* candidate less policy in force */
    struct adl_confidence bias;                       /* policy in force less reality, of ADL_SHADOW_JCT */
    uint64_t refused;                                 /* of the candidate */
};

/* The change of a figure relative to that of the policy in force; of the SLA the difference of the shares. */
struct adl_shadow_change {
    double mean;
    struct adl_interval interval;
};

struct adl_shadow_change adl_shadow_change_of(const struct adl_shadow_evidence *evidence, int figure, double alpha);
void adl_shadow_learn(struct adl_shadow_evidence *evidence, const struct adl_shadow_sample *sample);

struct adl_shadow_config {
    const struct adl_engine *engine; /* whose cluster, policy and options are in force; read when it is created */
    const struct adl_policy_ops *candidate;
    struct adl_policy_config candidate_config;
    struct adl_preemption preemption;
    bool kill_at_limit, one_by_one; /* as struct adl_scenario has them */
    uint64_t seed;
};

struct adl_shadow;

int adl_shadow_create(const struct adl_shadow_config *config, struct adl_shadow **ret, struct adl_error *err);
void adl_shadow_destroy(struct adl_shadow *shadow);                 /* accepts NULL */
struct adl_observer adl_shadow_observer(struct adl_shadow *shadow); /* for the engine that is watched */

/* Between two steps of the engine. 1: a window is over and waits to be played, which the next one does not wait for;
 * 0: not yet; negative on failure. */
int adl_shadow_watch(struct adl_shadow *shadow, const struct adl_engine *engine, struct adl_error *err);
void adl_shadow_halt(struct adl_shadow *shadow); /* play and try fail at once, for good; from any thread */
int adl_shadow_play(struct adl_shadow *shadow, struct adl_shadow_sample *ret, struct adl_error *err);
double adl_shadow_typical_us(const struct adl_shadow *shadow); /* the usual run time; 0 = not known yet */
void adl_shadow_set_typical_us(struct adl_shadow *shadow, double typical_us); /* before the first window */

/* A look ahead: futures of the engine as it is now, drawn from the belief, under both policies. */
#define ADL_TRIAL_FUTURES 96

struct adl_trial {
    double in_force;              /* mean of the futures: time in the system, summed over jobs */
    struct adl_confidence change; /* candidate less policy in force */
};

/* In the thread that plays. */
int adl_shadow_try(struct adl_shadow *shadow, const struct adl_engine *engine, const struct adl_recent *recent,
                   struct adl_trial *ret, struct adl_error *err);

#endif
