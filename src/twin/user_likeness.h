/* user_likeness: how much alike the run times of one user's jobs are, beyond what was expected of each job.
 *
 * A run time has a rank in the distribution that was expected of it. In the model a share of all jobs has the rank of
 * its user, the others have one of their own; so have two jobs of a user that of the user with the square of the share,
 * which is the correlation of their ranks. It is estimated from pairs that a user submitted one after the other: in the
 * order of their ends, equal run times would lie side by side by themselves. */
#ifndef ADLRO_TWIN_USER_LIKENESS_H
#define ADLRO_TWIN_USER_LIKENESS_H

#include <stdint.h>

#define ADL_LIKENESS_USERS 1024 /* that are told apart; a power of 2 */

/* Zeros: nothing was added. */
struct adl_user_likeness {
    struct {
        uint32_t user;
        float rank; /* 0 = none */
    } last[ADL_LIKENESS_USERS];
    double pairs, sum;
};

/* The rank, above 0 and at most 1, of the next job in order of submission. */
void adl_user_likeness_add(struct adl_user_likeness *likeness, uint32_t user, float rank);

double adl_user_likeness_share(const struct adl_user_likeness *likeness); /* 0 to 0.9 */

#endif
