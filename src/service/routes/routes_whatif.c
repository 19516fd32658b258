/* routes_whatif: what would be different if a job, the policy or the cluster were. */
#include "base/suggest.h"
#include "service/questions.h"
#include "service/routes/routes_internal.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUTURES 16

/* A text, or an error that names the key. */
static int read_text(const cJSON *body, const char *key, char *ret, size_t size, struct adl_error *err)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, key);
    if (!value || cJSON_IsNull(value))
        return 0;
    if (!cJSON_IsString(value) || strlen(value->valuestring) >= size)
        return adl_fail(err, ADL_EINVAL, "%s: must be a string of fewer than %zu bytes", key, size);
    snprintf(ret, size, "%s", value->valuestring);
    return 0;
}

static int read_number(const cJSON *body, const char *key, double least, double most, bool whole, double *ret,
                       struct adl_error *err)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, key);
    if (!value || cJSON_IsNull(value))
        return 0;
    const double number = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    if (!(number >= least && number <= most) || (whole && number != floor(number)))
        return adl_fail(err, ADL_EINVAL, "%s: must be a %snumber from %g to %g", key, whole ? "whole " : "", least,
                        most);
    *ret = number;
    return 0;
}

static int read_policy(const cJSON *body, struct adl_question *question, struct adl_error *err)
{
    char name[ADL_NAME_SIZE] = "", quoted[ADL_QUOTE_SIZE];
    const int status = read_text(body, "policy", name, sizeof name, err);
    if (status || !name[0])
        return status;
    question->policy = adl_policy_find(name);
    return question->policy ? 0
                            : adl_fail(err, ADL_EINVAL, "policy: there is no policy %s; GET /v1/policies lists them",
                                       adl_quote(name, quoted));
}

static int read_submission(const cJSON *body, struct adl_http_request *http, int64_t now_us,
                           struct adl_question *question, struct adl_error *err)
{
    const cJSON *document = cJSON_GetObjectItemCaseSensitive(body, "submit");
    if (!document || cJSON_IsNull(document))
        return 0;
    if (question->of_job)
        return adl_fail(err, ADL_EINVAL, "submit: is a job of its own; leave job out");
    return adl_submission_read(document, &adl_http_request_caller(http)->account, now_us, &question->submission, err);
}

static int read_question(const cJSON *body, struct adl_http_request *http, int64_t now_us,
                         struct adl_question *question, struct adl_error *err)
{
    double job = -1, gpus = 0, limit_s = 0, futures = FUTURES;
    int status = read_number(body, "job", 1, 9e15, true, &job, err);
    if (status == 0)
        status = read_text(body, "types", question->types, sizeof question->types, err);
    if (status == 0)
        status = read_number(body, "gpus", 1, ADL_JOB_GPUS_MAX, true, &gpus, err);
    if (status == 0)
        status = read_number(body, "priority", 0, 1, false, &question->priority, err);
    if (status == 0)
        status = read_number(body, "time_limit_s", 1, 3e9, false, &limit_s, err);
    if (status == 0)
        status = read_text(body, "add_nodes", question->add_nodes, sizeof question->add_nodes, err);
    if (status == 0)
        status = read_text(body, "drain", question->drain, sizeof question->drain, err);
    if (status == 0)
        status = read_number(body, "drain_s", 0, 3e9, false, &question->drain_s, err);
    if (status == 0 && question->drain_s > 0 && question->drain_s < (double)now_us * 1e-6 - 60)
        status = adl_fail(err, ADL_EINVAL, "drain_s: %.0f has passed; here it is %.0f s after 1970", question->drain_s,
                          (double)now_us * 1e-6);
    if (status == 0)
        status = read_number(body, "futures", ADL_WHATIF_LEAST, 64, true, &futures, err);
    if (status == 0)
        status = read_policy(body, question, err);
    question->of_job = job > 0;
    question->job = job > 0 ? (uint64_t)job : 0;
    question->gpus = (int64_t)gpus;
    question->limit_s = (int64_t)limit_s;
    question->futures = (uint32_t)futures;
    if (status == 0)
        status = read_submission(body, http, now_us, question, err);
    const bool changes = question->types[0] || gpus > 0 || question->priority >= 0 || limit_s > 0;
    const bool others = question->policy || question->add_nodes[0] || question->drain[0];
    if (status == 0 && changes && !question->of_job && !question->submission)
        return adl_fail(err, ADL_EINVAL, "job: types, gpus, priority and time_limit_s change a job; name it");
    if (status == 0 && !question->of_job && !question->submission && !others)
        return adl_fail(err, ADL_EINVAL, "a job, a submission, or a change (policy, add_nodes, drain) is needed");
    return status;
}

/* The job has to be there, and the caller allowed to know of it. */
static bool find_job(struct adl_routes_context *routes, struct adl_http_request *http, struct adl_question *question)
{
    struct adl_service_state *shared = routes->shared;
    char message[80];
    adl_service_state_lock(shared);
    const struct adl_job_entry *job = adl_job_table_find(&shared->job_table, question->job);
    const bool seen = job && adl_privacy_shows(shared, adl_http_request_caller(http), job->uid);
    if (seen)
        adl_label_of_live(job, question->label);
    adl_service_state_unlock(shared);
    snprintf(message, sizeof message, "no job %llu waits or runs", (unsigned long long)question->job);
    if (!seen)
        adl_http_request_answer_problem(http, 404, "not_found", message, NULL);
    return seen;
}

void adl_route_whatif(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"job",       "types", "gpus",    "priority", "time_limit_s", "policy",
                                        "add_nodes", "drain", "drain_s", "futures",  "submit",       NULL};
    struct adl_routes_context *routes = context;
    struct adl_error err = {{0}};
    cJSON *body = NULL;
    if (!adl_route_query_known(http, NULL) || !adl_route_body(http, names, false, &body))
        return;
    struct adl_question *question = calloc(1, sizeof *question);
    if (!question) {
        cJSON_Delete(body);
        adl_http_request_answer_problem(http, 503, "no_memory", "There is no memory for the question.", NULL);
        return;
    }
    *question = (struct adl_question){.http = http, .caller = *adl_http_request_caller(http), .priority = -1};
    const int status = read_question(body, http, routes->shared->now_us(routes->shared), question, &err);
    cJSON_Delete(body);
    if (status) {
        const bool bad = status == ADL_EINVAL;
        adl_http_request_answer_problem(http, bad ? 400 : 503, bad ? "bad_request" : "no_memory", err.text, NULL);
    } else if (!question->of_job || find_job(routes, http, question)) {
        adl_http_request_defer(http);
        if (routes->shared->questions && adl_questions_post(routes->shared->questions, question))
            return;
        adl_http_request_answer_problem(http, 503, "busy", "Too many what-if questions wait already.",
                                        "Ask again in a few seconds.");
    }
    adl_question_free(question);
}
