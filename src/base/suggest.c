#include "base/suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 63

static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static size_t bounded_length(const char *word)
{
    size_t length = 0;
    while (length < WORD_MAX && word[length])
        length++;
    return length;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: three rows of the dynamic program are alive at a time. */
unsigned adl_edit_distance(const char *a, const char *b)
{
    const size_t rows = bounded_length(a), columns = bounded_length(b);
    unsigned store[3][WORD_MAX + 1];
    unsigned *before = store[0], *above = store[1], *row = store[2];
    for (size_t j = 0; j <= columns; j++)
        above[j] = (unsigned)j;
    memset(before, 0, sizeof store[0]);
    for (size_t i = 1; i <= rows; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            const char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[columns];
}

static bool begins_with(const char *text, const char *start)
{
    for (; *start; start++, text++)
        if (lower(*start) != lower(*text))
            return false;
    return true;
}

void adl_suggest_offer(struct adl_suggest *suggest, const char *candidate)
{
    const size_t length = bounded_length(suggest->word);
    const unsigned enough = length < 3 ? 1 : length < 6 ? 2 : (unsigned)(length / 3);
    unsigned distance = adl_edit_distance(suggest->word, candidate);
    if (length >= 3 && distance > enough && begins_with(candidate, suggest->word))
        distance = enough; /* cut short, as 'mem' for 'memory_mib' */
    if (distance >= length && distance > 0)
        return; /* nothing of the word would be left */
    if (distance > enough || (suggest->best && distance >= suggest->distance))
        return;
    suggest->best = candidate;
    suggest->distance = distance;
}

const char *adl_suggest_phrase(const struct adl_suggest *suggest, char buffer[ADL_PHRASE_SIZE])
{
    char quoted[ADL_QUOTE_SIZE];
    buffer[0] = '\0';
    if (suggest->best)
        snprintf(buffer, ADL_PHRASE_SIZE, "; did you mean %s?", adl_quote(suggest->best, quoted));
    return buffer;
}

const char *adl_quote(const char *text, char buffer[ADL_QUOTE_SIZE])
{
    const size_t room = ADL_QUOTE_SIZE - 6; /* two quotes, three dots, the end */
    size_t length = 0;
    buffer[length++] = '\'';
    while (*text && length <= room) {
        const unsigned char byte = (unsigned char)*text;
        /* C1 controls arrive as the two bytes C2 80 .. C2 9F. */
        const bool c1 = byte == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0;
        buffer[length++] = byte < 0x20 || byte == 0x7f || c1 ? '?' : *text;
        text += c1 ? 2 : 1;
    }
    const bool cut = *text != '\0';
    if (cut) {
        /* A cut must not leave half a UTF-8 letter. */
        while (length > 1 && ((unsigned char)*text & 0xc0) == 0x80) {
            text--;
            length--;
        }
        memcpy(buffer + length, "...", 3);
        length += 3;
    }
    buffer[length++] = '\'';
    buffer[length] = '\0';
    return buffer;
}

void adl_list_append(char *buffer, size_t size, const char *word)
{
    static const char more[] = ", ...";
    const size_t length = strlen(buffer), added = strlen(word) + 2;
    if (length >= sizeof more - 1 && strcmp(buffer + length - (sizeof more - 1), more) == 0)
        return;
    if (length + added + sizeof more <= size)
        snprintf(buffer + length, size - length, "%s%s", length ? ", " : "", word);
    else if (length + sizeof more <= size)
        memcpy(buffer + length, more, sizeof more);
}

bool adl_list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}
