/* clock: the service's time: microseconds since the epoch, that never go back, and in a twin run faster. */
#ifndef ADLRO_SERVE_CLOCK_H
#define ADLRO_SERVE_CLOCK_H

#include <stdint.h>

struct adl_service_clock {
    int64_t begin_us;      /* wall clock when it was started */
    int64_t begin_mono_us; /* the clock that is never set, at that moment */
    double speed;
};

/* not_before_us: the latest time that an earlier life of the service has written down. */
struct adl_service_clock adl_service_clock_start(double speed, int64_t not_before_us);
int64_t adl_service_clock_now(const struct adl_service_clock *clock);

/* Milliseconds of waiting until then, for poll(): at least 0, at most most_ms. */
int adl_service_clock_wait_ms(const struct adl_service_clock *clock, int64_t until_us, int most_ms);

#endif
