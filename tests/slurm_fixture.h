/* slurm_fixture: four nodes of a Slurm cluster as the adapter tells of them, and messages about jobs on it. */
#ifndef ADLRO_TESTS_SLURM_FIXTURE_H
#define ADLRO_TESTS_SLURM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executor/slurm/slurm_mirror.h"
#include "executor/slurm/slurm_nodes.h"

#include <cJSON.h>
#include <string.h>

#define NODE(name, gpus)                                                                                               \
    "{\"ev\":\"node\",\"name\":\"" name "\",\"usable\":true,\"why\":\"\",\"cpus\":8,\"memory_mib\":16000,"             \
    "\"gpus\":[" gpus "]}"
#define GPUS(type, count) "{\"type\":\"" type "\",\"count\":" count ",\"used\":0}"

static const char *const fixture_nodes[] = {
    NODE("v0", GPUS("volta", "2")),
    NODE("v1", GPUS("volta", "2")),
    NODE("t0", GPUS("turing", "1")),
    NODE("m0", GPUS("volta", "1") "," GPUS("turing", "1")),
};

static inline cJSON *parse(const char *text)
{
    cJSON *json = cJSON_Parse(text);
    if (!json)
        fail_msg("not JSON: %s", text);
    return json;
}

#endif
