#include "slurm/constraint.h"

#include "base/error.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 16

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("_-.:=/", c));
}

static bool has_feature(const char *features, const char *name, size_t size)
{
    for (const char *at = features; at && *at;) {
        const size_t length = strcspn(at, ",");
        if (length == size && strncmp(at, name, size) == 0)
            return true;
        at += length;
        at += *at == ',';
    }
    return false;
}

struct level {
    int value; /* of what was read so far; -1 before the first */
    char op;   /* the only one of this level; 0 before the first */
    bool operand_due;
};

static bool take(struct level *level, int value)
{
    if (!level->operand_due)
        return false;
    if (level->value < 0)
        level->value = value;
    else
        level->value = level->op == '|' ? level->value | value : level->value & value;
    level->operand_due = false;
    return true;
}

static bool join(struct level *level, char op)
{
    const char meant = op == ',' ? '&' : op;
    if (level->operand_due || (level->op && level->op != meant))
        return false;
    level->op = meant;
    level->operand_due = true;
    return true;
}

int adl_constraint_holds(const char *constraint, const char *features)
{
    if (!constraint || !*constraint)
        return 1;
    const struct level fresh = {.value = -1, .operand_due = true};
    struct level levels[DEPTH_MAX] = {fresh};
    int depth = 0;
    for (const char *at = constraint; *at;) {
        bool good = false;
        size_t size = 1;
        if (is_name(*at)) {
            while (is_name(at[size]))
                size++;
            good = take(&levels[depth], has_feature(features, at, size));
        } else if (*at == '(') {
            good = levels[depth].operand_due && depth + 1 < DEPTH_MAX;
            if (good)
                levels[++depth] = fresh;
        } else if (*at == ')') {
            good = depth > 0 && !levels[depth].operand_due;
            if (good) {
                depth--;
                good = take(&levels[depth], levels[depth + 1].value);
            }
        } else if (*at == '|' || *at == '&' || *at == ',') {
            good = join(&levels[depth], *at);
        }
        if (!good)
            return ADL_EINVAL;
        at += size;
    }
    return depth == 0 && !levels[0].operand_due ? levels[0].value : ADL_EINVAL;
}
