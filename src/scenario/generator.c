#include "scenario/generator.h"

#include "base/real.h"
#include "base/rng.h"
#include "scenario/generator_internal.h"
#include "scenario/load.h"
#include "scenario/scenario.h"
#include "scenario/shipped.h"
#include "scenario/type_speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CATALOGUE    "catalogue.yaml"
#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *const adl_generator_size_names[] = {"any", "small", "medium", "large", NULL};

/* One draw a statement: C does not say in which order arguments and initializers are evaluated, and scenarios have to
 * be the same from every compiler. */

struct draw {
    struct adl_rng rng;
    const struct adl_catalogue *catalogue;
    uint32_t type_count; /* the first of the catalogue's types: those with speeds */
    struct adl_drawn *out;
};

double adl_drawn_tidy(double value)
{
    double up = 1, down = 1;
    if (value <= 0)
        return 0;
    while (value / down >= 1000)
        down *= 10;
    while (down <= 1 && value * up < 100)
        up *= 10;
    return up > 1 ? floor(value * up + 0.5) / up : floor(value / down + 0.5) * down;
}

static double between(struct draw *d, double lo, double hi)
{
    return adl_drawn_tidy(lo + (hi - lo) * adl_rng_uniform(&d->rng));
}

/* Evenly on a logarithmic scale. */
static double between_log(struct draw *d, double lo, double hi)
{
    return adl_drawn_tidy(lo * adl_exp(adl_log(hi / lo) * adl_rng_uniform(&d->rng)));
}

static bool chance(struct draw *d, double probability)
{
    return adl_rng_uniform(&d->rng) < probability;
}

static double pick(struct draw *d, const double *values, size_t count)
{
    return values[adl_rng_below(&d->rng, (uint32_t)count)];
}

/* ---- cluster ---- */

static void draw_types(struct draw *d)
{
    struct adl_drawn *out = d->out;
    const uint32_t count = 1 + adl_rng_below(&d->rng, ADL_DRAWN_TYPES_MAX);
    while (out->type_count < count) {
        const struct adl_gpu_type *type = &d->catalogue->types[adl_rng_below(&d->rng, d->type_count)].gpu;
        bool known = false;
        for (uint32_t i = 0; i < out->type_count; i++)
            known = known || out->types[i] == type;
        if (!known)
            out->types[out->type_count++] = type;
    }
}

/* GPUs of a node: 1, 2, 4 or 8, most often 4 or 8, at most as many as the group has. */
static uint32_t draw_shape(struct draw *d, double gpus)
{
    static const double shapes[] = {1, 2, 2, 4, 4, 4, 8, 8, 8, 8};
    uint32_t shape = (uint32_t)pick(d, shapes, COUNT(shapes));
    while (shape > 1 && shape > gpus)
        shape /= 2;
    return shape;
}

static void draw_group(struct draw *d, struct adl_drawn_group *group, double gpus)
{
    static const double cores[] = {4, 6, 8, 12, 16}, memory[] = {32768, 65536, 131072}, links[] = {12, 16, 32, 64, 300};
    group->gpus = draw_shape(d, gpus);
    group->nodes = gpus >= group->gpus ? (uint32_t)(gpus / group->gpus) : 1;
    group->cores = group->gpus * (uint32_t)pick(d, cores, COUNT(cores));
    group->memory_mib = group->gpus * (uint32_t)pick(d, memory, COUNT(memory));
    group->link_gbs = pick(d, links, COUNT(links));
}

/* A group for each type, and up to two more with other nodes of one of the types. */
static void draw_cluster(struct draw *d)
{
    static const double lo[] = {0, 8, 64, 512}, hi[] = {0, 64, 512, 2048}, networks[] = {1.25, 3, 6, 12.5, 25};
    struct adl_drawn *out = d->out;
    double weights[ADL_DRAWN_GROUPS_MAX], sum = 0;
    const double target = floor(between_log(d, lo[out->size], hi[out->size]));
    draw_types(d);
    out->network_gbs = pick(d, networks, COUNT(networks));
    const uint32_t more = target >= 32 ? adl_rng_below(&d->rng, 3) : 0;
    out->group_count = out->type_count + more;
    for (uint32_t i = 0; i < out->group_count; i++) {
        weights[i] = between(d, 0.3, 1);
        sum += weights[i];
        const uint32_t type = i < out->type_count ? i : adl_rng_below(&d->rng, out->type_count);
        out->groups[i].type = out->types[type];
    }
    for (uint32_t i = 0; i < out->group_count; i++) {
        draw_group(d, &out->groups[i], target * weights[i] / sum);
        out->gpus += out->groups[i].nodes * out->groups[i].gpus;
    }
    for (uint32_t i = 0; i < out->group_count; i++) /* what was rounded off */
        for (struct adl_drawn_group *group = &out->groups[i]; out->gpus + group->gpus <= target; group->nodes++)
            out->gpus += group->gpus;
}

/* ---- jobs ---- */

static bool runs_on(const struct adl_drawn_line *line, const struct adl_gpu_type *type)
{
    bool accepted = line->type_count == 0;
    for (uint32_t i = 0; i < line->type_count; i++)
        accepted = accepted || line->types[i] == type;
    return accepted && type->memory_mib >= line->class->job.gpu_memory_mib &&
           adl_catalogue_find_speed(line->class, type->name);
}

/* Programs that need the first vendor's GPUs, as often as not where there are others. */
static void draw_line_types(struct draw *d, struct adl_drawn_line *line)
{
    const struct adl_drawn *out = d->out;
    const bool restricted = chance(d, 0.5);
    uint32_t runs = 0, others = 0;
    for (uint32_t t = 0; t < out->type_count; t++) {
        if (!runs_on(line, out->types[t]))
            continue;
        const bool same = strcmp(out->types[t]->vendor, line->reference->vendor) == 0;
        others += !same;
        if (same)
            line->types[runs++] = out->types[t];
    }
    line->type_count = restricted && others > 0 ? runs : 0;
}

static uint32_t widest_gang(const struct adl_drawn *out, const struct adl_drawn_line *line)
{
    uint32_t widest = 1, of_type[ADL_DRAWN_TYPES_MAX] = {0};
    for (uint32_t g = 0; g < out->group_count; g++)
        for (uint32_t t = 0; t < out->type_count; t++) {
            const struct adl_drawn_group *group = &out->groups[g];
            if (out->types[t] != group->type || !runs_on(line, group->type))
                continue;
            of_type[t] += group->nodes * group->gpus;
            widest = widest < group->gpus ? group->gpus : widest;
            if (line->span && of_type[t] / 2 > widest)
                widest = of_type[t] / 2;
        }
    return widest;
}

static void draw_gangs(struct draw *d, struct adl_drawn_line *line, double steepness)
{
    const bool gangs = chance(d, 0.65);
    line->span = chance(d, 0.4) && gangs;
    const uint32_t allowed = 2u << adl_rng_below(&d->rng, ADL_DRAWN_GANGS_MAX - 1), widest = widest_gang(d->out, line);
    double weight = 1;
    for (uint32_t gpus = 1; gpus == 1 || (gangs && gpus <= widest && gpus <= allowed); gpus *= 2) {
        line->gangs[line->gang_count] = gpus;
        line->gang_weights[line->gang_count++] = adl_drawn_tidy(10 * weight);
        weight *= steepness;
    }
}

static void draw_durations(struct draw *d, struct adl_drawn_line *line)
{
    line->median_s = adl_drawn_tidy(d->out->scale_s * adl_exp(0.6 * adl_rng_normal(&d->rng)));
    line->sigma = between(d, 0.3, 1.5);
    line->min_s = adl_drawn_tidy(line->median_s / 30);
    line->max_s = adl_drawn_tidy(line->median_s * 30);
}

static void draw_sla(struct draw *d, struct adl_drawn_line *line)
{
    const bool deadline = chance(d, 0.4), serves = line->class->kind == ADL_KIND_INFERENCE;
    const double share = between(d, 0.1, 0.8);
    line->deadline_slack = between(d, 1.5, 8);
    line->throughput_floor = between(d, 0.2, 0.7);
    line->deadline_share = deadline && !serves ? share : 0;
    line->throughput_share = serves ? share : 0;
}

static void draw_stops(struct draw *d, struct adl_drawn_line *line, bool preemption)
{
    static const double losses[] = {ADL_LOSS_NOTHING, ADL_LOSS_NOTHING, ADL_LOSS_NOTHING, ADL_LOSS_SINCE_CHECKPOINT,
                                    ADL_LOSS_ALL};
    const bool willing = chance(d, 0.9);
    const int loss = (int)pick(d, losses, COUNT(losses));
    const double part = between(d, 0.05, 0.5);
    line->preemptible = preemption && willing && line->class->kind != ADL_KIND_INFERENCE;
    line->stop_loss = line->preemptible ? loss : ADL_LOSS_NOTHING;
    line->checkpoint_every_s = adl_drawn_tidy(part * line->median_s);
}

static uint32_t least_cores(const struct adl_drawn *out)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t g = 0; g < out->group_count; g++)
        if (out->groups[g].cores / out->groups[g].gpus < least)
            least = out->groups[g].cores / out->groups[g].gpus;
    return least;
}

static void draw_line(struct draw *d, struct adl_drawn_line *line, double steepness, bool preemption)
{
    static const double cores[] = {1, 2, 4, 6, 8, 12}, memory[] = {4096, 8192, 16384, 32768};
    const uint32_t most = least_cores(d->out);
    line->weight = 1 + adl_rng_below(&d->rng, 5);
    draw_line_types(d, line);
    draw_durations(d, line);
    draw_gangs(d, line, steepness);
    const uint32_t wanted = (uint32_t)pick(d, cores, COUNT(cores));
    line->cores = wanted < most ? wanted : most;
    line->memory_mib = (uint32_t)pick(d, memory, COUNT(memory));
    line->priority_min = between(d, 0.05, 0.5);
    line->priority_max = between(d, 0.5, 1);
    const bool shares = chance(d, 0.7);
    line->share = d->out->sharing && shares && line->class->job.activity < 0.7;
    draw_stops(d, line, preemption);
    draw_sla(d, line);
}

/* A class that has no line yet and runs somewhere; the reference is the first type on which it does. */
static void draw_class(struct draw *d, struct adl_drawn_line *line)
{
    struct adl_drawn *out = d->out;
    while (!line->reference) {
        line->class = &d->catalogue->classes[adl_rng_below(&d->rng, d->catalogue->class_count)];
        bool fresh = true;
        for (const struct adl_drawn_line *other = out->lines; other < line; other++)
            fresh = fresh && other->class != line->class;
        for (uint32_t t = 0; fresh && t < out->type_count && !line->reference; t++)
            if (runs_on(line, out->types[t]))
                line->reference = out->types[t];
    }
}

static void draw_mix(struct draw *d)
{
    struct adl_drawn *out = d->out;
    const uint32_t count = 2 + adl_rng_below(&d->rng, ADL_DRAWN_LINES_MAX - 1);
    const double steepness = between(d, 0.3, 1);
    const bool preemption = chance(d, 0.7);
    out->scale_s = between_log(d, 20, 7200);
    out->sharing = chance(d, 0.4);
    for (out->line_count = 0; out->line_count < count; out->line_count++) {
        draw_class(d, &out->lines[out->line_count]);
        draw_line(d, &out->lines[out->line_count], steepness, preemption);
    }
}

/* ---- the rest ---- */

/* The jobs that fill the cluster 8 to 16 times, at least 200. */
static void draw_jobs(struct draw *d)
{
    struct adl_drawn *out = d->out;
    double gpus = 0, weights = 0;
    for (uint32_t i = 0; i < out->line_count; i++) {
        const struct adl_drawn_line *line = &out->lines[i];
        double mean = 0, sum = 0;
        for (uint32_t g = 0; g < line->gang_count; g++) {
            mean += line->gangs[g] * line->gang_weights[g];
            sum += line->gang_weights[g];
        }
        gpus += line->weight * mean / sum;
        weights += line->weight;
    }
    const double fills = between(d, 8, 16);
    out->jobs = (uint64_t)adl_drawn_tidy(fmax(200, fills * out->gpus * weights / gpus));
    out->users = 5 + adl_rng_below(&d->rng, 60);
}

static void draw_arrivals(struct draw *d)
{
    static const double processes[] = {ADL_ARRIVAL_POISSON, ADL_ARRIVAL_POISSON, ADL_ARRIVAL_DIURNAL,
                                       ADL_ARRIVAL_BURSTY, ADL_ARRIVAL_SURGE};
    struct adl_drawn *out = d->out;
    out->load = between(d, 0.5, 1.3);
    out->process = (int)pick(d, processes, COUNT(processes));
    out->amplitude = between(d, 0.2, 0.9);
    out->periods = 2 + adl_rng_below(&d->rng, 4);
    out->burst_jobs = between_log(d, 2, 20);
    out->surge_start = between(d, 0.1, 0.6);
    out->surge_length = between(d, 0.05, 0.2);
    out->surge_factor = between(d, 2, 6);
}

static void draw_limits(struct draw *d)
{
    static const double exact[] = {0, 0.05, 0.1, 0.3}, rounds[] = {0, 0.1, 0.5};
    struct adl_drawn *out = d->out;
    out->limits.median_factor = between_log(d, 1.2, 6);
    out->limits.sigma = between(d, 0.1, 1.2);
    out->limits.exact_share = pick(d, exact, COUNT(exact));
    out->limits.round_s = adl_drawn_tidy(out->scale_s * pick(d, rounds, COUNT(rounds)));
}

static void draw_hardware(struct draw *d)
{
    struct adl_drawn *out = d->out;
    out->faults = chance(d, 0.3);
    out->gpu_mtbf_runs = between_log(d, 10, 200);
    out->node_mtbf_runs = between_log(d, 10, 200);
    out->repair_runs = between_log(d, 0.01, 0.1);
    out->drift = chance(d, 0.3);
    out->wear_loss = between(d, 0.01, 0.25);
    out->throttle_share = between(d, 0.05, 0.4);
    out->throttle_factor = between(d, 0.6, 0.95);
    const bool update = chance(d, 0.5);
    const uint32_t type = adl_rng_below(&d->rng, out->type_count);
    out->update = update ? out->types[type] : NULL;
    out->update_at = between(d, 0.2, 0.7);
    out->update_factor = between(d, 0.75, 1.25);
    const bool kill = chance(d, 0.5);
    out->kill_at_limit = kill && !out->drift; /* a GPU that became slow would kill jobs with exact limits */
    out->telemetry = chance(d, 0.7);
    out->progress = chance(d, 0.5);
    out->checkpoint_s = adl_drawn_tidy(out->scale_s * between_log(d, 0.002, 0.1));
    out->restart_s = adl_drawn_tidy(out->scale_s * between_log(d, 0.002, 0.1));
    out->interval_s = adl_drawn_tidy(out->scale_s * between_log(d, 0.1, 1));
}

static void draw_all(struct draw *d, int size)
{
    const int any = 1 + (int)adl_rng_below(&d->rng, 3);
    d->out->size = size == ADL_GENERATOR_ANY ? any : size;
    draw_cluster(d);
    draw_mix(d);
    draw_jobs(d);
    draw_arrivals(d);
    draw_limits(d);
    draw_hardware(d);
}

/* ---- the rate ---- */

static int read_shipped(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    const struct adl_shipped_file *file = adl_shipped_at(CATALOGUE);
    (void)context;
    char *text = malloc(file->size + 1);
    if (!text)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    memcpy(text, file->text, file->size);
    text[file->size] = '\0';
    *ret_text = text;
    *ret_size = file->size;
    return 0;
}

/* Sets the rate that makes the load, from what the cluster can do by the scenario's own reader. */
static int find_rate(struct adl_drawn *drawn, struct adl_error *err)
{
    const struct adl_scenario_source source = {.read = read_shipped};
    struct adl_scenario scenario;
    struct adl_text text = {0};
    double capacity_per_h = 0;
    drawn->rate_per_h = 1;
    adl_drawn_write(drawn, &text);
    int status = adl_text_status(&text);
    if (status)
        status = adl_fail(err, status, "out of memory for a scenario");
    else
        status = adl_scenario_parse("random", text.data, text.size, &source, &scenario, err);
    adl_text_clear(&text);
    if (status)
        return status;
    status = adl_scenario_capacity(&scenario, &capacity_per_h, err);
    adl_scenario_clear(&scenario);
    drawn->rate_per_h = drawn->load * capacity_per_h;
    return status;
}

/* The draws stay those of the seed; only what it leaves out is there. */
static void wear(struct adl_drawn *out)
{
    out->drift = out->telemetry = true;
    out->kill_at_limit = false;
}

int adl_scenario_generate(uint64_t seed, int size, bool worn, struct adl_text *text, struct adl_error *err)
{
    const struct adl_shipped_file *file = adl_shipped_at(CATALOGUE);
    struct adl_catalogue catalogue = {0};
    struct adl_drawn drawn = {.seed = seed};
    struct draw draw = {.catalogue = &catalogue, .out = &drawn};
    if (!file)
        return adl_fail(err, ADL_EIO, CATALOGUE " is not among the shipped files");
    int status = adl_catalogue_parse(CATALOGUE, (const char *)file->text, file->size, &catalogue, err);
    if (status)
        return status;
    while (draw.type_count < catalogue.type_count &&
           adl_type_has_speeds(&catalogue, catalogue.types[draw.type_count].gpu.name))
        draw.type_count++;
    adl_rng_seed(&draw.rng, seed, "generated scenario");
    draw_all(&draw, size);
    if (worn)
        wear(&drawn);
    status = find_rate(&drawn, err);
    if (status == 0) {
        adl_drawn_write(&drawn, text);
        status = adl_text_status(text);
    }
    adl_catalogue_clear(&catalogue);
    return status;
}
