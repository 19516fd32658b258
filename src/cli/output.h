/* output: a file that a verb writes. The path "-" is standard output, and so is /dev/stdout. A regular file is written
 * atomically; a device, a pipe or a symbolic link is written in place. */
#ifndef ADLRO_CLI_OUTPUT_H
#define ADLRO_CLI_OUTPUT_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct adl_output {
    FILE *file; /* NULL: not open */
    const char *path;
    bool renamed; /* on close, from the temporary name */
    char temporary[4200];
};

/* NULL is not. */
bool adl_output_is_stdout(const char *path);
/* A device, a pipe or a symbolic link. */
bool adl_output_is_special(const char *path);

/* To be called before the work: checks that each path can be written, that no two are the same, and that none is the
 * input. A path may be NULL: nothing to write. */
int adl_outputs_check(const char *const *paths, size_t count, const char *input, struct adl_error *err);

/* path must outlive the output. */
int adl_output_open(const char *path, struct adl_output *ret, struct adl_error *err);
int adl_output_put(struct adl_output *output, const struct adl_text *text, struct adl_error *err);
/* Renames the file to its name, or removes it if status says that the work failed. Returns that status, or the output's
 * own error. Accepts an output that is not open. */
int adl_output_close(struct adl_output *output, int status, struct adl_error *err);

/* All of it at once. */
int adl_output_write(const char *path, const struct adl_text *text, struct adl_error *err);

#endif
