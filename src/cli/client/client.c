#include "cli/client/client.h"

#include "base/suggest.h"
#include "cli/display.h"
#include "http/account.h"
#include "http/fetch.h"
#include "service/config.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SYSTEM_SOCKET   "/run/adlro/adlro.sock"
#define TOKEN_MAX       512
#define PAGE_JOBS       1000
#define PLACES_MAX      2
#define CONNECT_MS      5000L
#define TIMEOUT_MS      60000L
#define PATIENCE_MS     250
#define PATIENCE_TRIES  240
#define REASON_SIZE     200
#define SOCKET_PATH_MAX (sizeof((struct sockaddr_un *)0)->sun_path)

/* A socket that might be the service's. */
struct place {
    char path[SOCKET_PATH_MAX];
    bool guessed; /* the user did not name it, so its service must be the user's own or root's */
};

struct adl_client {
    CURL *easy;
    struct curl_slist *headers;
    struct adl_fetch_url url; /* whole: "https://host:port", or NULL: by socket */
    struct place places[PLACES_MAX];
    size_t place_count;
    const struct place *place; /* in use; NULL = to be chosen */
    int fd;                    /* of the connection; curl's */
    struct adl_fetch_body answer;
    char reason[CURL_ERROR_SIZE];
    char trouble[REASON_SIZE]; /* why no place accepts a connection */
    bool global;               /* libcurl was started */
};

/* ---- where ---- */

static const char *given_or(const char *given, const char *variable)
{
    if (given)
        return given;
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

static int add_place(struct adl_client *client, const char *path, bool guessed, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    struct place *place = &client->places[client->place_count];
    if (*path == '\0' || strlen(path) >= sizeof place->path)
        return adl_fail(err, ADL_EINVAL, "the path of a socket has 1 to %zu bytes, got %s", sizeof place->path - 1,
                        adl_quote(path, quoted));
    for (size_t i = 0; i < client->place_count; i++)
        if (strcmp(client->places[i].path, path) == 0)
            return 0;
    snprintf(place->path, sizeof place->path, "%s", path);
    place->guessed = guessed;
    client->place_count++;
    return 0;
}

static int find_places(struct adl_client *client, const char *named, struct adl_error *err)
{
    char path[4096];
    if (named)
        return add_place(client, named, false, err);
    adl_service_socket(path, sizeof path);
    const int status = add_place(client, path, true, err);
    return status ? status : add_place(client, SYSTEM_SOCKET, false, err);
}

/* https anywhere, http only to this machine: a token must not cross a network in the clear. */
static int read_url(const char *text, struct adl_fetch_url *ret, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const int status = adl_fetch_url_read(text, ret);
    if (ret->credentials)
        return adl_fail(err, ADL_EINVAL, "--url may not hold a name or password; the token goes into ADLRO_TOKEN");
    if (status == ADL_EINVAL)
        return adl_fail(err, status, "--url must be like https://host:8443, got %s", adl_quote(text, quoted));
    if (status)
        return adl_fail(err, status, "out of memory");
    if (!ret->https && !ret->loopback)
        return adl_fail(err, ADL_EINVAL, "--url must be https on any host but this one, got %s",
                        adl_quote(text, quoted));
    for (size_t end = strlen(ret->whole); end > 0 && ret->whole[end - 1] == '/'; end--)
        ret->whole[end - 1] = '\0';
    return 0;
}

/* ---- token ---- */

static int read_token_file(const char *path, char token[TOKEN_MAX], struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        const int reason = errno;
        if (fd >= 0)
            close(fd);
        return adl_fail(err, ADL_EIO, "cannot read the token in %s: %s", adl_quote(path, quoted), strerror(reason));
    }
    const bool private = S_ISREG(info.st_mode) && (info.st_mode & 077) == 0;
    const ssize_t got = private ? read(fd, token, TOKEN_MAX - 1) : 0;
    close(fd);
    if (!private)
        return adl_fail(err, ADL_EIO, "the token file %s is accessible to others: chmod 600 it",
                        adl_quote(path, quoted));
    token[got > 0 ? got : 0] = '\0';
    token[strcspn(token, "\r\n \t")] = '\0';
    return 0;
}

static int add_token(struct adl_client *client, const char *file, struct adl_error *err)
{
    char token[TOKEN_MAX] = "", header[TOKEN_MAX + 32];
    const char *given = getenv("ADLRO_TOKEN");
    file = given_or(file, "ADLRO_TOKEN_FILE");
    if (given && *given) {
        if (strlen(given) >= sizeof token)
            return adl_fail(err, ADL_EINVAL, "ADLRO_TOKEN holds no token: it is too long");
        memcpy(token, given, strlen(given) + 1);
    } else if (file) {
        const int status = read_token_file(file, token, err);
        if (status)
            return status;
    } else {
        return adl_fail(err, ADL_EINVAL,
                        "--url needs a token, in ADLRO_TOKEN or a --token-file "
                        "(an administrator makes one with `adlro token USER`)");
    }
    for (const char *c = token; *c; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return adl_fail(err, ADL_EINVAL, "the token is malformed: it has characters that no token has");
    if (token[0] == '\0')
        return adl_fail(err, ADL_EINVAL, "the token is empty");
    snprintf(header, sizeof header, "Authorization: Bearer %s", token);
    struct curl_slist *headers = curl_slist_append(client->headers, header);
    if (!headers)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    client->headers = headers;
    return 0;
}

/* ---- connection ---- */

/* Whether a service listens there; else client->trouble says why not. */
static bool try_place(struct adl_client *client, const struct place *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, place->path, sizeof address.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    const bool absent = reason == ENOENT || reason == ECONNREFUSED;
    if (!connected && !absent)
        snprintf(client->trouble, sizeof client->trouble, "cannot connect to %s: %s", place->path, strerror(reason));
    else if (!connected && client->trouble[0] == '\0')
        snprintf(client->trouble, sizeof client->trouble,
                 "no service is listening at %s: start one with `adlro serve --state DIR`", place->path);
    return connected;
}

/* Keeps the first place where a service listens, until that service ends. */
static bool choose_place(struct adl_client *client)
{
    client->trouble[0] = '\0';
    client->place = NULL;
    for (size_t i = 0; i < client->place_count && !client->place; i++)
        if (try_place(client, &client->places[i]))
            client->place = &client->places[i];
    return client->place && curl_easy_setopt(client->easy, CURLOPT_UNIX_SOCKET_PATH, client->place->path) == CURLE_OK;
}

static curl_socket_t open_socket(void *memory, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct adl_client *client = memory;
    (void)purpose;
    client->fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    return client->fd < 0 ? CURL_SOCKET_BAD : client->fd;
}

/* After the connection is made and before anything is sent. */
static int check_peer(void *memory, char *remote, char *local, int remote_port, int local_port)
{
    struct adl_client *client = memory;
    struct adl_account peer;
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    if (!client->place->guessed || (adl_account_of_socket(client->fd, ADL_ACCOUNT_NO_GROUP, &peer, NULL) == 0 &&
                                    (peer.uid == geteuid() || peer.uid == 0)))
        return CURL_PREREQFUNC_OK;
    snprintf(client->trouble, sizeof client->trouble,
             "the service at %s belongs to another user; if you trust it, name it with --socket", client->place->path);
    return CURL_PREREQFUNC_ABORT;
}

static bool set_common(struct adl_client *client)
{
    CURL *easy = client->easy;
    return curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, TIMEOUT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, client->headers) == CURLE_OK;
}

static bool set_socket(struct adl_client *client)
{
    CURL *easy = client->easy;
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, (void *)client) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, check_peer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQDATA, (void *)client) == CURLE_OK;
}

static int prepare(struct adl_client *client, const struct adl_client_options *options, struct adl_error *err)
{
    const char *url = options->socket ? NULL : given_or(options->url, "ADLRO_URL");
    const char *ca = given_or(options->ca, "ADLRO_CA");
    int status;
    client->headers = curl_slist_append(NULL, "Content-Type: application/json");
    client->answer.size_max = ADL_ANSWER_SIZE_MAX;
    client->easy = adl_fetch_create(&client->answer, client->reason);
    if (!client->headers || !client->easy)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    if (url) {
        status = read_url(url, &client->url, err);
        if (status == 0)
            status = add_token(client, options->token_file, err);
    } else {
        status = find_places(client, given_or(options->socket, "ADLRO_SOCKET"), err);
    }
    if (status)
        return status;
    bool good = set_common(client) && (url || set_socket(client));
    if (good && url && ca)
        good = curl_easy_setopt(client->easy, CURLOPT_CAINFO, ca) == CURLE_OK;
    return good ? 0 : adl_fail(err, ADL_ENOMEM, "libcurl does not accept its settings");
}

int adl_client_create(const struct adl_client_options *options, struct adl_client **ret, struct adl_error *err)
{
    if (options->socket && options->url)
        return adl_fail(err, ADL_EINVAL, "--socket and --url are two places; give one");
    struct adl_client *client = calloc(1, sizeof *client);
    if (!client)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    client->global = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    const int status =
        client->global ? prepare(client, options, err) : adl_fail(err, ADL_EIO, "libcurl does not start");
    if (status) {
        adl_client_destroy(client);
        return status;
    }
    *ret = client;
    return 0;
}

void adl_client_destroy(struct adl_client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->easy);
    curl_slist_free_all(client->headers);
    adl_fetch_body_clear(&client->answer);
    adl_fetch_url_clear(&client->url);
    if (client->global)
        curl_global_cleanup();
    free(client);
}

bool adl_client_is_local(const struct adl_client *client)
{
    return !client->url.whole;
}

void adl_client_set_timeout(struct adl_client *client, int64_t timeout_us)
{
    curl_easy_setopt(client->easy, CURLOPT_TIMEOUT_MS, (long)((timeout_us + 999) / 1000));
}

/* ---- calls ---- */

static int status_of(long http)
{
    switch (http) {
    case 401:
    case 403:
        return ADL_EDENIED;
    case 404:
        return ADL_EABSENT;
    case 409:
        return ADL_EREFUSED;
    case 400:
    case 405:
    case 413:
    case 414:
    case 415:
    case 422:
    case 431:
        return ADL_EINVAL;
    default:
        return ADL_EIO;
    }
}

static bool ends_sentence(const struct adl_text *text)
{
    return text->size > 0 && strchr(".!?:", text->data[text->size - 1]);
}

/* The service's own message, escaped for the terminal. */
static int refuse(long http, const cJSON *answer, struct adl_error *err)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer, "error");
    const char *message = adl_member_text(error, "message"), *hint = adl_member_text(error, "hint");
    struct adl_text text = {0};
    if (*message == '\0')
        return adl_fail(err, status_of(http), "the service answers with status %ld%s", http,
                        http == 401 ? ": the token is not known to it" : "");
    adl_display_put(&text, message, 250);
    if (*hint) {
        adl_text_put(&text, ends_sentence(&text) ? " " : ". ");
        adl_display_put(&text, hint, 140);
    }
    const int status = adl_fail(err, status_of(http), "%s", text.data ? text.data : message);
    adl_text_clear(&text);
    return status;
}

static int explain_failure(const struct adl_client *client, CURLcode code, struct adl_error *err)
{
    if (client->answer.too_long)
        return adl_fail(err, ADL_EIO, "the service's answer is longer than %u MiB", ADL_ANSWER_SIZE_MAX >> 20);
    if (adl_text_status(&client->answer.text))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the service's answer");
    if (!client->url.whole && client->trouble[0])
        return adl_fail(err, ADL_EIO, "%s", client->trouble);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return adl_fail(err, ADL_EIO, "the service did not answer in time; check whether it carried out the request");
    return adl_fail(err, ADL_EIO, "cannot reach the service at %.150s: %.150s",
                    client->url.whole ? client->url.whole : client->places[0].path,
                    client->reason[0] ? client->reason : curl_easy_strerror(code));
}

static bool set_request(struct adl_client *client, const char *method, const char *url, const char *body)
{
    CURL *easy = client->easy;
    bool good = curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK;
    if (body)
        good = good && curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body)) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body) == CURLE_OK;
    else
        good = good && curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    return good && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
}

/* Retries once, because the service may have been restarted. */
static CURLcode perform(struct adl_client *client)
{
    CURLcode code = CURLE_COULDNT_CONNECT;
    for (int attempt = 0; attempt < 2 && code == CURLE_COULDNT_CONNECT; attempt++) {
        if (!client->url.whole && !client->place && !choose_place(client))
            return CURLE_COULDNT_CONNECT;
        code = curl_easy_perform(client->easy);
        if (code == CURLE_COULDNT_CONNECT)
            client->place = NULL;
    }
    return code;
}

int adl_client_call(struct adl_client *client, const char *method, const char *path, const struct cJSON *body,
                    struct cJSON **ret, struct adl_error *err)
{
    struct adl_text url = {0};
    char *sent = body ? cJSON_PrintUnformatted(body) : NULL;
    adl_text_put(&url, client->url.whole ? client->url.whole : "http://localhost");
    adl_text_put(&url, path);
    adl_fetch_body_clear(&client->answer);
    client->reason[0] = client->trouble[0] = '\0';
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (adl_text_status(&url) == 0 && (!body || sent) && set_request(client, method, url.data, sent))
        code = perform(client);
    adl_text_clear(&url);
    cJSON_free(sent);
    if (code != CURLE_OK)
        return explain_failure(client, code, err);

    long http = 0;
    curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &http);
    cJSON *answer =
        cJSON_ParseWithLength(client->answer.text.data ? client->answer.text.data : "", client->answer.text.size);
    adl_fetch_body_clear(&client->answer);
    int status = 0;
    if (http < 200 || http > 299)
        status = refuse(http, answer, err);
    else if (!answer)
        status = adl_fail(err, ADL_EIO, "the service's answer is not JSON; is it adlro?");
    if (status == 0 && ret)
        *ret = answer;
    else
        cJSON_Delete(answer);
    return status;
}

int adl_client_get(struct adl_client *client, const char *path, struct cJSON **ret, struct adl_error *err)
{
    return adl_client_call(client, "GET", path, NULL, ret, err);
}

int adl_client_now(struct adl_client *client, int64_t *ret_s, struct adl_error *err)
{
    cJSON *cluster = NULL;
    const int status = adl_client_get(client, "/v1/cluster", &cluster, err);
    const double now_s = adl_member_number(cluster, "now_s", -1);
    cJSON_Delete(cluster);
    if (status == 0 && !(now_s > 0 && now_s < 1e11))
        return adl_fail(err, ADL_EIO, "the service does not tell its time");
    if (status == 0)
        *ret_s = (int64_t)now_s;
    return status;
}

int adl_client_get_patiently(struct adl_client *client, const char *path, struct cJSON **ret, struct adl_error *err)
{
    const struct timespec pause = {.tv_nsec = PATIENCE_MS * 1000000L};
    int status = adl_client_get(client, path, ret, err);
    for (int tried = 1; status == ADL_EIO && tried < PATIENCE_TRIES; tried++) {
        nanosleep(&pause, NULL);
        status = adl_client_get(client, path, ret, err);
    }
    return status;
}

/* Moves the jobs of a page to the end of the list. */
static void move_jobs(cJSON *to, cJSON *page)
{
    cJSON *jobs = cJSON_GetObjectItemCaseSensitive(page, "jobs");
    if (!cJSON_IsArray(jobs))
        return;
    cJSON *first = cJSON_DetachItemViaPointer(page, jobs);
    cJSON *all = cJSON_GetObjectItemCaseSensitive(to, "jobs");
    while (first->child)
        cJSON_AddItemToArray(all, cJSON_DetachItemViaPointer(first, first->child));
    cJSON_Delete(first);
}

int adl_client_jobs(struct adl_client *client, const char *query, struct cJSON **ret, struct adl_error *err)
{
    cJSON *all = NULL;
    double after = -1;
    for (;;) {
        struct adl_text path = {0};
        cJSON *page = NULL;
        adl_text_printf(&path, "/v1/jobs?limit=%d%s%s", PAGE_JOBS, *query ? "&" : "", query);
        if (after >= 0)
            adl_text_printf(&path, "&after=%.0f", after);
        const int status = adl_text_status(&path) ? adl_fail(err, ADL_ENOMEM, "out of memory")
                                                  : adl_client_get(client, path.data, &page, err);
        adl_text_clear(&path);
        if (status) {
            cJSON_Delete(all);
            return status;
        }
        const double next = adl_member_number(page, "next", -1);
        if (!all) {
            all = page;
        } else {
            move_jobs(all, page);
            cJSON_Delete(page);
        }
        if (next < 0 || next == after)
            break;
        after = next;
    }
    if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(all, "jobs"))) {
        cJSON_Delete(all);
        return adl_fail(err, ADL_EIO, "the service's answer has no list of jobs; is it adlro?");
    }
    cJSON_DeleteItemFromObjectCaseSensitive(all, "next");
    *ret = all;
    return 0;
}

void adl_client_escape(struct adl_text *text, const char *string)
{
    for (; *string; string++) {
        const unsigned char byte = (unsigned char)*string;
        const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= 'a' && byte <= 'z') || (byte && strchr("-_.~", byte));
        if (plain)
            adl_text_char(text, *string);
        else
            adl_text_printf(text, "%%%02X", byte);
    }
}
