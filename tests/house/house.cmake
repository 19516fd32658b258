# The house checks as tests: scripts that hold the tree to what docs/architecture.md and CONTRIBUTING.md say.
# Not in sanitized builds, whose objects import the sanitizers. Formatting and tidiness need clang's tools, which the
# test suite does without: .ci/run checks those.
if(NOT ADL_SANITIZE)
  get_directory_property(house_options COMPILE_OPTIONS)
  get_directory_property(house_definitions COMPILE_DEFINITIONS)
  list(TRANSFORM house_definitions PREPEND -D)
  set(house_flags -std=c17 ${house_options} ${house_definitions})

  add_test(NAME house_headers COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_headers ${PROJECT_SOURCE_DIR}
                                      ${CMAKE_C_COMPILER} ${house_flags})
  add_test(NAME house_layers COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_layers ${PROJECT_SOURCE_DIR})
  add_test(NAME house_core_imports COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_core_imports $<TARGET_FILE:adlro-core>)
  add_test(NAME house_docs COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_docs ${PROJECT_SOURCE_DIR})
  add_test(NAME house_size COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_size ${PROJECT_SOURCE_DIR})
  add_test(NAME house_names COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_names ${PROJECT_SOURCE_DIR})
  add_test(NAME house_words COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_words ${PROJECT_SOURCE_DIR})
  set(product_objects "")
  foreach(target adlro-core adlro-lp adlro-edge adlro-slurm-words adlro adlro-shepherd adlro-powercap adlro-shared adlro-slurm)
    if(TARGET ${target})
      list(APPEND product_objects "$<JOIN:$<TARGET_OBJECTS:${target}>,\n>")
    endif()
  endforeach()
  list(JOIN product_objects "\n" product_objects)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/product_objects.txt CONTENT "${product_objects}\n")
  if(TARGET adlro-slurm) # else what only the adapter calls would look unused
    add_test(NAME house_unused COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_unused ${PROJECT_SOURCE_DIR}
                                       ${CMAKE_CURRENT_BINARY_DIR}/product_objects.txt)
    set_tests_properties(house_unused PROPERTIES TIMEOUT 120)
  endif()
  add_test(NAME house_selftest COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_selftest headers layers core_imports docs names size
                                       words unused)
  set_tests_properties(house_headers house_layers house_core_imports house_docs house_names house_size house_words
                       house_selftest PROPERTIES TIMEOUT 120)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/skips.cmake)
add_test(NAME skips COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_skips)
set_tests_properties(skips PROPERTIES TIMEOUT 60)
