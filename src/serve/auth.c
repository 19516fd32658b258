#include "serve/auth.h"

#include "serve/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_SIZE       ((size_t)4) /* bytes; twice as many digits */
#define SALT_SIZE     ((size_t)16)
#define SECRET_SIZE   ((size_t)32)
#define TOKEN_MAX     4096
#define FILE_SIZE_MAX ((size_t)TOKEN_MAX * ADL_TOKEN_LINE_SIZE)
#define TOKEN_PREFIX  "adl_"
#define BEARER_PREFIX "Bearer "
#define PREFIX_LENGTH (sizeof TOKEN_PREFIX - 1)
#define SECRET_AT     (PREFIX_LENGTH + 2 * ID_SIZE + 1)
#define TOKEN_LENGTH  (SECRET_AT + 2 * SECRET_SIZE)
_Static_assert(TOKEN_LENGTH + 1 == ADL_TOKEN_SIZE, "the size in the header");

struct token {
    uint8_t id[ID_SIZE];
    uint8_t salt[SALT_SIZE];
    uint8_t hash[ADL_SHA256_SIZE];
    struct adl_caller caller;
};

struct token_list {
    struct token *tokens;
    size_t count;
};

struct adl_auth {
    gid_t admin_group;
    char *path; /* NULL: no tokens */
    pthread_mutex_t mutex;
    struct token_list list; /* under the mutex */
};

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *text, size_t length, uint8_t *bytes, size_t size)
{
    if (length != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static void write_hex(char *text, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)bytes[i]);
}

static void hash_secret(const uint8_t salt[SALT_SIZE], const uint8_t secret[SECRET_SIZE], uint8_t ret[ADL_SHA256_SIZE])
{
    struct adl_sha256 hash;
    adl_sha256_start(&hash);
    adl_sha256_add(&hash, salt, SALT_SIZE);
    adl_sha256_add(&hash, secret, SECRET_SIZE);
    adl_sha256_end(&hash, ret);
}

static bool is_same(const uint8_t *a, const uint8_t *b, size_t size)
{
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < size; i++)
        difference = (uint8_t)(difference | (a[i] ^ b[i]));
    return difference == 0;
}

static bool is_admin(const struct adl_account *account)
{
    return account->uid == 0 || account->uid == geteuid() || account->in_group;
}

/* text: one line, taken apart in place. Messages say where, never what stands there. */
static int parse_line(const struct adl_auth *auth, char *text, size_t line, struct token *ret, struct adl_error *err)
{
    char *fields[5] = {0}, *rest = NULL;
    size_t count = 0;
    for (char *field = strtok_r(text, " \t", &rest); field && count < 5; field = strtok_r(NULL, " \t", &rest))
        fields[count++] = field;
    struct token token = {0};
    if (count != 4 || !read_hex(fields[0], strlen(fields[0]), token.id, ID_SIZE) ||
        !read_hex(fields[2], strlen(fields[2]), token.salt, SALT_SIZE) ||
        !read_hex(fields[3], strlen(fields[3]), token.hash, ADL_SHA256_SIZE))
        return adl_fail(err, ADL_EINVAL, "%s:%zu: a line is ID USER SALT HASH, with 8, 32 and 64 hexadecimal digits",
                        auth->path, line);
    struct adl_error why;
    const int status = adl_account_of_name(fields[1], auth->admin_group, &token.caller.account, &why);
    if (status < 0)
        return adl_fail(err, status, "%s:%zu: %.200s", auth->path, line, why.text);
    token.caller.known = true;
    token.caller.admin = is_admin(&token.caller.account);
    *ret = token;
    return ADL_OK;
}

static int add_line(const struct adl_auth *auth, struct token_list *list, char *text, size_t line,
                    struct adl_error *err)
{
    text[strcspn(text, "#\r")] = '\0';
    if (text[strspn(text, " \t")] == '\0')
        return ADL_OK;
    if (list->count == TOKEN_MAX)
        return adl_fail(err, ADL_EINVAL, "%s:%zu: at most %d tokens", auth->path, line, TOKEN_MAX);
    struct token *token = &list->tokens[list->count];
    const int status = parse_line(auth, text, line, token, err);
    for (size_t i = 0; status == ADL_OK && i < list->count; i++)
        if (memcmp(list->tokens[i].id, token->id, ID_SIZE) == 0)
            return adl_fail(err, ADL_EINVAL, "%s:%zu: the id is that of an earlier line", auth->path, line);
    list->count += status == ADL_OK ? 1 : 0;
    return status;
}

static int parse_file(const struct adl_auth *auth, char *text, struct token_list *ret, struct adl_error *err)
{
    struct token_list list = {.tokens = calloc(TOKEN_MAX, sizeof *list.tokens)};
    if (!list.tokens)
        return adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    int status = ADL_OK;
    size_t line = 0;
    while (status == ADL_OK && text) {
        char *next = strchr(text, '\n');
        if (next)
            *next++ = '\0';
        status = add_line(auth, &list, text, ++line, err);
        text = next;
    }
    if (status < 0)
        free(list.tokens);
    else
        *ret = list;
    return status;
}

static int check_file(const struct adl_auth *auth, int fd, struct adl_error *err)
{
    struct stat about;
    if (fstat(fd, &about) < 0)
        return adl_fail(err, ADL_EIO, "%s: %s", auth->path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return adl_fail(err, ADL_EINVAL, "%s: the token file must be a regular file", auth->path);
    if ((about.st_mode & 077) != 0)
        return adl_fail(err, ADL_EINVAL, "%s: its mode is %04o, so that others may read or write it; chmod 600 it",
                        auth->path, (unsigned)(about.st_mode & 07777));
    if (about.st_uid != 0 && about.st_uid != geteuid())
        return adl_fail(err, ADL_EINVAL, "%s: belongs to uid %lu; it must be root's or the service's own (%lu)",
                        auth->path, (unsigned long)about.st_uid, (unsigned long)geteuid());
    return ADL_OK;
}

/* ret_text: FILE_SIZE_MAX + 1 bytes. */
static int read_text(const struct adl_auth *auth, int fd, char *ret_text, struct adl_error *err)
{
    size_t size = 0;
    while (size <= FILE_SIZE_MAX) {
        const ssize_t got = read(fd, ret_text + size, FILE_SIZE_MAX + 1 - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return adl_fail(err, ADL_EIO, "%s: %s", auth->path, strerror(errno));
        if (got == 0)
            break;
        size += (size_t)got;
    }
    if (size > FILE_SIZE_MAX)
        return adl_fail(err, ADL_EINVAL, "%s: more than %zu bytes is no token file", auth->path, FILE_SIZE_MAX);
    if (memchr(ret_text, '\0', size))
        return adl_fail(err, ADL_EINVAL, "%s: a zero byte is in it; a token file is text", auth->path);
    ret_text[size] = '\0';
    return ADL_OK;
}

static int read_file(const struct adl_auth *auth, int fd, struct token_list *ret, struct adl_error *err)
{
    int status = check_file(auth, fd, err);
    if (status < 0)
        return status;
    char *text = malloc(FILE_SIZE_MAX + 1);
    if (!text)
        return adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    status = read_text(auth, fd, text, err);
    if (status == ADL_OK)
        status = parse_file(auth, text, ret, err);
    free(text);
    return status;
}

int adl_auth_reload(struct adl_auth *auth, struct adl_error *err)
{
    struct token_list list = {0};
    if (!auth->path)
        return ADL_OK;
    const int fd = open(auth->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return adl_fail(err, ADL_EIO, "%s: %s", auth->path, errno == ELOOP ? "is a symbolic link" : strerror(errno));
    const int status = read_file(auth, fd, &list, err);
    close(fd);
    if (status < 0)
        return status;
    pthread_mutex_lock(&auth->mutex);
    struct token *old = auth->list.tokens;
    auth->list = list;
    pthread_mutex_unlock(&auth->mutex);
    free(old);
    return ADL_OK;
}

int adl_auth_create(const char *admin_group, const char *token_path, struct adl_auth **ret, struct adl_error *err)
{
    struct adl_auth *auth = calloc(1, sizeof *auth);
    if (!auth || pthread_mutex_init(&auth->mutex, NULL) != 0) {
        free(auth);
        return adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    }
    int status = ADL_OK;
    auth->admin_group = ADL_ACCOUNT_NO_GROUP;
    if (token_path && !(auth->path = strdup(token_path)))
        status = adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    if (status == ADL_OK && admin_group)
        status = adl_account_find_group(admin_group, &auth->admin_group, err);
    if (status == ADL_OK)
        status = adl_auth_reload(auth, err);
    if (status < 0)
        adl_auth_destroy(auth);
    else
        *ret = auth;
    return status;
}

void adl_auth_destroy(struct adl_auth *auth)
{
    if (!auth)
        return;
    pthread_mutex_destroy(&auth->mutex);
    free(auth->list.tokens);
    free(auth->path);
    free(auth);
}

bool adl_auth_has_tokens(const struct adl_auth *auth)
{
    return auth->path != NULL;
}

int adl_auth_socket(struct adl_auth *auth, int fd, struct adl_caller *ret, struct adl_error *err)
{
    struct adl_caller caller = {.known = true};
    const int status = adl_account_of_socket(fd, auth->admin_group, &caller.account, err);
    if (status < 0)
        return status;
    caller.admin = is_admin(&caller.account);
    *ret = caller;
    return ADL_OK;
}

bool adl_auth_bearer(struct adl_auth *auth, const char *header, struct adl_caller *ret)
{
    static const struct token nobody;
    uint8_t id[ID_SIZE], secret[SECRET_SIZE], hash[ADL_SHA256_SIZE];
    const size_t scheme = sizeof BEARER_PREFIX - 1;
    if (strncasecmp(header, BEARER_PREFIX, scheme) != 0)
        return false;
    const char *text = header + scheme + strspn(header + scheme, " ");
    if (strlen(text) != TOKEN_LENGTH || strncmp(text, TOKEN_PREFIX, PREFIX_LENGTH) != 0 || text[SECRET_AT - 1] != '_' ||
        !read_hex(text + PREFIX_LENGTH, 2 * ID_SIZE, id, ID_SIZE) ||
        !read_hex(text + SECRET_AT, 2 * SECRET_SIZE, secret, SECRET_SIZE))
        return false;
    pthread_mutex_lock(&auth->mutex);
    const struct token *token = &nobody;
    for (size_t i = 0; i < auth->list.count; i++)
        if (memcmp(auth->list.tokens[i].id, id, ID_SIZE) == 0)
            token = &auth->list.tokens[i];
    hash_secret(token->salt, secret, hash);
    const bool right = is_same(hash, token->hash, sizeof hash) && token != &nobody;
    if (right)
        *ret = token->caller;
    pthread_mutex_unlock(&auth->mutex);
    return right;
}

int adl_token_create(const char *user, char ret_token[ADL_TOKEN_SIZE], char ret_line[ADL_TOKEN_LINE_SIZE],
                     struct adl_error *err)
{
    struct adl_account account;
    uint8_t bytes[ID_SIZE + SALT_SIZE + SECRET_SIZE], hash[ADL_SHA256_SIZE];
    char id[2 * ID_SIZE + 1], salt[2 * SALT_SIZE + 1], secret[2 * SECRET_SIZE + 1], hashed[2 * ADL_SHA256_SIZE + 1];
    const int status = adl_account_of_name(user, ADL_ACCOUNT_NO_GROUP, &account, err);
    if (status < 0)
        return status;
    if (user[0] == '\0' || strpbrk(user, " \t\r\n#"))
        return adl_fail(err, ADL_EINVAL, "a user's name must have no white space and no '#' to have a token");
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return adl_fail(err, ADL_EIO, "the system gives no random bytes");
    const uint8_t *salt_bytes = bytes + ID_SIZE, *secret_bytes = salt_bytes + SALT_SIZE;
    hash_secret(salt_bytes, secret_bytes, hash);
    write_hex(id, bytes, ID_SIZE);
    write_hex(salt, salt_bytes, SALT_SIZE);
    write_hex(secret, secret_bytes, SECRET_SIZE);
    write_hex(hashed, hash, sizeof hash);
    snprintf(ret_token, ADL_TOKEN_SIZE, TOKEN_PREFIX "%s_%s", id, secret);
    snprintf(ret_line, ADL_TOKEN_LINE_SIZE, "%s %s %s %s", id, user, salt, hashed);
    return ADL_OK;
}
