#include "executor/local/task.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

#define INT(type, member)                                                                                              \
    {                                                                                                                  \
#member, ADL_RECORD_INT, offsetof(struct type, member), 0                                                      \
    }
#define BOOL(type, member)                                                                                             \
    {                                                                                                                  \
#member, ADL_RECORD_BOOL, offsetof(struct type, member), 0                                                     \
    }
#define STRING(type, member)                                                                                           \
    {                                                                                                                  \
#member, ADL_RECORD_STRING, offsetof(struct type, member), 0                                                   \
    }
#define STRINGS(type, member)                                                                                          \
    {                                                                                                                  \
#member, ADL_RECORD_STRINGS, offsetof(struct type, member), 0                                                  \
    }
#define CHARS(type, member)                                                                                            \
    {                                                                                                                  \
#member, ADL_RECORD_CHARS, offsetof(struct type, member), sizeof((struct type *)0)->member                     \
    }
#define NAMED(type, key, member)                                                                                       \
    {                                                                                                                  \
        key, ADL_RECORD_INT, offsetof(struct type, member), 0                                                          \
    }

static const struct adl_record_field spec_fields[] = {
    INT(adl_task_spec, job_id),
    STRINGS(adl_task_spec, argv),
    STRING(adl_task_spec, shell),
    STRINGS(adl_task_spec, env),
    STRING(adl_task_spec, cwd),
    STRING(adl_task_spec, stdin_path),
    STRING(adl_task_spec, stdout_path),
    STRING(adl_task_spec, stderr_path),
    BOOL(adl_task_spec, append),
    INT(adl_task_spec, mask),
    INT(adl_task_spec, uid),
    INT(adl_task_spec, gid),
    STRINGS(adl_task_spec, groups),
    BOOL(adl_task_spec, root),
    INT(adl_task_spec, time_limit_us),
    INT(adl_task_spec, grace_us),
    INT(adl_task_spec, warn_signal),
    INT(adl_task_spec, warn_us),
    BOOL(adl_task_spec, warn_command),
    BOOL(adl_task_spec, warn_others),
    NAMED(adl_task_spec, "limit_as", limits[ADL_RESOURCE_AS]),
    NAMED(adl_task_spec, "limit_core", limits[ADL_RESOURCE_CORE]),
    NAMED(adl_task_spec, "limit_cpu", limits[ADL_RESOURCE_CPU]),
    NAMED(adl_task_spec, "limit_data", limits[ADL_RESOURCE_DATA]),
    NAMED(adl_task_spec, "limit_fsize", limits[ADL_RESOURCE_FSIZE]),
    NAMED(adl_task_spec, "limit_memlock", limits[ADL_RESOURCE_MEMLOCK]),
    NAMED(adl_task_spec, "limit_nofile", limits[ADL_RESOURCE_NOFILE]),
    NAMED(adl_task_spec, "limit_nproc", limits[ADL_RESOURCE_NPROC]),
    NAMED(adl_task_spec, "limit_rss", limits[ADL_RESOURCE_RSS]),
    NAMED(adl_task_spec, "limit_stack", limits[ADL_RESOURCE_STACK]),
    STRING(adl_task_spec, cgroup_parent),
    INT(adl_task_spec, memory_max_mib),
    INT(adl_task_spec, cpus_milli),
    INT(adl_task_spec, pids_max),
    STRING(adl_task_spec, cpuset),
};

static const struct adl_record_field start_fields[] = {
    NAMED(adl_task_start, "shepherd_pid", shepherd.pid),
    NAMED(adl_task_start, "shepherd_ticks", shepherd.start_ticks),
    NAMED(adl_task_start, "command_pid", command.pid),
    NAMED(adl_task_start, "command_ticks", command.start_ticks),
    CHARS(adl_task_start, boot_id),
    CHARS(adl_task_start, cgroup),
    INT(adl_task_start, start_us),
};

static const struct adl_record_field cancel_fields[] = {CHARS(adl_task_cancel, reason)};

static const struct adl_record_field result_fields[] = {
    INT(adl_task_result, outcome),      INT(adl_task_result, exit_code),      INT(adl_task_result, signal),
    BOOL(adl_task_result, core_dumped), INT(adl_task_result, start_us),       INT(adl_task_result, end_us),
    INT(adl_task_result, elapsed_us),   INT(adl_task_result, end_boot_us),    INT(adl_task_result, user_us),
    INT(adl_task_result, system_us),    INT(adl_task_result, memory_max_kib), CHARS(adl_task_result, reason),
    CHARS(adl_task_result, notes),
};

const struct adl_record_form adl_task_spec_form = {"adlro-job 1", spec_fields, COUNT(spec_fields), 8 << 20, false};
const struct adl_record_form adl_task_start_form = {"adlro-started 1", start_fields, COUNT(start_fields), 4096, false};
const struct adl_record_form adl_task_cancel_form = {"adlro-cancel 1", cancel_fields, COUNT(cancel_fields), 4096, true};
const struct adl_record_form adl_task_result_form = {"adlro-result 1", result_fields, COUNT(result_fields), 4096, true};

static int check_user(const struct adl_task_spec *spec, struct adl_error *err)
{
    if (spec->uid < 0 || spec->uid >= UINT32_MAX || spec->gid < 0 || spec->gid >= UINT32_MAX)
        return adl_fail(err, ADL_EINVAL, "job %lld: uid and gid must be from 0 to %u", (long long)spec->job_id,
                        UINT32_MAX - 1);
    if (spec->uid == 0 && !spec->root)
        return adl_fail(err, ADL_EINVAL, "job %lld: uid 0 must be asked for by name (root)", (long long)spec->job_id);
    if (spec->groups.count > ADL_TASK_GROUPS_MAX)
        return adl_fail(err, ADL_EINVAL, "job %lld: %u groups, at most %d are allowed", (long long)spec->job_id,
                        spec->groups.count, ADL_TASK_GROUPS_MAX);
    for (uint32_t i = 0; i < spec->groups.count; i++) {
        char *end;
        const char *group = spec->groups.items[i];
        if (strspn(group, "0123456789") != strlen(group) || !*group || strtoull(group, &end, 10) >= UINT32_MAX)
            return adl_fail(err, ADL_EINVAL, "job %lld: group %.40s is not the number of one", (long long)spec->job_id,
                            group);
    }
    return 0;
}

int adl_task_spec_check(const struct adl_task_spec *spec, struct adl_error *err)
{
    const long long id = spec->job_id;
    if ((spec->argv.count > 0) == (spec->shell != NULL))
        return adl_fail(err, ADL_EINVAL, "job %lld: needs a command or a shell text, and not both", id);
    if (spec->argv.count > 0 && !*spec->argv.items[0])
        return adl_fail(err, ADL_EINVAL, "job %lld: the name of its command is empty", id);
    if (!spec->cwd || spec->cwd[0] != '/')
        return adl_fail(err, ADL_EINVAL, "job %lld: its working directory must be an absolute path", id);
    if (spec->cgroup_parent && spec->cgroup_parent[0] != '/')
        return adl_fail(err, ADL_EINVAL, "job %lld: the parent of its cgroup must be an absolute path", id);
    if (spec->time_limit_us < 0 || spec->grace_us < -1 || spec->memory_max_mib < 0 || spec->cpus_milli < 0 ||
        spec->pids_max < 0 || spec->mask < -1 || spec->mask > 0777)
        return adl_fail(err, ADL_EINVAL, "job %lld: a limit or the umask is out of range", id);
    if (spec->warn_signal < 0 || spec->warn_signal > 64 || spec->warn_us < 0 ||
        (spec->warn_signal > 0 && spec->warn_us >= spec->time_limit_us))
        return adl_fail(err, ADL_EINVAL, "job %lld: a signal before its time limit must be 1 to 64, after its start",
                        id);
    if (spec->memory_max_mib > (INT64_MAX >> 20) || spec->cpus_milli > INT64_MAX / 1000)
        return adl_fail(err, ADL_EINVAL, "job %lld: its memory or CPU limit is too large", id);
    for (int i = 0; i < ADL_RESOURCE_COUNT; i++)
        if (spec->limits[i] < -1)
            return adl_fail(err, ADL_EINVAL, "job %lld: resource limit %s is below -1", id,
                            adl_resource_name((enum adl_resource)i));
    for (uint32_t i = 0; i < spec->env.count; i++) {
        const char *equals = strchr(spec->env.items[i], '=');
        if (!equals || equals == spec->env.items[i])
            return adl_fail(err, ADL_EINVAL, "job %lld: entry %u of its environment is not NAME=value", id, i);
    }
    return check_user(spec, err);
}

void adl_task_note(struct adl_task_result *result, const char *fmt, ...)
{
    const size_t used = strlen(result->notes);
    const size_t room = sizeof result->notes - used;
    if (room <= 3)
        return;
    const size_t gap = used > 0 ? 2 : 0;
    memcpy(result->notes + used, "; ", gap);
    va_list args;
    va_start(args, fmt);
    vsnprintf(result->notes + used + gap, room - gap, fmt, args);
    va_end(args);
}
