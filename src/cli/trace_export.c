/* trace_export: writes a trace in our own CSV, see docs/traces.md, row by row. */
#include "base/text.h"
#include "cli/replay.h"
#include "ingest/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int flush(struct adl_text *text, FILE *file, struct adl_error *err)
{
    if (adl_text_status(text))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the export");
    if (text->size > 0 && fwrite(text->data, 1, text->size, file) != text->size)
        return adl_fail(err, ADL_EIO, "cannot write the export: %s", strerror(errno));
    adl_text_truncate(text, 0);
    return 0;
}

static int write_rows(struct adl_trace *trace, uint64_t jobs_max, FILE *file, struct adl_error *err)
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
            status = flush(&text, file, err);
    }
    status = status ? status : more < 0 ? more : flush(&text, file, err);
    adl_text_clear(&text);
    return status;
}

/* Special files (/dev/null, a pipe) are written in place; others appear under their name by renaming. */
static int write_file(struct adl_trace *trace, uint64_t jobs_max, const char *to, struct adl_error *err)
{
    struct stat info;
    const bool special = stat(to, &info) == 0 && !S_ISREG(info.st_mode);
    char temporary[4200];
    if (snprintf(temporary, sizeof temporary, special ? "%s" : "%s.%ld.part", to, (long)getpid()) >=
        (int)sizeof temporary)
        return adl_fail(err, ADL_EINVAL, "the name of the export is too long");
    FILE *file = fopen(temporary, "wb");
    if (!file)
        return adl_fail(err, ADL_EIO, "cannot write %.200s: %s", to, strerror(errno));
    int status = write_rows(trace, jobs_max, file, err);
    if (fclose(file) != 0 && status == 0)
        status = adl_fail(err, ADL_EIO, "cannot write %.200s: %s", to, strerror(errno));
    if (status == 0 && !special && rename(temporary, to) != 0)
        status = adl_fail(err, ADL_EIO, "cannot write %.200s: %s", to, strerror(errno));
    if (status && !special)
        remove(temporary);
    return status;
}

int adl_trace_export(const char *path, const struct adl_trace_options *options, uint64_t jobs_max, const char *to,
                     struct adl_error *err)
{
    struct adl_trace *trace = NULL;
    int status = adl_trace_open(path, options, &trace, err);
    if (status)
        return status;
    if (strcmp(to, "-") == 0) {
        status = write_rows(trace, jobs_max, stdout, err);
        if (status == 0 && fflush(stdout) != 0)
            status = adl_fail(err, ADL_EIO, "cannot write the export: %s", strerror(errno));
    } else {
        status = write_file(trace, jobs_max, to, err);
    }
    adl_trace_close(trace);
    return status;
}
