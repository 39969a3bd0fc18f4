// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/rates.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <format>
#include <numeric>
#include <vector>

#include "benchmarking/bench_plans.h"
#include "benchmarking/input.h"
#include "plan/grid.h"

namespace upsweep::bench {
namespace {

// From a few workgroups a core to one round a thread: which is best differs between devices.
std::vector<std::uint64_t> candidate_grids(std::uint64_t words, std::uint32_t units_per_thread,
                                           const DeviceTraits& traits) {
  const std::uint64_t whole = div_ceil(words / 4, std::uint64_t{bench_workgroup_size(traits)} * units_per_thread);
  if (traits.is_cpu) return {std::min<std::uint64_t>(64, whole), std::min<std::uint64_t>(1024, whole)};
  std::vector<std::uint64_t> grids{512, 1024, 2048, 4096, 8192, 16384};
  std::erase_if(grids, [&](std::uint64_t grid) { return grid >= whole; });
  grids.push_back(whole);
  return grids;
}

void keep_faster(Rate& best, const Timing& timing) {
  if (timing.ms.count == 0) return;
  if (best.timing.ms.count == 0 || timing.ms.median < best.timing.ms.median) best.timing = timing;
}

}  // namespace

Result<Rate> measure_copy(Context& context, Harness& harness, const RateBuffers& buffers) {
  const std::array arguments{Argument{"input", buffers.input}, Argument{"output", buffers.copy_to}};
  Rate best{.bytes = buffers.copy_words * 8, .timing = {}};
  for (const std::uint64_t grid : candidate_grids(buffers.copy_words, 1, context.traits())) {
    const auto plan = plan_copy(buffers.copy_words, grid, context.traits());
    if (!plan) return std::unexpected(plan.error());
    const auto timing =
        harness.time(Method::call, [&](WGPUComputePassEncoder pass) { return context.record(pass, *plan, arguments); });
    if (!timing) return std::unexpected(timing.error());
    keep_faster(best, *timing);
  }
  return best;
}

Result<Rate> measure_read(Context& context, Harness& harness, const RateBuffers& buffers) {
  const auto grids = candidate_grids(buffers.read_words, read_units_per_thread, context.traits());
  RunningReference expected = *RunningReference::create(BinaryOperator::sum(), ElementType::u32());
  expected.advance(buffers.read_words);
  Rate best{.bytes = buffers.read_words * 4, .timing = {}};
  for (const std::uint64_t grid : grids) {
    // The sums go where the copies went; a very large grid has no room there.
    if (grid > buffers.copy_words) continue;
    const std::array arguments{Argument{"input", buffers.input}, Argument{"output", buffers.copy_to}};
    const auto plan = plan_read(buffers.read_words, grid, context.traits());
    if (!plan) return std::unexpected(plan.error());
    const auto timing =
        harness.time(Method::call, [&](WGPUComputePassEncoder pass) { return context.record(pass, *plan, arguments); });
    if (!timing) return std::unexpected(timing.error());
    const auto bytes = context.read(buffers.copy_to, grid * 4);
    if (!bytes) return std::unexpected(bytes.error());
    std::vector<std::uint32_t> sums(grid);
    std::memcpy(sums.data(), bytes->data(), bytes->size());
    if (!expected.check(std::accumulate(sums.begin(), sums.end(), 0u)).correct) {
      return fail(ErrorKind::internal, std::format("The read kernel with {} workgroups gave a wrong sum.", grid));
    }
    keep_faster(best, *timing);
  }
  return best;
}

}  // namespace upsweep::bench
