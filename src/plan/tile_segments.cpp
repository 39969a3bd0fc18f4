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
  const std::string combine =
      words_of_type(op.accumulator) != 0 && !is_custom
          ? "  return Accumulator(select(combine_values(a.value, b.value), b.value, b.heads != 0u), a.heads + b.heads);\n"
          : "  if (b.heads != 0u) { return Accumulator(b.value, a.heads + b.heads); }\n"
            "  return Accumulator(combine_values(a.value, b.value), a.heads);\n";
  return std::format(
      "fn combine(a: Accumulator, b: Accumulator) -> Accumulator {{\n{}}}\n"
      "fn identity() -> Accumulator {{ return Accumulator(no_value(), 0u); }}\n",
      combine);
}

}  // namespace upsweep
