#include "environment_rate.h"

#include "base/rng.h"
#include "rl/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 3 /* the best of so many, as the machine has other work */

/* Each environment takes at least so many decisions in a round, some episodes: side by side all begin at once, and a
 * decision costs most where many jobs wait. */
#define DECISIONS_EACH 2000

static void die_on(int status, const char *text)
{
    if (status == 0)
        return;
    fprintf(stderr, "bench: %s\n", text);
    exit(1);
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Episodes that have ended are followed by others. */
static double play(struct adlro_environment *env, struct adlro_buffers *buffers, uint32_t count, uint64_t decisions,
                   struct adl_rng *rng, uint64_t *seed)
{
    char error[ADLRO_ERROR_SIZE] = "";
    int32_t *actions = calloc((size_t)count + 1, sizeof *actions);
    die_on(!actions, "out of memory");
    const double start_s = processor_s();
    uint64_t taken = 0;
    for (; taken < decisions; taken += count) {
        for (uint32_t i = 0; i < count; i++) {
            if (buffers->done[i])
                die_on(adlro_reset(env, i, (*seed)++, buffers, error), error);
            actions[i] = (int32_t)adl_rng_below(rng, (uint32_t)buffers->action_count[i]);
        }
        die_on(adlro_step(env, actions, buffers, error), error);
    }
    const double spent_s = processor_s() - start_s;
    free(actions);
    return (double)taken / spent_s;
}

double environment_rate(const char *scenario, int observation, uint32_t count, uint64_t decisions)
{
    const struct adlro_config config = {.scenario = scenario, .observation = observation, .count = count};
    char error[ADLRO_ERROR_SIZE] = "out of memory";
    struct adlro_environment *env = NULL;
    struct adlro_shape shape;
    struct adlro_buffers buffers;
    struct adl_rng rng;
    uint64_t seed = 1;
    double best = 0;
    decisions = decisions > (uint64_t)count * DECISIONS_EACH ? decisions : (uint64_t)count * DECISIONS_EACH;
    die_on(adlro_create(&config, &env, error), error);
    adlro_shape(env, &shape, sizeof shape);
    die_on(adl_buffers_create(&shape, &buffers), error);
    adl_rng_seed(&rng, 1, "bench");
    for (uint32_t i = 0; i < count; i++)
        die_on(adlro_reset(env, i, seed++, &buffers, error), error);
    for (int round = 0; round < ROUNDS; round++) {
        const double rate = play(env, &buffers, count, decisions, &rng, &seed);
        best = rate > best ? rate : best;
    }
    adl_buffers_clear(&buffers);
    adlro_destroy(env);
    return best;
}
