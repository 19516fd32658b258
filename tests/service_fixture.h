/* service_fixture: the real service as a child process, in a folder of its own: started, killed, started again, and
 * with all its shepherds gone at the end, however a test ends. */
#ifndef SERVICE_FIXTURE_H
#define SERVICE_FIXTURE_H

#include "scratch.h"
#include "service_client.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define SERVICE_ARGS_MAX 8

struct service {
    char home[64]; /* holds all: state, s (the socket), c.yaml, err (what it said), marks */
    char socket[96];
    const char *state;                  /* its folder in home; NULL: "state" */
    pid_t pid;                          /* 0: does not run */
    const char *args[SERVICE_ARGS_MAX]; /* further ones, NULL-terminated */
    bool ended;                         /* it has, with this status of waitpid() */
    int status;
};

static struct service service; /* one at a time; zeroed: none */

static inline int64_t service_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* "home/name"; a few live at a time, in each thread. */
static inline const char *service_path(const char *name)
{
    static _Thread_local char paths[8][256];
    static _Thread_local int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", service.home, name);
    return paths[next];
}

static inline bool service_write(const char *name, const char *text)
{
    const int fd = open(service_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

/* The text of home/name, "" if there is none; until the next call in this thread. */
static inline const char *service_read(const char *name)
{
    static _Thread_local char text[65536];
    const int fd = open(service_path(name), O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

/* The last of what the service said. */
static inline const char *service_said(void)
{
    const char *text = service_read("err");
    const size_t size = strlen(text);
    return size > 300 ? text + size - 300 : text;
}

/* ---- shepherds ---- */

/* Calls each for every shepherd of this service, whoever started it; returns how many there were. */
static inline int service_shepherds(void (*each)(pid_t pid))
{
    int count = 0;
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        char path[300], line[512];
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t size = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
        if (fd >= 0)
            close(fd);
        if (size <= 0)
            continue;
        for (ssize_t i = 0; i < size; i++)
            line[i] = line[i] ? line[i] : ' ';
        line[size] = '\0';
        const char *folder = strstr(line, " shepherd ");
        if (!folder || strncmp(folder + 10, service.home, strlen(service.home)) != 0)
            continue;
        count++;
        if (each)
            each((pid_t)strtol(entry->d_name, NULL, 10));
    }
    if (proc)
        closedir(proc);
    return count;
}

static inline void service_kill_one(pid_t pid)
{
    kill(pid, SIGKILL); /* its command is killed by the kernel then */
}

/* Everything that has ended is waited for: orphans are ours. */
static inline void service_reap(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == service.pid) {
            service.ended = true;
            service.status = status;
        }
}

/* As if the machine had gone down. */
static inline void service_kill_shepherds(void)
{
    while (service_shepherds(service_kill_one) > 0)
        service_reap();
}

/* ---- the process ---- */

static inline _Noreturn void service_exec(void)
{
    char state[128], config[128];
    const char *argv[SERVICE_ARGS_MAX + 10] = {"adlro", "serve"};
    size_t count = 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(state, sizeof state, "%s/%s", service.home, service.state ? service.state : "state");
    snprintf(config, sizeof config, "%s/c.yaml", service.home);
    const char *all[] = {"--state", state, "--socket", service.socket, "--config", config};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        argv[count++] = all[i];
    for (size_t i = 0; i < SERVICE_ARGS_MAX && service.args[i]; i++)
        argv[count++] = service.args[i];
    const int fd = open(service_path("err"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    dup2(fd, 2);
    dup2(fd, 1);
    execv(ADL_PROGRAM, (char *const *)(uintptr_t)argv); // NOLINT(performance-no-int-to-ptr)
    _exit(127);
}

/* The service begins; it may take a while until it listens, or it may end with an error. */
static inline void service_launch(void)
{
    service.ended = false;
    service.pid = fork();
    if (service.pid == 0)
        service_exec();
}

/* Its exit status once it has ended by itself, or -1 if it has not within the time. */
static inline int service_exit_status(int timeout_ms)
{
    const int64_t until_us = service_now_us() + (int64_t)timeout_ms * 1000;
    while (service.pid > 0) {
        service_reap();
        if (service.ended) {
            service.pid = 0;
            return WIFEXITED(service.status) ? WEXITSTATUS(service.status) : 128 + WTERMSIG(service.status);
        }
        if (service_now_us() > until_us)
            return -1;
        nap_ms(1);
    }
    return -1;
}

/* Waits until it answers; false: it ended, or a minute was not enough. That something listens is not enough: a shepherd
 * of a service that was killed has its sockets until it is executed. */
static inline bool service_wait(void)
{
    const int64_t until_us = service_now_us() + INT64_C(60000000);
    struct service_client client = client_make(service.socket);
    bool answers = false;
    while (!answers && service_now_us() < until_us && service_exit_status(0) < 0) {
        answers = client_ask(&client, "GET /healthz", NULL) > 0;
        nap_ms(answers ? 0 : 1);
    }
    client_clear(&client);
    return answers;
}

static inline bool service_start(void)
{
    service_launch();
    return service_wait();
}

/* Ends it by the signal; its exit status, 128 + signal if that killed it. */
static inline int service_signal(int signal)
{
    if (service.pid <= 0)
        return -1;
    kill(service.pid, signal);
    return service_exit_status(60000);
}

static inline void service_remove(void)
{
    if (service.home[0] == '\0')
        return;
    if (service.pid > 0)
        service_signal(SIGKILL);
    service_kill_shepherds();
    remove_tree(service.home);
    service = (struct service){0};
}

/* A home with a configuration. Orphans come to us, so that none is left behind. */
static inline bool service_make(const char *yaml)
{
    static bool prepared;
    service_remove();
    snprintf(service.home, sizeof service.home, "/tmp/adlro-service-XXXXXX");
    if (!mkdtemp(service.home) || chmod(service.home, 0755))
        return false;
    snprintf(service.socket, sizeof service.socket, "%s/s", service.home);
    if (!prepared) {
        prepared = true;
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        atexit(service_remove);
    }
    return mkdir(service_path("marks"), 0755) == 0 && service_write("c.yaml", yaml);
}

/* So many slots on nodes of 50, ready for more jobs than cores. */
static inline const char *service_slots_yaml(uint32_t slots, const char *more)
{
    static char yaml[2000];
    const uint32_t each = slots < 50 ? slots : 50;
    snprintf(yaml, sizeof yaml,
             "virtual: true\n"
             "cluster:\n"
             "  network_gbs: 1\n"
             "  nodes:\n"
             "    - {name: n, count: %u, cpu_cores: 1000, memory_mib: 1000000, link_gbs: 16,\n"
             "       gpus: [{type: virtual, count: %u}]}\n"
             "jobs: {root: true, grace_s: 1}\n"
             "%s",
             slots / each, each, more);
    return yaml;
}

/* ---- jobs ---- */

/* A job that adds a line "NUMBER ATTEMPT TIME" to home/marks/NAME, sleeps, and exits. more: further keys of the
 * submission, with a comma in front. */
static inline int service_submit(struct service_client *client, const char *name, const char *sleep_s, int exit_code,
                                 const char *more)
{
    char body[2400];
    snprintf(body, sizeof body,
             "{\"name\":\"%s\",\"directory\":\"%s\",\"stdout\":\"/dev/null\",\"command\":[\"/bin/sh\",\"-c\","
             "\"echo \\\"$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $$\\\" >> \\\"$1\\\"; sleep $2; exit $3\","
             "\"sh\",\"%s/marks/%s\",\"%s\",\"%d\"]%s}",
             name, service.home, service.home, name, sleep_s, exit_code, more);
    return client_ask(client, "POST /v1/jobs", body);
}

#endif
