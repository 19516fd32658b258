#include "experiment/recording.h"

#include "base/hash.h"
#include "base/json.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES (64u << 20) /* the heading has two YAML texts of at most 16 MiB, escaped */

void adl_recording_seal_line(struct adl_recording_seal *seal, const char *line, size_t size)
{
    seal->hash = adl_hash_bytes(seal->hash, line, size);
    seal->lines++;
}

/* ---- writing ---- */

void adl_recording_write_head(struct adl_text *text, const struct adl_recording_head *head)
{
    struct adl_json json = adl_json_start(text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "adlro", "recording");
    adl_json_put_int(&json, "version", 1);
    adl_json_put_string(&json, "policy", head->policy);
    adl_json_put_string(&json, "regime", head->regime);
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, head->seed);
    adl_json_put_string(&json, "seed", seed); /* as text: JSON numbers keep 53 bits in most readers */
    adl_json_put_string(&json, "name", head->name);
    adl_json_put_string(&json, "scenario", head->scenario);
    adl_json_put_string(&json, "catalogue", head->catalogue);
    if (head->settings)
        adl_json_put_string(&json, "settings", head->settings);
    if (head->belief)
        adl_json_put_string(&json, "belief", head->belief);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

/* The numbers of a job, one row a field, for both the writer and the reader. */
static const struct spec_field {
    const char *key;
    size_t offset;
    uint8_t size; /* bytes; 0 = float */
    bool is_signed;
    bool optional; /* omitted if 0 */
} spec_fields[] = {
#define NUMBER(name, is_signed, optional)                                                                              \
    {                                                                                                                  \
#name, offsetof(struct adl_job_spec, name), sizeof(((struct adl_job_spec *)0)->name), is_signed, optional      \
    }
#define FIELD(name, is_signed)    NUMBER(name, is_signed, false)
#define OPTIONAL(name, is_signed) NUMBER(name, is_signed, true)
    FIELD(id, false),
    FIELD(user, false),
    FIELD(name_id, false),
    FIELD(class_index, false),
    FIELD(gpus, false),
    FIELD(types, false),
    FIELD(kind, false),
    FIELD(flags, false),
    FIELD(cpu_cores, true),
    FIELD(memory_mib, true),
    FIELD(limit_us, true),
    FIELD(gpu_memory_mib, true),
    FIELD(deadline_us, true),
    OPTIONAL(stop_loss, false),
    OPTIONAL(checkpoint_us, true),
    {"priority", offsetof(struct adl_job_spec, priority), 0, true, false},
    {"min_steps_per_s", offsetof(struct adl_job_spec, min_steps_per_s), 0, true, false},
    {"share_slowdown", offsetof(struct adl_job_spec, share_slowdown), 0, true, true},
    {"step_gflop", offsetof(struct adl_job_spec, step_gflop), 0, true, true},
    {"step_gb", offsetof(struct adl_job_spec, step_gb), 0, true, true},
};
#define SPEC_FIELD_COUNT (sizeof spec_fields / sizeof *spec_fields)

static void write_spec(struct adl_json *json, const struct adl_job_spec *spec)
{
    for (size_t i = 0; i < SPEC_FIELD_COUNT; i++) {
        const struct spec_field *field = &spec_fields[i];
        const char *at = (const char *)spec + field->offset;
        if (field->size == 0) {
            float value;
            memcpy(&value, at, sizeof value);
            if (!field->optional || value > 0)
                adl_json_put_real(json, field->key, (double)value);
            continue;
        }
        uint64_t bits = 0;
        memcpy(&bits, at, field->size); /* little-endian: x86-64 and arm64 */
        if (field->optional && bits == 0)
            continue;
        const int shift = 64 - 8 * field->size;
        adl_json_put_int(json, field->key, field->is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits);
    }
}

static void write_times(struct adl_json *json, const char *key, const int64_t *times_us, uint32_t count)
{
    if (!times_us)
        return;
    adl_json_key(json, key);
    adl_json_array(json);
    for (uint32_t t = 0; t < count; t++)
        adl_json_int(json, times_us[t]);
    adl_json_end(json);
}

static void write_submit(struct adl_json *json, const struct adl_event *event, uint32_t type_count)
{
    write_spec(json, event->submit.spec);
    if (event->submit.since_us > 0)
        adl_json_put_int(json, "since", event->submit.since_us);
    write_times(json, "runtime_us", event->submit.runtime_us, type_count);
    write_times(json, "spanning_us", event->submit.spanning_us, type_count);
}

static void write_finish(struct adl_json *json, const struct adl_outcome *outcome)
{
    adl_json_put_string(json, "end", adl_job_end_name(outcome->end));
    adl_json_put_real(json, "energy_j", outcome->energy_j);
    adl_json_put_int(json, "run_us", outcome->run_us);
    adl_json_put_int(json, "ideal_us", outcome->ideal_us);
    adl_json_put_real(json, "steps", outcome->steps);
}

static void write_telemetry(struct adl_json *json, const struct adl_telemetry *telemetry)
{
    for (int i = 0; i < ADL_READ_COUNT; i++)
        if (!(telemetry->missing >> i & 1))
            adl_json_put_real(json, adl_reading_name(i), (double)telemetry->value[i]);
}

static bool is_about_job(int kind)
{
    return kind == ADL_EVENT_SUBMIT || kind == ADL_EVENT_FINISH || kind == ADL_EVENT_EVICT ||
           kind == ADL_EVENT_PROGRESS;
}

/* Neither about a job nor about a GPU. */
static bool is_about_all(int kind)
{
    return kind == ADL_EVENT_WAKE || kind == ADL_EVENT_POWER_LIMIT;
}

void adl_recording_write_event(struct adl_text *text, const struct adl_event *event, uint32_t type_count)
{
    struct adl_json json = adl_json_start(text, false);
    adl_json_object(&json);
    adl_json_put_int(&json, "t", event->time_us);
    adl_json_put_string(&json, "event", adl_event_kind_name(event->kind));
    if (is_about_job(event->kind))
        adl_json_put_int(&json, "job", event->job);
    else if (!is_about_all(event->kind))
        adl_json_put_int(&json, "gpu", event->gpu);
    if (event->more)
        adl_json_put_int(&json, "more", 1);
    if (event->kind == ADL_EVENT_SUBMIT) {
        write_submit(&json, event, type_count);
    } else if (event->kind == ADL_EVENT_FINISH) {
        write_finish(&json, &event->outcome);
    } else if (event->kind == ADL_EVENT_EVICT) {
        adl_json_put_real(&json, "remaining", event->evict.remaining);
        adl_json_put_int(&json, "fault", event->evict.fault);
    } else if (event->kind == ADL_EVENT_TELEMETRY) {
        write_telemetry(&json, &event->telemetry);
    } else if (event->kind == ADL_EVENT_METER) {
        adl_json_put_real(&json, "energy_j", event->energy_j);
    } else if (event->kind == ADL_EVENT_PROGRESS) {
        adl_json_put_real(&json, "steps_per_s", event->steps_per_s);
        if (event->steps_left > 0)
            adl_json_put_real(&json, "steps_left", event->steps_left);
    } else if (event->kind == ADL_EVENT_VERSION) {
        adl_json_put_string(&json, "version", event->version);
    } else if (event->kind == ADL_EVENT_POWER_LIMIT) {
        adl_json_put_real(&json, "limit_w", event->limit_w);
    }
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

static void put_gpus(struct adl_json *json, const uint32_t *gpus, uint32_t count)
{
    adl_json_key(json, "gpus");
    adl_json_array(json);
    for (uint32_t i = 0; i < count; i++)
        adl_json_int(json, gpus[i]);
    adl_json_end(json);
}

static void put_reason(struct adl_json *json, const struct adl_reason *reason)
{
    adl_json_key(json, "why");
    adl_json_object(json);
    adl_json_put_string(json, "rule", adl_rule_name(reason->rule));
    if (reason->other != ADL_NONE)
        adl_json_put_int(json, "other", reason->other);
    if (reason->passed)
        adl_json_put_int(json, "passed", 1);
    adl_json_put_real(json, "value", reason->value);
    adl_json_put_real(json, "against", reason->against);
    if (reason->delay_s > 0)
        adl_json_put_real(json, "delay_s", reason->delay_s);
    if (reason->rank > 0) {
        adl_json_put_uint(json, "rank", reason->rank);
        adl_json_put_uint(json, "ranked", reason->ranked);
    }
    if (!adl_rule_stops(reason->rule))
        adl_json_put_int(json, "waited_us", reason->waited_us);
    adl_json_end(json);
}

void adl_recording_write_command(struct adl_text *text, const struct adl_command *command, const uint32_t *gpus)
{
    struct adl_json json = adl_json_start(text, false);
    adl_json_object(&json);
    if (command->kind == ADL_COMMAND_WAKE) {
        adl_json_put_int(&json, "wake_us", command->time_us);
    } else if (command->kind == ADL_COMMAND_PREEMPT) {
        adl_json_put_int(&json, "preempt", command->job);
        put_reason(&json, &command->reason);
    } else if (command->kind == ADL_COMMAND_CAP) {
        adl_json_put_real(&json, "cap_w", command->power_w);
        put_gpus(&json, gpus, command->gpu_count);
    } else {
        adl_json_put_int(&json, "start", command->job);
        put_gpus(&json, gpus, command->gpu_count);
        put_reason(&json, &command->reason);
    }
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

void adl_recording_write_decision(struct adl_text *text, uint64_t hash, uint64_t reasons)
{
    adl_text_printf(text, "{\"decision\":\"%016" PRIx64 "\"", hash);
    if (reasons) /* most instants start and stop nothing */
        adl_text_printf(text, ",\"reasons\":\"%016" PRIx64 "\"", reasons);
    adl_text_put(text, "}\n");
}

void adl_recording_write_end(struct adl_text *text, const struct adl_recording_seal *seal)
{
    adl_text_printf(text, "{\"end\":\"recording\",\"lines\":%" PRIu64 ",\"seal\":\"%016" PRIx64 "\"}\n", seal->lines,
                    seal->hash);
}

/* ---- reading ---- */

struct adl_recording {
    char path[256];
    FILE *file;
    char *line;
    size_t line_capacity;
    size_t line_number;
    size_t line_size;
    struct adl_recording_seal seal; /* of the lines used so far */
    cJSON *head;
    uint32_t type_count;
    struct adl_job_spec spec; /* what an event points to */
    int64_t runtime_us[ADL_TYPES_MAX], spanning_us[ADL_TYPES_MAX];
};

void adl_recording_close(struct adl_recording *recording)
{
    if (!recording)
        return;
    cJSON_Delete(recording->head);
    free(recording->line);
    free(recording);
}

static int complain(const struct adl_recording *r, struct adl_error *err, const char *what)
{
    return adl_fail(err, ADL_EINVAL, "%s:%zu: %s", r->path, r->line_number, what);
}

/* The next line as JSON: 1, 0 at the end, negative. */
static int read_line(struct adl_recording *r, cJSON **ret, struct adl_error *err)
{
    r->line_number++;
    const ssize_t length = getline(&r->line, &r->line_capacity, r->file);
    if (length < 0)
        return ferror(r->file) ? adl_fail(err, ADL_EIO, "%s: cannot be read", r->path) : 0;
    r->line_size = (size_t)length;
    if ((size_t)length > LINE_MAX_BYTES)
        return complain(r, err, "the line is too long for a recording");
    if (r->line[length - 1] != '\n')
        return complain(r, err, "the recording breaks off in the middle of a line");
    cJSON *json = cJSON_ParseWithLength(r->line, (size_t)length);
    if (!cJSON_IsObject(json)) {
        cJSON_Delete(json);
        return complain(r, err, "not a line of a recording (a JSON object was expected)");
    }
    *ret = json;
    return 1;
}

static bool get_number(const cJSON *json, const char *key, double min, double max, double *ret)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= min && item->valuedouble <= max))
        return false;
    *ret = item->valuedouble;
    return true;
}

static bool get_int(const cJSON *json, const char *key, double min, double max, int64_t *ret)
{
    double value;
    if (!get_number(json, key, min, max, &value) || value != floor(value))
        return false;
    *ret = (int64_t)value;
    return true;
}

#define REMAINING_MAX 1e12               /* a job of 1 us, preempted often, with the rework that a preemption may add */
#define TIME_MAX      9007199254740992.0 /* 2^53 us, 285 years: exact in JSON */

int adl_recording_open(const char *path, FILE *file, struct adl_recording **ret, struct adl_recording_head *ret_head,
                       struct adl_error *err)
{
    struct adl_recording *r = calloc(1, sizeof *r);
    if (!r)
        return adl_fail(err, ADL_ENOMEM, "%s: out of memory", path);
    snprintf(r->path, sizeof r->path, "%s", path);
    r->file = file;
    int status = read_line(r, &r->head, err);
    if (status == 0)
        status = complain(r, err, "the file is empty, a recording was expected");
    static const char *const keys[] = {"policy", "regime", "seed", "name", "scenario", "catalogue"};
    const char *values[6] = {NULL};
    const char *mark = status < 0 ? NULL : cJSON_GetStringValue(cJSON_GetObjectItem(r->head, "adlro"));
    int64_t version = 0;
    if (status > 0 && (!mark || strcmp(mark, "recording") != 0 || !get_int(r->head, "version", 1, 1, &version)))
        status = complain(r, err, "not a recording of version 1 (`adlro simulate --log FILE` writes one)");
    for (size_t i = 0; status > 0 && i < 6; i++) {
        values[i] = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r->head, keys[i]));
        if (!values[i])
            status = complain(r, err, "the heading lacks policy, regime, seed, name, scenario or catalogue");
    }
    if (status < 0) {
        adl_recording_close(r);
        return status;
    }
    assert(values[2]);
    const char *settings = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r->head, "settings"));
    const char *belief = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r->head, "belief"));
    adl_recording_seal_line(&r->seal, r->line, r->line_size);
    *ret_head = (struct adl_recording_head){values[0], values[1], values[3], strtoull(values[2], NULL, 10),
                                            values[4], values[5], settings,  belief};
    *ret = r;
    return 0;
}

void adl_recording_set_types(struct adl_recording *recording, uint32_t type_count)
{
    recording->type_count = type_count;
}

static bool read_spec(const cJSON *json, struct adl_job_spec *ret)
{
    for (size_t i = 0; i < SPEC_FIELD_COUNT; i++) {
        const struct spec_field *field = &spec_fields[i];
        char *at = (char *)ret + field->offset;
        if (field->size == 0) {
            double value = 0;
            if (!(field->optional && !cJSON_HasObjectItem(json, field->key)) &&
                !get_number(json, field->key, 0, 3e38, &value))
                return false;
            const float narrow = (float)value;
            memcpy(at, &narrow, sizeof narrow);
            continue;
        }
        const double max = field->size == 8 ? TIME_MAX : ldexp(1.0, 8 * field->size - field->is_signed) - 1;
        int64_t value = 0;
        if (!(field->optional && !cJSON_HasObjectItem(json, field->key)) && !get_int(json, field->key, 0, max, &value))
            return false;
        memcpy(at, &value, field->size);
    }
    return ret->kind < ADL_KIND_COUNT && ret->stop_loss < ADL_LOSS_COUNT && ret->gpus >= 1;
}

/* *ret stays NULL if the event has none. */
static bool read_times(const struct adl_recording *r, const cJSON *json, const char *key, int64_t *times_us,
                       const int64_t **ret)
{
    const cJSON *times = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!times)
        return true;
    if (!cJSON_IsArray(times) || cJSON_GetArraySize(times) != (int)r->type_count)
        return false;
    uint32_t t = 0;
    for (const cJSON *item = times->child; item; item = item->next) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= TIME_MAX))
            return false;
        times_us[t++] = (int64_t)item->valuedouble;
    }
    *ret = times_us;
    return true;
}

static bool read_submit(struct adl_recording *r, const cJSON *json, struct adl_event *ret)
{
    if (!read_spec(json, &r->spec) || (r->type_count < 32 && r->spec.types >> r->type_count))
        return false;
    ret->submit.spec = &r->spec;
    if (cJSON_HasObjectItem(json, "since") && !get_int(json, "since", 0, TIME_MAX, &ret->submit.since_us))
        return false;
    return read_times(r, json, "runtime_us", r->runtime_us, &ret->submit.runtime_us) &&
           read_times(r, json, "spanning_us", r->spanning_us, &ret->submit.spanning_us);
}

static bool read_finish(const cJSON *json, struct adl_outcome *ret)
{
    const char *end = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "end"));
    for (int i = ADL_END_COMPLETED; end && i <= ADL_END_TIMEOUT; i++)
        if (strcmp(end, adl_job_end_name(i)) == 0) {
            ret->end = (uint8_t)i;
            return get_number(json, "energy_j", 0, HUGE_VAL, &ret->energy_j) &&
                   get_int(json, "run_us", 0, TIME_MAX, &ret->run_us) &&
                   get_int(json, "ideal_us", 0, TIME_MAX, &ret->ideal_us) &&
                   get_number(json, "steps", 0, HUGE_VAL, &ret->steps);
        }
    return false;
}

static bool read_telemetry(const cJSON *json, struct adl_telemetry *ret)
{
    for (int i = 0; i < ADL_READ_COUNT; i++) {
        double value = 0;
        if (!cJSON_HasObjectItem(json, adl_reading_name(i)))
            ret->missing |= 1u << i;
        else if (!get_number(json, adl_reading_name(i), -1e9, 1e9, &value))
            return false;
        ret->value[i] = (float)value;
    }
    return true;
}

static bool read_version(const cJSON *json, char *ret)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "version"));
    return text && (size_t)snprintf(ret, ADL_VERSION_SIZE, "%s", text) < ADL_VERSION_SIZE;
}

static bool read_body(struct adl_recording *r, const cJSON *json, struct adl_event *ret)
{
    int64_t fault = 0;
    switch (ret->kind) {
    case ADL_EVENT_SUBMIT:
        return read_submit(r, json, ret);
    case ADL_EVENT_FINISH:
        return read_finish(json, &ret->outcome);
    case ADL_EVENT_EVICT:
        if (!get_int(json, "fault", 0, 1, &fault) ||
            !get_number(json, "remaining", 0, REMAINING_MAX, &ret->evict.remaining))
            return false;
        ret->evict.fault = fault;
        return true;
    case ADL_EVENT_TELEMETRY:
        return read_telemetry(json, &ret->telemetry);
    case ADL_EVENT_METER:
        return get_number(json, "energy_j", 0, HUGE_VAL, &ret->energy_j);
    case ADL_EVENT_PROGRESS:
        return get_number(json, "steps_per_s", 0, DBL_MAX, &ret->steps_per_s) &&
               (!cJSON_GetObjectItemCaseSensitive(json, "steps_left") ||
                get_number(json, "steps_left", 0, DBL_MAX, &ret->steps_left));
    case ADL_EVENT_VERSION:
        return read_version(json, ret->version);
    case ADL_EVENT_POWER_LIMIT:
        return get_number(json, "limit_w", 0, DBL_MAX, &ret->limit_w);
    default:
        return true;
    }
}

static bool read_event(struct adl_recording *r, const cJSON *json, struct adl_event *ret)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "event"));
    const int kind = name ? adl_event_kind_find(name) : -1;
    int64_t time_us, ref = ADL_NONE, more = 0;
    if (kind < 0 || !get_int(json, "t", 0, TIME_MAX, &time_us))
        return false;
    if (!is_about_all(kind) && !get_int(json, is_about_job(kind) ? "job" : "gpu", 0, 1 << 28, &ref))
        return false;
    if (cJSON_HasObjectItem(json, "more") && !get_int(json, "more", 0, 1, &more))
        return false;
    *ret = (struct adl_event){.time_us = time_us, .kind = (uint8_t)kind, .more = more};
    ret->job = is_about_job(kind) ? (uint32_t)ref : ADL_NONE;
    ret->gpu = is_about_job(kind) ? ADL_NONE : (uint32_t)ref;
    return read_body(r, json, ret);
}

/* The last line was read: it must agree with those before it, and nothing may follow. */
static int read_end(struct adl_recording *r, const cJSON *json, struct adl_error *err)
{
    const char *seal = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "seal"));
    int64_t lines = -1;
    char expected[24];
    snprintf(expected, sizeof expected, "%016" PRIx64, r->seal.hash);
    if (!seal || !get_int(json, "lines", 0, TIME_MAX, &lines))
        return complain(r, err, "the last line of the recording lacks lines or seal");
    if ((uint64_t)lines != r->seal.lines || strcmp(seal, expected) != 0)
        return complain(r, err, "the recording was changed after it was made: its lines do not have this seal");
    if (getc(r->file) == EOF)
        return 0;
    r->line_number++;
    return complain(r, err, "the recording has ended on the line before, and more follows");
}

static bool is_command(const cJSON *json)
{
    return cJSON_HasObjectItem(json, "start") || cJSON_HasObjectItem(json, "preempt") ||
           cJSON_HasObjectItem(json, "wake_us") || cJSON_HasObjectItem(json, "cap_w");
}

/* Parses a line: as adl_recording_next, or 3 for a line that is only for people. */
static int read_record(struct adl_recording *r, const cJSON *json, struct adl_event *ret_event,
                       struct adl_recorded *ret_decision, struct adl_error *err)
{
    const char *reasons = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "reasons"));
    const char *decision = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "decision"));
    if (cJSON_HasObjectItem(json, "end") && !cJSON_HasObjectItem(json, "event"))
        return read_end(r, json, err);
    adl_recording_seal_line(&r->seal, r->line, r->line_size);
    if (decision) {
        *ret_decision = (struct adl_recorded){.hash = strtoull(decision, NULL, 16),
                                              .reasons = reasons ? strtoull(reasons, NULL, 16) : 0,
                                              .reasoned = reasons != NULL};
        return 2;
    }
    if (cJSON_HasObjectItem(json, "event"))
        return read_event(r, json, ret_event) ? 1
                                              : complain(r, err, "the event lacks a field or has an impossible value");
    return is_command(json) ? 3 : complain(r, err, "neither an event nor a command, a decision or the end");
}

int adl_recording_next(void *recording, struct adl_event *ret_event, struct adl_recorded *ret_decision,
                       struct adl_error *err)
{
    struct adl_recording *r = recording;
    for (;;) {
        cJSON *json = NULL;
        int status = read_line(r, &json, err);
        if (status == 0)
            return complain(r, err, "the recording breaks off: its last line, the end, is missing");
        if (status > 0)
            status = read_record(r, json, ret_event, ret_decision, err);
        cJSON_Delete(json);
        if (status != 3)
            return status;
    }
}

int adl_recording_blame(const struct adl_recording *recording, int status, struct adl_error *err)
{
    const size_t length = strlen(recording->path);
    struct adl_error inner = *err;
    if (strncmp(err->text, recording->path, length) == 0 && err->text[length] == ':')
        return status;
    return adl_fail(err, status, "%s:%zu: %s", recording->path, recording->line_number, inner.text);
}
