/* store_backup: a copy of a state, taken while a service uses it. */
#ifndef ADLRO_STORE_STORE_BACKUP_H
#define ADLRO_STORE_STORE_BACKUP_H

#include "base/error.h"

#include <stdint.h>

struct adl_store_backup {
    int64_t bytes;
    int64_t jobs, live; /* in the copy; live: that wait or run */
    uint64_t last_job;  /* the last number that was given */
};

/* Makes dest, a directory that must not exist, with a database that a service can be started on. It has all that was
 * committed when the call began; a service in the directory goes on writing meanwhile. The copy is checked and synced
 * before dest has its name. Only the owner of the state, or root, may: it holds everybody's environments. */
int adl_store_backup(const char *directory, const char *dest, struct adl_store_backup *ret, struct adl_error *err);

#endif
