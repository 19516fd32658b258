#include "slurm/limits.h"

#include "base/hash.h"
#include "base/index.h"
#include "slurm/eligibility.h"
#include "slurm/job.h"
#include "slurm/usage.h"
#include "slurm/version.h"

#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOAD_US    INT64_C(1000000)
#define LOAD_SHARE 20               /* loading takes at most 1/20 of the time */
#define OFFER_US   INT64_C(2000000) /* a job that is not placed within this does not count as offered any more */
#define ENFORCED   2                /* the bit of AccountingStorageEnforce=limits, which the headers do not name */
#define CHAIN_MAX  32               /* depth of associations */
#define TRES_MAX   63

/* What is counted: [JOBS], then Slurm's TRES in its order. */
enum { JOBS, TRES_FIRST };
#define AMOUNTS_MAX (TRES_FIRST + TRES_MAX)

/* What usage is summed over. */
enum scope { OF_QOS, OF_USER, OF_ACCOUNT, OF_ASSOCIATION, OF_JOB, OF_NODE };

struct adl_slurm_limits {
    assoc_mgr_info_msg_t *message;      /* NULL: nothing is enforced */
    const slurmdb_qos_rec_t **qos;      /* point into the message */
    const slurmdb_assoc_rec_t **assocs; /* the same, sorted by id */
    size_t qos_count, qos_capacity, assoc_count, assoc_capacity;
    uint32_t width; /* of amounts */
    int64_t due_us;
    struct adl_usage used;            /* by key_of(): what runs or was placed */
    struct adl_usage promised;        /* by key_of(): what was offered recently */
    struct adl_usage offered, before; /* by job: since when, in microseconds; in this pass and the last */
};

/* The QOS and associations of a job. Of its partition's QOS and its own the first that sets a limit decides. */
struct membership {
    const slurmdb_qos_rec_t *qos[2];
    uint32_t qos_count;
    const slurmdb_assoc_rec_t *chain[CHAIN_MAX]; /* its own association and its ancestors */
    uint32_t chain_count;
    uint32_t uid;
    const char *user, *account;
};

/* ---- loading ------------------------------------------------------------------------------------------------------
 */

struct adl_slurm_limits *adl_slurm_limits_create(void)
{
    return calloc(1, sizeof(struct adl_slurm_limits));
}

static void drop_message(struct adl_slurm_limits *limits)
{
    if (limits->message)
        slurm_free_assoc_mgr_info_msg(limits->message);
    limits->message = NULL;
    limits->qos_count = limits->assoc_count = 0;
}

void adl_slurm_limits_destroy(struct adl_slurm_limits *limits)
{
    if (!limits)
        return;
    drop_message(limits);
    free(limits->qos);
    free(limits->assocs);
    adl_usage_clear(&limits->used);
    adl_usage_clear(&limits->promised);
    adl_usage_clear(&limits->offered);
    adl_usage_clear(&limits->before);
    free(limits);
}

static int compare_assocs(const void *a, const void *b)
{
    const slurmdb_assoc_rec_t *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* Arrays of pointers to all records. */
static int index_message(struct adl_slurm_limits *limits)
{
    const assoc_mgr_info_msg_t *message = limits->message;
    const size_t qos_count = message->qos_list ? (size_t)slurm_list_count(message->qos_list) : 0;
    const size_t assoc_count = message->assoc_list ? (size_t)slurm_list_count(message->assoc_list) : 0;
    if (adl_grow((void **)&limits->qos, &limits->qos_capacity, qos_count, sizeof(void *)) != 0 ||
        adl_grow((void **)&limits->assocs, &limits->assoc_capacity, assoc_count, sizeof(void *)) != 0)
        return ADL_ENOMEM;
    struct listIterator *each = qos_count > 0 ? slurm_list_iterator_create(message->qos_list) : NULL;
    while (limits->qos_count < qos_count)
        limits->qos[limits->qos_count++] = slurm_list_next(each);
    if (each)
        slurm_list_iterator_destroy(each);
    each = assoc_count > 0 ? slurm_list_iterator_create(message->assoc_list) : NULL;
    while (limits->assoc_count < assoc_count)
        limits->assocs[limits->assoc_count++] = slurm_list_next(each);
    if (each)
        slurm_list_iterator_destroy(each);
    if (assoc_count > 0)
        qsort(limits->assocs, assoc_count, sizeof(void *), compare_assocs);
    const uint32_t tres_count = message->tres_cnt < TRES_MAX ? message->tres_cnt : TRES_MAX;
    limits->width = TRES_FIRST + tres_count;
    return 0;
}

static bool is_enforced(void)
{
    slurm_conf_t *conf = NULL;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return false;
    const bool enforced = (conf->accounting_storage_enforce & ENFORCED) != 0;
    adl_slurm_ctl_conf_free(conf);
    return enforced;
}

static int64_t monotonic_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

void adl_slurm_limits_load(struct adl_slurm_limits *limits, int64_t now_us)
{
    if (!limits || now_us < limits->due_us)
        return;
    const int64_t start_us = monotonic_us();
    assoc_mgr_info_request_msg_t request = {.flags = ASSOC_MGR_INFO_FLAG_ASSOC | ASSOC_MGR_INFO_FLAG_QOS};
    drop_message(limits);
    if (is_enforced() && slurm_load_assoc_mgr_info(&request, &limits->message) != SLURM_SUCCESS)
        limits->message = NULL;
    if (limits->message && index_message(limits) != 0)
        drop_message(limits);
    const int64_t rest_us = LOAD_SHARE * (monotonic_us() - start_us);
    limits->due_us = now_us + (rest_us > LOAD_US ? rest_us : LOAD_US);
}

/* ---- QOS and associations ----------------------------------------------------------------------------------------
 */

static const slurmdb_qos_rec_t *find_qos(const struct adl_slurm_limits *limits, const char *name)
{
    for (size_t i = 0; name && *name && i < limits->qos_count; i++) {
        if (limits->qos[i]->usage && strcmp(limits->qos[i]->name, name) == 0)
            return limits->qos[i];
    }
    return NULL;
}

static const slurmdb_assoc_rec_t *find_assoc(const struct adl_slurm_limits *limits, uint32_t id)
{
    const slurmdb_assoc_rec_t key = {.id = id}, *at = &key;
    if (limits->assoc_count == 0)
        return NULL;
    const slurmdb_assoc_rec_t **found =
        bsearch(&at, limits->assocs, limits->assoc_count, sizeof(void *), compare_assocs);
    return found ? *found : NULL;
}

static void find_membership(const struct adl_slurm_cluster *cluster, const struct job_info *job, struct membership *ret)
{
    const struct adl_slurm_limits *limits = cluster->limits;
    const struct partition_info *partition = adl_slurm_partition_find(cluster, job->partition);
    const slurmdb_qos_rec_t *own = find_qos(limits, job->qos);
    const slurmdb_qos_rec_t *shared = partition ? find_qos(limits, partition->qos_char) : NULL;
    const bool own_first = own && own->flags & QOS_FLAG_OVER_PART_QOS;
    *ret = (struct membership){.uid = job->user_id, .user = "", .account = job->account ? job->account : ""};
    const slurmdb_qos_rec_t *const order[2] = {own_first ? own : shared, own_first ? shared : own};
    for (int i = 0; i < 2; i++) {
        if (order[i] && !(i == 1 && order[1] == order[0]))
            ret->qos[ret->qos_count++] = order[i];
    }
    for (const slurmdb_assoc_rec_t *at = find_assoc(limits, job->assoc_id);
         at && ret->chain_count<CHAIN_MAX; at = at->parent_id> 0 ? find_assoc(limits, at->parent_id) : NULL)
        ret->chain[ret->chain_count++] = at;
    if (ret->chain_count > 0 && ret->chain[0]->user)
        ret->user = ret->chain[0]->user;
}

/* ---- amounts ------------------------------------------------------------------------------------------------------
 */

static uint64_t key_of(enum scope scope, uint32_t id, uint64_t whose)
{
    return adl_hash_u64(adl_hash_u64(adl_hash_u64(adl_hash_start(), scope), id), whose);
}

static uint64_t key_of_qos(const struct membership *membership, const slurmdb_qos_rec_t *qos, enum scope scope)
{
    return key_of(scope, qos->id,
                  scope == OF_USER ? membership->uid
                  : scope == OF_ACCOUNT
                      ? adl_hash_bytes(adl_hash_start(), membership->account, strlen(membership->account))
                      : 0);
}

/* Out of memory: too little is counted, and Slurm itself refuses what is too much. */
static void add(struct adl_usage *usage, uint64_t key, const uint64_t *amounts)
{
    uint64_t *sum = adl_usage_at(usage, key);
    for (uint32_t i = 0; sum && i < usage->width; i++)
        sum[i] += amounts[i];
}

static void add_all(struct adl_usage *usage, const struct membership *membership, const uint64_t *amounts)
{
    for (uint32_t i = 0; i < membership->qos_count; i++)
        for (int scope = OF_QOS; scope <= OF_ACCOUNT; scope++)
            add(usage, key_of_qos(membership, membership->qos[i], (enum scope)scope), amounts);
    for (uint32_t i = 0; i < membership->chain_count; i++)
        add(usage, key_of(OF_ASSOCIATION, membership->chain[i]->id, 0), amounts);
}

static void set_amount(const struct adl_slurm_limits *limits, const char *name, size_t size, uint64_t value,
                       uint64_t *amounts)
{
    for (uint32_t i = TRES_FIRST; i < limits->width; i++) {
        const char *known = limits->message->tres_names[i - TRES_FIRST];
        if (known && strlen(known) == size && memcmp(known, name, size) == 0)
            amounts[i] = value;
    }
}

/* "cpu=1,mem=1.50G,node=1,gres/gpu=2,gres/gpu:volta=2"; memory in MiB. */
static void read_tres(const struct adl_slurm_limits *limits, const char *text, uint64_t *amounts)
{
    for (const char *at = text; at && *at;) {
        const char *equals = strchr(at, '='), *next = strchr(at, ',');
        if (!equals)
            return;
        char *end = NULL;
        double value = strtod(equals + 1, &end);
        static const char units[] = "KMGTP";
        const char *unit = *end ? strchr(units, *end) : NULL;
        for (const char *u = units + 1; unit && u < unit; u++)
            value *= 1024;
        if (unit == units)
            value /= 1024;
        if (value >= 0 && value < 1e18)
            set_amount(limits, at, (size_t)(equals - at), (uint64_t)value, amounts);
        at = next ? next + 1 : NULL;
    }
}

/* What it would use with these GPUs on each node; type "" = any. */
static void count_demand(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                         const struct adl_gpu_count *gpus, uint64_t *ret)
{
    const struct adl_slurm_limits *limits = cluster->limits;
    const uint32_t nodes = adl_slurm_job_nodes(cluster, job);
    const uint64_t count = (uint64_t)gpus->count * nodes;
    char name[sizeof "gres/gpu:" + ADL_GPU_TYPE_SIZE];
    memset(ret, 0, limits->width * sizeof *ret);
    ret[JOBS] = 1;
    set_amount(limits, "cpu", 3, job->num_cpus != NO_VAL ? job->num_cpus : 0, ret);
    set_amount(limits, "mem", 3, adl_slurm_job_memory_mib(job, nodes) * nodes, ret);
    set_amount(limits, "node", 4, nodes, ret);
    set_amount(limits, "gres/gpu", 8, count, ret);
    const int size = snprintf(name, sizeof name, "gres/gpu:%s", gpus->type);
    if (gpus->type[0] != '\0' && size > 0)
        set_amount(limits, name, (size_t)size, count, ret);
}

static void note_host(void *context, const char *name)
{
    snprintf(context, 64, "%.63s", name);
}

/* The GPUs with which a job was placed; placed without a type, they have that of its node. */
static struct adl_gpu_count placed_gpus(const struct adl_slurm_cluster *cluster, const struct job_info *job)
{
    const struct adl_gpu_counts given = adl_gres_parse(job->tres_per_node);
    struct adl_gpu_count gpus = given.items[0];
    char host[64] = "";
    if (given.count == 0)
        return (struct adl_gpu_count){.type = ""};
    adl_slurm_hosts_each(job->req_nodes, note_host, host);
    const struct adl_slurm_node *node = adl_slurm_node_find(cluster, host);
    if (gpus.type[0] == '\0' && node && node->gpus.count == 1)
        memcpy(gpus.type, node->gpus.items[0].type, sizeof gpus.type);
    return gpus;
}

void adl_slurm_limits_count(const struct adl_slurm_cluster *cluster)
{
    struct adl_slurm_limits *limits = cluster->limits;
    if (!limits || !limits->message)
        return;
    const struct adl_usage spare = limits->before;
    limits->before = limits->offered;
    limits->offered = spare;
    adl_usage_empty(&limits->offered, 1);
    adl_usage_empty(&limits->used, limits->width);
    adl_usage_empty(&limits->promised, limits->width);
    for (uint32_t i = 0; i < cluster->jobs->record_count; i++) {
        const struct job_info *job = &cluster->jobs->job_array[i];
        const uint32_t base = job->job_state & JOB_STATE_BASE;
        uint64_t amounts[AMOUNTS_MAX] = {0};
        struct membership membership;
        struct adl_catch caught;
        if (base == JOB_RUNNING || base == JOB_SUSPENDED) {
            amounts[JOBS] = 1;
            read_tres(limits, job->tres_alloc_str, amounts);
        } else if (base == JOB_PENDING && job->priority != 0 && job->state_reason != WAIT_TIME &&
                   adl_slurm_job_is_ours(cluster, job, &caught)) {
            const struct adl_gpu_count gpus = placed_gpus(cluster, job);
            count_demand(cluster, job, &gpus, amounts);
        } else {
            continue;
        }
        find_membership(cluster, job, &membership);
        add_all(&limits->used, &membership, amounts);
    }
}

/* ---- rules --------------------------------------------------------------------------------------------------------
 */

#define NO_FIELD SIZE_MAX

/* A limit of a QOS by its name in sacctmgr, and that of associations which it overrides. */
static const struct rule {
    const char *name;
    enum scope scope;
    size_t jobs, tres; /* offsets in slurmdb_qos_rec_t */
    const char *assoc_name;
    size_t assoc_jobs, assoc_tres; /* offsets in slurmdb_assoc_rec_t */
    bool assoc_all;                /* of its ancestors as well */
} rules[] = {
#define QOS(member)   offsetof(slurmdb_qos_rec_t, member)
#define ASSOC(member) offsetof(slurmdb_assoc_rec_t, member)
    {"GrpJobs", OF_QOS, QOS(grp_jobs), NO_FIELD, "GrpJobs", ASSOC(grp_jobs), NO_FIELD, true},
    {"GrpTRES", OF_QOS, NO_FIELD, QOS(grp_tres_ctld), "GrpTRES", NO_FIELD, ASSOC(grp_tres_ctld), true},
    {"MaxJobsPerUser", OF_USER, QOS(max_jobs_pu), NO_FIELD, "MaxJobs", ASSOC(max_jobs), NO_FIELD, false},
    {"MaxTRESPerUser", OF_USER, NO_FIELD, QOS(max_tres_pu_ctld), NULL, NO_FIELD, NO_FIELD, false},
    {"MaxJobsPerAccount", OF_ACCOUNT, QOS(max_jobs_pa), NO_FIELD, NULL, NO_FIELD, NO_FIELD, false},
    {"MaxTRESPerAccount", OF_ACCOUNT, NO_FIELD, QOS(max_tres_pa_ctld), NULL, NO_FIELD, NO_FIELD, false},
    {"MaxTRESPerJob", OF_JOB, NO_FIELD, QOS(max_tres_pj_ctld), "MaxTRESPerJob", NO_FIELD, ASSOC(max_tres_ctld), false},
    {"MaxTRESPerNode", OF_NODE, NO_FIELD, QOS(max_tres_pn_ctld), "MaxTRESPerNode", NO_FIELD, ASSOC(max_tres_pn_ctld),
     false},
};

/* A job that may start. */
struct query {
    const struct adl_slurm_limits *limits;
    struct membership membership;
    const struct job_info *job;
    uint32_t nodes;
    uint64_t wants[AMOUNTS_MAX];
    bool counts_promises;
    char *why;
    size_t why_size;
};

/* Of one amount; UINT64_MAX: none. */
static uint64_t limit_at(const void *record, size_t jobs, size_t tres, uint32_t amount)
{
    if (amount == JOBS) {
        uint32_t count = INFINITE;
        if (jobs != NO_FIELD)
            memcpy(&count, (const char *)record + jobs, sizeof count);
        return count == INFINITE || count == NO_VAL ? UINT64_MAX : count;
    }
    const uint64_t *counts = NULL;
    if (tres != NO_FIELD)
        memcpy(&counts, (const char *)record + tres, sizeof counts);
    const uint64_t count = counts ? counts[amount - TRES_FIRST] : INFINITE64;
    return count == INFINITE64 || count == NO_VAL64 ? UINT64_MAX : count;
}

/* "2 volta GPUs", "1 job". */
static void word_limit(const struct query *query, uint32_t amount, uint64_t limit, char *ret, size_t size)
{
    const char *name = amount == JOBS ? "job" : query->limits->message->tres_names[amount - TRES_FIRST];
    const char *many = limit != 1 ? "s" : "", *type = "";
    if (strncmp(name, "gres/gpu", 8) == 0) {
        type = name[8] ? name + 9 : "";
        name = "GPU";
    } else if (strcmp(name, "cpu") == 0) {
        name = "core";
    } else if (strcmp(name, "mem") == 0) {
        name = "MiB";
        many = "";
    }
    snprintf(ret, size, "%llu %s%s%s%s", (unsigned long long)limit, type, type[0] ? " " : "", name, many);
}

static bool exceeds(const struct query *query, enum scope scope, uint64_t key, uint32_t amount, uint64_t limit)
{
    const uint64_t wants = query->wants[amount];
    if (limit == UINT64_MAX || wants == 0)
        return false;
    if (scope == OF_JOB)
        return wants > limit;
    if (scope == OF_NODE)
        return (wants + query->nodes - 1) / query->nodes > limit;
    const char *name = amount == JOBS ? "" : query->limits->message->tres_names[amount - TRES_FIRST];
    if (strcmp(name, "node") == 0) /* shared nodes count once: only Slurm can tell */
        return false;
    const uint64_t *used = adl_usage_find(&query->limits->used, key);
    const uint64_t *promised = query->counts_promises ? adl_usage_find(&query->limits->promised, key) : NULL;
    return (used ? used[amount] : 0) + (promised ? promised[amount] : 0) + wants > limit;
}

static bool qos_forbids(const struct query *query, const struct rule *rule, uint32_t amount, bool *ret_set)
{
    *ret_set = false;
    for (uint32_t i = 0; i < query->membership.qos_count && !*ret_set; i++) {
        const slurmdb_qos_rec_t *qos = query->membership.qos[i];
        const uint64_t limit = limit_at(qos, rule->jobs, rule->tres, amount);
        *ret_set = limit != UINT64_MAX;
        if (!exceeds(query, rule->scope, key_of_qos(&query->membership, qos, rule->scope), amount, limit))
            continue;
        char what[ADL_GPU_TYPE_SIZE + 32];
        word_limit(query, amount, limit, what, sizeof what);
        const char *for_whom = rule->scope == OF_USER      ? query->membership.user
                               : rule->scope == OF_ACCOUNT ? query->membership.account
                                                           : "";
        snprintf(query->why, query->why_size, ADL_SLURM_LIMIT_WORDS "QOS %s: %s %s%s (%s)", qos->name, what,
                 rule->scope == OF_USER      ? "at once for user "
                 : rule->scope == OF_ACCOUNT ? "at once for account "
                 : rule->scope == OF_JOB     ? "a job"
                 : rule->scope == OF_NODE    ? "a node"
                                             : "at once",
                 for_whom, rule->name);
        return true;
    }
    return false;
}

/* LimitFactor of a QOS multiplies the limits of associations. */
static uint64_t scale(const struct query *query, uint64_t limit)
{
    for (uint32_t i = 0; limit != UINT64_MAX && i < query->membership.qos_count; i++) {
        const double factor = query->membership.qos[i]->limit_factor;
        if (factor > 0 && factor < 1e6)
            return (uint64_t)((double)limit * factor);
    }
    return limit;
}

static bool assoc_forbids(const struct query *query, const struct rule *rule, uint32_t amount)
{
    const enum scope scope = rule->scope == OF_JOB || rule->scope == OF_NODE ? rule->scope : OF_ASSOCIATION;
    const uint32_t count = rule->assoc_all || query->membership.chain_count == 0 ? query->membership.chain_count : 1;
    for (uint32_t i = 0; rule->assoc_name && i < count; i++) {
        const slurmdb_assoc_rec_t *assoc = query->membership.chain[i];
        uint64_t limit = limit_at(assoc, rule->assoc_jobs, rule->assoc_tres, amount);
        if (amount != JOBS)
            limit = scale(query, limit);
        if (!exceeds(query, scope, key_of(OF_ASSOCIATION, assoc->id, 0), amount, limit))
            continue;
        char what[ADL_GPU_TYPE_SIZE + 32];
        word_limit(query, amount, limit, what, sizeof what);
        snprintf(query->why, query->why_size, ADL_SLURM_LIMIT_WORDS "%s%s%saccount %s: %s %s (%s)",
                 assoc->user ? "user " : "", assoc->user ? assoc->user : "", assoc->user ? " in " : "",
                 assoc->acct ? assoc->acct : "", what,
                 scope == OF_JOB    ? "a job"
                 : scope == OF_NODE ? "a node"
                                    : "at once",
                 rule->assoc_name);
        return true;
    }
    return false;
}

/* If the job has a --time-min Slurm may shorten it to the limit. */
static bool wall_forbids(const struct query *query)
{
    const struct job_info *job = query->job;
    const char *kind = "QOS ", *name = NULL;
    uint32_t limit = INFINITE;
    for (uint32_t i = 0; i < query->membership.qos_count && limit == INFINITE; i++) {
        limit = query->membership.qos[i]->max_wall_pj;
        name = query->membership.qos[i]->name;
    }
    if (limit == INFINITE && query->membership.chain_count > 0) {
        limit = query->membership.chain[0]->max_wall_pj;
        kind = "account ";
        name = query->membership.account;
    }
    if (limit == INFINITE || limit == NO_VAL || job->time_limit == NO_VAL || job->time_min > 0 ||
        job->time_limit <= limit)
        return false;
    snprintf(query->why, query->why_size, ADL_SLURM_LIMIT_WORDS "%s%s: %u minutes a job (MaxWall)", kind, name, limit);
    return true;
}

static bool is_forbidden(const struct query *query)
{
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        for (uint32_t amount = JOBS; amount < query->limits->width; amount++) {
            bool set = false;
            if (qos_forbids(query, &rules[r], amount, &set) || (!set && assoc_forbids(query, &rules[r], amount)))
                return true;
        }
    return wall_forbids(query);
}

/* ---- offering -----------------------------------------------------------------------------------------------------
 */

static bool begin_query(const struct adl_slurm_cluster *cluster, const struct job_info *job, char *why, size_t why_size,
                        struct query *ret)
{
    why[0] = '\0';
    if (!cluster->limits || !cluster->limits->message)
        return false;
    *ret = (struct query){.limits = cluster->limits,
                          .job = job,
                          .nodes = adl_slurm_job_nodes(cluster, job),
                          .why = why,
                          .why_size = why_size};
    find_membership(cluster, job, &ret->membership);
    return ret->membership.qos_count > 0 || ret->membership.chain_count > 0;
}

/* Since when it is offered; now, if it was not before. */
static int64_t offer(struct adl_slurm_limits *limits, uint64_t id, int64_t now_us)
{
    const uint64_t *before = limits->before.width == 1 ? adl_usage_find(&limits->before, id) : NULL;
    uint64_t *since = adl_usage_at(&limits->offered, id);
    const int64_t since_us = before ? (int64_t)*before : now_us;
    if (since)
        *since = (uint64_t)since_us;
    return since_us;
}

bool adl_slurm_limits_forbid(const struct adl_slurm_cluster *cluster, const struct job_info *job, uint64_t id,
                             char *ret_why, size_t why_size)
{
    struct query query;
    struct adl_catch caught;
    if (!begin_query(cluster, job, ret_why, why_size, &query) || !adl_slurm_job_is_ours(cluster, job, &caught))
        return false;
    query.counts_promises = true;
    const struct adl_gpu_counts choices = adl_slurm_job_choices(job, &caught.request);
    bool forbidden = choices.count > 0;
    for (uint32_t i = choices.count; i-- > 0 && forbidden;) { /* backwards: the reason is that of the preferred one */
        count_demand(cluster, job, &choices.items[i], query.wants);
        forbidden = is_forbidden(&query);
    }
    if (forbidden)
        return true;
    ret_why[0] = '\0';
    if (cluster->now_us - offer(cluster->limits, id, cluster->now_us) < OFFER_US)
        add_all(&cluster->limits->promised, &query.membership, query.wants);
    return false;
}

bool adl_slurm_limits_refuse(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                             const struct adl_gpu_count *gpus, char *ret_why, size_t why_size)
{
    struct query query;
    if (!begin_query(cluster, job, ret_why, why_size, &query))
        return false;
    count_demand(cluster, job, gpus, query.wants);
    return is_forbidden(&query);
}

void adl_slurm_limits_note(const struct adl_slurm_cluster *cluster, const struct job_info *job,
                           const struct adl_gpu_count *gpus)
{
    struct query query;
    char why[8];
    if (!begin_query(cluster, job, why, sizeof why, &query))
        return;
    count_demand(cluster, job, gpus, query.wants);
    add_all(&cluster->limits->used, &query.membership, query.wants);
}
