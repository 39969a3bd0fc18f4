// SPDX-License-Identifier: Apache-2.0
// Splats back to front, every frame anew. The camera moves; a kernel of the program's own computes how deep each splat
// lies in the picture and whether it is in front of the camera; a selection keeps the depths and the numbers of those
// in front and writes how many there are; a sort in place orders them, the farthest first. All of a frame is one
// encoder, and the count never leaves the GPU: `order` and `count` are ready for an indirect draw.
//
// usage: example_08_splat_depths [SPLATS [FRAMES]]
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <print>
#include <string_view>
#include <vector>

#include "own_kernel.h"
#include "upsweep/upsweep.h"

namespace {

constexpr std::uint32_t most_splats = 8'000'000;  // 16 bytes each in a binding of 128 MiB
constexpr std::uint32_t threads = 256;            // a workgroup of the kernel; 31250 of them at most

constexpr const char* depth_kernel = R"(
struct Camera { position: vec3f, near: f32, forward: vec3f, splat_count: u32 }
@group(0) @binding(0) var<uniform> camera: Camera;
@group(0) @binding(1) var<storage, read> positions: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> depths: array<f32>;
@group(0) @binding(3) var<storage, read_write> in_front: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= camera.splat_count) { return; }
  let depth = dot(positions[id.x].xyz - camera.position, camera.forward);
  depths[id.x] = depth;
  in_front[id.x] = select(0u, 1u, depth > camera.near);
}
)";

struct Camera {
  std::array<float, 3> position;
  float near_plane;
  std::array<float, 3> forward;
  std::uint32_t splat_count;
};

// On a circle around the splats, close enough to have some behind it; it looks at their middle.
Camera camera_at(double turn, std::uint32_t splat_count) {
  const double angle = 2 * std::numbers::pi * turn;
  const std::array at{1.5 * std::cos(angle), 0.5, 1.5 * std::sin(angle)};
  const double distance = std::hypot(at[0], at[1], at[2]);
  Camera camera{.position = {}, .near_plane = 0.1f, .forward = {}, .splat_count = splat_count};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    camera.position[axis] = static_cast<float>(at[axis]);
    camera.forward[axis] = static_cast<float>(-at[axis] / distance);
  }
  return camera;
}

// x, y, z from -2 to 2; w is not used.
std::vector<float> scattered_splats(std::uint32_t splat_count) {
  std::vector<float> positions(4ull * splat_count);
  std::uint32_t state = 12345;
  for (float& coordinate : positions) {
    state = state * 747796405u + 2891336453u;
    coordinate = static_cast<float>(state >> 8) * 0x1p-22f - 2;
  }
  return positions;
}

int fail(const upsweep::Error& error) {
  std::println(stderr, "{}", error.message);
  return 1;
}

template <typename T>
upsweep::Result<std::vector<T>> read(upsweep::Context& context, WGPUBuffer buffer, std::uint32_t count) {
  const auto bytes = context.read(buffer, std::uint64_t{count} * sizeof(T));
  if (!bytes) return std::unexpected(bytes.error());
  return upsweep::host::items_of<T>(*bytes);
}

struct Buffers {
  WGPUBuffer camera, positions, depths, in_front, kept_depths, order, count;
};

// All of a frame: depths, selection, sort.
upsweep::Status submit_frame(upsweep::Context& context, const OwnDevice& own, const OwnKernel& compute_depths,
                             const Buffers& buffers, std::uint32_t splat_count) {
  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(own.device, nullptr);
  const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  compute_depths.dispatch(pass, (splat_count + threads - 1) / threads);
  const upsweep::SelectShape selection{.item_count = upsweep::Count::on_host(splat_count),
                                       .input = upsweep::ElementType::f32(),
                                       .predicate = upsweep::Predicate::flagged(),
                                       .write_indices = true};
  upsweep::Status recorded = upsweep::record_select(context, pass, selection,
                                                    {.input = buffers.depths,
                                                     .output = buffers.kept_depths,
                                                     .count = buffers.count,
                                                     .indices = buffers.order,
                                                     .flags = buffers.in_front});
  const upsweep::SortShape sort{.item_count = upsweep::Count::on_device(splat_count),
                                .key = upsweep::ElementType::f32(),
                                .descending = true,
                                .value = upsweep::ElementType::u32()};
  // Input and output are the same views: the sort is in place.
  if (recorded) {
    recorded = upsweep::record_sort(context, pass, sort,
                                    {.keys = buffers.kept_depths,
                                     .values = buffers.order,
                                     .sorted_keys = buffers.kept_depths,
                                     .sorted_values = buffers.order,
                                     .item_count = buffers.count});
  }
  wgpuComputePassEncoderEnd(pass);
  const WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  if (recorded) wgpuQueueSubmit(own.queue, 1, &commands);
  wgpuCommandBufferRelease(commands);
  wgpuComputePassEncoderRelease(pass);
  wgpuCommandEncoderRelease(encoder);
  return recorded;
}

// Whether the last frame is what a loop of the host makes of it.
upsweep::Result<bool> is_right(upsweep::Context& context, const Buffers& buffers, const Camera& camera,
                               const std::vector<float>& positions) {
  const auto depths = read<float>(context, buffers.depths, camera.splat_count);
  const auto count = read<std::uint32_t>(context, buffers.count, 1);
  const auto kept_depths = read<float>(context, buffers.kept_depths, camera.splat_count);
  const auto order = read<std::uint32_t>(context, buffers.order, camera.splat_count);
  if (!depths) return std::unexpected(depths.error());
  if (!count) return std::unexpected(count.error());
  if (!kept_depths) return std::unexpected(kept_depths.error());
  if (!order) return std::unexpected(order.error());

  std::vector<std::uint32_t> expected;
  for (std::uint32_t splat = 0; splat < camera.splat_count; ++splat) {
    float depth = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      depth += (positions[4ull * splat + axis] - camera.position[axis]) * camera.forward[axis];
    }
    // The device may round otherwise.
    if (!(std::abs(depth - depths->at(splat)) < 1e-5f)) return false;
    if (depths->at(splat) > camera.near_plane) expected.push_back(splat);
  }
  if (count->at(0) != expected.size()) return false;
  std::ranges::stable_sort(expected, std::greater{}, [&](std::uint32_t splat) { return depths->at(splat); });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (order->at(i) != expected[i] || kept_depths->at(i) != depths->at(expected[i])) return false;
  }
  std::println("{} of {} splats are in front of the camera", expected.size(), camera.splat_count);
  return true;
}

bool parse(std::string_view text, std::uint32_t most, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= most;
}

}  // namespace

int main(int argc, char** argv) {
  const OwnDevice own;
  if (own.device == nullptr) return fail({upsweep::ErrorKind::device, "There is no WebGPU device."});
  auto adopted = upsweep::Context::adopt(own.device, {.instance = own.instance});
  if (!adopted) return fail(adopted.error());
  upsweep::Context& context = **adopted;
  std::uint32_t splat_count = context.traits().is_cpu ? 30'000 : 1'000'000;
  std::uint32_t frame_count = context.traits().is_cpu ? 5 : 100;
  if (argc > 3 || (argc > 1 && !parse(argv[1], most_splats, splat_count)) ||
      (argc > 2 && !parse(argv[2], 100'000, frame_count))) {
    std::println(stderr, "usage: example_08_splat_depths [SPLATS, at most {} [FRAMES]]", most_splats);
    return 2;
  }

  constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  const std::uint64_t word_bytes = 4ull * splat_count;
  const Buffers buffers{.camera = own.create_buffer(sizeof(Camera), WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst),
                        .positions = own.create_buffer(4 * word_bytes, usage),
                        .depths = own.create_buffer(word_bytes, usage),
                        .in_front = own.create_buffer(word_bytes, usage),
                        .kept_depths = own.create_buffer(word_bytes, usage),
                        .order = own.create_buffer(word_bytes, usage),
                        .count = own.create_buffer(4, usage)};
  const std::vector<float> positions = scattered_splats(splat_count);
  wgpuQueueWriteBuffer(own.queue, buffers.positions, 0, positions.data(), 4 * word_bytes);

  int exit_code = 0;
  {
    const OwnKernel compute_depths(own, depth_kernel,
                                   {buffers.camera, buffers.positions, buffers.depths, buffers.in_front});
    constexpr std::uint32_t warm_up = 2;  // pipelines are made in the first frame
    std::vector<double> milliseconds;
    Camera camera{};
    for (std::uint32_t frame = 0; frame < warm_up + frame_count; ++frame) {
      camera = camera_at(static_cast<double>(frame) / (warm_up + frame_count), splat_count);
      const auto start = std::chrono::steady_clock::now();
      wgpuQueueWriteBuffer(own.queue, buffers.camera, 0, &camera, sizeof(camera));
      const upsweep::Status submitted = submit_frame(context, own, compute_depths, buffers, splat_count);
      if (!submitted) return fail(submitted.error());
      if (const auto done = context.wait(); !done) return fail(done.error());  // only to take the time
      const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
      if (frame >= warm_up) milliseconds.push_back(passed.count());
    }

    const auto right = is_right(context, buffers, camera, positions);
    if (!right) return fail(right.error());
    std::ranges::sort(milliseconds);
    std::println(
        "{} frames: median {:.3f} ms, the middle half {:.3f} to {:.3f} ms, all {:.3f} to {:.3f} ms; the last is {}",
        frame_count, milliseconds[milliseconds.size() / 2], milliseconds[milliseconds.size() / 4],
        milliseconds[milliseconds.size() * 3 / 4], milliseconds.front(), milliseconds.back(),
        *right ? "right" : "WRONG");
    exit_code = *right ? 0 : 1;
  }
  adopted->reset();
  for (const WGPUBuffer buffer : {buffers.camera, buffers.positions, buffers.depths, buffers.in_front,
                                  buffers.kept_depths, buffers.order, buffers.count}) {
    wgpuBufferRelease(buffer);
  }
  return exit_code;
}
