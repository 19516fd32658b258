# The command line against the service, and its bash completion. Included by CMakeLists.txt of this folder.
add_test(NAME completion COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_completion $<TARGET_FILE:adlro>
                                 ${PROJECT_SOURCE_DIR}/packaging/completion/adlro.bash)
set_tests_properties(completion PROPERTIES TIMEOUT 60)
