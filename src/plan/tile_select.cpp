// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_select.h"

#include <algorithm>
#include <format>

#include "plan/lowering.h"
#include "plan/tile_counts.h"

namespace upsweep {

// Masks of 4 bits, eight to a word.
std::string mask_of(std::uint32_t k) { return std::format("((tile.masks{} >> {}u) & 15u)", k / 8, 4 * (k % 8)); }

void add_marked_units(KernelBuilder& builder, const TileItems& items, std::string_view mask_text, bool sees_before,
                      bool counts) {
  add_tile_items(builder, items);
  const std::uint32_t count = items.unit_items;
  std::string in_range;
  for (std::uint32_t k = 0; k < count; ++k) {
    in_range += std::format("{}select(0u, {}u, (first + {}u >= range.begin) & (first + {}u < range.end))",
                            k == 0 ? "" : " | ", 1u << k, k, k);
  }
  // The item before the row's first is not used; it must only be there to load.
  const std::string before =
      sees_before ? ",\n                load_item(max(unit * UNIT_ITEMS, params.input_first + 1u) - 1u, range)" : "";
  const std::string edge_before = sees_before ? ",\n                load_item(clamp(unit * UNIT_ITEMS, "
                                                "params.input_first + 1u, max(range.end, 1u)) - 1u, range)"
                                              : "";
  builder.generated(
      "units",
      std::format(
          "struct Loaded {{\n  items: RawUnit,\n{0}}}\nstruct Unit {{\n  items: RawUnit,\n  mask: u32,\n{0}}}\n"
          "{1}"
          "fn load_unit(unit: u32, range: Range) -> Loaded {{\n  return Loaded(load_items(unit, range){2});\n}}\n"
          "fn import_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n"
          "  return Unit(loaded.items, item_mask(loaded, unit, range){4});\n}}\n"
          "fn load_edge_unit(unit: u32, items: RawUnit, range: Range) -> Loaded {{\n"
          "  return Loaded(items{3});\n}}\n"
          "fn import_edge_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n"
          "  let first = unit * UNIT_ITEMS;\n  let inside = {5};\n"
          "  return Unit(loaded.items, item_mask(loaded, unit, range) & (inside * 17u){4});\n}}\n{6}",
          sees_before ? "  before: RawItem,\n" : "", mask_text, before, edge_before,
          sees_before ? ", loaded.before" : "", in_range,
          counts ? "fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator { return countOneBits(u.mask); }\n"
                 : ""));
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
  const std::uint64_t bytes =
      std::uint64_t{wanted + 1} * (write_items && write_indices ? 2 : 1) * 4 * tuning.workgroup_size;
  if (wanted > 0 && bytes + other_workgroup_bytes + 16 <= traits.max_workgroup_bytes) sink.stage_per_thread = wanted;
  return sink;
}

std::uint32_t choose_pair_stage(const TileItems& items, const TileAccumulator& accumulator, const ScanTuning& tuning,
                                const DeviceTraits& traits, std::uint32_t wanted) {
  const bool has_words = !items.type.is_struct() && items.type.stride_bytes == 4;
  if (!has_words || items.unit_items * tuning.rows < 8) return 0;
  const std::uint32_t bytes = (wanted + 1) * 2 * 4 * tuning.workgroup_size + 16;
  return bytes + scan_workgroup_bytes(accumulator, tuning, traits) > traits.max_workgroup_bytes ? 0 : wanted;
}

namespace {

// stage_tile(), before the look-back, and what is left of a tile whose marked items are more than the stage holds: they
// are loaded again, a row at a time, since otherwise all would stay in registers while the workgroup looks back.
std::string stage_again_text(const TileItems& items, std::uint32_t rows) {
  const std::uint32_t count = items.unit_items;
  std::string unit;
  for (std::uint32_t k = 0; k < count; ++k) {
    unit += std::format("{}load_item(clamp(at * UNIT_ITEMS + {}u, first_readable(range), range.end - 1u), range)",
                        k == 0 ? "" : ",\n                 ", k);
  }
  if (count > 1) unit = std::format("RawUnit({})", unit);
  std::string cases;
  for (std::uint32_t k = 0; k < rows; ++k) {
    cases += std::format("    {0}: {{ return vec2u({1}, row_before{2}(rows)); }}\n",
                         k + 1 < rows ? std::format("case {}u", k) : std::string("default"), mask_of(k), k);
  }
  return std::format(
      "fn stage_tile(tile: Tile, rows: Rows, before: u32, unit: u32, range: Range, thread: Thread, workgroup: "
      "Workgroup) {{\n"
      "  stage_from(0u, tile, rows, before, unit, range, thread, workgroup);\n}}\n"
      "// The mask of row k, and the marked items before it in the subgroup.\n"
      "fn row_at(k: u32, tile: Tile, rows: Rows) -> vec2u {{\n  switch k {{\n{0}  }}\n}}\n"
      "fn load_again(at: u32, is_full: bool, range: Range) -> RawUnit {{\n"
      "  if (is_full) {{ return load_items(at, range); }}\n  return {1};\n}}\n"
      "fn stage_again(done: u32, tile: Tile, rows: Rows, before: u32, unit: u32, is_full: bool, range: Range,\n"
      "               thread: Thread, workgroup: Workgroup) {{\n"
      "  for (var k = 0u; k < params.rows; k++) {{\n    let at = unit + k * unit_step(workgroup);\n"
      "    let row = row_at(k, tile, rows);\n    let first = before - done + row.y;\n"
      "    // Slots before the window wrap.\n"
      "    if (min(first, first + {2}u) < STAGE) {{\n"
      "      stage_unit(load_again(at, is_full, range), row.x, at, first, STAGE + thread.index, range);\n    }}\n"
      "  }}\n}}\n",
      cases, unit, count - 1);
}

}  // namespace

void add_select_sink(KernelBuilder& builder, const TileItems& items, const SelectSink& sink, const ScanTuning& tuning) {
  std::string text;
  if (sink.write_items) text += "@group(0) @binding(3) var<storage, read_write> output: array<RawItem>;\n";
  if (sink.write_indices) text += "@group(0) @binding(8) var<storage, read_write> indices: array<u32>;\n";
  const std::uint32_t count = items.unit_items;
  if (sink.stage_per_thread == 0) {
    text += "fn store_marked(items: RawUnit, mask: u32, unit: u32, first: u32, range: Range) {\n  var slot = first;\n";
    for (std::uint32_t k = 0; k < count; ++k) {
      text += std::format("  if ((mask & {}u) != 0u) {{\n", 1u << k);
      if (sink.write_items)
        text += std::format("    output[params.output_first + slot] = {};\n", items.item("items", k));
      if (sink.write_indices) {
        text +=
            std::format("    indices[params.indices_first + slot] = item_index(unit * UNIT_ITEMS + {}u, range);\n", k);
      }
      text += "    slot++;\n  }\n";
    }
    text +=
        "}\nfn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: "
        "Thread,\n"
        "              workgroup: Workgroup) {\n" +
        sink.at_start + "  let step = unit_step(workgroup);\n  let first = prefix.tile + prefix.subgroup;\n";
    for (std::uint32_t k = 0; k < tuning.rows; ++k) {
      text += std::format("  store_marked(tile.u{0}, {1}, unit + {0}u * step, first + row_before{0}(rows), range);\n",
                          k, mask_of(k));
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
      "fn stage_unit(items: RawUnit, mask: u32, unit: u32, first: u32, spare: u32, range: Range) {\n  var slot = "
      "first;\n";
  for (std::uint32_t k = 0; k < count; ++k) {
    // Slots before the window wrap to huge numbers and fail the test, too.
    text += std::format(
        "  let kept{0} = (mask & {1}u) != 0u;\n  let to{0} = select(spare, slot, kept{0} & (slot < STAGE));\n", k,
        1u << k);
    if (sink.write_items) text += std::format("  staged_items[to{}] = {};\n", k, items.item("items", k));
    if (sink.write_indices)
      text += std::format("  staged_indices[to{0}] = item_index(unit * UNIT_ITEMS + {0}u, range);\n", k);
    if (k + 1 < count) text += std::format("  slot += select(0u, 1u, kept{});\n", k);
  }
  text +=
      "}\n"
      "// From marked item `done` of the tile on.\n"
      "fn stage_from(done: u32, tile: Tile, rows: Rows, before: u32, unit: u32, range: Range, thread: Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  let step = unit_step(workgroup);\n  let spare = STAGE + thread.index;\n  let first = before - done;\n";
  text += std::format(
      "  let end = first + row_before{0}(rows) + countOneBits({1});\n"
      "  // Nothing of this thread's, and most often of its subgroup's, is in the window. Slots before it have "
      "wrapped.\n"
      "  if (bitcast<i32>(first) >= i32(STAGE) || bitcast<i32>(end) <= 0) {{ return; }}\n",
      tuning.rows - 1, mask_of(tuning.rows - 1));
  for (std::uint32_t k = 0; k < tuning.rows; ++k) {
    text +=
        std::format("  stage_unit(tile.u{0}, {1}, unit + {0}u * step, first + row_before{0}(rows), spare, range);\n", k,
                    mask_of(k));
  }
  text += "}\n" + (sink.stages_early ? stage_again_text(items, tuning.rows) : std::string());
  text +=
      "fn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: Thread,\n"
      "              workgroup: Workgroup) {\n" +
      sink.at_start +
      "  if (thread.index == 0u) { shared_count = prefix.total; }\n"
      "  let count = workgroupUniformLoad(&shared_count);\n"
      "  for (var done = 0u; done < count; done += STAGE) {\n";
  text += sink.stages_early
              ? "    if (done != 0u) {\n"
                "      stage_again(done, tile, rows, prefix.subgroup, unit, is_full, range, thread, workgroup);\n"
                "      workgroupBarrier();  // the stage is filled\n    }\n"
              : "    stage_from(done, tile, rows, prefix.subgroup, unit, range, thread, workgroup);\n"
                "    workgroupBarrier();  // the stage is filled\n";
  text += "    let staged_count = min(STAGE, count - done);\n";
  text += each_staged_text;
  if (sink.write_items) text += "      output[params.output_first + prefix.tile + done + i] = staged_items[i];\n";
  if (sink.write_indices) text += "      indices[params.indices_first + prefix.tile + done + i] = staged_indices[i];\n";
  text += "    }\n    workgroupBarrier();  // the stage may be filled again\n  }\n}\n";
  builder.generated("store", text);
  builder.more_workgroup_bytes(4 + (sink.stage_per_thread + 1) * tuning.workgroup_size * 4 *
                                       (sink.write_items && sink.write_indices ? 2 : 1));
}

std::string load_rows_text(std::uint32_t rows, bool full) {
  std::string text = full ? "  if (is_full) {\n" : "  let ends = load_ends(range);\n";
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += full ? std::format("    let l{0} = load_unit(unit + {0}u * step, range);\n", k)
                 : std::format(
                       "  let l{0} = load_edge_unit(unit + {0}u * step, load_edge_items(unit + {0}u * step, ends, "
                       "range), range);\n",
                       k);
  }
  return text;
}

namespace {

// Tile and load_tile(): raw units, their masks in few words.
std::string marked_tile_units(std::uint32_t rows) {
  const std::uint32_t mask_words = (rows + 7) / 8;
  std::string text = "struct Tile {\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  u{}: RawUnit,\n", k);
  for (std::uint32_t w = 0; w < mask_words; ++w) text += std::format("  masks{}: u32,\n", w);
  text += "}\nfn load_tile(unit: u32, step: u32, is_full: bool, range: Range) -> Tile {\n";
  for (const bool full : {true, false}) {
    text += load_rows_text(rows, full);
    const std::string_view indent = full ? "    " : "  ";
    std::string list;
    for (std::uint32_t k = 0; k < rows; ++k) list += std::format("l{}.items, ", k);
    for (std::uint32_t w = 0; w < mask_words; ++w) {
      std::string mask;
      for (std::uint32_t k = 8 * w; k < std::min(rows, 8 * w + 8); ++k) {
        mask += std::format("{}({}_unit(l{}, unit + {}u * step, range).mask << {}u)", mask.empty() ? "" : " |\n      ",
                            full ? "import" : "import_edge", k, k, 4 * (k % 8));
      }
      list += mask + ", ";
    }
    text += std::format("{}return Tile({});\n{}", indent, list, full ? "  }\n" : "}\n");
  }
  return text;
}

}  // namespace

std::string marked_tile(std::uint32_t rows, bool lanes, const DeviceTraits& traits) {
  std::string text = marked_tile_units(rows);
  const PackedCounts counts(rows, traits);
  if (!lanes) {
    text += "struct Rows {\n";
    for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  r{}: u32,\n", k);
    text += "}\nfn tile_rows(tile: Tile, unit: u32, step: u32, range: Range) -> Rows {\n  return Rows(";
    for (std::uint32_t k = 0; k < rows; ++k) text += std::format("{}countOneBits({})", k == 0 ? "" : ", ", mask_of(k));
    text += ");\n}\nfn fold_rows(rows: Rows) -> Accumulator {\n  return ";
    for (std::uint32_t k = 0; k < rows; ++k) text += std::format("{}rows.r{}", k == 0 ? "" : " + ", k);
    text += ";\n}\n";
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += std::format("fn row_before{0}(rows: Rows) -> u32 {{ return rows.r{0}; }}\n", k);
    }
    return text;
  }
  // r: counts, then the counts in the lanes before; t: those of whole rows, after the scan.
  text += "struct Rows {\n";
  for (std::uint32_t w = 0; w < counts.words(); ++w) text += std::format("  r{0}: u32,\n  t{0}: u32,\n", w);
  text += std::format(
      "}}\nfn tile_rows(tile: Tile, unit: u32, step: u32, range: Range) -> Rows {{\n  return Rows({});\n}}\n",
      counts.packed_rows());
  text += std::format("fn fold_rows(rows: Rows) -> Accumulator {{\n  return {};\n}}\n", counts.sum("rows.r"));
  text += counts.rows_before();
  text +=
      "fn scan_rows(rows: Rows, thread: Thread, workgroup: Workgroup) -> ScannedRows {\n"
      "  let last = workgroup.subgroup_size - 1u;\n";
  std::string list;
  for (std::uint32_t w = 0; w < counts.words(); ++w) {
    text += std::format(
        "  let e{0} = subgroup_exclusive(rows.r{0}, thread, workgroup);\n"
        "  let t{0} = subgroup_pick(e{0} + rows.r{0}, last, thread);\n",
        w);
    list += std::format("e{0}, t{0}, ", w);
  }
  return text + std::format("  return ScannedRows(Rows({}), {});\n}}\n", list, counts.sum("t"));
}

std::string run_tile(std::uint32_t rows, bool lanes, const DeviceTraits& traits) {
  std::string text = marked_tile_units(rows);
  text +=
      "// Index + 1 of the last marked item of a unit; 0 if there is none.\n"
      "fn last_marked(mask: u32, unit: u32, range: Range) -> u32 {\n"
      "  let last = item_index(unit * UNIT_ITEMS + firstLeadingBit(mask | 1u), range) + 1u;\n"
      "  return select(0u, last, mask != 0u);\n}\n";
  const auto last = [](std::uint32_t k) {
    return std::format("last_marked({}, unit + {}u * step, range)", mask_of(k), k);
  };
  if (!lanes) {
    text += "struct Rows {\n";
    for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  r{}: Accumulator,\n", k);
    text += "}\nfn tile_rows(tile: Tile, unit: u32, step: u32, range: Range) -> Rows {\n  return Rows(";
    std::string folded = "rows.r0";
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += std::format("{}vec2u(countOneBits({}), {})", k == 0 ? "" : ",\n              ", mask_of(k), last(k));
      if (k > 0) folded = std::format("combine({}, rows.r{})", folded, k);
    }
    text += std::format(");\n}}\nfn fold_rows(rows: Rows) -> Accumulator {{\n  return {};\n}}\n", folded);
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += std::format("fn row_before{0}(rows: Rows) -> u32 {{ return rows.r{0}.x; }}\n", k);
    }
    return text;
  }
  const PackedCounts counts(rows, traits);
  text += "struct Rows {\n";
  for (std::uint32_t w = 0; w < counts.words(); ++w) text += std::format("  r{0}: u32,\n  t{0}: u32,\n", w);
  text += "  last: u32,\n}\nfn tile_rows(tile: Tile, unit: u32, step: u32, range: Range) -> Rows {\n  var last = 0u;\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  last = max(last, {});\n", last(k));
  text += std::format("  return Rows({}last);\n}}\n", counts.packed_rows());
  text += std::format("fn fold_rows(rows: Rows) -> Accumulator {{\n  return vec2u({}, rows.last);\n}}\n",
                      counts.sum("rows.r"));
  text += counts.rows_before();
  text +=
      "fn scan_rows(rows: Rows, thread: Thread, workgroup: Workgroup) -> ScannedRows {\n"
      "  let end = workgroup.subgroup_size - 1u;\n";
  const bool emulated = traits.emulated_subgroup_size != 0;
  std::string list;
  for (std::uint32_t w = 0; w < counts.words(); ++w) {
    text += emulated ? std::format(
                           "  let e{0} = subgroup_exclusive(vec2u(rows.r{0}, 0u), thread, workgroup).x;\n"
                           "  let t{0} = subgroup_pick(vec2u(e{0} + rows.r{0}, 0u), end, thread).x;\n",
                           w)
                     : std::format(
                           "  let e{0} = subgroupExclusiveAdd(rows.r{0});\n"
                           "  let t{0} = subgroupShuffle(e{0} + rows.r{0}, end);\n",
                           w);
    list += std::format("e{0}, t{0}, ", w);
  }
  text +=
      emulated
          ? "  let last = subgroup_pick(subgroup_inclusive(vec2u(0u, rows.last), thread, workgroup), end, thread).y;\n"
          : "  let last = subgroupMax(rows.last);\n";
  return text + std::format("  return ScannedRows(Rows({}0u), vec2u({}, last));\n}}\n", list, counts.sum("t"));
}

void add_count_types(KernelBuilder& builder) {
  builder.alias("Accumulator", "u32");
  builder.generated("counts",
                    "fn identity() -> Accumulator { return 0u; }\n"
                    "fn combine(a: Accumulator, b: Accumulator) -> Accumulator { return a + b; }\n");
}

TileAccumulator count_accumulator() { return {.type = "u32", .size_bytes = 4, .fold_builtin = "subgroupAdd"}; }

void add_count_total(KernelBuilder& builder, std::uint32_t dispatch_threads, const DeviceTraits& traits) {
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
      "  let passed = sum;\n  count[params.count_out_first] = passed;\n{}}}\n",
      more);
  builder.generated("total", text);
}

}  // namespace upsweep
