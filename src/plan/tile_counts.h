// SPDX-License-Identifier: Apache-2.0
// Counts of marked items in the rows of a tile, several to a word. Masks are those of mask_of().
#pragma once

#include <algorithm>
#include <cstdint>
#include <format>
#include <string>
#include <string_view>

#include "plan/tile_select.h"
#include "upsweep/device_traits.h"

namespace upsweep {

// A row has up to 4 items a lane: 8 bits hold rows of subgroups of up to 63 lanes.
struct PackedCounts {
  std::uint32_t rows = 0;
  std::uint32_t bits = 8;

  PackedCounts(std::uint32_t row_count, const DeviceTraits& traits) : rows(row_count) {
    const bool is_narrow = traits.emulated_subgroup_size != 0
                               ? traits.emulated_subgroup_size < 64
                               : traits.subgroup_max_size != 0 && traits.subgroup_max_size <= 32;
    if (!is_narrow) bits = 16;
  }
  [[nodiscard]] std::uint32_t per_word() const { return 32 / bits; }
  [[nodiscard]] std::uint32_t words() const { return (rows + per_word() - 1) / per_word(); }
  [[nodiscard]] std::string field(std::string_view word, std::uint32_t k) const {
    return std::format("(({}{} >> {}u) & {}u)", word, k / per_word(), bits * (k % per_word()), (1u << bits) - 1);
  }
  [[nodiscard]] std::string sum(std::string_view word) const {
    std::string all;
    for (std::uint32_t k = 0; k < rows; ++k) all += std::format("{}{}", k == 0 ? "" : " + ", field(word, k));
    return all;
  }
  // r0, t0, r1, t1, ...: the counts of the masks, and zeros.
  [[nodiscard]] std::string packed_rows() const {
    std::string list;
    for (std::uint32_t w = 0; w < words(); ++w) {
      std::string packed;
      for (std::uint32_t k = w * per_word(); k < std::min(rows, (w + 1) * per_word()); ++k) {
        packed += std::format("{}(countOneBits({}) << {}u)", packed.empty() ? "" : " | ", mask_of(k),
                              bits * (k % per_word()));
      }
      list += packed + ", 0u, ";
    }
    return list;
  }
  // row_beforeK(): the count before row k in its subgroup.
  [[nodiscard]] std::string rows_before() const {
    std::string text;
    std::string before;
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += std::format("fn row_before{}(rows: Rows) -> u32 {{ return {}{}; }}\n", k, before, field("rows.r", k));
      before += field("rows.t", k) + " + ";
    }
    return text;
  }
  // marked_beforeK(): that of the whole rows before row k.
  [[nodiscard]] std::string marked_before() const {
    std::string text;
    std::string before = "0u";
    for (std::uint32_t k = 0; k <= rows; ++k) {
      text += std::format("fn marked_before{}(rows: Rows) -> u32 {{ return {}; }}\n", k, before);
      if (k < rows) before += " + " + field("rows.t", k);
    }
    return text;
  }
};

}  // namespace upsweep
