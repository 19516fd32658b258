# adlro slurm check as a test: a script that runs the built adlro and patch. Included by CMakeLists.txt of this folder, after
# cli.cmake, which builds json_has.
add_test(NAME slurm_check COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_conf $<TARGET_FILE:adlro> $<TARGET_FILE:json_has>
                                  ${PROJECT_SOURCE_DIR})
set_tests_properties(slurm_check PROPERTIES TIMEOUT 120)
