// SPDX-License-Identifier: Apache-2.0
// Merges on a device against std::merge. Values number the items, so that every result shows whether it is stable.
#include <gmock/gmock.h>

#include <format>
#include <numeric>

#include "primitives/merge/merge_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "testing/orders_for_tests.h"
#include "upsweep/host.h"

namespace upsweep::testing {
namespace {

struct Setting {
  std::optional<MergeTuning> tuning = {};
  std::optional<std::uint32_t> left_count = {};  ///< Read on the device.
  std::optional<std::uint32_t> right_count = {};
};

class MergeGpu : public GpuTest {
 protected:
  template <typename Key, typename Value, typename Less>
  void check(std::vector<Key> left, std::vector<Key> right, const std::vector<Value>& left_values,
             const std::vector<Value>& right_values, MergeShape shape, Less less, const Setting& setting = {}) {
    shape.left_count = {left.size(), setting.left_count.has_value()};
    shape.right_count = {right.size(), setting.right_count.has_value()};
    const auto used = [](const auto& all, std::optional<std::uint32_t> count) {
      return std::min<std::size_t>(all.size(), count.value_or(0xffffffffu));
    };
    const std::size_t left_used = used(left, setting.left_count);
    const std::size_t right_used = used(right, setting.right_count);
    SCOPED_TRACE(std::format("{} of {} and {} of {} {}, order {}{}", left_used, left.size(), right_used, right.size(),
                             shape.key.name, to_string(shape.order), shape.value ? " with " + shape.value->name : ""));
    const auto at = [](auto& items, std::size_t count) { return items.begin() + static_cast<std::ptrdiff_t>(count); };
    std::stable_sort(left.begin(), at(left, left_used), less);
    std::stable_sort(right.begin(), at(right, right_used), less);

    const std::size_t room = left.size() + right.size();
    const GuardedBuffer left_keys(context(), bytes_of(left), item_offset<Key>(1));
    const GuardedBuffer right_keys(context(), bytes_of(right), item_offset<Key>(2));
    const GuardedBuffer merged_keys(context(), bytes_of(unwritten<Key>(room)), item_offset<Key>(5));
    const GuardedBuffer left_value_buffer(context(), bytes_of(left_values), item_offset<Value>(3));
    const GuardedBuffer right_value_buffer(context(), bytes_of(right_values), item_offset<Value>(1));
    const GuardedBuffer merged_values(context(), bytes_of(unwritten<Value>(room)), item_offset<Value>(2));
    const GuardedBuffer left_count(context(), bytes_of(std::vector{setting.left_count.value_or(0)}), 20);
    const GuardedBuffer right_count(context(), bytes_of(std::vector{setting.right_count.value_or(0)}), 12);
    MergeBuffers buffers{
        .left_keys = left_keys.view(), .right_keys = right_keys.view(), .merged_keys = merged_keys.view()};
    if (shape.value) {
      buffers.left_values = left_value_buffer.view();
      buffers.right_values = right_value_buffer.view();
      buffers.merged_values = merged_values.view();
    }
    if (setting.left_count) buffers.left_count = left_count.view();
    if (setting.right_count) buffers.right_count = right_count.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_merge(context(), encoder, shape, buffers, setting.tuning ? setting.tuning : tuning());
    });

    const auto first = [&](const auto& all, std::size_t count) {
      return std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    };
    const auto places = merged_places(first(left, left_used), first(right, right_used), less);
    auto keys = unwritten<Key>(room);
    std::ranges::copy(gathered(first(left, left_used), first(right, right_used), places), keys.begin());
    expect_items(items_of<Key>(merged_keys.read_and_check_guards()), keys);
    auto values = unwritten<Value>(room);
    if (shape.value) {
      std::ranges::copy(gathered(first(left_values, left_used), first(right_values, right_used), places),
                        values.begin());
    }
    expect_items(items_of<Value>(merged_values.read_and_check_guards()), values);
    expect_items(items_of<Key>(left_keys.read_and_check_guards()), left);
    expect_items(items_of<Key>(right_keys.read_and_check_guards()), right);
  }

  template <typename Key, typename Less>
  void check_pairs(const std::vector<Key>& left, const std::vector<Key>& right, MergeShape shape, Less less,
                   const Setting& setting = {}) {
    std::vector<std::uint32_t> left_numbers(left.size());
    std::vector<std::uint32_t> right_numbers(right.size());
    std::iota(left_numbers.begin(), left_numbers.end(), 0u);
    std::iota(right_numbers.begin(), right_numbers.end(), 0x10000000u);
    shape.value = ElementType::u32();
    check(left, right, left_numbers, right_numbers, shape, less, setting);
  }

  template <typename Key>
  void check_numbers(const std::vector<Key>& left, const std::vector<Key>& right, ElementType type, KeyOrder order = {},
                     const Setting& setting = {}) {
    check_pairs(
        left, right, {.key = std::move(type), .order = order},
        [&](const Key& a, const Key& b) { return order.reverse ? is_less_by_value(b, a) : is_less_by_value(a, b); },
        setting);
  }

  /// Of small tiles, or the library's; with a pass for splits from a few hundred items on, so that both ways are gone.
  [[nodiscard]] std::optional<MergeTuning> tuning() const {
    if (is_tiny()) return MergeTuning{.workgroup_size = 4, .items_per_thread = 3, .split_pass_items = 100};
    if (GetParam() != Profile::full) return std::nullopt;
    MergeTuning tuning = select_merge_tuning({}, context().traits());
    tuning.split_pass_items = 1000;
    return tuning;
  }
};
INSTANTIATE_TEST_SUITE_P(, MergeGpu, all_profiles, profile_name);

TEST_P(MergeGpu, RangesOfEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const MergeTuning chosen =
      tuning().value_or(select_merge_tuning({.left_count = Count::on_host(1000)}, context().traits()));
  const std::uint32_t tile = chosen.workgroup_size * chosen.items_per_thread;
  const std::uint32_t per_thread = chosen.items_per_thread;
  for (const std::uint32_t left : {0u, 1u, per_thread, tile / 2, tile - 1, tile, tile + 1, 3 * tile + 7}) {
    for (const std::uint32_t right : {0u, 1u, per_thread + 1, tile / 2 + 1, tile, 2 * tile, 5 * tile - 3}) {
      auto left_keys = random_items<std::uint32_t>(left, seed + left);
      auto right_keys = random_items<std::uint32_t>(right, seed + right + 1);
      // Few distinct keys, so that most have equals in both ranges.
      for (auto* keys : {&left_keys, &right_keys}) {
        for (std::uint32_t& key : *keys) key %= (left + right) / 3 + 2;
      }
      check_numbers(left_keys, right_keys, ElementType::u32());
      if (HasFailure()) return;
    }
  }
}

TEST_P(MergeGpu, RangesThatDoNotMixAndThatAreEqual) {
  const std::uint32_t count = affordable(3000);
  std::vector<std::uint32_t> low(count);
  std::iota(low.begin(), low.end(), 0u);
  std::vector<std::uint32_t> high(count);
  std::iota(high.begin(), high.end(), count);
  check_numbers(low, high, ElementType::u32());
  check_numbers(high, low, ElementType::u32());
  check_numbers(low, low, ElementType::u32());
  check_numbers(low, high, ElementType::u32(), KeyOrder::descending());
  const std::vector<std::uint32_t> same(count, 7);
  check_numbers(same, same, ElementType::u32());
  check_numbers(std::vector<std::uint32_t>(count, 0xffffffffu), std::vector<std::uint32_t>(count, 0xffffffffu),
                ElementType::u32());
}

TEST_P(MergeGpu, NumbersOfEveryTypeAreOrderedByValueInBothDirections) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const bool reverse : {false, true}) {
    const KeyOrder order = reverse ? KeyOrder::descending() : KeyOrder::ascending();
    const auto left = special_words(901, seed);
    const auto right = special_words(600, seed + 1);
    check_numbers(items_of<std::int32_t>(bytes_of(left)), items_of<std::int32_t>(bytes_of(right)), ElementType::i32(),
                  order);
    check_numbers(items_of<float>(bytes_of(left)), items_of<float>(bytes_of(right)), ElementType::f32(), order);
    check_numbers(halves_of(left), halves_of(right), ElementType::f16(), order);
    const auto longs = special_doubles(900, seed);
    const auto more = special_doubles(601, seed + 1);
    check_numbers(longs, more, ElementType::u64(), order);
    check_numbers(items_of<std::int64_t>(bytes_of(longs)), items_of<std::int64_t>(bytes_of(more)), ElementType::i64(),
                  order);
    check_numbers(items_of<double>(bytes_of(longs)), items_of<double>(bytes_of(more)), ElementType::u64(),
                  KeyOrder::doubles(reverse));
    if (HasFailure() || !is_thorough()) return;
  }
}

TEST_P(MergeGpu, OrdersGivenAsTextDecideForKeysOfAnyType) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  check_pairs(Parcel::items(affordable(1500), seed), Parcel::items(700, seed + 1),
              {.key = Parcel::type(), .order = Parcel::order()}, Parcel::less);
  check_pairs(Stop::items(affordable(1500), seed), Stop::items(700, seed + 1),
              {.key = Stop::type(), .order = Stop::order()}, Stop::less);
  check_pairs(random_items<Half>(999, seed, Values::small), random_items<Half>(100, seed + 1, Values::small),
              {.key = ElementType::f16(),
               .order = KeyOrder::less("smaller", "fn smaller(a: f32, b: f32) -> bool { return abs(a) < abs(b); }")},
              [](Half a, Half b) { return std::abs(number_of(a)) < std::abs(number_of(b)); });
}

TEST_P(MergeGpu, ValuesOfEveryTypeTravelWithTheirKeys) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto left = random_items<std::uint32_t>(affordable(1501), seed);
  const auto right = random_items<std::uint32_t>(700, seed + 1);
  const auto check_values = [&]<typename Value>(auto value_of, ElementType type, const std::vector<Value>&) {
    std::vector<Value> left_values;
    std::vector<Value> right_values;
    for (std::uint32_t i = 0; i < left.size(); ++i) left_values.push_back(value_of(i));
    for (std::uint32_t i = 0; i < right.size(); ++i) right_values.push_back(value_of(i + 5000));
    check(left, right, left_values, right_values, {.value = std::move(type)}, std::less<>());
  };
  Random random(seed);
  check_values([&](std::uint32_t) { return Half{static_cast<std::uint16_t>(random.next())}; }, ElementType::f16(),
               std::vector<Half>());
  check_values([&](std::uint32_t) { return random.next(); }, ElementType::u64(), std::vector<std::uint64_t>());
  check_values([&](std::uint32_t i) { return Vec<std::uint32_t, 4>{i, random.next32(), random.next32(), i}; },
               ElementType::vec(Scalar::u32, 4), std::vector<Vec<std::uint32_t, 4>>());
  check_values([&](std::uint32_t) { return Tally<3>::item(random); }, Tally<3>::type(), std::vector<Tally<3>>());
  check_values([&](std::uint32_t) { return Tally<9>::item(random); }, Tally<9>::type(), std::vector<Tally<9>>());
  check(left, right, std::vector<std::uint32_t>(), std::vector<std::uint32_t>(), {}, std::less<>());
}

TEST_P(MergeGpu, CountsMayBeOnTheDevice) {
  const auto left = random_items<std::uint32_t>(1300, test_seed());
  const auto right = random_items<std::uint32_t>(800, test_seed() + 1);
  const auto halves = halves_of(left);
  for (const auto& [left_used, right_used] :
       {std::pair{0u, 0u}, {0u, 800u}, {1300u, 0u}, {1u, 799u}, {701u, 400u}, {5000u, 5000u}}) {
    check_numbers(left, right, ElementType::u32(), {}, {.left_count = left_used, .right_count = right_used});
    check_numbers(left, right, ElementType::u32(), {}, {.right_count = right_used});
    check_numbers(halves, halves, ElementType::f16(), {}, {.left_count = left_used, .right_count = right_used});
    if (HasFailure()) return;
  }
}

// Both inputs and the output are ranges of one buffer.
TEST_P(MergeGpu, RangesOfOneBuffer) {
  std::vector<std::uint32_t> words(1024, 0);
  for (std::uint32_t i = 0; i < 200; ++i) words[i] = 2 * i;
  for (std::uint32_t i = 0; i < 100; ++i) words[256 + i] = 3 * i;
  const GuardedBuffer buffer(context(), bytes_of(words));
  const auto range = [&](std::uint64_t first, std::uint64_t count) {
    return BufferView(buffer.buffer(), buffer.view().offset_bytes + first * 4, count * 4);
  };
  run([&](WGPUCommandEncoder encoder) {
    return record_merge(context(), encoder, {.left_count = Count::on_host(200), .right_count = Count::on_host(100)},
                        {.left_keys = range(0, 200), .right_keys = range(256, 100), .merged_keys = range(512, 300)},
                        tuning());
  });
  std::merge(words.begin(), words.begin() + 200, words.begin() + 256, words.begin() + 356, words.begin() + 512);
  expect_items(items_of<std::uint32_t>(buffer.read_and_check_guards()), words);
}

TEST_P(MergeGpu, OneCommandBufferHoldsManyMerges) {
  auto a = random_items<std::uint32_t>(1000, test_seed());
  auto b = random_items<std::uint32_t>(1700, test_seed() + 1);
  std::ranges::sort(a);
  std::ranges::sort(b);
  const GuardedBuffer keys_a(context(), bytes_of(a));
  const GuardedBuffer keys_b(context(), bytes_of(b));
  const GuardedBuffer first(context(), bytes_of(unwritten<std::uint32_t>(a.size() + b.size())));
  const GuardedBuffer second(context(), bytes_of(unwritten<std::uint32_t>(2 * b.size())));
  const GuardedBuffer third(context(), bytes_of(unwritten<std::uint32_t>(a.size() + b.size())));
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (const auto& [left, right, merged, left_count, right_count] :
         {std::tuple{&keys_a, &keys_b, &first, a.size(), b.size()},
          {&keys_b, &keys_b, &second, b.size(), b.size()},
          {&keys_a, &keys_b, &third, a.size(), b.size()}}) {
      const Status recorded = record_merge(
          context(), encoder, {.left_count = Count::on_host(left_count), .right_count = Count::on_host(right_count)},
          {.left_keys = left->view(), .right_keys = right->view(), .merged_keys = merged->view()}, tuning());
      if (!recorded) return recorded;
    }
    return {};
  });
  const auto merged = [](const auto& left, const auto& right) {
    std::vector<std::uint32_t> all;
    std::ranges::merge(left, right, std::back_inserter(all));
    return all;
  };
  expect_items(items_of<std::uint32_t>(first.read_and_check_guards()), merged(a, b));
  expect_items(items_of<std::uint32_t>(second.read_and_check_guards()), merged(b, b));
  expect_items(items_of<std::uint32_t>(third.read_and_check_guards()), merged(a, b));
}

TEST_P(MergeGpu, TheFrontTakesArrays) {
  if (GetParam() != Profile::full) return;
  const std::vector<double> left{-1, 0.5, 2};
  const std::vector<double> right{-3, 0.5, 2.5, 7};
  EXPECT_EQ(host::merge<double>(context(), left, right), (std::vector{-3.0, -1.0, 0.5, 0.5, 2.0, 2.5, 7.0}));
  EXPECT_EQ(host::merge<double>(context(), left, {}), left);
}

}  // namespace
}  // namespace upsweep::testing
