#include "executor/clock.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct adl_service_clock adl_service_clock_start(void)
{
    return (struct adl_service_clock){
        .begin_us = read_us(CLOCK_REALTIME), .begin_boot_us = read_us(CLOCK_BOOTTIME), .speed = 1.0};
}

struct adl_service_clock adl_service_clock_start_twin(double speed, int64_t not_before_us)
{
    struct adl_service_clock clock = adl_service_clock_start();
    clock.begin_us = clock.begin_us > not_before_us ? clock.begin_us : not_before_us + 1;
    clock.speed = speed;
    clock.twin = true;
    return clock;
}

int64_t adl_service_clock_of_boot(const struct adl_service_clock *clock, int64_t boot_us)
{
    const int64_t passed_us = boot_us - clock->begin_boot_us;
    return clock->begin_us + (clock->speed == 1.0 ? passed_us : (int64_t)((double)passed_us * clock->speed));
}

int64_t adl_service_clock_steady(const struct adl_service_clock *clock)
{
    return adl_service_clock_of_boot(clock, read_us(CLOCK_BOOTTIME));
}

int64_t adl_service_clock_wall(const struct adl_service_clock *clock)
{
    return clock->twin ? adl_service_clock_steady(clock) : read_us(CLOCK_REALTIME);
}

int adl_service_clock_wait_ms(const struct adl_service_clock *clock, int64_t until_us, int most_ms)
{
    const int64_t now_us = adl_service_clock_steady(clock);
    if (until_us <= now_us)
        return 0;
    const double wait_ms = (double)(until_us - now_us) * 1e-3 / clock->speed;
    return wait_ms < most_ms ? (int)wait_ms + 1 : most_ms;
}
