/* job_cost: the least cost of one job under given prices of pools, as solve/time_index.h defines it. */
#ifndef ADLRO_SOLVE_JOB_COST_H
#define ADLRO_SOLVE_JOB_COST_H

#include "solve/time_index.h"

/* Prices by pool and point of the mesh, linear between points; the last of each pool is 0. */
struct adl_pool_prices {
    const struct adl_time_index_problem *problem;
    const double *price; /* [pool][points] */
};

/* The cheapest start of a fixed job in a mode. The cost is exact. */
double adl_job_cost_fixed(const struct adl_pool_prices *prices, const struct adl_time_index_job *job,
                          const struct adl_time_index_mode *mode, double *ret_start);

/* A part of a schedule: from `from` to `to` the job makes `progress` in the mode. */
struct adl_job_piece {
    double from, to;
    double progress;
    const struct adl_time_index_mode *mode;
};

/* Memory for costs of preemptive jobs. */
struct adl_job_cost_scratch {
    struct adl_job_piece *pieces; /* [adl_job_cost_pieces()] */
    double *times;                /* likewise */
    double *cost;                 /* [modes of a job][as many] */
};

uint32_t adl_job_cost_pieces(const struct adl_time_index_problem *problem);

/* At most the cost of a preemptive job, and a schedule that is near the cheapest, in scratch->pieces. */
double adl_job_cost_preemptive(const struct adl_pool_prices *prices, const struct adl_time_index_job *job,
                               struct adl_job_cost_scratch *scratch, uint32_t *ret_pieces);

/* Half of the least run time over the modes. */
double adl_job_cost_half_run(const struct adl_time_index_problem *problem, const struct adl_time_index_job *job);

/* The interval of the mesh that has the time: the last point that is not after it. */
uint32_t adl_mesh_find(const struct adl_time_index_problem *problem, double time);

#endif
