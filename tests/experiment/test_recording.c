/* Recordings: what was written reads back the same, a replay decides the same, and nothing else is believed. */
#include "capping_policy.h"
#include "random_scenario.h"
#include "tape.h"

#include "sim/world_sim.h"

#include <string.h>

/* Must be refused with file and line; returns the line. */
static long refused_line(const struct adl_scenario *s, const char *text, size_t size)
{
    struct replayed ignored;
    struct adl_error err;
    const int status = replay(s, text, size, &ignored, &err);
    if (status == 0)
        fail_msg("a recording of %zu bytes was believed", size);
    if (strncmp(err.text, PATH ":", sizeof PATH) != 0)
        fail_msg("no file in: %s", err.text);
    char *end;
    const long line = strtol(err.text + sizeof PATH, &end, 10);
    if (line < 1 || *end != ':' || strlen(end) < 20)
        fail_msg("no line or no reason in: %s", err.text);
    return line;
}

/* Faults, telemetry with gaps, sharing, and preemptible jobs of different length on three GPUs. */
static struct adl_scenario eventful(uint64_t jobs)
{
    struct adl_scenario s = tiny_start(jobs);
    const uint32_t type = tiny_type(&s);
    tiny_node(&s, type, 2);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_class(&s, ADL_KIND_TRAINING, 0.7, 0.5);
    tiny_class(&s, ADL_KIND_DATA, 0.2, 0.4);
    tiny_mix(&s, 0, 60, 1, ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE);
    tiny_mix(&s, 1, 5, 1, ADL_JOB_PREEMPTIBLE);
    for (int i = 0; i < 2; i++) {
        s.workload.mix[i].sigma = 0.7;
        s.workload.mix[i].min_s = 1;
        s.workload.mix[i].max_s = 300;
        s.workload.mix[i].deadline_share = 0.5;
        s.workload.mix[i].deadline_slack = 3;
        s.workload.mix[i].throughput_share = 0.5;
        s.workload.mix[i].throughput_floor = 0.7;
        s.workload.mix[i].priority_max = 1;
    }
    s.workload.limits = (struct adl_limits){.median_factor = 1.5, .sigma = 0.3};
    s.workload.arrivals.process = ADL_ARRIVAL_POISSON;
    s.workload.arrivals.rate_per_h = 360;
    s.faults = (struct adl_faults){.gpu_mtbf_h = 0.1, .gpu_repair_h = 0.01};
    s.telemetry = (struct adl_telemetry_model){
        .interval_s = 37, .noise = 0.1, .dropout = 0.2, .progress = true, .steps_left = true};
    s.preemption = (struct adl_preemption){.checkpoint_s = 1, .restart_s = 2, .interval_s = 10};
    set_flag(&s, "share", true);
    return s;
}

/* ---- replays ---- */

static void a_replay_of_every_policy_decides_as_recorded(void **state)
{
    (void)state;
    uint64_t evictions = 0;
    for (uint32_t p = 0; p < adl_policy_count(); p++)
        for (int regime = ADL_REGIME_DECLARED; regime <= ADL_REGIME_ORACLE; regime++) {
            struct adl_scenario s = eventful(40);
            struct adl_result result;
            struct replayed replayed;
            struct adl_error err;
            struct tape tape = record(&s, 11, adl_policy_at(p), regime, &result);
            if (replay(&s, tape.text.data, tape.text.size, &replayed, &err))
                fail_msg("%s: %s", adl_policy_at(p)->name, err.text);
            assert_true(replayed.counts.plan_hash == result.plan_hash);
            assert_int_equal(replayed.counts.events, result.events);
            assert_int_equal(replayed.counts.decisions, result.decisions);
            assert_int_equal(replayed.counts.refused, result.refused);
            assert_int_equal(replayed.decisions, tape.decisions);
            assert_true(replayed.reasoned >= 10);
            if (replayed.differ > 0)
                fail_msg("%s: %llu of %llu decisions are given other reasons", adl_policy_at(p)->name,
                         (unsigned long long)replayed.differ, (unsigned long long)replayed.reasoned);
            evictions += result.evictions;
            adl_text_clear(&tape.text);
            adl_scenario_clear(&s);
        }
    assert_true(evictions > 2 * adl_policy_count());
}

static void random_worlds_replay_as_recorded(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 12; i++) {
        struct adl_scenario s = random_scenario(i + 500, 40);
        for (int g = 0; g < 3; g++)
            s.preemption.rework_by_gpus_s[g] = i % 2 ? 3 : 0;
        struct adl_result result;
        struct replayed replayed;
        struct adl_error err;
        struct tape tape = record(&s, i, adl_policy_at((uint32_t)i % adl_policy_count()), (int)(i % 2), &result);
        if (replay(&s, tape.text.data, tape.text.size, &replayed, &err))
            fail_msg("random scenario %llu: %s", (unsigned long long)i + 500, err.text);
        assert_true(replayed.counts.plan_hash == result.plan_hash);
        adl_text_clear(&tape.text);
        adl_scenario_clear(&s);
    }
}

/* Caps are told in the recording and are part of what a decision's hash is over. */
static void runs_with_power_caps_replay_as_recorded_and_other_caps_are_told_apart(void **state)
{
    (void)state;
    struct adl_scenario s = eventful(40);
    struct adl_result result;
    struct replayed replayed;
    struct adl_error err;
    tape_unlisted = &capping_policy;
    struct tape tape = record(&s, 11, &capping_policy, ADL_REGIME_DECLARED, &result);
    adl_text_char(&tape.text, '\0');
    assert_non_null(strstr(tape.text.data, "{\"cap_w\":0,\"gpus\":["));
    tape.text.size--;
    if (replay(&s, tape.text.data, tape.text.size, &replayed, &err))
        fail_msg("%s", err.text);
    assert_true(replayed.counts.plan_hash == result.plan_hash);
    s.cluster.types[0].max_w += 1; /* the same random shares make other caps */
    assert_true(replay(&s, tape.text.data, tape.text.size, &replayed, &err) < 0);
    assert_non_null(strstr(err.text, "differs"));
    adl_text_clear(&tape.text);
    adl_scenario_clear(&s);
}

static int keep_most_left(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    double *most = self;
    if (event->kind == ADL_EVENT_EVICT && event->evict.remaining > *most)
        *most = event->evict.remaining;
    return 0;
}

static void work_that_grew_beyond_the_whole_replays_as_recorded(void **state)
{
    (void)state;
    struct adl_scenario s = eventful(60);
    struct adl_result result;
    struct replayed replayed;
    struct adl_error err;
    double most = 0;
    s.kill_at_limit = false;
    set_flag(&s, "by_count", true);
    s.preemption = (struct adl_preemption){.rework_by_gpus_s = {50, 50, 50}};
    struct tape tape = record(&s, 11, adl_policy_find("srtf"), ADL_REGIME_ORACLE, &result);
    if (replay(&s, tape.text.data, tape.text.size, &replayed, &err))
        fail_msg("%s", err.text);
    assert_true(replayed.counts.plan_hash == result.plan_hash);
    const struct adl_observer observer = {.self = &most, .event = keep_most_left};
    const struct adl_run run = {.scenario = &s,
                                .policy = adl_policy_find("srtf"),
                                .seed = 11,
                                .regime = ADL_REGIME_ORACLE,
                                .observer = &observer};
    assert_int_equal(adl_run(&run, &result, &err), 0);
    assert_true(most > 1);
    adl_text_clear(&tape.text);
    adl_scenario_clear(&s);
}

/* ---- what is not believed ---- */

static struct adl_scenario damaged_scenario;
static struct tape damaged_tape;

static int record_for_damage(void **state)
{
    (void)state;
    struct adl_result result;
    damaged_scenario = eventful(20);
    damaged_tape = record(&damaged_scenario, 3, &adl_policy_srtf, ADL_REGIME_DECLARED, &result);
    return 0;
}

static int forget_damage(void **state)
{
    (void)state;
    adl_text_clear(&damaged_tape.text);
    adl_scenario_clear(&damaged_scenario);
    return 0;
}

static long count_lines(const char *text, size_t size)
{
    long lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

static void a_recording_cut_at_any_line_is_refused_there(void **state)
{
    (void)state;
    const struct adl_text *text = &damaged_tape.text;
    long lines = 0;
    assert_int_equal(refused_line(&damaged_scenario, text->data, 0), 1);
    for (size_t i = 0; i + 1 < text->size; i++)
        if (text->data[i] == '\n') {
            lines++;
            assert_int_equal(refused_line(&damaged_scenario, text->data, i + 1), lines + 1);
        }
    assert_true(lines > 50);
}

static void a_recording_cut_within_a_line_is_refused_there(void **state)
{
    (void)state;
    const struct adl_text *text = &damaged_tape.text;
    for (size_t size = 1; size < text->size; size += 1 + size % 13)
        if (text->data[size - 1] != '\n')
            assert_int_equal(refused_line(&damaged_scenario, text->data, size), count_lines(text->data, size) + 1);
    assert_int_equal(refused_line(&damaged_scenario, text->data, text->size - 1), count_lines(text->data, text->size));
}

static void a_changed_digit_anywhere_is_refused(void **state)
{
    (void)state;
    const struct adl_text *text = &damaged_tape.text;
    char *copy = malloc(text->size);
    assert_non_null(copy);
    uint32_t changed = 0;
    for (size_t i = 0; i < text->size; i += 5) {
        if (text->data[i] < '0' || text->data[i] > '9')
            continue;
        memcpy(copy, text->data, text->size);
        copy[i] = copy[i] == '9' ? '8' : (char)(copy[i] + 1);
        refused_line(&damaged_scenario, copy, text->size);
        changed++;
    }
    assert_true(changed > 200);
    free(copy);
}

/* The recording with one line replaced (NULL: left out), and sealed anew as a forger would. line counts
 * from 1. */
static struct adl_text forge(long line, const char *replacement)
{
    struct adl_text forged = {0};
    struct adl_recording_seal seal = {0};
    long number = 0;
    const char *at = damaged_tape.text.data, *last = strstr(at, "{\"end\":\"recording\"");
    assert_non_null(last);
    for (const char *end; at < last; at = end) {
        end = strchr(at, '\n') + 1;
        const size_t before = forged.size;
        if (++number != line)
            adl_text_bytes(&forged, at, (size_t)(end - at));
        else if (replacement)
            adl_text_put(&forged, replacement);
        if (forged.size > before)
            adl_recording_seal_line(&seal, forged.data + before, forged.size - before);
    }
    adl_recording_write_end(&forged, &seal);
    assert_int_equal(adl_text_status(&forged), 0);
    return forged;
}

/* The nth line (from 0) that contains the word; its number from 1. */
static long line_with(const char *word, int nth)
{
    long number = 1;
    for (const char *at = damaged_tape.text.data; *at; at = strchr(at, '\n') + 1, number++) {
        const char *found = strstr(at, word);
        if (found && found < strchr(at, '\n') && nth-- == 0)
            return number;
    }
    fail_msg("no line with %s", word);
    return 0;
}

static void refuse_forgery(long line, const char *replacement, long refused_at)
{
    struct adl_text forged = forge(line, replacement);
    const long at = refused_line(&damaged_scenario, forged.data, forged.size);
    if (refused_at && at != refused_at)
        fail_msg("line %ld was forged as %s and line %ld refused", line, replacement ? replacement : "nothing", at);
    adl_text_clear(&forged);
}

static void an_untouched_recording_sealed_anew_is_believed(void **state)
{
    (void)state;
    struct adl_text same = forge(0, NULL);
    struct replayed replayed;
    struct adl_error err;
    assert_int_equal(replay(&damaged_scenario, same.data, same.size, &replayed, &err), 0);
    assert_int_equal(same.size, damaged_tape.text.size);
    adl_text_clear(&same);
}

static void a_forged_decision_is_refused_at_its_line(void **state)
{
    (void)state;
    for (int nth = 0; nth < 10; nth++) {
        const long line = line_with("{\"decision\"", nth);
        refuse_forgery(line, "{\"decision\":\"0123456789abcdef\"}\n", line);
        refuse_forgery(line, NULL, 0);
    }
}

static void a_forged_event_is_refused_once_a_decision_differs(void **state)
{
    (void)state;
    const long submit = line_with("\"event\":\"submit\"", 0);
    const long finish = line_with("\"event\":\"finish\"", 0);
    refuse_forgery(submit, NULL, 0);
    refuse_forgery(finish, NULL, 0);
    refuse_forgery(finish, "{\"t\":999999999999,\"event\":\"wake\"}\n", 0);
    refuse_forgery(submit, "{\"t\":1,\"event\":\"wake\"}\n", 0);
    refuse_forgery(finish, "{\"t\":0,\"event\":\"wake\"}\n", finish); /* time goes back */
}

static void garbage_is_refused_at_its_line(void **state)
{
    (void)state;
    static const char *const garbage[] = {
        "\n",
        "nonsense\n",
        "[1,2,3]\n",
        "42\n",
        "{}\n",
        "{\"t\":5}\n",
        "{\"event\":\"wake\"}\n",
        "{\"t\":-5,\"event\":\"wake\"}\n",
        "{\"t\":1.5,\"event\":\"wake\"}\n",
        "{\"t\":\"5\",\"event\":\"wake\"}\n",
        "{\"t\":1e300,\"event\":\"wake\"}\n",
        "{\"t\":5,\"event\":\"party\"}\n",
        "{\"t\":5,\"event\":7}\n",
        "{\"t\":5,\"event\":\"wake\",\"more\":2}\n",
        "{\"t\":5,\"event\":\"gpu_down\"}\n",
        "{\"t\":5,\"event\":\"submit\",\"job\":0}\n",
        "{\"t\":5,\"event\":\"finish\",\"job\":0,\"end\":\"CD\"}\n",
        "{\"t\":5,\"event\":\"evict\",\"job\":0,\"remaining\":1.5,\"fault\":0}\n",
        "{\"t\":5,\"event\":\"telemetry\",\"gpu\":0,\"power_w\":\"hot\"}\n",
        "{\"t\":5,\"event\":\"progress\",\"job\":0}\n",
        "{\"t\":5,\"event\":\"progress\",\"gpu\":0,\"steps_per_s\":1}\n",
        "{\"t\":5,\"event\":\"progress\",\"job\":0,\"steps_per_s\":-1}\n",
        "{\"t\":5,\"event\":\"progress\",\"job\":0,\"steps_per_s\":1e999}\n",
        "{\"t\":5,\"event\":\"progress\",\"job\":0,\"steps_per_s\":1,\"steps_left\":-1}\n",
        "{\"end\":\"recording\",\"lines\":1}\n",
        "{\"end\":\"recording\",\"lines\":1,\"seal\":\"0\"}\n",
        "\"\\u0000\"\n",
    };
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        refuse_forgery(2, garbage[i], 2);
}

static void a_wrong_heading_is_refused_on_the_first_line(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "\n",
        "name: paper16\n",
        "{}\n",
        "{\"adlro\":\"recording\"}\n",
        "{\"adlro\":\"recording\",\"version\":2,\"policy\":\"fcfs\",\"regime\":\"declared\",\"seed\":\"1\","
        "\"name\":\"\",\"scenario\":\"\",\"catalogue\":\"\"}\n",
        "{\"adlro\":\"recording\",\"version\":1,\"policy\":\"fcfs\",\"regime\":\"declared\",\"seed\":\"1\","
        "\"name\":\"\",\"scenario\":\"\"}\n",
        "{\"adlro\":\"recording\",\"version\":1,\"policy\":7,\"regime\":\"declared\",\"seed\":\"1\","
        "\"name\":\"\",\"scenario\":\"\",\"catalogue\":\"\"}\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        refuse_forgery(1, heads[i], 1);
}

static void lines_after_the_end_are_refused(void **state)
{
    (void)state;
    struct adl_text longer = {0};
    adl_text_bytes(&longer, damaged_tape.text.data, damaged_tape.text.size);
    adl_text_put(&longer, "{\"t\":5,\"event\":\"wake\"}\n");
    const long lines = count_lines(longer.data, longer.size);
    assert_int_equal(refused_line(&damaged_scenario, longer.data, longer.size), lines);
    adl_text_clear(&longer);
}

/* ---- round trips ---- */

/* Writes one event behind a heading and reads it back. What SUBMIT points to lives until the recording is
 * closed. */
static struct adl_recording *round_trip(const struct adl_event *event, uint32_t types, FILE **ret_file,
                                        struct adl_event *ret)
{
    struct tape tape = tape_start("fcfs", UINT64_MAX, types);
    struct adl_recording *recording = NULL;
    struct adl_recording_head head;
    struct adl_error err = {.text = ""};
    struct adl_recorded decision;
    adl_recording_write_event(&tape.text, event, types);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(tape.text.data, 1, tape.text.size, file), tape.text.size);
    rewind(file);
    assert_int_equal(adl_recording_open(PATH, file, &recording, &head, &err), 0);
    assert_true(head.seed == UINT64_MAX);
    assert_string_equal(head.name, "odd \"name\"\n.yaml");
    adl_recording_set_types(recording, types);
    if (adl_recording_next(recording, ret, &decision, &err) != 1)
        fail_msg("%s in %s", err.text, tape.text.data);
    assert_int_equal(ret->time_us, event->time_us);
    assert_int_equal(ret->kind, event->kind);
    assert_int_equal(ret->more, event->more);
    adl_text_clear(&tape.text);
    *ret_file = file;
    return recording;
}

static void done_with(struct adl_recording *recording, FILE *file)
{
    adl_recording_close(recording);
    fclose(file);
}

static void a_submission_reads_back_field_by_field(void **state)
{
    (void)state;
    const struct adl_job_spec spec = {.id = 9007199254740991,
                                      .user = UINT32_MAX,
                                      .class_index = UINT16_MAX,
                                      .gpus = ADL_JOB_GPUS_MAX,
                                      .types = UINT32_MAX,
                                      .kind = ADL_KIND_DATA,
                                      .flags = 7,
                                      .cpu_cores = INT32_MAX,
                                      .memory_mib = INT32_MAX,
                                      .gpu_memory_mib = 1,
                                      .priority = 0.1f,
                                      .min_steps_per_s = 1e-30f,
                                      .step_gflop = 0.1f,
                                      .limit_us = 8640000000000,
                                      .deadline_us = 1};
    int64_t runtime_us[ADL_TYPES_MAX];
    for (int t = 0; t < ADL_TYPES_MAX; t++)
        runtime_us[t] = (int64_t)t * 1000000007;
    struct adl_event event = {.time_us = 9007199254740991, .kind = ADL_EVENT_SUBMIT, .more = true, .job = 1 << 28};
    event.submit.spec = &spec;
    for (int oracle = 0; oracle < 2; oracle++) {
        event.submit.runtime_us = oracle ? runtime_us : NULL;
        struct adl_event back;
        FILE *file;
        struct adl_recording *recording = round_trip(&event, ADL_TYPES_MAX, &file, &back);
        const struct adl_job_spec *b = back.submit.spec;
        assert_int_equal(back.job, event.job);
        assert_true(b->id == spec.id && b->user == spec.user && b->class_index == spec.class_index);
        assert_true(b->gpus == spec.gpus && b->types == spec.types && b->kind == spec.kind);
        assert_true(b->flags == spec.flags && b->cpu_cores == spec.cpu_cores);
        assert_true(b->memory_mib == spec.memory_mib && b->gpu_memory_mib == spec.gpu_memory_mib);
        assert_true(b->priority == spec.priority && b->min_steps_per_s == spec.min_steps_per_s);
        assert_true(b->step_gflop == spec.step_gflop && b->step_gb == 0);
        assert_true(b->limit_us == spec.limit_us && b->deadline_us == spec.deadline_us);
        assert_int_equal(back.submit.runtime_us != NULL, oracle);
        if (oracle)
            assert_memory_equal(back.submit.runtime_us, runtime_us, sizeof runtime_us);
        done_with(recording, file);
    }
}

static void an_end_reads_back_field_by_field(void **state)
{
    (void)state;
    for (int end = ADL_END_COMPLETED; end <= ADL_END_TIMEOUT; end++) {
        struct adl_event event = {.time_us = 5, .kind = ADL_EVENT_FINISH, .job = 17}, back;
        event.outcome = (struct adl_outcome){
            .end = (uint8_t)end, .energy_j = 0.1 + 0.2, .run_us = 123456789012345, .ideal_us = 1, .steps = 1.0 / 3};
        FILE *file;
        struct adl_recording *recording = round_trip(&event, 1, &file, &back);
        assert_int_equal(back.job, 17);
        assert_int_equal(back.outcome.end, end);
        assert_true(back.outcome.energy_j == event.outcome.energy_j);
        assert_int_equal(back.outcome.run_us, event.outcome.run_us);
        assert_int_equal(back.outcome.ideal_us, event.outcome.ideal_us);
        assert_true(back.outcome.steps == event.outcome.steps);
        done_with(recording, file);
    }
}

static void an_eviction_reads_back_field_by_field(void **state)
{
    (void)state;
    for (int fault = 0; fault < 2; fault++) {
        struct adl_event event = {.kind = ADL_EVENT_EVICT, .job = 0, .more = fault}, back;
        event.evict.remaining = 0x1.fffffffffffffp-1;
        event.evict.fault = fault;
        FILE *file;
        struct adl_recording *recording = round_trip(&event, 1, &file, &back);
        assert_int_equal(back.job, 0);
        assert_true(back.evict.remaining == event.evict.remaining);
        assert_int_equal(back.evict.fault, fault);
        done_with(recording, file);
    }
}

static void readings_read_back_exactly_and_gaps_as_gaps(void **state)
{
    (void)state;
    for (uint32_t missing = 0; missing < 1u << ADL_READ_COUNT; missing++) {
        struct adl_event event = {.time_us = 1, .kind = ADL_EVENT_TELEMETRY, .gpu = 3}, back;
        event.telemetry = (struct adl_telemetry){missing, {0.1f, 0.0f, 83.7f, 249.99f, 0.33333334f}};
        FILE *file;
        struct adl_recording *recording = round_trip(&event, 1, &file, &back);
        assert_int_equal(back.gpu, 3);
        assert_int_equal(back.telemetry.missing, missing);
        for (int r = 0; r < ADL_READ_COUNT; r++)
            assert_true(missing >> r & 1 || back.telemetry.value[r] == event.telemetry.value[r]);
        done_with(recording, file);
    }
}

static void progress_reads_back_exactly(void **state)
{
    (void)state;
    static const double speeds[] = {0, 1e-300, 0.1, 12345.678901234567, 1.7976931348623157e308};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        struct adl_event event = {.time_us = 9, .kind = ADL_EVENT_PROGRESS, .job = 7, .steps_per_s = speeds[i]}, back;
        FILE *file;
        struct adl_recording *recording = round_trip(&event, 1, &file, &back);
        assert_int_equal(back.job, 7);
        assert_true(back.steps_per_s == speeds[i]);
        done_with(recording, file);
    }
}

static void meters_gpus_and_wake_ups_read_back_exactly(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {ADL_EVENT_GPU_DOWN, ADL_EVENT_GPU_UP, ADL_EVENT_METER, ADL_EVENT_WAKE,
                                    ADL_EVENT_POWER_LIMIT};
    for (size_t i = 0; i < sizeof kinds; i++) {
        struct adl_event event = {.time_us = (int64_t)i, .kind = kinds[i], .gpu = 4194303}, back;
        event.energy_j = 1234567.8901234567; /* limit_w is the same place */
        FILE *file;
        struct adl_recording *recording = round_trip(&event, 1, &file, &back);
        if (kinds[i] != ADL_EVENT_WAKE && kinds[i] != ADL_EVENT_POWER_LIMIT)
            assert_int_equal(back.gpu, event.gpu);
        if (kinds[i] == ADL_EVENT_POWER_LIMIT)
            assert_true(back.limit_w == event.limit_w);
        if (kinds[i] == ADL_EVENT_METER)
            assert_true(back.energy_j == event.energy_j);
        done_with(recording, file);
    }
    assert_int_equal(ADL_EVENT_KIND_COUNT, 11); /* a new kind needs a round trip too */
}

static void versions_read_back_exactly(void **state)
{
    (void)state;
    static const char *const versions[] = {"", "550.54.15", "\"6.7\"\\\t", "1234567890123456789012345678901"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct adl_event event = {.time_us = 5, .kind = ADL_EVENT_VERSION, .gpu = 3}, back;
        snprintf(event.version, sizeof event.version, "%s", versions[i]);
        FILE *file;
        struct adl_recording *recording = round_trip(&event, 1, &file, &back);
        assert_int_equal(back.gpu, 3);
        assert_string_equal(back.version, versions[i]);
        done_with(recording, file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_of_every_policy_decides_as_recorded),
        cmocka_unit_test(random_worlds_replay_as_recorded),
        cmocka_unit_test(runs_with_power_caps_replay_as_recorded_and_other_caps_are_told_apart),
        cmocka_unit_test(work_that_grew_beyond_the_whole_replays_as_recorded),
        cmocka_unit_test(a_recording_cut_at_any_line_is_refused_there),
        cmocka_unit_test(a_recording_cut_within_a_line_is_refused_there),
        cmocka_unit_test(a_changed_digit_anywhere_is_refused),
        cmocka_unit_test(an_untouched_recording_sealed_anew_is_believed),
        cmocka_unit_test(a_forged_decision_is_refused_at_its_line),
        cmocka_unit_test(a_forged_event_is_refused_once_a_decision_differs),
        cmocka_unit_test(garbage_is_refused_at_its_line),
        cmocka_unit_test(a_wrong_heading_is_refused_on_the_first_line),
        cmocka_unit_test(lines_after_the_end_are_refused),
        cmocka_unit_test(a_submission_reads_back_field_by_field),
        cmocka_unit_test(an_end_reads_back_field_by_field),
        cmocka_unit_test(an_eviction_reads_back_field_by_field),
        cmocka_unit_test(readings_read_back_exactly_and_gaps_as_gaps),
        cmocka_unit_test(progress_reads_back_exactly),
        cmocka_unit_test(meters_gpus_and_wake_ups_read_back_exactly),
        cmocka_unit_test(versions_read_back_exactly),
    };
    return cmocka_run_group_tests(tests, record_for_damage, forget_damage);
}
