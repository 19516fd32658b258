/* bench_nn: how fast the Q-networks are on one core: states a second forward, samples a second in training, and what
 * part of the processor's arithmetic that is, its ceiling measured in the same run by a loop that only multiplies and
 * adds in registers. Prints a table; a bar that is missed is marked and makes it exit 1. */
#include "base/rng.h"
#include "ceiling.h"
#include "experiment/run.h"
#include "nn/adam.h"
#include "nn/qnet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The machine has other work: what counts is the best of many pieces, each just long enough to time. */
#define PIECE_S 0.002
#define PIECES  200

static int missed;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

static void *must_have(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "bench_nn: out of memory\n");
    exit(1);
}

static void die_on(int status, const struct adl_error *err)
{
    if (status == 0)
        return;
    fprintf(stderr, "bench_nn: %s\n", err->text);
    exit(1);
}

/* ---- a network at work ---- */

struct work {
    struct adl_qnet net;
    struct adl_qnet_workspace *workspace;
    struct adl_adam *adam;
    struct adl_qnet_batch batch;
    int actions; /* in all */
    int *gpu_offset, *action_offset, *member_offset, *members;
    float *gpus, *state, *features, *params, *grads, *q, *dq, *target;
    double flops; /* multiplications and additions of one forward pass; padding does not count */
};

static float *numbers(struct adl_rng *rng, size_t count)
{
    float *x = must_have(calloc(count + 1, sizeof *x));
    for (size_t i = 0; i < count; i++)
        x[i] = (float)adl_rng_uniform(rng);
    return x;
}

static int *steps(int count, int step)
{
    int *x = must_have(calloc((size_t)count + 1, sizeof *x));
    for (int i = 0; i <= count; i++)
        x[i] = i * step;
    return x;
}

/* states of `gpus` GPUs and `actions` actions each, the first to wait and the others of one member. */
static void work_make(const struct adl_qnet_shape *shape, bool fast, int states, int gpus, int actions,
                      struct work *ret)
{
    struct adl_error err = {{0}};
    struct adl_rng rng;
    struct work w = {.actions = states * actions};
    const struct adl_qnet_limits limits = {states, states * gpus, states * actions};
    adl_rng_seed(&rng, 1, "bench");
    die_on(adl_qnet_make(shape, adl_kernels_choose(fast), &w.net, &err), &err);
    die_on(adl_qnet_workspace_create(&w.net, &limits, &w.workspace, &err), &err);
    die_on(adl_adam_create(&(struct adl_adam_config){.norm_max = 10}, w.net.parameter_count, &w.adam, &err), &err);
    w.params = numbers(&rng, w.net.parameter_count);
    adl_qnet_init(&w.net, &rng, w.params);
    w.grads = must_have(calloc(w.net.parameter_count, sizeof(float)));
    w.gpu_offset = steps(states, gpus);
    w.action_offset = steps(states, actions);
    w.member_offset = must_have(calloc((size_t)w.actions + 1, sizeof(int)));
    w.members = must_have(calloc((size_t)w.actions + 1, sizeof(int)));
    for (int a = 0; a < w.actions; a++) {
        w.member_offset[a + 1] = w.member_offset[a] + (actions == 1 || a % actions > 0);
        w.members[a] = (int)adl_rng_below(&rng, (uint32_t)gpus);
    }
    w.gpus = numbers(&rng, (size_t)states * (size_t)gpus * (size_t)shape->gpu_features);
    w.state = numbers(&rng, (size_t)states * (size_t)shape->state_features);
    w.features = numbers(&rng, (size_t)w.actions * (size_t)shape->action_features);
    w.q = numbers(&rng, (size_t)w.actions);
    w.dq = numbers(&rng, (size_t)w.actions);
    w.target = numbers(&rng, (size_t)w.actions);
    w.batch = (struct adl_qnet_batch){states,          w.gpu_offset, w.gpus,          w.state,
                                      w.action_offset, w.features,   w.member_offset, w.members};
    w.flops = forward_flops(&w.net, states, states * gpus, w.actions);
    *ret = w;
}

static void work_clear(struct work *w)
{
    adl_qnet_workspace_destroy(w->workspace);
    adl_adam_destroy(w->adam);
    free(w->gpu_offset), free(w->action_offset), free(w->member_offset), free(w->members);
    free(w->gpus), free(w->state), free(w->features), free(w->params), free(w->grads);
    free(w->q), free(w->dq), free(w->target);
}

static void forward(struct work *w)
{
    adl_qnet_forward(&w->net, w->params, &w->batch, w->workspace, w->q);
}

/* All of a step: forward, loss, backward, Adam. A lesson holds all actions that were offered, though only the one taken
 * has a target: ten are usual. */
static void train(struct work *w)
{
    forward(w);
    memset(w->grads, 0, w->net.parameter_count * sizeof *w->grads);
    adl_huber(w->actions, w->q, w->target, NULL, 1, w->dq);
    adl_qnet_backward(&w->net, w->params, &w->batch, w->workspace, w->dq, w->grads);
    adl_adam_step(w->adam, w->net.kernels, 1e-4, w->grads, w->params);
}

static double best_seconds(struct work *w, void (*run)(struct work *))
{
    double best = 1e9;
    int repeat = 1;
    for (int round = 0; round < PIECES; round++) {
        const int64_t start_ns = adl_clock_ns();
        for (int i = 0; i < repeat; i++)
            run(w);
        const double spent_s = (double)(adl_clock_ns() - start_ns) * 1e-9;
        best = spent_s / repeat < best ? spent_s / repeat : best;
        if (spent_s < PIECE_S) /* too short to time: more of it, from the start */
            repeat *= 2, round = -1;
    }
    return best;
}

static const struct adl_qnet_shape paper = {ADL_QNET_PAPER, 1, 5, 0, 32, 128, 16};
static const struct adl_qnet_shape shared = {ADL_QNET_SHARED, 12, 8, 24, 16, 64, 0};

struct line {
    const char *what;
    const struct adl_qnet_shape *shape;
    bool fast, training;
    int states, gpus, actions;
    double share_min; /* of the ceiling; 0 = no bar */
    double us_max;    /* for a state; 0 = no bar */
};

static const struct line lines[] = {
    {"paper, forward, batch 64", &paper, true, false, 64, 16, 17, 0.75, 0},
    {"paper, forward, one state", &paper, true, false, 1, 16, 17, 0, 0},
    {"paper, training, batch 64", &paper, true, true, 64, 16, 10, 0.65, 0},
    {"paper, training, batch 256", &paper, true, true, 256, 16, 10, 0.65, 0},
    {"paper, training, batch 64", &paper, false, true, 64, 16, 10, 0, 0},
    {"shared, forward, batch 64, 30 actions", &shared, true, false, 64, 16, 30, 0.7, 0},
    {"shared, forward, one state, 30 actions", &shared, true, false, 1, 16, 30, 0, 0},
    {"shared, forward, one state, 30 actions", &shared, false, false, 1, 16, 30, 0, 0},
    {"shared, training, batch 64, 10 actions", &shared, true, true, 64, 16, 10, 0.65, 0},
    {"shared, training, batch 64, 10 actions", &shared, false, true, 64, 16, 10, 0, 0},
    {"shared, 10,000 GPUs, 64 actions", &shared, true, false, 1, 10000, 64, 0, 1000},
    {"shared, 10,000 GPUs, 64 actions", &shared, false, false, 1, 10000, 64, 0, 0},
};
#define LINE_COUNT (sizeof lines / sizeof *lines)

static void print_line(const struct line *line, double seconds, double flops, double peak)
{
    const double gflops = flops * (line->training ? 3 : 1) / seconds * 1e-9, us = seconds * 1e6 / line->states;
    printf("%-39s %-11s %8.0f %9.2f %8.1f", line->what, adl_kernels_choose(line->fast)->name, 1e6 / us, us, gflops);
    if (peak > 0)
        printf(" %5.0f %%", gflops / peak * 100);
    if (peak > 0 && line->share_min > 0)
        printf("   at least %.0f %%: %s", line->share_min * 100, verdict(gflops / peak >= line->share_min));
    if (peak > 0 && line->us_max > 0)
        printf("   at most %.0f us: %s", line->us_max, verdict(us <= line->us_max));
    putchar('\n');
}

int main(void)
{
    double seconds[LINE_COUNT], flops[LINE_COUNT], peak = 0;
    for (size_t i = 0; i < LINE_COUNT; i++) {
        struct work w;
        const double here = peak_gflops(); /* between the lines, so that it saw the machine as they did */
        peak = here > peak ? here : peak;
        work_make(lines[i].shape, lines[i].fast, lines[i].states, lines[i].gpus, lines[i].actions, &w);
        seconds[i] = best_seconds(&w, lines[i].training ? train : forward);
        flops[i] = w.flops;
        work_clear(&w);
    }
    if (peak > 0)
        printf("ceiling of one core: %.1f GFLOP/s\n\n", peak);
    printf("%-39s %-11s %8s %9s %8s %7s\n", "one core, 16 GPUs", "build", "states/s", "us/state", "GFLOP/s", "share");
    for (size_t i = 0; i < LINE_COUNT; i++)
        print_line(&lines[i], seconds[i], flops[i], peak);
    return missed > 0;
}
