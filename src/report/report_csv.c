#include "report/report_csv.h"

#include "report/figure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_field(struct adl_text *text, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        adl_text_put(text, field);
        return;
    }
    adl_text_char(text, '"');
    for (; *field; field++) {
        if (*field == '"')
            adl_text_char(text, '"');
        adl_text_char(text, *field);
    }
    adl_text_char(text, '"');
}

static void put_real(struct adl_text *text, double value)
{
    adl_text_char(text, ',');
    if (isfinite(value))
        adl_text_real(text, value);
}

static void put_header(struct adl_text *text, int metric_count)
{
    adl_text_put(text, "scenario,regime,policy,seed");
    for (int i = 0; i < metric_count; i++) {
        adl_text_char(text, ',');
        put_field(text, adl_metric_table[i].name);
    }
    adl_text_put(text,
                 ",bound_jct_s,jobs,timeouts,evictions,lost_gpu_s,events,decisions,refused,unfinished,plan_hash\r\n");
}

static void put_run(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy, uint32_t seed,
                    int metric_count)
{
    const struct adl_result *run = &comparison->policies[policy].runs[seed];
    put_field(text, comparison->scenario->name);
    adl_text_char(text, ',');
    put_field(text, comparison->regime ? comparison->regime : "");
    adl_text_char(text, ',');
    put_field(text, comparison->policies[policy].name);
    adl_text_printf(text, ",%" PRIu64, comparison->first_seed + seed);
    for (int i = 0; i < metric_count; i++)
        put_real(text, run->value[i]);
    put_real(text, adl_is_actual(comparison, policy) ? NAN : run->bound_jct_s);
    if (adl_is_actual(comparison, policy)) {
        adl_text_printf(text, ",%" PRIu64 ",%" PRIu64 ",,,,,,,\r\n", run->jobs, run->timeouts);
        return;
    }
    const uint64_t counts[] = {run->jobs,   run->timeouts,  run->evictions, run->lost_gpu_s,
                               run->events, run->decisions, run->refused,   run->unfinished};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        adl_text_printf(text, ",%" PRIu64, counts[i]);
    adl_text_printf(text, ",%016" PRIx64 "\r\n", run->plan_hash);
}

void adl_report_csv(struct adl_text *text, const struct adl_comparison *comparison, bool timing)
{
    const int metric_count = timing ? ADL_METRIC_COUNT : ADL_METRIC_FIRST_TIMING;
    put_header(text, metric_count);
    for (uint32_t policy = 0; policy < adl_comparison_rows(comparison); policy++)
        for (uint32_t seed = 0; seed < comparison->seed_count; seed++)
            put_run(text, comparison, policy, seed, metric_count);
}
