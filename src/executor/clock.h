/* clock: the service's time in two forms, both in microseconds since the epoch.
 *
 * Wall time is for people and the store: this machine's clock, which may be set back or ahead while the service runs.
 * Steady time is for the engine, the executor and deadlines of the service: it starts with the wall clock, and is never
 * set afterwards. In a twin the two are one, and run faster. */
#ifndef ADLRO_EXECUTOR_CLOCK_H
#define ADLRO_EXECUTOR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct adl_service_clock {
    int64_t begin_us;      /* wall clock when it was started */
    int64_t begin_boot_us; /* the clock that is never set, at that moment */
    double speed;
    bool twin; /* of a simulated cluster: wall time is steady time */
};

/* The clock of a service of this machine. */
struct adl_service_clock adl_service_clock_start(void);
/* not_before_us: the latest time that an earlier run of the twin has stored. */
struct adl_service_clock adl_service_clock_start_twin(double speed, int64_t not_before_us);

int64_t adl_service_clock_wall(const struct adl_service_clock *clock);
int64_t adl_service_clock_steady(const struct adl_service_clock *clock);
/* Steady time at a moment of the clock of this boot that is never set (CLOCK_BOOTTIME). */
int64_t adl_service_clock_of_boot(const struct adl_service_clock *clock, int64_t boot_us);

/* Milliseconds of waiting until then, in steady time, for poll(): at least 0, at most most_ms. */
int adl_service_clock_wait_ms(const struct adl_service_clock *clock, int64_t until_us, int most_ms);

#endif
