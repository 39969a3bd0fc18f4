// SPDX-License-Identifier: Apache-2.0
// Plans of top-k without a device: which passes, limits, refusals, which profile changes the plan, golden plans.
#include <format>

#include "testing/operators_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/top_k.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

TopKShape keys_of(std::uint64_t count, std::uint64_t k, ElementType key = ElementType::u32()) {
  return {.item_count = Count::on_host(count), .k = Count::on_host(k), .key = std::move(key)};
}

TopKShape nth_of(std::uint64_t count, std::uint64_t k) {
  TopKShape shape = keys_of(count, k);
  shape.write_keys = false;
  shape.write_threshold = true;
  return shape;
}

Plan planned(const TopKShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<TopKTuning> tuning = std::nullopt) {
  auto plan = plan_top_k(shape, traits, tuning);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const TopKShape& shape, ErrorKind kind, const DeviceTraits& traits = least_traits(),
                    std::optional<TopKTuning> tuning = std::nullopt) {
  const auto plan = plan_top_k(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

/// The kernels of a plan without what they have in common: "histogram find results_chunks".
std::string passes_of(const Plan& plan) {
  std::string names;
  for (const Dispatch& dispatch : plan.dispatches) {
    std::string_view name = dispatch.kernel->name;
    if (name.starts_with("top_k_")) name.remove_prefix(6);
    names += (names.empty() ? "" : " ") + std::string(name);
  }
  return names;
}

TEST(TopKPlan, ManyItemsHaveCandidatesAndFewDoNot) {
  EXPECT_EQ(passes_of(planned(keys_of(1 << 18, 100), gpu_traits())),
            "histogram find histogram find histogram find results_single_pass sort_one");
  EXPECT_EQ(passes_of(planned(keys_of(1 << 22, 100), gpu_traits())),
            "histogram find candidates_single_pass histogram find histogram find results_single_pass "
            "results_single_pass sort_one");
  EXPECT_EQ(passes_of(planned(keys_of(1 << 22, 100))),
            "histogram find candidates_totals candidates_chunks histogram find histogram find results_totals "
            "results_chunks results_totals results_chunks sort_one");
  EXPECT_EQ(passes_of(planned(keys_of(1 << 18, 100, ElementType::u64()), gpu_traits())),
            "histogram find histogram find histogram find histogram find histogram find histogram find "
            "results_single_pass sort_one");
  // A result that is no smaller than the room for candidates.
  EXPECT_EQ(passes_of(planned(keys_of(1 << 22, 1 << 20), gpu_traits())),
            "histogram find histogram find histogram find results_single_pass sort_clear sort_histogram sort_pass "
            "sort_pass sort_pass sort_pass");
  TopKShape unsorted = keys_of(1 << 18, 100);
  unsorted.order = TopKOrder::input_order;
  EXPECT_EQ(passes_of(planned(unsorted, gpu_traits())),
            "histogram find histogram find histogram find results_single_pass");
}

TEST(TopKPlan, TheThresholdAloneNeedsNoResult) {
  EXPECT_EQ(passes_of(planned(nth_of(1 << 18, 100), gpu_traits())), "histogram find histogram find histogram find");
  // Candidates are the keys with one digit, so that there is room for them whatever the rank.
  EXPECT_EQ(passes_of(planned(nth_of(1 << 22, 1 << 21), gpu_traits())),
            "histogram find candidates_single_pass histogram find histogram find");
}

TEST(TopKPlan, FewItemsAndLargeResultsAreSorted) {
  EXPECT_EQ(passes_of(planned(keys_of(1000, 10))), "sort_one take");
  EXPECT_EQ(passes_of(planned(keys_of(1 << 20, 1 << 19), gpu_traits())),
            "sort_clear sort_histogram sort_pass sort_pass sort_pass sort_pass take");
  TopKShape halves = keys_of(1000, 10, ElementType::f16());
  EXPECT_EQ(passes_of(planned(halves)), "widen sort_one gather");
  halves.write_indices = true;
  EXPECT_EQ(passes_of(planned(halves)), "widen sort_one take gather");
  halves.item_count.max = 1 << 22;
  halves.value = ElementType::u32();
  EXPECT_EQ(passes_of(planned(halves, gpu_traits())),
            "widen histogram find histogram find results_single_pass sort_one gather gather");
}

TEST(TopKPlan, NothingWantedIsOnePassOrNone) {
  for (TopKShape shape : {keys_of(0, 5), keys_of(100, 0)}) {
    EXPECT_EQ(passes_of(planned(shape)), "");
    shape.write_count = true;
    const Plan plan = planned(shape);
    EXPECT_EQ(passes_of(plan), "find");
    EXPECT_EQ(plan.arguments.size(), 1u);
  }
}

TEST(TopKPlan, ProfilesChangeThePlan) {
  const auto text = [](const DeviceTraits& traits) { return to_string(planned(keys_of(1 << 22, 100), traits)); };
  const std::string full = text(gpu_traits());
  EXPECT_NE(text(gpu_traits().without_subgroups()), full);
  EXPECT_NE(text(emulated_traits()), text(least_traits()));
  EXPECT_NE(text(least_traits()), full);
}

TEST(TopKPlan, KernelTextsDoNotDependOnCounts) {
  const auto texts = [](std::uint64_t count, std::uint64_t k) {
    std::set<std::string> all;
    TopKShape shape = keys_of(count, k);
    shape.value = ElementType::u32();
    for (const Dispatch& dispatch :
         planned(shape, gpu_traits(), select_top_k_tuning(keys_of(1 << 24, 100), gpu_traits())).dispatches) {
      all.insert(dispatch.kernel->text);
    }
    return all;
  };
  EXPECT_EQ(texts(1 << 24, 5), texts((1 << 25) + 17, 999));
}

TEST(TopKLimits, NoPlanExceedsTheLeastLimits) {
  DeviceTraits narrow = gpu_traits().with_default_limits();
  narrow.subgroup_min_size = 8;
  DeviceTraits wide = gpu_traits().with_default_limits();
  wide.subgroup_min_size = 64;
  wide.subgroup_max_size = 128;
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), narrow, wide}) {
    for (const ElementType& key : {ElementType::u32(), ElementType::f16(), ElementType::u64()}) {
      for (const std::uint64_t count : {1000u, 100'000u, 1u << 23}) {
        for (const std::uint64_t k : {1u, 900u, 1u << 20, 1u << 22}) {
          for (const TopKOrder order : {TopKOrder::sorted, TopKOrder::input_order}) {
            SCOPED_TRACE(std::format("{} of {} {}, {}, subgroups {}", k, count, key.name, to_string(order),
                                     traits.subgroup_min_size));
            TopKShape shape = keys_of(count, k, key);
            shape.item_count.read_on_device = true;
            shape.k.read_on_device = true;
            shape.order = order;
            shape.value = Tally<3>::type();
            shape.write_indices = true;
            shape.write_count = true;
            shape.write_threshold = true;
            if (count * 12 > traits.max_binding_bytes) shape.value.reset();
            expect_limits(planned(shape, traits), traits);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(TopKLimits, MoreTilesThanADimensionHasAreFolded) {
  DeviceTraits traits = least_traits();
  traits.max_workgroups_per_dimension = 7;
  TopKTuning tuning = select_top_k_tuning(keys_of(1000, 100), traits);
  tuning.workgroup_size = 16;
  tuning.items_per_thread = 1;
  tuning.sort_all_items = 0;
  tuning.candidate_items = 0;
  tuning.compaction = tiny_tuning();
  expect_limits(planned(keys_of(1000, 100), traits, tuning), traits);
}

// Keys that fill a binding and begin late take windows.
TEST(TopKLimits, KeysMayFillABinding) {
  const std::uint64_t count = (std::uint64_t{128} << 20) / 4;
  for (const std::uint64_t k : {std::uint64_t{100}, count / 4}) {
    const auto plan = plan_top_k(keys_of(count, k), least_traits(), std::nullopt, 4);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    expect_limits(*plan, least_traits());
  }
}

TEST(TopKRefusal, NamesTheValueAndTheLimit) {
  EXPECT_THAT(refusal(keys_of(100, 1, Tally<3>::type()), ErrorKind::unsupported), HasSubstr("finds no keys of type"));
  EXPECT_THAT(refusal(keys_of(100, 1, ElementType::vec(Scalar::f32, 2)), ErrorKind::unsupported),
              HasSubstr("vec2<f32>"));
  TopKShape shape = keys_of(100, 1);
  shape.key_is_f64 = true;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("keys of type u64, not u32"));
  shape = keys_of(100, 1);
  shape.write_keys = false;
  EXPECT_THAT(refusal(shape, ErrorKind::invalid_request), HasSubstr("has no result"));
  EXPECT_THAT(refusal(keys_of(std::uint64_t{1} << 30, 1), ErrorKind::unsupported, gpu_traits()),
              HasSubstr("1073741823"));
  EXPECT_THAT(refusal(keys_of((std::uint64_t{128} << 18) + 1, 1), ErrorKind::unsupported),
              HasSubstr("134217728 bytes"));
  // Words of f16 keys must fit, too.
  EXPECT_THAT(refusal(keys_of((std::uint64_t{128} << 18) + 1, 1, ElementType::f16()), ErrorKind::unsupported),
              HasSubstr("134217728 bytes"));
  TopKTuning tuning;
  tuning.digit_bits = 12;
  EXPECT_THAT(refusal(keys_of(100, 1), ErrorKind::invalid_request, least_traits(), tuning), HasSubstr("out of range"));
}

// In input order, so that the text does not change with the plans of sorts.
std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, TopKShape shape, const DeviceTraits& traits) {
    shape.order = TopKOrder::input_order;
    text += std::format("== {}\n{}\n", title, to_string(planned(shape, traits)));
  };
  add("10 of 1000 keys, least limits", keys_of(1000, 10), least_traits());
  add("100 of 4M keys, least limits", keys_of(1 << 22, 100), least_traits());
  TopKShape pairs = keys_of(1 << 24, 1 << 16, ElementType::f32());
  pairs.largest = true;
  pairs.value = ElementType::u32();
  pairs.write_indices = true;
  add("64 K largest of 16M f32 with values and indices, test GPU", pairs, gpu_traits());
  add("the median of 16M keys, test GPU", nth_of(1 << 24, 1 << 23), gpu_traits());
  TopKShape halves = keys_of(100'000, 5000, ElementType::f16());
  halves.item_count.read_on_device = true;
  halves.k.read_on_device = true;
  halves.write_count = true;
  add("at most 5000 of 100000 f16, test GPU", halves, gpu_traits());
  return text;
}

TEST(TopKPlan, GoldenPlansAreUnchanged) { expect_golden("top_k", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
