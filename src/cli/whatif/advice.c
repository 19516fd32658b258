#include "cli/whatif/advice.h"

#include "cli/display.h"
#include "cli/whatif/answer.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_SIZE 512

/* How many GPUs the first of the alternatives asks for: "v100:2|a100:1", "v100", "4". */
static long first_count(const char *request)
{
    const size_t length = strcspn(request, "|");
    const char *colon = memchr(request, ':', length);
    const long count = strtol(colon ? colon + 1 : request, NULL, 10);
    return count > 0 ? count : 1;
}

static int set_item(cJSON *job, const char *key, cJSON *item)
{
    if (!item)
        return ADL_ENOMEM;
    cJSON_DeleteItemFromObjectCaseSensitive(job, key);
    return cJSON_AddItemToObject(job, key, item) ? 0 : ADL_ENOMEM;
}

/* "v100:2" and a100 make "v100:2|a100:2"; with one GPU it becomes "v100:1". */
static int change_gpus(cJSON *job, const char *type, int gpus)
{
    const char *old = adl_member_text(job, "gpus");
    char request[REQUEST_SIZE];
    const size_t first = strcspn(old, ":|");
    const bool typed = *old && !(*old >= '0' && *old <= '9');
    if (*type)
        snprintf(request, sizeof request, "%.400s|%.60s:%ld", old, type, first_count(old));
    else if (typed)
        snprintf(request, sizeof request, "%.*s:%d", first < 64 ? (int)first : 64, old, gpus);
    else
        snprintf(request, sizeof request, "%d", gpus);
    return set_item(job, "gpus", cJSON_CreateString(request));
}

int adl_advice_apply(cJSON *job, const cJSON *alternative)
{
    const cJSON *request = cJSON_GetObjectItemCaseSensitive(alternative, "request");
    const char *type = adl_member_text(request, "add_type");
    const double gpus = adl_member_number(request, "gpus", 0), limit_s = adl_member_number(request, "time_limit_s", 0),
                 priority = adl_member_number(request, "priority", -1);
    int status = 0;
    if (*type || (gpus >= 1 && gpus < 1e6))
        status = change_gpus(job, type, (int)gpus);
    if (status == 0 && limit_s > 0)
        status = set_item(job, "time_limit_s", cJSON_CreateNumber(limit_s));
    if (status == 0 && priority >= 0)
        status = set_item(job, "priority", cJSON_CreateNumber(priority));
    return status;
}

static const cJSON *find_cheapest(const cJSON *answer)
{
    const char *cheapest = adl_member_text(answer, "cheapest");
    const cJSON *alternative;
    cJSON_ArrayForEach(alternative, cJSON_GetObjectItemCaseSensitive(answer, "alternatives"))
    {
        if (*cheapest && strcmp(adl_member_text(alternative, "change"), cheapest) == 0)
            return alternative;
    }
    return NULL;
}

/* 'y', 'c' or 'n'. */
static char ask(bool change)
{
    char line[80] = "";
    for (;;) {
        fputs(change ? "Submit it as it is (y), with the cheapest change (c), or not (n)? "
                     : "Submit it as it is (y), or not (n)? ",
              stderr);
        if (!fgets(line, sizeof line, stdin))
            return 'n';
        if (line[0] == 'y' || line[0] == 'n' || (change && line[0] == 'c'))
            return line[0];
    }
}

static int ask_service(struct adl_client *client, const cJSON *job, cJSON **ret, struct adl_error *err)
{
    cJSON *question = cJSON_CreateObject(), *copy = cJSON_Duplicate(job, true);
    if (!question || !copy || !cJSON_AddItemToObject(question, "submit", copy)) {
        cJSON_Delete(question);
        cJSON_Delete(copy);
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    }
    const int status = adl_client_call(client, "POST", "/v1/whatif", question, ret, err);
    cJSON_Delete(question);
    return status;
}

int adl_advice_take(struct adl_client *client, cJSON *job, bool yes, struct adl_error *err)
{
    cJSON *answer = NULL;
    struct adl_text text = {0};
    if (!yes && !isatty(STDIN_FILENO))
        return adl_fail(err, ADL_EINVAL,
                        "--advise asks, and standard input is no terminal: add --yes to submit it without a question");
    int status = ask_service(client, job, &answer, err);
    if (status)
        return status;
    adl_answer_print(&text, answer, "");
    fputs(text.data ? text.data : "", stderr);
    adl_text_clear(&text);
    const cJSON *cheapest = find_cheapest(answer);
    const char *type = adl_member_text(cJSON_GetObjectItemCaseSensitive(cheapest, "request"), "add_type");
    const char choice = !yes ? ask(cheapest != NULL) : *type ? 'c' : 'y'; /* fewer GPUs or less time may not suffice */
    if (choice == 'c' && adl_advice_apply(job, cheapest))
        status = adl_fail(err, ADL_ENOMEM, "out of memory");
    cJSON_Delete(answer);
    return status ? status : choice != 'n';
}
