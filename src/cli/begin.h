/* begin: a time to come, such as that before which a job must not start, as people write it. */
#ifndef ADLRO_CLI_BEGIN_H
#define ADLRO_CLI_BEGIN_H

#include "base/error.h"

#include <stdint.h>

/* "16:00" and "4:00pm", today or else tomorrow; "2026-11-20", "2026-11-20T16:00[:30]"; "now", "now+1hour", "now+90" in
 * seconds; "today", "tomorrow", "midnight", "noon", "teatime". In this process's time zone. now_s and *ret_s: Unix
 * seconds. A date in the past is ADL_EINVAL. option: for the message. */
int adl_begin_read(const char *text, const char *option, int64_t now_s, int64_t *ret_s, struct adl_error *err);

#endif
