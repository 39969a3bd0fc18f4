// SPDX-License-Identifier: Apache-2.0
// The optimisation ladder of a sum: how each technique of the textbooks does on a device. Slower than the library by
// design; right all the same, and tested.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep::bench {

enum class ReduceStep : std::uint8_t {
  atomic,            ///< One atomic addition an item.
  tree_interleaved,  ///< Tree in workgroup memory, neighbours first: strides that are powers of two.
  tree_sequential,   ///< Tree in workgroup memory, stride from half the size down: free of bank conflicts.
  vectors,           ///< The same with 16-byte loads.
  subgroups,         ///< 16-byte loads, then subgroup operations and one barrier.
};
constexpr std::array reduce_steps{ReduceStep::atomic, ReduceStep::tree_interleaved, ReduceStep::tree_sequential,
                                  ReduceStep::vectors, ReduceStep::subgroups};

// "tree_interleaved", for JSON.
std::string_view step_name(ReduceStep step);
// "tree, power-of-two stride", for tables.
std::string_view step_title(ReduceStep step);

// Sums `item_count` items (at least one) of u32 or f32 in argument `input` into `output`, in as many passes as it
// takes. `input` needs whole 16-byte units: up to three more words than items, whose values do not matter. Views must
// begin at multiples of 256 bytes. `workgroup_size` is a power of two; the default is 256, or what the device has.
Result<Plan> plan_reduce_step(ReduceStep step, const ElementType& type, std::uint64_t item_count,
                              const DeviceTraits& traits, std::optional<std::uint32_t> workgroup_size = std::nullopt);

// The kernel of one pass, which writes the sum of each tile to `output`. Not for the atomic step.
Result<std::shared_ptr<const Kernel>> reduce_step_kernel(ReduceStep step, const ElementType& type, bool reads_scratch,
                                                         std::uint32_t workgroup_size, const DeviceTraits& traits);

}  // namespace upsweep::bench
