/* fuzz_slurm: orders of any bytes, and any text where Slurm writes GPUs, constraints and dependencies. */
#include "slurm/constraint.h"
#include "slurm/dependency.h"
#include "slurm/protocol.h"
#include "slurm/request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static enum adl_slurm_dependee by_number(void *context, uint32_t job, int64_t array_index)
{
    (void)context;
    return (enum adl_slurm_dependee)((job + (uint64_t)array_index) % 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct adl_slurm_order order;
    char *text = malloc(size + 1);
    must(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (adl_slurm_order_read(text, &order, NULL) == 0) {
        must(order.node_count <= ADL_SLURM_ORDER_NODES_MAX && order.partition_count <= ADL_PARTITIONS_MAX);
        must(order.op != ADL_SLURM_PLACE || (order.node_count > 0 && order.job > 0));
    }
    const struct adl_gpu_counts gpus = adl_gres_parse(text);
    must(gpus.count <= ADL_GPU_COUNTS_MAX);
    struct adl_catch caught;
    if (adl_catch_parse(text, &caught)) {
        struct adl_gpu_counts again;
        struct adl_text words = {0};
        adl_gpu_counts_write(&caught.request, &words);
        must(adl_gpu_counts_parse(words.data, &again, NULL) == 0 && again.count == caught.request.count);
        adl_text_clear(&words);
    }
    must(adl_constraint_holds(text, "volta,ib") <= 1);
    must(adl_slurm_dependency_met(text, by_number, NULL) <= 1);
    free(text);
    return 0;
}
