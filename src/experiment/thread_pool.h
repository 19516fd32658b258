/* thread_pool: threads that stay, for work that comes in many small pieces. Which thread does a piece is left open, so
 * pieces must not depend on it; then results do not depend on how many threads there are. */
#ifndef ADLRO_EXPERIMENT_THREAD_POOL_H
#define ADLRO_EXPERIMENT_THREAD_POOL_H

#include "base/error.h"

#include <stdint.h>

struct adl_thread_pool;

int adl_thread_pool_create(uint32_t threads, struct adl_thread_pool **ret,
                           struct adl_error *err);          /* the caller's is one of them */
void adl_thread_pool_destroy(struct adl_thread_pool *pool); /* accepts NULL */

/* Calls piece(self, 0 .. count - 1), each once, and returns when all are done. The calling thread works too. */
void adl_thread_pool_run(struct adl_thread_pool *pool, uint32_t count, void (*piece)(void *self, uint32_t index),
                         void *self);

#endif
