/* Scenarios and catalogues: every key arrives where it belongs, what makes no sense is refused with its line. */
#include "scenario/catalogue.h"
#include "scenario_fixture.h"
#include "yaml_describe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static int parse_with(const char *text, const char *catalogue, struct adl_scenario *ret, struct adl_error *err)
{
    const struct adl_scenario_source source = {.read = fixture_read, .context = (void *)(uintptr_t)catalogue};
    return adl_scenario_parse("dir/t.yaml", text, strlen(text), &source, ret, err);
}

/* The text with one line replaced (by several, or by none for NULL); the caller frees. */
static char *with_line(const char *text, int line, const char *replacement)
{
    char *changed = calloc(1, strlen(text) + (replacement ? strlen(replacement) : 0) + 2);
    assert_non_null(changed);
    int number = 1;
    while (*text) {
        const size_t length = strcspn(text, "\n") + 1;
        if (number == line && replacement) {
            strcat(changed, replacement);
            strcat(changed, "\n");
        } else if (number != line) {
            strncat(changed, text, length);
        }
        text += length;
        number++;
    }
    assert_true(line < number);
    return changed;
}

static void refused(const char *text, const char *catalogue, const char *message)
{
    struct adl_scenario scenario, before;
    struct adl_error err = {{0}};
    memset(&scenario, 0x5a, sizeof scenario);
    memcpy(&before, &scenario, sizeof before);
    assert_int_equal(parse_with(text, catalogue, &scenario, &err), ADL_EINVAL);
    assert_string_equal(err.text, message);
    assert_memory_equal(&scenario, &before, sizeof before);
}

static void every_key_of_a_scenario_is_read(void **state)
{
    (void)state;
    char *text = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/full.yaml");
    struct adl_scenario s;
    struct adl_error err = {{0}};
    if (parse_with(text, fixture_catalogue, &s, &err))
        fail_msg("%s", err.text);
    free(text);
    assert_string_equal(s.name, "full");
    assert_string_equal(s.description, "every key there is");
    assert_true(s.lambda == 0.25 && !s.kill_at_limit);

    const struct adl_cluster *c = &s.cluster;
    assert_true(c->network_gbs == 12.5);
    assert_int_equal(c->type_count, 2);
    assert_int_equal(c->node_count, 3);
    assert_int_equal(c->bank_count, 4);
    assert_int_equal(c->gpu_count, 11);
    assert_string_equal(c->types[0].name, "big");
    assert_string_equal(c->types[1].name, "small");
    assert_string_equal(c->types[0].source, "a sheet");
    assert_string_equal(c->types[1].vendor, "amd");
    assert_true(c->types[1].modelled && !c->types[0].modelled);
    assert_int_equal(c->types[0].memory_mib, 16384);
    assert_true(c->types[0].bandwidth_gbs == 900 && c->types[0].fp32_tflops == 14.5 && c->types[0].fp16_tflops == 112);
    assert_true(c->types[0].fp64_tflops == 7 && c->types[0].idle_w == 30 && c->types[0].context_w == 60);
    assert_true(c->types[0].max_w == 250);
    assert_string_equal(c->nodes[0].name, "volta-0");
    assert_string_equal(c->nodes[1].name, "volta-1");
    assert_string_equal(c->nodes[2].name, "mixed");
    assert_int_equal(c->nodes[0].cpu_cores, 32);
    assert_int_equal(c->nodes[0].memory_mib, 262144);
    assert_true(c->nodes[0].link_gbs == 32);
    assert_int_equal(c->banks[2].type, 1);
    assert_int_equal(c->banks[2].gpu_count, 2);

    assert_int_equal(s.class_count, 2);
    assert_string_equal(s.classes[0].name, "train");
    assert_string_equal(s.classes[1].name, "infer");
    assert_int_equal(s.classes[0].kind, ADL_KIND_TRAINING);
    assert_int_equal(s.classes[1].kind, ADL_KIND_INFERENCE);
    assert_int_equal(s.classes[0].gpu_memory_mib, 7800);
    assert_true(s.classes[0].activity == 0.85 && s.classes[0].bandwidth == 0.6 && s.classes[0].sync_share == 0.1);
    assert_true(s.classes[0].scaling == 0.92);
    assert_true(s.classes[0].steps_per_s[0] == 4.5 && s.classes[0].steps_per_s[1] == 2.25);
    assert_true(s.classes[1].steps_per_s[0] == 0 && s.classes[1].steps_per_s[1] == 100);
    assert_true(!s.classes[0].modelled[0] && s.classes[0].modelled[1]); /* the second by its GPU type */

    const struct adl_workload *w = &s.workload;
    assert_int_equal(w->jobs, 256);
    assert_int_equal(w->users, 20);
    assert_int_equal(w->arrivals.process, ADL_ARRIVAL_SURGE);
    assert_true(w->arrivals.rate_per_h == 3600 && w->arrivals.amplitude == 0.75 && w->arrivals.period_s == 43200);
    assert_true(w->arrivals.burst_jobs == 6 && w->arrivals.surge_start_s == 600 && w->arrivals.surge_length_s == 300);
    assert_true(w->arrivals.surge_factor == 5 && w->arrivals.surge_kind == ADL_KIND_TRAINING);
    assert_true(w->limits.median_factor == 2 && w->limits.sigma == 0.7 && w->limits.exact_share == 0.2);
    assert_true(w->limits.round_s == 60);
    assert_int_equal(w->mix_count, 3);
    const struct adl_mix *m = &w->mix[0];
    assert_int_equal(m->class_index, 0);
    assert_true(m->weight == 3 && m->median_s == 20 && m->sigma == 0.8 && m->min_s == 1 && m->max_s == 600);
    assert_int_equal(m->reference, 0);
    assert_int_equal(m->types, 3);
    assert_int_equal(m->gang_count, 2);
    assert_true(m->gang_gpus[0] == 1 && m->gang_gpus[1] == 4 && m->gang_weight[0] == 6 && m->gang_weight[1] == 1);
    assert_true(m->cpu_cores == 4 && m->memory_mib == 16384 && m->gpu_memory_mib == 4000);
    assert_true(m->priority_min == 0.2 && m->priority_max == 0.9);
    assert_int_equal(m->flags, ADL_JOB_SHARE | ADL_JOB_SPAN);
    assert_true(m->deadline_share == 0.3 && m->deadline_slack == 4);
    assert_true(m->throughput_share == 0.4 && m->throughput_floor == 0.5);
    assert_int_equal(w->mix[1].class_index, 1);
    assert_int_equal(w->mix[2].class_index, 0);

    assert_true(s.faults.gpu_mtbf_h == 100 && s.faults.gpu_repair_h == 2);
    assert_true(s.faults.node_mtbf_h == 1000 && s.faults.node_repair_h == 3);
    assert_true(s.drift.wear_per_kh == 0.01 && s.drift.wear_floor == 0.6 && s.drift.throttle_share == 0.1);
    assert_true(s.drift.throttle_factor == 0.8 && s.drift.throttle_period_s == 1800);
    assert_int_equal(s.drift.update_count, 1);
    assert_true(s.drift.updates[0].time_s == 3600 && s.drift.updates[0].factor == 0.9);
    assert_int_equal(s.drift.updates[0].type, 1);
    assert_true(s.telemetry.progress && s.telemetry.interval_s == 5 && s.telemetry.noise == 0.03 &&
                s.telemetry.dropout == 0.02);
    assert_true(s.preemption.checkpoint_s == 1 && s.preemption.restart_s == 2 && s.preemption.interval_s == 300);
    assert_true(s.network.latency_ms == 50 && s.network.jitter == 0.5 && s.network.loss == 0.05);
    assert_true(s.network.duplicate == 0.02 && s.network.crash_mtbf_h == 9 && s.network.crash_s == 120);
    assert_true(s.network.partition_start_s == 60 && s.network.partition_s == 600);
    assert_true(s.network.partition_share == 0.25);
    assert_string_equal(s.policy.settings, "affinity=training:big\nbackfill_depth=4\nshare=true\n"
                                           "backfill_rule=ends_before\nplacement=consolidated\nfirst_fit=true\n"
                                           "by_gpu_time=true\nlas_limits_gpu_s=3600,7200.5\nlas_promote=8\n"
                                           "round_s=120\nlas_running_first=true\nlas_lazy=true\nby_count=true\n"
                                           "priority_s=600\n");
    assert_true(s.preemption.restart_by_gpus_s[0] == 7 && s.preemption.restart_by_gpus_s[1] == 30);
    assert_true(s.preemption.restart_by_gpus_s[2] == 60.5);
    assert_true(s.preemption.rework_by_gpus_s[0] == 1 && s.preemption.rework_by_gpus_s[1] == 2);
    assert_true(s.preemption.rework_by_gpus_s[2] == 3.5 && s.one_by_one);
    assert_true(s.references.jct_s == 60 && s.references.p99_s == 200 && s.references.jobs_per_h == 2000);
    assert_true(s.references.energy_mj == 1.5 && s.references.slowdown == 10 && s.references.sla == 0.9);
    adl_scenario_clear(&s);
}

static void what_a_scenario_leaves_out_has_the_documented_default(void **state)
{
    (void)state;
    char *text = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/small.yaml");
    struct adl_scenario s;
    struct adl_error err = {{0}};
    if (parse_with(text, fixture_catalogue, &s, &err))
        fail_msg("%s", err.text);
    free(text);
    assert_string_equal(s.description, "the least that a scenario can say");
    assert_true(s.lambda == 0.1 && s.kill_at_limit);
    assert_string_equal(s.cluster.nodes[0].name, "n");
    const struct adl_workload *w = &s.workload;
    assert_int_equal(w->users, 1);
    assert_int_equal(w->arrivals.process, ADL_ARRIVAL_BACKLOG);
    assert_true(w->arrivals.amplitude == 0.5 && w->arrivals.period_s == 86400 && w->arrivals.burst_jobs == 8);
    assert_true(w->arrivals.surge_start_s == 0 && w->arrivals.surge_factor == 4 && w->arrivals.surge_kind == -1);
    assert_true(w->limits.median_factor == 2.5 && w->limits.sigma == 0.8 && w->limits.exact_share == 0.1);
    assert_true(w->limits.round_s == 0);
    const struct adl_mix *m = &w->mix[0];
    assert_true(m->weight == 1 && m->sigma == 0 && m->min_s == 0.001 && m->max_s == 8640000);
    assert_int_equal(m->types, 1);
    assert_true(m->gang_count == 1 && m->gang_gpus[0] == 1 && m->gang_weight[0] == 1);
    assert_true(m->cpu_cores == 1 && m->memory_mib == 1024 && m->gpu_memory_mib == 2000);
    assert_true(m->priority_min == 0.5 && m->priority_max == 0.5);
    assert_int_equal(m->flags, ADL_JOB_PREEMPTIBLE);
    assert_true(m->stop_loss == ADL_LOSS_NOTHING && m->checkpoint_us == 0);
    assert_true(m->deadline_share == 0 && m->throughput_share == 0);
    assert_true(s.faults.gpu_mtbf_h == 0 && s.faults.gpu_repair_h == 1 && s.faults.node_mtbf_h == 0);
    assert_true(s.faults.node_repair_h == 1);
    assert_true(s.drift.wear_per_kh == 0 && s.drift.wear_floor == 0.5 && s.drift.throttle_share == 0);
    assert_true(s.drift.throttle_factor == 1 && s.drift.throttle_period_s == 3600 && s.drift.update_count == 0);
    assert_true(!s.telemetry.progress && s.telemetry.interval_s == 0 && s.telemetry.noise == 0.02 &&
                s.telemetry.dropout == 0.01);
    assert_true(s.preemption.checkpoint_s == 0 && s.preemption.restart_s == 0 && s.preemption.interval_s == 0);
    assert_true(s.network.latency_ms == 0 && s.network.loss == 0 && s.network.crash_mtbf_h == 0);
    assert_true(s.network.partition_s == 0 && s.network.partition_share == 0.5 && s.network.crash_s == 60);
    assert_null(s.policy.settings);
    assert_true(s.preemption.rework_by_gpus_s[2] == 0 && s.preemption.restart_by_gpus_s[0] == 0 && !s.one_by_one);
    assert_true(s.references.jct_s == 0);
    adl_scenario_clear(&s);
}

static void what_a_stop_loses_is_read_for_each_line_of_the_mix(void **state)
{
    (void)state;
    char *text = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/small.yaml");
    struct adl_scenario s;
    struct adl_error err = {{0}};
    char longer[1024], *reference = strstr(text, ", reference: ");
    assert_non_null(reference);
    snprintf(longer, sizeof longer, "%.*s, stop_loses: since_checkpoint, checkpoint_every_s: 600.5%s",
             (int)(reference - text), text, reference);
    if (parse_with(longer, fixture_catalogue, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(s.workload.mix[0].stop_loss, ADL_LOSS_SINCE_CHECKPOINT);
    assert_int_equal(s.workload.mix[0].checkpoint_us, 600500000);
    adl_scenario_clear(&s);
    free(text);
}

/* Each case replaces one line of full.yaml. */
static void a_scenario_that_makes_no_sense_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *replacement, *message;
    } cases[] = {
        {1, NULL, "dir/t.yaml:1: missing key 'name' (what reports call it)"},
        {1, "name: a b",
         "dir/t.yaml:1: name must be a letter or digit followed by letters, digits and . _ + -, got 'a b'"},
        {4, "lambda: 1", "dir/t.yaml:4: lambda must be between 0 and 1, both excluded, got 1"},
        {4, "lambda: 0", "dir/t.yaml:4: lambda must be between 0 and 1, both excluded, got 0"},
        {5, "kill_at_limt: true",
         "dir/t.yaml:5: unknown key 'kill_at_limt'; did you mean 'kill_at_limit'? (keys: name, description, "
         "catalogue, "
         "lambda, kill_at_limit, events, gpu_types, cluster, workload, faults, drift, power_limit, telemetry, "
         "preemption, network, "
         "references, policy, variants)"},
        {7, "  network_gbs: fast", "dir/t.yaml:7: cluster.network_gbs must be a finite decimal number, got 'fast'"},
        {9, "    - name: a123456789012345678901234567890123456789012345",
         "dir/t.yaml:9: cluster.nodes[0].name is too long to be numbered up to 1"},
        {9, "    - name: mixed", NULL}, /* mixed-0, mixed-1 and mixed are three names */
        {10, "      count: 0", "dir/t.yaml:10: cluster.nodes[0].count must be between 1 and 262144, got 0"},
        {10, "      count: 262144", "dir/t.yaml:15: cluster.nodes[1]: with it the cluster has more than 262144 nodes"},
        {14, "      gpus: [{type: big, count: 65}]",
         "dir/t.yaml:14: cluster.nodes[0].gpus[0].count must be between 1 and 64, got 65"},
        {14, "      gpus: [{type: bgi, count: 4}]",
         "dir/t.yaml:14: cluster.nodes[0].gpus[0].type: unknown GPU type 'bgi'; did you mean 'big'? (types: "
         "unused, "
         "big, small)"},
        {14, "      gpus: []", "dir/t.yaml:14: cluster.nodes[0].gpus must have 1 to 32 elements, got 0"},
        {14, "      gpus: 4", "dir/t.yaml:14: cluster.nodes[0].gpus must be a list, got '4'"},
        {15, "    - name: volta-1", "dir/t.yaml:15: cluster.nodes[1].name: a second node is called 'volta-1'"},
        {19, "      gpus: [{type: big, count: 2}, {type: big, count: 1}]",
         "dir/t.yaml:19: cluster.nodes[1].gpus[1].type: 'big' is given twice; add the counts up"},
        {19, "      count: 65536\n      gpus: [{type: small, count: 64}]",
         "dir/t.yaml:15: cluster.nodes[1]: with it the cluster has more than 4194304 GPUs"},
        {21, "  jobs: 0", "dir/t.yaml:21: workload.jobs must be between 1 and 1e9, got 0"},
        {21, "  jobs: 1e9",
         "dir/t.yaml:21: workload.jobs must be a whole number in plain digits; write 1000000000 for '1e9'"},
        {22, "  users: 1000001", "dir/t.yaml:22: workload.users must be between 1 and 1e6, got 1000001"},
        {24, "    process: poison",
         "dir/t.yaml:24: workload.arrivals.process must be one of poisson, diurnal, bursty, surge, backlog, "
         "got "
         "'poison'; did you mean 'poisson'?"},
        {25, NULL, "dir/t.yaml:24: missing key 'rate_per_h' in workload.arrivals (this process needs it)"},
        {25, "    rate_per_h: 0.00001",
         "dir/t.yaml:25: workload.arrivals.rate_per_h: 256 jobs at this rate take 25600000 hours to arrive; "
         "at most "
         "1000000 are possible"},
        {29, NULL, "dir/t.yaml:24: missing key 'surge_start_s' in workload.arrivals (this process needs it)"},
        {30, NULL, "dir/t.yaml:24: missing key 'surge_length_s' in workload.arrivals (this process needs it)"},
        {32, "    surge_kind: data",
         "dir/t.yaml:32: workload.arrivals.surge_kind: workload.mix has no job of kind 'data' with a weight "
         "above 0"},
        {32, "    surge_kind: traning",
         "dir/t.yaml:32: workload.arrivals.surge_kind must be one of training, inference, simulation, data, "
         "got "
         "'traning'; did you mean 'training'?"},
        {34, "    median_factor: 0.5",
         "dir/t.yaml:34: workload.limits.median_factor must be between 1 and 1000, got 0.5"},
        {39, "    - class: trian",
         "dir/t.yaml:39: workload.mix[0].class: unknown job class 'trian'; did you mean 'train'? (classes: "
         "other, "
         "train, infer)"},
        {39, "    - klasse: train",
         "dir/t.yaml:39: unknown key 'klasse' in workload.mix[0]; did you mean 'class'? (keys: class, "
         "weight, "
         "duration_s, reference, types, gpus, cpu_cores, memory_mib, gpu_memory_mib, priority, share, "
         "preemptible, stop_loses, checkpoint_every_s, "
         "span, deadline, throughput)"},
        {50, "      stop_loses: all\n      preemptible: false",
         "dir/t.yaml:50: workload.mix[0].stop_loses: these jobs are not preemptible, so nothing is ever lost; leave it "
         "out or set preemptible: true"},
        {59, "      reference: big\n      stop_loses: everything",
         "dir/t.yaml:60: workload.mix[2].stop_loses must be one of nothing, since_checkpoint, all, got 'everything'"},
        {59, "      reference: big\n      stop_loses: since_checkpoint",
         "dir/t.yaml:60: missing key 'checkpoint_every_s' in workload.mix[2] (stop_loses: since_checkpoint needs it)"},
        {59, "      reference: big\n      checkpoint_every_s: 600",
         "dir/t.yaml:60: workload.mix[2].checkpoint_every_s: has a meaning only with stop_loses: since_checkpoint"},
        {59, "      reference: big\n      stop_loses: since_checkpoint\n      checkpoint_every_s: 600", NULL},
        {40, "      weight: -3", "dir/t.yaml:40: workload.mix[0].weight must be between 0 and 1e6, got -3"},
        {41, "      duration_s: {median: 20, sigma: 0.8,\n        min: 601, max: 600}",
         "dir/t.yaml:42: workload.mix[0].duration_s: min 601 is above max 600"},
        {41, "      duration_s: {median: 700, max: 600}",
         "dir/t.yaml:41: workload.mix[0].duration_s.median must be between min 0.001 and max 600, got 700"},
        {41, "      duration_s: 20", "dir/t.yaml:41: workload.mix[0].duration_s must be a mapping, got '20'"},
        {42, "      reference: bigg",
         "dir/t.yaml:42: workload.mix[0].reference: no node has a GPU of type 'bigg'; did you mean 'big'? "
         "(types: big, "
         "small)"},
        {42, "      reference: unused",
         "dir/t.yaml:42: workload.mix[0].reference: no node has a GPU of type 'unused' (types: big, small)"},
        {56, "      reference: big",
         "dir/t.yaml:56: workload.mix[1].reference: class 'infer' has no speed on 'big' in the catalogue"},
        {56, "      reference: small\n      types:\n        - small\n        - big",
         "dir/t.yaml:59: workload.mix[1].types[1]: class 'infer' has no speed on 'big' in the catalogue"},
        {56, "      reference: small\n      types: [small, small]",
         "dir/t.yaml:57: workload.mix[1].types[1]: 'small' is given twice"},
        {47, "      gpu_memory_mib: 9000",
         "dir/t.yaml:43: workload.mix[0].types[1]: 'small' has 8192 MiB of memory, the jobs need 9000"},
        {56, "      reference: small\n      gpu_memory_mib: 9000",
         "dir/t.yaml:54: workload.mix[1]: no GPU type of the cluster has both a speed for class 'infer' and "
         "9000 MiB "
         "of memory"},
        {44, "      gpus: [{count: 1, weight: 0}, {count: 2, weight: 0}]",
         "dir/t.yaml:44: workload.mix[0].gpus: at least one weight must be above 0"},
        {44, "      gpus: [{count: 2}, {count: 2}]", "dir/t.yaml:44: workload.mix[0].gpus[1].count: 2 is given twice"},
        {44, "      gpus: [1, 2]", "dir/t.yaml:44: workload.mix[0].gpus[0] must be a mapping (key: value), got '1'"},
        {44, "      gpus:\n        - count: 1\n        - count: 10",
         "dir/t.yaml:46: workload.mix[0]: a job of class 'train' with 10 GPUs can never run: it asks for "
         "more GPUs of "
         "one type than the cluster can give it"},
        {51, "      span: false\n      # pushes the rest down", NULL},
        {45, "      cpu_cores: 33",
         "dir/t.yaml:44: workload.mix[0]: a job of class 'train' with 1 GPU can never run: its CPU or host "
         "memory "
         "demand for one GPU exceeds every node"},
        {48, "      priority: {min: 0.9, max: 0.2}",
         "dir/t.yaml:48: workload.mix[0].priority: min 0.9 is above max 0.2 (each is 0.5 if absent)"},
        {48, "      priority: {max: 0.2}",
         "dir/t.yaml:48: workload.mix[0].priority: min 0.5 is above max 0.2 (each is 0.5 if absent)"},
        {52, "      deadline: {share: 0.3}",
         "dir/t.yaml:52: missing key 'slack' in workload.mix[0].deadline (deadline as a multiple of the run "
         "time on "
         "the reference type)"},
        {59, "      reference: big\n      gpus: [{count: 5}]",
         "dir/t.yaml:60: workload.mix[2]: a job of class 'train' with 5 GPUs can never run: it asks for more "
         "GPUs than "
         "one node can give it and may not span nodes (span: true would allow it)"},
        {60, "faults: {gpu_mtbf_h: 0.001}",
         "dir/t.yaml:60: faults.gpu_mtbf_h must be 0 or between 0.01 and 1e9, got 0.001"},
        {67, "  updates: [{time_s: 3600, type: unused, factor: 0.9}]",
         "dir/t.yaml:67: drift.updates[0].type: no node has a GPU of type 'unused' (types: big, small)"},
        {71, "  affinity: [{kind: training, types: [unused]}]",
         "dir/t.yaml:71: policy.affinity[0].types[0]: no node has a GPU of type 'unused' (types: big, "
         "small)"},
        {71, "  affinity: [{kind: trainin, types: [big]}]",
         "dir/t.yaml:71: policy.affinity[0].kind must be one of training, inference, simulation, data, got "
         "'trainin'; "
         "did you mean 'training'?"},
        {71, "  affinity:\n    - {kind: training, types: [big]}\n    - {kind: training, types: [big]}",
         "dir/t.yaml:73: policy.affinity[1].kind: 'training' is given twice"},
        {71, "  affinity: [{kind: training, types: [big, big]}]",
         "dir/t.yaml:71: policy.affinity[0].types[1]: 'big' is given twice"},
        {71, "  affinity:\n    - kind: inference\n      types: [big]",
         "dir/t.yaml:73: policy.affinity[0].types: under 'static' a job of workload.mix[1] (line 54) with 1 "
         "GPU can "
         "never run: its acceptable types are not among these"},
        {71, "  affinity:\n    - kind: training\n      types: [small]",
         "dir/t.yaml:73: policy.affinity[0].types: under 'static' a job of workload.mix[0] (line 39) with 4 "
         "GPUs can "
         "never run: it asks for more GPUs of one type than the cluster can give it"},
        {72, "  backfill_depth: 0", "dir/t.yaml:72: policy.backfill_depth must be between 1 and 1e6, got 0"},
        {75, "  placement: consolidate",
         "dir/t.yaml:75: policy.placement must be one of best_fit, consolidated, got 'consolidate'; did you mean "
         "'consolidated'?"},
        {78, "  las_limits_gpu_s: [3600,\n    3600]",
         "dir/t.yaml:79: policy.las_limits_gpu_s[1] must be above the one before it"},
        {78, "  las_limits_gpu_s: [0]",
         "dir/t.yaml:78: policy.las_limits_gpu_s[0] must be between 0 and 1e15, both excluded, got 0"},
        {78, "  objective: {tail: -1}", "dir/t.yaml:78: policy.objective.tail must be between 0 and 1000, got -1"},
        {78, "  objective: {tail: [1]}", "dir/t.yaml:78: policy.objective.tail must be a number, got a list"},
        {78, "  objective: [1]", "dir/t.yaml:78: policy.objective must be a name or a mapping, got a list"},
        {78, "  las_limits_gpu_s: 3600", "dir/t.yaml:78: policy.las_limits_gpu_s must be a list, got '3600'"},
        {78, "  las_limits_gpu_s: [1, 2, 3, 4, 5, 6, 7, 8, 9]",
         "dir/t.yaml:78: policy.las_limits_gpu_s must have 1 to 8 elements, got 9"},
        {78, "  las_limits_gpu_s: [[1]]", "dir/t.yaml:78: policy.las_limits_gpu_s[0] must be a number, got a list"},
        {69, "preemption: {restart_by_gpus_s: [1, 2]}",
         "dir/t.yaml:69: preemption.restart_by_gpus_s must have 3 to 3 elements, got 2"},
        {69, "preemption: {restart_by_gpus_s: [1, 2, 1e6]}",
         "dir/t.yaml:69: preemption.restart_by_gpus_s[2] must be at most 100000 s"},
        {69, "preemption: {rework_by_gpus_s: [1, 1e14, 1]}",
         "dir/t.yaml:69: preemption.rework_by_gpus_s[1] must be at most 100000 s"},
        {76, "  first_fits: true",
         "dir/t.yaml:76: unknown key 'first_fits' in policy; did you mean 'first_fit'? (keys: first_fit, share, "
         "placement, priority_s, affinity, by_gpu_time, gpus_exponent, by_count, stop_margin, backfill_depth, "
         "backfill_rule, backfill_order, las_limits_gpu_s, las_limits_medians, ...)"},
        {76, "  name: sjf",
         "dir/t.yaml:76: unknown key 'name' in policy (keys: first_fit, share, placement, "
         "priority_s, affinity, by_gpu_time, gpus_exponent, by_count, stop_margin, backfill_depth, "
         "backfill_rule, backfill_order, las_limits_gpu_s, las_limits_medians, ...)"},
        {76, "  share: true", "dir/t.yaml:76: policy.share is given twice; the first is on line 73"},
        {76, "  first_fit: yes", "dir/t.yaml:76: policy.first_fit must be true or false, got 'yes'"},
        {76, "  first_fit:", "dir/t.yaml:76: policy.first_fit must be true or false, got nothing"},
        {85, "variants: {a: {policy: sjf, first_fit: 3}}",
         "dir/t.yaml:85: variants.a.first_fit must be true or false, got '3'"},
        {85, "variants:\n  a: {policy: static, affinity: [{kind: data, types: [huge]}]}",
         "dir/t.yaml:86: variants.a.affinity[0].types[0]: no node has a GPU of type 'huge' (types: big, small)"},
        {85, "variants: {a: sjf}", "dir/t.yaml:85: variants.a must be a mapping, got 'sjf'"},
        {80, "  round_s: -1", "dir/t.yaml:80: policy.round_s must be 0 or between 1 and 1e6, got -1"},
    };
    char *full = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/full.yaml");
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = with_line(full, cases[i].line, cases[i].replacement);
        if (cases[i].message) {
            refused(text, fixture_catalogue, cases[i].message);
        } else {
            struct adl_scenario scenario;
            struct adl_error err = {{0}};
            if (parse_with(text, fixture_catalogue, &scenario, &err))
                fail_msg("%s", err.text);
            adl_scenario_clear(&scenario);
        }
        free(text);
    }
    free(full);
}

static void a_mix_without_a_positive_weight_is_refused(void **state)
{
    (void)state;
    char *full = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/small.yaml");
    char *text = with_line(full, 13, "    - {class: infer, weight: 0, duration_s: {median: 5}, reference: small}");
    refused(text, fixture_catalogue, "dir/t.yaml:13: workload.mix: at least one weight must be above 0");
    free(text);
    free(full);
}

/* Each case replaces one line of the fixture's catalogue. */
static void a_catalogue_that_makes_no_sense_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *replacement, *message;
    } cases[] = {
        {2, "  - name: big", "dir/catalogue.yaml:13: gpu_types[1].name: 'big' is given twice; the first is on line 2"},
        {4, "    memory_mib: 0", "dir/catalogue.yaml:4: gpu_types[0].memory_mib must be between 1 and 1e8, got 0"},
        {10, "    context_w: 0.5",
         "dir/catalogue.yaml:10: gpu_types[0] must have idle_w <= context_w <= max_w, got 1, 0.5, 3"},
        {4, NULL, "dir/catalogue.yaml:2: missing key 'memory_mib' in gpu_types[0] (GPU memory)"},
        {12, "    source: \"\"", "dir/catalogue.yaml:12: gpu_types[0].source must not be empty"},
        {19, "  - name: infer",
         "dir/catalogue.yaml:34: job_classes[2].name: 'infer' is given twice; the first is on line 19"},
        {20, "    kind: inferrence",
         "dir/catalogue.yaml:20: job_classes[0].kind must be one of training, inference, simulation, data, "
         "got "
         "'inferrence'; did you mean 'inference'?"},
        {22, "    activity: 1.1", "dir/catalogue.yaml:22: job_classes[0].activity must be between 0 and 1, got 1.1"},
        {28, "      - {type: unsued, steps_per_s: 1, source: guess}",
         "dir/catalogue.yaml:28: job_classes[0].speeds[0].type: gpu_types has no 'unsued'; did you mean "
         "'unused'?"},
        {28, "      - {type: big, steps_per_s: 1, source: guess}",
         "dir/catalogue.yaml:29: job_classes[0].speeds[1].type: 'big' is given twice"},
        {28, "      - {type: unused, steps_per_s: 0, source: guess}",
         "dir/catalogue.yaml:28: job_classes[0].speeds[0].steps_per_s must be between 1e-9 and 1e9, got 0"},
        {28, "      - {type: unused, steps_per_s: 1}",
         "dir/catalogue.yaml:28: missing key 'source' in job_classes[0].speeds[0] (where the figure comes "
         "from)"},
    };
    char *text = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/small.yaml");
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *catalogue = with_line(fixture_catalogue, cases[i].line, cases[i].replacement);
        refused(text, catalogue, cases[i].message);
        free(catalogue);
    }
    free(text);
}

static int read_nothing(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    (void)context, (void)ret_text, (void)ret_size;
    return adl_fail(err, ADL_EIO, "cannot open %s: gone", path);
}

static void a_catalogue_that_cannot_be_read_is_named_with_the_line_that_asks_for_it(void **state)
{
    (void)state;
    char *text = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/small.yaml");
    const struct adl_scenario_source source = {.read = read_nothing};
    struct adl_scenario scenario;
    struct adl_error err = {{0}};
    assert_int_equal(adl_scenario_parse("a/b/t.yaml", text, strlen(text), &source, &scenario, &err), ADL_EIO);
    assert_string_equal(err.text, "a/b/t.yaml:5: catalogue: cannot open a/b/catalogue.yaml: gone");
    free(text);
}

struct page {
    char text[1 << 16];
    size_t size;
};

static void append(void *context, const char *text)
{
    struct page *page = context;
    const size_t size = strlen(text);
    assert_true(page->size + size < sizeof page->text);
    memcpy(page->text + page->size, text, size + 1);
    page->size += size;
}

static void describe_both(struct page *scenario, struct page *catalogue)
{
    yaml_describe(&adl_scenario_table, append, scenario);
    yaml_describe(&adl_catalogue_table, append, catalogue);
}

static void the_reference_says_what_the_tables_say(void **state)
{
    (void)state;
    struct page scenario = {.size = 0}, catalogue = {.size = 0};
    describe_both(&scenario, &catalogue);
    assert_non_null(strstr(scenario.text, "| `workload.mix[].gpus[].weight` | number between 0 and 1e6 | 1 |"));
    assert_non_null(strstr(catalogue.text, "| `job_classes[].speeds[].steps_per_s` |"));
    char *document = read_whole(ADL_SOURCE_DIR "/docs/scenarios.md");
    if (!strstr(document, scenario.text) || !strstr(document, catalogue.text))
        fail_msg("docs/scenarios.md differs from the tables; `test_scenario tables` prints what belongs there");
    free(document);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "tables") == 0) {
        static struct page scenario, catalogue;
        describe_both(&scenario, &catalogue);
        printf("%s\n%s", scenario.text, catalogue.text);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_scenario_is_read),
        cmocka_unit_test(what_a_scenario_leaves_out_has_the_documented_default),
        cmocka_unit_test(what_a_stop_loses_is_read_for_each_line_of_the_mix),
        cmocka_unit_test(a_scenario_that_makes_no_sense_is_refused_with_its_line),
        cmocka_unit_test(a_mix_without_a_positive_weight_is_refused),
        cmocka_unit_test(a_catalogue_that_makes_no_sense_is_refused_with_its_line),
        cmocka_unit_test(a_catalogue_that_cannot_be_read_is_named_with_the_line_that_asks_for_it),
        cmocka_unit_test(the_reference_says_what_the_tables_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
