// SPDX-License-Identifier: Apache-2.0
// Plans of sorts without a device: which passes, where arrays lie between them, limits, refusals, golden plans.
#include <format>
#include <map>

#include "testing/operators_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/sort.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

SortShape keys_of(std::uint64_t count, ElementType key = ElementType::u32()) {
  return {.item_count = Count::on_host(count), .key = std::move(key)};
}

SortShape pairs_of(std::uint64_t count, ElementType key = ElementType::u32()) {
  SortShape shape = keys_of(count, std::move(key));
  shape.value = ElementType::u32();
  return shape;
}

SortShape segments_of(std::uint64_t count, std::uint64_t segments, ElementType key = ElementType::u32()) {
  SortShape shape = keys_of(count, std::move(key));
  shape.segment_count = Count::on_host(segments);
  return shape;
}

DeviceTraits nvidia_traits() {
  DeviceTraits traits = gpu_traits();
  traits.adapter_vendor = "nvidia";
  traits.lock_step = true;
  traits.max_workgroup_bytes = 49152;
  return traits;
}

Plan planned(const SortShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<SortTuning> tuning = std::nullopt) {
  auto plan = plan_sort(shape, traits, tuning);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const SortShape& shape, ErrorKind kind, const DeviceTraits& traits = least_traits(),
                    std::optional<SortTuning> tuning = std::nullopt) {
  const auto plan = plan_sort(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

SortTuning tiny(SortPath path) {
  return {.path = path, .workgroup_size = 16, .items_per_thread = 2, .digit_bits = 4, .one_workgroup_items = 0};
}

/// Follows keys and values from pass to pass: each pass reads what the one before wrote, the input is read by the first
/// alone and never written (unless in place), the last one writes the result, and no pass reads what it writes.
void expect_chain(const Plan& plan, const SortShape& shape) {
  const auto name_of = [&](const BoundRange& range) {
    return range.slot.kind == SlotKind::argument ? plan.arguments.at(range.slot.index).name
                                                 : "scratch " + plan.scratch.at(range.slot.index).name;
  };
  for (const std::string_view array : {"keys", "values"}) {
    if (array == "values" && !shape.value) continue;
    std::string last;
    for (const Dispatch& dispatch : plan.dispatches) {
      if (!is_role(dispatch, "pass") && !is_role(dispatch, "scatter")) continue;
      const BoundRange* in = range_of(dispatch, std::format("{}_in", array));
      const BoundRange* out = range_of(dispatch, std::format("{}_out", array));
      ASSERT_TRUE(in != nullptr && out != nullptr);
      const std::string source = name_of(*in);
      const std::string result = name_of(*out);
      if (last.empty()) {
        EXPECT_EQ(source, shape.in_place ? std::format("sorted_{}", array) : std::string(array));
      } else {
        EXPECT_EQ(source, last);
      }
      EXPECT_NE(source, result);
      EXPECT_NE(result, array);
      last = result;
    }
    EXPECT_EQ(last, std::format("sorted_{}", array));
  }
}

TEST(SortPlan, PassesHandArraysOnAndTheInputIsNotWritten) {
  for (const SortPath path : {SortPath::three_pass, SortPath::single_pass}) {
    for (const bool in_place : {false, true}) {
      for (const std::uint32_t end : {3u, 4u, 8u, 12u, 16u, 32u}) {
        SortShape shape = pairs_of(1000);
        shape.in_place = in_place;
        shape.end_bit = end;
        SCOPED_TRACE(std::format("{} bits, in place {}, {}", end, in_place, to_string(path)));
        const Plan plan = planned(shape, gpu_traits(), tiny(path));
        expect_chain(plan, shape);
        for (const ArgumentSlot& argument : plan.arguments) {
          EXPECT_EQ(argument.is_written, argument.name.starts_with("sorted")) << argument.name;
        }
      }
    }
  }
}

TEST(SortPlan, ChoosesOneWorkgroupOnePassOrThreePassesADigit) {
  EXPECT_EQ(roles_of(planned(keys_of(1000))), "one");
  EXPECT_EQ(roles_of(planned(keys_of(1 << 20))),
            "count spine scatter count spine scatter count spine scatter count spine scatter");
  EXPECT_EQ(roles_of(planned(keys_of(1 << 20), gpu_traits())), "clear histogram pass pass pass pass");
  EXPECT_EQ(roles_of(planned(keys_of(1 << 20, ElementType::f16()), gpu_traits())),
            "widen clear histogram pass pass narrow");
  SortShape bits = keys_of(1 << 20);
  bits.begin_bit = 8;
  bits.end_bit = 24;
  EXPECT_EQ(roles_of(planned(bits, gpu_traits())), "clear histogram pass pass");
  SortShape large = keys_of(1 << 20);
  large.value = Tally<3>::type();
  EXPECT_EQ(roles_of(planned(large, gpu_traits())), "clear histogram pass pass pass pass gather");
  EXPECT_EQ(roles_of(planned(keys_of(0))), "");
}

TEST(SortPlan, SegmentsTakePassesOnlyIfTheyMayBeLong) {
  const std::string passes =
      " count segment_spine scatter count segment_spine scatter count segment_spine scatter "
      "count segment_spine scatter";
  EXPECT_EQ(roles_of(planned(segments_of(1 << 21, 1000), gpu_traits())), "clear lists window window" + passes);
  SortShape shape = segments_of(1 << 20, 1000);
  shape.longest_segment = 1000;
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "clear lists window");
  shape.in_place = true;
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "clear lists window");
  // Those that do not fit a window may fit a large one.
  shape.longest_segment = 2000;
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "clear lists window window");
  EXPECT_EQ(roles_of(planned(segments_of(5000, 10), gpu_traits(), SortTuning{.path = SortPath::three_pass})),
            "clear lists window" + passes);
  // Many short ones have a kernel of their own, which may be all.
  EXPECT_EQ(roles_of(planned(segments_of(20'000, 1000), gpu_traits())), "clear lists short window join join");
  // Where items are few, dispatches for windows of other sizes cost more than they save.
  EXPECT_EQ(roles_of(planned(segments_of(500, 20), gpu_traits())), "clear lists window");
  EXPECT_EQ(roles_of(planned(segments_of(16'384, 1000), gpu_traits())), "clear lists window join join");
  EXPECT_EQ(roles_of(planned(segments_of(1 << 18, 1), gpu_traits())), "clear lists window join join");
  shape = segments_of(1 << 20, 1000);
  shape.longest_segment = 32;
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "clear lists short");
  EXPECT_EQ(roles_of(planned(segments_of(0, 10), gpu_traits())), "");
  EXPECT_EQ(roles_of(planned(segments_of(10, 0), gpu_traits())), "");
  shape = segments_of(1 << 20, 1000, ElementType::f16());
  shape.longest_segment = 100;
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "widen widen clear lists window narrow");
  shape = segments_of(1 << 20, 1000);
  shape.longest_segment = 100;
  shape.value = Tally<3>::type();
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "missing clear lists window gather");
}

TEST(SortPlan, WindowsOfSegmentsAreCutToTheDevice) {
  for (const std::uint32_t most : {16u, 100u, 128u}) {
    DeviceTraits traits = least_traits();
    traits.max_workgroup_size = most;
    for (const std::uint64_t count : {500u, 100'000u}) {
      expect_limits(planned(segments_of(count, 10), traits, SortTuning{}), traits);
    }
  }
}

// Fewer dispatches than passes have: they cost most where items are few, or few of them are in long segments.
TEST(SortPlan, LongSegmentsAreJoinedOfSortedChunksWhereTheyAreFew) {
  const auto joins = [](const SortShape& shape) {
    return roles_of(planned(shape, gpu_traits())).ends_with("window join join");
  };
  EXPECT_EQ(roles_of(planned(segments_of(1 << 20, 1000), gpu_traits())), "clear lists window window join join");
  EXPECT_TRUE(joins(segments_of(5000, 10)));
  EXPECT_TRUE(joins(segments_of(1 << 18, 1)));
  EXPECT_FALSE(joins(segments_of((1 << 18) + 1, 1)));
  EXPECT_FALSE(joins(segments_of((1 << 20) + 1, 1000)));
  SortShape shape = segments_of(1 << 24, 100'000);
  EXPECT_FALSE(joins(shape));
  shape.longest_segment = 1 << 20;
  EXPECT_TRUE(joins(shape));
  // Keys that the caller does not want are still joined.
  shape.write_keys = false;
  shape.write_indices = true;
  EXPECT_TRUE(joins(shape));
}

SortShape fields_of(std::uint64_t count, std::vector<KeyField> fields) {
  SortShape shape = keys_of(count, Tally<3>::type());
  shape.key_fields = std::move(fields);
  return shape;
}

TEST(SortPlan, FieldsOfStructsAreSortedByFromTheLastToTheFirst) {
  const Plan plan =
      planned(fields_of(1 << 20, {{.offset_bytes = 4, .type = ElementType::f32()}, {.offset_bytes = 0}}), gpu_traits());
  const std::string passes = " clear histogram pass pass pass pass";
  EXPECT_EQ(roles_of(plan), "field" + passes + " field" + passes + " gather");
  EXPECT_EQ(roles_of(planned(fields_of(100, {{}, {.offset_bytes = 8}}))), "field one field one gather");
  // Any number of passes finds groups of scratch that it may read and write.
  for (const std::uint32_t bits : {3u, 4u, 5u, 6u, 7u, 8u}) {
    for (const std::uint64_t items : {100u, 5000u}) {
      SortShape shape = fields_of(items, {{}, {.offset_bytes = 4, .type = ElementType::u64()}, {.offset_bytes = 8}});
      shape.value = ElementType::u32();
      shape.write_indices = bits % 2 == 0;
      expect_limits(planned(shape, gpu_traits().with_default_limits(), SortTuning{.digit_bits = bits}),
                    gpu_traits().with_default_limits());
    }
  }
}

// In place a single pass would read what it writes.
TEST(SortPlan, OneDigitInPlaceTakesTwoPasses) {
  SortShape shape = keys_of(1 << 20);
  shape.end_bit = 8;
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "clear histogram pass");
  shape.in_place = true;
  EXPECT_EQ(roles_of(planned(shape, gpu_traits())), "clear histogram pass pass");
}

TEST(SortPlan, RanksInLockStepOnlyWhereTheSelfTestSawIt) {
  const auto notes = [](const DeviceTraits& traits) {
    std::string text;
    for (const std::string& note : planned(keys_of(1 << 24), traits).notes) text += note + "\n";
    return text;
  };
  EXPECT_THAT(notes(nvidia_traits()), HasSubstr("ranks by atomics, lanes in order"));
  DeviceTraits traits = nvidia_traits();
  traits.lock_step = false;
  EXPECT_THAT(notes(traits), HasSubstr("ranks by ballots, a barrier each"));
  EXPECT_THAT(notes(gpu_traits()), HasSubstr("ranks by ballots, a barrier each"));
  EXPECT_THAT(notes(least_traits()), HasSubstr("ranks in workgroup memory"));
  traits.subgroup_min_size = 8;
  EXPECT_THAT(notes(traits), HasSubstr("ranks in workgroup memory"));
}

TEST(SortLimits, NoPlanExceedsTheLeastLimits) {
  DeviceTraits narrow = gpu_traits().with_default_limits();
  narrow.subgroup_min_size = 8;
  DeviceTraits wide = gpu_traits().with_default_limits();
  wide.subgroup_min_size = 64;
  wide.subgroup_max_size = 128;
  for (const DeviceTraits& traits :
       {least_traits(), emulated_traits(), gpu_traits().with_default_limits(), narrow, wide}) {
    for (const ElementType& key : {ElementType::u32(), ElementType::f16(), ElementType::u64()}) {
      for (const ElementType& value : {ElementType::u32(), ElementType::vec(Scalar::u32, 4), Tally<3>::type()}) {
        for (const std::uint32_t threads : {16u, 64u, 256u, 1024u}) {
          for (const std::uint32_t items : {1u, 7u, 16u, 40u, 64u}) {
            for (const SortPath path : {SortPath::three_pass, SortPath::single_pass}) {
              SCOPED_TRACE(std::format("{} with {}, {} x {}, {}, subgroups {}", key.name, value.name, threads, items,
                                       to_string(path), traits.subgroup_min_size));
              SortShape shape = keys_of(100'000, key);
              shape.item_count.read_on_device = true;
              shape.value = value;
              const Plan plan = planned(shape, traits,
                                        SortTuning{.path = path, .workgroup_size = threads, .items_per_thread = items});
              expect_limits(plan, traits);
              if (!(value == Tally<3>::type() && key.scalar == Scalar::f16)) {
                SortShape segments = shape;
                segments.segment_count = Count::on_device(9000);
                expect_limits(planned(segments, traits,
                                      SortTuning{.path = path, .workgroup_size = threads, .items_per_thread = items}),
                              traits);
              }
              shape.item_count.max = 300;
              expect_limits(planned(shape, traits, SortTuning{.path = path, .workgroup_size = threads}), traits);
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(SortLimits, MoreTilesThanADimensionHasAreFolded) {
  DeviceTraits traits = least_traits();
  traits.max_workgroups_per_dimension = 7;
  const Plan plan = planned(keys_of(1000), traits, tiny(SortPath::single_pass));
  expect_limits(plan, traits);
  for (const SortPath path : {SortPath::three_pass, SortPath::automatic}) {
    SortTuning tuning = tiny(path);
    tuning.max_workgroups = 80;
    expect_limits(planned(segments_of(1000, 300), traits, tuning), traits);
  }
}

TEST(SortRefusal, NamesTheValueAndTheLimit) {
  EXPECT_THAT(refusal(keys_of(100, Tally<3>::type()), ErrorKind::unsupported), HasSubstr("cannot be sorted"));
  EXPECT_THAT(refusal(keys_of(100, ElementType::vec(Scalar::f32, 2)), ErrorKind::unsupported), HasSubstr("vec2<f32>"));
  SortShape shape = keys_of(100);
  shape.key_is_f64 = true;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("keys of type u64, not u32"));
  shape = keys_of(100);
  shape.begin_bit = 8;
  shape.end_bit = 8;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("[8, 8)"));
  shape.begin_bit = 32;
  shape.end_bit = 0;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("[32, 0)"));
  shape = keys_of(100, ElementType::f16());
  shape.end_bit = 17;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("16 bits of f16"));
  shape = keys_of(100);
  shape.write_keys = false;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("has no result"));
  EXPECT_THAT(refusal(keys_of(std::uint64_t{1} << 30), ErrorKind::unsupported, gpu_traits()), HasSubstr("1073741823"));
  EXPECT_THAT(refusal(keys_of((std::uint64_t{128} << 18) + 1), ErrorKind::unsupported), HasSubstr("134217728 bytes"));
  shape = keys_of(100);
  shape.value = Tally<3>::type();
  shape.in_place = true;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("give another output"));
  EXPECT_THAT(refusal(fields_of(100, {{.offset_bytes = 12}}), ErrorKind::invalid_request),
              HasSubstr("4 bytes at offset 12 does not lie in whole words of a key of 12 bytes"));
  EXPECT_THAT(refusal(fields_of(100, {{.offset_bytes = 2}}), ErrorKind::invalid_request), HasSubstr("offset 2"));
  EXPECT_THAT(refusal(fields_of(100, {{.type = ElementType::f16()}}), ErrorKind::unsupported),
              HasSubstr("A field of type f16"));
  EXPECT_THAT(refusal(fields_of(100, {{.is_f64 = true}}), ErrorKind::invalid_request), HasSubstr("not u32"));
  shape = fields_of(100, {{}});
  shape.in_place = true;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("in place"));
  shape = fields_of(100, {{}});
  shape.end_bit = 8;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("range of bits"));
  shape = fields_of(100, {{}});
  shape.segment_count = Count::on_host(3);
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("in segments"));
  shape = keys_of(100);
  shape.longest_segment = 7;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("no longest one (7 items)"));
  shape = segments_of(100, 10, ElementType::f16());
  shape.value = ElementType::u32();
  shape.in_place = true;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("f16 keys with u32 values"));
  shape = segments_of(100, 10);
  shape.value = ElementType::u32();
  shape.write_indices = true;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("Values and indices"));
  EXPECT_THAT(refusal(segments_of(100, std::uint64_t{1} << 32), ErrorKind::unsupported), HasSubstr("4294967296"));
  EXPECT_THAT(refusal(keys_of(100), ErrorKind::invalid_request, least_traits(), SortTuning{.workgroup_size = 48}),
              HasSubstr("out of range"));
  EXPECT_THAT(refusal(keys_of(100), ErrorKind::invalid_request, least_traits(),
                      SortTuning{.items_per_thread = 5, .stage_rounds = 2}),
              HasSubstr("out of range"));
  EXPECT_THAT(refusal(keys_of(100), ErrorKind::invalid_request, least_traits(), SortTuning{.look_records = 0}),
              HasSubstr("polls of 0 records"));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const SortShape& shape, const DeviceTraits& traits,
                       std::optional<SortTuning> tuning = std::nullopt) {
    text += std::format("== {}\n{}\n", title, to_string(planned(shape, traits, tuning)));
  };
  add("1000 keys, least limits", keys_of(1000), least_traits());
  add("1M keys, least limits", keys_of(1 << 20), least_traits());
  add("16M keys, NVIDIA", keys_of(1 << 24), nvidia_traits());
  add("16M pairs, NVIDIA", pairs_of(1 << 24), nvidia_traits());
  SortShape argsort = keys_of(1 << 20, ElementType::f32());
  argsort.write_keys = false;
  argsort.write_indices = true;
  argsort.descending = true;
  add("argsort of 1M f32, test GPU", argsort, gpu_traits());
  SortShape halves = pairs_of(100'000, ElementType::f16());
  halves.in_place = true;
  halves.item_count.read_on_device = true;
  add("at most 100000 f16 in place, test GPU", halves, gpu_traits());
  SortShape records = keys_of(100'000, ElementType::u64());
  records.value = Tally<3>::type();
  add("100000 u64 with structs, test GPU", records, gpu_traits());
  add("1M keys in 1000 segments, test GPU", segments_of(1 << 20, 1000), gpu_traits());
  add("2M keys in 1000 segments, test GPU", segments_of(1 << 21, 1000), gpu_traits());
  SortShape short_segments = pairs_of(1 << 20);
  short_segments.segment_count = Count::on_device(100'000);
  short_segments.longest_segment = 100;
  short_segments.in_place = true;
  add("1M pairs in at most 100000 short segments in place, NVIDIA", short_segments, nvidia_traits());
  return text;
}

TEST(SortPlan, GoldenPlansAreUnchanged) { expect_golden("sort", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
