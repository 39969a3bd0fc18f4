// SPDX-License-Identifier: Apache-2.0
// Plans of compressed rows becoming slots and blocks, without a device.
#include <format>

#include "testing/sparse_patterns.h"
#include "testing/tile_plans.h"
#include "upsweep/sparse_convert.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

CsrConversion conversion(SparseFormat format, std::uint32_t rows, std::uint32_t entries, std::uint32_t width,
                         SparseValues values = SparseValues::f32) {
  CsrConversion shape{.csr = {.values = values, .row_count = rows, .column_count = 1000, .entry_count = entries},
                      .most_growth = 1000};
  shape.result = shape.csr;
  shape.result.format = format;
  shape.result.width = width;
  if (format == SparseFormat::block_ell && values == SparseValues::ones) shape.result.values = SparseValues::f32;
  if (format == SparseFormat::sliced_ell) shape.result.entry_count = width * shape.result.group_count() * 32;
  return shape;
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

TEST(CsrConversionPlan, PlansStayInsideLimits) {
  for (const SparseFormat format :
       {SparseFormat::ell, SparseFormat::hybrid, SparseFormat::sliced_ell, SparseFormat::block_ell}) {
    for (const SparseValues values : {SparseValues::f32, SparseValues::f16, SparseValues::ones}) {
      for (const DeviceTraits& traits : {least_traits(), gpu_traits(), emulated_traits(), with_limits(300, 0)}) {
        for (const std::uint32_t rows : {1u, 100u, 300'000u}) {
          CsrConversion shape = conversion(format, rows, rows * 5, 7, values);
          shape.result.rest_row_count = rows / 2 + 1;
          shape.result.rest_entry_count = rows;
          shape.result.is_reordered = true;
          expect_limits(made(plan_csr_conversion(shape, traits)), traits);
          expect_limits(made(plan_slice_rows({.csr = shape.csr, .window_rows = 64}, traits)), traits);
        }
      }
    }
  }
}

TEST(CsrConversionPlan, EveryPlaceOfAnEllHasAThread) {
  for (const std::uint32_t rows : {1u, 3u, 63u, 64u, 65u, 1000u}) {
    for (const std::uint32_t width : {1u, 3u, 4u, 5u, 300u}) {
      const Plan plan = made(plan_csr_conversion(conversion(SparseFormat::ell, rows, rows, width), least_traits()));
      ASSERT_EQ(plan.dispatches.size(), 1u);
      const Dispatch& copy = plan.dispatches[0];
      const std::uint64_t group_rows = param_of(copy, "rows_per_group");
      const std::uint64_t group_slots = copy.kernel->workgroup_size / group_rows;
      EXPECT_EQ(std::uint64_t{copy.grid.x} * copy.grid.y * copy.grid.z,
                (rows + group_rows - 1) / group_rows * ((width + group_slots - 1) / group_slots));
    }
  }
}

TEST(CsrConversionPlan, KernelsDoNotDependOnCounts) {
  for (const SparseFormat format :
       {SparseFormat::ell, SparseFormat::hybrid, SparseFormat::sliced_ell, SparseFormat::block_ell}) {
    const auto texts = [&](std::uint32_t rows, std::uint32_t width) {
      std::string text;
      const Plan plan = made(plan_csr_conversion(conversion(format, rows, rows * 5, width), gpu_traits()));
      for (const Dispatch& dispatch : plan.dispatches) {
        if (dispatch.kernel->name.starts_with("csr")) text += dispatch.kernel->text;
      }
      return text;
    };
    EXPECT_EQ(texts(100, 6), texts(1'000'000, 9)) << to_string(format);
  }
}

TEST(CsrConversionPlan, RefusesWhatGrowsTooMuchAndSaysWhatToUse) {
  CsrConversion shape = conversion(SparseFormat::ell, 1000, 5000, 100);
  shape.most_growth = 3;
  EXPECT_THAT(refusal(plan_csr_conversion(shape, least_traits())),
              ::testing::AllOf(HasSubstr("100 slots a row takes 800000 bytes, 18.18 times the 44004 of csr"),
                               HasSubstr("allows 3 times"), HasSubstr("use hybrid, sliced_ell or csr")));
  shape.most_growth = 19;
  made(plan_csr_conversion(shape, least_traits()));
  shape = conversion(SparseFormat::sliced_ell, 1000, 5000, 100);
  shape.most_growth = 3;
  EXPECT_THAT(refusal(plan_csr_conversion(shape, least_traits())), HasSubstr("slices of fewer rows"));
  shape = conversion(SparseFormat::block_ell, 1000, 5000, 100);
  shape.most_growth = 3;
  EXPECT_THAT(refusal(plan_csr_conversion(shape, least_traits())), HasSubstr("smaller blocks"));
  shape = conversion(SparseFormat::ell, 1u << 30, 1u << 30, 4);
  EXPECT_THAT(refusal(plan_csr_conversion(shape, gpu_traits()), ErrorKind::unsupported), HasSubstr("2147483648"));
}

TEST(CsrConversionPlan, RefusesWhatItCannotDo) {
  const DeviceTraits traits = least_traits();
  const auto with = [&](SparseFormat format, auto change) {
    CsrConversion shape = conversion(format, 10, 30, 5);
    change(shape);
    return refusal(plan_csr_conversion(shape, traits));
  };
  EXPECT_THAT(with(SparseFormat::coo, [](CsrConversion&) {}), HasSubstr("do not become coo"));
  EXPECT_THAT(with(SparseFormat::ell, [](CsrConversion& s) { s.csr.format = SparseFormat::coo; }),
              HasSubstr("compressed rows, not coo"));
  EXPECT_THAT(with(SparseFormat::ell, [](CsrConversion& s) { s.result.row_count = 9; }), HasSubstr("10 x 1000 to 9"));
  EXPECT_THAT(with(SparseFormat::ell, [](CsrConversion& s) { s.result.row_stride = 9; }),
              HasSubstr("row_stride of 9 is smaller than the 10 rows"));
  EXPECT_THAT(with(SparseFormat::ell, [](CsrConversion& s) { s.result.values = SparseValues::f16; }),
              HasSubstr("of f32, not of f16"));
  EXPECT_THAT(with(SparseFormat::block_ell, [](CsrConversion& s) { s.result.block_size = 5; }), HasSubstr("5 x 5"));
  EXPECT_THAT(with(SparseFormat::block_ell,
                   [](CsrConversion& s) {
                     s.csr.values = SparseValues::ones;
                     s.result.values = SparseValues::ones;
                   }),
              HasSubstr("of ones become block_ell of f32"));
  EXPECT_THAT(with(SparseFormat::block_ell,
                   [](CsrConversion& s) {
                     s.csr.values = s.result.values = SparseValues::f16;
                     s.result.block_size = 3;
                     s.result.row_stride = 5;
                   }),
              HasSubstr("need an even row_stride: 6 instead of 5"));
  EXPECT_THAT(with(SparseFormat::sliced_ell, [](CsrConversion& s) { s.result.slice_rows = 0; }),
              HasSubstr("slices of 0 rows"));
  EXPECT_THAT(refusal(plan_slice_rows({.csr = {.row_count = 5}, .slice_rows = 8, .window_rows = 12}, traits)),
              HasSubstr("no multiple of the 8"));
}

TEST(CsrConversionPlan, GoldenPlansAreUnchanged) {
  std::string text;
  const auto add = [&](std::string_view title, const Result<Plan>& plan) {
    text += std::format("== {}\n{}\n", title, outline_of(made(plan)));
  };
  add("f32 to ell, least limits",
      plan_csr_conversion(conversion(SparseFormat::ell, 100'000, 500'000, 7), least_traits()));
  CsrConversion hybrid = conversion(SparseFormat::hybrid, 100'000, 500'000, 4, SparseValues::f16);
  hybrid.result.rest_row_count = 100;
  hybrid.result.rest_entry_count = 5000;
  add("f16 to hybrid, test GPU", plan_csr_conversion(hybrid, gpu_traits()));
  add("rows in windows, test GPU", plan_slice_rows({.csr = hybrid.csr, .window_rows = 1024}, gpu_traits()));
  CsrConversion sliced = conversion(SparseFormat::sliced_ell, 100'000, 500'000, 6, SparseValues::ones);
  sliced.result.is_reordered = true;
  add("a pattern to sliced_ell, test GPU", plan_csr_conversion(sliced, gpu_traits()));
  CsrConversion blocks = conversion(SparseFormat::block_ell, 100'000, 500'000, 4);
  blocks.result.block_size = 4;
  add("f32 to block_ell, test GPU", plan_csr_conversion(blocks, gpu_traits()));
  expect_golden("csr_conversion", text);
}

}  // namespace
}  // namespace upsweep::testing
