#include "slurm/place.h"

#include "slurm/backoff.h"
#include "slurm/eligibility.h"
#include "slurm/job.h"
#include "slurm/limits.h"
#include "slurm/version.h"

#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int fail_as(int code, const char *verb, uint64_t id, struct adl_error *err)
{
    char name[ADL_SLURM_NAME_SIZE];
    adl_slurm_name(id, name);
    int status = ADL_EREFUSED;
    if (adl_slurm_is_unreachable(code))
        status = ADL_EIO;
    else if (code == ESLURM_INVALID_JOB_ID || code == ESLURM_ALREADY_DONE || code == ESLURM_JOB_FINISHED)
        status = ADL_EABSENT;
    return adl_fail(err, status, "Slurm does not %s job %s: %s", verb, name, slurm_strerror(code));
}

/* The library's answer to a request about one job: a status, or one per task. */
static int check_response(int status, job_array_resp_msg_t *response, const char *verb, uint64_t id,
                          struct adl_error *err)
{
    int code = status == SLURM_SUCCESS ? SLURM_SUCCESS : adl_slurm_error_of(status);
    for (uint32_t i = 0; response && code == SLURM_SUCCESS && i < response->job_array_count; i++)
        code = (int)response->error_code[i];
    if (response)
        slurm_free_job_array_resp(response);
    return code == SLURM_SUCCESS ? 0 : fail_as(code, verb, id, err);
}

static int update(job_desc_msg_t *change, const char *verb, uint64_t id, struct adl_error *err)
{
    char name[ADL_SLURM_NAME_SIZE];
    job_array_resp_msg_t *response = NULL;
    adl_slurm_name(id, name);
    change->job_id_str = name;
    const int status = slurm_update_job2(change, &response);
    change->job_id_str = NULL;
    return check_response(status, response, verb, id, err);
}

/* Keeps the user's own comment and appends ours. */
static void write_comment(struct adl_text *text, const struct job_info *job, const char *note)
{
    static const char separator[] = " | adlro: ";
    const char *old = job->comment ? job->comment : "";
    const char *ours = strstr(old, separator);
    const bool all_ours = strncmp(old, separator + 3, sizeof separator - 4) == 0;
    if (!all_ours && *old && strncmp(old, ADL_CATCH_PREFIX, sizeof ADL_CATCH_PREFIX - 1) != 0) {
        adl_text_bytes(text, old, ours ? (size_t)(ours - old) : strlen(old));
        adl_text_put(text, " | ");
    }
    if (strncmp(note, "adlro", 5) != 0)
        adl_text_put(text, "adlro: ");
    adl_text_put(text, note);
}

/* ---- placing ------------------------------------------------------------------------------------------------------
 */

static int check_nodes(const struct adl_slurm_cluster *cluster, const struct adl_slurm_order *order, bool *ret_mixed,
                       struct adl_error *err)
{
    bool mixed = false;
    for (uint32_t i = 0; i < order->node_count; i++) {
        const struct adl_slurm_node *node = adl_slurm_node_find(cluster, order->nodes[i].name);
        if (!node)
            return adl_fail(err, ADL_EREFUSED, "there is no node %s", order->nodes[i].name);
        bool has = false;
        for (uint32_t k = 0; k < node->gpus.count; k++)
            has = has || strcmp(node->gpus.items[k].type, order->type) == 0;
        if (!has)
            return adl_fail(err, ADL_EREFUSED, "node %s has no GPU of type %s", node->name, order->type);
        mixed = mixed || node->gpus.count > 1;
    }
    *ret_mixed = mixed;
    return 0;
}

/* The type to ask Slurm for. If it cannot be changed later: none where the node decides it, so that the job can move to
 * another type; but always for a job that takes only one, because steps that ask for a type need it. */
static int choose_type(const struct job_info *job, const struct adl_catch *caught, const struct adl_slurm_order *order,
                       bool mixed, const char **ret, struct adl_error *err)
{
    const struct adl_gpu_counts given = adl_gres_parse(job->tres_per_node);
    const bool only = caught->request.count == 1 && caught->request.items[0].type[0] != '\0';
    if (adl_slurm_retypes() || given.count == 0) {
        *ret = adl_slurm_retypes() || mixed || only ? order->type : "";
        return 0;
    }
    const char *type = given.items[0].type;
    if (type[0] == '\0' && mixed)
        return adl_fail(err, ADL_EREFUSED, "this version of Slurm cannot give the job a type any more");
    if (type[0] != '\0' && strcmp(type, order->type) != 0)
        return adl_fail(err, ADL_EREFUSED, "this version of Slurm cannot give the job another type than %s any more",
                        type);
    *ret = type[0] ? order->type : "";
    return 0;
}

/* On each node. */
static struct adl_gpu_count gpus_of(const struct adl_slurm_order *order)
{
    struct adl_gpu_count gpus = {.count = order->nodes[0].gpus};
    memcpy(gpus.type, order->type, sizeof gpus.type);
    return gpus;
}

static int check_place(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                       const struct adl_catch *caught, const struct adl_slurm_order *order, struct adl_error *err)
{
    const struct adl_slurm_backoff *left = adl_slurm_backoff_find(cluster, order->job, false);
    if ((job->job_state & JOB_STATE_BASE) != JOB_PENDING)
        return adl_fail(err, ADL_EREFUSED, "the job is not pending any more");
    if (job->job_state & JOB_COMPLETING)
        return adl_fail(err, ADL_EREFUSED, "the last run of the job is still completing");
    if (adl_gpu_counts_count(&caught->request, order->type) != order->nodes[0].gpus)
        return adl_fail(err, ADL_EREFUSED, "the job did not ask for %s:%u", order->type, order->nodes[0].gpus);
    for (uint32_t i = 0; i < order->node_count; i++) {
        if (order->nodes[i].gpus != order->nodes[0].gpus)
            return adl_fail(err, ADL_EREFUSED, "Slurm gives a job the same number of GPUs on each of its nodes");
        if (left && adl_slurm_hosts_have(left->nodes, order->nodes[i].name))
            return adl_fail(err, ADL_EREFUSED, "node %s %s", order->nodes[i].name, left->why);
    }
    const struct adl_gpu_count gpus = gpus_of(order);
    char why[200];
    if (adl_slurm_limits_refuse(cluster, job, &gpus, why, sizeof why))
        return adl_fail(err, ADL_EREFUSED, "%s", why);
    return 0;
}

static int place(const struct adl_slurm_cluster *cluster, const struct job_info *job, const struct adl_catch *caught,
                 const struct adl_slurm_order *order, struct adl_error *err)
{
    const char *type = "";
    bool mixed = false;
    int status = check_place(cluster, job, caught, order, err);
    if (status == 0)
        status = check_nodes(cluster, order, &mixed, err);
    if (status == 0)
        status = choose_type(job, caught, order, mixed, &type, err);
    if (status != 0)
        return status;
    struct adl_text gres = {0}, nodes = {0}, comment = {0};
    adl_slurm_gres_write(&gres, type, order->nodes[0].gpus);
    for (uint32_t i = 0; i < order->node_count; i++)
        adl_text_printf(&nodes, "%s%s", i > 0 ? "," : "", order->nodes[i].name);
    write_comment(&comment, job, order->text);
    if (adl_text_status(&gres) == 0 && adl_text_status(&nodes) == 0 && adl_text_status(&comment) == 0) {
        job_desc_msg_t change;
        slurm_init_job_desc_msg(&change);
        change.req_nodes = nodes.data;
        change.tres_per_node = gres.data;
        change.min_nodes = order->node_count; /* or Slurm might use more nodes */
        change.max_nodes = order->node_count;
        change.begin_time = time(NULL);
        change.priority = INFINITE;
        change.comment = order->text[0] ? comment.data : NULL;
        status = update(&change, "place", order->job, err);
        const struct adl_gpu_count gpus = gpus_of(order);
        if (status == 0)
            adl_slurm_limits_note(cluster, job, &gpus);
    } else {
        status = adl_fail(err, ADL_ENOMEM, "out of memory");
    }
    adl_text_clear(&gres);
    adl_text_clear(&nodes);
    adl_text_clear(&comment);
    return status;
}

/* ---- stopping ----------------------------------------------------------------------------------------------------
 */

static int comment_on(const struct job_info *job, const struct adl_slurm_order *order, struct adl_error *err)
{
    struct adl_text comment = {0};
    write_comment(&comment, job, order->text);
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    change.comment = comment.data;
    const int status = adl_text_status(&comment) == 0 ? update(&change, "comment on", order->job, err)
                                                      : adl_fail(err, ADL_ENOMEM, "out of memory");
    adl_text_clear(&comment);
    return status;
}

/* Whether Slurm has a reason of its own not to start a job that was placed. A begin time is the delay after a requeue,
 * which placing it cancels. */
static bool is_refused(const struct job_info *job)
{
    return job->priority != 0 && job->state_reason != WAIT_NO_REASON && job->state_reason != WAIT_PRIORITY &&
           job->state_reason != WAIT_RESOURCES && job->state_reason != WAIT_TIME;
}

/* The job is not to run on these nodes for a while. Out of memory: it may be placed there too early. */
static int avoid_nodes(struct adl_slurm_cluster *cluster, uint64_t id, const char *nodes, int64_t for_us,
                       const char *why)
{
    struct adl_slurm_backoff backoff = {.id = id, .until_us = cluster->now_us + for_us};
    snprintf(backoff.why, sizeof backoff.why, "%s", why);
    if (!nodes || !*nodes || (size_t)snprintf(backoff.nodes, sizeof backoff.nodes, "%s", nodes) >= sizeof backoff.nodes)
        return 0;
    return adl_slurm_backoff_add(cluster, &backoff);
}

/* Holds a job again that was placed and did not start. If its nodes had no room it is not placed there for a while; if
 * Slurm had another reason it is not eligible for a while. */
static int hold(struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id, struct adl_error *err)
{
    char none[] = "";
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    change.req_nodes = none;
    change.priority = 0;
    const int status = update(&change, "hold", id, err);
    if (status == 0 && adl_slurm_job_is_crowded(job))
        (void)avoid_nodes(cluster, id, job->req_nodes, ADL_SLURM_CROWDED_US, "had no room for the job");
    else if (status == 0 && is_refused(job)) /* out of memory: it is eligible too early */
        (void)adl_slurm_backoff_refusal(cluster, job, id, adl_slurm_reason(job->state_reason));
    return status;
}

static int requeue(struct adl_slurm_cluster *cluster, const struct job_info *job, const struct adl_slurm_order *order,
                   struct adl_error *err)
{
    const uint32_t base = job->job_state & JOB_STATE_BASE;
    if (base == JOB_PENDING)
        return hold(cluster, job, order->job, err);
    if (base != JOB_RUNNING && base != JOB_SUSPENDED)
        return adl_fail(err, ADL_EABSENT, "the job has ended");
    if (avoid_nodes(cluster, order->job, job->nodes, ADL_SLURM_LEFT_US, "was only just left by the job") != 0)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    char name[ADL_SLURM_NAME_SIZE];
    job_array_resp_msg_t *response = NULL;
    adl_slurm_name(order->job, name);
    const int status = slurm_requeue2(name, JOB_REQUEUE_HOLD, &response);
    const int result = check_response(status, response, "requeue", order->job, err);
    if (result == 0 && order->text[0])
        (void)comment_on(job, order, NULL); /* the job is requeued, even if this fails */
    return result;
}

static int cancel(uint64_t id, struct adl_error *err)
{
    char name[ADL_SLURM_NAME_SIZE];
    adl_slurm_name(id, name);
    return check_response(slurm_kill_job2(name, SIGKILL, 0, NULL), NULL, "cancel", id, err);
}

/* ---- all back --------------------------------------------------------------------------------------------------
 */

/* Nodes with GPUs of another type, which a job must avoid if its request cannot get a type any more. */
static void write_other_types(const struct adl_slurm_cluster *cluster, const struct job_info *job, const char *type,
                              struct adl_text *text)
{
    adl_text_put(text, job->exc_nodes ? job->exc_nodes : "");
    for (uint32_t i = 0; cluster->node_msg && i < cluster->node_msg->record_count; i++) {
        const struct adl_slurm_node *node = &cluster->nodes[i];
        bool other = false;
        for (uint32_t k = 0; k < node->gpus.count; k++)
            other = other || strcmp(node->gpus.items[k].type, type) != 0;
        if (other && node->name && !adl_slurm_hosts_have(job->exc_nodes, node->name))
            adl_text_printf(text, "%s%s", text->size > 0 ? "," : "", node->name);
    }
}

/* Restores the request as the user made it, with its first alternative, as if the hook had not caught the job. */
static int give_back(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                     const struct adl_catch *caught, uint64_t id, const char *note, struct adl_error *err)
{
    const struct adl_gpu_count *wanted = &caught->request.items[0];
    enum adl_catch_by by = ADL_BY_NODE; /* not every version can change the form of a placed job */
    const struct adl_gpu_counts given = adl_gres_parse(job->tres_per_node);
    const bool typed = adl_slurm_retypes() || given.count == 0 || given.items[0].type[0] != '\0';
    const bool by_user = job->start_time >= ADL_HELD_BEGIN_S;
    struct adl_text gres = {0}, given_note = {0}, excluded = {0}, comment = {0};
    char nodes[sizeof caught->nodes];
    memcpy(nodes, caught->nodes, sizeof nodes);
    if (given.count == 0) {
        wanted = &caught->asked.items[0];
        by = caught->by;
    } else if (typed && !adl_slurm_retypes()) {
        wanted = &given.items[0]; /* its type cannot be changed */
    }
    if (by == ADL_BY_TASK && job->tres_per_task && *job->tres_per_task)
        adl_text_printf(&gres, "%s,", job->tres_per_task); /* CPUs, from 23.11 on */
    adl_slurm_gres_write(&gres, typed ? wanted->type : "", wanted->count);
    adl_text_put(&given_note, "adlro-given:");
    adl_gpu_counts_write(&caught->asked, &given_note);
    if (!typed && wanted->type[0])
        write_other_types(cluster, job, wanted->type, &excluded);
    write_comment(&comment, job, note);
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    *(by == ADL_BY_JOB    ? &change.tres_per_job
      : by == ADL_BY_TASK ? &change.tres_per_task
                          : &change.tres_per_node) = gres.data;
    change.req_nodes = nodes;
    change.exc_nodes = excluded.data;
    change.admin_comment = given_note.data;
    change.comment = note[0] ? comment.data : NULL;
    change.priority = by_user ? 0 : INFINITE;
    change.alloc_sid = by_user ? ALLOC_SID_USER_HOLD : NO_VAL;
    if (by_user || job->restart_cnt > 0)
        change.begin_time = time(NULL); /* not the hook's, nor the delay of a requeue */
    const bool whole = adl_text_status(&gres) == 0 && adl_text_status(&given_note) == 0 &&
                       adl_text_status(&excluded) == 0 && adl_text_status(&comment) == 0;
    const int status = whole ? update(&change, "take back", id, err) : adl_fail(err, ADL_ENOMEM, "out of memory");
    adl_text_clear(&gres);
    adl_text_clear(&given_note);
    adl_text_clear(&excluded);
    adl_text_clear(&comment);
    return status;
}

int adl_slurm_carry_out(struct adl_slurm_cluster *cluster, const struct adl_slurm_order *order, struct adl_error *err)
{
    struct adl_catch caught;
    const struct job_info *job = adl_slurm_job_find(cluster, order->job);
    cluster->reload_jobs = true;
    if (!job)
        return adl_fail(err, ADL_EABSENT, "Slurm has no such job in our partitions");
    if (order->op != ADL_SLURM_COMMENT && !adl_slurm_job_is_ours(cluster, job, &caught))
        return adl_fail(err, ADL_EREFUSED, "the job is Slurm's own: the hook did not catch it, or it was given back");
    switch (order->op) {
    case ADL_SLURM_PLACE:
        adl_slurm_job_resend(cluster, order->job); /* the service waits for a message, even if this fails */
        return place(cluster, job, &caught, order, err);
    case ADL_SLURM_REQUEUE:
        return requeue(cluster, job, order, err);
    case ADL_SLURM_HOLD:
        if ((job->job_state & JOB_STATE_BASE) != JOB_PENDING)
            return adl_fail(err, ADL_EREFUSED, "the job is not pending any more");
        return hold(cluster, job, order->job, err);
    case ADL_SLURM_CANCEL:
        return cancel(order->job, err);
    case ADL_SLURM_COMMENT:
        return comment_on(job, order, err);
    case ADL_SLURM_GIVEBACK:
        if ((job->job_state & JOB_STATE_BASE) != JOB_PENDING)
            return adl_fail(err, ADL_EREFUSED, "the job is not pending any more");
        return give_back(cluster, job, &caught, order->job, order->text, err);
    default:
        return adl_fail(err, ADL_EINVAL, "not an order about a job");
    }
}

struct return_all {
    const struct adl_slurm_cluster *cluster;
    const char *text;
    uint32_t count;
    int status;
    struct adl_error *err;
};

static int give_one(void *context, const struct job_info *job, uint64_t id)
{
    struct return_all *all = context;
    struct adl_catch caught;
    struct adl_error err = {.text = ""};
    if ((job->job_state & JOB_STATE_BASE) != JOB_PENDING || !adl_slurm_job_is_ours(all->cluster, job, &caught))
        return 0;
    const int status = give_back(all->cluster, job, &caught, id, all->text, &err);
    if (status == 0)
        all->count++;
    else if (status != ADL_EABSENT && all->status == 0)
        all->status = adl_fail(all->err, status, "%s", err.text);
    return status == ADL_EIO ? status : 0; /* without slurmctld the others would fail too */
}

int adl_slurm_give_all_back(struct adl_slurm_cluster *cluster, const char *text, uint32_t *ret_count,
                            struct adl_error *err)
{
    struct return_all all = {.cluster = cluster, .text = text, .err = err};
    for (uint32_t i = 0; cluster->jobs && i < cluster->jobs->record_count; i++) {
        if (adl_slurm_job_each(&cluster->jobs->job_array[i], give_one, &all) != 0)
            break;
    }
    *ret_count = all.count;
    return all.status;
}
