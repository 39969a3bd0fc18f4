// SPDX-License-Identifier: Apache-2.0
// Many threads append to one array, each as much as it likes: every number's prime factors, one list after the other.
// A first kernel counts what each thread will write, an exclusive scan turns the counts into places, and a second
// kernel writes there. The scan's total is how much of the array is in use. All of it is one submission.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <print>
#include <span>
#include <vector>

#include "own_kernel.h"
#include "upsweep/upsweep.h"

namespace {

constexpr std::uint32_t number_count = 50'000;
constexpr std::uint64_t place_bytes = 4ull * number_count;
constexpr std::uint32_t capacity = 250'000;  // of the array of factors

constexpr const char* count_kernel = R"(
@group(0) @binding(0) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&sizes)) { return; }
  var size = 0u;
  var rest = id.x;
  for (var p = 2u; p * p <= rest; p++) {
    for (; rest % p == 0u; rest /= p) { size++; }
  }
  sizes[id.x] = size + select(0u, 1u, rest > 1u);
}
)";

constexpr const char* write_kernel = R"(
@group(0) @binding(0) var<storage, read> places: array<u32>;
@group(0) @binding(1) var<storage, read_write> factors: array<u32>;

fn append(place: u32, factor: u32) -> u32 {
  // An array that is too small loses what does not fit; the total tells.
  if (place < arrayLength(&factors)) { factors[place] = factor; }
  return place + 1u;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&places)) { return; }
  var place = places[id.x];
  var rest = id.x;
  for (var p = 2u; p * p <= rest; p++) {
    for (; rest % p == 0u; rest /= p) { place = append(place, p); }
  }
  if (rest > 1u) { place = append(place, rest); }
}
)";

int fail(const upsweep::Error& error) {
  std::println(stderr, "{}", error.message);
  return 1;
}

std::vector<std::uint32_t> words(std::span<const std::byte> bytes) {
  std::vector<std::uint32_t> result(bytes.size() / 4);
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace

int main() {
  const OwnDevice own;
  if (own.device == nullptr) return fail({upsweep::ErrorKind::device, "There is no WebGPU device."});
  auto adopted = upsweep::Context::adopt(own.device, {.instance = own.instance});
  if (!adopted) return fail(adopted.error());
  upsweep::Context& context = **adopted;
  constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc;
  const WGPUBuffer places = own.create_buffer(place_bytes, usage);  // sizes at first
  const WGPUBuffer factors = own.create_buffer(4ull * capacity, usage);
  const WGPUBuffer total = own.create_buffer(4, usage);
  const OwnKernel count(own, count_kernel, {places});
  const OwnKernel write(own, write_kernel, {places, factors});

  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(own.device, nullptr);
  const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  count.dispatch(pass, (number_count + 63) / 64);
  const upsweep::ScanShape shape{.item_count = upsweep::Count::on_host(number_count),
                                 .input = upsweep::ElementType::u32(),
                                 .combine = upsweep::BinaryOperator::sum(),
                                 .kind = upsweep::ScanKind::exclusive,
                                 .write_total = true};
  // Input and output are the same buffer: in place.
  const auto recorded = upsweep::record_scan(context, pass, shape, {.input = places, .output = places, .total = total});
  write.dispatch(pass, (number_count + 63) / 64);
  wgpuComputePassEncoderEnd(pass);
  if (!recorded) return fail(recorded.error());
  const WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(own.queue, 1, &commands);

  const auto total_bytes = context.read(total, 4);
  if (!total_bytes) return fail(total_bytes.error());
  const std::uint32_t used = words(*total_bytes)[0];
  const auto written_places = context.read(places, place_bytes);
  const auto written_factors = context.read(factors, 4ull * std::min(used, capacity));
  if (!written_places) return fail(written_places.error());
  if (!written_factors) return fail(written_factors.error());
  std::vector<std::uint32_t> ends = words(*written_places);
  const std::vector<std::uint32_t> found = words(*written_factors);
  ends.push_back(used);
  std::uint32_t right = 0;
  for (std::uint32_t number = 1; number < number_count; ++number) {
    std::uint32_t product = 1;
    for (std::uint32_t at = ends[number]; at < ends[number + 1] && at < found.size(); ++at) product *= found[at];
    right += product == number ? 1 : 0;
  }
  std::println("{} factors of {} numbers in an array of {}; {} products are right", used, number_count, capacity,
               right);

  wgpuCommandBufferRelease(commands);
  wgpuComputePassEncoderRelease(pass);
  wgpuCommandEncoderRelease(encoder);
  adopted->reset();
  for (const WGPUBuffer buffer : {places, factors, total}) wgpuBufferRelease(buffer);
  return used <= capacity && right == number_count - 1 ? 0 : 1;
}
