/* stub_nvml: the script of the fake NVML library, which the test and the library share. The test finds it by the symbol
 * stub_nvml_script in the library that the reader loads too. */
#ifndef STUB_NVML_H
#define STUB_NVML_H

#include <stdbool.h>

#define STUB_GPUS_MAX      4
#define STUB_PROCESSES_MAX 80

/* Each call of the library that can be told to fail. */
enum stub_call {
    STUB_UTILIZATION,
    STUB_TEMPERATURE,
    STUB_POWER,
    STUB_ENERGY,
    STUB_CLOCK,
    STUB_PCIE,
    STUB_VIOLATION,
    STUB_REASONS,
    STUB_FIELDS,
    STUB_PROCESSES,
    STUB_MEMORY,
    STUB_CALL_COUNT,
};

struct stub_gpu {
    const char *name;
    const char *uuid;
    unsigned bus;
    unsigned long long memory_total, memory_used; /* bytes */
    unsigned busy, memory_busy, temperature_c, power_mw, limit_mw, clock_mhz, clock_max_mhz, sent_kbs, received_kbs;
    unsigned long long energy_mj, power_held_ns, thermal_held_ns, reference_us, reasons;
    unsigned long long nvlink_tx_kib, nvlink_rx_kib;
    unsigned process_count, graphics_count;
    unsigned pids[STUB_PROCESSES_MAX], graphics_pids[STUB_PROCESSES_MAX];
    int status[STUB_CALL_COUNT]; /* nvmlReturn_t of each call */
    int all;                     /* of every call, if not 0 */
    bool no_handle;
};

struct stub_nvml {
    unsigned count;
    struct stub_gpu gpus[STUB_GPUS_MAX];
    int init_status;
    bool initialized;
    int init_count, shutdown_count;
};

#endif
