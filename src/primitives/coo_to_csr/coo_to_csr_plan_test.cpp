// SPDX-License-Identifier: Apache-2.0
// Plans of compressed rows from coordinates, and of transposes, without a device.
#include <format>

#include "testing/sparse_patterns.h"
#include "testing/tile_plans.h"
#include "upsweep/sparse_convert.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

CooToCsrShape coo_of(std::uint32_t rows, std::uint32_t columns, std::uint32_t entries,
                     SparseValues values = SparseValues::f32) {
  return {.coo = {.format = SparseFormat::coo,
                  .values = values,
                  .row_count = rows,
                  .column_count = columns,
                  .entry_count = entries}};
}

SparseShape csr_of(std::uint32_t rows, std::uint32_t columns, std::uint32_t entries,
                   SparseValues values = SparseValues::f32) {
  return {.values = values, .row_count = rows, .column_count = columns, .entry_count = entries};
}

Plan made(Result<Plan> plan) {
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const Result<Plan>& plan, ErrorKind kind = ErrorKind::invalid_request) {
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::size_t passes_of(const Plan& plan, std::string_view kernel) {
  return static_cast<std::size_t>(
      std::ranges::count(plan.dispatches, kernel, [](const Dispatch& dispatch) { return dispatch.kernel->name; }));
}

TEST(CooToCsrPlan, OnlyTheBitsOfRowsAndColumnsAreSorted) {
  const auto sort_passes = [](const CooToCsrShape& shape) {
    return passes_of(made(plan_coo_to_csr(shape, gpu_traits())), "sort_pass");
  };
  EXPECT_EQ(sort_passes(coo_of(1 << 8, 1 << 8, 1 << 20)), 2u);
  EXPECT_EQ(sort_passes(coo_of((1 << 8) + 1, 1 << 8, 1 << 20)), 3u);
  EXPECT_EQ(sort_passes(coo_of(1 << 16, 1 << 16, 1 << 20)), 4u);
  EXPECT_EQ(sort_passes(coo_of(1 << 20, 1 << 20, 1 << 20)), 5u);
  EXPECT_EQ(sort_passes(coo_of(1, 1, 1 << 20)), 1u);
  // Rows of compressed rows ascend already.
  EXPECT_EQ(passes_of(made(plan_csr_transpose(csr_of(1 << 20, 1 << 8, 1 << 20), gpu_traits())), "sort_pass"), 1u);
  EXPECT_EQ(passes_of(made(plan_csr_transpose(csr_of(1 << 8, 1 << 20, 1 << 20), gpu_traits())), "sort_pass"), 3u);
}

TEST(CooToCsrPlan, PlansStayInsideLimits) {
  for (const SparseValues values : {SparseValues::f32, SparseValues::f16, SparseValues::ones}) {
    for (const std::uint32_t entries : {0u, 1u, 5000u, 1u << 22}) {
      for (const bool keeps : {false, true}) {
        for (const DeviceTraits& traits : {least_traits(), gpu_traits(), emulated_traits(), with_limits(300, 0)}) {
          CooToCsrShape shape = coo_of(100'000, 70'000, entries, values);
          shape.keep_duplicates = keeps;
          expect_limits(made(plan_coo_to_csr(shape, traits)), traits);
          expect_limits(made(plan_csr_transpose(csr_of(100'000, 70'000, entries, values), traits)), traits);
        }
      }
    }
  }
}

TEST(CooToCsrPlan, KernelsDoNotDependOnCounts) {
  const auto keys = [](std::uint32_t rows, std::uint32_t columns, std::uint32_t entries) {
    return made(plan_coo_to_csr(coo_of(rows, columns, entries), gpu_traits())).dispatches.at(0).kernel->text;
  };
  EXPECT_EQ(keys(10, 10, 1), keys(65'536, 65'536, 30'000'000));
  EXPECT_NE(keys(10, 10, 1), keys(65'537, 65'536, 1));  // keys of two words
}

TEST(CooToCsrPlan, RefusesWhatItCannotDo) {
  const DeviceTraits traits = least_traits();
  EXPECT_THAT(refusal(plan_coo_to_csr({.coo = csr_of(1, 1, 1)}, traits)), HasSubstr("takes coo, not csr"));
  EXPECT_THAT(refusal(plan_coo_to_csr(coo_of(0, 5, 3), traits)), HasSubstr("no place for entries"));
  EXPECT_THAT(refusal(plan_csr_transpose(csr_of(5, 0, 3), traits)), HasSubstr("no place for entries"));
  EXPECT_THAT(refusal(plan_csr_transpose(coo_of(5, 5, 3).coo, traits)), HasSubstr("compressed rows, not coo"));
  EXPECT_THAT(refusal(plan_coo_to_csr(coo_of(5, 5, 1u << 30), traits), ErrorKind::unsupported),
              HasSubstr("1073741824 entries are more than"));
  EXPECT_THAT(refusal(plan_csr_transpose(csr_of(5, 5, 1u << 30), traits), ErrorKind::unsupported),
              HasSubstr("1073741823"));
  EXPECT_THAT(refusal(plan_coo_to_csr(coo_of(5, 5, (1u << 25) + 1), traits), ErrorKind::unsupported),
              HasSubstr("134217728 bytes"));
  EXPECT_THAT(refusal(plan_coo_to_csr(coo_of(5, 5, 3), traits, {.workgroup_size = 48})), HasSubstr("out of range"));
}

TEST(CooToCsrPlan, GoldenPlansAreUnchanged) {
  std::string text;
  const auto add = [&](std::string_view title, const Result<Plan>& plan) {
    text += std::format("== {}\n{}\n", title, outline_of(made(plan)));
  };
  add("1M f32 entries in 2^16 x 2^16, test GPU", plan_coo_to_csr(coo_of(1 << 16, 1 << 16, 1 << 20), gpu_traits()));
  CooToCsrShape shape = coo_of(1 << 20, 1 << 20, 1 << 20, SparseValues::f16);
  shape.count_on_device = true;
  add("at most 1M f16 entries in 2^20 x 2^20, least limits", plan_coo_to_csr(shape, least_traits()));
  add("transpose of a pattern, test GPU",
      plan_csr_transpose(csr_of(1 << 20, 1 << 16, 1 << 24, SparseValues::ones), gpu_traits()));
  add("no entries", plan_coo_to_csr(coo_of(3, 3, 0), least_traits()));
  expect_golden("coo_to_csr", text);
}

}  // namespace
}  // namespace upsweep::testing
