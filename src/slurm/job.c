#include "slurm/job.h"

#include "base/json.h"
#include "base/span.h"
#include "slurm/eligibility.h"
#include "slurm/version.h"

#include <inttypes.h>
#include <pwd.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- numbers ------------------------------------------------------------------------------------------------------
 */

uint64_t adl_slurm_id(uint32_t job, int64_t array_index)
{
    return array_index < 0 ? job : ((uint64_t)array_index + 1) << 32 | job;
}

void adl_slurm_name(uint64_t id, char ret[ADL_SLURM_NAME_SIZE])
{
    if (id >> 32 == 0)
        snprintf(ret, ADL_SLURM_NAME_SIZE, "%" PRIu64, id);
    else
        snprintf(ret, ADL_SLURM_NAME_SIZE, "%" PRIu64 "_%" PRIu64, id & UINT32_MAX, (id >> 32) - 1);
}

/* "0-4,7,9-15:3%2": the indices still in the record of an array. */
static int each_task(const struct job_info *job, int (*visit)(void *context, const struct job_info *job, uint64_t id),
                     void *context)
{
    int status = 0;
    struct adl_span span;
    for (const char *at = job->array_task_str; status == 0 && !adl_span_read(&at, &span);) {
        for (uint32_t index = span.first; index <= span.last && status == 0; index += span.step)
            status = visit(context, job, adl_slurm_id(job->array_job_id, index));
        at = *at == ',' ? at + 1 : "";
    }
    return status;
}

int adl_slurm_job_each(const struct job_info *job, int (*visit)(void *context, const struct job_info *job, uint64_t id),
                       void *context)
{
    if (job->array_job_id == 0)
        return visit(context, job, adl_slurm_id(job->job_id, -1));
    if (job->array_task_id != NO_VAL)
        return visit(context, job, adl_slurm_id(job->array_job_id, job->array_task_id));
    return job->array_task_str ? each_task(job, visit, context) : 0;
}

/* ---- ownership ---------------------------------------------------------------------------------------------------
 */

/* Of jobs that Slurm schedules itself: what they ask for on each node, as far as it is known. */
static struct adl_gpu_counts plain_request(const struct job_info *job)
{
    struct adl_gpu_counts counts = adl_gres_parse(job->tres_per_node);
    if (counts.count == 0)
        counts = adl_gres_parse(job->tres_per_job);
    if (counts.count == 0)
        counts = adl_gres_parse(job->tres_per_task);
    if (counts.count == 0)
        counts = adl_gres_parse(job->tres_per_socket);
    return counts;
}

bool adl_slurm_job_is_ours(const struct adl_slurm_cluster *cluster, const struct job_info *job, struct adl_catch *ret)
{
    if (!adl_slurm_is_ours(cluster, job->partition) || !adl_catch_parse(job->admin_comment, ret))
        return false;
    /* Without --ntasks-per-node Slurm fills one node after the other with tasks. */
    const uint32_t nodes = adl_slurm_job_nodes(cluster, job), tasks = job->num_tasks == NO_VAL ? 1 : job->num_tasks;
    const bool stated = job->ntasks_per_node != NO_VAL16 && (uint64_t)job->ntasks_per_node * nodes == tasks;
    adl_catch_divide(ret, nodes, tasks, nodes == 1 || nodes == tasks || stated);
    return true;
}

bool adl_slurm_job_concerns(const struct adl_slurm_cluster *cluster, const struct job_info *job)
{
    struct adl_catch caught;
    return adl_slurm_is_ours(cluster, job->partition) &&
           (adl_catch_parse(job->admin_comment, &caught) || plain_request(job).count > 0);
}

bool adl_slurm_job_is_held(const struct job_info *job)
{
    return (job->job_state & JOB_STATE_BASE) == JOB_PENDING && job->priority == 0;
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

static const char *state_word(uint32_t state)
{
    static const char *const words[] = {
        [JOB_PENDING] = "PD",   [JOB_RUNNING] = "R",    [JOB_SUSPENDED] = "S", [JOB_COMPLETE] = "CD",
        [JOB_CANCELLED] = "CA", [JOB_FAILED] = "F",     [JOB_TIMEOUT] = "TO",  [JOB_NODE_FAIL] = "NF",
        [JOB_PREEMPTED] = "PR", [JOB_BOOT_FAIL] = "BF", [JOB_DEADLINE] = "DL", [JOB_OOM] = "OOM",
    };
    const uint32_t base = state & JOB_STATE_BASE;
    if (state & JOB_COMPLETING)
        return "CG";
    if (state & JOB_CONFIGURING)
        return "CF";
    return base < JOB_END ? words[base] : "?";
}

static void write_host(void *context, const char *name)
{
    adl_json_string(context, name);
}

static void write_hosts(struct adl_json *json, const char *key, const char *hosts)
{
    adl_json_key(json, key);
    adl_json_array(json);
    adl_slurm_hosts_each(hosts, write_host, json);
    adl_json_end(json);
}

/* The nodes of its partition on which it may not run, for any reason. */
static void write_excluded(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                           struct adl_json *json)
{
    const struct partition_info *partition = adl_slurm_partition_find(cluster, job->partition);
    struct hostlist *members = slurm_hostlist_create(partition && partition->nodes ? partition->nodes : "");
    adl_json_key(json, "exclude");
    adl_json_array(json);
    for (uint32_t i = 0; cluster->node_msg && i < cluster->node_msg->record_count; i++) {
        const struct adl_slurm_node *node = &cluster->nodes[i];
        if (node->name && slurm_hostlist_find(members, node->name) >= 0 &&
            !adl_slurm_job_may_use(cluster, job, id, node))
            adl_json_string(json, node->name);
    }
    adl_json_end(json);
    slurm_hostlist_destroy(members);
}

struct gpus_writing {
    struct adl_json *json;
    const struct adl_slurm_cluster *cluster;
    const struct job_info *job;
    uint32_t index; /* of the node in the list of its nodes */
};

/* Slurm does not say which GPUs a job had that has ended: what it asked for, of the type of its node. */
static struct adl_gpu_counts gpus_by_request(const struct gpus_writing *writing, const char *name)
{
    struct adl_gpu_counts counts = adl_gres_parse(writing->job->tres_per_node);
    const struct adl_slurm_node *node = adl_slurm_node_find(writing->cluster, name);
    if (counts.count == 1 && counts.items[0].type[0] == '\0' && node && node->gpus.count == 1)
        memcpy(counts.items[0].type, node->gpus.items[0].type, sizeof counts.items[0].type);
    return counts;
}

static void write_node_gpus(void *context, const char *name)
{
    struct gpus_writing *writing = context;
    const uint32_t index = writing->index++;
    const bool known = index < writing->job->gres_detail_cnt && writing->job->gres_detail_str;
    const struct adl_gpu_counts counts =
        known ? adl_gres_parse(writing->job->gres_detail_str[index]) : gpus_by_request(writing, name);
    for (uint32_t i = 0; i < counts.count; i++) {
        if (counts.items[i].count == 0)
            continue;
        adl_json_object(writing->json);
        adl_json_key(writing->json, "node");
        adl_json_string(writing->json, name);
        adl_json_key(writing->json, "type");
        adl_json_string(writing->json, counts.items[i].type[0] ? counts.items[i].type : "gpu");
        adl_json_key(writing->json, "count");
        adl_json_uint(writing->json, counts.items[i].count);
        adl_json_end(writing->json);
    }
}

static void write_user(struct adl_json *json, const struct job_info *job)
{
    char number[16];
    const char *name = job->user_name;
    if (!name || !*name) {
        const struct passwd *entry = getpwuid(job->user_id); // NOLINT(concurrency-mt-unsafe): one thread
        snprintf(number, sizeof number, "%u", job->user_id);
        name = entry ? entry->pw_name : number;
    }
    adl_json_key(json, "user");
    adl_json_string(json, name);
    adl_json_key(json, "uid");
    adl_json_uint(json, job->user_id);
    adl_json_key(json, "gid");
    adl_json_uint(json, job->group_id);
}

static void write_identity(const struct job_info *job, uint64_t id, struct adl_json *json)
{
    const bool alone = job->array_job_id == 0 || job->array_task_id != NO_VAL;
    adl_json_key(json, "ev");
    adl_json_string(json, "job");
    adl_json_key(json, "id");
    adl_json_uint(json, id);
    adl_json_key(json, "slurm_id"); /* 0: none of its own yet */
    adl_json_uint(json, alone ? job->job_id : 0);
    adl_json_key(json, "array_id");
    adl_json_uint(json, job->array_job_id);
    adl_json_key(json, "array_index");
    adl_json_int(json, (int64_t)(id >> 32) - 1);
    write_user(json, job);
    adl_json_key(json, "name");
    adl_json_string(json, job->name ? job->name : "");
    adl_json_key(json, "partition");
    adl_json_string(json, job->partition);
}

static void write_state(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id, bool ours,
                        struct adl_json *json)
{
    char why[200] = "";
    const bool waits = (job->job_state & JOB_STATE_BASE) == JOB_PENDING;
    enum adl_slurm_eligibility eligibility = ADL_SLURM_ELIGIBLE;
    if (waits && ours)
        eligibility = adl_slurm_job_eligibility(cluster, job, id, why, sizeof why);
    else if (waits && adl_slurm_job_waits_for(job, why, sizeof why))
        eligibility = ADL_SLURM_INELIGIBLE;
    adl_json_key(json, "state");
    adl_json_string(json, state_word(job->job_state));
    adl_json_key(json, "ours");
    adl_json_bool(json, ours);
    adl_json_key(json, "placed"); /* released by us, and not started yet */
    adl_json_bool(json, ours && waits && job->priority != 0);
    adl_json_key(json, "eligible");
    adl_json_bool(json, waits && eligibility == ADL_SLURM_ELIGIBLE);
    adl_json_key(json, "why");
    adl_json_string(json, why);
    adl_json_key(json, "refused");
    adl_json_bool(json, eligibility == ADL_SLURM_REFUSED);
    adl_json_key(json, "crowded");
    adl_json_bool(json, eligibility == ADL_SLURM_CROWDED);
    adl_json_key(json, "beyond");
    adl_json_bool(json, eligibility == ADL_SLURM_BEYOND);
}

uint32_t adl_slurm_job_nodes(const struct adl_slurm_cluster *cluster, const struct job_info *job)
{
    const uint32_t stated = job->num_nodes > 0 ? job->num_nodes : 1;
    if (!adl_slurm_overcounts_nodes() || (job->job_state & JOB_STATE_BASE) != JOB_PENDING)
        return stated;
    if (job->max_nodes > 0)
        return stated < job->max_nodes ? stated : job->max_nodes;
    uint32_t cpus_max = 1;
    for (uint32_t i = 0; cluster->node_msg && i < cluster->node_msg->record_count; i++) {
        if (cluster->nodes[i].cpus > cpus_max)
            cpus_max = cluster->nodes[i].cpus;
    }
    const uint32_t needed = (job->num_cpus + cpus_max - 1) / cpus_max; /* its user did not say: as few as possible */
    return needed > 0 && needed < stated ? needed : stated;
}

uint64_t adl_slurm_job_memory_mib(const struct job_info *job, uint32_t nodes)
{
    if (!(job->pn_min_memory & MEM_PER_CPU))
        return job->pn_min_memory;
    return (job->pn_min_memory & ~MEM_PER_CPU) * ((job->num_cpus + nodes - 1) / nodes);
}

static void write_demand(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                         const struct adl_catch *caught, struct adl_json *json)
{
    struct adl_text text = {0};
    const uint32_t nodes = adl_slurm_job_nodes(cluster, job);
    const struct adl_gpu_counts request = caught ? adl_slurm_job_choices(job, &caught->request) : plain_request(job);
    adl_gpu_counts_write(&request, &text);
    adl_json_key(json, "request");
    adl_json_string(json, text.data ? text.data : "");
    adl_text_clear(&text);
    adl_json_key(json, "nodes_min");
    adl_json_uint(json, nodes);
    adl_json_key(json, "nodes_max");
    adl_json_uint(json, job->max_nodes > nodes ? job->max_nodes : nodes);
    if (caught && (job->job_state & JOB_STATE_BASE) == JOB_PENDING)
        write_excluded(cluster, job, id, json);
    else
        write_hosts(json, "exclude", job->exc_nodes);
    write_hosts(json, "require", caught ? caught->nodes : job->req_nodes);
    adl_json_key(json, "cpus");
    adl_json_uint(json, job->num_cpus);
    adl_json_key(json, "memory_mib");
    adl_json_uint(json, adl_slurm_job_memory_mib(job, nodes));
    adl_json_key(json, "requeue");
    adl_json_bool(json, job->requeue == 1);
    adl_json_key(json, "limit_s");
    if (job->time_limit == INFINITE || job->time_limit == NO_VAL)
        adl_json_null(json);
    else
        adl_json_uint(json, (uint64_t)job->time_limit * 60);
    /* Held jobs have no priority in Slurm; the users' nice value has, from -10000 to 10000. */
    const double nice = (double)job->nice - (double)NICE_OFFSET;
    const double priority = 0.5 - nice / 20000;
    adl_json_key(json, "priority");
    adl_json_real(json, priority < 0 ? 0 : priority > 1 ? 1 : priority);
}

static void write_run(const struct adl_slurm_cluster *cluster, const struct job_info *job, struct adl_json *json)
{
    const uint32_t base = job->job_state & JOB_STATE_BASE;
    const bool began = base != JOB_PENDING && job->start_time > 0;
    const bool ended = began && base != JOB_RUNNING && base != JOB_SUSPENDED;
    adl_json_key(json, "submit_s");
    adl_json_int(json, job->submit_time);
    adl_json_key(json, "start_s");
    adl_json_int(json, began ? job->start_time : 0);
    adl_json_key(json, "end_s"); /* until it ended: 0, not Slurm's forecast */
    adl_json_int(json, ended ? job->end_time : 0);
    const char *nodes = base == JOB_PENDING && !(job->job_state & JOB_COMPLETING) ? NULL : job->nodes;
    write_hosts(json, "nodes", nodes);
    adl_json_key(json, "gpus");
    adl_json_array(json);
    struct gpus_writing writing = {.json = json, .cluster = cluster, .job = job};
    adl_slurm_hosts_each(nodes, write_node_gpus, &writing);
    adl_json_end(json);
    const int exit_status = (int)job->exit_code;
    adl_json_key(json, "exit_code");
    adl_json_int(json, WIFEXITED(exit_status) ? WEXITSTATUS(exit_status) : 0);
    adl_json_key(json, "signal");
    adl_json_int(json, WIFSIGNALED(exit_status) ? WTERMSIG(exit_status) : 0);
    adl_json_key(json, "restarts");
    adl_json_uint(json, job->restart_cnt);
}

void adl_slurm_job_write(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                         struct adl_text *line)
{
    struct adl_catch caught;
    const bool ours = adl_slurm_job_is_ours(cluster, job, &caught);
    struct adl_json json = adl_json_start(line, false);
    adl_json_object(&json);
    write_identity(job, id, &json);
    write_state(cluster, job, id, ours, &json);
    write_demand(cluster, job, id, ours ? &caught : NULL, &json);
    write_run(cluster, job, &json);
    adl_json_key(&json, "qos");
    adl_json_string(&json, job->qos ? job->qos : "");
    adl_json_key(&json, "comment");
    adl_json_string(&json, job->comment ? job->comment : "");
    adl_json_end(&json);
}
