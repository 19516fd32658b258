/* routes_progress: what a running job says of its steps. */
#include "service/routes/routes_internal.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>

#define SECOND_US INT64_C(1000000)
#define STEPS_MAX 9007199254740992.0 /* doubles hold every integer up to here */

/* Reports of a job count at most once a second, in a long run once in a hundredth of it, and at least once a minute. */
static bool came_too_soon(const struct adl_service_state *shared, const struct adl_caller *caller, uint64_t id)
{
    const struct adl_job_entry *job = adl_job_table_find(&shared->job_table, id);
    const struct adl_job_progress *last = job ? adl_job_table_progress(job) : NULL;
    if (!last || !(caller->admin || caller->account.uid == job->uid))
        return false;
    const int64_t now_us = shared->now_us(shared), since_us = now_us - last->time_us;
    const int64_t part_us = (now_us - job->start_us) / 100;
    const int64_t apart_us = part_us < SECOND_US ? SECOND_US : part_us > 60 * SECOND_US ? 60 * SECOND_US : part_us;
    return since_us >= 0 && since_us < apart_us;
}

/* A whole number; false: it was answered. */
static bool read_steps(struct adl_http_request *http, const cJSON *body, const char *key, double least, uint64_t *ret)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, key);
    const double number = cJSON_IsNumber(value) ? value->valuedouble : -1;
    char message[120];
    *ret = 0;
    if (!value && least > 0)
        return true;
    if (number >= least && number <= STEPS_MAX && number == (double)(uint64_t)number) {
        *ret = (uint64_t)number;
        return true;
    }
    snprintf(message, sizeof message, "%s: must be a whole number of at least %.0f", key, least);
    adl_http_request_answer_problem(http, 400, "bad_request", message, NULL);
    return false;
}

static void answer(struct adl_routes_context *context, struct adl_request *request)
{
    adl_route_answer_job(context, &context->answer_reader, request->http, request->job);
}

/* What the body says; false: it was answered. */
static bool read_body(struct adl_http_request *http, uint64_t *ret_step, uint64_t *ret_steps)
{
    static const char *const names[] = {"step", "steps", NULL};
    cJSON *body = NULL;
    char message[120];
    if (!adl_route_body(http, names, false, &body))
        return false;
    const bool read = read_steps(http, body, "step", 0, ret_step) && read_steps(http, body, "steps", 1, ret_steps);
    cJSON_Delete(body);
    if (!read || *ret_steps == 0 || *ret_step <= *ret_steps)
        return read;
    snprintf(message, sizeof message, "step: %" PRIu64 " is more than steps, %" PRIu64, *ret_step, *ret_steps);
    adl_http_request_answer_problem(http, 400, "bad_request", message, NULL);
    return false;
}

void adl_route_progress(void *context, struct adl_http_request *http)
{
    struct adl_routes_context *routes = context;
    uint64_t id, step, steps;
    if (!adl_route_query_known(http, NULL) || !read_body(http, &step, &steps) || !adl_route_job_id(routes, http, &id))
        return;
    adl_service_state_lock(routes->shared);
    const bool soon = came_too_soon(routes->shared, adl_http_request_caller(http), id);
    adl_service_state_unlock(routes->shared);
    if (soon) {
        adl_route_answer_job(routes, &routes->reader, http, id);
        return;
    }
    struct adl_request *request = adl_route_request(context, http, ADL_REQUEST_PROGRESS, answer);
    if (!request)
        return;
    request->job = id;
    request->step = step;
    request->steps = steps;
    adl_route_post(request);
}
