/* trace_lines: the lines of a file, plain or gz, one at a time, by position or in order. */
#ifndef ADLRO_TRACE_TRACE_LINES_H
#define ADLRO_TRACE_TRACE_LINES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ADL_LINE_MAX (1u << 20) /* bytes of a line; a longer one is skipped */

/* Holds a window of the file, never the whole. Start with a zeroed struct. */
struct adl_lines {
    char *name;   /* owned: of the file, for messages */
    int fd;       /* read at given offsets; owned unless spool owns it */
    FILE *spool;  /* owned: unlinked file with unpacked data or data from a pipe */
    char *window; /* owned: capacity bytes and one more */
    size_t capacity;
    size_t head; /* of the next line, in the window */
    size_t tail; /* of what was read */
    size_t chunk;
    uint64_t offset; /* of window[head] in the file */
    uint64_t line;   /* of the next line, from 1 */
    bool opened;
    bool ended;
};

struct adl_line {
    char *text; /* in the window until the next call; may be written to; zero-terminated, without the line's end */
    size_t size;
    uint64_t offset;
    uint64_t number; /* from 1 */
    bool too_long;   /* the text is then empty */
};

int adl_lines_open(struct adl_lines *lines, const char *path, struct adl_error *err);
void adl_lines_close(struct adl_lines *lines); /* accepts a zeroed or half-opened one */

/* 1 and a line; 0 at the end; negative on failure. */
int adl_lines_next(struct adl_lines *lines, struct adl_line *ret, struct adl_error *err);

/* Continues reading at this position, or fetches only the line there. */
void adl_lines_seek(struct adl_lines *lines, uint64_t offset, uint64_t number);
int adl_lines_fetch(struct adl_lines *lines, uint64_t offset, uint64_t number, struct adl_line *ret,
                    struct adl_error *err);

#endif
