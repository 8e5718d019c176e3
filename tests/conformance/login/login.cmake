# Logins over HTTP: rows against a whole instance, each file one of its own.
file(GLOB login_rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.rows)
add_executable(conformance_login ${CMAKE_CURRENT_LIST_DIR}/run.c ${CMAKE_CURRENT_LIST_DIR}/exchange.c
  ${CMAKE_CURRENT_LIST_DIR}/idp.c ${CMAKE_CURRENT_LIST_DIR}/vars.c)
target_include_directories(conformance_login PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(conformance_login PRIVATE test_instance test_liar base PkgConfig::sodium)
target_compile_definitions(conformance_login PRIVATE
  LOGIN_BUNDLE="${CMAKE_BINARY_DIR}/bundles/login.so" TEST_BUNDLES="${CMAKE_BINARY_DIR}/tests/bundles")
add_dependencies(conformance_login boardwalk boardwalk-gateway boardwalk-auth boardwalk-repo bundle_demo
  bundle_login test_bundle_who)
foreach(file ${login_rows})
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME conformance/login/${name} COMMAND conformance_login ${file})
  set_tests_properties(conformance/login/${name} PROPERTIES TIMEOUT 300 LABELS conformance)
endforeach()
