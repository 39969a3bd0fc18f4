// SPDX-License-Identifier: Apache-2.0
#include "upsweep/host.h"

#include <algorithm>
#include <format>

#include "exec/context_impl.h"

namespace upsweep::host {
namespace {

Result<BufferHandle> upload(Context& context, std::span<const std::byte> bytes) {
  auto raw = context.create_buffer(std::max<std::size_t>(bytes.size(), 4), "input");
  if (!raw) return std::unexpected(raw.error());
  BufferHandle buffer(*raw);
  if (const Status ok = context.write(buffer.get(), bytes); !ok) return std::unexpected(ok.error());
  return buffer;
}

}  // namespace

Result<std::vector<std::byte>> reduce_bytes(Context& context, const ReduceShape& shape,
                                            std::span<const std::byte> input, std::span<const std::byte> second_input) {
  if (shape.item_count.read_on_device || shape.segments.count.read_on_device ||
      shape.segments.kind == Segmentation::Kind::offsets) {
    return fail(ErrorKind::invalid_request, "Host arrays go with counts known on the host and without offsets.");
  }
  const bool by_rows = shape.segments.kind == Segmentation::Kind::rows;
  const std::uint64_t items = by_rows ? shape.segments.count.max * shape.segments.row_length : shape.item_count.max;
  const auto check_size = [&](std::span<const std::byte> bytes, const ElementType& type) -> Status {
    if (bytes.size() == items * type.stride_bytes) return {};
    return fail(ErrorKind::invalid_request,
                std::format("{} bytes are not {} items of {}.", bytes.size(), items, type.name));
  };
  if (const Status ok = check_size(input, shape.input); !ok) return std::unexpected(ok.error());
  if (shape.second_input) {
    if (const Status ok = check_size(second_input, *shape.second_input); !ok) return std::unexpected(ok.error());
  }
  const auto plan = plan_reduce(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  const ArgumentSlot* result = plan->find_argument("output");
  if (result == nullptr) return std::vector<std::byte>{};  // no rows

  auto input_buffer = upload(context, input);
  auto second_buffer = upload(context, second_input);
  if (!input_buffer) return std::unexpected(input_buffer.error());
  if (!second_buffer) return std::unexpected(second_buffer.error());
  auto raw = context.create_buffer(result->size_bytes, "output");
  if (!raw) return std::unexpected(raw.error());
  const BufferHandle output(*raw);
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
  const Argument arguments[] = {
      {"input", input_buffer->get()}, {"second_input", second_buffer->get()}, {"output", output.get()}};
  if (const Status ok = context.record(encoder.get(), *plan, arguments); !ok) return std::unexpected(ok.error());
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context.queue(), 1, &list);
  auto result_bytes = context.read(output.get(), result->size_bytes);
  context.release_bindings();  // they would keep this call's buffers
  return result_bytes;
}

}  // namespace upsweep::host
