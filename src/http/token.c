#include "http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define ID_SIZE       ((size_t)4) /* bytes; twice as many digits */
#define SALT_SIZE     (sizeof((struct adl_token *)NULL)->salt)
#define SECRET_SIZE   ((size_t)32)
#define FILE_SIZE_MAX ((size_t)ADL_TOKENS_MAX * ADL_TOKEN_LINE_SIZE)
#define TOKEN_PREFIX  "adl_"
#define PREFIX_LENGTH (sizeof TOKEN_PREFIX - 1)
#define SECRET_AT     (PREFIX_LENGTH + 2 * ID_SIZE + 1)
#define TOKEN_LENGTH  (SECRET_AT + 2 * SECRET_SIZE)
#define FIELDS_MAX    6
_Static_assert(TOKEN_LENGTH + 1 == ADL_TOKEN_SIZE, "the size in the header");
_Static_assert(2 * ID_SIZE + 1 == ADL_TOKEN_ID_SIZE, "the size in the header");

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

/* ---- one token ---- */

static void hash_secret(const uint8_t *salt, const uint8_t *secret, uint8_t ret[ADL_SHA256_SIZE])
{
    struct adl_sha256 hash;
    adl_sha256_start(&hash);
    adl_sha256_add(&hash, salt, SALT_SIZE);
    adl_sha256_add(&hash, secret, SECRET_SIZE);
    adl_sha256_end(&hash, ret);
}

bool adl_token_split(const char *text, char ret_id[ADL_TOKEN_ID_SIZE], uint8_t ret_secret[32])
{
    uint8_t id[ID_SIZE];
    if (strlen(text) != TOKEN_LENGTH || strncmp(text, TOKEN_PREFIX, PREFIX_LENGTH) != 0 || text[SECRET_AT - 1] != '_' ||
        !read_hex(text + PREFIX_LENGTH, 2 * ID_SIZE, id, ID_SIZE) ||
        !read_hex(text + SECRET_AT, 2 * SECRET_SIZE, ret_secret, SECRET_SIZE))
        return false;
    write_hex(ret_id, id, ID_SIZE);
    return true;
}

bool adl_token_proves(const struct adl_token *token, const uint8_t secret[32])
{
    uint8_t hash[ADL_SHA256_SIZE];
    volatile uint8_t difference = 0;
    hash_secret(token->salt, secret, hash);
    for (size_t i = 0; i < sizeof hash; i++)
        difference = (uint8_t)(difference | (hash[i] ^ token->hash[i]));
    return difference == 0;
}

bool adl_token_expired(const struct adl_token *token, int64_t now_s)
{
    return token->expires_s > 0 && now_s >= token->expires_s;
}

int adl_token_create(const char *user, int64_t expires_s, char ret_token[ADL_TOKEN_SIZE],
                     char ret_line[ADL_TOKEN_LINE_SIZE], struct adl_error *err)
{
    struct adl_account account;
    uint8_t bytes[ID_SIZE + SALT_SIZE + SECRET_SIZE], hash[ADL_SHA256_SIZE];
    char id[2 * ID_SIZE + 1], salt[2 * SALT_SIZE + 1], secret[2 * SECRET_SIZE + 1], hashed[2 * ADL_SHA256_SIZE + 1];
    char expiry[40] = "";
    const int status = adl_account_of_name(user, ADL_ACCOUNT_NO_GROUP, &account, err);
    if (status < 0)
        return status;
    if (user[0] == '\0' || strpbrk(user, " \t\r\n#"))
        return adl_fail(err, ADL_EINVAL, "a user's name must have no white space and no '#' to have a token");
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return adl_fail(err, ADL_EIO, "the system returns no random bytes");
    const uint8_t *salt_bytes = bytes + ID_SIZE, *secret_bytes = salt_bytes + SALT_SIZE;
    hash_secret(salt_bytes, secret_bytes, hash);
    write_hex(id, bytes, ID_SIZE);
    write_hex(salt, salt_bytes, SALT_SIZE);
    write_hex(secret, secret_bytes, SECRET_SIZE);
    write_hex(hashed, hash, sizeof hash);
    if (expires_s > 0)
        snprintf(expiry, sizeof expiry, " expires=%" PRId64, expires_s);
    snprintf(ret_token, ADL_TOKEN_SIZE, TOKEN_PREFIX "%s_%s", id, secret);
    snprintf(ret_line, ADL_TOKEN_LINE_SIZE, "%s %s %s %s created=%" PRId64 "%s", id, user, salt, hashed,
             (int64_t)time(NULL), expiry);
    return ADL_OK;
}

/* ---- lines ---- */

static bool read_seconds(const char *field, const char *name, int64_t *ret)
{
    const size_t length = strlen(name);
    if (strncmp(field, name, length) != 0)
        return false;
    const char *digits = field + length;
    const size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 15 || digits[count] != '\0')
        return false;
    *ret = (int64_t)strtoll(digits, NULL, 10);
    return true;
}

/* Parses text in place. */
static bool parse_line(char *text, struct adl_token *ret)
{
    char *fields[FIELDS_MAX + 1] = {0}, *rest = NULL;
    size_t count = 0;
    uint8_t id[ID_SIZE];
    struct adl_token token = {0};
    for (char *field = strtok_r(text, " \t", &rest); field && count <= FIELDS_MAX; field = strtok_r(NULL, " \t", &rest))
        fields[count++] = field;
    if (count < 4 || count > FIELDS_MAX || !read_hex(fields[0], strlen(fields[0]), id, ID_SIZE) ||
        strlen(fields[1]) >= sizeof token.user || !read_hex(fields[2], strlen(fields[2]), token.salt, SALT_SIZE) ||
        !read_hex(fields[3], strlen(fields[3]), token.hash, ADL_SHA256_SIZE))
        return false;
    for (size_t i = 4; i < count; i++)
        if (!read_seconds(fields[i], "created=", &token.created_s) &&
            !read_seconds(fields[i], "expires=", &token.expires_s))
            return false;
    write_hex(token.id, id, ID_SIZE);
    snprintf(token.user, sizeof token.user, "%s", fields[1]);
    *ret = token;
    return true;
}

static int add_line(const char *path, struct adl_tokens *tokens, char *text, size_t line, struct adl_error *err)
{
    text[strcspn(text, "#\r")] = '\0';
    if (text[strspn(text, " \t")] == '\0')
        return ADL_OK;
    if (tokens->count == ADL_TOKENS_MAX)
        return adl_fail(err, ADL_EINVAL, "%s:%zu: at most %d tokens", path, line, ADL_TOKENS_MAX);
    struct adl_token *token = &tokens->items[tokens->count];
    if (!parse_line(text, token))
        return adl_fail(err, ADL_EINVAL,
                        "%s:%zu: a line is ID USER SALT HASH, with 8, 32 and 64 hexadecimal digits, and perhaps "
                        "created=SECONDS and expires=SECONDS",
                        path, line);
    for (size_t i = 0; i < tokens->count; i++)
        if (strcmp(tokens->items[i].id, token->id) == 0)
            return adl_fail(err, ADL_EINVAL, "%s:%zu: the id is that of an earlier line", path, line);
    tokens->count++;
    return ADL_OK;
}

static int parse_text(const char *path, char *text, struct adl_tokens *tokens, struct adl_error *err)
{
    int status = ADL_OK;
    size_t line = 0;
    while (status == ADL_OK && text) {
        char *next = strchr(text, '\n');
        if (next)
            *next++ = '\0';
        status = add_line(path, tokens, text, ++line, err);
        text = next;
    }
    return status;
}

/* ---- the file ---- */

static int check_file(const char *path, const struct stat *about, struct adl_error *err)
{
    if (!S_ISREG(about->st_mode))
        return adl_fail(err, ADL_EINVAL, "%s: the token file must be a regular file", path);
    if ((about->st_mode & 077) != 0)
        return adl_fail(err, ADL_EINVAL, "%s: its mode is %04o, so that others may read or write it; chmod 600 it",
                        path, (unsigned)(about->st_mode & 07777));
    return ADL_OK;
}

static int open_file(const char *path, int flags, int *ret_fd, struct adl_error *err)
{
    const int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return adl_fail(err, ADL_EIO, "%s: %s", path, errno == ELOOP ? "is a symbolic link" : strerror(errno));
    *ret_fd = fd;
    return ADL_OK;
}

/* The caller frees the text. */
static int read_text(const char *path, int fd, char **ret_text, struct stat *ret_about, struct adl_error *err)
{
    size_t size = 0;
    ssize_t got = 1;
    if (fstat(fd, ret_about) < 0)
        return adl_fail(err, ADL_EIO, "%s: %s", path, strerror(errno));
    const int status = check_file(path, ret_about, err);
    if (status < 0)
        return status;
    char *text = malloc(FILE_SIZE_MAX + 1);
    if (!text)
        return adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    while (size <= FILE_SIZE_MAX && got != 0) {
        got = read(fd, text + size, FILE_SIZE_MAX + 1 - size);
        if (got < 0 && errno != EINTR) {
            const int error = errno;
            free(text);
            return adl_fail(err, ADL_EIO, "%s: %s", path, strerror(error));
        }
        size += got > 0 ? (size_t)got : 0;
    }
    const bool large = size > FILE_SIZE_MAX;
    if (large || memchr(text, '\0', size)) {
        free(text);
        return large ? adl_fail(err, ADL_EINVAL, "%s: has more than %zu bytes, too many for a token file", path,
                                FILE_SIZE_MAX)
                     : adl_fail(err, ADL_EINVAL, "%s: contains a zero byte; a token file is text", path);
    }
    text[size] = '\0';
    *ret_text = text;
    return ADL_OK;
}

int adl_tokens_read(const char *path, struct adl_tokens *ret, struct adl_error *err)
{
    struct adl_tokens tokens = {0};
    char *text = NULL;
    int fd = -1, status = open_file(path, O_RDONLY, &fd, err);
    if (status == ADL_OK)
        status = read_text(path, fd, &text, &tokens.about, err);
    if (fd >= 0)
        close(fd);
    if (status == ADL_OK && !(tokens.items = calloc(ADL_TOKENS_MAX, sizeof *tokens.items)))
        status = adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    if (status == ADL_OK && text && tokens.items)
        status = parse_text(path, text, &tokens, err);
    free(text);
    if (status < 0)
        adl_tokens_clear(&tokens);
    else
        *ret = tokens;
    return status;
}

void adl_tokens_clear(struct adl_tokens *tokens)
{
    free(tokens->items);
    *tokens = (struct adl_tokens){0};
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool adl_tokens_changed(const struct adl_tokens *tokens, const char *path)
{
    const struct stat *was = &tokens->about;
    struct stat is;
    return lstat(path, &is) < 0 || !is_same_file(&is, was) || is.st_size != was->st_size ||
           is.st_mtim.tv_sec != was->st_mtim.tv_sec || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec;
}

/* ---- changing it ---- */

/* Opens the file, locks it against concurrent changes, and checks that it was not replaced meanwhile. */
static int open_locked(const char *path, int flags, int *ret_fd, struct adl_error *err)
{
    for (int i = 0; i < 100; i++) {
        struct stat opened, there;
        int fd = -1;
        const int status = open_file(path, flags, &fd, err);
        if (status < 0)
            return status;
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_SETLKW, &whole) == 0 && fstat(fd, &opened) == 0 && lstat(path, &there) == 0 &&
            is_same_file(&opened, &there)) {
            *ret_fd = fd;
            return ADL_OK;
        }
        close(fd);
    }
    return adl_fail(err, ADL_EIO, "%s: is being replaced repeatedly", path);
}

static int write_all(const char *path, int fd, const char *text, size_t size, struct adl_error *err)
{
    if (write(fd, text, size) != (ssize_t)size || fsync(fd) != 0)
        return adl_fail(err, ADL_EIO, "cannot write %.200s: %s", path, strerror(errno));
    return ADL_OK;
}

/* One write, so that a reader never sees half a line. */
int adl_tokens_append(const char *path, const char *line, struct adl_error *err)
{
    char whole[ADL_TOKEN_LINE_SIZE + 2], *text = NULL;
    struct stat about;
    int fd = -1, status = open_locked(path, O_RDWR | O_CREAT | O_APPEND, &fd, err);
    if (status < 0)
        return status;
    status = read_text(path, fd, &text, &about, err);
    const size_t size = text ? strlen(text) : 0;
    const bool open_end = size > 0 && text[size - 1] != '\n';
    const int length = snprintf(whole, sizeof whole, "%s%s\n", open_end ? "\n" : "", line);
    if (status == ADL_OK)
        status = write_all(path, fd, whole, (size_t)length, err);
    free(text);
    close(fd);
    return status;
}

static bool is_line_of(const char *line, const char *id)
{
    line += strspn(line, " \t");
    const size_t length = strcspn(line, " \t\r\n");
    return length == strlen(id) && strncmp(line, id, length) == 0;
}

/* Removes the lines of the id from the text; returns whether there were any. */
static bool remove_lines(char *text, const char *id)
{
    bool found = false;
    for (char *line = text; *line;) {
        char *next = line + strcspn(line, "\n");
        next += *next == '\n' ? 1 : 0;
        if (is_line_of(line, id)) {
            memmove(line, next, strlen(next) + 1);
            found = true;
        } else {
            line = next;
        }
    }
    return found;
}

static int replace(const char *path, const struct stat *old, const char *text, struct adl_error *err)
{
    char other[4096 + 40];
    if (snprintf(other, sizeof other, "%s.new-%ld", path, (long)getpid()) >= (int)sizeof other)
        return adl_fail(err, ADL_EINVAL, "the path of the token file is too long");
    int fd = -1, status = open_file(other, O_WRONLY | O_CREAT | O_EXCL, &fd, err);
    if (status < 0)
        return status;
    if (geteuid() == 0 && fchown(fd, old->st_uid, old->st_gid) != 0)
        status =
            adl_fail(err, ADL_EIO, "%s: cannot be given to the owner of the token file: %s", other, strerror(errno));
    if (status == ADL_OK)
        status = write_all(other, fd, text, strlen(text), err);
    close(fd);
    if (status == ADL_OK && rename(other, path) != 0)
        status = adl_fail(err, ADL_EIO, "%s: cannot be replaced: %s", path, strerror(errno));
    if (status < 0)
        unlink(other);
    return status;
}

int adl_tokens_revoke(const char *path, const char *const *ids, size_t count, struct adl_error *err)
{
    struct stat about;
    char *text = NULL;
    int fd = -1, status = open_locked(path, O_RDWR, &fd, err);
    if (status < 0)
        return status;
    status = read_text(path, fd, &text, &about, err);
    for (size_t i = 0; status == ADL_OK && text && i < count; i++)
        if (!remove_lines(text, ids[i]))
            status =
                adl_fail(err, ADL_EABSENT, "%s: there is no token %.40s (`adlro token list` shows them)", path, ids[i]);
    if (status == ADL_OK && text)
        status = replace(path, &about, text, err);
    free(text);
    close(fd); /* releases the lock */
    return status;
}
