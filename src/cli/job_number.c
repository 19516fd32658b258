#include "cli/job_number.h"

#include "base/suggest.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX  (UINT64_C(1) << 53) /* what JSON carries exactly */
#define INDEX_NONE  (-1)
#define INDEX_ALL   (-2)
#define MEMBERS_MAX 10000

/* "12", "12_3", "12_*" */
static int read_text(const char *text, uint64_t *ret_number, int64_t *ret_index, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    uint64_t parts[2] = {0, 0};
    const char *c = text;
    int count = 0;
    bool good = true, all = false;
    do {
        const size_t digits = strspn(c, "0123456789");
        all = count == 1 && strcmp(c, "*") == 0;
        good = count < 2 && (all || (digits > 0 && digits <= 16));
        for (size_t i = 0; good && i < digits; i++)
            parts[count] = parts[count] * 10 + (uint64_t)(c[i] - '0');
        c += all ? 1 : digits;
        count++;
    } while (good && *c++ == '_');
    if (!good || c[-1] != '\0' || parts[0] < 1 || parts[0] > NUMBER_MAX || parts[1] > INT32_MAX)
        return adl_fail(err, ADL_EINVAL, "a job is named by its number, 12, or 12_3 in an array, got %s",
                        adl_quote(text, quoted));
    *ret_number = parts[0];
    *ret_index = all ? INDEX_ALL : count == 2 ? (int64_t)parts[1] : INDEX_NONE;
    return 0;
}

static int get_job(struct adl_client *client, uint64_t id, cJSON **ret, struct adl_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)id);
    return adl_client_get(client, path, ret, err);
}

static bool is_member(const cJSON *job, uint64_t array)
{
    return adl_member_number(job, "array_id", 0) == (double)array;
}

/* Where a Slurm cluster is underneath, tasks of an array are numbered by it and their index. */
static int get_task(struct adl_client *client, uint64_t array, int64_t index, uint64_t *ret_id, cJSON **ret_job,
                    struct adl_error *err)
{
    const uint64_t id = array + ((uint64_t)(index + 1) << 32);
    cJSON *job = NULL;
    if (array >= UINT32_MAX || get_job(client, id, &job, err))
        return adl_fail(err, ADL_EABSENT, "there is no job %llu_%lld", (unsigned long long)array, (long long)index);
    *ret_id = id;
    *ret_job = job;
    return 0;
}

/* Members have rising numbers and rising indices, both without a step back, so the one with an index is found by
 * halving: it is not further from the first than the index is from the first's. */
static int find_member(struct adl_client *client, uint64_t array, int64_t index, uint64_t *ret_id, cJSON **ret_job,
                       struct adl_error *err)
{
    cJSON *job = NULL;
    int status = get_job(client, array, &job, err);
    if (status == ADL_EABSENT && index < INT64_C(1) << 20) /* a task of Slurm's (docs/slurm-protocol.md) */
        return get_task(client, array, index, ret_id, ret_job, err);
    if (status)
        return status;
    const bool is_array = is_member(job, array);
    const int64_t first = (int64_t)adl_member_number(job, "array_index", 0);
    cJSON_Delete(job);
    if (!is_array)
        return adl_fail(err, ADL_EABSENT, "job %llu is not an array", (unsigned long long)array);
    uint64_t low = array, high = index >= first ? array + (uint64_t)(index - first) + 1 : array; /* [low, high) */
    if (high > array + MEMBERS_MAX)
        high = array + MEMBERS_MAX;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        status = get_job(client, middle, &job, err);
        if (status && status != ADL_EABSENT)
            return status;
        const bool beyond = status == ADL_EABSENT || !is_member(job, array);
        const int64_t at = beyond ? INT64_MAX : (int64_t)adl_member_number(job, "array_index", 0);
        if (at == index) {
            *ret_id = middle;
            *ret_job = job;
            return 0;
        }
        if (!status)
            cJSON_Delete(job);
        if (at < index)
            low = middle + 1;
        else
            high = middle;
    }
    return adl_fail(err, ADL_EABSENT, "array %llu has no member %lld", (unsigned long long)array, (long long)index);
}

int adl_job_number_find(struct adl_client *client, const char *text, uint64_t *ret_id, struct cJSON **ret_job,
                        struct adl_error *err)
{
    uint64_t number = 0, id = 0;
    int64_t index = INDEX_NONE;
    cJSON *job = NULL;
    int status = read_text(text, &number, &index, err);
    if (status == 0 && index == INDEX_ALL)
        return adl_fail(err, ADL_EINVAL, "one job is wanted here, not all of array %llu", (unsigned long long)number);
    if (status)
        return status;
    id = number;
    status =
        index == INDEX_NONE ? get_job(client, number, &job, err) : find_member(client, number, index, &id, &job, err);
    if (status)
        return status;
    *ret_id = id;
    if (ret_job)
        *ret_job = job;
    else
        cJSON_Delete(job);
    return 0;
}

static int list_live(struct adl_client *client, uint64_t array, uint64_t *ids, size_t *ret_count, struct adl_error *err)
{
    cJSON *list = NULL;
    const cJSON *job;
    size_t count = 0;
    const int status = adl_client_jobs(client, "state=live", &list, err);
    if (status)
        return status;
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(list, "jobs"))
    {
        if (is_member(job, array) && count < MEMBERS_MAX)
            ids[count++] = (uint64_t)adl_member_number(job, "id", 0);
    }
    cJSON_Delete(list);
    if (count == 0)
        return adl_fail(err, ADL_EREFUSED, "all jobs of array %llu have ended", (unsigned long long)array);
    *ret_count = count;
    return 0;
}

int adl_job_numbers_find(struct adl_client *client, const char *text, uint64_t **ret, size_t *ret_count,
                         struct adl_error *err)
{
    uint64_t number = 0, id = 0;
    int64_t index = INDEX_NONE;
    cJSON *job = NULL;
    size_t count = 1;
    int status = read_text(text, &number, &index, err);
    if (status)
        return status;
    char first[32];
    snprintf(first, sizeof first, "%llu", (unsigned long long)number);
    status = adl_job_number_find(client, index == INDEX_ALL ? first : text, &id, &job, err);
    if (status)
        return status;
    const bool is_array = index < 0 && is_member(job, number);
    cJSON_Delete(job);
    if (index == INDEX_ALL && !is_array)
        return adl_fail(err, ADL_EABSENT, "job %llu is not an array", (unsigned long long)number);
    uint64_t *ids = malloc((is_array ? MEMBERS_MAX : 1) * sizeof *ids);
    if (!ids)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    ids[0] = id;
    if (is_array)
        status = list_live(client, number, ids, &count, err);
    if (status) {
        free(ids);
        return status;
    }
    *ret = ids;
    *ret_count = count;
    return 0;
}
