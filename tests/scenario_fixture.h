/* scenario_fixture: a catalogue of two GPU types and two job classes, handed to the scenario reader from
 * memory. */
#ifndef ADLRO_TESTS_SCENARIO_FIXTURE_H
#define ADLRO_TESTS_SCENARIO_FIXTURE_H

#include "scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

static const char fixture_catalogue[] =
    "gpu_types:\n"                                                                                     /* 1 */
    "  - name: unused\n"                                                                               /* 2 */
    "    vendor: nvidia\n"                                                                             /* 3 */
    "    memory_mib: 1024\n"                                                                           /* 4 */
    "    bandwidth_gbs: 10\n"                                                                          /* 5 */
    "    fp32_tflops: 1\n"                                                                             /* 6 */
    "    fp16_tflops: 0\n"                                                                             /* 7 */
    "    fp64_tflops: 0\n"                                                                             /* 8 */
    "    idle_w: 1\n"                                                                                  /* 9 */
    "    context_w: 2\n"                                                                               /* 10 */
    "    max_w: 3\n"                                                                                   /* 11 */
    "    source: none\n"                                                                               /* 12 */
    "  - {name: big, vendor: nvidia, memory_mib: 16384, bandwidth_gbs: 900, fp32_tflops: 14.5,\n"      /* 13 */
    "     fp16_tflops: 112, fp64_tflops: 7, idle_w: 30, context_w: 60, max_w: 250, source: a sheet}\n" /* 14
                                                                                                        */
    "  - {name: small, vendor: amd, memory_mib: 8192, bandwidth_gbs: 300, fp32_tflops: 8,\n"           /* 15 */
    "     fp16_tflops: 0, fp64_tflops: 0.5, idle_w: 10, context_w: 20, max_w: 150, source: another,\n" /* 16
                                                                                                        */
    "     modelled: true}\n"                                                                           /* 17 */
    "job_classes:\n"                                                                                   /* 18 */
    "  - name: other\n"                                                                                /* 19 */
    "    kind: data\n"                                                                                 /* 20 */
    "    gpu_memory_mib: 10\n"                                                                         /* 21 */
    "    activity: 0.1\n"                                                                              /* 22 */
    "    bandwidth: 0.1\n"                                                                             /* 23 */
    "    sync_share: 0\n"                                                                              /* 24 */
    "    scaling: 1\n"                                                                                 /* 25 */
    "    source: guess\n"                                                                              /* 26 */
    "    speeds:\n"                                                                                    /* 27 */
    "      - {type: unused, steps_per_s: 1, source: guess}\n"                                          /* 28 */
    "      - {type: big, steps_per_s: 2, source: guess}\n"                                             /* 29 */
    "  - {name: train, kind: training, gpu_memory_mib: 7800, activity: 0.85, bandwidth: 0.6,\n"        /* 30 */
    "     sync_share: 0.1, scaling: 0.92, source: measured, speeds: [\n"                               /* 31 */
    "       {type: big, steps_per_s: 4.5, source: measured},\n"                                        /* 32 */
    "       {type: small, steps_per_s: 2.25, source: measured}]}\n"                                    /* 33 */
    "  - {name: infer, kind: inference, gpu_memory_mib: 2000, activity: 0.3, bandwidth: 0.2,\n"        /* 34 */
    "     sync_share: 0, scaling: 1, source: measured, speeds: [\n"                                    /* 35 */
    "       {type: small, steps_per_s: 100, modelled: true, source: ratio}]}\n";                       /* 36 */

/* context is the catalogue's text. */
static int fixture_read(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    const char *text = context;
    const size_t size = strlen(text);
    char *copy = malloc(size + 1);
    if (!copy)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %s", path);
    memcpy(copy, text, size + 1);
    *ret_text = copy;
    *ret_size = size;
    return 0;
}

#endif
