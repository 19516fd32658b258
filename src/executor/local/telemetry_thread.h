/* telemetry_thread: samples the service's own GPUs in a thread of its own, because exporters may be slow. */
#ifndef ADLRO_EXECUTOR_LOCAL_TELEMETRY_THREAD_H
#define ADLRO_EXECUTOR_LOCAL_TELEMETRY_THREAD_H

#include "executor/inventory.h"
#include "telemetry/telemetry.h"

struct adl_telemetry_thread;

struct adl_telemetry_thread_sample {
    uint32_t gpu; /* of the inventory */
    struct adl_gpu_sample sample;
};

/* Takes over the reader. Its devices are matched to the inventory by their ids. */
int adl_telemetry_thread_create(struct adl_telemetry_reader *reader, const struct adl_inventory *inventory,
                                int64_t interval_us, struct adl_telemetry_thread **ret, struct adl_error *err);
void adl_telemetry_thread_destroy(struct adl_telemetry_thread *self); /* accepts NULL; waits for the thread */

int adl_telemetry_thread_fd(const struct adl_telemetry_thread *self); /* readable when there is a sample to take */
/* The newest sample of each GPU that has one since the last call; returns how many. A newer sample replaces one that
 * was not taken. */
uint32_t adl_telemetry_thread_take(struct adl_telemetry_thread *self, struct adl_telemetry_thread_sample *ret,
                                   uint32_t max);

#endif
