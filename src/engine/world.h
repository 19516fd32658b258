/* world: the source of events and the target of commands: a simulator, a recording, this machine, a Slurm cluster. */
#ifndef ADLRO_ENGINE_WORLD_H
#define ADLRO_ENGINE_WORLD_H

#include "base/error.h"
#include "model/event.h"
#include "model/plan.h"

struct adl_world_ops {
    const char *name;

    /* 1 and the next event, in order of time; 0 if there are no more; negative on failure. */
    int (*next_event)(void *world, struct adl_event *ret, struct adl_error *err);

    /* Executes a validated command at the time of the last event. gpus: those of a START or CAP. 0, or negative if the
     * world refuses. */
    int (*submit)(void *world, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err);

    /* Optional: the decision of this instant is complete; hash is over its commands. */
    int (*decided)(void *world, uint64_t hash, struct adl_error *err);

    /* Optional: live jobs whose events are likely to come next, the nearest first; at most `most` of them. A hint, so
     * that they can be fetched from memory in time: nothing else may depend on it. Returns how many. */
    uint32_t (*upcoming)(const void *world, uint32_t *ret_jobs, uint32_t most);
};

#endif
