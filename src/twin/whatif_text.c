/* whatif_text: which changes to try, which of them helps at the least cost, and the answers as words and JSON. */
#include "base/json.h"
#include "twin/whatif.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define J_PER_KWH 3.6e6

/* ---- choices ---- */

static const struct adl_job_spec *spec_of(const struct adl_whatif_config *config, uint32_t *ret_slot)
{
    const struct adl_state *state = adl_engine_state(config->fork.engine);
    *ret_slot = ADL_NONE;
    if (config->submit)
        return config->submit;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING && state->jobs[slot].spec.id == config->job) {
            *ret_slot = slot;
            return &state->jobs[slot].spec;
        }
    return NULL;
}

/* Types that some request of the job accepts. */
static uint32_t accepted_types(const struct adl_whatif_config *config, const struct adl_job_spec *spec)
{
    const struct adl_state *state = adl_engine_state(config->fork.engine);
    uint32_t types = spec->types;
    for (uint32_t slot = 0; slot < state->job_capacity && !config->submit; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING && state->jobs[slot].spec.id == config->job)
            types |= state->jobs[slot].spec.types;
    return types;
}

static void print_duration(char *ret, size_t size, double seconds)
{
    const double s = fabs(seconds);
    if (s < 99.5)
        snprintf(ret, size, "%.0f s", s);
    else if (s < 99.5 * 60)
        snprintf(ret, size, "%.0f min", s / 60);
    else if (s < 48 * 3600.0)
        snprintf(ret, size, "%.1f h", s / 3600);
    else
        snprintf(ret, size, "%.1f d", s / 86400);
}

/* Half the limit, unless the job is believed to need more. */
static int64_t shorter_limit_us(const struct adl_whatif_config *config, const struct adl_job_spec *spec, uint32_t slot)
{
    const struct adl_state *state = adl_engine_state(config->fork.engine);
    const int64_t half_us = spec->limit_us / 2 / 60000000 * 60000000;
    const double needs_us = slot == ADL_NONE ? 0 : adl_belief_quantile_us(state->belief, slot, 0, 0.9);
    return half_us > 0 && needs_us <= (double)half_us ? half_us : 0;
}

uint32_t adl_whatif_choices(const struct adl_whatif_config *config, double priority_max,
                            struct adl_answer ret[ADL_CHANGES_MAX])
{
    const struct adl_state *state = adl_engine_state(config->fork.engine);
    const struct adl_cluster *cluster = state->cluster;
    uint32_t slot, count = 0;
    const struct adl_job_spec *spec = spec_of(config, &slot);
    if (!spec)
        return 0;
    const uint32_t accepted = accepted_types(config, spec);
    for (uint32_t t = 0; t < cluster->type_count && count < ADL_CHANGES_MAX - 3; t++) {
        if (cluster->type_gpus[t] == 0 || accepted >> t & 1)
            continue;
        struct adl_answer *it = &ret[count++];
        *it = (struct adl_answer){.change = {.add_types = UINT32_C(1) << t}};
        snprintf(it->change.text, sizeof it->change.text, "allowing %s", cluster->types[t].name);
        memcpy(it->change.type, cluster->types[t].name, sizeof it->change.type);
    }
    if (spec->gpus > 1) {
        struct adl_answer *it = &ret[count++];
        *it = (struct adl_answer){.change = {.gpus = (uint16_t)(spec->gpus / 2)}};
        snprintf(it->change.text, sizeof it->change.text, "with %u GPU%s", spec->gpus / 2u, spec->gpus > 3 ? "s" : "");
    }
    const int64_t limit_us = shorter_limit_us(config, spec, slot);
    if (limit_us > 0) {
        struct adl_answer *it = &ret[count++];
        char limit[32];
        *it = (struct adl_answer){.change = {.limit_us = limit_us}};
        print_duration(limit, sizeof limit, (double)limit_us * 1e-6);
        snprintf(it->change.text, sizeof it->change.text, "with a time limit of %s", limit);
    }
    if (priority_max > (double)spec->priority) {
        struct adl_answer *it = &ret[count++];
        *it = (struct adl_answer){.change = {.has_priority = true, .priority = (float)priority_max}};
        snprintf(it->change.text, sizeof it->change.text, "with priority %g", priority_max);
    }
    return count;
}

bool adl_answer_helps(const struct adl_answer *alternative, const struct adl_whatif *whatif)
{
    const double least_s = fmin(60, 0.05 * whatif->job.start_s.p50);
    const bool sooner = alternative->possible && alternative->sooner >= 0.5 && alternative->start_s.mean < 0 &&
                        -alternative->start_s.mean >= least_s;
    const bool ends_known = alternative->change.limit_us <= 0; /* else the limit seems to shorten the job */
    return sooner && !(ends_known && alternative->end_s.mean > least_s);
}

/* Whether a costs others less than b, or as much and helps more. */
static bool is_cheaper(const struct adl_answer *a, const struct adl_answer *b)
{
    const double more_s = a->others_s.mean - b->others_s.mean;
    return fabs(more_s) < 0.5 ? a->start_s.mean < b->start_s.mean : more_s < 0;
}

uint32_t adl_whatif_cheapest(const struct adl_answer *alternatives, uint32_t count, const struct adl_whatif *whatif)
{
    uint32_t best = ADL_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (adl_answer_helps(&alternatives[i], whatif) &&
            (best == ADL_NONE || is_cheaper(&alternatives[i], &alternatives[best])))
            best = i;
    return best;
}

/* ---- words ---- */

/* "starts 40 min sooner (25 min to 55 min)"; of both signs "starts 9 min sooner (3 min later to 28 min sooner)". */
static void say_time(struct adl_text *ret, const char *what, const struct adl_difference *difference)
{
    char mean[32], from[32], to[32];
    const char *signs[] = {"later", "sooner"};
    const bool sooner = difference->mean < 0;
    const double near = sooner ? -difference->hi : difference->lo, far = sooner ? -difference->lo : difference->hi;
    if (fabs(difference->mean) < 0.5) {
        adl_text_printf(ret, "%s at the same time", what);
        return;
    }
    print_duration(mean, sizeof mean, difference->mean);
    print_duration(from, sizeof from, near);
    print_duration(to, sizeof to, far);
    adl_text_printf(ret, "%s %s %s (%s", what, mean, signs[sooner], from);
    if (near <= -0.5)
        adl_text_printf(ret, " %s to %s %s)", signs[!sooner], to, signs[sooner]);
    else
        adl_text_printf(ret, " to %s)", to);
}

static void say_energy(struct adl_text *ret, double energy_j)
{
    const double kwh = fabs(energy_j) / J_PER_KWH;
    if (kwh >= 0.005)
        adl_text_printf(ret, ", %.*f kWh %s", kwh < 9.95 ? 2 : 0, kwh, energy_j < 0 ? "less" : "more");
}

void adl_answer_say(const struct adl_answer *alternative, const struct adl_whatif *whatif, bool of_job,
                    struct adl_text *ret)
{
    adl_text_printf(ret, "%s: ", alternative->change.text);
    if (!alternative->possible) {
        adl_text_printf(ret, "not possible: %s", alternative->why_not);
        return;
    }
    const bool limit = alternative->change.limit_us > 0;
    if (alternative->change.gpus > 0 || limit)
        adl_text_put(ret, limit ? "(if that is enough) " : "(its run time then is a guess) ");
    if (of_job && !whatif->runs && alternative->job.never == whatif->futures)
        adl_text_put(ret, "does not start within what was played");
    else if (of_job && !whatif->runs)
        say_time(ret, "starts", &alternative->start_s);
    if (of_job && whatif->runs)
        say_time(ret, "ends", &alternative->end_s);
    else if (of_job && !limit && alternative->job.never < whatif->futures) {
        adl_text_put(ret, ", ");
        say_time(ret, "ends", &alternative->end_s);
    }
    if (of_job && !limit)
        say_energy(ret, alternative->job_energy_j.mean);
    if (of_job)
        adl_text_put(ret, "; ");
    say_time(ret, of_job ? "other jobs end on average" : "jobs end on average",
             of_job ? &alternative->others_s : &alternative->jct_s);
    if (!of_job)
        say_energy(ret, alternative->energy_j.mean);
}

/* ---- JSON ---- */

static void put_difference(struct adl_json *json, const char *key, const struct adl_difference *difference)
{
    adl_json_key(json, key);
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_real(json, "mean", difference->mean);
    adl_json_put_real(json, "lo", difference->lo);
    adl_json_put_real(json, "hi", difference->hi);
    adl_json_end(json);
}

static void put_odds(struct adl_json *json, const char *key, const struct adl_odds *odds)
{
    adl_json_key(json, key);
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_real(json, "p10", odds->p10);
    adl_json_put_real(json, "p50", odds->p50);
    adl_json_put_real(json, "p90", odds->p90);
    adl_json_end(json);
}

static void put_outlook(struct adl_json *json, const char *key, const struct adl_prospect *outlook, uint32_t futures)
{
    adl_json_key(json, key);
    adl_json_object(json);
    put_odds(json, "start_in_s", &outlook->start_s);
    put_odds(json, "end_in_s", &outlook->end_s);
    adl_json_put_real(json, "energy_j", outlook->job_energy_j);
    adl_json_put_real(json, "never_starts", futures > 0 ? outlook->never / (double)futures : 0);
    adl_json_end(json);
}

/* What a user would change of the request, for programs. */
static void put_request(struct adl_json *json, const struct adl_change *change)
{
    adl_json_key(json, "request");
    adl_json_flat(json);
    adl_json_object(json);
    if (change->type[0])
        adl_json_put_string(json, "add_type", change->type);
    if (change->gpus > 0)
        adl_json_put_uint(json, "gpus", change->gpus);
    if (change->limit_us > 0)
        adl_json_put_real(json, "time_limit_s", (double)change->limit_us * 1e-6);
    if (change->has_priority)
        adl_json_put_real(json, "priority", floor((double)change->priority * 1e6 + 0.5) / 1e6);
    adl_json_end(json);
}

static void put_alternative(struct adl_json *json, const struct adl_answer *alternative,
                            const struct adl_whatif *whatif, bool of_job)
{
    struct adl_text words = {0};
    adl_answer_say(alternative, whatif, of_job, &words);
    adl_json_object(json);
    adl_json_put_string(json, "change", alternative->change.text);
    adl_json_put_string(json, "text", words.data ? words.data : "");
    put_request(json, &alternative->change);
    adl_json_key(json, "possible");
    adl_json_bool(json, alternative->possible);
    adl_json_put_string(json, "why_not", alternative->possible ? NULL : alternative->why_not);
    if (alternative->possible && of_job) {
        put_outlook(json, "job", &alternative->job, whatif->futures);
        adl_json_key(json, "helps");
        adl_json_bool(json, adl_answer_helps(alternative, whatif));
        adl_json_put_real(json, "sooner", alternative->sooner);
        put_difference(json, "start_s", &alternative->start_s);
        put_difference(json, "end_s", &alternative->end_s);
        put_difference(json, "job_energy_j", &alternative->job_energy_j);
        put_difference(json, "others_s", &alternative->others_s);
    }
    if (alternative->possible) {
        put_difference(json, "jct_s", &alternative->jct_s);
        put_difference(json, "energy_j", &alternative->energy_j);
    }
    adl_json_end(json);
    adl_text_clear(&words);
}

void adl_whatif_put(struct adl_json *json, const struct adl_whatif *whatif, bool of_job,
                    const struct adl_answer *alternatives, uint32_t count, uint32_t cheapest)
{
    adl_json_put_uint(json, "futures", whatif->futures);
    adl_json_put_real(json, "played_s", whatif->played_s);
    adl_json_put_uint(json, "jobs", whatif->jobs);
    if (of_job) {
        adl_json_key(json, "runs");
        adl_json_bool(json, whatif->runs);
        put_outlook(json, "as_it_is", &whatif->job, whatif->futures);
    }
    adl_json_key(json, "alternatives");
    adl_json_array(json);
    for (uint32_t i = 0; i < count; i++)
        put_alternative(json, &alternatives[i], whatif, of_job);
    adl_json_end(json);
    adl_json_put_string(json, "cheapest", cheapest == ADL_NONE ? NULL : alternatives[cheapest].change.text);
}
