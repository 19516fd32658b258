/* hyperscore: one figure for a run, HyperScore = 100 * [1 + sigma(beta * ln V + gamma)^kappa]. */
#ifndef ADLRO_METRICS_HYPERSCORE_H
#define ADLRO_METRICS_HYPERSCORE_H

#include "model/scenario.h"

/* A run relative to the references: above 1 it is better than they are. 0 = the term is left out. */
struct adl_score_terms {
    double jct;        /* reference / mean JCT */
    double p99;        /* reference / p99 JCT */
    double throughput; /* throughput / reference */
    double energy;     /* reference / energy */
    double slowdown;   /* reference / slowdown */
    double sla;        /* SLA attainment / reference */
};

/* A figure without a reference is left out; one that could not be computed, 0 or NaN, counts as the worst. */
struct adl_score_terms adl_score_relate(const struct adl_score_figures *run, const struct adl_score_figures *reference);

/* The weighted geometric mean of the terms that are not left out, each clamped to [1e-6, 1e6]; 1 if all are. */
double adl_score_v(const struct adl_score_terms *terms);
double adl_hyperscore(double v); /* beta 5, gamma -ln 2, kappa 2.1; v is clamped to [1e-6, 1e6] */

#endif
