#include "jobs/warn_signal.h"

#include "base/suggest.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX  64
#define SECONDS_MAX 65535 /* as in Slurm */

static const struct {
    const char *name;
    int number;
} names[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT}, {"KILL", SIGKILL},
             {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"URG", SIGURG},
             {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}};

/* Digits alone, at most max; -1 if it is anything else. */
static int number_read(const char *text, size_t size, int max)
{
    int number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = number * 10 + (text[i] - '0');
        if (number > max)
            return -1;
    }
    return size > 0 ? number : -1;
}

/* "USR1", "SIGUSR1" or "10"; 0 if it is none. */
static int signal_read(const char *text, size_t size)
{
    const int number = number_read(text, size, NUMBER_MAX);
    if (number > 0)
        return number;
    if (size > 3 && strncasecmp(text, "SIG", 3) == 0) {
        text += 3;
        size -= 3;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == size && strncasecmp(names[i].name, text, size) == 0)
            return names[i].number;
    return 0;
}

int adl_warn_signal_read(const char *text, const char *what, struct adl_warn_signal *ret, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const bool shell_only = strncasecmp(text, "B:", 2) == 0;
    const char *at = text + (shell_only ? 2 : 0);
    const size_t size = strcspn(at, "@");
    const int signal = signal_read(at, size);
    const int seconds =
        at[size] == '@' ? number_read(at + size + 1, strlen(at + size + 1), SECONDS_MAX) : ADL_WARN_SECONDS;
    if (signal == 0 || seconds < 0)
        return adl_fail(err, ADL_EINVAL,
                        "%s: must be a signal and how many seconds before the time limit, up to %d, as in USR1@120, or "
                        "B:TERM@60 for the batch script alone; got %s",
                        what, SECONDS_MAX, adl_quote(text, quoted));
    *ret = (struct adl_warn_signal){signal, (int64_t)seconds * 1000000, shell_only};
    return 0;
}
