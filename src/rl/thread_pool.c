#include "rl/thread_pool.h"

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
static void take_pieces(struct adl_thread_pool *team)
{
    while (team->next < team->count) {
        const uint32_t index = team->next++;
        pthread_mutex_unlock(&team->lock);
        team->piece(team->self, index);
        pthread_mutex_lock(&team->lock);
        if (--team->unfinished == 0)
            pthread_cond_signal(&team->work_is_done);
    }
}

static void *member(void *self)
{
    struct adl_thread_pool *team = self;
    pthread_mutex_lock(&team->lock);
    while (!team->closing) {
        take_pieces(team);
        if (!team->closing)
            pthread_cond_wait(&team->work_is_there, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

int adl_thread_pool_create(uint32_t threads, struct adl_thread_pool **ret, struct adl_error *err)
{
    struct adl_thread_pool *team = calloc(1, sizeof *team);
    if (!team)
        return adl_fail(err, ADL_ENOMEM, "out of memory for threads");
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->work_is_there, NULL);
    pthread_cond_init(&team->work_is_done, NULL);
    while (team->thread_count + 1 < threads && team->thread_count < THREADS_MAX &&
           pthread_create(&team->threads[team->thread_count], NULL, member, team) == 0)
        team->thread_count++;
    *ret = team;
    return 0;
}

void adl_thread_pool_destroy(struct adl_thread_pool *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->lock);
    team->closing = true;
    pthread_cond_broadcast(&team->work_is_there);
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 0; i < team->thread_count; i++)
        pthread_join(team->threads[i], NULL);
    pthread_cond_destroy(&team->work_is_done);
    pthread_cond_destroy(&team->work_is_there);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

void adl_thread_pool_run(struct adl_thread_pool *team, uint32_t count, void (*piece)(void *self, uint32_t index),
                         void *self)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&team->lock);
    team->piece = piece;
    team->self = self;
    team->next = 0;
    team->count = team->unfinished = count;
    pthread_cond_broadcast(&team->work_is_there);
    take_pieces(team);
    while (team->unfinished > 0)
        pthread_cond_wait(&team->work_is_done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}
