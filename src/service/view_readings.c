/* view_readings: what telemetry read of some GPUs over time. */
#include "service/view.h"

#include <string.h>

#define POINTS 120

/* Of some GPUs, at about one time. */
struct reading {
    const char *const *gpus; /* NULL-terminated ids */
    int64_t time_us;         /* of the first sample; 0 = none yet */
    double utilization, power_w, temperature_c;
    uint32_t utilizations, powers, temperatures;
};

static bool is_among(const char *const *gpus, const char *gpu)
{
    while (*gpus && strcmp(*gpus, gpu) != 0)
        gpus++;
    return *gpus != NULL;
}

static int see_time(void *context, const struct adl_store_sample *sample, struct adl_error *err)
{
    (void)err;
    *(int64_t *)context = sample->time_us;
    return 0;
}

static double value_of(const struct adl_telemetry *readings, int which, uint32_t *count)
{
    const bool there = !(readings->missing >> which & 1);
    *count += there;
    return there ? (double)readings->value[which] : 0;
}

/* Samples of one round of the telemetry have one time. */
static int take_sample(void *context, const struct adl_store_sample *sample, struct adl_error *err)
{
    struct reading *reading = context;
    (void)err;
    if (reading->time_us > 0 && sample->time_us > reading->time_us)
        return 1;
    if (!is_among(reading->gpus, sample->gpu))
        return 0;
    reading->time_us = sample->time_us;
    reading->utilization += value_of(&sample->readings, ADL_READ_UTILIZATION, &reading->utilizations);
    reading->power_w += value_of(&sample->readings, ADL_READ_POWER, &reading->powers);
    reading->temperature_c += value_of(&sample->readings, ADL_READ_TEMPERATURE, &reading->temperatures);
    return 0;
}

static void put_mean(struct adl_json *json, const char *key, double sum, uint32_t count, uint32_t over)
{
    adl_json_key(json, key);
    if (count > 0)
        adl_json_real(json, sum / over);
    else
        adl_json_null(json);
}

/* Where nothing was read yet, there is nothing to draw. */
static int find_first(struct adl_store *store, int64_t from_us, int64_t until_us, int64_t *ret_us,
                      struct adl_error *err)
{
    *ret_us = until_us;
    return adl_store_samples(store, NULL, from_us, until_us, 1, see_time, ret_us, err);
}

int adl_view_readings(struct adl_json *json, struct adl_store *store, const char *const *gpus, int64_t from_us,
                      int64_t until_us, struct adl_error *err)
{
    const char *only = gpus[0] && !gpus[1] ? gpus[0] : NULL;
    int status = find_first(store, from_us, until_us, &from_us, err);
    const int64_t step_us = (until_us - from_us) / POINTS > 0 ? (until_us - from_us) / POINTS : 1;
    adl_json_put_real(json, "step_s", (double)step_us * 1e-6);
    adl_json_key(json, "points");
    adl_json_array(json);
    for (int64_t at_us = from_us; gpus[0] && status >= 0 && at_us < until_us; at_us += step_us) {
        struct reading reading = {.gpus = gpus};
        status = adl_store_samples(store, only, at_us, at_us + step_us, ADL_STORE_PAGE_MAX, take_sample, &reading, err);
        if (reading.time_us == 0)
            continue;
        adl_json_object(json);
        adl_view_time(json, "time_s", reading.time_us);
        put_mean(json, "utilization", reading.utilization, reading.utilizations, reading.utilizations);
        put_mean(json, "power_w", reading.power_w, reading.powers, 1);
        put_mean(json, "temperature_c", reading.temperature_c, reading.temperatures, reading.temperatures);
        adl_json_end(json);
    }
    adl_json_end(json);
    return status < 0 ? status : 0;
}
