// SPDX-License-Identifier: Apache-2.0
// Plans of partitions: counts of the parts are scanned; the grand totals say where each part begins.
#include <format>

#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "plan/tile_select.h"
#include "upsweep/partition.h"

namespace upsweep {
namespace {

struct Slots {
  SlotId input;
  SlotId output;
  SlotId count;
  SlotId flags;
};

// Bits 0 to 3 of a mask: `first`; bits 4 to 7: `second` and not `first`.
Status add_units(KernelBuilder& builder, const PartitionShape& shape, const TileItems& items) {
  builder.caller_text("predicate", shape.first.wgsl);
  std::string text;
  if (shape.first.flags) {
    text = "@group(0) @binding(7) var<storage, read> flags: array<u32>;\n" +
           flag_function("is_flagged", *shape.first.flags, "flags", "flags_first");
  } else {
    builder.caller_expression("predicate expression", "fn item_passes(x: Item, i: u32) -> bool",
                              shape.first.expression);
  }
  if (shape.second) {
    builder.caller_text("second predicate", shape.second->wgsl);
    builder.caller_expression("second predicate expression", "fn item_passes_second(x: Item, i: u32) -> bool",
                              shape.second->expression);
  }
  text += "fn part_mask(items: RawUnit, unit: u32, range: Range) -> u32 {\n  var mask = 0u;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    const std::string value = std::format("item_value({})", items.item("items", k));
    text += std::format("  let i{0} = item_index(unit * UNIT_ITEMS + {0}u, range);\n", k);
    text += shape.first.flags ? std::format("  let first{0} = is_flagged(i{0});\n", k)
                              : std::format("  let first{0} = item_passes({1}, i{0});\n", k, value);
    text += std::format("  mask |= select(0u, {1}u, first{0});\n", k, 1u << k);
    if (shape.second) {
      text +=
          std::format("  mask |= select(0u, {1}u, item_passes_second({2}, i{0}) & !first{0});\n", k, 16u << k, value);
    }
  }
  text += "  return mask;\n}\n";
  text +=
      "fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 {\n"
      "  return part_mask(loaded.items, unit, range);\n}\n";
  add_marked_units(builder, items, text, false, !shape.second);
  if (shape.second) {
    builder.generated("totals",
                      "fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator {\n"
                      "  return vec2u(countOneBits(u.mask & 15u), countOneBits(u.mask >> 4u));\n}\n");
  }
  return {};
}

// Where each item goes: the parts begin at 0, and after the totals of the parts before.
void add_sink(KernelBuilder& builder, const PartitionShape& shape, const TileItems& items) {
  const bool three = shape.second.has_value();
  std::string text =
      "@group(0) @binding(3) var<storage, read_write> output: array<RawItem>;\n"
      "var<private> grand_total: Accumulator;\n"
      "fn start_sink(first_chunk: u32, chunk_count: u32, thread: Thread, workgroup: Workgroup) {\n"
      "  grand_total = fold_chunks(first_chunk, chunk_count, thread, workgroup);\n}\n"
      "fn store_unit(u: Unit, unit: u32, prefix: Accumulator, is_full: bool, range: Range) {\n  var before = prefix;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text += std::format("  let p{0} = unit * UNIT_ITEMS + {0}u;\n  let i{0} = p{0} - range.begin;\n", k);
    if (three) {
      text += std::format(
          "  let first{0} = (u.mask & {1}u) != 0u;\n  let second{0} = (u.mask & {2}u) != 0u;\n"
          "  let rest{0} = grand_total.x + grand_total.y + i{0} - before.x - before.y;\n"
          "  let slot{0} = select(select(rest{0}, grand_total.x + before.y, second{0}), before.x, first{0});\n"
          "  before += vec2u(select(0u, 1u, first{0}), select(0u, 1u, second{0}));\n",
          k, 1u << k, 16u << k);
    } else {
      text += std::format(
          "  let first{0} = (u.mask & {1}u) != 0u;\n"
          "  let slot{0} = select(grand_total + i{0} - before, before, first{0});\n"
          "  before += select(0u, 1u, first{0});\n",
          k, 1u << k);
    }
  }
  std::string all;
  std::string guarded;
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    const std::string store = std::format("output[params.output_first + slot{0}] = {1};", k, items.item("u.items", k));
    all += std::format("    {}\n", store);
    guarded += std::format("  if (p{0} >= range.begin && p{0} < range.end) {{ {1} }}\n", k, store);
  }
  text += std::format("  if (is_full) {{\n{}    return;\n  }}\n{}", all, guarded);
  builder.generated("store", text + "}\n");
}

TileProgram make_program(const PartitionShape& shape, const Slots& slots, bool vectors) {
  TileProgram program;
  program.name = "partition";
  program.accumulator = shape.second ? TileAccumulator{.type = "vec2u", .size_bytes = 8} : count_accumulator();
  program.unit_items = vectors ? unit_items_of(shape.input) : 1;
  program.needs_f16 = shape.input.scalar == Scalar::f16;
  program.needs_one_window = true;
  program.needs_grand_total = true;
  program.has_own_start_sink = true;
  program.params = {"output_first", "flags_first", "count_out_first"};
  const std::uint32_t stride = shape.input.stride_bytes;
  program.item_bytes = stride;
  program.written_bytes = stride;
  program.bindings = input_bindings(slots.input, stride);
  program.bindings.append_range(std::initializer_list<TileBinding>{
      {.variable = "output", .slot = slots.output, .stride_bytes = stride, .first_field = "output_first"},
      {.variable = "count", .slot = slots.count, .first_field = "count_out_first"}});
  if (shape.first.flags) {
    program.bindings.push_back({.variable = "flags", .slot = slots.flags, .first_field = "flags_first"});
  }
  const TileItems items{.type = shape.input, .unit_items = program.unit_items};
  program.add_types = [&shape](KernelBuilder& builder) {
    if (!shape.second) return add_count_types(builder);
    builder.alias("Accumulator", "vec2u");
    builder.generated("counts",
                      "fn identity() -> Accumulator { return vec2u(0u); }\n"
                      "fn combine(a: Accumulator, b: Accumulator) -> Accumulator { return a + b; }\n");
  };
  program.add_units = [&shape, items](KernelBuilder& builder, bool) { return add_units(builder, shape, items); };
  program.add_sink = [&shape, items](KernelBuilder& builder) { add_sink(builder, shape, items); };
  program.add_total = [&shape](KernelBuilder& builder, bool) {
    builder.generated(
        "total",
        std::format("@group(0) @binding(6) var<storage, read_write> count: array<u32>;\n"
                    "fn store_total(row: u32, sum: Accumulator, range: Range) {{\n{}}}\n",
                    shape.second
                        ? "  count[params.count_out_first] = sum.x;\n  count[params.count_out_first + 1u] = sum.y;\n"
                        : "  count[params.count_out_first] = sum;\n"));
  };
  return program;
}

}  // namespace

ScanTuning select_scan_tuning(const PartitionShape& shape, const DeviceTraits& traits) {
  return select_marking_tuning(shape.input.stride_bytes, shape.item_count.max, traits);
}

Result<Plan> plan_partition(const PartitionShape& shape, const DeviceTraits& traits, std::optional<ScanTuning> tuning,
                            ScanOffsets offsets) {
  const std::uint64_t count = shape.item_count.max;
  const std::uint32_t stride = shape.input.stride_bytes;
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (const Status ok = check_tile_request(traits, {&shape.input}, count); !ok) return std::unexpected(ok.error());
  if (shape.first.flags && !shape.first.expression.empty()) {
    return refuse("A predicate is an expression or flags, not both.");
  }
  if (!shape.first.flags && shape.first.expression.empty()) return refuse("A partition needs a predicate or flags.");
  if (shape.second && (shape.first.flags || shape.second->flags || shape.second->expression.empty())) {
    return refuse("A partition into three parts needs two expressions.");
  }
  const ScanTuning chosen = tuning.value_or(select_scan_tuning(shape, traits));
  PlanBuilder plan("partition", traits);
  plan.note(std::format("{} parts of {} items", shape.second ? 3 : 2, shape.input.name));
  plan.least_bytes(count * stride * 2);
  Slots slots;
  if (count != 0) {
    slots.input = plan.argument("input", count * stride, stride);
    slots.output = plan.argument("output", count * stride, stride, true);
    if (shape.first.flags) slots.flags = plan.argument("flags", flag_bytes(*shape.first.flags, count), 4);
  }
  slots.count = plan.argument("count", shape.second ? 8 : 4, 4, true);
  SlotId item_count;
  if (shape.item_count.read_on_device) item_count = plan.argument("item_count", 4, 4);
  const TileExtent extent{
      .row_length = count, .length_on_device = shape.item_count.read_on_device, .item_count = item_count};
  const bool vectors = chosen.use_vectors && unit_items_of(shape.input) > 1 && count * stride >= 64;
  return plan_tiles(
      std::move(plan), [&](bool with_vectors, const ScanTuning&) { return make_program(shape, slots, with_vectors); },
      vectors, extent, traits, chosen, offsets, false);
}

}  // namespace upsweep
