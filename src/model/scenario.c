#include "model/scenario.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>

/* Selects from figures for 1, 2 to 8 and more GPUs. */
static double by_gpus(const double figures[3], uint32_t gpus)
{
    return figures[gpus > 8 ? 2 : gpus > 1];
}

double adl_preemption_restart_s(const struct adl_preemption *preemption, uint32_t gpus)
{
    const double *by_gpus_s = preemption->restart_by_gpus_s;
    const bool graded = by_gpus_s[0] > 0 || by_gpus_s[1] > 0 || by_gpus_s[2] > 0;
    return graded ? by_gpus(by_gpus_s, gpus) : preemption->restart_s;
}

double adl_preemption_rework_s(const struct adl_preemption *preemption, uint32_t gpus)
{
    return by_gpus(preemption->rework_by_gpus_s, gpus);
}

void adl_variants_clear(struct adl_variant *variants, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(variants[i].settings);
    free(variants);
}

void adl_scenario_clear(struct adl_scenario *scenario)
{
    adl_cluster_clear(&scenario->cluster);
    free(scenario->classes);
    free(scenario->workload.mix);
    free(scenario->pair_speed);
    free(scenario->gang_speed);
    free(scenario->settings);
    adl_variants_clear(scenario->variants, scenario->variant_count);
    *scenario = (struct adl_scenario){0};
}

void adl_scenario_set_jobs(struct adl_scenario *scenario, uint64_t jobs)
{
    if (jobs != scenario->workload.jobs)
        scenario->references = (struct adl_score_figures){0};
    scenario->workload.jobs = jobs;
}

int adl_scenario_add_setting(struct adl_scenario *scenario, const char *name, const char *value)
{
    struct adl_text text = {0};
    adl_text_printf(&text, "%s%s=%s\n", scenario->settings ? scenario->settings : "", name, value);
    if (adl_text_status(&text)) {
        adl_text_clear(&text);
        return ADL_ENOMEM;
    }
    free(scenario->settings);
    scenario->policy.settings = scenario->settings = text.data;
    return 0;
}

void adl_scenario_move_policy(struct adl_scenario *to, struct adl_scenario *from)
{
    free(to->settings);
    to->policy = from->policy;
    to->settings = from->settings;
    from->policy.settings = from->settings = NULL;
}

static double modelled_gang_speed(const struct adl_job_class *class, uint32_t gpus)
{
    double speed = gpus;
    for (uint32_t n = 1; n < gpus; n *= 2)
        speed *= class->scaling;
    return speed;
}

double adl_scenario_gang_speed(const struct adl_scenario *scenario, uint32_t class_index, uint32_t type, uint32_t gpus)
{
    const size_t row = (size_t)class_index * scenario->cluster.type_count + type;
    for (uint32_t i = 0; scenario->gang_speed && i < ADL_GANG_SPEEDS; i++) {
        const double measured = scenario->gang_speed[row * ADL_GANG_SPEEDS + i];
        if (gpus == 2u << i && (measured > 0 || measured < 0))
            return measured > 0 ? measured : 0;
    }
    return modelled_gang_speed(&scenario->classes[class_index], gpus);
}

uint32_t adl_bank_usable_gpus(const struct adl_cluster *cluster, const struct adl_bank *bank,
                              const struct adl_job_spec *spec)
{
    const struct adl_node *node = &cluster->nodes[bank->node];
    int64_t gpus = bank->gpu_count;
    if (spec->cpu_cores > 0 && node->cpu_cores / spec->cpu_cores < gpus)
        gpus = node->cpu_cores / spec->cpu_cores;
    if (spec->memory_mib > 0 && node->memory_mib / spec->memory_mib < gpus)
        gpus = node->memory_mib / spec->memory_mib;
    return (uint32_t)gpus;
}

bool adl_demand_possible(const struct adl_cluster *cluster, const struct adl_job_spec *spec, const char **ret_why)
{
    uint64_t usable[ADL_TYPES_MAX] = {0};
    uint32_t widest = 0;
    bool type_present = false, memory_fits = false;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        if (!(spec->types & (1u << bank->type)))
            continue;
        type_present = true;
        if (cluster->types[bank->type].memory_mib < spec->gpu_memory_mib)
            continue;
        memory_fits = true;
        const uint32_t gpus = adl_bank_usable_gpus(cluster, bank, spec);
        usable[bank->type] += gpus;
        widest = gpus > widest ? gpus : widest;
    }
    uint64_t most = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        most = usable[t] > most ? usable[t] : most;
    const char *why = NULL;
    if (!type_present)
        why = "no node has a GPU of an acceptable type";
    else if (!memory_fits)
        why = "its GPU memory demand exceeds every acceptable GPU";
    else if (widest == 0)
        why = "its CPU or host memory demand for one GPU exceeds every node";
    else if (most < spec->gpus)
        why = "it asks for more GPUs of one type than the cluster can give it";
    else if (!(spec->flags & ADL_JOB_SPAN) && widest < spec->gpus)
        why = "it asks for more GPUs than one node can give it and may not span nodes (span: true would allow it)";
    if (ret_why)
        *ret_why = why;
    return why == NULL;
}
