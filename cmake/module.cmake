# lockstep_module(name PUBLIC ... PRIVATE ...): the static library of src/<name>/, made of every
# source below that folder. Its headers are reached as "<name>/file.h" through a folder of links that
# shows this module alone, so that including a module one does not link fails to compile.
function(lockstep_module name)
  set(target lockstep_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(onednn|mpi|cairo|simgrid)/")  # libraries of their own
  add_library(${target} STATIC ${sources})
  add_library(lockstep::${name} ALIAS ${target})
  set(view ${PROJECT_BINARY_DIR}/headers/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${view}/${name} SYMBOLIC)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${view}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lockstep>)
  target_link_libraries(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_MODULES ${target})
endfunction()

# lockstep_loaded(name sources libraries...): lockstep_<name>.so, which the program loads when it is needed.
function(lockstep_loaded name sources)
  set(target lockstep_${name})
  add_library(${target} MODULE ${sources})
  set_target_properties(${target} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(${target} PRIVATE ${ARGN})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LOADED ${target})
endfunction()
