/* belief_internal: private header of belief.c (what is learned), belief_predict.c (what is predicted of a job that
 * comes) and belief_read.c (what is read of a job). */
#ifndef ADLRO_PREDICT_BELIEF_INTERNAL_H
#define ADLRO_PREDICT_BELIEF_INTERNAL_H

#include "predict/belief.h"
#include "predict/owner_residuals.h"
#include "predict/similar.h"
#include "predict/speeds.h"

/* What predictions rest on; each kind errs in its own way. */
enum basis {
    BY_WORLD,              /* the truth */
    BY_LIMIT,              /* the user's limit */
    BY_NEIGHBOURS,         /* similar jobs */
    BY_LIMITED_NEIGHBOURS, /* the same, of a job that has a limit */
    BY_STEPS,              /* the steps that the job says it has left, at the speed it reports */
    BASIS_COUNT,
};

/* A live job. */
struct believed {
    double predicted_us; /* of the whole, on the best type */
    double done_us;      /* kept by earlier attempts, as time on the best type */
    float spread;
    uint32_t neighbours;
    uint8_t basis;              /* enum basis */
    bool doubted;               /* it has said of its steps what was not so */
    double told_us, told_at_us; /* the rest by its steps, when it had run that; 0 = it does not say */
    struct adl_life life;       /* what life tables have counted of it */
    int64_t due_us;             /* when they are to count it next */
    uint64_t owner_key;         /* of the owner's residuals; 0 = those of all hold */
};

/* The mean of what a whole job takes, relative to its prediction, by the residuals and the shape of a basis: many jobs
 * ask for the same between two ends. */
struct whole_mean {
    double mean[BY_NEIGHBOURS];    /* of BY_WORLD and BY_LIMIT, whose shapes are fixed */
    uint64_t count[BY_NEIGHBOURS]; /* that the residuals had learned then, + 1; 0 = not computed */
};

/* Of each live job: run times on all types relative to its best, while no speed changes, because they are read often.
 */
struct type_factors {
    double *of; /* [slot][across][type] */
    struct known_factors {
        uint64_t change[2]; /* [across] of speeds (adl_speeds_change), after which they were found; 0 = never */
    } * known;              /* [slot] */
    size_t of_capacity, known_capacity;
};

struct adl_belief {
    const struct adl_cluster *cluster;
    double spec_speed[ADL_KIND_COUNT][ADL_TYPES_MAX]; /* relative speed by specification */
    struct adl_similar *similar;                      /* NULL unless run times are learned */
    struct adl_speeds *speeds;                        /* the same, or reported; NULL, too, if there is one type */
    bool reported;                                    /* speeds are those that jobs reported, no others */
    struct adl_residuals residuals[BASIS_COUNT];
    struct adl_owner_residuals *owners; /* BY_NEIGHBOURS; NULL unless run times are learned */
    struct whole_mean *whole;           /* computed when it is first asked for */
    struct type_factors *factors;       /* the same */
    struct adl_calibration calibration;
    double type_speed[ADL_TYPES_MAX]; /* by drift; 1 */
    struct believed *jobs;            /* [slot] */
    struct adl_shape *shapes;         /* [slot] of predictions by neighbours; NULL unless run times are learned */
    size_t job_capacity, shape_capacity;
    struct adl_shape world_shape, limit_shape, steps_shape; /* of what the world, limits and jobs' steps say */
    uint32_t slots, next_visit; /* slots that ever had a job, and whose age is looked at next */
    bool frozen;                /* nothing is learned: a future teaches what was drawn from here */
    bool points_only;           /* nobody reads the distributions: nothing is learned for them */
};

/* How the run times of jobs like this one are spread. */
static inline const struct adl_shape *adl_belief_shape_of(const struct adl_belief *belief, uint32_t slot)
{
    const uint8_t basis = belief->jobs[slot].basis;
    return basis == BY_WORLD ? &belief->world_shape : basis == BY_LIMIT ? &belief->limit_shape : &belief->shapes[slot];
}

/* Whether something is known of each live job. */
static inline bool adl_belief_keeps_jobs(const struct adl_belief *belief)
{
    return !belief->points_only || belief->similar;
}

/* The speeds of a job; NULL: specifications are all there is. */
static inline const struct adl_job_speeds *adl_belief_known_speeds(const struct adl_belief *belief,
                                                                   const struct adl_job_spec *spec)
{
    return belief->speeds
               ? adl_speeds_find(belief->speeds, spec, belief->reported ? NULL : belief->spec_speed[spec->kind])
               : NULL;
}

/* Speeds [type] of one kind of job, measured or by specification. */
struct adl_belief_speeds {
    double here[ADL_TYPES_MAX], across[ADL_TYPES_MAX]; /* on the best placement; across nodes */
    double best, slowest;                              /* of those here, on types that it accepts */
    bool alike;                                        /* across nodes as here */
};

void adl_belief_find_speeds(const struct adl_belief *belief, const struct adl_job_spec *spec,
                            struct adl_belief_speeds *ret);

/* Run time of a job so far, up to a time. */
double adl_belief_age_us(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t now_us);

/* Run time of a job on the GPUs that it has, the slowest of which decides, relative to its best type. */
double adl_belief_here_factor(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot);

/* The distribution of what a job takes relative to its prediction; in *room, if it is the owner's. */
const struct adl_residuals *adl_belief_residuals_of(const struct adl_belief *belief, const struct believed *job,
                                                    struct adl_residuals *room);

#endif
