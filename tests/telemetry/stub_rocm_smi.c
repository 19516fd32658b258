/* stub_rocm_smi: a fake librocm_smi64.so with the ABI of the public rocm_smi.h: one MI50 at 0000:03:00.0 that has an
 * energy counter of 15.3 uJ a tick, and a second GPU at 0000:83:00.0 with power and temperature. */
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

uint64_t stub_rocm_ticks EXPORT = 1000000;

EXPORT int rsmi_init(uint64_t flags);
int rsmi_init(uint64_t flags)
{
    return flags == 0 ? 0 : 1;
}

EXPORT int rsmi_shut_down(void);
int rsmi_shut_down(void)
{
    return 0;
}

EXPORT int rsmi_num_monitor_devices(uint32_t *count);
int rsmi_num_monitor_devices(uint32_t *count)
{
    *count = 2;
    return 0;
}

EXPORT int rsmi_dev_pci_id_get(uint32_t device, uint64_t *id);
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *id)
{
    *id = device == 0 ? 0x8300 : 0x0300;
    return 0;
}

EXPORT int rsmi_dev_name_get(uint32_t device, char *name, size_t size);
int rsmi_dev_name_get(uint32_t device, char *name, size_t size)
{
    snprintf(name, size, "%s", device == 0 ? "AMD Instinct MI210" : "Radeon Instinct MI50");
    return 0;
}

EXPORT int rsmi_dev_energy_count_get(uint32_t device, uint64_t *ticks, float *resolution_uj, uint64_t *time_ns);
int rsmi_dev_energy_count_get(uint32_t device, uint64_t *ticks, float *resolution_uj, uint64_t *time_ns)
{
    *ticks = stub_rocm_ticks;
    *resolution_uj = 15.3f;
    *time_ns = 1;
    return device == 1 ? 0 : 2;
}

EXPORT int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *uw);
int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *uw)
{
    *uw = 91000000;
    return device == 0 && sensor == 0 ? 0 : 2;
}

EXPORT int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric, int64_t *mc);
int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric, int64_t *mc)
{
    *mc = 47000;
    return device == 0 && sensor == 0 && metric == 0 ? 0 : 2;
}
