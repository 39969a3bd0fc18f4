// SPDX-License-Identifier: Apache-2.0
// Sorts of segments on a device: each is what std::stable_sort makes of it, and nothing else is written.
#include <gmock/gmock.h>

#include <format>
#include <numeric>

#include "primitives/sort/sort_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"

namespace upsweep::testing {
namespace {

struct Segment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct Setting {
  std::optional<SortTuning> tuning = {};
  std::uint64_t output_item = 0;
  std::optional<std::uint32_t> item_count = {};     ///< Read on the device.
  std::optional<std::uint32_t> segment_count = {};  ///< The same.
};

class SortSegmentsGpu : public GpuTest {
 protected:
  /// Sorts the segments of `keys` with `values`, joining long ones and by digits.
  template <typename Key, typename Value>
  void check(const std::vector<Key>& keys, const std::vector<Value>& values, const std::vector<Segment>& segments,
             const SortShape& shape, Setting setting) {
    check_path(keys, values, segments, shape, setting);
    if (!setting.tuning || HasFailure()) return;
    setting.tuning->path = SortPath::three_pass;
    check_path(keys, values, segments, shape, setting);
  }

  /// Checks what the shape writes, and that it writes nothing else.
  template <typename Key, typename Value>
  void check_path(const std::vector<Key>& keys, const std::vector<Value>& values, const std::vector<Segment>& segments,
                  SortShape shape, const Setting& setting) {
    shape.item_count = {keys.size(), setting.item_count.has_value()};
    shape.segment_count = {segments.size(), setting.segment_count.has_value()};
    SCOPED_TRACE(std::format("{} {} in {} segments{}{}{}, items on the device {}, segments {}, tuning {}", keys.size(),
                             shape.key.name, segments.size(), shape.descending ? " descending" : "",
                             shape.in_place ? " in place" : "", shape.value ? " with " + shape.value->name : "",
                             setting.item_count.value_or(0), setting.segment_count.value_or(0),
                             setting.tuning ? to_string(*setting.tuning) : "of the library"));
    const std::uint32_t used = std::min(static_cast<std::uint32_t>(keys.size()), setting.item_count.value_or(~0u));
    // Where each item of the output comes from; its own number outside all segments.
    std::vector<std::uint32_t> sources(keys.size());
    std::vector<bool> is_inside(keys.size());
    std::iota(sources.begin(), sources.end(), 0u);
    std::vector<std::uint32_t> begins;
    std::vector<std::uint32_t> ends;
    for (const Segment& segment : segments) {
      begins.push_back(segment.begin);
      ends.push_back(segment.end);
      if (begins.size() > setting.segment_count.value_or(~0u)) continue;
      const std::uint32_t end = std::min(segment.end, used);
      if (segment.begin >= end) continue;
      const auto order = sorted_indices(std::vector<Key>(keys.begin() + segment.begin, keys.begin() + end), shape);
      for (std::uint32_t i = 0; i < order.size(); ++i) {
        sources[segment.begin + i] = segment.begin + order[i];
        is_inside[segment.begin + i] = true;
      }
    }
    const auto wanted = [&]<typename T>(const std::vector<T>& items, const std::vector<T>& before, bool is_written) {
      std::vector<T> result = before;
      for (std::size_t i = 0; i < result.size(); ++i) {
        if (is_written && is_inside[i]) result[i] = items[sources[i]];
      }
      return result;
    };
    const GuardedBuffer key_buffer(context(), bytes_of(keys), item_offset<Key>(3));
    const GuardedBuffer value_buffer(context(), bytes_of(values), item_offset<Value>(1));
    const GuardedBuffer sorted_keys(context(), bytes_of(unwritten<Key>(keys.size())),
                                    item_offset<Key>(setting.output_item));
    const GuardedBuffer sorted_values(context(), bytes_of(unwritten<Value>(values.size())),
                                      item_offset<Value>(setting.output_item));
    const GuardedBuffer indices(context(), bytes_of(unwritten<std::uint32_t>(keys.size())), 12);
    const GuardedBuffer begin_buffer(context(), bytes_of(begins), 8);
    const GuardedBuffer end_buffer(context(), bytes_of(ends), 4);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.item_count.value_or(0)}), 20);
    const GuardedBuffer segment_count(context(), bytes_of(std::vector{setting.segment_count.value_or(0)}), 4);
    SortBuffers buffers{.segment_begins = begin_buffer.view(), .segment_ends = end_buffer.view()};
    if (!shape.in_place) buffers.keys = key_buffer.view();
    if (shape.value && !shape.in_place) buffers.values = value_buffer.view();
    if (shape.write_keys) buffers.sorted_keys = shape.in_place ? key_buffer.view() : sorted_keys.view();
    if (shape.value) buffers.sorted_values = shape.in_place ? value_buffer.view() : sorted_values.view();
    if (shape.write_indices) buffers.indices = indices.view();
    if (setting.item_count) buffers.item_count = item_count.view();
    if (setting.segment_count) buffers.segment_count = segment_count.view();
    run([&](WGPUCommandEncoder encoder) { return record_sort(context(), encoder, shape, buffers, setting.tuning); });

    expect_items(items_of<Key>((shape.in_place ? key_buffer : sorted_keys).read_and_check_guards()),
                 wanted(keys, shape.in_place ? keys : unwritten<Key>(keys.size()), shape.write_keys));
    expect_items(items_of<Value>((shape.in_place ? value_buffer : sorted_values).read_and_check_guards()),
                 wanted(values, shape.in_place ? values : unwritten<Value>(values.size()), shape.value.has_value()));
    expect_items(items_of<std::uint32_t>(indices.read_and_check_guards()),
                 wanted(numbers(keys.size()), unwritten<std::uint32_t>(keys.size()), shape.write_indices));
    if (shape.in_place) return;
    expect_items(items_of<Key>(key_buffer.read_and_check_guards()), keys);
    expect_items(items_of<Value>(value_buffer.read_and_check_guards()), values);
  }

  /// What a sort leaves where segments overlap, or are longer than was said; it writes nothing else.
  std::vector<std::uint32_t> sort_unruly(const std::vector<std::uint32_t>& keys,
                                         const std::vector<std::uint32_t>& begins,
                                         const std::vector<std::uint32_t>& ends, std::uint32_t longest,
                                         const SortTuning& tuned, bool in_place = false) {
    const GuardedBuffer key_buffer(context(), bytes_of(keys));
    const GuardedBuffer sorted(context(), bytes_of(unwritten<std::uint32_t>(keys.size())));
    const GuardedBuffer begin_buffer(context(), bytes_of(begins));
    const GuardedBuffer end_buffer(context(), bytes_of(ends));
    run([&](WGPUCommandEncoder encoder) {
      return record_sort(context(), encoder,
                         {.item_count = Count::on_host(keys.size()),
                          .segment_count = Count::on_host(begins.size()),
                          .longest_segment = longest},
                         {.keys = key_buffer.view(),
                          .sorted_keys = (in_place ? key_buffer : sorted).view(),
                          .segment_begins = begin_buffer.view(),
                          .segment_ends = end_buffer.view()},
                         tuned);
    });
    const auto left = items_of<std::uint32_t>(key_buffer.read_and_check_guards());
    const auto result = items_of<std::uint32_t>(sorted.read_and_check_guards());
    expect_items(in_place ? result : left, in_place ? unwritten<std::uint32_t>(keys.size()) : keys);
    return in_place ? left : result;
  }

  static std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> result(count);
    std::iota(result.begin(), result.end(), 0u);
    return result;
  }

  template <typename Key>
  void check_pairs(const std::vector<Key>& keys, const std::vector<Segment>& segments, SortShape shape,
                   const Setting& setting) {
    shape.value = ElementType::u32();
    check(keys, numbers(keys.size()), segments, shape, setting);
  }

  /// Small windows and tiles, so that few items take every way.
  [[nodiscard]] SortTuning tuning() const {
    SortTuning tuning = select_sort_tuning({.item_count = Count::on_host(100'000)}, context().traits());
    tuning.workgroup_size = 64;
    tuning.digit_bits = 6;
    tuning.items_per_thread = 2;
    tuning.one_workgroup_items = 256;
    tuning.use_subgroups = true;
    tuning.max_workgroups = 7;
    if (is_tiny()) {
      tuning.workgroup_size = 16;
      tuning.digit_bits = 4;
      tuning.one_workgroup_items = 32;
    }
    return tuning;
  }
  [[nodiscard]] std::uint32_t window() const { return tuning().one_workgroup_items; }

  /// Segments of random lengths up to `longest`, a third of them empty, a fifth followed by a gap.
  static std::vector<Segment> random_segments(std::uint32_t items, std::uint32_t longest, Random& random) {
    std::vector<Segment> segments;
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random.next() % end); };
    for (std::uint32_t at = below(5); at < items;) {
      const std::uint32_t length = below(3) == 0 ? 0 : below(longest);
      segments.push_back({at, std::min(at + length, items)});
      at = segments.back().end + (below(5) == 0 ? below(9) : 0);
    }
    return segments;
  }

  /// Few distinct keys.
  static std::vector<std::uint32_t> keys_of(std::uint32_t count, std::uint64_t seed) {
    auto keys = random_items<std::uint32_t>(count, seed);
    for (std::uint32_t& key : keys) key = key % 40 * 0x01010101u;
    return keys;
  }
};
INSTANTIATE_TEST_SUITE_P(, SortSegmentsGpu, all_profiles, profile_name);

TEST_P(SortSegmentsGpu, WhatNoSegmentHoldsIsNotWritten) {
  const std::vector<std::uint32_t> keys{3, 2, 1, 9, 9, 9, 4, 5, 6};
  for (const auto& tuned : {std::optional<SortTuning>(), std::optional(tuning())}) {
    for (const bool descending : {false, true}) {
      check_pairs(keys, {{0, 3}, {6, 9}}, {.descending = descending}, {.tuning = tuned});
      check_pairs(keys, {{3, 7}}, {.descending = descending}, {.tuning = tuned});
      check_pairs(keys, {{0, 0}, {0, 4}, {4, 4}, {4, 4}, {4, 9}, {9, 9}}, {.descending = descending},
                  {.tuning = tuned, .output_item = 1});
      check_pairs(keys, {{2, 1}, {4, 100}}, {.descending = descending}, {.tuning = tuned});
      if (HasFailure()) return;
    }
  }
}

TEST_P(SortSegmentsGpu, SegmentsOfEveryLengthAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t w = window();
  std::uint32_t at = 3;
  std::vector<Segment> segments;
  for (const std::uint32_t length : {1u, 2u, 0u, w / 4 - 1, w / 4, w / 4 + 1, 31u, 32u, 33u, w / 2, w - 1, w, w + 1,
                                     w - w / 4, 2 * w, 3 * w + 5, 1u}) {
    segments.push_back({at, at + length});
    at += length;
  }
  check_pairs(keys_of(at + 2, seed), segments, {}, {.tuning = tuning(), .output_item = 2});
  check_pairs(keys_of(at + 2, seed + 1), segments, {.descending = true, .in_place = true}, {.tuning = tuning()});
  // Around a run and the windows of GPUs.
  SortTuning large = tuning();
  large.workgroup_size = 256;
  large.one_workgroup_items = 4096;
  const std::uint32_t most = is_tiny() ? 100 : 5000;
  at = 1;
  segments.clear();
  for (const std::uint32_t length : {14u,  15u,   16u,   29u,   30u,   31u,  60u,  61u,  479u,  480u,
                                     481u, 1920u, 1921u, 3840u, 3841u, 415u, 416u, 417u, 1664u, 1665u}) {
    if (length > most) continue;
    segments.push_back({at, at + length});
    at += length;
  }
  check_pairs(keys_of(at + 2, seed + 4), segments, {}, {.tuning = large});
  check(keys_of(at + 2, seed + 5), std::vector<std::uint32_t>(), segments, {}, {.tuning = large});
  // One long segment, and one that fills a window, alone.
  check_pairs(keys_of(20 * w + 3, seed + 2), {{1, 20 * w + 2}}, {}, {.tuning = tuning()});
  check_pairs(keys_of(w, seed + 3), {{0, w}}, {}, {.tuning = tuning()});
}

TEST_P(SortSegmentsGpu, RandomSegmentsAreSortedEachOnItsOwn) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = affordable(3000);
  for (const std::uint32_t longest : {3u, 40u, window() / 2, 4 * window()}) {
    const auto segments = random_segments(count, longest, random);
    check_pairs(keys_of(count, seed + longest), segments, {}, {.tuning = tuning()});
    check_pairs(keys_of(count, seed + longest), segments, {.in_place = true}, {.tuning = tuning()});
    if (HasFailure()) return;
  }
  // With the library's own knobs, and each item a segment.
  check_pairs(keys_of(count, seed), random_segments(count, 100, random), {}, {});
  std::vector<Segment> singles;
  for (std::uint32_t i = 0; i < count; ++i) singles.push_back({i, i + 1});
  check_pairs(keys_of(count, seed), singles, {}, {.tuning = tuning()});
  // Many empty ones in one place.
  std::vector<Segment> empty(1000, Segment{7, 7});
  empty.push_back({7, 30});
  check_pairs(keys_of(100, seed), empty, {}, {.tuning = tuning()});
}

// With so many items there are windows of two sizes, and a kernel for short segments.
TEST_P(SortSegmentsGpu, ManyItemsTakeWindowsOfSeveralSizes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = (1 << 18) + 77;
  std::vector<Segment> segments;
  for (std::uint32_t at = 0; at < count;) {
    const std::uint32_t lengths[] = {100, 500, 1665, 3000, 3841, 9000};
    const bool is_short = segments.size() % 900 != 0;
    const auto length =
        is_short ? static_cast<std::uint32_t>(random.next() % 33) : lengths[segments.size() / 900 % std::size(lengths)];
    segments.push_back({at, std::min(at + length, count)});
    at = segments.back().end;
  }
  SortTuning large = tuning();
  large.workgroup_size = is_tiny() ? 16 : 256;
  large.one_workgroup_items = is_tiny() ? 64 : 4096;
  check_pairs(keys_of(count, seed), segments, {}, {.tuning = large});
  check(keys_of(count, seed + 1), std::vector<std::uint32_t>(), segments, {.descending = true, .in_place = true},
        {.tuning = large});
}

TEST_P(SortSegmentsGpu, KeysAndValuesOfEveryType) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = affordable(1500);
  const auto segments = random_segments(count, 2 * window(), random);
  const Setting setting{.tuning = tuning(), .output_item = 1};
  auto words = random_items<std::uint32_t>(count, seed);
  const std::uint32_t special[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7f800001, 0xffffffff, 0x00000001};
  for (std::size_t i = 0; i < words.size(); i += 2) words[i] = special[i / 2 % std::size(special)];
  std::vector<Half> halves;
  for (const std::uint32_t word : words) halves.push_back({static_cast<std::uint16_t>(word >> 16)});
  auto longs = random_items<std::uint64_t>(count, seed);
  for (std::size_t i = 0; i < longs.size(); i += 2) longs[i] = longs[i] % 5 << 31;
  const std::vector<std::uint32_t> none;
  for (const bool descending : {false, true}) {
    check_pairs(items_of<float>(bytes_of(words)), segments, {.key = ElementType::f32(), .descending = descending},
                setting);
    check_pairs(halves, segments, {.key = ElementType::f16(), .descending = descending}, setting);
    if (HasFailure() || !is_thorough()) return;
    check_pairs(items_of<std::int32_t>(bytes_of(words)), segments,
                {.key = ElementType::i32(), .descending = descending}, setting);
    check(halves, halves, segments,
          {.key = ElementType::f16(), .descending = descending, .value = ElementType::f16(), .in_place = true},
          setting);
    check(longs, longs, segments, {.key = ElementType::u64(), .descending = descending, .value = ElementType::u64()},
          setting);
    check(words, none, segments, {.descending = descending, .write_keys = false, .write_indices = true}, setting);
    check(words, none, segments, {.descending = descending, .write_indices = true}, setting);
    check(words, none, segments, {.descending = descending, .write_indices = true, .in_place = true}, setting);
    check(words, halves, segments, {.descending = descending, .value = ElementType::f16()}, setting);
    std::vector<Tally<3>> records;
    for (std::uint32_t i = 0; i < count; ++i) records.push_back(Tally<3>::item(random));
    check(words, records, segments, {.descending = descending, .value = Tally<3>::type()}, setting);
    check(words, random_items<Vec<std::uint32_t, 4>>(count, seed), segments,
          {.value = ElementType::vec(Scalar::u32, 4), .in_place = true}, setting);
    check_pairs(words, segments, {.descending = descending, .begin_bit = 3, .end_bit = 9, .in_place = true}, setting);
    if (HasFailure()) return;
  }
}

TEST_P(SortSegmentsGpu, CountsAreReadOnTheDevice) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = affordable(1500);
  const auto keys = keys_of(count, seed);
  const auto segments = random_segments(count, 2 * window(), random);
  const auto segment_count = static_cast<std::uint32_t>(segments.size());
  for (const std::uint32_t items : {0u, 1u, count / 2, count, count + 9}) {
    for (const std::uint32_t used : {0u, 1u, segment_count / 2, segment_count, segment_count + 5}) {
      check_pairs(keys, segments, {}, {.tuning = tuning(), .item_count = items, .segment_count = used});
      if (HasFailure()) return;
    }
  }
}

// Without the passes that long segments need.
TEST_P(SortSegmentsGpu, TheLongestSegmentMayBeKnown) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = affordable(2000);
  for (const std::uint32_t longest : {window() / 4, window()}) {
    const auto segments = random_segments(count, longest + 1, random);
    check_pairs(keys_of(count, seed), segments, {.longest_segment = longest}, {.tuning = tuning()});
    check_pairs(keys_of(count, seed), segments, {.in_place = true, .longest_segment = longest}, {.tuning = tuning()});
  }
}

TEST_P(SortSegmentsGpu, OneCommandBufferHoldsManySorts) {
  const std::uint64_t seed = test_seed();
  Random random(seed);
  std::vector<std::vector<std::uint32_t>> results;
  const std::uint32_t w = window();
  const std::vector<std::uint32_t> a = random_items<std::uint32_t>(5 * w, seed);
  const std::vector<std::uint32_t> b = random_items<std::uint32_t>(9 * w, seed + 1);
  const std::vector<std::uint32_t> begins_a{0, 1, 3 * w};
  const std::vector<std::uint32_t> ends_a{1, 3 * w, 4 * w};
  const std::vector<std::uint32_t> begins_b{0, 8 * w, 8 * w + 3};
  const std::vector<std::uint32_t> ends_b{8 * w, 8 * w + 3, 9 * w};
  const GuardedBuffer keys_a(context(), bytes_of(a));
  const GuardedBuffer keys_b(context(), bytes_of(b));
  const GuardedBuffer begin_a(context(), bytes_of(begins_a));
  const GuardedBuffer end_a(context(), bytes_of(ends_a));
  const GuardedBuffer begin_b(context(), bytes_of(begins_b));
  const GuardedBuffer end_b(context(), bytes_of(ends_b));
  const GuardedBuffer first(context(), bytes_of(a));
  const GuardedBuffer second(context(), bytes_of(b));
  const GuardedBuffer third(context(), bytes_of(a));
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (const bool is_b : {false, true, false}) {
      const GuardedBuffer& sorted = is_b ? second : first;
      const GuardedBuffer& again = third;
      const bool is_first = results.empty();
      results.emplace_back();
      const Status recorded =
          record_sort(context(), encoder,
                      {.item_count = Count::on_host(is_b ? b.size() : a.size()), .segment_count = Count::on_host(3)},
                      {.keys = (is_b ? keys_b : keys_a).view(),
                       .sorted_keys = (is_b || is_first ? sorted : again).view(),
                       .segment_begins = (is_b ? begin_b : begin_a).view(),
                       .segment_ends = (is_b ? end_b : end_a).view()},
                      tuning());
      if (!recorded) return recorded;
    }
    return {};
  });
  const auto sorted = [](std::vector<std::uint32_t> keys, const auto& begins, const auto& ends) {
    for (std::size_t s = 0; s < begins.size(); ++s) std::sort(keys.begin() + begins[s], keys.begin() + ends[s]);
    return keys;
  };
  expect_items(items_of<std::uint32_t>(first.read_and_check_guards()), sorted(a, begins_a, ends_a));
  expect_items(items_of<std::uint32_t>(second.read_and_check_guards()), sorted(b, begins_b, ends_b));
  expect_items(items_of<std::uint32_t>(third.read_and_check_guards()), sorted(a, begins_a, ends_a));
}

// Those that are longer than said take no room from the others.
TEST_P(SortSegmentsGpu, SegmentsLongerThanSaidHideNoOthers) {
  const std::uint32_t w = window();
  for (const std::uint32_t longest : {10u, w / 4, w / 4 + 1, w, w + 1, 3 * w}) {
    for (const std::uint32_t excess : {1u, 8u, w}) {
      SCOPED_TRACE(std::format("{} items at most, {} more", longest, excess));
      const std::uint32_t begin = longest + excess;  // of the segment that is no longer than said
      const auto keys = keys_of(begin + 10, longest);
      const auto result = sort_unruly(keys, {0, begin}, {begin, begin + 10}, longest, tuning());
      auto expected = std::vector<std::uint32_t>(keys.begin() + begin, keys.end());
      std::ranges::sort(expected);
      expect_items(std::vector<std::uint32_t>(result.begin() + begin, result.end()), expected);
    }
  }
}

// Segments that overlap have no right answer, but nothing outside the arrays is touched and the sort ends: many, which
// overflow the lists, and few, whose chunks overwrite one another.
TEST_P(SortSegmentsGpu, OverlappingSegmentsDoNoHarm) {
  const std::uint32_t w = window();
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  for (std::uint32_t round = 0; round < 24; ++round) {
    const std::uint32_t segments = round == 0 ? 100 : 2 + round % 4;
    const auto keys = keys_of(6 * w, round);
    std::vector<std::uint32_t> begins;
    std::vector<std::uint32_t> ends;
    for (std::uint32_t s = 0; s < segments; ++s) {
      begins.push_back(random.below(round % 2 == 0 ? 5 * w : 40));
      ends.push_back(begins.back() + random.below(4 * w));
    }
    for (const SortPath path : {SortPath::automatic, SortPath::three_pass}) {
      SortTuning tuned = tuning();
      tuned.path = path;
      for (const std::uint32_t longest : {0u, w + 1}) {
        std::ignore = sort_unruly(keys, begins, ends, longest, tuned, round % 3 == 2);
      }
    }
  }
}

}  // namespace
}  // namespace upsweep::testing
