# The command line as a test: a script that runs the built adlro. Included by CMakeLists.txt of this folder.
add_executable(json_has ${CMAKE_CURRENT_LIST_DIR}/json_has.c)
target_link_libraries(json_has PRIVATE PkgConfig::CJSON)
add_test(NAME cli COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_cli $<TARGET_FILE:adlro> $<TARGET_FILE:json_has>
                          ${PROJECT_SOURCE_DIR})
set_tests_properties(cli PROPERTIES TIMEOUT 120)
