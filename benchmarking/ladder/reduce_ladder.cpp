// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/reduce_ladder.h"

#include <format>

#include "benchmarking/bench_plans.h"
#include "benchmarking/ladder/ladder_kernels.h"
#include "plan/grid.h"
#include "plan/narrow.h"
#include "plan/plan_builder.h"

namespace upsweep::bench {
namespace {

LadderUnit unit_of(ReduceStep step) {
  return step == ReduceStep::vectors || step == ReduceStep::subgroups ? LadderUnit::vectors : LadderUnit::items;
}

Result<Plan> plan_atomic(std::uint64_t item_count, const ElementType& type, const DeviceTraits& traits,
                         std::uint32_t workgroup_size) {
  const auto clear = build_ladder_kernel({.name = "ladder_reduce_clear", .loads_units = false}, type, 1, traits);
  if (!clear) return std::unexpected(clear.error());
  const auto add = build_ladder_kernel({.name = "ladder_reduce_atomic"}, type, workgroup_size, traits);
  if (!add) return std::unexpected(add.error());
  PlanBuilder plan("ladder_reduce_atomic", traits);
  const SlotId input = plan.argument("input", item_count * 4, 4);
  const SlotId output = plan.argument("output", 4, 4, true);
  plan.least_bytes(item_count * 4 + 4);
  plan.dispatch({.kernel = *clear,
                 .workgroup_count = 1,
                 .bindings = {{"output", output}},
                 .params = {{"item_count", 1}},
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

std::string_view step_name(ReduceStep step) {
  switch (step) {
    case ReduceStep::atomic: return "atomic";
    case ReduceStep::tree_interleaved: return "tree_interleaved";
    case ReduceStep::tree_sequential: return "tree_sequential";
    case ReduceStep::vectors: return "vectors";
    case ReduceStep::subgroups: return "subgroups";
  }
  return "?";
}

std::string_view step_title(ReduceStep step) {
  switch (step) {
    case ReduceStep::atomic: return "one atomic per item";
    case ReduceStep::tree_interleaved: return "tree, power-of-two stride";
    case ReduceStep::tree_sequential: return "tree, conflict-free";
    case ReduceStep::vectors: return "vec4 loads";
    case ReduceStep::subgroups: return "subgroups, one barrier";
  }
  return "?";
}

Result<std::shared_ptr<const Kernel>> reduce_step_kernel(ReduceStep step, const ElementType& type, bool reads_scratch,
                                                         std::uint32_t workgroup_size, const DeviceTraits& traits) {
  const bool uses_subgroups = step == ReduceStep::subgroups;
  const std::string_view name = uses_subgroups                         ? "ladder_reduce_subgroups"
                                : step == ReduceStep::tree_interleaved ? "ladder_reduce_tree_interleaved"
                                                                       : "ladder_reduce_tree_sequential";
  return build_ladder_kernel({.name = name,
                              .unit = unit_of(step),
                              .reads_scratch = reads_scratch,
                              .uses_subgroups = uses_subgroups,
                              .value_count = uses_subgroups ? 0 : workgroup_size},
                             type, workgroup_size, traits);
}

Result<Plan> plan_reduce_step(ReduceStep step, const ElementType& type, std::uint64_t item_count,
                              const DeviceTraits& traits, std::optional<std::uint32_t> wanted_workgroup_size) {
  const std::uint32_t workgroup_size = wanted_workgroup_size.value_or(bench_workgroup_size(traits));
  if (const Status ok = check_ladder_request(type, item_count, workgroup_size, traits); !ok) {
    return std::unexpected(ok.error());
  }
  if (step == ReduceStep::atomic) {
    if (type != ElementType::u32()) return fail(ErrorKind::unsupported, "Atomics need u32.");
    return plan_atomic(item_count, type, traits, workgroup_size);
  }
  if (step == ReduceStep::subgroups && !ladder_has_subgroups(traits)) {
    return fail(ErrorKind::unsupported, "The device has no subgroups.");
  }

  const std::uint64_t tile_items = std::uint64_t{workgroup_size} * items_of(unit_of(step));
  PlanBuilder plan(std::format("ladder_reduce_{}", step_name(step)), traits);
  SlotId from = plan.argument("input", align_up(item_count * 4, 16), 16);
  const SlotId output = plan.argument("output", 4, 4, true);
  plan.least_bytes(item_count * 4 + 4);
  std::uint64_t remaining = item_count;
  for (bool is_first = true; is_first || remaining > 1; is_first = false) {
    const std::uint64_t tile_count = div_ceil(remaining, tile_items);
    const SlotId to = tile_count == 1 ? output : plan.scratch("partials", tile_count * 4);
    const auto kernel = reduce_step_kernel(step, type, !is_first, workgroup_size, traits);
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
