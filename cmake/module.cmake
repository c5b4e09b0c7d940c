# lockstep_module(name PUBLIC ... PRIVATE ...): the static library of all sources below src/<name>/.
# Its headers are included as "<name>/file.h" through a folder with a link to this module only, so
# that including a module without linking it fails to compile.
function(lockstep_module name)
  set(target lockstep_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(onednn|mpi|cairo|simgrid)/")  # separate libraries
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

# lockstep_loaded(name sources libraries...): lockstep_<name>.so, which the program loads on first use.
function(lockstep_loaded name sources)
  set(target lockstep_${name})
  add_library(${target} MODULE ${sources})
  set_target_properties(${target} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(${target} PRIVATE ${ARGN})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LOADED ${target})
endfunction()
