/* estimator: the networks P1 and P2 as one model: their parameters, the calibration of their spreads, and its encoding.
 *
 *     "ADLROEST"  u32 version  u32 networks (4)  u64 size of the whole  u64 seed  u64 examples
 *     networks:   u32 form  u32 facts' features  u32 queries' features  u32 width  3 f32 quantiles  f32 parameters of
 * each member u64 FNV-1a of all before it
 *
 * Numbers are little-endian. A quantile is the 90 % quantile of |prediction - truth| / spread on held-out examples
 * (split conformal prediction, Lei et al. 2018), for one, two, and more facts about the profile itself. */
#ifndef ADLRO_PREDICT_ESTIMATOR_H
#define ADLRO_PREDICT_ESTIMATOR_H

#include "base/text.h"
#include "nn/setnet.h"
#include "predict/estimate_table.h"

enum adl_estimator_part {
    ADL_ESTIMATE_INITIAL_RATE,
    ADL_ESTIMATE_INITIAL_SHARE,
    ADL_ESTIMATE_REFINE_RATE,
    ADL_ESTIMATE_REFINE_SHARE,
    ADL_ESTIMATOR_PARTS
};

/* Size of the ensemble: the mean of several networks errs less than each. Initial rates are needed least often and are
 * least accurate, so they have the most. */
static inline int adl_estimator_members(enum adl_estimator_part part)
{
    return part == ADL_ESTIMATE_INITIAL_RATE ? 4 : 2;
}

#define ADL_ESTIMATOR_VERSION   1
#define ADL_ESTIMATOR_QUANTILES 3
#define ADL_ESTIMATOR_BATCH     ADL_TYPES_MAX

struct adl_estimator {
    struct adl_setnet nets[ADL_ESTIMATOR_PARTS];
    float *params[ADL_ESTIMATOR_PARTS]; /* owned; one member after the other */
    float quantiles[ADL_ESTIMATOR_PARTS][ADL_ESTIMATOR_QUANTILES];
    uint64_t seed, examples;
    struct adl_setnet_workspace *workspaces[ADL_ESTIMATOR_PARTS]; /* for ADL_ESTIMATOR_BATCH inputs */
    float *facts, *queries, *outputs;                             /* of such a batch */
};

/* Networks of these forms and this width, all parameters 0. The exact kernels: equal bits on every machine. */
int adl_estimator_create(const enum adl_setnet_form forms[ADL_ESTIMATOR_PARTS], int width, struct adl_estimator **ret,
                         struct adl_error *err);
void adl_estimator_destroy(struct adl_estimator *estimator); /* accepts NULL */

/* Of a member. */
float *adl_estimator_params(const struct adl_estimator *estimator, enum adl_estimator_part part, int member);
size_t adl_estimator_param_count(const struct adl_estimator *estimator, enum adl_estimator_part part); /* of all */

/* The features of a part's facts and queries. */
void adl_estimator_features(enum adl_estimator_part part, int *ret_facts, int *ret_queries);

void adl_estimator_encode(const struct adl_estimator *estimator, struct adl_text *ret);
/* Accepts any bytes: returns a complete estimator or an error. */
int adl_estimator_decode(const void *bytes, size_t size, struct adl_estimator **ret, struct adl_error *err);

/* At most ADL_ESTIMATOR_BATCH inputs. Allocates nothing. */
void adl_estimator_predict(struct adl_estimator *estimator, enum adl_estimator_part part,
                           const struct adl_estimator_input *inputs, int count, struct adl_prediction *ret);

/* Half the 90 % interval of the logarithm; facts: how many facts about the profile itself the input has. */
double adl_estimator_half(const struct adl_estimator *estimator, enum adl_estimator_part part, int facts,
                          double spread);

/* The spread that a network's second output encodes. */
double adl_estimator_spread(float log_spread);

#endif
