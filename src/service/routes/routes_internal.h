/* routes_internal: the handlers, and what they share. */
#ifndef ADLRO_SERVICE_ROUTES_INTERNAL_H
#define ADLRO_SERVICE_ROUTES_INTERNAL_H

#include "http/http_request.h"
#include "service/privacy.h"
#include "service/routes/routes.h"
#include "service/view.h"

struct cJSON;

adl_handler adl_route_jobs, adl_route_submit, adl_route_job, adl_route_cancel, adl_route_hold, adl_route_release,
    adl_route_requeue, adl_route_change, adl_route_job_events, adl_route_job_blockers; /* routes_jobs.c */
adl_handler adl_route_cluster, adl_route_drain_gpu, adl_route_resume_gpu, adl_route_drain_node, adl_route_resume_node,
    adl_route_gpu_health, adl_route_history, adl_route_decisions, adl_route_policies,
    adl_route_reload; /* routes_cluster.c */
adl_handler adl_route_events, adl_route_whoami, adl_route_openapi, adl_route_metrics, adl_route_health, adl_route_page,
    adl_route_asset;                                /* routes_views.c */
adl_handler adl_route_belief, adl_route_set_belief; /* routes_belief.c */
adl_handler adl_route_whatif;                       /* routes_whatif.c */
adl_handler adl_route_progress;                     /* routes_progress.c */
adl_handler adl_route_job_timeline;                 /* routes_timeline.c */
adl_handler adl_route_gpu_history;                  /* routes_gpu_history.c */
adl_handler adl_route_users;                        /* routes_users.c */

adl_handler adl_route_power, adl_route_power_set;                                               /* routes_power.c */
adl_handler adl_route_shadow, adl_route_shadow_start, adl_route_shadow_stop, adl_route_promote; /* routes_shadow.c */

/* ---- those that return false have answered the request ---- */

/* names: the known query parameters, NULL-terminated; NULL = none. */
bool adl_route_query_known(struct adl_http_request *http, const char *const *names);
bool adl_route_query_int(struct adl_http_request *http, const char *name, int64_t least, int64_t most, int64_t fallback,
                         int64_t *ret);
/* The number of a job in the path. */
bool adl_route_job_id(struct adl_routes_context *routes, struct adl_http_request *http, uint64_t *ret);
/* A GPU of the path, by its number or its id. */
bool adl_route_gpu(struct adl_service_state *shared, struct adl_http_request *http, uint32_t *ret);
/* The last minutes= of the service's real time; a twin's are as much longer as its time is faster. */
bool adl_route_range(struct adl_http_request *http, const struct adl_service_state *shared, int64_t *ret_from_us,
                     int64_t *ret_until_us);
/* The body as an object whose keys are all among names; NULL: there is no body, which optional allows. */
bool adl_route_body(struct adl_http_request *http, const char *const *names, bool optional, struct cJSON **ret);
/* Text for people, such as a reason; NULL is "". */
bool adl_route_text(struct adl_http_request *http, const char *name, const char *text, char *ret, size_t size);

/* A text without the jobs that the viewer may not see; NULL is null. */
void adl_route_put_text(struct adl_json *json, struct adl_service_state *shared, const struct adl_caller *viewer,
                        const char *key, const char *text);
/* The store could not be read, or what was requested is absent; clears the text. */
void adl_route_answer_not_read(struct adl_http_request *http, struct adl_text *text, int status,
                               const struct adl_error *err);

/* The store for reading, opened if it is not yet. */
struct adl_store *adl_route_store(const struct adl_service_state *shared, struct adl_store **reader,
                                  struct adl_error *err);

/* A request of the caller. answer is called in the deciding thread if the request succeeded; a failure is answered
 * without it. The request is freed afterwards. */
typedef void adl_request_answer(struct adl_routes_context *context, struct adl_request *request);
struct adl_request *adl_route_request(struct adl_routes_context *context, struct adl_http_request *http, int kind,
                                      adl_request_answer *answer);
/* Queues the request, which is answered in any case. */
void adl_route_post(struct adl_request *request);

/* Answers with the job, from memory or from the store, or with a problem. */
void adl_route_answer_job(struct adl_routes_context *context, struct adl_store **reader, struct adl_http_request *http,
                          uint64_t id);

#endif
