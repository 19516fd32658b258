#include "executor/slurm/slurm_mirror.h"

#include "base/hash.h"
#include "base/index.h"
#include "jobs/submission.h"
#include "model/scenario.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_S   31536000.0 /* of a job without a limit */
#define NODES_MAX 4096
#define READ_US   500000 /* meters give whole seconds: on average the reading is half a second later */

void adl_mirror_job_apply(struct adl_mirror_job *job, int event)
{
    job->phase = adl_mirror_next(job->phase, event);
}

bool adl_mirror_job_in(const struct adl_mirror_job *job, unsigned phases)
{
    return phases >> job->phase & 1;
}

bool adl_mirror_job_waits(const struct adl_mirror_job *job)
{
    return job->state == ADL_SLURM_PENDING || job->state == ADL_SLURM_RELEASED;
}

int adl_slurm_mirror_create(struct adl_slurm_mirror *ret, const struct adl_inventory *inventory)
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    *ret = (struct adl_slurm_mirror){.inventory = inventory};
    ret->holder = calloc((size_t)cluster->gpu_count + 1, sizeof *ret->holder);
    ret->used = calloc((size_t)cluster->bank_count + 1, sizeof *ret->used);
    ret->usable = calloc((size_t)cluster->node_count + 1, sizeof *ret->usable);
    ret->versions = calloc((size_t)cluster->node_count + 1, sizeof *ret->versions);
    ret->why = calloc((size_t)cluster->node_count + 1, sizeof *ret->why);
    if (!ret->holder || !ret->used || !ret->usable || !ret->versions || !ret->why)
        return ADL_ENOMEM;
    return adl_slurm_energy_create(cluster, &ret->energy);
}

static void job_free(struct adl_mirror_job *job)
{
    free(job->gpus);
    free(job->excluded);
    free(job);
}

void adl_slurm_mirror_clear(struct adl_slurm_mirror *mirror)
{
    for (uint32_t i = 0; i < mirror->job_count; i++)
        job_free(mirror->jobs[i]);
    free(mirror->jobs);
    free(mirror->holder);
    free(mirror->used);
    free(mirror->usable);
    free(mirror->versions);
    free(mirror->why);
    adl_slurm_energy_destroy(mirror->energy);
    *mirror = (struct adl_slurm_mirror){0};
}

/* The index of a job with this number, or where it would be inserted. */
static uint32_t place_of(const struct adl_slurm_mirror *mirror, int64_t external)
{
    uint32_t low = 0, high = mirror->job_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (mirror->jobs[middle]->external < external)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct adl_mirror_job *adl_slurm_mirror_find(const struct adl_slurm_mirror *mirror, int64_t external)
{
    const uint32_t at = place_of(mirror, external);
    return at < mirror->job_count && mirror->jobs[at]->external == external ? mirror->jobs[at] : NULL;
}

struct adl_mirror_job *adl_slurm_mirror_add(struct adl_slurm_mirror *mirror, int64_t external)
{
    struct adl_mirror_job *job = calloc(1, sizeof *job);
    if (!job || adl_grow((void **)&mirror->jobs, &mirror->job_capacity, (size_t)mirror->job_count + 1,
                         sizeof(struct adl_mirror_job *))) {
        free(job);
        return NULL;
    }
    const uint32_t at = place_of(mirror, external);
    memmove(&mirror->jobs[at + 1], &mirror->jobs[at], (mirror->job_count - at) * sizeof(struct adl_mirror_job *));
    mirror->jobs[at] = job;
    mirror->job_count++;
    job->external = external;
    job->state = ADL_SLURM_ABSENT;
    job->energy_j = -1;
    job->run_slot = ADL_NONE;
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        job->slots[i] = ADL_NONE;
    return job;
}

void adl_slurm_mirror_remove(struct adl_slurm_mirror *mirror, struct adl_mirror_job *job)
{
    const uint32_t at = place_of(mirror, job->external);
    adl_slurm_mirror_release(mirror, job);
    mirror->job_count--;
    memmove(&mirror->jobs[at], &mirror->jobs[at + 1], (mirror->job_count - at) * sizeof(struct adl_mirror_job *));
    job_free(job);
}

/* ---- GPUs ---- */

/* The energy of its GPUs is counted while it runs. */
static void meter(struct adl_slurm_mirror *mirror, struct adl_mirror_job *job)
{
    const bool runs = job->state == ADL_SLURM_RUNS && job->gpu_count > 0;
    if (job->metered == runs)
        return;
    job->metered = runs;
    if (runs)
        adl_slurm_energy_enter(mirror->energy, &job->energy_j, job->gpus, job->gpu_count, mirror->now_us);
    else
        adl_slurm_energy_leave(mirror->energy, &job->energy_j, job->gpus, job->gpu_count, mirror->now_us);
    for (uint32_t i = 0; i < job->gpu_count; i++) {
        const uint32_t bank = mirror->inventory->scenario.cluster.gpu_bank[job->gpus[i]];
        adl_slurm_energy_others(mirror->energy, bank, adl_slurm_mirror_foreign(mirror, bank), mirror->now_us);
    }
}

int adl_slurm_mirror_hold(struct adl_slurm_mirror *mirror, struct adl_mirror_job *job, const uint32_t *gpus,
                          uint32_t count)
{
    uint32_t *copy = malloc((count + 1) * sizeof *copy);
    if (!copy)
        return ADL_ENOMEM;
    memcpy(copy, gpus, count * sizeof *copy);
    adl_slurm_mirror_release(mirror, job);
    job->gpus = copy;
    job->gpu_count = count;
    for (uint32_t i = 0; i < count; i++)
        mirror->holder[copy[i]] = job->external;
    meter(mirror, job);
    return 0;
}

void adl_slurm_mirror_release(struct adl_slurm_mirror *mirror, struct adl_mirror_job *job)
{
    const int state = job->state;
    job->state = ADL_SLURM_ABSENT; /* meter() stops counting */
    meter(mirror, job);
    job->state = state;
    for (uint32_t i = 0; i < job->gpu_count; i++)
        if (mirror->holder[job->gpus[i]] == job->external)
            mirror->holder[job->gpus[i]] = 0;
    free(job->gpus);
    job->gpus = NULL;
    job->gpu_count = 0;
}

uint32_t adl_slurm_mirror_find_free(const struct adl_slurm_mirror *mirror, const struct adl_mirror_job *job,
                                    uint32_t type, uint32_t wanted, const bool *down, uint32_t *gpus)
{
    const struct adl_cluster *cluster = &mirror->inventory->scenario.cluster;
    const uint32_t share = wanted / job->nodes;
    uint32_t count = 0;
    for (uint32_t b = 0; b < cluster->bank_count && count < wanted; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        const uint32_t before = count;
        if (bank->type != type || (job->excluded && job->excluded[bank->node]))
            continue;
        for (uint32_t g = bank->gpu_first; g < bank->gpu_first + bank->gpu_count && count < before + share; g++)
            if (!down[g] && (mirror->holder[g] == 0 || mirror->holder[g] == job->external))
                gpus[count++] = g;
        if (count < before + share)
            count = before;
    }
    return count == wanted ? count : 0;
}

bool adl_slurm_mirror_has_room(const struct adl_slurm_mirror *mirror, const struct adl_mirror_job *job,
                               const bool *down)
{
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    if (!job->excluded && job->nodes == 1)
        return true;
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        for (uint32_t left = job->wants[i].types; left; left &= left - 1)
            if (adl_slurm_mirror_find_free(mirror, job, (uint32_t)__builtin_ctz(left), job->wants[i].gpus, down, gpus))
                return true;
    return false;
}

uint32_t adl_slurm_mirror_foreign(const struct adl_slurm_mirror *mirror, uint32_t bank)
{
    const struct adl_bank *it = &mirror->inventory->scenario.cluster.banks[bank];
    uint32_t ours = 0;
    for (uint32_t g = it->gpu_first; g < it->gpu_first + it->gpu_count; g++) {
        const struct adl_mirror_job *job = mirror->holder[g] ? adl_slurm_mirror_find(mirror, mirror->holder[g]) : NULL;
        ours += job && job->state == ADL_SLURM_RUNS;
    }
    return mirror->used[bank] > ours ? mirror->used[bank] - ours : 0;
}

/* ---- messages ---- */

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "";
}

static double number_of(const cJSON *object, const char *name, double otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : otherwise;
}

/* A whole number, forced into the bounds. */
static int64_t whole_of(const cJSON *object, const char *name, int64_t least, int64_t most)
{
    const double value = number_of(object, name, (double)least);
    return value <= (double)least ? least : value >= (double)most ? most : (int64_t)value;
}

static bool is_true(const cJSON *message, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, name));
}

static uint32_t find_node(const struct adl_cluster *cluster, const char *name)
{
    for (uint32_t n = 0; n < cluster->node_count; n++)
        if (strcmp(cluster->nodes[n].name, name) == 0)
            return n;
    return ADL_NONE;
}

static uint32_t find_bank(const struct adl_cluster *cluster, uint32_t node, const char *type)
{
    for (uint32_t i = 0; i < cluster->nodes[node].bank_count; i++) {
        const uint32_t bank = cluster->nodes[node].bank_first + i;
        if (strcmp(cluster->types[cluster->banks[bank].type].name, type) == 0)
            return bank;
    }
    return ADL_NONE;
}

/* A meter of CPUs alone is ignored. */
static void read_meter(struct adl_slurm_mirror *mirror, uint32_t node, const cJSON *message)
{
    const char *measured = text_of(message, "meter");
    const bool gpus = strcmp(measured, "gpus") == 0;
    const struct adl_slurm_reading reading = {.time_us =
                                                  whole_of(message, "read_s", 0, INT64_C(1) << 40) * 1000000 + READ_US,
                                              .joules = number_of(message, "joules", -1),
                                              .watts = number_of(message, "watts", -1),
                                              .gpus = gpus};
    if (!gpus && strcmp(measured, "node") != 0)
        adl_slurm_energy_read(mirror->energy, node, NULL);
    else if (reading.joules >= 0) /* else it was not read yet, and its counter goes on */
        adl_slurm_energy_read(mirror->energy, node, &reading);
}

void adl_slurm_mirror_read_node(struct adl_slurm_mirror *mirror, const struct cJSON *message)
{
    const struct adl_cluster *cluster = &mirror->inventory->scenario.cluster;
    const uint32_t node = find_node(cluster, text_of(message, "name"));
    const cJSON *gpu;
    if (node == ADL_NONE)
        return; /* it was added after the service started: known after the next start */
    mirror->usable[node] = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "usable"));
    snprintf(mirror->why[node], sizeof mirror->why[node], "%s", text_of(message, "why"));
    cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(message, "gpus"))
    {
        const uint32_t bank = find_bank(cluster, node, text_of(gpu, "type"));
        if (bank == ADL_NONE)
            continue;
        mirror->used[bank] = (uint32_t)whole_of(gpu, "used", 0, cluster->banks[bank].gpu_count);
        adl_slurm_energy_others(mirror->energy, bank, adl_slurm_mirror_foreign(mirror, bank), mirror->now_us);
    }
    read_meter(mirror, node, message);
    adl_mirror_version_read(&mirror->versions[node], cJSON_GetObjectItemCaseSensitive(message, "features"));
}

/* The nodes it may not use; NULL if there are none. Out of memory counts as none: Slurm would refuse the placement. */
static void read_excluded(const struct adl_slurm_mirror *mirror, const cJSON *message, struct adl_mirror_job *job)
{
    const struct adl_cluster *cluster = &mirror->inventory->scenario.cluster;
    const cJSON *required = cJSON_GetObjectItemCaseSensitive(message, "require"), *name;
    free(job->excluded);
    job->excluded = NULL;
    bool *excluded = calloc((size_t)cluster->node_count + 1, sizeof *excluded);
    bool any = cJSON_GetArraySize(required) > 0;
    if (!excluded)
        return;
    for (uint32_t n = 0; any && n < cluster->node_count; n++)
        excluded[n] = true;
    cJSON_ArrayForEach(name, required)
    {
        const char *text = cJSON_GetStringValue(name);
        const uint32_t node = text ? find_node(cluster, text) : ADL_NONE;
        if (node != ADL_NONE)
            excluded[node] = false;
    }
    cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(message, "exclude"))
    {
        const char *text = cJSON_GetStringValue(name);
        const uint32_t node = text ? find_node(cluster, text) : ADL_NONE;
        if (node != ADL_NONE)
            any = excluded[node] = true;
    }
    if (any)
        job->excluded = excluded;
    else
        free(excluded);
}

/* Types of which enough nodes that it may use have as many GPUs as it asks for on each. */
static uint32_t usable_types(const struct adl_cluster *cluster, const struct adl_mirror_job *job, uint32_t share)
{
    uint32_t nodes[ADL_TYPES_MAX] = {0}, types = 0;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        if (bank->gpu_count >= share && !(job->excluded && job->excluded[bank->node]) &&
            ++nodes[bank->type] == job->nodes)
            types |= 1u << bank->type;
    }
    return types;
}

/* The request as the service writes it, with the GPUs of all nodes: true if it fits. */
static bool word_request(const struct adl_cluster *cluster, const struct adl_alternative *wants, uint32_t count,
                         char *ret, size_t size)
{
    size_t at = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t left = wants[i].types; left && at < size; left &= left - 1) {
            const int wrote = snprintf(ret + at, size - at, "%s%s:%u", at > 0 ? "|" : "",
                                       cluster->types[__builtin_ctz(left)].name, wants[i].gpus);
            at += wrote > 0 ? (size_t)wrote : 0;
        }
    return at > 0 && at < size;
}

static void read_request(const struct adl_slurm_mirror *mirror, struct adl_mirror_job *job)
{
    const struct adl_cluster *cluster = &mirror->inventory->scenario.cluster;
    struct adl_alternative wants[ADL_ALTERNATIVES_MAX];
    struct adl_error err = {""};
    const char *why = "no nodes that it may use have what it asks for";
    uint32_t count = 0, kept = 0;
    if (adl_gpu_request_read(job->arrival.request, cluster, wants, &count, &err))
        snprintf(job->unfit, sizeof job->unfit, "%.110s", err.text);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t gpus = (uint64_t)wants[i].gpus * job->nodes;
        struct adl_job_spec spec = job->spec;
        wants[i].types &= usable_types(cluster, job, wants[i].gpus);
        if (wants[i].types == 0 || gpus > ADL_JOB_GPUS_MAX)
            continue;
        spec.gpus = (uint16_t)gpus;
        spec.types = wants[i].types;
        wants[i].gpus = spec.gpus;
        if (adl_demand_possible(cluster, &spec, &why))
            wants[kept++] = wants[i];
    }
    const bool plain = job->nodes == 1 && !job->excluded; /* its request stays as it is, and always fits */
    if (kept > 0 && (plain || word_request(cluster, wants, kept, job->arrival.request, sizeof job->arrival.request))) {
        job->spec.gpus = wants[0].gpus;
        job->spec.types = wants[0].types;
    } else if (job->unfit[0] == '\0') {
        snprintf(job->unfit, sizeof job->unfit, "%s", why);
    }
}

static void read_spec(const struct adl_slurm_mirror *mirror, const cJSON *message, struct adl_mirror_job *job)
{
    struct adl_alternative wants[ADL_ALTERNATIVES_MAX] = {{0}};
    uint32_t count = 0;
    adl_gpu_request_read(job->arrival.request, &mirror->inventory->scenario.cluster, wants, &count, NULL);
    const int64_t per_node = count > 0 && wants[0].gpus > 0 ? wants[0].gpus : 1, gpus = per_node * job->nodes;
    const int64_t cores = whole_of(message, "cpus", 0, 1 << 20),
                  memory_mib = whole_of(message, "memory_mib", 0, 1 << 30);
    const bool stoppable = mirror->preempts && is_true(message, "requeue");
    job->unfit[0] = '\0';
    job->spec = (struct adl_job_spec){
        .user = adl_job_name_id(job->arrival.user),
        .name_id = adl_job_name_id(job->arrival.name),
        .gpus = (uint16_t)(gpus < ADL_JOB_GPUS_MAX ? gpus : ADL_JOB_GPUS_MAX),
        .types = wants[0].types,
        .kind = ADL_KIND_TRAINING,
        .flags = (uint8_t)((job->nodes > 1 ? ADL_JOB_SPAN : 0) | (stoppable ? ADL_JOB_PREEMPTIBLE : 0)),
        .stop_loss = ADL_LOSS_ALL, /* whether its script resumes from a checkpoint is not known */
        .cpu_cores = (int32_t)((cores + gpus - 1) / gpus),
        .memory_mib = (int32_t)((memory_mib + per_node - 1) / per_node),
        .priority = (float)fmin(1, fmax(0, number_of(message, "priority", 0.5))),
        .limit_us = (int64_t)fmin(LIMIT_S, fmax(60, number_of(message, "limit_s", LIMIT_S))) * 1000000};
    read_request(mirror, job);
}

static void read_arrival(const cJSON *message, struct adl_arrival *ret)
{
    ret->external = whole_of(message, "id", 0, INT64_C(1) << 52);
    ret->uid = (uint32_t)whole_of(message, "uid", 0, UINT32_MAX);
    ret->gid = (uint32_t)whole_of(message, "gid", 0, UINT32_MAX);
    ret->submit_us = (int64_t)(number_of(message, "submit_s", 0) * 1e6);
    ret->array_id = whole_of(message, "array_id", 0, INT64_C(1) << 32);
    ret->array_index = (int32_t)whole_of(message, "array_index", -1, INT32_MAX);
    snprintf(ret->user, sizeof ret->user, "%s", text_of(message, "user"));
    snprintf(ret->name, sizeof ret->name, "%s", text_of(message, "name"));
    snprintf(ret->request, sizeof ret->request, "%s", text_of(message, "request"));
}

/* What its user or an administrator can change while it waits. */
static uint64_t hash_demand(const cJSON *message)
{
    static const char *const numbers[] = {"nodes_min", "cpus", "memory_mib", "limit_s", "priority"};
    const char *request = text_of(message, "request");
    uint64_t hash = adl_hash_bytes(adl_hash_start(), request, strlen(request));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const double value = number_of(message, numbers[i], -1);
        hash = adl_hash_bytes(hash, &value, sizeof value);
    }
    const cJSON *node;
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(message, "require"))
    {
        const char *name = cJSON_GetStringValue(node);
        hash = adl_hash_bytes(hash, name ? name : "", name ? strlen(name) + 1 : 0);
    }
    return adl_hash_u64(hash, is_true(message, "requeue"));
}

static int state_of(const char *name, int *ret_end)
{
    static const struct {
        const char *name;
        int state, end;
    } states[] = {{"PD", ADL_SLURM_PENDING, 0},
                  {"R", ADL_SLURM_RUNS, 0},
                  {"CG", ADL_SLURM_RUNS, 0}, /* its GPUs are not free yet */
                  {"S", ADL_SLURM_RUNS, 0},
                  {"CF", ADL_SLURM_RUNS, 0},
                  {"CD", ADL_SLURM_ENDED, ADL_END_COMPLETED},
                  {"CA", ADL_SLURM_ENDED, ADL_END_CANCELLED},
                  {"TO", ADL_SLURM_ENDED, ADL_END_TIMEOUT},
                  {"DL", ADL_SLURM_ENDED, ADL_END_TIMEOUT}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i].name, name) == 0) {
            *ret_end = states[i].end;
            return states[i].state;
        }
    *ret_end = ADL_END_FAILED;
    return ADL_SLURM_ENDED;
}

static uint8_t eligibility_of(const cJSON *message)
{
    static const struct {
        const char *member;
        uint8_t eligibility;
    } rows[] = {{"beyond", ADL_SLURM_BEYOND},
                {"crowded", ADL_SLURM_CROWDED},
                {"refused", ADL_SLURM_REFUSED},
                {"eligible", ADL_SLURM_ELIGIBLE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_true(message, rows[i].member))
            return rows[i].eligibility;
    return ADL_SLURM_INELIGIBLE;
}

/* What it asks for: read with every message until the service has the job. After that a change is noted as long as the
 * job waits; once it is placed a change has no effect. */
static void read_demand(struct adl_slurm_mirror *mirror, const cJSON *message, struct adl_mirror_job *job)
{
    const uint64_t demand = hash_demand(message);
    const unsigned not_waiting = ADL_MIRROR_WITH_SLURM | ADL_MIRROR_IN(RUNNING);
    const bool waits = job->state == ADL_SLURM_PENDING && !adl_mirror_job_in(job, not_waiting);
    job->changed = job->number != 0 && (job->changed || (waits && demand != job->demand));
    if (job->number != 0 && !(waits && job->changed))
        return;
    job->demand = demand;
    job->nodes = (uint32_t)whole_of(message, "nodes_min", 1, NODES_MAX);
    read_arrival(message, &job->arrival);
    read_spec(mirror, message, job);
}

struct adl_mirror_job *adl_slurm_mirror_read_job(struct adl_slurm_mirror *mirror, const struct cJSON *message, bool all)
{
    int end = 0;
    const int64_t external = whole_of(message, "id", 0, INT64_C(1) << 52);
    int state = state_of(text_of(message, "state"), &end);
    if (state == ADL_SLURM_PENDING && is_true(message, "placed"))
        state = ADL_SLURM_RELEASED;
    struct adl_mirror_job *job = adl_slurm_mirror_find(mirror, external);
    if (!job && (all || state != ADL_SLURM_ENDED) && external > 0)
        job = adl_slurm_mirror_add(mirror, external);
    if (!job)
        return NULL;
    job->state = state;
    job->end = end;
    job->requeued = number_of(message, "restarts", 0) > 0;
    job->ours = is_true(message, "ours");
    job->eligibility = eligibility_of(message);
    job->exit_code = (int32_t)whole_of(message, "exit_code", -1, 255);
    job->signal = (int32_t)whole_of(message, "signal", 0, 128);
    snprintf(job->why, sizeof job->why, "%s", text_of(message, "why"));
    meter(mirror, job);
    if (adl_mirror_job_waits(job))
        read_excluded(mirror, message, job);
    read_demand(mirror, message, job);
    return job;
}

bool adl_slurm_mirror_is_same(const struct adl_mirror_job *job, const struct cJSON *message)
{
    struct adl_arrival now = {0};
    read_arrival(message, &now);
    return job->arrival.external == 0 || /* Slurm has never named it: only the store has it */
           (now.uid == job->arrival.uid &&
            (now.submit_us == job->arrival.submit_us || number_of(message, "restarts", 0) > 0));
}

bool adl_slurm_mirror_is_known(const struct adl_mirror_job *job, const struct adl_job_entry *known)
{
    return job->arrival.uid == known->uid &&
           (job->requeued || job->arrival.submit_us == 0 || job->arrival.submit_us == known->submit_us);
}

static bool has(const uint32_t *gpus, uint32_t count, uint32_t gpu)
{
    for (uint32_t i = 0; i < count; i++)
        if (gpus[i] == gpu)
            return true;
    return false;
}

uint32_t adl_slurm_mirror_find_gpus(const struct adl_slurm_mirror *mirror, const struct adl_mirror_job *job,
                                    const struct cJSON *message, uint32_t *gpus)
{
    const struct adl_cluster *cluster = &mirror->inventory->scenario.cluster;
    uint32_t count = 0;
    const cJSON *part;
    cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(message, "gpus"))
    {
        const uint32_t node = find_node(cluster, text_of(part, "node"));
        const uint32_t bank = node == ADL_NONE ? ADL_NONE : find_bank(cluster, node, text_of(part, "type"));
        int64_t left = whole_of(part, "count", 0, ADL_BANK_GPUS_MAX);
        if (bank == ADL_NONE)
            return 0;
        const struct adl_bank *it = &cluster->banks[bank];
        for (int own = 1; own >= 0; own--)
            for (uint32_t g = it->gpu_first; left > 0 && g < it->gpu_first + it->gpu_count; g++)
                if (mirror->holder[g] == (own ? job->external : 0) && count < ADL_JOB_GPUS_MAX &&
                    !has(gpus, count, g)) {
                    gpus[count++] = g;
                    left--;
                }
        if (left > 0)
            return 0;
    }
    return count;
}

static uint32_t bank_of(const struct adl_cluster *cluster, uint32_t gpu)
{
    return cluster->gpu_bank[gpu];
}

bool adl_slurm_mirror_alike(const struct adl_slurm_mirror *mirror, const uint32_t *a, uint32_t a_count,
                            const uint32_t *b, uint32_t b_count)
{
    const struct adl_cluster *cluster = &mirror->inventory->scenario.cluster;
    if (a_count != b_count)
        return false;
    for (uint32_t i = 0; i < a_count; i++) {
        const uint32_t bank = bank_of(cluster, a[i]);
        int32_t more = 0;
        for (uint32_t k = 0; k < a_count; k++)
            more += (bank_of(cluster, a[k]) == bank) - (bank_of(cluster, b[k]) == bank);
        if (more != 0)
            return false;
    }
    return true;
}
