/* Golden plans: what every policy decides on the shipped scenarios, as hashes in golden/plans.txt. A change of any
 * decision shows here; if it was meant, `test_golden --update` writes the file anew, and the difference is reviewed
 * with the change that made it. */
#include "base/text.h"
#include "experiment/run.h"
#include "scenario/scenario.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shared_data.h"

#define SCENARIOS     ADL_SOURCE_DIR "/scenarios"
#define PLANS         ADL_SOURCE_DIR "/tests/golden/plans.txt"
#define SCENARIOS_MAX 64

/* The speeds of this scenario are not part of the project. */
#define MEASURED     "gavel108"
#define MEASUREMENTS SHARED_DATA "data/gavel/simulation_throughputs.json"

/* Enough jobs to tell decisions apart, few enough to run in a moment. */
static uint64_t jobs_of(const struct adl_scenario *scenario)
{
    const uint64_t most = scenario->cluster.gpu_count > 10000 ? 300 : 600;
    return scenario->workload.jobs < most ? scenario->workload.jobs : most;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The shipped scenarios' file names, sorted; the caller frees them. */
static uint32_t list_scenarios(char *ret[SCENARIOS_MAX])
{
    uint32_t count = 0;
    DIR *folder = opendir(SCENARIOS);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0 || strstr(entry->d_name, "catalogue.yaml"))
            continue;
        assert_true(count < SCENARIOS_MAX);
        ret[count] = strdup(entry->d_name);
        assert_non_null(ret[count++]);
    }
    closedir(folder);
    qsort(ret, count, sizeof *ret, by_name);
    return count;
}

/* One line a policy: scenario, policy, jobs, hash of the plans of seed 1. */
static void add_plans(struct adl_text *text, const char *file)
{
    char path[512];
    struct adl_scenario scenario;
    struct adl_error err;
    snprintf(path, sizeof path, SCENARIOS "/%s", file);
    const bool measured = strcmp(file, MEASURED ".yaml") == 0;
    if (adl_scenario_load_measured(path, measured ? MEASUREMENTS : NULL, &scenario, NULL, &err))
        fail_msg("%s", err.text);
    scenario.workload.jobs = jobs_of(&scenario);
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const struct adl_run run = {.scenario = &scenario, .policy = adl_policy_at(p), .seed = 1};
        struct adl_result result;
        if (adl_run(&run, &result, &err))
            fail_msg("%s, %s: %s", file, run.policy->name, err.text);
        adl_text_printf(text, "%s %s %" PRIu64 " %016" PRIx64 "\n", scenario.name, run.policy->name,
                        scenario.workload.jobs, result.plan_hash);
    }
    adl_scenario_clear(&scenario);
}

enum part { PLAIN = 1, WITH_MEASUREMENTS = 2, ALL = 3 };

/* Whether the scenario with which a line or a file's name begins is of this part. */
static bool is_of(enum part part, const char *name)
{
    const size_t length = strlen(MEASURED);
    const bool measured = strncmp(name, MEASURED, length) == 0 && strchr(" .", name[length]);
    return part & (measured ? WITH_MEASUREMENTS : PLAIN);
}

static struct adl_text plans_now(enum part part)
{
    struct adl_text text = {0};
    char *files[SCENARIOS_MAX] = {NULL};
    const uint32_t count = list_scenarios(files);
    assert_true(count > 0);
    adl_text_put(&text, "# scenario policy jobs plan_hash, seed 1; written by test_golden --update\n");
    for (uint32_t i = 0; i < count; i++) {
        if (is_of(part, files[i]))
            add_plans(&text, files[i]);
        free(files[i]);
    }
    assert_int_equal(adl_text_status(&text), 0);
    return text;
}

static struct adl_text read_plans(void)
{
    struct adl_text text = {0};
    char piece[4096];
    FILE *file = fopen(PLANS, "rb");
    if (!file)
        fail_msg("%s cannot be read; test_golden --update writes it", PLANS);
    for (size_t size; (size = fread(piece, 1, sizeof piece, file)) > 0;)
        adl_text_bytes(&text, piece, size);
    fclose(file);
    assert_int_equal(adl_text_status(&text), 0);
    return text;
}

/* True if the text has this very line; length without the newline. */
static bool has_line(const char *text, const char *line, size_t length)
{
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, line, length) == 0 && at[length] == '\n')
            return true;
    return false;
}

/* Prints the lines of one text that the other lacks; how many. */
static uint32_t print_missing(enum part part, const char *from, const char *in, const char *sign)
{
    uint32_t missing = 0;
    for (const char *at = from; at && *at;) {
        const size_t length = strcspn(at, "\n");
        if (is_of(part, at) && !has_line(in, at, length)) {
            print_message("%s %.*s\n", sign, (int)length, at);
            missing++;
        }
        at += length + (at[length] == '\n');
    }
    return missing;
}

static void compare_plans(enum part part)
{
    struct adl_text golden = read_plans(), now = plans_now(part);
    const uint32_t gone = print_missing(part, golden.data, now.data, "-");
    const uint32_t come = print_missing(part, now.data, golden.data, "+");
    adl_text_clear(&golden);
    adl_text_clear(&now);
    if (gone + come > 0)
        fail_msg("plans differ from %s; if that was meant: test_golden --update", PLANS);
}

static void every_policy_decides_on_the_shipped_scenarios_as_it_did(void **state)
{
    (void)state;
    compare_plans(PLAIN);
}

static void every_policy_decides_on_the_scenario_of_measured_speeds_as_it_did(void **state)
{
    (void)state;
    compare_plans(WITH_MEASUREMENTS);
}

static int update(void)
{
    if (access(MEASUREMENTS, R_OK) != 0) {
        fprintf(stderr, "the plans of " MEASURED " need " MEASUREMENTS "\n");
        return 1;
    }
    struct adl_text now = plans_now(ALL);
    FILE *file = fopen(PLANS, "wb");
    const bool good = file && fwrite(now.data, 1, now.size, file) == now.size;
    if (!file || fclose(file) != 0 || !good) {
        fprintf(stderr, "cannot write %s\n", PLANS);
        return 1;
    }
    adl_text_clear(&now);
    printf("wrote %s\n", PLANS);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--update") == 0)
        return update();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_decides_on_the_shipped_scenarios_as_it_did),
    };
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(every_policy_decides_on_the_scenario_of_measured_speeds_as_it_did),
    };
    return RUN_PLAIN_OR_SHARED(argc, argv, tests, shared);
}
