#include "predict/drift/track.h"

#include "base/real.h"

#include <math.h>

#define HIGHEST 0.03   /* a GPU is not faster than its type: if it seems so, the expectation was wrong */
#define LOWEST  (-3.0) /* a twentieth of the speed */
#define PRIOR   4e-4   /* variance of healthy GPUs */
#define WALK    1e-5   /* variance that each sample adds, because GPUs wear */
#define LONG    16     /* samples between two turns, at least */
#define AVERAGE 64     /* samples */
#define LAPSE   512    /* samples after which a GPU that was never throttled in them throttles no more */
#define ENOUGH  (ADL_DRIFT_THRESHOLD / 4) /* evidence that makes a witness */
#define HELD    (ADL_DRIFT_THRESHOLD / 2) /* evidence that is enough where the driver says the same */

/* With less noise than a third of the shift a sample would decide alone: something else than noise explains such. */
double adl_drift_evidence(double x, double variance)
{
    const double shift = ADL_DRIFT_SHIFT, least = shift * shift / 9;
    const double used = variance > least ? variance : least, bound = 3 * sqrt(used);
    const double clipped = x > bound ? bound : x < -bound ? -bound : x;
    return shift / used * (clipped - shift / 2);
}

bool adl_drift_test_add(struct adl_drift_test *test, double evidence, double x, int64_t time_us)
{
    if (test->sum <= 0)
        *test = (struct adl_drift_test){.since_us = time_us};
    test->sum += evidence;
    test->moved += evidence > 0 ? x : 0;
    test->agree += evidence > 0;
    test->count++;
    return test->sum >= ADL_DRIFT_THRESHOLD;
}

void adl_drift_track_begin(struct adl_drift_track *track)
{
    *track = (struct adl_drift_track){.variance = PRIOR, .average = 1};
}

void adl_drift_track_forgive(struct adl_drift_track *track, int64_t since_us)
{
    track->fresh_count = 0;
    if (track->jumped_at > 0 && track->jumped_us >= since_us) {
        track->deviation = track->before;
        track->jumped_at = 0;
        track->own_samples = 0;
        if (track->slow && track->since_us >= since_us)
            track->slow = false;
    }
    track->fall = track->rise = (struct adl_drift_test){0};
    track->back = (struct adl_drift_test){0};
    if (!track->slow)
        track->below = (struct adl_drift_test){0};
}

double adl_drift_track_evidence(const struct adl_drift_reading *reading)
{
    const double below = -reading->relative, sure = below > 0 ? fmax(below - reading->doubt, 0) : below;
    return adl_drift_evidence(sure, reading->noise);
}

/* Remembers who brings evidence; true if somebody else did before, or no second witness is needed. */
static bool confirm(struct adl_drift_witness *witness, const struct adl_drift_reading *reading, double evidence)
{
    if (reading->witness != witness->now) {
        if (witness->weight >= ENOUGH)
            witness->past = witness->now;
        witness->now = reading->witness;
        witness->weight = 0;
    }
    witness->weight = fmax(witness->weight + evidence, 0);
    return reading->trusted || (witness->past != 0 && witness->past != witness->now && witness->weight >= ENOUGH);
}

static void count_average(struct adl_drift_track *track, const struct adl_drift_reading *reading)
{
    track->average += (adl_exp(fmin(reading->relative, HIGHEST)) - track->average) / AVERAGE;
}

static void flag(struct adl_drift_track *track, bool certain, int64_t since_us)
{
    track->slow = true;
    track->certain |= certain;
    if (!adl_drift_track_throttled(track))
        track->since_us = since_us;
    track->back = (struct adl_drift_test){0};
}

void adl_drift_track_accuse(struct adl_drift_track *track, const struct adl_drift_reading *reading, double evidence)
{
    const int64_t time_us = reading->time_us;
    const bool confirmed = confirm(&track->witness, reading, evidence) && evidence > 0;
    if (track->slow) {
        track->certain |= confirmed;
        const double back = -adl_drift_evidence(-reading->relative, reading->noise);
        if (adl_drift_test_add(&track->back, back, 0, time_us)) {
            track->slow = false;
            track->certain = track->certain && adl_drift_track_throttled(track);
            track->below = track->back = (struct adl_drift_test){0};
        }
        return;
    }
    if (!adl_drift_test_add(&track->below, evidence, -reading->relative, time_us))
        return;
    flag(track, confirmed, track->below.since_us);
}

void adl_drift_track_hold(struct adl_drift_track *track, const struct adl_drift_reading *reading)
{
    struct adl_drift_reading lower = *reading;
    lower.relative -= fmin(track->deviation, 0);
    track->samples++;
    count_average(track, reading);
    adl_drift_test_add(&track->held, adl_drift_track_evidence(&lower), -lower.relative, reading->time_us);
    if (track->told)
        track->told_at = track->samples;
    if (track->told || track->held.sum < HELD)
        return;
    track->told = track->certain = true;
    track->told_at = track->samples;
    track->low = track->deviation - track->held.moved / track->held.agree;
    if (!track->slow)
        track->since_us = track->held.since_us;
}

/* A turn that takes long to come shows that they have ended. */
static bool is_over(const struct adl_drift_track *track)
{
    const uint32_t apart = track->turns > 1 ? (track->turned_at - track->first_turn) / (track->turns - 1) : 0;
    return track->samples - track->turned_at > 8 * (apart > LONG ? apart : LONG);
}

bool adl_drift_track_turns(const struct adl_drift_track *track)
{
    return track->turns > 1 && !is_over(track);
}

/* Jumps in turns down and up are throttling. */
static void count_turn(struct adl_drift_track *track, int direction, int64_t since_us)
{
    if (is_over(track))
        track->turns = 0;
    if (direction == track->direction && track->turns > 0)
        return;
    if (track->turns == 0 && direction > 0)
        return;
    if (track->turns++ == 0) {
        track->first_turn = track->samples;
        track->first_fall_us = since_us;
    }
    track->turned_at = track->samples;
    track->direction = (int8_t)direction;
    if (adl_drift_track_throttled(track))
        track->since_us = track->first_fall_us;
}

static void jump(struct adl_drift_track *track, const struct adl_drift_test *test, int direction,
                 const struct adl_drift_reading *reading)
{
    const double before = track->deviation, size = test->moved / test->agree;
    const int64_t since_us = test->since_us;
    track->deviation = fmax(fmin(before + direction * size, HIGHEST), LOWEST);
    track->variance = reading->noise / test->agree;
    track->jumped_at = track->samples;
    track->jumped_us = since_us;
    track->before = before;
    if (direction < 0)
        track->low = track->deviation;
    track->fall = track->rise = (struct adl_drift_test){0};
    if (!reading->mean && fabs(track->deviation - before) > ADL_DRIFT_SHIFT / 2)
        count_turn(track, direction, since_us);
}

bool adl_drift_track_follow(struct adl_drift_track *track, const struct adl_drift_reading *reading)
{
    const double innovation = reading->relative - track->deviation, moved = reading->moved, sure = reading->sure;
    const double noise = reading->noise + reading->doubt * reading->doubt;
    const int64_t time_us = reading->time_us;
    const double prior = track->variance + WALK, bound = 2.5 * sqrt(noise + prior);
    const double bounded = fmax(fmin(innovation, bound), -bound), gain = prior / (prior + noise);
    track->samples++;
    count_average(track, reading);
    if (track->told && track->samples - track->told_at > LAPSE) {
        track->told = false;
        track->held = (struct adl_drift_test){0};
    }
    const bool fell = adl_drift_test_add(&track->fall, adl_drift_evidence(-sure, reading->noise), -moved, time_us),
               rose = adl_drift_test_add(&track->rise, adl_drift_evidence(sure, reading->noise), moved, time_us);
    if (fell || rose) {
        const struct adl_drift_test test = fell ? track->fall : track->rise;
        jump(track, &test, fell ? -1 : 1, reading);
        return true;
    }
    track->deviation = fmax(fmin(track->deviation + gain * bounded, HIGHEST), LOWEST);
    track->variance = prior * (1 - gain);
    return false;
}
