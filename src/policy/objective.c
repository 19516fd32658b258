#include "policy/objective.h"

#include "base/range.h"
#include "base/suggest.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

const char *const adl_objective_names[ADL_OBJECTIVE_TERMS + 1] = {"mean", "tail", "energy", "fairness", NULL};
const char *const adl_objective_presets[] = {"fast", ADL_OBJECTIVE_DEFAULT, "frugal", NULL};

static const struct adl_objective presets[] = {
    {.mean = 1},
    {.mean = 1, .tail = 0.05},
    {.mean = 1, .tail = 0.05, .energy = 1},
};
#define DEFAULT 1

#define WORD_SIZE 32

static int find(const char *const *names, const char *word)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], word) == 0)
            return i;
    return -1;
}

static double *weight_of(struct adl_objective *objective, int term)
{
    double *const weights[ADL_OBJECTIVE_TERMS] = {&objective->mean, &objective->tail, &objective->energy,
                                                  &objective->fairness};
    return weights[term];
}

static bool refuse(const char *const *names, const char *what, const char *word, char *reason, size_t size)
{
    char known[120] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = word};
    for (int i = 0; names[i]; i++) {
        adl_suggest_offer(&suggest, names[i]);
        adl_list_append(known, sizeof known, names[i]);
    }
    snprintf(reason, size, "must have %s (%s), got %s%s", what, known, adl_quote(word, quoted),
             adl_suggest_phrase(&suggest, phrase));
    return false;
}

static bool read_weight(const char *name, const char *text, struct adl_objective *objective, bool *seen, char *reason,
                        size_t size)
{
    static const struct adl_range mean = {.min = 0.001, .max = 1000}, other = {.min = 0, .max = 1000};
    const int term = find(adl_objective_names, name);
    char why[ADL_REFUSAL_SIZE];
    if (term < 0)
        return refuse(adl_objective_names, "known weights", name, reason, size);
    if (seen[term]) {
        snprintf(reason, size, "has the weight '%s' twice", name);
        return false;
    }
    seen[term] = true;
    if (adl_range_read_real(text, term == 0 ? &mean : &other, weight_of(objective, term), why))
        return true;
    snprintf(reason, size, ".%s %s", name, why);
    return false;
}

/* One part between commas: a preset, which has to be the first, or NAME:WEIGHT. */
static bool read_part(const char *part, bool first, struct adl_objective *objective, bool *seen, char *reason,
                      size_t size)
{
    const char *colon = strchr(part, ':');
    char name[WORD_SIZE];
    if (colon) {
        snprintf(name, sizeof name, "%.*s", (int)(colon - part), part);
        return read_weight(name, colon + 1, objective, seen, reason, size);
    }
    const int preset = find(adl_objective_presets, part);
    if (preset < 0)
        return refuse(adl_objective_presets, "a preset or weights NAME:WEIGHT", part, reason, size);
    if (first)
        *objective = presets[preset];
    else
        snprintf(reason, size, "must have its preset '%s' before all weights", part);
    return first;
}

bool adl_objective_read(const char *text, struct adl_objective *ret, char *reason, size_t size)
{
    struct adl_objective objective = presets[DEFAULT];
    bool seen[ADL_OBJECTIVE_TERMS] = {0};
    const char *at = text;
    do {
        const size_t length = strcspn(at, ",");
        char part[2 * WORD_SIZE];
        snprintf(part, sizeof part, "%.*s", (int)(length < sizeof part ? length : 0), at); /* too long: none */
        if (!read_part(part, at == text, &objective, seen, reason, size))
            return false;
        at = at[length] ? at + length + 1 : NULL;
    } while (at);
    *ret = objective;
    return true;
}
