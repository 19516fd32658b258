/* The ABI of the public rocm_smi.h; only what is used is declared here. */
#include "telemetry/rocm_smi.h"

#include "telemetry/gpu_name.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPERATURE_EDGE = 0, TEMPERATURE_NOW = 0 };

struct adl_rocm_smi {
    void *library;
    bool ready;
    int (*init)(uint64_t flags);
    int (*shut_down)(void);
    int (*count)(uint32_t *);
    int (*pci_id)(uint32_t device, uint64_t *);
    int (*name)(uint32_t device, char *, size_t);
    int (*energy)(uint32_t device, uint64_t *ticks, float *uj_per_tick, uint64_t *time_ns);
    int (*power)(uint32_t device, uint32_t sensor, uint64_t *uw);
    int (*temperature)(uint32_t device, uint32_t sensor, int metric, int64_t *mc);
};

#define AT(member) offsetof(struct adl_rocm_smi, member)

static bool load_symbols(struct adl_rocm_smi *smi)
{
    static const struct {
        size_t at;
        bool needed;
        const char *name;
    } symbols[] = {
        {AT(init), true, "rsmi_init"},
        {AT(shut_down), true, "rsmi_shut_down"},
        {AT(count), true, "rsmi_num_monitor_devices"},
        {AT(pci_id), true, "rsmi_dev_pci_id_get"},
        {AT(name), false, "rsmi_dev_name_get"},
        {AT(energy), false, "rsmi_dev_energy_count_get"},
        {AT(power), false, "rsmi_dev_power_ave_get"},
        {AT(temperature), false, "rsmi_dev_temp_metric_get"},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(smi->library, symbols[i].name);
        if (!symbol && symbols[i].needed)
            return false;
        memcpy((char *)smi + symbols[i].at, &symbol, sizeof symbol);
    }
    return true;
}

static void *find_library(const char *path)
{
    char name[40];
    void *library = NULL;
    if (path)
        return *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    /* Only the development package has the name without a version. */
    for (int version = 9; version >= 1 && !library; version--) {
        snprintf(name, sizeof name, "librocm_smi64.so.%d", version);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return library ? library : dlopen("librocm_smi64.so", RTLD_NOW | RTLD_LOCAL);
}

struct adl_rocm_smi *adl_rocm_smi_open(const char *path)
{
    struct adl_rocm_smi *smi = calloc(1, sizeof *smi);
    if (!smi)
        return NULL;
    smi->library = find_library(path);
    smi->ready = smi->library && load_symbols(smi) && smi->init(0) == 0;
    if (!smi->ready) {
        adl_rocm_smi_close(smi);
        return NULL;
    }
    return smi;
}

void adl_rocm_smi_close(struct adl_rocm_smi *smi)
{
    if (!smi)
        return;
    if (smi->ready)
        smi->shut_down();
    if (smi->library)
        dlclose(smi->library);
    free(smi);
}

int adl_rocm_smi_find(const struct adl_rocm_smi *smi, const char *pci)
{
    uint32_t count = 0;
    if (!smi || smi->count(&count) != 0)
        return -1;
    for (uint32_t i = 0; i < count && i < 1024; i++) {
        uint64_t id;
        char at[ADL_PCI_SIZE];
        if (smi->pci_id(i, &id) != 0)
            continue;
        /* Domain in the upper 32 bits; bus, device and function as in PCI. Some drivers put the number of a partition
         * into bits 28 to 31. */
        snprintf(at, sizeof at, "%04x:%02x:%02x.%x", (unsigned)(id >> 32), (unsigned)(id >> 8 & 0xff),
                 (unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
        if (strcmp(at, pci) == 0)
            return (int)i;
    }
    return -1;
}

bool adl_rocm_smi_name(const struct adl_rocm_smi *smi, int device, char *ret, size_t size)
{
    char name[96] = "";
    if (!smi || device < 0 || !smi->name || smi->name((uint32_t)device, name, sizeof name) != 0)
        return false;
    name[sizeof name - 1] = '\0';
    if (!name[0])
        return false;
    snprintf(ret, size, "%s", name);
    return true;
}

bool adl_rocm_smi_energy(const struct adl_rocm_smi *smi, int device, double *ret_uj)
{
    uint64_t ticks = 0, time_ns = 0;
    float uj_per_tick = 0;
    if (!smi || device < 0 || !smi->energy || smi->energy((uint32_t)device, &ticks, &uj_per_tick, &time_ns) != 0 ||
        !(uj_per_tick > 0))
        return false;
    *ret_uj = (double)ticks * (double)uj_per_tick;
    return true;
}

bool adl_rocm_smi_power(const struct adl_rocm_smi *smi, int device, double *ret_uw)
{
    uint64_t uw = 0;
    if (!smi || device < 0 || !smi->power || smi->power((uint32_t)device, 0, &uw) != 0)
        return false;
    *ret_uw = (double)uw;
    return true;
}

bool adl_rocm_smi_temperature(const struct adl_rocm_smi *smi, int device, double *ret_mc)
{
    int64_t mc = 0;
    if (!smi || device < 0 || !smi->temperature ||
        smi->temperature((uint32_t)device, TEMPERATURE_EDGE, TEMPERATURE_NOW, &mc) != 0)
        return false;
    *ret_mc = (double)mc;
    return true;
}
