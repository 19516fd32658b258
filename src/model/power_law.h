/* power_law: the effect of a power cap on a GPU at work: how much slower it gets and how much less it draws.
 *
 * Load is the share of the span between context and full power that a job draws on average; room is the share that a
 * cap leaves. A job draws in bursts: while its kernels run they would take peak = load^burst. With x = room / peak < 1
 * the clock falls until they fit, and they run at speed
 *
 *     s = 1 - (1 - x)^bend,  not below least.
 *
 * Power rises steeply near the highest clock, hence bend > 1. Time outside kernels hides part of the loss: the job's
 * time grows by 1 + load * (1/s - 1), and it draws load * (x/s) spread over that time, at most x * peak. At the lowest
 * clock a GPU cannot draw less, and exceeds its cap. docs/power.md has the measurements behind it. */
#ifndef ADLRO_MODEL_POWER_LAW_H
#define ADLRO_MODEL_POWER_LAW_H

struct adl_power_law {
    double bend;  /* > 1 */
    double burst; /* 0..1 */
    double least; /* 0..1, speed at the lowest clock */
};

struct adl_power_point {
    double speed; /* relative to no cap, > 0 and at most 1 */
    double load;  /* average draw, as a share of the span */
};

/* load 0..1; room is clipped to 0..1. */
struct adl_power_point adl_power_law_point(const struct adl_power_law *law, double load, double room);

#endif
