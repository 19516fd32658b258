/* clock_shim: preloaded into a program, adds to its clocks what a file says, in microseconds. ADLRO_TEST_CLOCK names
 * the file, which holds two 64-bit numbers: by how much the wall clock was set, and how long the machine slept. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

long syscall(long number, ...);

static const volatile int64_t *find_offsets(void)
{
    static const volatile int64_t *offsets; /* two threads that look at once find the same */
    const char *path = getenv("ADLRO_TEST_CLOCK");
    if (offsets || !path)
        return offsets;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 ? mmap(NULL, 2 * sizeof *offsets, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        offsets = at;
    return offsets;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
    const int status = (int)syscall(SYS_clock_gettime, id, ret);
    const bool told = status == 0 && (id == CLOCK_REALTIME || id == CLOCK_BOOTTIME);
    const volatile int64_t *offsets = told ? find_offsets() : NULL;
    if (!offsets)
        return status;
    const int64_t by_us = (id == CLOCK_REALTIME ? offsets[0] : 0) + offsets[1];
    const int64_t time_us = (int64_t)ret->tv_sec * 1000000 + ret->tv_nsec / 1000 + by_us;
    *ret = (struct timespec){.tv_sec = time_us / 1000000, .tv_nsec = time_us % 1000000 * 1000};
    return 0;
}
