// SPDX-License-Identifier: Apache-2.0
// Merge sorts on a device against std::stable_sort. Values number the items, so that every result shows whether it is
// stable.
#include <gmock/gmock.h>

#include <format>
#include <numeric>

#include "primitives/merge_sort/merge_sort_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "testing/orders_for_tests.h"
#include "upsweep/host.h"

namespace upsweep::testing {
namespace {

struct Setting {
  std::optional<MergeSortTuning> tuning = {};
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class MergeSortGpu : public GpuTest {
 protected:
  /// Sorts `keys` with `values` and checks what the shape writes.
  template <typename Key, typename Value, typename Less>
  void check(const std::vector<Key>& keys, const std::vector<Value>& values, MergeSortShape shape, Less less,
             const Setting& setting = {}) {
    shape.item_count = {keys.size(), setting.count.has_value()};
    const std::size_t used = std::min<std::size_t>(keys.size(), setting.count.value_or(0xffffffffu));
    const auto chosen = setting.tuning ? setting.tuning : tuning();
    SCOPED_TRACE(std::format("{} of {} {}, order {}{}{}{}, tuning {}", used, keys.size(), shape.key.name,
                             to_string(shape.order), shape.value ? " with " + shape.value->name : "",
                             shape.write_keys ? "" : ", no keys", shape.write_indices ? ", indices" : "",
                             chosen ? to_string(*chosen) : "of the library"));
    const GuardedBuffer key_buffer(context(), bytes_of(keys), item_offset<Key>(1));
    const GuardedBuffer value_buffer(context(), bytes_of(values), item_offset<Value>(3));
    const GuardedBuffer sorted_keys(context(), bytes_of(unwritten<Key>(keys.size())), item_offset<Key>(2));
    const GuardedBuffer sorted_values(context(), bytes_of(unwritten<Value>(values.size())), item_offset<Value>(5));
    const GuardedBuffer indices(context(), bytes_of(unwritten<std::uint32_t>(keys.size())), 12);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 20);
    MergeSortBuffers buffers{.keys = key_buffer.view()};
    if (shape.value) buffers.values = value_buffer.view();
    if (shape.write_keys) buffers.sorted_keys = sorted_keys.view();
    if (shape.value) buffers.sorted_values = sorted_values.view();
    if (shape.write_indices) buffers.indices = indices.view();
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) { return record_merge_sort(context(), encoder, shape, buffers, chosen); });

    const auto places = stably_sorted(keys, used, less);
    const auto wanted = [&]<typename T>(const std::vector<T>& items, bool is_written) {
      auto result = unwritten<T>(items.size());
      for (std::size_t i = 0; is_written && i < places.size(); ++i) result[i] = items[places[i]];
      return result;
    };
    expect_items(items_of<Key>(sorted_keys.read_and_check_guards()), wanted(keys, shape.write_keys));
    expect_items(items_of<Value>(sorted_values.read_and_check_guards()), wanted(values, shape.value.has_value()));
    auto index_result = unwritten<std::uint32_t>(keys.size());
    if (shape.write_indices) std::ranges::copy(places, index_result.begin());
    expect_items(items_of<std::uint32_t>(indices.read_and_check_guards()), index_result);
    expect_items(items_of<Key>(key_buffer.read_and_check_guards()), keys);
    expect_items(items_of<Value>(value_buffer.read_and_check_guards()), values);
  }

  template <typename Key, typename Less>
  void check_pairs(const std::vector<Key>& keys, MergeSortShape shape, Less less, const Setting& setting = {}) {
    std::vector<std::uint32_t> numbers(keys.size());
    std::iota(numbers.begin(), numbers.end(), 0u);
    shape.value = ElementType::u32();
    check(keys, numbers, shape, less, setting);
  }

  template <typename Key>
  void check_numbers(const std::vector<Key>& keys, ElementType type, KeyOrder order = {}, const Setting& setting = {}) {
    check_pairs(
        keys, {.key = std::move(type), .order = order},
        [&](const Key& a, const Key& b) { return order.reverse ? is_less_by_value(b, a) : is_less_by_value(a, b); },
        setting);
  }

  template <typename Key, typename Less>
  void check_keys_alone(const std::vector<Key>& keys, MergeSortShape shape, Less less, const Setting& setting = {}) {
    check(keys, std::vector<std::uint32_t>(), shape, less, setting);
  }

  /// Of small tiles, or the library's; with passes for splits from a few hundred items on, so that both ways are gone.
  [[nodiscard]] std::optional<MergeSortTuning> tuning() const {
    if (is_tiny()) {
      // Tiles of the two kernels that do not divide one another.
      return MergeSortTuning{.sort_workgroup_size = 8,
                             .sort_items_per_thread = 3,
                             .merge_workgroup_size = 4,
                             .merge_items_per_thread = 5,
                             .split_pass_items = 500};
    }
    if (GetParam() != Profile::full) return std::nullopt;
    MergeSortTuning tuning = select_merge_sort_tuning({}, context().traits());
    tuning.split_pass_items = 1000;
    return tuning;
  }
  [[nodiscard]] std::uint32_t tile_items() const {
    const MergeSortTuning chosen = tuning().value_or(select_merge_sort_tuning({}, context().traits()));
    return chosen.sort_workgroup_size * chosen.sort_items_per_thread;
  }
};
INSTANTIATE_TEST_SUITE_P(, MergeSortGpu, all_profiles, profile_name);

TEST_P(MergeSortGpu, PairsAreSortedAndStableAtEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t tile = tile_items();
  for (const std::uint32_t count :
       {1u,           2u,       3u,           8u,           9u,       10u,           63u,
        64u,          65u,      tile - 1,     tile,         tile + 1, 2 * tile - 1,  2 * tile,
        2 * tile + 1, 3 * tile, 4 * tile + 3, 5 * tile - 2, 8 * tile, 11 * tile + 1, 4095u,
        4096u,        4097u}) {
    // Few distinct keys, so that most have equals.
    auto keys = random_items<std::uint32_t>(count, seed + count);
    for (std::uint32_t& key : keys) key %= count / 3 + 2;
    check_numbers(keys, ElementType::u32());
    if (HasFailure()) return;
  }
}

TEST_P(MergeSortGpu, EveryDistributionIsSorted) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(5 * tile_items() + 17);
  const auto check_all = [&](auto key_of) {
    std::vector<std::uint32_t> keys;
    for (std::uint32_t i = 0; i < count; ++i) keys.push_back(key_of(i));
    check_numbers(keys, ElementType::u32());
    check_numbers(keys, ElementType::u32(), KeyOrder::descending());
  };
  check_all([](std::uint32_t) { return 0xffffffffu; });
  check_all([](std::uint32_t) { return 0u; });
  check_all([](std::uint32_t i) { return i; });
  check_all([&](std::uint32_t i) { return count - i; });
  check_all([&](std::uint32_t i) { return std::min(i, count - i); });  // an organ pipe
  check_all([&](std::uint32_t i) { return i % 2 == 0 ? i : count - i; });
  check_all([](std::uint32_t i) { return 0xfffffffeu + (i * 5 % 3 == 0 ? 1 : 0); });
}

TEST_P(MergeSortGpu, NumbersOfEveryTypeAreOrderedByValueInBothDirections) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(1500);
  for (const bool reverse : {false, true}) {
    const KeyOrder order = reverse ? KeyOrder::descending() : KeyOrder::ascending();
    const auto words = special_words(count + 1, seed);
    check_numbers(items_of<std::int32_t>(bytes_of(words)), ElementType::i32(), order);
    check_numbers(items_of<float>(bytes_of(words)), ElementType::f32(), order);
    check_numbers(halves_of(words), ElementType::f16(), order);
    const auto longs = special_doubles(count, seed);
    check_numbers(longs, ElementType::u64(), order);
    check_numbers(items_of<std::int64_t>(bytes_of(longs)), ElementType::i64(), order);
    check_numbers(items_of<double>(bytes_of(longs)), ElementType::u64(), KeyOrder::doubles(reverse));
    if (HasFailure() || !is_thorough()) return;
  }
}

TEST_P(MergeSortGpu, OrdersGivenAsTextDecideForKeysOfAnyType) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const std::uint32_t count : {200u, affordable(1700)}) {
    const MergeSortShape parcels{.key = Parcel::type(), .order = Parcel::order()};
    check_pairs(Parcel::items(count, seed), parcels, Parcel::less);
    const MergeSortShape stops{.key = Stop::type(), .order = Stop::order()};
    check_pairs(Stop::items(count, seed), stops, Stop::less);
    if (HasFailure() || !is_thorough()) return;
    // Keys alone carry a tag that no order looks at.
    check_keys_alone(Parcel::items(count, seed), parcels, Parcel::less);
    check_keys_alone(Stop::items(count, seed), stops, Stop::less);
  }
  check_pairs(random_items<Half>(999, seed, Values::small),
              {.key = ElementType::f16(),
               .order = KeyOrder::less("smaller", "fn smaller(a: f32, b: f32) -> bool { return abs(a) < abs(b); }")},
              [](Half a, Half b) { return std::abs(number_of(a)) < std::abs(number_of(b)); });
  check_pairs(
      random_items<std::uint64_t>(999, seed),
      {.key = ElementType::u64(),
       .order = KeyOrder::less("low_word", "fn low_word(a: vec2u, b: vec2u) -> bool { return a.x < b.x; }")},
      [](std::uint64_t a, std::uint64_t b) { return static_cast<std::uint32_t>(a) < static_cast<std::uint32_t>(b); });
}

TEST_P(MergeSortGpu, ValuesOfEveryTypeTravelWithTheirKeys) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const std::uint32_t count : {101u, affordable(1201)}) {
    const auto keys = random_items<std::uint32_t>(count, seed);
    Random random(seed);
    std::vector<Half> halves;
    std::vector<Tally<3>> records;
    std::vector<Tally<9>> large;
    for (std::uint32_t i = 0; i < count; ++i) {
      halves.push_back({static_cast<std::uint16_t>(random.next())});
      records.push_back(Tally<3>::item(random));
      large.push_back(Tally<9>::item(random));
    }
    check(keys, halves, {.value = ElementType::f16()}, std::less<>());
    check(keys, random_items<std::uint64_t>(count, seed), {.value = ElementType::u64()}, std::less<>());
    check(keys, records, {.value = Tally<3>::type()}, std::less<>());
    if (HasFailure() || !is_thorough()) return;
    check(keys, random_items<Vec<std::uint32_t, 4>>(count, seed), {.value = ElementType::vec(Scalar::u32, 4)},
          std::less<>());
    check(keys, large, {.value = Tally<9>::type()}, std::less<>());
    check(keys, large, {.value = Tally<9>::type(), .write_keys = false}, std::less<>());
    check(halves, halves, {.key = ElementType::f16(), .value = ElementType::f16()},
          [](Half a, Half b) { return is_less_by_value(a, b); });
    check_keys_alone(keys, {}, std::less<>());
  }
}

TEST_P(MergeSortGpu, ArgsortSaysWhereItemsWere) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const std::uint32_t count : {77u, affordable(1500), affordable(3100)}) {
    auto keys = random_items<std::uint32_t>(count, seed);
    for (std::uint32_t& key : keys) key %= count / 4 + 1;
    check_keys_alone(keys, {.write_keys = false, .write_indices = true}, std::less<>());
    check_keys_alone(keys, {.write_indices = true}, std::less<>());
    if (HasFailure() || !is_thorough()) return;
    check_keys_alone(Parcel::items(count, seed),
                     {.key = Parcel::type(), .order = Parcel::order(), .write_keys = false, .write_indices = true},
                     Parcel::less);
    const auto halves = halves_of(keys);
    check(keys, halves, {.value = ElementType::f16(), .write_keys = false, .write_indices = true}, std::less<>());
    check(keys, random_items<std::uint64_t>(count, seed), {.value = ElementType::u64(), .write_indices = true},
          std::less<>());
  }
}

TEST_P(MergeSortGpu, CountsMayBeOnTheDevice) {
  const std::uint64_t seed = test_seed();
  const auto size = std::max(5 * tile_items() + 1, 400u);
  const auto keys = random_items<std::uint32_t>(size, seed);
  const auto halves = halves_of(keys);
  for (const std::uint32_t used : {0u, 1u, tile_items(), 2 * tile_items() + 3, size - 1, size, size + 100}) {
    check_numbers(keys, ElementType::u32(), {}, {.count = used});
    check(halves, halves, {.key = ElementType::f16(), .value = ElementType::f16()},
          [](Half a, Half b) { return is_less_by_value(a, b); }, {.count = used});
    if (is_thorough()) {
      check(keys, Parcel::items(size, seed), {.value = Parcel::type(), .write_keys = false, .write_indices = true},
            std::less<>(), {.count = used});
    }
    if (HasFailure()) return;
  }
}

TEST_P(MergeSortGpu, OneCommandBufferHoldsManySorts) {
  const std::uint64_t seed = test_seed();
  const std::vector<std::uint32_t> a = random_items<std::uint32_t>(1000, seed);
  const std::vector<std::uint32_t> b = random_items<std::uint32_t>(1700, seed + 1);
  const GuardedBuffer keys_a(context(), bytes_of(a));
  const GuardedBuffer keys_b(context(), bytes_of(b));
  const GuardedBuffer first(context(), bytes_of(unwritten<std::uint32_t>(a.size())));
  const GuardedBuffer second(context(), bytes_of(unwritten<std::uint32_t>(b.size())));
  const GuardedBuffer third(context(), bytes_of(unwritten<std::uint32_t>(a.size())));
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (const auto& [keys, sorted, count] :
         {std::tuple{&keys_a, &first, a.size()}, {&keys_b, &second, b.size()}, {&keys_a, &third, a.size()}}) {
      const Status recorded = record_merge_sort(context(), encoder, {.item_count = Count::on_host(count)},
                                                {.keys = keys->view(), .sorted_keys = sorted->view()}, tuning());
      if (!recorded) return recorded;
    }
    return {};
  });
  auto sorted_a = a;
  auto sorted_b = b;
  std::ranges::sort(sorted_a);
  std::ranges::sort(sorted_b);
  expect_items(items_of<std::uint32_t>(first.read_and_check_guards()), sorted_a);
  expect_items(items_of<std::uint32_t>(second.read_and_check_guards()), sorted_b);
  expect_items(items_of<std::uint32_t>(third.read_and_check_guards()), sorted_a);
}

// So many workgroups that their grid is folded, by a limit that no device has.
TEST_P(MergeSortGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 7;
  context().override_traits(narrow);
  check_numbers(random_items<std::uint32_t>(3001, test_seed()), ElementType::u32());
  check_numbers(random_items<std::uint32_t>(4000, test_seed()), ElementType::u32(), {}, {.count = 1700});
  context().override_traits(traits);
}

// An order that contradicts itself: the sort ends, and touches nothing but its result.
TEST_P(MergeSortGpu, AnOrderThatIsNoneDoesNoHarm) {
  const auto keys = random_items<std::uint32_t>(affordable(4000), test_seed());
  const GuardedBuffer input(context(), bytes_of(keys));
  const GuardedBuffer sorted(context(), bytes_of(unwritten<std::uint32_t>(keys.size())));
  const MergeSortShape shape{
      .item_count = Count::on_host(keys.size()),
      .order = KeyOrder::less("odd", "fn odd(a: u32, b: u32) -> bool { return ((a * 7u + b) & 4u) != 0u; }")};
  run([&](WGPUCommandEncoder encoder) {
    return record_merge_sort(context(), encoder, shape, {.keys = input.view(), .sorted_keys = sorted.view()}, tuning());
  });
  (void)sorted.read_and_check_guards();
  expect_items(items_of<std::uint32_t>(input.read_and_check_guards()), keys);
}

TEST_P(MergeSortGpu, TheFrontTakesArrays) {
  if (GetParam() != Profile::full) return;
  const auto parcels = Parcel::items(50, test_seed());
  auto expected = parcels;
  std::ranges::stable_sort(expected, Parcel::less);
  EXPECT_EQ(host::merge_sort<Parcel>(context(), parcels, Parcel::type(), Parcel::order()), expected);
}

}  // namespace
}  // namespace upsweep::testing
