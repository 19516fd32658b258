# Fakes of the drivers' libraries, loaded by the tests of telemetry as the real ones would be.
foreach(stub nvml nvml_old rocm_smi)
  string(REPLACE "_old" "" source ${stub})
  add_library(stub_${stub} MODULE ${CMAKE_CURRENT_LIST_DIR}/stub_${source}.c)
  target_include_directories(stub_${stub} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../fixture)
  set_target_properties(stub_${stub} PROPERTIES C_VISIBILITY_PRESET hidden PREFIX ""
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/stub)
endforeach()
target_compile_definitions(stub_nvml_old PRIVATE STUB_NVML_OLD)
foreach(test test_telemetry test_telemetry_nvml test_telemetry_amd test_service_config test_service_gpus test_service_idle test_service_hooks test_service_power test_powercap test_inventory test_telemetry_thread)
  target_compile_definitions(${test} PRIVATE STUB_DIR="${CMAKE_CURRENT_BINARY_DIR}/stub"
                             _XOPEN_SOURCE=700) # nftw
  add_dependencies(${test} stub_nvml stub_nvml_old stub_rocm_smi)
endforeach()
target_compile_definitions(test_powercap PRIVATE ADL_POWERCAP="$<TARGET_FILE:adlro-powercap>")
target_compile_definitions(test_service_power PRIVATE ADL_POWERCAP="$<TARGET_FILE:adlro-powercap>")
add_dependencies(test_powercap adlro-powercap)
