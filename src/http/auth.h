/* auth: authenticates a user by the credentials of a Unix socket or a bearer token (http/token.h). */
#ifndef ADLRO_HTTP_AUTH_H
#define ADLRO_HTTP_AUTH_H

#include "base/error.h"
#include "http/account.h"
#include "http/token.h"

#include <stdbool.h>

struct adl_auth;

struct adl_caller {
    bool known;                    /* else nothing below is set */
    bool admin;                    /* uid 0, the uid of this process, or in the group of administrators */
    struct adl_account account;    /* with a token, the account of its user */
    char token[ADL_TOKEN_ID_SIZE]; /* its id; "": none was used */
};

/* admin_group and token_path may be NULL: no such group, no tokens. A token of a missing account is refused, but does
 * not make this call fail. */
int adl_auth_create(const char *admin_group, const char *token_path, struct adl_auth **ret, struct adl_error *err);
void adl_auth_destroy(struct adl_auth *auth);

/* Calls say, now and from now on, for tokens refused because their account is gone, and for faults in a changed token
 * file. say is called from the thread that authenticates. */
void adl_auth_set_log(struct adl_auth *auth, void (*say)(const char *text));

/* Reads the token file again, from any thread; on failure the old tokens stay in force. A changed file is read again
 * automatically when the next token is checked. */
int adl_auth_reload(struct adl_auth *auth, struct adl_error *err);

bool adl_auth_has_tokens(const struct adl_auth *auth); /* a token file was named */

int adl_auth_socket(struct adl_auth *auth, int fd, struct adl_caller *ret, struct adl_error *err);

/* The value of an Authorization header. */
bool adl_auth_bearer(struct adl_auth *auth, const char *header, struct adl_caller *ret);

/* Whether the caller is still authorized: its token is neither revoked nor expired. */
bool adl_auth_holds(struct adl_auth *auth, const struct adl_caller *caller);

#endif
