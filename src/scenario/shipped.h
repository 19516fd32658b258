/* shipped: the files of scenarios/, embedded in the program, so that they are found by name from anywhere. */
#ifndef ADLRO_SCENARIO_SHIPPED_H
#define ADLRO_SCENARIO_SHIPPED_H

#include "base/error.h"

#include <stddef.h>

struct adl_shipped_file {
    const char *path; /* relative to scenarios/: "paper16.yaml", "clusters/pool64.yaml" */
    const unsigned char *text;
    size_t size;
};

/* In order of their paths; made by packaging/embed_files.cmake. */
extern const struct adl_shipped_file adl_shipped_files[];
extern const size_t adl_shipped_file_count;

#define ADL_SHIPPED_SCENARIOS ""
#define ADL_SHIPPED_CLUSTERS  "clusters/"

/* The file at a path; "clusters/../catalogue.yaml" is "catalogue.yaml". NULL if there is none. */
const struct adl_shipped_file *adl_shipped_at(const char *path);

/* A copy of the file at a path, to be freed, as adl_scenario_source reads it; the context is not used. */
int adl_shipped_read(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err);

/* The file with this name, without folder and extension: "paper16". Not a catalogue. NULL if there is none. */
const struct adl_shipped_file *adl_shipped_find(const char *folder, const char *name);

/* Fails with the names of a folder and a suggestion. */
int adl_shipped_refuse(const char *folder, const char *name, struct adl_error *err);

#endif
