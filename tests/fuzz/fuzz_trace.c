/* fuzz_trace: the first byte chooses format, strictness and unit; the rest are the bytes of a trace. If the environment
 * names a reader in ADL_FUZZ_READER, the format is always that one: bench/fuzz gives each reader its own time. */
#include "base/text.h"
#include "trace/trace.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int only_format = ADL_TRACE_AUTO;

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_row(const struct adl_trace_row *row, int64_t above_us)
{
    must(row->submit_us >= above_us && row->submit_us <= INT64_C(1) << 53);
    must(row->duration_us > 0 || (row->duration_us == 0 && row->steps > 0));
    must(row->limit_us >= 0 && row->deadline_us >= 0);
    must(row->gpus >= 1 && row->gpu_milli >= 1 && row->gpu_milli <= 1000);
    must(row->cpu_milli >= 0 && row->memory_mib >= 0 && row->steps >= 0 && row->priority <= 1);
    must(row->line > 0 && row->id[0] != '\0' && memchr(row->id, '\0', sizeof row->id));
    must(memchr(row->user, '\0', sizeof row->user) && memchr(row->name, '\0', sizeof row->name));
    must(memchr(row->types, '\0', sizeof row->types));
}

static bool is_same(const struct adl_trace_row *a, const struct adl_trace_row *b)
{
    return a->submit_us == b->submit_us && a->duration_us == b->duration_us && a->limit_us == b->limit_us &&
           a->deadline_us == b->deadline_us && a->gpus == b->gpus && a->gpu_milli == b->gpu_milli &&
           a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib && a->priority == b->priority &&
           a->steps == b->steps && strcmp(a->id, b->id) == 0 && strcmp(a->user, b->user) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->types, b->types) == 0;
}

/* As a file, which only this process knows. */
static int open_bytes(const void *bytes, size_t size, const struct adl_trace_options *options, struct adl_trace **ret,
                      struct adl_error *err)
{
    char path[32];
    FILE *file = tmpfile();
    must(file && (size == 0 || fwrite(bytes, 1, size, file) == size) && fflush(file) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    const int status = adl_trace_open(path, options, ret, err);
    fclose(file);
    return status;
}

/* Every row read has to come back the same from our CSV. */
static void check_export(const struct adl_text *csv, const struct adl_trace_row *last, uint64_t count)
{
    const struct adl_trace_options strict = {.format = ADL_TRACE_CSV, .strict = true};
    struct adl_trace *trace = NULL;
    struct adl_trace_row row = {0};
    struct adl_error err = {{0}};
    must(adl_text_status(csv) == 0);
    must(open_bytes(csv->data, csv->size, &strict, &trace, &err) == 0);
    must(adl_trace_counts(trace)[ADL_TRACE_USED] == count);
    while (adl_trace_next(trace, &row, &err) == 1)
        ;
    must(count == 0 || is_same(&row, last));
    adl_trace_close(trace);
}

static void read_all(struct adl_trace *trace)
{
    struct adl_trace_row row = {0};
    struct adl_error err = {{0}};
    struct adl_text csv = {0};
    uint64_t count = 0;
    int64_t above_us = 0;
    int status;
    adl_trace_write_head(&csv);
    while ((status = adl_trace_next(trace, &row, &err)) == 1) {
        check_row(&row, above_us);
        must(count > 0 || row.submit_us == 0);
        above_us = row.submit_us;
        adl_trace_write_row(&csv, &row);
        count++;
    }
    must(status == 0 && count == adl_trace_counts(trace)[ADL_TRACE_USED]);
    check_export(&csv, &row, count);
    adl_text_clear(&csv);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *name = getenv("ADL_FUZZ_READER");
    if (name)
        must((only_format = adl_trace_format_find(name)) > ADL_TRACE_AUTO);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double units_s[] = {0, 1, 0.001, 60};
    struct adl_trace *trace = NULL;
    struct adl_error err = {{0}};
    if (size == 0)
        return 0;
    const struct adl_trace_options options = {
        .format = only_format != ADL_TRACE_AUTO ? only_format : data[0] % ADL_TRACE_FORMAT_COUNT,
        .strict = data[0] >> 3 & 1,
        .unit_s = units_s[data[0] >> 4 & 3],
    };
    if (open_bytes(data + 1, size - 1, &options, &trace, &err) < 0) {
        must(strncmp(err.text, "/proc/self/fd/", 14) == 0); /* it says where */
        return 0;
    }
    read_all(trace);
    adl_trace_close(trace);
    return 0;
}
