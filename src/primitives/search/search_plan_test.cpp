// SPDX-License-Identifier: Apache-2.0
// Plans of searches without a device: grids, workgroup memory, limits, refusals.
#include <format>

#include "testing/orders_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/search.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

SearchShape search_of(std::uint64_t items, std::uint64_t queries, ElementType type = ElementType::u32()) {
  return {.item_count = Count::on_host(items), .query_count = Count::on_host(queries), .item = std::move(type)};
}

Plan planned(const SearchShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<SearchTuning> tuning = std::nullopt) {
  auto plan = plan_search(shape, traits, tuning);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const SearchShape& shape, ErrorKind kind = ErrorKind::invalid_request,
                    std::optional<SearchTuning> tuning = std::nullopt) {
  const auto plan = plan_search(shape, least_traits(), tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

TEST(SearchPlan, EveryQueryHasAThread) {
  const SearchTuning tuning{.workgroup_size = 64, .queries_per_thread = 3};
  for (const std::uint64_t queries : {1u, 191u, 192u, 193u, 100'000u, 30'000'000u}) {
    const Plan plan = planned(search_of(1000, queries), least_traits(), tuning);
    ASSERT_EQ(plan.dispatches.size(), 1u);
    const Grid& grid = plan.dispatches[0].grid;
    EXPECT_GE(std::uint64_t{grid.x} * grid.y * grid.z * 192, queries);
    expect_limits(plan, least_traits());
    EXPECT_EQ(plan.scratch_bytes, 0u);
  }
  EXPECT_TRUE(planned(search_of(1000, 0)).dispatches.empty());
}

TEST(SearchPlan, KernelsDoNotDependOnCounts) {
  const auto text = [](std::uint64_t items, std::uint64_t queries) {
    return planned(search_of(items, queries), gpu_traits()).dispatches.at(0).kernel->text;
  };
  EXPECT_EQ(text(1, 1), text(5'000'000, 200'000));
  EXPECT_EQ(text(0, 300'000), text(1u << 29, 1u << 29));
  EXPECT_NE(text(1000, 1), text(1000, 1u << 20));  // one search a thread, or several
}

TEST(SearchPlan, SamplesFitIntoWorkgroupMemory) {
  for (const std::uint32_t bytes : {4u, 12u, 16u, 400u, 5000u, 16384u}) {
    const auto type =
        ElementType::structure("Big", std::format("struct Big {{ words: array<u32, {}> }}", bytes / 4), bytes, bytes);
    SearchShape shape = search_of(1000, 1000, *type);
    shape.order = KeyOrder::less("first", "fn first(a: Big, b: Big) -> bool { return a.words[0] < b.words[0]; }");
    const Plan plan = planned(shape);
    ASSERT_EQ(plan.dispatches.size(), 1u);
    EXPECT_LE(plan.dispatches[0].kernel->workgroup_bytes, 16384u);
    EXPECT_EQ(KernelText(*plan.dispatches[0].kernel).constant("SAMPLES"), std::bit_floor(std::max(4096 / bytes, 1u)));
  }
}

TEST(SearchPlan, RefusesWhatItCannotDo) {
  EXPECT_THAT(refusal(search_of(10, 10, Parcel::type())), HasSubstr("A search of Parcel needs an order"));
  EXPECT_THAT(refusal(search_of(10, 10, ElementType::vec(Scalar::f32, 2))), HasSubstr("vec2<f32>"));
  SearchShape shape = search_of(10, 10);
  shape.order = KeyOrder::doubles();
  EXPECT_THAT(refusal(shape), HasSubstr("keys of type u64, not u32"));
  shape.order = {.wgsl = "fn f(a: u32, b: u32) -> bool { return a < b; }"};
  EXPECT_THAT(refusal(shape), HasSubstr("the name of its function"));
  shape.order = {.function = "f", .wgsl = "fn f(a: u32, b: u32) -> bool { return a < b; }", .reverse = true};
  EXPECT_THAT(refusal(shape), HasSubstr("`reverse`"));
  shape.order = KeyOrder::less("min", "fn min(a: u32, b: u32) -> bool { return a < b; }");
  EXPECT_THAT(refusal(shape), HasSubstr("order \"min\" declares \"min\""));
  EXPECT_THAT(refusal(search_of((128u << 18) + 1, 10), ErrorKind::unsupported), HasSubstr("134217728 bytes"));
  EXPECT_THAT(refusal(search_of(10, (128u << 18) + 1), ErrorKind::unsupported), HasSubstr("queries"));
  EXPECT_THAT(refusal(search_of(10, 10), ErrorKind::invalid_request, SearchTuning{.workgroup_size = 48}),
              HasSubstr("out of range"));
  EXPECT_THAT(refusal(search_of(10, 10), ErrorKind::invalid_request, SearchTuning{.queries_per_thread = 65}),
              HasSubstr("out of range"));
}

// Nothing here depends on subgroups: profiles without them, or with emulated ones, see the same plans.
TEST(SearchPlan, ProfilesChangeThePlanByLimitsAlone) {
  const SearchShape shape = search_of(100'000, 100'000);
  EXPECT_EQ(to_string(planned(shape, gpu_traits())), to_string(planned(shape, gpu_traits().without_subgroups())));
  EXPECT_EQ(to_string(planned(shape, emulated_traits())), to_string(planned(shape, least_traits())));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const SearchShape& shape, const DeviceTraits& traits) {
    text += std::format("== {}\n{}\n", title, to_string(planned(shape, traits)));
  };
  add("1000 queries in 1M u32, least limits", search_of(1 << 20, 1000), least_traits());
  SearchShape shape = search_of(1 << 24, 1 << 24, Parcel::type());
  shape.order = Parcel::order();
  shape.bound = SearchBound::upper;
  shape.item_count.read_on_device = true;
  shape.query_count.read_on_device = true;
  add("at most 16M structs in 16M, counts on the device, test GPU", shape, gpu_traits());
  return text;
}

TEST(SearchPlan, GoldenPlansAreUnchanged) { expect_golden("search", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
