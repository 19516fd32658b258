#include "report/arena/arena_json.h"

#include "base/json.h"

static void put_ratio(struct adl_json *json, const char *name, const struct adl_arena_ratio *ratio)
{
    adl_json_key(json, name);
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_real(json, "ratio", ratio->ratio);
    adl_json_put_real(json, "lo", ratio->lo);
    adl_json_put_real(json, "hi", ratio->hi);
    adl_json_put_real(json, "p", ratio->p);
    adl_json_end(json);
}

static void put_runs(struct adl_json *json, const struct adl_arena_cell *cell, uint32_t seeds)
{
    adl_json_key(json, "jct_mean_s_by_seed");
    adl_json_flat(json);
    adl_json_array(json);
    for (uint32_t s = 0; s < seeds; s++)
        adl_json_real(json, cell->runs[s].value[ADL_METRIC_JCT_MEAN]);
    adl_json_end(json);
}

static void put_cell(struct adl_json *json, const char *policy, const struct adl_arena_cell *cell, uint32_t seeds)
{
    static const char *const states[] = {"absent", "done", "over_budget"};
    adl_json_object(json);
    adl_json_put_string(json, "policy", policy);
    adl_json_put_string(json, "state", states[cell->state]);
    adl_json_put_real(json, "cpu_s", cell->cpu_s);
    if (cell->state == ADL_ARENA_DONE) {
        adl_json_key(json, "metrics");
        adl_json_flat(json);
        adl_json_object(json);
        for (int m = 0; m < ADL_METRIC_COUNT; m++)
            adl_json_put_real(json, adl_metric_table[m].name, cell->metrics[m].mean);
        adl_json_end(json);
        adl_json_put_real(json, "evictions", cell->evictions);
        adl_json_put_real(json, "lost_gpu_s", cell->lost_gpu_s);
        adl_json_put_uint(json, "unfinished", cell->unfinished);
        adl_json_put_uint(json, "refused", cell->refused);
        put_ratio(json, "versus_peer", &cell->versus_peer);
        put_runs(json, cell, seeds);
    }
    adl_json_end(json);
}

static void put_workload(struct adl_json *json, const struct adl_arena *arena, uint32_t index)
{
    static const char *const verdicts[] = {"draw", "win", "loss"};
    const struct adl_arena_workload *workload = &arena->workloads[index];
    adl_json_object(json);
    adl_json_put_string(json, "name", workload->name);
    adl_json_put_string(json, "group", workload->group);
    adl_json_put_string(json, "skipped", workload->skipped[0] ? workload->skipped : NULL);
    if (!workload->skipped[0]) {
        adl_json_put_string(json, "about", workload->about);
        adl_json_put_string(json, "regime", workload->regime);
        adl_json_put_uint(json, "gpus", workload->gpus);
        adl_json_put_uint(json, "jobs", workload->jobs);
        adl_json_put_uint(json, "without_limit", workload->without_limit);
        adl_json_put_uint(json, "first_seed", workload->first_seed);
        adl_json_put_uint(json, "seeds", workload->seed_count);
        adl_json_put_string(json, "best_peer",
                            workload->best_peer != ADL_NONE ? arena->policies[workload->best_peer].name : NULL);
        put_ratio(json, "ours", &workload->ours);
        adl_json_put_string(json, "verdict", verdicts[workload->verdict]);
        adl_json_key(json, "policies");
        adl_json_array(json);
        for (uint32_t p = 0; p < arena->policy_count; p++)
            put_cell(json, arena->policies[p].name, &arena->cells[(size_t)index * arena->policy_count + p],
                     workload->seed_count);
        adl_json_end(json);
    }
    adl_json_end(json);
}

static void put_total(struct adl_json *json, const struct adl_arena_total *total)
{
    adl_json_object(json);
    adl_json_put_string(json, "group", total->group ? total->group : "all");
    adl_json_put_uint(json, "workloads", total->workloads);
    adl_json_put_uint(json, "wins", total->wins);
    adl_json_put_uint(json, "draws", total->draws);
    adl_json_put_uint(json, "losses", total->losses);
    adl_json_put_uint(json, "below", total->below);
    put_ratio(json, "ratio", &total->ratio);
    adl_json_end(json);
}

void adl_arena_json(struct adl_text *text, const struct adl_arena *arena)
{
    struct adl_json json = adl_json_start(text, true);
    adl_json_object(&json);
    adl_json_put_string(&json, "version", arena->version);
    adl_json_put_string(&json, "regime", arena->regime);
    adl_json_put_string(&json, "seeds", arena->seeds);
    adl_json_put_real(&json, "budget_s", arena->budget_s);
    adl_json_put_string(&json, "ours", arena->policies[arena->ours].name);
    adl_json_key(&json, "policies");
    adl_json_array(&json);
    for (uint32_t p = 0; p < arena->policy_count; p++) {
        adl_json_object(&json);
        adl_json_put_string(&json, "name", arena->policies[p].name);
        adl_json_put_uint(&json, "workloads", arena->policies[p].workloads);
        put_ratio(&json, "versus_peer", &arena->policies[p].versus_peer);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_json_key(&json, "workloads");
    adl_json_array(&json);
    for (uint32_t w = 0; w < arena->workload_count; w++)
        put_workload(&json, arena, w);
    adl_json_end(&json);
    adl_json_key(&json, "totals");
    adl_json_array(&json);
    for (int g = 0; g < ADL_ARENA_GROUPS; g++)
        put_total(&json, &arena->groups[g]);
    put_total(&json, &arena->all);
    adl_json_end(&json);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}
