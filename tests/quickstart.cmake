# What README.md and docs/environment.md tell newcomers to type, and the scripts behind it, as tests. The
# first only in the build that ./run makes: it installs that one.
if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
  add_test(NAME quickstart COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_quickstart ${PROJECT_SOURCE_DIR})
  set_tests_properties(quickstart PROPERTIES TIMEOUT 300)
endif()
add_test(NAME setup COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_setup ${PROJECT_SOURCE_DIR})
set_tests_properties(setup PROPERTIES TIMEOUT 60)
