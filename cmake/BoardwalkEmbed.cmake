# boardwalk_embed(TARGET DIR [MODIFIED SECONDS]): the files below DIR become part of the bundle TARGET,
# which ends its main file with BW_BUNDLE_EMBEDDED. It makes a C file, at build time, that takes each of
# them in with the assembler's .incbin and defines their table, boardwalk_embedded, in the order of their
# names, hidden files among them. Nothing but CMake and the compiler is used.
#
# A file is dated by its time of modification, which becomes its Last-Modified; MODIFIED, or
# SOURCE_DATE_EPOCH in the environment of the build, dates all of them, so that the same sources give the
# same bundle. Names may hold what is safe in a path of C and of the assembler: no quotes, no backslash,
# no semicolon, no brackets, no control character.
#
# This file is also the script that the build runs: cmake -DDIR=... -DOUTPUT=... -P BoardwalkEmbed.cmake

function(boardwalk_embed target dir)
  cmake_parse_arguments(EMBED "" "MODIFIED" "" ${ARGN})
  get_filename_component(dir "${dir}" ABSOLUTE)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS LIST_DIRECTORIES false "${dir}/*")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.c")
  # Written anew only if it differs: so a file that has gone, which no date tells of, is noticed, too.
  file(GENERATE OUTPUT "${output}.names" CONTENT "${files}")
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DDIR=${dir}" "-DOUTPUT=${output}" "-DMODIFIED=${EMBED_MODIFIED}"
      -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    DEPENDS ${files} "${output}.names" "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    COMMENT "Embedding ${dir} into ${target}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  set_source_files_properties("${output}" PROPERTIES OBJECT_DEPENDS "${files}")
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

if(NOT MODIFIED)
  set(MODIFIED "$ENV{SOURCE_DATE_EPOCH}")
endif()
file(GLOB_RECURSE names RELATIVE "${DIR}" LIST_DIRECTORIES false "${DIR}/*")
list(SORT names COMPARE STRING)
set(blobs "")
set(table "")
set(i 0)
foreach(name IN LISTS names)
  set(path "${DIR}/${name}")
  if(NOT EXISTS "${path}" OR "${path}" MATCHES "[]\"'\\;[\n\r\t]")
    message(FATAL_ERROR "boardwalk_embed: this name cannot be embedded: ${path}")
  endif()
  file(SIZE "${path}" size)
  set(modified "${MODIFIED}")
  if(NOT modified)
    file(TIMESTAMP "${path}" modified "%s" UTC)
  endif()
  string(APPEND blobs "BLOB(${i}, \"${path}\", ${size});\n")
  string(APPEND table "\t{ \"${name}\", blob_${i}, ${size}, INT64_C(${modified}000) },\n")
  math(EXPR i "${i} + 1")
endforeach()

# A file that is written while the build runs would not be as long as its table entry says.
set(text "/* Made by boardwalk_embed from ${DIR}. */
#include <boardwalk/bundle.h>

#define BLOB(i, path, size) \\
	__asm__(\".pushsection .rodata\\n\" \\
	        \".balign 16\\n\" \\
	        \"blob_\" #i \":\\n\" \\
	        \".incbin \\\"\" path \"\\\"\\n\" \\
	        \".if . - blob_\" #i \" - \" #size \"\\n\" \\
	        \".error \\\"\" path \" changed while it was embedded\\\"\\n\" \\
	        \".endif\\n\" \\
	        \".byte 0\\n\" \\
	        \".popsection\\n\"); \\
	extern const unsigned char blob_##i[] __attribute__((visibility(\"hidden\")))

${blobs}
static const struct bw_embedded_file files[] = {
${table}	{ NULL, NULL, 0, 0 },
};

const struct bw_embedded boardwalk_embedded = { ${i}, files };
")
file(WRITE "${OUTPUT}" "${text}")
