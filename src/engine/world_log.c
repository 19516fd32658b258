#include "engine/world_log.h"

static int next_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    struct adl_world_log *world = self;
    struct adl_recorded decision;
    const int status = world->source.next(world->source.self, ret, &decision, err);
    if (status == 2)
        return adl_fail(err, ADL_EINVAL, "the recording has a decision at %lld us where an event was expected",
                        (long long)world->now_us);
    if (status == 1)
        world->now_us = ret->time_us;
    return status;
}

/* The effect of the command is in the recording already. */
static int submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    struct adl_world_log *world = self;
    (void)gpus, (void)err;
    world->reasons = adl_command_hash_reason(world->reasons, command);
    return 0;
}

static int decided(void *self, uint64_t hash, struct adl_error *err)
{
    struct adl_world_log *world = self;
    struct adl_event event;
    struct adl_recorded recorded = {0};
    const int status = world->source.next(world->source.self, &event, &recorded, err);
    if (status < 0)
        return status;
    if (status != 2)
        return adl_fail(err, ADL_EINVAL, "the recording lacks the decision at %lld us", (long long)world->now_us);
    if (recorded.hash != hash)
        return adl_fail(err, ADL_EREFUSED, "the decision at %lld us differs: recorded %016llx, now %016llx",
                        (long long)world->now_us, (unsigned long long)recorded.hash, (unsigned long long)hash);
    world->decisions++;
    world->reasoned += recorded.reasoned;
    world->differ += recorded.reasoned && recorded.reasons != world->reasons;
    world->reasons = 0;
    return 0;
}

const struct adl_world_ops adl_world_log_ops = {
    .name = "log", .next_event = next_event, .submit = submit, .decided = decided};
