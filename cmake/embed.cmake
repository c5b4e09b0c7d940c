# lockstep_embed(target header function type files...): compiles text files into <target> as a table
# of (name, content), returned by `const std::vector<type>& function()` as <header> declares it, so
# that the program runs from anywhere.
function(lockstep_embed target header function type)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_${function}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DHEADER=${header}" "-DFUNCTION=${function}" "-DTYPE=${type}"
      "-DFILES=${ARGN}" -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
