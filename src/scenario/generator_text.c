/* generator_text: writes a drawn scenario as YAML, with comments that say what was drawn. */
#include "scenario/generator.h"
#include "scenario/generator_internal.h"

#include <inttypes.h>
#include <math.h>

/* A number between two pieces of text. */
static void put(struct adl_text *text, const char *before, double value, const char *after)
{
    adl_text_put(text, before);
    adl_text_real(text, value);
    adl_text_put(text, after);
}

static double run_s(const struct adl_drawn *d)
{
    return (double)d->jobs / d->rate_per_h * 3600;
}

static double at_least(double least, double value)
{
    return adl_drawn_tidy(fmax(least, value));
}

static const char *purpose_of(uint64_t seed)
{
    if (seed < ADL_GENERATOR_VALIDATION_SEED)
        return "training";
    return seed < ADL_GENERATOR_TEST_SEED ? "validation" : "test";
}

static void put_head(const struct adl_drawn *d, struct adl_text *text)
{
    const char *size = adl_generator_size_names[d->size];
    adl_text_printf(text, "# adlro scenario random --seed %" PRIu64 " --size %s\n", d->seed, size);
    adl_text_printf(text,
                    "# The seed is of the %s range. Drawn: %" PRIu32 " GPUs of %" PRIu32 " type%s, %" PRIu32
                    " classes of jobs,\n",
                    purpose_of(d->seed), d->gpus, d->type_count, d->type_count == 1 ? "" : "s", d->line_count);
    put(text, "# a typical run time of ", d->scale_s, " s, and a load of ");
    put(text, "", d->load, " of what the cluster can do.\n");
    adl_text_printf(text, "name: random-%s-%" PRIu64 "\n", size, d->seed);
    adl_text_printf(text, "description: %" PRIu32 " GPUs of %" PRIu32 " type%s at a load of ", d->gpus, d->type_count,
                    d->type_count == 1 ? "" : "s");
    put(text, "", d->load, "; drawn at random");
    adl_text_printf(text, " with seed %" PRIu64 "\ncatalogue: catalogue.yaml\n", d->seed);
    if (!d->kill_at_limit)
        adl_text_put(text, "kill_at_limit: false\n");
}

static void put_cluster(const struct adl_drawn *d, struct adl_text *text)
{
    put(text, "cluster:\n  network_gbs: ", d->network_gbs, "\n  nodes:\n");
    for (uint32_t i = 0; i < d->group_count; i++) {
        const struct adl_drawn_group *group = &d->groups[i];
        adl_text_printf(
            text, "    - {name: %c-%s, count: %" PRIu32 ", cpu_cores: %" PRIu32 ", memory_mib: %" PRIu32 ", link_gbs: ",
            (char)('a' + (int)i), group->type->name, group->nodes, group->cores, group->memory_mib);
        put(text, "", group->link_gbs, ", ");
        adl_text_printf(text, "gpus: [{type: %s, count: %" PRIu32 "}]}\n", group->type->name, group->gpus);
    }
}

/* The rate outside a surge is lower, so that the mean over the run is the drawn one. */
static void put_arrivals(const struct adl_drawn *d, struct adl_text *text)
{
    static const char *const names[] = {"poisson", "diurnal", "bursty", "surge"};
    const bool surge = d->process == ADL_ARRIVAL_SURGE;
    const double calm = surge ? d->rate_per_h / (1 + (d->surge_factor - 1) * d->surge_length) : d->rate_per_h;
    adl_text_printf(text, "  arrivals: {process: %s, rate_per_h: ", names[d->process]);
    adl_text_real(text, adl_drawn_tidy(calm));
    if (d->process == ADL_ARRIVAL_DIURNAL) {
        put(text, ", amplitude: ", d->amplitude, "");
        put(text, ", period_s: ", at_least(1, run_s(d) / d->periods), "");
    } else if (d->process == ADL_ARRIVAL_BURSTY) {
        put(text, ", burst_jobs: ", d->burst_jobs, "");
    } else if (surge) {
        put(text, ", surge_start_s: ", at_least(1, d->surge_start * run_s(d)), "");
        put(text, ", surge_length_s: ", at_least(1, d->surge_length * run_s(d)), "");
        put(text, ", surge_factor: ", d->surge_factor, "");
    }
    adl_text_put(text, "}\n");
}

static void put_limits(const struct adl_drawn *d, struct adl_text *text)
{
    put(text, "  limits: {median_factor: ", d->limits.median_factor, "");
    put(text, ", sigma: ", d->limits.sigma, "");
    put(text, ", exact_share: ", d->limits.exact_share, "");
    put(text, ", round_s: ", d->limits.round_s, "}\n");
}

static void put_demand(const struct adl_drawn_line *line, struct adl_text *text)
{
    adl_text_printf(text, "      reference: %s\n", line->reference->name);
    for (uint32_t i = 0; i < line->type_count; i++)
        adl_text_printf(text, "%s%s%s", i ? ", " : "      types: [", line->types[i]->name,
                        i + 1 == line->type_count ? "]\n" : "");
    for (uint32_t i = 0; line->gang_count > 1 && i < line->gang_count; i++) {
        adl_text_printf(text, "%s{count: %" PRIu32, i ? ", " : "      gpus: [", line->gangs[i]);
        put(text, ", weight: ", line->gang_weights[i], i + 1 == line->gang_count ? "}]\n" : "}");
    }
    if (line->span && line->gang_count > 1)
        adl_text_put(text, "      span: true\n");
    adl_text_printf(text, "      cpu_cores: %" PRIu32 "\n      memory_mib: %" PRIu32 "\n", line->cores,
                    line->memory_mib);
}

static void put_terms(const struct adl_drawn_line *line, struct adl_text *text)
{
    put(text, "      priority: {min: ", line->priority_min, "");
    put(text, ", max: ", line->priority_max, "}\n");
    if (line->share)
        adl_text_put(text, "      share: true\n");
    if (!line->preemptible)
        adl_text_put(text, "      preemptible: false\n");
    if (line->stop_loss == ADL_LOSS_ALL)
        adl_text_put(text, "      stop_loses: all\n");
    if (line->stop_loss == ADL_LOSS_SINCE_CHECKPOINT)
        put(text, "      stop_loses: since_checkpoint\n      checkpoint_every_s: ", line->checkpoint_every_s, "\n");
    if (line->deadline_share > 0) {
        put(text, "      deadline: {share: ", line->deadline_share, "");
        put(text, ", slack: ", line->deadline_slack, "}\n");
    }
    if (line->throughput_share > 0) {
        put(text, "      throughput: {share: ", line->throughput_share, "");
        put(text, ", floor: ", line->throughput_floor, "}\n");
    }
}

static void put_workload(const struct adl_drawn *d, struct adl_text *text)
{
    adl_text_put(text, "workload:\n");
    put(text, "  # all jobs arrive within about ", adl_drawn_tidy(run_s(d) / 3600), " h\n");
    adl_text_printf(text, "  jobs: %" PRIu64 "\n  users: %" PRIu32 "\n", d->jobs, d->users);
    put_arrivals(d, text);
    put_limits(d, text);
    adl_text_put(text, "  mix:\n");
    for (uint32_t i = 0; i < d->line_count; i++) {
        const struct adl_drawn_line *line = &d->lines[i];
        adl_text_printf(text, "    - class: %s # %s\n      weight: %" PRIu32 "\n", line->class->job.name,
                        adl_kind_names[line->class->kind], line->weight);
        put(text, "      duration_s: {median: ", line->median_s, "");
        put(text, ", sigma: ", line->sigma, "");
        put(text, ", min: ", line->min_s, "");
        put(text, ", max: ", line->max_s, "}\n");
        put_demand(line, text);
        put_terms(line, text);
    }
}

static void put_faults(const struct adl_drawn *d, struct adl_text *text)
{
    const double run_h = run_s(d) / 3600;
    put(text, "# of 100 GPUs about ", adl_drawn_tidy(100 / d->gpu_mtbf_runs), " fail in the run\n");
    put(text, "faults: {gpu_mtbf_h: ", at_least(0.01, d->gpu_mtbf_runs * run_h), "");
    put(text, ", gpu_repair_h: ", at_least(0.0001, d->repair_runs * run_h), "");
    put(text, ", node_mtbf_h: ", at_least(0.01, d->node_mtbf_runs * run_h), "");
    put(text, ", node_repair_h: ", at_least(0.0001, d->repair_runs * run_h), "}\n");
}

/* The file's wear is at most 1 per 1000 hours, so short runs wear less than drawn. */
static void put_drift(const struct adl_drawn *d, struct adl_text *text)
{
    put(text, "drift:\n  wear_per_kh: ", adl_drawn_tidy(fmin(1, d->wear_loss * 1000 / (run_s(d) / 3600))), "\n");
    put(text, "  throttle_share: ", d->throttle_share, "\n");
    put(text, "  throttle_factor: ", d->throttle_factor, "\n");
    put(text, "  throttle_period_s: ", at_least(1, run_s(d) / 20), "\n");
    if (!d->update)
        return;
    put(text, "  updates: [{time_s: ", at_least(1, d->update_at * run_s(d)), "");
    adl_text_printf(text, ", type: %s", d->update->name);
    put(text, ", factor: ", d->update_factor, "}]\n");
}

static void put_rest(const struct adl_drawn *d, struct adl_text *text)
{
    if (d->faults)
        put_faults(d, text);
    if (d->drift)
        put_drift(d, text);
    if (d->telemetry) {
        put(text, "telemetry: {interval_s: ", at_least(1, d->scale_s / 10), ", noise: 0.03, dropout: 0.01, progress: ");
        adl_text_put(text, d->progress ? "true}\n" : "false}\n");
    }
    put(text, "preemption: {checkpoint_s: ", d->checkpoint_s, "");
    put(text, ", restart_s: ", d->restart_s, "");
    put(text, ", interval_s: ", at_least(0.01, d->interval_s), "}\n");
    if (d->sharing)
        adl_text_put(text, "policy: {share: true}\n");
}

void adl_drawn_write(const struct adl_drawn *drawn, struct adl_text *text)
{
    put_head(drawn, text);
    put_cluster(drawn, text);
    put_workload(drawn, text);
    put_rest(drawn, text);
}
