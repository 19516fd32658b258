/* fuzz_scenario: bytes as a scenario's text, beside a small catalogue from memory. */
#include "scenario_fixture.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct adl_scenario_source source = {.read = fixture_read, .context = (void *)(uintptr_t)fixture_catalogue};
    struct adl_scenario scenario;
    struct adl_error err = {{0}};
    if (adl_scenario_parse("fuzz.yaml", (const char *)data, size, &source, &scenario, &err) == 0) {
        if (scenario.cluster.gpu_count == 0 || scenario.workload.mix_count == 0)
            abort();
        for (uint32_t i = 0; i < scenario.workload.mix_count; i++)
            if (scenario.workload.mix[i].types == 0 || scenario.workload.mix[i].gang_count == 0)
                abort();
        adl_scenario_clear(&scenario);
    } else if (strncmp(err.text, "fuzz.yaml:", 10) != 0) {
        abort(); /* whatever is wrong is in this file, and the message says where */
    }
    return 0;
}
