/* fuzz_smi: files of any bytes in the place of what nvidia-smi and rocm-smi print: every GPU has a name, a type, and
 * readings that are missing or possible. */
#include "telemetry/smi_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check(int status, const struct adl_smi_file *file, const struct adl_error *err)
{
    if (status) {
        must(*err->text != '\0');
        return;
    }
    must(file->count > 0 && file->count <= ADL_SMI_GPUS_MAX);
    for (uint32_t i = 0; i < file->count; i++) {
        const struct adl_smi_gpu *gpu = &file->gpus[i];
        must(gpu->device.type[0] != '\0' && gpu->device.memory_mib >= 0 && gpu->device.limit_w >= 0);
        must(memchr(gpu->device.model, 0, sizeof gpu->device.model) != NULL);
        must(adl_pcie_rate(&gpu->link) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct adl_smi_file file;
    struct adl_error err = {{0}};
    check(adl_smi_read_nvidia("smi", (const char *)data, size, &file, &err), &file, &err);
    check(adl_smi_read_rocm("smi", (const char *)data, size, &file, &err), &file, &err);
    return 0;
}
