#include "experiment/thread_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define THREADS_MAX 64

struct adl_thread_pool {
    pthread_t threads[THREADS_MAX];
    uint32_t thread_count;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work_is_there, work_is_done;
    void (*piece)(void *self, uint32_t index);
    void *self;
    uint32_t next, count, unfinished;
    bool closing;
};

/* Takes pieces while there are any; the lock is held on entry and on return. */
static void take_pieces(struct adl_thread_pool *pool)
{
    while (pool->next < pool->count) {
        const uint32_t index = pool->next++;
        pthread_mutex_unlock(&pool->lock);
        pool->piece(pool->self, index);
        pthread_mutex_lock(&pool->lock);
        if (--pool->unfinished == 0)
            pthread_cond_signal(&pool->work_is_done);
    }
}

static void *worker(void *self)
{
    struct adl_thread_pool *pool = self;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        take_pieces(pool);
        if (!pool->closing)
            pthread_cond_wait(&pool->work_is_there, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int adl_thread_pool_create(uint32_t threads, struct adl_thread_pool **ret, struct adl_error *err)
{
    struct adl_thread_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return adl_fail(err, ADL_ENOMEM, "out of memory for threads");
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work_is_there, NULL);
    pthread_cond_init(&pool->work_is_done, NULL);
    while (pool->thread_count + 1 < threads && pool->thread_count < THREADS_MAX &&
           pthread_create(&pool->threads[pool->thread_count], NULL, worker, pool) == 0)
        pool->thread_count++;
    *ret = pool;
    return 0;
}

void adl_thread_pool_destroy(struct adl_thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work_is_there);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work_is_done);
    pthread_cond_destroy(&pool->work_is_there);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void adl_thread_pool_run(struct adl_thread_pool *pool, uint32_t count, void (*piece)(void *self, uint32_t index),
                         void *self)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->piece = piece;
    pool->self = self;
    pool->next = 0;
    pool->count = pool->unfinished = count;
    pthread_cond_broadcast(&pool->work_is_there);
    take_pieces(pool);
    while (pool->unfinished > 0)
        pthread_cond_wait(&pool->work_is_done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
