// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_select.h"

#include <algorithm>
#include <format>

#include "plan/lowering.h"

namespace upsweep {

void add_marked_units(KernelBuilder& builder, const TileItems& items, std::string_view mask_text, bool sees_before,
                      bool counts) {
  add_tile_items(builder, items);
  const std::uint32_t count = items.unit_items;
  std::string in_range;
  for (std::uint32_t k = 0; k < count; ++k) {
    in_range += std::format(
        "{}select(0u, {}u, (first + {}u >= range.begin) & (first + {}u < range.end))", k == 0 ? "" : " | ", 1u << k, k, k);
  }
  // The item before the row's first is not used; it must only be there to load.
  const std::string before = sees_before
                                 ? ",\n                load_item(max(unit * UNIT_ITEMS, params.input_first + 1u) - 1u, range)"
                                 : "";
  const std::string edge_before =
      sees_before
          ? ",\n                load_item(clamp(unit * UNIT_ITEMS, params.input_first + 1u, max(range.end, 1u)) - 1u, range)"
          : "";
  builder.generated(
      "units",
      std::format("struct Loaded {{\n  items: RawUnit,\n{0}}}\nstruct Unit {{\n  items: RawUnit,\n  mask: u32,\n{0}}}\n"
                  "{1}"
                  "fn load_unit(unit: u32, range: Range) -> Loaded {{\n  return Loaded(load_items(unit, range){2});\n}}\n"
                  "fn import_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n"
                  "  return Unit(loaded.items, item_mask(loaded, unit, range){4});\n}}\n"
                  "fn load_edge_unit(unit: u32, ends: Ends, range: Range) -> Loaded {{\n"
                  "  return Loaded(load_edge_items(unit, ends, range){3});\n}}\n"
                  "fn import_edge_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n"
                  "  let first = unit * UNIT_ITEMS;\n  let inside = {5};\n"
                  "  return Unit(loaded.items, item_mask(loaded, unit, range) & (inside * 17u){4});\n}}\n{6}",
                  sees_before ? "  before: RawItem,\n" : "", mask_text, before, edge_before,
                  sees_before ? ", loaded.before" : "", in_range,
                  counts ? "fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator { return countOneBits(u.mask); }\n" : ""));
}

std::string item_before(const TileItems& items, const std::string& loaded, std::uint32_t k) {
  return k == 0 ? loaded + ".before" : items.item(loaded + ".items", k - 1);
}

SelectSink choose_select_sink(const TileItems& items, bool write_items, bool write_indices, const ScanTuning& tuning,
                              const DeviceTraits& traits, std::uint32_t other_workgroup_bytes) {
  SelectSink sink{.write_items = write_items, .write_indices = write_indices};
  // Only words: wider items would take too much of the workgroup memory.
  const bool has_words = !items.type.is_struct() && items.type.stride_bytes == 4;
  if ((write_items && !has_words) || tuning.rows * items.unit_items < 4) return sink;
  // A little more than half of a tile's items (H200, 2026-11-30: more memory a workgroup costs occupancy, a round more
  // costs less).
  const std::uint32_t wanted = std::min(tuning.rows * items.unit_items, 9u) / (write_items && write_indices ? 2 : 1);
  const std::uint64_t bytes = std::uint64_t{wanted + 1} * (write_items && write_indices ? 2 : 1) * 4 * tuning.workgroup_size;
  if (wanted > 0 && bytes + other_workgroup_bytes + 16 <= traits.max_workgroup_bytes) sink.stage_per_thread = wanted;
  return sink;
}

void add_select_sink(KernelBuilder& builder, const TileItems& items, const SelectSink& sink,
                     const ScanTuning& tuning) {
  std::string text;
  if (sink.write_items) text += "@group(0) @binding(3) var<storage, read_write> output: array<RawItem>;\n";
  if (sink.write_indices) text += "@group(0) @binding(8) var<storage, read_write> indices: array<u32>;\n";
  const std::uint32_t count = items.unit_items;
  if (sink.stage_per_thread == 0) {
    text +=
        "fn store_unit(u: Unit, unit: u32, prefix: Accumulator, is_full: bool, range: Range) {\n  var slot = prefix;\n";
    for (std::uint32_t k = 0; k < count; ++k) {
      text += std::format("  if ((u.mask & {}u) != 0u) {{\n", 1u << k);
      if (sink.write_items) text += std::format("    output[params.output_first + slot] = {};\n", items.item("u.items", k));
      if (sink.write_indices) {
        text += std::format("    indices[params.indices_first + slot] = item_index(unit * UNIT_ITEMS + {}u, range);\n", k);
      }
      text += "    slot++;\n  }\n";
    }
    builder.generated("store", text + "}\n");
    return;
  }
  builder.constant("STAGE", sink.stage_per_thread * tuning.workgroup_size);
  // Behind the stage one slot a thread takes what is not kept: cheaper than a branch.
  text += "var<workgroup> shared_count: u32;\n";
  if (sink.write_items) text += "var<workgroup> staged_items: array<RawItem, STAGE + WORKGROUP_SIZE>;\n";
  if (sink.write_indices) text += "var<workgroup> staged_indices: array<u32, STAGE + WORKGROUP_SIZE>;\n";
  text +=
      "fn stage_unit(u: Unit, unit: u32, first: u32, spare: u32, range: Range) {\n  var slot = first;\n";
  for (std::uint32_t k = 0; k < count; ++k) {
    // Slots before the window wrap to huge numbers and fail the test, too.
    text += std::format("  let kept{0} = (u.mask & {1}u) != 0u;\n  let to{0} = select(spare, slot, kept{0} & (slot < STAGE));\n", k,
                        1u << k);
    if (sink.write_items) text += std::format("  staged_items[to{}] = {};\n", k, items.item("u.items", k));
    if (sink.write_indices) text += std::format("  staged_indices[to{0}] = item_index(unit * UNIT_ITEMS + {0}u, range);\n", k);
    if (k + 1 < count) text += std::format("  slot += select(0u, 1u, kept{});\n", k);
  }
  text +=
      "}\nfn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  let step = unit_step(workgroup);\n"
      "  if (thread.index == 0u) { shared_count = prefix.total; }\n"
      "  let count = workgroupUniformLoad(&shared_count);\n"
      "  let spare = STAGE + thread.index;\n"
      "  for (var done = 0u; done < count; done += STAGE) {\n"
      "    let first = prefix.subgroup - done;\n";
  for (std::uint32_t k = 0; k < tuning.rows; ++k) {
    text += std::format("    stage_unit(tile.u{0}, unit + {0}u * step, first + rows.r{0}, spare, range);\n", k);
  }
  text +=
      "    workgroupBarrier();  // the stage is filled\n"
      "    for (var i = thread.index; i < min(STAGE, count - done); i += WORKGROUP_SIZE) {\n";
  if (sink.write_items) text += "      output[params.output_first + prefix.tile + done + i] = staged_items[i];\n";
  if (sink.write_indices) text += "      indices[params.indices_first + prefix.tile + done + i] = staged_indices[i];\n";
  text += "    }\n    workgroupBarrier();  // the stage may be filled again\n  }\n}\n";
  builder.generated("store", text);
  builder.more_workgroup_bytes(4 + (sink.stage_per_thread + 1) * tuning.workgroup_size * 4 *
                                       (sink.write_items && sink.write_indices ? 2 : 1));
}

std::string packed_count_rows(std::uint32_t rows, const DeviceTraits& traits) {
  // A row has up to 4 items a lane: 8 bits hold a row of subgroups of up to 63 lanes.
  const bool is_narrow = traits.emulated_subgroup_size != 0 || (traits.subgroup_max_size != 0 && traits.subgroup_max_size <= 32);
  const std::uint32_t bits = is_narrow ? 8 : 16;
  const std::uint32_t per_word = 32 / bits;
  const std::uint32_t mask = (1u << bits) - 1;
  std::string text =
      "fn scan_rows(rows: Rows, thread: Thread, workgroup: Workgroup) -> ScannedRows {\n"
      "  let last = workgroup.subgroup_size - 1u;\n";
  const std::uint32_t words = (rows + per_word - 1) / per_word;
  for (std::uint32_t w = 0; w < words; ++w) {
    std::string packed;
    for (std::uint32_t k = w * per_word; k < std::min(rows, (w + 1) * per_word); ++k) {
      packed += std::format("{}(rows.r{} << {}u)", packed.empty() ? "" : " | ", k, bits * (k % per_word));
    }
    text += std::format(
        "  let c{0} = {1};\n  let e{0} = subgroup_exclusive(c{0}, thread, workgroup);\n"
        "  let t{0} = subgroup_pick(e{0} + c{0}, last, thread);\n",
        w, packed);
  }
  const auto field = [&](char word, std::uint32_t k) {
    return std::format("(({}{} >> {}u) & {}u)", word, k / per_word, bits * (k % per_word), mask);
  };
  text += "  let b0 = 0u;\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  let b{} = b{} + {};\n", k + 1, k, field('t', k));
  std::string list;
  for (std::uint32_t k = 0; k < rows; ++k) list += std::format("{}b{} + {}", k == 0 ? "" : ", ", k, field('e', k));
  return text + std::format("  return ScannedRows(Rows({}), b{});\n}}\n", list, rows);
}

void add_count_types(KernelBuilder& builder) {
  builder.alias("Accumulator", "u32");
  builder.generated("counts",
                    "fn identity() -> Accumulator { return 0u; }\n"
                    "fn combine(a: Accumulator, b: Accumulator) -> Accumulator { return a + b; }\n");
}

TileAccumulator count_accumulator() { return {.type = "u32", .size_bytes = 4, .fold_builtin = "subgroupAdd"}; }

void add_count_total(KernelBuilder& builder, std::string_view count_expression, std::uint32_t dispatch_threads,
                     const DeviceTraits& traits) {
  std::string text = "@group(0) @binding(6) var<storage, read_write> count: array<u32>;\n";
  std::string more;
  if (dispatch_threads != 0) {
    builder.part("dispatch_arguments.wgsl");
    text += "@group(0) @binding(14) var<storage, read_write> dispatch_grid: array<u32>;\n";
    more = std::format(
        "  let workgroups = passed / {0}u + select(0u, 1u, passed % {0}u != 0u);\n"
        "  let grid = dispatch_arguments(workgroups, {1}u);\n"
        "  dispatch_grid[params.grid_first] = grid.x;\n"
        "  dispatch_grid[params.grid_first + 1u] = grid.y;\n"
        "  dispatch_grid[params.grid_first + 2u] = grid.z;\n",
        dispatch_threads, traits.max_workgroups_per_dimension);
  }
  text += std::format(
      "fn store_total(row: u32, sum: Accumulator, range: Range) {{\n"
      "  let passed = {};\n  count[params.count_out_first] = passed;\n{}}}\n",
      count_expression, more);
  builder.generated("total", text);
}

}  // namespace upsweep
