# bench/bench_estimate in its short form as a test: one fold, little training; that it runs, not what it is worth. Skipped,
# and said so, where the measurements are not there.
add_test(NAME estimate_bench COMMAND bench_estimate --quick)
set_tests_properties(estimate_bench PROPERTIES SKIP_REGULAR_EXPRESSION "^SKIPPED" TIMEOUT 120)
