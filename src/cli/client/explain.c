/* explain: why a job waits, who stands in its way, and its events with their reasons, in words. */
#include "base/range.h"
#include "cli/client/ask.h"
#include "cli/client/job_number.h"
#include "cli/client/jobs_table.h"
#include "cli/client/start_time.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static const struct adl_option table[] = {ADL_ASK_ROWS("print its events as JSON, as the service returns them")};

static const struct adl_verb verb = {
    .name = "explain",
    .summary = "Explains why a job waits, and what was decided about it, when and why.",
    .operands = "JOB",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro explain 12",
};

static const char *event_word(const char *kind)
{
    static const char *const words[][2] = {
        {"submit", "submitted"},
        {"start", "started"},
        {"preempt", "chosen to be stopped"},
        {"evict", "back in the queue"},
        {"end", "ended"},
        {"hold", "held"},
        {"release", "released"},
        {"cancel", "cancelled"},
        {"priority", "priority changed"},
        {"decision", "decided"},
        {"requeue", "requeued"},
        {"move", "runs instead"},
        {"begin", "runs"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(kind, words[i][0]) == 0)
            return words[i][1];
    return kind;
}

static void put_value(struct adl_text *text, const cJSON *value)
{
    const cJSON *item;
    bool first = true;
    if (cJSON_IsString(value)) {
        adl_display_put(text, value->valuestring, 300);
    } else if (cJSON_IsNumber(value)) {
        char number[ADL_BOUND_SIZE];
        adl_text_put(text, adl_bound_print(value->valuedouble, number));
    } else if (cJSON_IsBool(value)) {
        adl_text_put(text, cJSON_IsTrue(value) ? "yes" : "no");
    } else if (cJSON_IsArray(value)) {
        cJSON_ArrayForEach(item, value)
        {
            adl_text_put(text, first ? "" : ",");
            if (cJSON_IsString(item) || cJSON_IsNumber(item))
                put_value(text, item);
            first = false;
        }
    }
}

/* The words before each member of an event's payload, in this order; NULL = it is not printed, because the line has it
 * already. */
static const char *const phrases[][2] = {
    {"by", " by "},
    {"request", ", asking for "},
    {"gpus", " on "},
    {"priority", " to "},
    {"state", ": "},
    {"exit_code", ", exit code "},
    {"run_us", ", after a run of "},
    {"why", ": "},
    {"reason", ": "},
    {"waited", "; it had waited: "},
    {"job", NULL},
    {"time_s", NULL},
    {"what", NULL},
    {"user", NULL},
    {"name", NULL},
    {"signal", NULL},
    {"label", NULL},
};
#define PHRASE_COUNT (sizeof phrases / sizeof *phrases)

static bool is_empty(const cJSON *member)
{
    return !member || cJSON_IsNull(member) || cJSON_IsObject(member) || (cJSON_IsArray(member) && !member->child) ||
           (cJSON_IsString(member) && member->valuestring[0] == '\0');
}

static bool has_phrase(const char *name)
{
    for (size_t i = 0; i < PHRASE_COUNT; i++)
        if (strcmp(name, phrases[i][0]) == 0)
            return true;
    return false;
}

/* Members that have a phrase, then all others as name and value. */
static void put_payload(struct adl_text *text, const cJSON *data)
{
    char duration[ADL_DURATION_SIZE];
    const cJSON *member;
    bool first = true;
    for (size_t i = 0; i < PHRASE_COUNT; i++) {
        member = cJSON_GetObjectItemCaseSensitive(data, phrases[i][0]);
        if (!phrases[i][1] || is_empty(member))
            continue;
        adl_text_put(text, phrases[i][1]);
        if (strcmp(phrases[i][0], "state") == 0 && cJSON_IsString(member))
            adl_display_put(text, adl_job_state_word(member->valuestring), 40);
        else if (strcmp(phrases[i][0], "run_us") == 0 && cJSON_IsNumber(member))
            adl_text_put(text, adl_duration_print(member->valuedouble * 1e-6, duration));
        else
            put_value(text, member);
    }
    cJSON_ArrayForEach(member, data)
    {
        if (is_empty(member) || !member->string || has_phrase(member->string))
            continue;
        adl_text_put(text, first ? " (" : ", ");
        adl_display_put(text, member->string, 40);
        adl_text_char(text, ' ');
        put_value(text, member);
        first = false;
    }
    adl_text_put(text, first ? "\n" : ")\n");
}

static void put_event(struct adl_text *text, const cJSON *event)
{
    char moment[ADL_DURATION_SIZE];
    adl_text_printf(text, "  %s  ", adl_moment_print(adl_member_number(event, "time_s", 0), moment));
    adl_display_put(text, event_word(adl_member_text(event, "kind")), 40);
    put_payload(text, cJSON_GetObjectItemCaseSensitive(event, "data"));
}

/* ---- who stands in the way ---- */

static void put_other(struct adl_text *text, const cJSON *other)
{
    const char *label = adl_member_text(other, "label");
    if (!*label) {
        adl_text_put(text, "a job of another user");
        return;
    }
    adl_text_put(text, "job ");
    adl_display_put(text, label, 40);
    adl_text_put(text, " (");
    adl_display_put(text, adl_member_text(other, "name"), 60);
    adl_text_put(text, " of ");
    adl_display_put(text, adl_member_text(other, "user"), 60);
    adl_text_char(text, ')');
}

/* "4 × v100 in volta-1" */
static void put_place(struct adl_text *text, const cJSON *room)
{
    const char *node = adl_member_text(room, "node");
    adl_text_printf(text, "%.0f × ", adl_member_number(room, "gpus", 0));
    adl_display_put(text, adl_member_text(room, "type"), 60);
    adl_text_put(text, *node ? " in " : " in several nodes");
    adl_display_put(text, node, 60);
}

static void put_when(struct adl_text *text, const cJSON *room)
{
    char moment[ADL_DURATION_SIZE];
    adl_text_printf(text, adl_member_flag(room, "now") ? "now" : "at %s",
                    adl_moment_print(adl_member_number(room, "at_s", 0), moment));
}

static void put_room(struct adl_text *text, const cJSON *room)
{
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(room, "jobs"), *other;
    const int more = (int)adl_member_number(room, "job_count", 0) - cJSON_GetArraySize(jobs);
    if (!cJSON_IsObject(room)) {
        adl_text_put(text, "  No room for it even when all that runs has ended: GPUs are down, drained or too few.\n");
        return;
    }
    if (adl_member_flag(room, "now")) {
        adl_text_put(text, "  Room now: ");
        put_place(text, room);
        adl_text_put(text, "; the reason above says why the policy leaves it.\n");
        return;
    }
    adl_text_put(text, "  Earliest room: ");
    put_place(text, room);
    adl_text_char(text, ' ');
    put_when(text, room);
    adl_text_put(text, ", if ");
    cJSON_ArrayForEach(other, jobs)
    {
        adl_text_put(text, other == jobs->child ? "" : other->next || more > 0 ? ", " : " and ");
        put_other(text, other);
    }
    if (more > 0)
        adl_text_printf(text, " and %d more", more);
    adl_text_put(text, cJSON_GetArraySize(jobs) + more == 1 ? " ends as predicted.\n" : " end as predicted.\n");
}

static void put_instead(struct adl_text *text, const cJSON *other, double submit_s)
{
    char later[ADL_DURATION_SIZE], moment[ADL_DURATION_SIZE];
    const double theirs_s = adl_member_number(other, "submit_s", 0);
    const char *why = adl_member_text(other, "why");
    adl_text_put(text, "  Runs instead: ");
    put_other(text, other);
    if (theirs_s > submit_s)
        adl_text_printf(text, ", submitted %s later, since %s", adl_duration_print(theirs_s - submit_s, later),
                        adl_moment_print(adl_member_number(other, "start_s", 0), moment));
    adl_text_put(text, *why ? ": " : ".");
    adl_display_put(text, why, ADL_DISPLAY_ALL);
    adl_text_char(text, '\n');
}

/* Room says nothing of the run time there: on slower or fewer GPUs the job may end later. */
static void put_help(struct adl_text *text, const cJSON *room, const char *label)
{
    adl_text_put(text, "  Room sooner, if it can do with that: ");
    put_place(text, room);
    adl_text_char(text, ' ');
    put_when(text, room);
    adl_text_printf(text, ". When it would end: adlro whatif --job %s ", label);
    if (strcmp(adl_member_text(room, "change"), "type") == 0) {
        adl_text_put(text, "--types +");
        adl_display_put(text, adl_member_text(room, "type"), 60);
    } else {
        adl_text_printf(text, "--gpus %.0f", adl_member_number(room, "gpus", 0));
    }
    adl_text_char(text, '\n');
}

static void put_blockers(struct adl_text *text, const cJSON *blockers, double submit_s, const char *label)
{
    const cJSON *item;
    if (!adl_member_flag(blockers, "queued"))
        return;
    put_room(text, cJSON_GetObjectItemCaseSensitive(blockers, "room"));
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(blockers, "instead"))
    {
        put_instead(text, item, submit_s);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(blockers, "help"))
    {
        put_help(text, item, label);
    }
}

static void explain(struct adl_text *text, const cJSON *job, const cJSON *events, const cJSON *blockers)
{
    char label[ADL_JOB_LABEL_SIZE];
    const char *reason = adl_member_text(job, "reason"), *state = adl_member_text(job, "state");
    const cJSON *event;
    adl_text_printf(text, "Job %s (", adl_job_label(job, label));
    adl_display_put(text, adl_member_text(job, "name"), 60);
    adl_text_put(text, " of ");
    adl_display_put(text, adl_member_text(job, "user"), 60);
    adl_text_put(text, ") ");
    if (strcmp(state, "PD") == 0) {
        adl_text_put(text, "waits: ");
        adl_display_put(text, *reason ? reason : "no reason given", ADL_DISPLAY_ALL);
        if (adl_member_number(job, "start_p50", 0) > 0) {
            adl_text_put(text, "; its start is ");
            adl_start_say(text, job);
            if (strcmp(adl_member_text(job, "start_basis"), "futures") == 0)
                adl_text_put(text, ", counting jobs that may arrive before"); /* which the policy's plan does not */
        }
    } else {
        adl_text_put(text, strcmp(state, "R") == 0 ? "runs on " : strcmp(state, "CA") == 0 ? "was " : "has ");
        if (strcmp(state, "R") == 0) {
            adl_job_nodes(text, job);
            adl_text_put(text, " with ");
            adl_job_gpus(text, job);
            if (adl_member_number(job, "end_p50", 0) > 0) {
                adl_text_put(text, " and ends ");
                adl_job_say_end(text, job);
            }
        } else {
            adl_display_put(text, adl_job_state_word(state), 40);
        }
        adl_text_put(text, *reason ? ": " : "");
        adl_display_put(text, reason, ADL_DISPLAY_ALL);
    }
    adl_text_char(text, '\n');
    put_blockers(text, blockers, adl_member_number(job, "submit_s", 0), label);
    cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(events, "events"))
    {
        put_event(text, event);
    }
}

static int fetch(struct adl_client *client, const struct adl_ask_options *o, const struct adl_operands *operands,
                 struct adl_text *text, struct adl_error *err)
{
    cJSON *job = NULL, *events = NULL, *blockers = NULL;
    struct adl_error unused;
    char path[64];
    uint64_t id;
    int status = adl_job_number_find(client, operands->items[0], &id, &job, err);
    if (status)
        return status;
    snprintf(path, sizeof path, "/v1/jobs/%llu/events", (unsigned long long)id);
    status = adl_client_get(client, path, &events, err);
    if (status == 0 && o->json)
        adl_display_json(text, events);
    else if (status == 0) {
        snprintf(path, sizeof path, "/v1/jobs/%llu/blockers", (unsigned long long)id);
        if (strcmp(adl_member_text(job, "state"), "PD") == 0)
            adl_client_get(client, path, &blockers, &unused); /* it may have started meanwhile */
        explain(text, job, events, blockers);
    }
    cJSON_Delete(blockers);
    cJSON_Delete(events);
    cJSON_Delete(job);
    return status;
}

static int run(int argc, char **argv)
{
    return adl_ask_run(&verb, argc, argv, fetch);
}

const struct adl_command_verb adl_verb_explain = {&verb, run};
