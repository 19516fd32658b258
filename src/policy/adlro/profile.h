/* profile: what is believed to be free in the whole cluster, and when (policy/adlro/node_profile.h), indexed so that
 * the best opening on a type is found without reading every node. */
#ifndef ADLRO_POLICY_ADLRO_PROFILE_H
#define ADLRO_POLICY_ADLRO_PROFILE_H

#include "policy/adlro/node_profile.h"

struct adl_free_profile;
struct adl_corrections;
struct adl_rest_factors;

/* switch_us: how long a job takes to stop. 0 or ADL_ENOMEM. */
int adl_free_profile_create(const struct adl_cluster *cluster, const struct adl_corrections *corrections,
                            int64_t switch_us, struct adl_free_profile **ret);
void adl_free_profile_destroy(struct adl_free_profile *profile);                              /* accepts NULL */
void adl_free_profile_copy(struct adl_free_profile *to, const struct adl_free_profile *from); /* of the same cluster */

void adl_free_profile_reset(struct adl_free_profile *profile); /* as after create */

/* A job leaves its GPUs, or something else changes there. Call before the state knows of it. */
void adl_free_profile_forget_job(struct adl_free_profile *profile, const struct adl_state *state, uint32_t slot);

/* A new decision: nothing is planned. all: free GPUs of all types are on offer; else only of types of which more are
 * free than the last decision left: it had no use for those. */
void adl_free_profile_begin(struct adl_free_profile *profile, const struct adl_state *state, bool all);

/* What an opening is looked for by. */
struct adl_seek {
    const struct adl_rest_factors *factors; /* of the job */
    double rest_us;                         /* what is left of it on its best type */
    double delay_weight;
    double each;    /* cost of run time; openings for which wait + each * run time is most_us or more may be left out */
    double most_us; /* HUGE_VAL: none is */
};

/* The opening on a type for which wait + delay_weight * delay is least. A gang that may span nodes does so if it then
 * ends earlier. */
void adl_free_profile_find(struct adl_free_profile *profile, uint32_t type, const struct adl_seek *seek,
                           struct adl_opening *ret);

/* The same, now and without delay; another one, or none, if there is none now. */
void adl_free_profile_find_now(struct adl_free_profile *profile, const struct adl_rest_factors *factors, uint32_t type,
                               double rest_us, struct adl_opening *ret);

/* The opening in one bank that delays nobody. */
void adl_free_profile_find_in(const struct adl_free_profile *profile, uint32_t slot, uint32_t bank, int64_t run_us,
                              struct adl_opening *ret);

/* The job takes an opening. If that starts now its GPUs are written; false if they were not all found. */
bool adl_free_profile_take(struct adl_free_profile *profile, uint32_t slot, uint32_t type,
                           const struct adl_opening *opening, uint32_t *ret_gpus);

/* GPUs of a type that are free now and that no job of this decision took. */
uint32_t adl_free_profile_free_now(const struct adl_free_profile *profile, uint32_t type);

/* The same, of those on offer. */
uint32_t adl_free_profile_offered(const struct adl_free_profile *profile, uint32_t type);
bool adl_free_profile_any_offered(const struct adl_free_profile *profile); /* of any type */

/* Begins to load what is believed to be free (base/fetch.h). */
void adl_free_profile_fetch(const struct adl_free_profile *profile);

/* Types on offer that have as many as the job needs. */
uint32_t adl_free_profile_room_types(const struct adl_free_profile *profile, uint32_t slot); /* mask */
bool adl_free_profile_room_for(const struct adl_free_profile *profile, uint32_t slot);       /* any */

/* The same of a bank, with what its node has. */
struct adl_room {
    int64_t gpus, cores, memory_mib;
};
struct adl_room adl_free_profile_room(const struct adl_free_profile *profile, uint32_t bank);

#endif
