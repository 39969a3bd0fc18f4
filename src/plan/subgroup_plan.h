// SPDX-License-Identifier: Apache-2.0
// What planners know of subgroups: whether kernels may number them, how kernels begin, and which variant a workgroup
// fold may use.
#pragma once

#include <string>

#include "plan/kernel_builder.h"
#include "plan/lowering.h"
#include "upsweep/device_traits.h"

namespace upsweep {

enum class FoldPath : std::uint8_t { tree, ordered, subgroup_builtin, subgroup_shuffle, subgroup_emulated };

inline bool uses_subgroups(FoldPath path) { return path != FoldPath::tree && path != FoldPath::ordered; }

// Do kernels learn a number for each subgroup, by WGSL's builtin or by the thread's index?
bool has_numbered_subgroups(const DeviceTraits& traits);
// Are all subgroups of such a workgroup whole? A shuffle from a lane that does not exist is undefined.
bool has_whole_subgroups(const DeviceTraits& traits, std::uint32_t workgroup_size);
// The size that all subgroups have; 0 where they may differ.
std::uint32_t known_subgroup_size(const DeviceTraits& traits);

// How a kernel is told of its threads: without subgroups, with the device's, or with emulated ones.
enum class Entry : std::uint8_t { plain, subgroups, emulated };
// Adds the directives, constants and parts of the entry point, which calls run().
void add_entry(KernelBuilder& builder, Entry entry, const DeviceTraits& traits);

// Values that arrays with one for each subgroup of a workgroup need, whatever the subgroups' size.
std::uint32_t subgroup_slots(std::uint32_t workgroup_size);

// The fastest path that is right for the operator on the device, for a workgroup of `workgroup_size` threads.
FoldPath choose_fold_path(const LoweredOperator& op, const DeviceTraits& traits, std::uint32_t workgroup_size,
                          bool may_use_subgroups);

// "subgroupAdd", "workgroup memory", ... for explain.
std::string to_string(FoldPath path, const LoweredOperator& op);

// Adds the entry point and workgroup_reduce() with what they need. Call before the kernel's own parts: directives
// come first. Sets the workgroup size and the workgroup memory.
void add_fold(KernelBuilder& builder, FoldPath path, const LoweredOperator& op, const DeviceTraits& traits,
              std::uint32_t workgroup_size);

// Roundings on the longest way through workgroup_reduce().
std::uint32_t fold_depth(FoldPath path, const DeviceTraits& traits, std::uint32_t workgroup_size);

}  // namespace upsweep
