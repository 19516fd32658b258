/* store_backup: a copy of a state, taken while a service uses it. */
#ifndef ADLRO_STORE_STORE_BACKUP_H
#define ADLRO_STORE_STORE_BACKUP_H

#include "base/error.h"

#include <stdint.h>

struct adl_store_backup {
    int64_t bytes;
    int64_t jobs, live; /* in the copy; live: pending or running */
    uint64_t last_job;  /* the last id assigned */
};

/* Creates dest, a directory that must not exist, with a database that a service can be started on. It holds everything
 * committed when the call began; a running service continues to write. The copy is checked and synced before it is
 * renamed to dest. Only the owner of the state and root may do this, because it holds the environments of all users. */
int adl_store_backup(const char *directory, const char *dest, struct adl_store_backup *ret, struct adl_error *err);

#endif
