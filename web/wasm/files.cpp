// SPDX-License-Identifier: Apache-2.0
// Takes the place of src/plan/embedded.cpp: a page has no folder to read kernels from, and streams are large.
#include <algorithm>

#include "plan/embedded.h"

namespace upsweep {

std::optional<std::string> wgsl_file(std::string_view name) {
  const auto files = embedded_files();
  const auto found = std::ranges::lower_bound(files, name, {}, &EmbeddedFile::name);
  if (found == files.end() || found->name != name) return std::nullopt;
  return std::string(found->text);
}

}  // namespace upsweep
