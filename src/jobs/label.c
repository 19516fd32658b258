#include "jobs/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX UINT64_C(10000) /* of an array of our own */

const char *adl_label_print(uint64_t number, uint64_t array_id, int32_t array_index, char ret[ADL_LABEL_SIZE])
{
    if (array_id > 0)
        snprintf(ret, ADL_LABEL_SIZE, "%" PRIu64 "_%" PRId32, array_id, array_index);
    else
        snprintf(ret, ADL_LABEL_SIZE, "%" PRIu64, number);
    return ret;
}

const char *adl_label_of_live(const struct adl_job_entry *job, char ret[ADL_LABEL_SIZE])
{
    return adl_label_print(adl_job_table_shown(job), job->array_id, job->array_index, ret);
}

const char *adl_label_of_stored(const struct adl_store_job *job, char ret[ADL_LABEL_SIZE])
{
    const uint64_t number = job->external > 0 ? (uint64_t)job->external : job->spec.id;
    const uint64_t array_id = job->array_index < 0 ? 0 : job->array_id ? job->array_id : job->spec.id;
    return adl_label_print(number, array_id, job->array_index, ret);
}

/* "12" or "12_3"; index -1: there is none. */
static bool read_label(const char *label, uint64_t *ret_number, int64_t *ret_index)
{
    const size_t digits = strspn(label, "0123456789");
    const char *rest = label + digits + 1;
    const size_t more = label[digits] == '_' ? strspn(rest, "0123456789") : 0;
    if (digits < 1 || digits > 18 || more > 9 || (label[digits] != '\0' && (more < 1 || rest[more] != '\0')))
        return false;
    *ret_number = strtoull(label, NULL, 10);
    *ret_index = more > 0 ? strtoll(rest, NULL, 10) : -1;
    return true;
}

struct member {
    uint64_t array_id;
    int32_t array_index;
};

static int read_member(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    *(struct member *)context = (struct member){job->array_id, job->array_index};
    return 0;
}

/* Numbers and indices of members both rise, so a binary search finds an index; its distance from the first member is at
 * most the index. *ret is 0 if there is none. */
static int find_member(struct adl_store *store, uint64_t array, int64_t index, uint64_t *ret, struct adl_error *err)
{
    const uint64_t furthest = (uint64_t)index < MEMBERS_MAX ? (uint64_t)index : MEMBERS_MAX - 1;
    uint64_t low = array, high = array + furthest + 1; /* [low, high) */
    *ret = 0;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        struct member it = {.array_index = -1};
        const int found = adl_store_job_read(store, middle, read_member, &it, err);
        if (found < 0)
            return found;
        const bool member = found > 0 && it.array_index >= 0 && it.array_id == array;
        if (member && it.array_index == index) {
            *ret = middle;
            return 0;
        }
        if (member && it.array_index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* Tasks of Slurm's arrays are numbered by the array and their index (docs/formats/slurm-protocol.md). */
static uint64_t find_external(struct adl_store *store, uint64_t number, int64_t index)
{
    if (index >= 0 && number > UINT32_MAX)
        return 0;
    return adl_store_job_of_external(store, (int64_t)(number + ((uint64_t)(index + 1) << 32)));
}

int adl_label_find(struct adl_store *store, const char *label, bool external, uint64_t *ret, struct adl_error *err)
{
    uint64_t number, found = 0;
    int64_t index;
    int status = 0;
    if (!read_label(label, &number, &index))
        return adl_fail(err, ADL_EINVAL, "jobs have numbers, 12, or 12_3 in an array");
    if (external)
        found = find_external(store, number, index);
    else if (index >= 0)
        status = find_member(store, number, index, &found, err);
    else
        found = number;
    if (status)
        return status;
    if (found == 0)
        return adl_fail(err, ADL_EABSENT, "there is no job %s%s", label,
                        external ? " that was decided about here" : "");
    *ret = found;
    return 0;
}
