/* rank_time: the run time that a waiting job is ranked by. Predictions from similar jobs leave out part of what users'
 * limits tell, above all while few jobs have ended, so the two are mixed: rest^(1 - share) * limit^share. The share of
 * limits is learned from completed jobs: that which makes the error of the logarithm least, beginning at a half. Limits
 * that are all alike, as a site's default is, say nothing, and lose their share. */
#ifndef ADLRO_POLICY_ADLRO_RANK_TIME_H
#define ADLRO_POLICY_ADLRO_RANK_TIME_H

#include "state/state.h"

struct adl_rank_time {
    double count;                 /* completed jobs that were predicted from similar ones and had a limit */
    double error_mean, gap_mean;  /* of ln(run time / prediction), and of ln(limit / prediction) */
    double gap_square, gap_error; /* sums of squares and products around these means */
};

/* A job completed that took run_us on its best type. Before the state knows of it. */
void adl_rank_time_learn(struct adl_rank_time *time, const struct adl_state *state, uint32_t slot, double run_us);

/* rest_us: what is expected of the job, on its best type. */
double adl_rank_time_log(const struct adl_rank_time *time, const struct adl_state *state, uint32_t slot,
                         double rest_us); /* ln(ranked by / rest_us); 0 where limits do not count */
double adl_rank_time_us(const struct adl_rank_time *time, const struct adl_state *state, uint32_t slot, double rest_us);

#endif
