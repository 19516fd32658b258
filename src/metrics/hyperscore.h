/* hyperscore: one figure for a run, HyperScore = 100 * [1 + sigma(beta * ln V + gamma)^kappa]. */
#ifndef ADLRO_METRICS_HYPERSCORE_H
#define ADLRO_METRICS_HYPERSCORE_H

/* Each in (0, 1], 1 is the best possible; docs/metrics.md defines them. */
struct adl_score_terms {
    double jct;        /* lower bound on mean JCT / mean JCT */
    double throughput; /* makespan lower bound / makespan */
    double utilization;
    double sla;
    double energy; /* energy lower bound / energy */
};

double adl_score_v(const struct adl_score_terms *terms); /* geometric mean, each term clamped to [1e-6, 1] */
double adl_hyperscore(double v);                         /* beta 5, gamma -ln 2, kappa 2.1; v is clamped to [1e-6, 1] */

#endif
