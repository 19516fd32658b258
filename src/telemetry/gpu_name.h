/* gpu_name: names of GPUs: the short type names of catalogues, derived from drivers' names; PCI addresses. */
#ifndef ADLRO_TELEMETRY_GPU_NAME_H
#define ADLRO_TELEMETRY_GPU_NAME_H

#include "model/cluster.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_PCI_SIZE 24

/* "NVIDIA A100-SXM4-80GB" is "a100", "GeForce RTX 2080 Ti" is "rtx2080ti", "AMD Instinct MI250X / MI250" is "mi250x";
 * letters, digits and dashes only. Never empty: "unknown" if nothing is left. Returns ret. */
const char *adl_gpu_name_shorten(const char *model, char ret[ADL_NAME_SIZE]);

/* AMD's name of the accelerator with this PCI device id, NULL if unknown. Vega 20 is sold as MI50 and MI60, which
 * differ in memory. */
const char *adl_gpu_name_amd(uint32_t pci_device, int64_t memory_mib);

/* "0000:3b:00.0" from any of its spellings ("00000000:3B:00.0"). False, ret untouched, if it is not one. */
bool adl_pci_normalize(const char *text, char ret[ADL_PCI_SIZE]);

#endif
