// SPDX-License-Identifier: Apache-2.0
// Searches on a device against std::lower_bound and std::upper_bound.
#include <gmock/gmock.h>

#include <format>

#include "primitives/search/search_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/orders_for_tests.h"
#include "upsweep/host.h"

namespace upsweep::testing {
namespace {

struct Counts {
  std::optional<std::uint32_t> items = {};
  std::optional<std::uint32_t> queries = {};
};

class SearchGpu : public GpuTest {
 protected:
  [[nodiscard]] std::optional<SearchTuning> tuning() const {
    if (!is_tiny()) return std::nullopt;
    // Few samples: most levels are searched in the items.
    return SearchTuning{.workgroup_size = 4, .queries_per_thread = 3, .sample_bytes = 32};
  }

  template <typename T, typename Less>
  void check(std::vector<T> items, const std::vector<T>& queries, SearchShape shape, Less less,
             const Counts& counts = {}) {
    shape.item_count = {items.size(), counts.items.has_value()};
    shape.query_count = {queries.size(), counts.queries.has_value()};
    const std::size_t item_count = std::min<std::size_t>(items.size(), counts.items.value_or(0xffffffffu));
    const std::size_t query_count = std::min<std::size_t>(queries.size(), counts.queries.value_or(0xffffffffu));
    std::stable_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(item_count), less);
    for (const SearchBound bound : {SearchBound::lower, SearchBound::upper}) {
      shape.bound = bound;
      SCOPED_TRACE(std::format("{} bounds of {} of {} queries in {} of {} {}, order {}", to_string(bound), query_count,
                               queries.size(), item_count, items.size(), shape.item.name, to_string(shape.order)));
      const GuardedBuffer item_buffer(context(), bytes_of(items), item_offset<T>(1));
      const GuardedBuffer query_buffer(context(), bytes_of(queries), item_offset<T>(2));
      const GuardedBuffer positions(context(), bytes_of(unwritten<std::uint32_t>(queries.size())), 4);
      const GuardedBuffer item_count_buffer(context(), bytes_of(std::vector{counts.items.value_or(0)}), 20);
      const GuardedBuffer query_count_buffer(context(), bytes_of(std::vector{counts.queries.value_or(0)}), 12);
      SearchBuffers buffers{.items = item_buffer.view(), .queries = query_buffer.view(), .positions = positions.view()};
      if (counts.items) buffers.item_count = item_count_buffer.view();
      if (counts.queries) buffers.query_count = query_count_buffer.view();
      run([&](WGPUCommandEncoder encoder) { return record_search(context(), encoder, shape, buffers, tuning()); });
      const auto first = [](const auto& all, std::size_t count) {
        return std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
      };
      auto expected = unwritten<std::uint32_t>(queries.size());
      std::ranges::copy(found_positions(first(items, item_count), first(queries, query_count), bound, less),
                        expected.begin());
      expect_items(items_of<std::uint32_t>(positions.read_and_check_guards()), expected);
      expect_items(items_of<T>(item_buffer.read_and_check_guards()), items);
      expect_items(items_of<T>(query_buffer.read_and_check_guards()), queries);
    }
  }

  template <typename T>
  void check_numbers(const std::vector<T>& items, const std::vector<T>& queries, ElementType type, KeyOrder order = {},
                     const Counts& counts = {}) {
    check(
        items, queries, {.item = std::move(type), .order = order},
        [&](const T& a, const T& b) { return order.reverse ? is_less_by_value(b, a) : is_less_by_value(a, b); },
        counts);
  }
};
INSTANTIATE_TEST_SUITE_P(, SearchGpu, all_profiles, profile_name);

TEST_P(SearchGpu, EveryQueryFindsItsBoundsAtEveryNumberOfItems) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const std::uint32_t count :
       {0u, 1u, 2u, 3u, 7u, 8u, 9u, 31u, 255u, 256u, 1023u, 1024u, 1025u, 2047u, 2048u, 2049u, 4095u, 4097u, 10'000u}) {
    auto items = random_items<std::uint32_t>(count, seed + count);
    for (std::uint32_t& item : items) item %= count + 2;  // some are equal, some numbers are missing
    std::vector<std::uint32_t> queries;
    for (std::uint32_t q = 0; q < count + 3 && q < 600; ++q) queries.push_back(q * 7 % (count + 3));
    queries.push_back(0xffffffffu);
    check_numbers(items, queries, ElementType::u32());
    if (HasFailure()) return;
  }
}

TEST_P(SearchGpu, AnyNumberOfQueriesIsAnswered) {
  const std::uint64_t seed = test_seed();
  const auto items = random_items<std::uint32_t>(3000, seed);
  for (const std::uint32_t count : {0u, 1u, 2u, 11u, 12u, 13u, 63u, 64u, 127u, 128u, 129u, 511u, 1024u, 1025u, 5000u}) {
    check_numbers(items, random_items<std::uint32_t>(count, seed + 1), ElementType::u32());
    if (HasFailure()) return;
  }
}

TEST_P(SearchGpu, NumbersOfEveryTypeAreOrderedByValueInBothDirections) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(2500);
  for (const bool reverse : {false, true}) {
    const KeyOrder order = reverse ? KeyOrder::descending() : KeyOrder::ascending();
    const auto words = special_words(count, seed);
    const auto more = special_words(500, seed + 1);
    check_numbers(items_of<std::int32_t>(bytes_of(words)), items_of<std::int32_t>(bytes_of(more)), ElementType::i32(),
                  order);
    check_numbers(items_of<float>(bytes_of(words)), items_of<float>(bytes_of(more)), ElementType::f32(), order);
    check_numbers(halves_of(words), halves_of(random_items<std::uint32_t>(501, seed)), ElementType::f16(), order);
    const auto longs = special_doubles(count, seed);
    const auto more_longs = special_doubles(500, seed + 1);
    check_numbers(longs, more_longs, ElementType::u64(), order);
    check_numbers(items_of<std::int64_t>(bytes_of(longs)), items_of<std::int64_t>(bytes_of(more_longs)),
                  ElementType::i64(), order);
    check_numbers(items_of<double>(bytes_of(longs)), items_of<double>(bytes_of(more_longs)), ElementType::u64(),
                  KeyOrder::doubles(reverse));
    if (HasFailure() || !is_thorough()) return;
  }
}

TEST_P(SearchGpu, OrdersGivenAsTextDecideForItemsOfAnyType) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  check(Parcel::items(affordable(2000), seed), Parcel::items(300, seed + 1),
        {.item = Parcel::type(), .order = Parcel::order()}, Parcel::less);
  check(Stop::items(affordable(2000), seed), Stop::items(300, seed + 1), {.item = Stop::type(), .order = Stop::order()},
        Stop::less);
  // By magnitude; f16 items arrive as f32.
  const auto halves_from = [](std::uint64_t from, std::uint32_t count) {
    return random_items<Half>(count, from, Values::small);
  };
  check(halves_from(seed, 999), halves_from(seed + 1, 101),
        {.item = ElementType::f16(),
         .order = KeyOrder::less("smaller", "fn smaller(a: f32, b: f32) -> bool { return abs(a) < abs(b); }")},
        [](Half a, Half b) { return std::abs(number_of(a)) < std::abs(number_of(b)); });
}

TEST_P(SearchGpu, CountsMayBeOnTheDevice) {
  const auto items = random_items<std::uint32_t>(2100, test_seed());
  const auto queries = random_items<std::uint32_t>(900, test_seed() + 1);
  for (const std::uint32_t used : {0u, 1u, 1500u, 2100u, 5000u})
    check_numbers(items, queries, ElementType::u32(), {}, {.items = used});
  for (const std::uint32_t used : {0u, 1u, 899u, 1000u})
    check_numbers(items, queries, ElementType::u32(), {}, {.items = 700, .queries = used});
}

// So many workgroups that their grid is folded, by a limit that no device has.
TEST_P(SearchGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 7;
  context().override_traits(narrow);
  check_numbers(random_items<std::uint32_t>(500, test_seed()), random_items<std::uint32_t>(3001, test_seed() + 1),
                ElementType::u32());
  context().override_traits(traits);
}

TEST_P(SearchGpu, OneCommandBufferHoldsManySearches) {
  auto a = random_items<std::uint32_t>(1000, test_seed());
  auto b = random_items<std::uint32_t>(1700, test_seed() + 1);
  std::ranges::sort(a);
  std::ranges::sort(b);
  const GuardedBuffer items_a(context(), bytes_of(a));
  const GuardedBuffer items_b(context(), bytes_of(b));
  const auto empty = [&](std::size_t count) { return unwritten<std::uint32_t>(count); };
  const GuardedBuffer first(context(), bytes_of(empty(b.size())));
  const GuardedBuffer second(context(), bytes_of(empty(a.size())));
  const GuardedBuffer third(context(), bytes_of(empty(b.size())));
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (const auto& [items, queries, positions, item_count, query_count] :
         {std::tuple{&items_a, &items_b, &first, a.size(), b.size()},
          {&items_b, &items_a, &second, b.size(), a.size()},
          {&items_a, &items_b, &third, a.size(), b.size()}}) {
      const Status recorded = record_search(
          context(), encoder, {.item_count = Count::on_host(item_count), .query_count = Count::on_host(query_count)},
          {.items = items->view(), .queries = queries->view(), .positions = positions->view()}, tuning());
      if (!recorded) return recorded;
    }
    return {};
  });
  const auto in_a = found_positions(a, b, SearchBound::lower, std::less<>());
  expect_items(items_of<std::uint32_t>(first.read_and_check_guards()), in_a);
  expect_items(items_of<std::uint32_t>(second.read_and_check_guards()),
               found_positions(b, a, SearchBound::lower, std::less<>()));
  expect_items(items_of<std::uint32_t>(third.read_and_check_guards()), in_a);
}

TEST_P(SearchGpu, TheFrontTakesArrays) {
  if (GetParam() != Profile::full) return;
  const std::vector<float> items{-1, 0.5f, 0.5f, 2};
  const std::vector<float> queries{0.5f, 3, -2, 0.6f};
  EXPECT_EQ(host::lower_bound<float>(context(), items, queries), (std::vector<std::uint32_t>{1, 4, 0, 3}));
  EXPECT_EQ(host::upper_bound<float>(context(), items, queries), (std::vector<std::uint32_t>{3, 4, 0, 3}));
}

}  // namespace
}  // namespace upsweep::testing
