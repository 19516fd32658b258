/* fuzz_sbatch: the head of a batch script of any bytes; what comes out is whole. */
#include "cli/client/sbatch.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adl_sbatch sbatch;
    struct adl_error err = {{0}};
    if (adl_sbatch_read((const char *)data, size, "script", &sbatch, &err)) {
        must(strncmp(err.text, "script:", 7) == 0);
        return 0;
    }
    const char *const strings[] = {sbatch.form.name,  sbatch.form.output,   sbatch.form.error, sbatch.form.chdir,
                                   sbatch.form.array, sbatch.form.exported, sbatch.form.gpus,  sbatch.form.dependency,
                                   sbatch.form.begin, sbatch.form.signal};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        must(!strings[i] || strlen(strings[i]) <= size + 1);
    must(sbatch.time_s >= 0 && sbatch.cpus >= 0 && sbatch.mem_mib >= 0);
    must(!sbatch.form.gpus || adl_gpu_request_least(sbatch.form.gpus) >= 1);
    adl_sbatch_clear(&sbatch);
    return 0;
}
