/* trace_export: writes a trace in our own CSV, see docs/traces.md, row by row. */
#include "cli/output.h"
#include "cli/replay.h"
#include "trace/trace.h"

#include <stdint.h>

static int flush(struct adl_text *text, struct adl_output *output, struct adl_error *err)
{
    const int status = adl_output_put(output, text, err);
    adl_text_truncate(text, 0);
    return status;
}

static int write_rows(struct adl_trace *trace, uint64_t jobs_max, struct adl_output *output, struct adl_error *err)
{
    struct adl_text text = {0};
    struct adl_trace_row row;
    uint64_t count = 0;
    int status = 0, more = 1;
    adl_trace_write_head(&text);
    while (status == 0 && (jobs_max == 0 || count < jobs_max) && (more = adl_trace_next(trace, &row, err)) > 0) {
        count++;
        adl_trace_write_row(&text, &row);
        if (text.size > 1 << 16)
            status = flush(&text, output, err);
    }
    status = status ? status : more < 0 ? more : flush(&text, output, err);
    adl_text_clear(&text);
    return status;
}

int adl_trace_export(const char *path, const struct adl_trace_options *options, uint64_t jobs_max, const char *to,
                     struct adl_error *err)
{
    struct adl_trace *trace = NULL;
    struct adl_output output = {0};
    int status = adl_trace_open(path, options, &trace, err);
    if (status)
        return status;
    status = adl_output_open(to, &output, err);
    if (status == 0)
        status = write_rows(trace, jobs_max, &output, err);
    status = adl_output_close(&output, status, err);
    adl_trace_close(trace);
    return status;
}
