/* token: bearer tokens of users who connect over the network, and the service's token file.
 *
 * A token is "adl_", an id of 8 and a secret of 64 hexadecimal digits with a '_' between them. The file has one a line,
 * "ID USER SALT HASH", perhaps followed by "created=SECONDS" and "expires=SECONDS" (Unix time), with '#' for comments;
 * HASH is the SHA-256 of salt and secret, both as bytes. The secret is random, so a slow hash would add nothing. Only
 * the owner may read or write the file. */
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

/* Messages name the line, never its content. */
int adl_tokens_read(const char *path, struct adl_tokens *ret, struct adl_error *err);
void adl_tokens_clear(struct adl_tokens *tokens);

/* Whether the file at path was replaced or written since it was read. */
bool adl_tokens_changed(const struct adl_tokens *tokens, const char *path);

/* Splits what follows "Bearer " into the id and the secret; false: it is not a token. */
bool adl_token_split(const char *text, char ret_id[ADL_TOKEN_ID_SIZE], uint8_t ret_secret[32]);
/* Takes constant time, whatever part of the secret is right. */
bool adl_token_proves(const struct adl_token *token, const uint8_t secret[32]);
bool adl_token_expired(const struct adl_token *token, int64_t now_s);

/* A new token of this user, and its line for the token file without line feed. Only the line may be stored. expires_s
 * 0: never. */
int adl_token_create(const char *user, int64_t expires_s, char ret_token[ADL_TOKEN_SIZE],
                     char ret_line[ADL_TOKEN_LINE_SIZE], struct adl_error *err);

/* Appends a line to the file, which is created with mode 0600 if missing; and removes lines by atomically replacing the
 * file. An unknown id is refused, and nothing is changed. */
int adl_tokens_append(const char *path, const char *line, struct adl_error *err);
int adl_tokens_revoke(const char *path, const char *const *ids, size_t count, struct adl_error *err);

#endif
