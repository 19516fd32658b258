#include "cli/reports.h"

#include "cli/cli.h"
#include "report/report_csv.h"
#include "report/report_html.h"
#include "report/report_table.h"

#include <string.h>

int adl_reports_compare(struct adl_comparison_request request, struct adl_comparison *ret, struct adl_error *err)
{
    struct adl_progress progress;
    adl_progress_begin(&progress, request.bound == ADL_BOUND_LP ? "bounds and runs" : "runs");
    request.progress = adl_progress_show;
    request.progress_self = &progress;
    const int status = adl_comparison_run(&request, ret, err);
    adl_progress_end(&progress);
    return status;
}

enum form { FORM_JSON, FORM_CSV, FORM_HTML, FORM_TABLE, FORM_COUNT };

static void compose(const struct adl_reports *reports, const struct adl_comparison *comparison, enum form form,
                    struct adl_text *text)
{
    if (form == FORM_JSON) {
        adl_report_json(text, comparison, reports->timing, reports->more);
    } else if (form == FORM_CSV) {
        adl_report_csv(text, comparison, reports->timing);
    } else if (form == FORM_HTML) {
        adl_report_html(text, comparison);
    } else {
        adl_report_table(text, comparison);
        if (reports->below_table)
            reports->below_table(text, reports->self);
    }
}

int adl_reports_write(const struct adl_reports *reports, const struct adl_comparison *comparison, struct adl_error *err)
{
    const char *paths[FORM_COUNT] = {reports->json, reports->csv, reports->html, "-"};
    bool stdout_taken = reports->stdout_taken;
    int status = 0;
    for (int form = 0; form < FORM_COUNT && status == 0; form++) {
        struct adl_text text = {0};
        if (!paths[form] || (form == FORM_TABLE && stdout_taken))
            continue;
        stdout_taken |= adl_output_is_stdout(paths[form]);
        compose(reports, comparison, (enum form)form, &text);
        status = adl_output_write(paths[form], &text, err);
        adl_text_clear(&text);
    }
    return status;
}
