/* scratch: what tests with a folder of their own need: to remove it, and to wait a little. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline void nap_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static inline void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char inner[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if ((size_t)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < sizeof inner && unlink(inner))
            remove_tree(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

#endif
