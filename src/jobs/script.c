#include "jobs/script.h"

#include "base/suggest.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERPRETER_SIZE 256 /* bytes of the first line that the kernel reads */
#define BOM              "\xef\xbb\xbf"

/* The interpreter's path from the first line; false: there is none, or it is longer than the kernel reads. */
static bool read_interpreter(const char *script, char ret[INTERPRETER_SIZE])
{
    const char *at = script + 2 + strspn(script + 2, " \t");
    const size_t size = strcspn(at, " \t\r\n");
    if (size == 0 || (size_t)(at - script) + size >= INTERPRETER_SIZE)
        return false;
    memcpy(ret, at, size);
    ret[size] = '\0';
    return true;
}

static int line_of(const char *script, const char *place)
{
    int line = 1;
    for (const char *c = script; c < place; c++)
        line += *c == '\n';
    return line;
}

int adl_script_check(const char *script, const char *name, struct adl_error *err)
{
    char interpreter[INTERPRETER_SIZE];
    const char *crlf = strstr(script, "\r\n");
    if (crlf)
        return adl_fail(err, ADL_EINVAL,
                        "%.100s: line %d ends in CR LF, as on Windows, and interpreters take the CR for part of the "
                        "line; remove them: sed -i 's/\\r$//' FILE, or dos2unix FILE",
                        name, line_of(script, crlf));
    if (strncmp(script, BOM "#!", strlen(BOM "#!")) == 0)
        return adl_fail(err, ADL_EINVAL,
                        "%.100s: has a byte order mark before its #!, with which it cannot be run; remove it: "
                        "sed -i '1s/^\\xEF\\xBB\\xBF//' FILE",
                        name);
    if (strncmp(script, "#!", 2) != 0)
        return adl_fail(err, ADL_EINVAL,
                        "%.100s: a batch script must begin with #! and the path of its interpreter; make #!/bin/sh, or "
                        "#!/bin/bash, its first line",
                        name);
    if (!read_interpreter(script, interpreter))
        return adl_fail(err, ADL_EINVAL,
                        "%.100s: its first line must be #! and the path of an interpreter, at most %d bytes, such as "
                        "#!/bin/sh",
                        name, INTERPRETER_SIZE - 1);
    return 0;
}

static bool is_system_path(const char *path)
{
    return (strncmp(path, "/bin/", 5) == 0 || strncmp(path, "/sbin/", 6) == 0 || strncmp(path, "/usr/", 5) == 0) &&
           !strstr(path, "/../");
}

int adl_script_interpreter_check(const char *script, const char *name, enum adl_script_scope scope,
                                 struct adl_error *err)
{
    char interpreter[INTERPRETER_SIZE], quoted[ADL_QUOTE_SIZE];
    struct stat info;
    if (!read_interpreter(script, interpreter) || interpreter[0] != '/' ||
        (scope == ADL_SCRIPT_SYSTEM && !is_system_path(interpreter)))
        return 0;
    const bool there = stat(interpreter, &info) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
        return 0; /* not known: the job will fail if it does not exist */
    if (there && S_ISREG(info.st_mode) && access(interpreter, X_OK) == 0)
        return 0;
    return adl_fail(err, ADL_EINVAL,
                    "%.100s: its first line names the interpreter %s, which %s; name one that is there", name,
                    adl_quote(interpreter, quoted),
                    there ? "is not a program that can be executed" : "does not exist on this machine");
}
