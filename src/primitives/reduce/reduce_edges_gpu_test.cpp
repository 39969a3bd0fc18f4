// SPDX-License-Identifier: Apache-2.0
// Where the plan, the kernels and the caller's text meet: inputs that once went wrong.
#include <gmock/gmock.h>

#include <numeric>

#include "exec/handle.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

class ReduceEdges : public GpuTest {
 protected:
  std::uint32_t sum_of(const std::vector<std::uint32_t>& items, const ReduceShape& shape,
                       std::optional<ReduceTuning> tuning) {
    const GuardedBuffer input(context(), bytes_of(items), 0);
    const GuardedBuffer output(context(), bytes_of(std::vector<std::uint32_t>(1, 77)), 0);
    run([&](WGPUCommandEncoder encoder) {
      return record_reduce(context(), encoder, shape, {.input = input.view(), .output = output.view()}, tuning);
    });
    return items_of<std::uint32_t>(output.read_and_check_guards())[0];
  }
};
INSTANTIATE_TEST_SUITE_P(, ReduceEdges, ::testing::Values(Profile::full, Profile::no_subgroups), profile_name);

TEST_P(ReduceEdges, TheShortLastWindowKeepsAllItsItems) {
  DeviceTraits traits = context().traits();
  traits.max_binding_bytes = 512;
  context().override_traits(traits);
  for (const std::uint32_t count : {128u, 129u, 130u, 131u, 132u, 259u}) {
    std::vector<std::uint32_t> items(count);
    for (std::uint32_t i = 0; i < count; ++i) items[i] = 3 * i;
    const ReduceTuning tuning{
        .workgroup_size = 1, .units_per_thread = 2, .single_pass = false, .one_workgroup_items = 0};
    EXPECT_EQ(sum_of(items, {.item_count = Count::on_host(count), .input = ElementType::u32()}, tuning),
              std::accumulate(items.begin(), items.end(), 0u))
        << count;
  }
}

TEST_P(ReduceEdges, APlanForAlignedInputsRefusesASecondInputThatBeginsElsewhere) {
  const ReduceShape shape{.item_count = Count::on_host(4096),
                          .input = ElementType::f32(),
                          .second_input = ElementType::f32(),
                          .transform = Transform::of("x * y")};
  const auto plan = plan_reduce(shape, context().traits());
  ASSERT_TRUE(plan.has_value());
  const std::vector<float> items(4097, 1.0f);
  const GuardedBuffer first(context(), bytes_of(items), 0);
  const GuardedBuffer second(context(), bytes_of(items), 4);
  const GuardedBuffer output(context(), bytes_of(std::vector<float>(1)), 0);
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context().device(), nullptr));
  const Argument arguments[] = {{"input", first.view()}, {"second_input", second.view()}, {"output", output.view()}};
  const Status recorded = context().record(encoder.get(), *plan, arguments);
  ASSERT_FALSE(recorded.has_value());
  EXPECT_THAT(recorded.error().message, HasSubstr("modulo four items"));
}

TEST_P(ReduceEdges, AStructOfOurNameInACallersCommentIsNotRead) {
  const auto op = BinaryOperator::custom("plus",
                                         "/* struct ReduceParams {\n  chunk_items: u32,\n  row_length: u32,\n} */\n"
                                         "fn plus(a: u32, b: u32) -> u32 { return a + b; }\n",
                                         "0u", true);
  std::vector<std::uint32_t> items(10);
  std::iota(items.begin(), items.end(), 1u);
  EXPECT_EQ(sum_of(items, {.item_count = Count::on_host(10), .input = ElementType::u32(), .combine = op}, std::nullopt),
            55u);
}

TEST_P(ReduceEdges, AnOperatorNamedLikeAFunctionOfWgslIsRefused) {
  for (const char* name : {"min", "select", "atomicAdd", "subgroupAdd"}) {
    const auto op =
        BinaryOperator::custom(name, std::string("fn ") + name + "(a: u32, b: u32) -> u32 { return a + b; }", "0u");
    const auto plan =
        plan_reduce({.item_count = Count::on_host(10), .input = ElementType::u32(), .combine = op}, context().traits());
    ASSERT_FALSE(plan.has_value()) << name;
    EXPECT_EQ(plan.error().kind, ErrorKind::invalid_request);
    EXPECT_THAT(plan.error().message, HasSubstr(std::string("\"") + name + "\""));
  }
}

TEST_P(ReduceEdges, AMistakeInTheCallersTextIsTheCallers) {
  const auto op = BinaryOperator::custom("pick", "fn pick(a: u32, b: u32) -> u32 { return a +; }", "0u");
  const auto plan =
      plan_reduce({.item_count = Count::on_host(10), .input = ElementType::u32(), .combine = op}, context().traits());
  ASSERT_TRUE(plan.has_value());
  const Status prepared = context().prepare(*plan);
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error().kind, ErrorKind::invalid_request);
}

TEST_P(ReduceEdges, TypesOfNoSizeAreRefused) {
  for (const ElementType& type : {ElementType{}, ElementType::vec(Scalar::f32, 3), ElementType::vec(Scalar::f16, 1),
                                  ElementType::vec(Scalar::u32, 0)}) {
    const auto plan = plan_reduce({.item_count = Count::on_host(10), .input = type}, context().traits());
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().kind, ErrorKind::invalid_request);
  }
}

TEST_P(ReduceEdges, StructsOfThousandsOfBytesAreFolded) {
  constexpr std::uint32_t words = 3000;
  const auto type = ElementType::structure("Big", "struct Big { words: array<u32, 3000> }", 4 * words, 4 * words);
  ASSERT_TRUE(type.has_value());
  const auto op = BinaryOperator::custom(
      "plus", "fn plus(a: Big, b: Big) -> Big {\n  var sum = a;\n  sum.words[7] += b.words[7];\n  return sum;\n}\n",
      "Big()");
  const auto plan =
      plan_reduce({.item_count = Count::on_host(5), .input = *type, .combine = op}, DeviceTraits::webgpu_minimum());
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
}

TEST_P(ReduceEdges, ReadsAndWritesOutsideAViewAreRefused) {
  const std::vector<std::uint32_t> items(8, 1);
  const GuardedBuffer buffer(context(), bytes_of(items), 0, 0);
  EXPECT_FALSE(context().write(BufferView{}, bytes_of(items)).has_value());
  EXPECT_FALSE(context().read(BufferView{}, 4).has_value());
  EXPECT_FALSE(context().read(buffer.view(), ~std::uint64_t{0}).has_value());
  EXPECT_FALSE(context().read({buffer.buffer(), ~std::uint64_t{0} - 3}, 4).has_value());
  EXPECT_FALSE(context().read({buffer.buffer(), 0, 8}, 12).has_value());
  EXPECT_FALSE(context().write({buffer.buffer(), 0, 8}, bytes_of(items)).has_value());
  EXPECT_TRUE(context().read({buffer.buffer(), 0, 8}, 8).has_value());
}

}  // namespace
}  // namespace upsweep::testing
