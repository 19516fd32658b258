/* whatif: what would be different if one thing were: futures of a state, and of the same state with a change, with the
 * same draws (twin/fork.h).
 *
 * Differences are of pairs: the same future with and without the change. Their interval is what nine of ten pairs lie
 * within, so it says how sure one can be of the one future that will come. */
#ifndef ADLRO_TWIN_WHATIF_H
#define ADLRO_TWIN_WHATIF_H

#include "base/text.h"
#include "twin/fork.h"

#define ADL_CHANGE_TEXT  128
#define ADL_CHANGES_MAX  16
#define ADL_WHATIF_LEAST 4 /* futures that an answer should rest on, and that say how far to play */

/* What is different. All that is not set stays. */
struct adl_change {
    /* Of the job: types that it accepts as well, or instead; 0 = as it is. */
    uint32_t add_types, set_types;
    uint16_t gpus;
    int64_t limit_us;
    bool has_priority;
    float priority;
    /* Of all: */
    const struct adl_policy_ops *policy;
    struct adl_policy_config policy_config; /* with policy */
    uint32_t nodes, node_type, node_gpus;   /* that many more nodes, each with that many GPUs of one type */
    bool drains;
    uint32_t drain_node;
    int64_t drain_us;           /* when */
    char text[ADL_CHANGE_TEXT]; /* in words: "allowing a100" */
    char type[ADL_NAME_SIZE];   /* of a choice that allows another type: its name */
};

struct adl_whatif_config {
    struct adl_fork_config fork; /* of the base engine; its observer is not used */
    const struct adl_recent *recent;
    uint64_t seed;
    uint32_t futures;                           /* at most */
    double horizon_s;                           /* how far futures are played at most */
    uint64_t events_max;                        /* of a future; 0 = no limit */
    bool of_job;                                /* a job is meant ... */
    uint64_t job;                               /* ... by its number */
    const struct adl_job_spec *submit;          /* or it is submitted now, with all alternatives; NULL = none */
    bool (*go_on)(void *self, uint32_t played); /* asked before each future; NULL = all are played */
    void *self;
};

/* Of the values of all futures: the 10th, 50th and 90th percentile. */
struct adl_odds {
    double p10, p50, p90;
};

/* Of pairs of futures: their mean, and what nine of ten lie within. */
struct adl_difference {
    double mean, lo, hi;
};

/* Of a job, in seconds from now; ends and starts that did not come count as the end of what was played. */
struct adl_prospect {
    struct adl_odds start_s, end_s;
    double job_energy_j; /* mean */
    uint32_t never;      /* futures in which it does not start */
};

struct adl_answer {
    struct adl_change change;
    bool possible;
    char why_not[256]; /* if it is not possible */
    struct adl_prospect job;
    /* With the change less without it: */
    struct adl_difference start_s, end_s, job_energy_j;
    struct adl_difference jct_s; /* mean JCT of all jobs that are there or arrive, until the end of what was played */
    struct adl_difference others_s; /* the same of all other jobs */
    struct adl_difference energy_j; /* of all GPUs */
    double sooner;                  /* share of the futures in which the job starts sooner */
};

struct adl_whatif {
    struct adl_prospect job; /* as it is; meaningless without a job */
    bool runs;               /* the job has started already */
    uint32_t futures;        /* that were played */
    double played_s;         /* how far */
    uint32_t jobs;           /* in the means: those that are there, and those that arrive in the first future */
};

/* Plays all alternatives. Those that are not possible say why. ADL_EABSENT: there is no such job. ADL_EREFUSED: it may
 * not go on, and nothing was played. */
int adl_whatif_play(const struct adl_whatif_config *config, struct adl_answer *alternatives, uint32_t count,
                    struct adl_whatif *ret, struct adl_error *err);

/* Changes of its request that a user could make so that a waiting job starts sooner: each further type, fewer GPUs, a
 * shorter limit if it is expected to be long enough, more priority up to priority_max. Returns how many. */
uint32_t adl_whatif_choices(const struct adl_whatif_config *config, double priority_max,
                            struct adl_answer ret[ADL_CHANGES_MAX]);

/* Whether a change makes the job start sooner, in at least half of the futures, and by a minute or a twentieth of its
 * wait on average; and not end later by as much, as it may on a slower type. */
bool adl_answer_helps(const struct adl_answer *alternative, const struct adl_whatif *whatif);

/* The change that helps and costs other jobs least; of equal ones the one that helps most. ADL_NONE: none helps. */
uint32_t adl_whatif_cheapest(const struct adl_answer *alternatives, uint32_t count, const struct adl_whatif *whatif);

/* In words: "allowing a100: starts 40 min sooner (25 min to 55 min), 0.3 kWh less; ...". */
void adl_answer_say(const struct adl_answer *alternative, const struct adl_whatif *whatif, bool of_job,
                    struct adl_text *ret);

/* The whole answer as members of an open JSON object. cheapest: of adl_whatif_cheapest(), or ADL_NONE. */
struct adl_json;
void adl_whatif_put(struct adl_json *json, const struct adl_whatif *whatif, bool of_job,
                    const struct adl_answer *alternatives, uint32_t count, uint32_t cheapest);

#endif
