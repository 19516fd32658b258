# The Python package and its example, with the Python that has Debian's numpy.
add_test(NAME python COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_python ${PROJECT_SOURCE_DIR} $<TARGET_FILE:adlro-shared>
                             $<TARGET_FILE:adlro>)
add_test(NAME python_example COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_example ${PROJECT_SOURCE_DIR}
                                     $<TARGET_FILE:adlro-shared> $<TARGET_FILE:adlro>)
set_tests_properties(python python_example PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
