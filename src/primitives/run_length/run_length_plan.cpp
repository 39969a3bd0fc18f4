// SPDX-License-Identifier: Apache-2.0
// Plans of run-length encoding. Scanned is (runs so far, index + 1 of the last run's first item): the item that begins
// a run knows the length of the run before. Or only runs are counted, and those that cross tiles are ended afterwards.
#include <format>

#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "plan/tile_runs.h"
#include "plan/tile_select.h"
#include "upsweep/runs.h"

namespace upsweep {
namespace {

struct Slots {
  SlotId input;
  SlotId values;
  SlotId lengths;
  SlotId offsets;
  SlotId count;
};

// Bits 0 to 3: items that begin a run. Bits 4 to 7: items at which a run counts, its second ones if only repeated items
// count.
std::string mask_text(const RunLengthShape& shape, const TileItems& items) {
  std::string text = head_mask_text(items);
  if (!shape.only_repeated) return text;
  const auto rename = text.find("fn item_mask");
  text.replace(rename, std::string_view("fn item_mask").size(), "fn head_mask");
  text +=
      "fn begins_run(before: RawItem, item: RawItem, position: u32, range: Range) -> bool {\n"
      "  let is_first = position == range.begin && params.is_first_window == 1u;\n"
      "  return is_first | !same_item(item_value(before), item_value(item));\n}\n"
      "fn run_repeats(position: u32, range: Range) -> bool {\n"
      "  // The item in front begins a run, too.\n"
      "  let before = max(position, params.input_first + 1u) - 1u;\n"
      "  let earlier = max(before, params.input_first + 1u) - 1u;\n"
      "  return begins_run(load_item(min(earlier, range.end - 1u), range), load_item(min(before, range.end - 1u), "
      "range),\n"
      "                    before, range);\n}\n"
      "fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 {\n"
      "  let heads = head_mask(loaded, unit, range);\n  var mask = heads;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text += std::format(
        "  mask |= select(0u, {0}u, ((heads & {1}u) == 0u) & {2});\n", 16u << k, 1u << k,
        k == 0 ? "run_repeats(unit * UNIT_ITEMS, range)" : std::format("((heads & {}u) != 0u)", 1u << (k - 1)));
  }
  return text + "  return mask;\n}\n";
}

std::string outputs_text(const RunLengthShape& shape) {
  std::string text;
  if (shape.write_values) text += "@group(0) @binding(3) var<storage, read_write> values: array<RawItem>;\n";
  if (shape.write_offsets) text += "@group(0) @binding(7) var<storage, read_write> offsets: array<u32>;\n";
  return text;
}

void add_sink(KernelBuilder& builder, const RunLengthShape& shape, const TileItems& items) {
  std::string text = outputs_text(shape);
  text +=
      "fn store_unit(u: Unit, unit: u32, prefix: Accumulator, is_full: bool, range: Range) {\n  var runs = prefix;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text += std::format("  let i{0} = item_index(unit * UNIT_ITEMS + {0}u, range);\n", k);
    text +=
        std::format("  if ((u.mask & {0}u) != 0u) {{\n    end_run(runs, i{1});\n    runs.y = i{1} + 1u;\n", 1u << k, k);
    if (shape.only_repeated) text += std::format("  }}\n  if ((u.mask & {0}u) != 0u) {{\n", 16u << k);
    if (shape.write_values) {
      text += std::format("    values[params.values_first + runs.x] = {};\n",
                          shape.only_repeated ? item_before(items, "u", k) : items.item("u.items", k));
    }
    if (shape.write_offsets) text += "    offsets[params.offsets_first + runs.x] = runs.y - 1u;\n";
    text += "    runs.x++;\n  }\n";
  }
  builder.generated("store", text + "}\n");
}

void add_total(KernelBuilder& builder, bool has_items) {
  builder.generated("total", std::format("@group(0) @binding(6) var<storage, read_write> count: array<u32>;\n"
                                         "fn store_total(row: u32, sum: Accumulator, range: Range) {{\n"
                                         "  count[params.count_out_first] = sum.x;\n{}}}\n",
                                         has_items ? "  end_run(sum, items_so_far());\n" : ""));
}

constexpr std::string_view lengths_text = "@group(0) @binding(8) var<storage, read_write> lengths: array<u32>;\n";

// What a tile leaves for run_length_ends.
constexpr std::string_view tile_ends_text =
    "const NO_HEADS = 0xffffffffu;\n"
    "// Index of the tile's first head, or NO_HEADS; runs that begin before the tile.\n"
    "@group(0) @binding(5) var<storage, read_write> tile_ends: array<vec2u>;\n";

// Where only runs are counted: neighbours in the stage give the lengths of runs that end in the tile in which they
// begin. Of the last one minus its first index is stored, to which run_length_ends adds where the next run begins. One
// stage for values, then for indices: NVIDIA's Vulkan driver has 48 KiB a multiprocessor for all workgroups.
void add_counting_sink(KernelBuilder& builder, const RunLengthShape& shape, const TileItems& items, std::uint32_t stage,
                       const ScanTuning& tuning) {
  builder.constant("STAGE", stage * tuning.workgroup_size);
  const bool has_starts = shape.write_lengths || shape.write_offsets;
  std::string text = outputs_text(shape);
  if (shape.write_lengths) text += std::string(lengths_text) + std::string(tile_ends_text);
  text +=
      "var<workgroup> shared_runs: u32;\n"
      "// Behind the stage one slot a thread takes what begins no run: cheaper than a branch.\n"
      "var<workgroup> staged: array<u32, STAGE + WORKGROUP_SIZE>;\n"
      "fn stage_words(";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) text += std::format("w{}: u32, ", k);
  text += "mask: u32, first: u32, spare: u32) {\n  var slot = first;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    // Slots before the window wrap to huge numbers and fail the test, too.
    text += std::format(
        "  let is_head{0} = (mask & {1}u) != 0u;\n  staged[select(spare, slot, is_head{0} & (slot < STAGE))] = w{0};\n",
        k, 1u << k);
    if (k + 1 < items.unit_items) text += std::format("  slot += select(0u, 1u, is_head{});\n", k);
  }
  text +=
      "}\nfn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: "
      "Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  let step = unit_step(workgroup);\n"
      "  if (thread.index == 0u) { shared_runs = prefix.total; }\n"
      "  let count = workgroupUniformLoad(&shared_runs);\n"
      "  let spare = STAGE + thread.index;\n";
  if (shape.write_lengths) text += "  var tile_end = NO_HEADS;\n  var last = 0u;  // head of those staged so far\n";
  text +=
      "  for (var done = 0u; done < count; done += STAGE) {\n"
      "    let first = prefix.subgroup - done;\n"
      "    let staged_count = min(STAGE, count - done);\n"
      "    let run_first = prefix.tile + done;\n";
  const auto stage_rows = [&](bool starts) {
    if (starts) text += "    let index = item_index(unit * UNIT_ITEMS, range);\n";
    for (std::uint32_t k = 0; k < tuning.rows; ++k) {
      text += "    stage_words(";
      for (std::uint32_t j = 0; j < items.unit_items; ++j) {
        text += starts ? std::format("index + {}u * step * UNIT_ITEMS + {}u, ", k, j)
                       : std::format("bitcast<u32>({}), ", items.item(std::format("tile.u{}", k), j));
      }
      text += std::format("{}, first + row_before{}(rows), spare);\n", mask_of(k), k);
    }
    text += "    workgroupBarrier();  // the stage is filled\n";
  };
  constexpr std::string_view again = "    workgroupBarrier();  // the stage may be filled again\n";
  if (shape.write_values) {
    stage_rows(false);
    text +=
        std::format("{}      values[params.values_first + run_first + i] = bitcast<RawItem>(staged[i]);\n    }}\n{}",
                    each_staged_text, again);
  }
  if (has_starts) {
    stage_rows(true);
    text += each_staged_text;
    text += "      let start = staged[i];\n";
    if (shape.write_offsets) text += "      offsets[params.offsets_first + run_first + i] = start;\n";
    if (shape.write_lengths) {
      text +=
          "      let before = select(staged[max(i, 1u) - 1u], last, i == 0u);\n"
          "      if (i + done > 0u) {\n"
          "        lengths[params.lengths_first + run_first + i - 1u] = start - before;\n"
          "      } else {\n        tile_end = start;\n      }\n";
    }
    text += "    }\n";
    if (shape.write_lengths) text += "    last = staged[staged_count - 1u];\n";
    text += again;
  }
  text += "  }\n";
  if (shape.write_lengths) {
    text += tile_number_text;
    text +=
        "  if (thread.index == 0u) {\n"
        "    tile_ends[tile_number] = vec2u(tile_end, prefix.tile);\n"
        "    if (count > 0u) { lengths[params.lengths_first + prefix.tile + count - 1u] = 0u - last; }\n  }\n";
  }
  builder.generated("store", text + "}\n");
  builder.more_workgroup_bytes(4 + (stage + 1) * 4 * tuning.workgroup_size);
}

// Runs of words go through workgroup memory: the stores are coalesced, and neighbours there give the lengths.
void add_staged_sink(KernelBuilder& builder, const RunLengthShape& shape, const TileItems& items, std::uint32_t stage,
                     const ScanTuning& tuning) {
  builder.constant("STAGE", stage * tuning.workgroup_size);
  std::string text = outputs_text(shape);
  text +=
      "var<workgroup> shared_runs: u32;\n"
      "// Behind the stage one slot a thread takes what begins no run: cheaper than a branch.\n"
      "var<workgroup> staged_values: array<RawItem, STAGE + WORKGROUP_SIZE>;\n"
      "// Index + 1 of each run's first item; in front that of the run before.\n"
      "var<workgroup> staged_starts: array<u32, STAGE + WORKGROUP_SIZE + 1u>;\n"
      "fn stage_unit(items: RawUnit, mask: u32, unit: u32, first: u32, spare: u32, range: Range) {\n  var slot = "
      "first;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text += std::format(
        "  let kept{0} = (mask & {1}u) != 0u;\n  let to{0} = select(spare, slot, kept{0} & (slot < STAGE));\n"
        "  staged_values[to{0}] = {2};\n  staged_starts[to{0} + 1u] = item_index(unit * UNIT_ITEMS + {0}u, range) + "
        "1u;\n",
        k, 1u << k, items.item("items", k));
    if (k + 1 < items.unit_items) text += std::format("  slot += select(0u, 1u, kept{});\n", k);
  }
  text +=
      "}\nfn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: "
      "Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  let step = unit_step(workgroup);\n"
      "  if (thread.index == 0u) { shared_runs = prefix.total.x; }\n"
      "  let count = workgroupUniformLoad(&shared_runs);\n"
      "  let spare = STAGE + thread.index;\n"
      "  var last = prefix.tile.y;\n"
      "  for (var done = 0u; done < count; done += STAGE) {\n"
      "    let first = prefix.subgroup.x - done;\n"
      "    if (thread.index == 0u) { staged_starts[0] = last; }\n";
  for (std::uint32_t k = 0; k < tuning.rows; ++k) {
    text +=
        std::format("    stage_unit(tile.u{0}, {1}, unit + {0}u * step, first + row_before{0}(rows), spare, range);\n",
                    k, mask_of(k));
  }
  text +=
      "    workgroupBarrier();  // the stage is filled\n"
      "    let staged_count = min(STAGE, count - done);\n"
      "    let run_first = prefix.tile.x + done;\n";
  text += each_staged_text;
  text += "      let start = staged_starts[i + 1u];\n";
  if (shape.write_values) text += "      values[params.values_first + run_first + i] = staged_values[i];\n";
  if (shape.write_offsets) text += "      offsets[params.offsets_first + run_first + i] = start - 1u;\n";
  text +=
      "      end_run(vec2u(run_first + i, staged_starts[i]), start - 1u);\n    }\n"
      "    last = staged_starts[staged_count];\n"
      "    workgroupBarrier();  // the stage may be filled again\n  }\n}\n";
  builder.generated("store", text);
  builder.more_workgroup_bytes(8 + (stage + 1) * 2 * 4 * tuning.workgroup_size);
}

// end_run(runs, end): the run that was the last one ends before item `end`.
void add_end_run(KernelBuilder& builder, const RunLengthShape& shape) {
  if (!shape.write_lengths) {
    builder.generated("lengths", "fn end_run(runs: Accumulator, end: u32) {}\n");
    return;
  }
  builder.generated(
      "lengths",
      std::format("{}fn end_run(runs: Accumulator, end: u32) {{\n"
                  "  if (runs.y != 0u{}) {{ lengths[params.lengths_first + runs.x - 1u] = end + 1u - runs.y; }}\n"
                  "}}\n",
                  lengths_text, shape.only_repeated ? " && end > runs.y" : ""));
}

// More tiles than these, and the runs that cross tiles are ended by a pass of its own. H200, 2026-12-01, runs of 4,
// tiles of 8192 items: at 2^21 13.3 us instead of 12.0, at 2^22 19.8 instead of 19.2, at 2^26 193 instead of about 219.
constexpr std::uint64_t least_split_tiles = 512;

// Are only runs counted? Without lengths there is nothing to be done afterwards.
bool counts_only(const RunLengthShape& shape, const ScanTuning& tuning, const DeviceTraits& traits,
                 std::uint32_t unit_items) {
  const std::string raw = stored_type(shape.input).raw;
  if (raw != "u32" && raw != "i32") return false;
  if (!shape.write_lengths) return true;
  const std::uint64_t tile = std::uint64_t{tuning.workgroup_size} * tuning.rows * unit_items;
  // With what windows bind, vectors must be sure to fit.
  const std::uint32_t buffers = 8 + (shape.write_offsets ? 1 : 0) + (shape.item_count.read_on_device ? 1 : 0);
  return traits.max_storage_buffers >= buffers && scans_by_lanes(count_accumulator(), tuning, traits) &&
         shape.item_count.max > least_split_tiles * tile;
}

TileProgram make_counting_program(const RunLengthShape& shape, const TileItems& items, std::uint32_t stage,
                                  const DeviceTraits& traits, const ScanTuning& tuning, TileProgram program) {
  program.accumulator = count_accumulator();
  program.late_publish = true;
  program.add_types = add_count_types;
  program.add_units = [&shape, items](KernelBuilder& builder, bool) -> Status {
    add_equality(builder, "same_item", shape.input, shape.equality);
    add_marked_units(builder, items, head_mask_text(items), true, true);
    return {};
  };
  program.own_tile = [tuning, &traits](bool lanes) { return marked_tile(tuning.rows, lanes, traits); };
  program.has_own_store_tile = true;
  program.add_sink = [&shape, items, stage, tuning](KernelBuilder& builder) {
    add_counting_sink(builder, shape, items, stage, tuning);
  };
  program.add_total = [&traits](KernelBuilder& builder, bool) { add_count_total(builder, 0, traits); };
  if (!shape.write_lengths) return program;
  program.params.insert(program.params.end(), {"tile_base", "is_last_window"});
  program.tile_scratch = {{"tile_ends", 8}};
  program.values_tiles = tuning.workgroup_size;
  program.values_name = "ends";
  program.values_only_read = true;
  program.add_values = [](KernelBuilder& builder) -> Status {
    builder.generated("ends", std::format("// Not read: where it begins says where tiles do.\n"
                                          "@group(0) @binding(1) var<storage, read> input: array<u32>;\n"
                                          "@group(0) @binding(6) var<storage, read_write> count: array<u32>;\n{}{}",
                                          lengths_text, tile_ends_text));
    builder.part("run_length_ends.wgsl");
    return {};
  };
  return program;
}

TileProgram make_program(const RunLengthShape& shape, const Slots& slots, const DeviceTraits& traits,
                         const ScanTuning& tuning, bool vectors) {
  TileProgram program;
  program.name = "run_length";
  program.accumulator = {.type = "vec2u", .size_bytes = 8};
  program.unit_items = vectors ? unit_items_of(shape.input) : 1;
  program.needs_f16 = shape.input.scalar == Scalar::f16;
  program.halo = shape.only_repeated ? 2 : 1;
  program.params = {"values_first", "offsets_first", "lengths_first", "count_out_first"};
  const std::uint32_t stride = shape.input.stride_bytes;
  program.item_bytes = stride;
  program.written_bytes =
      (shape.write_values ? stride : 0) + (shape.write_lengths ? 4 : 0) + (shape.write_offsets ? 4 : 0);
  program.bindings = input_bindings(slots.input, stride);
  program.bindings.append_range(std::initializer_list<TileBinding>{
      {.variable = "values", .slot = slots.values, .stride_bytes = stride, .first_field = "values_first"},
      {.variable = "lengths", .slot = slots.lengths, .first_field = "lengths_first"},
      {.variable = "offsets", .slot = slots.offsets, .first_field = "offsets_first"},
      {.variable = "count", .slot = slots.count, .first_field = "count_out_first"}});
  const TileItems items{.type = shape.input, .unit_items = program.unit_items};
  program.add_types = [](KernelBuilder& builder) {
    builder.alias("Accumulator", "vec2u");
    builder.generated("runs",
                      "fn identity() -> Accumulator { return vec2u(0u); }\n"
                      "fn combine(a: Accumulator, b: Accumulator) -> Accumulator {\n"
                      "  return vec2u(a.x + b.x, max(a.y, b.y));\n}\n");
  };
  program.add_units = [&shape, items](KernelBuilder& builder, bool) -> Status {
    add_equality(builder, "same_item", shape.input, shape.equality);
    add_marked_units(builder, items, mask_text(shape, items), true, false);
    builder.generated(
        "totals", std::format("fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator {{\n"
                              "  let heads = u.mask & 15u;\n"
                              "  let last = item_index(unit * UNIT_ITEMS + firstLeadingBit(heads | 1u), range) + 1u;\n"
                              "  return vec2u(countOneBits({}), select(0u, last, heads != 0u));\n}}\n",
                              shape.only_repeated ? "u.mask >> 4u" : "heads"));
    return {};
  };
  const std::uint32_t stage = shape.only_repeated ? 0 : choose_pair_stage(items, program.accumulator, tuning, traits);
  // Runs of 4 in one round, as with items that are selected.
  const SelectSink sink =
      choose_select_sink(items, true, false, tuning, traits, scan_workgroup_bytes(count_accumulator(), tuning, traits));
  if (stage != 0 && sink.stage_per_thread != 0 && counts_only(shape, tuning, traits, program.unit_items)) {
    return make_counting_program(shape, items, sink.stage_per_thread, traits, tuning, std::move(program));
  }
  if (stage != 0) {
    program.late_publish = true;
    program.has_own_store_tile = true;
    program.own_tile = [tuning, &traits](bool lanes) { return run_tile(tuning.rows, lanes, traits); };
  }
  program.add_sink = [&shape, items, stage, tuning](KernelBuilder& builder) {
    add_end_run(builder, shape);
    if (stage == 0) {
      add_sink(builder, shape, items);
    } else {
      add_staged_sink(builder, shape, items, stage, tuning);
    }
  };
  program.add_total = add_total;
  return program;
}

}  // namespace

ScanTuning select_scan_tuning(const RunLengthShape& shape, const DeviceTraits& traits) {
  ScanTuning tuning = select_marking_tuning(shape.input.stride_bytes, shape.item_count.max, traits);
  // H200, 2026-12-01, runs of 4: at 2^20 7.62 us, 8.84 with 256 threads x 8 and 8.12 with 256 x 4.
  if (is_one_wave(shape.input.stride_bytes, shape.item_count.max, std::uint64_t{1} << 20, traits)) {
    tuning.workgroup_size = 512;
    tuning.rows = 4;
  }
  return tuning;
}

Result<Plan> plan_run_length(const RunLengthShape& shape, const DeviceTraits& traits, std::optional<ScanTuning> tuning,
                             ScanOffsets offsets) {
  const std::uint64_t count = shape.item_count.max;
  const std::uint32_t stride = shape.input.stride_bytes;
  if (const Status ok = check_tile_request(traits, {&shape.input}, count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_equality(shape.input, shape.equality); !ok) return std::unexpected(ok.error());
  const ScanTuning chosen = tuning.value_or(select_scan_tuning(shape, traits));
  PlanBuilder plan("run_length", traits);
  plan.note(std::format("runs of {} items{}", shape.input.name, shape.only_repeated ? ", repeated ones only" : ""));
  plan.least_bytes_of_counted(count * stride);
  Slots slots;
  if (count != 0) {
    slots.input = plan.argument("input", count * stride, stride);
    if (shape.write_values) slots.values = plan.argument("values", count * stride, stride, true);
    if (shape.write_lengths) slots.lengths = plan.argument("lengths", count * 4, 4, true);
    if (shape.write_offsets) slots.offsets = plan.argument("offsets", count * 4, 4, true);
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
