#include "http/router.h"

#include <stdbool.h>
#include <string.h>

static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

static bool is_method(const char *method)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i]) == 0)
            return true;
    return false;
}

/* Every segment is a word or a {name}. */
static bool is_pattern(const char *pattern)
{
    uint32_t params = 0, segments = 0;
    if (strcmp(pattern, "/") == 0)
        return true;
    while (*pattern == '/') {
        const size_t size = strcspn(++pattern, "/");
        const bool opened = pattern[0] == '{', closed = size > 0 && pattern[size - 1] == '}';
        const size_t inner = size - (opened ? 1 : 0) - (closed ? 1 : 0);
        if (size == 0 || opened != closed || inner == 0 || strcspn(pattern + (opened ? 1 : 0), "{}/") != inner)
            return false;
        params += opened ? 1 : 0;
        segments++;
        pattern += size;
    }
    return *pattern == '\0' && segments > 0 && segments <= ADL_TARGET_SEGMENT_MAX && params <= ADL_MATCH_PARAM_MAX;
}

int adl_routes_check(const struct adl_route *routes, uint32_t count, struct adl_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_route *route = &routes[i];
        if (!is_method(route->method))
            return adl_fail(err, ADL_EINVAL, "route %u: '%s' is not a supported method", i, route->method);
        if (!is_pattern(route->pattern))
            return adl_fail(err, ADL_EINVAL, "route %u: '%s' is not a pattern like /v1/jobs/{id}", i, route->pattern);
        if (!route->handle || (route->body == ADL_BODY_NONE) != (route->body_max == 0))
            return adl_fail(err, ADL_EINVAL, "route %u: %s has no handler, or a body without a limit", i,
                            route->pattern);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(routes[j].method, route->method) == 0 && strcmp(routes[j].pattern, route->pattern) == 0)
                return adl_fail(err, ADL_EINVAL, "%s %s is in the table twice", route->method, route->pattern);
    }
    return ADL_OK;
}

static bool path_matches(const char *pattern, const struct adl_target *target, struct adl_match *match)
{
    match->param_count = 0;
    if (strcmp(pattern, "/") == 0)
        return target->segment_count == 0;
    for (uint32_t i = 0; i < target->segment_count; i++) {
        if (*pattern++ != '/')
            return false;
        const size_t size = strcspn(pattern, "/");
        const char *segment = target->segments[i];
        if (pattern[0] == '{') {
            match->names[match->param_count] = pattern + 1;
            match->values[match->param_count++] = segment;
        } else if (strncmp(segment, pattern, size) != 0 || segment[size] != '\0') {
            return false;
        }
        pattern += size;
    }
    return *pattern == '\0' && target->segment_count > 0;
}

static void allow_add(char allow[64], const char *method)
{
    if (strstr(allow, method))
        return;
    if (allow[0])
        strncat(allow, ", ", 63 - strlen(allow));
    strncat(allow, method, 63 - strlen(allow));
}

int adl_routes_find(const struct adl_route *routes, uint32_t count, const char *method, const struct adl_target *target,
                    struct adl_match *ret)
{
    *ret = (struct adl_match){0};
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (uint32_t i = 0; i < count; i++) {
        if (!path_matches(routes[i].pattern, target, ret))
            continue;
        if (strcmp(routes[i].method, wanted) == 0) {
            ret->route = &routes[i];
            return 200;
        }
        allow_add(ret->allow, routes[i].method);
        if (strcmp(routes[i].method, "GET") == 0)
            allow_add(ret->allow, "HEAD");
    }
    ret->param_count = 0;
    return ret->allow[0] ? 405 : 404;
}

const char *adl_match_param(const struct adl_match *match, const char *name)
{
    const size_t size = strlen(name);
    for (uint32_t i = 0; i < match->param_count; i++)
        if (strncmp(match->names[i], name, size) == 0 && match->names[i][size] == '}')
            return match->values[i];
    return NULL;
}
