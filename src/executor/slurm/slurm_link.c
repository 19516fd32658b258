#include "executor/slurm/slurm_link.h"

#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNSENT_MAX (16u << 20) /* bytes: an adapter that reads nothing for so long counts as dead */

extern char **environ;

struct adl_slurm_link {
    pid_t pid;
    int fd;
    struct adl_text unsent;
    size_t sent; /* bytes of it */
    char *buffer;
    size_t filled, looked; /* bytes in it; of these, without a line feed */
};

/* Our environment, with SLURM_CONF in its place. NULL if out of memory. */
static char **make_environment(const char *conf, char *setting, size_t size)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 2, sizeof *copy);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!conf || strncmp(environ[i], "SLURM_CONF=", 11) != 0)
            copy[kept++] = environ[i];
    if (conf) {
        snprintf(setting, size, "SLURM_CONF=%s", conf);
        copy[kept] = setting;
    }
    return copy;
}

static int spawn(struct adl_slurm_link *link, const char *program, const char *conf, int theirs, struct adl_error *err)
{
    char setting[4200];
    char *const argv[] = {(char *)(uintptr_t)program, NULL}; // NOLINT(performance-no-int-to-ptr)
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    char **environment = make_environment(conf, setting, sizeof setting);
    if (!environment || posix_spawn_file_actions_init(&files)) {
        free(environment);
        return adl_fail(err, ADL_ENOMEM, "out of memory to start %s", program);
    }
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_adddup2(&files, theirs, 0);
    posix_spawn_file_actions_adddup2(&files, theirs, 1);
    const int error = strchr(program, '/') ? posix_spawn(&link->pid, program, &files, &attributes, argv, environment)
                                           : posix_spawnp(&link->pid, program, &files, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return error ? adl_fail(err, ADL_EIO, "the Slurm adapter %s cannot be started: %s", program, strerror(error)) : 0;
}

int adl_slurm_link_open(const char *program, const char *conf, struct adl_slurm_link **ret, struct adl_error *err)
{
    int ends[2];
    struct adl_slurm_link *link = calloc(1, sizeof *link);
    if (!link)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the Slurm adapter");
    link->fd = -1;
    link->buffer = malloc(ADL_SLURM_LINE_MAX + 1);
    int status = link->buffer ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for the Slurm adapter");
    if (status == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        status = adl_fail(err, ADL_EIO, "cannot make a socket for the Slurm adapter: %s", strerror(errno));
    if (status == 0) {
        link->fd = ends[0];
        fcntl(link->fd, F_SETFL, O_NONBLOCK);
        status = spawn(link, program, conf, ends[1], err);
        close(ends[1]);
    }
    if (status) {
        adl_slurm_link_close(link);
        return status;
    }
    *ret = link;
    return 0;
}

void adl_slurm_link_close(struct adl_slurm_link *link)
{
    if (!link)
        return;
    if (link->fd >= 0)
        close(link->fd); /* it ends at the end of its input */
    for (int i = 0; link->pid > 0 && i < 40 && waitpid(link->pid, NULL, WNOHANG) == 0; i++) {
        const struct timespec pause = {0, 5000000};
        if (i == 20)
            kill(link->pid, SIGTERM);
        if (i == 38)
            kill(link->pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
    adl_text_clear(&link->unsent);
    free(link->buffer);
    free(link);
}

int adl_slurm_link_fd(const struct adl_slurm_link *link)
{
    return link->fd;
}

static int flush(struct adl_slurm_link *link, struct adl_error *err)
{
    while (link->sent < link->unsent.size) {
        const ssize_t wrote =
            send(link->fd, link->unsent.data + link->sent, link->unsent.size - link->sent, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (wrote < 0)
            return adl_fail(err, ADL_EIO, "the Slurm adapter has gone: %s", strerror(errno));
        link->sent += (size_t)wrote;
    }
    adl_text_truncate(&link->unsent, 0);
    link->sent = 0;
    return 0;
}

int adl_slurm_link_send(struct adl_slurm_link *link, struct adl_text *object, struct adl_error *err)
{
    if (object->size > 0)
        adl_text_bytes(&link->unsent, object->data, object->size);
    adl_text_char(&link->unsent, '\n');
    const bool whole = adl_text_status(object) == 0 && adl_text_status(&link->unsent) == 0;
    adl_text_clear(object);
    if (!whole)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a message to the Slurm adapter");
    if (link->unsent.size - link->sent > UNSENT_MAX)
        return adl_fail(err, ADL_EIO, "the Slurm adapter has stopped reading its orders");
    return flush(link, err);
}

/* A line of the buffer as a message: 1; 0 if there is no whole line. */
static int take_line(struct adl_slurm_link *link, struct cJSON **ret, struct adl_error *err)
{
    char *end = memchr(link->buffer + link->looked, '\n', link->filled - link->looked);
    if (!end) {
        link->looked = link->filled;
        return link->filled < ADL_SLURM_LINE_MAX
                   ? 0
                   : adl_fail(err, ADL_EIO, "the Slurm adapter sent a line of more than %d bytes", ADL_SLURM_LINE_MAX);
    }
    const size_t size = (size_t)(end - link->buffer);
    *ret = cJSON_ParseWithLength(link->buffer, size);
    if (!cJSON_IsObject(*ret)) {
        cJSON_Delete(*ret);
        return adl_fail(err, ADL_EIO, "the Slurm adapter sent a line that is not a message: %.*s",
                        size < 100 ? (int)size : 100, link->buffer);
    }
    link->filled -= size + 1;
    link->looked = 0;
    memmove(link->buffer, end + 1, link->filled);
    return 1;
}

int adl_slurm_link_next(struct adl_slurm_link *link, struct cJSON **ret, struct adl_error *err)
{
    int status = flush(link, err);
    for (;;) {
        if (status == 0)
            status = take_line(link, ret, err);
        if (status)
            return status;
        const ssize_t got = read(link->fd, link->buffer + link->filled, ADL_SLURM_LINE_MAX - link->filled);
        if (got > 0)
            link->filled += (size_t)got;
        else if (got == 0)
            return adl_fail(err, ADL_EIO, "the Slurm adapter has ended");
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        else if (errno != EINTR)
            return adl_fail(err, ADL_EIO, "cannot read from the Slurm adapter: %s", strerror(errno));
    }
}

bool adl_slurm_link_wait(const struct adl_slurm_link *link, int timeout_ms)
{
    struct pollfd fd = {link->fd, POLLIN, 0};
    return poll(&fd, 1, timeout_ms) > 0;
}
