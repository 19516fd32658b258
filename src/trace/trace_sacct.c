/* trace_sacct: the output of Slurm's `sacct --parsable2`, one line a job; job steps are skipped. */
#include "base/suggest.h"
#include "trace/trace_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    JOB_ID,
    USER,
    JOB_NAME,
    STATE,
    SUBMIT,
    START,
    END,
    ELAPSED,
    ELAPSED_RAW,
    TIMELIMIT,
    TIMELIMIT_RAW,
    ALLOC_TRES,
    REQ_TRES,
    ADMIN_COMMENT,
    COLUMN_COUNT
};

static const struct adl_trace_column columns[COLUMN_COUNT] = {
    [JOB_ID] = {"JobID", true},
    [USER] = {"User", false},
    [JOB_NAME] = {"JobName", false},
    [STATE] = {"State", true},
    [SUBMIT] = {"Submit", true},
    [START] = {"Start", false},
    [END] = {"End", false},
    [ELAPSED] = {"Elapsed", false},
    [ELAPSED_RAW] = {"ElapsedRaw", false},
    [TIMELIMIT] = {"Timelimit", false},
    [TIMELIMIT_RAW] = {"TimelimitRaw", false},
    [ALLOC_TRES] = {"AllocTRES", false},
    [REQ_TRES] = {"ReqTRES", false},
    [ADMIN_COMMENT] = {"AdminComment", false},
};

static const char *missing(const int16_t *column)
{
    if (column[ALLOC_TRES] < 0 && column[REQ_TRES] < 0)
        return "the column 'AllocTRES' or 'ReqTRES'";
    if (column[ELAPSED] < 0 && column[ELAPSED_RAW] < 0 && (column[START] < 0 || column[END] < 0))
        return "the column 'Elapsed' or 'ElapsedRaw', or 'Start' and 'End'";
    return NULL;
}

/* ---- resources: cpu=16,mem=64G,gres/gpu=4,gres/gpu:a100=4 ---- */

struct tres {
    uint64_t gpus; /* gres/gpu= */
    uint64_t typed_gpus;
    uint64_t nodes;
    int32_t cpu_milli;
    int32_t memory_mib;
    char types[2 * ADL_TRACE_WORD];
};

static bool read_memory(char *text, int32_t *ret_mib)
{
    static const char suffixes[] = "KMGTP";
    const size_t size = strlen(text);
    double mib = 1;
    const char *suffix = size > 0 ? strchr(suffixes, text[size - 1]) : NULL;
    if (suffix) {
        text[size - 1] = '\0';
        mib = 1.0 / 1024;
        for (const char *unit = suffixes; unit < suffix; unit++)
            mib *= 1024;
    }
    double value;
    if (!adl_cell_real(text, &value))
        return false;
    value *= mib;
    if (!(value >= 0 && value <= INT32_MAX))
        return false;
    *ret_mib = (int32_t)value;
    return true;
}

static bool add_type(struct tres *tres, const char *type)
{
    const size_t used = strlen(tres->types);
    const size_t left = sizeof tres->types - used;
    const int size = snprintf(tres->types + used, left, "%s%s", used > 0 ? "|" : "", type);
    return *type != '\0' && size > 0 && (size_t)size < left;
}

static bool read_resource(const char *name, char *text, struct tres *tres)
{
    static const char gpu[] = "gres/gpu";
    if (strcmp(name, "mem") == 0)
        return read_memory(text, &tres->memory_mib);
    const bool is_cpu = strcmp(name, "cpu") == 0;
    const bool is_node = strcmp(name, "node") == 0;
    const bool is_gpu = strncmp(name, gpu, sizeof gpu - 1) == 0;
    const char *type = name + sizeof gpu - 1;
    if (!is_cpu && !is_node && (!is_gpu || (*type != '\0' && *type != ':')))
        return true; /* billing, energy, gres/gpumem, ... */
    double value;
    if (!adl_cell_real(text, &value) || !(value >= 0 && value <= INT32_MAX / 1000) || value != (double)(int32_t)value)
        return false;
    if (is_cpu) {
        tres->cpu_milli = (int32_t)value * 1000;
        return true;
    }
    if (is_node) {
        tres->nodes = (uint64_t)value;
        return true;
    }
    if (*type == '\0') {
        tres->gpus = (uint64_t)value;
        return true;
    }
    tres->typed_gpus += (uint64_t)value;
    return value == 0 || add_type(tres, type + 1);
}

static bool read_tres(const char *text, struct tres *ret)
{
    char copy[2048];
    const size_t size = strlen(text);
    *ret = (struct tres){0};
    if (size >= sizeof copy)
        return false;
    memcpy(copy, text, size + 1);
    struct adl_cells parts;
    if (!adl_cells_cut(&parts, copy, ',', false))
        return false;
    for (uint32_t i = 0; i < parts.count; i++) {
        char *equals = strchr(parts.at[i], '=');
        if (!equals && *parts.at[i] != '\0')
            return false;
        if (!equals)
            continue;
        *equals = '\0';
        if (!read_resource(parts.at[i], equals + 1, ret))
            return false;
    }
    return true;
}

static int refuse_tres(const struct adl_trace_reading *reading, int column)
{
    char shown[ADL_QUOTE_SIZE];
    return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "%s is not as cpu=4,mem=16G,gres/gpu=1: %s",
                            columns[column].name, adl_quote(adl_trace_cell(reading, column), shown));
}

/* For a job that adlro has placed, Slurm's request may be its allocation. The user's request, per node, is in the
 * comment: "adlro:volta:2|turing:1;nodes=v0", "adlro-given:*:1", whose alternatives are separate cells. False if it is
 * not such a job. */
static bool read_request(const struct adl_trace_reading *reading, uint64_t gpus_per_node, struct tres *ret)
{
    const char *comment = adl_trace_cell(reading, ADMIN_COMMENT);
    if (strncmp(comment, "adlro:", 6) != 0 && strncmp(comment, "adlro-given:", 12) != 0)
        return false;
    *ret = (struct tres){.types = ""};
    for (uint32_t i = (uint32_t)reading->column[ADMIN_COMMENT]; i < reading->cells->count; i++) {
        const char *at = reading->cells->at[i] == comment ? strchr(comment, ':') + 1 : reading->cells->at[i];
        const size_t size = strcspn(at, ":");
        char type[ADL_TRACE_WORD];
        unsigned count = 0;
        if (size >= sizeof type || sscanf(at + size, ":%u", &count) != 1)
            return false;
        memcpy(type, at, size);
        type[size] = '\0';
        if (strcmp(type, "*") == 0) { /* any will do */
            ret->types[0] = '\0';
            return true;
        }
        if (count == gpus_per_node && !add_type(ret, type))
            return false;
    }
    return ret->types[0] != '\0';
}

/* Amounts are those allocated, but types only those requested: a job that was given an A100 does not necessarily need
 * one. */
static int read_demand(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const bool was_given = *adl_trace_cell(reading, ALLOC_TRES) != '\0';
    const int column = was_given ? ALLOC_TRES : REQ_TRES;
    struct tres tres;
    if (!read_tres(adl_trace_cell(reading, column), &tres))
        return refuse_tres(reading, column);
    const uint64_t gpus = tres.gpus > 0 ? tres.gpus : tres.typed_gpus, nodes = tres.nodes;
    if (gpus == 0)
        return adl_trace_refuse(reading, ADL_TRACE_NO_GPU, "the job has no gres/gpu in %s", columns[column].name);
    if (gpus > ADL_TRACE_GPUS_MAX)
        return refuse_tres(reading, column);
    ret->gpus = (uint32_t)gpus;
    ret->cpu_milli = tres.cpu_milli;
    ret->memory_mib = tres.memory_mib;
    if (was_given && reading->column[REQ_TRES] >= 0 && !read_tres(adl_trace_cell(reading, REQ_TRES), &tres))
        return refuse_tres(reading, REQ_TRES);
    struct tres request;
    if (was_given && read_request(reading, gpus / (nodes > 0 ? nodes : 1), &request))
        tres = request;
    return adl_trace_take_types(reading, "gres/gpu:TYPE", tres.types, ret->types);
}

/* ---- times ---- */

static bool is_unfinished(const char *state)
{
    static const char *const words[] = {"PENDING",      "RUNNING",     "SUSPENDED", "REQUEUED",   "RESIZING",
                                        "REQUEUE_HOLD", "CONFIGURING", "STAGE_OUT", "COMPLETING", "STOPPED"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(state, words[i]) == 0)
            return true;
    return false;
}

static int read_span(const struct adl_trace_reading *reading, int column, int64_t *ret_us)
{
    char shown[ADL_QUOTE_SIZE];
    const char *text = adl_trace_cell(reading, column);
    if (adl_cell_span(text, ret_us))
        return ADL_TRACE_USED;
    return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "%s has to be as 1-02:03:04, not %s", columns[column].name,
                            adl_quote(text, shown));
}

static int read_duration(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    if (*adl_trace_cell(reading, ELAPSED_RAW) != '\0')
        return adl_trace_take_time(reading, "ElapsedRaw", adl_trace_cell(reading, ELAPSED_RAW), 1, &ret->duration_us);
    if (*adl_trace_cell(reading, ELAPSED) != '\0')
        return read_span(reading, ELAPSED, &ret->duration_us);
    int64_t start_us = 0;
    int64_t end_us = 0;
    int reason = adl_trace_take_timestamp(reading, "Start", adl_trace_cell(reading, START), &start_us);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_timestamp(reading, "End", adl_trace_cell(reading, END), &end_us);
    if (reason == ADL_TRACE_USED)
        ret->duration_us = end_us - start_us;
    return reason;
}

/* What happened; without End the run time says when it ended. */
static void read_past(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    int64_t time_us;
    if (adl_cell_timestamp(adl_trace_cell(reading, START), &time_us))
        ret->start_us = time_us;
    if (adl_cell_timestamp(adl_trace_cell(reading, END), &time_us))
        ret->end_us = time_us;
}

static int read_limit(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const char *text = adl_trace_cell(reading, TIMELIMIT);
    const bool raw = *text == '\0';
    if (raw)
        text = adl_trace_cell(reading, TIMELIMIT_RAW);
    if (adl_cell_is_none(text) || strcmp(text, "UNLIMITED") == 0 || strcmp(text, "Partition_Limit") == 0)
        return ADL_TRACE_USED;
    if (raw)
        return adl_trace_take_time(reading, "TimelimitRaw", text, 60, &ret->limit_us);
    return read_span(reading, TIMELIMIT, &ret->limit_us);
}

static int read_times(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const char *state = adl_trace_cell(reading, STATE);
    if (is_unfinished(state))
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "no run time is known: the job is %s", state);
    if (reading->column[START] >= 0 && adl_cell_is_none(adl_trace_cell(reading, START)))
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "the job never started (no Start)");
    int reason = adl_trace_take_timestamp(reading, "Submit", adl_trace_cell(reading, SUBMIT), &ret->submit_us);
    if (reason == ADL_TRACE_USED)
        reason = read_duration(reading, ret);
    if (reason == ADL_TRACE_USED && ret->duration_us == 0 && strncmp(state, "CANCELLED", 9) == 0)
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "the job was cancelled before it ran");
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_check_duration(reading, ret->duration_us);
    if (reason == ADL_TRACE_USED)
        reason = read_limit(reading, ret);
    read_past(reading, ret);
    return reason;
}

static int read_row(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const char *id = adl_trace_cell(reading, JOB_ID);
    if (strchr(id, '.')) /* 123.batch, 123_4.0: a step */
        return ADL_TRACE_IGNORED;
    int reason = adl_trace_take_id(reading, "JobID", id, ret->id);
    if (reason == ADL_TRACE_USED)
        reason = read_demand(reading, ret);
    if (reason == ADL_TRACE_USED)
        reason = read_times(reading, ret);
    adl_trace_take_word(ret->user, adl_trace_cell(reading, USER));
    adl_trace_take_word(ret->name, adl_trace_cell(reading, JOB_NAME));
    return reason;
}

const struct adl_trace_form adl_trace_form_sacct = {
    .name = "sacct",
    .separator = '|',
    .has_header = true,
    .loose_end = true,
    .columns = columns,
    .column_count = COLUMN_COUNT,
    .missing = missing,
    .read = read_row,
};
