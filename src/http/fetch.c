#include "http/fetch.h"

#include "base/error.h"

#include <string.h>
#include <strings.h>

static bool is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
}

static bool has_part(CURLU *url, CURLUPart what)
{
    char *text = NULL;
    const bool has = curl_url_get(url, what, &text, 0) == CURLUE_OK;
    curl_free(text);
    return has;
}

/* False if the scheme is neither http nor https. */
static bool read_scheme(CURLU *url, bool *ret_https)
{
    char *scheme = NULL;
    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return false;
    *ret_https = strcmp(scheme, "https") == 0;
    const bool known = *ret_https || strcmp(scheme, "http") == 0;
    curl_free(scheme);
    return known;
}

static int read_parts(CURLU *url, struct adl_fetch_url *ret)
{
    ret->credentials = has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD);
    if (!read_scheme(url, &ret->https) || curl_url_get(url, CURLUPART_HOST, &ret->host, 0) != CURLUE_OK)
        return ADL_EINVAL;
    ret->loopback = is_loopback(ret->host);
    return curl_url_get(url, CURLUPART_URL, &ret->whole, 0) == CURLUE_OK ? 0 : ADL_ENOMEM;
}

int adl_fetch_url_read(const char *text, struct adl_fetch_url *ret)
{
    *ret = (struct adl_fetch_url){0};
    CURLU *url = curl_url();
    if (!url)
        return ADL_ENOMEM;
    const int status = curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK ? read_parts(url, ret) : ADL_EINVAL;
    curl_url_cleanup(url);
    return status;
}

void adl_fetch_url_clear(struct adl_fetch_url *url)
{
    curl_free(url->whole);
    curl_free(url->host);
    *url = (struct adl_fetch_url){0};
}

static size_t take_body(char *data, size_t unit, size_t count, void *memory)
{
    struct adl_fetch_body *body = memory;
    const size_t size = unit * count;
    if (size > body->size_max - body->text.size) {
        body->too_long = true;
        return 0;
    }
    adl_text_bytes(&body->text, data, size);
    return adl_text_status(&body->text) ? 0 : size;
}

CURL *adl_fetch_create(struct adl_fetch_body *body, char reason[CURL_ERROR_SIZE])
{
    CURL *easy = curl_easy_init();
    if (easy && curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_USERAGENT, "adlro/" ADL_VERSION) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)body) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason) == CURLE_OK)
        return easy;
    curl_easy_cleanup(easy);
    return NULL;
}

void adl_fetch_body_clear(struct adl_fetch_body *body)
{
    adl_text_clear(&body->text);
    body->too_long = false;
}
