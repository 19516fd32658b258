#include "executor/local/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOT_RUNNABLE 126 /* as a shell reports it */
#define NOT_FOUND    127

/* Everything below runs in the forked process and ends it on failure. */
static _Noreturn void give_up(int report, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static _Noreturn void give_up(int report, int code, const char *fmt, ...)
{
    char text[1 + ADL_TASK_TEXT_SIZE];
    text[0] = (char)code;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + 1, sizeof text - 1, fmt, args);
    va_end(args);
    if (write(report, text, 1 + strlen(text + 1)) < 0)
        _exit(NOT_RUNNABLE); /* the shepherd is gone */
    _exit(code);
}

static void set_limits(const struct adl_task_spec *spec, int report)
{
    for (int i = 0; i < ADL_RESOURCE_COUNT; i++)
        if (adl_resource_set((enum adl_resource)i, spec->limits[i]))
            give_up(report, NOT_RUNNABLE, "resource limit %s cannot be set to %lld: %s",
                    adl_resource_name((enum adl_resource)i), (long long)spec->limits[i], strerror(errno));
}

static void become_user(const struct adl_task_spec *spec, int report)
{
    const uid_t uid = (uid_t)spec->uid;
    const gid_t gid = (gid_t)spec->gid;
    if (geteuid() != 0) {
        if (uid != geteuid() || gid != getegid())
            give_up(report, NOT_RUNNABLE, "uid %u, gid %u cannot be taken on by uid %u: only root can", uid, gid,
                    geteuid());
        return;
    }
    gid_t groups[ADL_TASK_GROUPS_MAX + 1] = {gid};
    for (uint32_t i = 0; i < spec->groups.count; i++)
        groups[i + 1] = (gid_t)strtoul(spec->groups.items[i], NULL, 10);
    if (setgroups(spec->groups.count + 1, groups) || setgid(gid) || setuid(uid))
        give_up(report, NOT_RUNNABLE, "uid %u, gid %u cannot be taken on: %s", uid, gid, strerror(errno));
    if (uid != 0 && setuid(0) == 0)
        give_up(report, NOT_RUNNABLE, "uid %u can become root again", uid);
}

/* Opens path as descriptor fd. Does not block: a pipe that nobody reads must not delay the job. */
static void open_as(const char *path, int flags, int fd, const char *what, int report)
{
    const int opened = open(path, flags | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
    if (opened < 0)
        give_up(report, NOT_RUNNABLE, "%s %.200s: %s", what, path,
                errno == ELOOP ? "is a symbolic link" : strerror(errno));
    const int now = fcntl(opened, F_GETFL);
    if (now < 0 || fcntl(opened, F_SETFL, now & ~O_NONBLOCK) || dup2(opened, fd) < 0)
        give_up(report, NOT_RUNNABLE, "%s %.200s: %s", what, path, strerror(errno));
    close(opened);
}

static void open_files(const struct adl_task_spec *spec, int report)
{
    const int out = O_WRONLY | O_CREAT | (spec->append ? O_APPEND : O_TRUNC);
    open_as(spec->stdin_path ? spec->stdin_path : "/dev/null", O_RDONLY, STDIN_FILENO, "standard input", report);
    open_as(spec->stdout_path ? spec->stdout_path : "/dev/null", out, STDOUT_FILENO, "standard output", report);
    const bool same = !spec->stderr_path || (spec->stdout_path && strcmp(spec->stderr_path, spec->stdout_path) == 0);
    if (!same)
        open_as(spec->stderr_path, out, STDERR_FILENO, "standard error", report);
    else if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        give_up(report, NOT_RUNNABLE, "standard error: %s", strerror(errno));
}

static void reset_signals(void)
{
    sigset_t none;
    /* All zero is the default action. By system call, because sigaction() does not touch the two signals that the C
     * library reserves, and posix_spawn() made the shepherd ignore them. It fails for KILL and STOP. */
    const unsigned long standard[8] = {0};
    for (int i = 1; i <= 64; i++)
        syscall(SYS_rt_sigaction, i, standard, NULL, (size_t)8);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static const char *find_env(char *const *env, const char *name)
{
    const size_t length = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
}

/* Like execvp, but with the job's PATH, and a file of unknown format is not passed to a shell. Returns with errno
 * set. */
static void exec_by_path(char *const *argv, char *const *env)
{
    char full[PATH_MAX];
    int error = ENOENT;
    const char *path = find_env(env, "PATH");
    if (strchr(argv[0], '/')) {
        execve(argv[0], argv, env);
        return;
    }
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at;
         at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        const int length = (int)strcspn(at, ":");
        if ((size_t)snprintf(full, sizeof full, "%.*s/%s", length > 0 ? length : 1, length > 0 ? at : ".", argv[0]) >=
            sizeof full)
            continue;
        execve(full, argv, env);
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return;
        if (errno == EACCES)
            error = EACCES;
    }
    errno = error;
}

static _Noreturn void exec_command(const struct adl_task_spec *spec, const char *marker, int report)
{
    const char *shell[] = {"/bin/sh", "-c", spec->shell, NULL};
    const char **argv = spec->shell ? shell : spec->argv.items;
    const char **env = calloc((size_t)spec->env.count + 2, sizeof *env);
    if (!env)
        give_up(report, NOT_RUNNABLE, "out of memory for the environment");
    for (uint32_t i = 0; i < spec->env.count; i++)
        env[i] = spec->env.items[i];
    env[spec->env.count] = marker;
    /* exec does not write to them; its type is older than const. */
    exec_by_path((char *const *)(void *)argv, (char *const *)(void *)env);
    const int error = errno;
    const char *hint = error == EACCES    ? " (chmod +x makes a script executable)"
                       : error == ENOEXEC ? " (a script starts with a line like #!/bin/sh)"
                       : error == ENOENT && strchr(argv[0], '/') && access(argv[0], F_OK) == 0
                           ? " (it is there, but the interpreter in its first line is not; do its lines end in CR LF?)"
                           : "";
    give_up(report, error == ENOENT ? NOT_FOUND : NOT_RUNNABLE, "%.200s cannot be run: %s%s", argv[0], strerror(error),
            hint);
}

static _Noreturn void become_command(const struct adl_task_spec *spec, const char *marker, int join, int report,
                                     pid_t shepherd)
{
    if (join >= 0 && write(join, "0", 1) < 0)
        give_up(report, NOT_RUNNABLE, "the task's cgroup cannot be joined: %s", strerror(errno));
    become_user(spec, report);
    umask((mode_t)(spec->mask == 0 ? 022 : spec->mask < 0 ? 0 : spec->mask));
    if (chdir(spec->cwd))
        give_up(report, NOT_RUNNABLE, "working directory %.200s: %s", spec->cwd, strerror(errno));
    open_files(spec, report);
    reset_signals();
    set_limits(spec, report); /* last, so that no limit hinders the steps above */
    /* The command is killed if its shepherd dies. Set after the change of user, which clears it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != shepherd)
        _exit(NOT_RUNNABLE);
    exec_command(spec, marker, report);
}

static _Noreturn void wait_for_release(const struct adl_task_spec *spec, const char *marker, int join, int go,
                                       int report, pid_t shepherd)
{
    char byte;
    ssize_t got;
    setsid();
    do
        got = read(go, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(0);
    become_command(spec, marker, join, report, shepherd);
}

int adl_command_fork(const struct adl_task_spec *spec, const char *marker, int join,
                     struct adl_command_process *ret_command, struct adl_error *err)
{
    int go[2], report[2];
    if (pipe(go))
        return adl_fail(err, ADL_EIO, "no pipe to a command: %s", strerror(errno));
    if (pipe(report)) {
        close(go[0]);
        close(go[1]);
        return adl_fail(err, ADL_EIO, "no pipe from a command: %s", strerror(errno));
    }
    const int all[] = {go[0], go[1], report[0], report[1]};
    for (int i = 0; i < 4; i++)
        fcntl(all[i], F_SETFD, FD_CLOEXEC); /* this process has one thread, so no fork can come in between */
    const pid_t shepherd = getpid(), pid = fork();
    if (pid == 0) {
        close(go[1]);
        close(report[0]);
        wait_for_release(spec, marker, join, go[0], report[1], shepherd);
    }
    const int error = errno;
    close(go[0]);
    close(report[1]);
    if (pid > 0) {
        *ret_command = (struct adl_command_process){pid, go[1], report[0]};
        return 0;
    }
    close(go[1]);
    close(report[0]);
    return adl_fail(err, ADL_EIO, "a command cannot be forked: %s", strerror(error));
}
