// SPDX-License-Identifier: Apache-2.0
#include "primitives/top_k/top_k_kernels.h"

#include <algorithm>
#include <format>

#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

// Threads' values that one raking thread adds up.
constexpr std::uint32_t rake = 16;
constexpr std::uint32_t small_workgroup = 256;

std::string item_count_text(const TopKLayout& layout) {
  if (!layout.items_on_device) return "fn item_count() -> u32 { return params.item_count; }\n";
  return "@group(0) @binding(7) var<storage, read> item_counts: array<u32>;\n"
         "fn item_count() -> u32 { return min(item_counts[params.count_first], params.item_count); }\n";
}

std::string wanted_count_text(const TopKLayout& layout) {
  if (!layout.k_on_device) return "fn wanted_count() -> u32 { return params.wanted_count; }\n";
  return "@group(0) @binding(8) var<storage, read> wanted_counts: array<u32>;\n"
         "fn wanted_count() -> u32 { return min(wanted_counts[params.wanted_first], params.wanted_count); }\n";
}

std::string store_count_text(bool stores) {
  if (!stores) return "fn store_count(count: u32) {}\n";
  return "@group(0) @binding(9) var<storage, read_write> count_out: array<u32>;\n"
         "fn store_count(count: u32) { count_out[params.count_out_first] = count; }\n";
}

// Inverse of ordered_bits(), but that zeros are positive and NaN have no payload.
std::string key_of_bits_text(const SortLayout& keys) {
  const auto floats = [](std::string_view ones, std::string_view nan, std::string_view sign) {
    return std::format(
        "  if (ordered == {0}) {{ return {1}; }}\n"
        "  if (ordered >= {2}) {{ return ordered - {2}; }}\n"
        "  return {2} | ({2} - ordered);\n",
        ones, nan, sign);
  };
  std::string text;
  if (keys.is_f64) {
    text =
        "  if (all(ordered == vec2u(0xffffffffu))) { return vec2u(0u, 0x7ff80000u); }\n"
        "  if (ordered.y >= 0x80000000u) { return vec2u(ordered.x, ordered.y - 0x80000000u); }\n"
        "  let high = 0x80000000u - ordered.y - u32(ordered.x != 0u);\n"
        "  return vec2u(0u - ordered.x, high | 0x80000000u);\n";
  } else {
    switch (keys.key) {
      case Scalar::f32: text = floats("0xffffffffu", "0x7fc00000u", "0x80000000u"); break;
      case Scalar::f16: text = floats("0xffffu", "0x7e00u", "0x8000u"); break;
      case Scalar::i32: text = "  return ordered ^ 0x80000000u;\n"; break;
      case Scalar::i64: text = "  return ordered ^ vec2u(0u, 0x80000000u);\n"; break;
      default: text = "  return ordered;\n"; break;
    }
  }
  const std::string_view mask = keys.key == Scalar::f16 ? " & 0xffffu" : "";
  return std::format("fn key_of_bits(bits: Key) -> Key {{\n  let ordered = {}{};\n{}}}\n",
                     keys.descending ? "~bits" : "bits", mask, text);
}

std::string store_threshold_text(const TopKLayout& layout, bool stores) {
  if (!stores) return "fn store_threshold(bits: Key) {}\n";
  return key_of_bits_text(layout.caller) +
         "@group(0) @binding(6) var<storage, read_write> threshold: array<Key>;\n"
         "fn store_threshold(bits: Key) { threshold[params.threshold_first] = key_of_bits(bits); }\n";
}

// count_SOURCE(length, group, thread): counts the keys of an array, with all loads of a tile in flight.
std::string count_text(std::string_view source, std::string_view array, std::string_view first,
                       std::uint32_t items_per_thread) {
  std::string loads;
  std::string counts;
  for (std::uint32_t i = 0; i < items_per_thread; ++i) {
    loads += std::format("    let k{0} = {1}[first + {0}u * WORKGROUP_SIZE];\n", i, array);
    counts += std::format("    count_key(k{});\n", i);
  }
  return std::format(
      "fn count_{0}(length: u32, group: u32, thread: Thread) {{\n"
      "  let full_tiles = length / TILE_ITEMS;\n"
      "  for (var tile = group; tile < full_tiles; tile += params.workgroup_count) {{\n"
      "    let first = {2}tile * TILE_ITEMS + thread.index;\n{3}{4}  }}\n"
      "  if (group == full_tiles % params.workgroup_count) {{\n"
      "    for (var i = full_tiles * TILE_ITEMS + thread.index; i < length; i += WORKGROUP_SIZE) {{\n"
      "      count_key({1}[{2}i]);\n    }}\n  }}\n}}\n",
      source, array, first, loads, counts);
}

// Counts of a thread's digits, all loads in flight at once; zeros are left behind.
std::string counts_text(std::uint32_t digits, std::uint32_t digits_per_thread) {
  std::string members;
  std::string takes;
  std::string sum;
  std::string tries;
  for (std::uint32_t i = 0; i < digits_per_thread; ++i) {
    members += std::format("  c{}: u32,\n", i);
    takes += std::format("    own.c{0} = atomicLoad(&counts[first + {0}u]);\n", i);
    sum += std::format("{}own.c{}", i == 0 ? "" : " + ", i);
    tries += std::format("  try_digit(first + {0}u, sum, own.c{0}, start);\n", i);
    if (i + 1 < digits_per_thread) tries += std::format("  sum += own.c{};\n", i);
  }
  for (std::uint32_t i = 0; i < digits_per_thread; ++i) {
    takes += std::format("    atomicStore(&counts[first + {}u], 0u);\n", i);
  }
  return std::format(
      "struct Counts {{\n{0}}}\n"
      "fn take_counts(first: u32) -> Counts {{\n  var own: Counts;\n  if (first < {1}u) {{\n{2}  }}\n  return "
      "own;\n}}\n"
      "fn sum_of(own: Counts) -> u32 {{ return {3}; }}\n"
      "fn try_digits(first: u32, before: u32, own: Counts, start: Start) {{\n  var sum = before;\n{4}}}\n",
      members, digits, takes, sum, tries);
}

std::string word_type(std::uint32_t words) { return words == 1 ? "u32" : "vec2u"; }

KernelBuilder start_kernel(const std::string& name, std::uint32_t threads, std::uint32_t workgroup_bytes) {
  KernelBuilder builder(name);
  builder.workgroup(threads, workgroup_bytes);
  add_entry(builder, Entry::plain, {});
  return builder;
}

}  // namespace

void add_key_bits(KernelBuilder& builder, const TopKLayout& layout) {
  builder.alias("Key", word_type(layout.keys.key_words));
  builder.generated("order", ordered_bits_text(layout.keys));
  builder.part(layout.keys.key_words == 1 ? "top_k_bits.narrow.wgsl" : "top_k_bits.wide.wgsl");
  builder.part("top_k_search.wgsl");
}

std::uint32_t top_k_item_threads(const TopKLayout& layout) {
  return std::min(layout.tuning.workgroup_size, small_workgroup);
}

TopKKernel top_k_widen_kernel(const TopKLayout& layout) {
  KernelBuilder builder = start_kernel("top_k_widen", top_k_item_threads(layout), 0);
  builder.alias("Key", "u32").part("grid.wgsl");
  builder.generated("order", ordered_bits_text(layout.caller) + item_count_text(layout));
  builder.part("top_k_widen.wgsl");
  return std::move(builder).build();
}

TopKKernel top_k_histogram_kernel(const TopKLayout& layout, bool is_first) {
  const TopKTuning& tuning = layout.tuning;
  KernelBuilder builder = start_kernel("top_k_histogram", tuning.workgroup_size, 4 * layout.digit_count());
  builder.constant("TILE_ITEMS", layout.tile_items()).constant("DIGITS", layout.digit_count());
  add_key_bits(builder, layout);
  builder.part("grid.wgsl");
  std::string text = count_text("input", "keys_in", "params.keys_first + ", tuning.items_per_thread);
  if (is_first) {
    text += item_count_text(layout);
  } else if (layout.has_candidates) {
    text += "@group(0) @binding(3) var<storage, read> candidates: array<Key>;\n" +
            count_text("candidates", "candidates", "", tuning.items_per_thread);
  } else {
    text += "fn count_candidates(length: u32, group: u32, thread: Thread) {}\n";
  }
  builder.generated("unrolled", text);
  builder.part(is_first ? "top_k_source.first.wgsl" : "top_k_source.next.wgsl");
  builder.part("top_k_histogram.wgsl");
  return std::move(builder).build();
}

TopKKernel top_k_find_kernel(const TopKLayout& layout, bool is_first, bool is_last) {
  // One workgroup in all: the more threads, the sooner it ends.
  const std::uint32_t threads = std::max(layout.tuning.workgroup_size, rake);
  const std::uint32_t per_thread = std::max(1u, layout.digit_count() / threads);
  KernelBuilder builder = start_kernel("top_k_find", threads, 8 * (threads + threads / rake));
  builder.constant("DIGITS_PER_THREAD", per_thread).constant("RAKE", rake);
  add_key_bits(builder, layout);
  builder.part("sort_threads.workgroup.wgsl");
  std::string text = "fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }\n" +
                     counts_text(layout.digit_count(), per_thread) +
                     store_threshold_text(layout, is_last && layout.writes_threshold);
  if (is_first) {
    text += item_count_text(layout) + wanted_count_text(layout) + store_count_text(layout.writes_count);
  }
  builder.generated("results", text);
  builder.part(is_first ? "top_k_start.first.wgsl" : "top_k_start.next.wgsl");
  builder.part("top_k_find.wgsl");
  return std::move(builder).build();
}

TopKKernel top_k_take_kernel(const TopKLayout& layout, const TakenArrays& arrays) {
  KernelBuilder builder = start_kernel("top_k_take", top_k_item_threads(layout), 0);
  add_key_bits(builder, layout);
  builder.part("grid.wgsl");
  std::string text = item_count_text(layout) + wanted_count_text(layout) + store_count_text(arrays.count) +
                     store_threshold_text(layout, arrays.threshold);
  std::string body;
  if (arrays.keys || arrays.threshold) {
    text += "@group(0) @binding(2) var<storage, read> sorted_keys: array<Key>;\n";
    body += "  let key = sorted_keys[item];\n  if (is_last) { store_threshold(ordered_bits(key)); }\n";
  }
  if (arrays.keys) {
    text += "@group(0) @binding(4) var<storage, read_write> top_keys: array<Key>;\n";
    body += "  top_keys[params.top_keys_first + item] = key;\n";
  }
  if (arrays.indices) {
    text +=
        "@group(0) @binding(3) var<storage, read> sorted_indices: array<u32>;\n"
        "@group(0) @binding(5) var<storage, read_write> indices: array<u32>;\n";
    body += "  indices[params.indices_first + item] = sorted_indices[item];\n";
  }
  text += "fn take_item(item: u32, is_last: bool) {\n" + body + "}\n";
  builder.generated("arrays", text);
  builder.part("top_k_take.wgsl");
  return std::move(builder).build();
}

}  // namespace upsweep
