/* gpu_caps: the power caps of this machine's GPUs, through the power helper, which is started again if it ends. */
#ifndef ADLRO_EXECUTOR_LOCAL_GPU_CAPS_H
#define ADLRO_EXECUTOR_LOCAL_GPU_CAPS_H

#include "executor/inventory.h"
#include "executor/local/power_link.h"

struct adl_gpu_caps;

/* Refused if the helper may not hold each GPU to each of these shares of its type's highest power. The inventory
 * outlives it. */
int adl_gpu_caps_open(const struct adl_power_link_config *config, const struct adl_inventory *inventory,
                      const double *shares, uint32_t share_count, struct adl_gpu_caps **ret, struct adl_error *err);
void adl_gpu_caps_close(struct adl_gpu_caps *caps); /* limits are restored; accepts NULL */

int adl_gpu_caps_set(struct adl_gpu_caps *caps, const uint32_t *gpus, uint32_t gpu_count, double power_w,
                     struct adl_error *err);                       /* of all, or of none; 0 W: none */
void adl_gpu_caps_keep(struct adl_gpu_caps *caps, int64_t now_us); /* a heartbeat, now and then; accepts NULL */

#endif
