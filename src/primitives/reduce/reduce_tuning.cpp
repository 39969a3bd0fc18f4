// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "plan/lowering.h"
#include "upsweep/reduce.h"

namespace upsweep {

std::string to_string(const ReduceTuning& tuning) {
  return std::format(
      "{} threads x {} {}{}{}, at most {} workgroups, chains of at most {} tiles, one workgroup up to {} items",
      tuning.workgroup_size, tuning.units_per_thread, tuning.use_vectors ? "vectors" : "items",
      tuning.use_subgroups ? "" : ", no subgroups", tuning.single_pass ? "" : ", no single pass", tuning.max_workgroups,
      tuning.longest_chain, tuning.one_workgroup_items);
}

ReduceTuning select_reduce_tuning(const ReduceShape& shape, const DeviceTraits& traits) {
  ReduceTuning tuning;
  const auto lowered = lower_operator(shape.combine, shape.value.value_or(shape.input), nullptr);
  const std::uint32_t accumulator_bytes = lowered ? std::max(1u, lowered->accumulator_bytes) : 4;
  // Large elements: fewer threads, so that one value a thread fits into workgroup memory.
  const std::uint32_t fitting = std::bit_floor(std::max(1u, traits.max_workgroup_bytes / accumulator_bytes));
  tuning.workgroup_size = std::min({tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size), fitting});
  // A dispatch costs a software device next to nothing, barriers and atomics much.
  tuning.single_pass = !traits.is_cpu;
  // 64 bytes in flight a thread: four vectors of four items, or up to eight items.
  const bool has_vectors = shape.input.components == 1 && shape.input.stride_bytes <= 4 && !shape.input.is_struct();
  tuning.units_per_thread = has_vectors ? 4 : std::clamp(64 / std::max(1u, shape.input.stride_bytes), 1u, 8u);
  // A tile of one item would fold nothing.
  if (tuning.workgroup_size == 1) tuning.units_per_thread = std::max(tuning.units_per_thread, 2u);
  return tuning;
}

}  // namespace upsweep
