#include "engine/validate.h"

#include <stdlib.h>

struct bank_demand {
    uint64_t epoch;
    uint64_t gpus; /* bit i: GPU gpu_first + i was named in this check */
};

struct node_demand {
    uint64_t epoch;
    int32_t gpus;
};

struct adl_validator {
    uint64_t epoch;
    struct bank_demand *banks; /* [bank] */
    struct node_demand *nodes; /* [node] GPUs named there in this check */
};

int adl_validator_create(const struct adl_cluster *cluster, struct adl_validator **ret)
{
    struct adl_validator *validator = calloc(1, sizeof *validator);
    if (!validator)
        return ADL_ENOMEM;
    validator->banks = calloc(cluster->bank_count + 1, sizeof *validator->banks);
    validator->nodes = calloc(cluster->node_count + 1, sizeof *validator->nodes);
    if (!validator->banks || !validator->nodes) {
        adl_validator_destroy(validator);
        return ADL_ENOMEM;
    }
    *ret = validator;
    return 0;
}

void adl_validator_destroy(struct adl_validator *validator)
{
    if (!validator)
        return;
    free(validator->banks);
    free(validator->nodes);
    free(validator);
}

static const struct adl_job *live_job(const struct adl_state *state, uint32_t slot, int phase)
{
    if (slot >= state->job_capacity || state->jobs[slot].phase != phase)
        return NULL;
    return &state->jobs[slot];
}

/* Why a job may not start on a GPU that is not free; 0 if the two jobs may share it. */
static int check_taken(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t gpu,
                       struct adl_error *err)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    if (use->down)
        return adl_fail(err, ADL_EREFUSED, "GPU %u is down", gpu);
    if (use->free_memory_mib < spec->gpu_memory_mib)
        return adl_fail(err, ADL_EREFUSED, "GPU %u has %d MiB free, the job needs %d", gpu, use->free_memory_mib,
                        spec->gpu_memory_mib);
    if (use->job[1] != ADL_NONE)
        return adl_fail(err, ADL_EREFUSED, "GPU %u already holds two jobs", gpu);
    if (!(spec->flags & ADL_JOB_SHARE) || !(state->jobs[use->job[0]].spec.flags & ADL_JOB_SHARE))
        return adl_fail(err, ADL_EREFUSED, "GPU %u is busy and one of the two jobs does not share", gpu);
    return 0;
}

/* Consecutive GPUs of one bank in the command: each named once and able to take the job. Writes their number. */
static int check_bank(struct adl_validator *validator, const struct adl_state *state, const struct adl_job_spec *spec,
                      uint32_t bank, const uint32_t *gpus, uint32_t count, uint32_t *ret_gpus, struct adl_error *err)
{
    const struct adl_bank it = state->cluster->banks[bank];
    const int32_t memory_mib = spec->gpu_memory_mib;
    struct bank_demand *demand = &validator->banks[bank];
    uint64_t named = demand->epoch == validator->epoch ? demand->gpus : 0;
    uint32_t i = 0;
    for (uint32_t at; i < count && (at = gpus[i] - it.gpu_first) < it.gpu_count; i++) {
        const struct adl_gpu_use *use = &state->gpus[gpus[i]];
        if (named >> at & 1)
            return adl_fail(err, ADL_EREFUSED, "GPU %u is named twice", gpus[i]);
        named |= UINT64_C(1) << at;
        if (use->job[0] == ADL_NONE && !use->down && use->free_memory_mib >= memory_mib)
            continue;
        const int status = check_taken(state, spec, gpus[i], err);
        if (status)
            return status;
    }
    *demand = (struct bank_demand){validator->epoch, named};
    *ret_gpus = i;
    return 0;
}

/* Cores and memory that the GPUs named so far in this check, and `gpus` more, need on a node. */
static int check_node(struct adl_validator *validator, const struct adl_state *state, const struct adl_job_spec *spec,
                      uint32_t node, uint32_t gpus, struct adl_error *err)
{
    struct node_demand *demand = &validator->nodes[node];
    if (demand->epoch != validator->epoch)
        *demand = (struct node_demand){.epoch = validator->epoch};
    demand->gpus += (int32_t)gpus;
    const struct adl_node_use *use = &state->nodes_use[node];
    if ((int64_t)demand->gpus * spec->cpu_cores > use->free_cores)
        return adl_fail(err, ADL_EREFUSED, "node %s has %d cores free, too few", state->cluster->nodes[node].name,
                        use->free_cores);
    if ((int64_t)demand->gpus * spec->memory_mib > use->free_memory_mib)
        return adl_fail(err, ADL_EREFUSED, "node %s has %d MiB free, too little", state->cluster->nodes[node].name,
                        use->free_memory_mib);
    return 0;
}

/* A gang of free GPUs within one bank in ascending order, as most are: nothing has to be remembered to find one that
 * is named twice. False: it is not, or may not be possible, and check_gang() says why. */
static bool fits_one_bank(const struct adl_state *state, const struct adl_job_spec *spec, const uint32_t *gpus)
{
    const struct adl_bank bank = state->cluster->banks[state->cluster->gpu_bank[gpus[0]]];
    const struct adl_node_use *node = &state->nodes_use[bank.node];
    const uint32_t end = bank.gpu_first + bank.gpu_count, count = spec->gpus;
    const int32_t memory_mib = spec->gpu_memory_mib;
    if ((int64_t)spec->gpus * spec->cpu_cores > node->free_cores ||
        (int64_t)spec->gpus * spec->memory_mib > node->free_memory_mib)
        return false;
    for (uint32_t i = 0, least = bank.gpu_first; i < count; i++) {
        if (gpus[i] < least || gpus[i] >= end)
            return false;
        const struct adl_gpu_use *use = &state->gpus[gpus[i]];
        if (use->job[0] != ADL_NONE || use->down || use->free_memory_mib < memory_mib)
            return false;
        least = gpus[i] + 1;
    }
    return true;
}

/* All GPUs of a start, bank by bank: present, of one type, and in one node if the job may not span. */
static int check_gang(struct adl_validator *validator, const struct adl_state *state, const struct adl_job_spec *spec,
                      uint32_t type, const uint32_t *gpus, struct adl_error *err)
{
    const struct adl_cluster *cluster = state->cluster;
    const uint32_t first_node = adl_gpu_node_of(cluster, gpus[0]);
    validator->epoch++;
    for (uint32_t i = 0, run = 0; i < spec->gpus; i += run) {
        if (gpus[i] >= cluster->gpu_count)
            return adl_fail(err, ADL_EREFUSED, "GPU %u does not exist", gpus[i]);
        const uint32_t bank = cluster->gpu_bank[gpus[i]], node = cluster->banks[bank].node;
        if (cluster->banks[bank].type != type)
            return adl_fail(err, ADL_EREFUSED, "GPU %u is of another type than the rest of the gang", gpus[i]);
        if (!(spec->flags & ADL_JOB_SPAN) && node != first_node)
            return adl_fail(err, ADL_EREFUSED, "job %llu may not span nodes", (unsigned long long)spec->id);
        int status = check_bank(validator, state, spec, bank, &gpus[i], spec->gpus - i, &run, err);
        if (status == 0)
            status = check_node(validator, state, spec, node, run, err);
        if (status)
            return status;
    }
    return 0;
}

static int check_start(struct adl_validator *validator, const struct adl_state *state,
                       const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    const struct adl_job *job = live_job(state, command->job, ADL_PHASE_PENDING);
    if (!job)
        return adl_fail(err, ADL_EREFUSED, "job slot %u is not pending", command->job);
    if (command->gpu_count != job->spec.gpus)
        return adl_fail(err, ADL_EREFUSED, "job %llu asks for %u GPUs, the plan gives it %u",
                        (unsigned long long)job->spec.id, job->spec.gpus, command->gpu_count);
    if (gpus[0] >= state->cluster->gpu_count)
        return adl_fail(err, ADL_EREFUSED, "GPU %u does not exist", gpus[0]);
    const uint32_t type = adl_gpu_type_of(state->cluster, gpus[0]);
    if (!(job->spec.types >> type & 1) || adl_state_runtime(state, command->job, type) <= 0)
        return adl_fail(err, ADL_EREFUSED, "job %llu does not accept GPUs of type %s", (unsigned long long)job->spec.id,
                        state->cluster->types[type].name);
    return fits_one_bank(state, &job->spec, gpus) ? 0 : check_gang(validator, state, &job->spec, type, gpus, err);
}

static int check_preempt(const struct adl_state *state, const struct adl_command *command, struct adl_error *err)
{
    const struct adl_job *job = live_job(state, command->job, ADL_PHASE_RUNNING);
    if (!job)
        return adl_fail(err, ADL_EREFUSED, "job slot %u is not running", command->job);
    if (!(job->spec.flags & ADL_JOB_PREEMPTIBLE))
        return adl_fail(err, ADL_EREFUSED, "job %llu may not be preempted", (unsigned long long)job->spec.id);
    return 0;
}

/* A GPU that is down keeps its cap until it is back. */
static int check_cap(const struct adl_state *state, const struct adl_command *command, const uint32_t *gpus,
                     struct adl_error *err)
{
    const struct adl_cluster *cluster = state->cluster;
    if (command->gpu_count == 0)
        return adl_fail(err, ADL_EREFUSED, "a power cap names no GPU");
    for (uint32_t i = 0; i < command->gpu_count; i++) {
        if (gpus[i] >= cluster->gpu_count)
            return adl_fail(err, ADL_EREFUSED, "GPU %u does not exist", gpus[i]);
        const struct adl_gpu_type *type = &cluster->types[adl_gpu_type_of(cluster, gpus[i])];
        const double least_w = ADL_CAP_LEAST * type->max_w;
        if (command->power_w != 0 && !(command->power_w >= least_w && command->power_w <= type->max_w))
            return adl_fail(err, ADL_EREFUSED, "GPU %u cannot be capped at %g W: %s takes %g to %g W, or 0 for no cap",
                            gpus[i], command->power_w, type->name, least_w, type->max_w);
    }
    return 0;
}

int adl_validate(struct adl_validator *validator, const struct adl_state *state, const struct adl_command *command,
                 const uint32_t *gpus, struct adl_error *err)
{
    switch (command->kind) {
    case ADL_COMMAND_START:
        return check_start(validator, state, command, gpus, err);
    case ADL_COMMAND_PREEMPT:
        return check_preempt(state, command, err);
    case ADL_COMMAND_WAKE:
        if (command->time_us <= state->now_us)
            return adl_fail(err, ADL_EREFUSED, "a wake-up must lie in the future");
        return 0;
    case ADL_COMMAND_CAP:
        return check_cap(state, command, gpus, err);
    default:
        return adl_fail(err, ADL_EREFUSED, "unknown command %u", command->kind);
    }
}
