/* job_factors: what the network (policy/adlro/rank_network.h) says of each waiting job: factors of its rank, of prices
 * and of waiting. They are kept for a part of the time that the job has waited and will run. */
#ifndef ADLRO_POLICY_ADLRO_JOB_FACTORS_H
#define ADLRO_POLICY_ADLRO_JOB_FACTORS_H

#include "policy/adlro/corrections.h"
#include "policy/adlro/prices.h"
#include "policy/adlro/rank_network.h"
#include "state/state.h"

struct adl_job_factors {
    bool on; /* off: all factors are 1 */
    struct adl_rank_network network;
    struct adl_job_factor {
        struct adl_rank_factors it;
        int64_t until_us;
        uint64_t id; /* of the job */
    } * jobs;        /* [slot] */
    size_t capacity;
};

/* What the network sees of a waiting job beside the state. */
struct adl_job_outlook {
    const struct adl_corrections *corrections;
    const struct adl_type_prices *prices;
    double typical_us; /* usual run time; 0 = not known */
    double rest_us, need_us;
};

/* The network of a model if that is one, else the shipped one. 0, or ADL_EINVAL if the model is damaged. */
int adl_job_factors_load(struct adl_job_factors *factors, bool on, const void *model, size_t size,
                         struct adl_error *err);
void adl_job_factors_clear(struct adl_job_factors *factors);                              /* frees */
int adl_job_factors_copy(struct adl_job_factors *to, const struct adl_job_factors *from); /* 0 or ADL_ENOMEM */

/* A job joins the queue: all are 1, unless it waited in that slot before. 0 or ADL_ENOMEM. */
int adl_job_factors_join(struct adl_job_factors *factors, const struct adl_state *state, uint32_t slot);

/* The factors of a waiting job, as they are now or were a short while ago. */
const struct adl_rank_factors *adl_job_factors_find(struct adl_job_factors *factors, const struct adl_state *state,
                                                    const struct adl_job_outlook *outlook, uint32_t slot);

#endif
