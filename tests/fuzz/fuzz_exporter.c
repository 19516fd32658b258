/* fuzz_exporter: the bytes of an exporter's page, read twice, a second apart; the byte 0xff parts the two pages.
 * Whatever they say, readings are possible or missing, and texts are printable and end. */
#include "telemetry/exporter.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_sample(const struct adl_gpu_sample *sample)
{
    static const double tops[ADL_READ_COUNT] = {1, 1, 150, 2500, 1, 1, 1, 1, 16000, 16000, 1};
    must(sample->telemetry.missing < 1u << ADL_READ_COUNT);
    for (int r = 0; r < ADL_READ_COUNT; r++) {
        const double value = (double)sample->telemetry.value[r];
        if (adl_telemetry_has(&sample->telemetry, r))
            must(isfinite(value) && value >= (r == ADL_READ_TEMPERATURE ? -40 : 0) && value <= tops[r]);
    }
    must(isfinite(sample->energy_j) && (sample->energy_j >= 0 || sample->energy_j == -1.0));
    must(sample->memory_used_mib >= -1 && !sample->lost && sample->pid_count == 0);
}

static void check_text(const char *text, size_t size)
{
    const char *end = memchr(text, '\0', size);
    must(end != NULL);
    for (; text < end; text++)
        must(*text >= ' ' && *text <= '~');
}

static void check_device(const struct adl_gpu_device *device)
{
    check_text(device->type, sizeof device->type);
    check_text(device->model, sizeof device->model);
    check_text(device->vendor, sizeof device->vendor);
    check_text(device->uuid, sizeof device->uuid);
    check_text(device->pci, sizeof device->pci);
    check_text(device->node, sizeof device->node);
    must(device->type[0] && device->vendor[0]);
    must(device->memory_mib >= 0 && device->limit_w >= 0 && device->limit_w <= 2500);
}

static void read_page(struct adl_exporter *exporter, struct adl_telemetry_source *source, const uint8_t *data,
                      size_t size, int64_t now_us)
{
    struct adl_telemetry_status status = {.up = false};
    struct adl_error err = {{0}};
    const uint32_t before = source->count;
    adl_source_clear_samples(source, now_us);
    const int result = adl_exporter_read(exporter, source, 0, "host", (const char *)data, size, now_us, &status, &err);
    must(result == 0 || (result == ADL_EINVAL && err.text[0]));
    must(source->count >= before && source->count <= ADL_TELEMETRY_DEVICES_MAX);
    must(status.device_count == source->count);
    for (uint32_t i = 0; i < source->count; i++) {
        check_device(&source->devices[i]);
        check_sample(&source->samples[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adl_telemetry_source source = {0};
    struct adl_exporter *exporter = adl_exporter_create();
    must(exporter != NULL);
    const uint8_t *part = size ? memchr(data, 0xff, size) : NULL;
    const size_t first = part ? (size_t)(part - data) : size;
    read_page(exporter, &source, data, first, 1000000);
    read_page(exporter, &source, part ? part + 1 : data, part ? size - first - 1 : size, 2000000);
    adl_source_clear(&source);
    adl_exporter_destroy(exporter);
    return 0;
}
