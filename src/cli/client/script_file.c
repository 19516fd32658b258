#include "cli/client/script_file.h"

#include "base/suggest.h"
#include "jobs/script.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads to the end, or slightly more than the largest script. */
static int read_all(int fd, struct adl_text *text)
{
    char buffer[16384];
    ssize_t got = 1;
    while (got > 0 && text->size <= ADL_STORE_SCRIPT_MAX) {
        got = read(fd, buffer, sizeof buffer);
        if (got > 0)
            adl_text_bytes(text, buffer, (size_t)got);
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    return got < 0 ? errno : 0;
}

static int check_text(const struct adl_text *text, const char *name, bool here, struct adl_error *err)
{
    if (adl_text_status(text))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the script");
    if (text->size > ADL_STORE_SCRIPT_MAX)
        return adl_fail(err, ADL_EINVAL, "script %.100s is longer than %ld MiB", name, ADL_STORE_SCRIPT_MAX >> 20);
    if (text->size > 0 && (memchr(text->data, '\0', text->size) || !adl_utf8_is_valid(text->data)))
        return adl_fail(err, ADL_EINVAL, "script %.100s is not text in UTF-8", name);
    const int status = adl_script_check(text->data ? text->data : "", name, err);
    return status || !here ? status : adl_script_interpreter_check(text->data, name, ADL_SCRIPT_ANYWHERE, err);
}

/* A command without a slash is searched in PATH, not in the current folder. */
static bool is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char full[4352];
    for (const char *at = path; at && *at && !strchr(name, '/'); at += at[0] == ':') {
        const size_t size = strcspn(at, ":");
        if (size < 4096 && snprintf(full, sizeof full, "%.*s/%.250s", (int)size, at, name) > 0 && size > 0 &&
            access(full, X_OK) == 0)
            return true;
        at += size;
    }
    return false;
}

int adl_script_file_read(const char *path, bool here, struct adl_text *ret, struct adl_error *err)
{
    char name[ADL_QUOTE_SIZE];
    struct stat info;
    struct adl_text text = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    const int failed = regular ? read_all(fd, &text) : 0;
    close(fd);
    const bool script = text.size >= 2 && memcmp(text.data, "#!", 2) == 0;
    const bool compiled = text.size > 0 && memchr(text.data, '\0', text.size < 4096 ? text.size : 4096);
    int status = 1;
    if (!regular || (!script && (compiled || is_in_path(path))))
        status = 0;
    else if (failed)
        status = adl_fail(err, ADL_EIO, "script %s cannot be read: %s", adl_quote(path, name), strerror(failed));
    else if (check_text(&text, adl_quote(path, name), here, err))
        status = ADL_EINVAL;
    if (status == 1)
        *ret = text;
    else
        adl_text_clear(&text);
    return status;
}

int adl_script_stdin_read(bool here, struct adl_text *ret, struct adl_error *err)
{
    struct adl_text text = {0};
    int status = 0;
    if (isatty(STDIN_FILENO))
        return adl_fail(err, ADL_EINVAL,
                        "'submit' needs a command, a script, or --wrap 'shell text'; a script on standard input: "
                        "adlro submit < job.sh");
    const int failed = read_all(STDIN_FILENO, &text);
    if (failed)
        status = adl_fail(err, ADL_EIO, "standard input cannot be read: %s", strerror(failed));
    else if (text.size == 0)
        status = adl_fail(err, ADL_EINVAL,
                          "'submit' needs a command, a script, or --wrap 'shell text', and standard input is empty");
    else
        status = check_text(&text, "standard input", here, err);
    if (status == 0)
        *ret = text;
    else
        adl_text_clear(&text);
    return status;
}
