#include "executor/local/power_link.h"

#include "powercap/allow_list.h"
#include "powercap/powercap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ; /* the helper needs none of it but what finds a driver */

#define GREETING_MS 10000
#define ANSWER_MS   2000

struct adl_power_link {
    int fd;
    pid_t pid; /* 0: systemd started it */
    struct adl_allow_entry gpus[ADL_POWERCAP_GPUS_MAX];
    uint32_t gpu_count;
    char buffer[4096];
    size_t buffer_size;
};

/* ---- lines ---- */

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The next line, without its end. */
static int read_line(struct adl_power_link *link, int64_t until_ms, char ret[ADL_POWERCAP_LINE_MAX + 16],
                     struct adl_error *err)
{
    for (;;) {
        const char *end = memchr(link->buffer, '\n', link->buffer_size);
        const size_t length = end ? (size_t)(end - link->buffer) : 0;
        if (end && length < ADL_POWERCAP_LINE_MAX + 16) {
            memcpy(ret, link->buffer, length);
            ret[length] = '\0';
            link->buffer_size -= length + 1;
            memmove(link->buffer, end + 1, link->buffer_size);
            return 0;
        }
        const int64_t left_ms = until_ms - now_ms();
        struct pollfd ready = {link->fd, POLLIN, 0};
        if (end || link->buffer_size == sizeof link->buffer)
            return adl_fail(err, ADL_EIO, "the power helper sent a line that is too long");
        if (left_ms <= 0 || (poll(&ready, 1, (int)left_ms) == 0))
            return adl_fail(err, ADL_EIO, "the power helper does not answer");
        const ssize_t got =
            recv(link->fd, link->buffer + link->buffer_size, sizeof link->buffer - link->buffer_size, 0);
        if (got == 0 || (got < 0 && errno != EINTR))
            return adl_fail(err, ADL_EIO, "the power helper has ended");
        link->buffer_size += got > 0 ? (size_t)got : 0;
    }
}

static int ask(struct adl_power_link *link, const char *line, struct adl_error *err)
{
    char text[ADL_POWERCAP_LINE_MAX + 16];
    const size_t size = strlen(line);
    if (send(link->fd, line, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
        return adl_fail(err, ADL_EIO, "the power helper has ended");
    const int status = read_line(link, now_ms() + ANSWER_MS, text, err);
    if (status || strcmp(text, "ok") == 0)
        return status;
    return adl_fail(err, ADL_EREFUSED, "power helper: %.180s", strncmp(text, "no ", 3) == 0 ? text + 3 : text);
}

/* ---- opening ---- */

static int greet(struct adl_power_link *link, struct adl_error *err)
{
    char text[ADL_POWERCAP_LINE_MAX + 16];
    const int64_t until_ms = now_ms() + GREETING_MS;
    for (;;) {
        struct adl_allow_entry it;
        unsigned limit_mw;
        const int status = read_line(link, until_ms, text, err);
        if (status)
            return status;
        if (strcmp(text, "ready") == 0)
            return 0;
        if (strncmp(text, "no ", 3) == 0)
            return adl_fail(err, ADL_EREFUSED, "power helper: %.180s", text + 3);
        if (sscanf(text, "gpu %63s %u %u %u", it.id, &limit_mw, &it.least_mw, &it.most_mw) != 4 ||
            link->gpu_count == ADL_POWERCAP_GPUS_MAX)
            return adl_fail(err, ADL_EIO, "the power helper speaks another language");
        link->gpus[link->gpu_count++] = it;
    }
}

static int spawn(struct adl_power_link *link, const struct adl_power_link_config *config, int theirs,
                 struct adl_error *err)
{
    char *argv[12] = {(char *)config->helper, "--allow", (char *)config->allow, "--state", (char *)config->state};
    int count = 5;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    if (config->nvml)
        argv[count++] = "--nvml", argv[count++] = (char *)config->nvml;
    if (config->sysfs)
        argv[count++] = "--sysfs", argv[count++] = (char *)config->sysfs;
    sigemptyset(&none);
    if (posix_spawn_file_actions_init(&files))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the power helper");
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_adddup2(&files, theirs, 0);
    const int error = posix_spawn(&link->pid, config->helper, &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error ? adl_fail(err, ADL_EIO, "the power helper %.150s cannot be started: %s", config->helper,
                            strerror(error))
                 : 0;
}

static int start_helper(struct adl_power_link *link, const struct adl_power_link_config *config, struct adl_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return adl_fail(err, ADL_EIO, "no socket for the power helper: %s", strerror(errno));
    link->fd = ends[0];
    const int status = spawn(link, config, ends[1], err);
    close(ends[1]);
    return status;
}

static int connect_helper(struct adl_power_link *link, const char *path, struct adl_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >= sizeof address.sun_path)
        return adl_fail(err, ADL_EINVAL, "the path of the power helper's socket is too long");
    link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fd < 0 || connect(link->fd, (struct sockaddr *)&address, sizeof address))
        return adl_fail(err, ADL_EIO, "the power helper cannot be reached at %.100s: %s", path, strerror(errno));
    return 0;
}

int adl_power_link_open(const struct adl_power_link_config *config, struct adl_power_link **ret, struct adl_error *err)
{
    struct stat about;
    struct adl_power_link *link = calloc(1, sizeof *link);
    if (!link)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the power helper");
    link->fd = -1;
    const bool socket = stat(config->helper, &about) == 0 && S_ISSOCK(about.st_mode);
    int status = socket ? connect_helper(link, config->helper, err) : start_helper(link, config, err);
    if (status == 0)
        status = greet(link, err);
    if (status) {
        adl_power_link_close(link);
        return status;
    }
    *ret = link;
    return 0;
}

void adl_power_link_close(struct adl_power_link *link)
{
    if (!link)
        return;
    if (link->fd >= 0)
        close(link->fd); /* it restores all limits and ends */
    for (int i = 0; link->pid > 0 && i < 200 && waitpid(link->pid, NULL, WNOHANG) == 0; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    free(link);
}

/* ---- limits ---- */

int adl_power_link_check(const struct adl_power_link *link, const char *gpu, double power_w, struct adl_error *err)
{
    for (uint32_t i = 0; i < link->gpu_count; i++) {
        const struct adl_allow_entry *it = &link->gpus[i];
        if (strcmp(it->id, gpu) != 0)
            continue;
        const double power_mw = power_w * 1000;
        return power_mw >= it->least_mw && power_mw <= it->most_mw
                   ? 0
                   : adl_fail(err, ADL_EREFUSED,
                              "%.0f W are not within the %u to %u W that the power helper allows for %s", power_w,
                              it->least_mw / 1000, it->most_mw / 1000, gpu);
    }
    return adl_fail(err, ADL_EREFUSED, "the power helper may not limit %s: it is not in its allow list", gpu);
}

int adl_power_link_cap(struct adl_power_link *link, const char *gpu, double power_w, struct adl_error *err)
{
    char line[ADL_POWERCAP_LINE_MAX];
    if ((size_t)snprintf(line, sizeof line, "cap %s %.0f\n", gpu, power_w * 1000) >= sizeof line)
        return adl_fail(err, ADL_EINVAL, "the name of a GPU is too long");
    return ask(link, line, err);
}

int adl_power_link_ping(struct adl_power_link *link, struct adl_error *err)
{
    return ask(link, "ping\n", err);
}
