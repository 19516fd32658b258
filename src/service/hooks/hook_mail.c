/* hook_mail: one mail, through a program that takes it like sendmail. No shell, and nothing of the mail is an option.
 */
#include "base/text.h"
#include "service/hooks/hooks_internal.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS 20

bool adl_hook_address_ok(const char *address)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@";
    const size_t length = strlen(address);
    return length > 0 && length < 200 && strspn(address, letters) == length && address[0] != '-' && address[0] != '@';
}

static int spawn(const char *program, const char *to, int input, pid_t *ret, struct adl_error *err)
{
    char *const argv[] = {(char *)program, "-i", "--", (char *)to, NULL};
    char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&files))
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&files, input, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int error = posix_spawn(ret, program, &files, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error ? adl_fail(err, ADL_EIO, "%.150s cannot be started: %s", program, strerror(error)) : 0;
}

/* The message fits into the socket's buffer, so that a program that reads nothing does not hold us up. */
static bool write_all(int fd, const struct adl_text *message)
{
    size_t sent = 0;
    while (sent < message->size) {
        const ssize_t wrote = send(fd, message->data + sent, message->size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return false;
        sent += (size_t)wrote;
    }
    return true;
}

/* Its exit status; negative if it did not end in time. */
static int wait_end(pid_t pid, atomic_bool *ending)
{
    int status = 0;
    for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        if (waited_ms >= ADL_HOOK_TIMEOUT_MS || atomic_load(ending))
            break;
        nanosleep(&(struct timespec){0, PAUSE_MS * 1000000L}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

int adl_hook_mail_send(const char *program, const char *from, const char *to, const char *subject, const char *body,
                       atomic_bool *ending, struct adl_error *err)
{
    struct adl_text message = {0};
    int ends[2];
    pid_t pid = 0;
    adl_text_printf(&message,
                    "From: %s\nTo: %s\nSubject: %s\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
                    "Content-Type: text/plain; charset=utf-8\n\n%s",
                    from, to, subject, body);
    if (adl_text_status(&message) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        adl_text_clear(&message);
        return adl_fail(err, ADL_EIO, "no memory or no descriptor for a mail");
    }
    int status = spawn(program, to, ends[1], &pid, err);
    close(ends[1]);
    const bool written = status == 0 && write_all(ends[0], &message);
    close(ends[0]);
    adl_text_clear(&message);
    if (status)
        return status;
    const int code = wait_end(pid, ending);
    if (code == 0 && written)
        return 0;
    return adl_fail(err, ADL_EIO,
                    code < 0 ? "the mail program did not end within %d s" : "the mail program ended with %d",
                    code < 0 ? ADL_HOOK_TIMEOUT_MS / 1000 : code);
}
