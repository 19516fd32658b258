/* sample: what one measurement says about its kind of job, the type of its GPUs, and each of them. */
#include "base/real.h"
#include "predict/drift/internal.h"

#include <math.h>

#define MEAN       0.7979 /* of the absolute value of a standard normal variable */
#define QUIETEST   0.005  /* least standard deviation of a sample */
#define STEP       0.02   /* relative step of the noise with each sample */
#define SETTLED    64     /* samples since a GPU changed */
#define RELIABLE   8      /* jobs of a kind */
#define OWN        2      /* samples of a job that it is compared with, at least */
#define FULL       8      /* for the noise of clocks */
#define OWN_MEMORY 16     /* and at most */
#define THROTTLE   0.2    /* standard deviation of a GPU that throttles */
#define LOSSES     0.03   /* standard deviation of what a GPU loses by throttling */
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

bool adl_drift_is_held(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE && sample->source != ADL_DRIFT_FINISH;
         gpu = adl_drift_next_gpu(sample, gpu))
        if (drift->reasons[gpu] == ADL_DRIFT_HELD)
            return true;
    return false;
}

/* While a type is measured again, what is measured says nothing else. */
static bool is_measured(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    return drift->types[sample->channel][sample->type].announced && !drift->behind[sample->gpu];
}

static bool is_known(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    const struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    return track->last_job == sample->job && track->last_key == sample->key && track->own_samples >= OWN;
}

/* Noise is what differs between two samples of a job on the same GPU in a row; of a clock, which has a highest value,
 * how far a sample is below those before. Bounded, as some differ because something changed. */
static void learn_noise(struct adl_drift *drift, const struct adl_drift_sample *sample, double innovation)
{
    struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    double *noise = &drift->noise[sample->source];
    const bool alone = sample->source == ADL_DRIFT_FINISH, clock = sample->source == ADL_DRIFT_CLOCK,
               next = (track->last_job == sample->job && track->last_key == sample->key);
    const double below = track->own - sample->value + adl_drift_level(drift, sample->channel, sample->gpu);
    const double differs = alone ? fabs(innovation) : clock ? below : fabs(sample->value - track->last) / sqrt(2);
    track->last = sample->value;
    if ((!alone && !next) || is_measured(drift, sample) ||
        (clock && (below < 0 || track->own_samples < FULL || track->fall.sum > ADL_DRIFT_WITNESS)))
        return;
    *noise += STEP * (fmin(differs / MEAN, 4 * *noise) - *noise);
    *noise = *noise < QUIETEST ? QUIETEST : *noise;
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
    return sample->value - adl_drift_level(drift, sample->channel, sample->gpu) - track->own;
}

static void remember(struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    const double value = sample->value - adl_drift_level(drift, sample->channel, sample->gpu);
    if (track->last_job != sample->job || track->last_key != sample->key)
        track->own_samples = track->job_samples = track->fresh_count = 0;
    track->last_job = sample->job;
    track->last_key = sample->key;
    if (adl_drift_is_held(drift, sample))
        return;
    track->job_samples++;
    if (is_measured(drift, sample))
        return;
    double *fresh = &track->fresh[track->fresh_count++ % ADL_DRIFT_FRESH];
    const double older = *fresh;
    *fresh = value;
    if (track->fresh_count <= ADL_DRIFT_FRESH)
        return;
    track->own_samples += track->own_samples < OWN_MEMORY;
    track->own = track->own_samples == 1 ? older : track->own + (older - track->own) / track->own_samples;
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
                       uint32_t slowest)
{
    if (!cell)
        return;
    const struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    const struct adl_drift_track *limit = &drift->tracks[sample->channel][slowest];
    const bool settled = limit->deviation > -ADL_DRIFT_SHIFT || limit->samples - limit->jumped_at >= SETTLED;
    if (!settled || adl_drift_any_throttles(drift, sample))
        return;
    const double value = sample->value - adl_drift_level(drift, sample->channel, sample->gpu) - limit->deviation;
    const double noise = drift->noise[sample->source];
    if (cell->jobs == 0)
        cell->mean = value;
    const double bound = 3 * sqrt(noise * noise + (cell->jobs ? adl_drift_cell_width(cell) : 0));
    adl_drift_cell_learn(cell,
                         track->last_job == sample->job && track->last_key == sample->key ? track->job_samples : 0,
                         fmax(fmin(value - cell->mean, bound), -bound));
}

/* Some of its GPUs have a newer version than others. */
static bool is_mixed(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
        if (drift->behind[gpu] != drift->behind[sample->gpu])
            return true;
    return false;
}

/* Variance of a sample whose GPU may have begun or ended to throttle. */
static double throttle_of(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    return adl_drift_any_throttles(drift, sample) ? THROTTLE * THROTTLE : 0;
}

/* A kind of job that was not seen before. */
static void take_first(struct adl_drift *drift, const struct adl_drift_sample *sample, struct adl_drift_cell *cell,
                       struct adl_drift_cell *all, uint32_t slowest)
{
    const double value = sample->value - adl_drift_level(drift, sample->channel, sample->gpu);
    const struct adl_drift_track *track = &drift->tracks[sample->channel][sample->gpu];
    if (!is_measured(drift, sample)) {
        learn_cell(drift, sample, cell, slowest);
        learn_cell(drift, sample, all, slowest);
    } else if (is_known(drift, sample) && !adl_drift_is_held(drift, sample)) {
        const double noise = drift->noise[sample->source];
        const double variance = noise * noise * (1 + 1.0 / track->own_samples) + throttle_of(drift, sample);
        adl_drift_type_measure(
            drift, sample,
            &(struct adl_drift_moved){.x = value - track->own, .variance = variance, .witness = sample->witness});
    }
    if (!adl_drift_is_held(drift, sample))
        learn_noise(drift, sample, 0);
    remember(drift, sample);
}

/* What the sample says about the type. True if that is all that it says. */
static bool take_for_type(struct adl_drift *drift, const struct adl_drift_sample *sample,
                          const struct adl_drift_reading *reading, uint32_t jobs, double doubt, bool well)
{
    struct adl_drift_type_track *type = &drift->types[sample->channel][sample->type];
    const bool known = is_known(drift, sample);
    const struct adl_drift_moved moved = {.x = reading->moved,
                                          .variance = reading->noise + doubt * doubt +
                                                      (is_measured(drift, sample) ? throttle_of(drift, sample) : 0),
                                          .sure = known ? reading->moved : reading->sure,
                                          .witness = sample->witness,
                                          .time_us = sample->time_us,
                                          .gpu = sample->gpu};
    if (is_measured(drift, sample)) {
        adl_drift_type_measure(drift, sample, &moved);
        return true;
    }
    if (drift->behind[sample->gpu])
        return false;
    if ((known || (jobs >= RELIABLE &&
                   (sample->channel == ADL_DRIFT_SPEEDS || drift->reasons[sample->gpu] != ADL_DRIFT_SILENT))) &&
        adl_drift_type_test(drift, sample, &moved, well))
        return true;
    if (type->changes > 0)
        adl_drift_type_follow(type, reading->moved, reading->noise);
    return false;
}

/* A type is measured on a GPU that throttles if it is known what it loses then. */
static void measure_held(struct adl_drift *drift, const struct adl_drift_sample *sample,
                         const struct adl_drift_reading *reading, double doubt)
{
    double drop = 0;
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu)) {
        const struct adl_drift_track *track = &drift->tracks[sample->channel][gpu];
        if (drift->reasons[gpu] != ADL_DRIFT_HELD)
            continue;
        if (!track->told)
            return;
        drop = fmax(drop, track->held.moved / track->held.agree);
    }
    const double variance = reading->noise + doubt * doubt + LOSSES * LOSSES;
    adl_drift_type_measure(
        drift, sample,
        &(struct adl_drift_moved){.x = reading->moved + drop, .variance = variance, .witness = sample->witness});
}

/* The driver says which GPU of the job throttles: what the sample shows is theirs. */
static void take_held(struct adl_drift *drift, const struct adl_drift_sample *sample,
                      const struct adl_drift_reading *reading, double doubt)
{
    if (is_measured(drift, sample)) {
        measure_held(drift, sample, reading, doubt);
        remember(drift, sample);
        return;
    }
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
        if (drift->reasons[gpu] == ADL_DRIFT_HELD)
            adl_drift_track_hold(&drift->tracks[sample->channel][gpu], reading);
    remember(drift, sample);
}

void adl_drift_take(struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    struct adl_drift_cells *cells = &drift->cells[sample->channel];
    drift->sampled = true;
    struct adl_drift_cell *cell = adl_drift_cells_find(cells, sample->key);
    struct adl_drift_cell *all = sample->all ? adl_drift_cells_find(cells, sample->all) : NULL;
    const struct adl_drift_cell *expected = all && cell->jobs < RELIABLE && all->jobs >= RELIABLE ? all : cell;
    const uint32_t slowest = slowest_of(drift, sample);
    struct adl_drift_track *track = &drift->tracks[sample->channel][slowest];
    const double noise = drift->noise[sample->source] * drift->noise[sample->source];
    if (is_mixed(drift, sample))
        return;
    if (expected->jobs == 0) {
        take_first(drift, sample, cell, all, slowest);
        return;
    }
    const double relative = sample->value - adl_drift_level(drift, sample->channel, sample->gpu) - expected->mean;
    const double innovation = relative - track->deviation;
    double doubt = sqrt(adl_drift_cell_width(expected));
    const double moved = moved_of(drift, sample, innovation, &doubt);
    const struct adl_drift_reading reading = {.time_us = sample->time_us,
                                              .relative = relative,
                                              .moved = moved,
                                              .sure = beyond(moved, doubt),
                                              .mean = sample->source == ADL_DRIFT_FINISH,
                                              .doubt = sqrt(adl_drift_cell_doubt(expected, noise)),
                                              .noise = noise,
                                              .witness = sample->witness,
                                              .trusted = sample->channel == ADL_DRIFT_CLOCKS ||
                                                         adl_drift_clock_agrees(drift, sample->gpu)};
    if (adl_drift_is_held(drift, sample)) {
        take_held(drift, sample, &reading, doubt);
        return;
    }
    learn_noise(drift, sample, innovation);
    const bool well = track->deviation > -ADL_DRIFT_SHIFT / 2;
    if (!take_for_type(drift, sample, &reading, expected->jobs, doubt, well)) {
        learn_cell(drift, sample, cell, slowest);
        learn_cell(drift, sample, all, slowest);
        track = &drift->tracks[sample->channel][sample->gpu];
        if (judge(drift, sample, &reading, slowest, innovation))
            track->own_samples = track->fresh_count = 0;
    }
    remember(drift, sample);
}
