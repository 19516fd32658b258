/* bench_train: how fast training is. The environment alone, by random actions; then real training rounds, timed with
 * one and with several passes over the rollouts, which separates playing from learning. A bar that is missed is marked
 * and makes it exit 1. */
#include "base/rng.h"
#include "ceiling.h"
#include "nn/model_file.h"
#include "rl/dqn_trainer.h"
#include "rl/environment.h"
#include "rl/rollout.h"
#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>

#define SCENARIO ADL_SOURCE_DIR "/scenarios/paper16.yaml"

enum { JOBS = 256, THREADS = 2, ROUNDS = 4, SWEEPS = 8, PASSES = 6, CELLS = 8, STEPS = 50000 };
#define HOURS_MAX 1.0 /* for a million episodes */

static void die_on(int status, const char *text)
{
    if (status == 0)
        return;
    fprintf(stderr, "bench_train: %s\n", text);
    exit(1);
}

static double seconds_since(int64_t start_ns)
{
    return (double)(adl_clock_ns() - start_ns) * 1e-9;
}

/* ---- the environment alone ---- */

struct walk {
    double steps_per_s;
    double actions; /* mean number of them to choose from */
};

static struct walk walk_at_random(void)
{
    const struct adlro_config config = {.scenario = SCENARIO, .count = CELLS, .jobs = JOBS};
    char error[ADLRO_ERROR_SIZE] = "out of memory";
    struct adlro_environment *env = NULL;
    struct adlro_shape shape;
    struct adlro_buffers buffers;
    struct adl_rng rng;
    int32_t actions[CELLS] = {0};
    uint64_t seed = 1, steps = 0, offered = 0;
    die_on(adlro_create(&config, &env, error), error);
    adlro_shape(env, &shape, sizeof shape);
    die_on(adl_buffers_create(&shape, &buffers), error);
    adl_rng_seed(&rng, 1, "bench");
    for (uint32_t i = 0; i < CELLS; i++)
        die_on(adlro_reset(env, i, seed++, &buffers, error), error);
    const int64_t start_ns = adl_clock_ns();
    while (steps < STEPS) {
        for (uint32_t i = 0; i < CELLS; i++) {
            if (buffers.done[i])
                die_on(adlro_reset(env, i, seed++, &buffers, error), error);
            offered += (uint64_t)buffers.action_count[i];
            actions[i] = (int32_t)adl_rng_below(&rng, (uint32_t)buffers.action_count[i]);
        }
        die_on(adlro_step(env, actions, &buffers, error), error);
        steps += CELLS;
    }
    const double spent_s = seconds_since(start_ns);
    adl_buffers_clear(&buffers);
    adlro_destroy(env);
    return (struct walk){(double)steps / spent_s, (double)offered / (double)steps};
}

/* ---- rounds ---- */

/* The best round, as the machine has other work, and the mean of all. Rounds without validation. */
struct rounds {
    double episode_s;          /* wall time for each episode of the best round */
    double episode_mean_s;     /* for each episode of all rounds */
    double decisions, updates; /* of all rounds, for each episode */
};

static struct adl_dqn_trainer *make_trainer(const struct adl_scenario *scenario, uint32_t passes)
{
    struct adl_error err = {{0}};
    struct adl_dqn_trainer *trainer = NULL;
    struct adl_dqn_config config = adl_dqn_defaults(ADL_QNET_SHARED);
    config.scenario = scenario;
    config.episodes = UINT64_C(1) << 40; /* schedules stand at their starts */
    config.threads = THREADS;
    config.passes = passes;
    config.sweeps = SWEEPS;
    config.validate_rounds = UINT32_MAX;
    die_on(adl_dqn_trainer_create(&config, &trainer, &err), err.text);
    struct adl_result warm_start;
    die_on(adl_dqn_trainer_prepare(trainer, &warm_start, &err), err.text);
    return trainer;
}

static struct rounds time_rounds(struct adl_dqn_trainer *trainer)
{
    struct adl_error err = {{0}};
    struct adl_dqn_report report;
    struct rounds sum = {.episode_s = 1e9};
    const double episodes = (double)SWEEPS * ADL_SWEEP_EPISODES;          /* of a round */
    die_on(adl_dqn_trainer_round(trainer, &report, &err) <= 0, err.text); /* warms up */
    const struct adl_dqn_report first = report;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t start_ns = adl_clock_ns();
        die_on(adl_dqn_trainer_round(trainer, &report, &err) <= 0, err.text);
        const double episode_s = seconds_since(start_ns) / episodes;
        sum.episode_s = episode_s < sum.episode_s ? episode_s : sum.episode_s;
        sum.episode_mean_s += episode_s / ROUNDS;
    }
    sum.decisions = (double)(report.decisions - first.decisions) / ROUNDS / episodes;
    sum.updates = (double)(report.updates - first.updates) / ROUNDS / episodes;
    return sum;
}

/* Of learning from one decision: forward and backward, all actions that were offered. */
static double learning_flops(const struct adl_dqn_trainer *trainer, int gpus, double actions)
{
    struct adl_error err = {{0}};
    struct adl_text bytes = {0};
    struct adl_model model;
    struct adl_qnet net;
    die_on(adl_dqn_trainer_model(trainer, &bytes, &err), err.text);
    die_on(adl_model_decode(bytes.data, bytes.size, 0, &model, &err), err.text);
    die_on(adl_qnet_make(&model.shape, adl_kernels_choose(true), &net, &err), err.text);
    adl_model_clear(&model);
    adl_text_clear(&bytes);
    return 3 * forward_flops(&net, 100, 100 * gpus, (int)(100 * actions)) / 100;
}

int main(void)
{
    struct adl_scenario scenario = {0};
    struct adl_error err = {{0}};
    const struct walk walk = walk_at_random();
    die_on(adl_scenario_load(SCENARIO, &scenario, NULL, &err), err.text);
    scenario.workload.jobs = JOBS;
    const struct adl_dqn_config defaults = adl_dqn_defaults(ADL_QNET_SHARED);
    struct adl_dqn_trainer *once = make_trainer(&scenario, 1), *often = make_trainer(&scenario, 1 + PASSES),
                           *usual = make_trainer(&scenario, defaults.passes);
    const struct rounds one = time_rounds(once), many = time_rounds(often), real = time_rounds(usual);
    const double peak = peak_gflops() * THREADS,
                 flops = learning_flops(usual, (int)scenario.cluster.gpu_count, walk.actions);
    /* Learning is from one decision of each group. */
    const double each_s = (many.episode_s - one.episode_s) / PASSES, learn_s = each_s * ADL_ROLLOUT_CELLS;
    const double play_s = (one.episode_s - each_s) / one.decisions;
    const double batch = defaults.passes / (real.updates * ADL_ROLLOUT_CELLS);
    printf("paper16, %d jobs an episode, %.0f decisions each, %.1f actions to choose from at random\n\n", JOBS,
           real.decisions, walk.actions);
    printf("environment alone, one thread      %9.0f steps/s\n", walk.steps_per_s);
    printf("playing by the network, %d threads  %9.0f decisions/s\n", THREADS, 1 / play_s);
    printf("learning, %d threads                %9.0f samples/s   %.0f updates/s of %.0f samples\n", THREADS,
           1 / learn_s, 1 / learn_s / batch, batch);
    if (peak > 0)
        printf("                                   %9.1f GFLOP/s     %.0f %% of the %.0f that %d cores can do\n",
               flops / learn_s * 1e-9, flops / learn_s * 1e-9 / peak * 100, peak, THREADS);
    const double hours = 1e6 * real.episode_s / 3600, hours_mean = 1e6 * real.episode_mean_s / 3600;
    const bool met = hours_mean <= HOURS_MAX;
    printf("training, %u passes                 %9.1f episodes/s  (%.1f in the mean of %d rounds)\n\n", defaults.passes,
           1 / real.episode_s, 1 / real.episode_mean_s, ROUNDS);
    printf("a million such episodes: %.2f hours with %d threads, %.2f at the best round's rate (bar %.0f: %s)\n",
           hours_mean, THREADS, hours, HOURS_MAX, met ? "met" : "MISSED");
    adl_dqn_trainer_destroy(once);
    adl_dqn_trainer_destroy(often);
    adl_dqn_trainer_destroy(usual);
    adl_scenario_clear(&scenario);
    return !met;
}
