// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/scan_ladder.h"

#include <format>
#include <utility>

#include "benchmarking/bench_plans.h"
#include "benchmarking/ladder/ladder_kernels.h"
#include "benchmarking/ladder/reduce_ladder.h"
#include "plan/grid.h"
#include "plan/narrow.h"
#include "plan/plan_builder.h"

namespace upsweep::bench {
namespace {

constexpr std::uint32_t banks = 32;  // ladder_scan_slot.padded.wgsl

bool is_blelloch(ScanStep step) { return step == ScanStep::blelloch || step == ScanStep::blelloch_padded; }

bool needs_subgroups(ScanStep step) { return step == ScanStep::subgroups || step == ScanStep::subgroup_vectors; }

LadderUnit unit_of(ScanStep step) {
  return step == ScanStep::subgroup_vectors || step == ScanStep::three_phase ? LadderUnit::vectors : LadderUnit::items;
}

// Plans one step; the totals of the tiles are scanned by the same step.
class StepPlanner {
 public:
  StepPlanner(ScanStep step, const ElementType& type, std::uint32_t workgroup_size, const DeviceTraits& traits)
      : step_(step),
        type_(type),
        workgroup_size_(workgroup_size),
        traits_(traits),
        unit_items_(items_of(unit_of(step))),
        tile_items_(workgroup_size * unit_items_ * (is_blelloch(step) ? 2 : 1)),
        plan_(std::format("ladder_scan_{}", step_name(step)), traits) {}

  Result<Plan> plan(std::uint64_t item_count) && {
    const SlotId input = plan_.argument("input", align_up(item_count * 4, 16), 16);
    const SlotId output = plan_.argument("output", align_up(item_count * 4, 16), 16, true);
    plan_.least_bytes(item_count * 8);
    if (const Status ok = scan(input, output, item_count, false); !ok) return std::unexpected(ok.error());
    return std::move(plan_).finish();
  }

 private:
  Status scan(SlotId from, SlotId to, std::uint64_t item_count, bool is_scratch) {
    const std::uint64_t tile_count = div_ceil(item_count, tile_items_);
    const SlotId totals = plan_.scratch("totals", tile_count * 4);
    if (tile_count == 1) return scan_tiles(from, to, totals, item_count, is_scratch, true);
    const SlotId offsets = plan_.scratch("offsets", tile_count * 4);
    const bool reduces_first = step_ == ScanStep::three_phase;
    const Status first = reduces_first ? reduce_tiles(from, totals, item_count, is_scratch)
                                       : scan_tiles(from, to, totals, item_count, is_scratch, true);
    if (!first) return first;
    if (const Status ok = scan(totals, offsets, tile_count, true); !ok) return ok;
    return reduces_first ? scan_tiles(from, to, offsets, item_count, is_scratch, false)
                         : add_offsets(to, offsets, item_count);
  }

  Status reduce_tiles(SlotId from, SlotId totals, std::uint64_t item_count, bool is_scratch) {
    const ReduceStep reduce = ladder_has_subgroups(traits_) ? ReduceStep::subgroups : ReduceStep::vectors;
    const auto kernel = reduce_step_kernel(reduce, type_, is_scratch, workgroup_size_, traits_);
    if (!kernel) return std::unexpected(kernel.error());
    const std::uint64_t tile_count = div_ceil(item_count, tile_items_);
    plan_.dispatch({.kernel = *kernel,
                    .workgroup_count = tile_count,
                    .bindings = {{"input", from}, {"output", totals}},
                    .params = {{"item_count", u32(item_count)}},
                    .reason = std::format("totals of {} tiles of {}", tile_count, tile_items_),
                    .bytes_read = item_count * 4,
                    .bytes_written = tile_count * 4});
    return {};
  }

  // `carry` receives the totals of the tiles, or gives what lies before them.
  Status scan_tiles(SlotId from, SlotId to, SlotId carry, std::uint64_t item_count, bool is_scratch, bool publishes) {
    LadderKernel wanted{.name = "ladder_scan_tile",
                        .unit = unit_of(step_),
                        .reads_scratch = is_scratch,
                        .tile_items = tile_items_,
                        .parts = {publishes ? "ladder_scan_carry.publish.wgsl" : "ladder_scan_carry.receive.wgsl"}};
    if (is_blelloch(step_)) {
      const bool is_padded = step_ == ScanStep::blelloch_padded;
      wanted.name = "ladder_scan_blelloch";
      wanted.value_count = tile_items_ + (is_padded ? tile_items_ / banks : 0);
      wanted.parts.emplace_back(is_padded ? "ladder_scan_slot.padded.wgsl" : "ladder_scan_slot.plain.wgsl");
    } else {
      wanted.uses_subgroups =
          needs_subgroups(step_) || (step_ == ScanStep::three_phase && ladder_has_subgroups(traits_));
      wanted.value_count = wanted.uses_subgroups ? 0 : 2 * workgroup_size_;
      wanted.parts.emplace_back(unit_items_ == 4 ? "ladder_scan_unit.vectors.wgsl" : "ladder_scan_unit.items.wgsl");
      wanted.parts.emplace_back(wanted.uses_subgroups ? "ladder_scan_subgroups.wgsl" : "ladder_scan_kogge_stone.wgsl");
    }
    const auto kernel = build_ladder_kernel(wanted, type_, workgroup_size_, traits_);
    if (!kernel) return std::unexpected(kernel.error());
    const std::uint64_t tile_count = div_ceil(item_count, tile_items_);
    plan_.dispatch({.kernel = *kernel,
                    .workgroup_count = tile_count,
                    .bindings = {{"input", from}, {"output", to}, {publishes ? "totals" : "offsets", carry}},
                    .params = {{"item_count", u32(item_count)}},
                    .reason = std::format("{} items in tiles of {}{}", item_count, tile_items_,
                                          publishes ? "" : ", from what lies before each"),
                    .bytes_read = item_count * 4 + (publishes ? 0 : tile_count * 4),
                    .bytes_written = item_count * 4 + (publishes ? tile_count * 4 : 0)});
    return {};
  }

  Status add_offsets(SlotId to, SlotId offsets, std::uint64_t item_count) {
    const auto kernel = build_ladder_kernel(
        {.name = "ladder_scan_add", .unit = unit_of(step_), .loads_units = false, .tile_items = tile_items_}, type_,
        workgroup_size_, traits_);
    if (!kernel) return std::unexpected(kernel.error());
    plan_.dispatch({.kernel = *kernel,
                    .workgroup_count = div_ceil(item_count, std::uint64_t{workgroup_size_} * unit_items_),
                    .bindings = {{"output", to}, {"offsets", offsets}},
                    .params = {{"item_count", u32(item_count)}},
                    .reason = "adds what lies before each tile",
                    .bytes_read = item_count * 4 + div_ceil(item_count, tile_items_) * 4,
                    .bytes_written = item_count * 4});
    return {};
  }

  ScanStep step_;
  const ElementType& type_;
  std::uint32_t workgroup_size_;
  const DeviceTraits& traits_;
  std::uint32_t unit_items_;
  std::uint32_t tile_items_;
  PlanBuilder plan_;
};

}  // namespace

std::string_view step_name(ScanStep step) {
  switch (step) {
    case ScanStep::blelloch: return "blelloch";
    case ScanStep::blelloch_padded: return "blelloch_padded";
    case ScanStep::kogge_stone: return "kogge_stone";
    case ScanStep::subgroups: return "subgroups";
    case ScanStep::subgroup_vectors: return "subgroup_vectors";
    case ScanStep::three_phase: return "three_phase";
  }
  return "?";
}

std::string_view step_title(ScanStep step) {
  switch (step) {
    case ScanStep::blelloch: return "Blelloch in workgroup memory";
    case ScanStep::blelloch_padded: return "Blelloch, padded";
    case ScanStep::kogge_stone: return "Kogge-Stone";
    case ScanStep::subgroups: return "subgroup scan";
    case ScanStep::subgroup_vectors: return "subgroup scan, vec4";
    case ScanStep::three_phase: return "reduce, spine, down";
  }
  return "?";
}

Result<Plan> plan_scan_step(ScanStep step, const ElementType& type, std::uint64_t item_count,
                            const DeviceTraits& traits, std::optional<std::uint32_t> wanted_workgroup_size) {
  const std::uint32_t workgroup_size = wanted_workgroup_size.value_or(bench_workgroup_size(traits));
  if (const Status ok = check_ladder_request(type, item_count, workgroup_size, traits); !ok) {
    return std::unexpected(ok.error());
  }
  if (needs_subgroups(step) && !ladder_has_subgroups(traits)) {
    return fail(ErrorKind::unsupported, "The device has no subgroups.");
  }
  return StepPlanner(step, type, workgroup_size, traits).plan(item_count);
}

}  // namespace upsweep::bench
