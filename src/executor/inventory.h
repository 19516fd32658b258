/* inventory: the GPUs that the service decides about: found on this machine, declared in its configuration as virtual
 * slots, or simulated; as a cluster for the core, and with the names by which people, drivers and the store know them.
 */
#ifndef ADLRO_EXECUTOR_INVENTORY_H
#define ADLRO_EXECUTOR_INVENTORY_H

#include "base/error.h"
#include "executor/local/environment.h"
#include "model/scenario.h"
#include "scenario/catalogue.h"
#include "telemetry/telemetry.h"

#include <stdbool.h>

#define ADL_GPU_ID_SIZE 80

struct adl_inventory_gpu {
    char id[ADL_GPU_ID_SIZE];     /* stays the same over restarts: its UUID, PCI address, or "box/v100/0" */
    char device[ADL_GPU_ID_SIZE]; /* what the vendor's runtime calls it in CUDA_VISIBLE_DEVICES and its kin */
    char model[96];               /* as the driver has it; for a virtual one "virtual v100" */
    enum adl_gpu_vendor vendor;   /* ADL_GPU_VIRTUAL: jobs really run, but there is no such GPU */
    uint32_t index;               /* on its node, as adlro counts */
};

/* The scenario holds the cluster and the job classes. Class 0 is "job", for jobs that name none; the others are the
 * catalogue's or, in the twin, those of its workload, which the scenario holds too. */
struct adl_inventory {
    struct adl_scenario scenario;
    struct adl_inventory_gpu *gpus; /* [gpu of scenario.cluster] */
    bool virtual;                   /* none of them is real */
};

/* The type of a slot without a GPU, for jobs that really run. */
#define ADL_VIRTUAL_TYPE  "virtual"
#define ADL_VIRTUAL_SLOTS 4 /* where there are no GPUs and nothing is declared */

/* The shipped catalogue, or that of a file, with the type ADL_VIRTUAL_TYPE added. */
int adl_inventory_catalogue(const char *path, struct adl_catalogue *ret, struct adl_error *err);

/* Cautious figures for a type of which nothing is known; it has no name. */
struct adl_gpu_type adl_inventory_guess(void);

/* Three ways to fill an inventory; after a failure the caller clears it.
 * From the devices of this machine, one node; those of other nodes are left out. A GPU type that the catalogue does not
 * have gets its memory from the driver and the rest by a cautious guess, and is marked as modelled. */
int adl_inventory_add_devices(struct adl_inventory *inventory, const struct adl_catalogue *catalogue,
                              const struct adl_gpu_device *devices, uint32_t count, struct adl_error *err);
/* ADL_VIRTUAL_SLOTS slots on this machine. */
int adl_inventory_add_slots(struct adl_inventory *inventory, const struct adl_catalogue *catalogue,
                            struct adl_error *err);
/* The cluster exists already and none of it is real: names its GPUs, models as "virtual v100". */
int adl_inventory_name_gpus(struct adl_inventory *inventory, const char *adjective, struct adl_error *err);

/* The GPU of the inventory that is devices[index], or ADL_NONE. By its UUID, else its PCI address; if it has
 * neither, by its place among those of its type. */
uint32_t adl_inventory_device_gpu(const struct adl_inventory *inventory, const struct adl_gpu_device *devices,
                                  uint32_t index);

/* For a scenario with a workload: makes "job" class 0, the others move up by one. 0 or ADL_ENOMEM. */
int adl_inventory_add_plain_class(struct adl_inventory *inventory);

void adl_inventory_clear(struct adl_inventory *inventory); /* accepts a zeroed one */

/* The GPU of this id, or ADL_NONE. */
uint32_t adl_inventory_find(const struct adl_inventory *inventory, const char *id);

#endif
