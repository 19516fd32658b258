/* belief_bytes: what was learned about jobs as bytes, and back: between runs, and from one cluster to another.
 *
 *     "ADLROBEL"  u32 version  u32 sections  u64 size of the whole
 *     what the numbers in it mean: how users are numbered, whether times are dates, the GPU types, the classes of jobs
 *     sections:   name, u64 size, bytes
 *     u64 FNV-1a of all before it
 *
 * Numbers are little-endian. GPU types and classes of jobs are stored by name, so that another cluster can read it:
 * jobs and measurements of types that it does not have are skipped and counted. On the same cluster the belief that was
 * read predicts bit for bit what the one that was written does. */
#ifndef ADLRO_PREDICT_BELIEF_BYTES_H
#define ADLRO_PREDICT_BELIEF_BYTES_H

#include "model/scenario.h"
#include "predict/calibration.h"
#include "predict/drift/bytes.h"
#include "predict/owner_residuals.h"
#include "predict/residuals.h"
#include "predict/similar.h"
#include "predict/speeds.h"

#define ADL_BELIEF_VERSION 2
#define ADL_BELIEF_MAX     ((size_t)15 << 20) /* bytes */

/* What spec.user is. */
enum adl_user_numbers {
    ADL_USERS_DRAWN, /* a number that a simulated workload draws: means nothing elsewhere */
    ADL_USERS_NAMED, /* adl_job_name_id of the user's name */
    ADL_USERS_UID,   /* of this machine */
    ADL_USERS_COUNT,
};

/* What the numbers of a run mean. */
struct adl_belief_terms {
    const struct adl_cluster *cluster;
    const struct adl_job_class *classes; /* [class_count] */
    uint32_t class_count;
    int users;          /* enum adl_user_numbers */
    bool dated;         /* times are since the epoch; else every run begins at 0 */
    const char *origin; /* what it was learned from, for people; NULL = not said */
};

#define ADL_RESIDUAL_KINDS 5
#define ADL_RESIDUAL_STEPS "steps" /* the kind of jobs that another kind has counted already */
#define ADL_ORIGIN_SIZE    256

/* What a belief is made of; NULL: this one has no such part. */
struct adl_belief_parts {
    struct adl_similar *similar;
    struct adl_owner_residuals *owners;
    struct adl_speeds *speeds;
    struct adl_calibration *calibration;
    struct adl_drift *drift; /* written and read only where times are dates: other clusters have other GPUs */
    struct adl_residuals *residuals[ADL_RESIDUAL_KINDS]; /* by what the predictions rest on ... */
    const char *residual_names[ADL_RESIDUAL_KINDS];      /* ... under this name */
};

/* What bytes have told. */
struct adl_belief_account {
    uint32_t version;
    uint64_t seal; /* the checksum: equal bytes have equal ones */
    size_t size;
    int users;
    bool dated;
    uint32_t types, unknown_types;     /* GPU types it was learned on, and those that this cluster does not have */
    uint32_t classes, unknown_classes; /* the same of classes of jobs */
    char type_names[ADL_TYPES_MAX][ADL_NAME_SIZE];
    char origin[ADL_ORIGIN_SIZE];
    uint64_t ended; /* jobs whose predictions were compared with what they took */
    struct adl_similar_account jobs;
    struct adl_estimate_account speeds;
    struct adl_drift_account drift;
    uint32_t ignored; /* sections that this program does not know or that the belief has no part for ... */
    char last_ignored[ADL_NAME_SIZE]; /* ... and the name of the last */
};

void adl_belief_parts_encode(const struct adl_belief_parts *parts, const struct adl_belief_terms *terms,
                             struct adl_text *ret);

/* Into parts that have learned nothing. Accepts any bytes: on failure the text says what is wrong with them, and the
 * parts are to be destroyed. */
int adl_belief_parts_decode(const void *bytes, size_t size, const struct adl_belief_terms *terms,
                            const struct adl_belief_parts *parts, struct adl_belief_account *ret,
                            struct adl_error *err);

/* The types it was learned on, as a cluster without nodes, for a reader that has no cluster of its own. */
int adl_belief_types(const void *bytes, size_t size, struct adl_cluster *ret, struct adl_error *err);

/* The checksum that the bytes carry; 0 if they are too few. */
uint64_t adl_belief_seal(const void *bytes, size_t size);

/* In a line: "4096 jobs, 37 kinds of jobs with 112 measured speeds; 12 jobs skipped: ...". */
void adl_belief_account_say(const struct adl_belief_account *account, struct adl_text *ret);

#endif
