/* estimate_trial: asks the estimates, through their door, about Gavel's jobs of families that they do not know. */
#ifndef ADLRO_BENCH_ESTIMATE_TRIAL_H
#define ADLRO_BENCH_ESTIMATE_TRIAL_H

#include "estimate_baselines.h"
#include "estimator/estimator_trainer.h"
#include "gavel_lab.h"
#include "predict/estimates.h"

enum { STAGES = 4 /* measurements so far: 0 to 3 */ };
void trial_check(int status, const struct adl_error *err);
void *trial_must_have(void *memory);

/* A mean of absolute errors. */
struct tally {
    double sum, count;
};

void tally_add(struct tally *tally, double off);
double tally_mean(const struct tally *tally);

/* What a guess was about. */
enum trial_kind {
    TRIAL_RATE,  /* alone; stage: types it was measured on */
    TRIAL_SHARE, /* beside another; stage: own cells beside others that were measured */
    TRIAL_CELL,  /* rate of any cell, alone or beside; stage: types it was measured on */
    TRIAL_KINDS
};

struct answer {
    float off, half; /* of the logarithm */
    float ratio_off; /* of a share as a ratio */
    float cold_off;  /* of the same cell before anything was measured */
    uint8_t kind, stage, fold;
};

struct answers {
    struct answer *items;
    size_t count, capacity;
};

struct trial {
    struct adl_lab lab;
    struct adl_cluster cluster;
    uint32_t profile[ADL_LAB_JOBS];
};

bool out_of(const struct adl_lab *lab, uint32_t families, uint32_t job);

/* Cold, and after each measurement alone, on the types that were not measured; each type is measured first once. */
void ask_rates(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
               struct answers *ret);

/* A cell about a job that is asked for and not about one that is hidden. */
bool in_question(const struct adl_lab *lab, uint32_t families, uint32_t asked, uint32_t a, uint32_t b, uint32_t t);

/* Cold: all cells of two jobs of which at least one is new. */
void ask_cold_shares(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
                     struct answers *ret);

/* The cells beside known jobs that are measured of a new one, the same for every model: spread over types and jobs. */
uint32_t pick_pairs(const struct adl_lab *lab, uint32_t families, uint32_t job, uint32_t ret[STAGES - 1][2]);

bool is_picked(uint32_t picked[STAGES - 1][2], uint32_t count, uint32_t b, uint32_t t);

/* After one, two, three cells beside others, its rates alone known: the cells beside known jobs that are left. */
void ask_refined_shares(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
                        struct answers *ret);

/* While a new job is measured alone on one type after the other, each type being the first once. */
void ask_cells(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
               struct answers *ret);

#endif
