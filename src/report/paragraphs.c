#include "report/paragraphs.h"

#include <string.h>

/* Bytes and width of the next word; a word wider than a line is broken. */
static size_t word_length(const char *words, const char *end, size_t room, size_t *ret_columns)
{
    size_t size = 0, columns = 0;
    while (words + size < end && words[size] != ' ' && columns < room) {
        const size_t length = adl_utf8_length(words + size);
        size += length ? length : 1;
        columns++;
    }
    *ret_columns = columns;
    return size;
}

/* One paragraph, broken between words; the lines after the first are indented. */
static void put_wrapped(struct adl_text *text, const char *words, const char *end, size_t indent)
{
    size_t at = 0;
    bool first_line = true;
    while (words < end) {
        if (*words == ' ') {
            words++;
            continue;
        }
        size_t columns;
        const size_t size = word_length(words, end, ADL_PROSE_COLUMNS - indent, &columns);
        if (at > 0 && at + 1 + columns > ADL_PROSE_COLUMNS) {
            adl_text_char(text, '\n');
            at = 0;
            first_line = false;
        }
        if (at > 0) {
            adl_text_char(text, ' ');
            at++;
        } else if (!first_line) {
            adl_text_repeat(text, ' ', indent);
            at = indent;
        }
        adl_text_bytes(text, words, size);
        at += columns;
        words += size;
    }
    adl_text_char(text, '\n');
}

void adl_paragraphs_put(struct adl_text *text, const struct adl_text *paragraphs, size_t indent)
{
    const char *line = paragraphs->data;
    if (paragraphs->failed)
        text->failed = true;
    while (line && *line) {
        const char *end = strchr(line, '\n');
        if (!end)
            end = line + strlen(line);
        put_wrapped(text, line, end, indent);
        line = *end ? end + 1 : end;
    }
}
