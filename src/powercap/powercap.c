#include "powercap/powercap.h"

#include "powercap/gpu_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STATE_MAX 32768

/* What a limit was before it was changed. */
struct original {
    char id[ADL_POWERCAP_ID_SIZE];
    uint32_t limit_mw;
};

struct helper {
    const struct adl_powercap_options *options;
    struct adl_allow_list allowed;
    struct adl_gpu_limits *limits;
    struct original originals[ADL_POWERCAP_GPUS_MAX];
    uint32_t original_count;
    char line[ADL_POWERCAP_LINE_MAX];
    size_t line_size;
};

/* ---- the state file ---- */

/* Complete or absent, and on disk before a limit is changed. */
static int write_state(const struct helper *helper, struct adl_error *err)
{
    char temporary[300], text[STATE_MAX];
    size_t size = 0;
    for (uint32_t i = 0; i < helper->original_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s %u\n", helper->originals[i].id,
                                 helper->originals[i].limit_mw);
    snprintf(temporary, sizeof temporary, "%.280s.new", helper->options->state);
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool written = fd >= 0 && write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    if (!written || rename(temporary, helper->options->state))
        return adl_fail(err, ADL_EIO, "%.200s cannot be written: %s", helper->options->state,
                        strerror(written ? errno : error));
    return 0;
}

/* 1: read; 0: there is none. */
static int read_state(struct helper *helper, struct adl_error *err)
{
    static char text[STATE_MAX + 1];
    const int fd = open(helper->options->state, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT
                   ? 0
                   : adl_fail(err, ADL_EIO, "%.200s cannot be read: %s", helper->options->state, strerror(errno));
    const ssize_t size = read(fd, text, STATE_MAX);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line && helper->original_count < ADL_POWERCAP_GPUS_MAX;
         line = strtok_r(NULL, "\n", &rest)) {
        struct original it;
        if (sscanf(line, "%63s %u", it.id, &it.limit_mw) == 2)
            helper->originals[helper->original_count++] = it;
    }
    return 1;
}

/* ---- limits ---- */

static struct original *find_original(struct helper *helper, const char *id)
{
    for (uint32_t i = 0; i < helper->original_count; i++)
        if (strcmp(helper->originals[i].id, id) == 0)
            return &helper->originals[i];
    return NULL;
}

/* All of them; the state file goes only if that succeeded. A GPU that has gone needs nothing. */
static int restore_all(struct helper *helper, struct adl_error *err)
{
    int status = 0;
    for (uint32_t i = 0; i < helper->original_count; i++) {
        const struct adl_gpu_limit *gpu = adl_gpu_limits_find(helper->limits, helper->originals[i].id);
        const int one = gpu ? adl_gpu_limits_set(helper->limits, gpu, helper->originals[i].limit_mw, err) : 0;
        status = status ? status : one;
    }
    if (status)
        return status;
    helper->original_count = 0;
    return unlink(helper->options->state) && errno != ENOENT
               ? adl_fail(err, ADL_EIO, "%.200s cannot be removed: %s", helper->options->state, strerror(errno))
               : 0;
}

static int set_limit(struct helper *helper, const char *id, uint32_t limit_mw, struct adl_error *err)
{
    const struct adl_gpu_limit *gpu = adl_gpu_limits_find(helper->limits, id);
    const struct adl_allow_entry *allowed = adl_allow_list_find(&helper->allowed, id);
    const struct original *before = find_original(helper, id);
    if (!gpu || !allowed)
        return adl_fail(err, ADL_EREFUSED, gpu ? "this GPU is not in the allow list" : "there is no such GPU");
    if (limit_mw == 0)
        return before ? adl_gpu_limits_set(helper->limits, gpu, before->limit_mw, err) : 0;
    if (limit_mw < allowed->least_mw || limit_mw > allowed->most_mw)
        return adl_fail(err, ADL_EREFUSED, "the allow list has %u to %u W for this GPU", allowed->least_mw / 1000,
                        allowed->most_mw / 1000);
    if (!before) {
        struct original *it = &helper->originals[helper->original_count++];
        snprintf(it->id, sizeof it->id, "%s", id);
        it->limit_mw = gpu->limit_mw;
        const int status = write_state(helper, err);
        if (status) {
            helper->original_count--;
            return status;
        }
    }
    return adl_gpu_limits_set(helper->limits, gpu, limit_mw, err);
}

/* ---- the client ---- */

static bool answer(const struct helper *helper, const char *text)
{
    const size_t size = strlen(text);
    return send(helper->options->fd, text, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool greet(const struct helper *helper)
{
    char line[ADL_POWERCAP_LINE_MAX];
    uint32_t count = 0;
    const struct adl_gpu_limit *list = adl_gpu_limits_list(helper->limits, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_allow_entry *allowed = adl_allow_list_find(&helper->allowed, list[i].id);
        if (!allowed)
            continue;
        snprintf(line, sizeof line, "gpu %s %u %u %u\n", list[i].id, list[i].limit_mw,
                 allowed->least_mw > list[i].least_mw ? allowed->least_mw : list[i].least_mw,
                 allowed->most_mw < list[i].most_mw ? allowed->most_mw : list[i].most_mw);
        if (!answer(helper, line))
            return false;
    }
    return answer(helper, "ready\n");
}

/* "cap ID MILLIWATTS", exactly. */
static bool read_cap(char *line, const char **ret_id, uint32_t *ret_mw)
{
    char *rest = NULL, *end = NULL;
    const char *verb = strtok_r(line, " ", &rest), *id = strtok_r(NULL, " ", &rest),
               *number = strtok_r(NULL, " ", &rest);
    if (!verb || strcmp(verb, "cap") != 0 || !id || !number || *rest || *number < '0' || *number > '9' ||
        strlen(number) > 9)
        return false;
    *ret_id = id;
    *ret_mw = (uint32_t)strtoul(number, &end, 10);
    return *end == '\0';
}

/* False: the client is gone, or speaks another language. */
static bool obey(struct helper *helper, char *line)
{
    struct adl_error err = {""};
    char text[ADL_POWERCAP_LINE_MAX + 8];
    const char *id;
    uint32_t limit_mw;
    if (strcmp(line, "ping") == 0)
        return answer(helper, "ok\n");
    if (!read_cap(line, &id, &limit_mw))
        return false;
    if (set_limit(helper, id, limit_mw, &err) == 0)
        return answer(helper, "ok\n");
    snprintf(text, sizeof text, "no %.200s\n", err.text);
    return answer(helper, text);
}

static bool take_bytes(struct helper *helper)
{
    const ssize_t got = recv(helper->options->fd, helper->line + helper->line_size,
                             sizeof helper->line - helper->line_size, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0)
        return false;
    helper->line_size += (size_t)got;
    for (char *end; (end = memchr(helper->line, '\n', helper->line_size));) {
        const size_t length = (size_t)(end - helper->line) + 1;
        *end = '\0';
        if (strlen(helper->line) != length - 1 || !obey(helper, helper->line))
            return false;
        helper->line_size -= length;
        memmove(helper->line, helper->line + length, helper->line_size);
    }
    return helper->line_size < sizeof helper->line;
}

/* Until the client ends, falls silent, breaks the rules, or we have to end. */
static void listen_to(struct helper *helper)
{
    const int silence_ms = helper->options->silence_ms > 0 ? helper->options->silence_ms : ADL_POWERCAP_SILENCE_MS;
    for (;;) {
        struct pollfd fds[2] = {{helper->options->fd, POLLIN, 0}, {helper->options->end_fd, POLLIN, 0}};
        const int ready = poll(fds, 2, silence_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || fds[1].revents || !take_bytes(helper))
            return;
    }
}

/* ---- runs ---- */

static int begin(struct helper *helper, const struct adl_powercap_options *options, struct adl_error *err)
{
    helper->options = options;
    const int found = read_state(helper, err);
    if (found < 0)
        return found;
    const int status = adl_gpu_limits_open(options->nvml, options->sysfs, &helper->limits, err);
    return status ? status : restore_all(helper, err);
}

int adl_powercap_restore(const struct adl_powercap_options *options, struct adl_error *err)
{
    struct helper *helper = calloc(1, sizeof *helper);
    if (!helper)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    const bool nothing = access(options->state, F_OK) != 0;
    const int status = nothing ? 0 : begin(helper, options, err);
    adl_gpu_limits_close(helper->limits);
    free(helper);
    return status;
}

int adl_powercap_serve(const struct adl_powercap_options *options, struct adl_error *err)
{
    struct helper *helper = calloc(1, sizeof *helper);
    if (!helper)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    int status = adl_allow_list_load(options->allow, &helper->allowed, err);
    if (status == 0)
        status = begin(helper, options, err);
    if (status == 0 && greet(helper))
        listen_to(helper);
    if (status == 0 && helper->original_count > 0)
        status = restore_all(helper, err);
    if (status) {
        char text[ADL_POWERCAP_LINE_MAX + 8];
        snprintf(text, sizeof text, "no %.200s\n", err->text);
        helper->options = options;
        answer(helper, text);
    }
    adl_gpu_limits_close(helper->limits);
    free(helper);
    return status;
}
