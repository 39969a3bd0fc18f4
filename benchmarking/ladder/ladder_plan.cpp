// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <format>

#include "benchmarking/bench_plans.h"
#include "benchmarking/embedded_kernels.h"
#include "benchmarking/ladder/ladder.h"
#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"

namespace upsweep::bench {
namespace {

// Devices have been seen to run narrower subgroups than they report.
constexpr std::uint32_t narrowest_subgroup = 4;

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

bool loads_vectors(LadderStep step) { return step == LadderStep::vectors || step == LadderStep::subgroups; }

std::string_view kernel_name(LadderStep step) {
  switch (step) {
    case LadderStep::atomic: return "ladder_atomic";
    case LadderStep::tree_interleaved: return "ladder_tree_interleaved";
    case LadderStep::tree_sequential:
    case LadderStep::vectors: return "ladder_tree_sequential";
    case LadderStep::subgroups: return "ladder_subgroups";
  }
  return "?";
}

// Scratch can be bound read_write only; the caller's input is bound for reading, as it should be.
Result<std::shared_ptr<const Kernel>> fold_kernel(LadderStep step, const ElementType& type, bool reads_scratch,
                                                  std::uint32_t workgroup_size, const DeviceTraits& traits) {
  const std::string_view name = kernel_name(step);
  KernelBuilder builder{std::string(name)};
  const bool uses_subgroups = step == LadderStep::subgroups;
  const std::uint32_t slots = std::max(1u, workgroup_size / narrowest_subgroup);
  const std::uint32_t value_count = step == LadderStep::atomic ? 0 : uses_subgroups ? slots : workgroup_size;
  std::string_view entry = "entry.plain.wgsl";
  if (uses_subgroups) {
    builder.enable("subgroups").constant("SUBGROUP_SLOTS", slots);
    if (traits.subgroup_id_builtin) builder.require("subgroup_id");
    entry = traits.subgroup_id_builtin ? "entry.subgroup_id.wgsl" : "entry.subgroup_index.wgsl";
  }
  const std::uint32_t unit_items = loads_vectors(step) ? 4 : 1;
  builder.workgroup(workgroup_size, value_count * type.stride_bytes);
  builder.constant("TILE_ITEMS", workgroup_size * unit_items);
  builder.alias("Item", type.wgsl_type).alias("Unit", unit_items == 4 ? "vec4<Item>" : "Item");
  builder.part("thread.wgsl").part(entry).part("grid.wgsl");
  builder.generated("input binding", std::format("@group(0) @binding(1) var<storage, {}> input: array<Unit>;\n",
                                                 reads_scratch ? "read_write" : "read"));
  add_benchmark_part(builder, "ladder_params.wgsl");
  if (step != LadderStep::atomic) {
    add_benchmark_part(builder, unit_items == 4 ? "ladder_load.vectors.wgsl" : "ladder_load.items.wgsl");
  }
  add_benchmark_part(builder, std::string(name) + ".wgsl");
  return std::move(builder).build();
}

Result<Plan> plan_atomic(std::uint64_t item_count, const ElementType& type, const DeviceTraits& traits,
                         std::uint32_t workgroup_size) {
  KernelBuilder builder("ladder_clear");
  builder.workgroup(1, 0).part("thread.wgsl").part("entry.plain.wgsl");
  add_benchmark_part(builder, "ladder_clear.wgsl");
  const auto clear = std::move(builder).build();
  if (!clear) return std::unexpected(clear.error());
  const auto add = fold_kernel(LadderStep::atomic, type, false, workgroup_size, traits);
  if (!add) return std::unexpected(add.error());
  PlanBuilder plan("ladder_atomic", traits);
  const SlotId input = plan.argument("input", item_count * 4, 4);
  const SlotId output = plan.argument("output", 4, 4, true);
  plan.least_bytes(item_count * 4 + 4);
  plan.dispatch({.kernel = *clear,
                 .workgroup_count = 1,
                 .bindings = {{"output", output}},
                 .reason = "the sum begins at zero",
                 .bytes_written = 4});
  plan.dispatch({.kernel = *add,
                 .workgroup_count = div_ceil(item_count, workgroup_size),
                 .bindings = {{"input", input}, {"output", output}},
                 .params = {{"item_count", u32(item_count)}},
                 .reason = "one atomic addition an item",
                 .bytes_read = item_count * 4,
                 .bytes_written = 4});
  return std::move(plan).finish();
}

}  // namespace

std::string_view ladder_step_name(LadderStep step) {
  switch (step) {
    case LadderStep::atomic: return "atomic";
    case LadderStep::tree_interleaved: return "tree_interleaved";
    case LadderStep::tree_sequential: return "tree_sequential";
    case LadderStep::vectors: return "vectors";
    case LadderStep::subgroups: return "subgroups";
  }
  return "?";
}

std::string_view ladder_step_title(LadderStep step) {
  switch (step) {
    case LadderStep::atomic: return "one atomic per item";
    case LadderStep::tree_interleaved: return "tree, power-of-two stride";
    case LadderStep::tree_sequential: return "tree, conflict-free";
    case LadderStep::vectors: return "vec4 loads";
    case LadderStep::subgroups: return "subgroups, one barrier";
  }
  return "?";
}

Result<Plan> plan_ladder(LadderStep step, const ElementType& type, std::uint64_t item_count, const DeviceTraits& traits,
                         std::optional<std::uint32_t> wanted_workgroup_size) {
  const std::uint32_t workgroup_size = wanted_workgroup_size.value_or(bench_workgroup_size(traits));
  if (type != ElementType::u32() && type != ElementType::f32()) {
    return fail(ErrorKind::invalid_request, std::format("The ladder sums u32 and f32, not {}.", type.name));
  }
  if (item_count == 0 || item_count > traits.max_binding_bytes / 4) {
    return fail(ErrorKind::unsupported,
                std::format("The ladder takes 1 to {} items on this device (one binding), not {}.",
                            traits.max_binding_bytes / 4, item_count));
  }
  if (!std::has_single_bit(workgroup_size)) {
    return fail(ErrorKind::invalid_request,
                std::format("A workgroup of {} threads is no power of two.", workgroup_size));
  }
  if (step == LadderStep::atomic) {
    if (type != ElementType::u32()) return fail(ErrorKind::unsupported, "Atomics need u32.");
    return plan_atomic(item_count, type, traits, workgroup_size);
  }
  const bool numbers_subgroups = traits.subgroup_id_builtin || traits.subgroup_ids_follow_index;
  if (step == LadderStep::subgroups && !(traits.subgroups && numbers_subgroups)) {
    return fail(ErrorKind::unsupported, "The device has no subgroups.");
  }

  const std::uint64_t tile_items = std::uint64_t{workgroup_size} * (loads_vectors(step) ? 4 : 1);
  PlanBuilder plan(std::format("ladder_{}", ladder_step_name(step)), traits);
  SlotId from = plan.argument("input", align_up(item_count * 4, 16), 16);
  const SlotId output = plan.argument("output", 4, 4, true);
  plan.least_bytes(item_count * 4 + 4);
  std::uint64_t remaining = item_count;
  for (bool is_first = true; is_first || remaining > 1; is_first = false) {
    const std::uint64_t tile_count = div_ceil(remaining, tile_items);
    const SlotId to = tile_count == 1 ? output : plan.scratch("partials", tile_count * 4);
    const auto kernel = fold_kernel(step, type, !is_first, workgroup_size, traits);
    if (!kernel) return std::unexpected(kernel.error());
    plan.dispatch({.kernel = *kernel,
                   .workgroup_count = tile_count,
                   .bindings = {{"input", from}, {"output", to}},
                   .params = {{"item_count", u32(remaining)}},
                   .reason = std::format("{} items in tiles of {}", remaining, tile_items),
                   .bytes_read = remaining * 4,
                   .bytes_written = tile_count * 4});
    from = to;
    remaining = tile_count;
  }
  return std::move(plan).finish();
}

}  // namespace upsweep::bench
