#include "cli/whatif/answer.h"

#include "cli/display.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_duration(struct adl_text *text, double s)
{
    if (s < 99.5)
        adl_text_printf(text, "%.0f s", s);
    else if (s < 99.5 * 60)
        adl_text_printf(text, "%.0f min", s / 60);
    else if (s < 48 * 3600.0)
        adl_text_printf(text, "%.1f h", s / 3600);
    else
        adl_text_printf(text, "%.1f d", s / 86400);
}

/* "in 40 min (25 min to 2.1 h)" */
static void put_odds(struct adl_text *text, const char *what, const cJSON *outlook, const char *key)
{
    const cJSON *odds = cJSON_GetObjectItemCaseSensitive(outlook, key);
    const double p10 = adl_member_number(odds, "p10", 0), p50 = adl_member_number(odds, "p50", 0),
                 p90 = adl_member_number(odds, "p90", 0);
    adl_text_printf(text, "%s ", what);
    if (p90 < 0.5) {
        adl_text_put(text, "at once");
        return;
    }
    adl_text_put(text, "in ");
    put_duration(text, p50);
    if (p90 - p10 < 0.5)
        return;
    adl_text_put(text, " (");
    put_duration(text, p10);
    adl_text_put(text, " to ");
    put_duration(text, p90);
    adl_text_put(text, ")");
}

static void put_outlook(struct adl_text *text, const cJSON *answer, const char *job)
{
    const cJSON *outlook = cJSON_GetObjectItemCaseSensitive(answer, "as_it_is");
    const double never = adl_member_number(outlook, "never_starts", 0);
    adl_text_put(text, *job ? "Job " : "The new job");
    adl_display_put(text, job, 60);
    adl_text_put(text, " as it is: ");
    if (never >= 0.5) {
        adl_text_put(text, "does not start within ");
        put_duration(text, adl_member_number(answer, "played_s", 0));
    } else if (adl_member_flag(answer, "runs")) {
        put_odds(text, "runs, and ends", outlook, "end_in_s");
    } else {
        put_odds(text, "starts", outlook, "start_in_s");
        put_odds(text, ", ends", outlook, "end_in_s");
    }
    adl_text_put(text, ".\n");
}

void adl_answer_print(struct adl_text *text, const cJSON *answer, const char *job)
{
    const cJSON *alternatives = cJSON_GetObjectItemCaseSensitive(answer, "alternatives"), *alternative;
    const char *cheapest = adl_member_text(answer, "cheapest");
    if (job)
        put_outlook(text, answer, job);
    cJSON_ArrayForEach(alternative, alternatives)
    {
        adl_text_put(text, "  ");
        adl_display_put(text, adl_member_text(alternative, "text"), ADL_DISPLAY_ALL);
        adl_text_char(text, '\n');
    }
    if (job && adl_member_flag(answer, "advice") && *cheapest) {
        adl_text_put(text, "The cheapest change that starts it sooner and ends it no later: ");
        adl_display_put(text, cheapest, ADL_DISPLAY_ALL);
        adl_text_put(text, ".\n");
    } else if (job && adl_member_flag(answer, "advice") && !adl_member_flag(answer, "runs")) {
        adl_text_put(text, "No single change of its request starts it sooner and ends it no later.\n");
    }
    if (strcmp(adl_member_text(answer, "basis"), "time_limit") == 0)
        adl_text_put(text, "Run times are drawn from time limits: too few jobs have ended to learn from.\n");
    adl_text_printf(text, "%.0f futures under ", adl_member_number(answer, "futures", 0));
    adl_display_put(text, adl_member_text(answer, "policy"), 60);
    adl_text_put(text, ", played for ");
    put_duration(text, adl_member_number(answer, "played_s", 0));
    adl_text_put(text,
                 job ? ". Times from now are medians, in brackets what eight of ten futures lie within; differences "
                       "are means, in brackets what nine of ten pairs of futures lie within.\n"
                     : ". Differences are means, in brackets what nine of ten pairs of futures lie within.\n");
}
