/* simulate: one policy, one seed, with all its decisions recorded. */
#include "cli/belief_file.h"
#include "cli/choices.h"
#include "cli/cli.h"
#include "cli/job_timeline.h"
#include "cli/reports.h"
#include "experiment/recording.h"
#include "experiment/run.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
    const char *policy;
    struct adl_choice_options choice;
    int64_t seed;
    int64_t jobs;
    int64_t explain;
    int regime;
    int bound;
    const char *model;
    const char *throughputs;
    const char *belief, *learn;
    const char *log, *gantt, *json;
    bool no_timing;
    bool health;
};

#define AT(field) offsetof(struct options, field)

static const struct adl_option table[] = {
    {"policy", 'p', ADL_OPTION_TEXT, AT(policy), 0, 0, NULL, "P", "one of `adlro policies`"},
    ADL_CHOICE_ROWS(struct options, choice, ADL_SET_HELP, ADL_VARIANTS_HELP),
    {"seed", 's', ADL_OPTION_INT, AT(seed), 0, 9e15, NULL, "K", "equal seeds give equal runs"},
    {"regime", 0, ADL_OPTION_NAME, AT(regime), 0, 0, adl_regime_names, "NAME",
     "what the policy knows of run times: declared, learned or oracle"},
    {"belief", 0, ADL_OPTION_TEXT, AT(belief), 0, 0, NULL, "FILE", ADL_BELIEF_HELP},
    {"learn", 0, ADL_OPTION_TEXT, AT(learn), 0, 0, NULL, "FILE", ADL_LEARN_HELP},
    {"bound", 0, ADL_OPTION_NAME, AT(bound), 0, 0, adl_bound_names, "NAME",
     "lower bound on the mean JCT: relaxed, or lp, which is higher and takes seconds for each seed"},
    {"model", 'm', ADL_OPTION_TEXT, AT(model), 0, 0, NULL, "FILE",
     "network from `adlro train` that its policy (dqn, market or adlro) uses instead of the shipped one"},
    {"throughputs", 0, ADL_OPTION_TEXT, AT(throughputs), 0, 0, NULL, "FILE",
     "JSON with measured steps/s by GPU type and job, for scenarios whose job classes name it"},
    {"jobs", 0, ADL_OPTION_INT, AT(jobs), 0, 1e9, NULL, "N",
     "jobs instead of the scenario's number; 0 = the scenario's"},
    {"explain", 'e', ADL_OPTION_INT, AT(explain), 0, 9e15, NULL, "JOB",
     "print the timeline of this job and why it waited"},
    {"log", 'l', ADL_OPTION_TEXT, AT(log), 0, 0, NULL, "FILE",
     "record every event and decision; `adlro replay FILE` checks it"},
    {"gantt", 'g', ADL_OPTION_TEXT, AT(gantt), 0, 0, NULL, "FILE",
     "write a page that shows which job ran on which GPU and when"},
    {"json", 0, ADL_OPTION_TEXT, AT(json), 0, 0, NULL, "FILE",
     "write all figures as JSON (- is standard output, instead of the table)"},
    {"health", 0, ADL_OPTION_FLAG, AT(health), 0, 0, NULL, NULL,
     "print which GPUs and types were found to be slower or faster than at first, and whether predictions held"},
    {"no-timing", 0, ADL_OPTION_FLAG, AT(no_timing), 0, 0, NULL, NULL, "leave wall-clock figures out of JSON"},
};

static const struct adl_verb verb = {
    .name = "simulate",
    .summary = "Runs one policy on one seed of a scenario and can record the events and draw the Gantt chart.",
    .operands = "SCENARIO",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .alias = {"policies", "policy"},
    .example = "adlro simulate paper16 --policy easy --seed 7 --log run.log --gantt run.html",
};

/* Writes the recording during the run, into a file that is renamed when the run is complete. */
struct recorder {
    struct adl_output output;
    struct adl_text text;
    struct adl_recording_seal seal;
    uint32_t type_count;
    uint64_t reasons;     /* hash of the reasons of this instant */
    int status;           /* of the file */
    struct adl_error err; /* why, because the engine knows only that an observer failed */
};

/* Seals the line that was just appended; `before` is where it begins. */
static void seal(struct recorder *recorder, size_t before)
{
    if (adl_text_status(&recorder->text) == 0)
        adl_recording_seal_line(&recorder->seal, recorder->text.data + before, recorder->text.size - before);
}

static int flush_text(struct recorder *recorder, size_t above)
{
    if (adl_text_status(&recorder->text) == 0 && recorder->text.size <= above)
        return 0;
    recorder->status = adl_output_put(&recorder->output, &recorder->text, &recorder->err);
    adl_text_truncate(&recorder->text, 0);
    return recorder->status;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    struct recorder *recorder = self;
    const size_t before = recorder->text.size;
    adl_recording_write_event(&recorder->text, event, recorder->type_count);
    seal(recorder, before);
    return flush_text(recorder, 1 << 16);
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)state;
    struct recorder *recorder = self;
    const size_t before = recorder->text.size;
    adl_recording_write_command(&recorder->text, command, gpus);
    recorder->reasons = adl_command_hash_reason(recorder->reasons, command);
    seal(recorder, before);
    return 0;
}

static int on_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)state;
    struct recorder *recorder = self;
    const size_t before = recorder->text.size;
    adl_recording_write_decision(&recorder->text, hash, recorder->reasons);
    recorder->reasons = 0;
    seal(recorder, before);
    return 0;
}

static int recorder_open(struct recorder *recorder, const struct options *o, const char *name,
                         const struct adl_policy_ops *policy, const struct adl_scenario_text *texts,
                         uint32_t type_count, const struct adl_belief_file *belief, struct adl_error *err)
{
    char sealed[20];
    const int status = adl_output_open(o->log, &recorder->output, err);
    if (status)
        return status;
    recorder->type_count = type_count;
    const struct adl_recording_head head = {policy->variant_of ? policy->variant_of : policy->name,
                                            adl_regime_name(o->regime),
                                            name,
                                            (uint64_t)o->seed,
                                            texts->scenario,
                                            texts->catalogue,
                                            policy->settings,
                                            belief->bytes ? sealed : NULL};
    adl_belief_file_seal(belief, sealed);
    adl_recording_write_head(&recorder->text, &head);
    seal(recorder, 0);
    return 0;
}

/* Renames the recording to its name, or removes it if the run failed. */
static int recorder_close(struct recorder *recorder, int status, struct adl_error *err)
{
    if (status == 0 && recorder->output.file) {
        adl_recording_write_end(&recorder->text, &recorder->seal);
        status = flush_text(recorder, 0);
    }
    if (recorder->status)
        status = adl_fail(err, recorder->status, "%s", recorder->err.text);
    adl_text_clear(&recorder->text);
    return adl_output_close(&recorder->output, status, err);
}

/* With JSON on standard output, the timeline goes to standard error. */
static int print_timeline(const struct options *o, const struct adl_job_timeline *timeline, struct adl_error *err)
{
    const bool apart = adl_output_is_stdout(o->json);
    if (adl_text_status(&timeline->text))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the timeline of job %lld", (long long)o->explain);
    fprintf(apart ? stderr : stdout, "\nJob %lld\n%s", (long long)o->explain,
            timeline->text.size ? timeline->text.data : "nothing happened to it\n");
    return 0;
}

static int print_health(const struct options *o, const struct adl_text *health, struct adl_error *err)
{
    if (adl_text_status(health))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the health of GPUs");
    fprintf(adl_output_is_stdout(o->json) ? stderr : stdout, "\nHealth of GPUs\n%s", health->data);
    return 0;
}

/* Beside the table, unless standard output is taken. */
static int write_learned(const struct options *o, const struct adl_text *learned, struct adl_error *err)
{
    return o->learn ? adl_output_write(o->learn, learned, err) : 0;
}

static int simulate(const struct options *o, const char *name, const struct adl_scenario *scenario,
                    const struct adl_scenario_text *texts, const struct adl_policy_ops *policy,
                    const struct adl_belief_file *belief, struct adl_error *err)
{
    char run[ADL_NAME_SIZE + 32], origin[ADL_ORIGIN_SIZE];
    struct adl_text learned = {0}, health = {0};
    snprintf(run, sizeof run, "%s seed %lld", scenario->name, (long long)o->seed);
    adl_belief_file_origin(belief, run, origin);
    struct recorder recorder = {0};
    struct adl_comparison comparison = {0};
    const struct adl_observer record = {
        .self = &recorder, .event = on_event, .command = on_command, .decided = on_decided};
    struct adl_job_timeline timeline = {.job_id = (uint64_t)o->explain, .next = o->log ? &record : NULL};
    const struct adl_observer observer = adl_job_timeline_observer(&timeline);
    const struct adl_comparison_request request = {.scenario = scenario,
                                                   .policies = &policy,
                                                   .policy_count = 1,
                                                   .first_seed = (uint64_t)o->seed,
                                                   .seed_count = 1,
                                                   .regime = o->regime,
                                                   .bound = o->bound,
                                                   .threads = 1,
                                                   .timelines = o->gantt != NULL,
                                                   .belief = belief->bytes,
                                                   .belief_size = belief->size,
                                                   .learned = o->learn ? &learned : NULL,
                                                   .origin = origin,
                                                   .health = o->health ? &health : NULL,
                                                   .observer = o->explain > 0 ? &observer
                                                               : o->log       ? &record
                                                                              : NULL};
    const struct adl_reports reports = {.json = o->json, .html = o->gantt, .timing = !o->no_timing};
    int status =
        o->log ? recorder_open(&recorder, o, name, policy, texts, scenario->cluster.type_count, belief, err) : 0;
    if (status == 0)
        status = adl_comparison_run(&request, &comparison, err);
    status = recorder_close(&recorder, status, err);
    comparison.belief = belief->note.data;
    if (status == 0)
        status = write_learned(o, &learned, err);
    if (status == 0)
        status = adl_reports_write(&reports, &comparison, err);
    adl_text_clear(&learned);
    if (status == 0 && o->health)
        status = print_health(o, &health, err);
    adl_text_clear(&health);
    if (status == 0 && o->explain > 0)
        status = print_timeline(o, &timeline, err);
    adl_job_timeline_clear(&timeline);
    adl_comparison_clear(&comparison);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.policy = "fcfs", .seed = 1};
    struct adl_operands operands;
    struct adl_error err;
    struct adl_scenario scenario = {0};
    struct adl_scenario_text texts = {0};
    struct adl_cli_choices choices = {0};
    struct adl_belief_file belief = {0};
    char *model = NULL;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = 0;
    if (adl_output_is_stdout(o.log))
        status = adl_fail(&err, ADL_EINVAL, "--log needs a file name");
    const char *outputs[] = {o.log, o.gantt, o.json, o.learn};
    if (status == 0)
        status = adl_outputs_check(outputs, 4, operands.items[0], &err);
    if (status == 0 && o.learn && o.regime != ADL_REGIME_LEARNED)
        status = adl_fail(&err, ADL_EINVAL, "--learn needs --regime learned: in other regimes nothing is learned");
    if (status == 0)
        status = adl_scenario_load_measured(operands.items[0], o.throughputs, &scenario, &texts, &err);
    if (status == 0)
        status = adl_cli_choices_make(&o.choice, o.policy, 1, &scenario, &choices, &err);
    if (status == 0)
        status = adl_cli_model(o.model, &scenario, &model, &err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    if (o.jobs > 0)
        adl_scenario_set_jobs(&scenario, (uint64_t)o.jobs);
    if (status == 0 && (uint64_t)o.explain > scenario.workload.jobs)
        status = adl_fail(&err, ADL_EINVAL, "there is no job %lld in this run: it has %llu jobs, numbered from 1",
                          (long long)o.explain, (unsigned long long)scenario.workload.jobs);
    const struct adl_belief_terms terms = adl_run_terms(&scenario, NULL);
    if (status == 0)
        status = adl_belief_file_read(o.belief, &terms, o.regime == ADL_REGIME_LEARNED, &belief, &err);
    adl_belief_file_warn_seeds(&belief, scenario.name, (uint64_t)o.seed, 1);
    if (status == 0)
        status = simulate(&o, operands.items[0], &scenario, &texts, choices.choices.policies[0], &belief, &err);
    adl_belief_file_clear(&belief);
    adl_cli_choices_clear(&choices);
    adl_scenario_text_clear(&texts);
    adl_scenario_clear(&scenario);
    free(model);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_simulate = {&verb, run};
