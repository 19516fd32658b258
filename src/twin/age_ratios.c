#include "twin/age_ratios.h"

#include "base/real.h"

#include <math.h>

#define FIRST   24               /* doubling: seconds; below nothing is to gain */
#define DOUBT   8                /* ends as expected, beside those seen */
#define KEPT    (1 - 1 / 4096.0) /* of what was seen, at each end */
#define STOPPED 0.98             /* of the longest: from there on it is taken for the longest */
#define LONGER  0.5              /* a job that is expected to outlive the longest with more than that may do so */
#define ALIVE   1e-9             /* least share of jobs that are taken to be left: logarithms end somewhere */

/* The integral of the hazard from the first of these ages, of a job that has run so long, to each. */
static void integrate(const struct adl_belief *belief, uint32_t slot, double done_us, const double *ages, int count,
                      double *ret)
{
    adl_belief_ranks(belief, slot, done_us, ages, count, ret);
    for (int i = 0; i < count; i++)
        ret[i] = -adl_log(1 - ret[i] > ALIVE ? 1 - ret[i] : ALIVE);
}

/* Ends of the doublings from an age up to another, and that one. */
static int list_ages(double from_us, double to_us, double *ret, int *ret_first)
{
    int bin = 0, count = 0;
    frexp(from_us > 1 ? from_us : 1, &bin);
    bin = bin - 1 < FIRST ? FIRST : bin - 1 < ADL_AGE_RATIOS ? bin - 1 : ADL_AGE_RATIOS - 1;
    *ret_first = bin;
    for (double end = ldexp(1, bin + 1); bin + count < ADL_AGE_RATIOS - 1 && end < to_us; end *= 2)
        ret[count++] = end;
    ret[count++] = to_us;
    return count;
}

void adl_age_ratios_learn(struct adl_age_ratios *ratios, const struct adl_belief *belief, uint32_t slot, double work_us,
                          double longest_us)
{
    double ages[ADL_AGE_RATIOS], sums[ADL_AGE_RATIOS], before = 0;
    int first;
    const int count = list_ages(0, work_us, ages, &first);
    integrate(belief, slot, 0, ages, count, sums);
    for (int i = 0; i < ADL_AGE_RATIOS; i++) {
        ratios->ended[i] *= KEPT;
        ratios->expected[i] *= KEPT;
    }
    for (int i = 0; i < count; i++) {
        ratios->expected[first + i] += sums[i] - before;
        before = sums[i];
    }
    if (!(longest_us > 0) || work_us < STOPPED * longest_us)
        ratios->ended[first + count - 1] += 1;
}

double adl_age_ratios_left_us(const struct adl_age_ratios *ratios, const struct adl_belief *belief, uint32_t slot,
                              double done_us, double longest_us, double rank)
{
    double ages[ADL_AGE_RATIOS], sums[ADL_AGE_RATIOS], before = 0;
    int first;
    if (!(longest_us > done_us) || adl_belief_rank(belief, slot, longest_us) < LONGER)
        return adl_belief_quantile_us(belief, slot, done_us, rank);
    const int count = list_ages(done_us, longest_us, ages, &first);
    double left = -adl_log(1 - rank);
    integrate(belief, slot, done_us, ages, count, sums);
    for (int i = 0; i < count; i++) {
        const int bin = first + i;
        const double factor = (ratios->ended[bin] + DOUBT) / (ratios->expected[bin] + DOUBT);
        const double here = factor * (sums[i] - before);
        if (left < here)
            return adl_belief_quantile_us(belief, slot, done_us, 1 - adl_exp(-(before + left / factor)));
        left -= here;
        before = sums[i];
    }
    return longest_us - done_us;
}
