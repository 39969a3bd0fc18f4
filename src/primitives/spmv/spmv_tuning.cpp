// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "upsweep/spmv.h"

namespace upsweep {

std::string to_string(SpmvPath path) {
  switch (path) {
    case SpmvPath::automatic: return "automatic";
    case SpmvPath::rows: return "rows";
    case SpmvPath::merge: return "merge";
  }
  return "?";
}

std::string to_string(const SpmvTuning& tuning) {
  return std::format("path {}, {} threads, {} lanes a row, {} loads ahead, {} items a thread, {}",
                     to_string(tuning.path), tuning.workgroup_size, tuning.lanes_per_row, tuning.loads_ahead,
                     tuning.items_per_thread, tuning.use_subgroups ? "subgroups" : "no subgroups");
}

namespace {

// Path rows, though one row may be longer than the others: by so much that their time is about the same.
constexpr std::uint64_t most_unevenness = 8;

bool is_even(const SparseShape& matrix) {
  if (matrix.longest_row == 0) return false;
  const std::uint64_t mean = std::max<std::uint64_t>(1, matrix.entry_count / std::max(1u, matrix.row_count));
  return matrix.longest_row <= std::max<std::uint64_t>(mean * most_unevenness, 32);
}

}  // namespace

SpmvTuning select_spmv_tuning(const SpmvShape& shape, const DeviceTraits& traits) {
  SpmvTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  const SparseShape& matrix = shape.matrix;
  const bool has_rows_of_any_length = matrix.format == SparseFormat::csr || matrix.format == SparseFormat::coo;
  // Software devices pay for every thread at a barrier, and have few cores to keep busy.
  const bool merges = has_rows_of_any_length && !traits.is_cpu && shape.vector_count == 1 && !is_even(matrix);
  tuning.path = merges ? SpmvPath::merge : SpmvPath::rows;
  const auto mean = static_cast<std::uint32_t>(matrix.column_items() / std::max(1u, matrix.row_count));
  // H200, 2026-12-01: 3 x 3 blocks with 78 entries a row 133 us with 8 lanes, 161 with 16; a grid with 27 145 with 4 or
  // 8, 155 with 2; one with 5 58.5 with 1, 73.9 with 2.
  tuning.lanes_per_row = traits.is_cpu ? 1 : std::bit_floor(std::clamp(mean / 6, 1u, 32u));
  // H200, 2026-12-01: slots or short rows at once, 51.6 us instead of 57.3 for 5 slots; but no more than there are, 97
  // us instead of 126 for a diagonal. Long rows by several lanes 145 us with 4, 151 with 8; blocks of 2 72 with 4, 75
  // with 8, of 3 75 with 8, 90 with 4.
  std::uint32_t most_loads = 8;
  if (merges) most_loads = tuning.items_per_thread;
  if (!merges && tuning.lanes_per_row > 1 && has_rows_of_any_length) most_loads = 4;
  if (matrix.format == SparseFormat::block_ell) {
    tuning.loads_ahead = matrix.block_size == 2 ? 4 : 8;
  } else {
    tuning.loads_ahead = merges ? most_loads : std::bit_ceil(std::clamp(mean, 1u, most_loads));
  }
  if (traits.is_cpu) tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
  return tuning;
}

}  // namespace upsweep
