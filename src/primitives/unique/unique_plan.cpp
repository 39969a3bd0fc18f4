// SPDX-License-Identifier: Apache-2.0
// Plans of unique: a selection of the items that begin a run.
#include <format>

#include "plan/plan_builder.h"
#include "plan/tile_runs.h"
#include "plan/tile_select.h"
#include "upsweep/runs.h"

namespace upsweep {
namespace {

struct Slots {
  SlotId input;
  SlotId output;
  SlotId count;
  SlotId indices;
};

TileProgram make_program(const UniqueShape& shape, const Slots& slots, const DeviceTraits& traits,
                         const ScanTuning& tuning, bool vectors) {
  TileProgram program;
  program.name = "unique";
  program.accumulator = count_accumulator();
  program.unit_items = vectors ? unit_items_of(shape.input) : 1;
  program.needs_f16 = shape.input.scalar == Scalar::f16;
  program.halo = 1;
  program.late_publish = true;
  program.own_tile = [tuning, &traits](bool lanes) { return marked_tile(tuning.rows, lanes, traits); };
  program.params = {"output_first", "indices_first", "count_out_first"};
  const std::uint32_t stride = shape.input.stride_bytes;
  program.item_bytes = stride;
  program.written_bytes = stride + (shape.write_indices ? 4 : 0);
  program.bindings = input_bindings(slots.input, stride);
  program.bindings.append_range(std::initializer_list<TileBinding>{
      {.variable = "output", .slot = slots.output, .stride_bytes = stride, .first_field = "output_first"},
      {.variable = "indices", .slot = slots.indices, .first_field = "indices_first"},
      {.variable = "count", .slot = slots.count, .first_field = "count_out_first"}});
  const TileItems items{.type = shape.input, .unit_items = program.unit_items};
  program.add_types = add_count_types;
  program.add_units = [&shape, items](KernelBuilder& builder, bool) -> Status {
    add_equality(builder, "same_item", shape.input, shape.equality);
    add_marked_units(builder, items, head_mask_text(items), true, true);
    return {};
  };
  SelectSink sink = choose_select_sink(items, true, shape.write_indices, tuning, traits,
                                       scan_workgroup_bytes(program.accumulator, tuning, traits));
  program.has_own_store_tile = true;
  // Most often one round: then no item is in a register while tiles before are waited for.
  sink.stages_early = program.stages_early = sink.stage_per_thread != 0;
  program.add_sink = [items, sink, tuning](KernelBuilder& builder) { add_select_sink(builder, items, sink, tuning); };
  program.add_total = [&traits](KernelBuilder& builder, bool) { add_count_total(builder, 0, traits); };
  return program;
}

}  // namespace

ScanTuning select_scan_tuning(const UniqueShape& shape, const DeviceTraits& traits) {
  return select_marking_tuning(shape.input.stride_bytes, shape.item_count.max, traits);
}

Result<Plan> plan_unique(const UniqueShape& shape, const DeviceTraits& traits, std::optional<ScanTuning> tuning,
                         ScanOffsets offsets) {
  const std::uint64_t count = shape.item_count.max;
  const std::uint32_t stride = shape.input.stride_bytes;
  if (const Status ok = check_tile_request(traits, {&shape.input}, count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_equality(shape.input, shape.equality); !ok) return std::unexpected(ok.error());
  const ScanTuning chosen = tuning.value_or(select_scan_tuning(shape, traits));
  PlanBuilder plan("unique", traits);
  plan.note(std::format("first items of the runs of {} items", shape.input.name));
  plan.least_bytes_of_counted(count * stride);
  Slots slots;
  if (count != 0) {
    slots.input = plan.argument("input", count * stride, stride);
    slots.output = plan.argument("output", count * stride, stride, true);
    if (shape.write_indices) slots.indices = plan.argument("indices", count * 4, 4, true);
  }
  slots.count = plan.argument("count", 4, 4, true);
  SlotId item_count;
  if (shape.item_count.read_on_device) item_count = plan.argument("item_count", 4, 4);
  const TileExtent extent{
      .row_length = count, .length_on_device = shape.item_count.read_on_device, .item_count = item_count};
  const bool vectors = chosen.use_vectors && unit_items_of(shape.input) > 1 && count * stride >= 64;
  return plan_tiles(
      std::move(plan),
      [&](bool with_vectors, const ScanTuning& fitted) {
        return make_program(shape, slots, traits, fitted, with_vectors);
      },
      vectors, extent, traits, chosen, offsets, true);
}

}  // namespace upsweep
