/* reported: the speeds that the jobs of a recorded run reported, with the jobs that shared their GPUs. */
#ifndef ADLRO_CLI_REPORTED_H
#define ADLRO_CLI_REPORTED_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_reported {
    const char *type;   /* of its GPUs */
    const char *class;  /* of the job */
    const char *beside; /* class of the job on the same GPU, or NULL */
    uint16_t gpus;
    bool spans; /* its GPUs are on several nodes */
    double steps_per_s;
};

/* Replays the recording, which checks its decisions, and calls take with each speed in order. Leaves out speeds under a
 * power cap. */
int adl_reported_read(const char *path, void (*take)(void *self, const struct adl_reported *), void *self,
                      struct adl_error *err);

#endif
