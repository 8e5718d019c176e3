# The rows of the repoinit language, all files in one run.
file(GLOB repoinit_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_repoinit ${CMAKE_CURRENT_LIST_DIR}/run.c)
target_link_libraries(conformance_repoinit PRIVATE repoinit)
add_test(NAME conformance/repoinit COMMAND conformance_repoinit ${repoinit_rows})
set_tests_properties(conformance/repoinit PROPERTIES TIMEOUT 60 LABELS conformance)
