// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_segments.h"

#include <algorithm>
#include <format>

#include "plan/tile_counts.h"
#include "plan/tile_select.h"

namespace upsweep {

TileAccumulator segmented_accumulator(const LoweredOperator& op, bool is_custom) {
  // The count takes a word, padded to the value's alignment.
  const std::uint32_t alignment = std::clamp(op.accumulator_bytes, 4u, 16u);
  return {.type = "Accumulator",
          .size_bytes = op.accumulator_bytes + alignment,
          .members = {{"value", op.accumulator}, {"heads", "u32"}},
          .commutative = false,
          .is_custom = is_custom};
}

std::string segmented_operator(const LoweredOperator& op, bool is_custom) {
  // A caller's operator never sees values of two segments.
  const std::string combine = words_of_type(op.accumulator) != 0 && !is_custom
                                  ? "  return Accumulator(select(combine_values(a.value, b.value), b.value, b.heads != "
                                    "0u), a.heads + b.heads);\n"
                                  : "  if (b.heads != 0u) { return Accumulator(b.value, a.heads + b.heads); }\n"
                                    "  return Accumulator(combine_values(a.value, b.value), a.heads);\n";
  return std::format(
      "fn combine(a: Accumulator, b: Accumulator) -> Accumulator {{\n{}}}\n"
      "fn identity() -> Accumulator {{ return Accumulator(no_value(), 0u); }}\n",
      combine);
}

namespace {

// start_lane(lanes, lane): the last of the lanes up to `lane` that is set, or 0.
std::string start_lane_function(const DeviceTraits& traits) {
  if (traits.subgroup_max_size <= 32) {
    return "fn start_lane(lanes: vec4u, lane: u32) -> u32 {\n"
           "  let heads = lanes.x & (0xffffffffu >> (31u - lane));\n"
           "  return select(firstLeadingBit(heads), 0u, heads == 0u);\n}\n";
  }
  return "fn start_lane(lanes: vec4u, lane: u32) -> u32 {\n  var found = 0u;\n"
         "  for (var word = 0u; word < 4u; word++) {\n"
         "    let last = select(min(lane - word * 32u, 31u), 0u, lane < word * 32u);\n"
         "    let heads = select(lanes[word] & (0xffffffffu >> (31u - last)), 0u, lane < word * 32u);\n"
         "    found = select(word * 32u + firstLeadingBit(heads), found, heads == 0u);\n  }\n  return found;\n}\n";
}

// Statements that scan the heads of all rows, several to a word: c{k} before the lane in row k, n{k} in the whole row.
std::string packed_head_scan(std::uint32_t rows, const DeviceTraits& traits) {
  // 8 bits hold a row of at most 63 lanes.
  const std::uint32_t bits = traits.subgroup_max_size <= 32 ? 8 : 16;
  const std::uint32_t per_word = 32 / bits;
  std::string text;
  for (std::uint32_t w = 0; w * per_word < rows; ++w) {
    std::string packed;
    for (std::uint32_t k = w * per_word; k < std::min(rows, (w + 1) * per_word); ++k) {
      packed += std::format("{}(rows.r{}.heads << {}u)", packed.empty() ? "" : " | ", k, bits * (k % per_word));
    }
    text += std::format(
        "  let p{0} = {1};\n  let x{0} = subgroupExclusiveAdd(p{0});\n  let y{0} = subgroupShuffle(x{0} + p{0}, "
        "last);\n",
        w, packed);
    for (std::uint32_t k = w * per_word; k < std::min(rows, (w + 1) * per_word); ++k) {
      text += std::format("  let c{0} = (x{1} >> {2}u) & {3}u;\n  let n{0} = (y{1} >> {2}u) & {3}u;\n", k, w,
                          bits * (k % per_word), (1u << bits) - 1);
    }
  }
  return text;
}

}  // namespace

std::string segment_scan_text(bool is_custom, const DeviceTraits& traits, std::uint32_t lanes) {
  const auto step = [&](std::uint32_t distance) {
    const std::string fold =
        is_custom
            ? std::format("if (thread.lane >= start + {}u) {{ folded = combine_values(left, folded); }}", distance)
            : std::format("folded = select(folded, combine_values(left, folded), thread.lane >= start + {}u);",
                          distance);
    return std::format("  {{\n    let left = subgroupShuffleUp(folded, {}u);\n    {}\n  }}\n", distance, fold);
  };
  std::string text = start_lane_function(traits) +
                     "fn scan_segments(value: InnerAccumulator, start: u32, thread: Thread, workgroup: Workgroup) -> "
                     "InnerAccumulator {\n  var folded = value;\n";
  // No loop, as in subgroup_scan.shuffle.
  const std::uint32_t most = lanes == 0 ? traits.subgroup_max_size : lanes;
  for (std::uint32_t distance = 1; distance < most; distance *= 2) {
    if (lanes == 0 && distance >= 4) text += std::format("  if (workgroup.subgroup_size > {}u)\n", distance);
    text += step(distance);
  }
  return text + "  return folded;\n}\n";
}

std::string segmented_lane_scan(bool is_custom, const ScanTuning& tuning, const DeviceTraits& traits) {
  const std::uint32_t rows = tuning.rows;
  // A caller's operator must not see what a shuffle from no lane gives, nor values of two segments.
  std::string text = segment_scan_text(is_custom, traits);
  text +=
      "fn scan_rows(rows: Rows, thread: Thread, workgroup: Workgroup) -> ScannedRows {\n"
      "  let last = workgroup.subgroup_size - 1u;\n";
  text += packed_head_scan(rows, traits);
  std::string list;
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += std::format(
        "  let v{0} = scan_segments(rows.r{0}.value, start_lane(subgroupBallot(rows.r{0}.heads != 0u), thread.lane), "
        "thread, "
        "workgroup);\n"
        "  let e{0} = Accumulator(select(no_value(), subgroupShuffleUp(v{0}, 1u), thread.lane > 0u), c{0});\n"
        "  let w{0} = Accumulator(subgroupShuffle(v{0}, last), n{0});\n",
        k);
    text += k == 0 ? "  let t0 = w0;\n" : std::format("  let t{} = combine(t{}, w{});\n", k, k - 1, k);
    list += k == 0 ? std::string("e0") : std::format(", combine(t{}, e{})", k - 1, k);
  }
  return text + std::format("  return ScannedRows(Rows({}), t{});\n}}\n", list, rows - 1);
}

std::string segmented_tile(std::uint32_t unit_items, bool is_custom, const ScanTuning& tuning,
                           const DeviceTraits& traits) {
  const std::uint32_t rows = tuning.rows;
  const std::uint32_t mask_words = (rows + 7) / 8;
  const auto at = [](std::uint32_t k) { return std::format("unit + {}u * step", k); };
  const auto unit_of = [&](std::uint32_t k) {
    std::string text = "Unit(";
    for (std::uint32_t j = 0; j < unit_items; ++j) text += std::format("tile.x{}_{}, ", k, j);
    return text + mask_of(k) + ")";
  };
  std::string text = "struct Tile {\n";
  for (std::uint32_t k = 0; k < rows; ++k) {
    for (std::uint32_t j = 0; j < unit_items; ++j) text += std::format("  x{}_{}: InnerAccumulator,\n", k, j);
  }
  for (std::uint32_t w = 0; w < mask_words; ++w) text += std::format("  masks{}: u32,\n", w);
  text += "}\nfn load_tile(unit: u32, step: u32, is_full: bool, range: Range) -> Tile {\n";
  for (const bool full : {true, false}) {
    text += load_rows_text(rows, full);
    const std::string_view indent = full ? "    " : "  ";
    for (std::uint32_t k = 0; k < rows; ++k)
      text += std::format("{0}let u{1} = import_{2}unit(l{1}, {3}, range);\n", indent, k, full ? "" : "edge_", at(k));
    text += std::format("{}return Tile(", indent);
    for (std::uint32_t k = 0; k < rows; ++k) {
      for (std::uint32_t j = 0; j < unit_items; ++j) text += std::format("u{}.v{}, ", k, j);
    }
    for (std::uint32_t w = 0; w < mask_words; ++w) {
      for (std::uint32_t k = 8 * w; k < std::min(rows, 8 * w + 8); ++k)
        text += std::format("{}(u{}.heads << {}u)", k % 8 == 0 ? "" : " | ", k, 4 * (k % 8));
      text += w + 1 < mask_words ? ", " : ");\n";
    }
    text += full ? "  }\n" : "}\n";
  }
  text +=
      "// anew: bit k, if a segment begins before or in row k of the lane, after the scan before it.\nstruct Rows {\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  r{}: InnerAccumulator,\n", k);
  text += "  anew: u32,\n}\nfn tile_rows(tile: Tile, unit: u32, step: u32, range: Range) -> Rows {\n  var anew = 0u;\n";
  std::string list;
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += std::format("  anew |= select(0u, {}u, {} != 0u);\n", 1u << k, mask_of(k));
    list += std::format("unit_total({}, {}, range).value, ", unit_of(k), at(k));
  }
  text += std::format("  return Rows({}anew);\n}}\n", list) + segment_scan_text(is_custom, traits);
  text +=
      std::format("fn lanes_before(lane: u32) -> vec4u {{\n{}}}\n",
                  traits.subgroup_max_size <= 32
                      ? "  return vec4u((1u << lane) - 1u, 0u, 0u, 0u);\n"
                      : "  let low = vec4u(0u, 32u, 64u, 96u);\n"
                        "  let bits = min(max(vec4u(lane), low) - low, vec4u(32u));\n"
                        "  return select((vec4u(1u) << (bits & vec4u(31u))) - vec4u(1u), vec4u(0xffffffffu), bits == "
                        "vec4u(32u));\n");
  const auto combine_unless = [&](std::string_view name, std::string_view left, std::string_view right,
                                  std::string_view is_anew) {
    return is_custom
               ? std::format("  var {0} = {2};\n  if (!{3}) {{ {0} = combine_values({1}, {2}); }}\n", name, left, right,
                             is_anew)
               : std::format("  let {0} = select(combine_values({1}, {2}), {2}, {3});\n", name, left, right, is_anew);
  };
  text +=
      "fn scan_rows(rows: Rows, thread: Thread, workgroup: Workgroup) -> ScannedRows {\n"
      "  let last = workgroup.subgroup_size - 1u;\n  let earlier = lanes_before(thread.lane);\n  var anew = 0u;\n";
  list.clear();
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += std::format(
        "  let lanes{0} = subgroupBallot((rows.anew & {1}u) != 0u);\n"
        "  let v{0} = scan_segments(rows.r{0}, start_lane(lanes{0}, thread.lane), thread, workgroup);\n"
        "  let e{0} = select(no_value(), subgroupShuffleUp(v{0}, 1u), thread.lane > 0u);\n"
        "  let w{0} = subgroupShuffle(v{0}, last);\n"
        "  let is_row{0} = any(lanes{0} != vec4u(0u));\n"
        "  let is_lane{0} = any((lanes{0} & earlier) != vec4u(0u));\n",
        k, 1u << k);
    if (k == 0) {
      text += "  anew |= select(0u, 1u, is_lane0);\n";
      list = "e0, ";
      continue;
    }
    const std::string before = k == 1 ? "w0" : std::format("t{}", k - 1);
    const std::string is_any = k == 1 ? "is_row0" : std::format("is_any{}", k - 1);
    text += std::format("  anew |= select(0u, {}u, is_lane{} | {});\n  let is_any{} = {} | is_row{};\n", 1u << k, k,
                        is_any, k, is_any, k);
    text += combine_unless(std::format("b{}", k), before, std::format("e{}", k), std::format("is_lane{}", k));
    text += combine_unless(std::format("t{}", k), before, std::format("w{}", k), std::format("is_row{}", k));
    list += std::format("b{}, ", k);
  }
  return text + std::format("  return ScannedRows(Rows({}anew), Accumulator({}, select(0u, 1u, {})));\n}}\n", list,
                            rows == 1 ? std::string("w0") : std::format("t{}", rows - 1),
                            rows == 1 ? std::string("is_row0") : std::format("is_any{}", rows - 1));
}

std::string segmented_store(std::uint32_t unit_items, const ScanTuning& tuning) {
  std::string text =
      "fn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  let step = unit_step(workgroup);\n  let before = combine(prefix.tile, prefix.subgroup);\n";
  for (std::uint32_t k = 0; k < tuning.rows; ++k) {
    text += "  store_unit(Unit(";
    for (std::uint32_t j = 0; j < unit_items; ++j) text += std::format("tile.x{}_{}, ", k, j);
    text += std::format(
        "{0}), unit + {1}u * step,\n             combine(before, Accumulator(rows.r{1}, (rows.anew >> {1}u) & 1u)), "
        "is_full, range);\n",
        mask_of(k), k);
  }
  return text + "}\n";
}

namespace {

// Tile and load_tile().
std::string load_text(const TileItems& keys, std::uint32_t rows) {
  const std::uint32_t count = keys.unit_items;
  const std::uint32_t mask_words = (rows + 7) / 8;
  const auto at = [](std::uint32_t k) { return std::format("unit + {}u * step", k); };
  std::string text = "struct Tile {\n";
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += std::format("  u{}: RawUnit,\n", k);
    for (std::uint32_t j = 0; j < count; ++j) text += std::format("  x{}_{}: InnerAccumulator,\n", k, j);
  }
  for (std::uint32_t w = 0; w < mask_words; ++w) text += std::format("  masks{}: u32,\n", w);
  text += "}\nfn load_tile(unit: u32, step: u32, is_full: bool, range: Range) -> Tile {\n  var tile: Tile;\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  let b{} = load_before({}, range);\n", k, at(k));
  for (std::uint32_t w = 0; w < mask_words; ++w) text += std::format("  var inside{} = 0xffffffffu;\n", w);
  for (const bool full : {true, false}) {
    text += full ? "  if (is_full) {\n"
                 : "  } else {\n    let ends = load_ends(range);\n    let value_ends = load_value_ends(range);\n";
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += full ? std::format("    tile.u{} = load_items({}, range);\n", k, at(k))
                   : std::format("    tile.u{} = load_edge_items({}, ends, range);\n", k, at(k));
    }
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += std::format("    let v{} = {}, range);\n", k,
                          full ? "load_values(" + at(k) : "load_edge_values(" + at(k) + ", value_ends");
    }
    for (std::uint32_t k = 0; k < rows; ++k) {
      if (!full) text += std::format("    let i{} = inside_mask({}, range);\n", k, at(k));
      for (std::uint32_t j = 0; j < count; ++j) {
        const std::string value = std::format("value_item{}(v{}, {}, range)", j, k, at(k));
        text += full ? std::format("    tile.x{}_{} = {};\n", k, j, value)
                     : std::format("    tile.x{}_{} = keep_inside({}, (i{} & {}u) != 0u);\n", k, j, value, k, 1u << j);
      }
    }
    for (std::uint32_t w = 0; w < mask_words && !full; ++w) {
      text += std::format("    inside{} = ", w);
      for (std::uint32_t k = 8 * w; k < std::min(rows, 8 * w + 8); ++k)
        text += std::format("{}(i{} << {}u)", k % 8 == 0 ? "" : " | ", k, 4 * (k % 8));
      text += ";\n";
    }
  }
  text += "  }\n";
  for (std::uint32_t w = 0; w < mask_words; ++w) {
    text += std::format("  tile.masks{} = (", w);
    for (std::uint32_t k = 8 * w; k < std::min(rows, 8 * w + 8); ++k) {
      text += std::format("{}(heads_of(tile.u{}, b{}, {}, range) << {}u)", k % 8 == 0 ? "" : " |\n      ", k, k, at(k),
                          4 * (k % 8));
    }
    text += std::format(") & inside{};\n", w);
  }
  text += "  return tile;\n}\n";
  return text;
}

// Of a window or a row of units only what lies behind its last head is added up: sums of all lanes instead of scans of
// accumulators (H200, 2026-12-02: reduction by key at 2^22 20.0 us instead of 21.5).
constexpr std::string_view difference_windows =
    "fn add_window(value: Accumulator, nearer: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {\n"
    "  let nearest = first_lane(subgroupBallot(value.heads != 0u));\n"
    "  let open = subgroupAdd(select(no_value(), value.sum - value.last, thread.lane <= nearest));\n"
    "  let heads = subgroupAdd(value.heads) + nearer.heads;\n"
    "  return Accumulator(select(nearer.sum, open + nearer.sum, nearer.heads == 0u), heads, no_value());\n}\n"
    "fn add_unit(total: Accumulator, value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {\n"
    "  let last = subgroupMax(select(0u, thread.lane, value.heads != 0u));\n"
    "  let open = subgroupAdd(select(no_value(), value.sum - value.last, thread.lane >= last));\n"
    "  let heads = subgroupAdd(value.heads);\n"
    "  return Accumulator(select(open, open + total.sum, heads == 0u), heads + total.heads, no_value());\n}\n"
    "fn end_windows(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {\n"
    "  return value;\n}\n";

}  // namespace

TileAccumulator difference_accumulator(const LoweredOperator& op) {
  return {.type = "Accumulator",
          .size_bytes = 3 * op.accumulator_bytes,
          .members = {{"sum", op.accumulator}, {"heads", "u32"}, {"last", op.accumulator}},
          .commutative = false,
          // To those behind only the difference matters.
          .recorded = {"value.sum - value.last", "value.heads", ""},
          .windows = std::string(difference_windows)};
}

std::string difference_operator() {
  return "fn combine(a: Accumulator, b: Accumulator) -> Accumulator {\n"
         "  return Accumulator(a.sum + b.sum, a.heads + b.heads, select(a.last, a.sum + b.last, b.heads != 0u));\n}\n"
         "fn identity() -> Accumulator { return Accumulator(no_value(), 0u, no_value()); }\n"
         "// The sum of a unit's items before its last head.\n"
         "fn sum_to_head(x0: InnerAccumulator, x1: InnerAccumulator, x2: InnerAccumulator, mask: u32) -> "
         "InnerAccumulator {\n"
         "  return select(no_value(), x0, mask > 1u) + select(no_value(), x1, mask > 3u) + select(no_value(), x2, mask "
         "> "
         "7u);\n}\n";
}

std::string difference_tile(const TileItems& keys, const TileAccumulator& accumulator, const ScanTuning& tuning,
                            bool lanes, const DeviceTraits& traits) {
  const std::uint32_t rows = tuning.rows;
  const std::uint32_t count = keys.unit_items;
  const bool by_shuffles = lanes && scans_by_lanes(accumulator, tuning, traits) && rows <= 8;
  std::string text = load_text(keys, rows);
  const auto sum = [&](std::uint32_t k) {
    std::string terms;
    for (std::uint32_t j = 0; j < count; ++j) terms += std::format("{}tile.x{}_{}", j == 0 ? "" : " + ", k, j);
    return terms;
  };
  const auto to_head = [&](std::uint32_t k) {
    std::string terms;
    for (std::uint32_t j = 0; j < 3; ++j)
      terms += j + 1 < count ? std::format("tile.x{}_{}, ", k, j) : std::string("no_value(), ");
    return std::format("sum_to_head({}{})", terms, mask_of(k));
  };
  constexpr std::string_view tile_rows_head =
      "fn tile_rows(tile: Tile, unit: u32, step: u32, range: Range) -> Rows {\n";
  if (!by_shuffles) {
    text += "struct Rows {\n";
    for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  r{}: Accumulator,\n", k);
    text += std::format("}}\n{}  return Rows(", tile_rows_head);
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += std::format("{}Accumulator({}, countOneBits({}), {})", k == 0 ? "" : ",\n              ", sum(k),
                          mask_of(k), to_head(k));
    }
    text += ");\n}\n";
    for (std::uint32_t k = 0; k < rows; ++k) {
      text += std::format(
          "fn row_sum{0}(rows: Rows) -> InnerAccumulator {{ return rows.r{0}.sum; }}\n"
          "fn row_before{0}(rows: Rows) -> u32 {{ return rows.r{0}.heads; }}\n",
          k);
    }
    return text + (lanes ? row_scan_text(rows) : "");
  }
  // e: sums, then those before in the subgroup; r, t: counts as of marked tiles; last_row: + 1, of the thread's last
  // head; to_head: the sum before it in its unit.
  const PackedCounts counts(rows, traits);
  text += "struct Rows {\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  e{}: InnerAccumulator,\n", k);
  for (std::uint32_t w = 0; w < counts.words(); ++w) text += std::format("  r{0}: u32,\n  t{0}: u32,\n", w);
  text += std::format("  last_row: u32,\n  to_head: InnerAccumulator,\n}}\n{}  var to_head = no_value();\n",
                      tile_rows_head);
  for (std::uint32_t k = 0; k < rows; ++k)
    text += std::format("  to_head = select(to_head, {}, {} != 0u);\n", to_head(k), mask_of(k));
  text += "  return Rows(";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("{},\n              ", sum(k));
  text += counts.packed_rows();
  text += "(35u - countLeadingZeros(tile.masks0)) / 4u, to_head);\n}\n" + counts.rows_before();
  for (std::uint32_t k = 0; k < rows; ++k)
    text += std::format("fn row_sum{0}(rows: Rows) -> InnerAccumulator {{ return rows.e{0}; }}\n", k);
  text +=
      "fn scan_rows(rows: Rows, thread: Thread, workgroup: Workgroup) -> ScannedRows {\n"
      "  let last = workgroup.subgroup_size - 1u;\n";
  std::string list;
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  let i{0} = subgroupInclusiveAdd(rows.e{0});\n", k);
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += std::format("  let e{0} = {1}i{0} - rows.e{0};\n  let s{0} = {1}subgroupShuffle(i{0}, last);\n", k,
                        k == 0 ? std::string() : std::format("s{} + ", k - 1));
    list += std::format("e{}, ", k);
  }
  for (std::uint32_t w = 0; w < counts.words(); ++w) {
    text += std::format(
        "  let c{0} = subgroupExclusiveAdd(rows.r{0});\n  let t{0} = subgroupShuffle(c{0} + rows.r{0}, last);\n", w);
    list += std::format("c{0}, t{0}, ", w);
  }
  text += "  var at_head = rows.to_head + e0;\n";
  for (std::uint32_t k = 1; k < rows; ++k)
    text += std::format("  at_head = select(at_head, rows.to_head + e{}, rows.last_row == {}u);\n", k, k + 1);
  return text + std::format(
                    "  // The last row with heads, then the last lane in it.\n"
                    "  let owner = subgroupMax(rows.last_row * 128u + thread.lane) % 128u;\n"
                    "  let last_head = subgroupShuffle(at_head, owner);\n"
                    "  return ScannedRows(Rows({}0u, no_value()), Accumulator(s{}, {}, last_head));\n}}\n",
                    list, rows - 1, counts.sum("t"));
}

}  // namespace upsweep
