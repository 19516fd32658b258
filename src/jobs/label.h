/* label: what people call a job: "12", its number, or "12_3" in an array, the array's and its index. Tasks of Slurm's
 * arrays have numbers that nobody should ever have to read (docs/slurm-protocol.md). */
#ifndef ADLRO_JOBS_LABEL_H
#define ADLRO_JOBS_LABEL_H

#include "jobs/job_table.h"

#define ADL_LABEL_SIZE 32

/* array_id 0: it is in none. Returns ret, as those below. */
const char *adl_label_print(uint64_t number, uint64_t array_id, int32_t array_index, char ret[ADL_LABEL_SIZE]);
const char *adl_label_of_live(const struct adl_job_entry *job, char ret[ADL_LABEL_SIZE]);
const char *adl_label_of_stored(const struct adl_store_job *job, char ret[ADL_LABEL_SIZE]);

/* The number here of the job that is called so; external: jobs came from the cluster underneath, and are called as they
 * are there. ADL_EINVAL if no job can be called so, ADL_EABSENT if none is; a plain number is only looked for if it is
 * external. */
int adl_label_find(struct adl_store *store, const char *label, bool external, uint64_t *ret, struct adl_error *err);

#endif
