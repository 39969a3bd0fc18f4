// SPDX-License-Identifier: Apache-2.0
// A program with a device and an encoder of its own records a reduction between its other commands.
#include <cstdio>
#include <cstring>
#include <print>
#include <vector>

#include "own_device.h"
#include "upsweep/upsweep.h"

namespace {

int fail(const upsweep::Error& error) {
  std::println(stderr, "{}", error.message);
  return 1;
}

}  // namespace

int main() {
  const OwnDevice own;
  if (own.device == nullptr) return fail({upsweep::ErrorKind::device, "There is no WebGPU device."});
  std::vector<float> speeds(100'000);
  for (std::size_t i = 0; i < speeds.size(); ++i) speeds[i] = static_cast<float>(i * 7919 % speeds.size()) / 8;
  const std::uint64_t bytes = speeds.size() * sizeof(float);
  const WGPUBuffer staging = own.create_buffer(bytes, WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst);
  const WGPUBuffer items = own.create_buffer(bytes, WGPUBufferUsage_Storage | WGPUBufferUsage_CopyDst);
  const WGPUBuffer result = own.create_buffer(4, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc);
  wgpuQueueWriteBuffer(own.queue, staging, 0, speeds.data(), bytes);

  // README begins
  // Once: the instance lets the context wait, for its probe and for read() below.
  auto adopted = upsweep::Context::adopt(own.device, {.instance = own.instance});
  if (!adopted) return fail(adopted.error());
  upsweep::Context& context = **adopted;

  // Every frame: between commands of your own.
  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(own.device, nullptr);
  wgpuCommandEncoderCopyBufferToBuffer(encoder, staging, 0, items, 0, bytes);
  const upsweep::ReduceShape shape{.item_count = upsweep::Count::on_host(speeds.size()),
                                   .input = upsweep::ElementType::f32(),
                                   .combine = upsweep::BinaryOperator::max()};
  const upsweep::Status recorded = upsweep::record_reduce(context, encoder, shape, {.input = items, .output = result});
  if (!recorded) return fail(recorded.error());
  // README ends

  const WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(own.queue, 1, &commands);
  const auto read = context.read(result, 4);
  if (!read) return fail(read.error());
  float fastest = 0;
  std::memcpy(&fastest, read->data(), 4);
  const float expected = 99'999.0f / 8;
  std::println("the greatest of 100000 items: {}, expected {}", fastest, expected);

  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  adopted->reset();
  for (const WGPUBuffer buffer : {staging, items, result}) wgpuBufferRelease(buffer);
  return fastest == expected ? 0 : 1;
}
