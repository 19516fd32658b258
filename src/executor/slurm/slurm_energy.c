#include "executor/slurm/slurm_energy.h"

#include "base/index.h"
#include "executor/executor.h"

#include <stdlib.h>

#define OPEN         INT64_MAX /* the end of an allocation that goes on */
#define PREDICT_GAPS 2         /* gaps between readings: power is extrapolated for no longer */
#define GPU_W        3000.0    /* no GPU draws more, */
#define REST_W       5000.0    /* nor the rest of a node: a counter that rises faster is not used */
#define IDLE_OLD     0.75      /* weight of the earlier estimate of a node's idle power */
#define WAIT_MAX     1000      /* allocations of a node that wait for its next reading: beyond that they are dropped */

/* A job's time on GPUs of a node. Weights are the power limits of GPUs, W. */
struct allocation {
    double *account; /* the node's nobody_j: of other jobs, or of one that has left */
    double weight;
    int64_t from_us, until_us;
    int64_t counted_us; /* energy until then was counted when it left */
};

struct node {
    bool known; /* it has a meter that was read */
    bool idle_seen;
    int64_t read_us, gap_us; /* the last reading, and the time since the one before */
    double joules, watts;    /* as of then; watts negative: not known */
    double weight;           /* of all its GPUs */
    double idle_w;           /* what it draws while no job has GPUs: the catalogue's figure until it was measured */
    double rate;             /* W per weight of the jobs that had GPUs at the last reading */
    double rise_j, jobs_j, nobody_j, predicted_j;
    struct allocation *allocations;
    size_t allocation_capacity;
    uint32_t allocation_count;
    bool fresh;                  /* its GPUs' power is to be reported */
    uint32_t reported;           /* GPUs of which it was */
    double held_rate, free_rate; /* W per weight of GPUs that are in use, and of others */
    bool blurred;                /* several jobs have GPUs of it */
};

struct adl_slurm_energy {
    const struct adl_cluster *cluster;
    struct node *nodes;     /* [node] */
    const double **holders; /* [gpu] account of the job that has it; NULL: none of ours */
    uint32_t *others;       /* [bank] GPUs in use by others */
    uint32_t next_node;     /* whose GPUs are reported next */
};

int adl_slurm_energy_create(const struct adl_cluster *cluster, struct adl_slurm_energy **ret)
{
    struct adl_slurm_energy *energy = calloc(1, sizeof *energy);
    if (!energy)
        return ADL_ENOMEM;
    energy->cluster = cluster;
    energy->nodes = calloc((size_t)cluster->node_count + 1, sizeof *energy->nodes);
    energy->holders = (const double **)calloc((size_t)cluster->gpu_count + 1, sizeof(const double *));
    energy->others = calloc((size_t)cluster->bank_count + 1, sizeof *energy->others);
    if (!energy->nodes || !energy->holders || !energy->others) {
        adl_slurm_energy_destroy(energy);
        return ADL_ENOMEM;
    }
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        energy->nodes[bank->node].weight += cluster->types[bank->type].max_w * bank->gpu_count;
        energy->nodes[bank->node].idle_w += cluster->types[bank->type].idle_w * bank->gpu_count;
    }
    *ret = energy;
    return 0;
}

void adl_slurm_energy_destroy(struct adl_slurm_energy *energy)
{
    if (!energy)
        return;
    for (uint32_t n = 0; energy->nodes && n < energy->cluster->node_count; n++)
        free(energy->nodes[n].allocations);
    free(energy->nodes);
    free((void *)energy->holders);
    free(energy->others);
    free(energy);
}

static double weight_of(const struct adl_slurm_energy *energy, uint32_t gpu)
{
    return energy->cluster->types[adl_gpu_type_of(energy->cluster, gpu)].max_w;
}

/* ---- allocations ---- */

static struct allocation *find_open(const struct node *node, const double *account)
{
    for (uint32_t i = 0; i < node->allocation_count; i++)
        if (node->allocations[i].account == account && node->allocations[i].until_us == OPEN)
            return &node->allocations[i];
    return NULL;
}

/* Those that ended before the last reading are counted already. */
static void drop_closed(struct node *node)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->allocation_count; i++)
        if (node->allocations[i].until_us == OPEN || (node->known && node->allocations[i].until_us > node->read_us))
            node->allocations[kept++] = node->allocations[i];
    node->allocation_count = kept;
}

static void reset_meter(struct node *node)
{
    node->known = node->fresh = false;
    node->gap_us = 0;
    node->rise_j += node->predicted_j; /* no reading will confirm it */
    node->predicted_j = 0;
    drop_closed(node);
}

static void open_allocation(struct node *node, double *account, double weight, int64_t now_us)
{
    if (node->allocation_count >= WAIT_MAX)
        reset_meter(node);
    if (adl_grow((void **)&node->allocations, &node->allocation_capacity, (size_t)node->allocation_count + 1,
                 sizeof *node->allocations))
        return;
    node->allocations[node->allocation_count++] =
        (struct allocation){.account = account, .weight = weight, .from_us = now_us, .until_us = OPEN};
}

static void credit(struct node *node, double *account, double drawn_j)
{
    if (account == &node->nobody_j) {
        node->nobody_j += drawn_j;
        return;
    }
    *account = (*account > 0 ? *account : 0) + drawn_j;
    node->jobs_j += drawn_j;
}

/* Energy since the last reading, if it had GPUs then: its power is taken as constant for a while. */
static void extrapolate(struct node *node, struct allocation *allocation)
{
    const int64_t most_us = node->read_us + PREDICT_GAPS * node->gap_us;
    const int64_t until_us = allocation->until_us < most_us ? allocation->until_us : most_us;
    if (allocation->from_us > node->read_us || until_us <= node->read_us)
        return;
    const double drawn_j = node->rate * allocation->weight * (double)(until_us - node->read_us) * 1e-6;
    allocation->counted_us = until_us;
    node->predicted_j += drawn_j;
    credit(node, allocation->account, drawn_j);
}

static void close_allocation(struct node *node, struct allocation *allocation, int64_t now_us)
{
    if (!node->known) { /* no reading will need it */
        *allocation = node->allocations[--node->allocation_count];
        return;
    }
    allocation->until_us = now_us > allocation->from_us ? now_us : allocation->from_us;
    if (allocation->account != &node->nobody_j)
        extrapolate(node, allocation);
    allocation->account = &node->nobody_j;
}

void adl_slurm_energy_enter(struct adl_slurm_energy *energy, double *account, const uint32_t *gpus, uint32_t count,
                            int64_t now_us)
{
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = &energy->nodes[adl_gpu_node_of(energy->cluster, gpus[i])];
        struct allocation *allocation = find_open(node, account);
        if (energy->holders[gpus[i]] == account)
            continue;
        energy->holders[gpus[i]] = account;
        if (allocation)
            allocation->weight += weight_of(energy, gpus[i]);
        else
            open_allocation(node, account, weight_of(energy, gpus[i]), now_us);
    }
}

void adl_slurm_energy_leave(struct adl_slurm_energy *energy, const double *account, const uint32_t *gpus,
                            uint32_t count, int64_t now_us)
{
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = &energy->nodes[adl_gpu_node_of(energy->cluster, gpus[i])];
        struct allocation *allocation = find_open(node, account);
        if (energy->holders[gpus[i]] == account)
            energy->holders[gpus[i]] = NULL;
        if (allocation)
            close_allocation(node, allocation, now_us);
    }
}

void adl_slurm_energy_others(struct adl_slurm_energy *energy, uint32_t bank, uint32_t gpus, int64_t now_us)
{
    const struct adl_cluster *cluster = energy->cluster;
    const struct adl_node *it = &cluster->nodes[cluster->banks[bank].node];
    struct node *node = &energy->nodes[cluster->banks[bank].node];
    double weight = 0;
    if (energy->others[bank] == gpus)
        return;
    energy->others[bank] = gpus;
    for (uint32_t b = it->bank_first; b < it->bank_first + it->bank_count; b++)
        weight += energy->others[b] * cluster->types[cluster->banks[b].type].max_w;
    struct allocation *allocation = find_open(node, &node->nobody_j);
    if (allocation)
        close_allocation(node, allocation, now_us);
    if (weight > 0)
        open_allocation(node, &node->nobody_j, weight, now_us);
}

/* ---- readings ---- */

/* Seconds of the allocation between the two times. */
static double overlap_s(const struct allocation *allocation, int64_t since_us, int64_t until_us)
{
    const int64_t from_us = allocation->from_us > since_us ? allocation->from_us : since_us;
    const int64_t to_us = allocation->until_us < until_us ? allocation->until_us : until_us;
    return to_us > from_us ? (double)(to_us - from_us) * 1e-6 : 0;
}

/* The part of it that was not counted yet. */
static double uncounted_s(const struct allocation *allocation, int64_t since_us, int64_t until_us)
{
    return overlap_s(allocation, allocation->counted_us > since_us ? allocation->counted_us : since_us, until_us);
}

/* First what was predicted; the rest goes to GPUs that nobody had and to the jobs that had some. */
static void share(struct node *node, double rise_j, int64_t until_us)
{
    const double passed_s = (double)(until_us - node->read_us) * 1e-6;
    const double due_j = node->predicted_j < rise_j ? node->predicted_j : rise_j;
    double held = 0, uncounted = 0; /* W s */
    for (uint32_t i = 0; i < node->allocation_count; i++) {
        held += node->allocations[i].weight * overlap_s(&node->allocations[i], node->read_us, until_us);
        uncounted += node->allocations[i].weight * uncounted_s(&node->allocations[i], node->read_us, until_us);
    }
    if (held <= 0) {
        const double idle_w = rise_j / passed_s;
        node->idle_w = node->idle_seen ? IDLE_OLD * node->idle_w + (1 - IDLE_OLD) * idle_w : idle_w;
        node->idle_seen = true;
    }
    double left_j = rise_j - due_j;
    const double free_share = held < node->weight * passed_s ? 1 - held / (node->weight * passed_s) : 0;
    const double free_j = node->idle_w * free_share * passed_s;
    const double nobody_j = uncounted <= 0 || free_j > left_j ? left_j : free_j;
    left_j -= nobody_j;
    node->rise_j += rise_j;
    node->predicted_j -= due_j;
    node->nobody_j += nobody_j;
    for (uint32_t i = 0; i < node->allocation_count && left_j > 0; i++) {
        const double part = node->allocations[i].weight * uncounted_s(&node->allocations[i], node->read_us, until_us);
        if (part > 0)
            credit(node, node->allocations[i].account, left_j * part / uncounted);
    }
}

static void set_rate(struct node *node)
{
    double held = 0;
    for (uint32_t i = 0; i < node->allocation_count; i++)
        if (node->allocations[i].from_us <= node->read_us)
            held += node->allocations[i].weight;
    const double free_w = held < node->weight ? node->idle_w * (1 - held / node->weight) : 0;
    node->rate = held > 0 && node->watts > free_w ? (node->watts - free_w) / held : 0;
}

void adl_slurm_energy_read(struct adl_slurm_energy *energy, uint32_t node, const struct adl_slurm_reading *reading)
{
    struct node *it = &energy->nodes[node];
    if (!reading) {
        reset_meter(it);
        return;
    }
    const int64_t gap_us = reading->time_us - it->read_us;
    if (it->known && gap_us <= 0)
        return;
    const double rise_j = reading->joules - it->joules;
    const double most_w = GPU_W * energy->cluster->nodes[node].gpu_count + REST_W;
    const bool goes_on = it->known && rise_j >= 0 && rise_j <= most_w * (double)gap_us * 1e-6;
    if (goes_on)
        share(it, rise_j, reading->time_us);
    else
        reset_meter(it); /* slurmd was restarted, or this is the first reading */
    it->known = true;
    it->watts = reading->watts >= 0 ? reading->watts : goes_on ? rise_j / ((double)gap_us * 1e-6) : -1;
    it->gap_us = goes_on ? gap_us : 0;
    it->read_us = reading->time_us;
    it->joules = reading->joules;
    drop_closed(it);
    set_rate(it);
    it->fresh = reading->gpus && it->watts >= 0;
    it->reported = 0;
}

/* ---- power ---- */

/* Divides the power of the node between GPUs in use and free ones. */
static void split_power(const struct adl_slurm_energy *energy, uint32_t n)
{
    const struct adl_cluster *cluster = energy->cluster;
    const struct adl_node *node = &cluster->nodes[n];
    struct node *it = &energy->nodes[n];
    const double *first = NULL;
    double held = 0;
    it->blurred = false;
    for (uint32_t g = node->gpu_first; g < node->gpu_first + node->gpu_count; g++) {
        const double *holder = energy->holders[g];
        held += holder ? weight_of(energy, g) : 0;
        it->blurred |= holder && first && holder != first;
        first = holder ? holder : first;
    }
    for (uint32_t b = node->bank_first; b < node->bank_first + node->bank_count; b++) {
        held += energy->others[b] * cluster->types[cluster->banks[b].type].max_w;
        it->blurred |= energy->others[b] > 0;
    }
    const double free_weight = it->weight > held ? it->weight - held : 0;
    double free_w = it->weight > 0 ? it->idle_w * free_weight / it->weight : 0;
    free_w = held <= 0 || free_w > it->watts ? it->watts : free_w;
    it->free_rate = free_weight > 0 ? free_w / free_weight : 0;
    it->held_rate = held > 0 ? (it->watts - free_w) / held : 0;
}

/* Which GPUs of a bank other jobs use is not known: the last free ones. */
static bool is_held(const struct adl_slurm_energy *energy, uint32_t gpu)
{
    const uint32_t b = energy->cluster->gpu_bank[gpu];
    const struct adl_bank *bank = &energy->cluster->banks[b];
    uint32_t after = 0;
    for (uint32_t g = gpu + 1; g < bank->gpu_first + bank->gpu_count; g++)
        after += !energy->holders[g];
    return energy->holders[gpu] || after < energy->others[b];
}

int adl_slurm_energy_next_sample(struct adl_slurm_energy *energy, struct adl_report *ret)
{
    const struct adl_cluster *cluster = energy->cluster;
    for (uint32_t looked = 0; looked < cluster->node_count; looked++) {
        struct node *it = &energy->nodes[energy->next_node];
        const struct adl_node *node = &cluster->nodes[energy->next_node];
        if (it->fresh && it->reported == 0)
            split_power(energy, energy->next_node);
        if (it->fresh && it->reported < node->gpu_count) {
            const uint32_t gpu = node->gpu_first + it->reported++;
            const double rate = is_held(energy, gpu) ? it->held_rate : it->free_rate;
            *ret = (struct adl_report){.kind = ADL_REPORT_SAMPLE,
                                       .slot = ADL_NONE,
                                       .gpu = gpu,
                                       .sample = {.blurred = it->blurred, .memory_used_mib = -1, .energy_j = -1}};
            ret->sample.readings.missing = (1u << ADL_READ_COUNT) - 1 - (1u << ADL_READ_POWER);
            ret->sample.readings.value[ADL_READ_POWER] = (float)(rate * weight_of(energy, gpu));
            return 1;
        }
        it->fresh = false;
        energy->next_node = (energy->next_node + 1) % cluster->node_count;
    }
    return 0;
}

struct adl_slurm_energy_sums adl_slurm_energy_sum(const struct adl_slurm_energy *energy, uint32_t node)
{
    const struct node *it = &energy->nodes[node];
    return (struct adl_slurm_energy_sums){it->rise_j, it->jobs_j, it->nobody_j, it->predicted_j};
}
