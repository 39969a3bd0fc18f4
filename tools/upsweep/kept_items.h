// SPDX-License-Identifier: Apache-2.0
// For commands that keep some of the items as they are in the file.
#pragma once

#include <cstdint>

#include "array_run.h"
#include "items.h"
#include "outputs.h"

namespace upsweep::cli {

// Whether the device must give the indices of kept items, since what it has are not the file's own bytes.
inline bool needs_indices(const Items& items) { return !items.are_as_in_file(); }

// Writes `count` items to the file: from argument `values`, or those of the file at the indices in argument `indices`.
Outcome write_kept_items(ArrayRun& run, const Items& items, std::string_view values, std::string_view indices,
                         std::uint64_t count, ArrayFile& file);
// Writes `count` u32 of an argument as i8.
Outcome write_indices(ArrayRun& run, std::string_view argument, std::uint64_t count, ArrayFile& file);

}  // namespace upsweep::cli
