#include "service/service_state.h"

#include <stdio.h>

const char *adl_gpu_state_name(int state)
{
    static const char *const names[] = {"idle", "busy", "draining", "drained", "occupied", "lost"};
    return names[state];
}

/* A ticket lock: without it the HTTP thread, which releases the mutex and takes it again all the time, would mostly get
 * it before the deciding thread that sleeps for it. */
void adl_service_state_lock(struct adl_service_state *shared)
{
    pthread_mutex_lock(&shared->turn);
    pthread_mutex_lock(&shared->lock);
    pthread_mutex_unlock(&shared->turn);
}

void adl_service_state_unlock(struct adl_service_state *shared)
{
    pthread_mutex_unlock(&shared->lock);
}

int adl_service_state_gpu_state(const struct adl_service_state *shared, uint32_t gpu)
{
    const struct adl_service_state_gpu *it = &shared->gpus[gpu];
    const bool busy = adl_engine_state(shared->engine)->gpus[gpu].job[0] != ADL_NONE;
    if (it->lost)
        return ADL_GPU_STATE_LOST;
    if (it->drain)
        return busy ? ADL_GPU_STATE_DRAINING : ADL_GPU_STATE_DRAINED;
    if (it->foreign > 0)
        return ADL_GPU_STATE_OCCUPIED;
    return busy ? ADL_GPU_STATE_BUSY : ADL_GPU_STATE_IDLE;
}

/* The lock is released between a write and the engine's events about it: the engine may not have the job yet, may have
 * it running still, or may have another job in its slot. */
static bool waits_in_engine(const struct adl_service_state *shared, uint64_t id, uint32_t slot)
{
    const struct adl_state *state = adl_engine_state(shared->engine);
    return slot < state->job_capacity && state->jobs[slot].phase == ADL_PHASE_PENDING &&
           state->jobs[slot].spec.id == id;
}

bool adl_service_state_in_queue(const struct adl_service_state *shared, const struct adl_job_entry *job)
{
    bool there = false;
    for (uint32_t i = 0; i < job->alternative_count; i++)
        there = there || waits_in_engine(shared, job->id, job->alternatives[i].slot);
    return there;
}

void adl_service_state_reason(const struct adl_service_state *shared, const struct adl_job_entry *job, char *ret,
                              size_t size)
{
    if (job->reason[0] != '\0') {
        snprintf(ret, size, "%s", job->reason);
        return;
    }
    if (job->stage == ADL_STAGE_QUEUED || job->stage == ADL_STAGE_CLUSTER_STARTED) {
        for (uint32_t i = 0; i < job->alternative_count; i++)
            if (waits_in_engine(shared, job->id, job->alternatives[i].slot)) {
                adl_engine_explain(shared->engine, job->alternatives[i].slot, ret, size);
                if (ret[0] != '\0')
                    return;
            }
        snprintf(ret, size, "turn: it is being looked at");
        return;
    }
    if (job->stage == ADL_STAGE_PLACED && job->gpus) {
        const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
        snprintf(ret, size, "placed on %s: the cluster has not started it yet",
                 cluster->nodes[adl_gpu_node_of(cluster, job->gpus[0])].name);
        return;
    }
    static const char *const others[ADL_STAGE_COUNT] = {
        [ADL_STAGE_NEW] = "held: release it to let it run",
        [ADL_STAGE_HELD] = "held: release it to let it run",
        [ADL_STAGE_AWAITS_JOBS] = "dependency: waits for other jobs or for a time",
        [ADL_STAGE_AWAITS_TIME] = "dependency: waits for other jobs or for a time",
        [ADL_STAGE_AWAITS_ARRAY] = "dependency: waits for other jobs or for a time",
        [ADL_STAGE_RUNNING] = "runs",
        [ADL_STAGE_CANCELLING] = "is being stopped",
        [ADL_STAGE_REQUEUEING] = "is being stopped"};
    snprintf(ret, size, "%s", others[job->stage] ? others[job->stage] : "");
}

void adl_service_state_gpu_name(const struct adl_service_state *shared, uint32_t gpu, char ret[ADL_GPU_NAME_SIZE])
{
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    snprintf(ret, ADL_GPU_NAME_SIZE, "%s:%s#%u", cluster->nodes[adl_gpu_node_of(cluster, gpu)].name,
             cluster->types[adl_gpu_type_of(cluster, gpu)].name, shared->inventory->gpus[gpu].index);
}
