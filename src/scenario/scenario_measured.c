/* scenario_measured: speeds of classes from a file of measurements: alone, as gangs, and co-located. */
#include "scenario/scenario_internal.h"

#include <stdlib.h>

int adl_scenario_measure_class(const struct adl_scenario_reader *reader, const struct adl_catalogue_class *from,
                               const struct adl_yaml_link *link, struct adl_job_class *class)
{
    const struct adl_cluster *cluster = &reader->scenario->cluster;
    bool found = false;
    if (!reader->throughputs)
        return adl_yaml_fail(reader->yaml, link->line, reader->err,
                             "class '%s' has the measured speeds of \"%s\": --throughputs FILE must give the "
                             "measurements, such as simulation_throughputs.json of Gavel "
                             "(github.com/stanford-futuredata/gavel)",
                             from->job.name, from->measured);
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        class->steps_per_s[t] = adl_throughputs_find(reader->throughputs, cluster->types[t].name, from->measured, 1);
        found |= class->steps_per_s[t] > 0;
    }
    if (found)
        return 0;
    return adl_yaml_fail(reader->yaml, link->line, reader->err,
                         "class '%s': the throughputs have no \"%s\" on one GPU of a type of this cluster",
                         from->job.name, from->measured);
}

/* The row of measurements of a class; NULL = none. */
static const char *row_of(const struct adl_scenario_reader *reader, uint32_t class_index)
{
    const char *name = reader->scenario->classes[class_index].name;
    const struct adl_catalogue_class *class = adl_catalogue_find_class(reader->catalogue, name);
    return class && class->measured[0] ? class->measured : NULL;
}

/* A size that was measured on some types does not run on the others. */
static void measure_gangs(const struct adl_scenario_reader *reader, uint32_t class_index, const char *row)
{
    struct adl_scenario *scenario = reader->scenario;
    const struct adl_cluster *cluster = &scenario->cluster;
    double *speeds = &scenario->gang_speed[(size_t)class_index * cluster->type_count * ADL_GANG_SPEEDS];
    for (uint32_t i = 0; i < ADL_GANG_SPEEDS; i++) {
        bool known = false;
        for (uint32_t t = 0; t < cluster->type_count; t++) {
            const double one = scenario->classes[class_index].steps_per_s[t];
            const double gang = adl_throughputs_find(reader->throughputs, cluster->types[t].name, row, 2u << i);
            speeds[t * ADL_GANG_SPEEDS + i] = one > 0 && gang > 0 ? gang / one : -1;
            known |= gang > 0;
        }
        for (uint32_t t = 0; t < cluster->type_count && !known; t++)
            speeds[t * ADL_GANG_SPEEDS + i] = 0;
    }
}

/* Co-location makes no job faster: a ratio above 1 is noise, and the lower bounds rely on that. */
static void measure_pair(const struct adl_scenario_reader *reader, uint32_t class_index, uint32_t other,
                         const char *row, const char *beside)
{
    struct adl_scenario *scenario = reader->scenario;
    const uint32_t types = scenario->cluster.type_count;
    for (uint32_t t = 0; t < types; t++) {
        const char *type = scenario->cluster.types[t].name;
        const double alone = scenario->classes[class_index].steps_per_s[t];
        const double both = adl_throughputs_find_pair(reader->throughputs, type, row, beside);
        const double speed = alone > 0 ? both / alone : 0;
        scenario->pair_speed[((size_t)class_index * scenario->class_count + other) * types + t] =
            speed < 1.0 ? speed : 1.0;
    }
}

/* Gangs of a size that was measured on some types only must run on the reference type and on a type of the cluster. */
static int check_gangs(const struct adl_scenario_reader *reader, uint32_t index)
{
    const struct adl_form_mix *form = &((const struct adl_form_mix *)reader->form->workload.mix.items)[index];
    const struct adl_mix *mix = &reader->scenario->workload.mix[index];
    const char *why = NULL;
    uint32_t gang = 0;
    if (!adl_mix_possible(reader->scenario, mix, UINT32_MAX, &gang, &why))
        return adl_yaml_fail(reader->yaml, form->at->line, reader->err,
                             "workload.mix[%u]: a job of class '%s' with %u GPUs can never run: %s", (unsigned)index,
                             form->class.text, (unsigned)mix->gang_gpus[gang], why);
    for (uint32_t g = 0; g < mix->gang_count; g++)
        if (adl_scenario_gang_speed(reader->scenario, mix->class_index, mix->reference, mix->gang_gpus[g]) <= 0)
            return adl_yaml_fail(reader->yaml, form->reference.line, reader->err,
                                 "workload.mix[%u].reference: class '%s' was not measured with %u GPUs of '%s'",
                                 (unsigned)index, form->class.text, (unsigned)mix->gang_gpus[g], form->reference.text);
    return 0;
}

int adl_scenario_measure(struct adl_scenario_reader *reader)
{
    struct adl_scenario *scenario = reader->scenario;
    const size_t classes = scenario->class_count, types = scenario->cluster.type_count;
    bool any = false;
    for (uint32_t i = 0; i < classes; i++)
        any |= row_of(reader, i) != NULL;
    if (!any)
        return 0;
    scenario->pair_speed = calloc(classes * classes * types, sizeof *scenario->pair_speed);
    scenario->gang_speed = calloc(classes * types * ADL_GANG_SPEEDS, sizeof *scenario->gang_speed);
    if (!scenario->pair_speed || !scenario->gang_speed)
        return adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
    for (uint32_t i = 0; i < classes; i++) {
        const char *row = row_of(reader, i);
        if (row)
            measure_gangs(reader, i, row);
        for (uint32_t j = 0; j < classes && row; j++) {
            const char *beside = row_of(reader, j);
            if (beside)
                measure_pair(reader, i, j, row, beside);
        }
    }
    int status = 0;
    for (uint32_t i = 0; i < scenario->workload.mix_count && !status; i++)
        status = check_gangs(reader, i);
    return status;
}
