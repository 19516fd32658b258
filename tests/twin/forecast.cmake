# bench/bench_forecast in its short form as a test: a few jobs; that it runs, not what forecasts are worth.
add_test(NAME forecast_bench COMMAND bench_forecast --quick)
set_tests_properties(forecast_bench PROPERTIES TIMEOUT 120)
