// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/product_speed.h"

#include "benchmarking/harness.h"
#include "benchmarking/rates.h"
#include "exec/host_buffers.h"

namespace upsweep::bench {

Result<ProductSpeed> measure_product(Context& context, const SparseMatrix& matrix, std::uint32_t samples) {
  const SparseShape& shape = matrix.shape();
  const std::uint64_t copy_words = context.traits().is_cpu ? std::uint64_t{1} << 20 : std::uint64_t{1} << 24;
  host::HostBuffers buffers(context);
  const BufferView x = buffers.make(shape.column_count * std::uint64_t{4}, "x");
  const BufferView y = buffers.make(shape.row_count * std::uint64_t{4}, "y");
  const BufferView from = buffers.make(copy_words * 4, "copy from");
  const BufferView to = buffers.make(copy_words * 4, "copy to");
  if (!buffers.status()) return std::unexpected(buffers.status().error());
  const auto harness =
      Harness::create(context, {.samples = samples, .copy_from = from, .copy_to = to, .copy_words = copy_words});
  if (!harness) return std::unexpected(harness.error());
  const auto copy = measure_copy(context, **harness, {.input = from, .copy_to = to, .copy_words = copy_words});
  if (!copy) return std::unexpected(copy.error());
  const auto timing = (*harness)->time(Method::amortised,
                                       [&](WGPUComputePassEncoder pass) { return matrix.record_product(pass, x, y); });
  if (!timing) return std::unexpected(timing.error());
  const auto plan = plan_spmv({.matrix = shape}, context.traits());
  if (!plan) return std::unexpected(plan.error());
  ProductSpeed speed{.seconds = timing->ms.median / 1000, .copy_bytes_per_second = copy->gb_per_second() * 1e9};
  if (speed.seconds > 0) speed.bytes_per_second = static_cast<double>(plan->least_bytes) / speed.seconds;
  return speed;
}

}  // namespace upsweep::bench
