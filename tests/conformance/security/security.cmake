# The rows of authentication, all files in one run.
file(GLOB security_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_security ${CMAKE_CURRENT_LIST_DIR}/run.c)
target_link_libraries(conformance_security PRIVATE engine_fake)
add_test(NAME conformance/security COMMAND conformance_security ${security_rows})
set_tests_properties(conformance/security PROPERTIES TIMEOUT 60 LABELS conformance)
