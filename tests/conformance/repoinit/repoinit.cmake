# The rows of the repoinit language: what parses, and what is there afterwards.
set(repoinit_folder ${CMAKE_CURRENT_LIST_DIR})
add_executable(conformance_repoinit ${repoinit_folder}/run.c ${repoinit_folder}/rowfile.c)
target_link_libraries(conformance_repoinit PRIVATE repoinit)
add_test(NAME conformance/repoinit COMMAND conformance_repoinit ${repoinit_folder}/parse.rows)
set_tests_properties(conformance/repoinit PROPERTIES TIMEOUT 60 LABELS conformance)

add_executable(conformance_repoinit_effect ${repoinit_folder}/effect.c ${repoinit_folder}/rowfile.c)
target_include_directories(conformance_repoinit_effect PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(conformance_repoinit_effect PRIVATE cli_core test_postgres)
add_test(NAME conformance/repoinit_effect
  COMMAND conformance_repoinit_effect ${repoinit_folder}/effect.rows)
set_tests_properties(conformance/repoinit_effect PROPERTIES TIMEOUT 120 LABELS conformance)
