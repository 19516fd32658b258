#include "slurm/cluster.h"

#include "base/hash.h"
#include "base/index.h"
#include "base/json.h"
#include "slurm/backoff.h"
#include "slurm/job.h"
#include "slurm/limits.h"
#include "slurm/node.h"
#include "slurm/version.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_US 1000000 /* partitions, reservations, begin times are not urgent */
#define WHOLE_US                                                                                                       \
    3000000 /* Slurm's changes have a resolution of a second, so some can be missed: all is loaded after this          \
             */

static void free_messages(struct adl_slurm_cluster *cluster)
{
    adl_slurm_jobs_free(cluster->jobs);
    if (cluster->node_msg)
        slurm_free_node_info_msg(cluster->node_msg);
    if (cluster->partition_msg)
        slurm_free_partition_info_msg(cluster->partition_msg);
    if (cluster->reservation_msg)
        slurm_free_reservation_info_msg(cluster->reservation_msg);
    cluster->jobs = NULL;
    cluster->node_msg = NULL;
    cluster->partition_msg = NULL;
    cluster->reservation_msg = NULL;
}

void adl_slurm_cluster_clear(struct adl_slurm_cluster *cluster)
{
    free_messages(cluster);
    free(cluster->nodes);
    free(cluster->sent_jobs.items);
    free(cluster->sent_nodes.items);
    free(cluster->backoffs);
    adl_slurm_limits_destroy(cluster->limits);
    *cluster = (struct adl_slurm_cluster){0};
}

static void forget_sent(struct adl_slurm_sents *sents)
{
    for (size_t i = 0; i < sents->count; i++)
        sents->items[i].hash = 0;
}

void adl_slurm_cluster_restart(struct adl_slurm_cluster *cluster)
{
    free_messages(cluster);
    forget_sent(&cluster->sent_jobs);
    forget_sent(&cluster->sent_nodes);
    cluster->slow_due_us = 0;
}

/* ---- messages sent ------------------------------------------------------------------------------------------------
 */

static int compare_sent(const void *a, const void *b)
{
    const struct adl_slurm_sent *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct adl_slurm_sent *find_sent(const struct adl_slurm_sents *sents, size_t sorted_count, uint64_t id)
{
    if (sorted_count == 0)
        return NULL;
    const struct adl_slurm_sent key = {.id = id};
    return bsearch(&key, sents->items, sorted_count, sizeof key, compare_sent);
}

/* Appends the line to out unless the same was sent before. The first sorted_count were known before this pass. */
static int send_line(struct adl_slurm_sents *sents, size_t sorted_count, uint64_t id, uint32_t record,
                     const struct adl_text *line, struct adl_text *out)
{
    const uint64_t hash = adl_hash_bytes(adl_hash_start(), line->data, line->size) | 1; /* 0 = nothing was sent */
    struct adl_slurm_sent *sent = find_sent(sents, sorted_count, id);
    if (!sent) {
        if (adl_grow((void **)&sents->items, &sents->capacity, sents->count + 1, sizeof *sents->items) != 0)
            return ADL_ENOMEM;
        sent = &sents->items[sents->count++];
        *sent = (struct adl_slurm_sent){.id = id};
    }
    sent->record = record;
    sent->pass = true;
    if (sent->hash != hash) {
        adl_text_bytes(out, line->data, line->size);
        adl_text_char(out, '\n');
        sent->hash = hash;
    }
    return 0;
}

/* After a pass over all: those that were not seen are gone. */
static void close_pass(struct adl_slurm_sents *sents,
                       void (*gone)(struct adl_text *out, const struct adl_slurm_sent *sent), struct adl_text *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < sents->count; i++) {
        if (!sents->items[i].pass) {
            gone(out, &sents->items[i]);
            continue;
        }
        sents->items[i].pass = false;
        sents->items[kept++] = sents->items[i];
    }
    sents->count = kept;
    if (kept > 0)
        qsort(sents->items, kept, sizeof *sents->items, compare_sent);
}

static void job_gone(struct adl_text *out, const struct adl_slurm_sent *sent)
{
    adl_text_printf(out, "{\"ev\":\"gone\",\"id\":%llu}\n", (unsigned long long)sent->id);
}

static void node_gone(struct adl_text *out, const struct adl_slurm_sent *sent)
{
    adl_text_printf(out, "{\"ev\":\"gone\",\"node\":\"%s\"}\n", sent->node);
}

/* ---- hosts --------------------------------------------------------------------------------------------------------
 */

void adl_slurm_hosts_each(const char *hosts, void (*visit)(void *context, const char *name), void *context)
{
    if (!hosts || !*hosts)
        return;
    struct hostlist *list = slurm_hostlist_create(hosts);
    if (!list)
        return;
    for (char *name = slurm_hostlist_shift(list); name; name = slurm_hostlist_shift(list)) {
        visit(context, name);
        free(name); // NOLINT: the library's manual says free(), and it allocates with malloc()
    }
    slurm_hostlist_destroy(list);
}

bool adl_slurm_hosts_have(const char *hosts, const char *name)
{
    if (!hosts || !*hosts)
        return false;
    struct hostlist *list = slurm_hostlist_create(hosts);
    const bool found = list && slurm_hostlist_find(list, name) >= 0;
    slurm_hostlist_destroy(list);
    return found;
}

/* ---- loading ------------------------------------------------------------------------------------------------------
 */

static bool is_ok(int status, const char *what, struct adl_error *err, int *ret_status)
{
    if (status == SLURM_SUCCESS)
        return true;
    const int code = adl_slurm_error_of(status);
    if (code != SLURM_NO_CHANGE_IN_DATA)
        *ret_status = adl_fail(err, ADL_EIO, "cannot load the %s of slurmctld: %s", what, slurm_strerror(code));
    return false;
}

#define SHOW (SHOW_ALL | SHOW_DETAIL)

static int load_jobs(struct adl_slurm_cluster *cluster, bool *ret_changed, struct adl_error *err)
{
    job_info_msg_t *message = NULL;
    int status = 0;
    const time_t since = cluster->jobs && !cluster->reload_jobs ? cluster->jobs->last_update : 0;
    if (!is_ok(slurm_load_jobs(since, &message, SHOW), "jobs", err, &status))
        return status;
    adl_slurm_jobs_free(cluster->jobs);
    cluster->jobs = message;
    cluster->reload_jobs = false;
    *ret_changed = true;
    return 0;
}

static int load_nodes(struct adl_slurm_cluster *cluster, bool whole, bool *ret_changed, struct adl_error *err)
{
    node_info_msg_t *message = NULL;
    int status = 0;
    const time_t since = cluster->node_msg && !whole ? cluster->node_msg->last_update : 0;
    if (!is_ok(slurm_load_node(since, &message, SHOW | SHOW_MIXED), "nodes", err, &status))
        return status;
    if (adl_grow((void **)&cluster->nodes, &cluster->node_capacity, message->record_count, sizeof *cluster->nodes) !=
        0) {
        slurm_free_node_info_msg(message);
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    }
    if (cluster->node_msg)
        slurm_free_node_info_msg(cluster->node_msg);
    cluster->node_msg = message;
    for (uint32_t i = 0; i < message->record_count; i++)
        adl_slurm_node_read(&message->node_array[i], &cluster->nodes[i]);
    *ret_changed = true;
    return 0;
}

static int load_rest(struct adl_slurm_cluster *cluster, struct adl_error *err)
{
    partition_info_msg_t *partitions = NULL;
    reserve_info_msg_t *reservations = NULL;
    int status = 0;
    if (is_ok(slurm_load_partitions(cluster->partition_msg ? cluster->partition_msg->last_update : 0, &partitions,
                                    SHOW_ALL),
              "partitions", err, &status)) {
        if (cluster->partition_msg)
            slurm_free_partition_info_msg(cluster->partition_msg);
        cluster->partition_msg = partitions;
    }
    if (status != 0)
        return status;
    if (is_ok(slurm_load_reservations(cluster->reservation_msg ? cluster->reservation_msg->last_update : 0,
                                      &reservations),
              "reservations", err, &status)) {
        if (cluster->reservation_msg)
            slurm_free_reservation_info_msg(cluster->reservation_msg);
        cluster->reservation_msg = reservations;
    }
    return status;
}

/* ---- sending ---------------------------------------------------------------------------------------------------
 */

static bool is_in_ours(const struct adl_slurm_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        const struct partition_info *partition = adl_slurm_partition_find(cluster, cluster->partitions[i]);
        if (partition && adl_slurm_hosts_have(partition->nodes, name))
            return true;
    }
    return false;
}

static int send_nodes(struct adl_slurm_cluster *cluster, struct adl_text *line, struct adl_text *out)
{
    const size_t sorted_count = cluster->sent_nodes.count;
    int status = 0;
    for (uint32_t i = 0; i < cluster->node_msg->record_count && status == 0; i++) {
        const struct adl_slurm_node *node = &cluster->nodes[i];
        if (!node->name || !is_in_ours(cluster, node->name))
            continue;
        adl_text_truncate(line, 0);
        adl_slurm_node_write(cluster, &cluster->node_msg->node_array[i], node, line);
        const uint64_t id = adl_hash_bytes(adl_hash_start(), node->name, strlen(node->name));
        status = send_line(&cluster->sent_nodes, sorted_count, id, i, line, out);
        struct adl_slurm_sent *sent = find_sent(&cluster->sent_nodes, sorted_count, id);
        if (status == 0 && !sent)
            sent = &cluster->sent_nodes.items[cluster->sent_nodes.count - 1];
        if (sent)
            snprintf(sent->node, sizeof sent->node, "%s", node->name);
    }
    close_pass(&cluster->sent_nodes, node_gone, out);
    return status;
}

struct pass {
    struct adl_slurm_cluster *cluster;
    struct adl_text *line, *out;
    size_t sorted_count;
    uint32_t record;
};

static int send_job(void *context, const struct job_info *job, uint64_t id)
{
    struct pass *pass = context;
    if (job->job_state & JOB_COMPLETING)
        adl_slurm_backoff_extend(pass->cluster, id);
    adl_text_truncate(pass->line, 0);
    adl_slurm_job_write(pass->cluster, job, id, pass->line);
    return send_line(&pass->cluster->sent_jobs, pass->sorted_count, id, pass->record, pass->line, pass->out);
}

static int send_jobs(struct adl_slurm_cluster *cluster, struct adl_text *line, struct adl_text *out)
{
    struct pass pass = {.cluster = cluster, .line = line, .out = out, .sorted_count = cluster->sent_jobs.count};
    int status = 0;
    adl_slurm_limits_count(cluster);
    for (uint32_t i = 0; i < cluster->jobs->record_count && status == 0; i++) {
        const struct job_info *job = &cluster->jobs->job_array[i];
        pass.record = i;
        if (adl_slurm_job_concerns(cluster, job))
            status = adl_slurm_job_each(job, send_job, &pass);
    }
    close_pass(&cluster->sent_jobs, job_gone, out);
    return status;
}

int adl_slurm_cluster_poll(struct adl_slurm_cluster *cluster, int64_t now_us, struct adl_text *out,
                           struct adl_error *err)
{
    bool jobs_changed = false, nodes_changed = false;
    const bool slow = now_us >= cluster->slow_due_us, whole = now_us >= cluster->whole_due_us;
    cluster->now_us = now_us;
    cluster->reload_jobs |= whole;
    int status = slow ? load_rest(cluster, err) : 0;
    /* Nodes before jobs, so that a message about a job names only nodes that are known. Slurm does not count a reading
     * of a meter as a change of the node, nor always the end of a job. */
    if (status == 0)
        status =
            load_nodes(cluster, whole || (slow && (cluster->jobs_changed || cluster->metered)), &nodes_changed, err);
    if (status == 0)
        status = load_jobs(cluster, &jobs_changed, err);
    if (status != 0)
        return status;
    if (slow) {
        cluster->slow_due_us = now_us + SLOW_US;
        if (!cluster->limits)
            cluster->limits = adl_slurm_limits_create();
        adl_slurm_limits_load(cluster->limits, now_us);
    }
    cluster->jobs_changed = jobs_changed || (cluster->jobs_changed && !slow);
    if (whole)
        cluster->whole_due_us = now_us + WHOLE_US;
    adl_slurm_backoffs_age(cluster);
    struct adl_text line = {0};
    if (nodes_changed || slow)
        status = send_nodes(cluster, &line, out);
    if (status == 0 && (jobs_changed || nodes_changed || slow))
        status = send_jobs(cluster, &line, out);
    if (status == 0)
        status = adl_text_status(&line);
    adl_text_clear(&line);
    return status == 0 ? 0 : adl_fail(err, status, "out of memory");
}

/* ---- finding -----------------------------------------------------------------------------------------------------
 */

bool adl_slurm_is_ours(const struct adl_slurm_cluster *cluster, const char *partition)
{
    for (uint32_t i = 0; partition && i < cluster->partition_count; i++) {
        if (strcmp(cluster->partitions[i], partition) == 0)
            return true;
    }
    return false;
}

const struct adl_slurm_node *adl_slurm_node_find(const struct adl_slurm_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; cluster->node_msg && i < cluster->node_msg->record_count; i++) {
        if (cluster->nodes[i].name && strcmp(cluster->nodes[i].name, name) == 0)
            return &cluster->nodes[i];
    }
    return NULL;
}

const struct partition_info *adl_slurm_partition_find(const struct adl_slurm_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; name && cluster->partition_msg && i < cluster->partition_msg->record_count; i++) {
        if (strcmp(cluster->partition_msg->partition_array[i].name, name) == 0)
            return &cluster->partition_msg->partition_array[i];
    }
    return NULL;
}

const struct job_info *adl_slurm_job_find(const struct adl_slurm_cluster *cluster, uint64_t id)
{
    const struct adl_slurm_sent *sent = find_sent(&cluster->sent_jobs, cluster->sent_jobs.count, id);
    return sent && cluster->jobs && sent->record < cluster->jobs->record_count ? &cluster->jobs->job_array[sent->record]
                                                                               : NULL;
}

void adl_slurm_job_resend(struct adl_slurm_cluster *cluster, uint64_t id)
{
    struct adl_slurm_sent *sent = find_sent(&cluster->sent_jobs, cluster->sent_jobs.count, id);
    if (sent)
        sent->hash = 0;
}
