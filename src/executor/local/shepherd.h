/* shepherd: the process that supervises one task from its start to its end, whatever happens to the service. */
#ifndef ADLRO_EXECUTOR_LOCAL_SHEPHERD_H
#define ADLRO_EXECUTOR_LOCAL_SHEPHERD_H

#include "base/error.h"

/* Runs the task in the folder, waits for its end, and writes the result there. Makes the calling process a session
 * leader and a subreaper, blocks its signals and closes its descriptors above 2, so it needs a process of its own.
 *
 * The command runs at most once, however many shepherds are started on a folder: ADL_EREFUSED means that another was
 * first. TERM and INT end the task as if cancelled; USR1 announces a cancel file. */
int adl_shepherd_run(const char *folder, struct adl_error *err);

#endif
