# The adapter to Slurm and the service with a Slurm cluster underneath: without daemons, and, where they are, on a cluster of
# them. Included after cli/cli.cmake, which builds json_has.
target_link_libraries(test_slurm_words PRIVATE adlro-slurm-words)
add_test(NAME slurm_check COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_conf $<TARGET_FILE:adlro> $<TARGET_FILE:json_has>
                                  ${PROJECT_SOURCE_DIR})
set_tests_properties(slurm_check PROPERTIES TIMEOUT 120)
# Where Slurm is missing they are skipped, and say what is missing.
if(NOT ADL_SANITIZE MATCHES thread)
  add_test(NAME slurm_adapter COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_adapter ${PROJECT_BINARY_DIR}/adlro-slurm)
  add_test(NAME slurm COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm $<TARGET_FILE:adlro>)
  add_test(NAME slurm_faults COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_faults $<TARGET_FILE:adlro>)
  add_test(NAME slurm_meters COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_energy $<TARGET_FILE:adlro>)
  add_test(NAME slurm_limits COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_limits $<TARGET_FILE:adlro>)
  set_tests_properties(slurm_adapter slurm slurm_faults slurm_meters slurm_limits
                       PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS root)
  # ctest starts them first, because they mostly wait.
  set_tests_properties(slurm slurm_faults slurm_meters slurm_limits PROPERTIES COST 200)
  set_tests_properties(slurm_adapter PROPERTIES COST 150)
endif()
