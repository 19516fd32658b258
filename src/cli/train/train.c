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
#define ADLRO_RANDOM    48

struct options {
    const char *scenario;
    const char *out, *checkpoint;
    const char *csv, *html, *json, *onnx;
    int64_t episodes, rounds, random, labs, jobs, seed, threads;
    double lambda, tail, horizon, learning_rate;
    int network; /* enum adl_qnet_kind */
    int method;  /* enum adl_market_method */
    bool resume;
};

static const char *const networks[] = {"shared", "paper", NULL};

#define AT(field) offsetof(struct options, field)

static const struct adl_option table[] = {
    {"scenario", 's', ADL_OPTION_TEXT, AT(scenario), 0, 0, NULL, "FILE",
     "scenario to train dqn or market on; required"},
    {"episodes", 'n', ADL_OPTION_INT, AT(episodes), 1, 1e9, NULL, "N", "episodes, each a run of the scenario"},
    {"rounds", 0, ADL_OPTION_INT, AT(rounds), 1, 1e6, NULL, "N", "adlro: rounds of 768 runs"},
    {"random", 0, ADL_OPTION_INT, AT(random), 0, ADL_PRACTICE_MAX, NULL, "N",
     "every other episode is of one of this many random scenarios, so that the model serves other clusters too; adlro "
     "has 48 of them if none are asked for"},
    {"labs", 0, ADL_OPTION_INT, AT(labs), 10, 1e7, NULL, "N", "estimator: labs of the prior to learn from"},
    {"out", 'o', ADL_OPTION_TEXT, AT(out), 0, 0, NULL, "FILE",
     "file for the best model (dqn.model, market.model, adlro.model or estimator.model)"},
    {"checkpoint", 0, ADL_OPTION_TEXT, AT(checkpoint), 0, 0, NULL, "FILE",
     "file for the state that --resume needs, written at each validation and at the end (OUT.checkpoint)"},
    {"resume", 0, ADL_OPTION_FLAG, AT(resume), 0, 0, NULL, NULL,
     "continue from the checkpoint; gives the same model as uninterrupted training"},
    {"seed", 0, ADL_OPTION_INT, AT(seed), 0, 1000000, NULL, "K",
     "equal seeds give equal models; the seed sets the jobs and the initial network"},
    {"threads", 0, ADL_OPTION_INT, AT(threads), 0, 64, NULL, "N", "0 = all cores; the model does not depend on it"},
    {"network", 0, ADL_OPTION_NAME, AT(network), 0, 0, networks, "NAME",
     "shared works on clusters of any size; paper is the ADLRO paper's and works on this one only"},
    {"method", 0, ADL_OPTION_NAME, AT(method), 0, 0, adl_market_method_names, "NAME",
     "market: what agents learn from: difference rewards, value decomposition, their own return, or evolution"},
    {"jobs", 0, ADL_OPTION_INT, AT(jobs), 0, 1e9, NULL, "N", "jobs of an episode; 0 = the scenario's number"},
    {"lambda", 0, ADL_OPTION_REAL, AT(lambda), -1, 1e6, NULL, "X",
     "weight of idle GPU time in the reward; -1 = the scenario's, for market 0"},
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
        "Trains the network of a policy: runs episodes, learns from them, and keeps the network that does best on "
        "held-out seeds. dqn and market are trained on one scenario; for market, --network, --tail, --horizon, "
        "--learning-rate and --onnx have no effect. adlro is trained on shipped and random scenarios (--rounds, "
        "--random, "
        "--out, --seed, --threads), the networks of the estimator on a prior (--out, --seed, --labs).",
    .operands = "dqn|market|adlro|estimator",
    .operands_min = 0, /* so that check_what() prints what can be trained */
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro train dqn --scenario paper16 --episodes 8192 --html curves.html",
};

static bool is_for(const struct adl_operands *operands, const char *what)
{
    return operands->count == 1 && strcmp(operands->items[0], what) == 0;
}

static int check_what(const struct adl_operands *operands, struct adl_error *err)
{
    static const char *const known[] = {"dqn", "market", "adlro", "estimator"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_for(operands, known[i]))
            return 0;
    return adl_fail(err, ADL_EINVAL,
                    "%s%.40s%sdqn, market, adlro and estimator can be trained; say `adlro train dqn --scenario FILE`, "
                    "`adlro train market --scenario FILE`, `adlro train adlro` or `adlro train estimator`",
                    operands->count ? "not '" : "only ", operands->count ? operands->items[0] : "",
                    operands->count ? "' but only " : "");
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

static int train_adlro(const struct options *o)
{
    struct adl_rank_config config = adl_rank_defaults();
    struct adl_error err;
    bool interrupted = false;
    config.seed = (uint64_t)o->seed;
    config.threads = o->threads ? (uint32_t)o->threads : adl_cli_cores();
    config.rounds = (uint32_t)o->rounds;
    int status = is_file(o->out) ? 0 : adl_fail(&err, ADL_EINVAL, "--out needs a file name");
    if (status == 0)
        status = adl_outputs_check(&o->out, 1, "", &err);
    if (status == 0)
        status =
            adl_train_adlro(&config, o->random > 0 ? (uint32_t)o->random : ADLRO_RANDOM, o->out, &interrupted, &err);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    return interrupted ? ADL_EXIT_FAILED : ADL_EXIT_DONE;
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

static int train_dqn(const struct options *o, const char *checkpoint, const struct adl_scenario *scenario,
                     const struct adl_scenario *random, bool *ret_interrupted, struct adl_error *err)
{
    struct adl_dqn_config config = configure(o, scenario);
    config.others = random;
    config.other_count = (uint32_t)o->random;
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
    return adl_training_run(&job, ret_interrupted, err);
}

static int train_market(const struct options *o, const char *checkpoint, const struct adl_scenario *scenario,
                        const struct adl_scenario *random, bool *ret_interrupted, struct adl_error *err)
{
    struct adl_market_job job = {.scenario_path = o->scenario,
                                 .config = adl_market_training_defaults((enum adl_market_method)o->method),
                                 .resume = o->resume,
                                 .out = o->out,
                                 .checkpoint = checkpoint,
                                 .csv = o->csv,
                                 .html = o->html,
                                 .json = o->json};
    job.config.scenario = scenario;
    job.config.others = random;
    job.config.other_count = (uint32_t)o->random;
    job.config.seed = (uint64_t)o->seed;
    job.config.episodes = (uint64_t)o->episodes;
    job.config.threads = o->threads ? (uint32_t)o->threads : adl_cli_cores();
    return adl_train_market(&job, ret_interrupted, err);
}

static int train(const struct options *o, const char *checkpoint, bool market, bool *ret_interrupted,
                 struct adl_error *err)
{
    struct adl_scenario scenario = {0}, *random = NULL;
    int status = adl_scenario_load(o->scenario, &scenario, NULL, err);
    if (status)
        return status == ADL_EIO ? ADL_EINVAL : status; /* a wrong file name */
    if (o->jobs > 0)
        scenario.workload.jobs = (uint64_t)o->jobs;
    if (o->lambda >= 0)
        scenario.lambda = o->lambda;
    status =
        adl_practice_create((uint64_t)o->seed * ADL_PRACTICE_MAX, (uint32_t)o->random, RANDOM_JOBS_MAX, &random, err);
    for (int64_t i = -1; i < o->random && market && status == 0; i++) /* what market learns for is completion times */
        *(i < 0 ? &scenario.lambda : &random[i].lambda) = o->lambda >= 0 ? o->lambda : 0;
    if (status == 0)
        status = (market ? train_market : train_dqn)(o, checkpoint, &scenario, random, ret_interrupted, err);
    adl_practice_destroy(random, (uint32_t)o->random);
    adl_scenario_clear(&scenario);
    return status;
}

static int run(int argc, char **argv)
{
    const struct adl_dqn_config defaults = adl_dqn_defaults(ADL_QNET_SHARED);
    struct options o = {.episodes = (int64_t)defaults.episodes,
                        .rounds = adl_rank_defaults().rounds,
                        .labs = 10000,
                        .seed = 1,
                        .lambda = -1,
                        .tail = defaults.tail,
                        .horizon = defaults.horizon,
                        .learning_rate = defaults.learning_rate,
                        .network = ADL_QNET_SHARED,
                        .method = ADL_MARKET_EVOLUTION};
    struct adl_operands operands;
    struct adl_error err;
    char beside[4096];
    bool interrupted = false;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = check_what(&operands, &err);
    if (!o.out)
        o.out = is_for(&operands, "estimator") ? "estimator.model"
                : is_for(&operands, "market")  ? "market.model"
                : is_for(&operands, "adlro")   ? "adlro.model"
                                               : "dqn.model";
    if (status == 0 && is_for(&operands, "adlro"))
        return train_adlro(&o);
    if (status == 0 && is_for(&operands, "estimator")) {
        status = train_estimator(&o, &err);
        return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
    }
    if (status == 0 && snprintf(beside, sizeof beside, "%s.checkpoint", o.out) >= (int)sizeof beside)
        status = adl_fail(&err, ADL_EINVAL, "the path of --out is too long");
    const char *checkpoint = o.checkpoint ? o.checkpoint : beside;
    if (status == 0)
        status = check_options(&o, checkpoint, &err);
    if (status == 0)
        status = train(&o, checkpoint, is_for(&operands, "market"), &interrupted, &err);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    return interrupted ? ADL_EXIT_FAILED : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_train = {&verb, run};
