// SPDX-License-Identifier: Apache-2.0
#include "plan/embedded.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace upsweep {

std::optional<std::string> wgsl_file(std::string_view name) {
  const auto files = embedded_files();
  const auto found = std::ranges::lower_bound(files, name, {}, &EmbeddedFile::name);
  if (found == files.end() || found->name != name) return std::nullopt;
  if (const char* folder = std::getenv("UPSWEEP_WGSL_DIR")) {
    std::ifstream file(std::string(folder) + "/" + std::string(found->path), std::ios::binary);
    if (file) return std::string(std::istreambuf_iterator<char>(file), {});
  }
  return std::string(found->text);
}

}  // namespace upsweep
