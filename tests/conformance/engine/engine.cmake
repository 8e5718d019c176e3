# The engine's rows, all files in one run.
file(GLOB engine_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_engine ${CMAKE_CURRENT_LIST_DIR}/run.c)
target_link_libraries(conformance_engine PRIVATE engine_fake)
add_test(NAME conformance/engine COMMAND conformance_engine ${engine_rows})
set_tests_properties(conformance/engine PROPERTIES TIMEOUT 60 LABELS conformance)
