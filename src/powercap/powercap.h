/* powercap: the helper that sets power limits for the service. It speaks lines with one client, keeps within an allow
 * list, writes down what limits were before it changed them, and restores them when the client ends, falls silent or
 * asks for it, and when it is started again after a crash.
 *
 *   client                      helper
 *                               gpu ID LIMIT_MW LEAST_MW MOST_MW     for each GPU that is allowed, then
 *                               ready
 *   cap ID MILLIWATTS           ok, or: no WHY                       0 restores the GPU
 *   ping                        ok                                   at least every ADL_POWERCAP_SILENCE_MS */
#ifndef ADLRO_POWERCAP_POWERCAP_H
#define ADLRO_POWERCAP_POWERCAP_H

#include "base/error.h"

#define ADL_POWERCAP_LINE_MAX   256
#define ADL_POWERCAP_SILENCE_MS 30000

struct adl_powercap_options {
    const char *allow;        /* file of the allow list */
    const char *state;        /* file with the limits to be restored */
    const char *nvml, *sysfs; /* NULL: where the system has them */
    int silence_ms;           /* 0: ADL_POWERCAP_SILENCE_MS */
    int fd;                   /* the client: a socket; ends with it */
    int end_fd;               /* readable: restore and end; -1: none */
};

/* Restores what an earlier helper left changed. 0, also if there is nothing. */
int adl_powercap_restore(const struct adl_powercap_options *options, struct adl_error *err);
/* Until the client ends. */
int adl_powercap_serve(const struct adl_powercap_options *options, struct adl_error *err);

#endif
