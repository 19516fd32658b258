# What is installed, and the scripts that build and install it, as others use them.
# The shared library and its example. Not in sanitized builds, whose library needs the sanitizers in the program.
if(NOT ADL_SANITIZE)
  add_test(NAME library COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_library ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                                ${CMAKE_C_COMPILER})
  set_tests_properties(library PROPERTIES TIMEOUT 120)
  # What programs and plugins of others were built with: tests/packaging/abi.txt.
  foreach(name abi abi_selftest)
    add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_${name} ${PROJECT_SOURCE_DIR}
                                  $<TARGET_FILE:adlro-shared> ${CMAKE_C_COMPILER})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
  endforeach()
endif()
add_test(NAME example COMMAND random_agent ${PROJECT_SOURCE_DIR}/scenarios/paper16.yaml 9)
set_tests_properties(example PROPERTIES TIMEOUT 120)
# What README.md and docs/environment.md tell newcomers to type. Only in the build that ./run makes: it installs that one.
if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
  add_test(NAME quickstart COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_quickstart ${PROJECT_SOURCE_DIR})
  set_tests_properties(quickstart PROPERTIES TIMEOUT 300 COST 150)
endif()
add_test(NAME setup COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_setup ${PROJECT_SOURCE_DIR})
set_tests_properties(setup PROPERTIES TIMEOUT 60)
add_test(NAME man COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_man $<TARGET_FILE:adlro> ${PROJECT_SOURCE_DIR})
set_tests_properties(man PROPERTIES TIMEOUT 120)
add_test(NAME paths COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_paths $<TARGET_FILE:adlro> ${PROJECT_SOURCE_DIR})
set_tests_properties(paths PROPERTIES TIMEOUT 300)
add_test(NAME monitoring COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_monitoring ${PROJECT_SOURCE_DIR})
add_test(NAME container COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_container ${PROJECT_SOURCE_DIR} $<TARGET_FILE:adlro>)
set_tests_properties(container PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME units COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_units ${PROJECT_BINARY_DIR})
set_tests_properties(units PROPERTIES SKIP_RETURN_CODE 77)
