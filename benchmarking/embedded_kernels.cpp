// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/embedded_kernels.h"

#include <algorithm>

namespace upsweep::bench {

void add_benchmark_part(KernelBuilder& builder, std::string_view file) {
  const auto files = benchmark_files();
  const auto found = std::ranges::find(files, file, &EmbeddedFile::name);
  // A file that does not exist is asked of the library, whose builder reports it.
  if (found == files.end()) {
    builder.part(file);
    return;
  }
  builder.generated(std::string(file), found->text);
}

}  // namespace upsweep::bench
