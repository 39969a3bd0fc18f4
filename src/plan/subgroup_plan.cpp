// SPDX-License-Identifier: Apache-2.0
#include "plan/subgroup_plan.h"

#include <algorithm>
#include <bit>
#include <format>

namespace upsweep {
namespace {

// Devices have been seen to run narrower subgroups than they report, so arrays are sized for the narrowest there is.
constexpr std::uint32_t narrowest_subgroup = 4;

}  // namespace

bool has_numbered_subgroups(const DeviceTraits& traits) {
  return traits.subgroups && (traits.subgroup_id_builtin || traits.subgroup_ids_follow_index);
}

bool has_whole_subgroups(const DeviceTraits& traits, std::uint32_t workgroup_size) {
  return traits.subgroup_max_size != 0 && workgroup_size % traits.subgroup_max_size == 0;
}

std::uint32_t known_subgroup_size(const DeviceTraits& traits) {
  return traits.subgroup_min_size == traits.subgroup_max_size ? traits.subgroup_max_size : 0;
}

void add_entry(KernelBuilder& builder, Entry entry, const DeviceTraits& traits) {
  builder.part("thread.wgsl");
  switch (entry) {
    case Entry::plain: builder.part("entry.plain.wgsl"); return;
    case Entry::subgroups:
      builder.enable("subgroups");
      if (traits.subgroup_id_builtin) builder.require("subgroup_id");
      builder.constant("WIDEST_SUBGROUP", traits.subgroup_max_size);
      builder.part(traits.subgroup_id_builtin ? "entry.subgroup_id.wgsl" : "entry.subgroup_index.wgsl");
      return;
    case Entry::emulated:
      builder.constant("EMULATED_SIZE", traits.emulated_subgroup_size);
      builder.constant("EMULATED_SEED", traits.emulated_subgroup_seed);
      builder.part("entry.emulated.wgsl");
  }
}

std::uint32_t subgroup_slots(std::uint32_t workgroup_size) { return std::max(1u, workgroup_size / narrowest_subgroup); }

FoldPath choose_fold_path(const LoweredOperator& op, const DeviceTraits& traits, std::uint32_t workgroup_size,
                          bool may_use_subgroups) {
  if (!op.commutative) return FoldPath::ordered;
  if (!may_use_subgroups) return FoldPath::tree;
  if (traits.emulated_subgroup_size != 0) {
    const std::uint64_t bytes = std::uint64_t{workgroup_size + subgroup_slots(workgroup_size)} * op.accumulator_bytes;
    const bool fits = traits.emulated_subgroup_size <= workgroup_size && bytes <= traits.max_workgroup_bytes;
    return fits ? FoldPath::subgroup_emulated : FoldPath::tree;
  }
  if (!has_numbered_subgroups(traits)) return FoldPath::tree;
  if (!op.subgroup_builtin.empty()) return FoldPath::subgroup_builtin;
  return op.may_shuffle && has_whole_subgroups(traits, workgroup_size) ? FoldPath::subgroup_shuffle : FoldPath::tree;
}

std::string to_string(FoldPath path, const LoweredOperator& op) {
  switch (path) {
    case FoldPath::tree: return "tree in workgroup memory";
    case FoldPath::ordered: return "tree in item order in workgroup memory";
    case FoldPath::subgroup_builtin: return op.subgroup_builtin + ", then across subgroups";
    case FoldPath::subgroup_shuffle: return "subgroup shuffles, then across subgroups";
    case FoldPath::subgroup_emulated: return "emulated subgroups";
  }
  return "?";
}

void add_fold(KernelBuilder& builder, FoldPath path, const LoweredOperator& op, const DeviceTraits& traits,
              std::uint32_t workgroup_size) {
  const std::uint32_t slots = subgroup_slots(workgroup_size);
  std::uint32_t values = workgroup_size;
  if (path == FoldPath::subgroup_emulated) {
    values += slots;
  } else if (uses_subgroups(path)) {
    values = slots;
  }
  builder.workgroup(workgroup_size, values * op.accumulator_bytes);
  add_entry(builder,
            !uses_subgroups(path)                 ? Entry::plain
            : path == FoldPath::subgroup_emulated ? Entry::emulated
                                                  : Entry::subgroups,
            traits);
  switch (path) {
    case FoldPath::tree:
    case FoldPath::ordered:
      builder.part(path == FoldPath::tree ? "workgroup_reduce.tree.wgsl" : "workgroup_reduce.ordered.wgsl");
      return;
    case FoldPath::subgroup_emulated: builder.part("subgroup_fold.emulated.wgsl"); break;
    case FoldPath::subgroup_builtin:
      builder.generated(
          "adapters",
          std::format(
              "fn subgroup_fold(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {{ return "
              "{}(value); }}\n",
              op.subgroup_builtin));
      break;
    case FoldPath::subgroup_shuffle: builder.part("subgroup_fold.shuffle.wgsl"); break;
  }
  builder.constant("SUBGROUP_SLOTS", slots);
  builder.part("workgroup_reduce.subgroup.wgsl");
}

std::uint32_t fold_depth(FoldPath path, const DeviceTraits& traits, std::uint32_t workgroup_size) {
  const auto log2 = [](std::uint32_t n) { return static_cast<std::uint32_t>(std::bit_width(n) - 1); };
  if (!uses_subgroups(path)) return log2(workgroup_size);
  const std::uint32_t size = path == FoldPath::subgroup_emulated
                                 ? traits.emulated_subgroup_size
                                 : std::max(traits.subgroup_min_size, narrowest_subgroup);
  // As workgroup_reduce.subgroup.wgsl: rounds of subgroups until eight values are left, then a tree of those.
  std::uint32_t depth = log2(size) + 3;
  for (std::uint32_t count = workgroup_size / size; count > 8; count = (count + size - 1) / size) depth += log2(size);
  return depth;
}

}  // namespace upsweep
