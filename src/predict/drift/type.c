/* type: whether all GPUs of a type changed together, and how much. A change is found by a test of what its jobs show,
 * or a new version announces it. */
#include "base/real.h"
#include "predict/drift/internal.h"

#include <math.h>

#define ABREAST  4    /* jobs on a type that must change together */
#define MAJORITY 0.8  /* of the samples since a change that must show it */
#define LEAST    0.08 /* logarithm of the least change */
#define WIDE     0.04 /* variance of a change that a new version announces, before it is measured */
#define FAR      2.5  /* standard deviations from the change beyond which a sample shows something else */
#define ALONE    0.3  /* most that one user's jobs can change */
#define CLEAR    2.5  /* standard deviations beyond which an announced change is one */

bool adl_drift_throttles(const struct adl_drift *drift, uint32_t gpu)
{
    if (drift->reasons[gpu] != ADL_DRIFT_SILENT)
        return drift->reasons[gpu] == ADL_DRIFT_HELD;
    return adl_drift_track_turns(&drift->tracks[ADL_DRIFT_SPEEDS][gpu]) ||
           adl_drift_track_turns(&drift->tracks[ADL_DRIFT_CLOCKS][gpu]);
}

bool adl_drift_any_throttles(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu))
        if (adl_drift_throttles(drift, gpu))
            return true;
    return false;
}

/* Jobs on a type that must show a change: all, or ABREAST; at least two. */
static uint32_t jobs_needed(const struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    uint32_t jobs = 0;
    for (uint32_t g = 0; g < drift->cluster->gpu_count && jobs < ABREAST; g++) {
        const uint32_t slot = sample->state->gpus[g].job[0];
        jobs += slot != ADL_NONE && !adl_drift_throttles(drift, g) &&
                adl_gpu_type_of(drift->cluster, g) == sample->type &&
                (sample->channel == ADL_DRIFT_CLOCKS || sample->state->jobs[slot].first_gpu == g);
    }
    return jobs < 2 ? 2 : jobs;
}

static const struct adl_drift_moved *recent(const struct adl_drift_type_track *type, uint32_t back)
{
    return &type->recent[(type->count - 1 - back) % ADL_DRIFT_RECENT];
}

static double median_moved(const struct adl_drift_type_track *type, uint32_t samples)
{
    const struct adl_drift_moved *sorted[ADL_DRIFT_RECENT];
    double total = 0, below = 0;
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1]->x > recent(type, i)->x; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = recent(type, i);
        total += 1 / sorted[at]->variance;
    }
    for (uint32_t i = 0; i < samples; i++) {
        const double weight = 1 / sorted[i]->variance;
        if (2 * (below + weight) > total * 1.0001 || i + 1 == samples)
            return sorted[i]->x;
        if (2 * (below + weight) >= total * 0.9999)
            return (sorted[i]->x + sorted[i + 1]->x) / 2;
        below += weight;
    }
    return 0;
}

/* Of the last samples: their mean without those that are far from it, because some GPUs may have changed besides. */
static double size_of(const struct adl_drift_type_track *type, uint32_t samples)
{
    double size = median_moved(type, samples);
    for (int round = 0; round < 3; round++) {
        double total = 0, sum = 0;
        for (uint32_t i = 0; i < samples; i++) {
            const struct adl_drift_moved *it = recent(type, i);
            const double away = it->x - size;
            const double weight = away * away < FAR * FAR * it->variance ? 1 / it->variance : 0;
            sum += weight * it->x;
            total += weight;
        }
        size = total > 0 ? sum / total : size;
    }
    return size;
}

static double variance_of_size(const struct adl_drift_type_track *type, uint32_t samples)
{
    double total = 0;
    for (uint32_t i = 0; i < samples; i++)
        total += 1 / recent(type, i)->variance;
    return 1 / total;
}

/* Most of the last samples show the change, on enough GPUs and by two witnesses. */
static bool agree(const struct adl_drift_type_track *type, uint32_t samples, double size, uint32_t needed, bool clock)
{
    uint32_t count = 0, gpus = 0, witnesses = 0;
    for (uint32_t i = 0; i < samples; i++) {
        const struct adl_drift_moved *it = recent(type, i);
        bool known_gpu = false, known_witness = false;
        if (it->x * size < size * size / 2)
            continue;
        count++;
        for (uint32_t j = 0; j < i; j++) {
            const bool too = recent(type, j)->x * size >= size * size / 2;
            known_gpu |= too && recent(type, j)->gpu == it->gpu;
            known_witness |= too && recent(type, j)->witness == it->witness;
        }
        gpus += !known_gpu;
        witnesses += !known_witness;
    }
    return count >= MAJORITY * samples && gpus >= needed && (clock || witnesses >= 2);
}

/* How many of the last samples show a change best, by the logarithm of the likelihood ratio; 0 = they show none. */
static uint32_t samples_since(const struct adl_drift *drift, const struct adl_drift_sample *sample,
                              const struct adl_drift_type_track *type)
{
    const double least = ADL_DRIFT_SHIFT * ADL_DRIFT_SHIFT / 9;
    const uint32_t kept = type->count < ADL_DRIFT_RECENT ? type->count : ADL_DRIFT_RECENT;
    const bool faster = recent(type, 0)->x > 0, clock = sample->channel == ADL_DRIFT_CLOCKS;
    double total = 0, sum = 0, best = ADL_DRIFT_THRESHOLD;
    uint32_t needed = 0, found = 0;
    for (uint32_t i = 0; i < kept; i++) {
        const double variance = fmax(recent(type, i)->variance, least), bound = 3 * sqrt(variance);
        sum += fmax(fmin(recent(type, i)->sure, bound), -bound) / variance;
        total += 1 / variance;
        if (sum * sum / total / 2 < best || (sum > 0) != faster)
            continue;
        const double size = size_of(type, i + 1);
        needed = needed ? needed : jobs_needed(drift, sample);
        if (fabs(size) < LEAST || (size > 0) != faster || !agree(type, i + 1, size, needed, clock))
            continue;
        best = sum * sum / total / 2;
        found = i + 1;
    }
    return found;
}

/* What was taken for changes of GPUs was none, and the jobs' last samples are of both before and after. */
static void forgive_all(struct adl_drift *drift, const struct adl_drift_sample *sample, int64_t since_us)
{
    for (uint32_t g = 0; g < drift->cluster->gpu_count; g++)
        if (adl_gpu_type_of(drift->cluster, g) == sample->type)
            adl_drift_track_forgive(&drift->tracks[sample->channel][g], since_us);
}

static void announce(struct adl_drift *drift, int channel, uint32_t type_index, int64_t time_us)
{
    struct adl_drift_type_track *type = &drift->types[channel][type_index];
    type->before = type->change;
    type->announced = true;
    type->clear = false;
    type->step = 0;
    type->count = 0;
    type->variance = WIDE;
    type->since_us = time_us;
    type->speeds = 0;
    forgive_all(drift, &(struct adl_drift_sample){.channel = (uint8_t)channel, .type = type_index}, time_us);
}

static void change_type(struct adl_drift *drift, const struct adl_drift_sample *sample, uint32_t samples)
{
    struct adl_drift_type_track *type = &drift->types[sample->channel][sample->type];
    type->step = size_of(type, samples);
    type->change += type->step;
    type->before += type->step;
    type->variance = variance_of_size(type, samples);
    type->since_us = recent(type, samples - 1)->time_us;
    type->changes++;
    type->speeds = 0;
    const uint32_t kept = type->count < ADL_DRIFT_RECENT ? type->count : ADL_DRIFT_RECENT;
    const int64_t oldest_us = recent(type, kept - 1)->time_us;
    type->count = 0;
    forgive_all(drift, sample, type->since_us);
    const int other = !sample->channel;
    if (!drift->types[other][sample->type].announced && drift->types[other][sample->type].since_us < oldest_us)
        announce(drift, other, sample->type, type->since_us);
}

bool adl_drift_type_test(struct adl_drift *drift, const struct adl_drift_sample *sample,
                         const struct adl_drift_moved *moved, bool well)
{
    struct adl_drift_type_track *type = &drift->types[sample->channel][sample->type];
    if (drift->cluster->type_gpus[sample->type] < 2 ||
        (adl_drift_any_throttles(drift, sample) && !(moved->x > 0 && well)))
        return false;
    type->recent[type->count++ % ADL_DRIFT_RECENT] = *moved;
    const uint32_t samples = fabs(moved->x) < LEAST / 2 ? 0 : samples_since(drift, sample, type);
    if (samples > 0)
        change_type(drift, sample, samples);
    return samples > 0;
}

void adl_drift_type_follow(struct adl_drift_type_track *type, double innovation, double noise)
{
    const double gain = type->variance / (type->variance + noise), bound = 2.5 * sqrt(noise + type->variance);
    const double moved = gain * fmax(fmin(innovation, bound), -bound);
    type->change += moved;
    type->step += moved;
    type->variance *= 1 - gain;
}

/* ---- versions ---- */

static bool has_witnesses(const struct adl_drift_type_track *type)
{
    for (uint32_t i = 1; i < type->count; i++)
        if (type->recent[i].witness != type->recent[0].witness)
            return true;
    return false;
}

void adl_drift_type_measure(struct adl_drift *drift, const struct adl_drift_sample *sample,
                            const struct adl_drift_moved *moved)
{
    struct adl_drift_type_track *type = &drift->types[sample->channel][sample->type];
    type->recent[type->count] = *moved;
    type->recent[type->count++].x += type->step; /* against what was before */
    const bool sure = sample->channel == ADL_DRIFT_CLOCKS || has_witnesses(type);
    const double most = sure ? HUGE_VAL : ALONE;
    const double size = fmax(fmin(size_of(type, type->count), most), -most);
    type->variance = variance_of_size(type, type->count);
    type->change += size - type->step;
    type->step = size;
    if (!type->clear && type->count >= ABREAST && fabs(size) > CLEAR * sqrt(type->variance)) {
        type->clear = true;
        type->changes++;
    }
    if (type->count < ADL_DRIFT_MEASURED)
        return;
    type->announced = false;
    type->count = 0;
    if (!type->clear)
        type->change -= type->step;
}

bool adl_drift_take_version(struct adl_drift *drift, uint32_t gpu, uint64_t version, int64_t time_us)
{
    const uint32_t type = adl_gpu_type_of(drift->cluster, gpu);
    const uint64_t before = drift->versions[gpu];
    drift->versions[gpu] = version;
    if (before == 0 || before == version)
        return false;
    if (drift->newest[type] != version) {
        drift->newest[type] = version;
        for (uint32_t g = 0; g < drift->cluster->gpu_count; g++)
            drift->behind[g] = adl_gpu_type_of(drift->cluster, g) == type ? g != gpu : drift->behind[g];
        for (int c = 0; c < ADL_DRIFT_CHANNELS; c++)
            announce(drift, c, type, time_us);
    }
    drift->behind[gpu] = false;
    return true;
}
