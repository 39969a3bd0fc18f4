// SPDX-License-Identifier: Apache-2.0
// Plans of reductions without a device: coverage of every item, limits, refusals, and the golden plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <format>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "plan/lowering.h"
#include "primitives/reduce/reduce_simulation.h"
#include "testing/generators.h"
#include "testing/operators_for_tests.h"
#include "upsweep/reduce.h"

namespace upsweep::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A hand-made GPU with more than the least.
DeviceTraits gpu_traits() {
  DeviceTraits traits;
  traits.max_workgroup_size = 1024;
  traits.max_workgroup_bytes = 32768;
  traits.max_storage_buffers = 16;
  traits.max_binding_bytes = (std::uint64_t{1} << 32) - 4;
  traits.max_buffer_bytes = std::uint64_t{1} << 40;
  traits.offset_alignment = 32;
  traits.subgroups = true;
  traits.subgroup_min_size = 32;
  traits.subgroup_max_size = 32;
  traits.subgroup_id_builtin = true;
  traits.f16 = true;
  traits.adapter = "test GPU";
  return traits;
}

DeviceTraits least_traits() {
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
  traits.f16 = true;
  return traits;
}

DeviceTraits emulated_traits() {
  DeviceTraits traits = least_traits();
  traits.emulated_subgroup_size = 16;
  return traits;
}

// The tuning of the GPU tests' profile tiny_tiles: tiles of 4 threads x 2 loads x 4 items.
ReduceTuning tiny_tuning(bool single_pass = true) {
  return {.workgroup_size = 4,
          .units_per_thread = 2,
          .single_pass = single_pass,
          .max_workgroups = 64,
          .longest_chain = 3,
          .one_workgroup_items = 8};
}

// Tiles of 8192 items; whatever the library would choose.
ReduceTuning fixed_tuning(bool single_pass) {
  return {.workgroup_size = 256,
          .units_per_thread = 8,
          .single_pass = single_pass,
          .max_workgroups = 2048,
          .longest_chain = 64,
          .one_workgroup_items = 16384};
}

ReduceShape flat(std::uint64_t count, ElementType input = ElementType::u32(),
                 BinaryOperator combine = BinaryOperator::sum()) {
  return {.item_count = Count::on_host(count), .input = std::move(input), .combine = std::move(combine)};
}

ReduceShape rows(std::uint64_t row_count, std::uint32_t row_length, ElementType input = ElementType::u32(),
                 BinaryOperator combine = BinaryOperator::sum()) {
  ReduceShape shape = flat(0, std::move(input), std::move(combine));
  shape.segments = Segmentation::rows(Count::on_host(row_count), row_length);
  return shape;
}

ReduceShape offsets(std::uint64_t segment_count, std::uint64_t item_count, ElementType input = ElementType::u32(),
                    BinaryOperator combine = BinaryOperator::sum()) {
  ReduceShape shape = flat(item_count, std::move(input), std::move(combine));
  shape.segments = Segmentation::offsets(Count::on_host(segment_count));
  return shape;
}

Plan planned(const ReduceShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ReduceTuning> tuning = std::nullopt, ReduceOffsets from = {}) {
  auto plan = plan_reduce(shape, traits, tuning, from);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const ReduceShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ReduceTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_reduce(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::uint32_t accumulator_bytes(const ReduceShape& shape) {
  const auto lowered = lower_operator(shape.combine, shape.value.value_or(shape.input), nullptr);
  EXPECT_TRUE(lowered.has_value());
  return lowered ? lowered->accumulator_bytes : 4;
}

void expect_result(const std::optional<Seen>& result, std::uint64_t first, std::uint64_t length, bool is_ordered) {
  Seen expected;
  for (std::uint64_t i = 0; i < length; ++i) expected = expected * Seen::item(first + i, i);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->count, expected.count);
  EXPECT_EQ(result->content, expected.content);
  if (!is_ordered) return;
  EXPECT_EQ(result->sequence, expected.sequence);
}

// Plans the shape and checks that the result of every segment sees each of its items once, with its index, and in
// order where the operator does not commute.
void expect_coverage(const ReduceShape& shape, const DeviceTraits& traits, std::optional<ReduceTuning> tuning,
                     SimulatedBuffers buffers) {
  ReduceOffsets from;
  if (buffers.offset_bytes.contains("input"))
    from.input_bytes = buffers.offset_bytes["input"] % traits.offset_alignment;
  if (buffers.offset_bytes.contains("second_input")) {
    from.second_input_bytes = buffers.offset_bytes["second_input"] % traits.offset_alignment;
  }
  const Plan plan = planned(shape, traits, tuning, from);
  SCOPED_TRACE(to_string(plan));
  const bool is_ordered = !shape.combine.commutative;
  Simulation simulation(plan, traits, buffers, accumulator_bytes(shape));
  const auto& results = simulation.run();
  if (::testing::Test::HasFailure()) return;
  switch (shape.segments.kind) {
    case Segmentation::Kind::whole: {
      const std::uint64_t count = shape.item_count.read_on_device
                                      ? std::min<std::uint64_t>(buffers.item_count, shape.item_count.max)
                                      : shape.item_count.max;
      ASSERT_EQ(results.size(), 1u);
      expect_result(results[0], 0, count, is_ordered);
      return;
    }
    case Segmentation::Kind::rows: {
      const Count& count = shape.segments.count;
      ASSERT_EQ(results.size(), count.max);
      for (std::uint64_t row = 0; row < count.max; ++row) {
        if (count.read_on_device && row >= buffers.item_count) {
          EXPECT_FALSE(results[row]);
        } else {
          expect_result(results[row], row * shape.segments.row_length, shape.segments.row_length, is_ordered);
        }
      }
      return;
    }
    case Segmentation::Kind::offsets: {
      ASSERT_EQ(results.size(), shape.segments.count.max);
      for (std::uint64_t s = 0; s < results.size(); ++s) {
        if (shape.segments.count.read_on_device && s >= buffers.item_count) {
          EXPECT_FALSE(results[s]);
          continue;
        }
        const std::uint64_t begin = std::min<std::uint64_t>(buffers.begins[s], shape.item_count.max);
        const std::uint64_t end = std::max(begin, std::min<std::uint64_t>(buffers.ends[s], shape.item_count.max));
        expect_result(results[s], begin, end - begin, is_ordered);
      }
    }
  }
}

struct Case {
  std::string name;
  DeviceTraits traits;
  std::optional<ReduceTuning> tuning;
};

DeviceTraits with_limits(std::uint32_t workgroups_per_dimension, std::uint64_t binding_bytes) {
  DeviceTraits traits = least_traits();
  if (workgroups_per_dimension != 0) traits.max_workgroups_per_dimension = workgroups_per_dimension;
  if (binding_bytes != 0) traits.max_binding_bytes = binding_bytes;
  return traits;
}

std::vector<Case> coverage_cases() {
  ReduceTuning scalar_loads = tiny_tuning(false);
  scalar_loads.use_vectors = false;
  return {{"least", least_traits(), std::nullopt},
          {"tiny", least_traits(), tiny_tuning()},
          {"tiny, many passes", least_traits(), tiny_tuning(false)},
          {"tiny, no vectors", gpu_traits(), scalar_loads},
          {"1000-byte bindings", with_limits(0, 1000), std::nullopt},
          {"tiny, 1000-byte bindings", with_limits(0, 1000), tiny_tuning()}};
}

const std::vector<ElementType>& coverage_types() {
  static const std::vector<ElementType> types{ElementType::u32(), ElementType::f16(), ElementType::vec(Scalar::u32, 4),
                                              Tally<3>::type()};
  return types;
}

BinaryOperator coverage_operator(const ElementType& type, bool is_ordered) {
  if (type.is_struct()) return Tally<3>::combine(is_ordered);
  if (is_ordered) return BinaryOperator::custom("f", "fn f() {}", "e");
  return BinaryOperator::sum();
}

// Whether the shape can be planned. Bindings of 1000 bytes may be too small, for nothing else may a plan be refused.
bool can_be_planned(const ReduceShape& shape, const Case& at, std::uint64_t input_offset = 0,
                    std::uint64_t second_offset = 0) {
  const std::uint32_t alignment = at.traits.offset_alignment;
  const auto plan =
      plan_reduce(shape, at.traits, at.tuning,
                  {.input_bytes = input_offset % alignment, .second_input_bytes = second_offset % alignment});
  if (plan) return true;
  EXPECT_EQ(at.traits.max_binding_bytes, 1000u) << plan.error().message;
  EXPECT_THAT(plan.error().message,
              ::testing::AnyOf(
                  HasSubstr("is too small for"),
                  ::testing::ContainsRegex("^output of [0-9]+ bytes is larger than the device's limit of one binding"),
                  HasSubstr("need the whole input")));
  return false;
}

TEST(ReduceCoverage, EveryItemOfAFlatInputIsFoldedOnce) {
  int planned_count = 0;
  for (const Case& at : coverage_cases()) {
    for (const ElementType& type : coverage_types()) {
      for (const bool is_ordered : {false, true}) {
        for (const std::uint32_t count :
             {0u,   1u,   2u,    3u,    4u,    5u,    7u,    8u,    9u,    31u,    32u,   33u,
              63u,  64u,  65u,   95u,   96u,   97u,   191u,  192u,  193u,  255u,   256u,  257u,
              500u, 999u, 1000u, 2047u, 2048u, 2049u, 8191u, 8192u, 8193u, 16384u, 16385u}) {
          if (count > (at.traits.max_binding_bytes == 1000 ? 2048u : 20000u)) continue;
          for (const std::uint32_t first : {0u, 1u, 63u, 67u}) {
            if (first == 1 && count > 3000) continue;
            SCOPED_TRACE(std::format("{}: {} x {}, {}, from item {}", at.name, count, type.name,
                                     is_ordered ? "ordered" : "any order", first));
            const ReduceShape shape = flat(count, type, coverage_operator(type, is_ordered));
            const std::uint64_t offset = std::uint64_t{first} * type.stride_bytes;
            if (!can_be_planned(shape, at, offset)) continue;
            ++planned_count;
            expect_coverage(shape, at.traits, at.tuning,
                            {.offset_bytes = {{"input", offset}, {"output", 5 * type.stride_bytes}}});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GT(planned_count, 3000);
}

TEST(ReduceCoverage, EveryItemOfEveryRowIsFoldedOnce) {
  for (const Case& at : coverage_cases()) {
    for (const ElementType& type : coverage_types()) {
      for (const bool is_ordered : {false, true}) {
        for (const auto& [row_count, row_length] : {std::pair{1u, 1u},
                                                    {5u, 0u},
                                                    {300u, 1u},
                                                    {100u, 3u},
                                                    {65u, 7u},
                                                    {3u, 31u},
                                                    {9u, 64u},
                                                    {7u, 100u},
                                                    {3u, 999u},
                                                    {2u, 2049u},
                                                    {1u, 4096u},
                                                    {3u, 5000u},
                                                    {2u, 8195u}}) {
          if (at.traits.max_binding_bytes == 1000 && row_count * row_length > 3000) continue;
          for (const std::uint32_t first : {0u, 3u, 66u}) {
            SCOPED_TRACE(std::format("{}: {} rows of {} x {}, {}, from item {}", at.name, row_count, row_length,
                                     type.name, is_ordered ? "ordered" : "any order", first));
            const ReduceShape shape = rows(row_count, row_length, type, coverage_operator(type, is_ordered));
            const std::uint64_t offset = std::uint64_t{first} * type.stride_bytes;
            if (!can_be_planned(shape, at, offset)) continue;
            expect_coverage(shape, at.traits, at.tuning,
                            {.offset_bytes = {{"input", offset}, {"output", 7 * type.stride_bytes}}});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ReduceCoverage, EveryItemOfEverySegmentIsFoldedOnce) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  for (const Case& at : coverage_cases()) {
    for (const ElementType& type : coverage_types()) {
      for (const bool is_ordered : {false, true}) {
        for (const auto& [segment_count, item_count] :
             {std::pair{1u, 200u}, {3u, 0u}, {500u, 150u}, {70u, 240u}, {5u, 5000u}, {2u, 20000u}}) {
          if (at.traits.max_binding_bytes == 1000 && item_count * type.stride_bytes > 600) continue;
          SCOPED_TRACE(std::format("{}: {} segments of {} x {}, {}", at.name, segment_count, item_count, type.name,
                                   is_ordered ? "ordered" : "any order"));
          SimulatedBuffers buffers{
              .offset_bytes = {
                  {"input", 3 * type.stride_bytes}, {"segment_begins", 4}, {"segment_ends", 252}, {"output", 260}}};
          if (type.stride_bytes > 4) buffers.offset_bytes["output"] = 9 * type.stride_bytes;
          for (std::uint32_t s = 0; s < segment_count; ++s) {
            // Overlaps, gaps, ends before begins, and both past the input.
            buffers.begins.push_back(random.below(item_count + 10));
            buffers.ends.push_back(random.below(item_count + 10));
          }
          const ReduceShape shape = offsets(segment_count, item_count, type, coverage_operator(type, is_ordered));
          if (!can_be_planned(shape, at, buffers.offset_bytes["input"])) continue;
          expect_coverage(shape, at.traits, at.tuning, buffers);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ReduceCoverage, PairsOfTwoInputsMeetInEveryWindowAndAtAnyOffsets) {
  const auto types = {ElementType::u32(), ElementType::f16(), ElementType::vec(Scalar::f32, 4), Tally<3>::type()};
  for (const Case& at : coverage_cases()) {
    for (const ElementType& first : types) {
      for (const ElementType& second : types) {
        for (const std::uint32_t length : {1u, 5u, 191u, 500u, 1000u, 8200u}) {
          if (at.traits.max_binding_bytes == 1000 && length > 1000) continue;
          for (const auto& [first_item, second_item] : {std::pair{0u, 0u}, {1u, 2u}, {2u, 66u}, {3u, 67u}}) {
            for (const bool by_rows : {false, true}) {
              SCOPED_TRACE(std::format("{}: {} x {} and {}, from items {} and {}, rows {}", at.name, length, first.name,
                                       second.name, first_item, second_item, by_rows));
              ReduceShape shape = by_rows ? rows(3, length, first) : flat(length, first);
              shape.second_input = second;
              shape.value = ElementType::u32();
              shape.transform = Transform::of("1u");
              const std::uint64_t first_offset = std::uint64_t{first_item} * first.stride_bytes;
              const std::uint64_t second_offset = std::uint64_t{second_item} * second.stride_bytes;
              if (!can_be_planned(shape, at, first_offset, second_offset)) continue;
              expect_coverage(
                  shape, at.traits, at.tuning,
                  {.offset_bytes = {{"input", first_offset}, {"second_input", second_offset}, {"output", 4}}});
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(ReduceCoverage, CountsOnTheDeviceCutOffItemsRowsAndSegments) {
  for (const Case& at : coverage_cases()) {
    for (const bool is_ordered : {false, true}) {
      for (const std::uint32_t count : {0u, 1u, 3u, 191u, 192u, 193u, 700u, 999u, 1000u, 1001u, 0xffffffffu}) {
        SCOPED_TRACE(std::format("{}: count {}, {}", at.name, count, is_ordered ? "ordered" : "any order"));
        const BinaryOperator combine = coverage_operator(ElementType::u32(), is_ordered);
        SimulatedBuffers buffers{.offset_bytes = {{"input", 4}, {"item_count", 12}}, .item_count = count};
        ReduceShape shape = flat(0, ElementType::u32(), combine);
        shape.item_count = Count::on_device(1000);
        expect_coverage(shape, at.traits, at.tuning, buffers);
        for (const auto& [row_count, row_length] : {std::pair{1000u, 2u}, {10u, 100u}, {4u, 300u}, {2u, 4200u}}) {
          if (at.traits.max_binding_bytes == 1000 && row_length > 1000) continue;
          shape = rows(0, row_length, ElementType::u32(), combine);
          shape.segments.count = Count::on_device(row_count);
          expect_coverage(shape, at.traits, at.tuning, buffers);
        }
        shape = offsets(0, 100, ElementType::u32(), combine);
        shape.segments.count = Count::on_device(1000);
        for (std::uint32_t s = 0; s < 1000; ++s) {
          buffers.begins.push_back(s % 100);
          buffers.ends.push_back(s % 100 + s % 7);
        }
        expect_coverage(shape, at.traits, at.tuning, buffers);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(ReduceCoverage, FoldedGridsCoverEveryTileOnce) {
  for (const std::uint32_t limit : {2u, 3u}) {
    const Case at{"", with_limits(limit, 0), tiny_tuning()};
    const std::uint64_t most_workgroups = std::uint64_t{limit} * limit * limit;
    std::uint64_t refused = 0;
    for (std::uint32_t count = 1; count < 200; ++count) {
      for (const bool is_ordered : {false, true}) {
        SCOPED_TRACE(std::format("limit {}, {} items", limit, count));
        const ReduceShape shape = flat(count, ElementType::u32(), coverage_operator(ElementType::u32(), is_ordered));
        const auto plan = plan_reduce(shape, at.traits, at.tuning);
        if (!plan) {
          EXPECT_THAT(plan.error().message, HasSubstr("do not fit into three dimensions"));
          EXPECT_GT(count, most_workgroups * (is_ordered ? 8 : 24)) << "refused although it fits";
          ++refused;
          continue;
        }
        expect_coverage(shape, at.traits, at.tuning, {});
        if (HasFailure()) return;
      }
    }
    EXPECT_EQ(refused > 0, limit == 2);
  }
}

// Bytes of the workgroup variables as the kernel declares them.
std::uint64_t declared_workgroup_bytes(const Kernel& kernel, std::uint32_t accumulator) {
  const auto constant = [&](const std::string& name) {
    const auto at = kernel.text.find("const " + name + ": u32 = ");
    EXPECT_NE(at, std::string::npos) << name;
    return std::strtoull(kernel.text.c_str() + at + name.size() + 14, nullptr, 10);
  };
  std::uint64_t bytes = 0;
  const std::string start = "\nvar<workgroup> ";
  for (auto at = kernel.text.find(start); at != std::string::npos; at = kernel.text.find(start, at + 1)) {
    const std::string line = kernel.text.substr(at + 1, kernel.text.find('\n', at + 1) - at - 1);
    const std::string array = ": array<Accumulator, ";
    const auto open = line.find(array);
    if (line.ends_with(": u32;") || line.ends_with(": atomic<u32>;")) {
      bytes += 4;
    } else if (open != std::string::npos) {
      const auto name = open + array.size();
      bytes += accumulator * constant(line.substr(name, line.find('>', name) - name));
    } else {
      ADD_FAILURE() << "unknown workgroup variable: " << line;
    }
  }
  return bytes;
}

void expect_limits(const Plan& plan, const DeviceTraits& traits, std::uint32_t accumulator) {
  for (const Dispatch& dispatch : plan.dispatches) {
    const Kernel& kernel = *dispatch.kernel;
    EXPECT_LE(kernel.workgroup_size, traits.max_workgroup_size);
    EXPECT_LE(kernel.workgroup_bytes, traits.max_workgroup_bytes);
    EXPECT_EQ(kernel.workgroup_bytes, declared_workgroup_bytes(kernel, accumulator));
    EXPECT_TRUE(traits.subgroups || !kernel.needs_subgroups);
    EXPECT_LE(std::ranges::count_if(kernel.bindings, [](const auto& b) { return b.kind != BindingKind::uniform; }), 8);
    for (const std::uint32_t size : {dispatch.grid.x, dispatch.grid.y, dispatch.grid.z}) {
      EXPECT_GE(size, 1u);
      EXPECT_LE(size, traits.max_workgroups_per_dimension);
    }
    for (const BoundRange& range : dispatch.bindings) {
      EXPECT_GT(range.size_bytes, 0u);
      EXPECT_LE(range.size_bytes, traits.max_binding_bytes);
      // A binding shorter than one element is refused by the device.
      EXPECT_TRUE(range.slot.kind != SlotKind::scratch || range.size_bytes >= accumulator);
      EXPECT_TRUE(range.first_item_field || range.offset_bytes % traits.offset_alignment == 0);
    }
  }
  for (const ScratchSlot& slot : plan.scratch) {
    EXPECT_EQ(slot.offset_bytes % traits.offset_alignment, 0u);
    EXPECT_LE(slot.offset_bytes + slot.size_bytes, plan.scratch_bytes);
    for (const ScratchSlot& other : plan.scratch) {
      if (&slot == &other || slot.last_step < other.first_step || other.last_step < slot.first_step) continue;
      EXPECT_TRUE(slot.offset_bytes + slot.size_bytes <= other.offset_bytes ||
                  other.offset_bytes + other.size_bytes <= slot.offset_bytes);
    }
  }
}

std::vector<std::pair<ElementType, BinaryOperator>> defined_pairs() {
  std::vector<std::pair<ElementType, BinaryOperator>> pairs;
  for (const ElementType& type : builtin_types()) {
    for (const BinaryOperator& op : well_known_operators()) {
      if (is_defined(op.kind, type)) pairs.emplace_back(type, op);
    }
    pairs.emplace_back(type, BinaryOperator::custom("f", "fn f() {}", "e"));
  }
  for (const bool is_ordered : {false, true}) {
    pairs.emplace_back(Tally<3>::type(), Tally<3>::combine(is_ordered));
    pairs.emplace_back(Tally<5>::type(), Tally<5>::combine(is_ordered));
    pairs.emplace_back(Tally<8>::type(), Tally<8>::combine(is_ordered));
    pairs.emplace_back(Tally<16>::type(), Tally<16>::combine(is_ordered));
    pairs.emplace_back(Tally<32>::type(), Tally<32>::combine(is_ordered));
  }
  return pairs;
}

TEST(ReduceLimits, NoPlanExceedsTheLeastLimits) {
  const DeviceTraits least_with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), least_with_subgroups}) {
    for (const auto& [type, op] : defined_pairs()) {
      for (const std::uint64_t count : {0u, 1u, 100u, 70'001u, 9'000'000u}) {
        for (const ReduceShape& shape :
             {flat(count, type, op), rows(count / 10, 10, type, op),
              rows(3, static_cast<std::uint32_t>(count / 3), type, op), offsets(count / 20 + 1, count, type, op)}) {
          SCOPED_TRACE(std::format("{} {} x {}, segments {}, emulated {}", to_string(op), count, type.name,
                                   shape.segments.count.max, traits.emulated_subgroup_size));
          ReduceShape with_all = shape;
          with_all.second_input = type;
          with_all.transform = Transform::of("f(x, y)");
          if (op.kind != OperatorKind::argmin && op.kind != OperatorKind::argmax) {
            with_all.init = ConstantValue::from_bytes(std::vector<std::byte>(type.size_bytes));
          }
          if (shape.segments.kind == Segmentation::Kind::whole) {
            with_all.item_count = Count::on_device(count);
          } else {
            with_all.segments.count.read_on_device = true;
          }
          for (const ReduceShape& wanted : {shape, with_all}) {
            const auto plan = plan_reduce(wanted, traits);
            if (!plan) {
              // Offsets need the whole input in one binding.
              EXPECT_THAT(plan.error().message, HasSubstr("need the whole input"));
              EXPECT_GT(count * type.stride_bytes, traits.max_binding_bytes - 768);
              continue;
            }
            expect_limits(*plan, traits, accumulator_bytes(wanted));
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ReduceLimits, BindingsOfAThousandBytesGiveWindowsOf768) {
  const DeviceTraits traits = with_limits(0, 1000);
  const Plan plan = planned(flat(1000), traits);
  std::uint64_t next = 0;
  for (const Dispatch& dispatch : plan.dispatches) {
    for (const BoundRange& range : dispatch.bindings) {
      EXPECT_EQ(range.offset_bytes % 256, 0u);
      if (range.slot != SlotId{SlotKind::argument, 0} || range.binding != 1) continue;
      EXPECT_EQ(range.offset_bytes, next);
      EXPECT_EQ(range.size_bytes, std::min<std::uint64_t>(768, 4000 - next));
      next += range.size_bytes;
    }
  }
  EXPECT_EQ(next, 4000u);
}

TEST(ReduceLimits, WindowsOfHugeInputsFollowOneAnother) {
  for (const DeviceTraits& traits : {least_traits(), gpu_traits()}) {
    for (const std::uint64_t count : {0x7fffffffull, 0x80000000ull, 0x80000001ull, 0xfffffffdull, 0xfffffffeull}) {
      for (const ElementType& type : {ElementType::f16(), ElementType::u32(), ElementType::vec(Scalar::f32, 4)}) {
        SCOPED_TRACE(std::format("{} x {} with bindings of {}", count, type.name, traits.max_binding_bytes));
        const Plan plan = planned(flat(count, type), traits);
        expect_limits(plan, traits, 4 * type.components);
        std::uint64_t next = 0;
        std::uint64_t partials = 0;
        for (const Dispatch& dispatch : plan.dispatches) {
          const KernelBinding* input = dispatch.kernel->find_binding("input");
          const auto range = std::ranges::find(dispatch.bindings, input->index, &BoundRange::binding);
          if (range->slot.kind != SlotKind::argument) break;
          const auto param = [&](std::string_view name) {
            const auto field = std::ranges::find(dispatch.kernel->params, name) - dispatch.kernel->params.begin();
            std::uint32_t value = 0;
            std::memcpy(&value, dispatch.params.data() + 4 * field, 4);
            return std::uint64_t{value};
          };
          ASSERT_EQ(range->offset_bytes, next * type.stride_bytes);
          ASSERT_EQ(param("index_base"), next);
          ASSERT_EQ(param("output_first"), partials);
          ASSERT_EQ(range->size_bytes, param("row_length") * type.stride_bytes);
          const std::uint64_t walked = param("chunks_per_row") * param("chunk_items");
          ASSERT_GE(walked, param("row_length"));
          ASSERT_LT(walked + 256, std::uint64_t{1} << 32) << "positions overflow";
          ASSERT_GE(std::uint64_t{dispatch.grid.x} * dispatch.grid.y * dispatch.grid.z, param("chunks_per_row"));
          next += param("row_length");
          partials += param("chunks_per_row");
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

TEST(ReduceLimits, PositionsStayBelow32BitsWhereOneBindingHoldsEverything) {
  DeviceTraits traits = gpu_traits();
  traits.max_binding_bytes = std::uint64_t{1} << 40;
  for (const bool is_ordered : {false, true}) {
    const auto plan =
        plan_reduce(flat(0xfffffffe, ElementType::u32(), coverage_operator(ElementType::u32(), is_ordered)), traits);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    for (const Dispatch& dispatch : plan->dispatches) {
      std::uint32_t fields[4];  // row_length, row_count, chunk_items, chunks_per_row
      std::memcpy(fields, dispatch.params.data(), sizeof(fields));
      EXPECT_LT(std::uint64_t{fields[2]} * fields[3] + 256, std::uint64_t{1} << 32);
    }
  }
}

TEST(ReduceLimits, NoSmallerCountNeedsTwiceTheScratch) {
  for (const DeviceTraits& traits : {least_traits(), gpu_traits()}) {
    for (const bool is_ordered : {false, true}) {
      // Longer chunks where there would be too many: a few items more can halve the number of partials, no more.
      std::uint64_t most = 0;
      for (std::uint64_t count = 1; count < 0xfffffffe; count += count / 7 + 1) {
        const ReduceShape shape = flat(count, ElementType::u32(), coverage_operator(ElementType::u32(), is_ordered));
        const Plan plan = planned(shape, traits, fixed_tuning(false));
        EXPECT_GE(2 * plan.scratch_bytes, most) << count;
        EXPECT_EQ(plan.scratch_bytes > 0, plan.dispatches.size() > 1);
        most = std::max(most, plan.scratch_bytes);
      }
      EXPECT_GT(most, 0u);
    }
  }
}

TEST(ReduceLimits, LargeItemsGetSmallerWorkgroups) {
  const std::vector<std::pair<ElementType, std::uint32_t>> expected{
      {Tally<3>::type(), 256}, {Tally<8>::type(), 256}, {Tally<16>::type(), 256}, {Tally<32>::type(), 128}};
  for (const auto& [type, threads] : expected) {
    const ReduceShape shape = flat(1000, type, BinaryOperator::custom("merge", "", "e", true));
    EXPECT_EQ(planned(shape).dispatches.at(0).kernel->workgroup_size, threads) << type.size_bytes;
  }
}

TEST(ReducePlan, HasAsManyPassesAsTheSizeNeeds) {
  struct Expected {
    std::uint64_t count;
    std::size_t passes;
  };
  const auto passes_of = [](const ReduceShape& shape, const ReduceTuning& tuning) {
    return planned(shape, least_traits(), tuning).dispatches.size();
  };
  // One workgroup up to 16384 items (and what is left of the last tile); then a pass of chunks and one over partials.
  for (const auto& [count, passes] : {Expected{0, 1},
                                      {1, 1},
                                      {8191, 1},
                                      {8192, 1},
                                      {8193, 1},
                                      {16384, 1},
                                      {16385, 2},
                                      {1'001'000, 2},
                                      {16'776'961, 2},
                                      {33'000'000, 2}}) {
    EXPECT_EQ(passes_of(flat(count), fixed_tuning(false)), passes) << count;
    EXPECT_EQ(passes_of(flat(count), fixed_tuning(true)), 1u) << count;
  }
  // Tiles of 32 items, then of 8 partials; chunks of at most 3 tiles. Up to 3 items may lie before the first vector.
  for (const auto& [count, passes] :
       {Expected{0, 1}, {8, 1}, {29, 1}, {30, 2}, {32, 2}, {253, 2}, {254, 3}, {1000, 3}}) {
    EXPECT_EQ(passes_of(flat(count), tiny_tuning(false)), passes) << count;
  }
  // In order: one tile of 2048 items a chunk, whatever the tuning says of single passes.
  const BinaryOperator ordered = coverage_operator(ElementType::u32(), true);
  for (const auto& [count, passes] :
       {Expected{2047, 1}, {2048, 1}, {2049, 2}, {2048 * 2048, 2}, {2048 * 2048 + 1, 3}}) {
    EXPECT_EQ(passes_of(flat(count, ElementType::u32(), ordered), fixed_tuning(true)), passes) << count;
  }
}

TEST(ReducePlan, EachProfileChangesThePlan) {
  const Plan full = planned(flat(100'000), gpu_traits());
  EXPECT_TRUE(full.dispatches[0].kernel->needs_subgroups);
  EXPECT_THAT(full.notes, ::testing::Contains(HasSubstr("subgroupAdd")));

  // no_subgroups: a tree in workgroup memory.
  const Plan without = planned(flat(100'000), gpu_traits().without_subgroups());
  EXPECT_FALSE(without.dispatches[0].kernel->needs_subgroups);
  EXPECT_THAT(without.notes, ::testing::Contains(HasSubstr("tree in workgroup memory")));
  EXPECT_NE(without.dispatches[0].kernel->text, full.dispatches[0].kernel->text);

  // minimum_limits: smaller workgroups for large items, and windows of 128 MiB.
  const DeviceTraits minimum = gpu_traits().without_subgroups().with_default_limits();
  const ReduceShape large_items = flat(1000, Tally<32>::type(), Tally<32>::combine());
  EXPECT_EQ(planned(large_items, gpu_traits().without_subgroups()).dispatches[0].kernel->workgroup_size, 256u);
  EXPECT_EQ(planned(large_items, minimum).dispatches[0].kernel->workgroup_size, 128u);
  EXPECT_EQ(planned(flat(100'000'000), gpu_traits(), fixed_tuning(false)).dispatches.size(), 2u);
  EXPECT_EQ(planned(flat(100'000'000), minimum, fixed_tuning(false)).dispatches.size(), 4u);

  // tiny_tiles: many passes.
  const auto chunks = [](const Plan& plan) { return plan.dispatches.at(0).grid.x; };
  EXPECT_EQ(chunks(planned(flat(1000), gpu_traits())), 1u);
  EXPECT_EQ(chunks(planned(flat(1000), gpu_traits(), tiny_tuning())), 32u);
  EXPECT_EQ(planned(flat(1'000'000), gpu_traits(), tiny_tuning()).dispatches.size(), 5u);

  // emulated: subgroups in workgroup memory.
  const Plan emulated = planned(flat(100'000), emulated_traits());
  EXPECT_THAT(emulated.notes, ::testing::Contains(HasSubstr("emulated subgroups")));
  EXPECT_GT(emulated.dispatches[0].kernel->workgroup_bytes, without.dispatches[0].kernel->workgroup_bytes);
}

std::string fold_note(const ReduceShape& shape, const DeviceTraits& traits,
                      std::optional<ReduceTuning> tuning = std::nullopt) {
  return planned(shape, traits, tuning).notes.at(0);
}

TEST(ReducePlan, FallsBackWithTheDevicesFeatures) {
  const DeviceTraits gpu = gpu_traits();
  EXPECT_THAT(fold_note(flat(9), gpu), HasSubstr("subgroupAdd"));
  EXPECT_THAT(fold_note(flat(9, ElementType::f32(), BinaryOperator::max()), gpu), HasSubstr("subgroupMax"));
  EXPECT_THAT(fold_note(flat(9, ElementType::u64()), gpu), HasSubstr("subgroup shuffles"));
  EXPECT_THAT(fold_note(flat(9, ElementType::f32(), BinaryOperator::argmin()), gpu), HasSubstr("subgroup shuffles"));
  EXPECT_THAT(fold_note(flat(9, MinMax::type(), MinMax::combine()), gpu), HasSubstr("tree in workgroup memory"));
  EXPECT_THAT(fold_note(flat(9, Affine::type(), Affine::combine()), gpu), HasSubstr("tree in item order"));

  // Subgroups cannot be numbered.
  DeviceTraits traits = gpu;
  traits.subgroup_id_builtin = false;
  EXPECT_THAT(fold_note(flat(9), traits), HasSubstr("tree in workgroup memory"));
  traits.subgroup_ids_follow_index = true;
  EXPECT_THAT(fold_note(flat(9), traits), HasSubstr("subgroupAdd"));
  EXPECT_THAT(planned(flat(9), traits).dispatches[0].kernel->text, ::testing::Not(HasSubstr("requires subgroup_id")));
  EXPECT_THAT(planned(flat(9), gpu).dispatches[0].kernel->text, HasSubstr("requires subgroup_id"));

  // The size is unknown, or does not divide the workgroup: no shuffles, but built-ins.
  for (const std::uint32_t size : {0u, 512u}) {
    traits = gpu;
    traits.subgroup_min_size = traits.subgroup_max_size = size;
    EXPECT_THAT(fold_note(flat(9, ElementType::u64()), traits), HasSubstr("tree in workgroup memory"));
    EXPECT_THAT(fold_note(flat(9), traits), HasSubstr("subgroupAdd"));
  }
  EXPECT_THAT(fold_note(flat(9), gpu, ReduceTuning{.use_subgroups = false}), HasSubstr("tree in workgroup memory"));

  // An emulated subgroup wider than the workgroup.
  EXPECT_THAT(fold_note(flat(9), emulated_traits()), HasSubstr("emulated subgroups"));
  EXPECT_THAT(fold_note(flat(9), emulated_traits(), tiny_tuning()), HasSubstr("tree in workgroup memory"));
}

bool loads_vectors(const Plan& plan) { return plan.dispatches.at(0).kernel->find_binding("input_vectors") != nullptr; }

TEST(ReducePlan, LoadsVectorsWhereTheTypesAndOffsetsAllow) {
  EXPECT_TRUE(loads_vectors(planned(flat(100))));
  EXPECT_TRUE(loads_vectors(planned(flat(100, ElementType::f16()))));
  EXPECT_TRUE(loads_vectors(planned(flat(4))));
  EXPECT_FALSE(loads_vectors(planned(flat(3))));
  EXPECT_FALSE(loads_vectors(planned(flat(7, ElementType::f16()))));
  EXPECT_FALSE(loads_vectors(planned(flat(100, ElementType::u64()))));
  EXPECT_FALSE(loads_vectors(planned(flat(100, ElementType::vec(Scalar::u32, 2)))));
  EXPECT_FALSE(loads_vectors(planned(flat(100, Tally<3>::type(), Tally<3>::combine()))));
  EXPECT_FALSE(loads_vectors(planned(flat(100, ElementType::u32(), coverage_operator(ElementType::u32(), true)))));
  EXPECT_FALSE(loads_vectors(planned(flat(100), least_traits(), ReduceTuning{.use_vectors = false})));
  // One input begins anywhere; two must begin alike.
  EXPECT_TRUE(loads_vectors(planned(flat(100), least_traits(), std::nullopt, {.input_bytes = 4})));
  ReduceShape pairs = flat(100, ElementType::f32());
  pairs.second_input = ElementType::f32();
  pairs.transform = Transform::of("x * y");
  EXPECT_TRUE(
      loads_vectors(planned(pairs, least_traits(), std::nullopt, {.input_bytes = 20, .second_input_bytes = 4})));
  EXPECT_FALSE(
      loads_vectors(planned(pairs, least_traits(), std::nullopt, {.input_bytes = 8, .second_input_bytes = 4})));
}

TEST(ReducePlan, KernelTextsDoNotDependOnTheItemCount) {
  const auto texts_of = [](const auto& shape_of) {
    std::set<std::string> texts;
    for (std::uint64_t count = 1; count < 0x7fffffff; count += count / 5 + 1) {
      for (const Dispatch& dispatch : planned(shape_of(count)).dispatches) texts.insert(dispatch.kernel->text);
    }
    return texts.size();
  };
  // From items (to the result, to the last arriver, to partials; without vectors below four items), from partials (to
  // the result, to more partials).
  EXPECT_LE(texts_of([](std::uint64_t count) { return flat(count); }), 6u);
  EXPECT_LE(texts_of([](std::uint64_t count) { return flat(count, Affine::type(), Affine::combine()); }), 4u);
  // Of the number of rows or segments neither.
  EXPECT_EQ(texts_of([](std::uint64_t count) { return rows(count, 1); }), 1u);
  EXPECT_EQ(texts_of([](std::uint64_t count) { return rows(count / 100 + 1, 70); }), 1u);
  // By offsets, 1, 2, 4 ... 256 threads take a segment.
  EXPECT_LE(texts_of([](std::uint64_t count) { return offsets(1000, std::min<std::uint64_t>(count, 30'000'000)); }),
            9u);
}

TEST(ReducePlan, NeverDispatchesForZeroRows) {
  for (const ReduceShape& shape : {rows(0, 10), rows(0, 100'000), offsets(0, 100), offsets(0, 0)}) {
    const Plan plan = planned(shape);
    EXPECT_TRUE(plan.dispatches.empty());
    EXPECT_EQ(plan.find_argument("output"), nullptr);
  }
}

TEST(ReducePlan, EmptyInputsNeedOnlyTheOutput) {
  for (const ReduceShape& shape : {flat(0), rows(5, 0), flat(0, ElementType::u32(), BinaryOperator::argmax()),
                                   flat(0, Affine::type(), Affine::combine())}) {
    const Plan plan = planned(shape);
    ASSERT_EQ(plan.arguments.size(), 1u);
    EXPECT_EQ(plan.arguments[0].name, "output");
    EXPECT_TRUE(plan.arguments[0].is_written);
  }
}

TEST(ReducePlan, FloatSumsStateTheirErrorBound) {
  const auto bound = [](const ReduceShape& shape) -> std::string {
    for (const std::string& note : planned(shape).notes) {
      if (note.starts_with("error of a float sum: at most ")) return note;
    }
    return "";
  };
  for (const ElementType& type : {ElementType::f32(), ElementType::f16(), ElementType::vec(Scalar::f32, 4)}) {
    EXPECT_THAT(bound(flat(1'000'000, type)), HasSubstr(" * 2^-24 * sum |x|")) << type.name;
    EXPECT_THAT(bound(rows(1000, 50, type)), HasSubstr(" * 2^-24 * sum |x|")) << type.name;
    EXPECT_THAT(bound(rows(10, 50'000, type)), HasSubstr(" * 2^-24 * sum |x|")) << type.name;
    EXPECT_THAT(bound(offsets(10, 50'000, type)), HasSubstr(" * 2^-24 * sum |x|")) << type.name;
  }
  EXPECT_EQ(bound(flat(1'000'000)), "");
  EXPECT_EQ(bound(flat(1'000'000, ElementType::f32(), BinaryOperator::max())), "");
}

TEST(ReducePlan, MovesLittleMoreThanItMust) {
  for (const std::uint64_t count : {100'000u, 1'000'000u, 100'000'000u}) {
    const Plan plan = planned(flat(count), gpu_traits());
    EXPECT_EQ(plan.least_bytes, 4 * count + 4);
    EXPECT_GE(plan.bytes_moved(), plan.least_bytes);
    EXPECT_LE(plan.bytes_moved(), plan.least_bytes + plan.least_bytes / 100);
  }
}

TEST(ReduceRefusals, OperatorsAreRefusedForTypesTheyAreNotDefinedFor) {
  for (const ElementType& type : builtin_types()) {
    for (const BinaryOperator& op : well_known_operators()) {
      const auto plan = plan_reduce(flat(10, type, op), least_traits());
      EXPECT_EQ(plan.has_value(), is_defined(op.kind, type)) << to_string(op) << " of " << type.name;
      if (plan) continue;
      EXPECT_EQ(plan.error().kind, ErrorKind::invalid_request);
      EXPECT_THAT(plan.error().message,
                  HasSubstr(std::format("Operator {} is not defined for {} items", to_string(op), type.name)));
    }
  }
  EXPECT_THAT(refusal(flat(10, MinMax::type())), AllOf(HasSubstr("sum"), HasSubstr("MinMax"), HasSubstr("WGSL text")));
  EXPECT_THAT(refusal(flat(10, ElementType::u32(), BinaryOperator::custom("", "", "0u"))),
              HasSubstr("name of its function"));
  EXPECT_THAT(refusal(flat(10, ElementType::u32(), BinaryOperator::custom("f", "", ""))), HasSubstr("identity"));
}

TEST(ReduceRefusals, ATransformMustExplainOtherTypesAndSecondInputs) {
  ReduceShape shape = flat(10, ElementType::f32());
  shape.value = ElementType::u32();
  EXPECT_THAT(refusal(shape), HasSubstr("A transform must say how u32 comes from the input."));
  shape.value.reset();
  shape.second_input = ElementType::f32();
  EXPECT_THAT(refusal(shape), HasSubstr("how f32 comes from the inputs."));
}

TEST(ReduceRefusals, OutputTypesOtherThanTheOperatorsAreRefused) {
  ReduceShape shape = flat(10, ElementType::f16());
  shape.output = ElementType::f32();
  EXPECT_TRUE(plan_reduce(shape, least_traits()).has_value());
  shape.output = ElementType::u32();
  EXPECT_THAT(refusal(shape), HasSubstr("Operator sum of f16 items gives f16, not u32"));
  shape = flat(10, ElementType::f32(), BinaryOperator::argmin());
  shape.output = ElementType::f32();
  EXPECT_THAT(refusal(shape), HasSubstr("gives u32, not f32"));
}

TEST(ReduceRefusals, InitialValuesMustFit) {
  ReduceShape shape = flat(10);
  shape.init = ConstantValue::of(std::uint64_t{1});
  EXPECT_THAT(refusal(shape), HasSubstr("The initial value has 8 bytes; a u32 has 4."));
  shape.init = ConstantValue();
  EXPECT_THAT(refusal(shape), HasSubstr("has 0 bytes"));
  for (const BinaryOperator& op : {BinaryOperator::argmin(), BinaryOperator::argmax()}) {
    shape.combine = op;
    shape.init = ConstantValue::of(std::uint32_t{1});
    EXPECT_THAT(refusal(shape), HasSubstr("take no initial value"));
  }
}

TEST(ReduceRefusals, ItemsOfSegmentsByOffsetsAreCountedOnTheHost) {
  ReduceShape shape = offsets(3, 10);
  shape.item_count = Count::on_device(10);
  EXPECT_THAT(refusal(shape), HasSubstr("bound known on the host"));
}

TEST(ReduceRefusals, TuningsOutOfRangeAreNamed) {
  for (const ReduceTuning& tuning :
       {ReduceTuning{.workgroup_size = 0}, ReduceTuning{.workgroup_size = 96}, ReduceTuning{.units_per_thread = 0},
        ReduceTuning{.units_per_thread = 65}, ReduceTuning{.max_workgroups = 0}, ReduceTuning{.longest_chain = 0}}) {
    EXPECT_THAT(refusal(flat(10), least_traits(), tuning), HasSubstr("Tuning out of range: "));
  }
}

TEST(ReduceRefusals, MoreItemsThanIndicesAreRefused) {
  const auto refused = [](const ReduceShape& shape) {
    return refusal(shape, least_traits(), std::nullopt, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(flat(0xffffffff)), AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  EXPECT_THAT(refused(flat(std::uint64_t{1} << 40)), HasSubstr("1099511627776 items"));
  EXPECT_THAT(refused(flat(~std::uint64_t{0})), HasSubstr("18446744073709551615 items"));
  EXPECT_THAT(refused(rows(0x10000, 0x10000)), HasSubstr("65536 rows of 65536 items are more than"));
  EXPECT_THAT(refused(rows(~std::uint64_t{0}, 2)), HasSubstr("18446744073709551615 rows"));
  EXPECT_THAT(refused(rows(0xffffffff, 0)), HasSubstr("4294967295 segments"));
  EXPECT_THAT(refused(offsets(0xffffffff, 10)), HasSubstr("4294967295 segments"));
  EXPECT_TRUE(plan_reduce(rows(2, 0x7fffffff), least_traits()).has_value());
}

TEST(ReduceRefusals, ViewsThatCutAnItemAreRefused) {
  const auto refused = [](const ReduceShape& shape, ReduceOffsets from) {
    const auto plan = plan_reduce(shape, least_traits(), std::nullopt, from);
    return plan ? "no error" : plan.error().message;
  };
  EXPECT_THAT(refused(flat(10), {.input_bytes = 2}),
              HasSubstr("Offset 2 of an input is not a multiple of its item (4"));
  EXPECT_THAT(refused(flat(10, ElementType::f16()), {.input_bytes = 1}), HasSubstr("(2 bytes)"));
  EXPECT_THAT(refused(flat(10, Tally<3>::type(), Tally<3>::combine()), {.input_bytes = 6}), HasSubstr("(12 bytes)"));
  ReduceShape pairs = flat(10);
  pairs.second_input = ElementType::vec(Scalar::u32, 4);
  pairs.transform = Transform::of("x * y.x");
  EXPECT_THAT(refused(pairs, {.second_input_bytes = 8}),
              HasSubstr("Offset 8 of an input is not a multiple of its item (16"));
}

TEST(ReduceRefusals, LimitsThatTheRequestBreaksAreNamed) {
  const auto refused = [](const ReduceShape& shape, const DeviceTraits& traits,
                          std::optional<ReduceTuning> tuning = std::nullopt) {
    return refusal(shape, traits, tuning, ErrorKind::unsupported);
  };
  DeviceTraits traits = least_traits();
  traits.max_binding_bytes = 100;
  EXPECT_THAT(refused(flat(10), traits), HasSubstr("A binding of 100 bytes is too small for u32 items."));
  EXPECT_THAT(refused(offsets(10, 1000), with_limits(0, 1000)),
              AllOf(HasSubstr("4000 bytes"), HasSubstr("1000 bytes"), HasSubstr("one binding")));
  EXPECT_THAT(refused(flat(100'000), with_limits(0, 1000)),
              AllOf(HasSubstr("output of"), HasSubstr("limit of one binding (1000 bytes)")));
  EXPECT_THAT(refused(flat(1'000'000), with_limits(2, 0)),
              AllOf(HasSubstr("workgroups do not fit"), HasSubstr("at most 2")));
  EXPECT_THAT(refused(flat(10), least_traits(), ReduceTuning{.workgroup_size = 512}),
              AllOf(HasSubstr("512 threads"), HasSubstr("(256)")));
  EXPECT_THAT(refused(flat(10, Tally<32>::type(), Tally<32>::combine()), least_traits(), fixed_tuning(false)),
              AllOf(HasSubstr("32768 bytes"), HasSubstr("(16384)")));
  EXPECT_THAT(refused(flat(10, ElementType::f16()), DeviceTraits::webgpu_minimum()), HasSubstr("shader-f16"));
  traits = least_traits();
  traits.max_buffer_bytes = 1024;
  EXPECT_THAT(refused(flat(10'000'000), traits, fixed_tuning(false)),
              AllOf(HasSubstr("bytes of scratch"), HasSubstr("(1024 bytes)")));
  traits = least_traits();
  traits.max_storage_buffers = 2;
  EXPECT_THAT(refused(flat(10), traits), AllOf(HasSubstr("3 storage buffers"), HasSubstr("(2)")));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("sum of 1000 u32, least limits", planned(flat(1000)));
  add("sum of 1001000 f32 from byte 4, GPU",
      planned(flat(1'001'000, ElementType::f32()), gpu_traits(), std::nullopt, {.input_bytes = 4}));
  add("sum of 1000 u32, tiny tiles, many passes", planned(flat(1000), least_traits(), tiny_tuning(false)));
  add("sum of 1000 u32, bindings of 1000 bytes", planned(flat(1000), with_limits(0, 1000)));
  add("argmin of 2^30 f32, GPU", planned(flat(1 << 30, ElementType::f32(), BinaryOperator::argmin()), gpu_traits()));
  add("max of no f16, least limits", planned(flat(0, ElementType::f16(), BinaryOperator::max())));
  add("affine maps in order, 5000, least limits", planned(flat(5000, Affine::type(), Affine::combine())));
  add("sum of 300 rows of 7 u64, least limits", planned(rows(300, 7, ElementType::u64())));
  add("min of 3 rows of 100000 i32, GPU",
      planned(rows(3, 100'000, ElementType::i32(), BinaryOperator::min()), gpu_traits()));
  ReduceShape dot = flat(0, ElementType::f32());
  dot.item_count = Count::on_device(50'000);
  dot.second_input = ElementType::f32();
  dot.transform = Transform::of("x * y");
  dot.init = ConstantValue::of(1.0f);
  add("dot product of at most 50000 f32 with an initial value, least limits", planned(dot));
  ReduceShape segments = offsets(0, 10'000, ElementType::u32(), BinaryOperator::logical_any());
  segments.segments.count = Count::on_device(1000);
  add("any of at most 1000 segments of 10000 u32, least limits", planned(segments));
  return text;
}

TEST(ReducePlan, GoldenPlansAreUnchanged) {
  const std::string path = UPSWEEP_SOURCE_DIR "/src/primitives/reduce/reduce_plans.golden.txt";
  const std::string now = golden_text();
  if (std::getenv("UPSWEEP_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << now;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << path;
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(now, golden) << "If the change is wanted, run this test with UPSWEEP_UPDATE_GOLDEN=1 and review the diff.";
}

}  // namespace
}  // namespace upsweep::testing
