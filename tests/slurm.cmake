# The adapter to Slurm: its words, and, where the daemons are, a cluster of them.
target_link_libraries(test_slurm_words PRIVATE adlro-slurm-words)
if(TARGET adlro-slurm AND NOT ADL_SANITIZE MATCHES thread)
  add_test(NAME slurm_adapter COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_slurm_adapter $<TARGET_FILE:adlro-slurm>)
  set_tests_properties(slurm_adapter PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 COST 150)
endif()
