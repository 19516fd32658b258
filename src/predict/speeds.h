/* speeds: how fast a job runs on each GPU type, for every policy in regime learned: from speeds that running jobs
 * reported, by P1 and P2 (predict/estimates.h); where no job like it has, from run times of completed jobs
 * (predict/speed_regression.h). For adlro in every regime, but only from reported speeds. */
#ifndef ADLRO_PREDICT_SPEEDS_H
#define ADLRO_PREDICT_SPEEDS_H

#include "predict/estimates.h"
#include "state/state.h"

struct adl_speeds;

/* Of a kind of job on a type, in units of its own: only quotients mean something. */
double adl_speed_by_specification(const struct adl_gpu_type *type, int kind);

int adl_speeds_create(const struct adl_cluster *cluster, struct adl_speeds **ret, struct adl_error *err);
void adl_speeds_destroy(struct adl_speeds *speeds);                         /* accepts NULL */
void adl_speeds_copy(struct adl_speeds *to, const struct adl_speeds *from); /* of the same cluster */

/* A running job reported its speed. This and find allocate nothing. */
void adl_speeds_measure(struct adl_speeds *speeds, const struct adl_state *state, uint32_t slot, double steps_per_s);

/* A job that holds GPUs completed. specified: its speed [type] by specification. */
void adl_speeds_complete(struct adl_speeds *speeds, const struct adl_state *state, uint32_t slot, int64_t run_us,
                         const double *specified);

/* Speeds of such a job [type] relative to each other, on the best placement that the type has and across nodes; 0 = not
 * acceptable. */
struct adl_job_speeds {
    double here[ADL_TYPES_MAX], across[ADL_TYPES_MAX];
    bool across_known; /* else nobody has run across nodes, and it is taken to be as fast as in one */
};

/* NULL if nothing is known of jobs like it: specifications are all there is. specified NULL: only from speeds that
 * running jobs reported; all calls have it or none. Valid until the next call. */
const struct adl_job_speeds *adl_speeds_find(struct adl_speeds *speeds, const struct adl_job_spec *spec,
                                             const double *specified);

/* Number of the last change: until the next one the same is found. */
static inline uint64_t adl_speeds_change(const struct adl_speeds *speeds)
{
    return *(const uint64_t *)(const void *)speeds; /* the first member; it is read very often */
}

/* As bytes, and back into one that was not told anything; on failure it is to be destroyed. */
void adl_speeds_encode(const struct adl_speeds *speeds, struct adl_text *ret);
int adl_speeds_decode(struct adl_speeds *speeds, struct adl_unpack *from, const struct adl_translation *to,
                      struct adl_estimate_account *ret, struct adl_error *err);

#endif
