# upsweep_primitive(NAME): one room, src/primitives/NAME. Files are picked up by their suffix:
#   *_plan.cpp, *_tuning.cpp   pure, into the planner library
#   *_self_test.cpp            what contexts try on a device, into the library
#   NAME.cpp                   the public record_NAME(), into the library
#   *_plan_test.cpp            tests without a GPU (also run as WebAssembly under Node)
#   *_gpu_test.cpp             tests on every adapter and profile
function(upsweep_primitive name)
  set(room "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  file(GLOB plan_sources CONFIGURE_DEPENDS "${room}/*_plan.cpp" "${room}/*_tuning.cpp")
  target_sources(upsweep_plan PRIVATE ${plan_sources})
  if(NOT UPSWEEP_PLAN_ONLY)
    file(GLOB self_tests CONFIGURE_DEPENDS "${room}/*_self_test.cpp")
    target_sources(upsweep PRIVATE "${room}/${name}.cpp" ${self_tests})
  endif()
  if(UPSWEEP_BUILD_TESTS)
    file(GLOB plan_tests CONFIGURE_DEPENDS "${room}/*_plan_test.cpp")
    if(plan_tests)
      upsweep_plan_test(${name}_plan ${plan_tests})
    endif()
    file(GLOB gpu_tests CONFIGURE_DEPENDS "${room}/*_gpu_test.cpp")
    if(gpu_tests AND NOT UPSWEEP_PLAN_ONLY)
      upsweep_gpu_test(${name}_gpu ${gpu_tests})
    endif()
  endif()
endfunction()
