// SPDX-License-Identifier: Apache-2.0
// The single-pass scan where workgroups stall, start in any order, and meet what earlier runs have left in the state.
#include <gmock/gmock.h>

#include <cmath>
#include <format>
#include <numeric>

#include "plan/hash.h"
#include "primitives/scan/scan_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "upsweep/scan.h"

namespace upsweep::testing {
namespace {

/// Hooks of the kernels: which tiles never publish what they have, and in which order tiles are taken.
struct Trouble {
  std::uint32_t hidden_chunks = 0;
  bool has_shuffled_tiles = false;
};

class ScanSafetyGpu : public GpuTest {
 protected:
  void cause(const Trouble& trouble) {
    DeviceTraits traits = traits_of(GetParam(), device_traits());
    traits.test_hidden_chunks = trouble.hidden_chunks;
    traits.test_shuffled_tiles = trouble.has_shuffled_tiles;
    context().override_traits(traits);
  }
  static std::string text_of(const Trouble& trouble) {
    return std::format("hidden {}{}", trouble.hidden_chunks, trouble.has_shuffled_tiles ? ", shuffled" : "");
  }

  /// Tens of tiles in a few thousand items.
  [[nodiscard]] ScanTuning small_tiles() const {
    ScanTuning tuning = scan_tuning(ScanPath::single_pass);
    if (!is_tiny()) tuning.workgroup_size = 64;
    tuning.rows = 2;
    tuning.one_workgroup_items = 0;
    return tuning;
  }

  /// Runs a scan many times, each with a command buffer of its own, and looks at every result.
  template <typename T, typename Check>
  void repeat(int times, const std::vector<T>& items, ScanShape shape, const ScanTuning& tuning, Check check,
              const std::vector<std::uint32_t>& keys = {}) {
    shape.item_count = Count::on_host(items.size());
    const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(0));
    const GuardedBuffer output(context(), bytes_of(items), item_offset<T>(1));
    const GuardedBuffer key_buffer(context(), bytes_of(keys.empty() ? std::vector{0u} : keys), 8);
    ScanBuffers buffers{.input = input.view(), .output = output.view()};
    if (!keys.empty()) buffers.keys = key_buffer.view();
    for (int k = 0; k < times; ++k) {
      SCOPED_TRACE(std::format("run {} of {}", k, times));
      // What the run before wrote must not pass for a result.
      ASSERT_TRUE(context().write(output.view(), bytes_of(unwritten<T>(items.size()))).has_value());
      run([&](WGPUCommandEncoder encoder) { return record_scan(context(), encoder, shape, buffers, tuning); });
      check(output.read_and_check_guards());
      if (HasFailure()) return;
    }
  }

  /// Items whose scans must come out the same in every bit.
  template <typename T>
  void repeat_exactly(int times, const std::vector<T>& items, const ScanShape& shape, const ScanTuning& tuning,
                      const std::vector<T>& expected, const std::vector<std::uint32_t>& keys = {}) {
    const std::uint64_t hash = hash_of(bytes_of(expected));
    repeat(
        times, items, shape, tuning,
        [&](const std::vector<std::byte>& bytes) {
          if (hash_of(bytes) != hash) expect_items(items_of<T>(bytes), expected);
        },
        keys);
  }
  static std::uint64_t hash_of(std::span<const std::byte> bytes) {
    return hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
};
INSTANTIATE_TEST_SUITE_P(, ScanSafetyGpu,
                         ::testing::Values(Profile::full, Profile::no_subgroups, Profile::tiny_tiles,
                                           Profile::emulated),
                         profile_name);

TEST_P(ScanSafetyGpu, TilesThatNeverPublishAndTilesInAnyOrderGiveTheSameSums) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto words = random_items<std::uint32_t>(is_tiny() ? 2000 : GetParam() == Profile::full ? 30'001 : 9'001, seed);
  const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {.is_exclusive = true});
  std::vector<Trouble> troubles{{2, true}};
  if (is_thorough()) {
    troubles.insert(troubles.end(), {{1, false}, {2, false}, {4, false}, {64, false}, {0, true}, {4, true}});
  }
  for (const Trouble& trouble : troubles) {
    SCOPED_TRACE(text_of(trouble));
    cause(trouble);
    repeat_exactly(is_thorough() ? 40 : 20, words, {.input = ElementType::u32(), .kind = ScanKind::exclusive},
                   small_tiles(), sums);
    if (HasFailure()) return;
  }
}

/// Tunings that the library chooses.
class ScanSafetyLibraryGpu : public ScanSafetyGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanSafetyLibraryGpu, ::testing::Values(Profile::full), profile_name);

TEST_P(ScanSafetyLibraryGpu, TheirTilesSurviveStallsToo) {
  const std::uint32_t count = GetParam() == Profile::full ? 100'000 : 20'000;
  const auto words = random_items<std::uint32_t>(count, test_seed());
  const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {});
  cause({2, true});
  repeat_exactly(30, words, {.input = ElementType::u32()}, scan_tuning(ScanPath::single_pass), sums);
}

/// Other records and kernels.
class ScanSafetyKindsGpu : public ScanSafetyGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanSafetyKindsGpu,
                         ::testing::Values(Profile::full, Profile::no_subgroups, Profile::tiny_tiles), profile_name);

TEST_P(ScanSafetyKindsGpu, RecordsOfTwoAndFourWordsAndReverseScansSurviveStalls) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = is_tiny() ? 700 : 9001;
  const auto wide = random_items<std::uint64_t>(count, seed);
  const auto matrices = random_items<Vec<std::uint32_t, 4>>(count, seed);
  for (const Trouble& trouble : {Trouble{2, true}, {4, false}}) {
    if (trouble.hidden_chunks == 4 && !is_thorough()) continue;
    SCOPED_TRACE(text_of(trouble));
    cause(trouble);
    repeat_exactly(is_thorough() ? 40 : 10, wide, {.input = ElementType::u64(), .reverse = true}, small_tiles(),
                   reference::scan_to_items<std::uint64_t>(OperatorKind::sum, wide, {.is_reversed = true}));
    // Does not commute: what is looked back at must be joined in order.
    repeat_exactly(is_thorough() ? 40 : 10, matrices,
                   {.input = ElementType::vec(Scalar::u32, 4), .combine = Matrix2::combine()}, small_tiles(),
                   reference::scan(
                       matrices, {}, Matrix2::identity(),
                       [](auto& state, const auto& item) { state = Matrix2::times(state, item); },
                       [](const auto& state) { return state; }));
  }
}

// A tile in which a segment begins publishes its prefix at once; what is lent for it must not pass for one.
TEST_P(ScanSafetyKindsGpu, SegmentsThatBeginInStalledTilesAndSpanManySurviveThem) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = is_tiny() ? 2000 : 9'001;
  const auto words = random_items<std::uint32_t>(count, seed);
  const auto matrices = random_items<Vec<std::uint32_t, 4>>(is_tiny() ? 700 : count, seed);
  const std::uint32_t tile = 4 * small_tiles().workgroup_size * small_tiles().rows;
  for (const Trouble& trouble : {Trouble{2, true}, {1, false}, {0, true}}) {
    if (trouble.hidden_chunks != 2 && !is_thorough()) continue;
    SCOPED_TRACE(text_of(trouble));
    cause(trouble);
    for (const std::uint32_t longest : {3u, tile, 5 * tile, 2 * count}) {
      SCOPED_TRACE(std::format("segments of up to {} items", longest));
      const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random);
      const auto heads = reference::run_heads(keys, std::equal_to<>());
      for (const bool is_reversed : {false, true}) {
        repeat_exactly(
            is_thorough() ? 10 : 5, words,
            {.input = ElementType::u32(), .reverse = is_reversed, .segments = ScanSegments::keys(ElementType::u32())},
            small_tiles(),
            reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words,
                                                    {.is_reversed = is_reversed, .heads = heads}),
            keys);
      }
      const std::vector<std::uint32_t> some(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(matrices.size()));
      repeat_exactly(is_thorough() ? 10 : 5, matrices,
                     {.input = ElementType::vec(Scalar::u32, 4),
                      .combine = Matrix2::combine(),
                      .segments = ScanSegments::keys(ElementType::u32())},
                     small_tiles(),
                     reference::scan(
                         matrices, {.heads = reference::run_heads(some, std::equal_to<>())}, Matrix2::identity(),
                         [](auto& state, const auto& item) { state = Matrix2::times(state, item); },
                         [](const auto& state) { return state; }),
                     some);
      if (HasFailure()) return;
    }
  }
}

TEST_P(ScanSafetyKindsGpu, TilesNumberedAsWorkgroupsAreSurviveStallsToo) {
  const auto words = random_items<std::uint32_t>(is_tiny() ? 2000 : 9'001, test_seed());
  const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {});
  ScanTuning tuning = small_tiles();
  tuning.in_order = true;
  for (const Trouble& trouble : {Trouble{0, false}, {2, false}, {4, true}}) {
    if (trouble.has_shuffled_tiles && !is_thorough()) continue;
    SCOPED_TRACE(text_of(trouble));
    cause(trouble);
    repeat_exactly(is_thorough() ? 60 : 20, words, {.input = ElementType::u32()}, tuning, sums);
  }
}

TEST_P(ScanSafetyKindsGpu, FloatSumsStayWithinTheirBoundHoweverTilesStall) {
  const auto items = random_items<float>(is_tiny()                     ? 2000
                                         : GetParam() == Profile::full ? 30'000
                                                                       : 9'000,
                                         test_seed(), Values::unit);
  std::vector<double> exact;
  std::vector<double> bound;
  for (const float item : items) {
    exact.push_back((exact.empty() ? 0.0 : exact.back()) + item);
    bound.push_back((bound.empty() ? 0.0 : bound.back()) + std::ldexp(100, -24) * std::fabs(item));
  }
  for (const Trouble& trouble : {Trouble{0, false}, {2, true}}) {
    if (!trouble.has_shuffled_tiles && !is_thorough()) continue;
    SCOPED_TRACE(text_of(trouble));
    cause(trouble);
    repeat(is_thorough() ? 60 : 20, items, {}, small_tiles(), [&](const std::vector<std::byte>& bytes) {
      const auto sums = items_of<float>(bytes);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (std::fabs(sums[i] - exact[i]) <= bound[i]) continue;
        ADD_FAILURE() << "item " << i << " is " << sums[i] << ", not " << exact[i];
        break;
      }
    });
  }
}

TEST_P(ScanSafetyGpu, AKernelThatIsBrokenOnPurposeIsSeen) {
  const auto words = random_items<std::uint32_t>(is_tiny()                     ? 2000
                                                 : GetParam() == Profile::full ? 30'001
                                                                               : 9'001,
                                                 test_seed());
  const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {});
  DeviceTraits traits = context().traits();
  traits.test_broken_look_back = true;
  context().override_traits(traits);
  repeat(1, words, {.input = ElementType::u32()}, small_tiles(), [&](const std::vector<std::byte>& bytes) {
    EXPECT_NE(items_of<std::uint32_t>(bytes), sums) << "the checks of this file see nothing";
  });
}

/// What runs leave in the state for later ones.
class ScanStateGpu : public ScanSafetyGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanStateGpu, ::testing::Values(Profile::tiny_tiles), profile_name);

TEST_P(ScanStateGpu, NoRecordOfAnEarlierRunIsTakenForAFreshOneWhenRunNumbersRepeat) {
  // Each run scans what the run before wrote, so that an error stays. Nearly all runs have two tiles. Records of later
  // tiles stay from the first run on until the numbers of runs repeat, after 2^14 or a few less. Then some tiles
  // publish late, so that a stale record would be read.
  constexpr std::uint32_t most_tiles = 10;
  constexpr std::uint32_t cycle = 16'386;
  ScanTuning tuning = small_tiles();
  tuning.use_vectors = false;
  const std::uint32_t tile = tuning.workgroup_size * tuning.rows;
  std::vector<std::uint32_t> values[2] = {random_items<std::uint32_t>(most_tiles * tile, 1),
                                          random_items<std::uint32_t>(most_tiles * tile, 2)};
  const GuardedBuffer buffers[2] = {{context(), bytes_of(values[0]), 4}, {context(), bytes_of(values[1]), 4}};
  const auto run_from = [&](std::uint32_t first, std::uint32_t end) {
    run([&](WGPUCommandEncoder encoder) -> Status {
      for (std::uint32_t k = first; k < end; ++k) {
        const std::uint32_t phase = k % cycle;
        // Two new tiles for each distance from the first run at which its number may come again.
        const std::uint32_t tiles = phase == 0 ? most_tiles : phase < 16'382 ? 2 : 4 + 2 * (phase - 16'382);
        const std::uint32_t count = tiles * tile - k % 3;
        const std::uint32_t from = k % 2;
        std::inclusive_scan(values[from].begin(), values[from].begin() + count, values[1 - from].begin());
        const Status status =
            record_scan(context(), encoder, {.item_count = Count::on_host(count), .input = ElementType::u32()},
                        {.input = buffers[from].view(), .output = buffers[1 - from].view()}, tuning);
        if (!status) return status;
      }
      return {};
    });
  };
  for (std::uint32_t round = 0; round < 2; ++round) {
    const std::uint32_t begin = round * cycle;
    for (std::uint32_t first = 0; first < 16'382; first += 2048) {
      run_from(begin + first, begin + std::min(first + 2048, 16'382u));
    }
    cause({2, false});
    run_from(begin + 16'382, begin + cycle);
    cause({});
  }
  expect_items(items_of<std::uint32_t>(buffers[0].read_and_check_guards()), values[0]);
  expect_items(items_of<std::uint32_t>(buffers[1].read_and_check_guards()), values[1]);
}

TEST_P(ScanStateGpu, PlansOfAllKindsLeaveItFitForTheNextOne) {
  // Records of one, two and four words, of many tiles and of few, with and without stalls.
  const std::uint32_t count = 900;
  const auto words = random_items<std::uint32_t>(count, 1);
  const auto wide = random_items<std::uint64_t>(count, 2);
  const auto quads = random_items<Vec<std::uint32_t, 4>>(count, 3);
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const auto check = [&]<typename T>(const std::vector<T>& items) {
    const std::vector<T> used(items.begin(), items.begin() + 1 + random.below(count - 1));
    repeat_exactly(1, used, {.input = element_type<T>()}, small_tiles(),
                   reference::scan_to_items<T>(OperatorKind::sum, used, {}));
  };
  for (int k = 0; k < 300 && !HasFailure(); ++k) {
    cause({random.below(2) == 0 ? 0u : 2u, false});
    switch (random.below(3)) {
      case 0: check(words); break;
      case 1: check(wide); break;
      default: check(quads); break;
    }
  }
}

}  // namespace
}  // namespace upsweep::testing
