/* routes_users: what each user runs, waits for and used. */
#include "service/routes/routes_internal.h"
#include "service/user_sums.h"

#include <string.h>

#define RUNS_SUMMED 50000 /* ended jobs, the last ones */
#define CHUNK       1000  /* live jobs counted while the lock is held once */

static int take_run(void *context, const struct adl_store_run *run, struct adl_error *err)
{
    (void)err;
    adl_user_sums_add_ended(context, run);
    return 0;
}

/* A part at a time, so that decisions do not wait. */
static void add_live(struct adl_user_sums *sums, struct adl_service_state *shared)
{
    const int64_t now_us = shared->now_us(shared);
    uint64_t last = 0;
    for (bool more = true; more;) {
        adl_service_state_lock(shared);
        const struct adl_job_entry *job = last ? adl_job_table_find(&shared->job_table, last) : NULL;
        for (job = job ? job->next : shared->job_table.first; job && job->id <= last;)
            job = job->next;
        for (uint32_t i = 0; i < CHUNK && job; i++, job = job->next) {
            adl_user_sums_add_live(sums, job, now_us);
            last = job->id;
        }
        more = job != NULL;
        adl_service_state_unlock(shared);
    }
}

static void put_user(struct adl_json *json, const struct adl_user_sum *sum)
{
    adl_json_object(json);
    adl_json_put_string(json, "user", sum->user);
    adl_json_put_uint(json, "running", sum->running);
    adl_json_put_uint(json, "waiting", sum->waiting);
    adl_json_put_uint(json, "gpus", sum->gpus);
    adl_json_put_uint(json, "ended", sum->ended);
    adl_json_put_uint(json, "completed", sum->completed);
    adl_json_put_real(json, "gpu_hours", sum->gpu_us / 3.6e9);
    adl_json_put_real(json, "idle_gpu_hours", (sum->idle_us < sum->gpu_us ? sum->idle_us : sum->gpu_us) / 3.6e9);
    adl_json_key(json, "wait_mean_s");
    if (sum->started > 0)
        adl_json_real(json, sum->wait_us * 1e-6 / sum->started);
    else
        adl_json_null(json);
    adl_json_end(json);
}

/* The first row after a user; the first of all if there is none. */
static uint32_t row_after(const struct adl_user_sums *sums, const char *user)
{
    for (uint32_t i = 0; user && i < sums->count; i++)
        if (strcmp(sums->users[i].user, user) == 0)
            return i + 1;
    return 0;
}

static void put_users(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                      const struct adl_user_sums *sums, const char *after, uint32_t limit)
{
    const struct adl_user_sum *last = NULL;
    uint32_t i = row_after(sums, after), written = 0;
    adl_json_key(json, "users");
    adl_json_array(json);
    for (; i < sums->count && written < limit; i++)
        if (adl_privacy_shows(shared, viewer, sums->users[i].uid)) {
            last = &sums->users[i];
            put_user(json, last);
            written++;
        }
    adl_json_end(json);
    while (i < sums->count && !adl_privacy_shows(shared, viewer, sums->users[i].uid))
        i++;
    adl_json_put_string(json, "next", last && i < sums->count ? last->user : NULL);
}

void adl_route_users(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"minutes", "limit", "after", NULL};
    struct adl_routes_context *routes = context;
    struct adl_user_sums sums = {0};
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    struct adl_error err = {{0}};
    int64_t until_us, limit;
    if (!adl_route_query_known(http, names) || !adl_route_range(http, routes->shared, &sums.from_us, &until_us) ||
        !adl_route_query_int(http, "limit", 1, ADL_STORE_PAGE_MAX, 100, &limit))
        return;
    struct adl_store *store = adl_route_store(routes->shared, &routes->reader, &err);
    const int read = store ? adl_store_runs_ended(store, sums.from_us, RUNS_SUMMED, take_run, &sums, &err) : ADL_EIO;
    add_live(&sums, routes->shared);
    adl_user_sums_sort(&sums);
    adl_json_object(&json);
    adl_view_time(&json, "from_s", sums.from_us);
    adl_view_time(&json, "until_s", until_us);
    adl_json_put_bool(&json, "complete", read < RUNS_SUMMED);
    put_users(&json, routes->shared, adl_http_request_caller(http), &sums, adl_http_request_query(http, "after"),
              (uint32_t)limit);
    adl_json_end(&json);
    if (read < 0)
        adl_route_answer_not_read(http, &text, read, &err);
    else if (sums.failed)
        adl_route_answer_not_read(http, &text, ADL_ENOMEM, &(struct adl_error){"out of memory"});
    else
        adl_http_request_answer_json(http, 200, &text);
    adl_user_sums_clear(&sums);
}
