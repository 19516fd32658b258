/* label: the name of a job for people: its number "12", or "12_3" with the number of its array and its index. Numbers
 * of tasks of Slurm's arrays are internal (docs/formats/slurm-protocol.md). */
#ifndef ADLRO_JOBS_LABEL_H
#define ADLRO_JOBS_LABEL_H

#include "jobs/job_table.h"

#define ADL_LABEL_SIZE 32

/* array_id 0: it is in none. Returns ret, as those below. */
const char *adl_label_print(uint64_t number, uint64_t array_id, int32_t array_index, char ret[ADL_LABEL_SIZE]);
const char *adl_label_of_live(const struct adl_job_entry *job, char ret[ADL_LABEL_SIZE]);
const char *adl_label_of_stored(const struct adl_store_job *job, char ret[ADL_LABEL_SIZE]);

/* The number of the job with this label; external: the label is that of the cluster underneath. ADL_EINVAL if it is no
 * label, ADL_EABSENT if no job has it; a plain number is looked up only if external. */
int adl_label_find(struct adl_store *store, const char *label, bool external, uint64_t *ret, struct adl_error *err);

#endif
