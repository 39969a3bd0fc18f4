// SPDX-License-Identifier: Apache-2.0
// Checks of what a caller states about his types and operators; meant for debug builds of his program.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <format>

#include "exec/context_impl.h"
#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/lowering.h"
#include "plan/plan_builder.h"

namespace upsweep {
namespace {

Status submit(Context& context, const Plan& plan, std::span<const Argument> arguments) {
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
  if (const Status ok = context.record(encoder.get(), plan, arguments); !ok) return ok;
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context.queue(), 1, &list);
  return {};
}

Result<BufferHandle> new_buffer(Context& context, std::uint64_t bytes) {
  auto raw = context.create_buffer(bytes, "check");
  if (!raw) return std::unexpected(raw.error());
  return BufferHandle(*raw);
}

bool close(std::uint32_t a, std::uint32_t b, bool as_floats, double tolerance) {
  if (a == b) return true;
  if (!as_floats) return false;
  float x = 0;
  float y = 0;
  std::memcpy(&x, &a, 4);
  std::memcpy(&y, &b, 4);
  if (std::isnan(x) && std::isnan(y)) return true;
  return std::abs(double{x} - double{y}) <= tolerance * std::max(std::abs(double{x}), std::abs(double{y}));
}

}  // namespace

Status Context::check_element(const ElementType& type) {
  if (type.stride_bytes == 0) return fail(ErrorKind::invalid_request, "An element type of no size has no stride.");
  // So many items that a stride that is 4 bytes longer or shorter changes their number by one at least.
  const std::uint64_t bytes = std::uint64_t{std::max(256u, type.stride_bytes / 4)} * type.stride_bytes;
  KernelBuilder builder("check_element");
  if (type.scalar == Scalar::f16) builder.enable("f16");
  builder.workgroup(1, 0).alias("Element", type.wgsl_type);
  builder.caller_type(type);
  builder.part("thread.wgsl").part("entry.plain.wgsl").part("check_element.wgsl");
  auto kernel = std::move(builder).build();
  if (!kernel) return std::unexpected(kernel.error());
  PlanBuilder plan("check_element", traits());
  const SlotId items = plan.argument("items", align_up(bytes, 4), 4);
  const SlotId output = plan.argument("output", 4, 4);
  plan.dispatch({.kernel = *kernel,
                 .workgroup_count = 1,
                 .bindings = {{"items", items}, {"output", output}},
                 .params = {{"unused", 0}},
                 .reason = {}});
  auto finished = std::move(plan).finish();
  if (!finished) return std::unexpected(finished.error());
  auto item_buffer = new_buffer(*this, bytes);
  auto output_buffer = new_buffer(*this, 4);
  if (!item_buffer || !output_buffer) return fail(ErrorKind::device, "The device gave no buffers for a check.");
  const Argument arguments[] = {{"items", item_buffer->get()}, {"output", output_buffer->get()}};
  if (const Status ok = submit(*this, *finished, arguments); !ok) return ok;
  const auto read_back = read(output_buffer->get(), 4);
  if (!read_back) return std::unexpected(read_back.error());
  std::uint32_t fitting = 0;
  std::memcpy(&fitting, read_back->data(), 4);
  if (fitting == bytes / type.stride_bytes) return {};
  return fail(
      ErrorKind::invalid_request,
      std::format(
          "Element type {} is stated with a stride of {} bytes, but {} of them fit into {} bytes on the device (a "
          "stride of about {}).",
          type.name, type.stride_bytes, fitting, bytes, fitting == 0 ? bytes : bytes / fitting));
}

Status Context::check_operator(const BinaryOperator& op, const ElementType& type, std::span<const std::byte> samples,
                               double relative_tolerance) {
  constexpr std::uint64_t most_triples = 64;
  constexpr std::uint64_t results_a_triple = 7;
  if (type.stride_bytes == 0) return fail(ErrorKind::invalid_request, "An element type of no size has no operators.");
  const std::uint64_t triples = std::min<std::uint64_t>(most_triples, samples.size() / type.stride_bytes / 3);
  if (triples == 0) return fail(ErrorKind::invalid_request, "Checking an operator needs at least three sampled items.");
  const auto lowered = lower_operator(op, type, nullptr);
  if (!lowered) return std::unexpected(lowered.error());
  const StoredType stored = stored_type(type);
  KernelBuilder builder("check_operator");
  if (type.scalar == Scalar::f16) builder.enable("f16");
  builder.workgroup(most_triples, 0).alias("RawItem", stored.raw);
  add_operator(builder, op, type, *lowered);
  builder.generated("adapters", std::format("fn item_value(raw: RawItem) -> Value {{ return {}; }}\n", stored.load));
  builder.part("thread.wgsl").part("entry.plain.wgsl").part("check_operator.wgsl");
  auto kernel = std::move(builder).build();
  if (!kernel) return std::unexpected(kernel.error());

  const std::uint64_t sample_bytes = triples * 3 * type.stride_bytes;
  const std::uint64_t result_bytes = triples * results_a_triple * lowered->accumulator_bytes;
  PlanBuilder plan("check_operator", traits());
  const SlotId input = plan.argument("samples", sample_bytes, type.stride_bytes);
  const SlotId output = plan.argument("results", result_bytes, 4);
  plan.dispatch({.kernel = *kernel,
                 .workgroup_count = 1,
                 .bindings = {{"samples", input}, {"results", output}},
                 .params = {{"triple_count", static_cast<std::uint32_t>(triples)}},
                 .reason = {}});
  auto finished = std::move(plan).finish();
  if (!finished) return std::unexpected(finished.error());
  auto sample_buffer = new_buffer(*this, sample_bytes);
  auto result_buffer = new_buffer(*this, result_bytes);
  if (!sample_buffer || !result_buffer) return fail(ErrorKind::device, "The device gave no buffers for a check.");
  if (const Status ok = write(sample_buffer->get(), samples.first(sample_bytes)); !ok) return ok;
  const Argument arguments[] = {{"samples", sample_buffer->get()}, {"results", result_buffer->get()}};
  if (const Status ok = submit(*this, *finished, arguments); !ok) return ok;
  const auto bytes = read(result_buffer->get(), result_bytes);
  if (!bytes) return std::unexpected(bytes.error());

  // Structs may hold floats: their words are compared as floats, too, which is generous to large integers only.
  const bool as_floats = type.is_struct() || (type.is_float() && lowered->import_expression == "v");
  const std::uint64_t words = lowered->accumulator_bytes / 4;
  std::vector<std::uint32_t> values(bytes->size() / 4);
  std::memcpy(values.data(), bytes->data(), bytes->size());
  const auto same = [&](std::uint64_t first, std::uint64_t second) {
    for (std::uint64_t word = 0; word < (type.is_struct() ? type.size_bytes / 4 : words); ++word) {
      if (!close(values[first * words + word], values[second * words + word], as_floats, relative_tolerance))
        return false;
    }
    return true;
  };
  for (std::uint64_t triple = 0; triple < triples; ++triple) {
    const std::uint64_t base = triple * results_a_triple;
    if (!same(base, base + 1)) {
      return fail(ErrorKind::invalid_request,
                  std::format("Operator {} is not associative: (a b) c differs from a (b c) for samples {} to {}.",
                              to_string(op), triple * 3, triple * 3 + 2));
    }
    if (!same(base + 2, base + 3) || !same(base + 2, base + 4)) {
      return fail(ErrorKind::invalid_request,
                  std::format("Operator {}: its identity changes sample {}.", to_string(op), triple * 3));
    }
    if (lowered->commutative && !same(base + 5, base + 6)) {
      return fail(ErrorKind::invalid_request,
                  std::format("Operator {} is stated to commute, but a b differs from b a for samples {} and {}.",
                              to_string(op), triple * 3, triple * 3 + 1));
    }
  }
  return {};
}

}  // namespace upsweep
