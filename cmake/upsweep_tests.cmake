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

function(upsweep_plan_test name)
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE upsweep_plan upsweep_flags GTest::gtest GTest::gmock)
  target_sources(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}/testing/plan_main.cpp")
  target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${name}_test PRIVATE UPSWEEP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(EMSCRIPTEN)
    # Tests index their small arrays with 64-bit numbers; size_t has 32 bits here.
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Wno-shorten-64-to-32)
    target_link_options(${name}_test PRIVATE -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sSTACK_SIZE=1MB -sEXIT_RUNTIME=1)
  endif()
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

# Runs once per adapter, and once more on lavapipe under the Vulkan validation layer; sanitized builds only on lavapipe.
# Each run goes through all profiles (testing/gpu_test.h), but on SwiftShader, which takes a second for many a kernel:
# there, minimum_limits stands for no_subgroups, and emulated subgroups, which no adapter changes, are left out. With
# LAVAPIPE_ONLY nothing runs there: for host code around kernels that have tests of their own.
function(upsweep_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 gpu_test "LAVAPIPE_ONLY" "" "")
  add_executable(${name}_test ${gpu_test_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}_test PRIVATE upsweep upsweep_flags upsweep_testing dawn::webgpu_dawn GTest::gtest GTest::gmock)
  target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  set(adapters lavapipe swiftshader)
  if(UPSWEEP_SANITIZE OR gpu_test_LAVAPIPE_ONLY)
    set(adapters lavapipe)  # sanitizers look at host code, which is the same on both
  endif()
  foreach(adapter IN LISTS adapters)
    string(TOUPPER ${adapter} upper)
    add_test(NAME ${name}.${adapter} COMMAND ${name}_test)
    set_tests_properties(${name}.${adapter} PROPERTIES TIMEOUT 900 LABELS gpu
      ENVIRONMENT "VK_DRIVER_FILES=${UPSWEEP_${upper}_ICD};UPSWEEP_EXPECT_ADAPTER=${adapter}")
    if(adapter STREQUAL "swiftshader")
      set_property(TEST ${name}.${adapter} APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-*/no_subgroups:*/emulated")
    endif()
  endforeach()
  if(NOT UPSWEEP_SANITIZE)
    upsweep_validated_test(${name}.lavapipe_validated ${name}_test nothing)
  endif()
endfunction()

# Passes if the program passes and the validation layer reports EXPECT: nothing, or an error.
function(upsweep_validated_test name program expect)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${program}>" -DEXPECT=${expect}
    "-DSETTINGS=${CMAKE_CURRENT_BINARY_DIR}/${name}.layer_settings.txt"
    -P "${PROJECT_SOURCE_DIR}/cmake/run_validated.cmake")
  # Suites called Memory measure over many submits: the layer only makes them slow.
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS gpu
    ENVIRONMENT "VK_DRIVER_FILES=${UPSWEEP_LAVAPIPE_ICD};UPSWEEP_EXPECT_ADAPTER=lavapipe;GTEST_FILTER=-Memory.*")
endfunction()
