// SPDX-License-Identifier: Apache-2.0
// Top-k on a device against std::stable_sort. Indices and values number the items, so that every result shows which of
// several equal keys won.
#include <gmock/gmock.h>

#include <format>
#include <numeric>

#include "primitives/top_k/top_k_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "upsweep/host.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

/// How one search of a test runs, beside its shape.
struct Setting {
  std::optional<TopKTuning> tuning = {};
  std::uint64_t input_item = 0;
  std::uint64_t output_item = 0;
  std::optional<std::uint32_t> item_count = {};  ///< Of items, read on the device.
  std::optional<std::uint32_t> device_k = {};    ///< The k that is read on the device; the other is its limit.
};

template <typename Key>
TopKShape shape_of(std::uint64_t k, bool largest = false) {
  TopKShape shape{.k = Count::on_host(k), .largest = largest};
  if constexpr (std::is_same_v<Key, double>) {
    shape.key = ElementType::u64();
    shape.key_is_f64 = true;
  } else {
    shape.key = element_type<Key>();
  }
  return shape;
}

class TopKGpu : public GpuTest {
 protected:
  /// Finds the first of `keys` with `values` and checks all that the shape writes.
  template <typename Key, typename Value>
  void check(const std::vector<Key>& keys, const std::vector<Value>& values, TopKShape shape, const Setting& setting) {
    shape.item_count = {keys.size(), setting.item_count.has_value()};
    shape.k.read_on_device = setting.device_k.has_value();
    SCOPED_TRACE(std::format("{} {} of {} {}{}, {}{}{}{}, tuning {}", shape.largest ? "largest" : "smallest",
                             shape.k.max, keys.size(), shape.key.name, shape.key_is_f64 ? " (f64)" : "",
                             to_string(shape.order), shape.value ? " with " + shape.value->name : "",
                             setting.item_count ? std::format(", {} on the device", *setting.item_count) : "",
                             setting.device_k ? std::format(", k {} on the device", *setting.device_k) : "",
                             setting.tuning ? to_string(*setting.tuning) : "of the library"));
    const std::size_t used = std::min<std::size_t>(keys.size(), setting.item_count.value_or(0xffffffffu));
    const std::size_t k = std::min<std::size_t>(shape.k.max, setting.device_k.value_or(0xffffffffu));
    const std::size_t room = std::min<std::size_t>(shape.k.max, keys.size());
    const std::vector<Key> first(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(used));
    auto order = first_of_sort(first, k, shape.largest);
    std::vector<Key> threshold = unwritten<Key>(1);
    if (shape.write_threshold && !order.empty()) threshold = {threshold_of(keys[order.back()])};
    if (shape.order == TopKOrder::input_order) std::ranges::sort(order);

    const GuardedBuffer key_buffer(context(), bytes_of(keys), item_offset<Key>(setting.input_item));
    const GuardedBuffer value_buffer(context(), bytes_of(values), item_offset<Value>(setting.input_item));
    const GuardedBuffer top_keys(context(), bytes_of(unwritten<Key>(room)), item_offset<Key>(setting.output_item));
    const GuardedBuffer top_values(context(), bytes_of(unwritten<Value>(room)),
                                   item_offset<Value>(setting.output_item));
    const GuardedBuffer indices(context(), bytes_of(unwritten<std::uint32_t>(room)), 12);
    const GuardedBuffer count(context(), bytes_of(unwritten<std::uint32_t>(1)), 20);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.item_count.value_or(0)}), 28);
    const GuardedBuffer device_k(context(), bytes_of(std::vector{setting.device_k.value_or(0)}), 36);
    constexpr bool is_half = std::is_same_v<Key, Half>;
    const std::size_t threshold_items = is_half ? 2 : 1;
    const GuardedBuffer threshold_buffer(context(), bytes_of(unwritten<Key>(threshold_items)), item_offset<Key>(2));
    TopKBuffers buffers{.keys = key_buffer.view()};
    if (shape.value) buffers.values = value_buffer.view();
    if (shape.write_keys) buffers.top_keys = top_keys.view();
    if (shape.value) buffers.top_values = top_values.view();
    if (shape.write_indices) buffers.indices = indices.view();
    if (shape.write_count) buffers.count = count.view();
    if (shape.write_threshold) buffers.threshold = threshold_buffer.view();
    if (setting.item_count) buffers.item_count = item_count.view();
    if (setting.device_k) buffers.k = device_k.view();
    run([&](WGPUCommandEncoder encoder) { return record_top_k(context(), encoder, shape, buffers, setting.tuning); });

    const auto wanted = [&]<typename T>(const std::vector<T>& items, bool is_written) {
      std::vector<T> result = unwritten<T>(room);
      if (is_written) std::ranges::copy(gathered(items, order), result.begin());
      return result;
    };
    expect_items(items_of<Key>(top_keys.read_and_check_guards()), wanted(keys, shape.write_keys));
    expect_items(items_of<Value>(top_values.read_and_check_guards()), wanted(values, shape.value.has_value()));
    auto index_result = unwritten<std::uint32_t>(room);
    if (shape.write_indices) std::ranges::copy(order, index_result.begin());
    expect_items(items_of<std::uint32_t>(indices.read_and_check_guards()), index_result);
    if (is_half) threshold.push_back(shape.write_threshold && !order.empty() ? Key{} : threshold.front());
    expect_items(items_of<Key>(threshold_buffer.read_and_check_guards()), threshold);
    const auto unwritten_count = unwritten<std::uint32_t>(1);
    expect_items(items_of<std::uint32_t>(count.read_and_check_guards()),
                 shape.write_count ? std::vector{static_cast<std::uint32_t>(order.size())} : unwritten_count);
    expect_items(items_of<Key>(key_buffer.read_and_check_guards()), keys);
    expect_items(items_of<Value>(value_buffer.read_and_check_guards()), values);
  }

  /// The same with indices, and all that is written beside the keys.
  template <typename Key>
  void check_all(const std::vector<Key>& keys, TopKShape shape, const Setting& setting) {
    shape.write_indices = true;
    shape.write_count = true;
    shape.write_threshold = true;
    check(keys, std::vector<std::uint32_t>(), shape, setting);
  }

  /// Small tiles, so that a few thousand items take many; sorts of the result alone.
  [[nodiscard]] TopKTuning tuning(bool has_candidates) const {
    TopKTuning tuning =
        select_top_k_tuning({.item_count = Count::on_host(100'000), .k = Count::on_host(100)}, context().traits());
    tuning.workgroup_size = is_tiny() ? 16 : 64;
    tuning.items_per_thread = is_tiny() ? 2 : 4;
    tuning.digit_bits = is_tiny() ? 4 : 8;
    tuning.max_workgroups = 5;
    tuning.candidate_items = has_candidates ? 0 : ~0u;
    tuning.candidate_share = 3;
    tuning.sort_all_items = 0;
    tuning.compaction = scan_tuning(one_scan_path());
    // SwiftShader takes a second for each kernel of 256 threads.
    tuning.compaction.workgroup_size = std::min(tuning.compaction.workgroup_size, 64u);
    tuning.sort = {.path = one_sort_path(),
                   .workgroup_size = is_tiny() ? 16u : 64u,
                   .items_per_thread = 2,
                   .digit_bits = is_tiny() ? 4u : 6u,
                   .use_subgroups = GetParam() == Profile::full,
                   .max_workgroups = 5,
                   .one_workgroup_items = is_tiny() ? 0u : 128u};
    return tuning;
  }
  [[nodiscard]] SortPath one_sort_path() const {
    return static_cast<int>(GetParam()) % 2 == 0 ? SortPath::single_pass : SortPath::three_pass;
  }
  [[nodiscard]] std::vector<TopKTuning> some_tunings() const {
    if (is_thorough()) return {tuning(true), tuning(false)};
    return {tuning(static_cast<int>(GetParam()) % 2 == 0)};
  }
};
INSTANTIATE_TEST_SUITE_P(, TopKGpu, profiles_without_limits, profile_name);

class TopKLimitsGpu : public TopKGpu {};
INSTANTIATE_TEST_SUITE_P(, TopKLimitsGpu, ::testing::Values(Profile::minimum_limits), profile_name);

TEST_P(TopKGpu, TheResultIsTheBeginningOfAStableSortAtEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const TopKTuning& chosen : some_tunings()) {
    const std::uint32_t tile = chosen.workgroup_size * chosen.items_per_thread;
    for (const std::uint32_t count : {1u, 2u, 17u, tile - 1, tile, tile + 1, 7 * tile + 5}) {
      // Few distinct keys, so that most have equals.
      auto keys = random_items<std::uint32_t>(count, seed + count);
      for (std::uint32_t& key : keys) key = (key % (count / 3 + 2)) << 11;
      for (const std::uint32_t k : {1u, 2u, count / 4, count / 3, count / 2 - 1, count - 1, count, count + 1}) {
        if (k == 0 || k > count + 1) continue;
        for (const TopKOrder order : {TopKOrder::sorted, TopKOrder::input_order}) {
          TopKShape shape = shape_of<std::uint32_t>(k, k % 2 == 0);
          shape.order = order;
          check_all(keys, shape, {.tuning = chosen, .input_item = count % 5, .output_item = k % 3});
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(TopKGpu, KeysOfEveryTypeAreOrderedByValueInBothDirections) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(2000);
  for (const bool largest : {false, true}) {
    const Setting setting{.tuning = tuning(largest), .input_item = 1, .output_item = 2};
    const auto check_type = [&]<typename Key>(const std::vector<Key>& keys) {
      for (const std::uint32_t k : {3u, count / 10, count / 2 - 5}) {
        TopKShape shape = shape_of<Key>(k, largest);
        shape.order = TopKOrder::input_order;
        check_all(keys, shape, setting);
      }
    };
    check_type(random_items<std::uint32_t>(count, seed));
    check_type(random_items<std::int32_t>(count, seed));
    // Words of all kinds: NaN of either sign, subnormals, -0.
    const auto words = special_words(count, seed);
    check_type(items_of<float>(bytes_of(words)));
    if (HasFailure() || !is_thorough()) return;
    std::vector<Half> halves;
    for (const std::uint32_t word : random_items<std::uint32_t>(count, seed + 1)) {
      halves.push_back({static_cast<std::uint16_t>(word % 3 == 0 ? word >> 17 : word)});
    }
    check_type(halves);
    auto longs = random_items<std::uint64_t>(count, seed);
    for (std::size_t i = 0; i < longs.size(); i += 2) longs[i] = longs[i] % 5 << 31;
    check_type(longs);
    check_type(items_of<std::int64_t>(bytes_of(longs)));
    check_type(items_of<double>(bytes_of(with_special_doubles(longs))));
    if (HasFailure()) return;
  }
}

TEST_P(TopKGpu, SortedResultsOfEveryTypeKeepTheirBits) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(1500);
  const TopKTuning chosen = tuning(true);
  const Setting setting{.tuning = chosen, .input_item = 2, .output_item = 1};
  // The zeros, and the NaN, are equal: the first ones win, with their bits.
  std::vector<std::uint32_t> words;
  std::vector<Half> halves;
  for (std::uint32_t i = 0; i < count; ++i) {
    words.push_back(i % 3 == 0 ? i << 31 : i % 5 == 0 ? 0x7fc00000 + i * 0x80000001u : i * 0x9e3779b9u);
    halves.push_back({static_cast<std::uint16_t>(words.back() >> 16)});
  }
  const auto floats = items_of<float>(bytes_of(words));
  for (const std::uint32_t k : {5u, 100u, count / 5}) {
    for (const bool largest : {true, false}) {
      check_all(floats, shape_of<float>(k, largest), setting);
      if (!is_thorough()) break;  // SwiftShader takes seconds to compile a sort
      check(floats, std::vector<std::uint32_t>(), shape_of<float>(k, largest), setting);
    }
    check_all(halves, shape_of<Half>(k, k % 2 == 1), setting);
    if (HasFailure()) return;
    if (!is_thorough()) continue;
    check_all(random_items<std::int64_t>(count, seed), shape_of<std::int64_t>(k, true), setting);
  }
}

TEST_P(TopKGpu, EveryDistributionIsRight) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(3000);
  for (const TopKTuning& chosen : some_tunings()) {
    const auto check_keys = [&](auto key_of) {
      std::vector<std::uint32_t> keys;
      for (std::uint32_t i = 0; i < count; ++i) keys.push_back(key_of(i));
      for (const std::uint32_t k : {1u, 64u, count / 3 - 1}) {
        TopKShape shape = shape_of<std::uint32_t>(k, k == 64);
        shape.order = k == 1 ? TopKOrder::sorted : TopKOrder::input_order;
        check_all(keys, shape, {.tuning = chosen});
      }
    };
    check_keys([](std::uint32_t) { return 0xffffffffu; });
    check_keys([](std::uint32_t) { return 0u; });
    check_keys([](std::uint32_t i) { return i; });
    check_keys([&](std::uint32_t i) { return (count - i) << 20; });
    // One greatest digit; then one but for the last bits.
    check_keys([](std::uint32_t i) { return 0xab000000u + (i * 2654435761u >> 8); });
    check_keys([](std::uint32_t i) { return 0x12345678u + (i * 7 % 3); });
    check_keys([](std::uint32_t i) { return 1u << (i * 7 % 32); });
    check_keys([](std::uint32_t i) { return i == 777 ? 5u : 0x80000000u + (i % 2); });
    if (HasFailure()) return;
  }
}

// Case C32: keys that are the value of padding.
TEST_P(TopKGpu, ExtremeKeysAreNoPadding) {
  constexpr std::uint32_t count = 1023;
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (const std::optional<TopKTuning>& chosen : {std::optional<TopKTuning>(), std::optional(tuning(true))}) {
    for (const std::uint32_t k : {1u, 500u, count}) {
      TopKShape shape = shape_of<std::uint32_t>(k);
      shape.value = ElementType::u32();
      check(std::vector<std::uint32_t>(count, 0xffffffffu), numbers, shape, {.tuning = chosen});
      shape.largest = true;
      if (!chosen && k != count) continue;  // sorts of many kinds take long to compile
      check(std::vector<std::uint32_t>(count, 0), numbers, shape, {.tuning = chosen});
      TopKShape floats = shape_of<float>(k);
      floats.value = ElementType::u32();
      check(std::vector<float>(count, std::bit_cast<float>(0x7fffffffu)), numbers, floats, {.tuning = chosen});
      if (HasFailure()) return;
    }
    if (!is_thorough()) break;
  }
}

TEST_P(TopKGpu, TheNthElementAloneIsFound) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(5000);
  const auto floats = random_items<float>(count, seed);
  const auto longs = random_items<std::int64_t>(count, seed);
  std::vector<std::optional<TopKTuning>> tunings{std::nullopt};
  for (const TopKTuning& chosen : some_tunings()) tunings.emplace_back(chosen);
  for (const auto& chosen : tunings) {
    for (const std::uint32_t k : {1u, count / 4, count / 2, count - 1, count, count + 10}) {
      TopKShape shape = shape_of<float>(k);
      shape.write_keys = false;
      shape.write_threshold = true;
      check(floats, std::vector<std::uint32_t>(), shape, {.tuning = chosen, .input_item = k % 4});
      shape.write_count = true;
      check(floats, std::vector<std::uint32_t>(), shape, {.tuning = chosen, .item_count = count / 2});
      if (HasFailure()) return;
    }
    TopKShape shape = shape_of<std::int64_t>(count / 3, true);
    shape.write_keys = false;
    shape.write_threshold = true;
    check(longs, std::vector<std::uint32_t>(), shape, {.tuning = chosen});
    if (!is_thorough()) break;
  }
}

TEST_P(TopKGpu, CountsAreReadOnTheDevice) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto keys = random_items<std::uint32_t>(affordable(2500), seed);
  const auto size = static_cast<std::uint32_t>(keys.size());
  std::vector<std::uint32_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (const TopKTuning& chosen : some_tunings()) {
    for (const TopKOrder order : {TopKOrder::sorted, TopKOrder::input_order}) {
      TopKShape shape = shape_of<std::uint32_t>(size / 4, true);
      shape.order = order;
      for (const std::uint32_t used : {0u, 1u, size / 5, size, size + 100}) {
        check_all(keys, shape, {.tuning = chosen, .item_count = used});
        for (const std::uint32_t k : {0u, 1u, size / 6, size / 4, size}) {
          check_all(keys, shape, {.tuning = chosen, .item_count = used, .device_k = k});
          if (HasFailure()) return;
        }
      }
      for (const std::uint32_t k : {0u, 1u, size / 4}) check_all(keys, shape, {.tuning = chosen, .device_k = k});
      shape.value = ElementType::u32();
      check(keys, numbers, shape, {.tuning = chosen, .item_count = size / 2, .device_k = 33});
    }
  }
  // What comes from a sort of all.
  const std::vector<std::uint32_t> few(keys.begin(), keys.begin() + 600);
  for (const std::uint32_t used : {0u, 1u, 599u, 700u}) {
    for (const std::uint32_t k : {0u, 5u, 400u}) {
      check_all(few, shape_of<std::uint32_t>(400), {.item_count = used, .device_k = k});
    }
  }
}

TEST_P(TopKGpu, FewItemsAndLargeResultsComeFromASortOfAll) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto check_type = [&]<typename Key>(const std::vector<Key>& keys, std::uint32_t k) {
    check_all(keys, shape_of<Key>(k, k % 2 == 1), {.output_item = 1});
    TopKShape shape = shape_of<Key>(k);
    check(keys, std::vector<std::uint32_t>(), shape, {});
    shape.write_keys = false;
    shape.value = ElementType::u64();
    check(keys, random_items<std::uint64_t>(keys.size(), seed), shape, {.input_item = 1});
  };
  for (const std::uint32_t count : {1u, 2u, 100u, 500u}) {
    for (const std::uint32_t k : {1u, count / 2 + 1, count, count + 3}) {
      check_type(random_items<std::uint32_t>(count, seed + count), k);
      if (HasFailure()) return;
    }
  }
  std::vector<Half> halves;
  for (const std::uint32_t word : random_items<std::uint32_t>(333, seed)) {
    halves.push_back({static_cast<std::uint16_t>(word)});
  }
  check_type(halves, 100);
  if (is_thorough()) check_type(random_items<std::int64_t>(222, seed), 101);
  TopKTuning chosen = tuning(true);
  for (const std::uint32_t k : {500u, 999u, 1000u}) {
    check_all(random_items<float>(1000, seed), shape_of<float>(k), {.tuning = chosen});
  }
}

TEST_P(TopKGpu, ValuesOfEveryTypeFollowTheirKeys) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(1200);
  const auto keys = random_items<std::uint32_t>(count, seed);
  Random random(seed);
  std::vector<Tally<3>> records;
  std::vector<Half> halves;
  for (std::uint32_t i = 0; i < count; ++i) {
    records.push_back(Tally<3>::item(random));
    halves.push_back({static_cast<std::uint16_t>(random.next())});
  }
  for (const TopKOrder order : {TopKOrder::sorted, TopKOrder::input_order}) {
    for (const std::uint32_t k : {1u, 40u, 101u}) {
      const Setting setting{.tuning = tuning(k != 1), .input_item = 3, .output_item = k % 2};
      TopKShape shape = shape_of<std::uint32_t>(k, true);
      shape.order = order;
      const auto check_values = [&]<typename Value>(const std::vector<Value>& values, const ElementType& type) {
        shape.value = type;
        shape.write_keys = k != 40;
        shape.write_indices = k == 101;
        check(keys, values, shape, setting);
      };
      check_values(halves, ElementType::f16());
      check_values(random_items<std::uint64_t>(count, seed), ElementType::u64());
      check_values(records, Tally<3>::type());
      if (HasFailure()) return;
      if (!is_thorough()) continue;
      check_values(random_items<Vec<std::uint32_t, 4>>(count, seed), ElementType::vec(Scalar::u32, 4));
      shape.key = ElementType::f16();
      check(
          halves, halves,
          [&] {
            TopKShape both = shape;
            both.value = ElementType::f16();
            return both;
          }(),
          setting);
    }
  }
}

TEST_P(TopKGpu, NothingWantedWritesTheCountAlone) {
  const auto keys = random_items<float>(500, test_seed());
  for (const std::optional<TopKTuning>& chosen : {std::optional<TopKTuning>(), std::optional(tuning(true))}) {
    check_all(keys, shape_of<float>(0), {.tuning = chosen});
    check_all(std::vector<float>(), shape_of<float>(7), {.tuning = chosen});
    check_all(keys, shape_of<float>(0), {.tuning = chosen, .item_count = 400});
    // Counts that the kernels before left in order.
    check_all(keys, shape_of<float>(3), {.tuning = chosen});
  }
}

TEST_P(TopKGpu, OneCommandBufferHoldsManySearches) {
  const std::uint64_t seed = test_seed();
  const TopKTuning chosen = tuning(true);
  const auto a = random_items<std::uint32_t>(1000, seed);
  const auto b = random_items<std::uint32_t>(1700, seed + 1);
  const GuardedBuffer keys_a(context(), bytes_of(a));
  const GuardedBuffer keys_b(context(), bytes_of(b));
  const GuardedBuffer first(context(), bytes_of(unwritten<std::uint32_t>(70)));
  const GuardedBuffer second(context(), bytes_of(unwritten<std::uint32_t>(90)));
  const GuardedBuffer third(context(), bytes_of(unwritten<std::uint32_t>(70)));
  const auto record = [&](WGPUCommandEncoder encoder) -> Status {
    for (const auto& [keys, top, count, k] : {std::tuple{&keys_a, &first, a.size(), 70u},
                                              {&keys_b, &second, b.size(), 90u},
                                              {&keys_a, &third, a.size(), 70u}}) {
      TopKShape shape = shape_of<std::uint32_t>(k, true);
      shape.item_count = Count::on_host(count);
      const Status recorded =
          record_top_k(context(), encoder, shape, {.keys = keys->view(), .top_keys = top->view()}, chosen);
      if (!recorded) return recorded;
    }
    return {};
  };
  run(record);
  const auto plans = context().statistics().plans_made;
  const auto pipelines = context().statistics().pipelines_created;
  run(record);
  EXPECT_EQ(context().statistics().plans_made, plans);
  EXPECT_EQ(context().statistics().pipelines_created, pipelines);
  const auto wanted = [](const std::vector<std::uint32_t>& keys, std::size_t k) {
    return gathered(keys, first_of_sort(keys, k, true));
  };
  expect_items(items_of<std::uint32_t>(first.read_and_check_guards()), wanted(a, 70));
  expect_items(items_of<std::uint32_t>(second.read_and_check_guards()), wanted(b, 90));
  expect_items(items_of<std::uint32_t>(third.read_and_check_guards()), wanted(a, 70));
}

TEST_P(TopKGpu, KeysAndResultsMayLieInOneBuffer) {
  const auto keys = random_items<std::uint32_t>(1000, test_seed());
  constexpr std::uint64_t result_offset = 4096;
  std::vector<std::uint32_t> image = keys;
  image.resize(result_offset / 4 + 50, 0x4d4d4d4du);
  const GuardedBuffer buffer(context(), bytes_of(image));
  TopKShape shape = shape_of<std::uint32_t>(50);
  shape.item_count = Count::on_host(keys.size());
  BufferView result = buffer.view();
  result.offset_bytes += result_offset;
  run([&](WGPUCommandEncoder encoder) {
    return record_top_k(context(), encoder, shape, {.keys = buffer.view(), .top_keys = result}, tuning(true));
  });
  std::ranges::copy(gathered(keys, first_of_sort(keys, 50, false)), image.begin() + result_offset / 4);
  expect_items(items_of<std::uint32_t>(buffer.read_and_check_guards()), image);
}

TEST_P(TopKLimitsGpu, KernelsInsideTheDefaultLimitsAreRight) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  TopKTuning chosen =
      select_top_k_tuning({.item_count = Count::on_host(5000), .k = Count::on_host(300)}, context().traits());
  chosen.workgroup_size = 256;
  chosen.candidate_items = 0;
  chosen.sort_all_items = 0;
  auto keys = random_items<std::int32_t>(5000, seed);
  TopKShape shape = shape_of<std::int32_t>(300, true);
  shape.order = TopKOrder::input_order;
  check_all(keys, shape, {.tuning = chosen});
  shape.k.max = 2000;
  check_all(keys, shape, {.tuning = chosen});
  for (std::int32_t& key : keys) key = key % 3 - 1;
  check_all(keys, shape, {.tuning = chosen});
}

TEST_P(TopKGpu, HostArraysHaveAFrontOfTheirOwn) {
  if (GetParam() != Profile::full) return;
  const auto items = random_items<float>(700, test_seed());
  const auto top = host::top_k<float>(context(), items, 5);
  ASSERT_TRUE(top.has_value()) << top.error().message;
  const auto order = first_of_sort(items, 5, true);
  expect_items(top->items, gathered(items, order));
  EXPECT_EQ(top->indices, order);
  const auto few = host::top_k<double>(context(), std::vector{2.0, -1.0, 2.0}, 5, false);
  ASSERT_TRUE(few.has_value()) << few.error().message;
  EXPECT_EQ(few->items, (std::vector{-1.0, 2.0, 2.0}));
  EXPECT_EQ(few->indices, (std::vector<std::uint32_t>{1, 0, 2}));
  const auto median = host::nth_element<float>(context(), items, 350);
  ASSERT_TRUE(median.has_value()) << median.error().message;
  EXPECT_EQ(*median, items[first_of_sort(items, 351, false).back()]);
  const auto none = host::nth_element<float>(context(), items, 700);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("position 700 is none of the 700 items"));
  const auto nothing = host::top_k<float>(context(), std::vector<float>(), 5);
  ASSERT_TRUE(nothing.has_value()) << nothing.error().message;
  EXPECT_TRUE(nothing->items.empty());
}

TEST_P(TopKGpu, WrongViewsAreRefused) {
  const GuardedBuffer keys(context(), bytes_of(unwritten<std::uint32_t>(100)));
  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context().device(), nullptr);
  TopKShape shape = shape_of<std::uint32_t>(10);
  shape.item_count = Count::on_host(100);
  const auto message = [&](const TopKBuffers& buffers) {
    const Status status = record_top_k(context(), encoder, shape, buffers);
    return status ? std::string("ok") : status.error().message;
  };
  EXPECT_THAT(message({.keys = keys.view(), .top_keys = keys.view()}), HasSubstr("overlap"));
  EXPECT_THAT(message({.keys = keys.view()}), HasSubstr("Argument top_keys has no buffer"));
  wgpuCommandEncoderRelease(encoder);
}

}  // namespace
}  // namespace upsweep::testing
