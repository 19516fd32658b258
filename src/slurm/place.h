/* place: carries out orders of the service, one request to slurmctld each. */
#ifndef ADLRO_SLURM_PLACE_H
#define ADLRO_SLURM_PLACE_H

#include "slurm/cluster.h"
#include "slurm/protocol.h"

/* 0; ADL_EABSENT: the job has ended or does not exist; ADL_EREFUSED: not possible, for the reason in err; ADL_EIO:
 * slurmctld does not answer, and may or may not have done it. */
int adl_slurm_carry_out(struct adl_slurm_cluster *cluster, const struct adl_slurm_order *order, struct adl_error *err);

/* Gives all our pending jobs back to Slurm's own scheduler; *ret_count is how many. Returns the first failure, after
 * trying the others. */
int adl_slurm_give_all_back(struct adl_slurm_cluster *cluster, const char *text, uint32_t *ret_count,
                            struct adl_error *err);

#endif
