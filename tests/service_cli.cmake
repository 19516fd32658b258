# The command line against the service, and its bash completion. Included by CMakeLists.txt of this folder.
add_test(NAME completion COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_completion $<TARGET_FILE:adlro>
                                 ${PROJECT_SOURCE_DIR}/packaging/completion/adlro.bash)
set_tests_properties(completion PROPERTIES TIMEOUT 60)
add_test(NAME service_cli COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_service_cli $<TARGET_FILE:adlro> $<TARGET_FILE:json_has>)
set_tests_properties(service_cli PROPERTIES TIMEOUT 120)
