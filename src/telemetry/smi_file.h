/* smi_file: the GPUs of one machine as the vendors' tools describe them in a file: `nvidia-smi -q -x` and `rocm-smi -a
 * --json`, of any version. A reading that the file lacks is missing. */
#ifndef ADLRO_TELEMETRY_SMI_FILE_H
#define ADLRO_TELEMETRY_SMI_FILE_H

#include "telemetry/telemetry.h"

#define ADL_SMI_GPUS_MAX 256u

/* A PCI Express link; 0 = not known. An idle GPU lowers its generation, so the greatest counts. */
struct adl_pcie_link {
    uint32_t generation, generation_max;
    uint32_t lanes, lanes_max;
};

struct adl_smi_gpu {
    struct adl_gpu_device device;
    struct adl_pcie_link link;
    char driver[ADL_VERSION_SIZE]; /* empty = not known */
};

struct adl_smi_file {
    struct adl_smi_gpu gpus[ADL_SMI_GPUS_MAX];
    uint32_t count;
};

/* name is for messages. A GPU that is cut into slices (MIG) counts as its slices. An error if there is no GPU. */
int adl_smi_read_nvidia(const char *name, const char *data, size_t size, struct adl_smi_file *ret,
                        struct adl_error *err);
int adl_smi_read_rocm(const char *name, const char *data, size_t size, struct adl_smi_file *ret, struct adl_error *err);

/* Rate of the link in GB/s each way, 0 if it is not known. */
double adl_pcie_rate(const struct adl_pcie_link *link);

/* The generation of a link of so many GT/s, 0 if there is none. */
uint32_t adl_pcie_generation(double gts);
/* A possible number of lanes, else 0. */
uint32_t adl_pcie_lanes(double lanes);

#endif
