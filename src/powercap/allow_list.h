/* allow_list: which GPUs the helper may limit, and to which powers. A file of lines `ID LEAST_W MOST_W`, where ID is
 * `*` for all others; `#` begins a comment. */
#ifndef ADLRO_POWERCAP_ALLOW_LIST_H
#define ADLRO_POWERCAP_ALLOW_LIST_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_POWERCAP_GPUS_MAX 256
#define ADL_POWERCAP_ID_SIZE  64

struct adl_allow_entry {
    char id[ADL_POWERCAP_ID_SIZE]; /* "*": all others */
    uint32_t least_mw, most_mw;
};

struct adl_allow_list {
    struct adl_allow_entry entries[ADL_POWERCAP_GPUS_MAX];
    uint32_t count;
};

/* From a text; name is used in messages. */
int adl_allow_list_read(const char *name, const char *text, struct adl_allow_list *ret, struct adl_error *err);
/* From a file that belongs to root or to us and that nobody else can write. */
int adl_allow_list_load(const char *path, struct adl_allow_list *ret, struct adl_error *err);

/* The entry for a GPU; NULL: it may not be limited. */
const struct adl_allow_entry *adl_allow_list_find(const struct adl_allow_list *list, const char *id);

#endif
