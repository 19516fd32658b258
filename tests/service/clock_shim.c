/* clock_shim: preloaded into a program, adds to the wall clock what a file says, in microseconds: as if somebody had
 * set it. ADLRO_TEST_CLOCK names the file, which holds a 64-bit number. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

long syscall(long number, ...);

static const volatile int64_t *find_offset(void)
{
    static const volatile int64_t *offset; /* two threads that look at once find the same */
    const char *path = getenv("ADLRO_TEST_CLOCK");
    if (offset || !path)
        return offset;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 ? mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        offset = at;
    return offset;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
    const int status = (int)syscall(SYS_clock_gettime, id, ret);
    const volatile int64_t *offset = id == CLOCK_REALTIME && status == 0 ? find_offset() : NULL;
    if (!offset)
        return status;
    const int64_t time_us = (int64_t)ret->tv_sec * 1000000 + ret->tv_nsec / 1000 + *offset;
    *ret = (struct timespec){.tv_sec = time_us / 1000000, .tv_nsec = time_us % 1000000 * 1000};
    return 0;
}
