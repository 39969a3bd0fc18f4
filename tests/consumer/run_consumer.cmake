# Builds and runs the consumer in FOLDER.
# Run as: cmake -DMODE=install|subdirectory -DFOLDER=... -DUPSWEEP_SOURCE=... -DUPSWEEP_BUILD=... -DGENERATOR=...
#         -DCOMPILER=... -DJOBS=... -P run_consumer.cmake
# `install` installs from UPSWEEP_BUILD, which has been built; `subdirectory` builds the library again.
set(arguments "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -Werror")
if(MODE STREQUAL "install")
  # A fresh prefix, so that a file that is no longer installed cannot help.
  file(REMOVE_RECURSE "${FOLDER}/prefix")
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${UPSWEEP_BUILD}" --component development --prefix "${FOLDER}/prefix"
    COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND arguments "-DCMAKE_PREFIX_PATH=${FOLDER}/prefix")
else()
  list(APPEND arguments "-DUPSWEEP_SOURCE=${UPSWEEP_SOURCE}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${FOLDER}/build" -G "${GENERATOR}" ${arguments}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${FOLDER}/build" --parallel "${JOBS}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${FOLDER}/build/consumer_plan" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${FOLDER}/build/consumer" COMMAND_ERROR_IS_FATAL ANY)
