/* scenario_policy: what a scenario file tells policies, and the software updates; both name GPU types. */
#include "model/plan.h"
#include "scenario/scenario_internal.h"

#include <stdio.h>

#define WHERE_SIZE 64

static uint32_t all_types(const struct adl_cluster *cluster)
{
    return (uint32_t)((UINT64_C(1) << cluster->type_count) - 1);
}

static int read_updates(struct adl_scenario_reader *reader)
{
    const struct adl_form_update *updates = reader->form->drift.updates.items;
    struct adl_drift *drift = &reader->scenario->drift;
    for (uint32_t i = 0; i < reader->form->drift.updates.count; i++) {
        char where[WHERE_SIZE];
        uint32_t type = 0;
        snprintf(where, sizeof where, "drift.updates[%u].type", (unsigned)i);
        const int status = adl_scenario_find_type(reader, &updates[i].type, where, &type);
        if (status)
            return status;
        drift->updates[i].time_s = updates[i].time_s;
        drift->updates[i].type = type;
        drift->updates[i].factor = updates[i].factor;
        drift->update_count = i + 1;
    }
    return 0;
}

/* Jobs that `static` could never place would wait for ever. */
static int check_affinity(const struct adl_scenario_reader *reader, uint32_t index, uint32_t types)
{
    const struct adl_form_affinity *affinity = reader->form->policy.affinity.items;
    const struct adl_form_mix *forms = reader->form->workload.mix.items;
    const struct adl_scenario *scenario = reader->scenario;
    for (uint32_t m = 0; m < scenario->workload.mix_count; m++) {
        const struct adl_mix *mix = &scenario->workload.mix[m];
        if (scenario->classes[mix->class_index].kind != affinity[index].kind)
            continue;
        const char *why = NULL;
        uint32_t gang = 0;
        if (adl_mix_possible(scenario, mix, types, &gang, &why))
            continue;
        if (!(mix->types & types))
            why = "its acceptable types are not among these";
        return adl_yaml_fail(reader->yaml, adl_yaml_line(affinity[index].at, "types"), reader->err,
                             "policy.affinity[%u].types: under 'static' a job of workload.mix[%u] (line %u) with %u "
                             "GPU%s can never run: %s",
                             (unsigned)index, (unsigned)m, (unsigned)forms[m].at->line, (unsigned)mix->gang_gpus[gang],
                             mix->gang_gpus[gang] == 1 ? "" : "s", why);
    }
    return 0;
}

static int read_affinity(struct adl_scenario_reader *reader, uint32_t index, uint32_t *seen)
{
    const struct adl_form_affinity *affinity =
        &((const struct adl_form_affinity *)reader->form->policy.affinity.items)[index];
    const struct adl_yaml_link *links = affinity->types.items;
    uint32_t types = 0;
    if (*seen & (1u << affinity->kind))
        return adl_yaml_fail(reader->yaml, adl_yaml_line(affinity->at, "kind"), reader->err,
                             "policy.affinity[%u].kind: '%s' is given twice", (unsigned)index,
                             adl_kind_names[affinity->kind]);
    *seen |= 1u << affinity->kind;
    for (uint32_t i = 0; i < affinity->types.count; i++) {
        char where[WHERE_SIZE];
        uint32_t type = 0;
        snprintf(where, sizeof where, "policy.affinity[%u].types[%u]", (unsigned)index, (unsigned)i);
        const int status = adl_scenario_find_type(reader, &links[i], where, &type);
        if (status)
            return status;
        if (types & (1u << type))
            return adl_yaml_fail(reader->yaml, links[i].line, reader->err, "%s: '%s' is given twice", where,
                                 links[i].text);
        types |= 1u << type;
    }
    reader->scenario->policy.affinity[affinity->kind] = types;
    return check_affinity(reader, index, types);
}

static int read_las_limits(struct adl_scenario_reader *reader)
{
    const struct adl_yaml_list *list = &reader->form->policy.las_limits_gpu_s;
    const struct adl_yaml_real *limits = list->items;
    struct adl_policy_config *policy = &reader->scenario->policy;
    for (uint32_t i = 0; i < list->count; i++) {
        if (i > 0 && limits[i].value <= limits[i - 1].value)
            return adl_yaml_fail(reader->yaml, limits[i].line, reader->err,
                                 "policy.las_limits_gpu_s[%u] must be above the limit before it", (unsigned)i);
        policy->las_limits_gpu_s[i] = limits[i].value;
    }
    policy->las_limit_count = list->count;
    return 0;
}

static int read_power_caps(struct adl_scenario_reader *reader)
{
    const struct adl_yaml_list *list = &reader->form->policy.power_caps;
    const struct adl_yaml_real *caps = list->items;
    for (uint32_t i = 0; i < list->count; i++) {
        if (caps[i].value < ADL_CAP_LEAST || caps[i].value > 1)
            return adl_yaml_fail(reader->yaml, caps[i].line, reader->err,
                                 "policy.power_caps[%u] must be between %g and 1, got %g", (unsigned)i, ADL_CAP_LEAST,
                                 caps[i].value);
        reader->scenario->policy.power_caps[i] = caps[i].value;
    }
    return 0;
}

int adl_scenario_read_policy(struct adl_scenario_reader *reader)
{
    struct adl_policy_config *policy = &reader->scenario->policy;
    policy->priority_s = reader->form->policy.priority_s;
    policy->backfill_depth = (uint32_t)reader->form->policy.backfill_depth;
    policy->backfill_rule = (uint8_t)reader->form->policy.backfill_rule;
    policy->placement = (uint8_t)reader->form->policy.placement;
    policy->share = reader->form->policy.share;
    policy->first_fit = reader->form->policy.first_fit;
    policy->by_gpu_time = reader->form->policy.by_gpu_time;
    policy->by_count = reader->form->policy.by_count;
    policy->las_promote = reader->form->policy.las_promote;
    policy->las_running_first = reader->form->policy.las_running_first;
    policy->las_lazy = reader->form->policy.las_lazy;
    policy->round_s = reader->form->policy.round_s;
    policy->gavel_objective = (uint8_t)reader->form->policy.gavel_objective;
    policy->gavel_type_by_type = reader->form->policy.gavel_type_by_type;
    policy->gavel_by_owed_time = reader->form->policy.gavel_by_owed_time;
    policy->gavel_new_jobs_wait = reader->form->policy.gavel_new_jobs_wait;
    policy->worth_w = reader->form->policy.worth_w;
    policy->sla_w = reader->form->policy.sla_w;
    policy->power_limit_w = reader->form->policy.power_limit_w;
    policy->solver_nodes = (uint32_t)reader->form->policy.solver_nodes;
    policy->greedy = reader->form->policy.greedy;
    policy->stay = reader->form->policy.stay;
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++)
        policy->affinity[kind] = all_types(&reader->scenario->cluster);
    uint32_t seen = 0;
    int status = read_updates(reader);
    status = status ? status : read_las_limits(reader);
    status = status ? status : read_power_caps(reader);
    for (uint32_t i = 0; i < reader->form->policy.affinity.count && !status; i++)
        status = read_affinity(reader, i, &seen);
    return status;
}
