# The dashboard in a browser: the test starts the built program and chromedriver.
add_dependencies(test_dashboard adlro)
target_compile_definitions(test_dashboard PRIVATE ADL_PROGRAM="$<TARGET_FILE:adlro>" _XOPEN_SOURCE=700) # nftw
set_tests_properties(dashboard PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 COST 100)
