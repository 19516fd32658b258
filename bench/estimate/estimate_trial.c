#include "estimate_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void trial_check(int status, const struct adl_error *err)
{
    if (status == 0)
        return;
    fprintf(stderr, "bench_estimate: %s\n", err->text);
    exit(1);
}

void *trial_must_have(void *memory)
{
    if (!memory) {
        fprintf(stderr, "bench_estimate: out of memory\n");
        exit(1);
    }
    return memory;
}

void tally_add(struct tally *tally, double off)
{
    tally->sum += fabs(off);
    tally->count += 1;
}

double tally_mean(const struct tally *tally)
{
    return tally->count > 0 ? tally->sum / tally->count : NAN;
}

bool out_of(const struct adl_lab *lab, uint32_t families, uint32_t job)
{
    return families >> lab->family[job] & 1;
}

static void keep(struct answers *answers, struct answer answer)
{
    if (adl_grow((void **)&answers->items, &answers->capacity, answers->count + 1, sizeof *answers->items))
        trial_must_have(NULL);
    answers->items[answers->count++] = answer;
}

/* Everything measured of the jobs outside of the families; of job, or of all inside, the submission. */
static struct adl_estimates *meet(struct trial *trial, const struct adl_text *model, uint32_t families, bool pairs,
                                  uint32_t job)
{
    const struct adl_lab *lab = &trial->lab;
    struct adl_estimates *e = NULL;
    struct adl_error err;
    trial_check(adl_estimates_create(&trial->cluster, ADL_LAB_JOBS, model->data, model->size, &e, &err), &err);
    for (uint32_t j = 0; j < lab->job_count; j++) {
        if (out_of(lab, families, j))
            continue;
        trial->profile[j] = adl_estimates_profile(e, &lab->jobs[j], false);
        for (uint32_t t = 0; t < lab->type_count; t++)
            if (!isnan(lab->rate[j][t]))
                adl_estimates_measure(e, trial->profile[j], t, ADL_NONE, exp(lab->rate[j][t]));
    }
    for (uint32_t a = 0; a < lab->job_count && pairs; a++)
        for (uint32_t b = 0; b < lab->job_count; b++)
            for (uint32_t t = 0; t < lab->type_count && !out_of(lab, families, a) && !out_of(lab, families, b); t++)
                if (!isnan(lab->share[a][b][t]))
                    adl_estimates_measure(e, trial->profile[a], t, trial->profile[b],
                                          exp(lab->rate[a][t] + lab->share[a][b][t]));
    for (uint32_t j = 0; j < lab->job_count; j++)
        if (out_of(lab, families, j) && (job == ADL_NONE || job == j))
            trial->profile[j] = adl_estimates_profile(e, &lab->jobs[j], false);
    return e;
}

static struct answer judge(const struct adl_estimate *found, double truth, int kind, uint32_t stage, int fold)
{
    return (struct answer){.off = (float)(log(found->steps_per_s) - truth),
                           .half = (float)(0.5 * log(found->high / found->low)),
                           .kind = (uint8_t)kind,
                           .stage = (uint8_t)stage,
                           .fold = (uint8_t)fold};
}

static void measure_alone(struct trial *trial, struct adl_estimates *e, uint32_t job, uint32_t type)
{
    if (!isnan(trial->lab.rate[job][type]))
        adl_estimates_measure(e, trial->profile[job], type, ADL_NONE, exp(trial->lab.rate[job][type]));
}

void ask_rates(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
               struct answers *ret)
{
    const struct adl_lab *lab = &trial->lab;
    for (uint32_t j = 0; j < lab->job_count; j++)
        for (uint32_t first = 0; first < GAVEL_TYPES && out_of(lab, asked, j); first++) {
            struct adl_estimates *e = meet(trial, model, families | asked, false, j);
            for (uint32_t stage = 0; stage < GAVEL_TYPES; stage++) {
                for (uint32_t t = stage; t < GAVEL_TYPES; t++) {
                    struct adl_estimate found;
                    const uint32_t type = (first + t) % GAVEL_TYPES;
                    adl_estimates_find(e, trial->profile[j], type, ADL_NONE, &found);
                    if (!isnan(lab->rate[j][type]))
                        keep(ret, judge(&found, lab->rate[j][type], TRIAL_RATE, stage, fold));
                }
                measure_alone(trial, e, j, (first + stage) % GAVEL_TYPES);
            }
            adl_estimates_destroy(e);
        }
}

bool in_question(const struct adl_lab *lab, uint32_t families, uint32_t asked, uint32_t a, uint32_t b, uint32_t t)
{
    const bool about = out_of(lab, asked, a) || out_of(lab, asked, b);
    const uint32_t hidden = families & ~asked;
    return about && !out_of(lab, hidden, a) && !out_of(lab, hidden, b) && !isnan(lab->share[a][b][t]);
}

static void ask_share(struct trial *trial, const struct adl_estimates *e, uint32_t a, uint32_t b, uint32_t t,
                      uint32_t stage, int fold, struct answers *ret)
{
    struct adl_estimate alone, beside;
    adl_estimates_find(e, trial->profile[a], t, ADL_NONE, &alone);
    adl_estimates_find(e, trial->profile[a], t, trial->profile[b], &beside);
    const double guess = log(beside.steps_per_s / alone.steps_per_s), truth = trial->lab.share[a][b][t];
    /* The interval of the rate beside is made of those of the rate alone and of the share. */
    const double both = log(beside.high / beside.low), rate = log(alone.high / alone.low);
    keep(ret, (struct answer){.off = (float)(guess - truth),
                              .half = (float)(0.5 * sqrt(both * both - rate * rate)),
                              .ratio_off = (float)(exp(guess) - exp(truth)),
                              .kind = TRIAL_SHARE,
                              .stage = (uint8_t)stage,
                              .fold = (uint8_t)fold});
}

void ask_cold_shares(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
                     struct answers *ret)
{
    struct adl_estimates *e = meet(trial, model, families | asked, true, ADL_NONE);
    for (uint32_t t = 0; t < GAVEL_TYPES; t++)
        for (uint32_t a = 0; a < trial->lab.job_count; a++)
            for (uint32_t b = 0; b < trial->lab.job_count; b++)
                if (in_question(&trial->lab, families, asked, a, b, t))
                    ask_share(trial, e, a, b, t, 0, fold, ret);
    adl_estimates_destroy(e);
}

uint32_t pick_pairs(const struct adl_lab *lab, uint32_t families, uint32_t job, uint32_t ret[STAGES - 1][2])
{
    struct adl_rng rng;
    uint32_t count = 0;
    adl_rng_seed(&rng, job, "pairs to measure");
    for (int i = 0; i < 1000 && count < STAGES - 1; i++) {
        const uint32_t b = adl_rng_below(&rng, lab->job_count), t = (count + job) % GAVEL_TYPES;
        if (out_of(lab, families, b) || isnan(lab->share[job][b][t]))
            continue;
        ret[count][0] = b;
        ret[count++][1] = t;
    }
    return count;
}

bool is_picked(uint32_t picked[STAGES - 1][2], uint32_t count, uint32_t b, uint32_t t)
{
    for (uint32_t i = 0; i < count; i++)
        if (picked[i][0] == b && picked[i][1] == t)
            return true;
    return false;
}

void ask_refined_shares(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
                        struct answers *ret)
{
    const struct adl_lab *lab = &trial->lab;
    for (uint32_t j = 0; j < lab->job_count; j++) {
        uint32_t picked[STAGES - 1][2];
        if (!out_of(lab, asked, j))
            continue;
        struct adl_estimates *e = meet(trial, model, families | asked, true, j);
        const uint32_t count = pick_pairs(lab, families | asked, j, picked);
        for (uint32_t t = 0; t < GAVEL_TYPES; t++)
            measure_alone(trial, e, j, t);
        for (uint32_t stage = 1; stage <= count; stage++) {
            const uint32_t beside = picked[stage - 1][0], type = picked[stage - 1][1];
            adl_estimates_measure(e, trial->profile[j], type, trial->profile[beside],
                                  exp(lab->rate[j][type] + lab->share[j][beside][type]));
            for (uint32_t b = 0; b < lab->job_count; b++)
                for (uint32_t t = 0; t < GAVEL_TYPES; t++)
                    if (!out_of(lab, families | asked, b) && !isnan(lab->share[j][b][t]) &&
                        !is_picked(picked, count, b, t))
                        ask_share(trial, e, j, b, t, stage, fold, ret);
        }
        adl_estimates_destroy(e);
    }
}

/* The rate in every cell of a new job, alone (b past the last job) and beside each known one, but those measured alone,
 * which are the first `stage` types from `first` on. cold: what each was off before anything was measured. */
static void judge_cells(struct trial *trial, const struct adl_estimates *e, uint32_t families, uint32_t j,
                        uint32_t first, uint32_t stage, int fold, double cold[ADL_LAB_JOBS + 1][GAVEL_TYPES],
                        struct answers *ret)
{
    const struct adl_lab *lab = &trial->lab;
    for (uint32_t i = 0; i < (lab->job_count + 1) * GAVEL_TYPES; i++) {
        struct adl_estimate found;
        const uint32_t t = i % GAVEL_TYPES, b = i / GAVEL_TYPES;
        const bool alone = b == lab->job_count, measured = alone && (t + GAVEL_TYPES - first) % GAVEL_TYPES < stage;
        const double truth = lab->rate[j][t] + (alone ? 0 : lab->share[j][b][t]);
        if (isnan(truth) || measured || (!alone && out_of(lab, families, b)))
            continue;
        adl_estimates_find(e, trial->profile[j], t, alone ? ADL_NONE : trial->profile[b], &found);
        struct answer answer = judge(&found, truth, TRIAL_CELL, stage, fold);
        if (stage == 0)
            cold[b][t] = (double)answer.off;
        answer.cold_off = (float)cold[b][t];
        keep(ret, answer);
    }
}

void ask_cells(struct trial *trial, const struct adl_text *model, uint32_t families, uint32_t asked, int fold,
               struct answers *ret)
{
    double cold[ADL_LAB_JOBS + 1][GAVEL_TYPES];
    for (uint32_t j = 0; j < trial->lab.job_count; j++)
        for (uint32_t first = 0; first < GAVEL_TYPES && out_of(&trial->lab, asked, j); first++) {
            struct adl_estimates *e = meet(trial, model, families | asked, true, j);
            for (uint32_t stage = 0; stage < STAGES; stage++) {
                judge_cells(trial, e, families | asked, j, first, stage, fold, cold, ret);
                if (stage < GAVEL_TYPES)
                    measure_alone(trial, e, j, (first + stage) % GAVEL_TYPES);
            }
            adl_estimates_destroy(e);
        }
}
