#include "predict/calibration.h"

#include "base/real.h"

#include <inttypes.h>
#include <math.h>

#define RECENT   128.0 /* ends over which recent means are taken */
#define FIRST    256   /* ends at the beginning, while predictions are being learned, that count for nothing */
#define ENOUGH   16    /* blocks before there is an alarm */
#define LONG     128   /* blocks over which long-run means are taken: 4,096 ends */
#define SIGMAS   5.0   /* half of a band: an independent figure leaves it once in ten million ends */
#define CLOSE    0.03  /* coverage that is so near to what it should be is right (docs/belief.md) */
#define FARTHEST 3.0   /* of ln(run time / predicted): one job does not decide */

/* Variance of a mean with weights that fall by 1 / RECENT each, relative to that of a value. */
#define RECENT_VARIANCE (1 / (2 * RECENT - 1))

static const double nominal[ADL_CALIBRATION_FIGURES] = {0.5, 0.9, 0, 0};

static bool is_coverage(int figure)
{
    return figure <= ADL_COVERED_90;
}

void adl_calibration_init(struct adl_calibration *ret)
{
    *ret = (struct adl_calibration){0};
    for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++)
        ret->series[f].recent = ret->series[f].mean = nominal[f];
}

void adl_calibration_accept(struct adl_calibration *calibration)
{
    const uint64_t alarms = calibration->alarms;
    adl_calibration_init(calibration);
    calibration->alarms = alarms;
}

/* ---- bands ---- */

static double target_of(const struct adl_calibration *calibration, int figure)
{
    return is_coverage(figure) ? nominal[figure] : calibration->series[figure].mean;
}

/* The larger of what independent blocks would give and of what was seen. */
static double error_of(const struct adl_calibration *calibration, int figure)
{
    const struct adl_calibration_series *it = &calibration->series[figure];
    const double p = nominal[figure], least = is_coverage(figure) ? p * (1 - p) : 0;
    const double value = fmax(it->variance * ADL_CALIBRATION_BLOCK, least);
    const uint32_t blocks = calibration->blocks < LONG ? calibration->blocks : LONG;
    const double mean = is_coverage(figure) ? 0 : it->variance / (blocks + 1);
    return sqrt(fmax(value * RECENT_VARIANCE, it->swing) + mean);
}

struct adl_calibration_view adl_calibration_see(const struct adl_calibration *calibration, int figure)
{
    struct adl_calibration_view view = {.value = calibration->series[figure].recent};
    if (calibration->blocks < ENOUGH)
        return view;
    const double target = target_of(calibration, figure);
    const double half = SIGMAS * error_of(calibration, figure) + (is_coverage(figure) ? CLOSE : 0);
    view.low = is_coverage(figure) ? fmax(target - half, 0) : target - half;
    view.high = is_coverage(figure) ? fmin(target + half, 1) : target + half;
    view.outside = view.value < view.low || view.value > view.high;
    return view;
}

/* ---- learning ---- */

static double bounded(double value, double bound)
{
    return fmax(fmin(value, bound), -bound);
}

/* The mean of a block, bounded so that a change moves the band less than the figure. */
static void learn_block(struct adl_calibration *calibration, int figure)
{
    struct adl_calibration_series *it = &calibration->series[figure];
    const uint32_t n = calibration->blocks + 1;
    const double weight = 1.0 / (n < LONG ? n : LONG);
    double off = it->sum / ADL_CALIBRATION_BLOCK - it->mean, swing = it->recent - it->mean;
    it->sum = 0;
    if (calibration->blocks >= ENOUGH) {
        off = bounded(off, 3 * sqrt(it->variance));
        swing = bounded(swing, 3 * error_of(calibration, figure));
    }
    it->mean += weight * off;
    it->variance += weight * ((n > 1 ? off * off * (1 - weight) : 0) - it->variance);
    it->swing += weight * (swing * swing - it->swing);
}

static void learn_value(struct adl_calibration *calibration, int figure, double value)
{
    struct adl_calibration_series *it = &calibration->series[figure];
    const uint64_t n = calibration->ends - FIRST;
    it->recent += (value - it->recent) / (n < (uint64_t)RECENT ? (double)n : RECENT);
    it->sum += value;
}

static bool judge(struct adl_calibration *calibration, int64_t time_us)
{
    bool outside = false;
    for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++)
        outside |= adl_calibration_see(calibration, f).outside;
    calibration->inside = outside ? 0 : calibration->inside + 1;
    if (!calibration->alarm && outside) {
        calibration->alarm = true;
        calibration->since_us = time_us;
        calibration->alarms++;
        return true;
    }
    if (calibration->alarm && calibration->inside >= ADL_CALIBRATION_BACK) {
        calibration->alarm = false;
        return true;
    }
    return false;
}

bool adl_calibration_learn(struct adl_calibration *calibration, double p, double ratio, int64_t time_us)
{
    const double log_ratio = bounded(ratio > 0 ? adl_log(ratio) : -FARTHEST, FARTHEST);
    const double values[ADL_CALIBRATION_FIGURES] = {fabs(p - 0.5) <= 0.25, fabs(p - 0.5) <= 0.45, log_ratio,
                                                    fabs(log_ratio - calibration->series[ADL_LOG_BIAS].mean)};
    if (++calibration->ends <= FIRST)
        return false;
    for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++)
        learn_value(calibration, f, values[f]);
    if ((calibration->ends - FIRST) % ADL_CALIBRATION_BLOCK == 0) {
        for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++)
            learn_block(calibration, f);
        calibration->blocks++;
    }
    return judge(calibration, time_us);
}

/* ---- for people ---- */

const char *adl_calibration_name(int figure)
{
    static const char *const names[] = {"covered_50", "covered_90", "log_bias", "log_spread"};
    return names[figure];
}

static void say_figure(int figure, const struct adl_calibration_view *view, struct adl_text *ret)
{
    if (is_coverage(figure))
        adl_text_printf(ret, "%s %% intervals cover %.0f %% (band %.0f to %.0f %%)",
                        figure == ADL_COVERED_50 ? "50" : "90", 100 * view->value, 100 * view->low, 100 * view->high);
    else if (figure == ADL_LOG_BIAS)
        adl_text_printf(ret, "run times are %.2f times the predicted ones (band %.2f to %.2f)", adl_exp(view->value),
                        adl_exp(view->low), adl_exp(view->high));
    else
        adl_text_printf(ret, "they are off by a factor of %.2f (band %.2f to %.2f)", adl_exp(view->value),
                        adl_exp(view->low), adl_exp(view->high));
}

void adl_calibration_say(const struct adl_calibration *calibration, struct adl_text *ret)
{
    bool any = false;
    if (calibration->blocks < ENOUGH) {
        adl_text_put(ret, "too few jobs have ended to say whether predictions of run times hold");
        return;
    }
    adl_text_put(ret, calibration->alarm ? "predictions of run times do not hold" : "predictions of run times hold");
    for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++) {
        const struct adl_calibration_view view = adl_calibration_see(calibration, f);
        if (calibration->alarm ? !view.outside : f != ADL_COVERED_90)
            continue;
        adl_text_put(ret, any ? "; " : ": ");
        say_figure(f, &view, ret);
        any = true;
    }
    if (calibration->alarm && !any)
        adl_text_printf(ret, ": they do again since %u ends, of %d that end the alarm", calibration->inside,
                        ADL_CALIBRATION_BACK);
    if (calibration->alarms > 0)
        adl_text_printf(ret, "; %" PRIu64 " alarm%s in %" PRIu64 " ends", calibration->alarms,
                        calibration->alarms == 1 ? "" : "s", calibration->ends);
}

/* ---- as bytes ---- */

void adl_calibration_encode(const struct adl_calibration *calibration, struct adl_text *ret)
{
    adl_bytes_put_u32(ret, ADL_CALIBRATION_VERSION);
    adl_bytes_put_u64(ret, calibration->ends);
    adl_bytes_put_u32(ret, calibration->blocks);
    adl_bytes_put_u32(ret, calibration->inside);
    adl_text_char(ret, (char)calibration->alarm);
    adl_bytes_put_u64(ret, (uint64_t)calibration->since_us);
    adl_bytes_put_u64(ret, calibration->alarms);
    for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++) {
        const struct adl_calibration_series *it = &calibration->series[f];
        const double reals[] = {it->recent, it->sum, it->mean, it->variance, it->swing};
        for (int i = 0; i < 5; i++)
            adl_pack_real(ret, reals[i]);
    }
}

int adl_calibration_decode(struct adl_calibration *calibration, struct adl_unpack *from, struct adl_error *err)
{
    struct adl_calibration read = {0};
    const uint32_t version = adl_unpack_u32(from, UINT32_MAX);
    if (!from->failed && version != ADL_CALIBRATION_VERSION) {
        from->at = from->end;
        return 0;
    }
    read.ends = adl_unpack_u64(from);
    read.blocks = adl_unpack_u32(from, UINT32_MAX);
    read.inside = adl_unpack_u32(from, UINT32_MAX);
    const uint8_t alarm = adl_unpack_u8(from);
    const uint64_t since = adl_unpack_u64(from);
    read.alarms = adl_unpack_u64(from);
    read.alarm = alarm == 1;
    read.since_us = (int64_t)(since & INT64_MAX);
    for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++) {
        struct adl_calibration_series *it = &read.series[f];
        it->recent = adl_unpack_real(from, -FARTHEST, 2 * FARTHEST);
        it->sum = adl_unpack_real(from, -1e3, 1e3);
        it->mean = adl_unpack_real(from, -FARTHEST, 2 * FARTHEST);
        it->variance = adl_unpack_real(from, 0, 1e3);
        it->swing = adl_unpack_real(from, 0, 1e3);
    }
    if (from->failed || alarm > 1 || since > (uint64_t)INT64_MAX)
        return adl_fail(err, ADL_EINVAL, "its calibration of predictions is damaged");
    *calibration = read;
    return 0;
}
