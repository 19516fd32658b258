/* sample: what one measurement says about its kind of job, the type of its GPUs, and each of them. */
#include "base/real.h"
#include "predict/drift/internal.h"

#include <math.h>

#define MEAN       0.7979 /* of the absolute value of a standard normal variable */
#define QUIETEST   0.005  /* least standard deviation of a sample */
#define STEP       0.02   /* relative step of the noise with each sample */
#define ABREAST    4      /* GPUs of a type that must change together */
#define MAJORITY   0.8    /* of the samples since a change that must show it */
#define SETTLED    64     /* samples since a GPU changed */
#define RELIABLE   8      /* jobs of a kind */
#define OWN        4      /* samples of a job that it is compared with, at least */
#define OWN_MEMORY 16     /* and at most */
#define SURE       0.95   /* probability that a GPU is the slow one of its gang */

/* A gang is as fast as its slowest GPU. */
static uint32_t slowest_of(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    const struct adl_drift_track *tracks = drift->tracks[sample->channel];
    uint32_t slowest = sample->gpu;
    for (uint32_t gpu = adl_drift_next_gpu(sample, slowest); gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
        slowest = tracks[gpu].deviation < tracks[slowest].deviation ? gpu : slowest;
    return slowest;
}

static bool throttles(const struct adl_drift *drift, uint32_t gpu)
{
    return adl_drift_track_turns(&drift->tracks[ADL_DRIFT_SPEEDS][gpu]) ||
           adl_drift_track_turns(&drift->tracks[ADL_DRIFT_CLOCKS][gpu]);
}

static bool any_throttles(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
        if (throttles(drift, gpu))
            return true;
    return false;
}

/* Noise is what differs between two samples of a job on the same GPU in a row; bounded, as some differ because
 * something changed. */
static void learn_noise(struct adl_drift *drift, const struct adl_drift_sample *sample, double innovation)
{
    struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    double *noise = &drift->noise[sample->source];
    const bool alone = sample->source == ADL_DRIFT_FINISH,
               next = (track->last_job == sample->job && track->last_key == sample->key);
    const double differs = alone ? fabs(innovation) : fabs(sample->value - track->last) / sqrt(2);
    track->last = sample->value;
    if (!alone && !next)
        return;
    *noise += STEP * (fmin(differs / MEAN, 4 * *noise) - *noise);
    *noise = *noise < QUIETEST ? QUIETEST : *noise;
}

static bool is_known(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    const struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    return track->last_job == sample->job && track->last_key == sample->key && track->own_samples >= OWN;
}

/* The part of a deviation that is beyond doubt. */
static double beyond(double x, double doubt)
{
    return x > 0 ? fmax(x - 1.5 * doubt, 0) : fmin(x + 1.5 * doubt, 0);
}

/* A job that was seen before is compared with itself: what is expected of its kind may be wrong. *doubt: standard
 * deviation of what it is compared with. */
static double moved_of(const struct adl_drift *drift, const struct adl_drift_sample *sample, double innovation,
                       double *doubt)
{
    const struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    if (!is_known(drift, sample))
        return innovation;
    *doubt = drift->noise[sample->source] / sqrt((double)track->own_samples);
    return sample->value - drift->types[sample->channel][sample->type].change - track->own;
}

static void remember(struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    const double value = sample->value - drift->types[sample->channel][sample->type].change;
    if (track->last_job != sample->job || track->last_key != sample->key)
        track->own_samples = track->job_samples = 0;
    track->job_samples++;
    track->last_job = sample->job;
    track->last_key = sample->key;
    track->own_samples += track->own_samples < OWN_MEMORY;
    track->own = track->own_samples == 1 ? value : track->own + (value - track->own) / track->own_samples;
}

/* ---- types ---- */

/* One GPU, however often it is seen, brings a part of what the test needs. */
static double bounded_by_gpu(const struct adl_drift_type_track *type, struct adl_drift_added *added, int side,
                             double evidence)
{
    const double most = ADL_DRIFT_THRESHOLD / type->jobs[side] * 1.05;
    if (added->excursion[side] != type->excursion[side]) {
        added->excursion[side] = type->excursion[side];
        added->evidence[side] = 0;
    }
    const double left = most - added->evidence[side], used = evidence > left ? left : evidence;
    added->evidence[side] += used > 0 ? used : 0;
    return used;
}

/* Jobs on a type that must show a change: all, or ABREAST. */
static uint32_t jobs_abreast(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    uint32_t jobs = 0;
    for (uint32_t g = 0; g < drift->cluster->gpu_count && jobs < ABREAST; g++) {
        const uint32_t slot = sample->state->gpus[g].job[0];
        jobs += slot != ADL_NONE && !throttles(drift, g) && adl_gpu_type_of(drift->cluster, g) == sample->type &&
                (sample->channel == ADL_DRIFT_CLOCKS || sample->state->jobs[slot].first_gpu == g);
    }
    return jobs < 2 ? 2 : jobs;
}

/* The median of what the samples since the change showed: some GPUs may have changed besides. */
static double median_moved(const struct adl_drift_type_track *type, int side, double samples)
{
    double sorted[ADL_DRIFT_RECENT] = {0};
    const uint32_t agree = samples < ADL_DRIFT_RECENT ? (uint32_t)samples : ADL_DRIFT_RECENT;
    for (uint32_t i = 0; i < agree; i++) {
        const double x = type->moved[side][(type->moved_count[side] - 1 - i) % ADL_DRIFT_RECENT];
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > x; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = x;
    }
    return agree > 0 ? (sorted[(agree - 1) / 2] + sorted[agree / 2]) / 2 : 0;
}

static bool add_to_type(struct adl_drift *drift, const struct adl_drift_sample *sample, int side,
                        const struct adl_drift_reading *reading)
{
    const double x = side ? reading->moved : -reading->moved, sure = side ? reading->sure : -reading->sure;
    struct adl_drift_type_track *type = &drift->types[sample->channel][sample->type];
    struct adl_drift_test *test = side ? &type->rise : &type->fall;
    const double evidence = adl_drift_evidence(sure, reading->noise);
    if (test->sum <= 0 && evidence <= 0)
        return false;
    if (test->sum <= 0) {
        type->excursion[side]++;
        type->witness[side] = 0;
        type->witnesses[side] = false;
        type->jobs[side] = side ? 2 : jobs_abreast(drift, sample);
    }
    const double used = bounded_by_gpu(type, &drift->added[sample->channel][sample->gpu], side, evidence);
    if (evidence > 0 && type->witness[side] == 0)
        type->witness[side] = sample->witness;
    type->witnesses[side] |= evidence > 0 && sample->witness != type->witness[side];
    if (evidence > 0)
        type->moved[side][type->moved_count[side]++ % ADL_DRIFT_RECENT] = side ? x : -x;
    if (!adl_drift_test_add(test, used, x, sample->time_us))
        return false;
    test->sum = ADL_DRIFT_THRESHOLD;
    return fabs(median_moved(type, side, test->agree)) > ADL_DRIFT_SHIFT && test->agree > MAJORITY * test->count &&
           (type->witnesses[side] || sample->channel == ADL_DRIFT_CLOCKS);
}

static void change_type(struct adl_drift *drift, const struct adl_drift_sample *sample, int side, double noise)
{
    struct adl_drift_type_track *type = &drift->types[sample->channel][sample->type];
    const struct adl_drift_test *test = side ? &type->rise : &type->fall;
    type->step = median_moved(type, side, test->agree);
    type->change += type->step;
    type->variance = noise / test->agree;
    type->since_us = test->since_us;
    type->changes++;
    type->speeds = 0;
    type->fall = type->rise = (struct adl_drift_test){0};
    for (uint32_t g = 0; g < drift->cluster->gpu_count; g++)
        if (adl_gpu_type_of(drift->cluster, g) == sample->type)
            adl_drift_track_forgive(&drift->tracks[sample->channel][g]);
}

/* True if the type has changed with this sample, which then says nothing about its GPU. */
static bool test_type(struct adl_drift *drift, const struct adl_drift_sample *sample,
                      const struct adl_drift_reading *reading, bool well)
{
    const bool steady = !any_throttles(drift, sample);
    if (drift->cluster->type_gpus[sample->type] < 2)
        return false;
    for (int side = 0; side < 2; side++)
        if ((steady || (side == 1 && well)) && add_to_type(drift, sample, side, reading)) {
            change_type(drift, sample, side, reading->noise);
            return true;
        }
    return false;
}

/* After a change the first samples say how large it was. */
static void follow_type(struct adl_drift_type_track *type, double innovation, double noise)
{
    const double gain = type->variance / (type->variance + noise), bound = 2.5 * sqrt(noise + type->variance);
    const double moved = gain * fmax(fmin(innovation, bound), -bound);
    type->change += moved;
    type->step += moved;
    type->variance *= 1 - gain;
}

/* ---- GPUs ---- */

/* How far a GPU is suspected already: evidence of now, and of before. */
static double against(const struct adl_drift_track *track)
{
    const double before = adl_drift_track_turns(track) ? ADL_DRIFT_THRESHOLD
                          : track->slow                ? ADL_DRIFT_THRESHOLD / 4
                                                       : 0;
    return before + fmax(track->below.sum, 0) + fmax(track->fall.sum, 0);
}

/* Clocks, if there are any, tell the GPUs of a gang apart. */
static double suspicion(const struct adl_drift *drift, uint32_t gpu)
{
    return against(&drift->tracks[ADL_DRIFT_SPEEDS][gpu]) + against(&drift->tracks[ADL_DRIFT_CLOCKS][gpu]);
}

/* The GPU of a gang that probably is the slow one, and how probable that is: by what is known against each. */
static uint32_t suspect_of(const struct adl_drift *drift, const struct adl_drift_sample *sample,
                           double *ret_probability)
{
    uint32_t suspect = sample->gpu;
    double total = 0;
    for (uint32_t gpu = adl_drift_next_gpu(sample, suspect); gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
        suspect = suspicion(drift, gpu) > suspicion(drift, suspect) ? gpu : suspect;
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
        total += adl_exp(suspicion(drift, gpu) - suspicion(drift, suspect));
    *ret_probability = 1 / total;
    return suspect;
}

/* A slow gang of which no GPU stands out: each gets its part, up to half of what an alarm needs. */
static void accuse_each(struct adl_drift *drift, const struct adl_drift_sample *sample,
                        const struct adl_drift_reading *reading, double evidence, double probability, uint32_t suspect)
{
    struct adl_drift_track *tracks = drift->tracks[sample->channel];
    const double most = suspicion(drift, suspect);
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu)) {
        const double part = evidence * probability * adl_exp(suspicion(drift, gpu) - most);
        if (!tracks[gpu].slow && tracks[gpu].below.sum + part < ADL_DRIFT_THRESHOLD / 2)
            adl_drift_track_accuse(&tracks[gpu], reading, part);
    }
}

/* What a gang says: that all its GPUs are well, or that one is not. */
static bool judge_gang(struct adl_drift *drift, const struct adl_drift_sample *sample,
                       const struct adl_drift_reading *reading, uint32_t slowest, double innovation)
{
    struct adl_drift_track *tracks = drift->tracks[sample->channel];
    const double evidence = adl_drift_track_evidence(reading);
    double probability;
    if (evidence <= 0) {
        for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
            adl_drift_track_accuse(&tracks[gpu], reading, evidence);
        return adl_drift_track_follow(&tracks[slowest], reading);
    }
    const bool explained = innovation > -ADL_DRIFT_SHIFT / 2 && tracks[slowest].deviation < -ADL_DRIFT_SHIFT / 4;
    const uint32_t suspect = explained ? slowest : suspect_of(drift, sample, &probability);
    if (explained || probability > SURE) {
        adl_drift_track_accuse(&tracks[suspect], reading, evidence);
        return adl_drift_track_follow(&tracks[suspect], reading);
    }
    accuse_each(drift, sample, reading, evidence, probability, suspect);
    return false;
}

static bool judge(struct adl_drift *drift, const struct adl_drift_sample *sample,
                  const struct adl_drift_reading *reading, uint32_t slowest, double innovation)
{
    struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    if (adl_drift_next_gpu(sample, sample->gpu) != ADL_NONE) {
        return judge_gang(drift, sample, reading, slowest, innovation);
    }
    adl_drift_track_accuse(track, reading, adl_drift_track_evidence(reading));
    return adl_drift_track_follow(track, reading);
}

/* What is expected of a kind of job is learned on GPUs that are well, or have been as they are for long. */
static void learn_cell(struct adl_drift *drift, const struct adl_drift_sample *sample, struct adl_drift_cell *cell,
                       uint32_t slowest, double innovation)
{
    const struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    const struct adl_drift_track *limit = &drift->tracks[sample->channel][slowest];
    const bool settled = limit->deviation > -ADL_DRIFT_SHIFT || limit->samples - limit->jumped_at >= SETTLED;
    if (!settled || any_throttles(drift, sample))
        return;
    if (cell->jobs == 0) {
        cell->mean = innovation;
        innovation = 0;
    }
    adl_drift_cell_learn(
        cell, (track->last_job == sample->job && track->last_key == sample->key) ? track->job_samples : 0, innovation);
}

void adl_drift_take(struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    struct adl_drift_cell *cell = adl_drift_cells_find(&drift->cells[sample->channel], sample->key);
    struct adl_drift_type_track *type = &drift->types[sample->channel][sample->type];
    const uint32_t slowest = slowest_of(drift, sample);
    const struct adl_drift_track *track = &drift->tracks[sample->channel][slowest];
    const double noise = drift->noise[sample->source] * drift->noise[sample->source];
    const double free_of = sample->value - type->change - track->deviation;
    if (cell->jobs == 0) {
        learn_cell(drift, sample, cell, slowest, free_of);
        learn_noise(drift, sample, 0);
        remember(drift, sample);
        return;
    }
    const double innovation = free_of - cell->mean;
    const double width = sqrt(adl_drift_cell_width(cell)), bound = 3 * sqrt(noise + width * width);
    double doubt = width;
    const double moved = moved_of(drift, sample, innovation, &doubt);
    const struct adl_drift_reading reading = {.time_us = sample->time_us,
                                              .relative = sample->value - type->change - cell->mean,
                                              .moved = moved,
                                              .sure = beyond(moved, doubt),
                                              .mean = sample->source == ADL_DRIFT_FINISH,
                                              .doubt = sqrt(adl_drift_cell_doubt(cell, noise)),
                                              .noise = noise,
                                              .witness = sample->witness,
                                              .trusted = sample->channel == ADL_DRIFT_CLOCKS ||
                                                         adl_drift_clock_agrees(drift, sample->gpu)};
    learn_noise(drift, sample, innovation);
    const bool reliable = is_known(drift, sample) || (cell->jobs >= RELIABLE && sample->channel == ADL_DRIFT_SPEEDS);
    const bool changed = reliable && test_type(drift, sample, &reading, track->deviation > -ADL_DRIFT_SHIFT / 2);
    if (!changed) {
        if (type->changes > 0)
            follow_type(type, moved, noise);
        learn_cell(drift, sample, cell, slowest, fmax(fmin(innovation, bound), -bound));
        if (judge(drift, sample, &reading, slowest, innovation))
            drift->tracks[sample->channel][sample->gpu].own_samples = 0;
    }
    remember(drift, sample);
}
