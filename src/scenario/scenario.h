/* scenario: reads a scenario and its catalogue from YAML, and checks that they are consistent. */
#ifndef ADLRO_SCENARIO_SCENARIO_H
#define ADLRO_SCENARIO_SCENARIO_H

#include "model/scenario.h"
#include "scenario/throughputs.h"
#include "scenario/yaml.h"

#include <stddef.h>

/* Where the catalogue's text comes from: a file, a recording, a test. */
struct adl_scenario_source {
    /* path is the catalogue's, relative to the same folder as the scenario's name. The text is malloc'd; the reader
     * frees it. */
    int (*read)(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err);
    void *context;
    const struct adl_throughputs *throughputs; /* measured speeds of classes; NULL = none */
};

/* Both texts as read, so that a recording can include them. */
struct adl_scenario_text {
    char *scenario;
    size_t scenario_size;
    char *catalogue;
    size_t catalogue_size;
};

extern const struct adl_yaml_table adl_scenario_table;

/* The cluster has the types that its nodes use, and the scenario the classes that its mix uses, in order of first use.
 * On failure *ret is untouched; on success adl_scenario_clear() frees it. */
int adl_scenario_parse(const char *name, const char *text, size_t size, const struct adl_scenario_source *source,
                       struct adl_scenario *ret, struct adl_error *err);

/* From files; the catalogue's path is relative to the scenario's folder. If there is no file at a path without
 * extension, its last part names a shipped scenario, or for adl_cluster_load() a shipped cluster. ret_texts may be
 * NULL. The second also reads a file with speeds of measured classes; its path may be NULL. */
int adl_scenario_load(const char *path, struct adl_scenario *ret, struct adl_scenario_text *ret_texts,
                      struct adl_error *err);
int adl_scenario_load_measured(const char *path, const char *throughputs, struct adl_scenario *ret,
                               struct adl_scenario_text *ret_texts, struct adl_error *err);

/* The same for jobs from another source: the file needs no workload, and its workload is ignored. The scenario has one
 * class, 'trace', that runs on every type of the cluster. */
int adl_cluster_parse(const char *name, const char *text, size_t size, const struct adl_scenario_source *source,
                      struct adl_scenario *ret, struct adl_error *err);
int adl_cluster_load(const char *path, struct adl_scenario *ret, struct adl_error *err);

/* A file of variants of policies, for runs of this scenario. Frees: adl_variants_clear(). */
int adl_variants_load(const char *path, struct adl_scenario *scenario, struct adl_variant **ret, uint32_t *ret_count,
                      struct adl_error *err);

void adl_scenario_text_clear(struct adl_scenario_text *texts); /* accepts a zeroed one */

#endif
