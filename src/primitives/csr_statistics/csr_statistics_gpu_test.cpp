// SPDX-License-Identifier: Apache-2.0
// The analysis of compressed rows on a device against loops and sets.
#include <gmock/gmock.h>

#include <format>
#include <limits>
#include <set>

#include "testing/gpu_test.h"
#include "testing/sparse_patterns.h"
#include "upsweep/sparse_convert.h"

namespace upsweep::testing {
namespace {

constexpr std::uint32_t all_block_sizes = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 16;

std::uint32_t slots_of(const std::vector<std::uint32_t>& lengths, std::uint32_t slice_rows) {
  std::uint32_t slots = 0;
  for (std::size_t first = 0; first < lengths.size(); first += slice_rows) {
    const std::size_t end = std::min<std::size_t>(first + slice_rows, lengths.size());
    slots += *std::max_element(lengths.begin() + static_cast<std::ptrdiff_t>(first),
                               lengths.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return slots;
}

std::uint64_t bytes_of_block(SparseValues values, std::uint64_t size) {
  return 4 + size * size * (values == SparseValues::f16 ? 2 : 4);
}

std::uint64_t runs_of(const CsrPattern& pattern, std::uint32_t size) {
  std::uint64_t runs = 0;
  for (std::size_t e = 1; e < pattern.columns.size(); ++e) {
    runs += pattern.columns[e] / size != pattern.columns[e - 1] / size ? 1 : 0;
  }
  return runs;
}

// Entries in another block column than the one before them begin a block, or go on with one of the rows above.
std::uint64_t least_block_bytes(const CsrPattern& pattern, const CsrStatisticsShape& shape, std::uint32_t size) {
  return (runs_of(pattern, size) * bytes_of_block(shape.csr.values, size) + size - 1) / size;
}

CsrStatistics expected_statistics(const CsrPattern& pattern, const CsrStatisticsShape& shape) {
  CsrStatistics expected{
      .slice_rows = shape.slice_rows, .window_rows = shape.window_rows, .block_sizes = shape.block_sizes};
  std::vector<std::uint32_t> lengths;
  for (std::size_t row = 0; row < pattern.row_count; ++row) {
    const std::uint32_t length = pattern.length(row);
    lengths.push_back(length);
    std::size_t bin = 0;
    for (std::uint64_t limit = 1; length != 0 && (bin == 0 || limit < length); ++bin) limit = bin == 0 ? 1 : 2 * limit;
    ++expected.rows_by_length[bin];
    expected.entries_by_length[bin] += length;
    expected.longest_row = std::max(expected.longest_row, length);
    for (std::size_t e = pattern.offsets[row] + std::size_t{1}; e < pattern.offsets[row + 1]; ++e) {
      if (shape.block_sizes != 0 && pattern.columns[e] < pattern.columns[e - 1]) ++expected.descent_count;
    }
  }
  expected.slice_slots = slots_of(lengths, shape.slice_rows);
  if (shape.window_rows != 0) {
    for (std::size_t first = 0; first < lengths.size(); first += shape.window_rows) {
      const std::size_t end = std::min<std::size_t>(first + shape.window_rows, lengths.size());
      std::sort(lengths.begin() + static_cast<std::ptrdiff_t>(first),
                lengths.begin() + static_cast<std::ptrdiff_t>(end), std::greater<>());
    }
    expected.reordered_slice_slots = slots_of(lengths, shape.slice_rows);
  }
  float least_bytes = std::numeric_limits<float>::max();
  for (const std::size_t i : {1u, 2u, 0u, 3u, 4u}) {
    const std::uint32_t size = CsrStatistics::block_size_list.at(i);
    if ((shape.block_sizes >> size & 1) == 0) continue;
    const std::uint64_t bytes_at_least = least_block_bytes(pattern, shape, size);
    const auto block_bytes = static_cast<float>(bytes_of_block(shape.csr.values, size));
    const bool is_left_out =
        shape.skip_large_blocks &&
        (bytes_at_least > stored_bytes(shape.csr) ||
         static_cast<float>(runs_of(pattern, size)) * (block_bytes / static_cast<float>(size)) > least_bytes);
    if (is_left_out) expected.block_sizes &= ~(1u << size);
    std::vector<std::set<std::uint32_t>> blocks((pattern.row_count + std::size_t{size} - 1) / size);
    for (std::size_t row = 0; row < pattern.row_count; ++row) {
      for (std::size_t e = pattern.offsets[row]; e < pattern.offsets[row + 1]; ++e) {
        blocks[row / size].insert(pattern.columns[e] / size);
      }
    }
    std::uint32_t width = 0;
    std::uint32_t count = 0;
    for (const auto& row : blocks) {
      width = std::max(width, static_cast<std::uint32_t>(row.size()));
      count += static_cast<std::uint32_t>(row.size());
    }
    if (is_left_out) {
      // Rightly so.
      const std::uint64_t bytes = count * bytes_of_block(shape.csr.values, size);
      EXPECT_TRUE(bytes > stored_bytes(shape.csr) || static_cast<float>(bytes) >= least_bytes);
      continue;
    }
    expected.block_widths[i] = width;
    expected.block_counts[i] = count;
    if (width != 0) {
      least_bytes =
          std::min(least_bytes, static_cast<float>(width) * (static_cast<float>(blocks.size()) * block_bytes));
    }
  }
  return expected;
}

class CsrStatisticsGpu : public GpuTest {
 protected:
  [[nodiscard]] SparseConversionTuning tuning() const {
    SparseConversionTuning tuning{.workgroup_size = is_tiny() ? 4u : 64u};
    tuning.sort = SortTuning{.workgroup_size = is_tiny() ? 16u : 64u,
                             .items_per_thread = 2,
                             .digit_bits = is_tiny() ? 4u : 6u,
                             .use_subgroups = GetParam() == Profile::full,
                             .max_workgroups = 5,
                             .one_workgroup_items = 128};
    return tuning;
  }

  void check(const CsrPattern& pattern, CsrStatisticsShape shape) {
    shape.csr = pattern.shape(SparseValues::f32);
    SCOPED_TRACE(std::format("{}, slices of {}, windows of {}, block sizes {:#x}", pattern.name, shape.slice_rows,
                             shape.window_rows, shape.block_sizes));
    const GuardedBuffer offsets(context(), bytes_of(pattern.offsets), 4);
    const GuardedBuffer columns(context(), bytes_of(pattern.columns), 8);
    const GuardedBuffer statistics(context(), bytes_of(unwritten<CsrStatistics>(1)), 12);
    SparseBuffers csr;
    if (pattern.row_count != 0) csr.row_offsets = offsets.view();
    if (!pattern.columns.empty() && shape.block_sizes != 0) csr.columns = columns.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_csr_statistics(context(), encoder, shape, csr, statistics.view(), tuning());
    });
    const auto actual = items_of<CsrStatistics>(statistics.read_and_check_guards());
    ASSERT_EQ(actual.size(), 1u);
    const CsrStatistics expected = expected_statistics(pattern, shape);
    EXPECT_EQ(actual[0].longest_row, expected.longest_row);
    EXPECT_EQ(actual[0].slice_slots, expected.slice_slots);
    EXPECT_EQ(actual[0].reordered_slice_slots, expected.reordered_slice_slots);
    EXPECT_EQ(actual[0].rows_by_length, expected.rows_by_length);
    EXPECT_EQ(actual[0].entries_by_length, expected.entries_by_length);
    EXPECT_EQ(actual[0].block_widths, expected.block_widths);
    EXPECT_EQ(actual[0].block_counts, expected.block_counts);
    EXPECT_EQ(actual[0], expected);
    for (std::uint32_t k = 0; k < 31; ++k) {
      std::uint32_t rows = 0;
      std::uint32_t entries = 0;
      for (std::size_t row = 0; row < pattern.row_count; ++row) {
        if (pattern.length(row) <= 1u << k) continue;
        ++rows;
        entries += pattern.length(row) - (1u << k);
      }
      EXPECT_EQ(actual[0].rest_row_count(k), rows) << k;
      EXPECT_EQ(actual[0].rest_entry_count(k), entries) << k;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Profiles, CsrStatisticsGpu, all_profiles, profile_name);

TEST_P(CsrStatisticsGpu, LengthsSlicesAndBlocksAreCounted) {
  for (const CsrPattern& pattern : csr_patterns(is_tiny() ? 60 : 1000)) {
    check(pattern, {.block_sizes = all_block_sizes});
    check(pattern, {.slice_rows = 5, .block_sizes = 1u << 4});
    check(pattern, {.slice_rows = 1});
    check(pattern, {.slice_rows = 1000});
  }
}

TEST_P(CsrStatisticsGpu, SlicesOfReorderedRowsAreCounted) {
  for (const CsrPattern& pattern : csr_patterns(is_tiny() ? 60 : 1000)) {
    check(pattern, {.slice_rows = 8, .window_rows = 64});
    if (is_thorough()) check(pattern, {.slice_rows = 4, .window_rows = 1u << 20});
  }
}

TEST_P(CsrStatisticsGpu, DescentsAreCounted) {
  CsrPattern pattern = pattern_of_lengths("unsorted", 50, mixed_lengths(100, 20, test_seed()), test_seed());
  for (std::size_t row = 0; row < pattern.row_count; row += 3) {
    std::reverse(pattern.columns.begin() + pattern.offsets[row], pattern.columns.begin() + pattern.offsets[row + 1]);
  }
  CsrStatisticsShape shape{.csr = pattern.shape(SparseValues::ones), .block_sizes = 1u << 2 | 1u << 16};
  const GuardedBuffer offsets(context(), bytes_of(pattern.offsets));
  const GuardedBuffer columns(context(), bytes_of(pattern.columns));
  const GuardedBuffer statistics(context(), bytes_of(unwritten<CsrStatistics>(1)));
  run([&](WGPUCommandEncoder encoder) {
    return record_csr_statistics(context(), encoder, shape, {.row_offsets = offsets.view(), .columns = columns.view()},
                                 statistics.view(), tuning());
  });
  const auto actual = items_of<CsrStatistics>(statistics.read_and_check_guards()).at(0);
  EXPECT_GT(actual.descent_count, 0u);
  EXPECT_EQ(actual.descent_count, expected_statistics(pattern, shape).descent_count);
}

TEST_P(CsrStatisticsGpu, BlockSizesThatCannotPayAreLeftOut) {
  const CsrPattern scattered = pattern_of_lengths("scattered", 5000, mixed_lengths(300, 30, test_seed()), test_seed());
  check(scattered, {.block_sizes = all_block_sizes, .skip_large_blocks = true});
  // Full blocks of 4 x 4, which are blocks of 2 x 2, too.
  CsrPattern full = pattern_of_lengths("full", 512, std::vector<std::uint32_t>(256, 16), test_seed());
  for (std::size_t e = 0; e < full.columns.size(); ++e) {
    const std::size_t slot = e % 16;
    full.columns[e] = static_cast<std::uint32_t>((e / 64 % 16 * 4 + slot / 4 * 96) / 4 * 4 + slot % 4);
  }
  check(full, {.block_sizes = all_block_sizes, .skip_large_blocks = true});
  CsrStatisticsShape shape{
      .csr = full.shape(SparseValues::f32), .block_sizes = all_block_sizes, .skip_large_blocks = true};
  EXPECT_TRUE(expected_statistics(full, shape).block_sizes >> 4 & 1);
  shape.csr = scattered.shape(SparseValues::f32);
  EXPECT_EQ(expected_statistics(scattered, shape).block_sizes, 0u);
}

// Three unknowns a node, each coupled with those of three nodes in a row: blocks of 3 x 3 take the fewest bytes, and
// others less than the CSR, which need not be counted then.
TEST_P(CsrStatisticsGpu, BlockSizesThatAreWorseThanAnotherAreLeftOut) {
  constexpr std::uint32_t nodes = 100;
  CsrPattern chain =
      pattern_of_lengths("chain", 3 * nodes, std::vector<std::uint32_t>(std::size_t{3} * nodes, 9), test_seed());
  for (std::uint32_t e = 0; e < chain.columns.size(); ++e) {
    const std::uint32_t node = e / 27;
    chain.columns[e] = std::clamp(node, 1u, nodes - 2) * 3 - 3 + e % 9;
  }
  const CsrStatisticsShape shape{
      .csr = chain.shape(SparseValues::f32), .block_sizes = all_block_sizes, .skip_large_blocks = true};
  EXPECT_EQ(expected_statistics(chain, shape).block_sizes, 1u << 3);
  check(chain, shape);
  check(chain, {.block_sizes = all_block_sizes});
}

// So many workgroups that their grids are folded, by a limit that no device has.
TEST_P(CsrStatisticsGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 7;
  context().override_traits(narrow);
  check(pattern_of_lengths("mixed", 90, mixed_lengths(301, 20, test_seed()), test_seed()),
        {.slice_rows = 4, .window_rows = 16, .block_sizes = 1u << 2 | 1u << 3});
  context().override_traits(traits);
}

// So many entries that a workgroup takes several chunks of them.
TEST_P(CsrStatisticsGpu, SeveralChunksAWorkgroup) {
  if (!is_tiny()) return;
  check(pattern_of_lengths("long rows", 9000, mixed_lengths(900, 3000, test_seed()), test_seed()),
        {.block_sizes = 1u << 3});
  check(pattern_of_lengths("a band", 900, std::vector<std::uint32_t>(800, 100), test_seed(), 130),
        {.block_sizes = 1u << 2 | 1u << 8});
}

// A row of a million entries, and rows past the nearest block rows of a workgroup.
TEST_P(CsrStatisticsGpu, LongRowsAndLongGaps) {
  if (GetParam() != Profile::full) return;
  std::vector<std::uint32_t> lengths(20'000, 0);
  lengths[0] = 1;
  lengths[7] = 1'200'000;
  lengths[8] = 65;
  lengths[19'999] = 1;
  check(pattern_of_lengths("a million", 2'000'000, lengths, test_seed()), {.block_sizes = 1u << 2 | 1u << 16});
}

}  // namespace
}  // namespace upsweep::testing
