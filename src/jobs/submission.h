/* submission: a job as a client sent it: JSON read into the row that the store keeps, and checked as far as that needs
 * no cluster. */
#ifndef ADLRO_JOBS_SUBMISSION_H
#define ADLRO_JOBS_SUBMISSION_H

#include "base/error.h"
#include "http/account.h"
#include "jobs/job_table.h"
#include "model/cluster.h"
#include "store/store.h"

#define ADL_ARRAY_BYTES_MAX (1ull << 30) /* jobs of an array times the bytes of what they share */

struct cJSON;

/* One allocation holds it all. */
struct adl_submission {
    struct adl_store_job job; /* as the store takes it; uid, gid and user are the caller's account's, never the
                               * document's. spec.gpus, types and class_index are not set yet: request has them.
                               * spec.limit_us 0 = it does not say: the service's default is due. Output paths are
                               * patterns for adl_path_expand. */
    const char *class_name;   /* of the catalogue; "" = not given */
    int32_t *array;           /* indices, ascending; NULL = no array */
    uint32_t array_count;
    bool hold;
};

/* Unknown keys, wrong types, values out of range are ADL_EINVAL with a text that names the key and what would be right.
 * The working directory must be absolute; environment entries need '='; nothing may hold a zero byte. */
int adl_submission_read(const struct cJSON *document, const struct adl_account *account, int64_t now_us,
                        struct adl_submission **ret, struct adl_error *err);
void adl_submission_destroy(struct adl_submission *submission); /* accepts NULL */

/* "2", "v100:2", "v100:2|a100:1", "v100|a100" (one each), ":2" and "*:2" = "2" of any type. Alternatives of equal
 * numbers become one with all their types. A type that the cluster does not have is refused, and the error
 * lists the types. cluster NULL: only the syntax is checked, and no types are set. ret has room for
 * ADL_ALTERNATIVES_MAX. */
int adl_gpu_request_read(const char *text, const struct adl_cluster *cluster, struct adl_alternative *ret,
                         uint32_t *ret_count, struct adl_error *err);

/* "slurm-%j.out" and the like: %j number, %A array's number, %a index in it, %x name, %u user, %N node (NULL: not known
 * yet, and it stays "%N"), %% itself. Inserted text cannot change the folder: a '/' in it, or a '.' at its start,
 * becomes
 * '_'. A relative path begins in the job's directory; "" stays as it is. Cut at ADL_STORE_PATH_MAX bytes. Returns
 * malloc'd text, or NULL if out of memory. */
char *adl_path_expand(const char *pattern, const struct adl_store_job *job, uint64_t id, const char *node);

/* A job's command on one line for people: its arguments, quoted where a shell would need that, or the first line of its
 * script that is neither empty nor a comment. Cut with "..." where size is too small; control characters become '?'. */
void adl_command_text(const struct adl_store_job *job, char *ret, size_t size);

#endif
