/* protocol: the messages between the service and the adapter, one JSON object a line (docs/formats/slurm-protocol.md).
 */
#ifndef ADLRO_SLURM_PROTOCOL_H
#define ADLRO_SLURM_PROTOCOL_H

#include "base/error.h"
#include "base/text.h"
#include "slurm/cluster.h"
#include "slurm/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_SLURM_ORDER_NODES_MAX 512

enum adl_slurm_op {
    ADL_SLURM_HELLO,
    ADL_SLURM_PLACE,
    ADL_SLURM_REQUEUE,
    ADL_SLURM_HOLD,
    ADL_SLURM_CANCEL,
    ADL_SLURM_COMMENT,
    ADL_SLURM_GIVEBACK,
    ADL_SLURM_HEARTBEAT,
    ADL_SLURM_BYE,
};

struct adl_slurm_order_node {
    char name[64];
    uint32_t gpus;
};

struct adl_slurm_order {
    enum adl_slurm_op op;
    int64_t seq; /* -1 = none: not answered */
    uint64_t job;
    struct adl_slurm_order_node nodes[ADL_SLURM_ORDER_NODES_MAX];
    uint32_t node_count;
    char type[ADL_GPU_TYPE_SIZE];
    char text[1024]; /* the comment; "" = none */
    /* hello: */
    enum adl_slurm_mode mode;
    uint32_t poll_ms;
    char partitions[ADL_PARTITIONS_MAX][64];
    uint32_t partition_count;
};

/* One line without its end. On failure only seq of ret is set, as far as it could be read. */
int adl_slurm_order_read(const char *line, struct adl_slurm_order *ret, struct adl_error *err);

void adl_slurm_write_up(struct adl_text *out, const char *version, const char *cluster);
void adl_slurm_write_down(struct adl_text *out, const char *why);
void adl_slurm_write_synced(struct adl_text *out, uint64_t seq);
/* status 0: it was done; otherwise err says why not. */
void adl_slurm_write_done(struct adl_text *out, int64_t seq, int status, const struct adl_error *err);

#endif
