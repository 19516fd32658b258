#include "rl/practice.h"

#include "scenario/generator.h"
#include "scenario/scenario.h"
#include "scenario/shipped.h"

#include <stdlib.h>
#include <string.h>

static int make(uint64_t seed, uint64_t jobs_max, struct adl_scenario *ret, struct adl_error *err)
{
    const struct adl_scenario_source source = {.read = adl_shipped_read};
    struct adl_text text = {0};
    int status = adl_scenario_generate(seed, ADL_GENERATOR_SMALL, false, &text, err);
    if (status == 0)
        status = adl_scenario_parse("random.yaml", text.data, text.size, &source, ret, err);
    if (status == 0 && ret->workload.jobs > jobs_max)
        ret->workload.jobs = jobs_max;
    adl_text_clear(&text);
    return status;
}

int adl_practice_create(uint64_t first_seed, uint32_t count, uint64_t jobs_max, struct adl_scenario **ret,
                        struct adl_error *err)
{
    struct adl_scenario *scenarios = calloc(count ? count : 1, sizeof *scenarios);
    if (!scenarios)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u scenarios", count);
    for (uint32_t i = 0; i < count; i++) {
        const int status = make(first_seed + i, jobs_max, &scenarios[i], err);
        if (status) {
            adl_practice_destroy(scenarios, count);
            return status;
        }
    }
    *ret = scenarios;
    return 0;
}

void adl_practice_destroy(struct adl_scenario *scenarios, uint32_t count)
{
    for (uint32_t i = 0; i < count && scenarios; i++)
        adl_scenario_clear(&scenarios[i]);
    free(scenarios);
}
