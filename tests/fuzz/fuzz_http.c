/* fuzz_http: the first byte chooses the reader: the address of a request with its route, or the JSON of a body. */
#include "base/json.h"
#include "http/body.h"
#include "http/router.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void handle(void *context, struct adl_http_request *request)
{
    (void)context, (void)request;
}

static const struct adl_route routes[] = {
    {"GET", "/", handle, 0, 0, 0},
    {"GET", "/v1/jobs", handle, 0, 0, 0},
    {"POST", "/v1/jobs", handle, 0, ADL_BODY_JSON, 100},
    {"DELETE", "/v1/jobs/{id}", handle, 0, 0, 0},
    {"GET", "/{a}/{b}/{c}/{d}", handle, 0, 0, 0},
};

static void check_text(const char *text)
{
    for (const char *c = text; *c;) {
        const size_t length = adl_utf8_length(c);
        must(length > 0 && (unsigned char)*c >= 0x20 && *c != 0x7f);
        c += length;
    }
}

static void check_target(const struct adl_target *target)
{
    must(target->segment_count <= ADL_TARGET_SEGMENT_MAX && target->pair_count <= ADL_TARGET_PAIR_MAX);
    for (uint32_t i = 0; i < target->segment_count; i++) {
        const char *segment = target->segments[i];
        check_text(segment);
        must(segment[0] && strcmp(segment, ".") != 0 && strcmp(segment, "..") != 0 && !strchr(segment, '/'));
    }
    for (uint32_t i = 0; i < target->pair_count; i++) {
        check_text(target->pairs[i].name);
        check_text(target->pairs[i].value);
        must(adl_target_query(target, target->pairs[i].name) == target->pairs[i].value); /* none twice */
    }
}

static void try_address(const char *text)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "DELETE", "PUT", ""};
    struct adl_target target;
    struct adl_match match;
    struct adl_error err = {{0}};
    if (adl_target_parse(&target, text, &err) < 0) {
        must(err.text[0] && target.segment_count == 0 && target.pair_count == 0);
        return;
    }
    check_target(&target);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const int status = adl_routes_find(routes, sizeof routes / sizeof *routes, methods[i], &target, &match);
        must(status == 200 || status == 404 || status == 405);
        must((status == 200) == (match.route != NULL) && (status == 405) == (match.route == NULL && match.allow[0]));
        for (uint32_t k = 0; k < match.param_count; k++)
            check_text(match.values[k]);
    }
}

/* What was taken has to survive being printed and read again. */
static void try_json(const char *text, size_t size)
{
    cJSON *json = NULL, *again = NULL;
    struct adl_error err = {{0}};
    if (adl_body_parse(text, size, &json, &err) < 0) {
        must(err.text[0] && !json);
        return;
    }
    char *printed = cJSON_PrintUnformatted(json);
    must(printed != NULL);
    /* Numbers beyond a double are printed as null. */
    must(adl_body_parse(printed, strlen(printed), &again, &err) == 0);
    cJSON_free(printed);
    cJSON_Delete(again);
    cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size);
    must(text != NULL);
    memcpy(text, data + 1, size - 1);
    if (data[0] % 2 == 0) {
        text[size - 1] = '\0';
        try_address(text);
    } else {
        try_json(text, size - 1);
    }
    free(text);
    return 0;
}
