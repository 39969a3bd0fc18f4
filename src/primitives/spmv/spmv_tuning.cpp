// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "plan/grid.h"
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

// As few rounds as do for so many entries of a thread, with about as many loads each.
std::uint32_t loads_of_even_rounds(std::uint64_t entries, std::uint32_t most_loads) {
  const std::uint64_t rounds = std::max<std::uint64_t>(1, div_ceil(entries, most_loads));
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, div_ceil(entries, rounds)));
}

// Rows differ so much that lanes would wait for others.
bool is_ragged(const SparseShape& matrix, std::uint32_t mean) { return matrix.longest_row > mean + mean / 4; }

}  // namespace

SpmvTuning select_spmv_tuning(const SpmvShape& shape, const DeviceTraits& traits) {
  SpmvTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  const SparseShape& matrix = shape.matrix;
  const bool has_rows_of_any_length = matrix.format == SparseFormat::csr || matrix.format == SparseFormat::coo;
  // Software devices pay for every thread at a barrier, and have few cores to keep busy.
  const bool merges = has_rows_of_any_length && !traits.is_cpu && shape.vector_count == 1 && !is_even(matrix);
  tuning.path = merges ? SpmvPath::merge : SpmvPath::rows;
  // H200, 2026-12-01, a power-law graph: 63.1 us with 128 threads of 5 items, 64.9 with 6, 71.0 with 8; 64.4 with 256
  // threads of 5, 63.8 of 4, which the rest of a hybrid takes.
  if (merges) tuning.workgroup_size = std::min(tuning.workgroup_size, 128u);
  if (matrix.format == SparseFormat::hybrid) tuning.items_per_thread = 4;
  const auto mean = static_cast<std::uint32_t>(div_ceil(matrix.column_items(), std::max(1u, matrix.row_count)));
  // H200, 2026-12-01: 3 x 3 blocks with 78 entries a row 133 us with 8 lanes, 154 with 4, 159 with 16; a grid with 27
  // 122 with 4, 137 with 2, 151 with 8; one with 5 55 with 1, 73 with 2. Rows of 8 to 24 entries 129 with 8 lanes, 133
  // with 4, 146 with 2.
  const std::uint32_t entries_a_lane = is_ragged(matrix, mean) ? 2 : 6;
  tuning.lanes_per_row = traits.is_cpu ? 1 : std::bit_floor(std::clamp(mean / entries_a_lane, 1u, 32u));
  // H200, 2026-12-01: a grid's 5 slots 49.1 us with 5 loads, 49.8 with 6, 51.4 with 8, 56.8 with 4; a diagonal 94.7 us
  // with 1, 98.9 with 4, 125 with 8; the grid with 27 and 4 lanes 122 with 7, 131 with 8, 145 with 4. Its blocks of 2
  // 146 with 4 blocks at once, 155 with 2; 5 blocks 66 with 3, 72 with 2; 27 of 3 73.4 with 4, 74.7 with 2.
  constexpr std::uint32_t most_loads = 8;
  constexpr std::uint32_t most_blocks = 4;
  if (merges) {
    tuning.loads_ahead = tuning.items_per_thread;
  } else if (matrix.format == SparseFormat::block_ell) {
    const std::uint32_t loads = matrix.block_size * loads_of_even_rounds(matrix.width, most_blocks);
    tuning.loads_ahead = matrix.block_size <= 3 ? loads : most_loads;
  } else {
    const std::uint32_t entries = is_ragged(matrix, mean) ? matrix.longest_row : mean;
    tuning.loads_ahead =
        loads_of_even_rounds(div_ceil(entries, has_rows_of_any_length ? tuning.lanes_per_row : 1), most_loads);
  }
  if (traits.is_cpu) tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
  return tuning;
}

}  // namespace upsweep
