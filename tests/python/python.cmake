# The Python package and its examples, with the Python that has Debian's numpy.
set(python_arguments ${PROJECT_SOURCE_DIR} $<TARGET_FILE:adlro-shared> $<TARGET_FILE:adlro>)
add_test(NAME python COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_python ${python_arguments})
add_test(NAME python_example COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_example ${python_arguments})
add_test(NAME python_plots COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_plots ${python_arguments})
# The interfaces of Gymnasium and PettingZoo: always with checks of our own, and with theirs where they are installed.
add_test(NAME python_api COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_api ${python_arguments} plain)
add_test(NAME python_gymnasium COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_api ${python_arguments} gymnasium)
add_test(NAME python_pettingzoo COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_api ${python_arguments} pettingzoo)
set_tests_properties(python python_example python_plots python_api python_gymnasium python_pettingzoo
                     PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
