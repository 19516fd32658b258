/* train_adlro: trains the network of policy adlro on shipped and random scenarios. */
#include "cli/train/training.h"

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "experiment/arena_setup.h"
#include "experiment/run.h"
#include "report/figure.h"
#include "rl/practice.h"
#include "rl/rank_trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_JOBS_MAX 400
#define ARENA_TRAINING  500000 /* of the range of seeds that the arena calls training */
#define RANDOM_WEIGHT   1.5    /* of all random scenarios together, relative to the others */

struct pool {
    struct adl_arena_setup setups[ADL_ARENA_ENTRIES_MAX];
    uint32_t setup_count;
    struct adl_scenario *random;
    uint32_t random_count;
    struct adl_rank_workload workloads[ADL_ARENA_ENTRIES_MAX + ADL_PRACTICE_MAX];
    uint32_t count;
};

static void clear_pool(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->setup_count; i++)
        adl_arena_setup_clear(&pool->setups[i]);
    adl_practice_destroy(pool->random, pool->random_count);
    free(pool);
}

/* Large ones would take most of the time, and one needs measurements. */
static bool is_played(const struct adl_arena_entry *entry)
{
    static const char *const left_out[] = {"wear64", "campus512", "gavel108"};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (strcmp(entry->name, left_out[i]) == 0)
            return false;
    return entry->group == ADL_ARENA_FROZEN || entry->group == ADL_ARENA_SHIFT;
}

static int fill_pool(struct pool *pool, uint64_t seed, uint32_t random, struct adl_error *err)
{
    struct adl_arena_entry entries[ADL_ARENA_ENTRIES_MAX];
    struct adl_arena_workload described;
    const struct adl_arena_request request = {.first_seed = ARENA_TRAINING, .seeds_name = "training"};
    const uint32_t count = adl_arena_suite(false, entries);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_played(&entries[i]))
            continue;
        struct adl_arena_setup *setup = &pool->setups[pool->setup_count];
        const int status = adl_arena_setup(&request, &entries[i], setup, &described, err);
        if (status)
            return status;
        pool->setup_count++;
        pool->workloads[pool->count++] = (struct adl_rank_workload){&setup->scenario, 1};
    }
    const int status = adl_practice_create(seed * ADL_PRACTICE_MAX, random, RANDOM_JOBS_MAX, &pool->random, err);
    if (status)
        return status;
    pool->random_count = random;
    for (uint32_t i = 0; i < random; i++)
        pool->workloads[pool->count++] =
            (struct adl_rank_workload){&pool->random[i], RANDOM_WEIGHT * pool->setup_count / random};
    return 0;
}

static int save(const char *path, const struct adl_rank_network *network, struct adl_error *err)
{
    struct adl_text bytes = {0};
    adl_rank_network_encode(network, &bytes);
    const int status = adl_output_write(path, &bytes, err);
    adl_text_clear(&bytes);
    return status;
}

static int check(struct adl_rank_trainer *trainer, const char *out, int64_t start_ns, uint32_t rounds,
                 struct adl_error *err)
{
    double change;
    bool best;
    char left[ADL_FIGURE_SIZE];
    int status = adl_rank_trainer_check(trainer, &change, &best, err);
    if (status == 0 && best)
        status = save(out, adl_rank_trainer_best(trainer), err);
    if (status)
        return status;
    const uint32_t done = adl_rank_trainer_rounds(trainer);
    const double spent_s = (double)(adl_clock_ns() - start_ns) * 1e-9;
    fprintf(stderr, "%u of %u rounds, %" PRIu64 " runs: held-out cost %+.2f %% of the rule's%s", done, rounds,
            adl_rank_trainer_runs(trainer), 100 * (exp(change) - 1), best ? ", the best so far" : "");
    if (done > 0 && done < rounds)
        fprintf(stderr, ", %s left", adl_figure_print_duration(left, 1 + spent_s * (rounds - done) / done));
    fputc('\n', stderr);
    return 0;
}

static int train(struct adl_rank_trainer *trainer, const struct adl_rank_config *config, const char *out,
                 bool *ret_interrupted, struct adl_error *err)
{
    const int64_t start_ns = adl_clock_ns();
    int status = 0;
    adl_interrupt_install();
    while (status == 0 && adl_rank_trainer_rounds(trainer) < config->rounds && !adl_interrupt_received()) {
        status = adl_rank_trainer_round(trainer, err);
        const uint32_t done = adl_rank_trainer_rounds(trainer);
        if (status == 0 && (done % config->check_each == 0 || done == config->rounds || adl_interrupt_received()))
            status = check(trainer, out, start_ns, config->rounds, err);
    }
    *ret_interrupted = adl_interrupt_received();
    return status;
}

int adl_train_adlro(const struct adl_rank_config *config, uint32_t random, const char *out, bool *ret_interrupted,
                    struct adl_error *err)
{
    struct adl_rank_config own = *config;
    struct adl_rank_trainer *trainer = NULL;
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return adl_fail(err, ADL_ENOMEM, "out of memory for scenarios");
    int status = fill_pool(pool, config->seed, random, err);
    own.workloads = pool->workloads;
    own.workload_count = pool->count;
    if (status == 0)
        status = adl_rank_trainer_create(&own, &trainer, err);
    if (status == 0)
        status = train(trainer, &own, out, ret_interrupted, err);
    adl_rank_trainer_destroy(trainer);
    clear_pool(pool);
    return status;
}
