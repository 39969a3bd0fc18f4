// SPDX-License-Identifier: Apache-2.0
#include "primitives/sort/sort_kernels.h"

#include <algorithm>
#include <bit>
#include <format>
#include <string>

#include "plan/kernel_builder.h"
#include "plan/order.h"
#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

// Threads' values that one raking thread adds up.
constexpr std::uint32_t rake = 16;
constexpr std::uint32_t small_workgroup = 256;

std::string word_type(std::uint32_t words) { return words == 1 ? "u32" : std::format("vec{}u", words); }

std::string member(std::uint32_t words, std::uint32_t word) {
  return words == 1 ? std::string() : std::format(".{}", "xyzw"[word]);
}

bool is_float(const SortLayout& layout) {
  return layout.is_f64 || layout.key == Scalar::f32 || layout.key == Scalar::f16;
}

std::uint32_t key_bits(const SortLayout& layout) { return layout.key == Scalar::f16 ? 16 : 32 * layout.key_words; }

// The order of plan/order.h in other numbers, which take fewer instructions: -infinity is put at 0, so that NaN of
// either sign are above infinity; all become one number, and that is moved to all ones.
std::string short_float_bits_text(const SortLayout& layout) {
  const bool is_half = layout.key == Scalar::f16;
  const std::uint32_t infinity = is_half ? 0x7c00 : 0x7f800000;
  const std::uint32_t ones = is_half ? 0xffff : 0xffffffff;
  const std::uint32_t nan = 2 * infinity + 1;
  return std::format(
      "fn ordered_bits(key: Key) -> u32 {{\n"
      "  let sign = {};\n"
      "  let number = ((key & {:#x}u) ^ sign) - sign + {:#x}u;\n"
      "  return {}(min(number, {:#x}u) + {:#x}u);\n}}\n",
      is_half ? "0u - (key >> 15u)" : "bitcast<u32>(bitcast<i32>(key) >> 31u)", ones >> 1, infinity,
      layout.descending ? "~" : "", nan, ones - nan);
}

}  // namespace

std::string ordered_bits_text(const SortLayout& layout) {
  const bool is_narrow = layout.key == Scalar::f32 || layout.key == Scalar::f16;
  if (layout.takes_all_bits && is_narrow) return short_float_bits_text(layout);
  return ordered_bits_text(layout.key, layout.is_f64, "Key", layout.descending);
}

namespace {

std::string order_text(const SortLayout& layout) {
  std::string text = ordered_bits_text(layout);
  text += "fn digit_of(key: Key, digit: Digit) -> u32 {\n";
  if (layout.key_words == 1) {
    text += "  return (ordered_bits(key) >> digit.shift) & digit.mask;\n}\n";
  } else {
    text +=
        "  let bits = ordered_bits(key);\n"
        "  let shift = digit.shift % 32u;\n"
        "  let low = select(bits.x, bits.y, digit.shift >= 32u);\n"
        "  let high = select(bits.y, 0u, digit.shift >= 32u || shift == 0u);\n"
        "  return ((low >> shift) | (high << ((32u - shift) % 32u))) & digit.mask;\n}\n";
  }
  return text;
}

// A key whose ordered bits are all ones; descending floats have none.
std::string pad_key(const SortLayout& layout) {
  const bool down = layout.descending;
  if (is_float(layout) && down) return layout.key_words == 2 ? "vec2u(0u)" : "0u";
  if (layout.key == Scalar::f16) return "0x7fffu";
  if (layout.is_f64) return "vec2u(0xffffffffu, 0x7fffffffu)";
  switch (layout.key) {
    case Scalar::u32: return down ? "0u" : "0xffffffffu";
    case Scalar::i32: return down ? "0x80000000u" : "0x7fffffffu";
    case Scalar::i64: return down ? "vec2u(0u, 0x80000000u)" : "vec2u(0xffffffffu, 0x7fffffffu)";
    case Scalar::f32: return "0x7fffffffu";
    default: return down ? "vec2u(0u)" : "vec2u(0xffffffffu)";
  }
}

// The digit of a key of the tile, where places behind the last item hold the greatest digit.
std::string padded_digit_text(const SortLayout& layout) {
  const bool has_pad = !(is_float(layout) && layout.descending);
  return std::format("fn padded_digit(key: Key, digit: Digit, is_pad: bool) -> u32 {{\n  return {};\n}}\n",
                     has_pad ? "digit_of(key, digit)" : "select(digit_of(key, digit), digit.mask, is_pad)");
}

// Places have 16 bits: two lie in a word, which spares registers.
std::uint32_t place_words(std::uint32_t count) { return (count + 1) / 2; }
std::string place_at(std::uint32_t i) {
  return i % 2 == 0 ? std::format("(places.p{} & 0xffffu)", i / 2) : std::format("(places.p{} >> 16u)", i / 2);
}
std::string set_place(std::uint32_t i, std::string_view place) {
  return i % 2 == 0 ? std::format("places.p{} = {};", i / 2, place)
                    : std::format("places.p{} |= ({}) << 16u;", i / 2, place);
}

std::string item_at(std::uint32_t i) { return i == 0 ? "first" : std::format("first + {}u * step", i); }
std::string digit_at(std::uint32_t i) {
  return std::format("padded_digit(keys.k{}, digit, {} >= room)", i, item_at(i));
}

std::string struct_of(std::string_view name, std::string_view prefix, std::string_view type, std::uint32_t count) {
  std::string text = std::format("struct {} {{\n", name);
  for (std::uint32_t i = 0; i < count; ++i) text += std::format("  {}{}: {},\n", prefix, i, type);
  return text + "}\n";
}

// load_NAME(first, step, tile_first, room): the items of this thread, `pad` behind the last one.
std::string load_text(std::string_view function, std::string_view type, std::string_view prefix,
                      std::string_view element, std::string_view pad, std::uint32_t count) {
  std::string text = std::format("fn {}(first: u32, step: u32, tile_first: u32, room: u32) -> {} {{\n", function, type);
  text += std::format("  var items: {};\n  if (room == TILE_ITEMS) {{\n", type);
  const auto loads = [&](bool guarded) {
    std::string body;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string item = item_at(i);
      const std::string load = std::vformat(element, std::make_format_args(item));
      body += guarded ? std::format("    items.{0}{1} = {2};\n    if ({3} < room) {{ items.{0}{1} = {4}; }}\n", prefix,
                                    i, pad, item_at(i), load)
                      : std::format("    items.{}{} = {};\n", prefix, i, load);
    }
    return body;
  };
  text += loads(false) + "  } else {\n" + loads(true) + "  }\n  return items;\n}\n";
  return text;
}

std::string load_keys_text(const SortLayout& layout, bool from_output) {
  return load_text("load_keys", "Keys", "k",
                   from_output ? "keys_out[params.output_keys_first + tile_first + {}]"
                               : "keys_in[params.keys_first + tile_first + {}]",
                   pad_key(layout), layout.tuning.items_per_thread);
}

std::string load_values_text(const SortLayout& layout, bool from_output) {
  const std::uint32_t count = layout.tuning.items_per_thread;
  const std::string pad = layout.value_words == 1 ? "0u" : std::format("vec{}u(0u)", layout.value_words);
  if (!layout.makes_values) {
    return load_text("load_values", "Values", "v",
                     from_output ? "values_out[params.output_values_first + tile_first + {}]"
                                 : "values_in[params.values_first + tile_first + {}]",
                     pad, count);
  }
  std::string text =
      load_text("load_stored_values", "Values", "v", "values_in[params.values_first + tile_first + {}]", pad, count);
  if (from_output) text.clear();
  text += "fn load_values(first: u32, step: u32, tile_first: u32, room: u32) -> Values {\n";
  if (!from_output) {
    text += "  if (params.make_values == 0u) { return load_stored_values(first, step, tile_first, room); }\n";
  }
  text += "  var items: Values;\n";
  for (std::uint32_t i = 0; i < count; ++i) text += std::format("  items.v{} = tile_first + {};\n", i, item_at(i));
  return text + "  return items;\n}\n";
}

bool uses_subgroups(SortRanking ranking) {
  return ranking == SortRanking::subgroup || ranking == SortRanking::subgroup_wide;
}

bool ranks_in_order(const SortLayout& layout) { return layout.tuning.lock_step && uses_subgroups(layout.ranking); }

constexpr std::string_view place_keys_head =
    "fn place_keys(keys: Keys, digit: Digit, first: u32, step: u32, room: u32, thread: Thread, workgroup: Workgroup)"
    " -> Places {\n"
    "  var places: Places;\n";

// Lanes in order: what the atomic addition that counts a key returns is the key's rank in its row of counters.
std::string place_in_order_text(const SortLayout& layout) {
  const std::uint32_t count = layout.tuning.items_per_thread;
  const bool keeps_digits = is_float(layout);  // costly to find: four in a word
  std::string text = "var<private> ranks: Places;  // in the row of counters\n";
  if (keeps_digits) text += struct_of("Digits", "q", "u32", (count + 3) / 4) + "var<private> kept_digits: Digits;\n";
  text += "fn count_row(keys: Keys, digit: Digit, first: u32, step: u32, room: u32, row: u32) {\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string counting = std::format("atomicAdd(&stage[row + d{}], 1u)", i);
    text += std::format("  let d{} = {};\n", i, digit_at(i));
    text += layout.is_broken ? std::format("  {};\n  let r{} = 0u;\n", counting, i)
                             : std::format("  let r{} = {};\n", i, counting);
  }
  for (std::uint32_t i = 0; i < count; i += 2) {
    const std::string second = i + 1 == count ? std::string() : std::format(" | (r{} << 16u)", i + 1);
    text += std::format("  ranks.p{} = r{}{};\n", i / 2, i, second);
  }
  for (std::uint32_t i = 0; keeps_digits && i < count; ++i) {
    text += std::format("  kept_digits.q{} {} d{} << {}u;\n", i / 4, i % 4 == 0 ? "=" : "|=", i, i % 4 * 8);
  }
  text += std::format("}}\n{}  let row = thread.subgroup * DIGITS;\n", place_keys_head);
  const auto start = [&](std::uint32_t i) {
    return std::format(
        "stage_get(row + {})",
        keeps_digits ? std::format("extractBits(kept_digits.q{}, {}u, 8u)", i / 4, i % 4 * 8) : digit_at(i));
  };
  for (std::uint32_t i = 0; i < count; i += 2) {
    const std::string second = i + 1 == count ? std::string() : std::format(" + ({} << 16u)", start(i + 1));
    text += std::format("  places.p{0} = ranks.p{0} + {1}{2};\n", i / 2, start(i), second);
  }
  return text + "  return places;\n}\n";
}

std::string place_by_ballots_text(const SortLayout& layout) {
  const std::uint32_t count = layout.tuning.items_per_thread;
  const bool emulated = layout.ranking == SortRanking::emulated;
  std::string text;
  text += "fn count_row(keys: Keys, digit: Digit, first: u32, step: u32, room: u32, row: u32) {\n";
  for (std::uint32_t i = 0; i < count; ++i) text += std::format("  atomicAdd(&stage[row + {}], 1u);\n", digit_at(i));
  text += "}\n";
  if (!emulated) {
    if (layout.ranking == SortRanking::subgroup_wide) {
      text += "fn ballot(vote: bool) -> LaneMask { return subgroupBallot(vote); }\n";
    }
    text += "fn pick_lane(value: u32, lane: u32, thread: Thread) -> u32 { return subgroupShuffle(value, lane); }\n";
    text += "fn lanes_with(digit: u32, lanes: LaneMask) -> LaneMask {\n  var mask = lanes;\n";
    for (std::uint32_t bit = 0; bit < layout.tuning.digit_bits; ++bit) {
      text += std::format("  {{ let vote = (digit & {0}u) != 0u; mask = keep_lanes(mask, ballot(vote), vote); }}\n",
                          1u << bit);
    }
    text += "  return mask;\n}\n";
  }
  text += place_keys_head;
  text +=
      "  let row = thread.subgroup * DIGITS;\n"
      "  let below = lanes_below(thread.lane);\n";
  if (!emulated) text += "  let lanes = ballot(true);\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string peers =
        emulated ? std::format("peers(d{}, thread)", i) : std::format("lanes_with(d{}, lanes)", i);
    // The barrier orders the counters of this step before those of the next.
    text += std::format(
        "  let d{0} = {1};\n  let m{0} = {2};\n  let r{0} = count_lanes(m{0} & below);\n"
        "  var b{0} = 0u;\n"
        "  if (r{0} == 0u) {{ b{0} = atomicAdd(&stage[row + d{0}], count_lanes(m{0})); }}\n"
        "  {3}\n"
        "  workgroupBarrier();\n",
        i, digit_at(i), peers, set_place(i, std::format("r{0} + pick_lane(b{0}, lowest_lane(m{0}), thread)", i)));
  }
  return text + "  return places;\n}\n";
}

std::string workgroup_place_text(const SortLayout& layout) {
  const std::uint32_t count = layout.tuning.items_per_thread;
  std::string text = "fn count_keys(keys: Keys, digit: Digit, first: u32, step: u32, room: u32) {\n";
  for (std::uint32_t i = 0; i < count; ++i) text += std::format("  atomicAdd(&digit_counts[{}], 1u);\n", digit_at(i));
  text += "}\n";
  // Words: the number of the item above its digit.
  text += "fn split_tile(shift: u32, is_last: bool, thread: Thread, workgroup: Workgroup) {\n";
  text += "  workgroupBarrier();  // all words are stored\n";
  text += "  let base = thread.index * ITEMS_PER_THREAD;\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    text += std::format("  let w{0} = stage[base + {0}u];\n  let b{0} = (w{0} >> shift) & 15u;\n", i);
  }
  text += "  workgroupBarrier();  // they have been read: their memory holds counters now\n  clear_counters(thread);\n";
  for (std::uint32_t i = 0; i < count; ++i) text += std::format("  let r{0} = count_bin(b{0}, thread);\n", i);
  text += "  scan_counters(thread, workgroup);\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    text += std::format("  let p{0} = r{0} + place_in_bin(b{0}, thread);\n", i);
  }
  text += "  workgroupBarrier();  // counters have been read: their memory holds words again\n";
  text += "  if (is_last) {\n";
  for (std::uint32_t i = 0; i < count; ++i) text += std::format("    stage[w{0} >> 8u] = p{0};\n", i);
  text += "  } else {\n";
  for (std::uint32_t i = 0; i < count; ++i) text += std::format("    stage[p{0}] = w{0};\n", i);
  text += "  }\n}\n";
  text += place_keys_head;
  for (std::uint32_t i = 0; i < count; ++i) {
    text += std::format("  stage[{0}] = {1} | (({0}) << 8u);\n", item_at(i), digit_at(i));
  }
  for (std::uint32_t shift = 0; shift < layout.tuning.digit_bits; shift += 4) {
    text += std::format("  split_tile({}u, {}, thread, workgroup);\n", shift, shift + 4 >= layout.tuning.digit_bits);
  }
  text += "  workgroupBarrier();  // all places are stored\n";
  for (std::uint32_t i = 0; i < count; ++i)
    text += std::format("  {}\n", set_place(i, std::format("stage[{}]", item_at(i))));
  return text + "  return places;\n}\n";
}

// Words of `value` to or from the planes of the stage.
std::string put_text(std::string_view slot, std::string_view value, std::uint32_t words) {
  std::string text;
  for (std::uint32_t w = 0; w < words; ++w) {
    text += std::format(" stage_put({}u * ROUND_ITEMS + {}, {}{});", w, slot, value, member(words, w));
  }
  return text;
}

std::string get_text(std::string_view slot, std::uint32_t words) {
  if (words == 1) return std::format("stage_get({})", slot);
  std::string text;
  for (std::uint32_t w = 0; w < words; ++w) {
    text += std::format("{}stage_get({}u * ROUND_ITEMS + {})", w == 0 ? "" : ", ", w, slot);
  }
  return std::format("vec{}u({})", words, text);
}

std::string store_text(const SortLayout& layout) {
  const SortTuning& tuning = layout.tuning;
  const std::uint32_t per_round = tuning.items_per_thread / tuning.stage_rounds;
  const auto puts = [&](std::uint32_t round, bool are_values) {
    const std::uint32_t words = are_values ? layout.value_words : layout.key_words;
    std::string text;
    for (std::uint32_t i = 0; i < tuning.items_per_thread; ++i) {
      const std::string put = put_text("slot", std::format("{}{}", are_values ? "values.v" : "keys.k", i), words);
      if (tuning.stage_rounds == 1) {
        text += std::format("  {{ let slot = {};{} }}\n", place_at(i), put);
      } else {
        text += std::format("  {{ let slot = {} - {}u * ROUND_ITEMS; if (slot < ROUND_ITEMS) {{{} }} }}\n", place_at(i),
                            round, put);
      }
    }
    return text;
  };
  std::string text =
      "fn store_tile(keys: Keys, places: Places, digit: Digit, first: u32, step: u32, tile_first: u32, room: u32, "
      "thread: Thread) {\n";
  if (layout.value_words != 0) text += "  let values = load_values(first, step, tile_first, room);\n";
  for (std::uint32_t round = 0; round < tuning.stage_rounds; ++round) {
    text += "  workgroupBarrier();  // the memory has been read\n" + puts(round, false);
    text += "  workgroupBarrier();  // the keys lie in the order of their digits\n";
    const auto slot = [&](std::uint32_t j) { return std::format("thread.index + {}u * WORKGROUP_SIZE", j); };
    const auto in_tile = [&](std::uint32_t j) {
      return std::format("{}u * ROUND_ITEMS + thread.index + {}u * WORKGROUP_SIZE", round, j);
    };
    for (std::uint32_t j = 0; j < per_round; ++j) text += std::format("  var t{}_{} = 0u;\n", round, j);
    const auto store_keys = [&](bool guarded) {
      std::string body;
      for (std::uint32_t j = 0; j < per_round; ++j) {
        std::string store = std::format("keys_out[params.output_keys_first + t{}_{}] = key;", round, j);
        if (layout.may_drop_keys) store = std::format("if (params.write_keys != 0u) {{ {} }}", store);
        if (guarded) store = std::format("if ({} < room) {{ {} }}", in_tile(j), store);
        body += std::format("    {{ let key = {}; t{}_{} = digit_offsets[digit_of(key, digit)] + {}; {} }}\n",
                            get_text(slot(j), layout.key_words), round, j, in_tile(j), store);
      }
      return body;
    };
    text += "  if (room == TILE_ITEMS) {\n" + store_keys(false) + "  } else {\n" + store_keys(true) + "  }\n";
    if (layout.value_words == 0) continue;
    text += "  workgroupBarrier();  // the keys have been read\n" + puts(round, true);
    text += "  workgroupBarrier();  // the values lie in the order of their keys' digits\n";
    const auto store_values = [&](bool guarded) {
      std::string body;
      for (std::uint32_t j = 0; j < per_round; ++j) {
        const std::string store = std::format("values_out[params.output_values_first + t{}_{}] = {};", round, j,
                                              get_text(slot(j), layout.value_words));
        body +=
            guarded ? std::format("    if ({} < room) {{ {} }}\n", in_tile(j), store) : std::format("    {}\n", store);
      }
      return body;
    };
    text += "  if (room == TILE_ITEMS) {\n" + store_values(false) + "  } else {\n" + store_values(true) + "  }\n";
  }
  return text + "}\n";
}

// Moves `from`.k0, ... to their places, and those that lie at this thread's to moved.k0, ...
std::string exchange_text(const SortLayout& layout, std::string_view from, std::string_view name, std::uint32_t words) {
  std::string text = "  workgroupBarrier();  // the memory has been read\n";
  for (std::uint32_t i = 0; i < layout.tuning.items_per_thread; ++i) {
    text += std::format(" {}\n", put_text(place_at(i), std::format("{}.{}{}", from, name, i), words));
  }
  text += "  workgroupBarrier();  // the items lie in their places\n";
  for (std::uint32_t i = 0; i < layout.tuning.items_per_thread; ++i) {
    text += std::format("  moved.{}{} = {};\n", name, i, get_text(item_at(i), words));
  }
  return text;
}

// Items, load_items(), exchange_items(), store_items() of the kernel that sorts one tile.
std::string one_tile_text(const SortLayout& layout) {
  const std::uint32_t count = layout.tuning.items_per_thread;
  const bool has_values = layout.value_words != 0;
  std::string text = "struct Items {\n  keys: Keys,\n";
  if (has_values) text += "  values: Values,\n";
  text += "}\nfn load_items(first: u32, step: u32, room: u32) -> Items {\n  var items: Items;\n";
  text += "  items.keys = load_keys(first, step, 0u, room);\n";
  if (has_values) text += "  items.values = load_values(first, step, 0u, room);\n";
  text +=
      "  return items;\n}\n"
      "fn exchange_items(items: Items, places: Places, first: u32, step: u32) -> Items {\n  var moved: Items;\n";
  text += exchange_text(layout, "items", "keys.k", layout.key_words);
  if (has_values) text += exchange_text(layout, "items", "values.v", layout.value_words);
  text += "  return moved;\n}\nfn store_items(items: Items, first: u32, step: u32, room: u32) {\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string store = std::format("keys_out[params.output_keys_first + {0}] = items.keys.k{1};", item_at(i), i);
    if (layout.may_drop_keys) store = std::format("if (params.write_keys != 0u) {{ {} }}", store);
    if (has_values) {
      store += std::format(" values_out[params.output_values_first + {}] = items.values.v{};", item_at(i), i);
    }
    text += std::format("  if ({} < room) {{ {} }}\n", item_at(i), store);
  }
  return text + "}\n";
}

// Beginning of a kernel that looks at digits.
KernelBuilder start_kernel(std::string name, const SortLayout& layout, Entry entry, const DeviceTraits& traits) {
  KernelBuilder builder(std::move(name));
  builder.workgroup(layout.tuning.workgroup_size, 0);
  add_entry(builder, entry, traits);
  builder.part("grid.wgsl").part("sort_digit.wgsl");
  builder.constant("DIGIT_BITS", layout.tuning.digit_bits).constant("DIGITS", layout.digit_count());
  builder.constant("KEY_BITS", key_bits(layout)).alias("Key", word_type(layout.key_words));
  return builder;
}

// Can keys be made again from their ordered bits, all of which count, so that nothing else has to be moved?
bool moves_bits(const SortLayout& layout) {
  return layout.takes_all_bits && !is_float(layout) && layout.value_words == 0;
}

// Beside the staged keys: where in the window each item was. What windows of short segments stage once they are sorted
// is that alone.
bool stages_sources(const SortLayout& window) { return !moves_bits(window) && window.has_merges; }

// sort_run(): Batcher's odd-even merge sort of a run in registers. What lies behind its last item is all ones; parts
// that hold no items are left out.
class RunSorter {
 public:
  explicit RunSorter(const SortLayout& window)
      : window_(window), has_slots_(!moves_bits(window)), size_(std::bit_ceil(window.run_items())) {}

  std::string text() {
    const std::string_view pad = is_wide() ? "vec2u(0xffffffffu)" : "0xffffffffu";
    text_ = "fn sort_run(first: u32, count: u32) {\n";
    for (std::uint32_t i = 0; i < size_; ++i) {
      text_ += std::format("  var x{}: Key = {};\n", i, pad);
      if (has_slots_) text_ += std::format("  var s{0} = {0}u;\n", i);
    }
    sort(0, size_);
    for (std::uint32_t i = 0; i < size_; ++i) text_ += std::format("  if ({}u < count) {{ {} }}\n", i, store(i));
    return text_ + "}\n";
  }

 private:
  static constexpr std::uint32_t unbranched = 8;

  [[nodiscard]] bool is_wide() const { return window_.key_words == 2; }

  [[nodiscard]] std::string store(std::uint32_t i) const {
    if (!has_slots_) return std::format("staged[first + {0}u] = x{0};", i);
    if (stages_sources(window_)) {
      return std::format("staged[first + {0}u] = x{0}; sources[first + {0}u] = first + s{0};", i);
    }
    return std::format("staged[first + {0}u] = {1}first + s{0}{2};", i, is_wide() ? "vec2u(" : "",
                       is_wide() ? ", 0u)" : "");
  }

  void load(std::uint32_t i) { text_ += std::format("  if ({0}u < count) {{ x{0} = staged[first + {0}u]; }}\n", i); }

  void exchange(std::uint32_t i, std::uint32_t j) {
    if (!has_slots_ && !is_wide()) {
      text_ += std::format("  {{ let low = min(x{0}, x{1}); x{1} = max(x{0}, x{1}); x{0} = low; }}\n", i, j);
      return;
    }
    // Slots tell equal keys apart, and keys from what lies behind the last one.
    text_ += std::format("  {{\n    let swaps = is_less(x{1}, x{0}){2};\n", i, j,
                         has_slots_ ? std::format(" | (is_same(x{1}, x{0}) & (s{1} < s{0}))", i, j) : "");
    for (const std::string_view name : {"x", "s"}) {
      if (name == "s" && !has_slots_) continue;
      text_ += std::format(
          "    let low_{2} = select({2}{0}, {2}{1}, swaps); {2}{1} = select({2}{1}, {2}{0}, swaps); {2}{0} = "
          "low_{2};\n",
          i, j, name);
    }
    text_ += "  }\n";
  }

  // Merges the two halves, each of which is sorted.
  void merge(std::uint32_t first, std::uint32_t size) {
    const std::uint32_t half = size / 2;
    for (std::uint32_t distance = half; distance >= 1; distance /= 2) {
      for (std::uint32_t i = distance % half; i + distance < size; i += 2 * distance) {
        for (std::uint32_t j = i; j < i + distance; ++j) exchange(first + j, first + j + distance);
      }
    }
  }

  void sort(std::uint32_t first, std::uint32_t size) {
    if (size == 1) return load(first);
    const std::uint32_t half = size / 2;
    sort(first, half);
    const bool branches = size > unbranched;
    if (branches) text_ += std::format("  if (count > {}u) {{\n", first + half);
    sort(first + half, half);
    merge(first, size);
    if (branches) text_ += "  }\n";
  }

  const SortLayout& window_;
  bool has_slots_;
  std::uint32_t size_;
  std::string text_;
};

// Run, merged_run(), store_run().
std::string merge_text(const SortLayout& window) {
  const bool has_sources = stages_sources(window);
  std::string text = "struct Run {\n";
  for (std::uint32_t i = 0; i < window.run_items(); ++i) {
    text += std::format("  k{}: Key,\n", i);
    if (has_sources) text += std::format("  s{}: u32,\n", i);
  }
  text +=
      "}\nfn merged_run(merge: Merge) -> Run {\n  var run: Run;\n  if (merge.count == 0u) { return run; }\n"
      "  var a = merge.a;\n  var b = merge.b;\n  var a_key = staged[a];\n  var b_key = staged[b];\n";
  for (std::uint32_t i = 0; i < window.run_items(); ++i) {
    text += std::format(
        "  {{\n    let takes_a = (b >= merge.b_end) | ((a < merge.a_end) & !is_less(b_key, a_key));\n"
        "    run.k{0} = select(b_key, a_key, takes_a);\n{1}"
        "    a += u32(takes_a);\n    b += u32(!takes_a);\n    let next = staged[select(b, a, takes_a)];\n"
        "    a_key = select(a_key, next, takes_a);\n    b_key = select(next, b_key, takes_a);\n  }}\n",
        i, has_sources ? std::format("    run.s{} = sources[select(b, a, takes_a)];\n", i) : "");
  }
  text += "  return run;\n}\nfn store_run(merge: Merge, run: Run) {\n";
  for (std::uint32_t i = 0; i < window.run_items(); ++i) {
    text += std::format("  if ({0}u < merge.count) {{ staged[merge.to + {0}u] = run.k{0};{1} }}\n", i,
                        has_sources ? std::format(" sources[merge.to + {0}u] = run.s{0};", i) : "");
  }
  return text + "}\n";
}

// is_less(), compared_bits().
std::string comparison_text(const SortLayout& layout) {
  const bool is_wide = layout.key_words == 2;
  return std::format(
      "fn is_less(a: Key, b: Key) -> bool {{ return {}; }}\n"
      "fn compared_bits(key: Key) -> Key {{ return ordered_bits(key){}; }}\n",
      is_wide ? "(a.y < b.y) | ((a.y == b.y) & (a.x < b.x))" : "a < b",
      layout.takes_all_bits ? ""
      : is_wide             ? " & vec2u(bits_in_word(0u), bits_in_word(32u))"
                            : " & bits_in_word(0u)");
}

// Items, load_items(), stage_items(), store_items() of a window. Staged are the ordered bits of keys, and in the end
// those again or where in the window each item was.
std::string window_text(const SortLayout& window, bool in_place) {
  const std::uint32_t count = window.tuning.items_per_thread;
  const bool is_wide = window.key_words == 2;
  // {0}: which item of the thread; {1}: its position.
  const auto each = [&](std::string_view statement) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string at = i == 0 ? "thread.index" : std::format("(thread.index + {}u * WORKGROUP_SIZE)", i);
      text += "  " + std::vformat(statement, std::make_format_args(i, at)) + "\n";
    }
    return text;
  };
  const auto each_inside = [&](std::string_view statement) {
    return each(std::format("if (extractBits(inside, {{0}}u, 1u) != 0u) {{{{ {} }}}}", statement));
  };
  const std::string_view keys =
      in_place ? "keys_out[params.output_keys_first + begin + " : "keys_in[params.keys_first + begin + ";
  std::string text = "var<workgroup> staged: array<Key, WINDOW_ITEMS>;\n";
  if (stages_sources(window)) text += "var<workgroup> sources: array<u32, WINDOW_ITEMS>;\n";
  text += struct_of("Items", "k", "Key", count);
  text += std::format(
      "fn is_same(a: Key, b: Key) -> bool {{ return {}; }}\n"
      "fn load_items(begin: u32, room: u32, thread: Thread) -> Items {{\n  var items: Items;\n",
      is_wide ? "all(a == b)" : "a == b");
  text += each(std::format("if ({{1}} < room) {{{{ items.k{{0}} = {}{{1}}]; }}}}", keys));
  text += "  return items;\n}\nfn stage_items(items: Items, thread: Thread) {\n";
  text += each("staged[{1}] = compared_bits(items.k{0});");
  text += "}\nfn store_items(begin: u32, thread: Thread) {\n  var inside = 0u;\n" +
          each("inside = insertBits(inside, is_inside({1}), {0}u, 1u);");
  if (moves_bits(window)) {
    return text + each_inside("keys_out[params.output_keys_first + begin + {1}] = ordered_bits(staged[{1}]);") + "}\n";
  }
  text +=
      each(std::format("let from{{0}} = begin + select({{1}}, {}[{{1}}]{}, extractBits(inside, {{0}}u, 1u) != 0u);",
                       stages_sources(window) ? "sources" : "staged", is_wide && !stages_sources(window) ? ".x" : ""));
  // All are read before any is written: in place they must be, and else many are on their way at a time.
  const std::string_view value = window.makes_values ? "from{0}"
                                 : in_place          ? "values_out[params.output_values_first + from{0}]"
                                                     : "values_in[params.values_first + from{0}]";
  const std::string_view key =
      in_place ? "keys_out[params.output_keys_first + from{0}]" : "keys_in[params.keys_first + from{0}]";
  const auto if_written = [&](const std::string& statements) {
    return window.may_drop_keys ? std::format("  if (params.write_keys != 0u) {{\n{}  }}\n", statements) : statements;
  };
  if (window.value_words != 0) text += each(std::format("let v{{0}} = {};", value));
  text += each("var k{0}: Key;") + if_written(each(std::format("k{{0}} = {};", key)));
  if (in_place) text += "  storageBarrier();  // they have been read\n";
  if (window.value_words != 0) text += each_inside("values_out[params.output_values_first + begin + {1}] = v{0};");
  text += if_written(each_inside("keys_out[params.output_keys_first + begin + {1}] = k{0};"));
  return text + "}\n";
}

void add_extent(KernelBuilder& builder, const SortLayout& layout) {
  builder.part(layout.counts_on_device ? "sort_extent.device.wgsl" : "sort_extent.host.wgsl");
}

void add_uniform_extent(KernelBuilder& builder, const SortLayout& layout) {
  builder.part(layout.counts_on_device ? "sort_uniform_extent.device.wgsl" : "sort_uniform_extent.host.wgsl");
}

// Chunks of a kernel, and who runs over them.
void add_chunks(KernelBuilder& builder, const SortLayout& layout) {
  if (layout.has_segments) {
    builder.part("sort_long_segments.wgsl").part("sort_chunks.segments.wgsl");
  } else {
    builder.part("sort_chunks.whole.wgsl");
    add_uniform_extent(builder, layout);
  }
}

// Of the kernels that work on one digit.
void add_params(KernelBuilder& builder, const SortLayout& layout) {
  builder.part("sort_digit_of_pass.wgsl");
  if (layout.has_segments) {
    builder.part("sort_params.segments.wgsl");
  } else {
    builder.part("sort_params.wgsl");
    add_extent(builder, layout);
  }
}

void add_arrays(KernelBuilder& builder, const SortLayout& layout, bool in_place) {
  std::string bindings;
  if (!in_place) bindings += "@group(0) @binding(1) var<storage, read> keys_in: array<Key>;\n";
  bindings += "@group(0) @binding(2) var<storage, read_write> keys_out: array<Key>;\n";
  if (layout.value_words != 0) {
    builder.alias("Value", word_type(layout.value_words));
    if (!in_place) bindings += "@group(0) @binding(3) var<storage, read> values_in: array<Value>;\n";
    bindings += "@group(0) @binding(4) var<storage, read_write> values_out: array<Value>;\n";
  }
  builder.generated("bindings", bindings);
}

// What every kernel that places keys consists of, but for its run().
KernelBuilder start_placing_kernel(std::string name, const SortLayout& layout, const DeviceTraits& traits,
                                   bool in_place) {
  const SortTuning& tuning = layout.tuning;
  const std::uint32_t count = tuning.items_per_thread;
  const bool has_subgroups = uses_subgroups(layout.ranking);
  KernelBuilder builder = start_kernel(std::move(name), layout,
                                       has_subgroups                             ? Entry::subgroups
                                       : layout.ranking == SortRanking::emulated ? Entry::emulated
                                                                                 : Entry::plain,
                                       traits);
  builder.more_workgroup_bytes(layout.workgroup_bytes());
  builder.constant("TILE_ITEMS", layout.tile_items()).constant("ITEMS_PER_THREAD", count);
  builder.constant("ROUND_ITEMS", layout.tile_items() / tuning.stage_rounds);
  builder.constant("STAGE_WORDS", layout.stage_words());
  if (layout.ranking != SortRanking::workgroup) builder.constant("COUNTER_ROWS", layout.counter_rows);
  if (!has_subgroups) builder.constant("RAKE", rake);
  add_params(builder, layout);
  add_arrays(builder, layout, in_place);
  std::string text =
      struct_of("Places", "p", "u32", place_words(count)) + order_text(layout) + padded_digit_text(layout);
  text += struct_of("Keys", "k", "Key", count) + load_keys_text(layout, in_place);
  if (layout.value_words != 0) text += struct_of("Values", "v", "Value", count) + load_values_text(layout, in_place);
  if (layout.ranking == SortRanking::workgroup) {
    text += workgroup_place_text(layout);
    builder.part("sort_place.workgroup.wgsl").part("sort_threads.workgroup.wgsl");
  } else {
    const bool in_order = ranks_in_order(layout);
    text += in_order ? place_in_order_text(layout) : place_by_ballots_text(layout);
    builder.part("sort_place.subgroup.wgsl");
    builder.part(has_subgroups ? "sort_threads.subgroup.wgsl" : "sort_threads.workgroup.wgsl");
    if (!in_order)
      builder.part(layout.ranking == SortRanking::subgroup ? "sort_lanes.narrow.wgsl" : "sort_lanes.wide.wgsl");
    if (layout.ranking == SortRanking::emulated) builder.part("sort_lanes.emulated.wgsl");
  }
  builder.generated("unrolled", text);
  return builder;
}

void add_store(KernelBuilder& builder, const SortLayout& layout) {
  builder.generated("unrolled stores",
                    "var<workgroup> digit_offsets: array<u32, DIGITS>;  // from a place in the tile to the output\n" +
                        store_text(layout));
}

}  // namespace

std::uint32_t SortLayout::stage_words() const {
  const std::uint32_t planes = std::max(key_words, value_words);
  const std::uint32_t moved = tile_items() / tuning.stage_rounds * planes;
  // As counter_at() of sort_place.workgroup.wgsl; the words of the splits need the whole tile.
  const std::uint32_t counters = ranking == SortRanking::workgroup ? std::max(9 * tuning.workgroup_size, tile_items())
                                                                   : counter_rows * digit_count();
  return std::max(moved, counters);
}

std::uint32_t SortLayout::window_bytes() const {
  std::uint32_t words = tile_items() * (key_words + (stages_sources(*this) ? 1 : 0)) + mark_words() + 8;
  if (has_merges) words += run_slots() + 4;
  return (4 * words + 15) / 16 * 16;
}

std::uint32_t SortLayout::workgroup_bytes() const {
  std::uint32_t bytes = 4 * (stage_words() + digit_count()) + 4;  // the stage, digit_offsets, the number of the tile
  if (ranking == SortRanking::workgroup) bytes += 4 * digit_count();
  if (ranking == SortRanking::emulated) bytes += 4 * tuning.workgroup_size;
  bytes += uses_subgroups(ranking) ? 8 * counter_rows : 8 * (tuning.workgroup_size + tuning.workgroup_size / rake);
  if (counts_on_device) bytes += 16;  // sort_uniform_extent.device.wgsl
  return (bytes + 15) / 16 * 16;
}

SortKernel sort_clear_kernel(const SortLayout& layout) {
  KernelBuilder builder("sort_clear");
  builder.workgroup(layout.tuning.workgroup_size, 0);
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl").part("sort_clear.wgsl");
  return std::move(builder).build();
}

SortKernel sort_histogram_kernel(const SortLayout& layout, std::uint32_t items_per_thread) {
  KernelBuilder builder = start_kernel("sort_histogram", layout, Entry::plain, {});
  builder.more_workgroup_bytes(4 * layout.pass_count * layout.digit_count());
  builder.constant("PASSES", layout.pass_count);
  builder.constant("TILE_ITEMS", layout.tuning.workgroup_size * items_per_thread);
  add_extent(builder, layout);
  std::string text = order_text(layout) + "fn count_tile(first: u32) {\n";
  for (std::uint32_t i = 0; i < items_per_thread; ++i) {
    text += std::format("  let k{0} = keys_in[first + {0}u * WORKGROUP_SIZE];\n", i);
  }
  for (std::uint32_t i = 0; i < items_per_thread; ++i) text += std::format("  count_key(k{});\n", i);
  builder.generated("unrolled", text + "}\n");
  builder.part("sort_histogram.wgsl");
  return std::move(builder).build();
}

// look_back(). Records are taken in branches within branches, so that a thread waits for none behind the one that ends
// its look.
std::string look_text(std::uint32_t records) {
  std::string text =
      "fn look_back(tile: u32, digit: u32) -> u32 {\n"
      "  var before = 0u;\n"
      "  var next = tile;  // tiles from `next` to `tile` are in `before`\n"
      "  var polls = 0u;\n"
      "  while (next > 0u) {\n"
      "    let first = next;\n";
  for (std::uint32_t k = 1; k <= records; ++k)
    text += std::format("    let word{0} = atomicLoad(&records[record_of(max(first, {0}u) - {0}u, digit)]);\n", k);
  for (std::uint32_t k = 1; k <= records; ++k) {
    text += std::format(
        "    {1}if (is_published(word{0})) {{\n      before += word{0} & ~FLAGS;\n"
        "      next = select(next - 1u, 0u, (word{0} & FLAGS) == flag_of_prefix());\n",
        k, k == 1 ? "" : "if (next > 0u) { ");
  }
  return std::format(
      "{}    {}\n"
      "    polls = select(polls, 0u, next != first) + 1u;\n"
      "    if (polls > POLL_ROUNDS && next > 0u) {{\n"
      "      polls = 0u;\n      next -= 1u;\n      before += lend_count(next, digit);\n    }}\n"
      "  }}\n  return before;\n}}\n",
      text, std::string(2 * records - 1, '}'));
}

SortKernel sort_pass_kernel(const SortLayout& layout, const DeviceTraits& traits) {
  KernelBuilder builder = start_placing_kernel("sort_pass", layout, traits, false);
  builder.constant("POLL_ROUNDS", layout.tuning.poll_rounds);
  builder.generated("choice", std::format("const LOOKS_BACK_LATE = {};\n", layout.tuning.look_back_late));
  builder.generated("look-back", look_text(layout.tuning.look_records));
  add_store(builder, layout);
  builder.part(layout.tuning.in_order ? "sort_tiles.in_order.wgsl" : "sort_tiles.ticket.wgsl");
  add_uniform_extent(builder, layout);
  builder.part("sort_pass.wgsl");
  return std::move(builder).build();
}

SortKernel sort_count_kernel(const SortLayout& layout) {
  KernelBuilder builder = start_kernel("sort_count", layout, Entry::plain, {});
  builder.more_workgroup_bytes(4 * layout.digit_count() + 16);  // and that of sort_uniform_extent or sort_chunks
  builder.constant("TILE_ITEMS", layout.tile_items());
  add_params(builder, layout);
  add_chunks(builder, layout);
  std::string text = "@group(0) @binding(1) var<storage, read> keys_in: array<Key>;\n";
  text += struct_of("Keys", "k", "Key", layout.tuning.items_per_thread) + order_text(layout);
  text += load_keys_text(layout, false) + "fn count_keys(keys: Keys, digit: Digit) {\n";
  for (std::uint32_t i = 0; i < layout.tuning.items_per_thread; ++i) {
    text += std::format("  atomicAdd(&chunk_counts[digit_of(keys.k{}, digit)], 1u);\n", i);
  }
  builder.generated("unrolled", text + "}\n");
  builder.part("sort_count.wgsl");
  return std::move(builder).build();
}

SortKernel sort_spine_kernel(const SortLayout& layout) {
  const std::uint32_t threads = std::min(layout.tuning.workgroup_size, small_workgroup);
  KernelBuilder builder("sort_spine");
  builder.workgroup(threads, 8 * (threads + threads / rake));
  add_entry(builder, Entry::plain, {});
  builder.constant("RAKE", rake).part("grid.wgsl").part("sort_threads.workgroup.wgsl");
  builder.generated("adapters",
                    "fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }\n");
  builder.part("sort_spine.wgsl");
  return std::move(builder).build();
}

SortKernel sort_scatter_kernel(const SortLayout& layout, const DeviceTraits& traits) {
  KernelBuilder builder = start_placing_kernel("sort_scatter", layout, traits, false);
  add_store(builder, layout);
  add_chunks(builder, layout);
  builder.part(layout.has_segments ? "sort_positions.segments.wgsl" : "sort_positions.whole.wgsl");
  builder.part("sort_scatter.wgsl");
  return std::move(builder).build();
}

SortKernel sort_one_kernel(const SortLayout& layout, const DeviceTraits& traits, bool in_place) {
  KernelBuilder builder = start_placing_kernel("sort_one", layout, traits, in_place);
  builder.generated("unrolled exchange", one_tile_text(layout));
  builder.part("sort_one.wgsl");
  return std::move(builder).build();
}

SortKernel sort_window_kernel(const SortLayout& window, bool in_place) {
  KernelBuilder builder(window.has_merges ? "sort_window" : "sort_short");
  builder.workgroup(window.tuning.workgroup_size, window.window_bytes());
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl").alias("Key", word_type(window.key_words));
  builder.constant("WINDOW_ITEMS", window.tile_items()).constant("WINDOW_STEP", window.window_step());
  builder.constant("SMALL_ITEMS", window.small_items).constant("RUN_ITEMS", window.run_items());
  builder.constant("MARK_WORDS", window.mark_words());
  builder.part("sort_params.window.wgsl").part("sort_bits.wgsl");
  add_arrays(builder, window, in_place);
  std::string text = ordered_bits_text(window) + comparison_text(window);
  text += window_text(window, in_place) + RunSorter(window).text();
  if (window.has_merges) {
    builder.constant("RUN_SLOTS", window.run_slots()).part("sort_merges.wgsl");
    text += merge_text(window);
  } else {
    builder.part("sort_merges.none.wgsl");
  }
  builder.generated("unrolled", text);
  builder.part("sort_window.wgsl");
  return std::move(builder).build();
}

SortKernel sort_lists_kernel(const SortLayout& window, const SortLayout& large, const SortLayout& shorts) {
  KernelBuilder builder("sort_lists");
  builder.workgroup(std::min(window.tuning.workgroup_size, small_workgroup), 0);
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl");
  builder.constant("WINDOW_ITEMS", window.tile_items()).constant("WINDOW_STEP", window.window_step());
  builder.constant("SMALL_ITEMS", window.small_items).constant("LISTS_HEADER", sort_lists_header);
  builder.constant("LARGE_ITEMS", large.tile_items()).constant("SHORT_STEP", shorts.window_step());
  add_extent(builder, window);
  builder.part(window.segments_on_device ? "sort_segment_count.device.wgsl" : "sort_segment_count.host.wgsl");
  builder.part("sort_lists.wgsl");
  return std::move(builder).build();
}

SortKernel sort_join_kernel(const SortLayout& window) {
  KernelBuilder builder("sort_join");
  std::uint32_t most_radix = 1;  // as radix_of() of sort_join.wgsl
  while (std::uint64_t{most_radix} * most_radix * window.tile_items() < most_joined_items) ++most_radix;
  builder.workgroup(window.tuning.workgroup_size, (16 + 8 * most_radix + 15) / 16 * 16);
  add_entry(builder, Entry::plain, {});
  builder.constant("CHUNK_ROWS", window.tuning.items_per_thread).constant("MOST_RADIX", most_radix);
  builder.part("grid.wgsl").alias("Key", word_type(window.key_words)).part("sort_long_segments.wgsl");
  builder.part("sort_params.segments.wgsl").part("sort_bits.wgsl");
  add_arrays(builder, window, false);
  std::string text = ordered_bits_text(window) + comparison_text(window);
  text += "fn move_item(key: Key, position: u32, to: u32) {\n";
  text += std::format("  {}keys_out[params.output_keys_first + to] = key;{}\n",
                      window.may_drop_keys ? "if (params.write_keys != 0u) { " : "", window.may_drop_keys ? " }" : "");
  if (window.value_words != 0) {
    text += "  values_out[params.output_values_first + to] = values_in[params.values_first + position];\n";
  }
  builder.generated("moves", text + "}\n");
  builder.part("sort_join.wgsl");
  return std::move(builder).build();
}

SortKernel sort_segment_spine_kernel(const SortLayout& layout) {
  const std::uint32_t threads = layout.tuning.workgroup_size;  // at least as many as digits
  KernelBuilder builder("sort_segment_spine");
  builder.workgroup(threads, 8 * (threads + threads / rake) + 16);
  add_entry(builder, Entry::plain, {});
  builder.constant("RAKE", rake).constant("DIGITS", layout.digit_count());
  builder.part("grid.wgsl").part("sort_threads.workgroup.wgsl");
  builder.generated("adapters",
                    "fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }\n");
  builder.part("sort_segment_spine.wgsl");
  return std::move(builder).build();
}

namespace {

// A kernel that takes an item a thread.
KernelBuilder start_item_kernel(const std::string& name, const SortLayout& layout) {
  KernelBuilder builder(name);
  builder.workgroup(std::min(layout.tuning.workgroup_size, small_workgroup), 0);
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl");
  add_extent(builder, layout);
  builder.part(name + ".wgsl");
  return builder;
}

}  // namespace

SortKernel sort_widen_kernel(const SortLayout& layout) { return start_item_kernel("sort_widen", layout).build(); }
SortKernel sort_missing_kernel(const SortLayout& layout) { return start_item_kernel("sort_missing", layout).build(); }
SortKernel sort_narrow_kernel(const SortLayout& layout) { return start_item_kernel("sort_narrow", layout).build(); }

SortKernel sort_field_kernel(const SortLayout& layout, std::uint32_t key_words, const KeyField& field, bool has_order) {
  KernelBuilder builder = start_item_kernel("sort_field", layout);
  builder.constant("KEY_WORDS", key_words).constant("FIELD_WORD", field.offset_bytes / 4);
  builder.constant("FIELD_WORDS", field.type.stride_bytes / 4);
  builder.part(has_order ? "sort_field_order.indices.wgsl" : "sort_field_order.none.wgsl");
  return std::move(builder).build();
}

Gather sort_gather(const SortLayout& layout, std::uint64_t count, SlotId item_count, SlotId indices, SlotId from,
                   SlotId to, const ElementType& type, std::string reason) {
  Gather gather{.name = "sort_gather",
                .indices = indices,
                .from = from,
                .to = to,
                .type = type,
                .source_count = count,
                .item_count = count,
                .most_threads = std::min(layout.tuning.workgroup_size, small_workgroup),
                .reason = std::move(reason)};
  if (layout.counts_on_device) gather.counts = item_count;
  return gather;
}

}  // namespace upsweep
