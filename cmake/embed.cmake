# lockstep_embed(target files...): compiles text files into <target> as a table of (name, content),
# declared in app/presets.h, so that the program runs from anywhere.
function(lockstep_embed target)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_presets.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DFILES=${ARGN}" -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
