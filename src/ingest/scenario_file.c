/* scenario_file: a scenario and its catalogue from files. */
#include "ingest/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads to the end whatever the file is (it may be a pipe), at most what the YAML reader takes. */
static int read_stream(FILE *stream, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    size_t size = 0, capacity = 16384;
    char *text = malloc(capacity + 1);
    while (text) {
        size += fread(text + size, 1, capacity - size, stream);
        if (size < capacity)
            break;
        if (size > ADL_YAML_SIZE_MAX) {
            free(text);
            return adl_fail(err, ADL_EINVAL, "%.200s has more than %u bytes", path, ADL_YAML_SIZE_MAX);
        }
        capacity *= 2;
        char *grown = realloc(text, capacity + 1);
        if (!grown)
            free(text);
        text = grown;
    }
    if (!text)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    if (ferror(stream)) {
        adl_fail(err, ADL_EIO, "cannot read %.200s: %s", path, strerror(errno));
        free(text);
        return ADL_EIO;
    }
    text[size] = '\0';
    *ret_text = text;
    *ret_size = size;
    return 0;
}

static int read_file(const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return adl_fail(err, ADL_EIO, "cannot open %.200s: %s", path, strerror(errno));
    const int status = read_stream(stream, path, ret_text, ret_size, err);
    fclose(stream);
    return status;
}

/* Reads the catalogue and keeps a copy for the caller. */
static int read_and_keep(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    struct adl_scenario_text *texts = context;
    char *text = NULL;
    size_t size = 0;
    const int status = read_file(path, &text, &size, err);
    if (status || !text)
        return status;
    texts->catalogue = malloc(size + 1);
    if (!texts->catalogue) {
        free(text);
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    }
    memcpy(texts->catalogue, text, size + 1);
    texts->catalogue_size = size;
    *ret_text = text;
    *ret_size = size;
    return 0;
}

typedef int parse_function(const char *name, const char *text, size_t size, const struct adl_scenario_source *source,
                           struct adl_scenario *ret, struct adl_error *err);

static int load(parse_function *parse, const char *path, const struct adl_throughputs *throughputs,
                struct adl_scenario *ret, struct adl_scenario_text *ret_texts, struct adl_error *err)
{
    struct adl_scenario_text texts = {0};
    const struct adl_scenario_source source = {.read = read_and_keep, .context = &texts, .throughputs = throughputs};
    int status = read_file(path, &texts.scenario, &texts.scenario_size, err);
    if (!status)
        status = parse(path, texts.scenario, texts.scenario_size, &source, ret, err);
    if (!status && ret_texts)
        *ret_texts = texts;
    else
        adl_scenario_text_clear(&texts);
    return status;
}

int adl_scenario_load(const char *path, struct adl_scenario *ret, struct adl_scenario_text *ret_texts,
                      struct adl_error *err)
{
    return load(adl_scenario_parse, path, NULL, ret, ret_texts, err);
}

int adl_scenario_load_measured(const char *path, const char *throughputs, struct adl_scenario *ret,
                               struct adl_scenario_text *ret_texts, struct adl_error *err)
{
    struct adl_throughputs *measured = NULL;
    int status = throughputs ? adl_throughputs_load(throughputs, &measured, err) : 0;
    if (status == 0)
        status = load(adl_scenario_parse, path, measured, ret, ret_texts, err);
    adl_throughputs_destroy(measured);
    return status;
}

int adl_cluster_load(const char *path, struct adl_scenario *ret, struct adl_error *err)
{
    return load(adl_cluster_parse, path, NULL, ret, NULL, err);
}

void adl_scenario_text_clear(struct adl_scenario_text *texts)
{
    free(texts->scenario);
    free(texts->catalogue);
    *texts = (struct adl_scenario_text){0};
}
