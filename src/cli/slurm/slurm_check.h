/* slurm_check: what has to change in a Slurm configuration for adlro, what to know about it, and the edits. */
#ifndef ADLRO_CLI_SLURM_SLURM_CHECK_H
#define ADLRO_CLI_SLURM_SLURM_CHECK_H

#include "base/text.h"
#include "executor/slurm/slurm_layout.h"
#include "report/diff.h"

enum adl_finding_level { ADL_FINDING_CHANGE, ADL_FINDING_WARN, ADL_FINDING_OK, ADL_FINDING_LEVELS };

struct adl_finding {
    int level;           /* enum adl_finding_level */
    const char *subject; /* a key, or another topic */
    const char *path;    /* of the file; NULL if it is about none */
    uint32_t line;       /* 0 = the file as a whole */
    bool edited;         /* the diff makes the change */
    char text[480];
};

struct adl_slurm_check_request {
    const char *conf;
    const char *partitions; /* separated by commas; NULL = all that have GPUs */
    const char *types;      /* "v[0-3]=volta;t0=turing": of GPUs without a type; NULL = none given */
    const char *version;    /* output of `slurmctld -V`; NULL if it is not known */
};

/* An edit of one of the files. */
struct adl_slurm_edit {
    const struct adl_slurm_file *file;
    size_t at, end;
    char *text;
};

struct adl_slurm_check {
    struct adl_slurm_check_request request;
    struct adl_slurm_conf conf, gres;
    char *gres_path;
    bool has_gres;
    struct adl_slurm_layout layout;
    bool *ours;      /* by partition */
    bool *ours_node; /* by node: in a partition of ours */
    struct adl_finding *findings;
    size_t finding_count, finding_capacity;
    struct adl_slurm_edit *edits;
    size_t edit_count, edit_capacity;
    struct adl_text added; /* lines for the end of slurm.conf */
    bool failed;           /* out of memory */
};

/* Reads and checks. ADL_EINVAL for files that cannot be read and names that are not in them. */
int adl_slurm_check_run(const struct adl_slurm_check_request *request, struct adl_slurm_check *ret,
                        struct adl_error *err);
void adl_slurm_check_clear(struct adl_slurm_check *check); /* accepts a zeroed one */

size_t adl_slurm_check_count(const struct adl_slurm_check *check, int level);
/* The edits as a diff for `patch -d / -p1`. */
int adl_slurm_check_diff(const struct adl_slurm_check *check, struct adl_text *ret, struct adl_error *err);

/* ---- for the rules ---- */

/* Adds a finding at the setting; NULL = slurm.conf as a whole. NULL is returned when out of memory. */
struct adl_finding *adl_slurm_check_add(struct adl_slurm_check *check, int level, const char *subject,
                                        const struct adl_slurm_conf *conf, const struct adl_slurm_setting *setting,
                                        const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Edits: replace a value; append a setting to a line; set a setting of the cluster, where it is or at the end of
 * slurm.conf. */
void adl_slurm_replace(struct adl_slurm_check *check, const struct adl_slurm_conf *conf,
                       const struct adl_slurm_setting *setting, const char *value);
void adl_slurm_append(struct adl_slurm_check *check, const struct adl_slurm_conf *conf, size_t line, const char *key,
                      const char *value);
void adl_slurm_set(struct adl_slurm_check *check, const char *key, const char *value);

/* "a,b,c" has the word b; case does not matter. */
bool adl_slurm_has(const char *list, const char *word);
/* "x=1,defer": the value of a name, "" if it has none, NULL if the name is absent. Points into the list, without an
 * end.
 */
const char *adl_slurm_option(const char *list, const char *name);

void adl_slurm_rules(struct adl_slurm_check *check);       /* settings of the whole cluster */
void adl_slurm_queue_rules(struct adl_slurm_check *check); /* partitions */
int adl_slurm_gpu_rules(struct adl_slurm_check *check, struct adl_error *err);

#endif
