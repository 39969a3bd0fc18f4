// SPDX-License-Identifier: Apache-2.0
// Plans of selections: counts of what passes are scanned; each tile stores what it keeps.
#include <format>

#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "plan/tile_select.h"
#include "upsweep/select.h"

namespace upsweep {
namespace {

struct Slots {
  SlotId input;
  SlotId output;
  SlotId count;
  SlotId indices;
  SlotId flags;
  SlotId item_count;
  SlotId grid;
};

TileProgram make_program(const SelectShape& shape, const Slots& slots, const DeviceTraits& traits,
                         const ScanTuning& tuning, bool vectors) {
  TileProgram program;
  program.name = "select";
  program.accumulator = count_accumulator();
  program.unit_items = vectors ? unit_items_of(shape.input) : 1;
  program.needs_f16 = shape.input.scalar == Scalar::f16;
  program.late_publish = true;
  program.own_tile = [tuning, &traits](bool lanes) { return marked_tile(tuning.rows, lanes, traits); };
  program.params = {"output_first", "indices_first", "flags_first", "count_out_first", "grid_first"};
  const std::uint32_t stride = shape.input.stride_bytes;
  program.item_bytes = stride;
  program.written_bytes = (shape.write_items ? stride : 0) + (shape.write_indices ? 4 : 0);
  program.bindings = input_bindings(slots.input, stride);
  program.bindings.append_range(
      std::initializer_list<TileBinding>{{.variable = "count", .slot = slots.count, .first_field = "count_out_first"}});
  if (shape.write_items) {
    program.bindings.push_back(
        {.variable = "output", .slot = slots.output, .stride_bytes = stride, .first_field = "output_first"});
  }
  if (shape.write_indices) {
    program.bindings.push_back({.variable = "indices", .slot = slots.indices, .first_field = "indices_first"});
  }
  if (shape.predicate.flags) {
    program.bindings.push_back({.variable = "flags",
                                .slot = slots.flags,
                                .first_field = "flags_first",
                                .per_item = true,
                                .items_per_entry = items_per_flag_word(*shape.predicate.flags)});
  }
  if (shape.dispatch_threads) {
    program.bindings.push_back({.variable = "dispatch_grid", .slot = slots.grid, .first_field = "grid_first"});
  }
  const TileItems items{.type = shape.input, .unit_items = program.unit_items};
  program.add_types = add_count_types;
  program.add_units = [&shape, items](KernelBuilder& builder, bool) -> Status {
    builder.caller_text("predicate", shape.predicate.wgsl);
    std::string text;
    std::string mask;
    for (std::uint32_t k = 0; k < items.unit_items; ++k) {
      const std::string index = std::format("item_index(unit * UNIT_ITEMS + {}u, range)", k);
      const std::string test =
          shape.predicate.flags ? std::format("is_flagged({} - params.index_base + params.flag_base)", index)
                                : std::format("item_passes(item_value({}), {})", items.item("loaded.items", k), index);
      mask += std::format("{}select(0u, {}u, {})", k == 0 ? "" : " | ", 1u << k, test);
    }
    if (shape.predicate.flags) {
      text = "@group(0) @binding(7) var<storage, read> flags: array<u32>;\n" +
             flag_function("is_flagged", *shape.predicate.flags, "flags", "flags_first");
    } else {
      builder.caller_expression("predicate expression", "fn item_passes(x: Item, i: u32) -> bool",
                                shape.predicate.expression);
    }
    text += std::format("fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 {{\n  return {};\n}}\n", mask);
    add_marked_units(builder, items, text, false, true);
    return {};
  };
  const SelectSink sink = choose_select_sink(items, shape.write_items, shape.write_indices, tuning, traits,
                                             scan_workgroup_bytes(program.accumulator, tuning, traits));
  program.has_own_store_tile = true;
  program.add_sink = [items, sink, tuning](KernelBuilder& builder) { add_select_sink(builder, items, sink, tuning); };
  program.add_total = [&shape, &traits](KernelBuilder& builder, bool) {
    add_count_total(builder, shape.dispatch_threads.value_or(0), traits);
  };
  return program;
}

}  // namespace

ScanTuning select_scan_tuning(const SelectShape& shape, const DeviceTraits& traits) {
  return select_marking_tuning(shape.input.stride_bytes, shape.item_count.max, traits);
}

Result<Plan> plan_select(const SelectShape& shape, const DeviceTraits& traits, std::optional<ScanTuning> tuning,
                         ScanOffsets offsets) {
  const std::uint64_t count = shape.item_count.max;
  const std::uint32_t stride = shape.input.stride_bytes;
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (const Status ok = check_tile_request(traits, {&shape.input}, count); !ok) return std::unexpected(ok.error());
  if (shape.predicate.flags && !shape.predicate.expression.empty()) {
    return refuse("A predicate is an expression or flags, not both.");
  }
  if (!shape.predicate.flags && shape.predicate.expression.empty())
    return refuse("A selection needs a predicate or flags.");
  if (shape.dispatch_threads && *shape.dispatch_threads == 0)
    return refuse("A workgroup of 0 threads cannot be dispatched.");
  const ScanTuning chosen = tuning.value_or(select_scan_tuning(shape, traits));
  PlanBuilder plan("select", traits);
  plan.note(std::format("selection of {} items by {}", shape.input.name,
                        shape.predicate.flags ? "flags" : shape.predicate.expression));
  plan.least_bytes_of_counted(count * stride);
  Slots slots;
  if (count != 0) {
    slots.input = plan.argument("input", count * stride, stride);
    if (shape.write_items) slots.output = plan.argument("output", count * stride, stride, true);
    if (shape.write_indices) slots.indices = plan.argument("indices", count * 4, 4, true);
    if (shape.predicate.flags) slots.flags = plan.argument("flags", flag_bytes(*shape.predicate.flags, count), 4);
  }
  slots.count = plan.argument("count", 4, 4, true);
  if (shape.item_count.read_on_device) slots.item_count = plan.argument("item_count", 4, 4);
  if (shape.dispatch_threads) slots.grid = plan.argument("dispatch_arguments", 12, 4, true);
  const TileExtent extent{
      .row_length = count, .length_on_device = shape.item_count.read_on_device, .item_count = slots.item_count};
  const bool vectors = chosen.use_vectors && unit_items_of(shape.input) > 1 && count * stride >= 64;
  return plan_tiles(
      std::move(plan),
      [&](bool with_vectors, const ScanTuning& fitted) {
        return make_program(shape, slots, traits, fitted, with_vectors);
      },
      vectors, extent, traits, chosen, offsets, true);
}

}  // namespace upsweep
