# Exported networks under the eyes of the format's own library; skipped, and said so, where that is not installed.
add_executable(onnx_sample ${CMAKE_CURRENT_LIST_DIR}/onnx_sample.c)
target_link_libraries(onnx_sample PRIVATE fixtures)
add_test(NAME onnx COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_onnx $<TARGET_FILE:onnx_sample>)
set_tests_properties(onnx PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
