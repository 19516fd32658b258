/* scenario_workload: builds the workload model from the job mix and the arrivals of a scenario file, and refuses jobs
 * that can never run. */
#include "base/range.h"
#include "base/suggest.h"
#include "scenario/scenario_internal.h"
#include "scenario/type_speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_MAX_H 1e6 /* of all arrivals: 2,500 times that fits int64 microseconds */
#define WHERE_SIZE 64

static const struct adl_form_mix *mix_form(const struct adl_scenario_reader *reader, uint32_t index)
{
    return &((const struct adl_form_mix *)reader->form->workload.mix.items)[index];
}

static int refuse_class(const struct adl_scenario_reader *reader, uint32_t index, const struct adl_yaml_link *link)
{
    const struct adl_catalogue *catalogue = reader->catalogue;
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE], known[120] = "";
    struct adl_suggest suggest = {.word = link->text};
    for (uint32_t i = 0; i < catalogue->class_count; i++) {
        adl_suggest_offer(&suggest, catalogue->classes[i].job.name);
        adl_list_append(known, sizeof known, catalogue->classes[i].job.name);
    }
    return adl_yaml_fail(reader->yaml, link->line, reader->err,
                         "workload.mix[%u].class: unknown job class %s%s (classes: %s)", (unsigned)index,
                         adl_quote(link->text, quoted), adl_suggest_phrase(&suggest, phrase), known);
}

/* A class with its speeds on the cluster's types. */
static struct adl_job_class resolve_class(const struct adl_scenario_reader *reader,
                                          const struct adl_catalogue_class *from)
{
    const struct adl_cluster *cluster = &reader->scenario->cluster;
    struct adl_job_class class = from->job;
    class.kind = (uint8_t)from->kind;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        bool modelled;
        class.steps_per_s[t] = adl_type_speed(reader->catalogue, from, &cluster->types[t], &modelled);
        class.modelled[t] = class.steps_per_s[t] > 0 && modelled;
    }
    return class;
}

/* The class's index in the scenario, adding it at its first use; there is space for one per mix entry. */
static int use_class(struct adl_scenario_reader *reader, uint32_t index, uint16_t *ret_class)
{
    const struct adl_yaml_link *link = &mix_form(reader, index)->class;
    struct adl_scenario *scenario = reader->scenario;
    uint32_t i = 0;
    while (i < scenario->class_count && strcmp(scenario->classes[i].name, link->text) != 0)
        i++;
    if (i == scenario->class_count) {
        const struct adl_catalogue_class *found = adl_catalogue_find_class(reader->catalogue, link->text);
        if (!found)
            return refuse_class(reader, index, link);
        struct adl_job_class class = resolve_class(reader, found);
        const int status = found->measured[0] ? adl_scenario_measure_class(reader, found, link, &class) : 0;
        if (status)
            return status;
        scenario->classes[scenario->class_count++] = class;
    }
    *ret_class = (uint16_t)i;
    return 0;
}

static int read_reference(const struct adl_scenario_reader *reader, uint32_t index, struct adl_mix *mix)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    const struct adl_job_class *class = &reader->scenario->classes[mix->class_index];
    char where[WHERE_SIZE];
    snprintf(where, sizeof where, "workload.mix[%u].reference", (unsigned)index);
    const int status = adl_scenario_find_type(reader, &form->reference, where, &mix->reference);
    if (status)
        return status;
    if (class->steps_per_s[mix->reference] <= 0)
        return adl_yaml_fail(reader->yaml, form->reference.line, reader->err,
                             "%s: class '%s' has no speed on '%s' in the catalogue", where, class->name,
                             form->reference.text);
    return 0;
}

static int read_listed_types(const struct adl_scenario_reader *reader, uint32_t index, struct adl_mix *mix)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    const struct adl_job_class *class = &reader->scenario->classes[mix->class_index];
    const struct adl_yaml_link *links = form->types.items;
    for (uint32_t i = 0; i < form->types.count; i++) {
        char where[WHERE_SIZE];
        uint32_t type = 0;
        snprintf(where, sizeof where, "workload.mix[%u].types[%u]", (unsigned)index, (unsigned)i);
        const int status = adl_scenario_find_type(reader, &links[i], where, &type);
        if (status)
            return status;
        const struct adl_gpu_type *gpu = &reader->scenario->cluster.types[type];
        if (mix->types & (1u << type))
            return adl_yaml_fail(reader->yaml, links[i].line, reader->err, "%s: '%s' is given twice", where, gpu->name);
        if (class->steps_per_s[type] <= 0)
            return adl_yaml_fail(reader->yaml, links[i].line, reader->err,
                                 "%s: class '%s' has no speed on '%s' in the catalogue", where, class->name, gpu->name);
        if (gpu->memory_mib < mix->gpu_memory_mib)
            return adl_yaml_fail(reader->yaml, links[i].line, reader->err,
                                 "%s: '%s' has %d MiB of memory, the jobs need %d", where, gpu->name,
                                 (int)gpu->memory_mib, (int)mix->gpu_memory_mib);
        mix->types |= 1u << type;
    }
    return 0;
}

static int read_types(const struct adl_scenario_reader *reader, uint32_t index, struct adl_mix *mix)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    const struct adl_cluster *cluster = &reader->scenario->cluster;
    const struct adl_job_class *class = &reader->scenario->classes[mix->class_index];
    if (form->types.count > 0)
        return read_listed_types(reader, index, mix);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (class->steps_per_s[t] > 0 && cluster->types[t].memory_mib >= mix->gpu_memory_mib)
            mix->types |= 1u << t;
    if (mix->types == 0)
        return adl_yaml_fail(reader->yaml, form->at->line, reader->err,
                             "workload.mix[%u]: no GPU type of the cluster has both a speed for class '%s' and %d MiB "
                             "of memory",
                             (unsigned)index, class->name, (int)mix->gpu_memory_mib);
    return 0;
}

static int read_gangs(const struct adl_scenario_reader *reader, uint32_t index, struct adl_mix *mix)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    const struct adl_form_gang *gangs = form->gpus.items;
    if (form->gpus.count == 0) {
        mix->gang_count = 1;
        mix->gang_gpus[0] = 1;
        mix->gang_weight[0] = 1;
        return 0;
    }
    double total = 0;
    for (uint32_t i = 0; i < form->gpus.count; i++) {
        for (uint32_t j = 0; j < i; j++)
            if (gangs[j].count == gangs[i].count)
                return adl_yaml_fail(reader->yaml, gangs[i].at->line, reader->err,
                                     "workload.mix[%u].gpus[%u].count: %lld is given twice", (unsigned)index,
                                     (unsigned)i, (long long)gangs[i].count);
        mix->gang_gpus[i] = (uint16_t)gangs[i].count;
        mix->gang_weight[i] = gangs[i].weight;
        total += gangs[i].weight;
    }
    mix->gang_count = form->gpus.count;
    if (total <= 0)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(form->at, "gpus"), reader->err,
                             "workload.mix[%u].gpus: at least one weight must be above 0", (unsigned)index);
    return 0;
}

static int check_bounds(const struct adl_scenario_reader *reader, uint32_t index)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    const struct adl_form_duration *duration = &form->duration_s;
    char low[ADL_BOUND_SIZE], high[ADL_BOUND_SIZE], middle[ADL_BOUND_SIZE];
    adl_bound_print(duration->min, low);
    adl_bound_print(duration->max, high);
    if (duration->min > duration->max)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(duration->at, "min"), reader->err,
                             "workload.mix[%u].duration_s: min %s is above max %s", (unsigned)index, low, high);
    if (duration->median < duration->min || duration->median > duration->max)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(duration->at, "median"), reader->err,
                             "workload.mix[%u].duration_s.median must be between min %s and max %s, got %s",
                             (unsigned)index, low, high, adl_bound_print(duration->median, middle));
    if (form->priority.min > form->priority.max)
        return adl_yaml_fail(reader->yaml, form->priority.at->line, reader->err,
                             "workload.mix[%u].priority: min %s is above max %s (each is 0.5 if absent)",
                             (unsigned)index, adl_bound_print(form->priority.min, low),
                             adl_bound_print(form->priority.max, high));
    return 0;
}

/* stop_loses is allowed only for preemptible jobs, and an interval only with since_checkpoint. */
static int check_stops(const struct adl_scenario_reader *reader, uint32_t index)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    const bool every = form->checkpoint_every_s > 0, needs = form->stop_loss == ADL_LOSS_SINCE_CHECKPOINT;
    if (form->stop_loss != ADL_LOSS_NOTHING && !form->preemptible)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(form->at, "stop_loses"), reader->err,
                             "workload.mix[%u].stop_loses: these jobs are not preemptible, so nothing is ever lost; "
                             "leave it out or set preemptible: true",
                             (unsigned)index);
    if (needs && !every)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(form->at, "stop_loses"), reader->err,
                             "missing key 'checkpoint_every_s' in workload.mix[%u] (stop_loses: since_checkpoint needs "
                             "it)",
                             (unsigned)index);
    if (every && !needs)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(form->at, "checkpoint_every_s"), reader->err,
                             "workload.mix[%u].checkpoint_every_s: has a meaning only with stop_loses: "
                             "since_checkpoint",
                             (unsigned)index);
    return 0;
}

static struct adl_job_spec demand(const struct adl_scenario *scenario, const struct adl_mix *mix, uint32_t gang,
                                  uint32_t types)
{
    for (uint32_t t = 0; t < scenario->cluster.type_count; t++)
        if (adl_scenario_gang_speed(scenario, mix->class_index, t, mix->gang_gpus[gang]) <= 0)
            types &= ~(1u << t);
    return (struct adl_job_spec){.class_index = mix->class_index,
                                 .gpus = mix->gang_gpus[gang],
                                 .types = mix->types & types,
                                 .kind = scenario->classes[mix->class_index].kind,
                                 .flags = mix->flags,
                                 .cpu_cores = mix->cpu_cores,
                                 .memory_mib = mix->memory_mib,
                                 .gpu_memory_mib = mix->gpu_memory_mib};
}

/* A job that fits with many GPUs fits with fewer, so a large cluster is scanned once and not for every size; unless
 * sizes were measured, each on types of its own. */
bool adl_mix_possible(const struct adl_scenario *scenario, const struct adl_mix *mix, uint32_t types,
                      uint32_t *ret_gang, const char **ret_why)
{
    uint32_t widest = 0;
    for (uint32_t g = 1; g < mix->gang_count; g++)
        if (mix->gang_gpus[g] > mix->gang_gpus[widest])
            widest = g;
    const struct adl_job_spec hardest = demand(scenario, mix, widest, types);
    if (!scenario->gang_speed && adl_demand_possible(&scenario->cluster, &hardest, NULL))
        return true;
    for (uint32_t g = 0; g < mix->gang_count; g++) {
        const struct adl_job_spec spec = demand(scenario, mix, g, types);
        *ret_gang = g;
        if (!adl_demand_possible(&scenario->cluster, &spec, ret_why))
            return false;
    }
    return true;
}

static int check_possible(const struct adl_scenario_reader *reader, uint32_t index, const struct adl_mix *mix)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    const struct adl_form_gang *gangs = form->gpus.items;
    const char *why = NULL;
    uint32_t gang = 0;
    if (adl_mix_possible(reader->scenario, mix, UINT32_MAX, &gang, &why))
        return 0;
    return adl_yaml_fail(reader->yaml, gangs ? gangs[gang].at->line : form->at->line, reader->err,
                         "workload.mix[%u]: a job of class '%s' with %u GPU%s can never run: %s", (unsigned)index,
                         form->class.text, (unsigned)mix->gang_gpus[gang], mix->gang_gpus[gang] == 1 ? "" : "s", why);
}

static int read_mix(struct adl_scenario_reader *reader, uint32_t index)
{
    const struct adl_form_mix *form = mix_form(reader, index);
    struct adl_mix mix = {
        .weight = form->weight,
        .median_s = form->duration_s.median,
        .sigma = form->duration_s.sigma,
        .min_s = form->duration_s.min,
        .max_s = form->duration_s.max,
        .cpu_cores = form->cpu_cores,
        .memory_mib = form->memory_mib,
        .priority_min = form->priority.min,
        .priority_max = form->priority.max,
        .flags = (uint8_t)((form->share ? ADL_JOB_SHARE : 0) | (form->preemptible ? ADL_JOB_PREEMPTIBLE : 0) |
                           (form->span ? ADL_JOB_SPAN : 0)),
        .stop_loss = (uint8_t)form->stop_loss,
        .checkpoint_us = (int64_t)(form->checkpoint_every_s * 1e6 + 0.5),
        .deadline_share = form->deadline.share,
        .deadline_slack = form->deadline.size,
        .throughput_share = form->throughput.share,
        .throughput_floor = form->throughput.size,
    };
    int status = use_class(reader, index, &mix.class_index);
    if (status)
        return status;
    mix.gpu_memory_mib =
        form->gpu_memory_mib >= 0 ? form->gpu_memory_mib : reader->scenario->classes[mix.class_index].gpu_memory_mib;
    status = check_bounds(reader, index);
    status = status ? status : check_stops(reader, index);
    status = status ? status : read_reference(reader, index, &mix);
    status = status ? status : read_types(reader, index, &mix);
    status = status ? status : read_gangs(reader, index, &mix);
    status = status ? status : check_possible(reader, index, &mix);
    if (!status)
        reader->scenario->workload.mix[reader->scenario->workload.mix_count++] = mix;
    return status;
}

static int check_arrivals(const struct adl_scenario_reader *reader)
{
    const struct adl_form_arrivals *form = &reader->form->workload.arrivals;
    const struct adl_arrivals *arrivals = &form->model;
    const char *missing = NULL;
    if (arrivals->process != ADL_ARRIVAL_BACKLOG && arrivals->rate_per_h <= 0)
        missing = "rate_per_h";
    else if (arrivals->process == ADL_ARRIVAL_SURGE && arrivals->surge_start_s < 0)
        missing = "surge_start_s";
    else if (arrivals->process == ADL_ARRIVAL_SURGE && arrivals->surge_length_s < 0)
        missing = "surge_length_s";
    if (missing)
        return adl_yaml_fail(reader->yaml, form->at->line, reader->err,
                             "missing key '%s' in workload.arrivals (this process needs it)", missing);
    const double span_h =
        arrivals->process == ADL_ARRIVAL_BACKLOG ? 0 : (double)reader->form->workload.jobs / arrivals->rate_per_h;
    if (span_h > SPAN_MAX_H)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(form->at, "rate_per_h"), reader->err,
                             "workload.arrivals.rate_per_h: %lld jobs at this rate take %.0f hours to arrive; at most "
                             "%.0f are possible",
                             (long long)reader->form->workload.jobs, span_h, SPAN_MAX_H);
    return 0;
}

/* Sampling needs a positive weight in the mix, and in the surge's kind. */
static int check_weights(const struct adl_scenario_reader *reader)
{
    const struct adl_workload *workload = &reader->scenario->workload;
    const struct adl_form_arrivals *form = &reader->form->workload.arrivals;
    const int kind = form->model.process == ADL_ARRIVAL_SURGE ? form->model.surge_kind : -1;
    double all = 0, surge = 0;
    for (uint32_t i = 0; i < workload->mix_count; i++) {
        all += workload->mix[i].weight;
        if (reader->scenario->classes[workload->mix[i].class_index].kind == kind)
            surge += workload->mix[i].weight;
    }
    if (all <= 0)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(reader->form->workload.at, "mix"), reader->err,
                             "workload.mix: at least one weight must be above 0");
    if (kind >= 0 && surge <= 0)
        return adl_yaml_fail(reader->yaml, adl_yaml_line(form->at, "surge_kind"), reader->err,
                             "workload.arrivals.surge_kind: workload.mix has no job of kind '%s' with a weight above 0",
                             adl_kind_names[kind]);
    return 0;
}

struct adl_job_class adl_scenario_plain_class(const char *name, const struct adl_cluster *cluster)
{
    struct adl_job_class class = {.kind = ADL_KIND_TRAINING, .activity = 0.8, .bandwidth = 0.5, .scaling = 1};
    snprintf(class.name, sizeof class.name, "%s", name);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        class.steps_per_s[t] = 1;
    return class;
}

static int make_classes(struct adl_scenario_reader *reader, uint32_t room, const char *first)
{
    struct adl_scenario *scenario = reader->scenario;
    scenario->classes = calloc(room, sizeof *scenario->classes);
    if (!scenario->classes)
        return adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
    scenario->class_count = 1;
    scenario->classes[0] = adl_scenario_plain_class(first, &scenario->cluster);
    return 0;
}

/* Jobs of a trace run as long as the trace says, so the class does not affect speeds; its activity determines power. */
int adl_scenario_make_class(struct adl_scenario_reader *reader)
{
    return make_classes(reader, 1, "trace");
}

int adl_scenario_read_classes(struct adl_scenario_reader *reader)
{
    const struct adl_catalogue *catalogue = reader->catalogue;
    struct adl_scenario *scenario = reader->scenario;
    const int status = make_classes(reader, catalogue->class_count + 1, "job");
    if (status || !scenario->classes)
        return status;
    for (uint32_t i = 0; i < catalogue->class_count; i++) {
        const struct adl_catalogue_class *from = &catalogue->classes[i];
        if (from->measured[0] || strcmp(from->job.name, scenario->classes[0].name) == 0)
            continue;
        scenario->classes[scenario->class_count++] = resolve_class(reader, from);
    }
    return 0;
}

int adl_scenario_read_workload(struct adl_scenario_reader *reader)
{
    const struct adl_form_workload *form = &reader->form->workload;
    struct adl_scenario *scenario = reader->scenario;
    struct adl_workload *workload = &scenario->workload;
    workload->jobs = (uint64_t)form->jobs;
    workload->users = (uint32_t)form->users;
    workload->limits = form->limits;
    workload->arrivals = form->arrivals.model;
    if (workload->arrivals.process != ADL_ARRIVAL_SURGE) {
        workload->arrivals.surge_start_s = 0;
        workload->arrivals.surge_length_s = 0;
    }
    workload->mix = calloc(form->mix.count, sizeof *workload->mix);
    scenario->classes = calloc(form->mix.count, sizeof *scenario->classes);
    if (!workload->mix || !scenario->classes)
        return adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
    int status = check_arrivals(reader);
    for (uint32_t i = 0; i < form->mix.count && !status; i++)
        status = read_mix(reader, i);
    status = status ? status : check_weights(reader);
    return status ? status : adl_scenario_measure(reader);
}
