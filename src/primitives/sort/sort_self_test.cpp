// SPDX-License-Identifier: Apache-2.0
// The self-test of ranking in lock-step: whether atomic additions of a subgroup to one counter take effect in the order
// of its lanes, step after step. The kernel is that of one tile, whose ranking is the text that all sorts have; each
// number of equal digits in a subgroup comes up, and indices show their order.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "exec/context_impl.h"
#include "exec/self_test.h"
#include "upsweep/sort.h"

namespace upsweep {
namespace {

constexpr std::uint32_t item_count = 2039;  // not a multiple of a row

std::vector<std::uint32_t> keys_of_round(std::uint32_t round) {
  std::vector<std::uint32_t> keys(item_count);
  std::uint32_t state = round + 1;
  for (std::uint32_t& key : keys) {
    state = state * 1664525u + 1013904223u;
    // From all digits equal to all different: 1, 2, 4, ... values for each byte.
    const std::uint32_t mask = (1u << std::min(round, 8u)) - 1;
    key = (state >> 7) & (mask * 0x01010101u);
  }
  return keys;
}

SortShape tested_shape() { return {.item_count = Count::on_host(item_count), .write_indices = true}; }

SortTuning tested_tuning(const DeviceTraits& traits) {
  SortTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, traits.max_workgroup_size);
  tuning.lock_step = true;
  tuning.one_workgroup_items = 2048;
  return tuning;
}

Result<bool> try_round(Context& context, std::uint32_t round, const SortTuning& tuning, WGPUBuffer input,
                       WGPUBuffer output, WGPUBuffer indices) {
  const std::vector<std::uint32_t> keys = keys_of_round(round);
  if (const Status ok = context.write(input, std::as_bytes(std::span(keys))); !ok) return std::unexpected(ok.error());
  const SortBuffers buffers{.keys = input, .sorted_keys = output, .indices = indices};
  const auto order = words_after(
      context,
      [&](WGPUCommandEncoder encoder) { return record_sort(context, encoder, tested_shape(), buffers, tuning); },
      indices, item_count);
  if (!order) return std::unexpected(order.error());
  std::vector<std::uint32_t> wanted(item_count);
  std::ranges::iota(wanted, 0u);
  std::ranges::stable_sort(wanted, [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return *order == wanted;
}

}  // namespace

void begin_lock_step_test(Context& context) {
  const auto plan = plan_sort(tested_shape(), context.traits(), tested_tuning(context.traits()));
  if (plan) context.prepare_async(*plan, [](const Status&) {});
}

Status run_lock_step_test(Context& context) {
  Context::Impl& impl = context.impl();
  const SortTuning tuning = tested_tuning(impl.traits);
  const bool debug = std::exchange(impl.options.debug, false);
  BufferHandle input;
  BufferHandle output;
  BufferHandle indices;
  for (BufferHandle* buffer : {&input, &output, &indices}) {
    auto raw = context.create_buffer(std::uint64_t{item_count} * 4, "self-test");
    if (!raw) return std::unexpected(raw.error());
    *buffer = BufferHandle(*raw);
  }
  bool is_right = true;
  for (std::uint32_t round = 0; round < 12 && is_right; ++round) {
    const auto answer = try_round(context, round, tuning, input.get(), output.get(), indices.get());
    if (!answer) impl.probe.self_test_error = answer.error().message;
    is_right = answer.value_or(false);
  }
  context.release_bindings();
  impl.options.debug = debug;
  impl.traits.lock_step = is_right;
  impl.probe.lock_step = is_right;
  return {};
}

}  // namespace upsweep
