/* auth: who is asking: a user by the credentials of a Unix socket or by a bearer token.
 *
 * A token is "adl_", an id of 8 and a secret of 64 hexadecimal digits with a '_' between them. The token file has one a
 * line, "ID USER SALT HASH" with '#' for comments; HASH is the SHA-256 of salt and secret, both as bytes. The secret is
 * random, so that a slow hash would add nothing. The file must be nobody else's to read or write. */
#ifndef ADLRO_SERVE_AUTH_H
#define ADLRO_SERVE_AUTH_H

#include "base/error.h"
#include "serve/account.h"

#include <stdbool.h>

struct adl_auth;

struct adl_caller {
    bool known;                 /* else nothing below is set */
    bool admin;                 /* uid 0, the uid of this process, or in the group of administrators */
    struct adl_account account; /* with a token, of the user that it names */
};

/* admin_group and token_path may be NULL: no such group, no tokens. */
int adl_auth_create(const char *admin_group, const char *token_path, struct adl_auth **ret, struct adl_error *err);
void adl_auth_destroy(struct adl_auth *auth);

/* Reads the token file again, from any thread; on failure what was read before stays in force. */
int adl_auth_reload(struct adl_auth *auth, struct adl_error *err);

bool adl_auth_has_tokens(const struct adl_auth *auth); /* a token file was named */

int adl_auth_socket(struct adl_auth *auth, int fd, struct adl_caller *ret, struct adl_error *err);

/* The value of an Authorization header. How long it takes does not tell how much of a secret was right. */
bool adl_auth_bearer(struct adl_auth *auth, const char *header, struct adl_caller *ret);

#define ADL_TOKEN_SIZE      78 /* with the final zero */
#define ADL_TOKEN_LINE_SIZE 256

/* A new token of this user, and the line for the token file, without its line feed. Only the line is to be kept. */
int adl_token_create(const char *user, char ret_token[ADL_TOKEN_SIZE], char ret_line[ADL_TOKEN_LINE_SIZE],
                     struct adl_error *err);

#endif
