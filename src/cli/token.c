/* token: a new token for a user who is to reach the service over the network. */
#include "cli/cli.h"
#include "serve/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *file;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, file, "file", 0, "FILE",
                 "append its line to this token file, made for its owner alone if it is not there"),
};

static const struct adl_verb verb = {
    .name = "token",
    .summary = "Makes a token for a user and prints it, once: only its hash goes into the service's token file.",
    .operands = "USER",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = 1,
    .example = "adlro token ann --file /etc/adlro/tokens",
};

/* One write, so that a reader never sees half a line. A file that others can read is refused, as the service would. */
static int append_line(const char *path, const char *line, struct adl_error *err)
{
    char whole[ADL_TOKEN_LINE_SIZE + 2];
    struct stat info;
    const int length = snprintf(whole, sizeof whole, "%s\n", line);
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fstat(fd, &info) != 0) {
        const int reason = errno;
        if (fd >= 0)
            close(fd);
        return adl_fail(err, ADL_EIO, "cannot write %.200s: %s", path, strerror(reason));
    }
    int status = 0;
    if (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0)
        status = adl_fail(err, ADL_EIO, "%.200s is not its owner's alone: chmod 600 it", path);
    else if (write(fd, whole, (size_t)length) != length || fsync(fd) != 0)
        status = adl_fail(err, ADL_EIO, "cannot write %.200s: %s", path, strerror(errno));
    close(fd);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.file = NULL};
    struct adl_operands operands;
    struct adl_error err;
    char token[ADL_TOKEN_SIZE], line[ADL_TOKEN_LINE_SIZE];
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = adl_token_create(operands.items[0], token, line, &err);
    if (status == 0 && o.file)
        status = append_line(o.file, line, &err);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    puts(token);
    if (!o.file)
        printf("%s\n", line);
    fprintf(stderr,
            o.file ? "The token is shown this once; its line is in %s.\n"
                   : "The first line is the token, shown this once; the second goes into the token file%s.\n",
            o.file ? o.file : "");
    return fflush(stdout) == 0 ? ADL_EXIT_DONE : ADL_EXIT_FAILED;
}

const struct adl_command_verb adl_verb_token = {&verb, run};
