/* slurm_conf: slurm.conf and gres.conf as Slurm's own parser sees them: settings, each with its file and line, and
 * where its value stands in the file, so that it can be changed there.
 *
 * A line is "Key=value Key=value ..."; keys of any case, values in quotes if they have blanks; # begins a comment, a
 * backslash at the end of a line continues it, and elsewhere takes the next character as it is. "Include FILE" puts
 * another file in its place, %c in its name being the ClusterName. Keys are not checked: versions differ. */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_CONF_H
#define ADLRO_EXECUTOR_SLURM_SLURM_CONF_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_SLURM_CONF_SIZE_MAX  (4u << 20) /* bytes a file */
#define ADL_SLURM_CONF_FILES_MAX 64u        /* with those included */
#define ADL_SLURM_CONF_DEPTH_MAX 8u

struct adl_slurm_file {
    char *path;
    char *text;
    size_t size;
    char *words; /* keys and values, unescaped */
};

struct adl_slurm_setting {
    const char *key;
    const char *value;
    uint32_t file;              /* index */
    uint32_t line;              /* from 1; of the first, if it is continued */
    size_t value_at, value_end; /* bytes of the file's text, without the quotes */
};

/* Settings of one line. The first says what the line is about: NodeName, PartitionName, ... */
struct adl_slurm_line {
    uint32_t file, line;
    uint32_t first, count;
};

/* Files in the order in which they were opened, lines in the order in which Slurm reads them. A zeroed one is empty. */
struct adl_slurm_conf {
    struct adl_slurm_file *files;
    struct adl_slurm_line *lines;
    struct adl_slurm_setting *settings;
    size_t file_count, line_count, setting_count;
    size_t file_capacity, line_capacity, setting_capacity;
};

/* Gives the text of an included file, malloc'd. */
struct adl_slurm_source {
    int (*read)(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err);
    void *context;
};

int adl_slurm_conf_parse(const char *path, const char *text, size_t size, const struct adl_slurm_source *source,
                         struct adl_slurm_conf *ret, struct adl_error *err);
int adl_slurm_conf_load(const char *path, struct adl_slurm_conf *ret, struct adl_error *err);
void adl_slurm_conf_clear(struct adl_slurm_conf *conf); /* accepts a zeroed one */

/* The setting of the whole cluster: the last one counts. NULL if there is none. */
const struct adl_slurm_setting *adl_slurm_conf_find(const struct adl_slurm_conf *conf, const char *key);

/* Whether the first key of a line is this one. */
bool adl_slurm_line_is(const struct adl_slurm_conf *conf, size_t line, const char *key);
/* The setting of the line itself; and the one that holds for it, which may come from a DEFAULT line above. */
const struct adl_slurm_setting *adl_slurm_line_find(const struct adl_slurm_conf *conf, size_t line, const char *key);
const struct adl_slurm_setting *adl_slurm_line_inherit(const struct adl_slurm_conf *conf, size_t line, const char *key);

/* Equal, ignoring the case of ASCII letters. */
bool adl_slurm_same(const char *a, const char *b);

#endif
