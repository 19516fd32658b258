/* trace: jobs recorded by other schedulers, read row by row from their formats.
 *
 * A reader holds one line and a few tables (names), not the trace. Rows that cannot be used are counted by reason, or
 * are an error with their line if the reader is strict. */
#ifndef ADLRO_TRACE_TRACE_H
#define ADLRO_TRACE_TRACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adl_trace_format {
    ADL_TRACE_AUTO,   /* by the first lines */
    ADL_TRACE_CSV,    /* ours, see docs/traces.md; also id,submit,gpus,duration alone */
    ADL_TRACE_PHILLY, /* timestamp,duration,num_gpus,gpu_time,cluster */
    ADL_TRACE_OPENB,  /* Alibaba pods: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,... */
    ADL_TRACE_GAVEL,  /* .trace of 7, 10 or 12 tab-separated fields */
    ADL_TRACE_HELIOS, /* Helios and Acme CSV */
    ADL_TRACE_SWF,    /* Standard Workload Format 2.2, plain or gz */
    ADL_TRACE_SACCT,  /* sacct --parsable2 */
    ADL_TRACE_FORMAT_COUNT,
};

enum adl_trace_reason {
    ADL_TRACE_USED,
    ADL_TRACE_NO_GPU,       /* zero GPUs */
    ADL_TRACE_BAD_TIME,     /* negative, missing or absurd time; a run time of 0 */
    ADL_TRACE_UNKNOWN_TYPE, /* asks for a GPU type that the cluster does not have; set by adl_trace_reject() */
    ADL_TRACE_NEVER_FITS,   /* asks for more than the cluster has; set by adl_trace_reject() */
    ADL_TRACE_NOT_STARTED,  /* pending, still running, or cancelled before it ran: no run time is known */
    ADL_TRACE_MALFORMED,    /* fields missing, too many, or not numbers */
    ADL_TRACE_OUT_OF_ORDER, /* used, but submitted before the used row above it: the trace was sorted */
    ADL_TRACE_REASON_COUNT,
};

#define ADL_TRACE_WORD 64

struct adl_trace_row {
    uint64_t line;       /* in the file, from 1 */
    int64_t submit_us;   /* since the first submission of the trace */
    int64_t duration_us; /* true run time; 0 = determined by the steps, which are then given */
    int64_t limit_us;    /* 0 = not given */
    int64_t deadline_us; /* after submission; 0 = none */
    int64_t start_us;    /* what happened, on the clock of submit_us; -1 = not known, and then end_us is neither */
    int64_t end_us;
    uint32_t gpus;      /* at least 1 */
    uint32_t gpu_milli; /* of each GPU, thousandths; 1000 = whole */
    int32_t cpu_milli;  /* of the whole job; 0 = not given */
    int32_t memory_mib; /* of the whole job; 0 = not given */
    double priority;    /* 0..1; negative = not given */
    double steps;       /* gavel: steps to do; 0 = not given */
    char id[ADL_TRACE_WORD];
    char user[ADL_TRACE_WORD];
    char name[ADL_TRACE_WORD];      /* job or model name */
    char types[2 * ADL_TRACE_WORD]; /* acceptable GPU types, "A|B"; empty = any */
};

struct adl_trace_options {
    int format;    /* enum adl_trace_format */
    double unit_s; /* seconds per unit of time, for formats that do not define it (csv, helios); 0 = the default */
    bool strict;   /* a row that cannot be used, or is out of order, is an error */
};

struct adl_trace;
struct adl_text;

/* Opens a file (gz or plain) and scans it once, so that the counts are known and a strict reader fails here. Rows come
 * in order of submission, equal ones in order of the file: an unsorted file is sorted by an index of 16 bytes a row,
 * and the rows out of order are counted. gz files and pipes are copied to a temporary file. */
int adl_trace_open(const char *path, const struct adl_trace_options *options, struct adl_trace **ret,
                   struct adl_error *err);
void adl_trace_close(struct adl_trace *trace); /* accepts NULL */

/* 1 and a usable row; 0 at the end; negative with file and line. */
int adl_trace_next(struct adl_trace *trace, struct adl_trace_row *ret, struct adl_error *err);

/* Counts a row already returned under another reason (a type the cluster lacks) instead of as used; an error for strict
 * readers. */
int adl_trace_reject(struct adl_trace *trace, const struct adl_trace_row *row, int reason, struct adl_error *err);

const uint64_t *adl_trace_counts(const struct adl_trace *trace); /* [ADL_TRACE_REASON_COUNT], of the whole trace */
int adl_trace_format(const struct adl_trace *trace);             /* the one in use */
const char *adl_trace_format_name(int format);                   /* "philly", ... */
int adl_trace_format_find(const char *name);                     /* -1 if there is none */
const char *adl_trace_reason_name(int reason);                   /* "no_gpu", ... */

/* Our CSV: the line of column names, and a row, times in seconds. A row that is read back differs only in its line. */
void adl_trace_write_head(struct adl_text *text);
void adl_trace_write_row(struct adl_text *text, const struct adl_trace_row *row);

#endif
