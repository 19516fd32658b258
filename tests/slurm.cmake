# The adapter to Slurm: its words, and, where the daemons are, a cluster of them.
target_link_libraries(test_slurm_words PRIVATE adlro-slurm-words)
# Where Slurm is missing they are skipped, and say what is missing.
if(NOT ADL_SANITIZE MATCHES thread)
  add_test(NAME slurm_adapter COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_adapter ${PROJECT_BINARY_DIR}/adlro-slurm)
  set_tests_properties(slurm_adapter PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 COST 150 LABELS root)
endif()
