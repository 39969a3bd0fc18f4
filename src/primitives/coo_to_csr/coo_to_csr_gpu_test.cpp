// SPDX-License-Identifier: Apache-2.0
// Compressed rows from coordinates, and transposes, on a device against std::map.
#include <gmock/gmock.h>

#include <format>
#include <map>
#include <utility>

#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/sparse_patterns.h"
#include "upsweep/sparse_convert.h"

namespace upsweep::testing {
namespace {

struct Entry {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  float value = 0;
};

struct Pattern {
  std::string name;
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::vector<Entry> entries;
};

// Multiples of 1/8 that f16 holds: sums are exact in f32.
Pattern random_pattern(std::string name, std::uint32_t rows, std::uint32_t columns, std::uint32_t count,
                       std::uint64_t seed) {
  Pattern pattern{std::move(name), rows, columns, {}};
  Random random(seed);
  for (std::uint32_t e = 0; e < count; ++e) {
    pattern.entries.push_back(
        {random.below(rows), random.below(columns), (static_cast<float>(random.below(401)) - 200.0f) / 8.0f});
  }
  return pattern;
}

std::vector<Pattern> patterns(std::uint32_t most) {
  const std::uint64_t seed = test_seed();
  std::vector<Pattern> all{
      {"0 x 0", 0, 0, {}},
      {"0 x 3", 0, 3, {}},
      {"3 x 0", 3, 0, {}},
      {"no entries", 40, 5, {}},
      {"one place twice", 1, 1, {{0, 0, 1}, {0, 0, 2}}},
      {"sums that round in f16", 2, 2, {{1, 0, 2048}, {0, 1, 2048}, {1, 0, 1}, {1, 0, 1}, {0, 1, 1}}},
      {"the corners of 5 x 2^20", 5, 1u << 20, {{4, (1u << 20) - 1, 3}, {0, 0, 1}, {4, 0, 2}, {0, 0, 7}}},
      random_pattern("duplicates everywhere", 7, 5, 300, seed),
      random_pattern("square", 300, 300, 900, seed + 1),
      random_pattern("tall", 2000, 3, most, seed + 2),
      random_pattern("wide", 3, 70'000, most, seed + 3),
      random_pattern("keys of two words", 100'000, 70'000, most, seed + 4),
      random_pattern("one row", 1, 1000, 200, seed + 5),
      random_pattern("one column", 1000, 1, 200, seed + 6),
  };
  Pattern dense{"a dense row among empty ones", 500, 400, {}};
  for (std::uint32_t c = 0; c < 400; ++c) dense.entries.push_back({311, 399 - c, static_cast<float>(c % 7)});
  all.push_back(std::move(dense));
  return all;
}

struct Csr {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
};

// By row, then column, then as they came; merged: one of each place, with the sum.
Csr csr_of(const std::vector<Entry>& entries, std::uint32_t rows, bool is_merged) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<float>> places;
  for (const Entry& entry : entries) places[{entry.row, entry.column}].push_back(entry.value);
  Csr csr;
  csr.offsets.assign(rows + std::size_t{1}, 0);
  for (const auto& [place, values] : places) {
    double sum = 0;
    for (const float value : values) sum += value;
    for (const float value : is_merged ? std::vector{static_cast<float>(sum)} : values) {
      csr.columns.push_back(place.second);
      csr.values.push_back(value);
      ++csr.offsets[place.first + std::size_t{1}];
    }
  }
  for (std::uint32_t r = 0; r < rows; ++r) csr.offsets[r + std::size_t{1}] += csr.offsets[r];
  return csr;
}

template <typename T>
void expect_front(const std::vector<T>& actual, const std::vector<T>& expected) {
  ASSERT_LE(expected.size(), actual.size());
  expect_items(std::vector<T>(actual.begin(), actual.begin() + static_cast<std::ptrdiff_t>(expected.size())), expected);
}

class CooToCsrGpu : public GpuTest {
 protected:
  /// Small tiles: many of them in a few thousand entries, and kernels that compile fast.
  [[nodiscard]] SparseConversionTuning tuning() const {
    SparseConversionTuning tuning{.workgroup_size = is_tiny() ? 4u : 64u};
    tuning.sort =
        SortTuning{.path = static_cast<int>(GetParam()) % 2 == 0 ? SortPath::single_pass : SortPath::three_pass,
                   .workgroup_size = is_tiny() ? 16u : 64u,
                   .items_per_thread = 4,
                   .digit_bits = is_tiny() ? 4u : 6u,
                   .use_subgroups = GetParam() == Profile::full,
                   .max_workgroups = 5,
                   .one_workgroup_items = is_tiny() ? 0u : 256u};
    tuning.scan = scan_tuning(ScanPath::automatic);
    tuning.scan->workgroup_size = std::min(tuning.scan->workgroup_size, 64u);
    return tuning;
  }

  void check_coo(const Pattern& pattern, SparseValues type, bool keeps, std::optional<std::uint32_t> used = {}) {
    SCOPED_TRACE(std::format("{}, {}, {}{}", pattern.name, to_string(type), keeps ? "kept" : "merged",
                             used ? std::format(", {} entries on the device", *used) : ""));
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> columns;
    std::vector<float> values;
    for (const Entry& entry : pattern.entries) {
      rows.push_back(entry.row);
      columns.push_back(entry.column);
      values.push_back(entry.value);
    }
    const auto count = static_cast<std::uint32_t>(rows.size());
    std::vector<Entry> entries = pattern.entries;
    if (used) entries.resize(std::min(*used, count));
    const Csr expected = csr_of(entries, pattern.row_count, !keeps);
    const GuardedBuffer row_buffer(context(), bytes_of(rows), 4);
    const GuardedBuffer column_buffer(context(), bytes_of(columns), 8);
    const GuardedBuffer value_buffer(context(), bytes_of(stored_values(values, type)), 12);
    const GuardedBuffer count_buffer(context(), bytes_of(std::vector{used.value_or(0)}), 20);
    const GuardedBuffer offsets(context(), bytes_of(unwritten<std::uint32_t>(pattern.row_count + std::size_t{1})), 16);
    const GuardedBuffer csr_columns(context(), bytes_of(unwritten<std::uint32_t>(count)), 20);
    const GuardedBuffer csr_values(context(), bytes_of(stored_values(std::vector<float>(count), type)), 24);
    const GuardedBuffer stored(context(), bytes_of(unwritten<std::uint32_t>(1)), 28);
    const CooToCsrShape shape{.coo = {.format = SparseFormat::coo,
                                      .values = type,
                                      .row_count = pattern.row_count,
                                      .column_count = pattern.column_count,
                                      .entry_count = count},
                              .count_on_device = used.has_value(),
                              .keep_duplicates = keeps};
    CooToCsrBuffers buffers;
    buffers.coo = {.rows = row_buffer.view(), .columns = column_buffer.view(), .values = value_buffer.view()};
    buffers.csr = {.row_offsets = offsets.view(), .columns = csr_columns.view(), .values = csr_values.view()};
    if (count == 0) buffers.coo = {};
    if (count == 0) buffers.csr = {.row_offsets = offsets.view()};
    if (type == SparseValues::ones) buffers.coo.values = buffers.csr.values = {};
    if (used && count != 0) buffers.entry_count = count_buffer.view();
    buffers.stored_count = stored.view();
    run([&](WGPUCommandEncoder encoder) { return record_coo_to_csr(context(), encoder, shape, buffers, tuning()); });
    expect_items(items_of<std::uint32_t>(offsets.read_and_check_guards()), expected.offsets);
    expect_items(items_of<std::uint32_t>(stored.read_and_check_guards()), {expected.offsets.back()});
    expect_front(items_of<std::uint32_t>(csr_columns.read_and_check_guards()), expected.columns);
    expect_front(items_of<std::uint32_t>(csr_values.read_and_check_guards()), stored_values(expected.values, type));
    expect_items(items_of<std::uint32_t>(row_buffer.read_and_check_guards()), rows);
    expect_items(items_of<std::uint32_t>(column_buffer.read_and_check_guards()), columns);
  }

  void check_transpose(const Pattern& pattern, SparseValues type) {
    SCOPED_TRACE(std::format("transpose of {}, {}", pattern.name, to_string(type)));
    const Csr csr = csr_of(pattern.entries, pattern.row_count, false);
    std::vector<Entry> entries;
    for (std::uint32_t r = 0; r < pattern.row_count; ++r) {
      for (std::uint32_t e = csr.offsets[r]; e < csr.offsets[r + std::size_t{1}]; ++e) {
        entries.push_back({csr.columns[e], r, csr.values[e]});
      }
    }
    const Csr expected = csr_of(entries, pattern.column_count, false);
    const auto count = static_cast<std::uint32_t>(entries.size());
    const GuardedBuffer offsets(context(), bytes_of(csr.offsets), 4);
    const GuardedBuffer columns(context(), bytes_of(csr.columns), 8);
    const GuardedBuffer values(context(), bytes_of(stored_values(csr.values, type)), 12);
    const GuardedBuffer new_offsets(context(), bytes_of(unwritten<std::uint32_t>(expected.offsets.size())), 16);
    const GuardedBuffer new_columns(context(), bytes_of(unwritten<std::uint32_t>(count)), 20);
    const GuardedBuffer new_values(context(), bytes_of(stored_values(std::vector<float>(count), type)), 24);
    const SparseShape shape{.format = SparseFormat::csr,
                            .values = type,
                            .row_count = pattern.row_count,
                            .column_count = pattern.column_count,
                            .entry_count = count};
    CsrTransposeBuffers buffers;
    buffers.transposed.row_offsets = new_offsets.view();
    if (count != 0) {
      buffers.csr = {.row_offsets = offsets.view(), .columns = columns.view()};
      buffers.transposed.columns = new_columns.view();
      if (type != SparseValues::ones) {
        buffers.csr.values = values.view();
        buffers.transposed.values = new_values.view();
      }
    }
    run([&](WGPUCommandEncoder encoder) { return record_csr_transpose(context(), encoder, shape, buffers, tuning()); });
    expect_items(items_of<std::uint32_t>(new_offsets.read_and_check_guards()), expected.offsets);
    expect_items(items_of<std::uint32_t>(new_columns.read_and_check_guards()), expected.columns);
    expect_items(items_of<std::uint32_t>(new_values.read_and_check_guards()), stored_values(expected.values, type));
  }

  [[nodiscard]] std::uint32_t most() const { return is_tiny() ? 400u : 3000u; }
  // Compiling sorts takes most of the time.
  [[nodiscard]] std::vector<SparseValues> some_values() const {
    if (is_thorough()) return {SparseValues::f32, SparseValues::f16, SparseValues::ones};
    return {static_cast<int>(GetParam()) % 2 == 0 ? SparseValues::f16 : SparseValues::f32};
  }
};
INSTANTIATE_TEST_SUITE_P(Profiles, CooToCsrGpu, all_profiles, profile_name);

TEST_P(CooToCsrGpu, DuplicatesAreSummed) {
  for (const SparseValues type : some_values()) {
    for (const Pattern& pattern : patterns(most())) check_coo(pattern, type, false);
  }
}

TEST_P(CooToCsrGpu, DuplicatesAreKeptInOrder) {
  for (const SparseValues type : some_values()) {
    for (const Pattern& pattern : patterns(most())) check_coo(pattern, type, true);
  }
}

TEST_P(CooToCsrGpu, TheDeviceSaysHowManyEntries) {
  if (!is_thorough()) return;
  const Pattern pattern = random_pattern("square", 30, 40, 700, test_seed());
  for (const std::uint32_t used : {0u, 1u, 333u, 700u, 5000u}) {
    check_coo(pattern, SparseValues::f16, false, used);
    check_coo(pattern, SparseValues::f32, true, used);
  }
  check_coo(pattern, SparseValues::ones, false, 500);
  check_coo({"no entries", 3, 3, {}}, SparseValues::f32, false, 0);
}

TEST_P(CooToCsrGpu, TransposesAreStable) {
  for (const SparseValues type : some_values()) {
    for (const Pattern& pattern : patterns(most())) check_transpose(pattern, type);
  }
}

// So many workgroups that their grids are folded, by a limit that no device has.
TEST_P(CooToCsrGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 7;
  context().override_traits(narrow);
  const Pattern pattern = random_pattern("square", 60, 50, 701, test_seed());
  check_coo(pattern, SparseValues::f16, false);
  check_transpose(pattern, SparseValues::f32);
  context().override_traits(traits);
}

// A, B, A in one command buffer: their scratch is the same.
TEST_P(CooToCsrGpu, OneCommandBufferHoldsManyConversions) {
  const auto a = random_pattern("a", 50, 60, 500, test_seed());
  const auto b = random_pattern("b", 300, 20, 900, test_seed() + 1);
  struct Run {
    const Pattern* pattern;
    std::vector<std::uint32_t> rows, columns;
    std::unique_ptr<GuardedBuffer> row_buffer, column_buffer, offsets, csr_columns, stored;
  };
  std::vector<Run> runs;
  for (const Pattern* pattern : {&a, &b, &a}) {
    Run one{.pattern = pattern};
    for (const Entry& entry : pattern->entries) {
      one.rows.push_back(entry.row);
      one.columns.push_back(entry.column);
    }
    one.row_buffer = std::make_unique<GuardedBuffer>(context(), bytes_of(one.rows));
    one.column_buffer = std::make_unique<GuardedBuffer>(context(), bytes_of(one.columns));
    one.offsets =
        std::make_unique<GuardedBuffer>(context(), bytes_of(unwritten<std::uint32_t>(pattern->row_count + 1)));
    one.csr_columns = std::make_unique<GuardedBuffer>(context(), bytes_of(unwritten<std::uint32_t>(one.rows.size())));
    one.stored = std::make_unique<GuardedBuffer>(context(), bytes_of(unwritten<std::uint32_t>(1)));
    runs.push_back(std::move(one));
  }
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (const Run& one : runs) {
      const CooToCsrShape shape{.coo = {.format = SparseFormat::coo,
                                        .values = SparseValues::ones,
                                        .row_count = one.pattern->row_count,
                                        .column_count = one.pattern->column_count,
                                        .entry_count = static_cast<std::uint32_t>(one.rows.size())}};
      CooToCsrBuffers buffers;
      buffers.coo = {.rows = one.row_buffer->view(), .columns = one.column_buffer->view()};
      buffers.csr = {.row_offsets = one.offsets->view(), .columns = one.csr_columns->view()};
      buffers.stored_count = one.stored->view();
      const Status recorded = record_coo_to_csr(context(), encoder, shape, buffers, tuning());
      if (!recorded) return recorded;
    }
    return {};
  });
  for (const Run& one : runs) {
    const Csr expected = csr_of(one.pattern->entries, one.pattern->row_count, true);
    expect_items(items_of<std::uint32_t>(one.offsets->read_and_check_guards()), expected.offsets);
    expect_front(items_of<std::uint32_t>(one.csr_columns->read_and_check_guards()), expected.columns);
  }
}

TEST_P(CooToCsrGpu, TheLibrarysOwnTuningGivesTheSame) {
  if (GetParam() != Profile::full) return;
  const Pattern pattern = random_pattern("square", 3000, 2500, 9000, test_seed());
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> columns;
  for (const Entry& entry : pattern.entries) {
    rows.push_back(entry.row);
    columns.push_back(entry.column);
  }
  const GuardedBuffer row_buffer(context(), bytes_of(rows));
  const GuardedBuffer column_buffer(context(), bytes_of(columns));
  const GuardedBuffer offsets(context(), bytes_of(unwritten<std::uint32_t>(3001)));
  const GuardedBuffer csr_columns(context(), bytes_of(unwritten<std::uint32_t>(rows.size())));
  const GuardedBuffer stored(context(), bytes_of(unwritten<std::uint32_t>(1)));
  CooToCsrBuffers buffers;
  buffers.coo = {.rows = row_buffer.view(), .columns = column_buffer.view()};
  buffers.csr = {.row_offsets = offsets.view(), .columns = csr_columns.view()};
  buffers.stored_count = stored.view();
  run([&](WGPUCommandEncoder encoder) {
    return record_coo_to_csr(context(), encoder,
                             {.coo = {.format = SparseFormat::coo,
                                      .values = SparseValues::ones,
                                      .row_count = 3000,
                                      .column_count = 2500,
                                      .entry_count = 9000}},
                             buffers);
  });
  const Csr expected = csr_of(pattern.entries, 3000, true);
  expect_items(items_of<std::uint32_t>(offsets.read_and_check_guards()), expected.offsets);
  expect_front(items_of<std::uint32_t>(csr_columns.read_and_check_guards()), expected.columns);
}

}  // namespace
}  // namespace upsweep::testing
