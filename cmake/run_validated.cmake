# Runs PROGRAM under the Vulkan validation layer and reads what the layer printed. EXPECT is `nothing` or `error`.
# Run as: cmake -DPROGRAM=... -DEXPECT=... -DSETTINGS=FILE -P run_validated.cmake
# To stdout, not to a file: each Vulkan instance would begin the file anew.
file(WRITE "${SETTINGS}" "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn,info
khronos_validation.log_filename = stdout
khronos_validation.validate_sync = true
")
execute_process(COMMAND "${CMAKE_COMMAND}" -E env "VK_LOADER_LAYERS_ENABLE=*khronos_validation"
    "VK_LAYER_SETTINGS_PATH=${SETTINGS}" "${PROGRAM}" --gtest_brief=1
  RESULT_VARIABLE result OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE)
if(NOT output MATCHES "CURRENT-VALIDATION-ENABLED" OR NOT output MATCHES "Core Checks" OR NOT output MATCHES "Synchronization")
  message(FATAL_ERROR "The validation layer was not loaded (Debian: vulkan-validationlayers).")
endif()
if(output MATCHES "Validation (Error|Warning)[^\n]*\n[^\n]*")
  set(report "${CMAKE_MATCH_0}")
endif()
if(EXPECT STREQUAL "error")
  if(NOT output MATCHES "Validation Error")
    message(FATAL_ERROR "The validation layer did not report the error that the program makes.")
  endif()
  return()
endif()
if(report)
  message(FATAL_ERROR "The validation layer reports:\n${report}")
endif()
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The program failed: ${result}")
endif()
