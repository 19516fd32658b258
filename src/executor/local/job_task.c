#include "executor/local/job_task.h"

#include "executor/local/job_script.h"
#include "executor/local/spool.h"
#include "http/account.h"
#include "jobs/warn_signal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the callback of the store needs to make a task of a row. */
struct launching {
    const struct adl_executor_local_config *config;
    const struct adl_job_entry *job;
    struct adl_task *ret;
};

/* As a login would set it. */
static const char *path_of(uint32_t uid)
{
    return uid == 0 ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" : "/usr/local/bin:/usr/bin:/bin";
}

static struct adl_strings strings_of(const char *const *list)
{
    uint32_t count = 0;
    while (list && list[count])
        count++;
    return (struct adl_strings){(const char **)(uintptr_t)list, count}; // NOLINT(performance-no-int-to-ptr)
}

static int build_environment(const struct launching *it, const struct adl_store_job *row, struct adl_strings *ret,
                             struct adl_error *err)
{
    const struct adl_inventory *inventory = it->config->inventory;
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    const uint32_t count = it->job->spec.gpus;
    struct adl_environment_gpu *gpus = calloc(count, sizeof *gpus);
    if (!gpus)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a job's environment");
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_inventory_gpu *gpu = &inventory->gpus[it->job->gpus[i]];
        gpus[i] = (struct adl_environment_gpu){.vendor = gpu->vendor, .index = gpu->index, .id = gpu->device};
    }
    const struct adl_account_login login = adl_account_login(row->uid);
    const char *socket = it->config->socket; /* a relative path means nothing in the job's folder */
    const struct adl_environment environment = {
        .user = row->user,
        .home = login.home,
        .shell = login.shell,
        .path = path_of(row->uid),
        .lang = getenv("LANG"),
        .socket = socket && socket[0] == '/' ? socket : NULL,
        .job_id = (int64_t)row->spec.id,
        .name = row->name,
        .submit_dir = row->directory,
        .node = cluster->nodes[adl_gpu_node_of(cluster, it->job->gpus[0])].name,
        .array_id = (int64_t)it->job->array_id,
        .array_index = row->array_index,
        .array_count = row->array.count,
        .array_min = row->array.min,
        .array_max = row->array.max,
        .array_step = row->array.step,
        .uid = row->uid,
        .gid = row->gid,
        .start_us = it->job->start_us,
        .limit_us = row->spec.limit_us,
        .cpu_count = (uint32_t)(row->spec.cpu_cores * (int32_t)count),
        .memory_mib = (int64_t)row->spec.memory_mib * count,
        .restart_count = it->job->attempts > 0 ? it->job->attempts - 1 : 0,
        .gpus = gpus,
        .gpu_count = count,
    };
    const struct adl_strings submitted = strings_of(row->environment);
    const int status = adl_environment_build(&environment, &submitted, ret, err);
    free(gpus);
    return status;
}

/* argv with the script's path in front, if there is a script. */
static int build_arguments(const struct launching *it, const struct adl_store_job *row, char *path, size_t size,
                           struct adl_strings *ret, struct adl_error *err)
{
    const struct adl_strings given = strings_of(row->argv);
    const bool script = row->script && row->script[0] != '\0';
    const char **items = calloc((size_t)given.count + 2, sizeof *items);
    if (!items)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a job's arguments");
    adl_spool_script(it->config->directory, row->spec.id, path, size);
    const int status = script ? adl_job_script_write(path, row->script, row->uid, row->gid, err) : 0;
    if (status) {
        free(items);
        return status;
    }
    items[0] = path;
    for (uint32_t i = 0; i < given.count; i++)
        items[i + script] = given.items[i];
    *ret = (struct adl_strings){items, given.count + script};
    return 0;
}

/* The user's further groups as numbers in text, in one block. */
static int build_groups(const struct adl_store_job *row, struct adl_strings *ret)
{
    gid_t groups[ADL_TASK_GROUPS_MAX];
    const uint32_t count = geteuid() == 0 ? adl_account_groups(row->user, row->gid, groups, ADL_TASK_GROUPS_MAX) : 0;
    const char **items = calloc(1, (count + 1) * sizeof *items + (size_t)count * 12);
    if (!items)
        return ADL_ENOMEM;
    char *text = (char *)(items + count + 1);
    for (uint32_t i = 0; i < count; i++, text += 12) {
        snprintf(text, 12, "%u", (unsigned)groups[i]);
        items[i] = text;
    }
    *ret = (struct adl_strings){items, count};
    return 0;
}

/* Umask and soft limits as they were where the job was submitted. */
static int build_process(const struct launching *it, const struct adl_store_job *row, struct adl_task_spec *spec,
                         struct adl_error *err)
{
    unsigned mask = 0;
    int status = adl_umask_read(row->mask, &mask, err);
    spec->mask = mask == 0 ? -1 : (int64_t)mask;
    spec->limits[ADL_RESOURCE_NOFILE] = it->config->file_limit;
    for (const char *const *at = row->limits; status == 0 && at && *at; at++) {
        enum adl_resource resource = ADL_RESOURCE_AS;
        int64_t limit = 0;
        status = adl_resource_read(*at, &resource, &limit, err);
        if (status == 0)
            spec->limits[resource] = limit;
    }
    return status;
}

static int launch_row(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    const struct launching *it = context;
    const struct adl_executor_local_config *config = it->config;
    struct adl_strings env = {0}, argv = {0}, groups = {0};
    struct adl_warn_signal warn = {0};
    char folder[ADL_STORE_PATH_MAX], path[ADL_STORE_PATH_MAX];
    int status = build_environment(it, row, &env, err);
    if (status == 0)
        status = build_arguments(it, row, path, sizeof path, &argv, err);
    if (status == 0 && build_groups(row, &groups))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a job's groups");
    if (status == 0 && row->warn_signal[0] != '\0')
        status = adl_warn_signal_read(row->warn_signal, "warn_signal", &warn, err);
    if (status == 0) {
        struct adl_task_spec spec = {
            .job_id = (int64_t)row->spec.id,
            .argv = argv,
            .env = env,
            .cwd = row->directory,
            .stdout_path = it->job->stdout_path,
            .stderr_path = strcmp(it->job->stderr_path, it->job->stdout_path) == 0 ? NULL : it->job->stderr_path,
            .append = it->job->attempts > 1,
            .uid = row->uid,
            .gid = row->gid,
            .groups = groups,
            .root = row->uid == 0,
            .time_limit_us = row->spec.limit_us,
            .grace_us = config->grace_us > 0 ? config->grace_us : -1,
            .warn_signal = warn.signal,
            .warn_us = warn.before_us,
            .warn_command = warn.shell_only,
            .warn_others = warn.signal > 0 && !warn.shell_only && row->script[0] != '\0',
            .cgroup_parent = config->cgroup,
            .memory_max_mib = config->cgroup ? (int64_t)row->spec.memory_mib * it->job->spec.gpus : 0,
            .cpus_milli = config->cgroup ? (int64_t)row->spec.cpu_cores * it->job->spec.gpus * 1000 : 0,
        };
        adl_spool_task(config->directory, row->spec.id, it->job->attempts, folder, sizeof folder);
        const struct adl_launch_options options = {.program = config->shepherd};
        status = build_process(it, row, &spec, err);
        if (status == 0)
            status = adl_task_launch(folder, &spec, &options, it->ret, err);
    }
    adl_environment_clear(&env);
    free(argv.items);
    free(groups.items);
    return status;
}

int adl_job_task_launch(const struct adl_executor_local_config *config, const struct adl_job_entry *job,
                        struct adl_task *ret, struct adl_error *err)
{
    struct launching it = {config, job, ret};
    const int found = adl_store_job_read(config->store, job->id, launch_row, &it, err);
    if (found == 0)
        return adl_fail(err, ADL_EABSENT, "the store does not have the job");
    return found < 0 ? found : 0;
}
