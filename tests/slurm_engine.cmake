# The service with a Slurm cluster underneath, on real daemons where they are. Included by CMakeLists.txt of this folder.
# Where Slurm is missing they are skipped, and say what is missing.
if(NOT ADL_SANITIZE MATCHES thread)
  add_test(NAME slurm COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm $<TARGET_FILE:adlro>)
  add_test(NAME slurm_faults COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_faults $<TARGET_FILE:adlro>)
  add_test(NAME slurm_meters COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_energy $<TARGET_FILE:adlro>)
  add_test(NAME slurm_limits COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_limits $<TARGET_FILE:adlro>)
  # Begun first, for they mostly wait.
  set_tests_properties(slurm slurm_faults slurm_meters slurm_limits
                       PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 COST 200 LABELS root)
endif()
