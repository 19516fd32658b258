/* statistics: summaries, paired tests and regression over a handful of seeds. Pure functions of their arguments. */
#ifndef ADLRO_METRICS_STATISTICS_H
#define ADLRO_METRICS_STATISTICS_H

#include <stddef.h>

struct adl_summary {
    double mean;
    double sd;     /* sample standard deviation; 0 for one value */
    double lo, hi; /* 95 % confidence interval of the mean by Student's t; equal to the mean for one value */
};

/* Paired comparison of a with b. */
struct adl_paired {
    double difference; /* mean of a - b */
    double t_p;        /* two-sided, paired t test; 1 if undefined (one pair, or no spread and no difference) */
    double wilcoxon_p; /* two-sided, signed rank: exact up to 25 untied pairs, else normal with tie correction */
};

struct adl_regression {
    double slope, intercept;
    double r2;
    double slope_p; /* two-sided test of slope = 0; 1 if undefined */
    size_t count;
};

struct adl_summary adl_summarize(const double *values, size_t count);
int adl_compare_pairs(const double *a, const double *b, size_t count, struct adl_paired *ret); /* 0 or ADL_ENOMEM */
struct adl_regression adl_regress(const double *x, const double *y, size_t count);

/* Holm's step-down correction, in place, over count p-values; keeps their order. */
int adl_holm(double *p, size_t count);

double adl_student_t_p(double t, double df); /* two-sided tail */
double adl_student_t_quantile(double df);    /* the 0.975 quantile */

/* The q-quantile (0..1) by linear interpolation between order statistics, in linear time; reorders the values. */
double adl_quantile(double *values, size_t count, double q);

#endif
