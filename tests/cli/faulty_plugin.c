/* faulty_plugin: policy plugins that are wrong in one way each, by the macro that is defined. */
#include <adlro/policy.h>

#include <stdlib.h>

#ifdef FAULT_VERSION
#define ABI (ADLRO_POLICY_ABI + 1)
#else
#define ABI ADLRO_POLICY_ABI
#endif

#ifdef FAULT_SIZE
#define SIZE 24
#else
#define SIZE sizeof(struct adlro_policy)
#endif

#ifdef FAULT_SYMBOL
#define adlro_policy_plugin some_other_name
#endif

#ifdef FAULT_NAME
#define NAME "easy"
#else
#define NAME "restless"
#endif

struct options {
    int64_t number;
};

static const struct adlro_policy_option table[] = {
    {.name = "number",
     .type = ADLRO_POLICY_INTEGER,
     .offset = offsetof(struct options, number),
#ifdef FAULT_OPTION
     .value = "11",
#else
     .value = "10",
#endif
     .least = 1,
     .most = 10,
     .help = "from 1 to 10"},
};

static void *create(const void *options, uint64_t seed)
{
    (void)options, (void)seed;
    return malloc(1);
}

/* Starts whatever fits, and now and then stops all that may be stopped; handles that do not exist are refused. */
static int decide(void *policy, const struct adlro_policy_view *view)
{
    (void)policy;
    struct adlro_policy_job job = {.size = sizeof job};
    if (view->start(view, UINT32_MAX, UINT32_MAX) || view->stop(view, UINT32_MAX) ||
        view->predicted_us(view, UINT32_MAX, 0) != -1 || view->waiting(view, view->waiting_count, &job) != -1)
        return -1;
    for (uint32_t i = 0; i < view->waiting_count; i++)
        if (view->waiting(view, i, &job) == 0 && view->start(view, job.handle, job.types))
            return view->start(view, job.handle, job.types) ? -1 : 0; /* one start a call */
    for (uint32_t i = 0; i < view->running_count; i++) {
        struct adlro_policy_type type = {.size = sizeof type};
        if (view->running(view, i, &job) || view->type(view, job.type, &type) || type.gpus == 0)
            return -1;
        if (view->waiting_count > 0 && job.running_us > 20000000 && !job.stopping)
            view->stop(view, job.handle);
    }
    view->wake(view, view->now_us + 5000000);
    return 0;
}

extern const struct adlro_policy adlro_policy_plugin;
const struct adlro_policy adlro_policy_plugin = {
    .abi = ABI,
    .size = SIZE,
    .name = NAME,
    .summary = "starts what fits, and stops what has run for 20 s while others wait",
    .options = table,
    .option_count = 1,
    .option_size = sizeof *table,
    .options_size = sizeof(struct options),
    .create = create,
    .destroy = free,
    .decide = decide,
};
