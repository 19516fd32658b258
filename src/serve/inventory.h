/* inventory: the GPUs that the service decides about: found on this machine, declared in its configuration as virtual
 * slots, or simulated; as a cluster for the core, and with the names by which people, drivers and the store know them.
 */
#ifndef ADLRO_SERVE_INVENTORY_H
#define ADLRO_SERVE_INVENTORY_H

#include "base/error.h"
#include "local/environment.h"
#include "model/scenario.h"

#include <stdbool.h>

#define ADL_GPU_ID_SIZE 80

struct adl_inventory_gpu {
    char id[ADL_GPU_ID_SIZE];     /* stays the same over restarts: its UUID, PCI address, or "box/v100/0" */
    char device[ADL_GPU_ID_SIZE]; /* what the vendor's runtime calls it in CUDA_VISIBLE_DEVICES and its kin */
    char model[96];               /* as the driver has it; for a virtual one "virtual v100" */
    enum adl_gpu_vendor vendor;   /* ADL_GPU_VIRTUAL: jobs really run, but there is no such GPU */
    uint32_t index;               /* on its node, as adlro counts */
};

/* The scenario holds the cluster and the catalogue's job classes; in the twin also the workload. */
struct adl_inventory {
    struct adl_scenario scenario;
    struct adl_inventory_gpu *gpus; /* [gpu of scenario.cluster] */
    bool virtual;                   /* none of them is real */
};

void adl_inventory_clear(struct adl_inventory *inventory); /* accepts a zeroed one */

/* The GPU of this id, or ADL_NONE. */
uint32_t adl_inventory_find(const struct adl_inventory *inventory, const char *id);

#endif
