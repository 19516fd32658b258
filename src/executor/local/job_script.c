#include "executor/local/job_script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define READ_AND_RUN 5

/* Access for the owner and one more user: an access control list in the kernel's format, a version and entries of tag,
 * rights and user, little endian, ordered by tag. */
static int allow_user(int fd, uid_t uid)
{
    enum { OWNER = 1, USER = 2, GROUP = 4, MASK = 16, OTHER = 32 };
    const struct {
        uint8_t tag, rights;
        uint32_t user;
    } entries[] = {{OWNER, READ_AND_RUN, UINT32_MAX},
                   {USER, READ_AND_RUN, uid},
                   {GROUP, 0, UINT32_MAX},
                   {MASK, READ_AND_RUN, UINT32_MAX},
                   {OTHER, 0, UINT32_MAX}};
    uint8_t list[4 + 8 * sizeof entries / sizeof *entries] = {2};
    uint8_t *at = list + 4;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++, at += 8) {
        at[0] = entries[i].tag;
        at[2] = entries[i].rights;
        for (int byte = 0; byte < 4; byte++)
            at[4 + byte] = (uint8_t)(entries[i].user >> 8 * byte);
    }
    return fsetxattr(fd, "system.posix_acl_access", list, sizeof list, 0);
}

/* The job's user does not own the file, because an owner can make it writable. */
static int set_rights(int fd, uid_t uid, gid_t gid)
{
    if (geteuid() != 0 || uid == 0)
        return fchmod(fd, 0500);
    if (allow_user(fd, uid) == 0)
        return 0;
    return errno != EOPNOTSUPP || fchown(fd, 0, gid) ? -1 : fchmod(fd, 0550);
}

static int write_text(int fd, const char *text)
{
    const size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        const ssize_t wrote = write(fd, text + at, size - at);
        if (wrote < 0 && errno != EINTR)
            return -1;
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

int adl_job_script_write(const char *path, const char *text, uid_t uid, gid_t gid, struct adl_error *err)
{
    unlink(path); /* of an earlier attempt, maybe incomplete */
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return adl_fail(err, ADL_EIO, "cannot write the script to %s: %s", path, strerror(errno));
    const bool good = write_text(fd, text) == 0 && set_rights(fd, uid, gid) == 0;
    const int error = errno;
    close(fd);
    return good ? 0 : adl_fail(err, ADL_EIO, "cannot write the script to %s: %s", path, strerror(error));
}
