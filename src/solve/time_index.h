/* time_index: a lower bound on the sum of completion times of jobs that share pools of resources.
 *
 * Each job j is released at r_j and needs one of its modes m for p_m of run time. While it runs in mode m it holds the
 * share a_mk of each pool k, and no pool is ever held by more than 1 in all. A job is
 *
 *   - fixed: it has one run that is not interrupted, in one mode, for p_m or longer; or else
 *   - preemptive: it makes progress at a rate of at most 1 / p_m while it runs in mode m, in as many pieces and modes
 * as it likes, in one mode at a time.
 *
 * Runs that end up lost, waits, and anything that slows jobs down only add to what a real schedule takes.
 *
 * Why it is a bound. Let q_k(t) >= 0 be any price of pool k at time t. In a schedule let u_k(t) <= 1 be what is held of
 * pool k, C_j the completion times. As the sum over k of the integral of q_k (u_k - 1) is at most 0,
 *
 *     sum of (C_j - r_j) >= sum over j of [C_j - r_j + what j pays] - sum over k of the integral of q_k.
 *
 * What j pays is the integral of the price of what it holds, and the bracket is at least the least that j could reach
 * if it were alone and all prices given:
 *
 *   - fixed: the least over m and starts s >= r_j of s + p_m - r_j + the integral of sum_k a_mk q_k over [s, s + p_m].
 * A longer run ends later and pays no less.
 *   - preemptive: let x_m(t) be its progress in mode m, so that the integral of sum_m x_m is 1 and sum_m p_m x_m(t)
 * <= 1. Its mean busy time is M = the integral of t sum_m x_m(t). With h half of the least p_m, C_j >= M + h: the rate
 * is at most 1 / (2 h), and so M is largest if all progress is made in [C_j - 2 h, C_j]. Hence the bracket is at least
 *     the least integral of sum_m x_m(t) c_m(t) with c_m(t) = t - r_j + h + p_m sum_k a_mk q_k(t). For any number v
 *     this is at least
 *
 *         v - the integral over t >= r_j of max(0, max over m of (v - c_m(t)) / p_m),
 *
 *     because sum_m x_m (v - c_m) <= sum_m p_m x_m * max_m (v - c_m) / p_m, and sum_m p_m x_m is at most 1.
 *
 * So every choice of prices gives a bound, whatever it comes from. Here prices are linear between the points of a mesh
 * and 0 from its end on; the least over starts is then found exactly, and the integral, whose integrand is convex
 * between points if prices are linear there, is overestimated by trapezoids. Good prices are the dual values of the
 * time-indexed linear program, which CLP solves over some of the schedules of each job, with those added that are
 * cheapest under the last prices (column generation), until the program's value and the bound meet, or the limit of
 * rounds or iterations. Stopping early makes the bound weaker, never wrong. Equal calls give equal results. */
#ifndef ADLRO_SOLVE_TIME_INDEX_H
#define ADLRO_SOLVE_TIME_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define ADL_TIME_INDEX_USES 3

struct adl_time_index_mode {
    double run; /* above 0 */
    uint32_t use_count;
    uint32_t pool[ADL_TIME_INDEX_USES];
    double share[ADL_TIME_INDEX_USES]; /* of the pool, above 0 */
};

struct adl_time_index_job {
    double release; /* not before the mesh begins */
    uint32_t mode_first;
    uint32_t mode_count; /* at least 1 */
    bool fixed;
};

struct adl_time_index_problem {
    const struct adl_time_index_job *jobs;
    const struct adl_time_index_mode *modes;
    const double *mesh;                                 /* [points] times, ascending */
    uint32_t job_count, mode_count, pool_count, points; /* at least 2 points */
};

struct adl_time_index_limits {
    uint32_t rounds;
    uint32_t iterations; /* of the simplex method, in all rounds */
    double gap;          /* between the program's value and the bound, relative */
};

/* No schedule has a smaller sum of C_j - r_j. 0 or ADL_ENOMEM. */
int adl_time_index_bound(const struct adl_time_index_problem *problem, const struct adl_time_index_limits *limits,
                         double *ret_flow);

#endif
