// SPDX-License-Identifier: Apache-2.0
#include "plan/merge_tiles.h"

#include <algorithm>
#include <bit>
#include <format>

#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

constexpr std::uint32_t most_merged_items = 65535;  // sources have 16 bits

bool has_values(const MergeLayout& layout) { return layout.values != MergeValues::none; }

// Text for each of a thread's items, {0} its number.
std::string each_item(const MergeLayout& layout, std::string_view line) {
  std::string text;
  for (std::uint32_t i = 0; i < layout.items_per_thread; ++i) text += std::vformat(line, std::make_format_args(i));
  return text;
}

// load_left, load_right: keys.
std::string keys_text(const MergeLayout& layout) {
  const MovedItem key = moved_item(layout.key);
  const auto binding = [&](std::uint32_t number, std::string_view name) {
    return std::format("@group(0) @binding({}) var<storage, read> {}: array<{}>;\n", number, name, key.stored);
  };
  if (layout.source == MergeSource::runs) {
    return binding(1, "keys_in") + load_function("load_left", key, "keys_in", "left_keys_first") +
           "fn load_right(at: u32) -> RawKey { return load_left(at); }\n";
  }
  return binding(1, "left_keys") + binding(2, "right_keys") +
         load_function("load_left", key, "left_keys", "left_keys_first") +
         load_function("load_right", key, "right_keys", "right_keys_first");
}

// load_tile: the keys of both ranges into the stage. Places behind the last item hold copies of it.
std::string load_text(const MergeLayout& layout) {
  std::string text = "fn load_tile(ranges: Ranges, thread: Thread) {\n";
  text += each_item(layout, "  let m{0} = min(thread.index + {0}u * WORKGROUP_SIZE, max(ranges.room, 1u) - 1u);\n");
  if (layout.source == MergeSource::runs) {
    text += each_item(layout,
                      "  let x{0} = load_left(select(ranges.right_begin + m{0} - ranges.left_room,\n"
                      "                              ranges.left_begin + m{0}, m{0} < ranges.left_room));\n");
  } else {
    text += each_item(layout,
                      "  var x{0}: RawKey;\n"
                      "  if (m{0} < ranges.left_room) {{ x{0} = load_left(ranges.left_begin + m{0}); }}\n"
                      "  else {{ x{0} = load_right(ranges.right_begin + m{0} - ranges.left_room); }}\n");
  }
  text += each_item(layout, "  stage_keys[thread.index + {0}u * WORKGROUP_SIZE] = x{0};\n");
  return text + "}\n";
}

// Merged: the keys of a thread's places in order, and where they came from; merge_stage, put_merged.
std::string merge_text(const MergeLayout& layout) {
  const bool values = has_values(layout);
  std::string text = "struct Merged {\n" + each_item(layout, "  k{0}: RawKey,\n");
  if (values) text += each_item(layout, "  s{0}: u32,\n");
  text += "}\nfn pick_key(a: RawKey, b: RawKey, second: bool) -> RawKey {";
  text += layout.key.is_struct() ? " if (second) { return b; } return a; }\n" : " return select(a, b, second); }\n";
  // The caller's function is given items only; the library's own costs less than a branch.
  const bool branches = !layout.order.is_natural();
  text += std::format(
      "fn takes_right(left: u32, left_end: u32, right: u32, right_end: u32, left_key: RawKey, right_key: RawKey) -> "
      "bool {{\n  return (right < right_end) {0} ((left >= left_end) {1} comes_before(right_key, left_key));\n}}\n",
      branches ? "&&" : "&", branches ? "||" : "|");
  text +=
      "fn merge_stage(left_first: u32, left_end: u32, right_first: u32, right_end: u32) -> Merged {\n"
      "  var merged: Merged;\n"
      "  var left = left_first;\n"
      "  var right = right_first;\n"
      "  var left_key = stage_keys[min(left, LAST_PLACE)];\n"
      "  var right_key = stage_keys[min(right, LAST_PLACE)];\n";
  std::string step =
      "  {{\n"
      "    let second = takes_right(left, left_end, right, right_end, left_key, right_key);\n"
      "    let place = select(left, right, second);\n"
      "    merged.k{0} = pick_key(left_key, right_key, second);\n";
  if (values) step += "    merged.s{0} = origin_of(min(place, LAST_PLACE));\n";
  step +=
      "    let next = stage_keys[min(place + 1u, LAST_PLACE)];\n"
      "    left_key = pick_key(next, left_key, second);\n"
      "    right_key = pick_key(right_key, next, second);\n"
      "    left = select(place + 1u, left, second);\n"
      "    right = select(right, place + 1u, second);\n"
      "  }}\n";
  text += each_item(layout, step) + "  return merged;\n}\n";
  text += "fn put_merged(merged: Merged, thread: Thread) {\n  let base = thread.index * ITEMS_PER_THREAD;\n";
  text += each_item(layout, "  stage_keys[base + {0}u] = merged.k{0};\n");
  for (std::uint32_t i = 0; values && i < layout.items_per_thread; i += 2) {
    const std::string upper = i + 1 < layout.items_per_thread ? std::format(" | (merged.s{} << 16u)", i + 1) : "";
    text += std::format("  stage_sources[thread.index * SOURCE_WORDS + {}u] = merged.s{}{};\n", i / 2, i, upper);
  }
  return text + "}\n";
}

// Two items of 16 bits to a word; behind the last one the word keeps its upper half.
std::string store_halves_text(std::string_view function, std::string_view item, std::string_view output,
                              std::string_view first_field) {
  return std::format(
      "fn {0}(ranges: Ranges, thread: Thread) {{\n"
      "  for (var w = thread.index; 2u * w < ranges.room; w += WORKGROUP_SIZE) {{\n"
      "    let at = (params.{3} + ranges.output_begin) / 2u + w;\n"
      "    let low = {1}(2u * w, ranges);\n"
      "    if (2u * w + 1u < ranges.room) {{\n"
      "      {2}[at] = low | ({1}(2u * w + 1u, ranges) << 16u);\n"
      "    }} else {{\n"
      "      {2}[at] = ({2}[at] & 0xffff0000u) | low;\n"
      "    }}\n  }}\n}}\n",
      function, item, output, first_field);
}

std::string store_keys_text(const MergeLayout& layout) {
  const MovedItem key = moved_item(layout.key);
  std::string text = std::format("@group(0) @binding(3) var<storage, read_write> keys_out: array<{}>;\n", key.stored);
  if (key.is_half) {
    text += "fn stored_key(place: u32, ranges: Ranges) -> u32 { return stage_keys[place]; }\n";
    return text + store_halves_text("store_keys", "stored_key", "keys_out", "output_keys_first");
  }
  text +=
      "fn store_keys(ranges: Ranges, thread: Thread) {\n"
      "  let first = params.output_keys_first + ranges.output_begin + thread.index;\n"
      "  if (ranges.room == TILE_ITEMS) {\n";
  text += each_item(
      layout, "    keys_out[first + {0}u * WORKGROUP_SIZE] = stage_keys[thread.index + {0}u * WORKGROUP_SIZE];\n");
  text += "  } else {\n";
  text += each_item(layout,
                    "    if (thread.index + {0}u * WORKGROUP_SIZE < ranges.room) {{\n"
                    "      keys_out[first + {0}u * WORKGROUP_SIZE] = stage_keys[thread.index + {0}u * "
                    "WORKGROUP_SIZE];\n    }}\n");
  return text + "  }\n}\n";
}

// value_from(source, ranges) of typed or half values.
std::string value_loads_text(const MergeLayout& layout, const MovedItem& value) {
  if (layout.values == MergeValues::indices) {
    return "fn value_from(source: u32, ranges: Ranges) -> u32 { return ranges.left_begin + source; }\n";
  }
  const auto binding = [&](std::uint32_t number, std::string_view name) {
    return std::format("@group(0) @binding({}) var<storage, read> {}: array<{}>;\n", number, name, value.stored);
  };
  if (layout.source == MergeSource::runs) {
    return binding(4, "values_in") + load_function("load_value", value, "values_in", "left_values_first") +
           std::format(
               "fn value_from(source: u32, ranges: Ranges) -> {} {{\n"
               "  return load_value(select(ranges.right_begin + source - ranges.left_room,\n"
               "                           ranges.left_begin + source, source < ranges.left_room));\n}}\n",
               value.raw);
  }
  return binding(4, "left_values") + binding(5, "right_values") +
         load_function("load_left_value", value, "left_values", "left_values_first") +
         load_function("load_right_value", value, "right_values", "right_values_first") +
         std::format(
             "fn value_from(source: u32, ranges: Ranges) -> {} {{\n"
             "  if (source < ranges.left_room) {{ return load_left_value(ranges.left_begin + source); }}\n"
             "  return load_right_value(ranges.right_begin + source - ranges.left_room);\n}}\n",
             value.raw);
}

// Neighbouring threads move neighbouring words.
std::string store_words_text(const MergeLayout& layout) {
  const bool is_run = layout.source == MergeSource::runs;
  std::string text = std::format("const VALUE_WORDS = {}u;\n", layout.value_bytes / 4);
  text += is_run ? "@group(0) @binding(4) var<storage, read> values_in: array<u32>;\n"
                 : "@group(0) @binding(4) var<storage, read> left_values: array<u32>;\n"
                   "@group(0) @binding(5) var<storage, read> right_values: array<u32>;\n";
  text += "@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;\n";
  text += std::format(
      "fn value_word(source: u32, word: u32, ranges: Ranges) -> u32 {{\n"
      "  if (source < ranges.left_room) {{\n"
      "    return {}[(params.left_values_first + ranges.left_begin + source) * VALUE_WORDS + word];\n  }}\n"
      "  return {}[(params.{}_values_first + ranges.right_begin + source - ranges.left_room) * VALUE_WORDS + word];\n"
      "}}\n",
      is_run ? "values_in" : "left_values", is_run ? "values_in" : "right_values", is_run ? "left" : "right");
  return text +
         "fn store_values(ranges: Ranges, thread: Thread) {\n"
         "  let first = (params.output_values_first + ranges.output_begin) * VALUE_WORDS;\n"
         "  for (var w = thread.index; w < ranges.room * VALUE_WORDS; w += WORKGROUP_SIZE) {\n"
         "    values_out[first + w] = value_word(source_of(w / VALUE_WORDS), w % VALUE_WORDS, ranges);\n"
         "  }\n}\n";
}

std::string store_values_text(const MergeLayout& layout) {
  if (layout.values == MergeValues::words) return store_words_text(layout);
  const bool is_half = layout.values == MergeValues::halves;
  const std::uint32_t words = layout.values == MergeValues::indices ? 1 : layout.value_bytes / 4;
  const std::string raw = words <= 1 ? "u32" : std::format("vec{}u", words);
  const MovedItem value{.stored = raw, .raw = raw, .is_half = is_half};
  std::string text = value_loads_text(layout, value);
  text += std::format("@group(0) @binding(6) var<storage, read_write> values_out: array<{}>;\n", raw);
  if (is_half) {
    text += "fn stored_value_of(place: u32, ranges: Ranges) -> u32 { return value_from(source_of(place), ranges); }\n";
    return text + store_halves_text("store_values", "stored_value_of", "values_out", "output_values_first");
  }
  text += "fn store_values(ranges: Ranges, thread: Thread) {\n";
  text += each_item(layout,
                    "  let j{0} = thread.index + {0}u * WORKGROUP_SIZE;\n"
                    "  let v{0} = value_from(source_of(min(j{0}, max(ranges.room, 1u) - 1u)), ranges);\n");
  text += each_item(layout,
                    "  if (j{0} < ranges.room) {{ values_out[params.output_values_first + ranges.output_begin + j{0}] "
                    "= v{0}; }}\n");
  return text + "}\n";
}

std::string store_text(const MergeLayout& layout) {
  std::string text = store_keys_text(layout);
  if (has_values(layout)) text += store_values_text(layout);
  text += "fn store_tile(ranges: Ranges, thread: Thread) {\n";
  text += layout.may_drop_keys ? "  if (params.write_keys != 0u) { store_keys(ranges, thread); }\n"
                               : "  store_keys(ranges, thread);\n";
  if (has_values(layout)) text += "  store_values(ranges, thread);\n";
  return text + "}\n";
}

}  // namespace

std::uint32_t MergeLayout::workgroup_bytes() const {
  const std::uint32_t sources = has_values(*this) ? 4 * workgroup_size * source_words() : 0;
  return (tile_items() * key_bytes() + 15) / 16 * 16 + (sources + 15) / 16 * 16 + (splits_ahead ? 0 : 16);
}

MergeValues merge_values_of(const ElementType& value) {
  if (value.scalar == Scalar::f16) return MergeValues::halves;
  const std::uint32_t stride = value.stride_bytes;
  return stride == 4 || stride == 8 || stride == 16 ? MergeValues::items : MergeValues::words;
}

Status fit_merge_tile(MergeLayout& layout, const DeviceTraits& traits, std::string_view call) {
  layout.workgroup_size = std::min(layout.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  const auto fits = [&] {
    return std::uint64_t{layout.tile_items()} * layout.key_bytes() <= traits.max_workgroup_bytes &&
           layout.workgroup_bytes() <= traits.max_workgroup_bytes && layout.tile_items() <= most_merged_items;
  };
  while (!fits()) {
    if (layout.items_per_thread > 1) {
      layout.items_per_thread -= layout.items_per_thread % 2 == 0 ? 1 : 2;
    } else if (layout.workgroup_size > 2) {
      layout.workgroup_size /= 2;
    } else {
      return fail(ErrorKind::unsupported,
                  std::format("{} of keys of {} bytes does not fit into the device's workgroup memory ({} bytes).",
                              call, layout.key.stride_bytes, traits.max_workgroup_bytes));
    }
  }
  return {};
}

KernelBuilder start_merge_tile_kernel(std::string name, const MergeLayout& layout) {
  KernelBuilder builder(std::move(name));
  builder.workgroup(layout.workgroup_size, layout.workgroup_bytes());
  add_entry(builder, Entry::plain, {});
  builder.constant("ITEMS_PER_THREAD", layout.items_per_thread).constant("TILE_ITEMS", layout.tile_items());
  add_order(builder, layout.key, layout.order);
  builder.part("merge_params.wgsl").part("merge_ranges.wgsl");
  builder.generated("keys", keys_text(layout));
  builder.part("grid.wgsl").part("merge_stage.wgsl");
  if (has_values(layout)) {
    builder.constant("SOURCE_WORDS", layout.source_words());
    builder.part("merge_sources.wgsl");
  }
  builder.generated("unrolled", load_text(layout) + merge_text(layout) + store_text(layout));
  return builder;
}

std::string merge_counts_text(const MergeLayout& layout) {
  std::string text;
  const auto count = [&](std::string_view side, std::uint32_t binding, bool on_device) {
    if (!on_device) return std::format("params.{}_count", side);
    text += std::format("@group(0) @binding({}) var<storage, read> {}_counts: array<u32>;\n", binding, side);
    return std::format("min({0}_counts[params.{0}_count_first], params.{0}_count)", side);
  };
  const std::string left = count("left", 8, layout.counts_left);
  const std::string right = count("right", 9, layout.counts_right);
  return text + std::format("fn range_counts() -> vec2u {{ return vec2u({}, {}); }}\n", left, right);
}

MergeKernel merge_splits_kernel(std::string name, const MergeLayout& layout) {
  KernelBuilder builder(std::move(name));
  builder.workgroup(std::min(layout.workgroup_size, merge_small_workgroup), 0);
  add_entry(builder, Entry::plain, {});
  builder.constant("TILE_ITEMS", layout.tile_items());
  add_order(builder, layout.key, layout.order);
  builder.part("merge_params.wgsl");
  builder.generated("counts", merge_counts_text(layout));
  builder.generated("keys", keys_text(layout));
  builder.part(layout.source == MergeSource::runs ? "merge_pairs.runs.wgsl" : "merge_pairs.arrays.wgsl");
  builder.part("grid.wgsl").part("merge_split_pair.wgsl").part("merge_splits.wgsl");
  return std::move(builder).build();
}

MergeKernel merge_tiles_kernel(std::string name, const MergeLayout& layout) {
  KernelBuilder builder = start_merge_tile_kernel(std::move(name), layout);
  if (has_values(layout)) {
    builder.generated("adapters", "fn origin_of(place: u32) -> u32 { return place; }\n");
  }
  builder.part(layout.source == MergeSource::runs ? "merge_pairs.runs.wgsl" : "merge_pairs.arrays.wgsl");
  if (layout.splits_ahead) {
    builder.part("merge_tile_splits.ahead.wgsl");
  } else {
    builder.generated("counts", merge_counts_text(layout));
    builder.part("merge_split_pair.wgsl").part("merge_tile_splits.here.wgsl");
  }
  builder.part("merge_tiles.wgsl");
  return std::move(builder).build();
}

}  // namespace upsweep
