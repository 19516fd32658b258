#include "jobs/resource_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct {
    const char *name;
    int number;
} resources[ADL_RESOURCE_COUNT] = {
    [ADL_RESOURCE_AS] = {"as", RLIMIT_AS},
    [ADL_RESOURCE_CORE] = {"core", RLIMIT_CORE},
    [ADL_RESOURCE_CPU] = {"cpu", RLIMIT_CPU},
    [ADL_RESOURCE_DATA] = {"data", RLIMIT_DATA},
    [ADL_RESOURCE_FSIZE] = {"fsize", RLIMIT_FSIZE},
    [ADL_RESOURCE_MEMLOCK] = {"memlock", RLIMIT_MEMLOCK},
    [ADL_RESOURCE_NOFILE] = {"nofile", RLIMIT_NOFILE},
    [ADL_RESOURCE_NPROC] = {"nproc", RLIMIT_NPROC},
    [ADL_RESOURCE_RSS] = {"rss", RLIMIT_RSS},
    [ADL_RESOURCE_STACK] = {"stack", RLIMIT_STACK},
};

const char *adl_resource_name(enum adl_resource resource)
{
    return resources[resource].name;
}

/* A whole number or "unlimited"; negative: neither. */
static int64_t read_limit(const char *text)
{
    char *end;
    if (strcmp(text, "unlimited") == 0)
        return INT64_MAX;
    errno = 0;
    const intmax_t number = strtoimax(text, &end, 10);
    return text[0] < '0' || text[0] > '9' || errno || *end || number >= INT64_MAX ? -1 : number;
}

int adl_resource_read(const char *text, enum adl_resource *ret, int64_t *ret_limit, struct adl_error *err)
{
    const size_t length = strcspn(text, "=");
    int i = 0;
    while (i < ADL_RESOURCE_COUNT &&
           (strlen(resources[i].name) != length || strncmp(resources[i].name, text, length) != 0))
        i++;
    const int64_t limit = text[length] == '=' ? read_limit(text + length + 1) : -1;
    if (i == ADL_RESOURCE_COUNT || limit < 0)
        return adl_fail(err, ADL_EINVAL,
                        "'%.40s' must be as nofile=1024 or core=unlimited, of as, core, cpu, data, fsize, memlock, "
                        "nofile, nproc, rss and stack",
                        text);
    *ret = (enum adl_resource)i;
    *ret_limit = limit == 0 ? -1 : limit;
    return 0;
}

void adl_resource_print_own(enum adl_resource resource, char *ret, size_t size)
{
    struct rlimit limit;
    if (getrlimit(resources[resource].number, &limit))
        snprintf(ret, size, "%s", "");
    else if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= INT64_MAX)
        snprintf(ret, size, "%s=unlimited", resources[resource].name);
    else
        snprintf(ret, size, "%s=%" PRIu64, resources[resource].name, (uint64_t)limit.rlim_cur);
}

int adl_resource_set(enum adl_resource resource, int64_t limit)
{
    struct rlimit now;
    const rlim_t wanted = limit < 0 ? 0 : limit == INT64_MAX ? RLIM_INFINITY : (rlim_t)limit;
    if (limit == 0)
        return 0;
    if (getrlimit(resources[resource].number, &now))
        return -1;
    now.rlim_cur = wanted < now.rlim_max ? wanted : now.rlim_max;
    return setrlimit(resources[resource].number, &now);
}

int adl_umask_read(const char *text, unsigned *ret, struct adl_error *err)
{
    const size_t length = strlen(text);
    if (length > 4 || strspn(text, "01234567") != length || strtoul(text, NULL, 8) > 0777)
        return adl_fail(err, ADL_EINVAL, "'%.40s' must be an octal number from 000 to 777", text);
    *ret = length == 0 ? 022 : (unsigned)strtoul(text, NULL, 8);
    return 0;
}
