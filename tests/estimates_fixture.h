/* estimates_fixture: a cluster of three types and jobs to estimate. */
#ifndef ADLRO_TESTS_ESTIMATES_FIXTURE_H
#define ADLRO_TESTS_ESTIMATES_FIXTURE_H

#include "predict/estimates.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TYPES = 3 };

static inline void cluster_make(struct adl_cluster *ret)
{
    static const double fp32[TYPES] = {4.1, 10.6, 14.0}, bandwidth[TYPES] = {240, 732, 900};
    struct adl_error err = {{0}};
    *ret = (struct adl_cluster){0};
    for (int t = 0; t < TYPES; t++) {
        struct adl_gpu_type type = {.memory_mib = t == 0 ? 12288 : 16384,
                                    .bandwidth_gbs = bandwidth[t],
                                    .fp32_tflops = fp32[t],
                                    .fp16_tflops = fp32[t] * (1 << t),
                                    .fp64_tflops = fp32[t] / 2};
        snprintf(type.name, sizeof type.name, "type%d", t);
        snprintf(type.vendor, sizeof type.vendor, "NVIDIA");
        assert_int_equal(adl_cluster_add_type(ret, &type, &err), 0);
    }
}

static inline struct adl_estimates *estimates_make(const struct adl_cluster *cluster, uint32_t profiles)
{
    struct adl_estimates *estimates = NULL;
    struct adl_error err = {{0}};
    if (adl_estimates_create(cluster, profiles, NULL, 0, &estimates, &err) != 0)
        fail_msg("%s", err.text);
    return estimates;
}

/* Jobs that differ in all that a submission says. */
static inline struct adl_job_spec job_make(uint32_t number)
{
    return (struct adl_job_spec){.id = number + 1,
                                 .class_index = (uint16_t)number,
                                 .name_id = 1000 + number * 7919,
                                 .gpus = 1,
                                 .cpu_cores = 2 + (int32_t)(number % 3) * 2,
                                 .gpu_memory_mib = 1500 + 300 * (int32_t)number,
                                 .step_gflop = number % 2 ? 40.0f * (float)(number + 1) : 0};
}

#endif
