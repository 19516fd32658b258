/* store_list: lists of strings and of dependencies as the bytes that the database keeps. */
#include "store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { AFTER_SIZE = 9 }; /* a dependency: the job's id, little endian, and the kind */

int adl_store_pack_strings(const char *const *strings, int64_t max, const char *column, struct adl_text *bytes,
                           struct adl_error *err)
{
    adl_text_truncate(bytes, 0);
    for (; strings && *strings; strings++) {
        const size_t size = strnlen(*strings, (size_t)max) + 1;
        if (bytes->size + size > (size_t)max)
            return adl_fail(err, ADL_EINVAL, "%s has more than %" PRId64 " bytes", column, max);
        adl_text_bytes(bytes, *strings, size);
    }
    return 0;
}

int adl_store_pack_dependencies(const struct adl_store_job *job, struct adl_text *bytes, struct adl_error *err)
{
    adl_text_truncate(bytes, 0);
    if (job->dependency_count > ADL_STORE_DEPENDENCIES_MAX)
        return adl_fail(err, ADL_EINVAL, "a job may depend on %d others, not on %" PRIu32, ADL_STORE_DEPENDENCIES_MAX,
                        job->dependency_count);
    for (uint32_t i = 0; i < job->dependency_count; i++) {
        const struct adl_store_dependency *one = &job->dependencies[i];
        if (one->after >= ADL_AFTER_COUNT)
            return adl_fail(err, ADL_EINVAL, "there is no kind of dependency %d", one->after);
        for (int byte = 0; byte < 8; byte++)
            adl_text_char(bytes, (char)(one->job >> (8 * byte) & 0xff));
        adl_text_char(bytes, (char)one->after);
    }
    return 0;
}

/* Space for size bytes in a list's items, or NULL. */
static void *make_room(struct adl_store_list *list, size_t size)
{
    if (size > list->capacity) {
        void *items = realloc(list->items, 2 * size);
        if (!items)
            return NULL;
        list->items = items;
        list->capacity = 2 * size;
    }
    return list->items;
}

int adl_store_unpack_strings(struct adl_store_list *list, const char *bytes, size_t size, const char *const **ret)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\0';
    if (size > 0 && bytes[size - 1] != '\0')
        return ADL_EIO;
    const char **items = make_room(list, (count + 1) * sizeof *items);
    if (!items)
        return ADL_ENOMEM;
    for (size_t i = 0, at = 0; i < count; i++, at += strlen(bytes + at) + 1)
        items[i] = bytes + at;
    items[count] = NULL;
    *ret = items;
    return 0;
}

int adl_store_unpack_dependencies(struct adl_store_list *list, const unsigned char *bytes, size_t size,
                                  struct adl_store_job *ret)
{
    const size_t count = size / AFTER_SIZE;
    if (size % AFTER_SIZE || count > ADL_STORE_DEPENDENCIES_MAX)
        return ADL_EIO;
    struct adl_store_dependency *items = make_room(list, (count + 1) * sizeof *items);
    if (!items)
        return ADL_ENOMEM;
    for (size_t i = 0; i < count; i++, bytes += AFTER_SIZE) {
        if (bytes[8] >= ADL_AFTER_COUNT)
            return ADL_EIO;
        items[i] = (struct adl_store_dependency){.after = bytes[8]};
        for (int byte = 0; byte < 8; byte++)
            items[i].job |= (uint64_t)bytes[byte] << (8 * byte);
    }
    ret->dependencies = items;
    ret->dependency_count = (uint32_t)count;
    return 0;
}

void adl_store_lists_clear(struct adl_store *store)
{
    for (int i = 0; i < ADL_STORE_LISTS; i++) {
        adl_text_clear(&store->lists[i].bytes);
        free(store->lists[i].items);
    }
}
