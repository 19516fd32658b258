/* thread_pool: a fixed set of threads for work in many small pieces. Any thread may do any piece, so pieces must not
 * depend on their thread; then results do not depend on the number of threads. */
#ifndef ADLRO_EXPERIMENT_THREAD_POOL_H
#define ADLRO_EXPERIMENT_THREAD_POOL_H

#include "base/error.h"

#include <stdint.h>

struct adl_thread_pool;

int adl_thread_pool_create(uint32_t threads, struct adl_thread_pool **ret,
                           struct adl_error *err);          /* the calling thread is one of them */
void adl_thread_pool_destroy(struct adl_thread_pool *pool); /* accepts NULL */

/* Calls piece(self, 0 .. count - 1), each once, and returns when all are done. The calling thread works too. */
void adl_thread_pool_run(struct adl_thread_pool *pool, uint32_t count, void (*piece)(void *self, uint32_t index),
                         void *self);

#endif
