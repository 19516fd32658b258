/* view: the service as JSON: jobs, the cluster, history, decisions. Live jobs (from memory) and ended jobs (from the
 * store) have the same fields. Environments and scripts are never shown.
 *
 * Functions that take a service state need its lock held. */
#ifndef ADLRO_SERVICE_VIEW_H
#define ADLRO_SERVICE_VIEW_H

#include "base/json.h"
#include "service/service_state.h"

#define ADL_VIEW_POINTS_MAX 360

/* A job that the viewer may see; its reason does not name jobs that the viewer may not see. */
void adl_view_live_job(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                       const struct adl_job_entry *job);
/* A job of the store that the job table does not have. */
void adl_view_stored_job(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                         const struct adl_store_job *job);

/* Without the jobs that the viewer may not see. */
void adl_view_cluster(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer);
void adl_view_decisions(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                        uint32_t limit); /* newest first */

/* Copies the last points, at most max, oldest first; how many. */
uint32_t adl_view_points(const struct adl_service_state *shared, struct adl_point *ret, uint32_t max);
/* Without the lock: those points, neighbours averaged until there are at most ADL_VIEW_POINTS_MAX. */
void adl_view_history(struct adl_json *json, const struct adl_point *points, uint32_t count);

/* Without the lock: utilization, power and temperature of GPUs, their ids NULL-terminated, at about 120 times; power is
 * that of all of them together. Members step_s and points of an object. */
int adl_view_readings(struct adl_json *json, struct adl_store *store, const char *const *gpus, int64_t from_us,
                      int64_t until_us, struct adl_error *err);

/* What is known of GPUs and types that are no longer as fast as they were, and whether predictions hold. */
#define ADL_HEALTH_SIZE 400
void adl_view_health(struct adl_json *json, const struct adl_service_state *shared);
/* The same of one, in a sentence; false and empty if it is as it was. */
bool adl_view_say_gpu(const struct adl_service_state *shared, uint32_t gpu, char *ret, size_t size);
void adl_view_say_predictions(const struct adl_service_state *shared, char *ret, size_t size);
bool adl_view_say_type(const struct adl_service_state *shared, uint32_t type, char *ret, size_t size);

/* Who stands in the way of a waiting job, what runs instead, and which change would find room sooner: create copies the
 * state, find computes without the lock, put needs it again. A job that is not queued, or no longer, has none of it. */
struct adl_view_waiting;
int adl_view_waiting_create(const struct adl_service_state *shared, const struct adl_job_entry *job,
                            struct adl_view_waiting **ret); /* 0 or ADL_ENOMEM */
int adl_view_waiting_find(struct adl_view_waiting *it);     /* 0 or ADL_ENOMEM */
void adl_view_waiting_put(struct adl_json *json, const struct adl_service_state *shared,
                          const struct adl_caller *viewer, const struct adl_view_waiting *it);
void adl_view_waiting_destroy(struct adl_view_waiting *it); /* accepts NULL */

/* A time of the service as Unix seconds; null if it is 0. */
void adl_view_time(struct adl_json *json, const char *key, int64_t time_us);

#endif
