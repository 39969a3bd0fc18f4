// SPDX-License-Identifier: Apache-2.0
// Compressed rows to the other formats on a device: each array against the reference, and the product of the result
// against the dense one.
#include <gmock/gmock.h>

#include <format>
#include <memory>

#include "primitives/csr_conversion/csr_conversion_reference.h"
#include "testing/gpu_test.h"
#include "upsweep/spmv.h"

namespace upsweep::testing {
namespace {

constexpr std::uint32_t any_growth = 1'000'000;

class CsrConversionGpu : public GpuTest {
 protected:
  using Buffer = std::unique_ptr<GuardedBuffer>;

  [[nodiscard]] SparseConversionTuning tuning() const {
    SparseConversionTuning tuning{.workgroup_size = is_tiny() ? 4u : 64u};
    tuning.sort = SortTuning{.workgroup_size = is_tiny() ? 16u : 64u,
                             .items_per_thread = 2,
                             .digit_bits = is_tiny() ? 4u : 6u,
                             .use_subgroups = GetParam() == Profile::full,
                             .max_workgroups = 5,
                             .one_workgroup_items = 128};
    tuning.scan = scan_tuning(ScanPath::automatic);
    tuning.scan->workgroup_size = std::min(tuning.scan->workgroup_size, 64u);
    return tuning;
  }

  template <typename T>
  Buffer buffer(const std::vector<T>& items) {
    next_offset_ = next_offset_ % 60 + 4;
    return std::make_unique<GuardedBuffer>(context(), bytes_of(items), next_offset_);
  }
  // Words that nobody has written yet.
  Buffer room(std::size_t words) { return buffer(unwritten<std::uint32_t>(words)); }

  static void expect_words(const Buffer& buffer, const std::vector<std::uint32_t>& expected, const char* what) {
    SCOPED_TRACE(what);
    expect_items(items_of<std::uint32_t>(buffer->read_and_check_guards()), expected);
  }

  void check(const CsrPattern& pattern, SparseValues type, const Converted& expected, std::uint32_t window_rows = 0,
             bool has_exact_product = true) {
    const SparseShape& shape = expected.shape;
    SCOPED_TRACE(std::format("{} to {}, stride {}", pattern.name, to_string(shape), shape.stride()));
    const Buffer offsets = buffer(pattern.offsets);
    const Buffer columns = buffer(pattern.columns);
    const Buffer values = buffer(stored_values(pattern.values, type));
    const bool has_entries = !pattern.columns.empty();
    CsrConversionBuffers buffers;
    buffers.csr.row_offsets = offsets->view();
    if (has_entries) buffers.csr.columns = columns->view();
    if (has_entries && type != SparseValues::ones) buffers.csr.values = values->view();
    const Buffer result_columns = room(expected.columns.size());
    const Buffer result_values = room(stored_values(expected.values, shape.values).size());
    if (!expected.columns.empty()) {
      buffers.result.columns = result_columns->view();
      if (shape.values != SparseValues::ones) buffers.result.values = result_values->view();
    }
    const Buffer slice_offsets = room(expected.slice_offsets.size());
    const Buffer row_order = room(pattern.row_count);
    const Buffer slot_count = room(1);
    if (shape.format == SparseFormat::sliced_ell) {
      buffers.result.slice_offsets = slice_offsets->view();
      if (window_rows != 0) buffers.result.row_order = row_order->view();
    }
    const Buffer rest_rows = room(expected.rest_rows.size());
    const Buffer rest_offsets = room(expected.rest_offsets.size());
    const Buffer rest_columns = room(expected.rest_columns.size());
    const Buffer rest_values = room(stored_values(expected.rest_values, type).size());
    const Buffer rest_counts = room(2);
    if (shape.format == SparseFormat::hybrid) {
      buffers.result.rest_offsets = rest_offsets->view();
      buffers.rest_counts = rest_counts->view();
      if (!expected.rest_rows.empty()) {
        buffers.result.rest_rows = rest_rows->view();
        buffers.result.rest_columns = rest_columns->view();
        if (type != SparseValues::ones) buffers.result.rest_values = rest_values->view();
      }
    }
    run([&](WGPUCommandEncoder encoder) -> Status {
      if (shape.format == SparseFormat::sliced_ell) {
        SliceRowsBuffers slices{
            .row_offsets = offsets->view(), .slice_offsets = slice_offsets->view(), .slot_count = slot_count->view()};
        if (window_rows != 0 && pattern.row_count != 0) slices.row_order = row_order->view();
        const Status ok = record_slice_rows(
            context(), encoder,
            {.csr = pattern.shape(type), .slice_rows = shape.slice_rows, .window_rows = window_rows}, slices, tuning());
        if (!ok) return ok;
      }
      CsrConversionBuffers used = buffers;
      if (expected.columns.empty() && shape.format != SparseFormat::hybrid) used = {};
      return record_csr_conversion(
          context(), encoder, {.csr = pattern.shape(type), .result = shape, .most_growth = any_growth}, used, tuning());
    });
    expect_words(result_columns, expected.columns, "columns");
    if (shape.values != SparseValues::ones) {
      expect_words(result_values, stored_values(expected.values, shape.values), "values");
    }
    if (shape.format == SparseFormat::sliced_ell) {
      expect_words(slice_offsets, expected.slice_offsets, "slice_offsets");
      expect_words(slot_count, {expected.slice_offsets.back() / shape.slice_rows}, "slot_count");
      if (window_rows != 0) expect_words(row_order, expected.row_order, "row_order");
    }
    if (shape.format == SparseFormat::hybrid) {
      expect_words(rest_rows, expected.rest_rows, "rest_rows");
      expect_words(rest_offsets, expected.rest_offsets, "rest_offsets");
      expect_words(rest_counts, {shape.rest_row_count, shape.rest_entry_count}, "rest_counts");
      expect_words(rest_columns, expected.rest_columns, "rest_columns");
      if (type != SparseValues::ones) {
        expect_words(rest_values, stored_values(expected.rest_values, type), "rest_values");
      }
    }
    if (GetParam() == Profile::full && has_exact_product && pattern.row_count != 0 && !::testing::Test::HasFailure()) {
      check_product(pattern, type, shape, buffers.result);
    }
  }

  // Whole numbers times eighths: sums in any order are exact.
  void check_product(const CsrPattern& pattern, SparseValues type, const SparseShape& shape,
                     const SparseBuffers& matrix) {
    const std::vector<float> x = random_items<float>(pattern.column_count, test_seed(), Values::small);
    std::vector<float> y(pattern.row_count, 0);
    for (std::size_t row = 0; row < pattern.row_count; ++row) {
      for (std::size_t e = pattern.offsets[row]; e < pattern.offsets[row + 1]; ++e) {
        y[row] += (type == SparseValues::ones ? 1.0f : pattern.values[e]) * x[pattern.columns[e]];
      }
    }
    const Buffer x_buffer = buffer(x);
    const Buffer y_buffer = buffer(unwritten<float>(pattern.row_count));
    SpmvBuffers buffers{.matrix = matrix, .x = x_buffer->view(), .y = y_buffer->view()};
    if (pattern.column_count == 0 || pattern.columns.empty()) buffers.x = {};
    if (pattern.columns.empty()) return;
    run([&](WGPUCommandEncoder encoder) { return record_spmv(context(), encoder, {.matrix = shape}, buffers); });
    SCOPED_TRACE("product");
    expect_items(items_of<float>(y_buffer->read_and_check_guards()), y,
                 [](float actual, float expected) { return actual == expected; });
  }

  [[nodiscard]] std::vector<CsrPattern> patterns() const { return csr_patterns(is_tiny() ? 60 : 500); }
  [[nodiscard]] std::vector<SparseValues> some_values() const {
    if (is_thorough()) return {SparseValues::f32, SparseValues::f16, SparseValues::ones};
    return {static_cast<int>(GetParam()) % 2 == 0 ? SparseValues::f16 : SparseValues::f32};
  }
  static std::uint32_t longest(const CsrPattern& pattern) {
    std::uint32_t longest = 0;
    for (std::size_t row = 0; row < pattern.row_count; ++row) longest = std::max(longest, pattern.length(row));
    return longest;
  }

  std::uint64_t next_offset_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Profiles, CsrConversionGpu, all_profiles, profile_name);

TEST_P(CsrConversionGpu, EllHasEverySlotOfEveryRow) {
  for (const SparseValues type : some_values()) {
    for (const CsrPattern& pattern : patterns()) {
      check(pattern, type, to_ell(pattern, SparseFormat::ell, type, longest(pattern), 0));
      check(pattern, type, to_ell(pattern, SparseFormat::ell, type, longest(pattern) + 1, pattern.row_count + 5));
    }
  }
}

TEST_P(CsrConversionGpu, HybridsHaveARest) {
  for (const SparseValues type : some_values()) {
    for (const CsrPattern& pattern : patterns()) {
      for (const std::uint32_t width : {0u, 1u, 4u, longest(pattern)}) {
        check(pattern, type, to_ell(pattern, SparseFormat::hybrid, type, width, 0));
      }
      check(pattern, type, to_ell(pattern, SparseFormat::hybrid, type, 3, pattern.row_count + 1));
    }
  }
}

TEST_P(CsrConversionGpu, SlicesAreAsWideAsTheirLongestRow) {
  for (const SparseValues type : some_values()) {
    for (const CsrPattern& pattern : patterns()) {
      check(pattern, type, to_sliced_ell(pattern, type, 32, 0));
      check(pattern, type, to_sliced_ell(pattern, type, 7, 0));
    }
  }
}

TEST_P(CsrConversionGpu, RowsMayBeOrderedByLength) {
  for (const SparseValues type : some_values()) {
    for (const CsrPattern& pattern : patterns()) {
      check(pattern, type, to_sliced_ell(pattern, type, 8, 64), 64);
      if (is_thorough()) check(pattern, type, to_sliced_ell(pattern, type, 5, 10'000), 10'000);
    }
  }
}

TEST_P(CsrConversionGpu, BlocksHoldSumsAndZeros) {
  for (const SparseValues type : some_values()) {
    for (const CsrPattern& pattern : patterns()) {
      for (const std::uint32_t size : CsrStatistics::block_size_list) {
        SparseShape shape = result_shape(pattern, SparseFormat::block_ell, type);
        shape.block_size = size;
        const std::uint32_t rows = shape.group_count();
        const bool needs_even = type == SparseValues::f16 && size % 2 == 1;
        check(pattern, type, to_block_ell(pattern, type, size, needs_even ? rows + rows % 2 : 0));
        if (size <= 3) check(pattern, type, to_block_ell(pattern, type, size, rows + 2 + (needs_even ? rows % 2 : 0)));
      }
    }
  }
}

// Sums of 2049 and of 2050 in f16: 2048 and 2050.
TEST_P(CsrConversionGpu, SumsInBlocksAreRoundedOnce) {
  CsrPattern pattern{"rounded", 2, 2, {0, 2, 5}, {0, 0, 1, 1, 1}, {2048, 1, 2048, 1, 1}};
  check(pattern, SparseValues::f16, to_block_ell(pattern, SparseValues::f16, 2, 0), 0, false);
}

TEST_P(CsrConversionGpu, WhatDoesNotFitIsLeftOut) {
  const CsrPattern pattern = pattern_of_lengths("short of room", 50, {5, 0, 3, 9, 1}, test_seed());
  const Buffer offsets = buffer(pattern.offsets);
  const Buffer columns = buffer(pattern.columns);
  CsrConversionBuffers buffers;
  buffers.csr = {.row_offsets = offsets->view(), .columns = columns->view()};
  SparseShape shape = result_shape(pattern, SparseFormat::hybrid, SparseValues::ones);
  shape.width = 2;
  shape.rest_row_count = 2;    // of 3
  shape.rest_entry_count = 3;  // of 11, of which the two rows have 4
  const Converted whole = to_ell(pattern, SparseFormat::hybrid, SparseValues::ones, 2, 0);
  const Buffer ell = room(10);
  const Buffer rest_rows = room(2);
  const Buffer rest_offsets = room(3);
  const Buffer rest_columns = room(3);
  const Buffer rest_counts = room(2);
  buffers.result = {.columns = ell->view(),
                    .rest_rows = rest_rows->view(),
                    .rest_offsets = rest_offsets->view(),
                    .rest_columns = rest_columns->view()};
  buffers.rest_counts = rest_counts->view();
  run([&](WGPUCommandEncoder encoder) {
    return record_csr_conversion(context(), encoder,
                                 {.csr = pattern.shape(SparseValues::ones), .result = shape, .most_growth = 9}, buffers,
                                 tuning());
  });
  expect_words(rest_counts, {3, 11}, "rest_counts");
  expect_words(rest_rows, {0, 2}, "rest_rows");
  expect_words(rest_offsets, {0, 3, 3}, "rest_offsets");
  expect_words(rest_columns, {whole.rest_columns.begin(), whole.rest_columns.begin() + 3}, "rest_columns");

  Converted blocks = to_block_ell(pattern, SparseValues::ones, 2, 0);
  const std::size_t kept = blocks.columns.size() / blocks.shape.width;
  blocks.shape.width = 1;
  blocks.columns.resize(kept);
  blocks.values.resize(kept * 4);
  const Buffer block_columns = room(blocks.columns.size());
  const Buffer block_values = room(blocks.values.size());
  buffers.result = {.columns = block_columns->view(), .values = block_values->view()};
  buffers.rest_counts = {};
  run([&](WGPUCommandEncoder encoder) {
    return record_csr_conversion(context(), encoder,
                                 {.csr = pattern.shape(SparseValues::ones), .result = blocks.shape, .most_growth = 9},
                                 buffers, tuning());
  });
  expect_words(block_columns, blocks.columns, "columns");
  expect_words(block_values, stored_values(blocks.values, SparseValues::f32), "values");
}

// So many workgroups that their grids are folded, by a limit that no device has.
TEST_P(CsrConversionGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 7;
  context().override_traits(narrow);
  const CsrPattern pattern = pattern_of_lengths("mixed", 90, mixed_lengths(101, 20, test_seed()), test_seed());
  const SparseValues type = SparseValues::f16;
  check(pattern, type, to_ell(pattern, SparseFormat::ell, type, longest(pattern), 0));
  check(pattern, type, to_ell(pattern, SparseFormat::hybrid, type, 2, 0));
  check(pattern, type, to_sliced_ell(pattern, type, 4, 16), 16);
  check(pattern, type, to_block_ell(pattern, type, 2, 0));
  context().override_traits(traits);
}

// As a caller goes about it: coordinates with duplicates, the count read back, figures, the format that they speak for,
// and its product.
TEST_P(CsrConversionGpu, CoordinatesBecomeTheSuggestedFormat) {
  if (GetParam() != Profile::full) return;
  struct Case {
    CsrPattern pattern;
    std::uint32_t window_rows;
    std::uint32_t block_sizes;
    SparseFormat expected;
  };
  std::vector<std::uint32_t> slow;
  for (std::uint32_t row = 0; row < 2000; ++row) slow.push_back(1 + row / 50);
  std::vector<std::uint32_t> few_long(3000, 4);
  for (std::size_t row = 0; row < few_long.size(); row += 1000) few_long[row] = 300;
  CsrPattern blocks{"full blocks", 600, 600, {0}, {}, {}};
  for (std::uint32_t row = 0; row < 600; ++row) {
    for (std::uint32_t c = 0; c < 8; ++c) blocks.columns.push_back((row / 4 * 4 + c) % 600);
    std::sort(blocks.columns.end() - 8, blocks.columns.end());
    blocks.offsets.push_back(static_cast<std::uint32_t>(blocks.columns.size()));
  }
  blocks.values.assign(blocks.columns.size(), 0.5f);
  const std::vector<Case> cases{
      {pattern_of_lengths("equal rows", 1'000'000, std::vector<std::uint32_t>(500, 6), test_seed()), 0, 1u << 2,
       SparseFormat::ell},
      {pattern_of_lengths("slowly longer", 1'000'000, slow, test_seed()), 128, 0, SparseFormat::sliced_ell},
      {pattern_of_lengths("a few long", 1'000'000, few_long, test_seed()), 0, 0, SparseFormat::hybrid},
      {blocks, 0, 1u << 2 | 1u << 4, SparseFormat::block_ell},
      {pattern_of_lengths("three long", 1'000'000, {300, 200, 900}, test_seed()), 64, 0, SparseFormat::csr},
  };
  for (const Case& c : cases) {
    const CsrPattern& pattern = c.pattern;
    SCOPED_TRACE(pattern.name);
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> columns;
    std::vector<float> values;
    for (std::size_t row = 0; row < pattern.row_count; ++row) {
      for (std::size_t e = pattern.offsets[row]; e < pattern.offsets[row + 1]; ++e) {
        for (int twice = 0; twice < 2; ++twice) {
          rows.push_back(static_cast<std::uint32_t>(row));
          columns.push_back(pattern.columns[e]);
          values.push_back(pattern.values[e] / 2);
        }
      }
    }
    const Buffer row_buffer = buffer(rows);
    const Buffer column_buffer = buffer(columns);
    const Buffer value_buffer = buffer(values);
    const Buffer offsets = room(pattern.row_count + std::size_t{1});
    const Buffer csr_columns = room(rows.size());
    const Buffer csr_values = room(rows.size());
    const Buffer stored = room(1);
    CooToCsrBuffers made;
    made.coo = {.rows = row_buffer->view(), .columns = column_buffer->view(), .values = value_buffer->view()};
    made.csr = {.row_offsets = offsets->view(), .columns = csr_columns->view(), .values = csr_values->view()};
    made.stored_count = stored->view();
    SparseShape coo = pattern.shape(SparseValues::f32);
    coo.format = SparseFormat::coo;
    coo.entry_count = static_cast<std::uint32_t>(rows.size());
    run([&](WGPUCommandEncoder encoder) {
      return record_coo_to_csr(context(), encoder, {.coo = coo}, made, tuning());
    });
    SparseShape csr = pattern.shape(SparseValues::f32);
    csr.entry_count = items_of<std::uint32_t>(stored->read_and_check_guards()).at(0);
    ASSERT_LE(csr.entry_count, pattern.columns.size());
    const Buffer figures = buffer(unwritten<CsrStatistics>(1));
    run([&](WGPUCommandEncoder encoder) {
      return record_csr_statistics(context(), encoder,
                                   {.csr = csr, .window_rows = c.window_rows, .block_sizes = c.block_sizes}, made.csr,
                                   figures->view(), tuning());
    });
    const auto statistics = items_of<CsrStatistics>(figures->read_and_check_guards()).at(0);
    const SparseShape shape = suggest_format(csr, statistics, context().traits()).shape;
    ASSERT_EQ(shape.format, c.expected) << to_string(shape);
    if (shape.format == SparseFormat::csr) {
      check_product(pattern, SparseValues::f32, shape, made.csr);
      continue;
    }
    const Buffer result_columns = room(shape.column_items());
    const Buffer result_values = room(shape.value_items());
    const Buffer slice_offsets = room(shape.group_count() + std::size_t{1});
    const Buffer row_order = room(pattern.row_count);
    const Buffer rest_rows = room(shape.rest_row_count);
    const Buffer rest_offsets = room(shape.rest_row_count + std::size_t{1});
    const Buffer rest_columns = room(shape.rest_entry_count);
    const Buffer rest_values = room(shape.rest_entry_count);
    const Buffer counts = room(2);
    CsrConversionBuffers buffers{.csr = made.csr};
    buffers.result = {.columns = result_columns->view(), .values = result_values->view()};
    if (shape.format == SparseFormat::sliced_ell) {
      buffers.result.slice_offsets = slice_offsets->view();
      if (shape.is_reordered) buffers.result.row_order = row_order->view();
    }
    if (shape.format == SparseFormat::hybrid) {
      buffers.result.rest_rows = rest_rows->view();
      buffers.result.rest_offsets = rest_offsets->view();
      buffers.result.rest_columns = rest_columns->view();
      buffers.result.rest_values = rest_values->view();
      buffers.rest_counts = counts->view();
    }
    run([&](WGPUCommandEncoder encoder) -> Status {
      if (shape.format == SparseFormat::sliced_ell) {
        const Status ok = record_slice_rows(
            context(), encoder,
            {.csr = csr, .slice_rows = shape.slice_rows, .window_rows = shape.is_reordered ? c.window_rows : 0},
            {.row_offsets = offsets->view(),
             .row_order = buffers.result.row_order,
             .slice_offsets = slice_offsets->view(),
             .slot_count = counts->view()},
            tuning());
        if (!ok) return ok;
      }
      return record_csr_conversion(context(), encoder, {.csr = csr, .result = shape}, buffers, tuning());
    });
    check_product(pattern, SparseValues::f32, shape, buffers.result);
  }
}

}  // namespace
}  // namespace upsweep::testing
