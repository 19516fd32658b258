# adlro replay on traces as a test: a script that runs the built adlro. Included by CMakeLists.txt of this folder, after
# cli.cmake, which builds json_has.
add_test(NAME replay COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_replay $<TARGET_FILE:adlro> $<TARGET_FILE:json_has>
                             ${PROJECT_SOURCE_DIR})
add_test(NAME replay_shared COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_replay $<TARGET_FILE:adlro> $<TARGET_FILE:json_has>
                                    ${PROJECT_SOURCE_DIR} shared)
set_tests_properties(replay replay_shared PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
