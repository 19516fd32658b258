/* scenario_file: a scenario and its catalogue from files. */
#include "ingest/scenario.h"
#include "ingest/text_file.h"

#include <stdlib.h>
#include <string.h>

/* Reads the catalogue and keeps a copy for the caller. */
static int read_and_keep(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    struct adl_scenario_text *texts = context;
    char *text = NULL;
    size_t size = 0;
    const int status = adl_text_file_read(path, &text, &size, err);
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
    int status = adl_text_file_read(path, &texts.scenario, &texts.scenario_size, err);
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
