/* reports: runs a comparison with a progress bar and writes it in the requested formats. */
#ifndef ADLRO_CLI_REPORTS_H
#define ADLRO_CLI_REPORTS_H

#include "experiment/comparison.h"
#include "report/report_json.h"

struct adl_reports {
    const char *json, *csv,
        *html;         /* paths, NULL = not requested; the table goes to standard output unless one of them does */
    bool timing;       /* with wall-clock figures */
    bool stdout_taken; /* by something else: no table */
    const struct adl_report_more *more;                           /* for the JSON; may be NULL */
    void (*below_table)(struct adl_text *text, const void *self); /* may be NULL */
    const void *self;
};

/* Sets the request's progress itself. */
int adl_reports_compare(struct adl_comparison_request request, struct adl_comparison *ret, struct adl_error *err);
int adl_reports_write(const struct adl_reports *reports, const struct adl_comparison *comparison,
                      struct adl_error *err);

#endif
