/* scenario_file: reads a scenario and its catalogue from files, or from those embedded in the program. */
#include "scenario/scenario.h"
#include "scenario/shipped.h"
#include "scenario/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The source of the texts, and copies of them for the caller. */
struct origin {
    const struct adl_shipped_file *shipped; /* NULL: files */
    struct adl_scenario_text texts;
};

static char *copy_text(const void *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static int read_shipped(const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    const struct adl_shipped_file *file = adl_shipped_at(path);
    if (!file)
        return adl_fail(err, ADL_EIO, "%.200s is not among the shipped files", path);
    char *text = copy_text(file->text, file->size);
    if (!text)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    *ret_text = text;
    *ret_size = file->size;
    return 0;
}

static int read_text(const struct origin *origin, const char *path, char **ret_text, size_t *ret_size,
                     struct adl_error *err)
{
    return origin->shipped ? read_shipped(path, ret_text, ret_size, err)
                           : adl_text_file_read(path, ret_text, ret_size, err);
}

/* The catalogue beside a file on disk; if there is none, the shipped one of that name. */
static int read_catalogue(const struct origin *origin, const char *path, char **ret_text, size_t *ret_size,
                          struct adl_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat info;
    const bool absent = stat(path, &info) != 0 && errno == ENOENT;
    if (origin->shipped || !absent || !adl_shipped_at(name))
        return read_text(origin, path, ret_text, ret_size, err);
    return read_shipped(name, ret_text, ret_size, err);
}

/* Reads the catalogue and keeps a copy for the caller. */
static int read_and_keep(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    struct origin *origin = context;
    char *text = NULL;
    size_t size = 0;
    const int status = read_catalogue(origin, path, &text, &size, err);
    if (status)
        return status;
    origin->texts.catalogue = copy_text(text, size);
    if (!origin->texts.catalogue) {
        free(text);
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    }
    origin->texts.catalogue_size = size;
    *ret_text = text;
    *ret_size = size;
    return 0;
}

/* The shipped file that a path names; NULL if it names a file on disk. */
static int find_shipped(const char *folder, const char *path, const struct adl_shipped_file **ret,
                        struct adl_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat info;
    const bool exists = stat(path, &info) == 0;
    char stem[64];
    *ret = NULL;
    if (*name == '\0' || (exists && !S_ISDIR(info.st_mode)))
        return 0;
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(name, "."), name);
    const struct adl_shipped_file *found = adl_shipped_find(folder, stem);
    if (!found) /* a scenario has a cluster */
        found = adl_shipped_find(ADL_SHIPPED_SCENARIOS, stem);
    if (!strchr(name, '.')) {
        *ret = found;
        return found || exists ? 0 : adl_shipped_refuse(folder, path, err);
    }
    if (found && !exists)
        return adl_fail(err, ADL_EIO, "cannot open %.150s: %s; to use the shipped one, give only its name: %s", path,
                        strerror(errno), stem);
    return 0;
}

typedef int parse_function(const char *name, const char *text, size_t size, const struct adl_scenario_source *source,
                           struct adl_scenario *ret, struct adl_error *err);

static int load(parse_function *parse, const char *folder, const char *path, const struct adl_throughputs *throughputs,
                struct adl_scenario *ret, struct adl_scenario_text *ret_texts, struct adl_error *err)
{
    struct origin origin = {0};
    struct adl_scenario_text *texts = &origin.texts;
    const struct adl_scenario_source source = {.read = read_and_keep, .context = &origin, .throughputs = throughputs};
    int status = find_shipped(folder, path, &origin.shipped, err);
    const char *name = origin.shipped ? origin.shipped->path : path;
    if (!status)
        status = read_text(&origin, name, &texts->scenario, &texts->scenario_size, err);
    if (!status)
        status = parse(name, texts->scenario, texts->scenario_size, &source, ret, err);
    if (!status && ret_texts)
        *ret_texts = *texts;
    else
        adl_scenario_text_clear(texts);
    return status;
}

int adl_scenario_load(const char *path, struct adl_scenario *ret, struct adl_scenario_text *ret_texts,
                      struct adl_error *err)
{
    return load(adl_scenario_parse, ADL_SHIPPED_SCENARIOS, path, NULL, ret, ret_texts, err);
}

int adl_scenario_load_measured(const char *path, const char *throughputs, struct adl_scenario *ret,
                               struct adl_scenario_text *ret_texts, struct adl_error *err)
{
    struct adl_throughputs *measured = NULL;
    int status = throughputs ? adl_throughputs_load(throughputs, &measured, err) : 0;
    if (status == 0)
        status = load(adl_scenario_parse, ADL_SHIPPED_SCENARIOS, path, measured, ret, ret_texts, err);
    adl_throughputs_destroy(measured);
    return status;
}

int adl_cluster_load(const char *path, struct adl_scenario *ret, struct adl_error *err)
{
    return load(adl_cluster_parse, ADL_SHIPPED_CLUSTERS, path, NULL, ret, NULL, err);
}

void adl_scenario_text_clear(struct adl_scenario_text *texts)
{
    free(texts->scenario);
    free(texts->catalogue);
    *texts = (struct adl_scenario_text){0};
}
