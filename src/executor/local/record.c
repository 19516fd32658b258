#include "executor/local/record.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_MAX  32
#define SUM_SIZE 21 /* "sum=", 16 digits, a line feed */

static void print_value(struct adl_text *text, const char *key, const char *value)
{
    adl_text_printf(text, "%s=%zu:", key, strlen(value));
    adl_text_put(text, value);
    adl_text_char(text, '\n');
}

static void print_field(struct adl_text *text, const struct adl_record_field *field, const void *at)
{
    char number[24];
    switch (field->kind) {
    case ADL_RECORD_INT:
        snprintf(number, sizeof number, "%" PRId64, *(const int64_t *)at);
        if (*(const int64_t *)at != 0)
            print_value(text, field->key, number);
        break;
    case ADL_RECORD_BOOL:
        if (*(const bool *)at)
            print_value(text, field->key, "1");
        break;
    case ADL_RECORD_STRING:
        if (*(const char *const *)at)
            print_value(text, field->key, *(const char *const *)at);
        break;
    case ADL_RECORD_CHARS:
        if (*(const char *)at)
            print_value(text, field->key, at);
        break;
    case ADL_RECORD_STRINGS: {
        const struct adl_strings *list = at;
        for (uint32_t i = 0; i < list->count; i++)
            print_value(text, field->key, list->items[i]);
        break;
    }
    }
}

void adl_record_print(struct adl_text *text, const struct adl_record_form *form, const void *object)
{
    adl_text_put(text, form->title);
    adl_text_char(text, '\n');
    for (uint32_t i = 0; i < form->field_count; i++)
        print_field(text, &form->fields[i], (const char *)object + form->fields[i].offset);
    adl_text_put(text, "end\n");
}

static void print_sum(const void *bytes, size_t size, char ret[SUM_SIZE + 1])
{
    snprintf(ret, SUM_SIZE + 1, "sum=%016" PRIx64 "\n", adl_hash_bytes(adl_hash_start(), bytes, size));
}

/* Appends, keeping the final NULL; capacity doubles at powers of two. */
static int strings_add(struct adl_strings *list, const char *item)
{
    const uint32_t need = list->count + 2;
    if (list->count >= ADL_RECORD_STRINGS_MAX)
        return ADL_EINVAL;
    if (!list->items || (need & (need - 1)) == 0) {
        const char **items = realloc(list->items, 2 * (size_t)need * sizeof *items);
        if (!items)
            return ADL_ENOMEM;
        list->items = items;
    }
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
    return 0;
}

static int set_field(const struct adl_record_field *field, void *at, const char *value)
{
    char *end;
    switch (field->kind) {
    case ADL_RECORD_INT:
    case ADL_RECORD_BOOL: {
        errno = 0;
        const intmax_t number = strtoimax(value, &end, 10);
        if (errno || end == value || *end || number > INT64_MAX || number < INT64_MIN)
            return ADL_EINVAL;
        if (field->kind == ADL_RECORD_INT)
            *(int64_t *)at = number;
        else
            *(bool *)at = number != 0;
        return 0;
    }
    case ADL_RECORD_STRING:
        *(const char **)at = value;
        return 0;
    case ADL_RECORD_CHARS:
        if (strlen(value) >= field->size)
            return ADL_EINVAL;
        strcpy(at, value); // NOLINT(clang-analyzer-security.insecureAPI.strcpy): measured in the line above
        return 0;
    case ADL_RECORD_STRINGS:
        return strings_add(at, value);
    }
    return ADL_EINVAL;
}

/* Parses one field at *at and terminates its key and value with zero bytes; false if it is malformed. */
static bool cut_field(char **at, const char *end, char **ret_key, char **ret_value)
{
    char *key = *at;
    char *equals = memchr(key, '=', (size_t)(end - key) < KEY_MAX ? (size_t)(end - key) : KEY_MAX);
    if (!equals || equals[1] < '0' || equals[1] > '9')
        return false;
    char *colon;
    errno = 0;
    const unsigned long size = strtoul(equals + 1, &colon, 10);
    if (errno || colon >= end || *colon != ':' || size >= (size_t)(end - colon - 1) || colon[1 + size] != '\n')
        return false;
    *equals = colon[1 + size] = 0;
    if (strlen(colon + 1) != size)
        return false;
    *ret_key = key;
    *ret_value = colon + 1;
    *at = colon + 2 + size;
    return true;
}

int adl_record_parse(char *bytes, size_t size, const struct adl_record_form *form, void *object, const char *name,
                     struct adl_error *err)
{
    const size_t title = strlen(form->title);
    const char *end = bytes + size;
    if (size <= title || memcmp(bytes, form->title, title) != 0 || bytes[title] != '\n')
        return adl_fail(err, ADL_EINVAL, "%s: does not start with \"%s\"", name, form->title);
    char *at = bytes + title + 1;
    while ((size_t)(end - at) != 4 || memcmp(at, "end\n", 4) != 0) {
        char *key, *value;
        const size_t offset = (size_t)(at - bytes);
        if (!cut_field(&at, end, &key, &value))
            return adl_fail(err, ADL_EINVAL, "%s: at byte %zu is neither a complete field nor \"end\"", name, offset);
        uint32_t i = 0;
        while (i < form->field_count && strcmp(form->fields[i].key, key) != 0)
            i++;
        if (i == form->field_count)
            return adl_fail(err, ADL_EINVAL, "%s: at byte %zu is an unknown field", name, offset);
        const int status = set_field(&form->fields[i], (char *)object + form->fields[i].offset, value);
        if (status)
            return adl_fail(err, status, "%s: the value of %s is not valid%s", name, form->fields[i].key,
                            status == ADL_ENOMEM ? ": out of memory" : "");
    }
    return 0;
}

static int read_all(int fd, size_t size_max, const char *name, char **ret_bytes, size_t *ret_size,
                    struct adl_error *err)
{
    struct stat info;
    if (fstat(fd, &info))
        return adl_fail(err, ADL_EIO, "%s: %s", name, strerror(errno));
    if (!S_ISREG(info.st_mode) || info.st_size < 0 || (uintmax_t)info.st_size > size_max)
        return adl_fail(err, ADL_EINVAL, "%s: is not a file of at most %zu bytes", name, size_max);
    const size_t room = (size_t)info.st_size;
    char *bytes = malloc(room + 1);
    size_t size = 0;
    if (!bytes)
        return adl_fail(err, ADL_ENOMEM, "%s: out of memory for %zu bytes", name, room);
    while (size < room) {
        const ssize_t got = read(fd, bytes + size, room - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            const int error = errno;
            free(bytes);
            return adl_fail(err, ADL_EIO, "%s: %s", name, strerror(error));
        }
        if (got == 0)
            break;
        size += (size_t)got;
    }
    bytes[size] = 0;
    *ret_bytes = bytes;
    *ret_size = size;
    return 0;
}

/* Cuts the checksum and the unused space off a record read from a reserved file. ADL_RECORD_MISSING: there is no
 * complete record. A file with neither was written by adl_record_store(). */
static int trim_record(char *bytes, size_t *size)
{
    char sum[SUM_SIZE + 1];
    const size_t room = *size;
    size_t used = room;
    while (used > 0 && bytes[used - 1] == 0)
        used--;
    const size_t text = used > SUM_SIZE ? used - SUM_SIZE : 0;
    print_sum(bytes, text, sum);
    if (text == 0 || memcmp(bytes + text, sum, SUM_SIZE) != 0)
        return used == room && used > 0 ? 0 : ADL_RECORD_MISSING;
    *size = text;
    bytes[text] = 0;
    return 0;
}

int adl_record_load(int dir, const char *name, const struct adl_record_form *form, void *object,
                    struct adl_record *ret_record, struct adl_error *err)
{
    size_t size = 0;
    char *bytes = NULL;
    const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? ADL_RECORD_MISSING : adl_fail(err, ADL_EIO, "%s: %s", name, strerror(errno));
    int status = read_all(fd, form->size_max, name, &bytes, &size, err);
    close(fd);
    if (status)
        return status;
    if (form->reserved && trim_record(bytes, &size)) {
        free(bytes);
        return ADL_RECORD_MISSING;
    }
    struct adl_record record = {bytes};
    status = adl_record_parse(bytes, size, form, object, name, err);
    if (status)
        adl_record_clear(&record, form, object);
    else
        *ret_record = record;
    return status;
}

void adl_record_clear(struct adl_record *record, const struct adl_record_form *form, void *object)
{
    for (uint32_t i = 0; i < form->field_count; i++) {
        if (form->fields[i].kind == ADL_RECORD_STRINGS) {
            struct adl_strings *list = (struct adl_strings *)(void *)((char *)object + form->fields[i].offset);
            free(list->items);
            *list = (struct adl_strings){0};
        }
    }
    free(record->bytes);
    record->bytes = NULL;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        bytes += put;
        size -= (size_t)put;
    }
    return 0;
}

/* Gives the file its name; 0, or the errno. */
static int name_file(int dir, const char *draft, const char *name, unsigned how)
{
    if (!(how & ADL_RECORD_EXCLUSIVE))
        return renameat(dir, draft, dir, name) ? errno : 0;
    const int error = linkat(dir, draft, dir, name, 0) ? errno : 0;
    unlinkat(dir, draft, 0);
    return error;
}

/* The bytes of a file with the record, zero-padded to size_max if padded. On success the caller clears the text. */
static int print_file(struct adl_text *text, const char *name, const struct adl_record_form *form, const void *object,
                      bool padded, struct adl_error *err)
{
    char sum[SUM_SIZE + 1];
    adl_record_print(text, form, object);
    if (form->reserved && adl_text_status(text) == 0) {
        print_sum(text->data, text->size, sum);
        adl_text_put(text, sum);
    }
    if (padded && text->size < form->size_max)
        adl_text_repeat(text, 0, (uint32_t)(form->size_max - text->size));
    if (adl_text_status(text) == 0 && text->size <= form->size_max)
        return 0;
    const int status = adl_text_status(text) ? ADL_ENOMEM : ADL_EINVAL;
    adl_text_clear(text);
    return adl_fail(err, status, "%s: %s %zu bytes", name, status == ADL_ENOMEM ? "out of memory after" : "more than",
                    form->size_max);
}

int adl_record_store(int dir, const char *name, const struct adl_record_form *form, const void *object, unsigned how,
                     struct adl_error *err)
{
    char draft[96];
    struct adl_text text = {0};
    const int status = print_file(&text, name, form, object, false, err);
    if (status)
        return status;
    snprintf(draft, sizeof draft, ".%s.%ld", name, (long)getpid());
    const int fd = openat(dir, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : 0;
    if (!error && (write_all(fd, text.data, text.size) || ((how & ADL_RECORD_SYNC) && fsync(fd))))
        error = errno;
    if (fd >= 0 && close(fd) && !error)
        error = errno;
    adl_text_clear(&text);
    if (error)
        unlinkat(dir, draft, 0);
    else
        error = name_file(dir, draft, name, how);
    if (!error && (how & ADL_RECORD_SYNC) && fsync(dir))
        error = errno;
    if (error == EEXIST && (how & ADL_RECORD_EXCLUSIVE))
        return adl_fail(err, ADL_EREFUSED, "%s: is there already", name);
    return error ? adl_fail(err, ADL_EIO, "%s: cannot be written: %s", name, strerror(error)) : 0;
}

int adl_record_reserve(int dir, const char *name, const struct adl_record_form *form, unsigned how,
                       struct adl_error *err)
{
    const int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)form->size_max);
    if (!error && (how & ADL_RECORD_SYNC) && fsync(fd))
        error = errno;
    if (fd >= 0)
        close(fd);
    return error ? adl_fail(err, ADL_EIO, "%s: cannot reserve space: %s", name, strerror(error)) : 0;
}

/* 1 if the open file has a complete record, 0 if its space is unused. */
static int is_filled(int fd, const char *name, const struct adl_record_form *form, struct adl_error *err)
{
    size_t size = 0;
    char *bytes = NULL;
    const int status = read_all(fd, form->size_max, name, &bytes, &size, err);
    if (status)
        return status;
    const bool filled = trim_record(bytes, &size) == 0;
    free(bytes);
    return filled;
}

/* ADL_RECORD_MISSING: there is no such file. */
static int fill_reserved(int dir, const char *name, const struct adl_record_form *form, const struct adl_text *text,
                         struct adl_error *err)
{
    const int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? ADL_RECORD_MISSING : adl_fail(err, ADL_EIO, "%s: %s", name, strerror(errno));
    int status = is_filled(fd, name, form, err);
    if (status == 1)
        status = adl_fail(err, ADL_EREFUSED, "%s: is there already", name);
    else if (status == 0 && (lseek(fd, 0, SEEK_SET) < 0 || write_all(fd, text->data, text->size) || fsync(fd)))
        status = adl_fail(err, ADL_EIO, "%s: cannot be written: %s", name, strerror(errno));
    close(fd);
    return status;
}

int adl_record_fill(int dir, const char *name, const struct adl_record_form *form, const void *object,
                    struct adl_error *err)
{
    struct adl_text text = {0};
    int status = print_file(&text, name, form, object, true, err);
    if (status)
        return status;
    status = fill_reserved(dir, name, form, &text, err);
    if (status == ADL_RECORD_MISSING) {
        status = adl_record_store(dir, name, form, object, ADL_RECORD_EXCLUSIVE | ADL_RECORD_SYNC, err);
        if (status == ADL_EREFUSED) /* or space was reserved just now */
            status = fill_reserved(dir, name, form, &text, err);
    }
    adl_text_clear(&text);
    return status;
}
