/* gpu_limits: the power limits of this machine's GPUs: NVIDIA's through NVML, AMD's through hwmon's power1_cap, the
 * file that rocm-smi writes too. */
#ifndef ADLRO_POWERCAP_GPU_LIMITS_H
#define ADLRO_POWERCAP_GPU_LIMITS_H

#include "base/error.h"
#include "powercap/allow_list.h"

struct adl_gpu_limit {
    char id[ADL_POWERCAP_ID_SIZE];        /* as the service names it: UUID, else PCI address */
    uint32_t limit_mw, least_mw, most_mw; /* now, and what the driver allows */
    void *device;                         /* of NVML; NULL: AMD */
    char path[200];                       /* AMD: of power1_cap */
};

struct adl_gpu_limits;

/* nvml NULL: libnvidia-ml.so.1; sysfs NULL: /sys. GPUs without a limit that can be set are left out. */
int adl_gpu_limits_open(const char *nvml, const char *sysfs, struct adl_gpu_limits **ret, struct adl_error *err);
void adl_gpu_limits_close(struct adl_gpu_limits *limits); /* accepts NULL; limits stay as they are */
const struct adl_gpu_limit *adl_gpu_limits_list(const struct adl_gpu_limits *limits, uint32_t *ret_count);
const struct adl_gpu_limit *adl_gpu_limits_find(const struct adl_gpu_limits *limits, const char *id); /* NULL: none */
int adl_gpu_limits_set(struct adl_gpu_limits *limits, const struct adl_gpu_limit *gpu, uint32_t limit_mw,
                       struct adl_error *err);

#endif
