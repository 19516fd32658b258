/* random_agent: plays a scenario with random actions, in eight environments at a time, and prints the mean JCT.
 *
 *     cc random_agent.c $(pkg-config --cflags --libs adlro) -o random_agent
 *     ./random_agent paper16 20
 *
 * To try an agent of your own, replace choose(). */
#include <adlro/adlro.h>

#include <stdio.h>
#include <stdlib.h>

#define ENVIRONMENTS 8

static _Noreturn void stop(const char *why)
{
    fprintf(stderr, "random_agent: %s\n", why);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        stop("out of memory");
    return memory;
}

/* The environments write their observations into these buffers, which belong to the agent. */
static struct adlro_buffers make_buffers(const struct adlro_shape *s)
{
    const size_t n = s->count;
    return (struct adlro_buffers){
        .size = sizeof(struct adlro_buffers),
        .gpus = allocate(n * s->gpus * s->gpu_features, sizeof(float)),
        .state = allocate(n * s->state_features, sizeof(float)),
        .actions = allocate(n * s->actions * s->action_features, sizeof(float)),
        .mask = allocate(n * s->actions, sizeof(uint8_t)),
        .action_count = allocate(n, sizeof(int32_t)),
        .member_offset = allocate(n * (s->actions + 1), sizeof(int32_t)),
        .members = allocate(n * s->members, sizeof(int32_t)),
        .reward = allocate(n, sizeof(double)),
        .elapsed_s = allocate(n, sizeof(double)),
        .done = allocate(n, sizeof(uint8_t)),
    };
}

static void free_buffers(struct adlro_buffers *b)
{
    free(b->gpus);
    free(b->state);
    free(b->actions);
    free(b->mask);
    free(b->action_count);
    free(b->member_offset);
    free(b->members);
    free(b->reward);
    free(b->elapsed_s);
    free(b->done);
}

/* Marsaglia's xorshift: the agent has its own random numbers, so that a run repeats. */
static uint32_t draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 32);
}

/* The agent. A better one would look at environment i's rows of b->gpus, b->state and b->actions. */
static int32_t choose(const struct adlro_buffers *b, uint32_t i, uint64_t *random)
{
    return (int32_t)(draw(random) % (uint32_t)b->action_count[i]);
}

/* Plays one episode in each of the first `count` environments and returns the sum of their mean completion times. */
static double play(struct adlro_environment *env, struct adlro_buffers *b, uint32_t count, uint64_t seed,
                   uint64_t *random)
{
    char error[ADLRO_ERROR_SIZE];
    int32_t actions[ENVIRONMENTS] = {0};
    uint32_t playing = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (adlro_reset(env, i, seed + i, b, error))
            stop(error);
        playing += !b->done[i];
    }
    while (playing > 0) {
        for (uint32_t i = 0; i < count; i++)
            if (!b->done[i])
                actions[i] = choose(b, i, random);
        if (adlro_step(env, actions, b, error)) /* skips those that are done */
            stop(error);
        playing = 0;
        for (uint32_t i = 0; i < count; i++)
            playing += !b->done[i]; /* b->reward[i] is what a learner would learn from */
    }
    double jct_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct adlro_result result;
        adlro_result(env, i, &result, sizeof result);
        jct_s += result.jct_mean_s;
    }
    return jct_s;
}

int main(int argc, char **argv)
{
    const uint32_t episodes = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if (episodes == 0)
        stop("usage: random_agent SCENARIO EPISODES");

    const struct adlro_config config = {.size = sizeof config, .scenario = argv[1], .count = ENVIRONMENTS};
    struct adlro_environment *env;
    struct adlro_shape shape;
    char error[ADLRO_ERROR_SIZE];
    if (adlro_create(&config, &env, error))
        stop(error);
    adlro_shape(env, &shape, sizeof shape);
    struct adlro_buffers buffers = make_buffers(&shape);

    uint64_t random = 1;
    double jct_s = 0;
    for (uint32_t played = 0; played < episodes; played += ENVIRONMENTS) {
        const uint32_t left = episodes - played;
        jct_s += play(env, &buffers, left < ENVIRONMENTS ? left : ENVIRONMENTS, 1 + played, &random);
    }
    printf("%u episodes: mean JCT %.1f s\n", episodes, jct_s / episodes);

    free_buffers(&buffers);
    adlro_destroy(env);
    return 0;
}
