// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_select.h"

#include <algorithm>
#include <format>

#include "plan/lowering.h"
#include "plan/subgroup_plan.h"
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
  const std::uint32_t wanted =
      std::max(std::min(tuning.rows * items.unit_items, 9u) / (write_items && write_indices ? 2 : 1), items.unit_items);
  const std::uint64_t bytes =
      std::uint64_t{wanted + 1} * (write_items && write_indices ? 2 : 1) * 4 * tuning.workgroup_size;
  if (bytes + other_workgroup_bytes + 16 + std::uint64_t{4} * subgroup_slots(tuning.workgroup_size) <=
      traits.max_workgroup_bytes)
    sink.stage_per_thread = wanted;
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

// Rows whose marked items always fit into what a subgroup has of the stage.
std::uint32_t stage_group_rows(const TileItems& items, const SelectSink& sink) {
  return sink.stage_per_thread / items.unit_items;
}

// May a tile have more marked items than the stage holds?
bool may_overflow(const TileItems& items, const SelectSink& sink, const ScanTuning& tuning) {
  return stage_group_rows(items, sink) < tuning.rows;
}

// Stages rows `from` to `to` of a tile from slot `first` of the subgroup on.
std::string stage_rows_text(std::uint32_t from, std::uint32_t to, std::string_view indent) {
  std::string text;
  for (std::uint32_t k = from; k < to; ++k) {
    text +=
        std::format("{0}stage_unit(tile.u{1}, {2}, unit + {1}u * step, first + row_before{1}(rows), spare, range);\n",
                    indent, k, mask_of(k));
  }
  return text;
}

// Stores what is staged in `slot` as marked item `number`.
std::string store_staged_text(const SelectSink& sink, std::string_view number, std::string_view slot) {
  std::string text;
  if (sink.write_items)
    text += std::format("      output[params.output_first + {}] = staged_items[{}];\n", number, slot);
  if (sink.write_indices)
    text += std::format("      indices[params.indices_first + {}] = staged_indices[{}];\n", number, slot);
  return text;
}

// What goes through the stage group by group: parts of it, rows by number, and how far each subgroup has come.
std::string stage_groups_text(const TileItems& items, const SelectSink& sink, const ScanTuning& tuning) {
  std::string cases;
  for (std::uint32_t k = 0; k < tuning.rows; ++k) {
    cases += std::format("    case {0}u: {{ return vec2u({1}, row_before{0}(rows)); }}\n", k, mask_of(k));
  }
  return std::format(
      "const GROUP_ROWS = {0}u;\n"
      "// Of each subgroup: its marked items up to the end of those in the stage.\n"
      "var<workgroup> group_ends: array<u32, {1}>;\n"
      "fn leave_group_end(row: vec2u, thread: Thread, workgroup: Workgroup) {{\n"
      "  let rank = thread_rank(thread, workgroup);\n  let step = unit_step(workgroup);\n"
      "  if (rank % step == step - 1u) {{ group_ends[rank / step] = row.y + countOneBits(row.x); }}\n}}\n"
      "fn stage_part(thread: Thread, workgroup: Workgroup) -> u32 {{\n"
      "  let step = unit_step(workgroup);\n"
      "  return thread_rank(thread, workgroup) / step * step * (STAGE / WORKGROUP_SIZE);\n}}\n"
      "// The mask of row k, and the marked items before it in the subgroup.\n"
      "fn row_at(k: u32, tile: Tile, rows: Rows) -> vec2u {{\n  switch k {{\n{2}"
      "    default: {{ return vec2u(0u, row_before{3}(rows) + countOneBits({4})); }}\n  }}\n}}\n",
      stage_group_rows(items, sink), subgroup_slots(tuning.workgroup_size), cases, tuning.rows - 1,
      mask_of(tuning.rows - 1));
}

// stage_tile(), before the look-back, and what is left of a tile with more marked items than the stage holds: each
// subgroup (without them the workgroup) takes its rows group by group through its part of the stage. They are loaded
// again, since otherwise all would stay in registers while the workgroup looks back.
std::string stage_early_text(const TileItems& items, const SelectSink& sink, const ScanTuning& tuning) {
  const std::uint32_t rows = tuning.rows;
  const std::uint32_t count = items.unit_items;
  const std::uint32_t group = stage_group_rows(items, sink);
  constexpr std::string_view head =
      "fn stage_tile(tile: Tile, rows: Rows, before: u32, count: u32, unit: u32, range: Range, thread: Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  let step = unit_step(workgroup);\n  let spare = STAGE + thread.index;\n";
  if (!may_overflow(items, sink, tuning))
    return std::format("{}  let first = before;\n{}}}\n", head, stage_rows_text(0, rows, "  "));
  std::string unit;
  for (std::uint32_t k = 0; k < count; ++k) {
    unit += std::format("{}load_item(clamp(at * UNIT_ITEMS + {}u, first_readable(range), range.end - 1u), range)",
                        k == 0 ? "" : ",\n                 ", k);
  }
  if (count > 1) unit = std::format("RawUnit({})", unit);
  std::string most;
  for (std::uint32_t k = 0; k < rows; k += 2 * group) {
    const std::uint32_t end = std::min(k + 2 * group, rows);
    most = k == 0 ? std::format("marked_before{}(rows)", end)
                  : std::format("max({}, marked_before{}(rows) - marked_before{}(rows))", most, end, k);
  }
  std::string text = stage_groups_text(items, sink, tuning);
  text += std::format(
      "// Twice as many where all such groups fit.\n"
      "fn group_of(rows: Rows, workgroup: Workgroup) -> u32 {{\n"
      "  let most = {};\n"
      "  return select(GROUP_ROWS, 2u * GROUP_ROWS, most <= STAGE / WORKGROUP_SIZE * unit_step(workgroup));\n}}\n",
      most);
  text += std::format(
      "{}  var first = before;\n  var staged_rows = ROWS;\n"
      "  if (count > STAGE) {{\n    first = stage_part(thread, workgroup);\n"
      "    staged_rows = group_of(rows, workgroup);\n"
      "    leave_group_end(row_at(min(staged_rows, ROWS) - 1u, tile, rows), thread, workgroup);\n  }}\n"
      "{}  if (staged_rows > {}u) {{\n{}  }}\n",
      head, stage_rows_text(0, group, "  "), group, stage_rows_text(group, std::min(2 * group, rows), "    "));
  if (2 * group < rows)
    text += std::format("  if (staged_rows > {}u) {{\n{}  }}\n", 2 * group, stage_rows_text(2 * group, rows, "    "));
  text += std::format(
      "}}\nfn load_again(at: u32, is_full: bool, range: Range) -> RawUnit {{\n"
      "  if (is_full) {{ return load_items(at, range); }}\n  return {0};\n}}\n"
      "fn store_groups(tile: Tile, rows: Rows, place: u32, unit: u32, is_full: bool, range: Range, thread: Thread,\n"
      "                workgroup: Workgroup) {{\n"
      "  let step = unit_step(workgroup);\n  let rank = thread_rank(thread, workgroup);\n"
      "  let part = stage_part(thread, workgroup);\n  let spare = STAGE + thread.index;\n"
      "  let group = group_of(rows, workgroup);\n"
      "  var start = 0u;\n"
      "  // Those that take two groups at once are through earlier, but the barriers are for all.\n"
      "  for (var round = 0u; round * GROUP_ROWS < params.rows; round++) {{\n"
      "    let k = round * group;\n"
      "    if (round != 0u) {{\n"
      "      let first = part - start;\n",
      unit);
  for (std::uint32_t j = 0; j < 2 * group; ++j) {
    text += std::format(
        "      let at{0} = unit + (k + {0}u) * step;\n      var items{0}: RawUnit;\n"
        "      if ({1}k + {0}u < ROWS) {{ items{0} = load_again(at{0}, is_full, range); }}\n",
        j, j >= group ? "group > GROUP_ROWS && " : "");
  }
  text += "      workgroupBarrier();  // the stage may be filled again\n      if (k < ROWS) {\n";
  for (std::uint32_t j = 0; j < 2 * group; ++j) {
    if (j == group) text += "      }\n      if (group > GROUP_ROWS && k < ROWS) {\n";
    text += std::format(
        "        let row{0} = row_at(k + {0}u, tile, rows);\n"
        "        stage_unit(items{0}, row{0}.x, at{0}, first + row{0}.y, spare, range);\n",
        j);
  }
  text +=
      "      }\n      leave_group_end(row_at(k + group - 1u, tile, rows), thread, workgroup);\n"
      "      workgroupBarrier();  // the stage is filled\n    }\n"
      "    let end = group_ends[rank / step];\n"
      "    for (var j = 0u; j < STAGE / WORKGROUP_SIZE; j++) {\n"
      "      let i = rank % step + j * step;\n      if (i >= end - start) { break; }\n";
  text += store_staged_text(sink, "place + start + i", "part + i");
  return text + "    }\n    start = end;\n  }\n}\n";
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
    // Filled early, the stage has room for all. Slots before a window wrap to huge numbers and fail the test, too.
    text += std::format("  let kept{0} = (mask & {1}u) != 0u;\n  let to{0} = select(spare, slot, kept{0}{2});\n", k,
                        1u << k, sink.stages_early ? "" : " & (slot < STAGE)");
    if (sink.write_items) text += std::format("  staged_items[to{}] = {};\n", k, items.item("items", k));
    if (sink.write_indices)
      text += std::format("  staged_indices[to{0}] = item_index(unit * UNIT_ITEMS + {0}u, range);\n", k);
    if (k + 1 < count) text += std::format("  slot += select(0u, 1u, kept{});\n", k);
  }
  text += "}\n";
  if (sink.stages_early) {
    text += stage_early_text(items, sink, tuning);
  } else {
    text +=
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
    text += stage_rows_text(0, tuning.rows, "  ");
    text += "}\n";
  }
  text +=
      "fn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: Thread,\n"
      "              workgroup: Workgroup) {\n" +
      sink.at_start +
      "  if (thread.index == 0u) { shared_count = prefix.total; }\n"
      "  let count = workgroupUniformLoad(&shared_count);\n";
  if (sink.stages_early) {
    if (may_overflow(items, sink, tuning)) {
      text +=
          "  if (count > STAGE) {\n"
          "    store_groups(tile, rows, prefix.tile + prefix.subgroup, unit, is_full, range, thread, workgroup);\n"
          "    return;\n  }\n";
    }
    text += std::format("  {{\n    let staged_count = count;\n{}{}    }}\n  }}\n}}\n", each_staged_text,
                        store_staged_text(sink, "prefix.tile + i", "i"));
  } else {
    text +=
        "  for (var done = 0u; done < count; done += STAGE) {\n"
        "    stage_from(done, tile, rows, prefix.subgroup, unit, range, thread, workgroup);\n"
        "    workgroupBarrier();  // the stage is filled\n"
        "    let staged_count = min(STAGE, count - done);\n";
    text += each_staged_text;
    text += store_staged_text(sink, "prefix.tile + done + i", "i");
    text += "    }\n    workgroupBarrier();  // the stage may be filled again\n  }\n}\n";
  }
  builder.generated("store", text);
  builder.more_workgroup_bytes(
      4 + (sink.stage_per_thread + 1) * tuning.workgroup_size * 4 * (sink.write_items && sink.write_indices ? 2 : 1) +
      (sink.stages_early && may_overflow(items, sink, tuning) ? 4 * subgroup_slots(tuning.workgroup_size) : 0));
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
    // Not known without a pass through workgroup memory.
    for (std::uint32_t k = 0; k <= rows; ++k) {
      text +=
          std::format("fn marked_before{0}(rows: Rows) -> u32 {{ return {0}u * WORKGROUP_SIZE * UNIT_ITEMS; }}\n", k);
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
  text += counts.marked_before();
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
