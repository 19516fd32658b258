/* client: calls a running service over its Unix socket or, with a token, over HTTPS.
 *
 * Where: --url, or --socket, or ADLRO_SOCKET, or the user's own service and then the system's. A token comes from
 * ADLRO_TOKEN or a file that only its owner can read, never from the command line, and is never shown. A socket that
 * the user did not name is used only if its service is the user's own or root's, because requests hold the user's
 * environment. */
#ifndef ADLRO_CLI_CLIENT_CLIENT_H
#define ADLRO_CLI_CLIENT_CLIENT_H

#include "base/error.h"
#include "base/options.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adl_client;
struct cJSON;

#define ADL_ANSWER_SIZE_MAX (64u << 20)

/* NULL = not given. */
struct adl_client_options {
    const char *socket;
    const char *url;
    const char *token_file;
    const char *ca; /* certificate of the CA that signed the service's */
};

/* The rows of a verb's table of options, whose struct has the member client. */
#define ADL_CLIENT_ROWS(type)                                                                                          \
    ADL_ROW_TEXT(type, client.socket, "socket", 0, "PATH",                                                             \
                 "Unix socket of the service (else ADLRO_SOCKET, your own service, the system's)"),                    \
        ADL_ROW_TEXT(type, client.url, "url", 0, "URL",                                                                \
                     "the service at https://host:port (else ADLRO_URL), with the token in ADLRO_TOKEN"),              \
        ADL_ROW_TEXT(type, client.token_file, "token-file", 0, "FILE",                                                 \
                     "the token for --url is in this file (else ADLRO_TOKEN_FILE)"),                                   \
        ADL_ROW_TEXT(type, client.ca, "ca", 0, "FILE",                                                                 \
                     "certificate to trust for --url, in PEM (else ADLRO_CA, else the system's)")

/* Takes options that are not given from the environment. Does not connect yet. */
int adl_client_create(const struct adl_client_options *options, struct adl_client **ret, struct adl_error *err);
void adl_client_destroy(struct adl_client *client); /* accepts NULL */

bool adl_client_is_local(const struct adl_client *client); /* over a socket: the service is on this machine */
void adl_client_set_timeout(struct adl_client *client, int64_t timeout_us); /* of one call; 60 s unless set */

/* path: "/v1/jobs?limit=1", with escapes where it needs them. body: sent as JSON; NULL = none. Answers of 200 to 299
 * give 0 and their document, the caller's to cJSON_Delete; ret may be NULL. Else: ADL_EINVAL (400 and its kin),
 * ADL_EDENIED (401, 403), ADL_EABSENT (404), ADL_EREFUSED (409), ADL_EIO (all else, and no service), with the service's
 * own message and hint. */
int adl_client_call(struct adl_client *client, const char *method, const char *path, const struct cJSON *body,
                    struct cJSON **ret, struct adl_error *err);
int adl_client_get(struct adl_client *client, const char *path, struct cJSON **ret, struct adl_error *err);

/* The service's time in Unix seconds, which is not this machine's if it runs a twin. */
int adl_client_now(struct adl_client *client, int64_t *ret_s, struct adl_error *err);

/* As adl_client_get, but retries for up to a minute while no service answers, as during a restart. */
int adl_client_get_patiently(struct adl_client *client, const char *path, struct cJSON **ret, struct adl_error *err);

/* All jobs that query ("state=PD&user=ann") selects, page by page, as one list: {"jobs":[...],"counts":{...}}. */
int adl_client_jobs(struct adl_client *client, const char *query, struct cJSON **ret, struct adl_error *err);

/* Appends text escaped for a path segment or a query value. */
void adl_client_escape(struct adl_text *text, const char *string);

#endif
