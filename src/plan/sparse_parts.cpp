// SPDX-License-Identifier: Apache-2.0
#include "plan/sparse_parts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <utility>

#include "plan/grid.h"
#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

constexpr std::uint32_t most_slice_rows = 65536;
constexpr std::uint64_t most_rows = std::uint64_t{1} << 31;

Status refuse(std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); }

}  // namespace

std::uint32_t bytes_of(SparseValues values) {
  switch (values) {
    case SparseValues::f32: return 4;
    case SparseValues::f16: return 2;
    case SparseValues::ones: break;
  }
  return 0;
}

std::uint64_t value_array_bytes(SparseValues values, std::uint64_t count) {
  return align_up(count * bytes_of(values), 4);
}

std::uint64_t stored_bytes(const SparseShape& shape) {
  const std::uint64_t words = 4;
  const std::uint64_t entry = words + bytes_of(shape.values);
  std::uint64_t bytes = shape.column_items() * words + shape.value_items() * bytes_of(shape.values);
  switch (shape.format) {
    case SparseFormat::csr: bytes += (shape.row_count + std::uint64_t{1}) * words; break;
    case SparseFormat::coo: bytes += shape.entry_count * words; break;
    case SparseFormat::sliced_ell:
      bytes += (shape.group_count() + std::uint64_t{1}) * words + (shape.is_reordered ? shape.row_count * words : 0);
      break;
    case SparseFormat::hybrid:
      bytes += shape.rest_entry_count * entry + (2 * std::uint64_t{shape.rest_row_count} + 1) * words;
      break;
    case SparseFormat::ell:
    case SparseFormat::block_ell: break;
  }
  return bytes;
}

std::string to_string(const SparseConversionTuning& tuning) {
  return std::format("{} threads, sort {}, scans {}", tuning.workgroup_size,
                     tuning.sort ? to_string(*tuning.sort) : "of the library",
                     tuning.scan ? to_string(*tuning.scan) : "of the library");
}

Status check_csr(const SparseShape& shape, std::string_view call) {
  if (shape.format != SparseFormat::csr) {
    return refuse(std::format("{} takes compressed rows, not {}.", call, to_string(shape.format)));
  }
  if (shape.row_count > most_rows || shape.column_count > most_rows || shape.entry_count > most_rows) {
    return fail(ErrorKind::unsupported, std::format("{} of {}: rows, columns and entries are limited to {} each.", call,
                                                    to_string(shape), most_rows));
  }
  if (shape.entry_count != 0 && (shape.row_count == 0 || shape.column_count == 0)) {
    return refuse(std::format("{} of {}: there is no place for entries.", call, to_string(shape)));
  }
  return {};
}

Status check_slice_rows(std::uint32_t slice_rows, std::uint32_t window_rows, std::string_view call) {
  if (slice_rows == 0 || slice_rows > most_slice_rows) {
    return refuse(std::format("{} has slices of {} rows: 1 to {} are possible.", call, slice_rows, most_slice_rows));
  }
  if (window_rows % slice_rows != 0) {
    return refuse(std::format("{} has windows of {} rows, which is no multiple of the {} rows of a slice.", call,
                              window_rows, slice_rows));
  }
  return {};
}

Status check_tuning(const SparseConversionTuning& tuning) {
  if (std::has_single_bit(tuning.workgroup_size) && tuning.workgroup_size >= 2) return {};
  return refuse(std::format("Tuning of a conversion out of range: {}.", to_string(tuning)));
}

std::uint32_t fitted_workgroup(const SparseConversionTuning& tuning, const DeviceTraits& traits) {
  return std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
}

void add_row_starts(KernelBuilder& builder) {
  builder.generated("row_offsets",
                    "@group(0) @binding(4) var<storage, read> row_offsets: array<u32>;\n"
                    "fn start_at(row: u32) -> u32 { return row_offsets[params.offsets_first + row]; }\n");
}

void add_search(KernelBuilder& builder) { builder.more_workgroup_bytes(32).part("sparse_search.wgsl"); }

void add_row_order(PlanBuilder& plan, const RowOrder& what, const DeviceTraits& traits) {
  const std::uint32_t rows = what.csr.row_count;
  const bool has_windows = what.window_rows < rows;
  const std::uint32_t window = has_windows ? what.window_rows : rows;
  const std::uint64_t windows = div_ceil(rows, window);
  // The group that sorts of segments read.
  const SlotId lengths = plan.scratch("row lengths", rows * std::uint64_t{4}, ScratchGroup::third);
  const SlotId begins = plan.scratch("windows", (windows + 1) * 4, ScratchGroup::third);
  KernelBuilder builder("sparse_row_lengths");
  builder.workgroup(fitted_workgroup(what.tuning, traits), 0);
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl").part("sparse_row_lengths.wgsl");
  PlanBuilder::Step step;
  step.thread_count = rows + std::uint64_t{1};
  step.bindings = {
      bind_items("row_offsets", what.row_offsets, "offsets_first"), {"lengths", lengths}, {"window_begins", begins}};
  step.params = {{"row_count", rows}, {"window_rows", window}, {"offsets_first", 0}};
  step.reason = "row lengths, to sort by, and where windows begin";
  step.bytes_read = rows * std::uint64_t{4};
  step.bytes_written = rows * std::uint64_t{4} + (windows + 1) * 4;
  plan.dispatch(std::move(builder).build(), std::move(step));
  const std::uint32_t longest = what.csr.longest_row != 0 ? what.csr.longest_row : what.csr.entry_count;
  SortShape sort{.item_count = Count::on_host(rows),
                 .descending = true,
                 .end_bit = std::max(1u, static_cast<std::uint32_t>(std::bit_width(longest))),
                 .write_keys = false,
                 .write_indices = true};
  if (has_windows) {
    sort.segment_count = Count::on_host(windows);
    sort.longest_segment = window;
  }
  plan.append(plan_sort(sort, traits, what.tuning.sort),
              std::array{PlanBuilder::Outer{"keys", lengths}, PlanBuilder::Outer{"indices", what.row_order},
                         PlanBuilder::Outer{"segment_begins", begins}, PlanBuilder::Outer{"segment_ends", begins, 4}});
}

void add_slice_widths(PlanBuilder& plan, const SliceWidths& what) {
  KernelBuilder builder("sparse_slice_widths");
  builder.workgroup(what.workgroup_size, what.workgroup_size * 4);
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl");
  std::string text = what.row_order ? "@group(0) @binding(2) var<storage, read> row_order: array<u32>;\n"
                                      "fn row_at(place: u32) -> u32 { return row_order[params.order_first + place]; }\n"
                                    : "fn row_at(place: u32) -> u32 { return place; }\n";
  text += what.sum_word ? "@group(0) @binding(3) var<storage, read_write> counters: array<atomic<u32>>;\n"
                          "fn store_width(slice: u32, width: u32) {\n"
                          "  atomicAdd(&counters[params.counters_first + params.sum_word], width);\n}\n"
                        : "@group(0) @binding(3) var<storage, read_write> widths_out: array<u32>;\n"
                          "fn store_width(slice: u32, width: u32) { widths_out[slice] = width; }\n";
  builder.generated("rows", text).part("sparse_slice_widths.wgsl");
  const std::uint32_t slices_per_group = std::max(1u, what.workgroup_size / what.slice_rows);
  PlanBuilder::Step step;
  step.workgroup_count = div_ceil(what.slice_count, slices_per_group);
  step.bindings = {bind_items("row_offsets", what.row_offsets, "offsets_first")};
  if (what.row_order) step.bindings.push_back(bind_items("row_order", *what.row_order, "order_first"));
  if (what.sum_word) {
    step.bindings.push_back(bind_items("counters", what.widths, "counters_first"));
  } else {
    step.bindings.push_back({"widths_out", what.widths});
  }
  step.params = {{"row_count", what.row_count},
                 {"slice_rows", what.slice_rows},
                 {"slice_count", static_cast<std::uint32_t>(what.slice_count)},
                 {"slices_per_group", slices_per_group},
                 {"sum_word", what.sum_word.value_or(0)},
                 {"offsets_first", 0},
                 {"order_first", 0},
                 {"counters_first", 0}};
  step.reason = std::format("the longest row of each slice{}", what.row_order ? ", in the rows' order" : "");
  step.bytes_read = what.row_count * std::uint64_t{what.row_order ? 8u : 4u};
  step.bytes_written = what.sum_word ? 0 : what.slice_count * 4;
  plan.dispatch(std::move(builder).build(), std::move(step));
}

}  // namespace upsweep
