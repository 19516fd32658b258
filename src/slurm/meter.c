#include "slurm/meter.h"

#include <stdbool.h>
#include <string.h>

#define PREFIX "acct_gather_energy/"

static bool is_word(const char *at, size_t size, const char *word)
{
    return size == strlen(word) && strncmp(at, word, size) == 0;
}

const char *adl_slurm_meter(const char *types)
{
    bool gpus = false, cpus = false, node = false;
    for (const char *at = types ? types : ""; *at;) {
        at += strncmp(at, PREFIX, sizeof PREFIX - 1) == 0 ? sizeof PREFIX - 1 : 0;
        const size_t size = strcspn(at, ",");
        if (is_word(at, size, "gpu") || (size > 4 && strncmp(at, "gpu_", 4) == 0))
            gpus = true;
        else if (is_word(at, size, "rapl"))
            cpus = true;
        else if (size > 0 && !is_word(at, size, "none") && !is_word(at, size, "(null)"))
            node = true;
        at += size;
        at += *at == ',';
    }
    return node || (gpus && cpus) ? "node" : gpus ? "gpus" : cpus ? "cpus" : NULL;
}
