// SPDX-License-Identifier: Apache-2.0
// A count that only the device knows: one reduction counts the items below a limit in a sorted array, the next sums so
// many of them. Both are in one compute pass; the host learns the count only at the end, for the check.
#include <webgpu/webgpu.h>

#include <cstdio>
#include <cstring>
#include <print>
#include <vector>

#include "upsweep/upsweep.h"

namespace {

int fail(const upsweep::Error& error) {
  std::println(stderr, "{}", error.message);
  return 1;
}

}  // namespace

int main() {
  auto created = upsweep::Context::create();
  if (!created) return fail(created.error());
  upsweep::Context& context = **created;
  std::vector<std::uint32_t> sorted(100'000);
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<std::uint32_t>(3 * i);
  const auto items = context.create_buffer(4 * sorted.size());
  const auto results = context.create_buffer(512);
  if (!items || !results) return 1;
  if (const auto ok = context.write(*items, std::as_bytes(std::span(sorted))); !ok) return fail(ok.error());
  const upsweep::BufferView count{*results, 0, 4};
  const upsweep::BufferView sum{*results, 256, 4};

  const upsweep::ReduceShape count_small{.item_count = upsweep::Count::on_host(sorted.size()),
                                         .input = upsweep::ElementType::u32(),
                                         .transform = upsweep::Transform::of("select(0u, 1u, x < 100000u)"),
                                         .combine = upsweep::BinaryOperator::sum()};
  const upsweep::ReduceShape sum_first{.item_count = upsweep::Count::on_device(sorted.size()),
                                       .input = upsweep::ElementType::u32(),
                                       .combine = upsweep::BinaryOperator::sum()};
  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context.device(), nullptr);
  const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  auto ok = upsweep::record_reduce(context, pass, count_small, {.input = *items, .output = count});
  if (ok) ok = upsweep::record_reduce(context, pass, sum_first, {.input = *items, .output = sum, .item_count = count});
  wgpuComputePassEncoderEnd(pass);
  if (!ok) return fail(ok.error());
  const WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(context.queue(), 1, &commands);

  const auto read = context.read(*results, 260);
  if (!read) return fail(read.error());
  std::uint32_t found[2] = {};
  std::memcpy(&found[0], read->data(), 4);
  std::memcpy(&found[1], read->data() + 256, 4);
  const std::uint32_t expected = 3u * (33'334u * 33'333u / 2);
  std::println("{} items below 100000 (expected 33334), their sum {} (expected {})", found[0], found[1], expected);
  wgpuCommandBufferRelease(commands);
  wgpuComputePassEncoderRelease(pass);
  wgpuCommandEncoderRelease(encoder);
  for (const WGPUBuffer buffer : {*items, *results}) wgpuBufferRelease(buffer);
  return found[0] == 33'334 && found[1] == expected ? 0 : 1;
}
