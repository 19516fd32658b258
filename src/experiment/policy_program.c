#include "experiment/policy_program.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_SIZE     128 /* of a request */
#define GREETING_MAX_SIZE 65536
#define PAGE_JOBS         1024 /* the most that one request lists */
#define ANSWER_LIMIT_S    60
#define TICK_NS           2000000
#define END_LIMIT_TICKS   1000 /* after which it is killed */

extern char **environ;

struct adl_policy_program {
    pid_t pid;
    int socket;
    char input[4096]; /* what has come and was not read yet */
    size_t input_at, input_size;
    struct adl_text output; /* an answer; its memory is kept */
    bool ready;             /* it has said so */
};

/* ---- processes ---- */

static bool is_python(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".py") == 0;
}

const char *adl_policy_program_fault(const char *path)
{
    if (access(path, R_OK))
        return strerror(errno);
    if (!is_python(path) && access(path, X_OK))
        return "it is neither a shared object (.so) nor a Python file (.py), and cannot be executed";
    return NULL;
}

static int spawn(const char *path, int end, pid_t *ret)
{
    const bool python = is_python(path);
    char *words[] = {python ? (char *)"python3" : (char *)path, python ? (char *)path : NULL, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return ENOMEM;
    int fault = posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
    if (fault == 0)
        fault = posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
    if (fault == 0)
        fault = python ? posix_spawnp(ret, "python3", &actions, NULL, words, environ)
                       : posix_spawn(ret, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return fault;
}

static int send_all(struct adl_policy_program *program)
{
    const char *data = program->output.data;
    size_t left = program->output.size;
    int status = adl_text_status(&program->output);
    while (status == 0 && left > 0) {
        const ssize_t sent = send(program->socket, data, left, MSG_NOSIGNAL);
        if (sent <= 0 && errno != EINTR)
            status = ADL_EIO;
        data += sent > 0 ? sent : 0;
        left -= sent > 0 ? (size_t)sent : 0;
    }
    adl_text_truncate(&program->output, 0);
    return status;
}

int adl_policy_program_start(const char *path, uint64_t seed, struct adl_policy_program **ret, struct adl_error *err)
{
    struct adl_policy_program *program = calloc(1, sizeof *program);
    const struct timeval limit = {.tv_sec = ANSWER_LIMIT_S};
    int ends[2];
    if (!program)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the program %.150s", path);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        free(program);
        return adl_fail(err, ADL_EIO, "no socket for the program %.150s: %s", path, strerror(errno));
    }
    program->socket = ends[0];
    const int fault = spawn(path, ends[1], &program->pid);
    close(ends[1]);
    if (fault) {
        close(ends[0]);
        free(program);
        return adl_fail(err, ADL_EIO, "cannot run %s%.150s: %s", is_python(path) ? "python3 " : "", path,
                        strerror(fault));
    }
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    adl_text_printf(&program->output, "begin %" PRIu64 "\n", seed); /* is sent with the first question */
    *ret = program;
    return 0;
}

void adl_policy_program_end(struct adl_policy_program *program)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};
    if (!program)
        return;
    close(program->socket); /* it reads the end of its input, and ends */
    bool ended = false;
    for (int i = 0; i < END_LIMIT_TICKS && !ended; i++) {
        ended = waitpid(program->pid, NULL, WNOHANG) != 0;
        if (!ended)
            nanosleep(&tick, NULL);
    }
    if (!ended) {
        kill(program->pid, SIGKILL);
        waitpid(program->pid, NULL, 0);
    }
    adl_text_clear(&program->output);
    free(program);
}

/* ---- requests ---- */

/* The next character, or negative. */
static int read_char(struct adl_policy_program *program)
{
    if (program->input_at == program->input_size) {
        ssize_t size;
        do
            size = recv(program->socket, program->input, sizeof program->input, 0);
        while (size < 0 && errno == EINTR);
        if (size <= 0)
            return ADL_EIO;
        program->input_at = 0;
        program->input_size = (size_t)size;
    }
    return (unsigned char)program->input[program->input_at++];
}

/* What it prints before it says that it is ready is skipped. */
static int await_ready(struct adl_policy_program *program)
{
    static const char word[] = "\nready\n";
    size_t matched = 1; /* as after a line */
    for (size_t i = 0; !program->ready && i < GREETING_MAX_SIZE; i++) {
        const int c = read_char(program);
        if (c < 0)
            return ADL_EIO;
        matched = c == word[matched] ? matched + 1 : c == '\n' ? 1 : 0;
        program->ready = !word[matched];
    }
    return program->ready ? 0 : ADL_EIO;
}

static int read_line(struct adl_policy_program *program, char ret[LINE_MAX_SIZE])
{
    size_t size = 0;
    for (int c = read_char(program); c != '\n'; c = read_char(program)) {
        if (c < 0 || size + 1 == LINE_MAX_SIZE)
            return ADL_EIO;
        ret[size++] = (char)c;
    }
    ret[size] = '\0';
    return 0;
}

static void list_types(struct adl_text *out, const struct adlro_policy_view *view)
{
    for (uint32_t t = 0; t < view->type_count; t++) {
        struct adlro_policy_type type = {.size = sizeof type};
        view->type(view, t, &type);
        adl_text_printf(out, "%s %u %u %d\n", type.name, type.gpus, type.free_gpus, type.memory_mib);
    }
}

static void list_job(struct adl_text *out, const struct adlro_policy_view *view, const struct adlro_policy_job *job)
{
    adl_text_printf(out, "%u %" PRIu64 " %u %u %u ", job->handle, job->id, job->user, job->gpus, job->types);
    adl_text_real(out, job->priority);
    adl_text_printf(out, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %u %d %d", job->age_us, job->waited_us,
                    job->limit_us, job->running_us, job->type, job->preemptible, job->stopping);
    for (uint32_t t = 0; t < view->type_count; t++)
        adl_text_printf(out, " %" PRId64, view->predicted_us(view, job->handle, t));
    adl_text_char(out, '\n');
}

typedef int job_function(const struct adlro_policy_view *view, uint32_t index, struct adlro_policy_job *ret);

/* As many lines as there are jobs, at most count; the number of them first. */
static int list_jobs(struct adl_text *out, const struct adlro_policy_view *view, job_function *get, uint32_t total,
                     const unsigned long long *words)
{
    if (words[0] > total || words[1] > PAGE_JOBS)
        return ADL_EIO;
    const uint32_t first = (uint32_t)words[0], left = total - first;
    const uint32_t count = words[1] < left ? (uint32_t)words[1] : left;
    adl_text_printf(out, "%u\n", count);
    for (uint32_t i = 0; i < count; i++) {
        struct adlro_policy_job job = {.size = sizeof job};
        get(view, first + i, &job);
        list_job(out, view, &job);
    }
    return 0;
}

static int answer(struct adl_text *out, const struct adlro_policy_view *view, const char *verb, int count,
                  const unsigned long long *words)
{
    if (strcmp(verb, "types") == 0 && count == 0)
        list_types(out, view);
    else if (strcmp(verb, "waiting") == 0 && count == 2)
        return list_jobs(out, view, view->waiting, view->waiting_count, words);
    else if (strcmp(verb, "running") == 0 && count == 2)
        return list_jobs(out, view, view->running, view->running_count, words);
    else if (strcmp(verb, "start") == 0 && count == 2 && words[0] <= UINT32_MAX && words[1] <= UINT32_MAX)
        adl_text_printf(out, "%d\n", view->start(view, (uint32_t)words[0], (uint32_t)words[1]));
    else if (strcmp(verb, "stop") == 0 && count == 1 && words[0] <= UINT32_MAX)
        adl_text_printf(out, "%d\n", view->stop(view, (uint32_t)words[0]));
    else if (strcmp(verb, "wake") == 0 && count == 1 && words[0] <= INT64_MAX)
        view->wake(view, (int64_t)words[0]);
    else
        return ADL_EIO;
    return 0;
}

/* 1: it has decided; 0: it was answered; negative: it said something else. */
static int serve(struct adl_policy_program *program, const struct adlro_policy_view *view)
{
    char line[LINE_MAX_SIZE], verb[16] = "";
    unsigned long long words[2] = {0};
    if (read_line(program, line))
        return ADL_EIO;
    if (strcmp(line, "end") == 0)
        return 1;
    const int count = sscanf(line, "%15s %19llu %19llu", verb, &words[0], &words[1]);
    if (count < 1 || strchr(line, '-') || answer(&program->output, view, verb, count - 1, words))
        return ADL_EIO;
    return send_all(program);
}

int adl_policy_program_decide(struct adl_policy_program *program, const struct adlro_policy_view *view)
{
    int status;
    adl_text_printf(&program->output, "decide %" PRId64 " %u %u %u\n", view->now_us, view->type_count,
                    view->waiting_count, view->running_count);
    status = send_all(program);
    if (status == 0 && !program->ready)
        status = await_ready(program);
    while (status == 0)
        status = serve(program, view);
    return status < 0 ? status : 0;
}
