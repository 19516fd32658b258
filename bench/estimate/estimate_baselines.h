/* estimate_baselines: what the estimator is held against: nearest neighbours and additive models of log throughput and
 * of normalized co-location, with the same knowledge of the new job, the same measured cells, and their options chosen
 * by leaving out one more family of those that are known. */
#ifndef ADLRO_BENCH_ESTIMATE_BASELINES_H
#define ADLRO_BENCH_ESTIMATE_BASELINES_H

#include "estimator/lab.h"

enum { BASE_NEAREST, BASE_ADDITIVE, BASE_COUNT };

/* How a baseline is set; chosen by inner validation. */
struct baseline {
    int k;       /* neighbours */
    bool scaled; /* NEAREST: by declared work; ADDITIVE: job effect by regression on the features, else by neighbours */
    double ridge;
};

enum { BASELINE_OPTIONS = 12 };
extern const struct baseline baseline_options[BASELINE_OPTIONS];

/* What a model may know: which jobs were measured everywhere, and which cells of one more. */
struct known {
    const struct adl_lab *lab;
    uint32_t families; /* mask of those that are not known */
    uint32_t measured; /* mask of types on which the new job was measured alone */
};

double baseline_rate(int model, const struct known *known, const struct baseline *how, uint32_t job, uint32_t type);

double ratio_of(const struct adl_lab *lab, uint32_t a, uint32_t b, uint32_t t);

/* Mean over the pairs (one like a, one like b) that were measured; a job that is known stands for itself. */
double nearest_share(const struct known *known, const struct baseline *how, uint32_t a, uint32_t b, uint32_t type);

/* What the cells of its own that were measured say of the rest: the mean of what they were off, the more of them the
 * more it counts. */
double moved(double guess, double off_sum, double count);

struct share_effects {
    double mean, victim[ADL_LAB_JOBS], neighbour[ADL_LAB_JOBS];
};

void fit_shares(const struct known *known, uint32_t type, struct share_effects *ret);

double additive_share(const struct known *known, const struct baseline *how, const struct share_effects *effects,
                      uint32_t a, uint32_t b);

#endif
