/* belief: what was learned about jobs: shows a file, and moves it into or out of a service's state. */
#include "predict/belief.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/quantity.h"
#include "rl/model_store.h"
#include "store/store.h"

#include <cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    const char *state; /* NULL: a running service */
    bool json, refused;
    struct adl_client_options client;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, state, "state", 's', "DIR",
                 "export, import: the state of a service, as given to `adlro serve`, instead of a running service, "
                 "which must be stopped for an import"),
    ADL_ROW_FLAG(struct options, refused, "refused", 0,
                 "export: the one that the service could not read and keeps aside, not the present one"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "show: print it as JSON"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "belief",
    .summary = "Shows a file of what was learned about jobs, exports it from a service, or imports it into one, as an "
               "administrator. `adlro replay TRACE --learn FILE` and `adlro "
               "simulate SCENARIO --learn FILE` write such files, too, and --belief FILE starts a run with one.",
    .operands = "show FILE | export FILE | import FILE",
    .operands_min = 2,
    .operands_max = 2,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro replay year.sacct --learn belief.db && adlro belief show belief.db\n"
               "adlro belief import belief.db\n"
               "adlro belief export belief.db --state /var/lib/adlro",
};

/* ---- show ---- */

/* What a file holds, read without a cluster of its own. */
struct content {
    struct adl_cluster cluster;
    struct adl_similar *similar;
    struct adl_speeds *speeds;
    struct adl_residuals by_neighbours, by_limited, by_limit;
    struct adl_belief_account account;
};

static int read_content(const void *bytes, size_t size, struct content *ret, struct adl_error *err)
{
    int status = adl_belief_types(bytes, size, &ret->cluster, err);
    if (status == 0 && ret->cluster.type_count == 0)
        status = adl_fail(err, ADL_EINVAL, "it names no GPU type");
    if (status == 0)
        status = adl_similar_create(ADL_REMEMBERED_JOBS, &ret->similar, err);
    if (status == 0)
        status = adl_speeds_create(&ret->cluster, &ret->speeds, err);
    const struct adl_belief_parts parts = {.similar = ret->similar,
                                           .speeds = ret->speeds,
                                           .residuals = {&ret->by_neighbours, &ret->by_limited, &ret->by_limit},
                                           .residual_names = {"neighbours", "limited neighbours", "limit"}};
    const struct adl_belief_terms terms = {.cluster = &ret->cluster, .users = ADL_USERS_NAMED, .dated = true};
    return status ? status : adl_belief_parts_decode(bytes, size, &terms, &parts, &ret->account, err);
}

static void clear_content(struct content *content)
{
    adl_similar_destroy(content->similar);
    adl_speeds_destroy(content->speeds);
    adl_cluster_clear(&content->cluster);
}

/* Actual run time over the limit. */
static double ratio(const struct adl_residuals *residuals, double q)
{
    const struct adl_shape shape = adl_shape_linear(1.0);
    return adl_residuals_quantile(residuals, &shape, 0.0, q);
}

static void put_limits(struct adl_text *text, const struct adl_residuals *residuals)
{
    if (residuals->count == 0)
        return;
    adl_text_printf(text, "Predictions from time limits (%" PRIu64 " jobs): half of them ran ", residuals->count);
    adl_text_fixed(text, ratio(residuals, 0.25), 2);
    adl_text_put(text, " to ");
    adl_text_fixed(text, ratio(residuals, 0.75), 2);
    adl_text_put(text, " times as long, 90 % ");
    adl_text_fixed(text, ratio(residuals, 0.05), 2);
    adl_text_put(text, " to ");
    adl_text_fixed(text, ratio(residuals, 0.95), 2);
    adl_text_put(text, " times\n");
}

/* How many of them ran for a time between the first and the last decile of the jobs that they were predicted from. */
static void put_similar(struct adl_text *text, const struct adl_residuals *residuals, const char *which)
{
    static const float deciles[ADL_SHAPE_KNOTS] = {-4, -3, -2, -1, 0, 1, 2, 3, 4};
    const struct adl_shape shape = adl_shape_of_deciles(deciles);
    const double low = exp((double)shape.knots[0]), high = exp((double)shape.knots[ADL_SHAPE_KNOTS - 1]);
    if (residuals->count == 0)
        return;
    adl_text_printf(text, "Predictions from similar jobs, %s (%" PRIu64 " jobs): ", which, residuals->count);
    adl_text_fixed(
        text,
        100 * (adl_residuals_within(residuals, &shape, 0, high) - adl_residuals_within(residuals, &shape, 0, low)), 1);
    adl_text_put(text, " % of them ran as long as the middle 80 % of the similar jobs\n");
}

static void put_span(struct adl_text *text, const struct adl_belief_account *a)
{
    char first[ADL_DURATION_SIZE], last[ADL_DURATION_SIZE];
    if (a->dated && a->jobs.last_us > 0)
        adl_text_printf(text, ", submitted from %s to %s", adl_moment_print(a->jobs.first_us * 1e-6, first),
                        adl_moment_print(a->jobs.last_us * 1e-6, last));
}

static void put_text(const char *path, const struct content *content, struct adl_text *text)
{
    static const char *const users[] = {"drawn by a simulated workload", "by name", "by number of this machine"};
    const struct adl_belief_account *a = &content->account;
    adl_text_printf(text, "%s: a belief of version %u, %zu bytes, checksum %016" PRIx64 "\n", path, a->version, a->size,
                    a->seal);
    if (a->origin[0] != '\0')
        adl_text_printf(text, "Learned from: %s\n", a->origin);
    adl_text_printf(text, "Remembered jobs: %u", a->jobs.jobs);
    put_span(text, a);
    adl_text_put(text, "\nGPU types:");
    for (uint32_t t = 0; t < a->types; t++)
        adl_text_printf(text, "%s %s", t ? "," : "", a->type_names[t]);
    adl_text_printf(text, "\nClasses of jobs: %u; users are known %s\n", a->classes, users[a->users]);
    adl_text_printf(text, "Measured speeds: %u cells of %u kinds of jobs\n", a->speeds.cells + a->speeds.skipped,
                    a->speeds.profiles + a->speeds.forgotten);
    put_similar(text, &content->by_limited, "with a limit");
    put_similar(text, &content->by_neighbours, "without a limit");
    put_limits(text, &content->by_limit);
    if (a->drift.version > 0)
        adl_text_printf(text, "Speeds of GPUs relative to their type: %u GPUs\n", a->drift.gpus);
    if (a->ignored > 0)
        adl_text_printf(text, "Not read: section '%s', of a newer adlro\n", a->last_ignored);
}

static void put_json(const struct content *content, struct adl_text *text)
{
    const struct adl_belief_account *a = &content->account;
    struct adl_json json = adl_json_start(text, true);
    char seal[20];
    snprintf(seal, sizeof seal, "%016" PRIx64, a->seal);
    adl_json_object(&json);
    adl_json_put_uint(&json, "version", a->version);
    adl_json_put_uint(&json, "bytes", a->size);
    adl_json_put_string(&json, "checksum", seal);
    adl_json_put_string(&json, "origin", a->origin);
    adl_json_put_uint(&json, "jobs", a->jobs.jobs);
    adl_json_put_uint(&json, "ended", a->ended);
    adl_json_put_real(&json, "first_submit_s", a->dated ? a->jobs.first_us * 1e-6 : 0);
    adl_json_put_real(&json, "last_submit_s", a->dated ? a->jobs.last_us * 1e-6 : 0);
    adl_json_key(&json, "types");
    adl_json_array(&json);
    for (uint32_t t = 0; t < a->types; t++)
        adl_json_string(&json, a->type_names[t]);
    adl_json_end(&json);
    adl_json_put_uint(&json, "classes", a->classes);
    adl_json_put_uint(&json, "speed_profiles", a->speeds.profiles + a->speeds.forgotten);
    adl_json_put_uint(&json, "speed_cells", a->speeds.cells + a->speeds.skipped);
    adl_json_put_uint(&json, "drift_gpus", a->drift.gpus);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

static int show(const char *path, const struct options *o, struct adl_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    struct adl_error inner = {{0}};
    struct content content = {0};
    struct adl_text text = {0};
    int status = adl_model_store_read_bytes(path, &bytes, &size, err);
    if (status)
        return status == ADL_EIO ? ADL_EINVAL : status; /* a wrong file name */
    status = read_content(bytes, size, &content, &inner);
    if (status)
        adl_fail(err, status, "%.150s: %.200s", path, inner.text);
    else if (o->json)
        put_json(&content, &text);
    else
        put_text(path, &content, &text);
    if (status == 0)
        status = adl_output_write("-", &text, err);
    adl_text_clear(&text);
    clear_content(&content);
    free(bytes);
    return status;
}

/* ---- a service's state ---- */

static int take_content(void *context, const struct adl_store_belief *belief, struct adl_error *err)
{
    struct adl_text *text = context;
    if (belief->size > 0)
        adl_text_bytes(text, belief->content, belief->size);
    return adl_text_status(text) ? adl_fail(err, ADL_ENOMEM, "out of memory for a belief") : 0;
}

static int read_state(const struct options *o, struct adl_text *ret, struct adl_error *err)
{
    struct adl_store *store = NULL;
    const int status = adl_store_open(o->state, ADL_STORE_READ, &store, err);
    if (status)
        return status;
    const int found =
        adl_store_belief_read(store, o->refused ? ADL_BELIEF_REFUSED : ADL_BELIEF_PRESENT, take_content, ret, err);
    adl_store_close(store);
    if (found == 0)
        return adl_fail(err, ADL_EABSENT,
                        "%.200s has no %s: the service writes one when jobs have ended and when it stops", o->state,
                        o->refused ? "belief that was kept aside" : "belief yet");
    return found < 0 ? found : 0;
}

static int take_sequence(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    *(uint64_t *)context = event->sequence;
    return 0;
}

static int write_state(const struct options *o, const void *bytes, size_t size, struct adl_error *err)
{
    struct adl_store *store = NULL;
    struct adl_store_belief belief = {.time_us = (int64_t)time(NULL) * 1000000, .content = bytes, .size = size};
    int status = adl_store_open(o->state, ADL_STORE_SERVE, &store, err);
    if (status == 0 && adl_store_event_last(store, take_sequence, &belief.sequence, err) < 0)
        status = ADL_EIO;
    if (status == 0)
        status = adl_store_belief_set(store, ADL_BELIEF_PRESENT, &belief, err);
    adl_store_close(store);
    return status;
}

/* ---- a running service: bytes as hexadecimal digits ---- */

static int read_hex(const char *hex, struct adl_text *ret)
{
    for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
        const char two[] = {hex[0], hex[1], '\0'};
        adl_text_char(ret, (char)strtoul(two, NULL, 16));
    }
    return adl_text_status(ret);
}

static int ask_service(const struct options *o, struct adl_text *ret, struct adl_error *err)
{
    struct adl_client *client = NULL;
    cJSON *answer = NULL;
    int status = adl_client_create(&o->client, &client, err);
    if (status == 0)
        status = adl_client_get(client, "/v1/belief", &answer, err);
    const char *hex = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "belief"));
    if (status == 0 && (!hex || read_hex(hex, ret)))
        status = adl_fail(err, ADL_EIO, "the service did not answer with a belief");
    cJSON_Delete(answer);
    adl_client_destroy(client);
    return status;
}

static int tell_service(const struct options *o, const void *bytes, size_t size, struct adl_error *err)
{
    struct adl_client *client = NULL;
    struct adl_text hex = {0};
    cJSON *body = cJSON_CreateObject();
    for (size_t i = 0; i < size; i++)
        adl_text_printf(&hex, "%02x", ((const unsigned char *)bytes)[i]);
    int status = adl_client_create(&o->client, &client, err);
    if (status == 0 && (adl_text_status(&hex) || !cJSON_AddStringToObject(body, "belief", hex.data ? hex.data : "")))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a belief");
    if (status == 0)
        status = adl_client_call(client, "POST", "/v1/belief", body, NULL, err);
    cJSON_Delete(body);
    adl_text_clear(&hex);
    adl_client_destroy(client);
    return status;
}

static int export_belief(const char *path, const struct options *o, struct adl_error *err)
{
    struct adl_text text = {0};
    if (o->refused && !o->state)
        return adl_fail(err, ADL_EINVAL, "--refused: what a service could not read is in its state: --state DIR");
    int status = o->state ? read_state(o, &text, err) : ask_service(o, &text, err);
    if (status == 0)
        status = adl_output_write(path, &text, err);
    if (status == 0 && !adl_output_is_stdout(path))
        printf("%s: %zu bytes, checksum %016" PRIx64 "\n", path, text.size, adl_belief_seal(text.data, text.size));
    adl_text_clear(&text);
    return status;
}

static int import_belief(const char *path, const struct options *o, struct adl_error *err)
{
    struct content content = {0};
    struct adl_error inner = {{0}};
    char *bytes = NULL;
    size_t size = 0;
    int status = adl_model_store_read_bytes(path, &bytes, &size, err);
    if (status)
        return status == ADL_EIO ? ADL_EINVAL : status;
    status = read_content(bytes, size, &content, &inner);
    if (status)
        adl_fail(err, status, "%.150s: %.200s", path, inner.text);
    else
        status = o->state ? write_state(o, bytes, size, err) : tell_service(o, bytes, size, err);
    if (status == 0)
        printf("%s: %u jobs, which the service %s\n", path, content.account.jobs.jobs,
               o->state ? "starts with" : "knows now");
    clear_content(&content);
    free(bytes);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.state = NULL};
    struct adl_operands operands;
    struct adl_error err;
    int code, status;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *what = operands.items[0], *path = operands.items[1];
    if (strcmp(what, "show") == 0)
        status = show(path, &o, &err);
    else if (strcmp(what, "export") == 0)
        status = export_belief(path, &o, &err);
    else if (strcmp(what, "import") == 0)
        status = import_belief(path, &o, &err);
    else
        status = adl_fail(&err, ADL_EINVAL, "'%.60s' is not one of show, export and import", what);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_belief = {&verb, run};
