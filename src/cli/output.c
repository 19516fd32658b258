/* output: see output.h. A regular file is written under a temporary name beside its own and renamed; a device, a pipe
 * or a link is written in place, because renaming would replace it. */
#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool adl_output_is_stdout(const char *path)
{
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; path && i < sizeof names / sizeof *names; i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return false;
}

bool adl_output_is_special(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* The folder a path lies in, into buffer. */
static const char *folder_of(const char *path, char *buffer, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    const size_t length = slash == path ? 1 : (size_t)(slash - path);
    if (length >= size)
        return NULL;
    memcpy(buffer, path, length);
    buffer[length] = '\0';
    return buffer;
}

static int check_output(const char *path, struct adl_error *err)
{
    struct stat info;
    char buffer[4096];
    if (!path || adl_output_is_stdout(path))
        return 0;
    if (*path == '\0')
        return adl_fail(err, ADL_EINVAL, "an output file needs a name (or - for standard output)");
    const bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return adl_fail(err, ADL_EINVAL, "%s is a folder; the output needs a file name", path);
    if (exists && adl_output_is_special(path))
        return access(path, W_OK) == 0 ? 0 : adl_fail(err, ADL_EINVAL, "cannot write %s: %s", path, strerror(errno));
    const char *folder = folder_of(path, buffer, sizeof buffer);
    if (!folder)
        return adl_fail(err, ADL_EINVAL, "the output path is longer than %zu bytes", sizeof buffer);
    if (access(folder, W_OK | X_OK) != 0)
        return adl_fail(err, ADL_EINVAL, "cannot write %s: folder %s: %s", path, folder, strerror(errno));
    return 0;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (strcmp(a, b) == 0 || (adl_output_is_stdout(a) && adl_output_is_stdout(b)))
        return true;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int adl_outputs_check(const char *const *paths, size_t count, const char *input, struct adl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const int status = check_output(paths[i], err);
        if (status)
            return status;
        if (paths[i] && !adl_output_is_stdout(paths[i]) && same_file(paths[i], input))
            return adl_fail(err, ADL_EINVAL, "the output %s would overwrite the input", paths[i]);
        for (size_t j = 0; paths[i] && j < i; j++)
            if (paths[j] && same_file(paths[i], paths[j]))
                return adl_fail(err, ADL_EINVAL, "two outputs would go to %s; each needs its own file",
                                adl_output_is_stdout(paths[i]) ? "standard output" : paths[i]);
    }
    return 0;
}

static int cannot_write(const struct adl_output *output, int reason, struct adl_error *err)
{
    return adl_fail(err, ADL_EIO, "cannot write %.150s: %s", output->path, strerror(reason));
}

int adl_output_open(const char *path, struct adl_output *ret, struct adl_error *err)
{
    struct adl_output output = {.path = path};
    if (adl_output_is_stdout(path)) {
        output.file = stdout;
    } else {
        output.renamed = !adl_output_is_special(path);
        if (snprintf(output.temporary, sizeof output.temporary, output.renamed ? "%s.%ld.part" : "%s", path,
                     (long)getpid()) >= (int)sizeof output.temporary)
            return adl_fail(err, ADL_EINVAL, "the output path is longer than 4096 bytes");
        output.file = fopen(output.temporary, "wb");
    }
    if (!output.file)
        return cannot_write(&output, errno, err);
    *ret = output;
    return 0;
}

int adl_output_put(struct adl_output *output, const struct adl_text *text, struct adl_error *err)
{
    if (adl_text_status(text))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the output %.150s", output->path);
    if (text->size > 0 && fwrite(text->data, 1, text->size, output->file) != text->size)
        return cannot_write(output, errno, err);
    return 0;
}

int adl_output_close(struct adl_output *output, int status, struct adl_error *err)
{
    if (!output->file)
        return status;
    if ((output->file == stdout ? fflush(stdout) : fclose(output->file)) != 0 && status == 0)
        status = cannot_write(output, errno, err);
    if (status == 0 && output->renamed && rename(output->temporary, output->path) != 0)
        status = cannot_write(output, errno, err);
    if (status && output->renamed)
        remove(output->temporary);
    output->file = NULL;
    return status;
}

int adl_output_write(const char *path, const struct adl_text *text, struct adl_error *err)
{
    struct adl_output output = {0};
    int status = adl_output_open(path, &output, err);
    if (status == 0)
        status = adl_output_put(&output, text, err);
    return adl_output_close(&output, status, err);
}
