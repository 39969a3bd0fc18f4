# Compiles each header alone, as strictly as we ask of ourselves; only reads what a .cpp file includes. Fails if one of
# them reaches a header of WebGPU.
# Run as: cmake -DCOMPILER=... -DFILES=... -DINCLUDES=... -DFOLDER=... -P check_layers.cmake
# FILES and INCLUDES (folders) are separated by |. FOLDER receives what is made on the way.
string(REPLACE "|" ";" files "${FILES}")
string(REPLACE "|" ";" includes "${INCLUDES}")
list(TRANSFORM includes PREPEND "-I")
file(MAKE_DIRECTORY "${FOLDER}")
set(failures "")
set(count 0)
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  set(source "${file}")
  set(action -M)
  if(name MATCHES "\\.h$")
    # Twice: a header without a guard shows.
    set(source "${FOLDER}/${name}.cpp")
    set(action -fsyntax-only -MD)
    file(WRITE "${source}" "#include \"${file}\"\n#include \"${file}\"\n")
  endif()
  execute_process(
    COMMAND "${COMPILER}" -std=c++23 -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror ${includes}
            ${action} -MF "${FOLDER}/${name}.d" "${source}"
    RESULT_VARIABLE status ERROR_VARIABLE messages)
  if(NOT status EQUAL 0)
    string(APPEND failures "${file} does not compile alone:\n${messages}\n")
    continue()
  endif()
  file(READ "${FOLDER}/${name}.d" dependencies)
  if(NOT dependencies MATCHES "${name}")
    string(APPEND failures "${file}: the compiler wrote no dependencies.\n")
  endif()
  if(dependencies MATCHES "[^ \n]*(webgpu/webgpu|dawn/)[^ \n]*")
    string(APPEND failures "${file} depends on ${CMAKE_MATCH_0}\n")
  endif()
  math(EXPR count "${count} + 1")
endforeach()
if(failures)
  message(FATAL_ERROR "${failures}")
endif()
if(count EQUAL 0)
  message(FATAL_ERROR "No files were checked.")
endif()
message(STATUS "${count} files checked with ${COMPILER}")
