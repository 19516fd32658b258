# adlro train as a test: a script that runs the built adlro. Included by CMakeLists.txt of this folder, after cli.cmake,
# which builds json_has.
add_test(NAME train COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_train $<TARGET_FILE:adlro> $<TARGET_FILE:json_has>
                            ${PROJECT_SOURCE_DIR})
set_tests_properties(train PROPERTIES TIMEOUT 300)
