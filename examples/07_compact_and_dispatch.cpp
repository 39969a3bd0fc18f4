// SPDX-License-Identifier: Apache-2.0
// Work for the few items that need it: a selection lists the particles below the floor and writes how many workgroups
// the next kernel takes; that kernel is dispatched indirectly and lifts just those. The host waits for nothing in
// between and learns how many there were only at the end, for the check.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <print>
#include <span>
#include <vector>

#include "own_kernel.h"
#include "upsweep/upsweep.h"

namespace {

constexpr std::uint32_t particle_count = 200'000;
constexpr std::uint64_t particle_bytes = 4ull * particle_count;
constexpr std::uint32_t threads = 64;  // a workgroup of the kernel

// One thread for each index. A selection of more than 65535 workgroups would be dispatched as a plane or a cube;
// src/wgsl/grid.wgsl has the number of a workgroup in those.
constexpr const char* lift_kernel = R"(
@group(0) @binding(0) var<storage, read> count: u32;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read_write> heights: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < count) { heights[indices[id.x]] += 1000.0; }
}
)";

float height_of(std::uint32_t particle) { return static_cast<float>(particle * 7919u % 10'007u) - 1000; }

int fail(const upsweep::Error& error) {
  std::println(stderr, "{}", error.message);
  return 1;
}

}  // namespace

int main() {
  const OwnDevice own;
  if (own.device == nullptr) return fail({upsweep::ErrorKind::device, "There is no WebGPU device."});
  auto adopted = upsweep::Context::adopt(own.device, {.instance = own.instance});
  if (!adopted) return fail(adopted.error());
  upsweep::Context& context = **adopted;
  constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  const WGPUBuffer heights = own.create_buffer(particle_bytes, usage);
  const WGPUBuffer indices = own.create_buffer(particle_bytes, usage);
  const WGPUBuffer count = own.create_buffer(4, usage);
  const WGPUBuffer grid = own.create_buffer(12, usage | WGPUBufferUsage_Indirect);
  std::vector<float> expected(particle_count);
  for (std::uint32_t i = 0; i < particle_count; ++i) expected[i] = height_of(i);
  wgpuQueueWriteBuffer(own.queue, heights, 0, expected.data(), particle_bytes);
  const OwnKernel lift(own, lift_kernel, {count, indices, heights});

  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(own.device, nullptr);
  const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  const upsweep::SelectShape shape{.item_count = upsweep::Count::on_host(particle_count),
                                   .input = upsweep::ElementType::f32(),
                                   .predicate = upsweep::Predicate::of("x < 0.0"),
                                   .write_items = false,
                                   .write_indices = true,
                                   .dispatch_threads = threads};
  const auto recorded = upsweep::record_select(
      context, pass, shape, {.input = heights, .count = count, .indices = indices, .dispatch_arguments = grid});
  lift.dispatch_indirect(pass, grid);
  wgpuComputePassEncoderEnd(pass);
  if (!recorded) return fail(recorded.error());
  const WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(own.queue, 1, &commands);

  const auto count_bytes = context.read(count, 4);
  const auto height_bytes = context.read(heights, particle_bytes);
  if (!count_bytes) return fail(count_bytes.error());
  if (!height_bytes) return fail(height_bytes.error());
  std::uint32_t lifted = 0;
  std::memcpy(&lifted, count_bytes->data(), 4);
  std::uint32_t below = 0;
  for (float& height : expected) {
    if (height >= 0) continue;
    height += 1000;
    ++below;
  }
  std::vector<float> found(particle_count);
  std::memcpy(found.data(), height_bytes->data(), particle_bytes);
  const bool is_right = found == expected;
  std::println("{} of {} particles were lifted, expected {}; heights are {}", lifted, particle_count, below,
               is_right ? "right" : "WRONG");

  wgpuCommandBufferRelease(commands);
  wgpuComputePassEncoderRelease(pass);
  wgpuCommandEncoderRelease(encoder);
  adopted->reset();
  for (const WGPUBuffer buffer : {heights, indices, count, grid}) wgpuBufferRelease(buffer);
  return lifted == below && is_right ? 0 : 1;
}
