# The fuzz targets: one per tests/fuzz/fuzz_*.c, named after it, with seeds in tests/corpus/NAME/ and, where it helps, words in
# tests/corpus/NAME.dict. Included by the top CMakeLists.txt after the libraries, when ADL_FUZZ is on; .ci/run runs them.
if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "ADL_FUZZ needs clang (libFuzzer is part of it): use the preset fuzz")
endif()

# Coverage and sanitizers go into the libraries; the fuzzer's own main only into the targets.
set(fuzz_sanitize address,undefined)
foreach(library adlro-core adlro-edge adlro-slurm-words)
  target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link,${fuzz_sanitize} -fno-sanitize-recover=all
                                            -fno-omit-frame-pointer)
  target_link_options(${library} PUBLIC -fsanitize=${fuzz_sanitize})
endforeach()

add_custom_target(fuzz_targets)
file(GLOB FUZZ_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/fuzz_*.c)
foreach(source ${FUZZ_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer,${fuzz_sanitize} -fno-sanitize-recover=all)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,${fuzz_sanitize})
  target_link_libraries(${name} PRIVATE fixtures)
  add_dependencies(fuzz_targets ${name})
endforeach()
target_link_libraries(fuzz_slurm PRIVATE adlro-slurm-words)
