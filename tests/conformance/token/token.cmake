# Which bearer tokens are believed.
file(GLOB token_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_token ${CMAKE_CURRENT_LIST_DIR}/run.c)
target_include_directories(conformance_token PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(conformance_token PRIVATE auth)
add_test(NAME conformance/token COMMAND conformance_token ${token_rows})
set_tests_properties(conformance/token PROPERTIES TIMEOUT 60 LABELS conformance)
