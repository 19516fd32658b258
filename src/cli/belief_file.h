/* belief_file: what was learned in one run, as a file that another run starts with. */
#ifndef ADLRO_CLI_BELIEF_FILE_H
#define ADLRO_CLI_BELIEF_FILE_H

#include "predict/belief.h"

struct adl_belief_file {
    char *bytes; /* NULL: no file was given */
    size_t size;
    struct adl_belief_account account; /* what of it is known on the cluster */
    struct adl_text note;              /* for people: what it is */
};

#define ADL_BELIEF_HELP "start with what an earlier run has learned (`adlro belief show FILE`); needs --regime learned"
#define ADL_LEARN_HELP  "write what was learned about jobs, for --belief; needs --regime learned"

/* Reads a file and checks that the cluster can use it. A path of NULL reads nothing. learned: the regime is; other
 * regimes are refused. */
int adl_belief_file_read(const char *path, const struct adl_belief_terms *terms, bool learned,
                         struct adl_belief_file *ret, struct adl_error *err);
void adl_belief_file_clear(struct adl_belief_file *file); /* accepts a zeroed one */

/* Adds a warning to the note if jobs of a run, "campus512 seed 7" or "trace month", are those it was learned from. */
void adl_belief_file_warn_seeds(struct adl_belief_file *file, const char *scenario, uint64_t first, uint64_t count);
void adl_belief_file_warn_trace(struct adl_belief_file *file, const char *name);

/* The origin of what a run learns that started with the file. */
void adl_belief_file_origin(const struct adl_belief_file *file, const char *run, char ret[ADL_ORIGIN_SIZE]);

/* For recordings: the checksum as 16 digits; "" if no file was given. */
void adl_belief_file_seal(const struct adl_belief_file *file, char ret[20]);

#endif
