/* slurm_link: the adapter as a child process, and lines of JSON to and from it (docs/formats/slurm-protocol.md). */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_LINK_H
#define ADLRO_EXECUTOR_SLURM_SLURM_LINK_H

#include "base/error.h"
#include "base/text.h"
#include "slurm/wire.h"

#include <stdbool.h>

struct cJSON;
struct adl_slurm_link;

/* Starts the program, without a shell; SLURM_CONF is conf unless that is NULL. */
int adl_slurm_link_open(const char *program, const char *conf, struct adl_slurm_link **ret, struct adl_error *err);
void adl_slurm_link_close(struct adl_slurm_link *link); /* ends the process within 0.2 s; accepts NULL */

int adl_slurm_link_fd(const struct adl_slurm_link *link);

/* Sends the text, one object without a line feed, and empties it. What the socket does not take now is sent later. */
int adl_slurm_link_send(struct adl_slurm_link *link, struct adl_text *object, struct adl_error *err);

/* 1 and a message, the caller's to cJSON_Delete(); 0: nothing now; negative: the adapter has ended or broke the
 * protocol.
 */
int adl_slurm_link_next(struct adl_slurm_link *link, struct cJSON **ret, struct adl_error *err);
bool adl_slurm_link_wait(const struct adl_slurm_link *link, int timeout_ms); /* until next may return one */

#endif
