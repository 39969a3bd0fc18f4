// SPDX-License-Identifier: Apache-2.0
// Reductions on a device against the loops of reduce_reference.h. Each test records many shapes into one command
// buffer: results lie side by side in one guarded buffer at offsets that are no multiples of 256.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <format>
#include <limits>
#include <numeric>
#include <ranges>

#include "exec/context_impl.h"
#include "primitives/reduce/reduce_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Where a view of a GuardedBuffer begins at a whole item, and at no multiple of 16 or 256 bytes for small ones.
template <typename T>
constexpr std::uint64_t at_item(std::uint64_t item) {
  return (GuardedBuffer::guard_bytes / sizeof(T) + 1 + item) * sizeof(T) - GuardedBuffer::guard_bytes;
}

/// One reduction whose results are wanted.
struct Job {
  ReduceShape shape;
  ReduceBuffers buffers;
  std::size_t result_count = 1;
};

class ReduceGpu : public GpuTest {
 protected:
  /// The library's choice, but in one pass where that may be (software devices do better with two): for all types in
  /// the profile full, for u32 in others, for even counts in tiny_tiles; in many passes in minimum_limits.
  [[nodiscard]] std::optional<ReduceTuning> tuning(const ReduceShape& shape) const {
    ReduceTuning chosen = reduce_tuning().value_or(select_reduce_tuning(shape, context().traits()));
    const bool is_even = shape.item_count.max % 2 == 0;
    chosen.single_pass = GetParam() == Profile::full || (GetParam() != Profile::minimum_limits &&
                                                         shape.input == ElementType::u32() && (is_even || !is_tiny()));
    // Two records a thread for the last workgroup: SwiftShader compiles a longer row of atomic loads for minutes.
    if (chosen.single_pass) chosen.max_workgroups = std::min(chosen.max_workgroups, 2 * chosen.workgroup_size);
    return chosen;
  }

  /// A count that a software device reduces in little time: workgroups are slow there, and emulated subgroups slower.
  [[nodiscard]] std::uint32_t affordable(std::uint32_t count) const {
    switch (GetParam()) {
      case Profile::full: return count;
      case Profile::no_subgroups:
      case Profile::minimum_limits: return std::min(count, 70'000u);
      case Profile::emulated: return std::min(count, 9000u);
      case Profile::tiny_tiles: return std::min(count, 5000u);
    }
    return count;
  }

  /// Records all jobs into one command buffer and reads their results, one after the other. What no job has written
  /// keeps the bytes 0x4d.
  template <typename Result>
  std::vector<Result> results_of(const std::vector<Job>& jobs) {
    std::size_t count = 0;
    for (const Job& job : jobs) count += job.result_count;
    const std::vector<std::byte> unwritten(count * sizeof(Result), std::byte{0x4d});
    const GuardedBuffer output(context(), unwritten, at_item<Result>(2));
    run([&](WGPUCommandEncoder encoder) -> Status {
      std::uint64_t offset = output.view().offset_bytes;
      for (const Job& job : jobs) {
        ReduceBuffers buffers = job.buffers;
        buffers.output = {output.buffer(), offset};
        const Status status = record_reduce(context(), encoder, job.shape, buffers, tuning(job.shape));
        if (!status) return status;
        offset += job.result_count * sizeof(Result);
      }
      return {};
    });
    auto results = items_of<Result>(output.read_and_check_guards());
    results.resize(count);
    return results;
  }

  template <typename Result>
  Result result_of(const ReduceShape& shape, const ReduceBuffers& buffers) {
    return results_of<Result>({{shape, buffers}}).front();
  }

  /// Reduces items that the test has at hand.
  template <typename Result, typename T>
  Result reduce(const std::vector<T>& items, const ReduceShape& shape) {
    const GuardedBuffer input(context(), bytes_of(items), at_item<T>(0));
    return result_of<Result>(shape, {.input = input.view()});
  }

  [[nodiscard]] bool has_f16() const { return context().traits().f16; }

  /// Around a workgroup, a tile of items and of vectors, their multiples, and where the plan changes.
  [[nodiscard]] std::vector<std::uint32_t> sizes(const ReduceShape& shape, std::uint32_t most) const {
    const ReduceTuning used = tuning(shape).value_or(select_reduce_tuning(shape, context().traits()));
    const std::uint32_t threads = used.workgroup_size;
    std::vector<std::uint32_t> chosen{0, 1, 2, 3, 4, 7, most};
    for (const std::uint32_t edge : {threads, threads * used.units_per_thread, 2 * threads * used.units_per_thread,
                                     4 * threads * used.units_per_thread, 8 * threads * used.units_per_thread,
                                     threads * threads, used.one_workgroup_items}) {
      for (const std::uint32_t size : {edge - 1, edge, edge + 1}) chosen.push_back(size);
    }
    std::ranges::sort(chosen);
    const auto repeated = std::ranges::unique(chosen);
    chosen.erase(repeated.begin(), chosen.end());
    std::erase_if(chosen, [&](std::uint32_t size) { return size > most; });
    return chosen;
  }

  template <typename T, typename Result>
  void check_operator(const BinaryOperator& op, const std::vector<T>& items, const GuardedBuffer& input) {
    constexpr std::uint32_t firsts[] = {0, 1, 2, 3, 67};  // views begin at many remainders of 256 bytes
    ReduceShape shape{.input = element_type<T>(), .combine = op};
    SCOPED_TRACE(std::format("{} of {}", to_string(op), shape.input.name));
    std::vector<Job> jobs;
    std::vector<std::span<const T>> views;
    for (const std::uint32_t size : sizes(shape, static_cast<std::uint32_t>(items.size()) - 67)) {
      const std::uint32_t first = firsts[jobs.size() % std::size(firsts)];
      shape.item_count = Count::on_host(size);
      jobs.push_back({shape, {.input = {input.buffer(), input.view().offset_bytes + first * sizeof(T)}}});
      views.push_back(std::span(items).subspan(first, size));
    }
    const auto results = results_of<Result>(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Result expected{};
      if (op.kind < OperatorKind::argmin) {
        if constexpr (std::same_as<Result, T>) expected = reference::reduce_to_item(op.kind, views[i]);
      } else {
        if constexpr (std::same_as<Result, std::uint32_t>) expected = reference::reduce_to_word(op.kind, views[i]);
      }
      EXPECT_TRUE(is_same(results[i], expected))
          << views[i].size() << " items: " << text_of(results[i]) << ", not " << text_of(expected);
    }
  }

  /// Every operator that is defined for the type, on data that tells wrong results from right ones.
  template <typename T>
  void check_type(std::uint32_t most_items) {
    most_items = affordable(most_items);
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE(seed_note(seed));
    const ElementType type = element_type<T>();
    for (const Values values : {Values::any, Values::small, Values::signs, Values::sparse, Values::dense}) {
      std::vector<T> items;
      std::optional<GuardedBuffer> input;
      for (const BinaryOperator& op : well_known_operators()) {
        if (!is_defined(op.kind, type) || values_for(op.kind, type) != values || !is_worth_it(op.kind, type)) continue;
        if (!input) {
          items = random_items<T>(most_items + 67, seed, values);
          input.emplace(context(), bytes_of(items), sizeof(T));
        }
        const bool gives_index_or_truth = op.kind >= OperatorKind::argmin;
        if (gives_index_or_truth) {
          if constexpr (!is_vec<T>) check_operator<T, std::uint32_t>(op, items, *input);
        } else {
          check_operator<T, T>(op, items, *input);
        }
        if (HasFatalFailure()) return;
      }
    }
  }

  /// Compiling takes most of the time. Each operator and type is folded in the profile full (vectors of two: in
  /// tiny_tiles), not on SwiftShader. Elsewhere signed integers differ from unsigned ones in their order alone, and
  /// vectors have no path of their own.
  [[nodiscard]] bool is_worth_it(OperatorKind kind, const ElementType& type) const {
    if (is_thorough() && GetParam() == Profile::full) return type.components != 2;
    if (is_thorough() && type.components == 2) return true;
    const bool is_ordered = kind == OperatorKind::min || kind == OperatorKind::argmax;
    if (GetParam() == Profile::emulated) {
      return is_ordered || (kind == OperatorKind::sum && type.components == 1);
    }
    const bool is_signed = type.scalar == Scalar::i32 || type.scalar == Scalar::i64;
    return type.components == 1 && (!is_signed || is_ordered);
  }

  static Values values_for(OperatorKind kind, const ElementType& type) {
    switch (kind) {
      case OperatorKind::sum: return type.is_float() ? Values::small : Values::any;
      case OperatorKind::product: return Values::signs;
      case OperatorKind::bit_and: return Values::dense;
      case OperatorKind::logical_any: return Values::sparse;
      case OperatorKind::logical_all: return Values::dense;
      default: return Values::any;
    }
  }

  template <typename T>
  static bool is_same(const T& a, const T& b) {
    if constexpr (is_vec<T>) return std::ranges::equal(a, b, [](auto x, auto y) { return is_same(x, y); });
    if constexpr (reference::is_float<T>) {
      const double x = reference::number_of(a);
      const double y = reference::number_of(b);
      return x == y || (std::isnan(x) && std::isnan(y));
    }
    if constexpr (!is_vec<T> && !reference::is_float<T>) return a == b;
  }
  template <typename T>
  static std::string text_of(const T& value) {
    if constexpr (is_vec<T>) {
      std::string text;
      for (const auto& component : value) text += text_of(component) + " ";
      return text;
    } else if constexpr (reference::is_float<T>) {
      return std::format("{}", reference::number_of(value));
    } else {
      return std::format("{}", value);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, ReduceGpu, all_profiles, profile_name);

TEST_P(ReduceGpu, FoldsU32WithEveryOperator) { check_type<std::uint32_t>(1'001'000); }
TEST_P(ReduceGpu, FoldsI32WithEveryOperator) { check_type<std::int32_t>(1'001'000); }
TEST_P(ReduceGpu, FoldsF32WithEveryOperator) { check_type<float>(1'001'000); }
TEST_P(ReduceGpu, FoldsU64WithEveryOperator) { check_type<std::uint64_t>(200'000); }
TEST_P(ReduceGpu, FoldsI64WithEveryOperator) { check_type<std::int64_t>(200'000); }
TEST_P(ReduceGpu, FoldsF16WithEveryOperator) {
  if (!has_f16()) GTEST_SKIP() << "the device lacks the feature shader-f16";
  check_type<Half>(200'000);
}
TEST_P(ReduceGpu, FoldsVectorsOfU32WithEveryOperator) {
  check_type<Vec<std::uint32_t, 2>>(20'000);
  check_type<Vec<std::uint32_t, 4>>(20'000);
}
TEST_P(ReduceGpu, FoldsVectorsOfI32WithEveryOperator) {
  check_type<Vec<std::int32_t, 2>>(20'000);
  check_type<Vec<std::int32_t, 4>>(20'000);
}
TEST_P(ReduceGpu, FoldsVectorsOfF32WithEveryOperator) {
  check_type<Vec<float, 2>>(20'000);
  check_type<Vec<float, 4>>(20'000);
}

TEST_P(ReduceGpu, SumsMoreThan65535WorkgroupsOf256Items) {
  const std::uint32_t count = GetParam() == Profile::minimum_limits ? 16'776'961 : affordable(16'776'961);
  std::vector<std::uint32_t> items(count);
  for (std::uint32_t i = 0; i < count; ++i) items[i] = i * 2654435761u + 1;
  const std::uint32_t expected = std::accumulate(items.begin(), items.end(), 0u);
  EXPECT_EQ(reduce<std::uint32_t>(items, {.item_count = Count::on_host(count), .input = ElementType::u32()}), expected);
}

TEST_P(ReduceGpu, FloatSumsDoNotStallAt2To24) {
  const std::uint32_t count = GetParam() == Profile::minimum_limits ? (1u << 24) + 2 : affordable((1u << 24) + 2);
  const std::vector<float> ones(count, 1.0f);
  EXPECT_EQ(reduce<float>(ones, {.item_count = Count::on_host(count)}), static_cast<float>(count));
  std::vector<float> ramp(10'000);
  std::iota(ramp.begin(), ramp.end(), 0.0f);
  EXPECT_EQ(reduce<float>(ramp, {.item_count = Count::on_host(ramp.size())}), 49995000.0f);
}

// The factor of 2^-24 * sum |x| in the plan's note on its error.
double stated_error(const Plan& plan) {
  for (const std::string& note : plan.notes) {
    unsigned roundings = 0;
    if (std::sscanf(note.c_str(), "error of a float sum: at most %u * 2^-24", &roundings) == 1) {
      return std::ldexp(roundings, -24);
    }
  }
  ADD_FAILURE() << "the plan states no error bound";
  return 0.0;
}

TEST_P(ReduceGpu, FloatSumsStayWithinTheBoundThatThePlanStatesAndRepeatBitForBit) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto items = random_items<float>(1'001'000, seed, Values::unit);
  const GuardedBuffer input(context(), bytes_of(items), 4);
  std::vector<ReduceShape> shapes;
  for (const std::uint32_t count : {10u, 1000u, 5000u, 20'000u, 300'000u, 1'001'000u}) {
    if (count != affordable(count)) continue;
    shapes.push_back({.item_count = Count::on_host(count)});
  }
  for (const auto& [row_count, row_length] : {std::pair{1u, 70u}, {1u, 1500u}, {1u, affordable(40'000)}}) {
    shapes.push_back({.segments = Segmentation::rows(Count::on_host(row_count), row_length)});
  }
  std::vector<Job> jobs;
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (const ReduceShape& shape : shapes) jobs.push_back({shape, {.input = input.view()}});
  }
  const auto results = results_of<std::uint32_t>(jobs);
  const auto again = results_of<std::uint32_t>(jobs);
  EXPECT_EQ(results, again);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::uint64_t count = std::max<std::uint64_t>(shapes[i].item_count.max, shapes[i].segments.row_length);
    SCOPED_TRACE(std::format("{} items", count));
    const std::span<const float> used = std::span(items).first(count);
    const auto plan = plan_reduce(shapes[i], context().traits(), tuning(shapes[i]), {.input_bytes = 4});
    ASSERT_TRUE(plan.has_value());
    const double exact = std::accumulate(used.begin(), used.end(), 0.0);
    const double bound = stated_error(*plan) * reference::sum_of_magnitudes(used);
    EXPECT_LE(std::fabs(std::bit_cast<float>(results[i]) - exact), bound);
    EXPECT_LT(stated_error(*plan), std::ldexp(400, -24)) << "no better than a running sum";
    for (std::size_t repeat = i; repeat < results.size(); repeat += shapes.size())
      EXPECT_EQ(results[repeat], results[i]);
  }
}

TEST_P(ReduceGpu, ExtremaKeepInfinitiesAndPropagateNan) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> inputs{{infinity},
                                               {-infinity},
                                               {nan},
                                               {-0.0f},
                                               {tiny},
                                               std::vector(10, infinity),
                                               std::vector(10, -infinity),
                                               std::vector(1000, nan),
                                               {1, nan, 2},
                                               {nan, -infinity, infinity},
                                               {infinity, 3, -nan, nan},
                                               {0.0f, -0.0f},
                                               {-0.0f, 0.0f, -0.0f},
                                               {3 * tiny, 2 * tiny, 5 * tiny},
                                               {-3 * tiny, -2 * tiny, -5 * tiny},
                                               {tiny, 0.0f, -tiny},
                                               {infinity, -infinity},
                                               {1, 5, 5, 3},
                                               {2, 2, 2, 2},
                                               std::vector(5000, infinity),
                                               std::vector(20'000, -infinity)};
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  for (const auto& input : inputs) buffers.push_back(std::make_unique<GuardedBuffer>(context(), bytes_of(input), 8));
  for (const BinaryOperator& op :
       {BinaryOperator::min(), BinaryOperator::max(), BinaryOperator::argmin(), BinaryOperator::argmax(),
        BinaryOperator::logical_any(), BinaryOperator::logical_all()}) {
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      jobs.push_back({{.item_count = Count::on_host(inputs[i].size()), .combine = op}, {.input = buffers[i]->view()}});
    }
    const auto results = results_of<std::uint32_t>(jobs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE(std::format("{} of input {}", to_string(op), i));
      if (op.kind >= OperatorKind::argmin) {
        EXPECT_EQ(results[i], reference::reduce_to_word<float>(op.kind, inputs[i]));
      } else {
        const float result = std::bit_cast<float>(results[i]);
        const float expected = reference::reduce_to_item<float>(op.kind, inputs[i]);
        EXPECT_TRUE(is_same(result, expected)) << result << ", not " << expected;
      }
    }
  }
}

TEST_P(ReduceGpu, ArgminAndArgmaxTakeTheLowestIndexOfTies) {
  std::vector<float> peaks(512, 0.0f);
  peaks[5] = peaks[256] = 9.0f;
  const std::vector<float> equal(100'000, 7.0f);
  std::vector<float> signs(3000, 0.0f);
  for (std::size_t i = 0; i < signs.size(); i += 2) signs[i] = -0.0f;
  std::vector<float> nans(50'000, 1.0f);
  nans[40'001] = nans[40'000] = nan;
  nans[3] = -infinity;
  struct Expected {
    const std::vector<float>& items;
    std::uint32_t argmin, argmax;
  };
  for (const auto& [items, argmin, argmax] :
       {Expected{peaks, 0, 5}, {equal, 0, 0}, {signs, 0, 0}, {nans, 40'000, 40'000}}) {
    ReduceShape shape{.item_count = Count::on_host(items.size()), .combine = BinaryOperator::argmin()};
    EXPECT_EQ(reduce<std::uint32_t>(items, shape), argmin);
    shape.combine = BinaryOperator::argmax();
    EXPECT_EQ(reduce<std::uint32_t>(items, shape), argmax);
  }
  // Words that are no numbers to a float comparison, and the greatest key of all.
  const std::vector<std::uint32_t> greatest(3000, 0xffffffffu);
  const std::vector<std::int64_t> least(3000, std::numeric_limits<std::int64_t>::lowest());
  for (const BinaryOperator& op : {BinaryOperator::argmin(), BinaryOperator::argmax()}) {
    EXPECT_EQ(reduce<std::uint32_t>(greatest,
                                    {.item_count = Count::on_host(3000), .input = ElementType::u32(), .combine = op}),
              0u);
    EXPECT_EQ(
        reduce<std::uint32_t>(least, {.item_count = Count::on_host(3000), .input = ElementType::i64(), .combine = op}),
        0u);
  }
}

TEST_P(ReduceGpu, LogicalOperatorsTakeNanAndSubnormalsForTrueAndMinusZeroForFalse) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  struct Expected {
    float odd_one;
    std::uint32_t any, all;  // of the odd one among zeros, among ones
  };
  for (const auto& [odd_one, any, all] :
       {Expected{nan, 1, 1}, {tiny, 1, 1}, {-tiny, 1, 1}, {-0.0f, 0, 0}, {0.0f, 0, 0}, {-infinity, 1, 1}}) {
    for (const std::size_t count : {1u, 300u, 20'000u}) {
      SCOPED_TRACE(std::format("{} among {}", odd_one, count));
      std::vector<float> items(count, 0.0f);
      items[count * 2 / 3] = odd_one;
      ReduceShape shape{.item_count = Count::on_host(count), .combine = BinaryOperator::logical_any()};
      EXPECT_EQ(reduce<std::uint32_t>(items, shape), any);
      std::ranges::fill(items, 1.0f);
      items[count * 2 / 3] = odd_one;
      shape.combine = BinaryOperator::logical_all();
      EXPECT_EQ(reduce<std::uint32_t>(items, shape), all);
    }
  }
}

TEST_P(ReduceGpu, F16AccumulatesInF32AndRoundsOnce) {
  if (!has_f16()) GTEST_SKIP() << "the device lacks the feature shader-f16";
  const auto sum = [&](const std::vector<double>& numbers, bool as_f32) {
    std::vector<Half> items;
    for (const double number : numbers) items.push_back(half_of(number));
    items.resize((items.size() + 1) / 2 * 2, Half{0x7c00});  // a whole last word: its half past the end is +inf
    ReduceShape shape{.item_count = Count::on_host(numbers.size()), .input = ElementType::f16()};
    if (!as_f32) return number_of(reduce<Half>(items, shape));
    shape.output = ElementType::f32();
    return static_cast<double>(reduce<float>(items, shape));
  };
  EXPECT_EQ(sum(std::vector(4096, 1.0), false), 4096.0);
  EXPECT_EQ(sum(std::vector(70, 1000.0), true), 70000.0);
  EXPECT_EQ(sum(std::vector(70, 1000.0), false), HUGE_VAL);
  EXPECT_EQ(sum({65504, 16}, true), 65520.0);
  EXPECT_EQ(sum({65504, 16}, false), HUGE_VAL);
  EXPECT_EQ(sum({65504, 15}, false), 65504.0);
  EXPECT_EQ(sum({-65504, -16}, false), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(sum({1, std::nan(""), 2}, false)));
  EXPECT_EQ(sum({1, 2, 3}, false), 6.0);
  EXPECT_EQ(sum({std::ldexp(1, -24), std::ldexp(1, -24)}, false), std::ldexp(1, -23));
}

TEST_P(ReduceGpu, TheInitialValueIsUsedOnce) {
  const std::uint32_t many = affordable(300'000);
  const std::vector<std::uint32_t> ones(many, 1);
  const GuardedBuffer input(context(), bytes_of(ones), 4);
  std::vector<Job> jobs;
  for (const std::uint32_t count : {0u, 1u, 5u, 300u, 5000u, many / 2, many}) {
    jobs.push_back({{.item_count = Count::on_host(count), .input = ElementType::u32(), .init = ConstantValue::of(5u)},
                    {.input = input.view()}});
  }
  for (const auto& [row_count, row_length] : {std::pair{9u, 0u}, {40u, 3u}, {3u, many / 3}}) {
    jobs.push_back({{.input = ElementType::u32(),
                     .segments = Segmentation::rows(Count::on_host(row_count), row_length),
                     .init = ConstantValue::of(5u)},
                    {.input = input.view()},
                    row_count});
  }
  const auto results = results_of<std::uint32_t>(jobs);
  std::vector<std::uint32_t> expected;
  for (const Job& job : jobs) {
    expected.insert(expected.end(), job.result_count,
                    static_cast<std::uint32_t>(job.shape.item_count.max) + job.shape.segments.row_length + 5);
  }
  EXPECT_EQ(results, expected);

  // In front: operators that do not commute see it first. Values of other kinds than words.
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < 5000; ++i) maps.push_back(Affine::item(i));
  const Affine first{7, 11};
  const ReduceShape in_order{.item_count = Count::on_host(5000),
                             .input = Affine::type(),
                             .combine = Affine::combine(),
                             .init = ConstantValue::of(first)};
  EXPECT_EQ(reduce<Affine>(maps, in_order), reference::fold(first, maps, std::multiplies<>()));
  const ReduceShape nan_first{
      .item_count = Count::on_host(0), .combine = BinaryOperator::max(), .init = ConstantValue::of(nan)};
  EXPECT_TRUE(std::isnan(reduce<float>(std::vector<float>{}, nan_first)));
  const ReduceShape wide{
      .item_count = Count::on_host(2), .input = ElementType::u64(), .init = ConstantValue::of(std::uint64_t{1} << 63)};
  EXPECT_EQ(reduce<std::uint64_t>(std::vector<std::uint64_t>{0xffffffff, 1}, wide),
            (std::uint64_t{1} << 63) + (std::uint64_t{1} << 32));
  if (!has_f16()) return;
  const ReduceShape halves{
      .item_count = Count::on_host(2), .input = ElementType::f16(), .init = ConstantValue::of(half_of(0.5))};
  EXPECT_EQ(number_of(reduce<Half>(std::vector<Half>{half_of(1), half_of(2)}, halves)), 3.5);
}

TEST_P(ReduceGpu, EmptyInputsGiveTheIdentityAndZeroRowsWriteNothing) {
  std::vector<Job> jobs;
  std::vector<std::uint32_t> expected;
  const auto add = [&](const BinaryOperator& op, const ElementType& type, std::uint32_t result) {
    jobs.push_back({{.item_count = Count::on_host(0), .input = type, .combine = op}, {}});
    expected.push_back(result);
  };
  add(BinaryOperator::sum(), ElementType::u32(), 0);
  add(BinaryOperator::product(), ElementType::i32(), 1);
  add(BinaryOperator::bit_and(), ElementType::u32(), 0xffffffff);
  add(BinaryOperator::min(), ElementType::i32(), 0x7fffffff);
  add(BinaryOperator::max(), ElementType::i32(), 0x80000000);
  add(BinaryOperator::sum(), ElementType::f32(), 0);
  add(BinaryOperator::product(), ElementType::f32(), 0x3f800000);
  add(BinaryOperator::min(), ElementType::f32(), 0x7f800000);
  add(BinaryOperator::max(), ElementType::f32(), 0xff800000);
  add(BinaryOperator::argmin(), ElementType::f32(), 0xffffffff);
  add(BinaryOperator::argmax(), ElementType::u64(), 0xffffffff);
  add(BinaryOperator::logical_any(), ElementType::f32(), 0);
  add(BinaryOperator::logical_all(), ElementType::f32(), 1);
  EXPECT_EQ(results_of<std::uint32_t>(jobs), expected);

  const std::vector<std::uint32_t> items(100, 1);
  const GuardedBuffer input(context(), bytes_of(items));
  const GuardedBuffer output(context(), bytes_of(items));
  const ReduceBuffers buffers{
      .input = input.view(), .output = output.view(), .segment_begins = input.view(), .segment_ends = input.view()};
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (const Segmentation& segments :
         {Segmentation::rows(Count::on_host(0), 7), Segmentation::rows(Count::on_host(0), 100'000),
          Segmentation::offsets(Count::on_host(0))}) {
      const Status status = record_reduce(
          context(), encoder, {.item_count = Count::on_host(100), .input = ElementType::u32(), .segments = segments},
          buffers);
      if (!status) return status;
    }
    return {};
  });
  EXPECT_EQ(items_of<std::uint32_t>(output.read_and_check_guards()), items);
}

TEST_P(ReduceGpu, OperatorsThatDoNotCommuteSeeTheItemsInOrder) {
  const std::uint32_t many = affordable(70'000);
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < many; ++i) maps.push_back(Affine::item(i));
  const GuardedBuffer input(context(), bytes_of(maps), 8);
  ReduceShape shape{.input = Affine::type(), .combine = Affine::combine()};
  std::vector<Job> jobs;
  std::vector<Affine> expected;
  for (const std::uint32_t count :
       {0u, 1u, 2u, 7u, 8u, 9u, 255u, 256u, 257u, 1025u, 2047u, 2048u, 2049u, 4097u, many}) {
    shape.item_count = Count::on_host(count);
    jobs.push_back({shape, {.input = input.view()}});
    expected.push_back(reference::fold(Affine::identity(), std::span(maps).first(count), std::multiplies<>()));
  }
  const auto results = results_of<Affine>(jobs);
  EXPECT_TRUE(std::ranges::equal(results, expected));
  EXPECT_EQ(results[9], (Affine{1047302641, 2407673014}));

  const std::vector<std::int32_t> growing{1, 10, 100, 1000};
  EXPECT_EQ(reduce<std::int32_t>(
                growing, {.item_count = Count::on_host(4), .input = ElementType::i32(), .combine = growing_sum()}),
            1111);
  EXPECT_EQ(
      reduce<std::int32_t>(std::vector{1000, 1},
                           {.item_count = Count::on_host(2), .input = ElementType::i32(), .combine = growing_sum()}),
      -10000);

  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto matrices = random_items<Vec<std::uint32_t, 4>>(5000, seed);
  EXPECT_EQ((reduce<Vec<std::uint32_t, 4>>(matrices, {.item_count = Count::on_host(5000),
                                                      .input = ElementType::vec(Scalar::u32, 4),
                                                      .combine = Matrix2::combine()})),
            reference::fold(Matrix2::identity(), matrices, Matrix2::times));
}

TEST_P(ReduceGpu, CustomOperatorsWorkOnEveryBuiltInType) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto pairs = random_items<Vec<std::uint32_t, 2>>(5000, seed);
  const auto sum_and_max = BinaryOperator::custom(
      "f", "fn f(a: vec2u, b: vec2u) -> vec2u { return vec2u(a.x + b.x, max(a.y, b.y)); }", "vec2u(0u)", true);
  Vec<std::uint32_t, 2> expected{0, 0};
  for (const auto& pair : pairs) expected = {expected[0] + pair[0], std::max(expected[1], pair[1])};
  EXPECT_EQ((reduce<Vec<std::uint32_t, 2>>(pairs, {.item_count = Count::on_host(5000),
                                                   .input = ElementType::vec(Scalar::u32, 2),
                                                   .combine = sum_and_max})),
            expected);

  const auto words = random_items<std::uint64_t>(5000, seed);
  const auto exclusive =
      BinaryOperator::custom("f", "fn f(a: vec2u, b: vec2u) -> vec2u { return a ^ b; }", "vec2u(0u)", true);
  EXPECT_EQ(reduce<std::uint64_t>(
                words, {.item_count = Count::on_host(5000), .input = ElementType::u64(), .combine = exclusive}),
            reference::fold(std::uint64_t{0}, words, std::bit_xor<>()));

  const auto numbers = random_items<float>(5000, seed, Values::unit);
  const auto farthest =
      BinaryOperator::custom("f", "fn f(a: f32, b: f32) -> f32 { return max(abs(a), abs(b)); }", "0.0", true);
  EXPECT_EQ(reduce<float>(numbers, {.item_count = Count::on_host(5000), .combine = farthest}),
            reference::fold(0.0f, numbers, [](float a, float b) { return std::max(std::fabs(a), std::fabs(b)); }));

  const auto quads = random_items<Vec<float, 4>>(5000, seed, Values::unit);
  const auto least =
      BinaryOperator::custom("f", "fn f(a: vec4f, b: vec4f) -> vec4f { return min(a, b); }", "vec4f(2.0)", true);
  EXPECT_EQ(
      (reduce<Vec<float, 4>>(
          quads, {.item_count = Count::on_host(5000), .input = ElementType::vec(Scalar::f32, 4), .combine = least})),
      (reference::reduce_to_item(OperatorKind::min, std::span<const Vec<float, 4>>(quads))));
  if (!has_f16()) return;
  const auto halves = random_items<Half>(5000, seed, Values::unit);
  EXPECT_EQ(number_of(reduce<Half>(
                halves, {.item_count = Count::on_host(5000), .input = ElementType::f16(), .combine = farthest})),
            reference::fold(0.0, halves, [](double a, Half b) { return std::max(a, std::fabs(number_of(b))); }));
}

template <std::size_t Words>
std::vector<Tally<Words>> tallies(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Tally<Words>> items;
  for (std::size_t i = 0; i < count; ++i) items.push_back(Tally<Words>::item(random));
  return items;
}

class ReduceStructsGpu : public ReduceGpu {
 protected:
  template <std::size_t Words>
  void check_struct(bool also_ordered = false) {
    using Item = Tally<Words>;
    SCOPED_TRACE(std::format("{} bytes", Item::bytes));
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE(seed_note(seed));
    const std::uint32_t many = affordable(20'000);
    const auto items = tallies<Words>(many, seed);
    const GuardedBuffer input(context(), bytes_of(items), at_item<Item>(0));
    for (const bool is_ordered : {false, true}) {
      if (is_ordered && !also_ordered) continue;
      std::vector<Job> jobs;
      std::vector<Item> expected;
      for (const std::uint32_t count : {0u, 1u, 2u, 255u, 256u, 257u, 3000u, many - 4}) {
        // Views begin at any item.
        const std::uint32_t first = static_cast<std::uint32_t>(jobs.size()) % 4;
        jobs.push_back(
            {{.item_count = Count::on_host(count), .input = Item::type(), .combine = Item::combine(is_ordered)},
             {.input = {input.buffer(), input.view().offset_bytes + first * Item::bytes}}});
        expected.push_back(
            reference::fold(Item::identity(), std::span(items).subspan(first, count), std::multiplies<>()));
      }
      EXPECT_TRUE(results_of<Item>(jobs) == expected) << (is_ordered ? "ordered" : "any order");
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, ReduceStructsGpu, all_profiles, profile_name);

TEST_P(ReduceStructsGpu, FoldsStructsOf12To128Bytes) {
  check_struct<3>(true);
  check_struct<5>();
  // Large ones compile slowly: each in one profile, the largest where the limits are small.
  if (GetParam() == Profile::full) check_struct<8>();
  if (GetParam() == Profile::tiny_tiles) check_struct<16>();
  if (GetParam() == Profile::minimum_limits) check_struct<32>();
}

TEST_P(ReduceStructsGpu, StatesTheStrideThatTheDeviceHas) {
  EXPECT_TRUE(context().check_element(Tally<3>::type()).has_value());
  EXPECT_TRUE(context().check_element(Tally<32>::type()).has_value());
  EXPECT_TRUE(context().check_element(MinMax::type()).has_value());
}

TEST_P(ReduceStructsGpu, TransformsMakeStructsOfNumbers) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t many = affordable(70'000);
  const auto numbers = random_items<float>(std::max(many, 7000u), seed, Values::unit);
  const GuardedBuffer input(context(), bytes_of(numbers), 4);
  for (const bool is_ordered : {false, true}) {
    ReduceShape shape{
        .transform = Transform::of("MinMax(x, x)"), .value = MinMax::type(), .combine = MinMax::combine(is_ordered)};
    std::vector<Job> jobs;
    std::vector<MinMax> expected;
    for (const std::uint32_t count : {0u, 1u, 300u, 5000u, many}) {
      shape.item_count = Count::on_host(count);
      jobs.push_back({shape, {.input = input.view()}});
      expected.push_back(reference::fold(MinMax::identity(), std::span(numbers).first(count),
                                         [](const MinMax& a, float x) { return a * MinMax{x, x}; }));
    }
    shape.item_count = Count::on_host(0);
    shape.segments = Segmentation::rows(Count::on_host(7), 1000);
    jobs.push_back({shape, {.input = input.view()}, 7});
    for (const MinMax& row : reference::for_each_row(std::span<const float>(numbers), 7, 1000, [](auto items) {
           return reference::fold(MinMax::identity(), items, [](const MinMax& a, float x) { return a * MinMax{x, x}; });
         })) {
      expected.push_back(row);
    }
    EXPECT_TRUE(results_of<MinMax>(jobs) == expected);
  }
}

TEST_P(ReduceGpu, TransformsAreAppliedAsItemsAreLoaded) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(50'000);
  const auto xs = random_items<float>(count, seed, Values::small);
  const auto ys = random_items<float>(count, seed + 1, Values::small);
  const GuardedBuffer first(context(), bytes_of(xs), 4);
  const GuardedBuffer alike(context(), bytes_of(ys), 20);
  const GuardedBuffer shifted(context(), bytes_of(ys), 12);
  const auto dot = reference::fold(0.0f, std::views::iota(std::size_t{0}, std::size_t{count}),
                                   [&](float a, std::size_t i) { return a + xs[i] * ys[i]; });
  ReduceShape shape{
      .item_count = Count::on_host(count), .second_input = ElementType::f32(), .transform = Transform::of("x * y")};
  EXPECT_EQ(results_of<float>({{shape, {.input = first.view(), .second_input = alike.view()}},
                               {shape, {.input = first.view(), .second_input = shifted.view()}}}),
            std::vector(2, dot));

  const auto sum_of = [&](const Transform& transform, auto map) {
    SCOPED_TRACE(transform.expression);
    float expected = 0.0f;
    for (std::size_t i = 0; i < xs.size(); ++i) expected += map(xs[i], static_cast<float>(i % 8));
    EXPECT_EQ(result_of<float>({.item_count = Count::on_host(count), .transform = transform}, {.input = first.view()}),
              expected);
  };
  sum_of(Transform::abs(), [](float x, float) { return std::fabs(x); });
  sum_of(Transform::square(), [](float x, float) { return x * x; });
  sum_of(Transform::clamp("-1.0", "2.0"), [](float x, float) { return std::clamp(x, -1.0f, 2.0f); });
  sum_of(Transform::of("x * f32(i % 8u)"), [](float x, float i) { return x * i; });
  sum_of(Transform::of("twice(x)", "fn twice(x: f32) -> f32 { return x + x; }"), [](float x, float) { return 2 * x; });

  // Other types of value: exact 64-bit sums of words, indices of the farthest item.
  const auto words = random_items<std::uint32_t>(count, seed);
  const ReduceShape wide{.item_count = Count::on_host(count),
                         .input = ElementType::u32(),
                         .transform = Transform::of("vec2u(x, 0u)"),
                         .value = ElementType::u64()};
  EXPECT_EQ(reduce<std::uint64_t>(words, wide), std::accumulate(words.begin(), words.end(), std::uint64_t{0}));
  const auto numbers = random_items<float>(count, seed, Values::unit);
  const auto farthest = std::ranges::max_element(numbers, {}, [](float x) { return std::fabs(x); }) - numbers.begin();
  const ReduceShape arg{
      .item_count = Count::on_host(count), .transform = Transform::abs(), .combine = BinaryOperator::argmax()};
  EXPECT_EQ(reduce<std::uint32_t>(numbers, arg), static_cast<std::uint32_t>(farthest));

  // Inputs of two widths, and structs with words.
  const auto triples = tallies<3>(count / 5, seed);
  const GuardedBuffer structs(context(), bytes_of(triples), at_item<Tally<3>>(0));
  const GuardedBuffer factors(context(), bytes_of(words), 4);
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < triples.size(); ++i) expected += triples[i].total * words[i];
  const ReduceShape mixed{.item_count = Count::on_host(count / 5),
                          .input = Tally<3>::type(),
                          .second_input = ElementType::u32(),
                          .transform = Transform::of("x.total * y"),
                          .value = ElementType::u32()};
  EXPECT_EQ(result_of<std::uint32_t>(mixed, {.input = structs.view(), .second_input = factors.view()}), expected);
}

TEST_P(ReduceGpu, SubnormalsCanBeFlushedOnEveryDevice) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> items{tiny, -3 * tiny, 0x1p-127f, -0.0f};
  ReduceShape shape{.item_count = Count::on_host(4),
                    .transform = Transform::flush_subnormals(),
                    .combine = BinaryOperator::logical_any()};
  EXPECT_EQ(reduce<std::uint32_t>(items, shape), 0u);
  shape.combine = BinaryOperator::max();
  EXPECT_EQ(reduce<float>(items, shape), 0.0f);
  const std::vector<float> normal{tiny, 0x1p-126f, -tiny, tiny};
  EXPECT_EQ(reduce<float>(normal, shape), 0x1p-126f);
}

TEST_P(ReduceGpu, RowsAreFoldedEachByItself) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto words = random_items<std::int32_t>(350'000, seed);
  const auto numbers = random_items<float>(350'000, seed);
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < 140'000; ++i) maps.push_back(Affine::item(i));
  const GuardedBuffer word_buffer(context(), bytes_of(words), 4);
  const GuardedBuffer number_buffer(context(), bytes_of(numbers), 12);
  const GuardedBuffer map_buffer(context(), bytes_of(maps), 8);
  std::vector<Job> sums;
  std::vector<Job> least;
  std::vector<Job> in_order;
  std::vector<std::int32_t> expected_sums;
  std::vector<std::uint32_t> expected_least;
  std::vector<Affine> expected_maps;
  for (const auto& [row_count, row_length] : {std::pair{1u, 0u},
                                              {70u, 0u},
                                              {1u, 1u},
                                              {1000u, 1u},
                                              {333u, 2u},
                                              {1000u, 3u},
                                              {1u, 7u},
                                              {700u, 7u},
                                              {129u, 31u},
                                              {64u, 64u},
                                              {65u, 64u},
                                              {5u, 1000u},
                                              {130u, 1000u},
                                              {1u, 5000u},
                                              {9u, 5000u},
                                              {1u, 70'000u},
                                              {5u, 70'000u}}) {
    if (row_count > 1 && row_count * row_length > 4 * affordable(350'000)) continue;
    const Segmentation segments = Segmentation::rows(Count::on_host(row_count), row_length);
    sums.push_back({{.input = ElementType::i32(), .segments = segments}, {.input = word_buffer.view()}, row_count});
    for (const std::int32_t sum :
         reference::for_each_row(std::span<const std::int32_t>(words), row_count, row_length,
                                 [](auto row) { return reference::reduce_to_item(OperatorKind::sum, row); }))
      expected_sums.push_back(sum);
    least.push_back(
        {{.combine = BinaryOperator::argmin(), .segments = segments}, {.input = number_buffer.view()}, row_count});
    for (const std::uint32_t index :
         reference::for_each_row(std::span<const float>(numbers), row_count, row_length,
                                 [](auto row) { return reference::reduce_to_word(OperatorKind::argmin, row); }))
      expected_least.push_back(index);
    if (row_count * row_length > maps.size()) continue;
    in_order.push_back({{.input = Affine::type(), .combine = Affine::combine(), .segments = segments},
                        {.input = map_buffer.view()},
                        row_count});
    for (const Affine& map : reference::for_each_row(
             std::span<const Affine>(maps), row_count, row_length,
             [](auto row) { return reference::fold(Affine::identity(), row, std::multiplies<>()); }))
      expected_maps.push_back(map);
  }
  EXPECT_EQ(results_of<std::int32_t>(sums), expected_sums);
  EXPECT_EQ(results_of<std::uint32_t>(least), expected_least);
  EXPECT_TRUE(results_of<Affine>(in_order) == expected_maps);
}

/// Segments by offsets: bounds in two buffers.
struct Bounds {
  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> ends;
};

TEST_P(ReduceGpu, SegmentsByOffsetsAreFoldedEachByItself) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = 30'000;
  std::vector<Bounds> cases{
      {{0}, {count}},
      {{0, 3, 3, 6}, {3, 3, 6, count}},                                     // an empty one, then most of the items
      {{10, 100, 40}, {20, 200, 160}},                                      // gaps, overlaps, the first not at 0
      {{5, 9, count, count + 5, 7}, {4, 0, count, count + 9, 0xffffffff}},  // ends before begins, and past the input
  };
  Bounds skewed;
  for (std::uint32_t s = 0; s < 2000; ++s) {
    skewed.begins.push_back(s == 0 ? 0 : skewed.ends.back());
    skewed.ends.push_back(s == 700 ? 28'000 : std::min(count, skewed.begins.back() + random.below(4)));
  }
  Bounds any;
  for (std::uint32_t s = 0; s < 300; ++s) {
    any.begins.push_back(random.below(count));
    any.ends.push_back(any.begins.back() + random.below(900));
  }
  cases.push_back(skewed);
  cases.push_back(any);

  const auto words = random_items<std::uint32_t>(count, seed);
  const auto numbers = random_items<float>(count, seed);
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < count; ++i) maps.push_back(Affine::item(i));
  const GuardedBuffer word_buffer(context(), bytes_of(words), 4);
  const GuardedBuffer number_buffer(context(), bytes_of(numbers), 252);
  const GuardedBuffer map_buffer(context(), bytes_of(maps), 8);
  std::vector<std::unique_ptr<GuardedBuffer>> bounds;
  std::vector<Job> sums;
  std::vector<Job> greatest;
  std::vector<Job> in_order;
  std::vector<std::uint32_t> expected_sums;
  std::vector<std::uint32_t> expected_greatest;
  std::vector<Affine> expected_maps;
  for (const Bounds& at : cases) {
    bounds.push_back(std::make_unique<GuardedBuffer>(context(), bytes_of(at.begins), 4));
    const BufferView begins = bounds.back()->view();
    bounds.push_back(std::make_unique<GuardedBuffer>(context(), bytes_of(at.ends), 260));
    const BufferView ends = bounds.back()->view();
    const Segmentation segments = Segmentation::offsets(Count::on_host(at.begins.size()));
    const auto add = [&](auto& jobs, auto& expected, ReduceShape shape, const auto& items, const BufferView& input,
                         auto reduce_segment) {
      shape.item_count = Count::on_host(count);
      shape.segments = segments;
      jobs.push_back({shape, {.input = input, .segment_begins = begins, .segment_ends = ends}, at.begins.size()});
      using Item = std::remove_cvref_t<decltype(items)>::value_type;
      for (const auto& result :
           reference::for_each_segment(std::span<const Item>(items), at.begins, at.ends, reduce_segment)) {
        expected.push_back(result);
      }
    };
    add(sums, expected_sums, {.input = ElementType::u32()}, words, word_buffer.view(),
        [](auto items) { return reference::reduce_to_item(OperatorKind::sum, items); });
    add(greatest, expected_greatest, {.combine = BinaryOperator::argmax()}, numbers, number_buffer.view(),
        [](auto items) { return reference::reduce_to_word(OperatorKind::argmax, items); });
    add(in_order, expected_maps, {.input = Affine::type(), .combine = Affine::combine()}, maps, map_buffer.view(),
        [](auto items) { return reference::fold(Affine::identity(), items, std::multiplies<>()); });
  }
  EXPECT_EQ(results_of<std::uint32_t>(sums), expected_sums);
  EXPECT_EQ(results_of<std::uint32_t>(greatest), expected_greatest);
  EXPECT_TRUE(results_of<Affine>(in_order) == expected_maps);
}

TEST_P(ReduceGpu, SegmentsMayTakeBeginsAndEndsFromOneBufferAndGetTheInitialValueEach) {
  const std::vector<float> items{infinity, -infinity, 1, 2};
  const std::vector<std::uint32_t> offsets{0, 1, 1, 2, 4};
  const GuardedBuffer input(context(), bytes_of(items), 4);
  const GuardedBuffer bounds(context(), bytes_of(offsets), 4);
  const BufferView begins = bounds.view();
  const BufferView ends{begins.buffer, begins.offset_bytes + 4};
  ReduceShape shape{.item_count = Count::on_host(4),
                    .combine = BinaryOperator::min(),
                    .segments = Segmentation::offsets(Count::on_host(4)),
                    .init = ConstantValue::of(5.0f)};
  const ReduceBuffers buffers{.input = input.view(), .segment_begins = begins, .segment_ends = ends};
  EXPECT_EQ(results_of<float>({{shape, buffers, 4}}), (std::vector{5.0f, 5.0f, -infinity, 1.0f}));
  // Without one, an empty segment gives the identity, and a segment of +inf alone keeps it.
  shape.init.reset();
  EXPECT_EQ(results_of<float>({{shape, buffers, 4}}), (std::vector{infinity, infinity, -infinity, 1.0f}));
}

TEST_P(ReduceGpu, CountsAreReadOnTheDevice) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t most = affordable(60'000);
  const auto words = random_items<std::uint32_t>(most, seed);
  const GuardedBuffer input(context(), bytes_of(words), 4);
  const std::vector<std::uint32_t> counts{0, 1, 5, 255, 4097, most / 2, most - 1, most, most + 1, 0xffffffff};
  const GuardedBuffer count_buffer(context(), bytes_of(counts), 12);
  const std::uint32_t unwritten = 0x4d4d4d4d;
  std::vector<Job> jobs;
  std::vector<std::uint32_t> expected;
  const auto sum = [&](std::uint64_t first, std::uint64_t count) {
    return std::accumulate(words.begin() + static_cast<std::ptrdiff_t>(first),
                           words.begin() + static_cast<std::ptrdiff_t>(first + count), 0u);
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const ReduceBuffers buffers{.input = input.view(),
                                .item_count = {count_buffer.buffer(), count_buffer.view().offset_bytes + 4 * i}};
    jobs.push_back({{.item_count = Count::on_device(most), .input = ElementType::u32()}, buffers});
    expected.push_back(sum(0, std::min(counts[i], most)));
    for (const auto& [most_rows, row_length] : {std::pair{260u, 3u}, {6u, most / 6}}) {
      jobs.push_back(
          {{.input = ElementType::u32(), .segments = Segmentation::rows(Count::on_device(most_rows), row_length)},
           buffers,
           most_rows});
      for (std::uint32_t row = 0; row < most_rows; ++row)
        expected.push_back(row < counts[i] ? sum(row * row_length, row_length) : unwritten);
    }
    // Segments [words' position, count of the same index): bounds taken from the counts themselves.
    jobs.push_back({{.item_count = Count::on_host(most),
                     .input = ElementType::u32(),
                     .segments = Segmentation::offsets(Count::on_device(9))},
                    buffers,
                    9});
    jobs.back().buffers.segment_begins = count_buffer.view();
    jobs.back().buffers.segment_ends = {count_buffer.buffer(), count_buffer.view().offset_bytes + 4};
    for (std::uint32_t s = 0; s < 9; ++s) {
      const std::uint32_t begin = std::min(counts[s], most);
      const std::uint32_t end = std::max(begin, std::min(counts[s + 1], most));
      expected.push_back(s < counts[i] ? sum(begin, end - begin) : unwritten);
    }
  }
  EXPECT_EQ(results_of<std::uint32_t>(jobs), expected);

  // In order.
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < 9000; ++i) maps.push_back(Affine::item(i));
  const GuardedBuffer map_buffer(context(), bytes_of(maps), 8);
  std::vector<Job> in_order;
  std::vector<Affine> expected_maps;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    in_order.push_back({{.item_count = Count::on_device(9000), .input = Affine::type(), .combine = Affine::combine()},
                        {.input = map_buffer.view(),
                         .item_count = {count_buffer.buffer(), count_buffer.view().offset_bytes + 4 * i}}});
    expected_maps.push_back(
        reference::fold(Affine::identity(), std::span(maps).first(std::min(counts[i], 9000u)), std::multiplies<>()));
  }
  EXPECT_TRUE(results_of<Affine>(in_order) == expected_maps);
}

TEST_P(ReduceGpu, ViewsBeginAtAnyItem) {
  const auto words = random_items<std::uint32_t>(10'000, 1);
  const auto structs = tallies<3>(3000, 2);
  const auto bytes = random_items<Half>(20'000, 3, Values::small);
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<Job> jobs;
  std::vector<Job> struct_jobs;
  std::vector<Job> half_jobs;
  for (const std::uint64_t offset : {4u, 8u, 12u, 16u, 128u, 252u, 256u, 260u, 508u, 1020u}) {
    buffers.push_back(std::make_unique<GuardedBuffer>(context(), bytes_of(words), offset));
    jobs.push_back(
        {{.item_count = Count::on_host(words.size()), .input = ElementType::u32()}, {.input = buffers.back()->view()}});
    buffers.push_back(std::make_unique<GuardedBuffer>(context(), bytes_of(structs), at_item<Tally<3>>(offset / 4)));
    struct_jobs.push_back(
        {{.item_count = Count::on_host(structs.size()), .input = Tally<3>::type(), .combine = Tally<3>::combine()},
         {.input = buffers.back()->view()}});
    buffers.push_back(std::make_unique<GuardedBuffer>(context(), bytes_of(bytes), offset / 2 - 2 + offset % 8 / 4 * 2));
    half_jobs.push_back(
        {{.item_count = Count::on_host(bytes.size()), .input = ElementType::f16(), .output = ElementType::f32()},
         {.input = buffers.back()->view()}});
  }
  EXPECT_EQ(results_of<std::uint32_t>(jobs), std::vector(jobs.size(), std::accumulate(words.begin(), words.end(), 0u)));
  EXPECT_TRUE(results_of<Tally<3>>(struct_jobs) ==
              std::vector(jobs.size(), reference::fold(Tally<3>::identity(), structs, std::multiplies<>())));
  if (!has_f16()) return;
  EXPECT_EQ(results_of<float>(half_jobs),
            std::vector(jobs.size(), static_cast<float>(reference::fold(
                                         0.0, bytes, [](double a, Half b) { return a + number_of(b); }))));
}

TEST_P(ReduceGpu, DisjointRangesOfOneBufferWork) {
  const auto words = random_items<std::uint32_t>(50'000, 1);
  std::vector<std::uint32_t> image(64 + words.size() + 128 + 64, 0x5a5a5a5a);
  std::ranges::copy(words, image.begin() + 65);
  const GuardedBuffer all(context(), bytes_of(image));
  const std::uint64_t base = all.view().offset_bytes;
  const std::uint64_t result = 65 + words.size() + 70;
  for (const std::uint32_t count : {3u, 1000u, 50'000u}) {
    run([&](WGPUCommandEncoder encoder) {
      const ReduceShape shape{.item_count = Count::on_host(count), .input = ElementType::u32()};
      return record_reduce(context(), encoder, shape,
                           {.input = {all.buffer(), base + 65 * 4}, .output = {all.buffer(), base + result * 4}},
                           tuning(shape));
    });
    std::vector<std::uint32_t> expected = image;
    expected[result] = std::accumulate(words.begin(), words.begin() + count, 0u);
    EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), expected) << count;
  }
}

TEST_P(ReduceGpu, RangesThatMeetAreRefusedAndNothingIsRecorded) {
  const std::vector<std::uint32_t> words(1000, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer other(context(), bytes_of(words));
  const BufferView begin = all.view();
  const auto at = [&](std::uint64_t word) { return BufferView{begin.buffer, begin.offset_bytes + 4 * word}; };
  const ReduceShape shape{.item_count = Count::on_host(100), .input = ElementType::u32()};
  const auto refusal = [&](const ReduceShape& wanted, const ReduceBuffers& buffers) {
    std::string message;
    run([&](WGPUCommandEncoder encoder) -> Status {
      const Status status = record_reduce(context(), encoder, wanted, buffers, tuning(wanted));
      message = status ? "no error" : status.error().message;
      return {};
    });
    EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
    return message;
  };
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(0)}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(99)}), HasSubstr("overlap"));
  // The result right behind the last item lies in one block with it; where one dispatch binds both, that is refused.
  if (!is_tiny()) {
    ReduceShape adjacent = shape;
    adjacent.item_count = Count::on_host(99);
    EXPECT_THAT(refusal(adjacent, {.input = at(0), .output = at(99)}), HasSubstr("meet in a"));
  }
  ReduceShape segments = shape;
  segments.segments = Segmentation::offsets(Count::on_host(4));
  EXPECT_THAT(
      refusal(segments, {.input = other.view(), .output = at(10), .segment_begins = at(4), .segment_ends = at(7)}),
      HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = {}}), HasSubstr("Argument output has no buffer"));
  EXPECT_THAT(refusal(shape, {.input = {}, .output = at(0)}), HasSubstr("Argument input has no buffer"));
  EXPECT_THAT(refusal(shape, {.input = {begin.buffer, begin.offset_bytes, 396}, .output = other.view()}),
              HasSubstr("has 396 bytes; the plan needs 400"));
  EXPECT_THAT(refusal(shape, {.input = {begin.buffer, begin.offset_bytes + 2}, .output = other.view()}),
              HasSubstr("not a multiple of its item"));
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = {begin.buffer, begin.offset_bytes + 2}}),
              HasSubstr("not a multiple of its item"));
  ReduceShape huge = shape;
  huge.item_count = Count::on_host(5000);
  EXPECT_THAT(refusal(huge, {.input = at(0), .output = other.view()}), HasSubstr("the plan needs 20000"));
}

TEST_P(ReduceGpu, OneCommandBufferHoldsManyReductionsWithOtherCountsAndBuffers) {
  const std::uint32_t many = affordable(100'000);
  const auto a = random_items<std::uint32_t>(many, 1);
  const auto b = random_items<std::uint32_t>(9000, 2);
  const GuardedBuffer a_buffer(context(), bytes_of(a), 4);
  const GuardedBuffer b_buffer(context(), bytes_of(b), 8);
  const auto sum = [](const auto& items, std::size_t count) {
    return std::accumulate(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count), 0u);
  };
  std::vector<Job> jobs;
  std::vector<std::uint32_t> expected;
  for (const auto& [is_a, count] :
       {std::pair{true, many}, {false, 9000u}, {true, many}, {true, many / 2 + 1}, {false, 10u}, {true, many}}) {
    jobs.push_back({{.item_count = Count::on_host(count), .input = ElementType::u32()},
                    {.input = (is_a ? a_buffer : b_buffer).view()}});
    expected.push_back(is_a ? sum(a, count) : sum(b, count));
  }
  EXPECT_EQ(results_of<std::uint32_t>(jobs), expected);
  EXPECT_EQ(results_of<std::uint32_t>(jobs), expected);

  // In one compute pass of the caller's.
  const GuardedBuffer output(context(), bytes_of(expected), 4);
  run([&](WGPUCommandEncoder encoder) -> Status {
    const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
    Status status;
    for (std::size_t i = 0; i < jobs.size() && status; ++i) {
      ReduceBuffers buffers = jobs[i].buffers;
      // In reverse: the results of the runs before are no help.
      buffers.output = {output.buffer(), output.view().offset_bytes + 4 * (jobs.size() - 1 - i)};
      status = record_reduce(context(), pass, jobs[i].shape, buffers, tuning(jobs[i].shape));
    }
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
    return status;
  });
  std::ranges::reverse(expected);
  EXPECT_EQ(items_of<std::uint32_t>(output.read_and_check_guards()), expected);
}

TEST_P(ReduceGpu, RepeatedRecordingMakesNothingNew) {
  const std::uint32_t many = affordable(100'000);
  const std::vector<std::uint32_t> ones(many, 1);
  const GuardedBuffer input(context(), bytes_of(ones), 4);
  const GuardedBuffer output(context(), bytes_of(ones), 4);
  const ReduceShape shape{.item_count = Count::on_host(many), .input = ElementType::u32()};
  const auto record = [&] {
    run([&](WGPUCommandEncoder encoder) {
      return record_reduce(context(), encoder, shape, {.input = input.view(), .output = output.view()}, tuning(shape));
    });
  };
  record();
  const ContextStatistics before = context().statistics();
  for (int i = 0; i < 10; ++i) record();
  const ContextStatistics& after = context().statistics();
  EXPECT_EQ(after.plans_made, before.plans_made);
  EXPECT_EQ(after.pipelines_created, before.pipelines_created);
  EXPECT_EQ(after.bind_groups_created, before.bind_groups_created);
  EXPECT_EQ(after.buffers_created, before.buffers_created);
}

/// Traits that no profile has, put over the device's own.
class ReduceInjectedGpu : public ReduceGpu {};
INSTANTIATE_TEST_SUITE_P(, ReduceInjectedGpu, ::testing::Values(Profile::no_subgroups, Profile::tiny_tiles),
                         profile_name);

TEST_P(ReduceInjectedGpu, TwoOrThreeWorkgroupsADimensionFoldIntoThree) {
  const auto words = random_items<std::uint32_t>(200'000, 1);
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < 16'000; ++i) maps.push_back(Affine::item(i));
  const GuardedBuffer input(context(), bytes_of(words), 4);
  const GuardedBuffer map_buffer(context(), bytes_of(maps), 8);
  for (const std::uint32_t limit : {2u, 3u}) {
    SCOPED_TRACE(limit);
    DeviceTraits traits = context().traits();
    traits.max_workgroups_per_dimension = limit;
    context().override_traits(traits);
    std::vector<Job> jobs;
    std::vector<std::uint32_t> expected;
    std::vector<Job> in_order;
    std::vector<Affine> expected_maps;
    for (std::uint32_t count = 1; count < 200'000; count += count / 6 + 1) {
      const ReduceShape sum{.item_count = Count::on_host(count), .input = ElementType::u32()};
      if (plan_reduce(sum, traits, tuning(sum), {.input_bytes = 4})) {
        jobs.push_back({sum, {.input = input.view()}});
        expected.push_back(std::accumulate(words.begin(), words.begin() + count, 0u));
      }
      const ReduceShape map{.item_count = Count::on_host(count), .input = Affine::type(), .combine = Affine::combine()};
      if (count <= maps.size() && plan_reduce(map, traits, tuning(map), {.input_bytes = 8})) {
        in_order.push_back({map, {.input = map_buffer.view()}});
        expected_maps.push_back(reference::fold(Affine::identity(), std::span(maps).first(count), std::multiplies<>()));
      }
    }
    EXPECT_GT(jobs.size(), 15u);
    EXPECT_GT(in_order.size(), 15u);
    EXPECT_EQ(results_of<std::uint32_t>(jobs), expected);
    EXPECT_TRUE(results_of<Affine>(in_order) == expected_maps);
  }
}

TEST_P(ReduceInjectedGpu, BindingsOfAThousandBytesAreReadWindowByWindow) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto words = random_items<std::uint32_t>(3000, seed);
  const auto numbers = random_items<float>(3000, seed);
  const GuardedBuffer input(context(), bytes_of(words), 4);
  const GuardedBuffer second(context(), bytes_of(words), 12);
  const GuardedBuffer number_buffer(context(), bytes_of(numbers), 248);
  const std::vector<std::uint32_t> counts{700};
  const GuardedBuffer count_buffer(context(), bytes_of(counts), 20);
  DeviceTraits traits = context().traits().with_default_limits();
  traits.max_binding_bytes = 1000;
  context().override_traits(traits);
  std::vector<Job> jobs;
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t count : {1u, 185u, 186u, 187u, 191u, 192u, 193u, 384u, 1000u, 1500u}) {
    const std::span<const std::uint32_t> used = std::span(words).first(count);
    jobs.push_back({{.item_count = Count::on_host(count), .input = ElementType::u32()}, {.input = input.view()}});
    expected.push_back(reference::reduce_to_item(OperatorKind::sum, used));
    jobs.push_back(
        {{.item_count = Count::on_host(count), .combine = BinaryOperator::argmin()}, {.input = number_buffer.view()}});
    expected.push_back(reference::reduce_to_word(OperatorKind::argmin, std::span<const float>(numbers).first(count)));
    jobs.push_back({{.item_count = Count::on_host(count),
                     .input = ElementType::u32(),
                     .second_input = ElementType::u32(),
                     .transform = Transform::of("x * y + i")},
                    {.input = input.view(), .second_input = second.view()}});
    std::uint32_t dot = 0;
    for (std::uint32_t i = 0; i < count; ++i) dot += words[i] * words[i] + i;
    expected.push_back(dot);
    jobs.push_back({{.item_count = Count::on_device(count), .input = ElementType::u32()},
                    {.input = input.view(), .item_count = count_buffer.view()}});
    expected.push_back(reference::reduce_to_item(OperatorKind::sum, used.first(std::min(700u, count))));
  }
  for (const auto& [row_count, row_length] : {std::pair{1u, 1500u}, {5u, 300u}, {80u, 7u}, {3u, 191u}, {240u, 1u}}) {
    jobs.push_back(
        {{.combine = BinaryOperator::argmin(), .segments = Segmentation::rows(Count::on_host(row_count), row_length)},
         {.input = number_buffer.view()},
         row_count});
    for (const std::uint32_t index :
         reference::for_each_row(std::span<const float>(numbers), row_count, row_length,
                                 [](auto row) { return reference::reduce_to_word(OperatorKind::argmin, row); }))
      expected.push_back(index);
  }
  EXPECT_EQ(results_of<std::uint32_t>(jobs), expected);
}

TEST_P(ReduceInjectedGpu, ChunksThatTheLastWorkgroupMissesAreFoldedByIt) {
  const std::uint32_t many = affordable(100'000);
  const auto words = random_items<std::uint32_t>(many, 1);
  const auto wide = random_items<std::uint64_t>(many / 2, 1);
  const GuardedBuffer input(context(), bytes_of(words), 4);
  for (const std::uint32_t hidden : {2u, 3u, 5u, 0u}) {
    SCOPED_TRACE(hidden);
    DeviceTraits traits = context().traits();
    traits.test_hidden_chunks = hidden;
    context().override_traits(traits);
    for (const std::uint32_t count : {1000u, many / 2, many}) {
      EXPECT_EQ(result_of<std::uint32_t>({.item_count = Count::on_host(count), .input = ElementType::u32()},
                                         {.input = input.view()}),
                std::accumulate(words.begin(), words.begin() + count, 0u));
    }
    EXPECT_EQ(reduce<std::uint64_t>(wide, {.item_count = Count::on_host(many / 2), .input = ElementType::u64()}),
              std::accumulate(wide.begin(), wide.end(), std::uint64_t{0}));
    EXPECT_EQ(reduce<std::uint32_t>(words, {.item_count = Count::on_host(many),
                                            .input = ElementType::u32(),
                                            .combine = BinaryOperator::argmax()}),
              reference::reduce_to_word<std::uint32_t>(OperatorKind::argmax, words));
  }
}

TEST_P(ReduceInjectedGpu, OperatorsAreNeverGivenRecordsThatAreNotComplete) {
  // Both halves of every item agree; the operator remembers a word from elsewhere and spoils the result.
  std::vector<std::uint32_t> words(4000);
  for (std::uint32_t i = 0; i < 4000; ++i) words[i] = i * 0x10001u;
  const auto wary_max = BinaryOperator::custom("wary_max",
                                               "var<private> saw_foreign: bool;\n"
                                               "fn wary_max(a: u32, b: u32) -> u32 {\n"
                                               "  saw_foreign = saw_foreign || (a >> 16u) != (a & 0xffffu) || "
                                               "(b >> 16u) != (b & 0xffffu);\n"
                                               "  return select(max(a, b), 7u, saw_foreign);\n"
                                               "}\n",
                                               "0u", true);
  DeviceTraits traits = context().traits();
  traits.test_hidden_chunks = 2;
  context().override_traits(traits);
  // Few records a thread, as everywhere here: see tuning().
  const ReduceTuning tiny{
      .workgroup_size = 4, .units_per_thread = 2, .max_workgroups = 8, .longest_chain = 1, .one_workgroup_items = 8};
  const GuardedBuffer input(context(), bytes_of(words), 4);
  const GuardedBuffer output(context(), bytes_of(std::vector<std::uint32_t>(2, 7)), 4);
  run([&](WGPUCommandEncoder encoder) -> Status {
    // Leaves words of all kinds in the records that the second run looks at.
    const Status first = record_reduce(
        context(), encoder,
        {.item_count = Count::on_host(4000), .input = ElementType::u32(), .transform = Transform::of("x + i")},
        {.input = input.view(), .output = output.view()}, tiny);
    if (!first) return first;
    return record_reduce(context(), encoder,
                         {.item_count = Count::on_host(4000), .input = ElementType::u32(), .combine = wary_max},
                         {.input = input.view(), .output = {output.buffer(), output.view().offset_bytes + 4}}, tiny);
  });
  EXPECT_EQ(items_of<std::uint32_t>(output.read_and_check_guards())[1], 3999 * 0x10001u);
}

TEST_P(ReduceInjectedGpu, NoRecordOfAnEarlierRunIsTakenForAFreshOneWhenTagsRepeat) {
  // The state as it is some runs before the tags begin again, with records that carry the next tags already. Chunks
  // that are never published would let such a record through.
  DeviceTraits traits = context().traits();
  traits.test_hidden_chunks = 2;
  context().override_traits(traits);
  const std::vector<std::uint32_t> words(affordable(50'000), 3);
  const GuardedBuffer input(context(), bytes_of(words), 4);
  const ReduceShape shape{.item_count = Count::on_host(words.size() / 2 * 2), .input = ElementType::u32()};
  const std::uint32_t expected = static_cast<std::uint32_t>(shape.item_count.max) * 3;
  EXPECT_EQ(result_of<std::uint32_t>(shape, {.input = input.view()}), expected);

  GrowingBuffer& state = context().impl().states["reduce.arrivals"];
  ASSERT_GT(state.size_bytes, 0u);
  std::vector<std::uint32_t> image(state.size_bytes / 4, 0);
  image[1] = 0xffff - 4;
  for (std::uint32_t word = 8; word < image.size(); ++word) image[word] = (1 + word % 2) << 16 | 0x1234;
  const auto buffer = context().create_buffer(state.size_bytes, "arrivals");
  ASSERT_TRUE(buffer.has_value());
  ASSERT_TRUE(context().write(*buffer, std::as_bytes(std::span(image))).has_value());
  state.buffer = BufferHandle(*buffer);
  context().release_bindings();
  for (int repeat = 0; repeat < 10; ++repeat) {
    EXPECT_EQ(result_of<std::uint32_t>(shape, {.input = input.view()}), expected) << "run " << repeat;
  }
  const auto now = context().read(*buffer, 8);
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(items_of<std::uint32_t>(*now), (std::vector<std::uint32_t>{0, 6}));
}

/// Subgroups of sizes and numberings that no device at hand has.
class ReduceEmulatedGpu : public ReduceGpu {};
INSTANTIATE_TEST_SUITE_P(, ReduceEmulatedGpu, ::testing::Values(Profile::emulated), profile_name);

TEST_P(ReduceEmulatedGpu, EverySubgroupSizeAndNumberingGivesTheSameResults) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto words = random_items<std::uint32_t>(20'000, seed);
  const auto numbers = random_items<float>(20'000, seed);
  const auto wide = random_items<std::uint64_t>(20'000, seed);
  const GuardedBuffer input(context(), bytes_of(words), 4);
  for (const std::uint32_t size : {4u, 8u, 32u, 64u, 128u}) {
    for (const std::uint32_t numbering : {0u, 1u, 93u}) {
      SCOPED_TRACE(std::format("size {}, seed {}", size, numbering));
      DeviceTraits traits = context().traits();
      traits.emulated_subgroup_size = size;
      traits.emulated_subgroup_seed = numbering;
      context().override_traits(traits);
      std::vector<Job> jobs;
      std::vector<std::uint32_t> expected;
      for (const std::uint32_t count : {1u, 100u, 5000u, 20'000u}) {
        jobs.push_back({{.item_count = Count::on_host(count), .input = ElementType::u32()}, {.input = input.view()}});
        expected.push_back(std::accumulate(words.begin(), words.begin() + count, 0u));
      }
      EXPECT_EQ(results_of<std::uint32_t>(jobs), expected);
      if (numbering == 0) continue;
      EXPECT_EQ(
          reduce<std::uint32_t>(numbers, {.item_count = Count::on_host(20'000), .combine = BinaryOperator::argmax()}),
          reference::reduce_to_word<float>(OperatorKind::argmax, numbers));
      EXPECT_EQ(reduce<std::uint64_t>(wide, {.item_count = Count::on_host(20'000),
                                             .input = ElementType::u64(),
                                             .combine = BinaryOperator::product()}),
                reference::reduce_to_item<std::uint64_t>(OperatorKind::product, wide));
    }
  }
}

}  // namespace
}  // namespace upsweep::testing
