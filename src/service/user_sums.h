/* user_sums: what each user runs, waits for and used since a time. */
#ifndef ADLRO_SERVICE_USER_SUMS_H
#define ADLRO_SERVICE_USER_SUMS_H

#include "jobs/job_table.h"
#include "store/store.h"

struct adl_user_sum {
    char *user; /* owned */
    uint32_t uid;
    uint32_t running, waiting; /* now */
    uint32_t gpus;             /* held now */
    uint32_t ended, completed; /* since from_us */
    uint32_t started;          /* of those that run or ended: how many were started at all */
    double gpu_us;             /* times the GPUs, since from_us */
    double wait_us;            /* of those that were started, together */
    double idle_us;            /* of gpu_us: held and not used */
};

struct adl_user_sums {
    int64_t from_us;
    struct adl_user_sum *users;
    size_t capacity;
    uint32_t count;
    uint32_t *table; /* hash by name: index into users plus 1 */
    size_t table_size;
    bool failed; /* out of memory */
};

void adl_user_sums_add_live(struct adl_user_sums *sums, const struct adl_job_entry *job, int64_t now_us);
void adl_user_sums_add_ended(struct adl_user_sums *sums, const struct adl_store_run *run);
/* Beyond ADL_USER_SUMS_MAX users their time is added up under one name. */
#define ADL_USER_SUMS_MAX   1000
#define ADL_USER_SUMS_OTHER "(others)"
void adl_user_sums_add_idle(struct adl_user_sums *sums, const char *user, uint32_t uid, double idle_us);
void adl_user_sums_sort(struct adl_user_sums *sums); /* most GPU time first; nothing is added afterwards */
void adl_user_sums_clear(struct adl_user_sums *sums);

#endif
