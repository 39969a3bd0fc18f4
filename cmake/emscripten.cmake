# Finds Emscripten's own toolchain file beside emcc.
find_program(UPSWEEP_EMCC emcc REQUIRED)
file(REAL_PATH "${UPSWEEP_EMCC}" UPSWEEP_EMCC_REAL)
get_filename_component(UPSWEEP_EMSCRIPTEN "${UPSWEEP_EMCC_REAL}" DIRECTORY)
set(toolchain_candidates
  "${UPSWEEP_EMSCRIPTEN}/cmake/Modules/Platform/Emscripten.cmake"
  "/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake")
foreach(candidate IN LISTS toolchain_candidates)
  if(EXISTS "${candidate}")
    include("${candidate}")
    return()
  endif()
endforeach()
message(FATAL_ERROR "emcc is at ${UPSWEEP_EMCC_REAL}, but its CMake toolchain file is not beside it.")
