/* reported: the speeds that the jobs of a recorded run reported, with who shared their GPUs. */
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

/* Plays the recording back, which checks its decisions, and executor over each speed in order. Speeds under a power cap
 * are left out. */
int adl_reported_read(const char *path, void (*take)(void *self, const struct adl_reported *), void *self,
                      struct adl_error *err);

#endif
