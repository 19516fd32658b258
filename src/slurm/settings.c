#include "slurm/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adl_slurm_settings_path(char *ret, size_t size)
{
    const char *conf = getenv("SLURM_CONF"); // NOLINT(concurrency-mt-unsafe): one thread
    if (!conf || !*conf)
        conf = "/etc/slurm/slurm.conf";
    const char *slash = strrchr(conf, '/');
    snprintf(ret, size, "%.*s/adlro.conf", slash ? (int)(slash - conf) : 1, slash ? conf : ".");
}

static int read_line(char *line, struct adl_slurm_settings *settings, const char *path, struct adl_error *err)
{
    line[strcspn(line, "#\n")] = '\0';
    char *rest = NULL;
    const char *key = strtok_r(line, " \t=", &rest);
    if (!key)
        return 0;
    if (strcmp(key, "partitions") == 0) {
        for (const char *name = strtok_r(NULL, " \t,", &rest); name; name = strtok_r(NULL, " \t,", &rest)) {
            if (settings->partition_count == ADL_PARTITIONS_MAX || strlen(name) >= sizeof settings->partitions[0])
                return adl_fail(err, ADL_EINVAL, "%s: at most %d partitions with names of less than %zu bytes", path,
                                ADL_PARTITIONS_MAX, sizeof settings->partitions[0]);
            snprintf(settings->partitions[settings->partition_count++], sizeof settings->partitions[0], "%s", name);
        }
    } else if (strcmp(key, "heartbeat") == 0) {
        const char *file = strtok_r(NULL, " \t", &rest);
        if (!file || strlen(file) >= sizeof settings->heartbeat)
            return adl_fail(err, ADL_EINVAL, "%s: heartbeat has to name a file", path);
        snprintf(settings->heartbeat, sizeof settings->heartbeat, "%s", file);
    }
    return 0;
}

int adl_slurm_settings_read(const char *path, struct adl_slurm_settings *ret, struct adl_error *err)
{
    struct adl_slurm_settings settings = {.heartbeat = ADL_SLURM_HEARTBEAT_FILE};
    FILE *file = fopen(path, "r");
    if (!file && errno != ENOENT)
        return adl_fail(err, ADL_EIO, "%s: %s", path, strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
    char line[1024];
    int status = 0;
    while (file && status == 0 && fgets(line, sizeof line, file))
        status = read_line(line, &settings, path, err);
    if (file)
        fclose(file);
    if (status == 0)
        *ret = settings;
    return status;
}

int adl_slurm_heartbeat_write(const char *path, int64_t now_s, struct adl_error *err)
{
    char fresh[420];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    bool good = file != NULL;
    if (file) {
        good = fprintf(file, "%" PRId64 "\n", now_s) > 0;
        good = fclose(file) == 0 && good;
    }
    if (!good || rename(fresh, path) != 0)
        return adl_fail(err, ADL_EIO, "%s: %s", path, strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
    return 0;
}

int64_t adl_slurm_heartbeat_age_s(const char *path, int64_t now_s)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return INT64_MAX;
    char text[32] = "";
    const bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    const int64_t then_s = read ? strtoll(text, NULL, 10) : 0;
    return then_s > 0 ? now_s - then_s : INT64_MAX;
}
