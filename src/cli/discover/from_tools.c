/* from_tools: GPUs of one machine, as its drivers or the files of their tools say. */
#include "cli/discover/findings.h"
#include "scenario/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int read_smi(const char *name, const char *data, size_t size, struct adl_smi_file *ret, struct adl_error *err);

/* "dir/volta-1.xml" is "volta-1". */
static void name_by_file(const char *path, char ret[ADL_NAME_SIZE])
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    snprintf(ret, ADL_NAME_SIZE, "%.*s", (int)(dot && dot > base ? (size_t)(dot - base) : strlen(base)), base);
}

static int add_machine(struct adl_findings *findings, const char *path, const struct adl_smi_file *file,
                       struct adl_error *err)
{
    char name[ADL_NAME_SIZE];
    name_by_file(path, name);
    struct adl_found_node *node = adl_findings_node(findings, name);
    if (!node)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < file->count; i++)
        adl_findings_add(findings, node, &file->gpus[i], 1);
    return 0;
}

static int from_smi(struct adl_findings *findings, const char *path, read_smi *read, struct adl_error *err)
{
    char *text = NULL;
    size_t size = 0;
    struct adl_smi_file *file = malloc(sizeof *file);
    if (!file)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    int status = adl_text_file_read(path, &text, &size, err);
    status = status ? status : read(path, text, size, file, err);
    status = status ? status : add_machine(findings, path, file, err);
    free(text);
    free(file);
    return status;
}

int adl_discover_nvidia_smi(struct adl_findings *findings, const char *path, struct adl_error *err)
{
    return from_smi(findings, path, adl_smi_read_nvidia, err);
}

int adl_discover_rocm_smi(struct adl_findings *findings, const char *path, struct adl_error *err)
{
    return from_smi(findings, path, adl_smi_read_rocm, err);
}

/* ---- this machine ---- */

/* The first number in a file of a PCI device; 0 if there is none. */
static double read_pci(const char *pci, const char *file)
{
    char path[128], line[64] = "";
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%.23s/%.40s", pci, file);
    FILE *stream = *pci ? fopen(path, "r") : NULL;
    if (!stream)
        return 0;
    const bool read = fgets(line, sizeof line, stream) != NULL;
    fclose(stream);
    return read ? strtod(line, NULL) : 0;
}

static struct adl_pcie_link link_of(const char *pci)
{
    return (struct adl_pcie_link){.generation = adl_pcie_generation(read_pci(pci, "current_link_speed")),
                                  .generation_max = adl_pcie_generation(read_pci(pci, "max_link_speed")),
                                  .lanes = adl_pcie_lanes(read_pci(pci, "current_link_width")),
                                  .lanes_max = adl_pcie_lanes(read_pci(pci, "max_link_width"))};
}

static int add_devices(struct adl_findings *findings, const struct adl_gpu_device *devices, uint32_t count,
                       struct adl_error *err)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    char host[256] = "";
    if (count == 0)
        return adl_fail(err, ADL_EABSENT,
                        "this machine has no GPU that a driver reports; --nvidia-smi, --rocm-smi, --slurm, --sinfo and "
                        "--kubernetes read files from other machines");
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    host[strcspn(host, ".")] = '\0';
    struct adl_found_node *node = adl_findings_node(findings, host);
    if (!node)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_smi_gpu gpu = {.device = devices[i], .link = link_of(devices[i].pci)};
        adl_findings_add(findings, node, &gpu, 1);
    }
    node->cpu_cores = cores > 0 && cores <= 65536 ? (int32_t)cores : 0;
    node->memory_mib = pages > 0 && page > 0 ? (int32_t)((double)pages * (double)page / 1048576.0) : 0;
    return 0;
}

int adl_discover_machine(struct adl_findings *findings, struct adl_error *err)
{
    struct adl_telemetry_reader *reader = NULL;
    const struct adl_telemetry_options options = {.no_nvml = false};
    uint32_t count = 0;
    int status = adl_telemetry_open(&options, &reader, err);
    if (status)
        return status;
    const struct adl_gpu_device *devices = adl_telemetry_devices(reader, &count);
    status = add_devices(findings, devices, count, err);
    adl_telemetry_close(reader);
    return status;
}
