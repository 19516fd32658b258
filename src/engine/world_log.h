/* world_log: the recorded world: replays the events of an earlier run and compares each decision with the recorded one.
 */
#ifndef ADLRO_ENGINE_WORLD_LOG_H
#define ADLRO_ENGINE_WORLD_LOG_H

#include "engine/world.h"

/* Where records come from; the core does not read files. */
struct adl_log_source {
    void *self;
    /* 1: an event (its pointers are valid until the next call); 2: a decision; 0: the end; negative. */
    int (*next)(void *self, struct adl_event *ret_event, struct adl_recorded *ret_decision, struct adl_error *err);
};

struct adl_world_log {
    struct adl_log_source source;
    int64_t now_us;
    uint64_t decisions; /* that agreed */
    uint64_t reasoned;  /* of these, with reasons recorded ... */
    uint64_t differ;    /* ... and different reasons now */
    uint64_t reasons;   /* of this instant */
};

/* The world is a struct adl_world_log with its source set. A decision that differs from the recorded one ends the run.
 */
extern const struct adl_world_ops adl_world_log_ops;

#endif
