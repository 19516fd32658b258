/* adlro-powercap: sets power limits of GPUs for the service, which speaks with it over standard input, a socket. It is
 * the only part that needs the privilege to do so. */
#include "powercap/powercap.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2] = {-1, -1};

static void on_signal(int signal)
{
    (void)signal;
    const ssize_t written = write(ends[1], "x", 1);
    (void)written;
}

static int usage(void)
{
    fputs("adlro-powercap --allow FILE --state FILE [--nvml LIBRARY] [--sysfs DIR]\n"
          "adlro-powercap --restore --state FILE [--nvml LIBRARY] [--sysfs DIR]\n"
          "`adlro serve` or systemd starts it, with a socket as its standard input\n",
          stderr);
    return 2;
}

static bool read_options(int argc, char **argv, struct adl_powercap_options *ret, bool *ret_restore)
{
    const struct {
        const char *name;
        const char **value;
    } known[] = {{"--allow", &ret->allow}, {"--state", &ret->state}, {"--nvml", &ret->nvml}, {"--sysfs", &ret->sysfs}};
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < 4 && strcmp(argv[i], known[k].name) != 0)
            k++;
        if (strcmp(argv[i], "--restore") == 0)
            *ret_restore = true;
        else if (k == 4 || i + 1 == argc)
            return false;
        else
            *known[k].value = argv[++i];
    }
    return ret->state && (ret->allow || *ret_restore);
}

int main(int argc, char **argv)
{
    struct adl_powercap_options options = {.fd = STDIN_FILENO, .end_fd = -1};
    struct adl_error err = {""};
    bool restore = false;
    if (!read_options(argc, argv, &options, &restore))
        return usage();
    if (!restore && pipe(ends) == 0) {
        const struct sigaction act = {.sa_handler = on_signal};
        sigaction(SIGTERM, &act, NULL);
        sigaction(SIGINT, &act, NULL);
        sigaction(SIGHUP, &act, NULL);
        options.end_fd = ends[0];
    }
    const int status = restore ? adl_powercap_restore(&options, &err) : adl_powercap_serve(&options, &err);
    if (status)
        fprintf(stderr, "adlro-powercap: %s\n", err.text);
    return status != 0;
}
