// SPDX-License-Identifier: Apache-2.0
// Sorts on a device against std::stable_sort. Values number the items, so that every result shows whether it is stable.
#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <format>
#include <limits>
#include <numeric>
#include <thread>

#include "exec/self_test.h"
#include "primitives/sort/sort_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

/// How one sort of a test runs, beside its shape.
struct Setting {
  std::optional<SortTuning> tuning = {};
  std::uint64_t input_item = 0;
  std::uint64_t output_item = 0;
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class SortGpu : public GpuTest {
 protected:
  /// Sorts `keys` with `values` and checks what the shape writes.
  template <typename Key, typename Value>
  void check(const std::vector<Key>& keys, const std::vector<Value>& values, SortShape shape, const Setting& setting) {
    shape.item_count = {keys.size(), setting.count.has_value()};
    SCOPED_TRACE(std::format("{} {}{} bits [{}, {}){}{}{}{}, tuning {}", keys.size(), shape.key.name,
                             shape.key_is_f64 ? " (f64)" : "", shape.begin_bit, shape.end_bit,
                             shape.descending ? " descending" : "", shape.in_place ? " in place" : "",
                             shape.value ? " with " + shape.value->name : "",
                             setting.count ? std::format(", {} on the device", *setting.count) : "",
                             setting.tuning ? to_string(*setting.tuning) : "of the library"));
    const std::size_t used = std::min<std::size_t>(keys.size(), setting.count.value_or(0xffffffffu));
    const std::vector<Key> first(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(used));
    const auto order = sorted_indices(first, shape);

    const GuardedBuffer key_buffer(context(), bytes_of(keys), item_offset<Key>(setting.input_item));
    const GuardedBuffer value_buffer(context(), bytes_of(values), item_offset<Value>(setting.input_item));
    const GuardedBuffer sorted_keys(context(), bytes_of(unwritten<Key>(keys.size())),
                                    item_offset<Key>(setting.output_item));
    const GuardedBuffer sorted_values(context(), bytes_of(unwritten<Value>(values.size())),
                                      item_offset<Value>(setting.output_item));
    const GuardedBuffer indices(context(), bytes_of(unwritten<std::uint32_t>(keys.size())), 12);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 20);
    SortBuffers buffers;
    if (!shape.in_place) buffers.keys = key_buffer.view();
    if (shape.value && !shape.in_place) buffers.values = value_buffer.view();
    if (shape.write_keys) buffers.sorted_keys = shape.in_place ? key_buffer.view() : sorted_keys.view();
    if (shape.value) buffers.sorted_values = shape.in_place ? value_buffer.view() : sorted_values.view();
    if (shape.write_indices) buffers.indices = indices.view();
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) { return record_sort(context(), encoder, shape, buffers, setting.tuning); });

    const auto wanted = [&]<typename T>(const std::vector<T>& items, bool is_written) {
      std::vector<T> result = shape.in_place ? items : unwritten<T>(items.size());
      if (is_written) std::ranges::copy(gathered(items, order), result.begin());
      return result;
    };
    expect_items(items_of<Key>((shape.in_place ? key_buffer : sorted_keys).read_and_check_guards()),
                 wanted(keys, shape.write_keys));
    expect_items(items_of<Value>((shape.in_place ? value_buffer : sorted_values).read_and_check_guards()),
                 wanted(values, shape.value.has_value()));
    auto index_result = unwritten<std::uint32_t>(keys.size());
    if (shape.write_indices) std::ranges::copy(order, index_result.begin());
    expect_items(items_of<std::uint32_t>(indices.read_and_check_guards()), index_result);
    if (shape.in_place) return;
    expect_items(items_of<Key>(key_buffer.read_and_check_guards()), keys);
    expect_items(items_of<Value>(value_buffer.read_and_check_guards()), values);
  }

  /// The same with values that number the items.
  template <typename Key>
  void check_pairs(const std::vector<Key>& keys, SortShape shape, const Setting& setting) {
    std::vector<std::uint32_t> numbers(keys.size());
    std::iota(numbers.begin(), numbers.end(), 0u);
    shape.value = ElementType::u32();
    check(keys, numbers, shape, setting);
  }

  /// Small tiles, so that a few thousand items take many; else the profile's own.
  [[nodiscard]] SortTuning tuning(SortPath path) const {
    SortTuning tuning = select_sort_tuning({.item_count = Count::on_host(100'000)}, context().traits());
    tuning.path = path;
    tuning.one_workgroup_items = 0;
    tuning.workgroup_size = 64;
    tuning.digit_bits = 6;
    // SwiftShader takes minutes to compile five items of 64 bits that are ranked in workgroup memory.
    tuning.items_per_thread = GetParam() == Profile::no_subgroups ? 3 : 5;
    tuning.use_subgroups = true;
    if (is_tiny()) {
      tuning.workgroup_size = 16;
      tuning.digit_bits = 4;
      tuning.items_per_thread = 2;
      tuning.stage_rounds = 2;
      tuning.look_back_late = false;
      tuning.max_workgroups = 5;
    } else if (GetParam() == Profile::minimum_limits) {
      tuning.workgroup_size = 256;
      tuning.digit_bits = 8;
      tuning.items_per_thread = 3;
    }
    return tuning;
  }
  [[nodiscard]] SortPath one_path() const {
    return static_cast<int>(GetParam()) % 2 == 0 ? SortPath::single_pass : SortPath::three_pass;
  }
  [[nodiscard]] std::vector<SortPath> some_paths() const {
    if (is_thorough()) return {SortPath::three_pass, SortPath::single_pass};
    return {one_path()};
  }
};
INSTANTIATE_TEST_SUITE_P(, SortGpu, all_profiles, profile_name);

TEST_P(SortGpu, PairsAreSortedAndStableAtEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const SortPath path : some_paths()) {
    const SortTuning chosen = tuning(path);
    const std::uint32_t tile = chosen.workgroup_size * chosen.items_per_thread;
    for (const std::uint32_t count :
         {1u, 2u, 15u, 16u, 17u, tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 1, 7 * tile + 5, 11 * tile}) {
      // Few distinct keys, so that most have equals.
      auto keys = random_items<std::uint32_t>(count, seed + count);
      for (std::uint32_t& key : keys) key %= count / 3 + 2;
      check_pairs(keys, {.key = ElementType::u32()},
                  {.tuning = chosen, .input_item = count % 5, .output_item = count % 3});
      if (HasFailure()) return;
    }
  }
}

TEST_P(SortGpu, OneWorkgroupSortsWhatFits) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const std::uint32_t count : {1u, 2u, 3u, 63u, 64u, 65u, 255u, 257u, 500u, 512u, 1000u}) {
    check_pairs(random_items<std::uint32_t>(count, seed + count), {.key = ElementType::u32()}, {.output_item = 1});
    if (HasFailure()) return;
  }
  check_pairs(random_items<std::uint32_t>(333, seed), {.key = ElementType::u32(), .in_place = true}, {});
}

TEST_P(SortGpu, KeysOfEveryTypeAreOrderedByValueInBothDirections) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(2500);
  const Setting setting{.tuning = tuning(one_path()), .input_item = 1, .output_item = 2};
  for (const bool descending : {false, true}) {
    check_pairs(random_items<std::uint32_t>(count, seed), {.key = ElementType::u32(), .descending = descending},
                setting);
    check_pairs(random_items<std::int32_t>(count, seed), {.key = ElementType::i32(), .descending = descending},
                setting);
    // Words of all kinds: NaN of either sign, subnormals, -0.
    const auto words = special_words(count, seed);
    check_pairs(items_of<float>(bytes_of(words)), {.key = ElementType::f32(), .descending = descending}, setting);
    if (HasFailure() || !is_thorough()) return;
    std::vector<Half> halves;
    for (const std::uint32_t word : random_items<std::uint32_t>(count, seed + 1)) {
      halves.push_back({static_cast<std::uint16_t>(word)});
    }
    check_pairs(halves, {.key = ElementType::f16(), .descending = descending}, setting);
    auto longs = random_items<std::uint64_t>(count, seed);
    for (std::size_t i = 0; i < longs.size(); i += 2) longs[i] = longs[i] % 5 << 31;
    check_pairs(longs, {.key = ElementType::u64(), .descending = descending}, setting);
    check_pairs(items_of<std::int64_t>(bytes_of(longs)), {.key = ElementType::i64(), .descending = descending},
                setting);
    check_pairs(items_of<double>(bytes_of(with_special_doubles(longs))),
                {.key = ElementType::u64(), .key_is_f64 = true, .descending = descending}, setting);
    if (HasFailure()) return;
  }
}

// Zeros of both signs keep their order, and their bits.
TEST_P(SortGpu, ZerosOfBothSignsAreEqual) {
  const std::vector<std::uint32_t> words{0x00000000, 0x80000000, 0x00000000, 0x80000000};
  const auto zeros = items_of<float>(bytes_of(words));
  for (const bool descending : {false, true}) {
    check_pairs(zeros, {.key = ElementType::f32(), .descending = descending}, {});
    check_pairs(zeros, {.key = ElementType::f32(), .descending = descending}, {.tuning = tuning(one_path())});
  }
}

TEST_P(SortGpu, EveryDistributionIsSorted) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(2000);
  const Setting setting{.tuning = tuning(one_path())};
  const auto check_all = [&](auto key_of) {
    std::vector<std::uint32_t> keys;
    for (std::uint32_t i = 0; i < count; ++i) keys.push_back(key_of(i));
    check_pairs(keys, {.key = ElementType::u32()}, setting);
  };
  check_all([](std::uint32_t) { return 0xffffffffu; });
  check_all([](std::uint32_t i) { return i; });
  check_all([&](std::uint32_t i) { return count - i; });
  check_all([](std::uint32_t i) { return (i & 0xff) << 8 | (i >> 8 & 0xff); });
  check_all([](std::uint32_t i) { return 1u << (i * 7 % 32); });
  check_all([](std::uint32_t i) { return 0xfffffffeu + (i * 5 % 3 == 0 ? 1 : 0); });
  std::vector<float> nans(count, std::bit_cast<float>(0x7fffffffu));
  check_pairs(nans, {.key = ElementType::f32()}, setting);
  check_pairs(std::vector<std::uint32_t>(count, 0), {.key = ElementType::u32(), .descending = true}, setting);
}

TEST_P(SortGpu, ARangeOfBitsAloneDecides) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::vector<std::uint32_t> six{0x80000001, 5, 0xC0000000, 0x40000002, 3, 0x80000000};
  const Setting setting{.tuning = tuning(one_path())};
  for (const Setting& s : {Setting{}, setting}) {
    check_pairs(six, {.key = ElementType::u32(), .begin_bit = 30, .end_bit = 32}, s);
  }
  const auto keys = random_items<std::uint32_t>(affordable(1500), seed);
  const auto longs = random_items<std::int64_t>(affordable(1500), seed);
  for (const auto& [begin, end] : {std::pair{1u, 32u}, {7u, 31u}, {8u, 16u}, {31u, 32u}, {0u, 24u}, {0u, 1u}}) {
    check_pairs(keys, {.key = ElementType::u32(), .begin_bit = begin, .end_bit = end}, setting);
    check_pairs(keys, {.key = ElementType::u32(), .begin_bit = begin, .end_bit = end, .in_place = true}, setting);
    if (!is_thorough()) break;
  }
  for (const auto& [begin, end] : {std::pair{7u, 45u}, {29u, 35u}, {40u, 0u}}) {
    check_pairs(longs, {.key = ElementType::i64(), .begin_bit = begin, .end_bit = end}, setting);
  }
}

TEST_P(SortGpu, ValuesOfEveryTypeTravelWithTheirKeys) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(1200);
  const auto keys = random_items<std::uint32_t>(count, seed);
  const Setting setting{.tuning = tuning(one_path()), .input_item = 3, .output_item = 1};
  for (const Setting& s : {setting, Setting{.input_item = 1}}) {
    check(keys, random_items<std::uint64_t>(count, seed), {.value = ElementType::u64()}, s);
    if (HasFailure() || !is_thorough()) return;
    check(keys, random_items<Vec<std::uint32_t, 4>>(count, seed), {.value = ElementType::vec(Scalar::u32, 4)}, s);
    Random random(seed);
    std::vector<Tally<3>> records;
    std::vector<Half> halves;
    for (std::uint32_t i = 0; i < count; ++i) {
      records.push_back(Tally<3>::item(random));
      halves.push_back({static_cast<std::uint16_t>(random.next())});
    }
    check(keys, records, {.value = Tally<3>::type()}, s);
    check(keys, halves, {.value = ElementType::f16()}, s);
    check(halves, halves, {.key = ElementType::f16(), .value = ElementType::f16(), .in_place = true}, s);
    check(keys, halves, {.value = ElementType::f16(), .in_place = true}, s);
    if (HasFailure()) return;
  }
}

TEST_P(SortGpu, ArgsortSaysWhereItemsWere) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto keys = random_items<std::uint32_t>(affordable(1500), seed);
  const auto longs = random_items<std::uint64_t>(affordable(1500), seed);
  std::vector<Half> halves;
  for (const std::uint32_t key : keys) halves.push_back({static_cast<std::uint16_t>(key)});
  const std::vector<std::uint32_t> none;
  for (const Setting& s : {Setting{.tuning = tuning(one_path()), .input_item = 2}, Setting{}}) {
    check(keys, none, {.write_keys = false, .write_indices = true}, s);
    check(keys, none, {.begin_bit = 3, .end_bit = 13, .write_keys = false, .write_indices = true}, s);
    check(keys, none, {.write_indices = true}, s);
    check(keys, none, {.write_indices = true, .in_place = true}, s);
    check(longs, none, {.key = ElementType::u64(), .write_keys = false, .write_indices = true}, s);
    check(halves, none, {.key = ElementType::f16(), .write_keys = false, .write_indices = true}, s);
    check(keys, longs, {.value = ElementType::u64(), .write_keys = false, .write_indices = true}, s);
    check(keys, longs, {.value = ElementType::u64(), .write_keys = false}, s);
    if (HasFailure() || !is_thorough()) return;
  }
}

TEST_P(SortGpu, KeysAloneAndInPlaceAndWithCountsOnTheDevice) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto keys = random_items<std::uint32_t>(affordable(3000), seed);
  const std::vector<std::uint32_t> none;
  const auto size = static_cast<std::uint32_t>(keys.size());
  for (const SortPath path : some_paths()) {
    check(keys, none, {}, {.tuning = tuning(path), .output_item = 3});
    check(keys, none, {.in_place = true}, {.tuning = tuning(path)});
    for (const std::uint32_t used : {0u, 1u, size / 2, size, size + 100}) {
      check_pairs(keys, {}, {.tuning = tuning(path), .count = used});
      check_pairs(keys, {.in_place = true}, {.tuning = tuning(path), .count = used});
    }
  }
  const std::vector<std::uint32_t> few(keys.begin(), keys.begin() + 600);
  for (const std::uint32_t used : {0u, 1u, 599u, 700u}) check_pairs(few, {}, {.count = used});
}

TEST_P(SortGpu, OneCommandBufferHoldsManySorts) {
  const std::uint64_t seed = test_seed();
  const SortTuning chosen = tuning(one_path());
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
      const Status recorded = record_sort(context(), encoder, {.item_count = Count::on_host(count)},
                                          {.keys = keys->view(), .sorted_keys = sorted->view()}, chosen);
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

struct Name {
  float weight;
  std::uint32_t group;
  std::uint32_t low;  // of a signed 64-bit number
  std::uint32_t high;
  std::uint32_t note;  // no field of the order
  bool operator==(const Name&) const = default;
};

TEST_P(SortGpu, StructsAreSortedByTheirFieldsTheFirstOneFirst) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const auto type =
      ElementType::structure("Name", "struct Name { weight: f32, group: u32, low: u32, high: u32, note: u32 }", 20, 20);
  ASSERT_TRUE(type.has_value());
  const KeyField weight{.offset_bytes = 0, .type = ElementType::f32(), .descending = true};
  const KeyField group{.offset_bytes = 4};
  const KeyField number{.offset_bytes = 8, .type = ElementType::i64()};
  const float weights[] = {0.0f, -0.0f, 1.5f, -2.0f, std::numeric_limits<float>::quiet_NaN()};
  for (const std::uint32_t count : {1u, 2u, 300u, affordable(3000)}) {
    std::vector<Name> names;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random.next() % end); };
      names.push_back({weights[below(5)], below(3), below(2), below(2) == 0 ? ~0u : below(3), i});
    }
    for (const auto& fields : {std::vector{group}, {group, weight}, {weight, number, group}}) {
      if (fields.size() == 1 && count > 300) continue;
      if (fields.size() == 3 && !is_thorough()) continue;  // SwiftShader is slow to compile keys of 64 bits
      SortShape shape{.item_count = Count::on_host(count), .key = *type, .key_fields = fields};
      shape.descending = count == 300;
      shape.write_indices = fields.size() != 2;
      shape.write_keys = fields.size() != 3;
      shape.value = ElementType::u64();
      if (count > 300) shape.item_count.read_on_device = true;
      const std::uint32_t used = count > 300 ? count - 7 : count;
      SCOPED_TRACE(std::format("{} items by {} fields", count, fields.size()));
      std::vector<std::uint32_t> order(used);
      std::iota(order.begin(), order.end(), 0u);
      // -1, 0 or 1, by one field.
      const auto compare = [&](const Name& a, const Name& b, const KeyField& field) {
        const auto sign = [&](const auto& x, const auto& y) {
          return int{is_less_by_value(y, x)} - int{is_less_by_value(x, y)};
        };
        int result = sign(a.group, b.group);
        if (field == weight) result = sign(a.weight, b.weight);
        if (field == number) {
          const auto whole = [](const Name& n) {
            return static_cast<std::int64_t>(std::uint64_t{n.high} << 32 | n.low);
          };
          result = sign(whole(a), whole(b));
        }
        return field.descending != shape.descending ? -result : result;
      };
      std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
        for (const KeyField& field : fields) {
          const int result = compare(names[a], names[b], field);
          if (result != 0) return result < 0;
        }
        return false;
      });
      const auto values = random_items<std::uint64_t>(count, seed + count);
      const GuardedBuffer keys(context(), bytes_of(names), item_offset<Name>(3));
      const GuardedBuffer value_buffer(context(), bytes_of(values), 8);
      const GuardedBuffer sorted_keys(context(), bytes_of(unwritten<Name>(count)), item_offset<Name>(1));
      const GuardedBuffer sorted_values(context(), bytes_of(unwritten<std::uint64_t>(count)), 24);
      const GuardedBuffer indices(context(), bytes_of(unwritten<std::uint32_t>(count)), 4);
      const GuardedBuffer item_count(context(), bytes_of(std::vector{used}), 12);
      SortBuffers buffers{.keys = keys.view(), .values = value_buffer.view(), .sorted_values = sorted_values.view()};
      if (shape.write_keys) buffers.sorted_keys = sorted_keys.view();
      if (shape.write_indices) buffers.indices = indices.view();
      if (shape.item_count.read_on_device) buffers.item_count = item_count.view();
      const auto chosen = count == 300 ? std::optional<SortTuning>() : tuning(one_path());
      run([&](WGPUCommandEncoder encoder) { return record_sort(context(), encoder, shape, buffers, chosen); });
      const auto wanted = [&]<typename T>(const std::vector<T>& items, bool is_written) {
        std::vector<T> result = unwritten<T>(items.size());
        if (is_written) std::ranges::copy(gathered(items, order), result.begin());
        return result;
      };
      // Bit by bit: NaN is not equal to itself.
      const auto words_of = [](const std::vector<Name>& items) { return items_of<std::uint32_t>(bytes_of(items)); };
      expect_items(items_of<std::uint32_t>(sorted_keys.read_and_check_guards()),
                   words_of(wanted(names, shape.write_keys)));
      expect_items(items_of<std::uint64_t>(sorted_values.read_and_check_guards()), wanted(values, true));
      std::vector<std::uint32_t> numbers(count);
      std::iota(numbers.begin(), numbers.end(), 0u);
      expect_items(items_of<std::uint32_t>(indices.read_and_check_guards()), wanted(numbers, shape.write_indices));
      if (HasFailure()) return;
    }
  }
}

// Tiles that never publish: those behind them count what is missing, and the sort ends, right.
TEST_P(SortGpu, StalledTilesAreCountedByOthers) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto keys = random_items<std::uint32_t>(affordable(3000), seed);
  const DeviceTraits traits = context().traits();
  for (const auto& [hidden, look_records] : {std::pair{1u, 8u}, {2u, 1u}, {4u, 16u}}) {
    DeviceTraits hiding = traits;
    hiding.test_hidden_chunks = hidden;
    context().override_traits(hiding);
    SortTuning chosen = tuning(SortPath::single_pass);
    chosen.poll_rounds = 4;
    chosen.look_records = look_records;
    check_pairs(keys, {}, {.tuning = chosen});
    check_pairs(keys, {.begin_bit = 4, .end_bit = 32, .in_place = true}, {.tuning = chosen});
    if (!is_thorough()) break;
  }
  context().override_traits(traits);
}

// On every device of the tests subgroups do run in lock-step.
TEST_P(SortGpu, TheSelfTestTellsRightRanksFromBrokenOnes) {
  if (GetParam() != Profile::full) return;
  const DeviceTraits traits = context().traits();
  for (const bool is_broken : {false, true}) {
    DeviceTraits tried = traits;
    tried.test_broken_look_back = is_broken;
    context().override_traits(tried);
    begin_lock_step_test(context());
    const Status ran = run_lock_step_test(context());
    EXPECT_TRUE(ran.has_value()) << ran.error().message;
    EXPECT_EQ(context().traits().lock_step, !is_broken);
    EXPECT_EQ(context().probe_report().lock_step, !is_broken);
  }
  context().override_traits(traits);
}

TEST_P(SortGpu, SmallTilesServeUntilTheKernelsForLargeOnesAreCompiled) {
  if (GetParam() != Profile::full) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits gpu = traits;
  gpu.is_cpu = false;  // where compiling is quick or slow, but not the work
  context().override_traits(gpu);
  // So many that the library takes large tiles.
  const auto keys = random_items<std::int32_t>(traits.is_cpu ? 5000 : 300'000, test_seed());
  const SortShape shape{.key = ElementType::i32(), .descending = true, .end_bit = 16};
  const auto made = [&] { return context().statistics().plans_made; };
  const auto before = made();
  check_pairs(keys, shape, {});
  EXPECT_EQ(made(), before + 2) << "no other plan stood in";
  // The second call begins the large ones.
  const auto small = context().statistics().pipelines_created;
  check_pairs(keys, shape, {});
  for (int round = 0; round < 6000 && context().statistics().pipelines_created == small; ++round) {
    context().poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(context().statistics().pipelines_created, small);
  SortShape pairs = shape;
  pairs.item_count = Count::on_host(keys.size());
  pairs.value = ElementType::u32();
  const auto plan = plan_sort(pairs, context().traits());
  ASSERT_TRUE(plan.has_value());
  ASSERT_TRUE(context().prepare(*plan).has_value());
  const auto created = context().statistics().pipelines_created;
  check_pairs(keys, shape, {});
  EXPECT_EQ(made(), before + 2);
  EXPECT_EQ(context().statistics().pipelines_created, created);
  context().override_traits(traits);
}

// What is written makes every range of its buffer writable, and its words differ from thread to thread to a compiler.
TEST_P(SortGpu, InputsOutputsAndCountMayBeRangesOfOneBuffer) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const bool is_small : {true, false}) {
    const std::uint32_t count = is_small ? 100 : 1000;
    const std::uint32_t used = count - 9;
    constexpr std::uint64_t range_bytes = 16384;
    const auto keys = random_items<std::uint32_t>(count, seed);
    for (const bool has_keys : {true, false}) {
      for (const SortPath path : {SortPath::three_pass, SortPath::single_pass}) {
        SCOPED_TRACE(std::format("{} items, keys {}, {}", count, has_keys, to_string(path)));
        std::vector<std::byte> image(4 * range_bytes, std::byte{0x4d});
        std::memcpy(image.data(), keys.data(), count * 4);
        std::memcpy(image.data() + 3 * range_bytes, &used, 4);
        const GuardedBuffer buffer(context(), image);
        const auto range = [&](std::uint64_t number) {
          return BufferView(buffer.buffer(), buffer.view().offset_bytes + number * range_bytes);
        };
        SortShape shape{.item_count = Count::on_device(count), .write_keys = has_keys, .write_indices = true};
        SortBuffers buffers{.keys = range(0), .indices = range(2), .item_count = range(3)};
        if (has_keys) buffers.sorted_keys = range(1);
        const auto chosen = is_small ? std::optional<SortTuning>() : tuning(path);
        run([&](WGPUCommandEncoder encoder) { return record_sort(context(), encoder, shape, buffers, chosen); });
        const auto order = sorted_indices(std::vector(keys.begin(), keys.begin() + used), shape);
        std::vector<std::byte> wanted = image;
        const auto sorted = gathered(keys, order);
        if (has_keys) std::memcpy(wanted.data() + range_bytes, sorted.data(), used * 4);
        std::memcpy(wanted.data() + 2 * range_bytes, order.data(), used * 4);
        EXPECT_EQ(buffer.read_and_check_guards(), wanted);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(SortGpu, WrongViewsAreRefused) {
  const GuardedBuffer keys(context(), bytes_of(unwritten<std::uint32_t>(100)));
  const GuardedBuffer values(context(), bytes_of(unwritten<std::uint32_t>(100)));
  const GuardedBuffer other(context(), bytes_of(unwritten<std::uint32_t>(100)));
  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context().device(), nullptr);
  const SortShape shape{.item_count = Count::on_host(100), .value = ElementType::u32()};
  const auto message = [&](const SortBuffers& buffers) {
    const Status status = record_sort(context(), encoder, shape, buffers);
    return status ? std::string("ok") : status.error().message;
  };
  EXPECT_THAT(
      message(
          {.keys = keys.view(), .values = values.view(), .sorted_keys = keys.view(), .sorted_values = other.view()}),
      HasSubstr("only one of the two is in place"));
  EXPECT_THAT(message({.keys = keys.view(), .values = values.view(), .sorted_keys = other.view()}),
              HasSubstr("Argument sorted_values has no buffer"));
  wgpuCommandEncoderRelease(encoder);
}

}  // namespace
}  // namespace upsweep::testing
