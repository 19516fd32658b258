/* A disk that fails on purpose: an SQLite VFS that hands everything to the real one, but lets the n-th write, sync or
 * truncation fail, or cuts the power after it and forgets what was not synced. */
#ifndef FAULTY_VFS_H
#define FAULTY_VFS_H

#include <sqlite3.h>

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum fault { FAULT_FULL, FAULT_IO, FAULT_POWER };

/* What a write that is not synced yet took the place of. */
struct faulty_undo {
    struct faulty_undo *before;
    char path[256];
    sqlite3_int64 at, old_size; /* old_size: of the file */
    int size;                   /* of the bytes that were there, the rest of the write was beyond the end */
    int written;
    char bytes[];
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    sqlite3_io_methods methods;
    enum fault fault;
    int64_t operations; /* so far */
    int64_t fail_at;    /* 0 = never */
    bool lasting;       /* all later ones fail too; as with power, which does not come back */
    int64_t failures;
    struct faulty_undo *undos; /* newest first */
} faulty;

struct faulty_file {
    sqlite3_file base;
    char path[256];
    sqlite3_file *real; /* behind this struct */
};

static inline sqlite3_file *faulty_real(sqlite3_file *file)
{
    return ((struct faulty_file *)file)->real;
}

/* Counts an operation that changes the disk and says whether it is to fail. */
static inline bool faulty_strikes(void)
{
    faulty.operations++;
    if (!faulty.fail_at || faulty.operations < faulty.fail_at)
        return false;
    if (faulty.operations > faulty.fail_at && !faulty.lasting && faulty.fault != FAULT_POWER)
        return false;
    faulty.failures++;
    return true;
}

static inline void faulty_remember(sqlite3_file *file, sqlite3_int64 at, int written)
{
    struct faulty_file *self = (struct faulty_file *)file;
    sqlite3_int64 size = 0;
    self->real->pMethods->xFileSize(self->real, &size);
    const sqlite3_int64 there = size > at ? size - at : 0;
    const int kept = there < written ? (int)there : written;
    struct faulty_undo *undo = malloc(sizeof *undo + (size_t)kept);
    assert(undo);
    *undo = (struct faulty_undo){.before = faulty.undos, .at = at, .old_size = size, .size = kept, .written = written};
    memcpy(undo->path, self->path, sizeof undo->path);
    if (kept > 0)
        self->real->pMethods->xRead(self->real, undo->bytes, kept, at);
    faulty.undos = undo;
}

static inline void faulty_forget(const char *path) /* NULL: of all files */
{
    for (struct faulty_undo **at = &faulty.undos; *at;) {
        struct faulty_undo *undo = *at;
        if (path && strcmp(undo->path, path) != 0) {
            at = &undo->before;
            continue;
        }
        *at = undo->before;
        free(undo);
    }
}

/* The disk as a power cut leaves it. Of what was not synced nothing stays, or, as disks write in any order, each write
 * by the toss of a coin, with zeros where a file grew. */
static inline void faulty_lose_power(uint64_t coins)
{
    for (const struct faulty_undo *undo = faulty.undos; undo; undo = undo->before) {
        const int fd = open(undo->path, O_RDWR);
        if (fd < 0)
            continue;
        static const char zeros[1 << 16];
        coins = coins * 6364136223846793005u + (coins > 0) * 1442695040888963407u;
        if (coins >> 63 == 0) {
            const int beyond = undo->written - undo->size;
            assert(beyond <= (int)sizeof zeros);
            ssize_t done = pwrite(fd, undo->bytes, (size_t)undo->size, undo->at);
            assert(done == undo->size);
            if (coins == 0)
                done = ftruncate(fd, undo->old_size);
            else
                done = pwrite(fd, zeros, (size_t)beyond, undo->at + undo->size) - beyond;
            assert(done == 0);
        }
        close(fd);
    }
    faulty_forget(NULL);
}

/* ---- what SQLite calls ---- */

static inline int faulty_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
    if (faulty_strikes())
        return faulty.fault == FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    if (faulty.fault == FAULT_POWER)
        faulty_remember(file, at, size);
    return faulty_real(file)->pMethods->xWrite(faulty_real(file), data, size, at);
}

static inline int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (faulty_strikes())
        return SQLITE_IOERR_TRUNCATE;
    sqlite3_int64 old_size = 0;
    faulty_real(file)->pMethods->xFileSize(faulty_real(file), &old_size);
    if (faulty.fault == FAULT_POWER && old_size > size)
        faulty_remember(file, size, (int)(old_size - size));
    return faulty_real(file)->pMethods->xTruncate(faulty_real(file), size);
}

static inline int faulty_sync(sqlite3_file *file, int flags)
{
    if (faulty_strikes())
        return faulty.fault == FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_FSYNC;
    (void)flags; /* only this process could tell that nothing was really synced, and it does not die */
    faulty_forget(((struct faulty_file *)file)->path);
    return SQLITE_OK;
}

static inline int faulty_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    (void)vfs;
    if (faulty_strikes())
        return SQLITE_IOERR_DELETE;
    faulty_forget(path);
    (void)sync;
    return faulty.real->xDelete(faulty.real, path, 0);
}

static inline int faulty_close(sqlite3_file *file)
{
    return faulty_real(file)->pMethods->xClose(faulty_real(file));
}

static inline int faulty_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
    return faulty_real(file)->pMethods->xRead(faulty_real(file), data, size, at);
}

static inline int faulty_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return faulty_real(file)->pMethods->xFileSize(faulty_real(file), ret);
}

static inline int faulty_lock(sqlite3_file *file, int level)
{
    return faulty_real(file)->pMethods->xLock(faulty_real(file), level);
}

static inline int faulty_unlock(sqlite3_file *file, int level)
{
    return faulty_real(file)->pMethods->xUnlock(faulty_real(file), level);
}

static inline int faulty_reserved(sqlite3_file *file, int *ret)
{
    return faulty_real(file)->pMethods->xCheckReservedLock(faulty_real(file), ret);
}

static inline int faulty_control(sqlite3_file *file, int what, void *argument)
{
    return faulty_real(file)->pMethods->xFileControl(faulty_real(file), what, argument);
}

static inline int faulty_sector(sqlite3_file *file)
{
    return faulty_real(file)->pMethods->xSectorSize(faulty_real(file));
}

static inline int faulty_traits(sqlite3_file *file)
{
    return faulty_real(file)->pMethods->xDeviceCharacteristics(faulty_real(file));
}

static inline int faulty_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
    return faulty_real(file)->pMethods->xShmMap(faulty_real(file), region, size, extend, ret);
}

static inline int faulty_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return faulty_real(file)->pMethods->xShmLock(faulty_real(file), offset, count, flags);
}

static inline void faulty_shm_barrier(sqlite3_file *file)
{
    faulty_real(file)->pMethods->xShmBarrier(faulty_real(file));
}

static inline int faulty_shm_unmap(sqlite3_file *file, int remove)
{
    return faulty_real(file)->pMethods->xShmUnmap(faulty_real(file), remove);
}

static inline int faulty_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags)
{
    (void)vfs;
    struct faulty_file *self = (struct faulty_file *)file;
    memset(self, 0, sizeof *self);
    self->real = (sqlite3_file *)(void *)(self + 1);
    if (path)
        strncpy(self->path, path, sizeof self->path - 1);
    const int code = faulty.real->xOpen(faulty.real, path, self->real, flags, ret_flags);
    self->base.pMethods = self->real->pMethods ? &faulty.methods : NULL;
    return code;
}

/* From now on, all databases of this process are on the faulty disk, which does not fail until it is told to. */
static inline void faulty_install(void)
{
    faulty.real = sqlite3_vfs_find(NULL);
    faulty.methods = (sqlite3_io_methods){2,
                                          faulty_close,
                                          faulty_read,
                                          faulty_write,
                                          faulty_truncate,
                                          faulty_sync,
                                          faulty_size,
                                          faulty_lock,
                                          faulty_unlock,
                                          faulty_reserved,
                                          faulty_control,
                                          faulty_sector,
                                          faulty_traits,
                                          faulty_shm_map,
                                          faulty_shm_lock,
                                          faulty_shm_barrier,
                                          faulty_shm_unmap,
                                          NULL,
                                          NULL};
    faulty.vfs = *faulty.real;
    faulty.vfs.zName = "faulty";
    faulty.vfs.szOsFile += (int)sizeof(struct faulty_file);
    faulty.vfs.xOpen = faulty_open;
    faulty.vfs.xDelete = faulty_delete;
    sqlite3_vfs_register(&faulty.vfs, 1);
}

/* The n-th operation from now on fails, and with lasting all after it. */
static inline void faulty_arm(enum fault fault, int64_t n, bool lasting)
{
    faulty.fault = fault;
    faulty.operations = 0;
    faulty.fail_at = n;
    faulty.lasting = lasting;
    faulty.failures = 0;
}

#endif
