// SPDX-License-Identifier: Apache-2.0
// Plans of is_sorted without a device: which neighbours each pass sees, limits, refusals.
#include <format>

#include "testing/orders_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/is_sorted.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

IsSortedShape look_at(std::uint64_t items, ElementType type = ElementType::u32()) {
  return {.item_count = Count::on_host(items), .input = std::move(type)};
}

Plan planned(const IsSortedShape& shape, const DeviceTraits& traits = least_traits()) {
  auto plan = plan_is_sorted(shape, traits);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const IsSortedShape& shape, const DeviceTraits& traits = least_traits()) {
  const auto plan = plan_is_sorted(shape, traits);
  return plan ? "no error" : plan.error().message;
}

TEST(IsSortedPlan, EveryPairOfNeighboursIsSeenByOnePass) {
  for (const auto& [traits, types] :
       {std::pair{least_traits(), std::vector{ElementType::u32(), ElementType::f16()}},
        {with_limits(0, 8192), std::vector{ElementType::u32(), ElementType::f16(), ElementType::u64()}},
        {gpu_traits(), std::vector{ElementType::u32(), ElementType::f16()}}}) {
    for (const ElementType& type : types) {
      for (const std::uint64_t items : {0u, 1u, 2u, 3u, 1999u, 2000u, 33'554'433u, 100'000'000u}) {
        if (traits.max_binding_bytes < 10'000 && items > 10'000) continue;
        SCOPED_TRACE(std::format("{} x {}, bindings of {}", items, type.name, traits.max_binding_bytes));
        const Plan plan = planned(look_at(items, type), traits);
        expect_limits(plan, traits);
        ASSERT_TRUE(is_role(plan.dispatches.at(0), "start"));
        std::uint64_t next = 0;
        for (std::size_t step = 1; step < plan.dispatches.size(); ++step) {
          const Dispatch& dispatch = plan.dispatches[step];
          ASSERT_EQ(param_of(dispatch, "index_base"), next);
          const std::uint64_t pairs = param_of(dispatch, "pair_count");
          const BoundRange* input = range_of(dispatch, "items");
          ASSERT_EQ(input->offset_bytes, next * type.stride_bytes);
          ASSERT_EQ(input->offset_bytes % 4, 0u);
          ASSERT_EQ(input->size_bytes, (pairs + 1) * type.stride_bytes);
          ASSERT_LE(input->size_bytes + traits.offset_alignment - type.stride_bytes, traits.max_binding_bytes);
          const std::uint64_t threads = KernelText(*dispatch.kernel).constant("WORKGROUP_SIZE") *
                                        KernelText(*dispatch.kernel).constant("PAIRS_PER_THREAD");
          EXPECT_GE(std::uint64_t{dispatch.grid.x} * dispatch.grid.y * dispatch.grid.z * threads, pairs);
          next += pairs;
        }
        EXPECT_EQ(next, items == 0 ? 0 : items - 1);
      }
    }
  }
}

TEST(IsSortedPlan, RefusesWhatItCannotDo) {
  EXPECT_THAT(refusal(look_at(10, Parcel::type())), HasSubstr("of Parcel needs an order"));
  IsSortedShape shape = look_at(10);
  shape.write_result = false;
  EXPECT_THAT(refusal(shape), HasSubstr("has no result"));
  EXPECT_THAT(refusal(look_at(0xffffffff), gpu_traits()), HasSubstr("4294967294"));
  shape = look_at(10, *ElementType::structure("Big", "struct Big { words: array<u32, 1001> }", 4004, 4004));
  shape.order = KeyOrder::less("f", "fn f(a: Big, b: Big) -> bool { return a.words[0] < b.words[0]; }");
  EXPECT_THAT(refusal(shape, with_limits(0, 65536)), HasSubstr("65536 bytes"));
  EXPECT_EQ(refusal(shape), "no error");
}

TEST(IsSortedPlan, ProfilesChangeThePlanByLimitsAlone) {
  EXPECT_EQ(to_string(planned(look_at(100'000), gpu_traits())),
            to_string(planned(look_at(100'000), gpu_traits().without_subgroups())));
}

std::string golden_text() {
  std::string text = std::format("== 1000 u32, least limits\n{}\n", to_string(planned(look_at(1000))));
  IsSortedShape shape = look_at(20'000'000, Parcel::type());
  shape.order = Parcel::order();
  shape.item_count.read_on_device = true;
  shape.write_result = false;
  shape.write_leading_count = true;
  return text + std::format("== at most 20M structs, least limits\n{}\n", to_string(planned(shape)));
}

TEST(IsSortedPlan, GoldenPlansAreUnchanged) { expect_golden("is_sorted", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
