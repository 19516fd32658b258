#include "experiment/arena_summary.h"

#include "base/real.h"

#include <math.h>
#include <stdlib.h>

#define SIGNIFICANT 0.05

static const struct adl_arena_ratio no_ratio = {NAN, NAN, NAN, 1};

/* Space for one number of each seed or each workload. */
struct scratch {
    double *a, *b;
};

/* ---- cells ---- */

static void summarize_cell(struct adl_arena_cell *cell, uint32_t seeds, double *values)
{
    for (int m = 0; m < ADL_METRIC_COUNT; m++) {
        for (uint32_t s = 0; s < seeds; s++)
            values[s] = cell->runs[s].value[m];
        cell->metrics[m] = adl_summarize(values, seeds);
    }
    for (uint32_t s = 0; s < seeds; s++) {
        cell->evictions += (double)cell->runs[s].evictions / seeds;
        cell->lost_gpu_s += (double)cell->runs[s].lost_gpu_s / seeds;
        cell->unfinished += cell->runs[s].unfinished;
        cell->refused += cell->runs[s].refused;
    }
}

static void take_logs(const struct adl_arena_cell *cell, uint32_t seeds, double *ret)
{
    for (uint32_t s = 0; s < seeds; s++)
        ret[s] = adl_log(cell->runs[s].value[ADL_METRIC_JCT_MEAN]);
}

/* Its geometric mean JCT over the seeds, as a logarithm; not finite if it is not done. */
static double level_of(const struct adl_arena_cell *cell, uint32_t seeds, double *values)
{
    if (cell->state != ADL_ARENA_DONE)
        return INFINITY;
    take_logs(cell, seeds, values);
    return adl_summarize(values, seeds).mean;
}

/* ---- ratios ---- */

/* Of logarithms of pairs: exp of the mean of a - b. */
static int compare_logs(const struct scratch *scratch, uint32_t count, struct adl_arena_ratio *ret)
{
    struct adl_paired paired;
    if (adl_compare_pairs(scratch->a, scratch->b, count, &paired))
        return ADL_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        scratch->a[i] -= scratch->b[i];
    const struct adl_summary summary = adl_summarize(scratch->a, count);
    *ret = (struct adl_arena_ratio){adl_exp(summary.mean), adl_exp(summary.lo), adl_exp(summary.hi), paired.t_p};
    return 0;
}

static int compare_cells(const struct adl_arena_cell *cell, const struct adl_arena_cell *peer, uint32_t seeds,
                         const struct scratch *scratch, struct adl_arena_ratio *ret)
{
    *ret = no_ratio;
    if (cell->state != ADL_ARENA_DONE || peer->state != ADL_ARENA_DONE)
        return 0;
    take_logs(cell, seeds, scratch->a);
    take_logs(peer, seeds, scratch->b);
    return compare_logs(scratch, seeds, ret);
}

/* ---- workloads ---- */

/* The best of those that finish all jobs; a policy that leaves some has the least mean of the rest for a wrong reason.
 */
static uint32_t find_best_peer(const struct adl_arena *arena, uint32_t workload, double *values)
{
    uint32_t best = ADL_NONE;
    double least = INFINITY;
    for (uint32_t p = 0; p < arena->policy_count; p++) {
        const struct adl_arena_cell *cell = &arena->cells[(size_t)workload * arena->policy_count + p];
        if (arena->policies[p].ours || cell->unfinished > 0)
            continue;
        const double level = level_of(cell, arena->workloads[workload].seed_count, values);
        if (level < least) {
            least = level;
            best = p;
        }
    }
    return best;
}

static int summarize_workload(struct adl_arena *arena, uint32_t index, const struct scratch *scratch)
{
    struct adl_arena_workload *workload = &arena->workloads[index];
    struct adl_arena_cell *cells = &arena->cells[(size_t)index * arena->policy_count];
    int status = 0;
    for (uint32_t p = 0; p < arena->policy_count; p++)
        if (cells[p].state == ADL_ARENA_DONE)
            summarize_cell(&cells[p], workload->seed_count, scratch->a);
    workload->best_peer = find_best_peer(arena, index, scratch->a);
    workload->ours = no_ratio;
    for (uint32_t p = 0; p < arena->policy_count && status == 0; p++) {
        cells[p].versus_peer = no_ratio;
        if (workload->best_peer != ADL_NONE)
            status = compare_cells(&cells[p], &cells[workload->best_peer], workload->seed_count, scratch,
                                   &cells[p].versus_peer);
    }
    workload->ours = cells[arena->ours].versus_peer;
    return status;
}

/* Ours does not finish where a peer does: no ratio could say so. */
static bool fails(const struct adl_arena *arena, uint32_t workload)
{
    const struct adl_arena_cell *ours = &arena->cells[(size_t)workload * arena->policy_count + arena->ours];
    return arena->workloads[workload].best_peer != ADL_NONE &&
           (ours->state == ADL_ARENA_OVER_BUDGET || ours->unfinished > 0);
}

/* One family: the workloads that have a test. */
static int judge(struct adl_arena *arena, const struct scratch *scratch)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < arena->workload_count; w++)
        if (isfinite(arena->workloads[w].ours.ratio) && arena->workloads[w].seed_count > 1)
            scratch->a[count++] = arena->workloads[w].ours.p;
    if (count > 0 && adl_holm(scratch->a, count))
        return ADL_ENOMEM;
    count = 0;
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        struct adl_arena_workload *workload = &arena->workloads[w];
        if (isfinite(workload->ours.ratio) && workload->seed_count > 1)
            workload->ours.p = scratch->a[count++];
        if (fails(arena, w))
            workload->verdict = ADL_ARENA_LOSS;
        else if (isfinite(workload->ours.ratio) && workload->ours.p < SIGNIFICANT)
            workload->verdict = workload->ours.ratio < 1 ? ADL_ARENA_WIN : ADL_ARENA_LOSS;
    }
    return 0;
}

/* ---- totals ---- */

static int total_of(const struct adl_arena *arena, const char *group, const struct scratch *scratch,
                    struct adl_arena_total *ret)
{
    struct adl_arena_total total = {.group = group, .ratio = no_ratio};
    uint32_t count = 0;
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        const struct adl_arena_workload *workload = &arena->workloads[w];
        if ((group && workload->group != group) || (!isfinite(workload->ours.ratio) && !fails(arena, w)))
            continue;
        total.workloads++;
        total.wins += workload->verdict == ADL_ARENA_WIN;
        total.losses += workload->verdict == ADL_ARENA_LOSS;
        total.draws += workload->verdict == ADL_ARENA_DRAW;
        total.below += workload->ours.ratio < 1;
        if (isfinite(workload->ours.ratio)) {
            scratch->b[count] = 0;
            scratch->a[count++] = adl_log(workload->ours.ratio);
        }
    }
    *ret = total;
    return count > 0 ? compare_logs(scratch, count, &ret->ratio) : 0;
}

static int summarize_policy(struct adl_arena *arena, uint32_t policy, const struct scratch *scratch)
{
    struct adl_arena_policy *out = &arena->policies[policy];
    uint32_t count = 0;
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        const struct adl_arena_cell *cell = &arena->cells[(size_t)w * arena->policy_count + policy];
        if (cell->state != ADL_ARENA_DONE || !isfinite(cell->versus_peer.ratio))
            continue;
        scratch->b[count] = 0;
        scratch->a[count++] = adl_log(cell->versus_peer.ratio);
    }
    out->workloads = count;
    out->versus_peer = no_ratio;
    return count > 0 ? compare_logs(scratch, count, &out->versus_peer) : 0;
}

static int summarize(struct adl_arena *arena, const struct scratch *scratch)
{
    int status = 0;
    for (uint32_t w = 0; w < arena->workload_count && status == 0; w++)
        status = summarize_workload(arena, w, scratch);
    if (status == 0)
        status = judge(arena, scratch);
    for (uint32_t p = 0; p < arena->policy_count && status == 0; p++)
        status = summarize_policy(arena, p, scratch);
    for (int g = 0; g < ADL_ARENA_GROUPS && status == 0; g++)
        status = total_of(arena, adl_arena_group_names[g], scratch, &arena->groups[g]);
    return status ? status : total_of(arena, NULL, scratch, &arena->all);
}

int adl_arena_summarize(struct adl_arena *arena)
{
    size_t most = (size_t)arena->workload_count + 1;
    for (uint32_t w = 0; w < arena->workload_count; w++)
        most = most > arena->workloads[w].seed_count ? most : arena->workloads[w].seed_count;
    struct scratch scratch = {.a = calloc(most, sizeof(double)), .b = calloc(most, sizeof(double))};
    const int status = scratch.a && scratch.b ? summarize(arena, &scratch) : ADL_ENOMEM;
    free(scratch.a);
    free(scratch.b);
    return status;
}
