# test_allocation counts and refuses allocations of the code under test: the linker hands them to its __wrap_ functions.
target_link_options(test_allocation PRIVATE
                    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free)
