/* power_link: the service's end of the helper that sets power limits (powercap/powercap.h). Calls wait for its answer,
 * a bounded time. */
#ifndef ADLRO_EXECUTOR_LOCAL_POWER_LINK_H
#define ADLRO_EXECUTOR_LOCAL_POWER_LINK_H

#include "base/error.h"

#include <stdint.h>

/* Strings outlive the link. */
struct adl_power_link_config {
    const char *helper;       /* program that is started, or socket of one that systemd starts */
    const char *allow;        /* for a program: its allow list */
    const char *state;        /* for a program: where it keeps limits to be restored */
    const char *nvml, *sysfs; /* NULL: where the system has them */
};

struct adl_power_link;

int adl_power_link_open(const struct adl_power_link_config *config, struct adl_power_link **ret, struct adl_error *err);
void adl_power_link_close(struct adl_power_link *link); /* the helper restores all limits; accepts NULL */

/* Whether the helper may hold this GPU to so much. */
int adl_power_link_check(const struct adl_power_link *link, const char *gpu, double power_w, struct adl_error *err);
int adl_power_link_cap(struct adl_power_link *link, const char *gpu, double power_w,
                       struct adl_error *err); /* 0: none */
int adl_power_link_ping(struct adl_power_link *link, struct adl_error *err);

#endif
