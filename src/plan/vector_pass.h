// SPDX-License-Identifier: Apache-2.0
// Kernels that walk over whole vectors of f32 and add up a few numbers on the way: the passes of iterative solvers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "plan/kernel_builder.h"
#include "upsweep/device_traits.h"
#include "upsweep/solver_tuning.h"

namespace upsweep {

// A fixed number of workgroups, each of which takes tiles of workgroup_size * items_per_thread items.
struct VectorPass {
  std::uint32_t workgroup_size = 256;  // a power of two
  std::uint32_t items_per_thread = 4;
  std::uint32_t max_workgroups = 528;
  bool use_subgroups = true;

  static VectorPass of(const SolverTuning& tuning) {
    return {.workgroup_size = tuning.workgroup_size,
            .items_per_thread = tuning.items_per_thread,
            .max_workgroups = tuning.max_workgroups,
            .use_subgroups = tuning.use_subgroups};
  }

  [[nodiscard]] std::uint32_t tile_items() const { return workgroup_size * items_per_thread; }
  [[nodiscard]] std::uint32_t group_count(std::uint64_t items) const;
  // Whether the numbers are such that kernels and positions work.
  [[nodiscard]] bool is_sound() const;
  // With a workgroup that the device has, and has the memory for.
  [[nodiscard]] VectorPass fitted(const DeviceTraits& traits) const;
};

// A kernel whose workgroups add up `components` numbers (1, 2 or 4): entry point, Accumulator, combine, identity,
// workgroup_reduce, TILE_ITEMS, grid.wgsl.
KernelBuilder start_vector_pass(std::string name, std::uint32_t components, const VectorPass& pass,
                                const DeviceTraits& traits);

// Two functions of the same lines: NAME_tile(first, ...) for the items of a thread in a whole tile, WORKGROUP_SIZE
// apart, and NAME_item(first, ...) for one. Each line is written once for every item, with '#' as the item's number,
// before the next line follows: loads come first, so that all are on their way together. i# is the item's index. With
// `returns_sum` the lines declare s#: Accumulator, whose sum is returned.
void add_item_functions(KernelBuilder& builder, std::string_view name, std::string_view more_parameters,
                        bool returns_sum, const VectorPass& pass, std::initializer_list<std::string_view> lines);

}  // namespace upsweep
