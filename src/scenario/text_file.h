/* text_file: reads a text file, and resolves the paths that it names. */
#ifndef ADLRO_SCENARIO_TEXT_FILE_H
#define ADLRO_SCENARIO_TEXT_FILE_H

#include "base/error.h"

#include <stddef.h>

/* The text is malloc'd and ends with a zero byte that size does not count. At most ADL_YAML_SIZE_MAX bytes. */
int adl_text_file_read(const char *path, char **ret_text, size_t *ret_size, struct adl_error *err);

/* The path of a file that another file names, relative to the same folder: "a/b.yaml" and "c.yaml" give "a/c.yaml".
 * malloc'd; NULL if out of memory. */
char *adl_path_beside(const char *name, const char *file);

#endif
