/* model_store: see model_store.h; a file is written under a temporary name, synced, and renamed. */
#include "rl/model_store.h"

#include "policy/adlro/rank_network.h"
#include "policy/dqn/normalize.h"
#include "policy/market/valuation.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_file(const char *path, const char *what, struct adl_error *err)
{
    return adl_fail(err, ADL_EIO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* ---- reading ---- */

static int read_whole(const char *path, int fd, char **ret_bytes, size_t *ret_size, struct adl_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return fail_file(path, "read it", err);
    if (!S_ISREG(about.st_mode))
        return adl_fail(err, ADL_EINVAL, "%s: a model is a regular file, and this is not one", path);
    if (about.st_size < 0 || (uint64_t)about.st_size > ADL_MODEL_SIZE_MAX)
        return adl_fail(err, ADL_EINVAL, "%s: too large to be a model, which has at most %zu bytes", path,
                        ADL_MODEL_SIZE_MAX);
    const size_t size = (size_t)about.st_size;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return adl_fail(err, ADL_ENOMEM, "%s: no memory to read it", path);
    size_t done = 0;
    while (done < size) {
        const ssize_t count = read(fd, bytes + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            free(bytes);
            return count < 0 ? fail_file(path, "read it", err)
                             : adl_fail(err, ADL_EIO, "%s: it became shorter while it was read", path);
        }
        done += (size_t)count;
    }
    *ret_bytes = bytes;
    *ret_size = size;
    return 0;
}

int adl_model_store_read_bytes(const char *path, char **ret_bytes, size_t *ret_size, struct adl_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fail_file(path, "open it", err);
    const int status = read_whole(path, fd, ret_bytes, ret_size, err);
    close(fd);
    return status;
}

/* ---- writing ---- */

static bool write_whole(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t count = write(fd, bytes, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

/* The new name is durable only once its directory is synced. */
static bool sync_directory(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return false;
    const int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0)
        return false;
    const bool good = fsync(fd) == 0;
    close(fd);
    return good;
}

static int write_beside(const char *path, char *temporary, const struct adl_text *bytes, struct adl_error *err)
{
    const int fd = mkstemp(temporary);
    if (fd < 0)
        return fail_file(path, "write a temporary file beside it", err);
    bool good = write_whole(fd, bytes->data, bytes->size) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
    const int problem = errno;
    good = close(fd) == 0 && good;
    if (good && rename(temporary, path) == 0)
        return sync_directory(path) ? 0 : fail_file(path, "sync its directory", err);
    errno = good ? errno : problem;
    const int status = fail_file(path, "write it", err);
    unlink(temporary);
    return status;
}

int adl_model_store_write_bytes(const char *path, const struct adl_text *bytes, struct adl_error *err)
{
    struct adl_text temporary = {0};
    adl_text_printf(&temporary, "%s.XXXXXX", path);
    const int status = adl_text_status(&temporary) || adl_text_status(bytes)
                           ? adl_fail(err, ADL_ENOMEM, "%s: no memory to write it", path)
                           : write_beside(path, temporary.data, bytes, err);
    adl_text_clear(&temporary);
    return status;
}

int adl_model_store_write(const char *path, const struct adl_model *model, struct adl_error *err)
{
    struct adl_text bytes = {0};
    struct adl_error inner = {{0}};
    int status = adl_model_encode(model, &bytes, &inner);
    status =
        status ? adl_fail(err, status, "%s: %s", path, inner.text) : adl_model_store_write_bytes(path, &bytes, err);
    adl_text_clear(&bytes);
    return status;
}

int adl_model_store_check(const void *bytes, size_t size, struct adl_error *err)
{
    struct adl_rank_network network;
    struct adl_valuation bids;
    struct adl_model model;
    if (adl_rank_network_is(bytes, size))
        return adl_rank_network_decode(bytes, size, &network, err);
    if (adl_valuation_is(bytes, size))
        return adl_valuation_decode(bytes, size, &bids, err);
    const int status = adl_model_decode(bytes, size, ADL_SCHEMA_VERSION, &model, err);
    if (status == 0)
        adl_model_clear(&model);
    return status;
}

const char *adl_model_store_policy(const void *bytes, size_t size)
{
    if (adl_rank_network_is(bytes, size))
        return "adlro";
    if (adl_valuation_is(bytes, size))
        return "market";
    return adl_model_is(bytes, size) ? "dqn" : NULL;
}
