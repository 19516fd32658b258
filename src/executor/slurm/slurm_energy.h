/* slurm_energy: what each job of a Slurm cluster has drawn, from the meters of its nodes.
 *
 * A node's counter is read now and then. Its rise between two readings is shared among the jobs that had GPUs of the
 * node meanwhile, by GPU time and the power limits of their types. GPUs that nobody had count with the node's idle
 * power, which is charged to nobody, as in the simulated world (docs/decisions/0012-energy-of-slurm-jobs.md). */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_ENERGY_H
#define ADLRO_EXECUTOR_SLURM_SLURM_ENERGY_H

#include "model/cluster.h"

struct adl_slurm_energy;
struct adl_report;

/* A reading of a meter. */
struct adl_slurm_reading {
    int64_t time_us; /* when it was read */
    double joules;   /* its counter */
    double watts;    /* negative = not known */
    bool gpus;       /* it measures the GPUs and nothing else: so it gives their power too */
};

/* The cluster outlasts it. */
int adl_slurm_energy_create(const struct adl_cluster *cluster, struct adl_slurm_energy **ret); /* or ADL_ENOMEM */
void adl_slurm_energy_destroy(struct adl_slurm_energy *energy);                                /* accepts NULL */

/* A job has these GPUs from now on. Its joules are counted in *account, which identifies it, is negative until
 * something was measured, and has to stay where it is until leave. Out of memory: nothing is counted. */
void adl_slurm_energy_enter(struct adl_slurm_energy *energy, double *account, const uint32_t *gpus, uint32_t count,
                            int64_t now_us);
/* And releases them. The energy since the last reading is extrapolated from it, unless the job came after that. */
void adl_slurm_energy_leave(struct adl_slurm_energy *energy, const double *account, const uint32_t *gpus,
                            uint32_t count, int64_t now_us);
/* So many GPUs of a bank are used by other jobs, which have no account. */
void adl_slurm_energy_others(struct adl_slurm_energy *energy, uint32_t bank, uint32_t gpus, int64_t now_us);

/* NULL: the node has no meter, or none any more. A reading that is not newer than the last changes nothing. */
void adl_slurm_energy_read(struct adl_slurm_energy *energy, uint32_t node, const struct adl_slurm_reading *reading);

/* 1 and the power of a GPU whose node was read since; 0: there is none. */
int adl_slurm_energy_next_sample(struct adl_slurm_energy *energy, struct adl_report *ret);

/* All that a node's meter rose by, and what it was charged to: jobs, and nobody; predicted_j was charged before it was
 * measured. rise_j = jobs_j + nobody_j - predicted_j. */
struct adl_slurm_energy_sums {
    double rise_j, jobs_j, nobody_j, predicted_j;
};
struct adl_slurm_energy_sums adl_slurm_energy_sum(const struct adl_slurm_energy *energy, uint32_t node);

#endif
