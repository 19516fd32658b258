/* small_disk: a file system of a few MiB that a test can fill and set read-only. Mounting takes privileges; a test
 * without them is skipped, and says so. */
#ifndef SMALL_DISK_H
#define SMALL_DISK_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_DISK_SIZE "size=3m"

static char small_disk[128]; /* where it is mounted; "": nowhere */

static inline void small_disk_unmount(void)
{
    if (small_disk[0] != '\0')
        umount2(small_disk, MNT_DETACH);
    small_disk[0] = '\0';
}

/* In a new folder of this name. False: mounting is not allowed here. */
static inline bool small_disk_mount(const char *folder)
{
    static bool prepared;
    if (mkdir(folder, 0700) || mount("tmpfs", folder, "tmpfs", 0, SMALL_DISK_SIZE)) {
        printf("a file system cannot be mounted here (%s): skipped\n", strerror(errno));
        return false;
    }
    snprintf(small_disk, sizeof small_disk, "%s", folder);
    if (!prepared)
        atexit(small_disk_unmount);
    prepared = true;
    return true;
}

static inline void small_disk_set_read_only(bool read_only)
{
    if (mount("tmpfs", small_disk, "tmpfs", MS_REMOUNT | (read_only ? MS_RDONLY : 0), SMALL_DISK_SIZE)) {
        perror(small_disk);
        abort();
    }
}

static inline const char *small_disk_ballast(void)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/ballast", small_disk);
    return path;
}

/* Until nothing more goes in. */
static inline void small_disk_fill(void)
{
    static const char block[4096];
    const int fd = open(small_disk_ballast(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        abort();
    while (write(fd, block, sizeof block) > 0)
        ;
    close(fd);
}

static inline void small_disk_clear(void)
{
    if (unlink(small_disk_ballast()))
        abort();
}

#endif
