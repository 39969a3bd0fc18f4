// SPDX-License-Identifier: Apache-2.0
// Heat flows over a plate: explicit steps y = x + rate L x, each one product of a sparse matrix, recorded one after the
// other into one command buffer. The matrix is analysed and converted once.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <print>
#include <vector>

#include "own_device.h"
#include "upsweep/upsweep.h"

namespace {

constexpr std::uint32_t side = 256;
constexpr std::uint32_t n = side * side;
constexpr std::uint64_t bytes = 4ull * n;
constexpr int step_count = 50;
constexpr float rate = 0.2f;

int fail(const upsweep::Error& error) {
  std::println(stderr, "{}", error.message);
  return 1;
}

// What leaves a node goes to its neighbours, so each column adds up to 0 and no heat is lost.
void add_neighbours(std::vector<std::uint32_t>& rows, std::vector<std::uint32_t>& columns,
                    std::vector<double>& values) {
  const auto add = [&](std::uint32_t row, std::uint32_t column, double value) {
    rows.push_back(row);
    columns.push_back(column);
    values.push_back(value);
  };
  for (std::uint32_t node = 0; node < n; ++node) {
    const auto flow = [&](std::uint32_t neighbour) {
      add(node, neighbour, 1);
      add(node, node, -1);  // entries of one place are summed
    };
    if (node % side > 0) flow(node - 1);
    if (node % side < side - 1) flow(node + 1);
    if (node >= side) flow(node - side);
    if (node < n - side) flow(node + side);
  }
}

}  // namespace

int main() {
  const OwnDevice own;
  if (own.device == nullptr) return fail({upsweep::ErrorKind::device, "There is no WebGPU device."});
  auto adopted = upsweep::Context::adopt(own.device, {.instance = own.instance});
  if (!adopted) return fail(adopted.error());
  upsweep::Context& context = **adopted;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  add_neighbours(rows, columns, values);

  // Entries in any order; those of one place are summed.
  const upsweep::host::CooArrays entries{
      .row_count = n, .column_count = n, .rows = rows, .columns = columns, .values = values};
  const auto matrix = upsweep::SparseMatrix::create(context, entries);
  if (!matrix) return fail(matrix.error());
  std::println("{}: {}", to_string(matrix->shape()), matrix->analysis().reason);

  constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  const WGPUBuffer now = own.create_buffer(bytes, usage);
  const WGPUBuffer next = own.create_buffer(bytes, usage);
  std::vector<float> heat(n);
  heat[n / 2 + side / 2] = 1000;
  wgpuQueueWriteBuffer(own.queue, now, 0, heat.data(), bytes);

  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(own.device, nullptr);
  for (int step = 0; step < step_count; ++step) {
    wgpuCommandEncoderCopyBufferToBuffer(encoder, now, 0, next, 0, bytes);
    // next = rate L now + next
    const upsweep::Status recorded = matrix->record_product(encoder, now, next, rate, 1);
    if (!recorded) return fail(recorded.error());
    wgpuCommandEncoderCopyBufferToBuffer(encoder, next, 0, now, 0, bytes);
  }
  const WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(own.queue, 1, &commands);
  const auto result = context.read(now, bytes);
  if (!result) return fail(result.error());
  std::memcpy(heat.data(), result->data(), bytes);
  double total = 0;
  for (const float item : heat) total += item;
  std::println("after {} steps {:.3f} of 1000 are there, {:.3f} in the middle", step_count, total,
               heat[n / 2 + side / 2]);
  wgpuBufferRelease(now);
  wgpuBufferRelease(next);
  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  return std::abs(total - 1000) < 0.01 && heat[n / 2 + side / 2] < 100 ? 0 : 1;
}
