// SPDX-License-Identifier: Apache-2.0
#include "array_run.h"

#include <algorithm>
#include <cstring>
#include <format>

namespace upsweep::cli {
namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t{64} << 20;

}  // namespace

Outcome check_item_count(const npy::Array& array) {
  constexpr std::uint64_t most_items = 0xfffffffe;
  if (array.item_count() <= most_items) return {};
  return refuse(std::format("{}: {} items are more than the device can count ({})", array.name(), array.item_count(),
                            most_items));
}

std::unexpected<Failure> plan_failed(const Error& error, const npy::Array& array) {
  if (error.kind != ErrorKind::unsupported) return failed(error);
  // What follows names the passes of the plan.
  return refuse(std::format("{}: {}", array.name(), single_line(error.message.substr(0, error.message.find('\n')))));
}

Expected<ArrayRun> ArrayRun::create(Context& context, Plan plan, const std::string& name) {
  ArrayRun run(context, std::move(plan));
  const std::uint64_t most = context.traits().max_buffer_bytes;
  for (const ArgumentSlot& slot : run.plan_.arguments) {
    if (slot.size_bytes > most) {
      return refuse(std::format("{}: the {} would take {} bytes on the device, whose buffers have {} at most", name,
                                slot.name, slot.size_bytes, most));
    }
    auto buffer = context.create_buffer(slot.size_bytes, slot.name);
    if (!buffer) return failed(buffer.error());
    run.buffers_.emplace_back(*buffer);
  }
  return run;
}

WGPUBuffer ArrayRun::find(std::string_view argument) const {
  const auto slot = std::ranges::find(plan_.arguments, argument, &ArgumentSlot::name);
  if (slot == plan_.arguments.end()) return nullptr;
  return buffers_.at(static_cast<std::size_t>(slot - plan_.arguments.begin())).get();
}

Outcome ArrayRun::upload(std::string_view argument, const Items& items, Progress& progress) {
  const auto give = [&items](std::uint64_t first, std::uint64_t count, std::vector<std::byte>& scratch) {
    return items.window(first, count, scratch);
  };
  return upload(argument, items.type().size_bytes, items.array().item_count(), give, progress);
}

Outcome ArrayRun::upload(std::string_view argument, std::uint64_t item_bytes, std::uint64_t item_count,
                         const GiveBytes& give, Progress& progress) {
  WGPUBuffer buffer = find(argument);
  if (buffer == nullptr) return {};
  const std::uint64_t piece_items = std::max(piece_bytes / item_bytes, std::uint64_t{1});
  std::vector<std::byte> scratch;
  for (std::uint64_t first = 0; first < item_count; first += piece_items) {
    const std::uint64_t count = std::min(piece_items, item_count - first);
    const auto bytes = give(first, count, scratch);
    if (!bytes) return std::unexpected(bytes.error());
    const BufferView view(buffer, first * item_bytes);
    if (const Status ok = context_->write(view, *bytes); !ok) return failed(ok.error());
    progress.advance(bytes->size());
    // Two pieces at most wait in the queue's staging memory.
    if (first / piece_items % 2 == 1) {
      if (const Status ok = context_->wait(); !ok) return failed(ok.error());
    }
  }
  return {};
}

Status ArrayRun::run() {
  std::vector<Argument> arguments;
  arguments.reserve(buffers_.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    arguments.push_back({plan_.arguments[i].name, buffers_[i].get()});
  }
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context_->device(), nullptr);
  Status status = context_->record(encoder, plan_, arguments);
  WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuCommandEncoderRelease(encoder);
  if (status) wgpuQueueSubmit(context_->queue(), 1, &commands);
  wgpuCommandBufferRelease(commands);
  if (!status) return status;
  if (auto error = context_->take_error()) return std::unexpected(std::move(*error));
  return {};
}

Outcome ArrayRun::read(std::string_view argument, std::uint64_t size_bytes, const TakeBytes& take) {
  WGPUBuffer buffer = find(argument);
  for (std::uint64_t first = 0; first < size_bytes; first += piece_bytes) {
    const auto bytes = context_->read(BufferView(buffer, first), std::min(piece_bytes, size_bytes - first));
    if (!bytes) return failed(bytes.error());
    if (const auto ok = check_device(*context_); !ok) return ok;
    if (const auto ok = take(*bytes); !ok) return ok;
  }
  return {};
}

Expected<std::uint64_t> ArrayRun::read_count() {
  std::uint32_t count = 0;
  const auto take = [&count](std::span<const std::byte> bytes) -> Outcome {
    std::memcpy(&count, bytes.data(), sizeof(count));
    return {};
  };
  if (const auto ok = read("count", sizeof(count), take); !ok) return std::unexpected(ok.error());
  return count;
}

}  // namespace upsweep::cli
