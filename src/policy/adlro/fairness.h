/* fairness: what users have used against their shares, as a factor of the rank of their jobs.
 *
 * Usage is GPU time, decayed with a half-life, and the time that running jobs have held GPUs. As in Slurm's classic
 * fair share the factor is 2^(-weight * (part of all usage) / (part of all shares)); shares are those of users who have
 * jobs waiting or usage left. With one user the factor is the same for all jobs. */
#ifndef ADLRO_POLICY_ADLRO_FAIRNESS_H
#define ADLRO_POLICY_ADLRO_FAIRNESS_H

#include "base/error.h"
#include "state/state.h"

#define ADL_FAIR_SHARES_MAX 16

struct adl_fairness {
    double weight;
    double half_life_s; /* 0: 100 usual run times */
    struct adl_fair_share {
        uint32_t user;
        double share;
    } shares[ADL_FAIR_SHARES_MAX]; /* of users who have another share than 1 */
    uint32_t share_count;
    struct adl_fair_user *users; /* open addressing, a power of two of places */
    size_t capacity, count;
    int64_t decayed_us;
};

/* "1000:2,alice:0.5": a user's number, or the name as traces have it, and the share. 0 or ADL_EINVAL. */
int adl_fairness_read_shares(struct adl_fairness *fairness, const char *text, struct adl_error *err);

void adl_fairness_clear(struct adl_fairness *fairness);                          /* frees */
int adl_fairness_copy(struct adl_fairness *to, const struct adl_fairness *from); /* 0 or ADL_ENOMEM */

int adl_fairness_join(struct adl_fairness *fairness, uint32_t user); /* a job of the user joins; 0 or ADL_ENOMEM */

/* A job that holds GPUs leaves them. */
void adl_fairness_charge(struct adl_fairness *fairness, const struct adl_job *job, int64_t time_us);

/* For a decision: decays usage and computes factors. typical_us: the usual run time, 0 = not known. */
void adl_fairness_update(struct adl_fairness *fairness, const struct adl_state *state, double typical_us);

/* Of the rank of a user's jobs, above 0 and at most 1. */
double adl_fairness_factor(const struct adl_fairness *fairness, uint32_t user);

#endif
