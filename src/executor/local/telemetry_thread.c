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

/* Devices of exporters are found later than the driver's: maps the new ones. False if out of memory. */
static bool map_devices(struct adl_telemetry_thread *self)
{
    uint32_t count = 0;
    const struct adl_gpu_device *devices = adl_telemetry_devices(self->reader, &count);
    if (count > self->device_capacity) {
        uint32_t *grown = realloc(self->gpu_of, count * sizeof *grown);
        if (!grown)
            return false;
        self->gpu_of = grown;
        self->device_capacity = count;
    }
    for (; self->device_count < count; self->device_count++)
        self->gpu_of[self->device_count] = adl_inventory_device_gpu(self->inventory, devices, self->device_count);
    return true;
}

static void notify(const struct adl_telemetry_thread *self)
{
    const uint64_t one = 1;
    while (write(self->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* With the lock held. */
static void keep_samples(struct adl_telemetry_thread *self)
{
    const struct adl_gpu_sample *samples = adl_telemetry_samples(self->reader);
    for (uint32_t i = 0; i < self->device_count; i++) {
        const uint32_t gpu = self->gpu_of[i];
        if (gpu == ADL_NONE)
            continue;
        self->samples[gpu] = samples[i];
        self->fresh_count += !self->fresh[gpu];
        self->fresh[gpu] = true;
    }
    if (self->fresh_count > 0)
        notify(self);
}

/* With the lock held; waiting releases it. */
static void wait_until(struct adl_telemetry_thread *self, int64_t time_us)
{
    const struct timespec until = {.tv_sec = (time_t)(time_us / 1000000), .tv_nsec = (long)(time_us % 1000000) * 1000};
    while (!self->stop && now_us() < time_us)
        pthread_cond_timedwait(&self->wake, &self->lock, &until);
}

static void *run(void *arg)
{
    struct adl_telemetry_thread *self = arg;
    pthread_mutex_lock(&self->lock);
    while (!self->stop) {
        const int64_t start_us = now_us();
        pthread_mutex_unlock(&self->lock);
        /* Out of memory: no sample this time; the next round tries again. */
        const bool sampled = adl_telemetry_sample(self->reader, start_us, NULL) > 0 && map_devices(self);
        pthread_mutex_lock(&self->lock);
        if (sampled)
            keep_samples(self);
        wait_until(self, start_us + self->interval_us);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* Signals go to the deciding thread. */
static int start_thread(struct adl_telemetry_thread *self)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int fault = pthread_create(&self->thread, NULL, run, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    self->started = fault == 0;
    return fault;
}

static void init_locks(struct adl_telemetry_thread *self)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

int adl_telemetry_thread_create(struct adl_telemetry_reader *reader, const struct adl_inventory *inventory,
                                int64_t interval_us, struct adl_telemetry_thread **ret, struct adl_error *err)
{
    const uint32_t gpus = inventory->scenario.cluster.gpu_count;
    struct adl_telemetry_thread *self = calloc(1, sizeof *self);
    if (!self) {
        adl_telemetry_close(reader);
        return adl_fail(err, ADL_ENOMEM, "out of memory for telemetry");
    }
    self->reader = reader;
    self->inventory = inventory;
    self->interval_us = interval_us > ADL_TELEMETRY_INTERVAL_MIN_US ? interval_us : ADL_TELEMETRY_INTERVAL_MIN_US;
    init_locks(self);
    self->samples = calloc(gpus + 1, sizeof *self->samples);
    self->fresh = calloc(gpus + 1, sizeof *self->fresh);
    self->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = 0;
    if (!self->samples || !self->fresh)
        status = adl_fail(err, ADL_ENOMEM, "out of memory for telemetry of %u GPUs", (unsigned)gpus);
    else if (self->fd < 0)
        status = adl_fail(err, ADL_EIO, "cannot make an eventfd for telemetry: %s", strerror(errno));
    else if (start_thread(self))
        status = adl_fail(err, ADL_EIO, "cannot start a thread for telemetry");
    if (status)
        adl_telemetry_thread_destroy(self);
    else
        *ret = self;
    return status;
}

void adl_telemetry_thread_destroy(struct adl_telemetry_thread *self)
{
    if (!self)
        return;
    if (self->started) {
        pthread_mutex_lock(&self->lock);
        self->stop = true;
        pthread_cond_signal(&self->wake);
        pthread_mutex_unlock(&self->lock);
        pthread_join(self->thread, NULL);
    }
    if (self->fd >= 0)
        close(self->fd);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->lock);
    adl_telemetry_close(self->reader);
    free(self->gpu_of);
    free(self->samples);
    free(self->fresh);
    free(self);
}

int adl_telemetry_thread_fd(const struct adl_telemetry_thread *self)
{
    return self->fd;
}

uint32_t adl_telemetry_thread_take(struct adl_telemetry_thread *self, struct adl_telemetry_thread_sample *ret,
                                   uint32_t max)
{
    const uint32_t gpus = self->inventory->scenario.cluster.gpu_count;
    uint32_t count = 0;
    uint64_t signals;
    pthread_mutex_lock(&self->lock);
    for (uint32_t gpu = 0; gpu < gpus && count < max && self->fresh_count > 0; gpu++) {
        if (!self->fresh[gpu])
            continue;
        ret[count].gpu = gpu;
        ret[count++].sample = self->samples[gpu];
        self->fresh[gpu] = false;
        self->fresh_count--;
    }
    if (self->fresh_count == 0)
        while (read(self->fd, &signals, sizeof signals) < 0 && errno == EINTR)
            ;
    pthread_mutex_unlock(&self->lock);
    return count;
}
