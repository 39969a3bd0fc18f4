// SPDX-License-Identifier: Apache-2.0
// Products on a device against the dense product in double, in every format and on every path.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <format>
#include <limits>

#include "primitives/spmv/spmv_reference.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

struct Scalars {
  float alpha = 1;
  float beta = 0;
  bool on_device = false;
};

std::vector<std::uint32_t> halves_of_values(const std::vector<float>& values) {
  std::vector<std::uint32_t> words((values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The poison of unused places is more than an f16 holds.
    const float value = std::min(values[i], 60000.0f);
    words[i / 2] |= static_cast<std::uint32_t>(half_of(value).bits) << (i % 2 * 16);
  }
  return words;
}

// A matrix on the device; unused buffers stay empty.
class SparseOnDevice {
 public:
  SparseOnDevice(Context& context, const SparseArrays& m) {
    const auto add = [&](BufferView& view, std::span<const std::byte> bytes) {
      if (bytes.empty()) return;
      // No offset is a multiple of 256, and they differ.
      buffers_.push_back(std::make_unique<GuardedBuffer>(context, bytes, 4 + 12 * buffers_.size()));
      view = buffers_.back()->view();
    };
    add(views.row_offsets,
        m.shape.format == SparseFormat::csr ? bytes_of(m.row_offsets) : std::span<const std::byte>());
    add(views.rows, bytes_of(m.rows));
    add(views.slice_offsets, bytes_of(m.slice_offsets));
    add(views.row_order, m.shape.is_reordered ? bytes_of(m.row_order) : std::span<const std::byte>());
    add(views.columns, bytes_of(m.columns));
    add(views.rest_rows, bytes_of(m.rest_rows));
    add(views.rest_offsets, m.rest_rows.empty() ? std::span<const std::byte>() : bytes_of(m.rest_offsets));
    add(views.rest_columns, bytes_of(m.rest_columns));
    switch (m.shape.values) {
      case SparseValues::f32:
        add(views.values, bytes_of(m.values));
        add(views.rest_values, bytes_of(m.rest_values));
        break;
      case SparseValues::f16:
        add(views.values, bytes_of(halves_of_values(m.values)));
        add(views.rest_values, bytes_of(halves_of_values(m.rest_values)));
        break;
      case SparseValues::ones: break;
    }
  }

  void check() const {
    for (const auto& buffer : buffers_) std::ignore = buffer->read_and_check_guards();
  }

  SparseBuffers views;

 private:
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
};

class SpmvGpu : public GpuTest {
 protected:
  [[nodiscard]] std::optional<SpmvTuning> tuning(SpmvPath path, std::uint32_t lanes = 1) const {
    SpmvTuning tuning = select_spmv_tuning({}, context().traits());
    tuning.path = path;
    tuning.lanes_per_row = lanes;
    if (is_tiny()) {
      tuning.workgroup_size = 8;
      tuning.items_per_thread = 3;
      tuning.loads_ahead = 2;
    } else {
      tuning.workgroup_size = 64;
    }
    return tuning;
  }

  static std::vector<float> vector_of(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<float> items(count);
    for (float& item : items) item = static_cast<float>(static_cast<std::int64_t>(random() % 4001) - 2000) / 512.0f;
    return items;
  }

  void check(const EntryList& list, const SparseArrays& m, const std::optional<SpmvTuning>& tuning,
             const Scalars& scalars = {}, std::uint32_t vectors = 1) {
    SCOPED_TRACE(std::format("{}, {} vectors, alpha {}, beta {}, {}", to_string(m.shape), vectors, scalars.alpha,
                             scalars.beta, tuning ? to_string(*tuning) : "own tuning"));
    const auto x = vector_of(std::size_t{list.column_count} * vectors, test_seed() + 7);
    check_with(list, m, tuning, x, scalars, vectors);
  }

  void check_with(EntryList list, const SparseArrays& m, const std::optional<SpmvTuning>& tuning,
                  const std::vector<float>& x, const Scalars& scalars = {}, std::uint32_t vectors = 1) {
    if (m.shape.values == SparseValues::ones) {
      for (Entry& entry : list.entries) entry.value = 1;
    }
    const RowSums expected = dense_product(list, x, vectors);
    auto y = vector_of(std::size_t{list.row_count} * vectors, test_seed() + 8);
    // With beta = 0 nothing of y matters.
    if (scalars.beta == 0) std::ranges::fill(y, std::numeric_limits<float>::quiet_NaN());
    const SparseOnDevice matrix(context(), m);
    const GuardedBuffer x_buffer(context(), bytes_of(x), 20);
    const GuardedBuffer y_buffer(context(), bytes_of(y), 28);
    const GuardedBuffer scalar_buffer(context(), bytes_of(std::vector{scalars.alpha, scalars.beta}), 12);
    SpmvShape shape{.matrix = m.shape, .vector_count = vectors};
    if (scalars.on_device) {
      shape.scalars_on_device = true;
    } else {
      shape.alpha = scalars.alpha;
      shape.beta = scalars.beta;
    }
    SpmvBuffers buffers{.matrix = matrix.views, .y = y_buffer.view()};
    if (!x.empty()) buffers.x = x_buffer.view();
    if (scalars.on_device) buffers.scalars = scalar_buffer.view();
    run([&](WGPUCommandEncoder encoder) { return record_spmv(context(), encoder, shape, buffers, tuning); });
    const auto actual = items_of<float>(y_buffer.read_and_check_guards());
    matrix.check();
    ASSERT_EQ(actual.size(), expected.sums.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double old = scalars.beta == 0 ? 0 : double{scalars.beta} * y[i];
      const double sum = double{scalars.alpha} * expected.sums[i] + old;
      const double bound = (expected.terms[i] + 4) * 0x1p-24 *
                           (std::abs(double{scalars.alpha}) * expected.magnitudes[i] + std::abs(old));
      // NaN fails, too.
      if (std::abs(actual[i] - sum) <= bound) continue;
      if (std::isnan(sum) && std::isnan(actual[i])) continue;
      ADD_FAILURE() << "item " << i << " of " << actual.size() << " is " << actual[i] << ", not " << sum << " +- "
                    << bound;
      return;
    }
  }

  void check_csr(const EntryList& list, const Scalars& scalars = {}) {
    const SparseArrays m = csr_of(list);
    for (const std::uint32_t lanes : {1u, 4u, 8u}) check(list, m, tuning(SpmvPath::rows, lanes), scalars);
    check(list, m, tuning(SpmvPath::merge), scalars);
    check(list, m, std::nullopt, scalars);
  }

  void check_all_formats(const EntryList& list) {
    check_csr(list);
    if (HasFailure()) return;
    const auto merge = tuning(SpmvPath::merge);
    const auto rows = tuning(SpmvPath::rows, 2);
    check(list, coo_of(list), merge);
    check(list, coo_of(list), rows);
    const std::uint32_t longest = list.longest_row();
    check(list, ell_of(list, SparseFormat::ell, longest, 0), rows);
    check(list, ell_of(list, SparseFormat::ell, longest + 1, 5), rows);
    check(list, ell_of(list, SparseFormat::hybrid, 2, 0), rows);
    check(list, ell_of(list, SparseFormat::hybrid, std::min(longest, 3u), 3), merge);
    check(list, sliced_ell_of(list, 8, false), rows);
    check(list, sliced_ell_of(list, 5, true), rows);
    for (const std::uint32_t block : {2u, 3u, 4u, 8u, 16u}) {
      check(list, block_ell_of(list, block, block == 3 ? 2 : 0), rows);
      if (HasFailure() || !is_thorough()) return;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, SpmvGpu, all_profiles, profile_name);

TEST_P(SpmvGpu, EveryFormatGivesTheDenseProduct) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  check_all_formats(random_entries(affordable(3001), 2003, 300, seed));
}

TEST_P(SpmvGpu, MatricesOfAnyShape) {
  const std::uint64_t seed = test_seed();
  for (const auto& [rows, columns] :
       {std::pair{0u, 3u}, {3u, 0u}, {1u, 1u}, {1u, 700u}, {700u, 1u}, {2u, 9u}, {9u, 2u}, {17u, 17u}, {64u, 65u}}) {
    check_csr(random_entries(rows, columns, 40, seed + rows));
    const EntryList list = random_entries(rows, columns, 40, seed + rows);
    const std::uint32_t longest = list.longest_row();
    check(list, ell_of(list, SparseFormat::ell, longest, 0), std::nullopt);
    check(list, sliced_ell_of(list, 4, true), std::nullopt);
    check(list, block_ell_of(list, 3, 0), std::nullopt);
    check(list, coo_of(list), std::nullopt);
    if (HasFailure()) return;
  }
}

TEST_P(SpmvGpu, RowsOfAnyLengthOnThePathThatDoesNotMind) {
  // One row of 65, one that many tiles share, others of 0 and 1; all ones, so that sums are exact.
  const std::uint32_t longest = std::min(1'000'000u, affordable(1'000'000) * 4);
  EntryList list{.row_count = 1500, .column_count = longest, .entries = {}};
  const auto add_row = [&](std::uint32_t row, std::uint32_t length) {
    for (std::uint32_t e = 0; e < length; ++e) list.entries.push_back({row, e, 1});
  };
  add_row(3, 65);
  for (std::uint32_t r = 100; r < 900; r += 3) add_row(r, 1);
  add_row(901, longest);
  add_row(902, 7);
  add_row(1499, 1);
  for (const auto& chosen : {tuning(SpmvPath::merge), tuning(SpmvPath::rows, 8)}) {
    const SparseArrays m = csr_of(list);
    check_with(list, m, chosen, std::vector<float>(list.column_count, 1));
  }
  check_with(list, ell_of(list, SparseFormat::hybrid, 1, 0), std::nullopt, std::vector<float>(list.column_count, 1));
}

TEST_P(SpmvGpu, ManyRowsWithoutEntries) {
  for (const std::uint32_t at : {0u, 777u, 1999u}) {
    const EntryList list{.row_count = 2000, .column_count = 4, .entries = {{at, 3, 2.5f}, {at, 0, 1}}};
    check_csr(list);
    check(list, coo_of(list), std::nullopt);
  }
  check_csr({.row_count = 333, .column_count = 4, .entries = {}});
}

TEST_P(SpmvGpu, AlphaAndBeta) {
  const EntryList list = random_entries(500, 400, 90, test_seed());
  for (const bool on_device : {false, true}) {
    for (const auto& [alpha, beta] : {std::pair{2.5f, 0.0f}, {1.0f, 1.0f}, {-0.75f, 3.0f}, {0.0f, 2.0f}}) {
      const Scalars scalars{alpha, beta, on_device};
      const SparseArrays m = csr_of(list);
      check(list, m, tuning(SpmvPath::rows, 4), scalars);
      check(list, m, tuning(SpmvPath::merge), scalars);
      check(list, ell_of(list, SparseFormat::hybrid, 2, 0), tuning(SpmvPath::merge), scalars);
      if (HasFailure()) return;
    }
    check({.row_count = 40, .column_count = 40, .entries = {}}, csr_of({.row_count = 40, .column_count = 40}),
          std::nullopt, {1, 2, on_device});
  }
}

TEST_P(SpmvGpu, SeveralVectorsAtOnce) {
  const EntryList list = random_entries(300, 200, 50, test_seed());
  for (const std::uint32_t vectors : {2u, 3u, 16u}) {
    check(list, csr_of(list), tuning(SpmvPath::rows, 4), {}, vectors);
    check(list, ell_of(list, SparseFormat::hybrid, 2, 1), tuning(SpmvPath::rows), {1, 2}, vectors);
    check(list, block_ell_of(list, 4, 0), tuning(SpmvPath::rows), {}, vectors);
    if (HasFailure() || !is_thorough()) return;
    check(list, csr_of(list), tuning(SpmvPath::merge), {-1, 0.5f}, vectors);
    check(list, sliced_ell_of(list, 8, true), tuning(SpmvPath::rows), {}, vectors);
    check(list, csr_of(list), std::nullopt, {}, vectors);
  }
}

TEST_P(SpmvGpu, HalvesAndPatterns) {
  const EntryList list = random_entries(701, 300, 60, test_seed());
  for (const SparseValues values : {SparseValues::f16, SparseValues::ones}) {
    for (SparseArrays m :
         {csr_of(list), coo_of(list), ell_of(list, SparseFormat::hybrid, 3, 0), sliced_ell_of(list, 8, false)}) {
      m.shape.values = values;
      check(list, m, tuning(SpmvPath::rows, 2));
      check(list, m, tuning(SpmvPath::merge));
    }
    if (!is_thorough()) return;
  }
  SparseArrays blocks = block_ell_of(list, 3, 0);
  blocks.shape.values = SparseValues::f16;
  // Duplicates may add up to more digits than an f16 has; these do not.
  EntryList rounded = list;
  for (Entry& entry : rounded.entries) entry.value = std::round(entry.value);
  blocks = block_ell_of(rounded, 3, 0);
  blocks.shape.values = SparseValues::f16;
  check(rounded, blocks, std::nullopt);
}

TEST_P(SpmvGpu, PaddingNeverMultipliesWhatXHolds) {
  // Column 0 of x is infinite; only rows with a stored entry there see it.
  const EntryList list{.row_count = 2, .column_count = 3, .entries = {{0, 1, 2}, {1, 1, 3}, {1, 2, 4}}};
  const std::vector<float> x{std::numeric_limits<float>::infinity(), 1, 1};
  check_with(list, ell_of(list, SparseFormat::ell, 2, 0), std::nullopt, x);
  check_with(list, ell_of(list, SparseFormat::ell, 9, 3), tuning(SpmvPath::rows), x);
  check_with(list, sliced_ell_of(list, 2, false), std::nullopt, x);
  check_with(list, ell_of(list, SparseFormat::hybrid, 1, 0), std::nullopt, x);
  check_with(list, csr_of(list), tuning(SpmvPath::merge), x);
  check_with(list, csr_of(list), tuning(SpmvPath::rows, 4), x);
  EntryList with_zero = list;
  with_zero.entries.push_back({0, 0, 0});
  const SparseArrays m = ell_of(with_zero, SparseFormat::ell, 2, 0);
  check_with(with_zero, m, std::nullopt, x);  // 0 times infinity is NaN
}

TEST_P(SpmvGpu, DuplicatesAreSummed) {
  const EntryList list{.row_count = 1, .column_count = 1, .entries = {{0, 0, 1}, {0, 0, 2}}};
  for (const SparseArrays& m :
       {csr_of(list), coo_of(list), ell_of(list, SparseFormat::ell, 2, 0), block_ell_of(list, 2, 0)}) {
    check_with(list, m, std::nullopt, {1});
  }
}

TEST_P(SpmvGpu, BlocksOfPublishedNumbers) {
  // 4 x 4, blocks of 2, two slots a block row, one of them unused and full of 100.
  const SparseArrays m{
      .shape = {.format = SparseFormat::block_ell, .row_count = 4, .column_count = 4, .width = 2, .block_size = 2},
      .columns = {1, 0, no_column, 1},
      .values = {1, 3, 5, 7, 2, 4, 6, 8, 100, 100, 9, 11, 100, 100, 10, 12}};
  const EntryList list{.row_count = 4,
                       .column_count = 4,
                       .entries = {{0, 2, 1},
                                   {0, 3, 2},
                                   {1, 2, 3},
                                   {1, 3, 4},
                                   {2, 0, 5},
                                   {2, 1, 6},
                                   {3, 0, 7},
                                   {3, 1, 8},
                                   {2, 2, 9},
                                   {2, 3, 10},
                                   {3, 2, 11},
                                   {3, 3, 12}}};
  check_with(list, m, std::nullopt, {1, 1, 1, 1});
  EXPECT_EQ(dense_product(list, {1, 1, 1, 1}, 1).sums, (std::vector<double>{3, 7, 30, 38}));
}

TEST_P(SpmvGpu, OneCommandBufferHoldsManyProducts) {
  const EntryList first = random_entries(600, 500, 200, test_seed());
  const EntryList second = random_entries(500, 600, 20, test_seed() + 1);
  const SparseArrays m = csr_of(first);
  const SparseArrays n = csr_of(second);
  const SparseOnDevice m_device(context(), m);
  const SparseOnDevice n_device(context(), n);
  const auto x = vector_of(500, test_seed());
  const GuardedBuffer x_buffer(context(), bytes_of(x));
  const GuardedBuffer middle(context(), bytes_of(unwritten<float>(600)), 4);
  const GuardedBuffer last(context(), bytes_of(unwritten<float>(500)), 8);
  const auto chosen = tuning(SpmvPath::merge);
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (int i = 0; i < 3; ++i) {
      Status ok = record_spmv(context(), encoder, {.matrix = m.shape},
                              {.matrix = m_device.views, .x = x_buffer.view(), .y = middle.view()}, chosen);
      if (!ok) return ok;
      ok = record_spmv(context(), encoder, {.matrix = n.shape},
                       {.matrix = n_device.views, .x = middle.view(), .y = last.view()}, chosen);
      if (!ok) return ok;
    }
    return {};
  });
  const auto between = items_of<float>(middle.read_and_check_guards());
  const RowSums expected_middle = dense_product(first, x, 1);
  const RowSums expected_last = dense_product(second, between, 1);
  const auto actual = items_of<float>(last.read_and_check_guards());
  for (std::size_t i = 0; i < between.size(); ++i) {
    ASSERT_NEAR(between[i], expected_middle.sums[i], 0x1p-15 * (expected_middle.magnitudes[i] + 1));
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected_last.sums[i], 0x1p-15 * (expected_last.magnitudes[i] + 1));
  }
}

TEST_P(SpmvGpu, TilesArePreparedOnceForManyProducts) {
  const EntryList list = random_entries(900, 700, 300, test_seed());
  const SparseArrays m = csr_of(list);
  const SparseOnDevice matrix(context(), m);
  for (const std::uint32_t vectors : {1u, 3u}) {
    SpmvShape shape{.matrix = m.shape, .has_tiles = true, .vector_count = vectors};
    const auto chosen = tuning(SpmvPath::merge);
    const auto plan = plan_spmv_tiles(shape, context().traits(), chosen);
    ASSERT_TRUE(plan.has_value());
    const GuardedBuffer tiles(context(),
                              bytes_of(unwritten<std::uint32_t>(plan->find_argument("tiles")->size_bytes / 4)), 20);
    const auto x = vector_of(std::size_t{700} * vectors, 5);
    const GuardedBuffer x_buffer(context(), bytes_of(x));
    const GuardedBuffer y_buffer(context(), bytes_of(unwritten<float>(std::size_t{900} * vectors)), 8);
    const SpmvBuffers buffers{
        .matrix = matrix.views, .x = x_buffer.view(), .y = y_buffer.view(), .tiles = tiles.view()};
    run([&](WGPUCommandEncoder encoder) -> Status {
      Status ok = record_spmv_tiles(context(), encoder, shape, buffers, chosen);
      for (int i = 0; ok && i < 3; ++i) ok = record_spmv(context(), encoder, shape, buffers, chosen);
      return ok;
    });
    std::ignore = tiles.read_and_check_guards();
    const RowSums expected = dense_product(list, x, vectors);
    const auto actual = items_of<float>(y_buffer.read_and_check_guards());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected.sums[i], (expected.terms[i] + 4) * 0x1p-24 * expected.magnitudes[i]) << i;
    }
  }
}

// Rows about as long as those that a thread adds up by itself, as a tile, and as a few of them; again and again with
// the same tiles, in which products leave nothing behind.
TEST_P(SpmvGpu, RowsThatTilesShare) {
  auto chosen = tuning(SpmvPath::merge);
  chosen->items_per_thread = 2;
  const std::uint32_t tile = chosen->workgroup_size * chosen->items_per_thread;
  std::vector<std::uint32_t> lengths;
  for (const std::uint32_t length : {15u, 16u, 17u, 31u, 32u, 33u}) lengths.insert(lengths.end(), 5, length);
  for (std::uint32_t tiles = 1; tiles <= 9; ++tiles) {
    for (const std::uint32_t more : {tile - 2, tile - 1, 0u, 1u})
      lengths.insert(lengths.end(), {tiles * tile + more, 0, 1});
  }
  EntryList list{.row_count = static_cast<std::uint32_t>(lengths.size()), .column_count = 11 * tile, .entries = {}};
  const std::vector<float> values = vector_of(list.column_count, test_seed());
  for (std::uint32_t row = 0; row < list.row_count; ++row) {
    for (std::uint32_t e = 0; e < lengths[row]; ++e)
      list.entries.push_back({row, e, values[(row + e) % values.size()]});
  }
  const SparseArrays m = csr_of(list);
  const auto x = vector_of(list.column_count, test_seed() + 1);
  for (const float beta : {0.0f, 2.0f}) check_with(list, m, chosen, x, {.alpha = -1.5f, .beta = beta});
  const SparseOnDevice matrix(context(), m);
  const SpmvShape shape{.matrix = m.shape, .has_tiles = true};
  const auto plan = plan_spmv_tiles(shape, context().traits(), chosen);
  ASSERT_TRUE(plan.has_value());
  const GuardedBuffer tiles(context(), bytes_of(unwritten<std::uint32_t>(plan->find_argument("tiles")->size_bytes / 4)),
                            4);
  const GuardedBuffer x_buffer(context(), bytes_of(x));
  const RowSums expected = dense_product(list, x, 1);
  std::vector<std::uint32_t> prepared;
  std::vector<float> before;
  for (int i = 0; i < 4; ++i) {
    const GuardedBuffer y(context(), bytes_of(unwritten<float>(list.row_count)));
    const SpmvBuffers buffers{.matrix = matrix.views, .x = x_buffer.view(), .y = y.view(), .tiles = tiles.view()};
    run([&](WGPUCommandEncoder encoder) -> Status {
      if (i == 0) return record_spmv_tiles(context(), encoder, shape, buffers, chosen);
      return record_spmv(context(), encoder, shape, buffers, chosen);
    });
    const auto words = items_of<std::uint32_t>(tiles.read_and_check_guards());
    if (i == 0) {
      prepared = words;
      continue;
    }
    expect_items(words, prepared);
    const auto actual = items_of<float>(y.read_and_check_guards());
    for (std::size_t r = 0; r < actual.size(); ++r) {
      ASSERT_NEAR(actual[r], expected.sums[r], (expected.terms[r] + 4) * 0x1p-24 * expected.magnitudes[r]) << r;
    }
    if (i > 1) expect_items(actual, before);
    before = actual;
  }
}

// What rows share is NaN or infinite, too, also the NaN whose bits stand for no sum.
TEST_P(SpmvGpu, SharedRowsOfNanAndInfinity) {
  const auto chosen = tuning(SpmvPath::merge);
  const std::uint32_t length = 5 * chosen->workgroup_size * chosen->items_per_thread;
  EntryList list{.row_count = 3, .column_count = 1, .entries = {}};
  for (const std::uint32_t row : {0u, 1u, 2u}) list.entries.insert(list.entries.end(), length + row, {row, 0, 1});
  list.entries[length + 7].value = std::bit_cast<float>(0xffffffffu);
  list.entries.back().value = std::numeric_limits<float>::infinity();
  const SparseArrays m = csr_of(list);
  const SparseOnDevice matrix(context(), m);
  const GuardedBuffer x(context(), bytes_of(std::vector{1.0f}));
  const GuardedBuffer y(context(), bytes_of(unwritten<float>(3)));
  for (int i = 0; i < 2; ++i) {
    run([&](WGPUCommandEncoder encoder) {
      return record_spmv(context(), encoder, {.matrix = m.shape},
                         {.matrix = matrix.views, .x = x.view(), .y = y.view()}, chosen);
    });
    const auto actual = items_of<float>(y.read_and_check_guards());
    EXPECT_EQ(actual.at(0), static_cast<float>(length));
    EXPECT_TRUE(std::isnan(actual.at(1)));
    EXPECT_EQ(actual.at(2), std::numeric_limits<float>::infinity());
  }
}

TEST_P(SpmvGpu, SumsRepeatFromRunToRun) {
  const EntryList list = random_entries(400, 300, 250, test_seed());
  const SparseArrays m = csr_of(list);
  const SparseOnDevice matrix(context(), m);
  const GuardedBuffer x(context(), bytes_of(vector_of(300, 5)));
  std::vector<float> before;
  for (int i = 0; i < 3; ++i) {
    const GuardedBuffer y(context(), bytes_of(unwritten<float>(400)));
    run([&](WGPUCommandEncoder encoder) {
      return record_spmv(context(), encoder, {.matrix = m.shape},
                         {.matrix = matrix.views, .x = x.view(), .y = y.view()}, tuning(SpmvPath::merge));
    });
    const auto now = items_of<float>(y.read_and_check_guards());
    if (i > 0) expect_items(now, before);
    before = now;
  }
}

// So many workgroups that their grid is folded, by a limit that no device has.
TEST_P(SpmvGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 7;
  context().override_traits(narrow);
  const EntryList list = random_entries(900, 500, 60, test_seed());
  check(list, csr_of(list), tuning(SpmvPath::merge));
  check(list, coo_of(list), tuning(SpmvPath::rows, 2));
  check(list, sliced_ell_of(list, 8, false), tuning(SpmvPath::rows));
  context().override_traits(traits);
}

}  // namespace
}  // namespace upsweep::testing
