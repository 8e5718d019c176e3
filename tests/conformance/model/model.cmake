# The rows of the content model: names, values, node types.
file(GLOB model_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_model ${CMAKE_CURRENT_LIST_DIR}/run.c ${CMAKE_CURRENT_LIST_DIR}/../repoinit/rowfile.c)
target_include_directories(conformance_model PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(conformance_model PRIVATE cli_core test_postgres)
add_test(NAME conformance/model COMMAND conformance_model ${model_rows})
set_tests_properties(conformance/model PROPERTIES TIMEOUT 120 LABELS conformance)
