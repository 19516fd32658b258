/* policy_plugin: a scheduling policy as a plugin of adlro: the smallest job first, but not for ever.
 *
 * Jobs with fewer GPUs go before larger ones, older before younger. A job that has waited longer than `patience_s` goes
 * before all others, and nothing starts before it: without that, large jobs would starve.
 *
 *     cc -shared -fPIC -o smallest_first.so policy_plugin.c $(pkg-config --cflags adlro)
 *     adlro compare paper16 --policy-plugin ./smallest_first.so --policies smallest-first,fcfs */
#include <adlro/policy.h>

#include <stdlib.h>

struct options {
    double patience_s;
};

static const struct adlro_policy_option table[] = {
    {.name = "patience_s",
     .type = ADLRO_POLICY_REAL,
     .offset = offsetof(struct options, patience_s),
     .value = "3600",
     .least = 0,
     .most = 1e9,
     .help = "a job that has waited this long goes before all others"},
};

struct smallest_first {
    const struct options *options;
};

static void *create(const void *options, uint64_t seed)
{
    (void)seed;
    struct smallest_first *self = malloc(sizeof *self);
    if (self)
        self->options = options;
    return self;
}

static struct adlro_policy_job job_at(const struct adlro_policy_view *view, uint32_t index)
{
    struct adlro_policy_job job = {.size = sizeof job};
    view->waiting(view, index, &job);
    return job;
}

/* The first job with so many GPUs that fits. */
static int start_one(const struct adlro_policy_view *view, uint32_t gpus)
{
    for (uint32_t i = 0; i < view->waiting_count; i++) {
        const struct adlro_policy_job job = job_at(view, i);
        if (job.gpus == gpus && view->start(view, job.handle, job.types))
            return 1;
    }
    return 0;
}

/* The next larger number of GPUs that a waiting job asks for; 0 if there is none. */
static uint32_t next_size(const struct adlro_policy_view *view, uint32_t above)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < view->waiting_count; i++) {
        const struct adlro_policy_job job = job_at(view, i);
        if (job.gpus > above && (least == 0 || job.gpus < least))
            least = job.gpus;
    }
    return least;
}

static int decide(void *policy, const struct adlro_policy_view *view)
{
    const struct smallest_first *self = policy;
    for (uint32_t i = 0; i < view->waiting_count; i++) {
        const struct adlro_policy_job job = job_at(view, i);
        if ((double)job.waited_us >= self->options->patience_s * 1e6) {
            view->start(view, job.handle, job.types);
            return 0;
        }
    }
    for (uint32_t gpus = next_size(view, 0); gpus > 0; gpus = next_size(view, gpus))
        if (start_one(view, gpus))
            return 0;
    return 0;
}

extern const struct adlro_policy adlro_policy_plugin;
const struct adlro_policy adlro_policy_plugin = {
    .abi = ADLRO_POLICY_ABI,
    .size = sizeof(struct adlro_policy),
    .name = "smallest-first",
    .summary = "fewest GPUs first, oldest among equals; a job that has waited long goes before all others",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .option_size = sizeof *table,
    .options_size = sizeof(struct options),
    .create = create,
    .destroy = free,
    .decide = decide,
};
