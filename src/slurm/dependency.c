#include "slurm/dependency.h"

#include "base/error.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind { AFTER, AFTERANY, AFTEROK, AFTERNOTOK, KIND_COUNT };

static const char *const kind_names[KIND_COUNT] = {"after", "afterany", "afterok", "afternotok"};

static bool is_met(enum kind kind, enum adl_slurm_dependee dependee)
{
    const bool over = dependee == ADL_DEPENDEE_SUCCEEDED || dependee == ADL_DEPENDEE_FAILED;
    switch (kind) {
    case AFTER:
        return dependee != ADL_DEPENDEE_PENDING;
    case AFTERANY:
        return over || dependee == ADL_DEPENDEE_FORGOTTEN;
    case AFTEROK:
        return dependee == ADL_DEPENDEE_SUCCEEDED || dependee == ADL_DEPENDEE_FORGOTTEN;
    default:
        return dependee == ADL_DEPENDEE_FAILED || dependee == ADL_DEPENDEE_FORGOTTEN;
    }
}

static int find_kind(const char *name, size_t size)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (strlen(kind_names[kind]) == size && strncmp(kind_names[kind], name, size) == 0)
            return kind;
    }
    return ADL_EINVAL;
}

/* One "afterok:12_3(unfulfilled)": 1, 0 or ADL_EINVAL; *at moves behind it. Minutes of delay ("after:12+5") are
 * left to Slurm. */
static int read_term(const char **at, adl_slurm_dependee_of *dependee_of, void *context)
{
    const size_t size = strcspn(*at, ":,?(");
    const int kind = (*at)[size] == ':' ? find_kind(*at, size) : ADL_EINVAL;
    if (kind < 0)
        return ADL_EINVAL;
    bool met = true;
    *at += size;
    while (**at == ':') {
        char *end = NULL;
        if (!isdigit((unsigned char)(*at)[1]))
            return ADL_EINVAL;
        const unsigned long job = strtoul(*at + 1, &end, 10);
        int64_t index = -1;
        if (end[0] == '_' && end[1] == '*')
            end += 2;
        else if (end[0] == '_')
            index = strtol(end + 1, &end, 10);
        if (*end == '+')
            return ADL_EINVAL;
        if (*end == '(')
            end += strcspn(end, ")") + (strchr(end, ')') != NULL);
        met = met && is_met((enum kind)kind, dependee_of(context, (uint32_t)job, index));
        *at = end;
    }
    return met;
}

int adl_slurm_dependency_met(const char *dependency, adl_slurm_dependee_of *dependee_of, void *context)
{
    const char *at = dependency ? dependency : "";
    if (!*at)
        return 1;
    bool all = true, any = false;
    char joint = '\0';
    for (;;) {
        const int met = read_term(&at, dependee_of, context);
        if (met < 0)
            return met;
        all = all && met;
        any = any || met;
        if (*at == '\0')
            return joint == '?' ? any : all;
        if ((*at != ',' && *at != '?') || (joint && joint != *at))
            return ADL_EINVAL;
        joint = *at++;
    }
}
