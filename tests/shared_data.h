/* shared_data: cases that need the data beside the project, ../shared, are a ctest entry of their own, NAME_shared,
 * which runs the program with the word "shared". Without the data that entry counts as skipped, and says why. Include
 * after cmocka.h. */
#ifndef ADLRO_TESTS_SHARED_DATA_H
#define ADLRO_TESTS_SHARED_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SHARED_DATA ADL_SOURCE_DIR "/../shared/"
#define SKIPPED     77 /* ctest's SKIP_RETURN_CODE */

static inline int run_plain_or_shared(int argc, char **argv, const struct CMUnitTest *plain, size_t plain_count,
                                      const struct CMUnitTest *shared, size_t shared_count)
{
    if (argc < 2 || strcmp(argv[1], "shared") != 0)
        return _cmocka_run_group_tests("tests", plain, plain_count, NULL, NULL);
    if (access(SHARED_DATA "data", R_OK | X_OK) != 0) {
        printf(
            "skipped: there is no folder ../shared beside the project, with the traces and measurements of others\n");
        return SKIPPED;
    }
    return _cmocka_run_group_tests("shared", shared, shared_count, NULL, NULL);
}

#define RUN_PLAIN_OR_SHARED(argc, argv, plain, shared)                                                                 \
    run_plain_or_shared(argc, argv, plain, sizeof(plain) / sizeof *(plain), shared, sizeof(shared) / sizeof *(shared))

#endif
