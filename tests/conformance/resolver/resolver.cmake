# The rows of resolvers with a fake repo; with a real one they run in system/resolver.
file(GLOB resolver_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_library(resolver_rows STATIC ${CMAKE_CURRENT_LIST_DIR}/rowfile.c ${CMAKE_CURRENT_LIST_DIR}/random.c)
target_include_directories(resolver_rows PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(resolver_rows PUBLIC base)
add_library(resolver_stage STATIC ${CMAKE_CURRENT_LIST_DIR}/stage.c ${CMAKE_CURRENT_LIST_DIR}/steps.c
  ${CMAKE_CURRENT_LIST_DIR}/steps_access.c
  ${CMAKE_CURRENT_LIST_DIR}/../../support/fake_repo.c)
target_include_directories(resolver_stage PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests
  ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(resolver_stage PUBLIC gateway_peers gateway_core)
add_executable(conformance_resolver ${CMAKE_CURRENT_LIST_DIR}/run.c)
target_link_libraries(conformance_resolver PRIVATE resolver_rows resolver_stage)
add_test(NAME conformance/resolver COMMAND conformance_resolver ${resolver_rows})
set_tests_properties(conformance/resolver PROPERTIES TIMEOUT 120 LABELS conformance)
