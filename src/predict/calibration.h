/* calibration: whether predictions of run times still hold. Of each job that ends it is asked where its run time lay in
 * the predicted distribution, and how far it was from the predicted one.
 *
 * Four figures, each a mean over recent ends in which older ones lose weight: how many run times the 50 % and the 90 %
 * interval covered, and bias and spread of ln(run time / predicted). The band of a figure follows from its sampling
 * error; the error is estimated from the means of blocks of ends, because ends are not independent. Coverage is
 * compared with what it should be, bias and spread with what they were in the long run. A figure outside of its band
 * is an alarm, which ends when all have been inside for a number of ends.
 *
 * Constants are numbers of ends. Equal ends give equal answers; nothing allocates. docs/health.md has the false alarms
 * that were measured. */
#ifndef ADLRO_PREDICT_CALIBRATION_H
#define ADLRO_PREDICT_CALIBRATION_H

#include "predict/packing.h"

enum adl_calibration_figure {
    ADL_COVERED_50, /* share of run times inside of the 50 % interval */
    ADL_COVERED_90,
    ADL_LOG_BIAS,   /* mean of ln(run time / predicted) */
    ADL_LOG_SPREAD, /* mean distance of it from the bias in the long run */
    ADL_CALIBRATION_FIGURES,
};

#define ADL_CALIBRATION_BLOCK 32  /* ends of which the mean is one sample of the error */
#define ADL_CALIBRATION_BACK  512 /* ends inside of all bands, in a row, that end an alarm */

/* One figure. */
struct adl_calibration_series {
    double recent;   /* mean over recent ends */
    double sum;      /* of the present block */
    double mean;     /* in the long run */
    double variance; /* of the mean of a block */
    double swing;    /* mean square of recent - mean */
};

struct adl_calibration {
    struct adl_calibration_series series[ADL_CALIBRATION_FIGURES];
    uint64_t ends;
    uint32_t blocks; /* complete ones */
    uint32_t inside; /* ends since a figure was outside */
    bool alarm;
    int64_t since_us; /* of the alarm */
    uint64_t alarms;  /* ever */
};

/* What is said of a figure. */
struct adl_calibration_view {
    double value, low, high; /* recent mean, and its band; 0 and 0 until there are enough ends */
    bool outside;
};

void adl_calibration_init(struct adl_calibration *ret);

/* A job ended: p is where its run time lay in the predicted distribution, 0..1, ratio the run time over the predicted
 * one, above 0. True if an alarm began or ended. */
bool adl_calibration_learn(struct adl_calibration *calibration, double p, double ratio, int64_t time_us);

/* The administrator knows: no alarm, and bands are learned again. */
void adl_calibration_accept(struct adl_calibration *calibration);

struct adl_calibration_view adl_calibration_see(const struct adl_calibration *calibration, int figure);

const char *adl_calibration_name(int figure); /* "covered_50", ... */

/* In a sentence, without the end of a line: what is outside of its band, or that predictions hold. */
void adl_calibration_say(const struct adl_calibration *calibration, struct adl_text *ret);

#define ADL_CALIBRATION_VERSION 1
void adl_calibration_encode(const struct adl_calibration *calibration, struct adl_text *ret);
/* Into an initialized one. Another version is not used: it stays as it was. */
int adl_calibration_decode(struct adl_calibration *calibration, struct adl_unpack *from, struct adl_error *err);

#endif
