# Tests that need more than the others: setgroups(), which POSIX lacks.
foreach(name test_auth test_http_crowd)
  target_compile_definitions(${name} PRIVATE _DEFAULT_SOURCE)
endforeach()
# The service itself, as a process: where the program is, and that it is built first.
file(GLOB SERVICE_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_service_*.c
     ${CMAKE_CURRENT_LIST_DIR}/../cli/test_service_*.c)
list(FILTER SERVICE_TESTS EXCLUDE REGEX "_config\\.c$")
foreach(source ${SERVICE_TESTS})
  get_filename_component(name ${source} NAME_WE)
  target_compile_definitions(${name} PRIVATE ADL_PROGRAM="$<TARGET_FILE:adlro>")
  add_dependencies(${name} adlro)
endforeach()
# The clocks of the service where they are the test's to set (fixture/service_clock.h).
add_library(clock_shim MODULE ${CMAKE_CURRENT_LIST_DIR}/clock_shim.c)
target_compile_options(clock_shim PRIVATE -fno-sanitize=all)
target_link_options(clock_shim PRIVATE -fno-sanitize=all)
set_target_properties(clock_shim PROPERTIES PREFIX "")
foreach(name test_service_clock test_service_history test_service_progress)
  add_dependencies(${name} clock_shim)
endforeach()
