/* year: a simulated year of a small cluster with a shadow and its gate, as a service would have it. */
#ifndef ADLRO_BENCH_SHADOW_YEAR_H
#define ADLRO_BENCH_SHADOW_YEAR_H

#include "twin/gate.h"

struct year_plan {
    const struct adl_policy_ops *in_force, *candidate;
    uint64_t seed;
    double days;
    bool automatic;      /* the candidate is promoted as soon as the gate opens ... */
    bool until_promoted; /* ... and that is the end */
    double force_day;    /* it is promoted by force on this day; 0 = not */
    bool stays;          /* and is not rolled back, for comparison */
    bool without_shadow; /* nothing is promoted, for comparison */
};

struct year_result {
    double promoted_day, rolled_back_day, confirmed_day; /* 0 = never */
    struct adl_shadow_evidence evidence;                 /* of the candidate, when it was promoted or at the end */
    struct adl_shadow_evidence after;                    /* of the policy before, after that */
    struct adl_gate gate;
    double jct_s;     /* of all jobs that ended */
    double day_jct_s; /* of those submitted in the day after force_day */
    uint64_t trials;
};

int year_run(const struct year_plan *plan, struct year_result *ret, struct adl_error *err);

/* Longest job first: what a model does whose predictions are upside down. */
struct adl_policy_ops year_bad_policy(void);

#endif
