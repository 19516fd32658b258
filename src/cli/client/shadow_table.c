#include "cli/client/shadow_table.h"

#include "cli/client/client.h"
#include "cli/display.h"
#include "cli/output.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *key, *label;
    double scale;
    const char *unit, *change; /* change: what it is in; of a share, the difference */
} figures[] = {{"jct_s", "mean JCT", 1.0 / 60, "min", "%"},
               {"p99_s", "p99 JCT", 1.0 / 60, "min", "%"},
               {"energy_j", "energy", 1 / 3.6e6, "kWh", "%"},
               {"sla_missed", "SLA missed", 100, "%", "points"}};

static void put_value(struct adl_text *text, const cJSON *figure, const char *key, double scale)
{
    const double value = adl_member_number(figure, key, NAN);
    if (isnan(value))
        adl_text_printf(text, " %12s", "-");
    else
        adl_text_printf(text, " %12.1f", scale * value);
}

static void put_figures(struct adl_text *text, const cJSON *all)
{
    adl_text_printf(text, "%-16s %12s %12s %12s   %s\n", "", "real", "in force", "shadow", "change");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const cJSON *figure = cJSON_GetObjectItemCaseSensitive(all, figures[i].key);
        const double lo = adl_member_number(figure, "change_lo", NAN), hi = adl_member_number(figure, "change_hi", NAN);
        adl_text_printf(text, "%-10s %5s", figures[i].label, figures[i].unit);
        put_value(text, figure, "real", figures[i].scale);
        put_value(text, figure, "in_force", figures[i].scale);
        put_value(text, figure, "shadow", figures[i].scale);
        adl_text_printf(text, "   %+.1f %s", 100 * adl_member_number(figure, "change", 0), figures[i].change);
        if (isnan(lo) || isnan(hi))
            adl_text_put(text, " (too few windows for an interval)");
        else
            adl_text_printf(text, " (%+.1f to %+.1f)", 100 * lo, 100 * hi);
        adl_text_char(text, '\n');
    }
}

static void put_shadow(struct adl_text *text, const struct cJSON *shadow)
{
    const char *state = adl_member_text(shadow, "state"), *trouble = adl_member_text(shadow, "trouble");
    const double windows = adl_member_number(shadow, "windows", 0);
    char moment[ADL_DURATION_SIZE];
    adl_text_put(text, "policy ");
    adl_display_put(text, adl_member_text(shadow, "in_force"), ADL_DISPLAY_ALL);
    adl_text_put(text, " decides");
    if (strcmp(state, "none") == 0) {
        adl_text_put(text, ", and none shadows it\n");
        return;
    }
    adl_text_put(text, "; candidate ");
    adl_display_put(text, adl_member_text(shadow, "candidate"), ADL_DISPLAY_ALL);
    adl_text_put(text, strcmp(state, "closed") == 0 || strcmp(state, "open") == 0 ? ", gate " : " is ");
    adl_display_put(text, state, ADL_DISPLAY_ALL);
    adl_text_put(text, ": ");
    adl_display_put(text, adl_member_text(shadow, "reason"), ADL_DISPLAY_ALL);
    adl_text_printf(text, "\nsince %s: %.0f window%s, %.0f jobs, %.1f of %.1f days",
                    adl_moment_print(adl_member_number(shadow, "started_at", 0), moment), windows,
                    windows == 1 ? "" : "s", adl_member_number(shadow, "jobs", 0), adl_member_number(shadow, "days", 0),
                    adl_member_number(shadow, "days_needed", 0));
    if (windows > 0) {
        adl_text_printf(text, "; the model is off by %+.1f %%\n", 100 * adl_member_number(shadow, "model_bias", 0));
        put_figures(text, cJSON_GetObjectItemCaseSensitive(shadow, "figures"));
    } else {
        adl_text_char(text, '\n');
    }
    if (*trouble) {
        adl_text_put(text, "the shadow could not be played: ");
        adl_display_put(text, trouble, ADL_DISPLAY_ALL);
        adl_text_char(text, '\n');
    }
}

int adl_shadow_print(const struct cJSON *shadow, bool json, struct adl_error *err)
{
    struct adl_text text = {0};
    if (json)
        adl_display_json(&text, shadow);
    else
        put_shadow(&text, shadow);
    const int status = adl_output_write("-", &text, err);
    adl_text_clear(&text);
    return status;
}
