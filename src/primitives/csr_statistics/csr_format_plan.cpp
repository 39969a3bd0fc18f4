// SPDX-License-Identifier: Apache-2.0
// The format that a matrix's figures speak for.
#include <algorithm>
#include <format>
#include <optional>
#include <string>

#include "plan/sparse_parts.h"
#include "upsweep/spmv.h"

namespace upsweep {
namespace {

// Times the CSR's bytes. H200, 2026-12-01: by the byte, rows of slots are 4 to 8 % faster than those of the CSR where
// it takes path rows, and almost twice as fast as path merge.
constexpr double most_rows_padding = 1.05;
constexpr double most_merge_padding = 1.15;
constexpr std::uint32_t most_rest_share = 8;  // of the rows have a rest in a hybrid: one in so many
// Slots that a thread may walk over: so many, and one for so many entries, since all of them then take longer.
constexpr std::uint64_t short_walk = 64;
constexpr std::uint64_t entries_a_step = 16384;
constexpr std::uint64_t most_places = std::uint64_t{1} << 31;

bool fits(const SparseShape& shape, const DeviceTraits& traits) {
  return shape.value_items() <= most_places && shape.column_items() * 4 <= traits.max_binding_bytes &&
         value_array_bytes(shape.values, shape.value_items()) <= traits.max_binding_bytes;
}

}  // namespace

std::uint32_t CsrStatistics::rest_row_count(std::uint32_t log2_width) const {
  std::uint32_t rows = 0;
  for (std::size_t bin = std::size_t{log2_width} + 2; bin < rows_by_length.size(); ++bin) rows += rows_by_length[bin];
  return rows;
}

std::uint32_t CsrStatistics::rest_entry_count(std::uint32_t log2_width) const {
  std::uint64_t entries = 0;
  for (std::size_t bin = std::size_t{log2_width} + 2; bin < rows_by_length.size(); ++bin) {
    entries += entries_by_length[bin] - (std::uint64_t{rows_by_length[bin]} << log2_width);
  }
  return static_cast<std::uint32_t>(entries);
}

namespace {

struct Candidate {
  SparseShape shape;
  std::uint64_t walk = 0;  // slots of a thread
  double most = 0;         // times the CSR's bytes
};

// Every format but csr and coo that the matrix can have, whatever it takes.
std::vector<Candidate> candidates_of(const SparseShape& csr, const CsrStatistics& statistics, double most_padding) {
  std::vector<Candidate> all;
  if (csr.entry_count == 0) return all;
  const SparseShape same{.values = csr.values, .row_count = csr.row_count, .column_count = csr.column_count};
  SparseShape ell = same;
  ell.format = SparseFormat::ell;
  ell.width = statistics.longest_row;
  all.push_back({ell, ell.width, most_padding});
  const auto add_slices = [&](std::uint64_t slots, bool is_reordered) {
    SparseShape sliced = same;
    sliced.format = SparseFormat::sliced_ell;
    sliced.slice_rows = statistics.slice_rows;
    sliced.is_reordered = is_reordered;
    if (slots * sliced.slice_rows > most_places) return;
    sliced.entry_count = static_cast<std::uint32_t>(slots * sliced.slice_rows);
    all.push_back({sliced, statistics.longest_row, most_padding});
  };
  if (statistics.slice_rows != 0) add_slices(statistics.slice_slots, false);
  if (statistics.slice_rows != 0 && statistics.window_rows != 0) add_slices(statistics.reordered_slice_slots, true);
  for (std::uint32_t k = 0; k < 31 && 1u << k < statistics.longest_row; ++k) {
    SparseShape hybrid = same;
    hybrid.format = SparseFormat::hybrid;
    hybrid.width = 1u << k;
    hybrid.rest_row_count = statistics.rest_row_count(k);
    hybrid.rest_entry_count = statistics.rest_entry_count(k);
    all.push_back({hybrid, hybrid.width, most_padding});
  }
  for (std::size_t i = 0; i < CsrStatistics::block_size_list.size(); ++i) {
    const std::uint32_t size = CsrStatistics::block_size_list[i];
    if ((statistics.block_sizes >> size & 1) == 0 || statistics.descent_count != 0) continue;
    SparseShape blocks = same;
    blocks.format = SparseFormat::block_ell;
    blocks.values = csr.values == SparseValues::ones ? SparseValues::f32 : csr.values;
    blocks.block_size = size;
    blocks.width = statistics.block_widths[i];
    if (blocks.values == SparseValues::f16 && size * blocks.stride() % 2 != 0) blocks.row_stride = blocks.stride() + 1;
    all.push_back({blocks, std::uint64_t{blocks.width} * size, 1.0});
  }
  return all;
}

std::string size_text(std::uint64_t bytes, std::uint64_t csr_bytes, std::uint32_t longest_row) {
  return std::format("{} bytes, {:.2f} times those of csr; the longest row has {} entries", bytes,
                     static_cast<double>(bytes) / static_cast<double>(csr_bytes), longest_row);
}

}  // namespace

FormatSuggestion suggest_format(const SparseShape& csr, const CsrStatistics& statistics, const DeviceTraits& traits) {
  SparseShape plain = csr;
  plain.longest_row = statistics.longest_row;
  const std::uint64_t csr_bytes = stored_bytes(plain);
  FormatSuggestion best{.shape = plain, .bytes = csr_bytes, .reason = {}};
  const std::uint64_t longest_walk = std::max(short_walk, csr.entry_count / entries_a_step);
  const bool merges = select_spmv_tuning({.matrix = plain}, traits).path == SpmvPath::merge;
  const double most_padding = merges ? most_merge_padding : most_rows_padding;
  for (const Candidate& candidate : candidates_of(csr, statistics, most_padding)) {
    const std::uint64_t bytes = stored_bytes(candidate.shape);
    const bool is_allowed = candidate.walk <= longest_walk &&
                            static_cast<double>(bytes) <= candidate.most * static_cast<double>(csr_bytes) &&
                            candidate.shape.rest_row_count <= csr.row_count / most_rest_share;
    if (!is_allowed || !fits(candidate.shape, traits)) continue;
    if (best.shape.format == SparseFormat::csr || bytes < best.bytes) best = {candidate.shape, bytes, {}};
  }
  if (csr.entry_count == 0) {
    best.reason = "there are no entries";
    return best;
  }
  best.reason = best.shape.format == SparseFormat::csr
                    ? std::format(
                          "no other format takes at most {} times the {} bytes of csr with no more than {} slots for a "
                          "thread; the longest row has {} entries",
                          most_padding, csr_bytes, longest_walk, statistics.longest_row)
                    : size_text(best.bytes, csr_bytes, statistics.longest_row);
  return best;
}

Result<FormatSuggestion> shape_in_format(const SparseShape& csr, const CsrStatistics& statistics, SparseFormat format) {
  SparseShape plain = csr;
  plain.longest_row = statistics.longest_row;
  const std::uint64_t csr_bytes = stored_bytes(plain);
  if (format == SparseFormat::csr || format == SparseFormat::coo) {
    plain.format = format;
    const std::uint64_t bytes = stored_bytes(plain);
    return FormatSuggestion{plain, bytes, size_text(bytes, csr_bytes, statistics.longest_row)};
  }
  // Formats of slots have at least one.
  if (csr.entry_count == 0) {
    return FormatSuggestion{plain, csr_bytes,
                            std::format("without entries there is nothing to store as {}", to_string(format))};
  }
  std::optional<FormatSuggestion> best;
  for (const Candidate& candidate : candidates_of(csr, statistics, most_merge_padding)) {
    const std::uint64_t bytes = stored_bytes(candidate.shape);
    if (candidate.shape.format != format || (best && best->bytes <= bytes)) continue;
    best = {candidate.shape, bytes, size_text(bytes, csr_bytes, statistics.longest_row)};
  }
  if (best) return *best;
  // A hybrid needs a row that is longer than others; blocks need ascending columns and to have been counted.
  if (format == SparseFormat::hybrid) {
    auto ell = shape_in_format(csr, statistics, SparseFormat::ell);
    if (ell) ell->reason = "no row has a second entry for the rest of a hybrid; " + ell->reason;
    return ell;
  }
  return fail(ErrorKind::unsupported,
              format == SparseFormat::block_ell && statistics.descent_count != 0
                  ? "Blocks need rows whose columns ascend; sort the entries first (record_coo_to_csr)."
                  : std::format("The statistics do not say what {} would take.", to_string(format)));
}

}  // namespace upsweep
