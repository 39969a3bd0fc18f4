// SPDX-License-Identifier: Apache-2.0
// Plans of scans without a device: every item in one pass, limits, paths, refusals, and the golden plans.
#include <bit>
#include <format>
#include <set>
#include <string>
#include <vector>

#include "testing/operators_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/runs.h"
#include "upsweep/scan.h"
#include "upsweep/select.h"

namespace upsweep::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

ScanShape flat(std::uint64_t count, ElementType input = ElementType::u32(),
               BinaryOperator combine = BinaryOperator::sum()) {
  return {.item_count = Count::on_host(count), .input = std::move(input), .combine = std::move(combine)};
}

ScanShape rows(std::uint64_t row_count, std::uint32_t row_length, ElementType input = ElementType::u32(),
               BinaryOperator combine = BinaryOperator::sum()) {
  return {.input = std::move(input),
          .combine = std::move(combine),
          .segments = ScanSegments::rows(Count::on_host(row_count), row_length)};
}

ScanShape with(ScanShape shape, ScanSegments segments) {
  shape.segments = std::move(segments);
  return shape;
}

ScanShape reversed(ScanShape shape) {
  shape.reverse = true;
  return shape;
}

ScanShape with_total(ScanShape shape) {
  shape.write_total = true;
  return shape;
}

ScanShape in_place(ScanShape shape) {
  shape.in_place = true;
  return shape;
}

Plan planned(const ScanShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {}) {
  auto plan = plan_scan(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const ScanShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ScanTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_scan(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

struct Case {
  std::string name;
  DeviceTraits traits;
  std::optional<ScanTuning> tuning;
};

std::vector<Case> walk_cases() {
  ScanTuning items = fixed_tuning();
  items.use_vectors = false;
  return {{"least", least_traits(), std::nullopt},
          {"two passes", gpu_traits(), fixed_tuning()},
          {"two passes of items", least_traits(), items},
          {"single pass", gpu_traits(), fixed_tuning(ScanPath::single_pass)},
          {"tiny", least_traits(), tiny_tuning()},
          {"tiny, single pass", least_traits(), tiny_tuning(ScanPath::single_pass)},
          {"1000-byte bindings", with_limits(0, 1000), std::nullopt},
          {"tiny, 1000-byte bindings", with_limits(0, 1000), tiny_tuning()},
          {"2 workgroups a dimension", with_limits(2, 0), tiny_tuning()},
          {"3 workgroups a dimension", with_limits(3, 0), tiny_tuning()}};
}

const std::vector<ElementType>& walk_types() {
  static const std::vector<ElementType> types{ElementType::u32(), ElementType::f16(), ElementType::vec(Scalar::f32, 2),
                                              Tally<3>::type()};
  return types;
}

BinaryOperator operator_for(const ElementType& type) {
  return type.is_struct() ? Tally<3>::combine() : BinaryOperator::sum();
}

// Plans the shape and checks its walk. Small bindings and grids may be too small, for nothing else may it be refused.
bool expect_planned_walk(const ScanShape& shape, const Case& at, std::uint64_t offset_bytes) {
  const ScanOffsets offsets{.input_bytes = offset_bytes, .output_bytes = offset_bytes};
  const auto plan = plan_scan(shape, at.traits, at.tuning, offsets);
  if (!plan) {
    EXPECT_TRUE(at.traits.max_binding_bytes == 1000 || at.traits.max_workgroups_per_dimension <= 3 ||
                plan.error().message.starts_with("No single pass here"))
        << plan.error().message;
    EXPECT_THAT(
        plan.error().message,
        ::testing::AnyOf(HasSubstr("is too small for"), HasSubstr("do not fit into three dimensions"),
                         HasSubstr("larger than the device's limit of one binding"), HasSubstr("in one binding"),
                         HasSubstr("No single pass here: rows are scanned separately"),
                         HasSubstr("No single pass here: structs")));
    return false;
  }
  SCOPED_TRACE(to_string(*plan));
  Walk walk{.row_length = shape.item_count.max,
            .stride_bytes = shape.input.stride_bytes,
            .offset_bytes = offset_bytes,
            .is_reverse = shape.reverse};
  if (shape.segments.kind == ScanSegments::Kind::rows) {
    walk.row_count = shape.segments.row_count.max;
    walk.row_length = shape.segments.row_length;
    // Short rows are walked as one.
    const std::uint32_t threads = at.tuning.value_or(select_scan_tuning(shape, at.traits)).workgroup_size;
    if (!shape.write_total && walk.row_length < 2ull * threads) {
      walk = {.row_length = walk.row_count * walk.row_length,
              .stride_bytes = walk.stride_bytes,
              .offset_bytes = offset_bytes,
              .is_reverse = walk.is_reverse};
    }
  }
  if (shape.segments.kind == ScanSegments::Kind::keys && !shape.reverse) walk.halo = 1;
  expect_walk(*plan, walk, at.traits);
  expect_limits(*plan, at.traits);
  return true;
}

TEST(ScanWalk, EveryItemIsScannedByOnePass) {
  int planned_count = 0;
  for (const Case& at : walk_cases()) {
    for (const ElementType& type : walk_types()) {
      for (const std::uint32_t count :
           {1u,   3u,   4u,    7u,    8u,    9u,    31u,   32u,   33u,   64u,    65u,   127u,
            128u, 129u, 1000u, 4096u, 4097u, 8189u, 8190u, 8192u, 8193u, 16384u, 65537u}) {
        if (count > (at.traits.max_binding_bytes == 1000 ? 4097u : 70000u)) continue;
        for (const std::uint32_t first : {0u, 63u}) {
          for (const bool is_reverse : {false, true}) {
            SCOPED_TRACE(
                std::format("{}: {} x {}, from item {}, reverse {}", at.name, count, type.name, first, is_reverse));
            ScanShape shape = flat(count, type, operator_for(type));
            shape.reverse = is_reverse;
            planned_count += expect_planned_walk(shape, at, std::uint64_t{first} * type.stride_bytes % 256) ? 1 : 0;
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GT(planned_count, 2000);
}

TEST(ScanWalk, EveryItemOfEveryRowIsScannedByOnePass) {
  for (const Case& at : walk_cases()) {
    for (const ElementType& type : walk_types()) {
      for (const auto& [row_count, row_length] : {std::pair{1u, 1u},
                                                  {300u, 1u},
                                                  {100u, 3u},
                                                  {3u, 31u},
                                                  {7u, 100u},
                                                  {3u, 999u},
                                                  {2u, 2049u},
                                                  {3u, 5000u},
                                                  {2u, 65537u}}) {
        if (at.traits.max_binding_bytes == 1000 && row_count * row_length > 20000) continue;
        for (const bool is_reverse : {false, true}) {
          for (const bool has_total : {false, true}) {
            SCOPED_TRACE(std::format("{}: {} rows of {} x {}, reverse {}, total {}", at.name, row_count, row_length,
                                     type.name, is_reverse, has_total));
            ScanShape shape = rows(row_count, row_length, type, operator_for(type));
            shape.reverse = is_reverse;
            shape.write_total = has_total;
            expect_planned_walk(shape, at, 3 * type.stride_bytes);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ScanWalk, EveryItemOfSegmentsIsScannedByOnePass) {
  for (const Case& at : walk_cases()) {
    for (const ScanSegments& segments : {ScanSegments::flags(FlagFormat::words), ScanSegments::flags(FlagFormat::bytes),
                                         ScanSegments::flags(FlagFormat::bits), ScanSegments::keys(ElementType::u32()),
                                         ScanSegments::keys(ElementType::u64())}) {
      for (const std::uint32_t count : {1u, 5u, 250u, 1000u, 4097u, 9000u}) {
        for (const bool is_reverse : {false, true}) {
          SCOPED_TRACE(std::format("{}: {}, segments {}, reverse {}", at.name, count, static_cast<int>(segments.kind),
                                   is_reverse));
          ScanShape shape = with(flat(count), segments);
          shape.reverse = is_reverse;
          expect_planned_walk(shape, at, 0);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Windows of flags begin inside a word; the kernel must be told where.
TEST(ScanWalk, FlagsOfAWindowAreBoundFromTheirWord) {
  for (const FlagFormat format : {FlagFormat::words, FlagFormat::bytes, FlagFormat::bits}) {
    const std::uint64_t entry = format == FlagFormat::words ? 1 : format == FlagFormat::bytes ? 4 : 32;
    const Plan plan =
        planned(with(flat(3000, ElementType::vec(Scalar::u32, 4)), ScanSegments::flags(format)), with_limits(0, 1000));
    EXPECT_GT(plan.dispatches.size(), 10u);
    for (const Dispatch& dispatch : plan.dispatches) {
      const std::uint64_t first = param_of(dispatch, "index_base");
      const std::uint64_t end = first + param_of(dispatch, "row_length");
      const BoundRange* heads = range_of(dispatch, "heads");
      ASSERT_NE(heads, nullptr);
      EXPECT_EQ(heads->offset_bytes, first / entry * 4);
      EXPECT_EQ(param_of(dispatch, "flag_base"), entry == 1 ? 0 : first % entry);
      EXPECT_GE(heads->offset_bytes + heads->size_bytes, (end + entry - 1) / entry * 4);
    }
  }
}

// C12, C20: counts that are a product of workgroups and one more, and all that a u32 can index.
TEST(ScanWalk, HugeInputsAreWalkedWindowByWindow) {
  for (const Case& at : {Case{"least", least_traits(), fixed_tuning()}, Case{"gpu", gpu_traits(), fixed_tuning()},
                         Case{"gpu, single pass", gpu_traits(), fixed_tuning(ScanPath::single_pass)}}) {
    for (const std::uint64_t count :
         {65'537ull, (1ull << 24) + 1, 0x7fffffffull, 0x80000000ull, 0x80000001ull, 0xfffffffdull, 0xfffffffeull}) {
      for (const ElementType& type : {ElementType::f16(), ElementType::u32(), ElementType::vec(Scalar::f32, 4)}) {
        for (const bool is_reverse : {false, true}) {
          SCOPED_TRACE(std::format("{}: {} x {}, reverse {}", at.name, count, type.name, is_reverse));
          ScanShape shape = flat(count, type);
          shape.reverse = is_reverse;
          // More tiles than tickets, or than a state buffer holds: the message says so.
          const auto plan = plan_scan(shape, at.traits, at.tuning);
          if (!plan) {
            EXPECT_THAT(plan.error().message, AllOf(HasSubstr("No single pass here"), HasSubstr("tiles")));
            EXPECT_GT(count / 1024, 1u << 18);
            continue;
          }
          expect_walk(*plan, {.row_length = count, .stride_bytes = type.stride_bytes, .is_reverse = is_reverse},
                      at.traits);
          expect_limits(*plan, at.traits);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ScanWalk, PositionsStayBelow32BitsWhereOneBindingHoldsEverything) {
  DeviceTraits traits = gpu_traits();
  traits.max_binding_bytes = std::uint64_t{1} << 40;
  for (const std::uint64_t count : {0x6fffffffull, 0x70000000ull, 0x70000001ull, 0xfffffffeull}) {
    const Plan plan = planned(flat(count), traits, fixed_tuning());
    expect_walk(plan, {.row_length = count}, traits);
    const auto windows = std::ranges::count_if(plan.dispatches, [](const Dispatch& d) { return is_role(d, "chunks"); });
    EXPECT_EQ(windows, (count + 0x6fffffff) / 0x70000000);
  }
}

// C14: 65 tiles fold into 2 x 2 x 2 workgroups of chunks; one workgroup too many is refused, never cut.
TEST(ScanWalk, GridsFoldIntoThreeDimensionsOrAreRefused) {
  for (const std::uint32_t limit : {2u, 3u}) {
    const DeviceTraits traits = with_limits(limit, 0);
    const std::uint64_t most = std::uint64_t{limit} * limit * limit;
    ScanTuning tuning = tiny_tuning();
    tuning.use_vectors = false;
    for (std::uint32_t workgroups = 1; workgroups <= 12; ++workgroups) {
      tuning.max_workgroups = workgroups;
      const auto plan = plan_scan(flat(12 * 8), traits, tuning);
      const std::uint64_t chunk_tiles = (12 + workgroups - 1) / workgroups;
      const std::uint64_t chunks = (12 + chunk_tiles - 1) / chunk_tiles;
      ASSERT_EQ(plan.has_value(), chunks <= most) << workgroups;
      if (plan) {
        expect_walk(*plan, {.row_length = 96}, traits);
      } else {
        EXPECT_THAT(plan.error().message,
                    AllOf(HasSubstr(std::format("{} workgroups do not fit", chunks)), HasSubstr("at most 2")));
      }
    }
  }
}

// Every accumulator that the well-known operators have, and structs of several sizes.
std::vector<std::pair<ElementType, BinaryOperator>> accumulators() {
  std::vector<std::pair<ElementType, BinaryOperator>> pairs;
  for (const ElementType& type : builtin_types()) {
    for (const BinaryOperator& op : {BinaryOperator::sum(), BinaryOperator::argmin(), BinaryOperator::logical_any()}) {
      if (is_defined(op.kind, type)) pairs.emplace_back(type, op);
    }
    pairs.emplace_back(type, BinaryOperator::custom("f", "fn f() {}", "e"));
  }
  pairs.emplace_back(Tally<3>::type(), Tally<3>::combine());
  pairs.emplace_back(Tally<5>::type(), Tally<5>::combine(true));
  pairs.emplace_back(Tally<16>::type(), Tally<16>::combine());
  pairs.emplace_back(Tally<32>::type(), Tally<32>::combine(true));
  return pairs;
}

// Every variant of a shape that takes more bindings.
std::vector<ScanShape> shapes_of(const ElementType& type, const BinaryOperator& op, std::uint64_t count) {
  const bool is_arg = op.kind == OperatorKind::argmin || op.kind == OperatorKind::argmax;
  std::vector<ScanShape> shapes;
  for (const bool on_device : {false, true}) {
    const auto counted = [&](std::uint64_t n) { return on_device ? Count::on_device(n) : Count::on_host(n); };
    ScanShape whole = flat(count, type, op);
    whole.item_count = counted(count);
    if (on_device && !is_arg) whole.init = ConstantValue::from_bytes(std::vector<std::byte>(type.size_bytes));
    if (on_device) whole.kind = ScanKind::exclusive;
    shapes.push_back(with_total(whole));
    shapes.push_back(reversed(with_total(whole)));
    for (const FlagFormat format : {FlagFormat::words, FlagFormat::bits})
      shapes.push_back(with(whole, ScanSegments::flags(format)));
    shapes.push_back(with(whole, ScanSegments::keys(ElementType::u32())));
    shapes.push_back(reversed(with(whole, ScanSegments::keys(ElementType::vec(Scalar::f32, 4)))));
    for (const std::uint32_t length : {7u, 1000u}) {
      ScanShape by_rows = whole;
      by_rows.item_count = {};
      by_rows.segments = ScanSegments::rows(counted(count / length + 1), length);
      shapes.push_back(by_rows);
      shapes.push_back(with_total(by_rows));
    }
  }
  return shapes;
}

TEST(ScanLimits, WorkgroupMemoryIsCountedAsWebGpuDoes) {
  const auto bytes = [](const std::string& text) { return KernelText(Kernel{.text = text}).workgroup_bytes(); };
  EXPECT_EQ(bytes("\nvar<workgroup> a: u32;\nvar<workgroup> b: vec3u;\n"), 32u);
  EXPECT_EQ(bytes("const N: u32 = 6u;\nconst WINDOW = min(16u, N);\nalias T = vec2<f32>;\n"
                  "\nvar<workgroup> a: array<T, WINDOW * 2u + N>;\n"),
            144u);
  EXPECT_EQ(bytes("struct Pair { value: vec3f, heads: array<u32, 3> }\n\nvar<workgroup> a: array<Pair, 2>;\n"), 64u);
}

// C99, C100: eight storage buffers, 16384 bytes of workgroup memory, 256 threads.
TEST(ScanLimits, NoPlanExceedsTheLeastLimits) {
  DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const auto& [type, op] : accumulators()) {
      for (const std::uint64_t count : {5000u, 40'000'000u}) {
        for (const ScanShape& shape : shapes_of(type, op, count)) {
          SCOPED_TRACE(std::format("{} {} x {}, segments {}, emulated {}", to_string(op), count, type.name,
                                   static_cast<int>(shape.segments.kind), traits.emulated_subgroup_size));
          const auto plan = plan_scan(shape, traits);
          if (!plan) {
            EXPECT_THAT(plan.error().message, HasSubstr("in one binding"));
            EXPECT_TRUE(shape.reverse && count == 40'000'000);
            continue;
          }
          expect_limits(*plan, traits);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ScanLimits, SinglePassesStayInsideTheLeastLimits) {
  const DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const auto& [type, op] : accumulators()) {
      for (const ScanShape& shape : shapes_of(type, op, 100'000)) {
        SCOPED_TRACE(std::format("{} of {}, segments {}, emulated {}", to_string(op), type.name,
                                 static_cast<int>(shape.segments.kind), traits.emulated_subgroup_size));
        const auto plan = plan_scan(shape, traits, fixed_tuning(ScanPath::single_pass));
        if (!plan) {
          EXPECT_THAT(plan.error().message, HasSubstr("No single pass here"));
          continue;
        }
        EXPECT_EQ(roles_of(*plan), "single_pass");
        expect_limits(*plan, traits);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(ScanLimits, NoTuningExceedsTheLeastLimits) {
  const DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const ScanShape& shape :
         {flat(50'000), flat(50'000, ElementType::vec(Scalar::f32, 4)), with(flat(50'000), ScanSegments::flags()),
          flat(50'000, Tally<16>::type(), Tally<16>::combine())}) {
      for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
        for (const std::uint32_t threads : {1u, 4u, 32u, 64u, 128u, 256u}) {
          for (const std::uint32_t loads : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u, 16u}) {
            SCOPED_TRACE(std::format("{} threads x {}, {}", threads, loads, shape.input.name));
            const auto plan =
                plan_scan(shape, traits, ScanTuning{.path = path, .workgroup_size = threads, .rows = loads});
            if (!plan) {
              EXPECT_THAT(plan.error().message, HasSubstr("structs do not fit into atomic words"));
              continue;
            }
            expect_limits(*plan, traits);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ScanLimits, LargeItemsGetSmallerTilesAndANote) {
  const ScanShape shape = flat(100'000, Tally<32>::type(), Tally<32>::combine());
  const Plan plan = planned(shape, least_traits(), fixed_tuning());
  EXPECT_LT(plan.dispatches[0].kernel->workgroup_size, 256u);
  EXPECT_THAT(plan.notes, Contains("cut from 256 threads x 8 to fit into workgroup memory"));
  EXPECT_THAT(planned(flat(100'000), least_traits(), fixed_tuning()).notes, Not(Contains(HasSubstr("cut from"))));
  // More memory, larger workgroups.
  DeviceTraits roomy = least_traits();
  roomy.max_workgroup_bytes = 1u << 20;
  EXPECT_EQ(planned(shape, roomy, fixed_tuning()).dispatches[0].kernel->workgroup_size, 256u);
}

TEST(ScanLimits, BindingsOfAThousandBytesGiveAlignedWindows) {
  const Plan plan = planned(flat(1000), with_limits(0, 1000), fixed_tuning());
  std::uint64_t next = 0;
  for (const Dispatch& dispatch : plan.dispatches) {
    if (!is_role(dispatch, "chunks")) continue;
    const BoundRange* input = range_of(dispatch, "input");
    ASSERT_NE(input, nullptr);
    EXPECT_EQ(input->offset_bytes, next);
    EXPECT_EQ(input->offset_bytes % 256, 0u);
    next += input->size_bytes;
  }
  EXPECT_EQ(next, 4000u);
}

// The output is bound in two parts, so that no word is bound twice as another type.
TEST(ScanLimits, VectorOutputsAreBoundInTwoPartsThatMeet) {
  for (const std::uint64_t count : {200u, 1000u, 4096u, 100'000u}) {
    for (const std::uint64_t offset : {0u, 4u, 252u}) {
      const Plan plan =
          planned(flat(count), least_traits(), fixed_tuning(), {.input_bytes = offset, .output_bytes = offset});
      const Dispatch& dispatch = plan.dispatches.back();
      const BoundRange* units = range_of(dispatch, "output_units");
      const BoundRange* tail = range_of(dispatch, "output_tail");
      ASSERT_NE(units, nullptr) << count;
      ASSERT_NE(tail, nullptr);
      EXPECT_EQ(units->offset_bytes + units->size_bytes, tail->offset_bytes);
      EXPECT_EQ((offset + tail->offset_bytes) % 256, 0u);
      EXPECT_EQ(tail->offset_bytes + tail->size_bytes, count * 4);
      EXPECT_EQ(param_of(dispatch, "tail_items"), units->size_bytes / 4);
    }
  }
}

TEST(ScanPlan, HasAsManyPassesAsTheSizeNeeds) {
  const auto passes = [](std::uint64_t count, const ScanTuning& tuning) {
    return roles_of(planned(flat(count), least_traits(), tuning));
  };
  for (const std::uint64_t count : {1u, 100u, 4096u}) EXPECT_EQ(passes(count, fixed_tuning()), "chunks") << count;
  // One tile needs no totals either.
  EXPECT_EQ(passes(8000, fixed_tuning()), "chunks");
  EXPECT_EQ(passes(8193, fixed_tuning()), "totals chunks");
  EXPECT_EQ(passes(1 << 24, fixed_tuning()), "totals chunks");
  EXPECT_EQ(passes(100'000'000, fixed_tuning()), "totals chunks totals chunks totals chunks");  // windows
  EXPECT_EQ(passes(1 << 24, fixed_tuning(ScanPath::single_pass)), "single_pass");
  EXPECT_EQ(passes(1, fixed_tuning(ScanPath::single_pass)), "single_pass");
  EXPECT_EQ(passes(8, tiny_tuning()), "chunks");
  EXPECT_EQ(passes(1000, tiny_tuning()), "totals chunks");
}

TEST(ScanPlan, TakesTheSinglePassByItselfOnlyAfterTheSelfTest) {
  DeviceTraits traits = gpu_traits();
  EXPECT_EQ(roles_of(planned(flat(1 << 20), traits)), "single_pass");
  EXPECT_THAT(planned(flat(1 << 20), traits).notes, Contains("one pass with look-back"));
  traits.look_back = false;
  EXPECT_EQ(roles_of(planned(flat(1 << 20), traits)), "totals chunks");
  const auto why = [](const ScanShape& shape, const DeviceTraits& of, std::optional<ScanTuning> tuning = std::nullopt) {
    constexpr std::string_view head = "two passes, or one where a row is one chunk: ";
    for (const std::string& note : planned(shape, of, tuning).notes) {
      if (note.starts_with(head)) return note.substr(head.size());
    }
    return std::string();
  };
  EXPECT_EQ(why(flat(1 << 20), traits), "look-back has not passed the self-test of this context");
  // Asked for, it is taken.
  EXPECT_EQ(roles_of(planned(flat(1 << 20), traits, fixed_tuning(ScanPath::single_pass))), "single_pass");
  // Few items are one workgroup's.
  traits.look_back = true;
  EXPECT_EQ(roles_of(planned(flat(1000), traits)), "chunks");
  EXPECT_EQ(why(flat(1000), traits), "few items");
  // Where it is impossible, the automatic path has another.
  EXPECT_EQ(roles_of(planned(in_place(flat(1 << 20)), traits)), "totals chunks");
  EXPECT_EQ(roles_of(planned(rows(2, 1 << 20), traits)), "totals chunks");
  EXPECT_EQ(why(rows(2, 1 << 20), traits), "rows are scanned separately");
  EXPECT_EQ(why(flat(1 << 20), traits, fixed_tuning(ScanPath::two_pass)), "asked for");
  ScanShape repeatable = flat(1 << 20, ElementType::f32());
  repeatable.determinism = Determinism::run_to_run;
  EXPECT_EQ(why(repeatable, traits), "the same bits in every run");
  EXPECT_EQ(roles_of(planned(flat(1 << 20, Affine::type(), Affine::combine()), traits)), "totals chunks");
  EXPECT_EQ(roles_of(planned(flat(1 << 20), traits, fixed_tuning(ScanPath::two_pass))), "totals chunks");
}

TEST(ScanPlan, RunToRunKeepsWhatRoundsFromTheSinglePass) {
  const DeviceTraits traits = gpu_traits();
  const auto roles = [&](ScanShape shape, Determinism determinism) {
    shape.determinism = determinism;
    return roles_of(planned(shape, traits));
  };
  const BinaryOperator custom = BinaryOperator::custom("f", "fn f(a: u32, b: u32) -> u32 { return a + b; }", "0u");
  const BinaryOperator custom_floats =
      BinaryOperator::custom("f", "fn f(a: f32, b: f32) -> f32 { return a + b; }", "0.0");
  for (const ScanShape& shape :
       {flat(1 << 20, ElementType::f32()), flat(1 << 20, ElementType::f16()),
        flat(1 << 20, ElementType::vec(Scalar::f32, 2)), flat(1 << 20, ElementType::f32(), BinaryOperator::product()),
        flat(1 << 20, ElementType::f32(), custom_floats), flat(1 << 20, ElementType::u32(), custom),
        with(flat(1 << 20, ElementType::f32()), ScanSegments::flags())}) {
    SCOPED_TRACE(shape.input.name);
    EXPECT_EQ(roles(shape, Determinism::any), "single_pass");
    EXPECT_EQ(roles(shape, Determinism::run_to_run), "totals chunks");
    ScanShape repeatable = shape;
    repeatable.determinism = Determinism::run_to_run;
    EXPECT_EQ(refusal(repeatable, traits, fixed_tuning(ScanPath::single_pass)),
              "A single pass does not repeat float sums bit for bit.");
  }
  // Each of these has one right answer.
  for (const ScanShape& shape :
       {flat(1 << 20), flat(1 << 20, ElementType::i64()), flat(1 << 20, ElementType::f32(), BinaryOperator::max()),
        flat(1 << 20, ElementType::f32(), BinaryOperator::argmin())}) {
    EXPECT_EQ(roles(shape, Determinism::run_to_run), "single_pass") << shape.input.name;
  }
}

// Measured on an H200: docs/performance/scan.md.
TEST(ScanTuning, FewTilesHaveWideWorkgroupsOnNvidiaAlone) {
  DeviceTraits traits = gpu_traits();
  traits.adapter_vendor = "nvidia";
  traits.max_workgroup_size = 1024;
  traits.max_workgroup_bytes = 49152;
  struct Threads {
    std::uint64_t items;
    std::uint32_t scan, run_lengths, integers_by_key, floats_by_key;  // threads
  };
  for (const Threads& at : {Threads{1 << 18, 256, 256, 256, 256}, Threads{(1 << 18) + 1, 512, 512, 512, 256},
                            Threads{1 << 20, 512, 512, 512, 256}, Threads{(1 << 20) + 1, 512, 256, 512, 256},
                            Threads{1 << 21, 512, 256, 512, 256}, Threads{(1 << 21) + 1, 256, 256, 512, 256},
                            Threads{1 << 22, 256, 256, 512, 256}, Threads{(1 << 22) + 1, 256, 256, 256, 256},
                            Threads{1 << 23, 256, 256, 256, 256}, Threads{(1 << 23) + 1, 256, 256, 256, 256}}) {
    SCOPED_TRACE(at.items);
    const Count count = Count::on_host(at.items);
    const auto threads = [&](const auto& shape) { return select_scan_tuning(shape, traits).workgroup_size; };
    ReduceByKeyShape by_key{.item_count = count, .input = ElementType::u32(), .combine = BinaryOperator::sum()};
    EXPECT_EQ(threads(ScanShape{.item_count = count, .input = ElementType::f32()}), at.scan);
    EXPECT_EQ(threads(ScanShape{.item_count = count, .input = ElementType::u64()}), 256u);
    EXPECT_EQ(threads(RunLengthShape{.item_count = count}), at.run_lengths);
    EXPECT_EQ(threads(by_key), at.integers_by_key);
    by_key.input = ElementType::f32();
    EXPECT_EQ(threads(by_key), at.floats_by_key);
    EXPECT_EQ(threads(SelectShape{.item_count = count}), 256u);
    EXPECT_EQ(select_scan_tuning(ScanShape{.item_count = count}, gpu_traits()).workgroup_size, 256u);
  }
  // Without a buffer to spare, sums by key are taken apart later.
  DeviceTraits few_buffers = traits;
  few_buffers.max_storage_buffers = 8;
  for (const auto& [items, threads] : {std::pair{1u << 23, 512u}, {(1u << 23) + 1, 256u}}) {
    const ReduceByKeyShape by_key{.item_count = Count::on_host(items), .input = ElementType::u32()};
    EXPECT_EQ(select_scan_tuning(by_key, few_buffers).workgroup_size, threads);
  }
  // Their results would not be staged.
  DeviceTraits little_memory = traits;
  little_memory.max_workgroup_bytes = 16384;
  traits.max_workgroup_size = 256;
  for (const DeviceTraits& cut : {traits, little_memory})
    EXPECT_EQ(select_scan_tuning(ScanShape{.item_count = Count::on_host(1 << 20)}, cut).workgroup_size, 256u);
}

TEST(ScanPlan, NamesWhatStandsInTheWayOfASinglePass) {
  const auto obstacle = [](const ScanShape& shape, DeviceTraits traits = gpu_traits(),
                           ScanTuning tuning = fixed_tuning(ScanPath::single_pass)) {
    const std::string message = refusal(shape, traits, tuning);
    EXPECT_THAT(message, ::testing::StartsWith("No single pass here: "));
    return message;
  };
  EXPECT_THAT(obstacle(flat(10'000, MinMax::type(), MinMax::combine())),
              HasSubstr("structs do not fit into atomic words"));
  EXPECT_THAT(obstacle(in_place(flat(10'000))), HasSubstr("the output is the input"));
  EXPECT_THAT(obstacle(rows(3, 10'000)), HasSubstr("rows are scanned separately"));
  EXPECT_THAT(obstacle(flat(0xfffffffe), gpu_traits(), tiny_tuning(ScanPath::single_pass)),
              AllOf(HasSubstr("tiles"), HasSubstr("are more than 262143")));
  DeviceTraits small_grid = gpu_traits();
  small_grid.max_workgroups_per_dimension = 7;
  EXPECT_THAT(obstacle(flat(100'000), small_grid, tiny_tuning(ScanPath::single_pass)), HasSubstr("are more than 343"));
  EXPECT_THAT(obstacle(flat(100'000), with_limits(0, 65536), tiny_tuning(ScanPath::single_pass)),
              HasSubstr("tiles is larger than a binding"));
  // Short rows are segments of one row, and four words fit, also beside heads.
  EXPECT_EQ(roles_of(planned(with(flat(10'000, ElementType::vec(Scalar::u32, 4)), ScanSegments::flags()), gpu_traits(),
                             fixed_tuning(ScanPath::single_pass))),
            "single_pass");
  EXPECT_EQ(roles_of(planned(rows(3000, 10), gpu_traits(), fixed_tuning(ScanPath::single_pass))), "single_pass");
  EXPECT_EQ(roles_of(planned(flat(10'000, ElementType::vec(Scalar::f32, 4)), gpu_traits(),
                             fixed_tuning(ScanPath::single_pass))),
            "single_pass");
  EXPECT_EQ(roles_of(planned(with(flat(10'000, ElementType::u64()), ScanSegments::keys(ElementType::u32())),
                             gpu_traits(), fixed_tuning(ScanPath::single_pass))),
            "single_pass");
}

TEST(ScanPlan, EachProfileChangesThePlan) {
  const Plan full = planned(flat(100'000), gpu_traits(), fixed_tuning());
  EXPECT_TRUE(full.dispatches[0].kernel->needs_subgroups);
  EXPECT_THAT(full.notes, Contains("scans by subgroup operations, then across subgroups"));

  // no_subgroups
  const Plan without = planned(flat(100'000), gpu_traits().without_subgroups(), fixed_tuning());
  EXPECT_FALSE(without.dispatches[0].kernel->needs_subgroups);
  EXPECT_THAT(without.notes, Contains("scans in workgroup memory"));
  EXPECT_NE(without.dispatches[0].kernel->text, full.dispatches[0].kernel->text);

  // minimum_limits: smaller tiles for large items, and windows of 128 MiB.
  const DeviceTraits minimum = gpu_traits().without_subgroups().with_default_limits();
  const ScanShape large_items = flat(1000, Tally<16>::type(), Tally<16>::combine());
  EXPECT_GT(planned(large_items, gpu_traits().without_subgroups(), fixed_tuning()).dispatches[0].kernel->workgroup_size,
            planned(large_items, minimum, fixed_tuning()).dispatches[0].kernel->workgroup_size);
  EXPECT_EQ(planned(flat(100'000'000), gpu_traits(), fixed_tuning()).dispatches.size(), 2u);
  EXPECT_EQ(planned(flat(100'000'000), minimum, fixed_tuning()).dispatches.size(), 6u);

  // tiny_tiles: many chunks of few items.
  EXPECT_EQ(planned(flat(1000), gpu_traits(), fixed_tuning()).dispatches[0].grid.x, 1u);
  EXPECT_EQ(planned(flat(1000), gpu_traits(), tiny_tuning()).dispatches[0].grid.x, 32u);

  // emulated: subgroups in workgroup memory.
  const Plan emulated = planned(flat(100'000), emulated_traits(), fixed_tuning());
  EXPECT_THAT(emulated.notes, Contains("emulated subgroups"));
  EXPECT_FALSE(emulated.dispatches[0].kernel->needs_subgroups);
}

std::string lanes_note(const ScanShape& shape, const DeviceTraits& traits, ScanTuning tuning = fixed_tuning()) {
  for (const std::string& note : planned(shape, traits, tuning).notes) {
    if (note.starts_with("scans ") || note == "emulated subgroups") return note;
  }
  return "none";
}

TEST(ScanPlan, FallsBackWithTheDevicesFeatures) {
  const DeviceTraits gpu = gpu_traits();
  EXPECT_THAT(lanes_note(flat(9), gpu), HasSubstr("subgroup operations"));
  EXPECT_THAT(lanes_note(flat(9, ElementType::f32(), BinaryOperator::product()), gpu),
              HasSubstr("subgroup operations"));
  // The rest of the built-ins only fold.
  EXPECT_THAT(lanes_note(flat(9, ElementType::u32(), BinaryOperator::max()), gpu), HasSubstr("subgroup shuffles"));
  EXPECT_THAT(lanes_note(flat(9, ElementType::u64()), gpu), HasSubstr("subgroup shuffles"));
  EXPECT_THAT(lanes_note(flat(9, ElementType::u32(), BinaryOperator::custom("f", "fn f() {}", "0u")), gpu),
              HasSubstr("subgroup shuffles"));
  EXPECT_THAT(lanes_note(with(flat(9), ScanSegments::flags()), gpu), HasSubstr("subgroup shuffles"));
  EXPECT_THAT(lanes_note(flat(9, MinMax::type(), MinMax::combine()), gpu), HasSubstr("in workgroup memory"));

  // Subgroups cannot be numbered.
  DeviceTraits traits = gpu;
  traits.subgroup_id_builtin = false;
  EXPECT_THAT(lanes_note(flat(9), traits), HasSubstr("in workgroup memory"));
  traits.subgroup_ids_follow_index = true;
  EXPECT_THAT(lanes_note(flat(9), traits), HasSubstr("subgroup operations"));
  EXPECT_THAT(planned(flat(9), traits).dispatches[0].kernel->text, Not(HasSubstr("requires subgroup_id")));
  EXPECT_THAT(planned(flat(9), gpu).dispatches[0].kernel->text, HasSubstr("requires subgroup_id"));

  // A lane that does not exist must not be asked: the size must be known and divide the workgroup.
  for (const std::uint32_t size : {0u, 512u}) {
    traits = gpu;
    traits.subgroup_min_size = traits.subgroup_max_size = size;
    EXPECT_THAT(lanes_note(flat(9), traits), HasSubstr("in workgroup memory"));
  }
  ScanTuning tuning = fixed_tuning();
  tuning.use_subgroups = false;
  EXPECT_THAT(lanes_note(flat(9), gpu, tuning), HasSubstr("in workgroup memory"));
  EXPECT_THAT(lanes_note(flat(9), gpu, tiny_tuning()), HasSubstr("in workgroup memory"));
  EXPECT_THAT(lanes_note(flat(9), emulated_traits(), tiny_tuning()), HasSubstr("in workgroup memory"));
}

bool moves_vectors(const Plan& plan) { return plan.dispatches.back().kernel->find_binding("output_units") != nullptr; }

TEST(ScanPlan, MovesVectorsWhereTypesAndOffsetsAllow) {
  const auto vectors = [](const ScanShape& shape, ScanOffsets offsets = {},
                          const DeviceTraits& traits = least_traits()) {
    return moves_vectors(planned(shape, traits, std::nullopt, offsets));
  };
  EXPECT_TRUE(vectors(flat(1000)));
  EXPECT_TRUE(vectors(flat(1000, ElementType::f16())));
  EXPECT_TRUE(vectors(flat(1000, ElementType::u64())));
  EXPECT_TRUE(vectors(flat(1000, ElementType::vec(Scalar::i32, 2))));
  EXPECT_FALSE(vectors(flat(1000, ElementType::vec(Scalar::f32, 4))));
  EXPECT_FALSE(vectors(flat(1000, Affine::type(), Affine::combine())));
  EXPECT_TRUE(vectors(in_place(flat(1000))));
  EXPECT_TRUE(vectors(reversed(flat(1000))));
  // A whole block of 256 bytes must be there to write.
  EXPECT_FALSE(vectors(flat(50)));
  // Input and output must begin alike.
  EXPECT_TRUE(vectors(flat(1000), {.input_bytes = 4, .output_bytes = 20}));
  EXPECT_FALSE(vectors(flat(1000), {.input_bytes = 4, .output_bytes = 8}));
  ScanTuning tuning = fixed_tuning();
  tuning.use_vectors = false;
  EXPECT_FALSE(moves_vectors(planned(flat(1000), least_traits(), tuning)));
  // Vectors take a binding more for the input and one for the output. With all that a kernel may have on a device of
  // eight, and a value to carry from window to window, they are given up.
  ScanShape all = with(flat(0), ScanSegments::keys(ElementType::u32()));
  all.item_count = Count::on_device(50'000);
  all.init = ConstantValue::of(1u);
  DeviceTraits traits = with_limits(0, 65536);
  EXPECT_FALSE(vectors(all, {}, traits));
  traits.max_storage_buffers = 10;
  EXPECT_TRUE(vectors(all, {}, traits));
}

TEST(ScanPlan, KernelTextsDoNotDependOnTheItemCount) {
  const auto texts_of = [](const auto& shape_of, ScanTuning tuning, std::uint64_t first, const DeviceTraits& traits) {
    std::set<std::string> texts;
    for (std::uint64_t count = first; count < 0x70000000; count += count / 3 + 1) {
      for (const Dispatch& dispatch : planned(shape_of(count), traits, tuning).dispatches)
        texts.insert(dispatch.kernel->text);
    }
    return texts.size();
  };
  DeviceTraits traits = gpu_traits();
  traits.max_binding_bytes = std::uint64_t{1} << 33;
  const auto sum = [](std::uint64_t count) { return flat(count); };
  const auto ordered = [](std::uint64_t count) {
    return flat(count, ElementType::u32(), BinaryOperator::custom("f", "fn f() {}", "e"));
  };
  const auto by_keys = [](std::uint64_t count) { return with(flat(count), ScanSegments::keys(ElementType::u32())); };
  const auto by_rows = [](std::uint64_t count) { return rows(count / 10 + 1, 10); };
  for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
    const std::size_t passes = path == ScanPath::two_pass ? 2 : 1;
    EXPECT_EQ(texts_of(sum, fixed_tuning(path), 20'000, traits), passes);
    EXPECT_EQ(texts_of(ordered, fixed_tuning(path), 20'000, traits), passes);
    EXPECT_EQ(texts_of(by_keys, fixed_tuning(path), 20'000, traits), passes);
    EXPECT_EQ(texts_of(by_rows, fixed_tuning(path), 20'000, traits), passes);
  }
  // Few items: one chunk, and items one by one where there are too few for vectors.
  EXPECT_EQ(texts_of(sum, fixed_tuning(), 1, traits), 4u);
  // Windows: the first, those between, the last.
  EXPECT_LE(texts_of(sum, fixed_tuning(), 20'000, least_traits()), 2u + 3u);
}

TEST(ScanPlan, StatesTheBytesThatItMoves) {
  for (const std::uint64_t count : {std::uint64_t{1} << 20, std::uint64_t{1} << 26}) {
    const Plan two = planned(flat(count), gpu_traits(), fixed_tuning());
    EXPECT_EQ(two.least_bytes, 8 * count);
    EXPECT_GE(two.bytes_moved(), 12 * count);
    EXPECT_LE(two.bytes_moved(), 12 * count + 12 * count / 1000);
    const Plan single = planned(flat(count), gpu_traits(), fixed_tuning(ScanPath::single_pass));
    EXPECT_EQ(single.least_bytes, 8 * count);
    EXPECT_EQ(single.bytes_moved(), 8 * count);
    // Keys are read with the items.
    const ScanShape by_keys = with(flat(count), ScanSegments::keys(ElementType::u32()));
    EXPECT_EQ(planned(by_keys, gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved(), 12 * count);
    // A result of another size.
    EXPECT_EQ(planned(flat(count, ElementType::f16()), gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved(),
              4 * count);
    EXPECT_EQ(planned(flat(count, ElementType::u64()), gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved(),
              16 * count);
  }
}

// Two passes: a value a chunk, however many items. Single pass: 32 bytes a tile, rounded up to a power of two of tiles.
TEST(ScanPlan, TakesLittleMemory) {
  for (std::uint64_t count = 10'000; count < 0xfffffffe; count += count / 2) {
    const Plan two = planned(flat(count), gpu_traits(), fixed_tuning());
    EXPECT_LE(two.scratch_bytes,
              fixed_tuning().max_workgroups * 4 * ((count * 4) / gpu_traits().max_binding_bytes + 1) + 64);
    EXPECT_TRUE(two.states.empty());
    const auto single = plan_scan(flat(count), gpu_traits(), fixed_tuning(ScanPath::single_pass));
    if (!single) continue;
    const std::uint64_t tiles = (count + 3 + 8191) / 8192;
    for (const StateSlot& state : single->states) {
      EXPECT_EQ(state.name, "tiles");
      EXPECT_LE(state.size_bytes, 32 + 64 * tiles);
    }
    if (single->dispatches.size() == 1) {
      EXPECT_EQ(single->states.at(0).size_bytes, 32 + 32 * std::bit_ceil(tiles));
      EXPECT_EQ(single->scratch_bytes, 0u);
    }
  }
}

TEST(ScanPlan, EmptyInputsWriteOnlyTheTotal) {
  for (const ScanShape& shape :
       {flat(0), rows(0, 10), rows(5, 0), with(flat(0), ScanSegments::flags()), rows(0, 100'000)}) {
    const Plan plan = planned(shape);
    EXPECT_TRUE(plan.dispatches.empty());
    EXPECT_TRUE(plan.arguments.empty());
  }
  for (const ScanShape& shape : {flat(0), rows(5, 0)}) {
    const Plan plan = planned(with_total(shape));
    EXPECT_EQ(roles_of(plan), "empty");
    ASSERT_EQ(plan.arguments.size(), 1u);
    EXPECT_EQ(plan.arguments[0].name, "total");
  }
  EXPECT_TRUE(planned(with_total(rows(0, 10))).dispatches.empty());
}

TEST(ScanPlan, AsksForTheArgumentsOfItsShape) {
  const auto names = [](const ScanShape& shape) {
    std::set<std::string> all;
    for (const ArgumentSlot& argument : planned(shape).arguments) all.insert(argument.name);
    return all;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(names(flat(1000)), (Names{"input", "output"}));
  EXPECT_EQ(names(in_place(flat(1000))), (Names{"output"}));
  EXPECT_EQ(names(with_total(flat(1000))), (Names{"input", "output", "total"}));
  EXPECT_EQ(names(with(flat(1000), ScanSegments::flags())), (Names{"input", "output", "heads"}));
  EXPECT_EQ(names(with(flat(1000), ScanSegments::keys(ElementType::u32()))), (Names{"input", "output", "keys"}));
  ScanShape counted = flat(0);
  counted.item_count = Count::on_device(1000);
  EXPECT_EQ(names(counted), (Names{"input", "output", "item_count"}));
  const auto bytes = [](const ScanShape& shape, std::string_view name) {
    return planned(shape).find_argument(name)->size_bytes;
  };
  EXPECT_EQ(bytes(flat(1000, ElementType::f16()), "input"), 2000u);
  EXPECT_EQ(bytes(flat(1000, ElementType::f32(), BinaryOperator::argmin()), "output"), 4000u);
  EXPECT_EQ(bytes(flat(1000, ElementType::u64(), BinaryOperator::argmin()), "output"), 4000u);
  EXPECT_EQ(bytes(with_total(rows(7, 1000, ElementType::u64())), "total"), 56u);
  EXPECT_EQ(bytes(with(flat(1001), ScanSegments::flags(FlagFormat::words)), "heads"), 4004u);
  EXPECT_EQ(bytes(with(flat(1001), ScanSegments::flags(FlagFormat::bytes)), "heads"), 1004u);
  EXPECT_EQ(bytes(with(flat(1001), ScanSegments::flags(FlagFormat::bits)), "heads"), 128u);
}

TEST(ScanRefusals, OperatorsAreRefusedForTypesTheyAreNotDefinedFor) {
  for (const ElementType& type : builtin_types()) {
    for (const BinaryOperator& op : well_known_operators()) {
      const auto plan = plan_scan(flat(10, type, op), least_traits());
      EXPECT_EQ(plan.has_value(), is_defined(op.kind, type)) << to_string(op) << " of " << type.name;
      if (plan) continue;
      EXPECT_THAT(plan.error().message,
                  AllOf(HasSubstr(std::format("Operator {} is not defined for {} items", to_string(op), type.name)),
                        HasSubstr("While planning a scan")));
    }
  }
  EXPECT_THAT(refusal(flat(10, MinMax::type())), HasSubstr("structs need an operator given as WGSL text"));
}

TEST(ScanRefusals, TransformsMustExplainOtherTypes) {
  ScanShape shape = flat(10, ElementType::f32());
  shape.value = ElementType::u32();
  EXPECT_EQ(refusal(shape), "A transform must say how u32 comes from the input.");
  shape = flat(10, ElementType::f32());
  shape.output = ElementType::u32();
  EXPECT_EQ(refusal(shape), "A store transform must say how u32 comes from f32.");
  shape.store = Transform::of("u32(x)");
  EXPECT_TRUE(plan_scan(shape, least_traits()).has_value());
  shape = flat(10, ElementType::f32());
  shape.result = ElementType::u32();
  EXPECT_THAT(refusal(shape), HasSubstr("Operator sum of f32 items gives f32, not u32"));
  shape = flat(10, ElementType::f16());
  shape.result = ElementType::f32();
  EXPECT_TRUE(plan_scan(shape, least_traits()).has_value());
}

TEST(ScanRefusals, InitialValuesMustFit) {
  ScanShape shape = flat(10);
  shape.init = ConstantValue::of(std::uint64_t{1});
  EXPECT_EQ(refusal(shape), "The initial value has 8 bytes; a u32 has 4.");
  shape = flat(10, ElementType::u32(), BinaryOperator::argmax());
  shape.init = ConstantValue::of(1u);
  EXPECT_EQ(refusal(shape), "argmin and argmax take no initial value: it has no index.");
}

TEST(ScanRefusals, InPlaceNeedsItemsThatAreStoredAlike) {
  EXPECT_EQ(refusal(in_place(flat(10, ElementType::u64(), BinaryOperator::argmin()))),
            "In place needs equal strides: u64 has 8 bytes, u32 has 4.");
  EXPECT_EQ(refusal(in_place(flat(10, ElementType::i32(), BinaryOperator::logical_any()))),
            "In place needs types that are stored alike, not i32 and u32.");
  EXPECT_TRUE(plan_scan(in_place(flat(10, ElementType::f32(), BinaryOperator::argmin())), least_traits()).has_value());
}

TEST(ScanRefusals, TotalsAndCountsBelongToRows) {
  for (const ScanSegments& segments : {ScanSegments::flags(), ScanSegments::keys(ElementType::u32())}) {
    EXPECT_EQ(refusal(with_total(with(flat(10), segments))),
              "A scan by flags or keys has no total; reduce by key gives one for each segment.");
  }
  ScanShape shape = rows(3, 10);
  for (const Count& count : {Count::on_device(30), Count::on_host(30)}) {
    shape.item_count = count;
    EXPECT_EQ(refusal(shape), "With rows item_count stays empty: rows and their length say it.");
  }
}

TEST(ScanRefusals, StructKeysNeedAnEquality) {
  EXPECT_EQ(refusal(with(flat(10), ScanSegments::keys(MinMax::type()))),
            "Items of the struct MinMax need an equality: a WGSL expression of a and b.");
  EXPECT_TRUE(
      plan_scan(with(flat(10), ScanSegments::keys(MinMax::type(), Equality::of("a.low == b.low"))), least_traits())
          .has_value());
}

TEST(ScanRefusals, WhatIsNoElementTypeIsNamed) {
  EXPECT_THAT(refusal(flat(10, ElementType::vec(Scalar::u32, 3))), HasSubstr("is no element type"));
  EXPECT_THAT(refusal(flat(10), DeviceTraits{.offset_alignment = 0}), HasSubstr("The device traits lack limits."));
}

TEST(ScanRefusals, MoreItemsThanIndicesAreRefused) {
  const auto refused = [](const ScanShape& shape) {
    return refusal(shape, least_traits(), std::nullopt, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(flat(0xffffffff)), AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  EXPECT_THAT(refused(flat(~std::uint64_t{0})), HasSubstr("18446744073709551615"));
  EXPECT_THAT(refused(rows(0x10000, 0x10000)), HasSubstr("65536 rows of 65536 items are more than"));
  EXPECT_THAT(refused(rows(~std::uint64_t{0}, 2)), HasSubstr("18446744073709551615 rows"));
}

TEST(ScanRefusals, TuningsOutOfRangeAreNamed) {
  for (const ScanTuning& tuning : {ScanTuning{.workgroup_size = 0}, ScanTuning{.workgroup_size = 96},
                                   ScanTuning{.rows = 0}, ScanTuning{.rows = 17}, ScanTuning{.max_workgroups = 0}}) {
    EXPECT_THAT(refusal(flat(10), least_traits(), tuning), HasSubstr("Tuning out of range: "));
  }
  // Not what is left of it after the tile is cut to fit into workgroup memory.
  EXPECT_THAT(refusal(flat(10), least_traits(), ScanTuning{.workgroup_size = 65536}, ErrorKind::unsupported),
              HasSubstr("A workgroup of 65536 threads is larger than the device's limit (256)."));
}

TEST(ScanRefusals, LimitsThatTheRequestBreaksAreNamed) {
  const auto refused = [](const ScanShape& shape, const DeviceTraits& traits,
                          std::optional<ScanTuning> tuning = std::nullopt) {
    return refusal(shape, traits, tuning, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(flat(100), with_limits(0, 100)),
              HasSubstr("A binding of 100 bytes is too small for items of 4 bytes."));
  EXPECT_THAT(refused(reversed(with(flat(1000), ScanSegments::flags())), with_limits(0, 1000)),
              AllOf(HasSubstr("needs its 1000 items in one binding"), HasSubstr("1000 bytes")));
  EXPECT_THAT(refused(flat(10'000), with_limits(2, 0), tiny_tuning()),
              AllOf(HasSubstr("workgroups do not fit"), HasSubstr("at most 2")));
  ScanTuning wide = fixed_tuning();
  wide.workgroup_size = 512;
  wide.rows = 1;
  EXPECT_THAT(refused(flat(10), least_traits(), wide), AllOf(HasSubstr("512 threads"), HasSubstr("(256)")));
  EXPECT_THAT(refused(flat(10, ElementType::f16()), DeviceTraits::webgpu_minimum()), HasSubstr("shader-f16"));
  DeviceTraits traits = least_traits();
  traits.max_storage_buffers = 1;
  EXPECT_THAT(refused(flat(10), traits), AllOf(HasSubstr("2 storage buffers"), HasSubstr("(1)")));
  traits = least_traits();
  traits.max_buffer_bytes = 1024;
  EXPECT_THAT(refused(flat(10'000'000), traits, fixed_tuning()),
              AllOf(HasSubstr("bytes of scratch"), HasSubstr("(1024 bytes)")));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("inclusive sum of 1000 u32, least limits", planned(flat(1000), least_traits(), fixed_tuning()));
  ScanShape exclusive = with_total(flat(1'001'000, ElementType::f32()));
  exclusive.kind = ScanKind::exclusive;
  exclusive.init = ConstantValue::of(1.0f);
  add("exclusive sum of 1001000 f32 with an initial value and the total, two passes, GPU",
      planned(exclusive, gpu_traits(), fixed_tuning()));
  add("inclusive sum of 1001000 u32 from byte 4, single pass, GPU",
      planned(flat(1'001'000), gpu_traits(), fixed_tuning(ScanPath::single_pass),
              {.input_bytes = 4, .output_bytes = 4}));
  add("reverse max of 300 i32, bindings of 1000 bytes",
      planned(reversed(flat(300, ElementType::i32(), BinaryOperator::max())), with_limits(0, 1000), fixed_tuning()));
  add("affine maps in order in place, 5000, tiny tiles",
      planned(in_place(flat(5000, Affine::type(), Affine::combine())), least_traits(), tiny_tuning()));
  ScanShape counted = with(flat(0), ScanSegments::keys(ElementType::u64()));
  counted.item_count = Count::on_device(50'000);
  add("sum of at most 50000 u32 by u64 keys, least limits", planned(counted, least_traits(), fixed_tuning()));
  add("sum of 300 rows of 7 u64, least limits",
      planned(rows(300, 7, ElementType::u64()), least_traits(), fixed_tuning()));
  add("max of 3 rows of 100000 f16 with totals, GPU",
      planned(with_total(rows(3, 100'000, ElementType::f16(), BinaryOperator::max())), gpu_traits(), fixed_tuning()));
  add("total of nothing", planned(with_total(flat(0)), least_traits(), fixed_tuning()));
  return text;
}

TEST(ScanPlan, GoldenPlansAreUnchanged) { expect_golden("scan", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
