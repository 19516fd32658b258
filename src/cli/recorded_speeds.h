/* recorded_speeds: the speeds that the jobs of a recorded run reported, with the jobs that shared their GPUs. */
#ifndef ADLRO_CLI_RECORDED_SPEEDS_H
#define ADLRO_CLI_RECORDED_SPEEDS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_recorded_speed {
    const char *type;   /* of its GPUs */
    const char *class;  /* of the job */
    const char *beside; /* class of the job on the same GPU, or NULL */
    uint16_t gpus;
    bool spans; /* its GPUs are on several nodes */
    double steps_per_s;
};

/* Replays the recording, which checks its decisions, and calls take with each speed in order. Leaves out speeds under a
 * power cap. */
int adl_recorded_speeds_read(const char *path, void (*take)(void *self, const struct adl_recorded_speed *), void *self,
                             struct adl_error *err);

#endif
