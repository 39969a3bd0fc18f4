// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_segments.h"

#include <algorithm>
#include <format>

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

std::string segmented_lane_scan(bool is_custom, const ScanTuning& tuning, const DeviceTraits& traits) {
  const std::uint32_t rows = tuning.rows;
  // A caller's operator must not see what a shuffle from no lane gives, nor values of two segments.
  std::string text = start_lane_function(traits);
  text += std::format(
      "fn scan_segments(value: InnerAccumulator, start: u32, thread: Thread, workgroup: Workgroup) -> InnerAccumulator "
      "{{\n"
      "  var folded = value;\n"
      "  for (var distance = 1u; distance < workgroup.subgroup_size; distance *= 2u) {{\n"
      "    let left = subgroupShuffleUp(folded, distance);\n{}  }}\n  return folded;\n}}\n",
      is_custom ? "    if (thread.lane >= start + distance) { folded = combine_values(left, folded); }\n"
                : "    folded = select(folded, combine_values(left, folded), thread.lane >= start + distance);\n");
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

}  // namespace upsweep
