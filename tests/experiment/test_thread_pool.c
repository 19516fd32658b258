/* Thread pools: every piece of work is done once and before run returns, whatever the number of threads. */
#include "experiment/thread_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PIECES 1000

/* Not atomic: a piece has its own entry, so that the thread sanitizer objects if two threads ever do the same one, or
 * if run returns before they are done. */
struct tally {
    uint32_t done[PIECES];
};

static void count_piece(void *self, uint32_t index)
{
    ((struct tally *)self)->done[index]++;
}

static void every_piece_is_done_once_before_run_returns(void **state)
{
    (void)state;
    static const uint32_t threads[] = {0, 1, 2, 5, 200};
    static const uint32_t counts[] = {PIECES, 0, 1, 3, 17};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct adl_thread_pool *pool = NULL;
        struct adl_error err;
        assert_int_equal(adl_thread_pool_create(threads[t], &pool, &err), 0);
        for (uint32_t run = 0; run < 200; run++) {
            struct tally tally = {{0}};
            const uint32_t count = counts[run % 5];
            adl_thread_pool_run(pool, count, count_piece, &tally);
            for (uint32_t i = 0; i < PIECES; i++)
                assert_int_equal(tally.done[i], i < count);
        }
        adl_thread_pool_destroy(pool);
    }
}

static void a_pool_that_never_worked_ends_and_none_at_all_too(void **state)
{
    (void)state;
    struct adl_thread_pool *pool = NULL;
    struct adl_error err;
    assert_int_equal(adl_thread_pool_create(4, &pool, &err), 0);
    adl_thread_pool_destroy(pool);
    adl_thread_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once_before_run_returns),
        cmocka_unit_test(a_pool_that_never_worked_ends_and_none_at_all_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
