/* train: trains a policy on a scenario, or the networks of the estimates on a prior. */
#include "cli/cli.h"
#include "cli/train/training.h"
#include "rl/practice.h"
#include "scenario/scenario.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RANDOM_JOBS_MAX 256 /* of an episode of a random scenario */

struct options {
    const char *scenario;
    const char *out, *checkpoint;
    const char *csv, *html, *json, *onnx;
    int64_t episodes, random, labs, jobs, seed, threads;
    double lambda, tail, horizon, learning_rate;
    int network; /* enum adl_qnet_kind */
    bool resume;
};

static const char *const networks[] = {"shared", "paper", NULL};

#define AT(field) offsetof(struct options, field)

static const struct adl_option table[] = {
    {"scenario", 's', ADL_OPTION_TEXT, AT(scenario), 0, 0, NULL, "FILE", "scenario to train dqn on; required"},
    {"episodes", 'n', ADL_OPTION_INT, AT(episodes), 1, 1e9, NULL, "N", "episodes, each a run of the scenario"},
    {"random", 0, ADL_OPTION_INT, AT(random), 0, ADL_PRACTICE_MAX, NULL, "N",
     "every other episode is of one of this many random scenarios, so that the model serves other clusters too"},
    {"labs", 0, ADL_OPTION_INT, AT(labs), 10, 1e7, NULL, "N", "estimator: labs of the prior to learn from"},
    {"out", 'o', ADL_OPTION_TEXT, AT(out), 0, 0, NULL, "FILE",
     "file for the best model (dqn.model or estimator.model)"},
    {"checkpoint", 0, ADL_OPTION_TEXT, AT(checkpoint), 0, 0, NULL, "FILE",
     "file for the state that --resume needs, written at each validation and at the end (OUT.checkpoint)"},
    {"resume", 0, ADL_OPTION_FLAG, AT(resume), 0, 0, NULL, NULL,
     "continue from the checkpoint; gives the same model as uninterrupted training"},
    {"seed", 0, ADL_OPTION_INT, AT(seed), 0, 1000000, NULL, "K",
     "equal seeds give equal models; the seed sets the jobs and the initial network"},
    {"threads", 0, ADL_OPTION_INT, AT(threads), 0, 64, NULL, "N", "0 = all cores; the model does not depend on it"},
    {"network", 0, ADL_OPTION_NAME, AT(network), 0, 0, networks, "NAME",
     "shared works on clusters of any size; paper is the ADLRO paper's and works on this one only"},
    {"jobs", 0, ADL_OPTION_INT, AT(jobs), 0, 1e9, NULL, "N", "jobs of an episode; 0 = the scenario's number"},
    {"lambda", 0, ADL_OPTION_REAL, AT(lambda), -1, 1e6, NULL, "X",
     "weight of idle GPU time in the reward; -1 = the scenario's"},
    {"tail", 0, ADL_OPTION_REAL, AT(tail), 0, 1e6, NULL, "X", "weight of long completion times in the reward"},
    {"horizon", 0, ADL_OPTION_REAL, AT(horizon), 0.001, 1e9, NULL, "X",
     "discount horizon: a reward counts 1/e after this many mean run times of the scenario"},
    {"learning-rate", 0, ADL_OPTION_REAL, AT(learning_rate), 1e-9, 1, NULL, "X",
     "initial learning rate of Adam; decays to a tenth"},
    {"csv", 0, ADL_OPTION_TEXT, AT(csv), 0, 0, NULL, "FILE", "write a row per round"},
    {"html", 0, ADL_OPTION_TEXT, AT(html), 0, 0, NULL, "FILE", "write one self-contained page with the curves"},
    {"json", 0, ADL_OPTION_TEXT, AT(json), 0, 0, NULL, "FILE",
     "write all figures as JSON (- is standard output, instead of the summary)"},
    {"onnx", 0, ADL_OPTION_TEXT, AT(onnx), 0, 0, NULL, "FILE", "write the network as ONNX, for use in other programs"},
};

static const struct adl_verb verb = {
    .name = "train",
    .summary =
        "Trains the policy dqn on a scenario: runs episodes, learns from them, and keeps the network that does best on "
        "held-out seeds. Or trains the networks of the estimates on a prior; then only --out, --seed and "
        "--labs count.",
    .operands = "dqn|estimator",
    .operands_min = 0, /* so that check_what() prints what can be trained */
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro train dqn --scenario paper16 --episodes 8192 --html curves.html",
};

static bool is_estimator(const struct adl_operands *operands)
{
    return operands->count == 1 && strcmp(operands->items[0], "estimator") == 0;
}

static int check_what(const struct adl_operands *operands, struct adl_error *err)
{
    if (is_estimator(operands) || (operands->count == 1 && strcmp(operands->items[0], "dqn") == 0))
        return 0;
    return adl_fail(err, ADL_EINVAL,
                    "%s%.40s%scan be trained; say `adlro train dqn --scenario FILE` or `adlro train estimator`",
                    operands->count ? "not '" : "only dqn and estimator ", operands->count ? operands->items[0] : "",
                    operands->count ? "' but only dqn and estimator " : "");
}

/* Models and checkpoints are renamed into place, which would replace a device or a pipe. */
static bool is_file(const char *path)
{
    struct stat info;
    return !adl_output_is_stdout(path) && (stat(path, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
}

static int train_estimator(const struct options *o, struct adl_error *err)
{
    const char *outputs[] = {o->out};
    if (!is_file(o->out))
        return adl_fail(err, ADL_EINVAL, "--out needs a file name");
    const int status = adl_outputs_check(outputs, 1, "", err);
    return status ? status : adl_train_estimator(o->out, (uint64_t)o->seed, (uint32_t)o->labs, err);
}

static int check_options(const struct options *o, const char *checkpoint, struct adl_error *err)
{
    const char *outputs[] = {o->out, checkpoint, o->csv, o->html, o->json, o->onnx};
    if (!o->scenario)
        return adl_fail(err, ADL_EINVAL, "--scenario FILE must be given, for example paper16");
    if (!is_file(o->out) || !is_file(checkpoint))
        return adl_fail(err, ADL_EINVAL, "--out and --checkpoint need file names");
    return adl_outputs_check(outputs, sizeof outputs / sizeof *outputs, o->scenario, err);
}

static struct adl_dqn_config configure(const struct options *o, const struct adl_scenario *scenario)
{
    struct adl_dqn_config config = adl_dqn_defaults((enum adl_qnet_kind)o->network);
    config.scenario = scenario;
    config.seed = (uint64_t)o->seed;
    config.episodes = (uint64_t)o->episodes;
    config.threads = o->threads ? (uint32_t)o->threads : adl_cli_cores();
    config.learning_rate_end *= o->learning_rate / config.learning_rate;
    config.learning_rate = o->learning_rate;
    config.horizon = o->horizon;
    config.tail = o->tail;
    return config;
}

static int train(const struct options *o, const char *checkpoint, bool *ret_interrupted, struct adl_error *err)
{
    struct adl_scenario scenario = {0};
    int status = adl_scenario_load(o->scenario, &scenario, NULL, err);
    if (status)
        return status == ADL_EIO ? ADL_EINVAL : status; /* a wrong file name */
    if (o->jobs > 0)
        scenario.workload.jobs = (uint64_t)o->jobs;
    if (o->lambda >= 0)
        scenario.lambda = o->lambda;
    struct adl_dqn_config config = configure(o, &scenario);
    struct adl_scenario *random = NULL;
    status =
        adl_practice_create((uint64_t)o->seed * ADL_PRACTICE_MAX, (uint32_t)o->random, RANDOM_JOBS_MAX, &random, err);
    config.others = random;
    config.other_count = status ? 0 : (uint32_t)o->random;
    const struct adl_training_job job = {.scenario_path = o->scenario,
                                         .jobs = (uint64_t)o->jobs,
                                         .config = config,
                                         .resume = o->resume,
                                         .out = o->out,
                                         .checkpoint = checkpoint,
                                         .csv = o->csv,
                                         .html = o->html,
                                         .json = o->json,
                                         .onnx = o->onnx};
    if (status == 0)
        status = adl_training_run(&job, ret_interrupted, err);
    adl_practice_destroy(random, config.other_count);
    adl_scenario_clear(&scenario);
    return status;
}

static int run(int argc, char **argv)
{
    const struct adl_dqn_config defaults = adl_dqn_defaults(ADL_QNET_SHARED);
    struct options o = {.episodes = (int64_t)defaults.episodes,
                        .labs = 10000,
                        .seed = 1,
                        .lambda = -1,
                        .tail = defaults.tail,
                        .horizon = defaults.horizon,
                        .learning_rate = defaults.learning_rate,
                        .network = ADL_QNET_SHARED};
    struct adl_operands operands;
    struct adl_error err;
    char beside[4096];
    bool interrupted = false;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = check_what(&operands, &err);
    if (!o.out)
        o.out = is_estimator(&operands) ? "estimator.model" : "dqn.model";
    if (status == 0 && is_estimator(&operands)) {
        status = train_estimator(&o, &err);
        return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
    }
    if (status == 0 && snprintf(beside, sizeof beside, "%s.checkpoint", o.out) >= (int)sizeof beside)
        status = adl_fail(&err, ADL_EINVAL, "the path of --out is too long");
    const char *checkpoint = o.checkpoint ? o.checkpoint : beside;
    if (status == 0)
        status = check_options(&o, checkpoint, &err);
    if (status == 0)
        status = train(&o, checkpoint, &interrupted, &err);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    return interrupted ? ADL_EXIT_FAILED : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_train = {&verb, run};
