/* rocm_smi: readings that AMD's sysfs files lack, from the ROCm SMI library if the machine has it. */
#ifndef ADLRO_TELEMETRY_ROCM_SMI_H
#define ADLRO_TELEMETRY_ROCM_SMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adl_rocm_smi;

/* path: NULL = the system's default. Returns NULL if none works. */
struct adl_rocm_smi *adl_rocm_smi_open(const char *path);
void adl_rocm_smi_close(struct adl_rocm_smi *smi); /* accepts NULL */

/* The library's index of the GPU at this PCI address, -1 if unknown. */
int adl_rocm_smi_find(const struct adl_rocm_smi *smi, const char *pci);

/* False, outputs untouched, if it has no such value. */
bool adl_rocm_smi_name(const struct adl_rocm_smi *smi, int device, char *ret, size_t size);
bool adl_rocm_smi_energy(const struct adl_rocm_smi *smi, int device, double *ret_uj);
bool adl_rocm_smi_power(const struct adl_rocm_smi *smi, int device, double *ret_uw);
bool adl_rocm_smi_temperature(const struct adl_rocm_smi *smi, int device, double *ret_mc);

#endif
