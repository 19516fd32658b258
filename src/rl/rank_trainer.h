/* rank_trainer: trains the network of policy adlro (policy/adlro/rank_network.h) by an evolution strategy.
 *
 * A round draws workloads and, a few times, a direction in the space of parameters. Each direction is tried forwards
 * and backwards on the same workloads; the difference of their costs, ln(mean JCT) and a share of ln(p99 JCT), says how
 * far to go along it (OpenAI-ES with antithetic directions; references.md). A run is a whole simulation with all that
 * policy adlro does, so nothing has to be differentiated, and a correction counts by what it does to the whole
 * schedule. The result does not depend on the number of threads. */
#ifndef ADLRO_RL_RANK_TRAINER_H
#define ADLRO_RL_RANK_TRAINER_H

#include "model/scenario.h"
#include "policy/adlro/rank_network.h"

struct adl_rank_workload {
    const struct adl_scenario *scenario;
    double weight; /* how often it is drawn, relative to others */
};

struct adl_rank_config {
    const struct adl_rank_workload *workloads;
    uint32_t workload_count;
    const struct adl_rank_network *begin; /* NULL: one that corrects nothing */
    uint64_t seed;
    uint32_t rounds;
    uint32_t directions; /* tried in a round, each forwards and backwards */
    uint32_t runs;       /* of each trial */
    double distance;     /* of a trial from the present parameters, standard deviation of each */
    double step;         /* how far a round moves the parameters along all directions together, at first */
    double tail;         /* share of ln(p99 JCT) in the cost */
    uint32_t check_runs; /* of each workload in a check */
    uint32_t check_each; /* rounds between checks */
    uint32_t threads;
};

struct adl_rank_config adl_rank_defaults(void);

struct adl_rank_trainer;

int adl_rank_trainer_create(const struct adl_rank_config *config, struct adl_rank_trainer **ret, struct adl_error *err);
void adl_rank_trainer_destroy(struct adl_rank_trainer *trainer); /* accepts NULL */

int adl_rank_trainer_round(struct adl_rank_trainer *trainer, struct adl_error *err);
uint32_t adl_rank_trainer_rounds(const struct adl_rank_trainer *trainer); /* made */
uint64_t adl_rank_trainer_runs(const struct adl_rank_trainer *trainer);

/* Plays held-out seeds of all workloads with the averaged parameters: ln of the cost relative to the rule without a
 * network. Keeps the best network. */
int adl_rank_trainer_check(struct adl_rank_trainer *trainer, double *ret_change, bool *ret_best, struct adl_error *err);
const struct adl_rank_network *adl_rank_trainer_best(const struct adl_rank_trainer *trainer);

#endif
