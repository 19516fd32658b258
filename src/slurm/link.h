/* link: whether slurmctld answers, found out without the 9 s that the library takes to say that it does not. */
#ifndef ADLRO_SLURM_LINK_H
#define ADLRO_SLURM_LINK_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_slurm_link {
    char hosts[2][256]; /* the first two controllers, once known */
    uint32_t host_count;
    uint16_t port;
    char version[32];
    char cluster[64];
    const char *meter; /* what nodes' energy meters measure (slurm/meter.h); NULL: there are none */
    uint32_t meter_s;  /* how often slurmctld reads them; 0: never */
};

/* Asks slurmctld who it is. ADL_EIO if it does not answer, after up to 9 s. */
int adl_slurm_link_open(struct adl_slurm_link *link, struct adl_error *err);
/* False if nobody listens where it was last found; true if somebody does or that is not known. */
bool adl_slurm_link_knock(const struct adl_slurm_link *link);

#endif
