/* adopt: a world that begins in the middle of things: at some time, with GPUs that are slow or down, and with jobs that
 * wait or run. */
#include "sim/sim.h"

#include <assert.h>
#include <stdlib.h>

int adl_world_sim_begin_at(struct adl_world_sim *world, int64_t now_us, uint64_t seed, struct adl_error *err)
{
    const uint32_t gpus = world->scenario->cluster.gpu_count;
    world->adopts = true;
    if (!world->drift.gpus && !(world->drift.gpus = calloc((size_t)gpus + 1, sizeof *world->drift.gpus)))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the speeds of %u GPUs", gpus);
    world->steady = true;
    return adl_sim_restart(world, now_us, seed, err);
}

int adl_world_sim_adopt_gpu(struct adl_world_sim *world, uint32_t gpu, double speed, bool down)
{
    const double repair_h = world->scenario->faults.gpu_repair_h;
    world->drift.gpus[gpu].given = speed;
    world->steady &= speed == 1;
    if (!down)
        return 0;
    world->gpus[gpu].down = 1;
    adl_sim_set_power(world, gpu);
    if (repair_h <= 0)
        return 0;
    world->repairs++;
    const int64_t up_us = world->now_us + adl_sim_us(adl_rng_exponential(&world->faults) * repair_h * 3600.0) + 1;
    return adl_sim_schedule(world, up_us, SIM_EVENT_GPU_UP, gpu, 0);
}

int adl_world_sim_adopt_fault(struct adl_world_sim *world, uint32_t gpu, int64_t from_us, int64_t to_us)
{
    if (world->gpus[gpu].down && from_us <= world->now_us)
        world->repairs++;
    else if (adl_sim_schedule(world, from_us, SIM_EVENT_GPU_FAIL, gpu, 0))
        return ADL_ENOMEM;
    return adl_sim_schedule(world, to_us, SIM_EVENT_GPU_UP, gpu, 0);
}

int adl_world_sim_adopt_wake(struct adl_world_sim *world, int64_t time_us)
{
    world->wakes++;
    return adl_sim_schedule(world, time_us > world->now_us ? time_us : world->now_us, SIM_EVENT_WAKE, 0, 0);
}

int adl_world_sim_adopt_drain(struct adl_world_sim *world, uint32_t gpu, int64_t time_us)
{
    return adl_sim_schedule(world, time_us > world->now_us ? time_us : world->now_us, SIM_EVENT_DRAIN, gpu, 0);
}

/* Puts it on its GPUs, as if it had started there when it did. */
static int hold(struct adl_world_sim *world, uint32_t slot, const struct adl_adopted_job *from)
{
    struct sim_job *job = &world->jobs[slot];
    const struct adl_command command = {.kind = ADL_COMMAND_START, .gpu_count = job->gpus, .job = slot};
    job->attempts = 0; /* it has restarted already */
    if (adl_sim_start(world, &command, from->gpus))
        return ADL_ENOMEM;
    job->attempts = from->attempts;
    job->start_us = from->start_us;
    job->saved = from->saved;
    if (from->stopping)
        return adl_sim_stop(world, slot);
    return world->scenario->kill_at_limit ? adl_sim_set_speed(world, slot) : 0; /* the limit counts from the start */
}

int adl_world_sim_adopt(struct adl_world_sim *world, uint32_t slot, const struct adl_adopted_job *from)
{
    assert(slot >= world->job_count);
    if (adl_sim_skip_slots(world, slot))
        return ADL_ENOMEM;
    adl_sim_set_job(world, slot, from->truth);
    struct sim_job *job = &world->jobs[slot];
    job->remaining = from->remaining;
    job->saved = from->saved;
    job->run_us = from->run_us;
    job->attempts = from->attempts;
    return from->gpus ? hold(world, slot, from) : 0;
}
