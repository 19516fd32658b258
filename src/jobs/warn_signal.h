/* warn_signal: the signal that a job asked for before its time limit, as Slurm's users write it: "USR1", "TERM@120",
 * "B:USR1@30". */
#ifndef ADLRO_JOBS_WARN_SIGNAL_H
#define ADLRO_JOBS_WARN_SIGNAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_WARN_SECONDS 60 /* before the limit, if not given */

struct adl_warn_signal {
    int signal;
    int64_t before_us; /* the time limit */
    bool shell_only;   /* the batch script's own process; else the processes that it started */
};

/* what: the key or option, for the message. */
int adl_warn_signal_read(const char *text, const char *what, struct adl_warn_signal *ret, struct adl_error *err);

#endif
