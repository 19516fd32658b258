/* script: checks at submission whether the kernel can run a batch script. */
#ifndef ADLRO_JOBS_SCRIPT_H
#define ADLRO_JOBS_SCRIPT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ADL_EINVAL with a text that has the remedy: the text does not begin with "#!" and the name of an interpreter, or its
 * lines end in CR LF. name: what messages call it, the file or the key of the submission. Reads no file. */
int adl_script_check(const char *script, const char *name, struct adl_error *err);

/* Which file systems the interpreter may be looked up in. */
enum adl_script_scope {
    ADL_SCRIPT_SYSTEM,   /* /bin, /sbin and /usr alone: a path that a user names must not make the service wait for a
                          * file server */
    ADL_SCRIPT_ANYWHERE, /* any: the caller may wait */
};

/* ADL_EINVAL if the interpreter does not exist or is no program that the calling process may execute. A path
 * outside the scope, or one that is not absolute, is not checked. The script has passed adl_script_check(). */
int adl_script_interpreter_check(const char *script, const char *name, enum adl_script_scope scope,
                                 struct adl_error *err);

#endif
