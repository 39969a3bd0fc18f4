// SPDX-License-Identifier: Apache-2.0
// Compressed rows of many shapes, for the tests of what reads them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <format>
#include <string>
#include <utility>
#include <vector>

#include "testing/generators.h"
#include "upsweep/plan.h"
#include "upsweep/sparse.h"

namespace upsweep::testing {

struct CsrPattern {
  std::string name;
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::vector<std::uint32_t> offsets;  // row_count + 1
  std::vector<std::uint32_t> columns;  // ascending in each row; some twice
  std::vector<float> values;           // multiples of 1/8 that f16 holds, and so are their sums

  [[nodiscard]] std::uint32_t length(std::size_t row) const { return offsets[row + 1] - offsets[row]; }
  [[nodiscard]] SparseShape shape(SparseValues type) const {
    return {.format = SparseFormat::csr,
            .values = type,
            .row_count = row_count,
            .column_count = column_count,
            .entry_count = static_cast<std::uint32_t>(columns.size())};
  }
};

// Rows of the given lengths; with `spread`, columns lie within so many of each other.
inline CsrPattern pattern_of_lengths(std::string name, std::uint32_t column_count,
                                     const std::vector<std::uint32_t>& lengths, std::uint64_t seed,
                                     std::uint32_t spread = 0) {
  CsrPattern pattern{std::move(name), static_cast<std::uint32_t>(lengths.size()), column_count, {0}, {}, {}};
  Random random(seed);
  for (std::uint32_t row = 0; row < pattern.row_count; ++row) {
    const std::uint32_t width = spread == 0 ? column_count : std::min(spread, column_count);
    const std::uint32_t first = spread == 0 || column_count <= width ? 0 : row % (column_count - width);
    std::vector<std::uint32_t> columns;
    for (std::uint32_t e = 0; e < lengths[row]; ++e) columns.push_back(first + random.below(width));
    std::ranges::sort(columns);
    pattern.columns.append_range(columns);
    pattern.offsets.push_back(static_cast<std::uint32_t>(pattern.columns.size()));
  }
  for (std::size_t e = 0; e < pattern.columns.size(); ++e) {
    pattern.values.push_back((static_cast<float>(random.below(101)) - 50.0f) / 8.0f);
  }
  return pattern;
}

// Most rows short, some empty, a few up to `longest`.
inline std::vector<std::uint32_t> mixed_lengths(std::uint32_t rows, std::uint32_t longest, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint32_t kind = random.below(16);
    lengths.push_back(kind == 0 ? random.below(longest + 1) : kind < 4 ? 0 : random.below(7));
  }
  return lengths;
}

inline std::vector<CsrPattern> csr_patterns(std::uint32_t most_rows) {
  const std::uint64_t seed = test_seed();
  std::vector<std::uint32_t> one_dense(300, 0);
  one_dense[123] = 500;
  return {
      pattern_of_lengths("0 x 0", 0, {}, seed),
      pattern_of_lengths("0 x 3", 3, {}, seed),
      pattern_of_lengths("3 x 0", 0, {0, 0, 0}, seed),
      pattern_of_lengths("no entries", 5, std::vector<std::uint32_t>(70, 0), seed),
      pattern_of_lengths("one place twice", 1, {2}, seed),
      pattern_of_lengths("one row", 1000, {301}, seed + 1),
      pattern_of_lengths("one column", 1, mixed_lengths(100, 9, seed), seed + 2),
      pattern_of_lengths("a dense row among empty ones", 800, one_dense, seed + 3),
      pattern_of_lengths("mixed", 350, mixed_lengths(most_rows, 90, seed + 4), seed + 4),
      pattern_of_lengths("tall", 3, mixed_lengths(2 * most_rows + 1, 5, seed + 5), seed + 5),
      pattern_of_lengths("wide", 100'000, mixed_lengths(7, 300, seed + 6), seed + 6),
      pattern_of_lengths("a band", 333, std::vector<std::uint32_t>(331, 9), seed + 7, 12),
  };
}

// Values as a buffer holds them: f16 two a word, and a last half that is 0.
inline std::vector<std::uint32_t> stored_values(const std::vector<float>& values, SparseValues type) {
  std::vector<std::uint32_t> words;
  if (type == SparseValues::f32) {
    for (const float value : values) words.push_back(std::bit_cast<std::uint32_t>(value));
  } else if (type == SparseValues::f16) {
    words.assign((values.size() + 1) / 2, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      words[i / 2] |= std::uint32_t{half_of(values[i]).bits} << (i % 2 * 16);
    }
  }
  return words;
}

/// Arguments, and the passes in order; of those that sorts and scans bring along, which change with them, the names
/// alone.
inline std::string outline_of(const Plan& plan) {
  std::string text = std::format("plan {}\n", plan.name);
  for (const ArgumentSlot& argument : plan.arguments) {
    text += std::format("  {} {}: {} bytes\n", argument.is_written ? "output" : "input ", argument.name,
                        argument.size_bytes);
  }
  for (const Dispatch& dispatch : plan.dispatches) {
    const std::string& name = dispatch.kernel->name;
    const bool is_own = name.starts_with("coo") || name.starts_with("csr") || name.starts_with("sparse");
    text += std::format("  {}{}\n", name,
                        is_own ? std::format(": grid {} x {} x {}, {}", dispatch.grid.x, dispatch.grid.y,
                                             dispatch.grid.z, dispatch.reason)
                               : "");
  }
  return text;
}

}  // namespace upsweep::testing
