// SPDX-License-Identifier: Apache-2.0
// The .wgsl files of benchmarking/, embedded like those of src/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/embedded.h"
#include "plan/kernel_builder.h"

namespace upsweep {

std::span<const EmbeddedFile> benchmark_files();

namespace bench {

// Adds a file of benchmarking/ to a kernel.
void add_benchmark_part(KernelBuilder& builder, std::string_view file);

}  // namespace bench
}  // namespace upsweep
