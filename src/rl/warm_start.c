#include "rl/warm_start.h"

#include <assert.h>

/* Weights of features as they are before they are normalized, so logarithms to base 2 of ratios. Found on training
 * seeds. */
static const struct {
    enum adl_feature feature;
    double weight;
} terms[] = {
    {ADL_ACTION_PLANNED, 5.0},
    {ADL_ACTION_RATE_OF_BEST, 1.0},
    {ADL_ACTION_COST_OF_LEAST, -5.0},
    {ADL_ACTION_WAIT, -4.0},
};

uint32_t adl_warm_start_rule(const struct adl_normalizer *normalizer, float ret[ADL_WARM_START_FEATURES_MAX])
{
    const int first = adl_row_first(ADL_ROW_ACTION), count = adl_row_size(ADL_ROW_ACTION);
    assert(count <= ADL_WARM_START_FEATURES_MAX);
    for (int f = 0; f < count; f++)
        ret[f] = 0;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        ret[(int)terms[i].feature - first] = (float)terms[i].weight / normalizer->scale[terms[i].feature];
    return (uint32_t)count;
}
