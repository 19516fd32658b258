# The shared library and its example, installed and used as by others. Not in sanitized builds, whose library needs the
# sanitizers in the program.
if(NOT ADL_SANITIZE)
  add_test(NAME library COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_library ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                                ${CMAKE_C_COMPILER})
  set_tests_properties(library PROPERTIES TIMEOUT 120)
endif()
add_test(NAME example COMMAND random_agent ${PROJECT_SOURCE_DIR}/scenarios/paper16.yaml 9)
set_tests_properties(example PROPERTIES TIMEOUT 120)
