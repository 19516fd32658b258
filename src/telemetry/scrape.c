#include "telemetry/scrape.h"

#include "base/suggest.h"
#include "http/fetch.h"

#include <stdlib.h>

struct page {
    CURL *easy;
    struct adl_fetch_url url;
    struct adl_fetch_body body;
    size_t head_size;
    CURLcode code;
    bool head_too_long;
    char reason[CURL_ERROR_SIZE];
};

struct adl_scrape {
    CURLM *multi;
    struct page *pages;
    uint32_t count;
    int64_t timeout_us;
};

static size_t take_head(char *data, size_t unit, size_t count, void *memory)
{
    struct page *page = memory;
    (void)data;
    page->head_size += unit * count;
    if (page->head_size <= ADL_SCRAPE_HEAD_MAX)
        return unit * count;
    page->head_too_long = true;
    return 0;
}

static int read_url(const char *text, struct adl_fetch_url *ret, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const int status = adl_fetch_url_read(text, ret);
    if (ret->credentials)
        return adl_fail(err, ADL_EINVAL, "telemetry: the address of an exporter may not hold a name or password");
    if (status == ADL_EINVAL)
        return adl_fail(err, status,
                        "telemetry: the address of an exporter must be like http://host:9400/metrics, got %s",
                        adl_quote(text, quoted));
    return status ? adl_fail(err, status, "telemetry: out of memory") : 0;
}

static int prepare(struct page *page, int64_t timeout_us)
{
    const long timeout_ms = (long)((timeout_us + 999) / 1000);
    page->body.size_max = ADL_SCRAPE_SIZE_MAX;
    CURL *easy = page->easy = adl_fetch_create(&page->body, page->reason);
    if (!easy)
        return ADL_ENOMEM;
    const bool done = curl_easy_setopt(easy, CURLOPT_URL, page->url.whole) == CURLE_OK &&
                      curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms) == CURLE_OK &&
                      curl_easy_setopt(easy, CURLOPT_MAXFILESIZE, (long)ADL_SCRAPE_SIZE_MAX) == CURLE_OK &&
                      curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head) == CURLE_OK &&
                      curl_easy_setopt(easy, CURLOPT_HEADERDATA, (void *)page) == CURLE_OK &&
                      curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)page) == CURLE_OK;
    return done ? 0 : ADL_ENOMEM;
}

int adl_scrape_create(const char *const *urls, uint32_t count, int64_t timeout_us, struct adl_scrape **ret,
                      struct adl_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return adl_fail(err, ADL_EIO, "telemetry: libcurl does not start");
    struct adl_scrape *scrape = calloc(1, sizeof *scrape);
    if (!scrape) {
        curl_global_cleanup();
        return adl_fail(err, ADL_ENOMEM, "telemetry: out of memory");
    }
    scrape->timeout_us = timeout_us;
    scrape->pages = calloc(count ? count : 1, sizeof *scrape->pages);
    scrape->multi = curl_multi_init();
    if (!scrape->pages || !scrape->multi) {
        adl_scrape_destroy(scrape);
        return adl_fail(err, ADL_ENOMEM, "telemetry: out of memory");
    }
    int status = 0;
    while (status == 0 && scrape->count < count) {
        struct page *page = &scrape->pages[scrape->count];
        status = read_url(urls[scrape->count], &page->url, err);
        if (status == 0 && prepare(page, timeout_us) < 0)
            status = adl_fail(err, ADL_ENOMEM, "telemetry: out of memory");
        scrape->count++;
    }
    if (status < 0) {
        adl_scrape_destroy(scrape);
        return status;
    }
    *ret = scrape;
    return 0;
}

void adl_scrape_destroy(struct adl_scrape *scrape)
{
    if (!scrape)
        return;
    for (uint32_t i = 0; i < scrape->count; i++) {
        curl_easy_cleanup(scrape->pages[i].easy);
        adl_fetch_url_clear(&scrape->pages[i].url);
        adl_fetch_body_clear(&scrape->pages[i].body);
    }
    if (scrape->multi)
        curl_multi_cleanup(scrape->multi);
    free(scrape->pages);
    free(scrape);
    curl_global_cleanup();
}

static void finish_pages(struct adl_scrape *scrape)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(scrape->multi, &left));) {
        char *page = NULL;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &page) == CURLE_OK && page)
            ((struct page *)(void *)page)->code = message->data.result;
    }
}

void adl_scrape_fetch(struct adl_scrape *scrape)
{
    for (uint32_t i = 0; i < scrape->count; i++) {
        struct page *page = &scrape->pages[i];
        adl_fetch_body_clear(&page->body);
        page->head_size = 0;
        page->head_too_long = false;
        page->reason[0] = '\0';
        page->code = CURLE_OPERATION_TIMEDOUT; /* until curl reports otherwise */
        if (curl_multi_add_handle(scrape->multi, page->easy) != CURLM_OK)
            page->code = CURLE_FAILED_INIT;
    }
    /* Each transfer ends at its own timeout, so this does too. */
    for (int running = 1; running > 0;) {
        if (curl_multi_perform(scrape->multi, &running) != CURLM_OK)
            break;
        if (running > 0 && curl_multi_poll(scrape->multi, NULL, 0, 1000, NULL) != CURLM_OK)
            break;
    }
    finish_pages(scrape);
    for (uint32_t i = 0; i < scrape->count; i++)
        curl_multi_remove_handle(scrape->multi, scrape->pages[i].easy);
}

int adl_scrape_page(const struct adl_scrape *scrape, uint32_t index, const char **ret_data, size_t *ret_size,
                    struct adl_error *err)
{
    const struct page *page = &scrape->pages[index];
    long http = 0;
    if (page->body.too_long || page->code == CURLE_FILESIZE_EXCEEDED)
        return adl_fail(err, ADL_EIO, "the page is longer than %u MiB", ADL_SCRAPE_SIZE_MAX >> 20);
    if (page->head_too_long)
        return adl_fail(err, ADL_EIO, "its headers are longer than %u KiB", ADL_SCRAPE_HEAD_MAX >> 10);
    if (page->code != CURLE_OK)
        return adl_fail(err, ADL_EIO, "%.150s", page->reason[0] ? page->reason : curl_easy_strerror(page->code));
    if (curl_easy_getinfo(page->easy, CURLINFO_RESPONSE_CODE, &http) != CURLE_OK || http != 200)
        return adl_fail(err, ADL_EIO, "it answers with status %ld, not 200%s", http,
                        http >= 300 && http < 400 ? "; redirects are not followed" : "");
    *ret_data = page->body.text.data ? page->body.text.data : "";
    *ret_size = page->body.text.size;
    return 0;
}

const char *adl_scrape_url(const struct adl_scrape *scrape, uint32_t index)
{
    return scrape->pages[index].url.whole;
}

const char *adl_scrape_host(const struct adl_scrape *scrape, uint32_t index)
{
    const struct adl_fetch_url *url = &scrape->pages[index].url;
    return url->loopback ? NULL : url->host;
}
