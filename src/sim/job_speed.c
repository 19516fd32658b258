/* job_speed: how fast jobs run, what that makes GPUs draw, and how a job takes and leaves its GPUs. */
#include "sim/runtimes.h"
#include "sim/sim.h"

#include <assert.h>
#include <math.h>

/* Speed of a job beside another on a GPU of the type, relative to alone: as measured for the two classes, on one GPU
 * each. Else both are slowed by the contention for compute units or bandwidth, and by 5 % for switching. */
static double interference(const struct adl_world_sim *world, uint32_t slot, uint32_t other, uint32_t type)
{
    const uint32_t class_index = world->jobs[slot].class_index, beside = world->jobs[other].class_index;
    const struct adl_job_class *a = &world->scenario->classes[class_index], *b = &world->scenario->classes[beside];
    const double measured = adl_scenario_pair_speed(world->scenario, class_index, beside, type);
    if (measured > 0)
        return measured;
    double pressure = 1.0;
    pressure = a->activity + b->activity > pressure ? a->activity + b->activity : pressure;
    pressure = a->bandwidth + b->bandwidth > pressure ? a->bandwidth + b->bandwidth : pressure;
    return 0.95 / pressure;
}

static const struct adl_job_class *class_of(const struct adl_world_sim *world, uint32_t slot)
{
    return &world->scenario->classes[world->jobs[slot].class_index];
}

/* A job across nodes, relative to within one, as the world was told when it adopted the job. */
static double adopted_spanning_speed(const struct adl_world_sim *world, uint32_t slot, uint32_t type)
{
    const size_t at = (size_t)slot * world->scenario->cluster.type_count + type;
    return world->spanning_us[at] > 0 ? (double)world->runtime_us[at] / (double)world->spanning_us[at] : 1.0;
}

/* The slowest link of the nodes of a job; negative if it is on one. */
static double slowest_link_gbs(const struct adl_world_sim *world, uint32_t slot)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const uint32_t first = world->jobs[slot].first_gpu;
    uint32_t node = adl_gpu_node_of(cluster, first);
    double link_gbs = -1;
    for (uint32_t gpu = first, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        const uint32_t other = adl_gpu_node_of(cluster, gpu);
        if (other == node)
            continue;
        link_gbs = link_gbs < 0 ? cluster->nodes[node].link_gbs : link_gbs;
        link_gbs = cluster->nodes[other].link_gbs < link_gbs ? cluster->nodes[other].link_gbs : link_gbs;
        node = other;
    }
    return link_gbs;
}

static double spanning_speed(const struct adl_world_sim *world, uint32_t slot)
{
    const double link_gbs = slowest_link_gbs(world, slot);
    if (link_gbs < 0)
        return 1.0;
    if (world->adopts)
        return adopted_spanning_speed(world, slot,
                                      adl_gpu_type_of(&world->scenario->cluster, world->jobs[slot].first_gpu));
    return adl_spanning_speed(world->scenario, world->jobs[slot].class_index, link_gbs);
}

/* Speed relative to a job alone on new GPUs of one node without power caps: a gang is as fast as its slowest GPU. */
static double relative_speed(const struct adl_world_sim *world, uint32_t slot)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const struct sim_job *job = &world->jobs[slot];
    if (world->steady && world->shared_gpus == 0 && world->capped_gpus == 0)
        return job->gpus == 1 || class_of(world, slot)->sync_share <= 0 ? 1.0 : spanning_speed(world, slot);
    double slowest = HUGE_VAL;
    for (uint32_t gpu = job->first_gpu, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        const struct sim_gpu *it = &world->gpus[gpu];
        place = it->job[0] == slot ? 0 : 1;
        const uint32_t type = adl_gpu_type_of(cluster, gpu);
        double speed = adl_true_drift_speed(&world->drift, gpu, type) * world->caps[gpu].speed;
        const uint32_t other = it->job[1 - place];
        if (other != ADL_NONE && world->jobs[other].phase == SIM_RUNNING)
            speed *= interference(world, slot, other, type);
        slowest = speed < slowest ? speed : slowest;
    }
    return job->gpus > 1 ? slowest * spanning_speed(world, slot) : slowest;
}

void adl_sim_activity(const struct adl_world_sim *world, uint32_t gpu, double *ret_activity, double *ret_bandwidth)
{
    *ret_activity = *ret_bandwidth = 0;
    for (int place = 0; place < 2; place++) {
        const uint32_t slot = world->gpus[gpu].job[place];
        if (slot == ADL_NONE || world->jobs[slot].phase != SIM_RUNNING)
            continue;
        *ret_activity += class_of(world, slot)->activity;
        *ret_bandwidth += class_of(world, slot)->bandwidth;
    }
}

/* Draw of each GPU of a job that does not share it. */
static double alone_w(const struct adl_world_sim *world, uint32_t slot, uint32_t gpu)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const double activity = world->jobs[slot].phase == SIM_RUNNING ? class_of(world, slot)->activity : 0;
    return adl_power_w(&cluster->types[adl_gpu_type_of(cluster, gpu)], true, activity);
}

/* Charges the GPU's energy to the jobs on it in equal parts, and adds its busy time. Call before anything about it
 * changes. */
void adl_sim_count_power(struct adl_world_sim *world, uint32_t gpu)
{
    struct sim_gpu *it = &world->gpus[gpu];
    const int64_t since_us = it->meter.since_us;
    const double drawn_j = adl_power_count(&it->meter, world->now_us);
    if (it->job[0] == ADL_NONE)
        return;
    if (world->drift.gpus)
        world->drift.gpus[gpu].busy_s += (double)(world->now_us - since_us) * 1e-6;
    const double share = it->job[1] == ADL_NONE ? 1.0 : 0.5;
    world->jobs[it->job[0]].energy_j += share * drawn_j;
    if (it->job[1] != ADL_NONE)
        world->jobs[it->job[1]].energy_j += share * drawn_j;
}

/* Sets its draw and, if it is capped, its speed. Call after a change, before job speeds are set. */
void adl_sim_set_power(struct adl_world_sim *world, uint32_t gpu)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    struct sim_gpu *it = &world->gpus[gpu];
    const struct adl_gpu_type *type = &cluster->types[adl_gpu_type_of(cluster, gpu)];
    double activity, bandwidth;
    if (it->job[0] == ADL_NONE) {
        it->meter.power_w = it->down ? 0.0 : type->idle_w;
        return;
    }
    adl_sim_activity(world, gpu, &activity, &bandwidth);
    if (world->caps[gpu].cap_w > 0) {
        const struct adl_power_point point = adl_power_capped(type, activity, world->caps[gpu].cap_w);
        world->caps[gpu].speed = point.speed;
        activity = point.load;
    }
    it->meter.power_w = adl_power_w(type, true, activity);
}

static void progress(struct adl_world_sim *world, struct sim_job *job)
{
    if (job->phase == SIM_RUNNING) {
        job->remaining -= job->rate * (double)(world->now_us - job->since_us);
        job->remaining = job->remaining > 0 ? job->remaining : 0;
    }
    job->since_us = world->now_us;
}

/* Recomputes the speed of a running job and the time of its end. */
int adl_sim_set_speed(struct adl_world_sim *world, uint32_t slot)
{
    struct sim_job *job = &world->jobs[slot];
    const struct adl_cluster *cluster = &world->scenario->cluster;
    progress(world, job);
    const double whole_us = (double)world->runtime_us[(size_t)slot * cluster->type_count + job->type];
    const double speed = relative_speed(world, slot);
    job->rate = speed / whole_us;
    const double left_us = job->remaining * whole_us / speed + 0.5;
    int64_t end_us = world->now_us + (left_us < 1.0 ? 1 : (int64_t)left_us);
    job->out_of_time = world->scenario->kill_at_limit && end_us > job->start_us + job->limit_us;
    if (job->out_of_time) /* perhaps before it had read its checkpoint */
        end_us = job->start_us + job->limit_us > world->now_us ? job->start_us + job->limit_us : world->now_us;
    return adl_sim_schedule(world, end_us, SIM_EVENT_FINISH, slot, ++job->generation);
}

int adl_sim_set_speeds_on(struct adl_world_sim *world, uint32_t gpu)
{
    for (int place = 0; place < 2; place++) {
        const uint32_t slot = world->gpus[gpu].job[place];
        if (slot != ADL_NONE && world->jobs[slot].phase == SIM_RUNNING && adl_sim_set_speed(world, slot))
            return ADL_ENOMEM;
    }
    return 0;
}

/* Sets the draw of each GPU under its cap, then the speeds of the jobs there: a gang's once for all its consecutive
 * GPUs in the command. */
int adl_sim_cap(struct adl_world_sim *world, const struct adl_command *command, const uint32_t *gpus)
{
    for (uint32_t i = 0; i < command->gpu_count; i++) {
        struct sim_cap *cap = &world->caps[gpus[i]];
        adl_sim_count_power(world, gpus[i]);
        world->capped_gpus -= cap->cap_w > 0;
        world->capped_gpus += command->power_w > 0;
        *cap = (struct sim_cap){command->power_w, 1.0};
        adl_sim_set_power(world, gpus[i]);
    }
    for (uint32_t i = 0; i < command->gpu_count; i++) {
        const struct sim_gpu *it = &world->gpus[gpus[i]], *before = i > 0 ? &world->gpus[gpus[i - 1]] : NULL;
        const bool same = before && it->job[0] == before->job[0] && it->job[1] == before->job[1];
        if (!same && adl_sim_set_speeds_on(world, gpus[i]))
            return ADL_ENOMEM;
    }
    return 0;
}

/* Recomputes the neighbours' speeds after a change on the job's GPUs. */
static int set_speeds_of_neighbours(struct adl_world_sim *world, uint32_t slot)
{
    for (uint32_t gpu = world->jobs[slot].first_gpu, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        const uint32_t other = world->gpus[gpu].job[1 - place];
        if (other != ADL_NONE && world->jobs[other].phase == SIM_RUNNING && adl_sim_set_speed(world, other))
            return ADL_ENOMEM;
    }
    return 0;
}

/* Counts what the GPUs of a job have drawn, and sets what they draw from now on, while no GPU of the world is shared.
 */
static void set_draw(struct adl_world_sim *world, struct sim_job *job, double power_w)
{
    const int64_t now_us = world->now_us;
    struct sim_gpu *gpus = world->gpus;
    struct adl_true_drift_gpu *drift = world->drift.gpus;
    double energy_j = job->energy_j;
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = gpus[gpu].next_gpu[0]) {
        struct sim_gpu *it = &gpus[gpu];
        if (drift)
            drift[gpu].busy_s += (double)(now_us - it->meter.since_us) * 1e-6;
        energy_j += adl_power_count(&it->meter, now_us);
        it->meter.power_w = power_w;
    }
    job->energy_j = energy_j;
}

/* The same for each GPU by those who share it and by its cap. */
static void set_draw_shared(struct adl_world_sim *world, uint32_t slot)
{
    for (uint32_t gpu = world->jobs[slot].first_gpu, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        adl_sim_count_power(world, gpu);
        adl_sim_set_power(world, gpu);
    }
}

/* From starting to running, or to stopping: updates power and the neighbours' speeds. */
int adl_sim_set_phase(struct adl_world_sim *world, uint32_t slot, enum sim_phase phase)
{
    struct sim_job *job = &world->jobs[slot];
    progress(world, job);
    job->phase = (uint8_t)phase;
    if (world->shared_gpus == 0 && world->capped_gpus == 0)
        set_draw(world, job, alone_w(world, slot, job->first_gpu));
    else
        set_draw_shared(world, slot);
    if (world->shared_gpus == 0)
        return phase == SIM_RUNNING ? adl_sim_set_speed(world, slot) : 0;
    const int status = set_speeds_of_neighbours(world, slot);
    return status || phase != SIM_RUNNING ? status : adl_sim_set_speed(world, slot);
}

/* Puts a job on a GPU beside another, or on one that may have a cap. *link: where the chain of its GPUs continues. */
static void take_gpu(struct adl_world_sim *world, uint32_t slot, uint32_t gpu, uint32_t **link)
{
    struct sim_gpu *it = &world->gpus[gpu];
    const uint32_t place = it->job[0] == ADL_NONE ? 0 : 1;
    assert(it->job[place] == ADL_NONE);
    adl_sim_count_power(world, gpu);
    world->shared_gpus += place;
    it->job[place] = slot;
    **link = gpu;
    *link = &it->next_gpu[place];
    adl_sim_set_power(world, gpu);
}

/* Puts a job on its GPUs; true if it shares one of them. */
static bool take_gpus(struct adl_world_sim *world, uint32_t slot, const uint32_t *gpus, uint32_t count)
{
    const double power_w = alone_w(world, slot, gpus[0]);
    const int64_t now_us = world->now_us;
    const uint32_t shared_before = world->shared_gpus;
    const bool capped = world->capped_gpus > 0;
    struct sim_gpu *all = world->gpus;
    uint32_t *link = &world->jobs[slot].first_gpu;
    world->jobs[slot].type = (uint16_t)adl_gpu_type_of(&world->scenario->cluster, gpus[0]);
    for (uint32_t i = 0; i < count; i++) {
        struct sim_gpu *it = &all[gpus[i]];
        if (it->job[0] != ADL_NONE || capped) {
            take_gpu(world, slot, gpus[i], &link);
            continue;
        }
        adl_power_count(&it->meter, now_us);
        it->meter.power_w = power_w;
        it->job[0] = slot;
        *link = gpus[i];
        link = &it->next_gpu[0];
    }
    *link = ADL_NONE;
    return world->shared_gpus > shared_before;
}

int adl_sim_start(struct adl_world_sim *world, const struct adl_command *command, const uint32_t *gpus)
{
    struct sim_job *job = &world->jobs[command->job];
    const int64_t restart_us =
        job->attempts > 0 ? adl_sim_us(adl_preemption_restart_s(&world->scenario->preemption, job->gpus)) : 0;
    job->start_us = job->since_us = world->now_us;
    job->saved = job->remaining;
    job->attempts++;
    job->phase = restart_us > 0 ? SIM_STARTING : SIM_RUNNING;
    world->held_jobs++;
    const bool shared = take_gpus(world, command->job, gpus, command->gpu_count);
    if (restart_us > 0)
        return adl_sim_schedule(world, world->now_us + restart_us, SIM_EVENT_RESUME, command->job, ++job->generation);
    if (shared && set_speeds_of_neighbours(world, command->job))
        return ADL_ENOMEM;
    return adl_sim_set_speed(world, command->job);
}

/* Takes a job off its GPUs while no GPU of the world is shared. */
static void leave_unshared(struct adl_world_sim *world, struct sim_job *job)
{
    const double idle_w = world->scenario->cluster.types[job->type].idle_w;
    const int64_t now_us = world->now_us;
    struct sim_gpu *gpus = world->gpus;
    struct adl_true_drift_gpu *drift = world->drift.gpus;
    double energy_j = job->energy_j;
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = gpus[gpu].next_gpu[0]) {
        struct sim_gpu *it = &gpus[gpu];
        if (drift)
            drift[gpu].busy_s += (double)(now_us - it->meter.since_us) * 1e-6;
        energy_j += adl_power_count(&it->meter, now_us);
        it->job[0] = ADL_NONE;
        it->meter.power_w = it->down ? 0.0 : idle_w;
    }
    job->energy_j = energy_j;
}

/* The same if GPUs are shared: neighbours may run faster afterwards. */
static int leave_shared(struct adl_world_sim *world, uint32_t slot)
{
    for (uint32_t gpu = world->jobs[slot].first_gpu, next; gpu != ADL_NONE; gpu = next) {
        struct sim_gpu *it = &world->gpus[gpu];
        next = it->next_gpu[it->job[0] == slot ? 0 : 1];
        adl_sim_count_power(world, gpu);
        if (it->job[0] == slot) {
            it->job[0] = it->job[1];
            it->next_gpu[0] = it->next_gpu[1];
        }
        world->shared_gpus -= it->job[0] != ADL_NONE;
        it->job[1] = ADL_NONE;
        adl_sim_set_power(world, gpu);
        const uint32_t other = it->job[0];
        if (other != ADL_NONE && world->jobs[other].phase == SIM_RUNNING && adl_sim_set_speed(world, other))
            return ADL_ENOMEM;
    }
    return 0;
}

/* Takes a job off its GPUs. */
int adl_sim_leave(struct adl_world_sim *world, uint32_t slot)
{
    struct sim_job *job = &world->jobs[slot];
    progress(world, job);
    if (world->shared_gpus == 0)
        leave_unshared(world, job);
    else if (leave_shared(world, slot))
        return ADL_ENOMEM;
    job->first_gpu = ADL_NONE;
    job->run_us += world->now_us - job->start_us;
    job->generation++;
    world->held_jobs--;
    return 0;
}

/* The work left after a failure: from the last checkpoint of this attempt, or from its beginning. Jobs that checkpoint
 * when they are told to stop have, for failures, a checkpoint every interval_s. */
static double after_failure(const struct adl_world_sim *world, const struct sim_job *job)
{
    const double interval_us = world->scenario->preemption.interval_s * 1e6;
    const double ran_us = (double)(world->now_us - job->start_us);
    if (interval_us <= 0 || ran_us < interval_us)
        return job->saved;
    return job->saved - (job->saved - job->remaining) * (floor(ran_us / interval_us) * interval_us / ran_us);
}

/* Subtracts the work of this attempt that a stop at this moment loses. The state that the attempt started from is never
 * lost. */
static void lose_work(const struct adl_world_sim *world, struct sim_job *job)
{
    const struct adl_job_spec spec = {.stop_loss = job->stop_loss, .checkpoint_us = job->checkpoint_us};
    const int64_t ran_us = world->now_us - job->start_us, lost_us = adl_job_lost_us(&spec, ran_us);
    if (lost_us == ran_us)
        job->remaining = job->saved;
    else if (lost_us > 0)
        job->remaining += (job->saved - job->remaining) * ((double)lost_us / (double)ran_us);
}

int adl_sim_stop(struct adl_world_sim *world, uint32_t slot)
{
    struct sim_job *job = &world->jobs[slot];
    const int64_t end_us = world->now_us + adl_sim_us(world->scenario->preemption.checkpoint_s);
    if (adl_sim_set_phase(world, slot, SIM_STOPPING))
        return ADL_ENOMEM;
    lose_work(world, job);
    return adl_sim_schedule(world, end_us, SIM_EVENT_EVICT, slot, ++job->generation);
}

/* Share of the work that a preemption adds. */
static double rework(const struct adl_world_sim *world, uint32_t slot)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const struct sim_job *job = &world->jobs[slot];
    const double whole_us = (double)world->runtime_us[(size_t)slot * cluster->type_count + job->type];
    return adl_preemption_rework_s(&world->scenario->preemption, job->gpus) * 1e6 / whole_us;
}

int adl_sim_evict(struct adl_world_sim *world, uint32_t slot, bool fault)
{
    struct sim_job *job = &world->jobs[slot];
    progress(world, job);
    if (!fault)
        job->remaining += rework(world, slot);
    else if (job->stop_loss == ADL_LOSS_NOTHING)
        job->remaining = after_failure(world, job);
    else if (job->phase != SIM_STOPPING)
        lose_work(world, job);
    if (adl_sim_leave(world, slot))
        return ADL_ENOMEM;
    job->phase = SIM_QUEUED;
    return 0;
}

double adl_sim_steps_left(const struct adl_world_sim *world, uint32_t slot)
{
    const struct sim_job *job = &world->jobs[slot];
    const double left = job->remaining - job->rate * (double)(world->now_us - job->since_us);
    return left > 0 ? left * job->steps : 0;
}

/* A measured speed is valid for one set of running neighbours: if one starts or leaves, or reads or writes its
 * checkpoint, there is no measurement. Every change of a job's speed sets its since_us. */
double adl_sim_steady_steps_per_s(const struct adl_world_sim *world, uint32_t slot)
{
    const struct sim_job *job = &world->jobs[slot];
    const int64_t restart_us =
        job->attempts > 1 ? adl_sim_us(adl_preemption_restart_s(&world->scenario->preemption, job->gpus)) : 0;
    if (job->phase != SIM_RUNNING || job->since_us == world->now_us ||
        (job->since_us > world->swept_us && job->since_us != job->start_us + restart_us))
        return 0;
    for (uint32_t gpu = job->first_gpu, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        const uint32_t other = world->gpus[gpu].job[1 - place];
        if (other != ADL_NONE && world->jobs[other].phase != SIM_RUNNING)
            return 0;
    }
    return job->steps * job->rate * 1e6;
}
