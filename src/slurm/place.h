/* place: carries out what the service ordered, one request to slurmctld each. */
#ifndef ADLRO_SLURM_PLACE_H
#define ADLRO_SLURM_PLACE_H

#include "slurm/cluster.h"
#include "slurm/protocol.h"

/* 0; ADL_EABSENT: the job is no more or over; ADL_EREFUSED: not now, or not at all, as err says; ADL_EIO: slurmctld
 * does not answer, and what it did is not known. */
int adl_slurm_carry_out(struct adl_slurm_cluster *cluster, const struct adl_slurm_order *order, struct adl_error *err);

/* All jobs of ours that wait go to Slurm's own scheduler; *ret_count is how many did. The first failure is returned,
 * after the others were tried. */
int adl_slurm_give_all_back(struct adl_slurm_cluster *cluster, const char *text, uint32_t *ret_count,
                            struct adl_error *err);

#endif
