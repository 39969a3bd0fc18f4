// SPDX-License-Identifier: Apache-2.0
// The .wgsl files of src/, embedded at build time by cmake/embed_wgsl.cmake.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace upsweep {

struct EmbeddedFile {
  std::string_view name;  // file name without folders; unique
  std::string_view path;  // relative to src/
  std::string_view text;
};

// All embedded files, sorted by name.
std::span<const EmbeddedFile> embedded_files();

// The text of a kernel or part. With UPSWEEP_WGSL_DIR set to the src folder it is read from there instead.
std::optional<std::string> wgsl_file(std::string_view name);

}  // namespace upsweep
