#include "executor/local/gpu_caps.h"

#include <stdlib.h>

#define HEARTBEAT_US INT64_C(5000000)

struct adl_gpu_caps {
    struct adl_power_link_config config;
    const struct adl_inventory *inventory;
    struct adl_power_link *link; /* NULL: the helper ended, and is started again with the next heartbeat */
    double *power_w;             /* [gpu] in force; 0 = none */
    int64_t beat_us;
};

static uint32_t gpu_count(const struct adl_gpu_caps *caps)
{
    return caps->inventory->scenario.cluster.gpu_count;
}

static int check(const struct adl_gpu_caps *caps, const double *shares, uint32_t share_count, struct adl_error *err)
{
    const struct adl_cluster *cluster = &caps->inventory->scenario.cluster;
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        for (uint32_t i = 0; i < share_count; i++) {
            const double power_w = shares[i] * cluster->types[adl_gpu_type_of(cluster, g)].max_w;
            const int status = adl_power_link_check(caps->link, caps->inventory->gpus[g].id, power_w, err);
            if (status)
                return status;
        }
    return 0;
}

int adl_gpu_caps_open(const struct adl_power_link_config *config, const struct adl_inventory *inventory,
                      const double *shares, uint32_t share_count, struct adl_gpu_caps **ret, struct adl_error *err)
{
    struct adl_gpu_caps *caps = calloc(1, sizeof *caps);
    if (!caps)
        return adl_fail(err, ADL_ENOMEM, "out of memory for power caps");
    caps->config = *config;
    caps->inventory = inventory;
    caps->power_w = calloc(gpu_count(caps) + (size_t)1, sizeof *caps->power_w);
    int status = caps->power_w ? adl_power_link_open(config, &caps->link, err)
                               : adl_fail(err, ADL_ENOMEM, "out of memory for power caps");
    if (status == 0)
        status = check(caps, shares, share_count, err);
    if (status) {
        adl_gpu_caps_close(caps);
        return status;
    }
    *ret = caps;
    return 0;
}

void adl_gpu_caps_close(struct adl_gpu_caps *caps)
{
    if (!caps)
        return;
    adl_power_link_close(caps->link);
    free(caps->power_w);
    free(caps);
}

static int set_one(struct adl_gpu_caps *caps, uint32_t gpu, double power_w, struct adl_error *err)
{
    return caps->link ? adl_power_link_cap(caps->link, caps->inventory->gpus[gpu].id, power_w, err)
                      : adl_fail(err, ADL_EIO, "the power helper has ended; it will be started again");
}

int adl_gpu_caps_set(struct adl_gpu_caps *caps, const uint32_t *gpus, uint32_t count, double power_w,
                     struct adl_error *err)
{
    uint32_t done = 0;
    int status = 0;
    for (; status == 0 && done < count; done++)
        status = set_one(caps, gpus[done], power_w, err);
    for (uint32_t i = 0; status == 0 && i < count; i++)
        caps->power_w[gpus[i]] = power_w;
    for (uint32_t i = 0; status && i + 1 < done; i++) /* those that succeeded */
        set_one(caps, gpus[i], caps->power_w[gpus[i]], &(struct adl_error){""});
    return status;
}

/* A helper that ended has restored all limits, or the next one does. */
static void start_again(struct adl_gpu_caps *caps)
{
    struct adl_error err;
    adl_power_link_close(caps->link);
    caps->link = NULL;
    if (adl_power_link_open(&caps->config, &caps->link, &err))
        return;
    for (uint32_t g = 0; g < gpu_count(caps); g++)
        if (caps->power_w[g] > 0)
            set_one(caps, g, caps->power_w[g], &err);
}

void adl_gpu_caps_keep(struct adl_gpu_caps *caps, int64_t now_us)
{
    struct adl_error err;
    if (!caps || now_us - caps->beat_us < HEARTBEAT_US)
        return;
    caps->beat_us = now_us;
    if (!caps->link || adl_power_link_ping(caps->link, &err))
        start_again(caps);
}
