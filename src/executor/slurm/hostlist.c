#include "executor/slurm/hostlist.h"

#include "base/span.h"
#include "base/suggest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct expansion {
    int (*visit)(void *arg, const char *name);
    void *arg;
    struct adl_error *err;
    const char *list;
    size_t count;
    char name[ADL_HOST_SIZE];
};

static int wrong(const struct expansion *expansion, const char *what)
{
    char quoted[ADL_QUOTE_SIZE];
    return adl_fail(expansion->err, ADL_EINVAL, "%s in the list of hosts %s, which should be as v[0-3,7],w0", what,
                    adl_quote(expansion->list, quoted));
}

static int put(struct expansion *expansion, size_t *used, const char *text, size_t size)
{
    if (size >= sizeof expansion->name - *used)
        return wrong(expansion, "a name is longer than 255 bytes");
    memcpy(expansion->name + *used, text, size);
    *used += size;
    expansion->name[*used] = '\0';
    return 0;
}

static int expand(struct expansion *expansion, const char *at, const char *end, size_t used, uint32_t brackets);

/* One "3" or "0-15" between the brackets, followed by what comes after them. */
static int expand_range(struct expansion *expansion, const char *at, const char *end, const char *rest,
                        const char *rest_end, size_t used, uint32_t brackets)
{
    struct adl_span span;
    const char *fault = adl_span_read(&at, &span);
    if (fault)
        return wrong(expansion, fault);
    if (at != end || span.step != 1)
        return wrong(expansion, "what is between brackets is no number or range");
    for (uint32_t number = span.first; number <= span.last; number++) {
        char digits[16];
        size_t length = used;
        const int size = snprintf(digits, sizeof digits, "%0*" PRIu32, (int)span.width, number);
        int status = put(expansion, &length, digits, (size_t)size);
        status = status ? status : expand(expansion, rest, rest_end, length, brackets);
        if (status)
            return status;
    }
    return 0;
}

/* The rest of a name, of which used bytes are written. */
static int expand(struct expansion *expansion, const char *at, const char *end, size_t used, uint32_t brackets)
{
    const char *open = memchr(at, '[', (size_t)(end - at));
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    int status = put(expansion, &used, at, (size_t)((open ? open : end) - at));
    if (status)
        return status;
    if (memchr(at, ']', (size_t)((open ? open : end) - at)) || (open && !close))
        return wrong(expansion, "a bracket lacks its partner");
    if (open && brackets == ADL_HOST_BRACKETS)
        return wrong(expansion, "a name has more than 4 pairs of brackets");
    if (!open) {
        if (++expansion->count > ADL_HOSTLIST_MAX)
            return wrong(expansion, "more than 65536 names are");
        return expansion->visit(expansion->arg, expansion->name);
    }
    for (const char *from = open + 1; status == 0 && from <= close;) {
        const char *comma = memchr(from, ',', (size_t)(close - from));
        const char *to = comma ? comma : close;
        status = expand_range(expansion, from, to, close + 1, end, used, brackets + 1);
        from = to + 1;
    }
    return status;
}

int adl_hostlist_each(const char *list, int (*visit)(void *arg, const char *name), void *arg, struct adl_error *err)
{
    struct expansion expansion = {.visit = visit, .arg = arg, .err = err, .list = list};
    int status = 0;
    for (const char *at = list; status == 0 && *at;) {
        const char *end = at;
        for (int depth = 0; *end && (*end != ',' || depth > 0); end++)
            depth += *end == '[' ? 1 : *end == ']' ? -1 : 0;
        if (end == at)
            return wrong(&expansion, "an empty name is");
        status = expand(&expansion, at, end, 0, 0);
        at = end + (*end == ',');
    }
    return status;
}
