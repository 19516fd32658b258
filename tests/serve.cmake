# The tests of the service that need more than the others: setgroups(), which POSIX lacks, and room for time limits.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/http/test_auth.c ${CMAKE_CURRENT_LIST_DIR}/http/test_http_crowd.c PROPERTIES COMPILE_DEFINITIONS _DEFAULT_SOURCE)
add_test(NAME units COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_units ${PROJECT_BINARY_DIR})
set_tests_properties(units PROPERTIES SKIP_RETURN_CODE 77)
# The service itself, as a process: where the program is, and that it is built first.
file(GLOB SERVICE_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/service/test_service_*.c ${CMAKE_CURRENT_LIST_DIR}/cli/test_service_*.c)
list(FILTER SERVICE_TESTS EXCLUDE REGEX "_config\\.c$")
foreach(source ${SERVICE_TESTS})
  get_filename_component(name ${source} NAME_WE)
  target_compile_definitions(${name} PRIVATE ADL_ILP_MODEL="$<TARGET_FILE:adlro>")
  add_dependencies(${name} adlro)
endforeach()
# The wall clock of the service in test_service_clock, which is the test's to set.
add_library(clock_shim MODULE ${CMAKE_CURRENT_LIST_DIR}/clock_shim.c)
target_compile_options(clock_shim PRIVATE -fno-sanitize=all)
target_link_options(clock_shim PRIVATE -fno-sanitize=all)
set_target_properties(clock_shim PROPERTIES PREFIX "")
target_compile_definitions(test_service_clock PRIVATE CLOCK_SHIM="$<TARGET_FILE:clock_shim>")
add_dependencies(test_service_clock clock_shim)
