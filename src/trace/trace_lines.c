#include "trace/trace_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK_IN_ORDER (64u << 10)
#define CHUNK_ALONE    (1u << 10)
#define CAPACITY_MAX   ((size_t)ADL_LINE_MAX + CHUNK_IN_ORDER)

static int fail_file(const struct adl_lines *lines, const char *what, struct adl_error *err)
{
    return adl_fail(err, ADL_EIO, "%s: %s: %s", lines->name, what, strerror(errno));
}

static int start(struct adl_lines *lines, const char *name, struct adl_error *err)
{
    *lines = (struct adl_lines){.fd = -1, .opened = true, .line = 1, .chunk = CHUNK_IN_ORDER};
    lines->name = strdup(name);
    lines->capacity = CHUNK_IN_ORDER;
    lines->window = malloc(lines->capacity + 1);
    if (!lines->name || !lines->window)
        return adl_fail(err, ADL_ENOMEM, "%s: no memory to read it", name);
    return 0;
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t done = write(fd, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        data += done;
        size -= (size_t)done;
    }
    return 0;
}

/* Unpacks packed into the spool; zlib passes plain bytes through, so pipes of either kind come this way too. */
static int copy_to_spool(struct adl_lines *lines, gzFile packed, struct adl_error *err)
{
    for (;;) {
        const int got = gzread(packed, lines->window, (unsigned)lines->capacity);
        int problem = Z_OK;
        const char *text = gzerror(packed, &problem);
        if (got < 0 || (got == 0 && problem != Z_OK && problem != Z_STREAM_END)) {
            if (problem == Z_BUF_ERROR)
                return adl_fail(err, ADL_EIO, "%s: the gz data end too early: the file is cut off", lines->name);
            return adl_fail(err, ADL_EIO, "%s: cannot be unpacked: %s", lines->name, text);
        }
        if (got == 0)
            return 0;
        if (write_all(lines->fd, lines->window, (size_t)got) < 0)
            return fail_file(lines, "cannot write its unpacked form to a temporary file", err);
    }
}

static int spool(struct adl_lines *lines, struct adl_error *err)
{
    gzFile packed = gzdopen(lines->fd, "rb");
    if (!packed)
        return adl_fail(err, ADL_ENOMEM, "%s: no memory to unpack it", lines->name);
    lines->fd = -1; /* packed owns it now */
    lines->spool = tmpfile();
    int status = 0;
    if (!lines->spool) {
        status = fail_file(lines, "cannot make a temporary file for its unpacked form", err);
    } else {
        lines->fd = fileno(lines->spool);
        status = copy_to_spool(lines, packed, err);
    }
    const int closed = gzclose_r(packed);
    if (status == 0 && closed == Z_BUF_ERROR)
        return adl_fail(err, ADL_EIO, "%s: the gz data end too early: the file is cut off", lines->name);
    return status;
}

static int open_file(struct adl_lines *lines, const char *path, struct adl_error *err)
{
    lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (lines->fd < 0 || fstat(lines->fd, &about) < 0)
        return fail_file(lines, "cannot open it", err);
    if (S_ISDIR(about.st_mode))
        return adl_fail(err, ADL_EIO, "%s: is a directory, not a trace", path);
    if (!S_ISREG(about.st_mode))
        return spool(lines, err);
    unsigned char magic[2];
    const ssize_t got = pread(lines->fd, magic, sizeof magic, 0);
    if (got < 0)
        return fail_file(lines, "cannot read it", err);
    if (got == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
        return spool(lines, err);
    return 0;
}

int adl_lines_open(struct adl_lines *lines, const char *path, struct adl_error *err)
{
    int status = start(lines, path, err);
    if (status == 0)
        status = open_file(lines, path, err);
    if (status < 0)
        adl_lines_close(lines);
    return status;
}

void adl_lines_close(struct adl_lines *lines)
{
    if (!lines->opened)
        return;
    if (lines->spool)
        fclose(lines->spool);
    else if (lines->fd >= 0)
        close(lines->fd);
    free(lines->name);
    free(lines->window);
    *lines = (struct adl_lines){0};
}

static ssize_t read_at(struct adl_lines *lines, char *ret, size_t size, uint64_t at)
{
    ssize_t got;
    do {
        got = pread(lines->fd, ret, size, (off_t)at);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Appends a chunk to the rest of the window, which grows for a line that is longer. */
static int refill(struct adl_lines *lines, struct adl_error *err)
{
    const size_t have = lines->tail - lines->head;
    if (lines->head > 0) {
        memmove(lines->window, lines->window + lines->head, have);
        lines->head = 0;
        lines->tail = have;
    }
    if (have + lines->chunk > lines->capacity && lines->capacity < CAPACITY_MAX) {
        size_t capacity = 2 * lines->capacity;
        if (capacity > CAPACITY_MAX)
            capacity = CAPACITY_MAX;
        char *window = realloc(lines->window, capacity + 1);
        if (!window)
            return adl_fail(err, ADL_ENOMEM, "%s:%llu: no memory for the line", lines->name,
                            (unsigned long long)lines->line);
        lines->window = window;
        lines->capacity = capacity;
    }
    const size_t room = lines->capacity - have;
    const ssize_t got =
        read_at(lines, lines->window + have, lines->chunk < room ? lines->chunk : room, lines->offset + have);
    if (got < 0)
        return fail_file(lines, "cannot read it", err);
    if (got == 0)
        lines->ended = true;
    lines->tail += (size_t)got;
    return 0;
}

/* The line is the first size bytes at the head; if end, a line end follows. */
static int deliver(struct adl_lines *lines, size_t size, bool end, struct adl_line *ret)
{
    char *text = lines->window + lines->head;
    const bool too_long = size > ADL_LINE_MAX;
    *ret = (struct adl_line){.text = text, .offset = lines->offset, .number = lines->line, .too_long = too_long};
    lines->head += size + end;
    lines->offset += size + end;
    lines->line++;
    if (!too_long && size > 0 && text[size - 1] == '\r')
        size--;
    ret->size = too_long ? 0 : size;
    text[ret->size] = '\0';
    return 1;
}

/* The window holds the start of a line that is too long: skips the rest. */
static int skip_line(struct adl_lines *lines, struct adl_line *ret, struct adl_error *err)
{
    *ret = (struct adl_line){.offset = lines->offset, .number = lines->line, .too_long = true};
    for (;;) {
        char *from = lines->window + lines->head;
        const size_t have = lines->tail - lines->head;
        const char *end = memchr(from, '\n', have);
        const size_t used = end ? (size_t)(end - from) + 1 : have;
        lines->head += used;
        lines->offset += used;
        if (end || lines->ended)
            break;
        const int status = refill(lines, err);
        if (status < 0)
            return status;
    }
    lines->line++;
    ret->text = lines->window + lines->capacity; /* the byte after the window is never part of a line */
    *ret->text = '\0';
    return 1;
}

int adl_lines_next(struct adl_lines *lines, struct adl_line *ret, struct adl_error *err)
{
    size_t searched = 0;
    for (;;) {
        char *text = lines->window + lines->head;
        const size_t have = lines->tail - lines->head;
        const char *end = memchr(text + searched, '\n', have - searched);
        if (end)
            return deliver(lines, (size_t)(end - text), true, ret);
        if (have > ADL_LINE_MAX)
            return skip_line(lines, ret, err);
        if (lines->ended)
            return have > 0 ? deliver(lines, have, false, ret) : 0;
        searched = have;
        const int status = refill(lines, err);
        if (status < 0)
            return status;
    }
}

static void move_to(struct adl_lines *lines, uint64_t offset, uint64_t number, size_t chunk)
{
    lines->head = lines->tail = 0; /* callers may have modified the lines in the window */
    lines->offset = offset;
    lines->line = number;
    lines->chunk = chunk;
    lines->ended = false;
}

void adl_lines_seek(struct adl_lines *lines, uint64_t offset, uint64_t number)
{
    move_to(lines, offset, number, CHUNK_IN_ORDER);
}

int adl_lines_fetch(struct adl_lines *lines, uint64_t offset, uint64_t number, struct adl_line *ret,
                    struct adl_error *err)
{
    move_to(lines, offset, number, CHUNK_ALONE);
    return adl_lines_next(lines, ret, err);
}
