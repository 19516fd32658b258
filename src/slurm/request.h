/* request: GPUs as text: what a job asks for ("volta:2|turing:1"), and how Slurm writes GPUs ("gpu:volta:2(S:0)"). */
#ifndef ADLRO_SLURM_REQUEST_H
#define ADLRO_SLURM_REQUEST_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_GPU_TYPE_SIZE  64
#define ADL_GPU_COUNTS_MAX 16

struct adl_gpu_count {
    char type[ADL_GPU_TYPE_SIZE]; /* "" = any type */
    uint32_t count;
};

/* Of a job: alternatives by preference, each for one node. Of a node: what it has, by type. */
struct adl_gpu_counts {
    struct adl_gpu_count items[ADL_GPU_COUNTS_MAX];
    uint32_t count;
};

/* "volta:2|turing:1"; "*:2" is two of any type. ret is untouched on failure. */
int adl_gpu_counts_parse(const char *words, struct adl_gpu_counts *ret, struct adl_error *err);
void adl_gpu_counts_write(const struct adl_gpu_counts *request, struct adl_text *text);
/* How many of this type it asks for per node; 0 = it does not accept this type. */
uint32_t adl_gpu_counts_count(const struct adl_gpu_counts *request, const char *type);

/* The GPUs in the GRES of a node or a job, without other resources: "gpu:volta:2(S:0),gpu:turing:1(S:0)",
 * "gres:gpu:2", "gres/gpu:volta:2". NULL has none. What does not fit into ret is left out. */
struct adl_gpu_counts adl_gres_parse(const char *gres);

/* What a request counts GPUs by: --gres, --gpus or --gpus-per-task. */
enum adl_catch_by { ADL_BY_NODE, ADL_BY_JOB, ADL_BY_TASK };

/* What the hook wrote into a job: "adlro:volta:2|turing:1;by=job;nodes=v[0-1]". */
struct adl_catch {
    struct adl_gpu_counts asked; /* as its user wrote it */
    enum adl_catch_by by;
    struct adl_gpu_counts request; /* on each node */
    bool uneven;                   /* the nodes cannot have the same number each */
    char nodes[400];               /* the user's --nodelist; "" = any */
};
#define ADL_CATCH_PREFIX "adlro:"
/* False if the hook did not write the text. The request is that of a job of one node and one task. */
bool adl_catch_parse(const char *admin_comment, struct adl_catch *ret);
/* Sets the request on each node of a job of so many nodes and tasks. tasks_even: as many tasks on each node, too. */
void adl_catch_divide(struct adl_catch *caught, uint32_t nodes, uint32_t tasks, bool tasks_even);

#endif
