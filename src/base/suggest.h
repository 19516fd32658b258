/* suggest: words in messages: quoted safely, listed briefly, and with a suggestion for a misspelt one. */
#ifndef ADLRO_BASE_SUGGEST_H
#define ADLRO_BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

#define ADL_QUOTE_SIZE  56
#define ADL_PHRASE_SIZE 96

/* Least number of letters inserted, dropped, replaced or swapped with a neighbour that turns one word into
 * the other; case is ignored, and words longer than 63 letters are compared by their first 63. */
unsigned adl_edit_distance(const char *a, const char *b);

/* Offer candidates one by one; the nearest that is near enough stays in best. Start with {.word = word}. */
struct adl_suggest {
    const char *word;
    const char *best; /* NULL = nothing is near */
    unsigned distance;
};

void adl_suggest_offer(struct adl_suggest *suggest, const char *candidate);

/* "; did you mean 'weight'?", or an empty text. Returns buffer. */
const char *adl_suggest_phrase(const struct adl_suggest *suggest, char buffer[ADL_PHRASE_SIZE]);

/* The text in quotes, cut if long, without control characters, so that a file cannot control a terminal.
 * Returns buffer. */
const char *adl_quote(const char *text, char buffer[ADL_QUOTE_SIZE]);

/* Appends "word" or ", word"; once the buffer is full it ends in ", ...". */
void adl_list_append(char *buffer, size_t size, const char *word);

/* True if a list of words with commas between them, NULL = an empty one, has the word. */
bool adl_list_has(const char *list, const char *word);

#endif
