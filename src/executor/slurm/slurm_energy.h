/* slurm_energy: what each job of a Slurm cluster has drawn, from the meters of its nodes.
 *
 * A node's counter is read now and then. What it rose by between two readings is shared among those who had GPUs of the
 * node meanwhile, by GPU time and what GPUs of their types can draw; GPUs that nobody had count with what the node
 * draws idle, and that is nobody's, as in the simulated world (docs/decisions/0012-energy-of-slurm-jobs.md). */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_ENERGY_H
#define ADLRO_EXECUTOR_SLURM_SLURM_ENERGY_H

#include "model/cluster.h"

struct adl_slurm_energy;
struct adl_report;

/* What a meter said. */
struct adl_slurm_reading {
    int64_t time_us; /* when it did */
    double joules;   /* its counter */
    double watts;    /* negative = not told */
    bool gpus;       /* it measures the GPUs and nothing else: then it tells of their power too */
};

/* The cluster outlasts it. */
int adl_slurm_energy_create(const struct adl_cluster *cluster, struct adl_slurm_energy **ret); /* or ADL_ENOMEM */
void adl_slurm_energy_destroy(struct adl_slurm_energy *energy);                                /* accepts NULL */

/* Somebody has these GPUs from now on; who is told by where joules are counted: *account, which is negative until
 * something was measured, and stays where it is until leave. Without memory they have them for nothing. */
void adl_slurm_energy_enter(struct adl_slurm_energy *energy, double *account, const uint32_t *gpus, uint32_t count,
                            int64_t now_us);
/* And has them no more. What the meters have not told yet is foreseen from what they told last; of one that came after
 * that nothing is known. */
void adl_slurm_energy_leave(struct adl_slurm_energy *energy, const double *account, const uint32_t *gpus,
                            uint32_t count, int64_t now_us);
/* So many GPUs of a bank are used by others, whose account nobody keeps. */
void adl_slurm_energy_others(struct adl_slurm_energy *energy, uint32_t bank, uint32_t gpus, int64_t now_us);

/* NULL: the node has no meter, or none any more. One that was told before changes nothing. */
void adl_slurm_energy_read(struct adl_slurm_energy *energy, uint32_t node, const struct adl_slurm_reading *reading);

/* 1 and the power of a GPU of a node that was read since; 0: all was told. */
int adl_slurm_energy_tell(struct adl_slurm_energy *energy, struct adl_report *ret);

/* All that a node's meter rose by, and where it went: to accounts, and to nobody; ahead_j was foreseen, and is still to
 * come. rise_j = given_j + nobody_j - ahead_j. */
struct adl_slurm_energy_sums {
    double rise_j, given_j, nobody_j, ahead_j;
};
struct adl_slurm_energy_sums adl_slurm_energy_sum(const struct adl_slurm_energy *energy, uint32_t node);

#endif
