/* settings: the file that the adapter, the watchdog and the hook share, adlro.conf beside slurm.conf: "key value"
 * lines. */
#ifndef ADLRO_SLURM_SETTINGS_H
#define ADLRO_SLURM_SETTINGS_H

#include "base/error.h"
#include "slurm/cluster.h"

struct adl_slurm_settings {
    char partitions[ADL_PARTITIONS_MAX][64]; /* "partitions gpu big": those whose GPU jobs are caught */
    uint32_t partition_count;
    char heartbeat[400]; /* "heartbeat FILE": holds the time of the last heartbeat, in seconds since 1970 */
};

#define ADL_SLURM_HEARTBEAT_FILE "/run/adlro/slurm.heartbeat"

/* Without the file the defaults hold; unknown keys are ignored. */
int adl_slurm_settings_read(const char *path, struct adl_slurm_settings *ret, struct adl_error *err);
/* Beside slurm.conf: in the folder of SLURM_CONF, or /etc/slurm. */
void adl_slurm_settings_path(char *ret, size_t size);

/* Atomically: a reader sees the old or the new time. */
int adl_slurm_heartbeat_write(const char *path, int64_t now_s, struct adl_error *err);
/* Seconds since it was written; INT64_MAX if it never was. */
int64_t adl_slurm_heartbeat_age_s(const char *path, int64_t now_s);

#endif
