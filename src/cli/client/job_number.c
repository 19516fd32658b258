#include "cli/client/job_number.h"

#include "base/suggest.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX  (UINT64_C(1) << 53) /* what JSON can represent exactly */
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

static bool is_member(const cJSON *job, uint64_t array)
{
    return adl_member_number(job, "array_id", 0) == (double)array;
}

int adl_job_number_find(struct adl_client *client, const char *text, uint64_t *ret_id, struct cJSON **ret_job,
                        struct adl_error *err)
{
    char path[64];
    uint64_t number = 0;
    int64_t index = INDEX_NONE;
    cJSON *job = NULL;
    int status = read_text(text, &number, &index, err);
    if (status == 0 && index == INDEX_ALL)
        return adl_fail(err, ADL_EINVAL, "this needs one job, not all of array %llu", (unsigned long long)number);
    if (status)
        return status;
    snprintf(path, sizeof path, "/v1/jobs/%.40s", text);
    status = adl_client_get(client, path, &job, err);
    if (status)
        return status;
    *ret_id = (uint64_t)adl_member_number(job, "id", 0);
    if (ret_job)
        *ret_job = job;
    else
        cJSON_Delete(job);
    return 0;
}

static void name_job(struct adl_job_name *ret, const cJSON *job)
{
    ret->id = (uint64_t)adl_member_number(job, "id", 0);
    adl_job_label(job, ret->label);
}

/* The members of an array that have not ended, at most MEMBERS_MAX. */
static int list_live(struct adl_client *client, uint64_t array, struct adl_job_name *names, size_t *ret_count,
                     struct adl_error *err)
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
            name_job(&names[count++], job);
    }
    cJSON_Delete(list);
    *ret_count = count;
    return 0;
}

/* The members of an array of adlro's own that run or have ended, in order. Their ids are consecutive, so that they are
 * among the MEMBERS_MAX ids from the array's own on. */
static int list_past(struct adl_client *client, uint64_t array, struct adl_job_name *names, size_t *ret_count,
                     struct adl_error *err)
{
    uint64_t after = array + MEMBERS_MAX;
    size_t count = 0;
    for (bool more = true; more;) {
        char path[96];
        cJSON *page = NULL;
        const cJSON *job;
        snprintf(path, sizeof path, "/v1/jobs?state=all&limit=1000&after=%llu", (unsigned long long)after);
        const int status = adl_client_get(client, path, &page, err);
        if (status)
            return status;
        more = adl_member_number(page, "next", -1) > (double)array;
        cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(page, "jobs"))
        {
            after = (uint64_t)adl_member_number(job, "id", 0);
            if (is_member(job, array) && strcmp(adl_member_text(job, "state"), "PD") != 0 && count < MEMBERS_MAX)
                name_job(&names[count++], job);
        }
        cJSON_Delete(page);
    }
    for (size_t i = 0; i < count / 2; i++) { /* the store lists the newest first */
        const struct adl_job_name name = names[i];
        names[i] = names[count - 1 - i];
        names[count - 1 - i] = name;
    }
    *ret_count = count;
    return 0;
}

/* number: of a job or an array. An array has a job of that number only if it was submitted to adlro itself. names has
 * space for MEMBERS_MAX. */
static int list_all(struct adl_client *client, uint64_t number, bool array_only, bool ended, struct adl_job_name *names,
                    size_t *ret_count, struct adl_error *err)
{
    char text[32];
    uint64_t id;
    struct adl_error absent;
    cJSON *job = NULL;
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    const int found = adl_job_number_find(client, text, &id, &job, &absent);
    const bool is_array = found == 0 && is_member(job, number);
    if (found == 0)
        name_job(names, job);
    cJSON_Delete(job);
    if (found && found != ADL_EABSENT) {
        *err = absent;
        return found;
    }
    if (found == 0 && !is_array) {
        *ret_count = 1;
        return array_only ? adl_fail(err, ADL_EABSENT, "job %s is not an array", text) : 0;
    }
    const bool past = ended && is_array;
    const int status =
        past ? list_past(client, number, names, ret_count, err) : list_live(client, number, names, ret_count, err);
    if (status || *ret_count > 0)
        return status;
    if (past)
        return adl_fail(err, ADL_EREFUSED, "all jobs of array %s wait already", text);
    if (is_array)
        return adl_fail(err, ADL_EREFUSED, "all jobs of array %s have ended", text);
    *err = absent;
    return found;
}

int adl_job_numbers_find(struct adl_client *client, const char *text, bool ended, struct adl_job_name **ret,
                         size_t *ret_count, struct adl_error *err)
{
    uint64_t number = 0;
    int64_t index = INDEX_NONE;
    cJSON *job = NULL;
    size_t count = 1;
    int status = read_text(text, &number, &index, err);
    if (status)
        return status;
    struct adl_job_name *names = malloc((index < 0 ? MEMBERS_MAX : 1) * sizeof *names);
    if (!names)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    if (index < 0) {
        status = list_all(client, number, index == INDEX_ALL, ended, names, &count, err);
    } else {
        uint64_t id;
        status = adl_job_number_find(client, text, &id, &job, err);
        if (status == 0)
            name_job(names, job);
        cJSON_Delete(job);
    }
    if (status) {
        free(names);
        return status;
    }
    *ret = names;
    *ret_count = count;
    return 0;
}
