/* typical_time: the geometric mean of the predicted run times of the jobs that wait or run, kept up as they come and
 * go.
 *
 * A job counts with the time that was predicted when it was submitted. Logarithms are summed as integers, so that the
 * mean does not depend on the order in which jobs came and went. */
#ifndef ADLRO_POLICY_DQN_TYPICAL_TIME_H
#define ADLRO_POLICY_DQN_TYPICAL_TIME_H

#include <stddef.h>
#include <stdint.h>

struct adl_typical_time {
    int32_t *logarithms; /* [slot] of live jobs, in units of 2^-20 */
    size_t capacity;
    int64_t sum;
    uint32_t count;
};

void adl_typical_time_clear(struct adl_typical_time *typical);               /* frees; a zeroed one has no jobs */
int adl_typical_time_reserve(struct adl_typical_time *typical, size_t jobs); /* slots; 0 or ADL_ENOMEM */
int adl_typical_time_copy(struct adl_typical_time *to, const struct adl_typical_time *from); /* 0 or ADL_ENOMEM */
void adl_typical_time_reset(struct adl_typical_time *typical);                               /* no jobs */

int adl_typical_time_join(struct adl_typical_time *typical, uint32_t slot, int64_t predicted_us); /* 0 or ADL_ENOMEM */
void adl_typical_time_leave(struct adl_typical_time *typical, uint32_t slot); /* a job that joined */

double adl_typical_time_us(const struct adl_typical_time *typical); /* 1 if there are no jobs */

#endif
