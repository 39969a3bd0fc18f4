// SPDX-License-Identifier: Apache-2.0
// Plans of adjacent differences: one pass without a scan.
#include <algorithm>
#include <format>

#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "plan/tile_items.h"
#include "plan/tile_scan.h"
#include "plan/tile_select.h"
#include "upsweep/adjacent_difference.h"

namespace upsweep {
namespace {

// Of what expressions see, as it is stored.
std::string raw_of(const ElementType& type, const std::string& value) {
  if (type.scalar == Scalar::f32) return std::format("bitcast<RawItem>({})", value);
  if (type.scalar == Scalar::f16) return std::format("f16(unpack2x16float(f16_bits(bitcast<u32>({}))).x)", value);
  return value;
}

void add_units(KernelBuilder& builder, const AdjacentDifferenceShape& shape, const TileItems& items) {
  builder.caller_text("difference", shape.wgsl);
  std::string expression = shape.expression;
  if (expression.empty()) {
    expression = shape.input.is_64_bit() ? "subtract64(x, before)" : "x - before";
    if (shape.input.is_64_bit()) {
      builder.generated("subtract64",
                        "fn subtract64(a: vec2u, b: vec2u) -> vec2u {\n"
                        "  return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));\n}\n");
    }
  }
  // Its own mask is of no use: every item is stored.
  add_marked_units(builder, items, "fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 { return 0u; }\n",
                   true, true);
  builder.caller_expression("difference expression", "fn item_difference(x: Item, before: Item) -> Item", expression);
  if (shape.input.scalar == Scalar::f16) builder.part("float16.wgsl");
}

void add_sink(KernelBuilder& builder, const AdjacentDifferenceShape& shape, const TileItems& items) {
  add_tile_output(builder, shape.input, items);
  std::string text = "fn store_unit(u: Unit, unit: u32, prefix: Accumulator, is_full: bool, range: Range) {\n";
  std::string values;
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text += std::format(
        "  let d{0} = {1};\n  let is_first{0} = unit * UNIT_ITEMS + {0}u == range.begin && params.is_first_window == "
        "1u;\n"
        "  var s{0} = {2};\n  if (is_first{0}) {{ s{0} = {3}; }}\n",
        k,
        std::format("item_difference(item_value({}), item_value({}))", items.item("u.items", k),
                    item_before(items, "u", k)),
        raw_of(shape.input, std::format("d{}", k)), items.item("u.items", k));
    values += std::format("s{}, ", k);
  }
  builder.generated("store", text + std::format("  store_items({}unit, is_full, range);\n}}\n", values));
}

}  // namespace

ScanTuning select_scan_tuning(const AdjacentDifferenceShape& shape, const DeviceTraits& traits) {
  return select_scan_tuning(shape.input.stride_bytes, shape.item_count.max, traits);
}

Result<Plan> plan_adjacent_difference(const AdjacentDifferenceShape& shape, const DeviceTraits& traits,
                                      std::optional<ScanTuning> tuning, ScanOffsets offsets) {
  const std::uint64_t count = shape.item_count.max;
  const std::uint32_t stride = shape.input.stride_bytes;
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (const Status ok = check_tile_request(traits, {&shape.input}, count); !ok) return std::unexpected(ok.error());
  if (shape.input.is_struct() && shape.expression.empty()) {
    return refuse(std::format("Items of the struct {} need an expression of x and before.", shape.input.name));
  }
  const ScanTuning chosen = tuning.value_or(select_scan_tuning(shape, traits));
  PlanBuilder plan("adjacent_difference", traits);
  plan.note(std::format("differences of {} items", shape.input.name));
  plan.least_bytes(count * stride * 2);
  SlotId input;
  SlotId output;
  SlotId item_count;
  if (count != 0) {
    input = plan.argument("input", count * stride, stride);
    output = plan.argument("output", count * stride, stride, true);
    if (shape.item_count.read_on_device) item_count = plan.argument("item_count", 4, 4);
  }
  const auto make = [&](bool vectors, const ScanTuning&) {
    TileProgram program;
    program.name = "adjacent_difference";
    program.accumulator = count_accumulator();
    program.unit_items = vectors ? unit_items_of(shape.input) : 1;
    program.needs_f16 = shape.input.scalar == Scalar::f16;
    program.halo = 1;
    program.is_map = true;
    program.params = {"output_first", "tail_first", "tail_items"};
    program.item_bytes = stride;
    program.written_bytes = stride;
    program.bindings = {
        {.variable = "input", .slot = input, .stride_bytes = stride, .first_field = "input_first", .per_item = true},
        {.variable = "output",
         .slot = output,
         .stride_bytes = stride,
         .first_field = "output_first",
         .per_item = true}};
    if (program.unit_items > 1) {
      program.bindings.push_back({.variable = "input_units",
                                  .slot = input,
                                  .stride_bytes = stride,
                                  .first_field = "input_first",
                                  .per_item = true});
      program.vector_output = TileOutput{output, stride};
    }
    const TileItems items{.type = shape.input, .unit_items = program.unit_items};
    program.add_types = add_count_types;
    program.add_units = [&shape, items](KernelBuilder& builder, bool) -> Status {
      add_units(builder, shape, items);
      return {};
    };
    program.add_sink = [&shape, items](KernelBuilder& builder) { add_sink(builder, shape, items); };
    return program;
  };
  const TileExtent extent{
      .row_length = count, .length_on_device = shape.item_count.read_on_device, .item_count = item_count};
  const std::uint64_t in_item = offsets.input_bytes % traits.offset_alignment / stride;
  const std::uint64_t out_item = offsets.output_bytes % traits.offset_alignment / stride;
  const bool vectors =
      chosen.use_vectors && unit_items_of(shape.input) > 1 && in_item % 4 == out_item % 4 && count * stride >= 512;
  return plan_tiles(std::move(plan), make, vectors, extent, traits, chosen, offsets, false);
}

}  // namespace upsweep
