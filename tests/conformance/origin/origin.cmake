# Where requests may come from: rows without a gateway.
file(GLOB origin_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_origin ${CMAKE_CURRENT_LIST_DIR}/run.c)
target_link_libraries(conformance_origin PRIVATE engine_fake)
add_test(NAME conformance/origin COMMAND conformance_origin ${origin_rows})
set_tests_properties(conformance/origin PROPERTIES TIMEOUT 60 LABELS conformance)
