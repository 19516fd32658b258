/* token: what a user who comes over the network proves itself by, and the file that the service knows tokens from.
 *
 * A token is "adl_", an id of 8 and a secret of 64 hexadecimal digits with a '_' between them. The file has one a line,
 * "ID USER SALT HASH", perhaps followed by "created=SECONDS" and "expires=SECONDS" (Unix time), with '#' for comments;
 * HASH is the SHA-256 of salt and secret, both as bytes. The secret is random, so that a slow hash would add nothing.
 * The file must be nobody else's to read or write. */
#ifndef ADLRO_HTTP_TOKEN_H
#define ADLRO_HTTP_TOKEN_H

#include "base/error.h"
#include "http/account.h"
#include "http/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define ADL_TOKEN_SIZE      78 /* with the final zero */
#define ADL_TOKEN_LINE_SIZE 256
#define ADL_TOKEN_ID_SIZE   9 /* as text, with the final zero */
#define ADL_TOKENS_MAX      4096

struct adl_token {
    char id[ADL_TOKEN_ID_SIZE];
    char user[ADL_ACCOUNT_NAME_SIZE];
    uint8_t salt[16];
    uint8_t hash[ADL_SHA256_SIZE];
    int64_t created_s; /* 0: the line does not say */
    int64_t expires_s; /* 0: never */
};

struct adl_tokens {
    struct adl_token *items; /* owned */
    size_t count;
    struct stat about; /* of the file they were read from */
};

/* Messages name the line, never what stands there. */
int adl_tokens_read(const char *path, struct adl_tokens *ret, struct adl_error *err);
void adl_tokens_clear(struct adl_tokens *tokens);

/* Whether the file at path is not the one that was read, or was written since. */
bool adl_tokens_changed(const struct adl_tokens *tokens, const char *path);

/* Splits what follows "Bearer " into the id and the secret; false: it is no token. */
bool adl_token_split(const char *text, char ret_id[ADL_TOKEN_ID_SIZE], uint8_t ret_secret[32]);
/* How long it takes does not tell how much of a secret was right. */
bool adl_token_proves(const struct adl_token *token, const uint8_t secret[32]);
bool adl_token_expired(const struct adl_token *token, int64_t now_s);

/* A new token of this user, and the line for the token file, without its line feed. Only the line is to be kept.
 * expires_s 0: never. */
int adl_token_create(const char *user, int64_t expires_s, char ret_token[ADL_TOKEN_SIZE],
                     char ret_line[ADL_TOKEN_LINE_SIZE], struct adl_error *err);

/* Adds a line to the file, which is made for its owner alone if it is not there; and takes lines out, in a new file
 * that takes the place of the old one. A service that runs sees either. An id that is not there is refused, and nothing
 * is changed. */
int adl_tokens_append(const char *path, const char *line, struct adl_error *err);
int adl_tokens_revoke(const char *path, const char *const *ids, size_t count, struct adl_error *err);

#endif
