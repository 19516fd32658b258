/* telemetry_thread: telemetry of the service's own GPUs, read in a thread of its own, for exporters may let one wait.
 */
#ifndef ADLRO_EXECUTOR_LOCAL_TELEMETRY_THREAD_H
#define ADLRO_EXECUTOR_LOCAL_TELEMETRY_THREAD_H

#include "executor/inventory.h"
#include "telemetry/telemetry.h"

struct adl_telemetry_thread;

struct adl_telemetry_thread_sample {
    uint32_t gpu; /* of the inventory */
    struct adl_gpu_sample sample;
};

/* Takes over the reader, whose devices are found again in the inventory by their ids. */
int adl_telemetry_thread_create(struct adl_telemetry_reader *reader, const struct adl_inventory *inventory,
                                int64_t interval_us, struct adl_telemetry_thread **ret, struct adl_error *err);
void adl_telemetry_thread_destroy(struct adl_telemetry_thread *watch); /* accepts NULL; waits for the thread */

int adl_telemetry_thread_fd(const struct adl_telemetry_thread *watch); /* readable when there is a sample to take */
/* The newest sample of each GPU that has one since the last call: how many. One that was not taken in time is replaced
 * by the next. */
uint32_t adl_telemetry_thread_take(struct adl_telemetry_thread *watch, struct adl_telemetry_thread_sample *ret,
                                   uint32_t max);

#endif
