/* hooks_internal: what hooks*.c share. */
#ifndef ADLRO_SERVICE_HOOKS_INTERNAL_H
#define ADLRO_SERVICE_HOOKS_INTERNAL_H

#include "service/hooks/hooks.h"

#include <stdatomic.h>

#define ADL_HOOK_TIMEOUT_MS 10000 /* of one delivery */

/* One message on its way: 0 if it was delivered. ending aborts it. */
int adl_hook_webhook_send(const struct adl_hook *hook, const char *body, atomic_bool *ending, struct adl_error *err);
int adl_hook_mail_send(const char *program, const char *from, const char *to, const char *subject, const char *body,
                       atomic_bool *ending, struct adl_error *err);

#endif
