#include "executor/local/telemetry_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct adl_telemetry_thread {
    /* The thread's own: */
    struct adl_telemetry_reader *reader;
    const struct adl_inventory *inventory;
    int64_t interval_us;
    uint32_t *gpu_of; /* [device] ADL_NONE = not of the inventory */
    uint32_t device_count, device_capacity;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* on the monotonic clock */
    bool started;
    int fd;

    /* Under the lock: */
    bool stop;
    struct adl_gpu_sample *samples; /* [gpu] */
    bool *fresh;                    /* [gpu] not taken yet */
    uint32_t fresh_count;
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Exporters' devices come later than the driver's: those that are new are looked up. False if out of memory. */
static bool know_devices(struct adl_telemetry_thread *watch)
{
    uint32_t count = 0;
    const struct adl_gpu_device *devices = adl_telemetry_devices(watch->reader, &count);
    if (count > watch->device_capacity) {
        uint32_t *grown = realloc(watch->gpu_of, count * sizeof *grown);
        if (!grown)
            return false;
        watch->gpu_of = grown;
        watch->device_capacity = count;
    }
    for (; watch->device_count < count; watch->device_count++)
        watch->gpu_of[watch->device_count] = adl_inventory_device_gpu(watch->inventory, devices, watch->device_count);
    return true;
}

static void tell(const struct adl_telemetry_thread *watch)
{
    const uint64_t one = 1;
    while (write(watch->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* With the lock held. */
static void keep_samples(struct adl_telemetry_thread *watch)
{
    const struct adl_gpu_sample *samples = adl_telemetry_samples(watch->reader);
    for (uint32_t i = 0; i < watch->device_count; i++) {
        const uint32_t gpu = watch->gpu_of[i];
        if (gpu == ADL_NONE)
            continue;
        watch->samples[gpu] = samples[i];
        watch->fresh_count += !watch->fresh[gpu];
        watch->fresh[gpu] = true;
    }
    if (watch->fresh_count > 0)
        tell(watch);
}

/* With the lock held, which is let go meanwhile. */
static void wait_until(struct adl_telemetry_thread *watch, int64_t time_us)
{
    const struct timespec until = {.tv_sec = (time_t)(time_us / 1000000), .tv_nsec = (long)(time_us % 1000000) * 1000};
    while (!watch->stop && now_us() < time_us)
        pthread_cond_timedwait(&watch->wake, &watch->lock, &until);
}

static void *run(void *self)
{
    struct adl_telemetry_thread *watch = self;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop) {
        const int64_t begun_us = now_us();
        pthread_mutex_unlock(&watch->lock);
        /* Without memory there is no sample this time; the next may have better luck. */
        const bool sampled = adl_telemetry_sample(watch->reader, begun_us, NULL) > 0 && know_devices(watch);
        pthread_mutex_lock(&watch->lock);
        if (sampled)
            keep_samples(watch);
        wait_until(watch, begun_us + watch->interval_us);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* Signals are for the thread that decides. */
static int start_thread(struct adl_telemetry_thread *watch)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int fault = pthread_create(&watch->thread, NULL, run, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    watch->started = fault == 0;
    return fault;
}

static void init_locks(struct adl_telemetry_thread *watch)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&watch->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

int adl_telemetry_thread_create(struct adl_telemetry_reader *reader, const struct adl_inventory *inventory,
                                int64_t interval_us, struct adl_telemetry_thread **ret, struct adl_error *err)
{
    const uint32_t gpus = inventory->scenario.cluster.gpu_count;
    struct adl_telemetry_thread *watch = calloc(1, sizeof *watch);
    if (!watch) {
        adl_telemetry_close(reader);
        return adl_fail(err, ADL_ENOMEM, "out of memory for telemetry");
    }
    watch->reader = reader;
    watch->inventory = inventory;
    watch->interval_us = interval_us > ADL_TELEMETRY_INTERVAL_MIN_US ? interval_us : ADL_TELEMETRY_INTERVAL_MIN_US;
    init_locks(watch);
    watch->samples = calloc(gpus + 1, sizeof *watch->samples);
    watch->fresh = calloc(gpus + 1, sizeof *watch->fresh);
    watch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = 0;
    if (!watch->samples || !watch->fresh)
        status = adl_fail(err, ADL_ENOMEM, "out of memory for telemetry of %u GPUs", (unsigned)gpus);
    else if (watch->fd < 0)
        status = adl_fail(err, ADL_EIO, "cannot make an eventfd for telemetry: %s", strerror(errno));
    else if (start_thread(watch))
        status = adl_fail(err, ADL_EIO, "cannot start a thread for telemetry");
    if (status)
        adl_telemetry_thread_destroy(watch);
    else
        *ret = watch;
    return status;
}

void adl_telemetry_thread_destroy(struct adl_telemetry_thread *watch)
{
    if (!watch)
        return;
    if (watch->started) {
        pthread_mutex_lock(&watch->lock);
        watch->stop = true;
        pthread_cond_signal(&watch->wake);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    if (watch->fd >= 0)
        close(watch->fd);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    adl_telemetry_close(watch->reader);
    free(watch->gpu_of);
    free(watch->samples);
    free(watch->fresh);
    free(watch);
}

int adl_telemetry_thread_fd(const struct adl_telemetry_thread *watch)
{
    return watch->fd;
}

uint32_t adl_telemetry_thread_take(struct adl_telemetry_thread *watch, struct adl_telemetry_thread_sample *ret,
                                   uint32_t max)
{
    const uint32_t gpus = watch->inventory->scenario.cluster.gpu_count;
    uint32_t count = 0;
    uint64_t told;
    pthread_mutex_lock(&watch->lock);
    for (uint32_t gpu = 0; gpu < gpus && count < max && watch->fresh_count > 0; gpu++) {
        if (!watch->fresh[gpu])
            continue;
        ret[count].gpu = gpu;
        ret[count++].sample = watch->samples[gpu];
        watch->fresh[gpu] = false;
        watch->fresh_count--;
    }
    if (watch->fresh_count == 0)
        while (read(watch->fd, &told, sizeof told) < 0 && errno == EINTR)
            ;
    pthread_mutex_unlock(&watch->lock);
    return count;
}
