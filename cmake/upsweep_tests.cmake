# Test targets. Tests without a GPU also run as WebAssembly; tests with one run once per adapter that was found.
if(EMSCRIPTEN)
  # No packaged GoogleTest for WebAssembly: Debian ships its source.
  set(gtest_source "/usr/src/googletest" CACHE PATH "Source folder of GoogleTest")
  set(gtest_force_shared_crt OFF CACHE BOOL "" FORCE)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  add_subdirectory("${gtest_source}" "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL SYSTEM)
else()
  find_package(GTest REQUIRED)
endif()

# Adapters for the GPU tests: Vulkan driver files (ICDs) of software devices. Empty when none was found, which fails the
# tests loudly instead of skipping them.
if(DEFINED ENV{UPSWEEP_LAVAPIPE_ICD})
  set(lavapipe_icds "$ENV{UPSWEEP_LAVAPIPE_ICD}")
else()
  file(GLOB lavapipe_icds "/usr/share/vulkan/icd.d/lvp_icd*.json")
endif()
if(DEFINED ENV{UPSWEEP_SWIFTSHADER_ICD})
  set(swiftshader_icds "$ENV{UPSWEEP_SWIFTSHADER_ICD}")
else()
  file(GLOB swiftshader_icds "/usr/lib/chromium/vk_swiftshader_icd.json")
endif()
list(APPEND lavapipe_icds "lavapipe-not-found")
list(APPEND swiftshader_icds "swiftshader-not-found")
list(GET lavapipe_icds 0 lavapipe_icd)
list(GET swiftshader_icds 0 swiftshader_icd)
set(UPSWEEP_LAVAPIPE_ICD "${lavapipe_icd}" CACHE STRING "Vulkan driver file of lavapipe")
set(UPSWEEP_SWIFTSHADER_ICD "${swiftshader_icd}" CACHE STRING "Vulkan driver file of SwiftShader")

# With UPSWEEP_PRECOMPILE, tests see testing/precompiled.h, compiled once for all.
function(upsweep_precompiled target)
  if(UPSWEEP_PRECOMPILE AND TARGET upsweep_testing)
    target_precompile_headers(${target} REUSE_FROM upsweep_testing)
  endif()
endfunction()

function(upsweep_plan_test name)
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE upsweep_plan upsweep_flags GTest::gmock_main)
  upsweep_precompiled(${name}_test)
  target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${name}_test PRIVATE UPSWEEP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(EMSCRIPTEN)
    # Tests index their small arrays with 64-bit numbers; size_t has 32 bits here.
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Wno-shorten-64-to-32)
    # The planners keep the product's flags; the tests around them would take minutes to optimise for size.
    target_compile_options(${name}_test PRIVATE -O0)
    target_link_options(${name}_test PRIVATE -O0 -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sSTACK_SIZE=1MB -sEXIT_RUNTIME=1)
  endif()
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  # Walks over whole plans and searches for one past the limits call planners a million times: minutes when sanitized.
  if(UPSWEEP_SANITIZE)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_FILTER=-*Coverage.*:*Walk.*:*Limits.*")
  endif()
endfunction()

# Runs on lavapipe under the Vulkan validation layer, in all profiles (testing/gpu_test.h), and on SwiftShader, which
# takes a second for many a kernel: there, minimum_limits stands for no_subgroups, emulated subgroups, which no adapter
# changes, are left out, and no profile is thorough. With LAVAPIPE_ONLY nothing runs there: for host code around kernels
# that have tests of their own. Sanitized builds look at host code, which hardly differs by adapter and profile: lavapipe
# as it is.
function(upsweep_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 gpu_test "LAVAPIPE_ONLY" "" "")
  add_executable(${name}_test ${gpu_test_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}_test PRIVATE upsweep upsweep_flags upsweep_testing dawn::webgpu_dawn GTest::gtest GTest::gmock)
  upsweep_precompiled(${name}_test)
  # They wait for the device; optimising them takes minutes.
  if(NOT MSVC)
    target_compile_options(${name}_test PRIVATE -O0)
  endif()
  target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  if(UPSWEEP_SANITIZE)
    upsweep_gpu_run(${name}.lavapipe ${name}_test lavapipe "-*/no_subgroups:*/minimum_limits:*/tiny_tiles:*/emulated")
    return()
  endif()
  upsweep_validated_test(${name}.lavapipe ${name}_test nothing)
  if(NOT gpu_test_LAVAPIPE_ONLY)
    upsweep_gpu_run(${name}.swiftshader ${name}_test swiftshader "-*/no_subgroups:*/emulated")
  endif()
endfunction()

# One run of a program of GPU tests, with what GoogleTest's filter leaves of it.
function(upsweep_gpu_run name program adapter filter)
  string(TOUPPER ${adapter} upper)
  add_test(NAME ${name} COMMAND ${program})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS gpu
    ENVIRONMENT "VK_DRIVER_FILES=${UPSWEEP_${upper}_ICD};UPSWEEP_EXPECT_ADAPTER=${adapter};GTEST_FILTER=${filter}")
endfunction()

# Passes if the program passes and the validation layer reports EXPECT: nothing, or an error.
function(upsweep_validated_test name program expect)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${program}>" -DEXPECT=${expect}
    "-DSETTINGS=${CMAKE_CURRENT_BINARY_DIR}/${name}.layer_settings.txt"
    -P "${PROJECT_SOURCE_DIR}/cmake/run_validated.cmake")
  # Suites called Memory measure over many submits: the layer only makes them slow, so they have a run without it.
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS gpu
    ENVIRONMENT "VK_DRIVER_FILES=${UPSWEEP_LAVAPIPE_ICD};UPSWEEP_EXPECT_ADAPTER=lavapipe;GTEST_FILTER=-Memory.*")
endfunction()
