#include "policy/mechanism/gittins_index.h"

#include "base/real.h"

#include <stdbool.h>

#define LOG_2    0.69314718055994531
#define LEAST    (-16) /* binary logarithm of the first ratio */
#define PER_STEP 4

void adl_gittins_index_init(struct adl_gittins_index *ret)
{
    *ret = (struct adl_gittins_index){0};
    for (int i = 0; i < ADL_GITTINS_BINS; i++)
        ret->ratio[i] = adl_exp(LOG_2 * (LEAST + (double)i / PER_STEP));
    adl_gittins_index_learn(ret, 1);
    ret->count = 0;
}

void adl_gittins_index_learn(struct adl_gittins_index *index, double ratio)
{
    const double at = ratio > 0 ? (adl_log(ratio) / LOG_2 - LEAST) * PER_STEP + 0.5 : 0;
    const int bin = at < 0 ? 0 : at >= ADL_GITTINS_BINS ? ADL_GITTINS_BINS - 1 : (int)at;
    index->weight[bin]++;
    index->count++;
}

double adl_gittins_index_cost(const struct adl_gittins_index *index, double u)
{
    double alive = 0, ended = 0, ended_time = 0, best = u;
    int first = 0;
    while (first < ADL_GITTINS_BINS && index->ratio[first] <= u)
        first++;
    for (int i = first; i < ADL_GITTINS_BINS; i++)
        alive += index->weight[i];
    if (alive == 0)
        return u;
    for (int i = first; i < ADL_GITTINS_BINS; i++) {
        if (index->weight[i] == 0)
            continue;
        const double served = index->ratio[i] - u;
        const bool begins = ended == 0;
        ended += index->weight[i];
        ended_time += index->weight[i] * served;
        const double cost = (ended_time + (alive - ended) * served) / ended;
        if (begins || cost < best)
            best = cost;
    }
    return best;
}
