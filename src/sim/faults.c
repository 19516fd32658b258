/* faults: GPUs and nodes fail and are repaired, throttle, and change speed with a software update. */
#include "sim/sim.h"

int adl_sim_post(struct adl_world_sim *world, struct pending_event event)
{
    if (world->outbox_first == world->outbox_count)
        world->outbox_first = world->outbox_count = 0;
    if (adl_grow((void **)&world->outbox, &world->outbox_capacity, (size_t)world->outbox_count + 1,
                 sizeof *world->outbox))
        return ADL_ENOMEM;
    world->outbox[world->outbox_count++] = event;
    return 0;
}

static int gpu_down(struct adl_world_sim *world, uint32_t gpu)
{
    struct sim_gpu *it = &world->gpus[gpu];
    if (it->down > 0) {
        it->down++;
        return 0;
    }
    for (uint32_t slot; (slot = it->job[0]) != ADL_NONE;) {
        if (adl_sim_evict(world, slot, true) ||
            adl_sim_post(
                world, (struct pending_event){ADL_EVENT_EVICT, true, slot, adl_sim_revealed_remaining(world, slot), 0}))
            return ADL_ENOMEM;
    }
    adl_sim_count_power(world, gpu);
    it->down = 1;
    adl_sim_set_power(world, gpu);
    return adl_sim_post(world, (struct pending_event){.kind = ADL_EVENT_GPU_DOWN, .ref = gpu});
}

static int gpu_up(struct adl_world_sim *world, uint32_t gpu)
{
    struct sim_gpu *it = &world->gpus[gpu];
    if (--it->down > 0)
        return 0;
    adl_sim_count_power(world, gpu);
    adl_sim_set_power(world, gpu);
    return adl_sim_post(world, (struct pending_event){.kind = ADL_EVENT_GPU_UP, .ref = gpu});
}

/* Jobs on it keep running, and nothing brings it back. */
static int drain(struct adl_world_sim *world, uint32_t gpu)
{
    if (world->gpus[gpu].down++ > 0)
        return 0;
    adl_sim_count_power(world, gpu);
    adl_sim_set_power(world, gpu);
    return adl_sim_post(world, (struct pending_event){.kind = ADL_EVENT_GPU_DOWN, .ref = gpu});
}

static int for_node(struct adl_world_sim *world, uint32_t index, int (*change)(struct adl_world_sim *, uint32_t))
{
    const struct adl_node *node = &world->scenario->cluster.nodes[index];
    for (uint32_t gpu = node->gpu_first; gpu < node->gpu_first + node->gpu_count; gpu++)
        if (change(world, gpu))
            return ADL_ENOMEM;
    return 0;
}

/* A GPU or node fails now, is repaired after an exponential time, and fails again after another; the times do not
 * depend on the policy. */
static int fail_or_repair(struct adl_world_sim *world, enum sim_event what, uint32_t ref)
{
    const struct adl_faults *faults = &world->scenario->faults;
    const bool fails = what == SIM_EVENT_GPU_FAIL || what == SIM_EVENT_NODE_FAIL;
    const bool node = what == SIM_EVENT_NODE_FAIL || what == SIM_EVENT_NODE_UP;
    const double mean_h = fails ? (node ? faults->node_repair_h : faults->gpu_repair_h)
                                : (node ? faults->node_mtbf_h : faults->gpu_mtbf_h);
    const int64_t next_us = world->now_us + adl_sim_us(adl_rng_exponential(&world->faults) * mean_h * 3600.0) + 1;
    const enum sim_event then =
        fails ? (node ? SIM_EVENT_NODE_UP : SIM_EVENT_GPU_UP) : (node ? SIM_EVENT_NODE_FAIL : SIM_EVENT_GPU_FAIL);
    int (*change)(struct adl_world_sim *, uint32_t) = fails ? gpu_down : gpu_up;
    world->repairs = fails ? world->repairs + 1 : world->repairs - 1;
    if (mean_h > 0 && adl_sim_schedule(world, next_us, then, ref, 0))
        return ADL_ENOMEM;
    return node ? for_node(world, ref, change) : change(world, ref);
}

static int throttle(struct adl_world_sim *world, uint32_t gpu)
{
    world->drift.gpus[gpu].hot = !world->drift.gpus[gpu].hot;
    const int64_t half_us = adl_sim_us(world->scenario->drift.throttle_period_s / 2);
    if (adl_sim_schedule(world, world->now_us + half_us, SIM_EVENT_THROTTLE, gpu, 0))
        return ADL_ENOMEM;
    return adl_sim_set_speeds_on(world, gpu);
}

/* The GPUs of a type that an update changes report their version, if the scenario names it: "0" before the first. */
static int post_versions(struct adl_world_sim *world, uint32_t index, bool first)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const uint32_t type = world->scenario->drift.updates[index].type;
    for (uint32_t gpu = 0; world->scenario->drift.updates[index].version[0] && gpu < cluster->gpu_count; gpu++)
        if (adl_gpu_type_of(cluster, gpu) == type &&
            adl_sim_post(world, (struct pending_event){
                                    .kind = ADL_EVENT_VERSION, .ref = gpu, .value = first ? -1.0 : (double)index}))
            return ADL_ENOMEM;
    return 0;
}

static int update(struct adl_world_sim *world, uint32_t index)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const uint32_t type = world->scenario->drift.updates[index].type;
    world->drift.update_factor[type] *= world->scenario->drift.updates[index].factor;
    for (uint32_t gpu = 0; gpu < cluster->gpu_count; gpu++)
        if (adl_gpu_type_of(cluster, gpu) == type && adl_sim_set_speeds_on(world, gpu))
            return ADL_ENOMEM;
    return post_versions(world, index, false);
}

static int schedule_faults(struct adl_world_sim *world)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const struct adl_faults *faults = &world->scenario->faults;
    for (uint32_t g = 0; faults->gpu_mtbf_h > 0 && g < cluster->gpu_count; g++)
        if (adl_sim_schedule(
                world, world->now_us + adl_sim_us(adl_rng_exponential(&world->faults) * faults->gpu_mtbf_h * 3600.0),
                SIM_EVENT_GPU_FAIL, g, 0))
            return ADL_ENOMEM;
    for (uint32_t n = 0; faults->node_mtbf_h > 0 && n < cluster->node_count; n++)
        if (adl_sim_schedule(world, adl_sim_us(adl_rng_exponential(&world->faults) * faults->node_mtbf_h * 3600.0),
                             SIM_EVENT_NODE_FAIL, n, 0))
            return ADL_ENOMEM;
    return 0;
}

static int schedule_drift(struct adl_world_sim *world)
{
    const struct adl_scenario *scenario = world->scenario;
    for (uint32_t i = 0; i < scenario->drift.update_count; i++)
        if (adl_sim_schedule(world, adl_sim_us(scenario->drift.updates[i].time_s), SIM_EVENT_UPDATE, i, 0) ||
            post_versions(world, i, true))
            return ADL_ENOMEM;
    const int64_t half_us = adl_sim_us(scenario->drift.throttle_period_s / 2);
    for (uint32_t g = 0; world->drift.gpus && g < scenario->cluster.gpu_count; g++)
        if (world->drift.gpus[g].throttles &&
            adl_sim_schedule(world, half_us * (int64_t)(g % 7 + 1) / 7, SIM_EVENT_THROTTLE, g, 0))
            return ADL_ENOMEM;
    return 0;
}

/* A limit that changes may let waiting jobs start, as a repair does. */
static int schedule_power_limits(struct adl_world_sim *world)
{
    for (uint32_t i = 0; i < world->scenario->power_limit_count; i++) {
        if (adl_sim_schedule(world, adl_sim_us(world->scenario->power_limits[i].time_s), SIM_EVENT_POWER_LIMIT, i, 0))
            return ADL_ENOMEM;
        world->repairs++;
    }
    return 0;
}

int adl_sim_schedule_faults(struct adl_world_sim *world)
{
    int status = schedule_faults(world);
    status = status ? status : schedule_drift(world);
    return status ? status : schedule_power_limits(world);
}

int adl_sim_fault(struct adl_world_sim *world, enum sim_event what, uint32_t ref)
{
    if (what == SIM_EVENT_THROTTLE)
        return throttle(world, ref);
    if (what == SIM_EVENT_DRAIN)
        return drain(world, ref);
    return what == SIM_EVENT_UPDATE ? update(world, ref) : fail_or_repair(world, what, ref);
}
