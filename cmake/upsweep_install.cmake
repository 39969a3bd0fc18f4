# Install rules: the static libraries, the public headers, and the package that find_package(upsweep) reads. Targets:
# upsweep::upsweep, and upsweep::plan for programs that only plan. `cmake --install DIR --component development` takes
# these alone.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/upsweep")

install(TARGETS upsweep upsweep_plan EXPORT upsweepTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/upsweep" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development FILES_MATCHING PATTERN "*.h")
install(EXPORT upsweepTargets NAMESPACE upsweep:: DESTINATION "${package_folder}" COMPONENT development)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/upsweepConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/upsweepConfig.cmake" INSTALL_DESTINATION "${package_folder}")
# Before 1.0 every minor version may break its users.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/upsweepConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/upsweepConfig.cmake" "${PROJECT_BINARY_DIR}/upsweepConfigVersion.cmake"
  DESTINATION "${package_folder}" COMPONENT development)
