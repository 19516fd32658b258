/* test_executor_slurm: the executor with an adapter that says what a test wants: what real daemons do not do on demand.
 */
#include "slurm_fixture.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define S INT64_C(1000000)

static struct adl_inventory inventory;
static struct adl_executor executor;
static char folder[64], program[96], lines[96], said[96];
static int64_t now_us;
static int begin; /* kind of the last report of a start; ADL_REPORT_NONE: there was none */

/* An adapter that says the lines of a file, also those that come later, and keeps what it is told. */
static void write_adapter(void)
{
    FILE *file = fopen(program, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nexec 3<&0\ncat <&3 >>%s &\nexec tail -n +1 -s 0.01 -f %s\n", said, lines);
    fclose(file);
    assert_int_equal(chmod(program, 0755), 0);
}

static void say(const char *line)
{
    FILE *file = fopen(lines, "a");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

/* With what else the adapter says before the service is there. */
static void open_with(const char *line)
{
    struct adl_error err = {""};
    struct adl_catalogue catalogue;
    static const char *const partitions[] = {"gpu"};
    snprintf(folder, sizeof folder, "/tmp/adlro-executor.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/adapter", folder);
    snprintf(lines, sizeof lines, "%s/lines", folder);
    snprintf(said, sizeof said, "%s/said", folder);
    write_adapter();
    say("{\"ev\":\"up\"}");
    for (size_t i = 0; i < sizeof fixture_nodes / sizeof *fixture_nodes; i++)
        say(fixture_nodes[i]);
    if (line)
        say(line);
    say("{\"ev\":\"synced\",\"seq\":1}");
    const struct adl_executor_slurm_config config = {
        .adapter = program, .partitions = partitions, .partition_count = 1, .mode = ADL_SLURM_ACT, .wait_us = 10 * S};
    memset(&inventory, 0, sizeof inventory);
    assert_int_equal(adl_inventory_catalogue(NULL, &catalogue, &err), 0);
    if (adl_executor_slurm_open(&config, &catalogue, &inventory, &executor, &err))
        fail_msg("%s", err.text);
    adl_catalogue_clear(&catalogue);
    now_us = 1000 * S;
    begin = ADL_REPORT_NONE;
}

static int open_executor(void **state)
{
    (void)state;
    open_with(NULL);
    return 0;
}

static int close_executor(void **state)
{
    (void)state;
    executor.ops->destroy(executor.self);
    adl_inventory_clear(&inventory);
    unlink(program);
    unlink(lines);
    unlink(said);
    rmdir(folder);
    return 0;
}

/* The next report that comes within a second, but for those of beginnings, which go into begin; kind
 * ADL_REPORT_NONE: none did within a fifth. */
static struct adl_report next(int kind)
{
    struct adl_report report;
    const int steps = kind == ADL_REPORT_NONE ? 20 : 200;
    for (int i = 0; i < steps; i++) {
        if (executor.ops->poll(executor.self, now_us, &report, NULL) == 1) {
            if (report.kind == ADL_REPORT_START_PENDING || report.kind == ADL_REPORT_STARTED) {
                begin = report.kind;
                continue;
            }
            assert_int_equal(report.kind, kind);
            return report;
        }
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    assert_int_equal(kind, ADL_REPORT_NONE);
    return (struct adl_report){.kind = ADL_REPORT_NONE};
}

static bool was_said(const char *words)
{
    for (int i = 0; i < 100; i++) {
        char text[16384] = "";
        FILE *file = fopen(said, "r");
        if (file) {
            text[fread(text, 1, sizeof text - 1, file)] = '\0';
            fclose(file);
        }
        if (strstr(text, words))
            return true;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return false;
}

/* ---- the service's part ---- */

static struct adl_job_entry job_of(uint64_t id, int64_t external)
{
    return (struct adl_job_entry){.id = id,
                                  .external = external,
                                  .spec = {.id = id, .gpus = 1, .types = 1},
                                  .start_us = now_us,
                                  .why = "test: because"};
}

static uint32_t admit(const struct adl_job_entry *job)
{
    uint32_t slot = ADL_NONE;
    executor.ops->introduce(executor.self, job);
    assert_int_equal(executor.ops->admit(executor.self, &job->spec, &slot, NULL), 0);
    return slot;
}

#define PENDING(id)                                                                                                    \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","    \
    "\"request\":\"volta:1\",\"nodes_min\":1}"
#define HELD(id)                                                                                                       \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":false,"                \
    "\"why\":\"held by its user\",\"request\":\"volta:1\",\"nodes_min\":1}"
#define RUNNING(id, node)                                                                                              \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"R\",\"ours\":true,\"placed\":false,\"eligible\":false,\"why\":\"\","    \
    "\"request\":\"volta:1\",\"nodes_min\":1,\"gpus\":[{\"node\":\"" node "\",\"type\":\"volta\",\"count\":1}]}"
#define ENDED(id, word)                                                                                                \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"" word "\",\"ours\":true,\"placed\":false,\"eligible\":false,"          \
    "\"why\":\"\",\"request\":\"volta:1\",\"nodes_min\":1,\"exit_code\":3}"

static struct adl_job_entry arrive(uint64_t id, int64_t external, const char *line, uint32_t *ret_slot)
{
    say(line);
    const struct adl_report report = next(ADL_REPORT_ARRIVED);
    assert_true(report.submit.arrival->external == external);
    const struct adl_job_entry job = job_of(id, external);
    *ret_slot = admit(&job);
    return job;
}

static void start(const struct adl_job_entry *job, uint32_t slot, uint32_t gpu)
{
    assert_int_equal(executor.ops->start(executor.self, job, slot, &gpu, NULL), 0);
}

/* ---- what happens ---- */

static void a_job_that_is_placed_runs_and_ends(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    assert_true(
        was_said("\"op\":\"place\",\"seq\":1,\"job\":7,\"nodes\":[{\"node\":\"v0\",\"gpus\":1}],\"type\":\"volta\","
                 "\"comment\":\"adlro: test: because\""));
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(RUNNING("7", "v0"));
    say(ENDED("7", "F"));
    const struct adl_report report = next(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.exit_code, 3);
    assert_int_equal(report.outcome.end, ADL_END_FAILED);
    executor.ops->forget(executor.self, 1, 1);
    say(ENDED("7", "F"));
    next(ADL_REPORT_NONE);
}

static void a_job_cancelled_before_it_had_a_slot_is_not_placed_for_ever(void **state)
{
    (void)state;
    say(PENDING("7"));
    next(ADL_REPORT_ARRIVED);
    say(ENDED("7", "CA"));
    next(ADL_REPORT_NONE);
    const struct adl_job_entry job = job_of(1, 7);
    admit(&job);
    const struct adl_report report = next(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.outcome.end, ADL_END_CANCELLED);
}

static void a_job_that_its_user_holds_may_not_start(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    say(HELD("7"));
    struct adl_report report = next(ADL_REPORT_INELIGIBLE);
    assert_true(report.number == 1);
    assert_string_equal(report.text, "held by its user");
    start(&job, slot, 0); /* was decided before the service heard of it */
    report = next(ADL_REPORT_REQUEUED);
    assert_true(report.number == 1);
    assert_false(was_said("\"op\":\"place\""));
    say(PENDING("7"));
    report = next(ADL_REPORT_ELIGIBLE);
    assert_string_equal(report.text, "");
}

static void one_that_is_held_after_it_was_placed_comes_back(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(HELD("7"));
    assert_string_equal(next(ADL_REPORT_INELIGIBLE).text, "held by its user"); /* before it is back in the queue */
    next(ADL_REPORT_REQUEUED);
}

static void word_from_before_a_placement_does_not_undo_it(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    say(PENDING("7"));
    next(ADL_REPORT_NONE);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    now_us += 3 * S; /* all jobs are looked at again meanwhile */
    next(ADL_REPORT_NONE);
    say(RUNNING("7", "v0"));
    next(ADL_REPORT_NONE);
}

#define PLACED(id, crowded)                                                                                            \
    "{\"ev\":\"job\",\"id\":" id                                                                                       \
    ",\"state\":\"PD\",\"ours\":true,\"placed\":true,\"eligible\":false,\"crowded\":" crowded                          \
    ",\"why\":\"placed\",\"request\":\"volta:1\",\"nodes_min\":1}"

static void one_that_was_placed_has_begun_when_slurm_says_so(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    assert_true(executor.ops->confirms_start);
    start(&job, slot, 0);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(PLACED("7", "false"));
    next(ADL_REPORT_NONE);
    assert_int_equal(begin, ADL_REPORT_NONE);
    say(RUNNING("7", "v0"));
    next(ADL_REPORT_NONE);
    assert_int_equal(begin, ADL_REPORT_STARTED);
}

static void one_whose_node_was_taken_by_others_is_placed_elsewhere(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(PLACED("7", "true"));
    next(ADL_REPORT_NONE);
    assert_false(was_said("\"op\":\"hold\""));
    now_us += 3 * S;
    next(ADL_REPORT_NONE);
    assert_true(was_said("\"op\":\"hold\",\"seq\":2,\"job\":7"));
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"exclude\":[\"v0\"]}");
    assert_string_equal(next(ADL_REPORT_REQUEUED).text, "it did not begin where it was placed");
    start(&job, slot, 0); /* the policy knows types, and not nodes */
    assert_true(was_said("\"op\":\"place\",\"seq\":3,\"job\":7,\"nodes\":[{\"node\":\"v1\",\"gpus\":1}]"));
}

static void one_that_asks_for_something_else_is_queued_anew(void **state)
{
    (void)state;
    uint32_t slot;
    arrive(1, 7, PENDING("7"), &slot);
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":2}");
    struct adl_report report = next(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.outcome.end, ADL_END_CANCELLED);
    assert_string_equal(report.text, "what it asks for was changed: it is queued anew");
    executor.ops->withdraw(executor.self, slot);
    executor.ops->forget(executor.self, 1, 1);
    report = next(ADL_REPORT_ARRIVED);
    assert_true(report.submit.arrival->external == 7);
    assert_int_equal(report.submit.spec->gpus, 2);
}

static void one_that_runs_elsewhere_is_told_where(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(RUNNING("7", "v1"));
    const struct adl_report report = next(ADL_REPORT_CLUSTER_STARTED);
    assert_int_equal(report.running.gpu_count, 1);
    assert_int_equal(report.running.gpus[0], 2);
    assert_int_equal(report.slot, slot);
}

static void one_that_ran_before_the_service_began_is_taken_up(void **state)
{
    (void)state;
    uint32_t slot;
    arrive(1, 7, RUNNING("7", "v1"), &slot);
    const struct adl_report report = next(ADL_REPORT_CLUSTER_STARTED);
    assert_int_equal(report.running.gpu_count, 1);
    assert_int_equal(report.running.gpus[0], 2);
}

static void a_cancelled_job_that_slurm_still_has_is_cancelled_again_and_does_not_come_back(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    executor.ops->drop(executor.self, &job, "not needed");
    executor.ops->withdraw(executor.self, slot);
    assert_true(was_said("\"op\":\"cancel\",\"seq\":1,\"job\":7"));
    now_us += 4 * S;
    say(PENDING("7"));
    next(ADL_REPORT_NONE);
    assert_true(was_said("\"op\":\"cancel\",\"seq\":2,\"job\":7"));
    say(ENDED("7", "CA"));
    next(ADL_REPORT_NONE);
}

static void what_slurm_refuses_three_times_is_given_back(void **state)
{
    (void)state;
    uint32_t slot;
    struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    for (int i = 1; i <= 3; i++) {
        char line[100];
        start(&job, slot, 0);
        snprintf(line, sizeof line, "{\"ev\":\"done\",\"seq\":%d,\"ok\":false,\"error\":\"no\",\"absent\":false}", i);
        say(line);
        assert_string_equal(next(ADL_REPORT_INELIGIBLE).text, "Slurm would not place it: no");
        next(ADL_REPORT_REQUEUED); /* at once: its GPU is free for others */
        next(ADL_REPORT_NONE);
        now_us += 6 * S;
        assert_string_equal(next(ADL_REPORT_ELIGIBLE).text, "");
    }
    assert_true(was_said("\"op\":\"giveback\",\"seq\":4,\"job\":7"));
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":false,\"request\":\"volta:1\",\"eligible\":true}");
    const struct adl_report report = next(ADL_REPORT_ENDED);
    assert_int_equal(report.outcome.end, ADL_END_CANCELLED);
    executor.ops->forget(executor.self, 1, 3);
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"R\",\"ours\":false,\"request\":\"volta:1\",\"eligible\":false,"
        "\"gpus\":[{\"node\":\"v0\",\"type\":\"volta\",\"count\":1}]}");
    next(ADL_REPORT_NONE);
}

#define LIMITED(id, why)                                                                                               \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":false,"                \
    "\"why\":\"" why "\",\"request\":\"volta:1\",\"nodes_min\":1}"

static void a_job_beyond_a_limit_arrives_with_the_limit_as_its_reason(void **state)
{
    (void)state;
    say(LIMITED("7", "limit of QOS small: 2 GPUs at once (GrpTRES)"));
    struct adl_report report = next(ADL_REPORT_ARRIVED);
    assert_string_equal(report.submit.arrival->ineligible, "limit of QOS small: 2 GPUs at once (GrpTRES)");
    const struct adl_job_entry job = job_of(1, 7);
    admit(&job);
    next(ADL_REPORT_NONE); /* nothing else to say of it */
    say(LIMITED("7", "limit of QOS small: 3 GPUs at once (GrpTRES)"));
    report = next(ADL_REPORT_INELIGIBLE);
    assert_string_equal(report.text, "limit of QOS small: 3 GPUs at once (GrpTRES)");
    say(PENDING("7"));
    report = next(ADL_REPORT_ELIGIBLE);
    assert_string_equal(report.text, "");
}

static void a_placement_that_came_too_late_for_a_limit_is_nobodys_fault(void **state)
{
    (void)state;
    uint32_t slot;
    struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    for (int i = 1; i <= 4; i++) {
        char line[160];
        start(&job, slot, 0);
        snprintf(line, sizeof line,
                 "{\"ev\":\"done\",\"seq\":%d,\"ok\":false,\"error\":\"limit of QOS q: 1 job at once (GrpJobs)\"}", i);
        say(line);
        struct adl_report report = next(ADL_REPORT_INELIGIBLE); /* before it is back in the queue */
        assert_string_equal(report.text, "Slurm would not place it: limit of QOS q: 1 job at once (GrpJobs)");
        next(ADL_REPORT_REQUEUED);
        say(LIMITED("7", "limit of QOS q: 1 job at once (GrpJobs)"));
        assert_string_equal(next(ADL_REPORT_INELIGIBLE).text, "limit of QOS q: 1 job at once (GrpJobs)");
        say(PENDING("7"));
        report = next(ADL_REPORT_ELIGIBLE);
        assert_string_equal(report.text, "");
    }
    assert_false(was_said("giveback"));
}

static void what_adlro_cannot_express_is_given_back_and_never_arrives(void **state)
{
    (void)state;
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"eligible\":true,\"request\":\"volta:1\","
        "\"exclude\":[\"v0\",\"v1\",\"m0\"]}");
    next(ADL_REPORT_NONE);
    assert_true(was_said("\"op\":\"giveback\",\"seq\":1,\"job\":7"));
}

#define ONLY_M0(id)                                                                                                    \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","    \
    "\"request\":\"volta:1\",\"nodes_min\":1,\"require\":[\"m0\"]}"

static void a_job_that_is_particular_about_nodes_goes_to_one_of_them(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, ONLY_M0("7"), &slot);
    start(&job, slot, 0);
    assert_true(was_said("\"op\":\"place\",\"seq\":1,\"job\":7,\"nodes\":[{\"node\":\"m0\",\"gpus\":1}]"));
    next(ADL_REPORT_NONE);
}

static void one_whose_nodes_are_full_waits_for_them_and_keeps_nobody_else_waiting(void **state)
{
    (void)state;
    uint32_t slot, other;
    const struct adl_job_entry first = arrive(1, 7, ONLY_M0("7"), &slot), second = arrive(2, 8, ONLY_M0("8"), &other);
    start(&first, slot, 0);
    start(&second, other, 0);
    struct adl_report report = next(ADL_REPORT_INELIGIBLE);
    assert_true(report.number == 2);
    assert_string_equal(report.text, "the nodes that it may use are full");
    report = next(ADL_REPORT_REQUEUED); /* what was chosen for it is free again at once */
    assert_true(report.number == 2);
    now_us += 3 * S;
    next(ADL_REPORT_NONE);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(RUNNING("7", "m0"));
    report = next(ADL_REPORT_CLUSTER_STARTED); /* the service thought it on v0 */
    assert_true(report.number == 1);
    assert_int_equal(report.running.gpus[0], 5);
    say(ENDED("7", "CD"));
    report = next(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    report = next(ADL_REPORT_ELIGIBLE);
    assert_true(report.number == 2);
    assert_string_equal(report.text, "");
}

static void one_whose_nodes_stay_full_is_given_back(void **state)
{
    (void)state;
    uint32_t slot, other;
    const struct adl_job_entry first = arrive(1, 7, ONLY_M0("7"), &slot), second = arrive(2, 8, ONLY_M0("8"), &other);
    start(&first, slot, 0);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(RUNNING("7", "m0"));
    next(ADL_REPORT_CLUSTER_STARTED);
    start(&second, other, 0);
    next(ADL_REPORT_INELIGIBLE);
    next(ADL_REPORT_REQUEUED);
    now_us += 601 * S;
    next(ADL_REPORT_NONE);
    assert_true(was_said("\"op\":\"giveback\",\"seq\":2,\"job\":8"));
}

static void a_job_that_had_ended_and_is_requeued_is_placed_by_us(void **state)
{
    (void)state;
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":true,\"eligible\":false,\"why\":\"placed\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"restarts\":1}");
    next(ADL_REPORT_NONE);
    assert_true(was_said("\"op\":\"hold\",\"seq\":1,\"job\":7"));
    say(PENDING("7"));
    assert_string_equal(next(ADL_REPORT_ARRIVED).submit.arrival->ineligible, "its last run has only just ended");
    const struct adl_job_entry job = job_of(1, 7);
    admit(&job);
    now_us += 3 * S;
    assert_string_equal(next(ADL_REPORT_ELIGIBLE).text, "");
}

static void a_job_that_slurm_put_back_waits_a_moment_and_is_free_again(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(RUNNING("7", "v0"));
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":true,\"eligible\":false,\"why\":\"placed\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"restarts\":1}");
    assert_true(next(ADL_REPORT_INELIGIBLE).text[0] != '\0');
    next(ADL_REPORT_REQUEUED);
    now_us += 3 * S;
    assert_string_equal(next(ADL_REPORT_INELIGIBLE).text, "placed"); /* another reason by now */
    assert_true(was_said("\"op\":\"hold\",\"seq\":2,\"job\":7"));    /* or Slurm starts it where it was */
    say(PENDING("7"));
    assert_string_equal(next(ADL_REPORT_ELIGIBLE).text, "");
}

static void what_is_gone_after_a_reconciliation_has_ended(void **state)
{
    (void)state;
    uint32_t slot;
    arrive(1, 7, PENDING("7"), &slot);
    say("{\"ev\":\"down\",\"why\":\"x\"}");
    say("{\"ev\":\"up\"}");
    next(ADL_REPORT_NONE);
    say("{\"ev\":\"synced\",\"seq\":2}");
    assert_int_equal(next(ADL_REPORT_ENDED).outcome.end, ADL_END_CANCELLED);
}

static int open_while_it_waits(void **state)
{
    (void)state;
    open_with("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
              "\"request\":\"volta:1\",\"nodes_min\":1,\"limit_s\":120}");
    return 0;
}

static void what_a_job_asks_for_may_stay_while_the_service_is_away(void **state)
{
    (void)state;
    struct adl_job_entry job = job_of(1, 7);
    job.spec.limit_us = 120 * S;
    admit(&job);
    next(ADL_REPORT_NONE);
}

static void what_a_job_asks_for_may_change_while_the_service_is_away(void **state)
{
    (void)state;
    struct adl_job_entry job = job_of(1, 7);
    job.spec.limit_us = 60 * S;
    admit(&job);
    assert_string_equal(next(ADL_REPORT_ENDED).text, "what it asks for was changed: it is queued anew");
}

static int open_after_an_end(void **state)
{
    (void)state;
    open_with(ENDED("7", "F"));
    return 0;
}

static void how_a_job_ended_while_the_service_was_away_is_known(void **state)
{
    (void)state;
    const struct adl_job_entry job = job_of(1, 7);
    const uint32_t slot = admit(&job);
    assert_true(executor.ops->adopt(executor.self, &job, slot, (const uint32_t[]){0}));
    const struct adl_report report = next(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.exit_code, 3);
    assert_int_equal(report.outcome.end, ADL_END_FAILED);
}

static int open_after_a_crash(void **state)
{
    (void)state;
    open_with("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
              "\"request\":\"volta:1\",\"nodes_min\":1,\"submit_s\":99,\"restarts\":0}");
    return 0;
}

static void a_number_that_slurm_gave_to_another_job_while_the_service_was_away_ends_the_first(void **state)
{
    (void)state;
    struct adl_job_entry job = job_of(1, 7);
    job.submit_us = 42 * S;
    admit(&job);
    bool ended = false, arrived = false;
    for (int i = 0; i < 2; i++) {
        struct adl_report report;
        assert_int_equal(executor.ops->poll(executor.self, now_us, &report, NULL), 1);
        ended |= report.kind == ADL_REPORT_ENDED && report.number == 1;
        arrived |= report.kind == ADL_REPORT_ARRIVED && report.submit.arrival->external == 7;
    }
    assert_true(ended && arrived);
}

static void a_number_that_slurm_gives_to_another_job_ends_the_first(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"submit_s\":99,\"restarts\":0}");
    struct adl_report report = next(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    report = next(ADL_REPORT_ARRIVED);
    assert_true(report.submit.arrival->external == 7);
    executor.ops->forget(executor.self, 1, 1);
    struct adl_job_entry other = job_of(2, 7);
    other.submit_us = 99 * S;
    assert_int_not_equal(admit(&other), slot);
    next(ADL_REPORT_NONE);
}

/* ---- energy ---- */

#define METER(kind, used, read_s, joules, watts)                                                                       \
    "{\"ev\":\"node\",\"name\":\"v0\",\"usable\":true,\"why\":\"\",\"gpus\":[{\"type\":\"volta\",\"count\":2,"         \
    "\"used\":" used "}],\"meter\":\"" kind "\",\"read_s\":" read_s ",\"joules\":" joules ",\"watts\":" watts "}"

static void assert_power(uint32_t gpu, double watts, bool blurred)
{
    const struct adl_report report = next(ADL_REPORT_SAMPLE);
    assert_int_equal(report.gpu, gpu);
    assert_true(fabs((double)report.sample.readings.value[ADL_READ_POWER] - watts) < 0.01);
    assert_true(report.sample.blurred == blurred);
}

/* On GPU 0 of v0 since 1000 s, at 200 W; 20 W each, as the catalogue says, is what the node draws idle. At the last
 * reading, which is taken to be of 1010.5 s, it had drawn 1800 J since the first. */
static struct adl_job_entry run_metered(const char *kind, bool power)
{
    uint32_t slot;
    const struct adl_job_entry job = arrive(1, 7, PENDING("7"), &slot);
    start(&job, slot, 0);
    say("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    say(RUNNING("7", "v0"));
    next(ADL_REPORT_NONE);
    now_us += 11 * S;
    char line[400];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, METER("%s", "1", "%d", "%d", "220"), kind, 1000 + 10 * i, 5000 + 2000 * i);
        say(line);
        if (power) {
            assert_power(0, 200, false);
            assert_power(1, 20, false);
        }
    }
    next(ADL_REPORT_NONE);
    return job;
}

static void what_a_job_drew_is_told_at_its_end(void **state)
{
    (void)state;
    run_metered("gpus", true);
    now_us += S / 2; /* a second later than the reading */
    say(ENDED("7", "CD"));
    assert_true(fabs(next(ADL_REPORT_ENDED).outcome.energy_j - 2000) < 0.01);
}

static void a_meter_of_the_whole_node_tells_of_jobs_and_not_of_gpus(void **state)
{
    (void)state;
    run_metered("node", false);
    say(ENDED("7", "CD"));
    assert_true(fabs(next(ADL_REPORT_ENDED).outcome.energy_j - 1900) < 0.01);
}

static void a_meter_that_leaves_the_gpus_out_tells_nothing(void **state)
{
    (void)state;
    run_metered("cpus", false);
    say(ENDED("7", "CD"));
    assert_true(next(ADL_REPORT_ENDED).outcome.energy_j == 0);
}

static void what_runs_before_drew_is_not_forgotten(void **state)
{
    (void)state;
    struct adl_job_entry job = run_metered("gpus", true);
    now_us = 1010 * S + S / 2;
    say("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"restarts\":1}");
    next(ADL_REPORT_INELIGIBLE);
    assert_true(fabs(next(ADL_REPORT_REQUEUED).requeue.energy_j - 1800) < 0.01);
    job.energy_j = 1000; /* as if it had been read from the store after a restart */
    executor.ops->introduce(executor.self, &job);
    say(ENDED("7", "CA"));
    struct adl_report report;
    do { /* it may be allowed to start before */
        while (executor.ops->poll(executor.self, now_us, &report, NULL) != 1)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
    } while (report.kind != ADL_REPORT_ENDED);
    assert_true(fabs(report.outcome.energy_j - 2800) < 0.01);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_executor, close_executor)
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_is_placed_runs_and_ends),
        TEST(a_job_cancelled_before_it_had_a_slot_is_not_placed_for_ever),
        TEST(a_job_that_its_user_holds_may_not_start),
        TEST(one_that_is_held_after_it_was_placed_comes_back),
        TEST(word_from_before_a_placement_does_not_undo_it),
        TEST(one_that_was_placed_has_begun_when_slurm_says_so),
        TEST(one_whose_node_was_taken_by_others_is_placed_elsewhere),
        TEST(one_that_asks_for_something_else_is_queued_anew),
        TEST(one_that_runs_elsewhere_is_told_where),
        TEST(one_that_ran_before_the_service_began_is_taken_up),
        TEST(a_cancelled_job_that_slurm_still_has_is_cancelled_again_and_does_not_come_back),
        TEST(what_slurm_refuses_three_times_is_given_back),
        TEST(a_job_beyond_a_limit_arrives_with_the_limit_as_its_reason),
        TEST(a_placement_that_came_too_late_for_a_limit_is_nobodys_fault),
        TEST(what_adlro_cannot_express_is_given_back_and_never_arrives),
        TEST(a_job_that_is_particular_about_nodes_goes_to_one_of_them),
        TEST(one_whose_nodes_are_full_waits_for_them_and_keeps_nobody_else_waiting),
        TEST(one_whose_nodes_stay_full_is_given_back),
        TEST(a_job_that_had_ended_and_is_requeued_is_placed_by_us),
        TEST(a_job_that_slurm_put_back_waits_a_moment_and_is_free_again),
        TEST(what_is_gone_after_a_reconciliation_has_ended),
        TEST(a_number_that_slurm_gives_to_another_job_ends_the_first),
        cmocka_unit_test_setup_teardown(what_a_job_asks_for_may_stay_while_the_service_is_away, open_while_it_waits,
                                        close_executor),
        cmocka_unit_test_setup_teardown(what_a_job_asks_for_may_change_while_the_service_is_away, open_while_it_waits,
                                        close_executor),
        cmocka_unit_test_setup_teardown(how_a_job_ended_while_the_service_was_away_is_known, open_after_an_end,
                                        close_executor),
        cmocka_unit_test_setup_teardown(
            a_number_that_slurm_gave_to_another_job_while_the_service_was_away_ends_the_first, open_after_a_crash,
            close_executor),
        TEST(what_a_job_drew_is_told_at_its_end),
        TEST(a_meter_of_the_whole_node_tells_of_jobs_and_not_of_gpus),
        TEST(a_meter_that_leaves_the_gpus_out_tells_nothing),
        TEST(what_runs_before_drew_is_not_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
