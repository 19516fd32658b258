/* estimator: the networks P1 and P2 as one model: their parameters, what their spreads are worth, and their bytes.
 *
 *     "ADLROEST"  u32 version  u32 networks (4)  u64 size of the whole  u64 seed  u64 examples
 *     networks:   u32 form  u32 facts' features  u32 queries' features  u32 width  3 f32 quantiles  f32 parameters of
 * each member u64 FNV-1a of all before it
 *
 * Numbers are little-endian. A quantile is what 90 % of |answer - truth| / spread stayed below on examples that were
 * not trained on (split conformal prediction, Lei et al. 2018), for one, two, and more facts of the profile's own. */
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

/* Networks that answer together: the mean of several errs less than each. First estimates of rates are asked for least
 * often and are furthest off. */
static inline int adl_estimator_members(enum adl_estimator_part part)
{
    return part == ADL_ESTIMATE_INITIAL_RATE ? 4 : 2;
}

#define ADL_ESTIMATOR_VERSION   1
#define ADL_ESTIMATOR_QUANTILES 3
#define ADL_ESTIMATOR_BATCH     ADL_TYPES_MAX

struct adl_estimator {
    struct adl_setnet nets[ADL_ESTIMATOR_PARTS];
    float *params[ADL_ESTIMATOR_PARTS]; /* owned; of one member after the other */
    float quantiles[ADL_ESTIMATOR_PARTS][ADL_ESTIMATOR_QUANTILES];
    uint64_t seed, examples;
    struct adl_setnet_workspace *workspaces[ADL_ESTIMATOR_PARTS]; /* for ADL_ESTIMATOR_BATCH questions */
    float *facts, *queries, *answers;                             /* of such a batch */
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
/* Whatever the bytes are, it answers with a whole estimator or with what is wrong. */
int adl_estimator_decode(const void *bytes, size_t size, struct adl_estimator **ret, struct adl_error *err);

/* At most ADL_ESTIMATOR_BATCH questions. Allocates nothing. */
void adl_estimator_answer(struct adl_estimator *estimator, enum adl_estimator_part part,
                          const struct adl_question *questions, int count, struct adl_belief *ret);

/* Half the 90 % interval of the logarithm; facts: how many of its own the answer rests on. */
double adl_estimator_half(const struct adl_estimator *estimator, enum adl_estimator_part part, int facts,
                          double spread);

/* The spread that an answer's second number stands for. */
double adl_estimator_spread(float log_spread);

#endif
