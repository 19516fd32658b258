# The tests of the service that need more than the others: setgroups(), which POSIX lacks, and room for time limits.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/test_auth.c PROPERTIES COMPILE_DEFINITIONS _DEFAULT_SOURCE)
add_test(NAME units COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_units ${PROJECT_BINARY_DIR})
set_tests_properties(units PROPERTIES SKIP_RETURN_CODE 77)
