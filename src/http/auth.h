/* auth: who is asking: a user by the credentials of a Unix socket or by a bearer token (http/token.h). */
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
    struct adl_account account;    /* with a token, of the user that it names */
    char token[ADL_TOKEN_ID_SIZE]; /* its id; "": none was needed */
};

/* admin_group and token_path may be NULL: no such group, no tokens. A token of an account that is not there does not
 * keep this from working: it is refused. */
int adl_auth_create(const char *admin_group, const char *token_path, struct adl_auth **ret, struct adl_error *err);
void adl_auth_destroy(struct adl_auth *auth);

/* Says, from now on and of what was read already, which tokens are refused because their account is gone, and what is
 * wrong with a token file that was changed. Called from the thread that asks. */
void adl_auth_tell(struct adl_auth *auth, void (*say)(const char *text));

/* Reads the token file again, from any thread; on failure what was read before stays in force. A file that changes is
 * read again by itself when the next token is looked at. */
int adl_auth_reload(struct adl_auth *auth, struct adl_error *err);

bool adl_auth_has_tokens(const struct adl_auth *auth); /* a token file was named */

int adl_auth_socket(struct adl_auth *auth, int fd, struct adl_caller *ret, struct adl_error *err);

/* The value of an Authorization header. */
bool adl_auth_bearer(struct adl_auth *auth, const char *header, struct adl_caller *ret);

/* Whether what the caller was let in by still holds: its token is neither revoked nor expired. */
bool adl_auth_holds(struct adl_auth *auth, const struct adl_caller *caller);

#endif
