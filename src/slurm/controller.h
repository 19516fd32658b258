/* controller: slurmctld: whether it answers, without the 9 s that the library takes to find that it does not. */
#ifndef ADLRO_SLURM_CONTROLLER_H
#define ADLRO_SLURM_CONTROLLER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_slurm_controller {
    char hosts[2][256]; /* of the first two controllers, once known */
    uint32_t host_count;
    uint16_t port;
    char version[32];
    char cluster[64];
    const char *meter; /* what nodes' energy meters measure (slurm/meter.h); NULL: there are none */
    uint32_t meter_s;  /* how often slurmctld reads them; 0: never */
};

/* Loads what slurmctld says of itself. ADL_EIO if it does not answer, after up to 9 s. */
int adl_slurm_controller_load(struct adl_slurm_controller *controller, struct adl_error *err);
/* False if nothing listens at its last known addresses; true if something does, or none are known. */
bool adl_slurm_controller_ping(const struct adl_slurm_controller *controller);

#endif
