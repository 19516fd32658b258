#include "twin/user_likeness.h"

#include "base/hash.h"

#include <math.h>

#define DOUBT 64 /* pairs of jobs that are taken to be unlike, beside those seen */
#define MOST  0.9

void adl_user_likeness_add(struct adl_user_likeness *likeness, uint32_t user, float rank)
{
    const uint64_t at = adl_hash_u64(adl_hash_start(), user) & (ADL_LIKENESS_USERS - 1);
    if (likeness->last[at].rank > 0 && likeness->last[at].user == user) {
        likeness->sum += 12 * ((double)rank - 0.5) * ((double)likeness->last[at].rank - 0.5); /* variance: 1/12 */
        likeness->pairs++;
    }
    likeness->last[at].user = user;
    likeness->last[at].rank = rank;
}

double adl_user_likeness_share(const struct adl_user_likeness *likeness)
{
    const double share = likeness->sum > 0 ? sqrt(likeness->sum / (likeness->pairs + DOUBT)) : 0;
    return share < MOST ? share : MOST;
}
