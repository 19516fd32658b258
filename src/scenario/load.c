#include "scenario/load.h"

#include "base/real.h"
#include "solve/lp.h"

#include <math.h>
#include <stdlib.h>

#define ITERATIONS_MAX 100000

/* The program: maximize the rate r so that each kind k gets r * share[k] jobs done and no type gives more GPUs than it
 * has. Column 0 is r; each other column is what one type gives to one kind. Rows are the kinds, then the types. Work
 * and GPUs are relative to those of all, so that r is near 1. */
struct program {
    const struct adl_scenario *scenario;
    int kinds, columns, entries;
    double *share, *work; /* [kind], [kind][type] GPU seconds of a job, 0 = does not fit */
    int *start, *index;
    double *value, *lower, *upper, *objective, *row_lower, *row_upper, *values;
    unsigned char *basis;
};

double adl_mix_mean_s(const struct adl_mix *mix)
{
    double sum = 0, weights = 0;
    for (int i = -1200; i <= 1200; i++) { /* the normal distribution in steps of 1/200, from -6 to 6 */
        const double z = i / 200.0;
        const double weight = adl_exp(-0.5 * z * z), drawn = mix->median_s * adl_exp(mix->sigma * z);
        sum += weight * fmin(fmax(drawn, mix->min_s), mix->max_s);
        weights += weight;
    }
    return sum / weights;
}

/* How much longer a gang takes that is wider than every node with this type. */
static double stretch_of(const struct adl_cluster *cluster, double sync_share, uint32_t type, uint32_t gpus)
{
    double link_gbs = cluster->network_gbs;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        if (bank->type != type)
            continue;
        if (bank->gpu_count >= gpus)
            return 1;
        link_gbs = fmax(link_gbs, cluster->nodes[bank->node].link_gbs);
    }
    return 1 - sync_share + sync_share * link_gbs / cluster->network_gbs;
}

/* GPU seconds that a job takes on a type; 0 if it does not run there. */
static double work_on(const struct adl_scenario *scenario, const struct adl_mix *mix, uint16_t gpus, uint32_t type,
                      double mean_s)
{
    const struct adl_job_class *class = &scenario->classes[mix->class_index];
    const double there = adl_scenario_gang_speed(scenario, mix->class_index, type, gpus);
    const double reference = adl_scenario_gang_speed(scenario, mix->class_index, mix->reference, gpus);
    const struct adl_job_spec spec = {.gpus = gpus,
                                      .types = mix->types & 1u << type,
                                      .kind = class->kind,
                                      .flags = mix->flags,
                                      .cpu_cores = mix->cpu_cores,
                                      .memory_mib = mix->memory_mib,
                                      .gpu_memory_mib = mix->gpu_memory_mib};
    if (!spec.types || there <= 0 || !adl_demand_possible(&scenario->cluster, &spec, NULL))
        return 0;
    const double ratio = class->steps_per_s[mix->reference] * reference / (class->steps_per_s[type] * there);
    return mean_s * ratio * gpus * stretch_of(&scenario->cluster, class->sync_share, type, gpus);
}

static void add_kinds(struct program *p, const struct adl_mix *mix, double all_weights)
{
    const uint32_t types = p->scenario->cluster.type_count;
    const double mean_s = adl_mix_mean_s(mix);
    double weights = 0;
    for (uint32_t g = 0; g < mix->gang_count; g++)
        weights += mix->gang_weight[g];
    for (uint32_t g = 0; g < mix->gang_count; g++) {
        const double share = mix->weight / all_weights * mix->gang_weight[g] / weights;
        if (share <= 0)
            continue;
        for (uint32_t t = 0; t < types; t++)
            p->work[(size_t)p->kinds * types + t] = work_on(p->scenario, mix, mix->gang_gpus[g], t, mean_s);
        p->share[p->kinds++] = share;
    }
}

/* The work of a mean job on the types that suit it best. */
static double unit_of(const struct program *p)
{
    const uint32_t types = p->scenario->cluster.type_count;
    double unit = 0;
    for (int k = 0; k < p->kinds; k++) {
        double least = HUGE_VAL;
        for (uint32_t t = 0; t < types; t++)
            if (p->work[(size_t)k * types + t] > 0)
                least = fmin(least, p->work[(size_t)k * types + t]);
        unit += p->share[k] * least;
    }
    return unit;
}

static void put_entry(struct program *p, int row, double value)
{
    p->index[p->entries] = row;
    p->value[p->entries++] = value;
}

static void begin_column(struct program *p)
{
    p->start[p->columns] = p->entries;
    p->upper[p->columns] = HUGE_VAL;
    p->columns++;
}

static void build(struct program *p, double unit)
{
    const struct adl_cluster *cluster = &p->scenario->cluster;
    begin_column(p);
    p->objective[0] = -1;
    for (int k = 0; k < p->kinds; k++) {
        put_entry(p, k, -p->share[k]);
        p->row_upper[k] = HUGE_VAL;
    }
    for (int k = 0; k < p->kinds; k++)
        for (uint32_t t = 0; t < cluster->type_count; t++) {
            const double work = p->work[(size_t)k * cluster->type_count + t];
            if (work <= 0)
                continue;
            begin_column(p);
            put_entry(p, k, unit / work);
            put_entry(p, p->kinds + (int)t, 1);
        }
    p->start[p->columns] = p->entries;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        p->row_lower[p->kinds + (int)t] = -HUGE_VAL;
        p->row_upper[p->kinds + (int)t] = (double)cluster->type_gpus[t] / (double)cluster->gpu_count;
    }
}

static void clear(struct program *p)
{
    free(p->share), free(p->work), free(p->start), free(p->index), free(p->value), free(p->lower), free(p->upper);
    free(p->objective), free(p->row_lower), free(p->row_upper), free(p->values), free(p->basis);
}

static bool allocate(struct program *p)
{
    const size_t types = p->scenario->cluster.type_count;
    const size_t kinds = (size_t)p->scenario->workload.mix_count * ADL_GANGS_MAX;
    const size_t columns = kinds * types + 1, rows = kinds + types, entries = kinds + 2 * columns;
    p->share = calloc(kinds, sizeof *p->share);
    p->work = calloc(kinds * types, sizeof *p->work);
    p->start = calloc(columns + 1, sizeof *p->start);
    p->index = calloc(entries, sizeof *p->index);
    p->value = calloc(entries, sizeof *p->value);
    p->lower = calloc(columns, sizeof *p->lower);
    p->upper = calloc(columns, sizeof *p->upper);
    p->objective = calloc(columns, sizeof *p->objective);
    p->row_lower = calloc(rows, sizeof *p->row_lower);
    p->row_upper = calloc(rows, sizeof *p->row_upper);
    p->values = calloc(columns, sizeof *p->values);
    p->basis = calloc(columns + rows, sizeof *p->basis);
    return p->share && p->work && p->start && p->index && p->value && p->lower && p->upper && p->objective &&
           p->row_lower && p->row_upper && p->values && p->basis;
}

static int solve(struct program *p, double *ret_rate, struct adl_error *err)
{
    const int rows = p->kinds + (int)p->scenario->cluster.type_count;
    const struct adl_lp_problem problem = {rows,     p->columns, p->start,     p->index,     p->value,
                                           p->lower, p->upper,   p->objective, p->row_lower, p->row_upper};
    struct adl_lp *lp = NULL;
    for (int i = 0; i < p->columns + rows; i++)
        p->basis[i] = i < p->columns ? ADL_LP_AT_LOWER : ADL_LP_BASIC;
    const int status = adl_lp_create(&lp);
    if (status)
        return adl_fail(err, status, "out of memory for the load of a scenario");
    const struct adl_lp_answer answer = adl_lp_solve(lp, &problem, ITERATIONS_MAX, p->basis, p->values);
    adl_lp_destroy(lp);
    if (answer.outcome != ADL_LP_OPTIMAL)
        return adl_fail(err, ADL_EINVAL, "the load of scenario '%s' cannot be computed", p->scenario->name);
    *ret_rate = p->values[0];
    return 0;
}

int adl_scenario_capacity(const struct adl_scenario *scenario, double *ret_jobs_per_h, struct adl_error *err)
{
    struct program p = {.scenario = scenario};
    double weights = 0, rate = 0;
    if (!allocate(&p)) {
        clear(&p);
        return adl_fail(err, ADL_ENOMEM, "out of memory for the load of a scenario");
    }
    for (uint32_t m = 0; m < scenario->workload.mix_count; m++)
        weights += scenario->workload.mix[m].weight;
    for (uint32_t m = 0; m < scenario->workload.mix_count; m++)
        add_kinds(&p, &scenario->workload.mix[m], weights);
    const double unit = unit_of(&p);
    build(&p, unit);
    const int status = solve(&p, &rate, err);
    clear(&p);
    if (status == 0)
        *ret_jobs_per_h = rate * (double)scenario->cluster.gpu_count / unit * 3600;
    return status;
}
