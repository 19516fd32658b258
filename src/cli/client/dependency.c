#include "cli/client/dependency.h"

#include "base/suggest.h"

#include <stddef.h>
#include <string.h>

#define NUMBER_SIZE 40

static const struct {
    const char *word;
    const char *key;
} kinds[] = {{"afterany", "after"}, {"afterok", "after_ok"}, {"afternotok", "after_not_ok"}, {"after", "after_start"}};

static int refuse(const char *text, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    return adl_fail(err, ADL_EINVAL,
                    "--dependency must be like afterok:1:2,afternotok:3, with after, afterany, afterok, afternotok and "
                    "job ids, or singleton, separated by ',' (all) or '?' (any), got %s",
                    adl_quote(text, quoted));
}

/* ":1:2_3", size bytes. */
static int jobs_read(const char *at, size_t size, const char *key, const char *text, adl_dependency_visit *visit,
                     void *context, struct adl_error *err)
{
    char job[NUMBER_SIZE];
    const char *const end = at + size;
    int status = 0;
    if (size == 0)
        return refuse(text, err);
    while (status == 0 && at < end) {
        const size_t digits = *at == ':' ? strspn(at + 1, "0123456789_") : 0;
        if (digits == 0 || digits >= sizeof job)
            return refuse(text, err);
        memcpy(job, at + 1, digits);
        job[digits] = '\0';
        at += 1 + digits;
        status = visit ? visit(context, key, job, err) : 0;
    }
    return status;
}

/* One item of the list. */
static int part_read(const char *at, size_t size, const char *text, adl_dependency_visit *visit, void *context,
                     struct adl_error *err)
{
    const char *colon = memchr(at, ':', size);
    const size_t word = colon ? (size_t)(colon - at) : size;
    if (size == strlen("singleton") && strncmp(at, "singleton", size) == 0)
        return visit ? visit(context, "singleton", NULL, err) : 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == word && strncmp(at, kinds[i].word, word) == 0)
            return jobs_read(at + word, size - word, kinds[i].key, text, visit, context, err);
    return refuse(text, err);
}

int adl_dependency_read(const char *text, adl_dependency_visit *visit, void *context, bool *ret_any,
                        struct adl_error *err)
{
    const bool any = strchr(text, '?') != NULL;
    int status = any && strchr(text, ',') ? refuse(text, err) : 0;
    for (const char *at = text; status == 0; at++) {
        const size_t size = strcspn(at, ",?");
        status = part_read(at, size, text, visit, context, err);
        at += size;
        if (*at == '\0')
            break;
    }
    if (status == 0)
        *ret_any = any;
    return status;
}
