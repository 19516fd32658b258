#include "scenario/shipped.h"

#include "base/suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDING    "yaml"
#define NAME_SIZE 64

const struct adl_shipped_file *adl_shipped_at(const char *path)
{
    const char *up = strstr(path, "/../");
    path = up && !memchr(path, '/', (size_t)(up - path)) ? up + 4 : path;
    for (size_t i = 0; i < adl_shipped_file_count; i++)
        if (strcmp(adl_shipped_files[i].path, path) == 0)
            return &adl_shipped_files[i];
    return NULL;
}

/* The name by which a file of this folder is found, into ret; false if it is of another folder or a catalogue. */
static bool name_of(const struct adl_shipped_file *file, const char *folder, char ret[NAME_SIZE])
{
    const size_t length = strlen(folder);
    if (strncmp(file->path, folder, length) != 0 || strchr(file->path + length, '/'))
        return false;
    snprintf(ret, NAME_SIZE, "%.*s", (int)strcspn(file->path + length, "."), file->path + length);
    return !strstr(ret, "catalogue");
}

int adl_shipped_read(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    (void)context;
    const struct adl_shipped_file *file = adl_shipped_at(path);
    if (!file)
        return adl_fail(err, ADL_EIO, "%.200s is not among the shipped files", path);
    char *text = malloc(file->size + 1);
    if (!text)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    memcpy(text, file->text, file->size);
    text[file->size] = '\0';
    *ret_text = text;
    *ret_size = file->size;
    return 0;
}

const struct adl_shipped_file *adl_shipped_find(const char *folder, const char *name)
{
    char known[NAME_SIZE];
    for (size_t i = 0; i < adl_shipped_file_count; i++)
        if (name_of(&adl_shipped_files[i], folder, known) && strcmp(known, name) == 0)
            return &adl_shipped_files[i];
    return NULL;
}

int adl_shipped_refuse(const char *folder, const char *name, struct adl_error *err)
{
    char known[200] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE], one[NAME_SIZE], best[NAME_SIZE];
    struct adl_suggest suggest = {.word = name};
    for (size_t i = 0; i < adl_shipped_file_count; i++) {
        if (!name_of(&adl_shipped_files[i], folder, one))
            continue;
        const char *before = suggest.best;
        adl_list_append(known, sizeof known, one);
        adl_suggest_offer(&suggest, one);
        if (suggest.best == one)
            suggest.best = memcpy(best, one, sizeof best);
        else
            suggest.best = before;
    }
    return adl_fail(err, ADL_EIO, "there is no file %s and no shipped %s of that name%s (shipped: %s)",
                    adl_quote(name, quoted), *folder ? "cluster" : "scenario", adl_suggest_phrase(&suggest, phrase),
                    known);
}
