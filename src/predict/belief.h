/* belief: what is believed of the run time of each live job: its distribution on each GPU type, given what the job has
 * run so far, and how sure that is. The engine owns it and tells it every event; policies read it (adl_state.belief).
 *
 * The point prediction. Declared: the user's limit holds for the slowest type the job accepts; on faster types it is
 * scaled by the ratio of speeds by specification for that kind of job. Learned: the time on the best type is predicted
 * from completed jobs (predict/similar.h), and scaled to other types by measured speeds (predict/speeds.h), until there
 * are any in the same way. Oracle: the world tells the true times.
 *
 * A job that says how many steps it has left is believed, at the speed that it reports, until that turns out wrong.
 *
 * The distribution around it: how actual run times related to such predictions so far (predict/residuals.h), in every
 * regime, because everyone sees jobs end.
 *
 * All data come in through events: equal sequences of events give equal beliefs. */
#ifndef ADLRO_PREDICT_BELIEF_H
#define ADLRO_PREDICT_BELIEF_H

#include "base/error.h"
#include "model/cluster.h"
#include "model/event.h"
#include "predict/belief_bytes.h"
#include "state/state.h"

/* Completed jobs that run times are predicted from: a larger history did not improve campus512. */
#define ADL_REMEMBERED_JOBS 4096

struct adl_belief;

/* Of a whole job [type], 0 = not acceptable. */
struct adl_runtimes {
    bool alike;                       /* they are the same on every placement: across_us is not set */
    int64_t best_us[ADL_TYPES_MAX];   /* on the best placement that the type has */
    int64_t across_us[ADL_TYPES_MAX]; /* across nodes */
};

int adl_belief_create(const struct adl_cluster *cluster, bool learned, struct adl_belief **ret); /* 0 or ADL_ENOMEM */

/* For a policy that corrects predictions by completed jobs itself: from now on, in every regime, speeds on GPU types
 * are those that jobs reported, else those by specification. 0 or ADL_ENOMEM. */
int adl_belief_take_reported(struct adl_belief *belief);

/* Before the first event: nobody will read distributions, certainties, counts, calibration or bytes, only the predicted
 * run times that the state has. They cost as much as the rest of an event. */
void adl_belief_take_points_only(struct adl_belief *belief);

void adl_belief_destroy(struct adl_belief *belief);             /* accepts NULL */
void adl_belief_reset(struct adl_belief *belief);               /* forgets all but similar jobs and their speeds */
int adl_belief_reserve(struct adl_belief *belief, size_t jobs); /* room for that many live jobs; 0 or ADL_ENOMEM */

/* Takes over what another of the same cluster has learned, which gets what this one has. */
void adl_belief_inherit(struct adl_belief *belief, struct adl_belief *from);
int adl_belief_copy(struct adl_belief *to,
                    const struct adl_belief *from); /* created in the same way; 0 or ADL_ENOMEM */

/* What it has learned, as bytes (predict/belief_bytes.h); and back, in place of what it has learned. On failure it
 * stays as it was. With a drift, not NULL, that is written, too, and replaced if the bytes have one of this cluster. */
void adl_belief_encode(const struct adl_belief *belief, struct adl_drift *drift, const struct adl_belief_terms *terms,
                       struct adl_text *ret);
int adl_belief_decode(struct adl_belief *belief, struct adl_drift *drift, const void *bytes, size_t size,
                      const struct adl_belief_terms *terms, struct adl_belief_account *ret, struct adl_error *err);

/* A live job asks for something else: what is believed of it stays, times what the change does to a new prediction. In
 * times, its run times before; for a type that it did not accept, a new prediction. */
void adl_belief_change(struct adl_belief *belief, uint32_t slot, const struct adl_job_spec *from,
                       const struct adl_job_spec *to, int64_t now_us, struct adl_runtimes *times);

/* Jobs that run are known to take longer than they have: before a SUBMIT. */
void adl_belief_age(struct adl_belief *belief, const struct adl_state *state, int64_t now_us);

/* The job that a SUBMIT tells of. ADL_ENOMEM only if its slot is beyond what is reserved; what follows allocates
 * nothing. */
int adl_belief_admit(struct adl_belief *belief, const struct adl_event *event, struct adl_runtimes *ret);

/* A running job was not seen before that time, or a belief that was read has counted it until then: life tables count
 * it from there on. */
void adl_belief_enter(struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t time_us);

/* Speeds of a type are believed to be this, relative to when it was first seen (predict/drift/drift.h). */
void adl_belief_set_type_speed(struct adl_belief *belief, uint32_t type, double speed);

/* From a FINISH, EVICT or PROGRESS, before the state knows of it. */
void adl_belief_learn(struct adl_belief *belief, const struct adl_event *event, const struct adl_state *state);

/* Ends of jobs teach it nothing from now on, or again: of a copy that plays a future. Run times that were drawn from
 * what it believes would teach it only what chance made of them. */
void adl_belief_freeze(struct adl_belief *belief, bool frozen);
bool adl_belief_is_frozen(const struct adl_belief *belief); /* then policies that learn from ends do not, either */

/* ---- what policies read, of a live job ----
 *
 * All times are run times on the job's best type; multiply by adl_belief_type_factor for another. done_us is how much
 * the job has run: ask with adl_belief_done_us for a job that goes on, with 0 for the whole. Each costs O(bins), less
 * than a microsecond. */

/* A waiting job that was admitted again has done this much before, as time on its best type. */
void adl_belief_set_done(struct adl_belief *belief, uint32_t slot, double done_us);

/* What all attempts so far amount to, less what stops lost. */
double adl_belief_done_us(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot);

/* The rest of the run: its quantile (0 <= q < 1; 0.5 is the median) and its mean. Neither decreases a deadline: done +
 * rest grows with done. */
double adl_belief_quantile_us(const struct adl_belief *belief, uint32_t slot, double done_us, double q);
double adl_belief_mean_us(const struct adl_belief *belief, uint32_t slot, double done_us);

/* When a running job ends, by the quantile q of the rest of its run on the GPUs that it has, seen at now_us; its limit
 * ends it, if not before. */
int64_t adl_belief_end_us(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t now_us,
                          double q);

/* The probability that was given to the whole of a job taking no longer than this: 0.5 = it took the median. */
double adl_belief_rank(const struct adl_belief *belief, uint32_t slot, double whole_us);

/* The same for several, of a job that has run done_us. */
void adl_belief_ranks(const struct adl_belief *belief, uint32_t slot, double done_us, const double *whole_us, int count,
                      double *ret);

/* Expected run time that a completion costs: the reciprocal of the Gittins index. Beside the mean it counts that the
 * job may be stopped again as soon as it turns out to be long. */
double adl_belief_cost_us(const struct adl_belief *belief, uint32_t slot, double done_us);

/* Run time on a type relative to the best type, on the best placement or across nodes; 0 = it cannot run there. In
 * regime learned by the speeds that are known now, not when the job came. */
double adl_belief_type_factor(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot,
                              uint32_t type, bool across);

/* The factor across nodes is known: the world tells it, or jobs like this one have run across nodes. Else it is that in
 * one node. */
bool adl_belief_knows_across(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot);

/* The same on the best placement for all types, by index, until the belief or its speeds change; NULL: ask for each. */
const double *adl_belief_type_factors(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot);

/* How sure it is. */
struct adl_certainty {
    bool steps;          /* from the steps that the job reports */
    double spread;       /* standard deviation of the logarithm of the run time among similar jobs; 0: none known */
    uint32_t neighbours; /* similar jobs that it is predicted from; 0: from the limit, or told by the world */
    uint64_t learned;    /* ended jobs that the distribution rests on */
};
struct adl_certainty adl_belief_certainty(const struct adl_belief *belief, uint32_t slot);

/* Whether predictions hold. */
struct adl_calibration *adl_belief_calibration(struct adl_belief *belief);

/* Begins to load what is believed of the jobs in so many slots (base/fetch.h). */
void adl_belief_fetch(const struct adl_belief *belief, uint32_t slots);

/* Jobs whose end was learned from, in all: grows with each. */
uint64_t adl_belief_count(const struct adl_belief *belief);

#endif
