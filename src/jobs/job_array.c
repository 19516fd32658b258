#include "jobs/job_array.h"

#include "base/span.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* "%4" at the end: how many of the array's jobs may run at once. */
static bool limit_read(const char *at, uint32_t *ret)
{
    if (*at == '\0')
        return true;
    struct adl_span limit;
    at++;
    if (adl_span_read(&at, &limit) || *at || limit.last != limit.first)
        return false;
    *ret = limit.first;
    return limit.first >= 1 && limit.first <= ADL_ARRAY_INDEX_MAX;
}

/* Marks the indices in bits of ADL_ARRAY_INDEX_MAX + 1, and counts them. */
static int array_mark(const char *text, uint8_t *bits, struct adl_store_array *facts, struct adl_error *err)
{
    const char *at = text;
    bool good = true;
    for (;; at++) {
        struct adl_span span;
        good =
            !adl_span_read(&at, &span) && span.last <= ADL_ARRAY_INDEX_MAX && (*at == '\0' || *at == ',' || *at == '%');
        for (uint32_t i = span.first; good && i <= span.last; i += span.step) {
            facts->count += bits[i / 8] >> i % 8 & 1 ? 0 : 1;
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1 << i % 8);
        }
        if (!good || *at != ',')
            break;
    }
    if (!good || !limit_read(at, &facts->limit))
        return adl_fail(
            err, ADL_EINVAL,
            "array: must be indices as in 0-9,12 or 0-9:2, none above %d, each span rising; with %%4 behind "
            "them at most 4 of its jobs run at once",
            ADL_ARRAY_INDEX_MAX);
    if (facts->count > ADL_ARRAY_MAX)
        return adl_fail(err, ADL_EINVAL, "array: has %" PRIu32 " jobs; at most %d are possible", facts->count,
                        ADL_ARRAY_MAX);
    return ADL_OK;
}

/* A new list of indices, ascending, of those that are marked. */
static int32_t *array_list(const uint8_t *bits, struct adl_store_array *facts)
{
    int32_t *indices = calloc((size_t)facts->count + 1, sizeof *indices);
    uint32_t found = 0;
    if (!indices)
        return NULL;
    for (int32_t i = 0; i <= ADL_ARRAY_INDEX_MAX && found < facts->count; i++)
        if (bits[i / 8] >> i % 8 & 1)
            indices[found++] = i;
    facts->min = indices[0];
    facts->max = indices[found - 1];
    facts->step = found > 1 ? indices[1] - indices[0] : 1;
    for (uint32_t i = 2; i < found; i++)
        if (indices[i] - indices[i - 1] != facts->step)
            facts->step = 1;
    return indices;
}

int adl_job_array_read(const char *text, struct adl_job_array *ret, struct adl_error *err)
{
    struct adl_job_array array = {0};
    uint8_t *bits = calloc(ADL_ARRAY_INDEX_MAX / 8 + 1, 1);
    if (!bits)
        return adl_fail(err, ADL_ENOMEM, "no memory for the array");
    const int status = array_mark(text, bits, &array.facts, err);
    if (status == ADL_OK)
        array.indices = array_list(bits, &array.facts);
    free(bits);
    if (status < 0)
        return status;
    if (!array.indices)
        return adl_fail(err, ADL_ENOMEM, "no memory for the array");
    *ret = array;
    return ADL_OK;
}

void adl_job_array_clear(struct adl_job_array *array)
{
    free(array->indices);
    *array = (struct adl_job_array){0};
}
