#include "policy/adlro/energy.h"

#include "predict/loads.h"
#include "predict/power.h"

#include <math.h>
#include <stdlib.h>

#define CLASSES_MAX 64

/* With weight 1 the energy of a typical job costs this share of its run time. */
#define RUN_SHARE 0.95

/* Others want a scarce type for their energy, too: with weight 1 a job of one GPU pays this many times its price more.
 * A gang pays for the root of its GPUs, by which gangs are ranked: if it paid for each, gangs would run where they need
 * most energy. */
#define SCARCE_SHARE 4

/* Of a job that completed, in the averages. */
#define TYPICAL_SHARE 0.01

struct adl_energy {
    const struct adl_cluster *cluster;
    struct adl_loads *loads; /* by class */
    double weight;
    int64_t switch_us;
    double idle_w;               /* of a GPU, on average */
    double shared_w;             /* draw of all idle GPUs for each job in the cluster, at the last decision */
    double typical_j, typical_s; /* energy beyond idle and run time of a job that completed, on average */
};

void adl_energy_destroy(struct adl_energy *energy)
{
    if (!energy)
        return;
    adl_loads_destroy(energy->loads);
    free(energy);
}

static uint32_t class_of(const struct adl_job_spec *spec)
{
    return spec->class_index % CLASSES_MAX;
}

/* Draw beyond idle of the job's GPUs. */
static double draw_w(const struct adl_energy *energy, const struct adl_job_spec *spec, uint32_t type)
{
    const struct adl_gpu_type *gpu = &energy->cluster->types[type];
    const double load = adl_loads_find(energy->loads, class_of(spec), type, spec->kind).load;
    return spec->gpus * (adl_power_draw_w(gpu, load, 0) - gpu->idle_w);
}

int adl_energy_create(const struct adl_cluster *cluster, double weight, int64_t switch_us, struct adl_energy **ret)
{
    static const struct adl_job_spec single = {.gpus = 1};
    struct adl_energy *energy = calloc(1, sizeof *energy);
    if (!energy || adl_loads_create(cluster, CLASSES_MAX, &energy->loads)) {
        adl_energy_destroy(energy);
        return ADL_ENOMEM;
    }
    energy->cluster = cluster;
    energy->weight = weight;
    energy->switch_us = switch_us;
    energy->typical_s = 1;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const double share = (double)cluster->type_gpus[t] / cluster->gpu_count;
        energy->typical_j += draw_w(energy, &single, t) * share; /* until one has completed: any single GPU */
        energy->idle_w += cluster->types[t].idle_w * share;
    }
    *ret = energy;
    return 0;
}

void adl_energy_copy(struct adl_energy *to, const struct adl_energy *from)
{
    const struct adl_energy own = *to;
    *to = *from;
    to->cluster = own.cluster;
    to->loads = own.loads;
    adl_loads_copy(to->loads, from->loads);
}

/* A GPU's draw tells the load of the only job on it, once the job has read its checkpoint. */
static void learn_load(struct adl_energy *energy, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_gpu_use *use = &state->gpus[event->gpu];
    if (event->telemetry.missing >> ADL_READ_POWER & 1 || use->job[0] == ADL_NONE || use->job[1] != ADL_NONE)
        return;
    const struct adl_job *job = &state->jobs[use->job[0]];
    if (job->phase == ADL_PHASE_RUNNING && event->time_us - job->start_us > energy->switch_us)
        adl_loads_measure(energy->loads, class_of(&job->spec), job->type,
                          (double)event->telemetry.value[ADL_READ_POWER], use->cap_w);
}

static void learn_typical(struct adl_energy *energy, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    if (job->phase != ADL_PHASE_RUNNING || event->outcome.end != ADL_END_COMPLETED || event->time_us <= job->start_us)
        return;
    const double run_s = (double)(event->time_us - job->start_us) * 1e-6;
    energy->typical_j += TYPICAL_SHARE * (draw_w(energy, &job->spec, job->type) * run_s - energy->typical_j);
    energy->typical_s += TYPICAL_SHARE * (run_s - energy->typical_s);
}

void adl_energy_observe(struct adl_energy *energy, const struct adl_event *event, const struct adl_state *state)
{
    if (energy->weight <= 0)
        return;
    if (event->kind == ADL_EVENT_TELEMETRY)
        learn_load(energy, event, state);
    else if (event->kind == ADL_EVENT_FINISH)
        learn_typical(energy, event, state);
}

void adl_energy_begin(struct adl_energy *energy, const struct adl_state *state)
{
    const double jobs = (double)state->running_jobs + state->queue.count;
    const double idle = (double)energy->cluster->gpu_count - state->busy_gpus - state->down_gpus;
    energy->shared_w = idle * energy->idle_w / (jobs > 1 ? jobs : 1);
}

/* The cost of drawing that much for a second, in seconds. */
static double cost_of(const struct adl_energy *energy, double power_w)
{
    return energy->weight > 0 && energy->typical_j > 0
               ? RUN_SHARE * energy->weight * power_w * energy->typical_s / energy->typical_j
               : 0;
}

const struct adl_energy *adl_energy_priced(const struct adl_energy *energy)
{
    return energy->weight > 0 ? energy : NULL;
}

double adl_energy_price(const struct adl_energy *energy, const struct adl_job_spec *spec, uint32_t type,
                        double type_price)
{
    return energy->weight > 0 ? cost_of(energy, draw_w(energy, spec, type) + energy->shared_w) +
                                    SCARCE_SHARE * energy->weight * type_price * sqrt(spec->gpus)
                              : 0;
}

double adl_energy_wait_price(const struct adl_energy *energy)
{
    return cost_of(energy, energy->shared_w);
}
