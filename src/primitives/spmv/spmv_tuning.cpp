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
  const std::uint32_t mean = matrix.entry_count / std::max(1u, matrix.row_count);
  tuning.lanes_per_row = traits.is_cpu ? 1 : std::bit_floor(std::clamp(mean / 6, 1u, 32u));
  // Slots a step apart, and rows of a thread: rows are often no longer than what is on its way together.
  const bool has_long_rows = matrix.format == SparseFormat::csr && mean >= 16;
  if (!has_long_rows) tuning.loads_ahead = 8;
  if (traits.is_cpu) tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
  return tuning;
}

}  // namespace upsweep
