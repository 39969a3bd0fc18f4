// SPDX-License-Identifier: Apache-2.0
// The front for arrays of the host, against loops of the standard library.
#include "upsweep/host.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Host : public GpuTest {
 protected:
  // Runs of one to five equal items, three values.
  template <typename T>
  static std::vector<T> items_with_runs(std::size_t count) {
    std::vector<T> items;
    for (std::uint32_t run = 0; items.size() < count; ++run) {
      items.insert(items.end(), run * 2654435761u % 5 + 1, static_cast<T>(run * 7 % 3));
    }
    items.resize(count);
    return items;
  }
  // Numbers of both signs, most of them several times.
  template <typename T>
  static std::vector<T> scrambled(std::size_t count) {
    std::vector<T> items;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto digits = static_cast<std::int32_t>(i * 2654435761u % 2003) - 1000;
      items.push_back(static_cast<T>(static_cast<T>(digits) * static_cast<T>(1'000'003)));
    }
    return items;
  }
  template <typename T>
  static std::string message_of(const Result<T>& result) {
    return result ? "" : result.error().message;
  }
};
// Not tiny_tiles: nothing here takes a tuning.
INSTANTIATE_TEST_SUITE_P(, Host,
                         ::testing::Values(Profile::full, Profile::no_subgroups, Profile::minimum_limits,
                                           Profile::emulated),
                         profile_name);

TEST_P(Host, ScanIsThePartialSumWithAndWithoutTheItem) {
  const auto items = items_with_runs<std::int32_t>(5000);
  std::vector<std::int32_t> inclusive;
  std::partial_sum(items.begin(), items.end(), std::back_inserter(inclusive));
  std::vector<std::int32_t> exclusive;
  std::exclusive_scan(items.begin(), items.end(), std::back_inserter(exclusive), 0);
  EXPECT_EQ(host::scan<std::int32_t>(context(), items), inclusive);
  EXPECT_EQ(host::scan<std::int32_t>(context(), items, BinaryOperator::sum(), ScanKind::exclusive), exclusive);
}

TEST_P(Host, ScanTakes64BitNumbersAndOtherTypesOfResults) {
  EXPECT_EQ(host::scan<std::uint64_t>(context(), std::vector<std::uint64_t>{1ull << 63, 5, 1ull << 63}),
            (std::vector<std::uint64_t>{1ull << 63, (1ull << 63) + 5, 5}));
  EXPECT_EQ(host::scan<std::int64_t>(context(), std::vector<std::int64_t>{3, -9, 4}, BinaryOperator::min()),
            (std::vector<std::int64_t>{3, -9, -9}));
  EXPECT_EQ((host::scan<float, std::uint32_t>(context(), std::vector<float>{3, 5, 4, 9}, BinaryOperator::argmax())),
            (std::vector<std::uint32_t>{0, 1, 1, 3}));
  EXPECT_THAT(message_of(host::scan<std::uint64_t>(context(), std::vector<std::uint64_t>{1}, BinaryOperator::argmax())),
              HasSubstr("another size"));
}

TEST_P(Host, ScanBytesTakesRowsFlagsKeysAndPlace) {
  const std::vector<std::uint32_t> items{1, 2, 3, 4, 5, 6};
  ScanShape shape{.input = ElementType::u32(), .combine = BinaryOperator::sum()};
  shape.segments = ScanSegments::rows(Count::on_host(2), 3);
  shape.write_total = true;
  const auto rows = host::scan_bytes(context(), shape, bytes_of(items));
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  EXPECT_THAT(items_of<std::uint32_t>(rows->output), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(items_of<std::uint32_t>(rows->total), ElementsAre(6, 15));

  shape = {.item_count = Count::on_host(6), .input = ElementType::u32(), .combine = BinaryOperator::sum()};
  shape.segments = ScanSegments::flags();
  const std::vector<std::uint32_t> flags{0, 0, 1, 0, 7, 0};
  const auto flagged = host::scan_bytes(context(), shape, bytes_of(items), bytes_of(flags));
  ASSERT_TRUE(flagged.has_value()) << flagged.error().message;
  EXPECT_THAT(items_of<std::uint32_t>(flagged->output), ElementsAre(1, 3, 3, 7, 5, 11));
  EXPECT_THAT(flagged->total, IsEmpty());

  shape.segments = ScanSegments::keys(ElementType::f32());
  const std::vector<float> keys{1, 1, 1, 2, 2, 1};
  const auto keyed = host::scan_bytes(context(), shape, bytes_of(items), bytes_of(keys));
  ASSERT_TRUE(keyed.has_value()) << keyed.error().message;
  EXPECT_THAT(items_of<std::uint32_t>(keyed->output), ElementsAre(1, 3, 6, 4, 9, 6));

  shape.segments = {};
  shape.in_place = true;
  const auto placed = host::scan_bytes(context(), shape, bytes_of(items));
  ASSERT_TRUE(placed.has_value()) << placed.error().message;
  EXPECT_THAT(items_of<std::uint32_t>(placed->output), ElementsAre(1, 3, 6, 10, 15, 21));
}

TEST_P(Host, SelectKeepsWhatTheStandardLibraryCopies) {
  const auto items = items_with_runs<float>(5000);
  std::vector<float> expected;
  std::ranges::copy_if(items, std::back_inserter(expected), [](float x) { return x > 0.5f; });
  EXPECT_EQ(host::select<float>(context(), items, Predicate::of("x > 0.5")), expected);
  EXPECT_EQ(
      host::select<std::uint64_t>(context(), std::vector<std::uint64_t>{1, 1ull << 40, 2}, Predicate::of("x.y != 0u")),
      (std::vector<std::uint64_t>{1ull << 40}));
}

TEST_P(Host, SelectBytesTakesFlagsAndGivesIndices) {
  const std::vector<std::uint32_t> items{5, 6, 7, 8, 9};
  const SelectShape shape{.item_count = Count::on_host(5),
                          .input = ElementType::u32(),
                          .predicate = Predicate::flagged(FlagFormat::bits),
                          .write_indices = true};
  const std::vector<std::uint32_t> flags{0b10101};
  const auto kept = host::select_bytes(context(), shape, bytes_of(items), bytes_of(flags));
  ASSERT_TRUE(kept.has_value()) << kept.error().message;
  EXPECT_EQ(kept->count, 3u);
  EXPECT_THAT(items_of<std::uint32_t>(kept->items), ElementsAre(5, 7, 9));
  EXPECT_THAT(kept->indices, ElementsAre(0, 2, 4));
}

TEST_P(Host, UniqueKeepsOneOfEachRun) {
  const auto items = items_with_runs<std::uint32_t>(5000);
  std::vector<std::uint32_t> expected;
  std::ranges::unique_copy(items, std::back_inserter(expected));
  EXPECT_EQ(host::unique<std::uint32_t>(context(), items), expected);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto floats = host::unique<float>(context(), std::vector<float>{nan, nan, -0.0f, 0.0f, 1});
  ASSERT_TRUE(floats.has_value()) << floats.error().message;
  ASSERT_EQ(floats->size(), 3u);
  EXPECT_TRUE(std::isnan(floats->at(0)));
  EXPECT_TRUE(std::signbit(floats->at(1)));
}

TEST_P(Host, RunLengthsGiveTheItemsBack) {
  const auto items = items_with_runs<std::int64_t>(3000);
  const auto runs = host::run_length<std::int64_t>(context(), items);
  ASSERT_TRUE(runs.has_value()) << runs.error().message;
  ASSERT_EQ(runs->values.size(), runs->lengths.size());
  std::vector<std::int64_t> repeated;
  for (std::size_t i = 0; i < runs->values.size(); ++i) {
    EXPECT_TRUE(i == 0 || runs->values[i] != runs->values[i - 1]);
    repeated.insert(repeated.end(), runs->lengths[i], runs->values[i]);
  }
  EXPECT_EQ(repeated, items);
}

TEST_P(Host, RunLengthBytesLeavesSingleItemsOut) {
  const std::vector<std::uint32_t> items{7, 7, 3, 9, 9, 9};
  const RunLengthShape shape{.item_count = Count::on_host(6), .write_offsets = true, .only_repeated = true};
  const auto runs = host::run_length_bytes(context(), shape, bytes_of(items));
  ASSERT_TRUE(runs.has_value()) << runs.error().message;
  EXPECT_EQ(runs->count, 2u);
  EXPECT_THAT(items_of<std::uint32_t>(runs->values), ElementsAre(7, 9));
  EXPECT_THAT(runs->lengths, ElementsAre(2, 3));
  EXPECT_THAT(runs->offsets, ElementsAre(0, 3));
}

TEST_P(Host, ReduceByKeySumsTheValuesOfEachRun) {
  const auto keys = items_with_runs<std::int32_t>(4000);
  std::vector<std::uint64_t> values(keys.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i << 33;
  std::vector<std::int32_t> expected_keys;
  std::vector<std::uint64_t> expected_sums;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) {
      expected_keys.push_back(keys[i]);
      expected_sums.push_back(0);
    }
    expected_sums.back() += values[i];
  }
  const auto sums = host::reduce_by_key<std::int32_t, std::uint64_t>(context(), keys, values);
  ASSERT_TRUE(sums.has_value()) << sums.error().message;
  EXPECT_EQ(sums->keys, expected_keys);
  EXPECT_EQ(sums->results, expected_sums);
  EXPECT_THAT(message_of(host::reduce_by_key<std::int32_t, std::uint64_t, std::uint32_t>(context(), keys, values)),
              HasSubstr("another size"));
}

TEST_P(Host, SortIsTheStableSortOfTheStandardLibrary) {
  const auto check = [this]<typename K>(std::vector<K> items) {
    auto expected = items;
    std::ranges::stable_sort(expected);
    EXPECT_EQ(host::sort<K>(context(), items), expected);
    std::ranges::stable_sort(expected, std::greater{});
    EXPECT_EQ(host::sort<K>(context(), items, host::Order::descending), expected);
  };
  check(scrambled<std::uint32_t>(400));
  // The sorts have tests of their own; SwiftShader takes seconds to compile each kernel.
  if (GetParam() != Profile::full) return;
  check(scrambled<std::uint32_t>(5000));
  check(scrambled<std::int32_t>(200));
  check(scrambled<float>(200));
  check(scrambled<std::uint64_t>(200));
  check(scrambled<std::int64_t>(200));
  check(scrambled<double>(200));
  check(std::vector<double>{1e300, -1e-300, 1e-300, -1e300, 0});
}

TEST_P(Host, SortPutsNanLastAndKeepsZerosAsTheyStand) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto sorted = host::sort<double>(context(), std::vector<double>{nan, 0.0, -0.0, -1.0});
  ASSERT_TRUE(sorted.has_value()) << sorted.error().message;
  EXPECT_EQ(sorted->at(0), -1.0);
  EXPECT_FALSE(std::signbit(sorted->at(1)));
  EXPECT_TRUE(std::signbit(sorted->at(2)));
  EXPECT_TRUE(std::isnan(sorted->at(3)));
}

TEST_P(Host, ValuesOfAnyTypeFollowTheirKeys) {
  if (GetParam() != Profile::full) return;
  struct Particle {
    std::uint32_t name;
    float mass[6];
    bool operator==(const Particle&) const = default;
  };
  const auto keys = scrambled<float>(300);
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) { return keys[i]; });
  EXPECT_EQ(host::argsort<float>(context(), keys, host::Order::descending), order);
  const auto check = [&]<typename V>(auto make_value) {
    std::vector<V> values;
    for (std::uint32_t i = 0; i < keys.size(); ++i) values.push_back(make_value(i));
    const auto sorted = host::sort_pairs<float, V>(context(), keys, values, host::Order::descending);
    ASSERT_TRUE(sorted.has_value()) << sorted.error().message;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(sorted->keys[i], keys[order[i]]) << i;
      ASSERT_EQ(sorted->values[i], values[order[i]]) << i;
    }
  };
  check.operator()<std::uint16_t>([](std::uint32_t i) { return static_cast<std::uint16_t>(i); });
  check.operator()<double>([](std::uint32_t i) { return -1.0 / i; });
  check.operator()<Particle>(
      [](std::uint32_t i) { return Particle{.name = i, .mass = {static_cast<float>(i), 1, 2, 3, 4, 5}}; });
}

TEST_P(Host, SegmentsAreSortedEachOnItsOwn) {
  const std::vector<float> items{3, 1, 2, 9, 8, 7, 7, 5};
  const std::vector<std::uint32_t> offsets{1, 3, 3, 7};
  EXPECT_EQ(host::sort_segments<float>(context(), items, offsets), (std::vector<float>{3, 1, 2, 7, 7, 8, 9, 5}));
  EXPECT_EQ(host::sort_segments<float>(context(), items, offsets, host::Order::descending),
            (std::vector<float>{3, 2, 1, 9, 8, 7, 7, 5}));
  EXPECT_EQ(host::sort_segments<float>(context(), items, std::vector<std::uint32_t>{4}), items);
  const auto message = [&](const std::vector<std::uint32_t>& wrong) {
    const auto sorted = host::sort_segments<float>(context(), items, wrong);
    return sorted ? std::string("ok") : sorted.error().message;
  };
  EXPECT_THAT(message({}), HasSubstr("one offset more"));
  EXPECT_THAT(message({0, 5, 4}), HasSubstr("Offset 2 of the segments is 4, less than the one before (5)"));
  EXPECT_THAT(message({0, 9}), HasSubstr("Offset 1 of the segments is 9, behind the 8 items"));
}

TEST_P(Host, SortBytesTakesBitRangesAndIndices) {
  const std::vector<std::uint32_t> keys{0x31, 0x12, 0x23, 0x10};
  const SortShape shape{.item_count = Count::on_host(4), .begin_bit = 4, .end_bit = 8, .write_indices = true};
  const auto sorted = host::sort_bytes(context(), shape, bytes_of(keys));
  ASSERT_TRUE(sorted.has_value()) << sorted.error().message;
  EXPECT_THAT(items_of<std::uint32_t>(sorted->keys), ElementsAre(0x12, 0x10, 0x23, 0x31));
  EXPECT_THAT(sorted->indices, ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(sorted->values, IsEmpty());
}

TEST_P(Host, NoItemsGiveNoResults) {
  const std::vector<float> none;
  EXPECT_EQ(host::scan<float>(context(), none), none);
  EXPECT_EQ(host::select<float>(context(), none, Predicate::of("true")), none);
  EXPECT_EQ(host::unique<float>(context(), none), none);
  const auto runs = host::run_length<float>(context(), none);
  ASSERT_TRUE(runs.has_value()) << runs.error().message;
  EXPECT_THAT(runs->lengths, IsEmpty());
  const auto sums = host::reduce_by_key<float, float>(context(), none, none);
  ASSERT_TRUE(sums.has_value()) << sums.error().message;
  EXPECT_THAT(sums->results, IsEmpty());
  EXPECT_EQ(host::sort<float>(context(), none), none);
  EXPECT_EQ(host::argsort<float>(context(), none), std::vector<std::uint32_t>{});
}

TEST_P(Host, ArraysThatDoNotFitTheShapeAreRefused) {
  const std::vector<float> items(10);
  const auto bytes = bytes_of(items);
  EXPECT_THAT(message_of(host::scan_bytes(context(), {.item_count = Count::on_host(11)}, bytes)),
              HasSubstr("40 bytes are not 11 items of f32"));
  EXPECT_THAT(message_of(host::scan_bytes(context(), {.item_count = Count::on_device(10)}, bytes)),
              HasSubstr("known on the host"));
  const ScanShape by_flags{.item_count = Count::on_host(10), .segments = ScanSegments::flags(FlagFormat::bytes)};
  EXPECT_THAT(message_of(host::scan_bytes(context(), by_flags, bytes, bytes.first(8))),
              HasSubstr("8 bytes are not the flags of 10 items (12 bytes)"));
  const SelectShape selection{.item_count = Count::on_host(9), .predicate = Predicate::of("true")};
  EXPECT_THAT(message_of(host::select_bytes(context(), selection, bytes)), HasSubstr("9 items"));
  EXPECT_THAT(message_of(host::reduce_by_key<float, float>(context(), items, std::vector<float>(9))),
              HasSubstr("36 bytes are not 10 items of f32"));
  EXPECT_THAT(message_of(host::sort_pairs<float, float>(context(), items, std::vector<float>(9))),
              HasSubstr("36 bytes are not 10 values of 4 bytes"));
  const SortShape counted_on_device{.item_count = Count::on_device(10), .key = ElementType::f32()};
  EXPECT_THAT(message_of(host::sort_bytes(context(), counted_on_device, bytes)), HasSubstr("known on the host"));
  EXPECT_THAT(message_of(host::moved_type(6)), HasSubstr("Values of 6 bytes"));
}

}  // namespace
}  // namespace upsweep::testing
