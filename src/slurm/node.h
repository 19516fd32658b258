/* node: a node of Slurm as a message. */
#ifndef ADLRO_SLURM_NODE_H
#define ADLRO_SLURM_NODE_H

#include "base/text.h"
#include "slurm/cluster.h"

struct node_info;

void adl_slurm_node_read(const struct node_info *info, struct adl_slurm_node *ret);
/* Appends one line, without its end. */
void adl_slurm_node_write(const struct adl_slurm_cluster *cluster, const struct node_info *info,
                          const struct adl_slurm_node *node, struct adl_text *line);

#endif
