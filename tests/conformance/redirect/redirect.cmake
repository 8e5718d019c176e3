# Where clients may be sent: rows without a gateway.
file(GLOB redirect_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_redirect ${CMAKE_CURRENT_LIST_DIR}/run.c)
target_link_libraries(conformance_redirect PRIVATE gateway_security gateway_core)
add_test(NAME conformance/redirect COMMAND conformance_redirect ${redirect_rows})
set_tests_properties(conformance/redirect PROPERTIES TIMEOUT 60 LABELS conformance)
