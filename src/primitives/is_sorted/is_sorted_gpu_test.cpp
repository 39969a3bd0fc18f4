// SPDX-License-Identifier: Apache-2.0
// Looks whether arrays are sorted, on a device, against std::is_sorted_until.
#include <gmock/gmock.h>

#include <algorithm>
#include <format>

#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/orders_for_tests.h"
#include "upsweep/host.h"

namespace upsweep::testing {
namespace {

class IsSortedGpu : public GpuTest {
 protected:
  template <typename T, typename Less>
  void check(const std::vector<T>& items, IsSortedShape shape, Less less, std::optional<std::uint32_t> count = {}) {
    shape.item_count = {items.size(), count.has_value()};
    const std::size_t used = std::min<std::size_t>(items.size(), count.value_or(0xffffffffu));
    const auto end = items.begin() + static_cast<std::ptrdiff_t>(used);
    const auto leading = static_cast<std::uint32_t>(std::is_sorted_until(items.begin(), end, less) - items.begin());
    for (const auto& [writes_result, writes_leading] : {std::pair{true, true}, {true, false}, {false, true}}) {
      shape.write_result = writes_result;
      shape.write_leading_count = writes_leading;
      SCOPED_TRACE(std::format("{} of {} {}, {} of them lead in order, order {}, written {} {}", used, items.size(),
                               shape.input.name, leading, to_string(shape.order), writes_result, writes_leading));
      const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(3));
      const GuardedBuffer result(context(), bytes_of(unwritten<std::uint32_t>(1)), 8);
      const GuardedBuffer leading_count(context(), bytes_of(unwritten<std::uint32_t>(1)), 36);
      const GuardedBuffer item_count(context(), bytes_of(std::vector{count.value_or(0)}), 20);
      IsSortedBuffers buffers{.input = input.view()};
      if (writes_result) buffers.result = result.view();
      if (writes_leading) buffers.leading_count = leading_count.view();
      if (count) buffers.item_count = item_count.view();
      run([&](WGPUCommandEncoder encoder) { return record_is_sorted(context(), encoder, shape, buffers); });
      const std::uint32_t untouched = unwritten<std::uint32_t>(1)[0];
      expect_items(items_of<std::uint32_t>(result.read_and_check_guards()),
                   {writes_result ? (leading == used ? 1u : 0u) : untouched});
      expect_items(items_of<std::uint32_t>(leading_count.read_and_check_guards()),
                   {writes_leading ? leading : untouched});
      expect_items(items_of<T>(input.read_and_check_guards()), items);
      if (HasFailure()) return;
    }
  }

  template <typename T>
  void check_numbers(const std::vector<T>& items, ElementType type, KeyOrder order = {},
                     std::optional<std::uint32_t> count = {}) {
    check(
        items, {.input = std::move(type), .order = order},
        [&](const T& a, const T& b) { return order.reverse ? is_less_by_value(b, a) : is_less_by_value(a, b); }, count);
  }

  /// A sorted array, and the same with one fault near each of some places.
  template <typename T>
  void check_with_faults(std::vector<T> items, const ElementType& type, const KeyOrder& order) {
    std::ranges::stable_sort(
        items, [&](const T& a, const T& b) { return order.reverse ? is_less_by_value(b, a) : is_less_by_value(a, b); });
    check_numbers(items, type, order);
    for (const std::size_t place : {std::size_t{1}, items.size() / 2, items.size() - 1}) {
      auto faulty = items;
      std::swap(faulty[place], faulty[place == 1 ? items.size() - 1 : 0]);
      check_numbers(faulty, type, order);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, IsSortedGpu, all_profiles, profile_name);

TEST_P(IsSortedGpu, OneFaultIsFoundWhereverItIs) {
  for (const std::uint32_t count : {0u, 1u, 2u, 3u, 64u, 65u, 511u, 512u, 513u, 514u, 2048u, 2049u, 2050u, 5000u}) {
    std::vector<std::uint32_t> items(count);
    for (std::uint32_t i = 0; i < count; ++i) items[i] = i / 3;
    check_numbers(items, ElementType::u32());
    for (const std::uint32_t at : {1u, 2u, 63u, 64u, 65u, 511u, 512u, 513u, 2047u, 2048u, 2049u, count - 1}) {
      if (at == 0 || at >= count) continue;
      auto faulty = items;
      faulty[at - 1] = 0xffffffffu;
      check_numbers(faulty, ElementType::u32());
      if (HasFailure()) return;
    }
  }
}

TEST_P(IsSortedGpu, EqualReversedAndRandomItems) {
  const std::uint32_t count = affordable(3000);
  check_numbers(std::vector<std::uint32_t>(count, 7), ElementType::u32());
  check_numbers(std::vector<std::uint32_t>(count, 7), ElementType::u32(), KeyOrder::descending());
  std::vector<std::uint32_t> falling(count);
  for (std::uint32_t i = 0; i < count; ++i) falling[i] = count - i;
  check_numbers(falling, ElementType::u32());
  check_numbers(falling, ElementType::u32(), KeyOrder::descending());
  check_numbers(random_items<std::uint32_t>(count, test_seed()), ElementType::u32());
}

TEST_P(IsSortedGpu, NumbersOfEveryTypeAreOrderedByValueInBothDirections) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const bool reverse : {false, true}) {
    const KeyOrder order = reverse ? KeyOrder::descending() : KeyOrder::ascending();
    const auto words = special_words(700, seed);
    check_with_faults(items_of<std::int32_t>(bytes_of(words)), ElementType::i32(), order);
    check_with_faults(items_of<float>(bytes_of(words)), ElementType::f32(), order);
    auto halves = halves_of(words);
    halves.pop_back();  // an odd number of them
    check_with_faults(halves, ElementType::f16(), order);
    const auto longs = special_doubles(700, seed);
    check_with_faults(longs, ElementType::u64(), order);
    check_with_faults(items_of<std::int64_t>(bytes_of(longs)), ElementType::i64(), order);
    check_with_faults(items_of<double>(bytes_of(longs)), ElementType::u64(), KeyOrder::doubles(reverse));
    if (HasFailure() || !is_thorough()) return;
  }
}

TEST_P(IsSortedGpu, OrdersGivenAsTextDecide) {
  auto parcels = Parcel::items(900, test_seed());
  const IsSortedShape shape{.input = Parcel::type(), .order = Parcel::order()};
  check(parcels, shape, Parcel::less);
  std::ranges::stable_sort(parcels, Parcel::less);
  check(parcels, shape, Parcel::less);
  parcels[500].weight = 100;
  check(parcels, shape, Parcel::less);
}

TEST_P(IsSortedGpu, TheCountMayBeOnTheDevice) {
  std::vector<std::uint32_t> items(2000);
  for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = i == 1500 ? 0 : i;
  for (const std::uint32_t used : {0u, 1u, 2u, 1500u, 1501u, 2000u, 3000u}) {
    check_numbers(items, ElementType::u32(), {}, used);
  }
}

// Windows of a few hundred items, by a limit that no device has.
TEST_P(IsSortedGpu, InputsLargerThanABindingAreLookedAtInWindows) {
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_binding_bytes = 4096;
  context().override_traits(narrow);
  std::vector<std::uint32_t> items(5001);
  for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = i;
  const auto plan = plan_is_sorted({.item_count = Count::on_host(items.size())}, narrow);
  ASSERT_TRUE(plan.has_value());
  EXPECT_GT(plan->dispatches.size(), 5u);
  check_numbers(items, ElementType::u32());
  const auto window = static_cast<std::uint32_t>(plan->dispatches[1].bindings.back().size_bytes / 4 - 1);
  for (const std::uint32_t at : {window - 1, window, window + 1, 3 * window, 5000u}) {
    auto faulty = items;
    faulty[at] = 0;
    check_numbers(faulty, ElementType::u32());
  }
  auto halves = halves_of(items);
  check_numbers(halves, ElementType::f16());
  context().override_traits(traits);
}

TEST_P(IsSortedGpu, OneCommandBufferHoldsManyLooks) {
  const std::vector<std::uint32_t> up{1, 2, 3, 4, 5};
  const std::vector<std::uint32_t> down{3, 2, 1};
  const GuardedBuffer a(context(), bytes_of(up));
  const GuardedBuffer b(context(), bytes_of(down));
  const GuardedBuffer results(context(), bytes_of(unwritten<std::uint32_t>(192)));
  run([&](WGPUCommandEncoder encoder) -> Status {
    std::uint64_t offset = 0;
    for (const auto& [items, count] : {std::pair{&a, up.size()}, {&b, down.size()}, {&a, up.size()}}) {
      BufferView result = results.view();
      result.offset_bytes += offset;
      result.size_bytes = 4;
      offset += 256;
      const Status recorded = record_is_sorted(context(), encoder, {.item_count = Count::on_host(count)},
                                               {.input = items->view(), .result = result});
      if (!recorded) return recorded;
    }
    return {};
  });
  const auto words = items_of<std::uint32_t>(results.read_and_check_guards());
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[64], 0u);
  EXPECT_EQ(words[128], 1u);
}

TEST_P(IsSortedGpu, TheFrontTakesArrays) {
  if (GetParam() != Profile::full) return;
  const std::vector<float> items{-1, 0.5f, 0.5f, 2};
  EXPECT_EQ(host::is_sorted<float>(context(), items), true);
  EXPECT_EQ(host::is_sorted<float>(context(), items, KeyOrder::descending()), false);
  EXPECT_EQ(host::is_sorted<float>(context(), std::span<const float>()), true);
}

}  // namespace
}  // namespace upsweep::testing
