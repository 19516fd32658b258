/* diff: changes to a text as a unified diff, which `patch` applies. */
#ifndef ADLRO_REPORT_DIFF_H
#define ADLRO_REPORT_DIFF_H

#include "base/text.h"

/* Replaces the bytes from at to end, possibly none, by the text. */
struct adl_edit {
    size_t at, end;
    const char *text;
};

/* Appends the diff of the file at this path, absolute, for `patch -d / -p1`; nothing if there are no edits. Edits may
 * be in any order and must not overlap; those at one position keep their order. 0 or ADL_ENOMEM. */
int adl_diff_put(struct adl_text *out, const char *path, const char *text, size_t size, const struct adl_edit *edits,
                 size_t count);

#endif
