/* telemetry_exporter: the exporters' pages as a source, one status for each address. */
#include "telemetry/exporter.h"
#include "telemetry/scrape.h"

#include <stdio.h>
#include <stdlib.h>

struct exporter_state {
    struct adl_scrape *scrape;
    struct adl_exporter *exporter;
};

static int exporter_open(struct adl_telemetry_source *source, const struct adl_telemetry_options *options,
                         struct adl_error *err)
{
    struct exporter_state *state = calloc(1, sizeof *state);
    source->state = state;
    if (!state || adl_source_set_statuses(source, options->url_count) < 0)
        return ADL_ENOMEM;
    state->exporter = adl_exporter_create();
    if (!state->exporter)
        return ADL_ENOMEM;
    const int64_t timeout_us = options->timeout_us ? options->timeout_us : 2000000;
    const int status = adl_scrape_create(options->urls, options->url_count, timeout_us, &state->scrape, err);
    if (status < 0)
        return status;
    for (uint32_t i = 0; i < options->url_count; i++) {
        snprintf(source->statuses[i].name, sizeof source->statuses[i].name, "%.150s", adl_scrape_url(state->scrape, i));
        adl_status_set(&source->statuses[i], false, "not read yet");
    }
    return 0;
}

static int exporter_sample(struct adl_telemetry_source *source, int64_t now_us)
{
    struct exporter_state *state = source->state;
    struct adl_error err = {{0}};
    adl_scrape_fetch(state->scrape);
    for (uint32_t i = 0; i < source->status_count; i++) {
        const char *data;
        size_t size;
        struct adl_telemetry_status *status = &source->statuses[i];
        int result = adl_scrape_page(state->scrape, i, &data, &size, &err);
        if (result == 0)
            result = adl_exporter_read(state->exporter, source, i, adl_scrape_host(state->scrape, i), data, size,
                                       now_us, status, &err);
        if (result == ADL_ENOMEM)
            return result;
        if (result < 0) {
            status->faults.count[ADL_FAULT_FAILED]++;
            adl_status_set(status, false, "%.190s", err.text);
        } else {
            adl_status_set(status, true, "%s", "");
        }
    }
    return 0;
}

static void exporter_close(void *memory)
{
    struct exporter_state *state = memory;
    if (!state)
        return;
    adl_scrape_destroy(state->scrape);
    adl_exporter_destroy(state->exporter);
    free(state);
}

const struct adl_telemetry_source_ops adl_telemetry_exporter = {exporter_open, exporter_sample, exporter_close};
