# The tests of the service that need more than the others: setgroups(), which POSIX lacks, and room for time limits.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/test_auth.c PROPERTIES COMPILE_DEFINITIONS _DEFAULT_SOURCE)
