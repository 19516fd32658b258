/* routes_belief: what the service has learned about jobs, to be read and replaced; its bytes are hexadecimal digits. */
#include "base/json.h"
#include "predict/belief_bytes.h"
#include "service/routes/routes_internal.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_hex(struct adl_text *text, const struct adl_text *bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes->size; i++) {
        adl_text_char(text, digits[(unsigned char)bytes->data[i] >> 4]);
        adl_text_char(text, digits[(unsigned char)bytes->data[i] & 15]);
    }
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *hex, struct adl_text *ret)
{
    for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
        const int high = digit_of(hex[0]), low = digit_of(hex[1]);
        if (high < 0 || low < 0)
            return false;
        adl_text_char(ret, (char)(high << 4 | low));
    }
    return hex[0] == '\0' && adl_text_status(ret) == 0;
}

static void answer_belief(struct adl_http_request *http, const struct adl_text *bytes, const char *said)
{
    struct adl_text text = {0}, hex = {0};
    struct adl_json json = adl_json_start(&text, false);
    char seal[20];
    snprintf(seal, sizeof seal, "%016" PRIx64, adl_belief_seal(bytes->data, bytes->size));
    adl_json_object(&json);
    adl_json_put_string(&json, "checksum", seal);
    adl_json_put_uint(&json, "bytes", bytes->size);
    if (said) {
        adl_json_put_string(&json, "said", said);
    } else {
        put_hex(&hex, bytes);
        adl_json_put_string(&json, "belief", hex.data ? hex.data : "");
    }
    adl_json_end(&json);
    adl_text_clear(&hex);
    adl_http_request_answer_json(http, 200, &text);
}

static void answer_read(struct adl_routes_context *context, struct adl_request *request)
{
    (void)context;
    answer_belief(request->http, &request->belief, NULL);
}

static void answer_written(struct adl_routes_context *context, struct adl_request *request)
{
    (void)context;
    answer_belief(request->http, &request->belief, request->text);
}

void adl_route_belief(void *context, struct adl_http_request *http)
{
    if (!adl_route_query_known(http, NULL))
        return;
    struct adl_request *request = adl_route_request(context, http, ADL_REQUEST_BELIEF_READ, answer_read);
    if (request)
        adl_route_post(request);
}

void adl_route_set_belief(void *context, struct adl_http_request *http)
{
    static const char *const names[] = {"belief", NULL};
    cJSON *body = NULL;
    struct adl_text bytes = {0};
    if (!adl_route_query_known(http, NULL) || !adl_route_body(http, names, false, &body))
        return;
    const char *hex = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "belief"));
    const bool fine = hex && read_hex(hex, &bytes);
    cJSON_Delete(body);
    struct adl_request *request =
        fine ? adl_route_request(context, http, ADL_REQUEST_BELIEF_WRITE, answer_written) : NULL;
    if (!fine)
        adl_http_request_answer_problem(http, 400, "bad_request", "'belief' must be a string of hexadecimal digits.",
                                        "`adlro belief import FILE` sends a file.");
    if (!request) {
        adl_text_clear(&bytes);
        return;
    }
    request->belief = bytes;
    adl_route_post(request);
}
