/* hook_webhook: one HTTP POST of JSON, with a secret in a header. */
#include "http/fetch.h"
#include "service/hooks/hooks_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 65536 /* bytes; a longer answer counts as a failure */

int adl_hook_secret_read(const char *path, char ret[ADL_SECRET_MAX + 1], struct adl_error *err)
{
    char text[ADL_SECRET_MAX + 2];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return adl_fail(err, ADL_EIO, "%.200s cannot be read: %s", path, strerror(errno));
    const ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    const size_t length = strcspn(text, "\r\n");
    if (length == 0)
        return adl_fail(err, ADL_EINVAL, "%.200s has no secret in its first line", path);
    if (length > ADL_SECRET_MAX)
        return adl_fail(err, ADL_EINVAL, "%.200s: a secret has at most %d bytes", path, ADL_SECRET_MAX);
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return adl_fail(err, ADL_EINVAL, "%.200s: a secret has printable ASCII characters only", path);
    memcpy(ret, text, length);
    ret[length] = '\0';
    return 0;
}

static int should_abort(void *ending, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load((atomic_bool *)ending);
}

static struct curl_slist *append(struct curl_slist *list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(list, line);
    if (!longer)
        curl_slist_free_all(list);
    return longer;
}

/* NULL: out of memory, or the secret cannot be read. */
static struct curl_slist *make_headers(const struct adl_hook *hook, struct adl_error *err)
{
    char secret[ADL_SECRET_MAX + 1], line[ADL_SECRET_MAX + 200];
    struct curl_slist *list = append(NULL, "Content-Type: application/json");
    list = list ? append(list, "Expect:") : NULL;
    if (list && hook->secret_file) {
        if (adl_hook_secret_read(hook->secret_file, secret, err)) {
            curl_slist_free_all(list);
            return NULL;
        }
        snprintf(line, sizeof line, "%.100s: %s", hook->secret_header, secret);
        list = append(list, line);
    }
    if (!list)
        adl_fail(err, ADL_ENOMEM, "out of memory");
    return list;
}

static int perform(CURL *easy, const char *reason, struct adl_error *err)
{
    long code = 0;
    const CURLcode done = curl_easy_perform(easy);
    if (done != CURLE_OK)
        return adl_fail(err, ADL_EIO, "%.150s", reason[0] ? reason : curl_easy_strerror(done));
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    return code >= 200 && code < 300 ? 0 : adl_fail(err, ADL_EIO, "the answer was HTTP %ld", code);
}

int adl_hook_webhook_send(const struct adl_hook *hook, const char *body, atomic_bool *ending, struct adl_error *err)
{
    struct adl_fetch_body answer = {.size_max = ANSWER_MAX};
    char reason[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = make_headers(hook, err);
    if (!headers)
        return ADL_EIO;
    CURL *easy = adl_fetch_create(&answer, reason);
    const bool ready = easy && curl_easy_setopt(easy, CURLOPT_URL, hook->target) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)ADL_HOOK_TIMEOUT_MS) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, should_abort) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_XFERINFODATA, (void *)ending) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L) == CURLE_OK;
    const int status = ready ? perform(easy, reason, err) : adl_fail(err, ADL_ENOMEM, "out of memory");
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    adl_fetch_body_clear(&answer);
    return status;
}
