// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_scan.h"

#include <algorithm>
#include <bit>
#include <format>
#include <numeric>

#include "plan/grid.h"
#include "plan/narrow.h"
#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

using Binding = PlanBuilder::Binding;

// Positions, which may pass the end by less than a tile, must fit into 32 bits.
constexpr std::uint64_t most_window_items = 0x70000000;
// As tile_single_pass.wgsl: the ticket's bits, the header and the records of the state.
constexpr std::uint64_t most_tickets = (1u << 18) - 1;
constexpr std::uint64_t state_header_bytes = 32;
constexpr std::uint64_t state_record_bytes = 32;

enum class LanePath : std::uint8_t { workgroup, builtin, shuffle, emulated };
enum class Role : std::uint8_t { totals, chunks, single_pass, empty, map, values };
enum class Initial : std::uint8_t { program, carry };
enum class Total : std::uint8_t { program, carry };

struct Variant {
  bool operator==(const Variant&) const = default;

  Role role = Role::chunks;
  bool has_partials = false;
  Initial initial = Initial::program;
  Total total = Total::program;
};

// Every workgroup of the grid draws a ticket, surplus ones, too.
bool has_tickets(std::uint64_t tiles, const DeviceTraits& traits) {
  const auto grid = fold_grid(tiles, traits);
  return grid && std::uint64_t{grid->x} * grid->y * grid->z <= most_tickets;
}

// 0: not of words.
std::uint32_t accumulator_words(const TileAccumulator& accumulator) {
  if (accumulator.members.empty()) return words_of_type(accumulator.type);
  std::uint32_t words = 0;
  for (const auto& member : accumulator.members) {
    const std::uint32_t count = words_of_type(member.second);
    if (count == 0) return 0;
    words += count;
  }
  return words;
}

bool is_recorded(const TileAccumulator& accumulator, std::size_t member) {
  return accumulator.recorded.empty() || !accumulator.recorded[member].empty();
}

std::uint32_t record_words(const TileAccumulator& accumulator) {
  std::uint32_t words = accumulator_words(accumulator);
  if (words == 0) return 0;
  for (std::size_t i = 0; i < accumulator.members.size(); ++i) {
    if (!is_recorded(accumulator, i)) words -= words_of_type(accumulator.members[i].second);
  }
  return words;
}

// Expressions of the words of `value`, of a plain type.
void append_words(std::vector<std::string>& words, std::string_view type, const std::string& value) {
  const std::uint32_t count = words_of_type(type);
  if (count == 1) {
    words.push_back(type == "u32" ? value : std::format("bitcast<u32>({})", value));
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) words.push_back(std::format("bitcast<u32>({}.{})", value, "xyzw"[i]));
}

// A plain value of words w[next], ...
std::string value_of_words(std::string_view type, std::uint32_t& next) {
  const std::uint32_t count = words_of_type(type);
  std::string words;
  for (std::uint32_t i = 0; i < count; ++i) words += std::format("{}w{}", i == 0 ? "" : ", ", next++);
  if (count == 1) return type == "u32" ? words : std::format("bitcast<{}>({})", type, words);
  return std::format("bitcast<{}>(vec{}u({}))", type, count, words);
}

// `each` of every member (as ".name"), or of the value itself ("").
template <typename Each>
std::string of_each(const TileAccumulator& accumulator, Each each) {
  if (accumulator.members.empty()) return each(std::string());
  std::string text;
  for (const auto& [name, type] : accumulator.members) text += (text.empty() ? "" : ", ") + each("." + name);
  return std::format("Accumulator({})", text);
}

// choose(), and where there are subgroups the shuffles.
std::string accumulator_functions(const TileAccumulator& accumulator, LanePath path) {
  std::string text;
  if (!accumulator.members.empty()) {
    text += "struct Accumulator {\n";
    for (const auto& [name, type] : accumulator.members) text += std::format("  {}: {},\n", name, type);
    text += "}\n";
  }
  const bool is_plain = accumulator_words(accumulator) != 0;
  if (is_plain) {
    text += std::format(
        "fn choose(a: Accumulator, b: Accumulator, is_b: bool) -> Accumulator {{ return {}; }}\n",
        of_each(accumulator, [](const std::string& m) { return std::format("select(a{0}, b{0}, is_b)", m); }));
  } else {
    text +=
        "fn choose(a: Accumulator, b: Accumulator, is_b: bool) -> Accumulator {\n"
        "  if (is_b) { return b; }\n  return a;\n}\n";
  }
  if (path != LanePath::builtin && path != LanePath::shuffle) return text;
  const auto shuffle = [&](std::string_view name, std::string_view function, std::string_view more) {
    text += std::format(
        "fn {}(a: Accumulator, by: u32{}) -> Accumulator {{ return {}; }}\n", name, more,
        of_each(accumulator, [&](const std::string& m) { return std::format("{}(a{}, by)", function, m); }));
  };
  shuffle("subgroup_pick", "subgroupShuffle", ", thread: Thread");
  if (path == LanePath::builtin) {
    const std::string kind = accumulator.fold_builtin.substr(std::string_view("subgroup").size());
    constexpr std::string_view lanes = "value: Accumulator, thread: Thread, workgroup: Workgroup";
    text += std::format(
        "fn subgroup_inclusive({0}) -> Accumulator {{ return subgroupInclusive{1}(value); }}\n"
        "fn subgroup_exclusive({0}) -> Accumulator {{ return subgroupExclusive{1}(value); }}\n"
        "fn subgroup_fold({0}) -> Accumulator {{ return subgroup{1}(value); }}\n",
        lanes, kind);
    return text;
  }
  shuffle("subgroup_up", "subgroupShuffleUp", "");
  // A caller's operator must not see what a shuffle from no lane gives; the library's own is spared the branch.
  text += accumulator.is_custom
              ? "fn combine_if(left: Accumulator, value: Accumulator, is_real: bool) -> Accumulator {\n"
                "  if (is_real) { return combine(left, value); }\n  return value;\n}\n"
              : "fn combine_if(left: Accumulator, value: Accumulator, is_real: bool) -> Accumulator {\n"
                "  return choose(value, combine(left, value), is_real);\n}\n";
  return text;
}

// publish(), lend(), read_record() and starts_anew().
std::string record_functions(const TileAccumulator& accumulator, bool lanes, const DeviceTraits& traits) {
  std::vector<std::string> words;
  std::string value;
  std::uint32_t next = 0;
  if (accumulator.members.empty()) {
    append_words(words, accumulator.type, "value");
    value = value_of_words(accumulator.type, next);
  } else {
    for (std::size_t i = 0; i < accumulator.members.size(); ++i) {
      const auto& [name, type] = accumulator.members[i];
      value += i == 0 ? "" : ", ";
      if (!is_recorded(accumulator, i)) {
        value += type + "()";
        continue;
      }
      append_words(words, type, accumulator.recorded.empty() ? "value." + name : accumulator.recorded[i]);
      value += value_of_words(type, next);
    }
    value = std::format("Accumulator({})", value);
  }
  if (traits.test_broken_look_back) value = "identity()";
  std::string values;
  std::string stores;
  std::string lend;
  std::string loads;
  std::string same;
  for (std::size_t i = 0; i < words.size(); ++i) {
    values += std::format("  let w{} = {};\n", i, words[i]);
    loads += std::format(
        "  let low{0} = atomicLoad(&state[first + {1}u]);\n  let high{0} = atomicLoad(&state[first + {2}u]);\n"
        "  let w{0} = (low{0} & 0xffffu) | (high{0} << 16u);\n",
        i, 2 * i, 2 * i + 1);
    same += std::format("{}(low{} ^ low0) | (high{} ^ low0)", i == 0 ? "" : " | ", i, i);
    for (const auto& [text, function] : {std::pair{&stores, "atomicStore"}, {&lend, "atomicMax"}}) {
      *text += std::format(
          "  {0}(&state[first + {1}u], tag | (w{3} & 0xffffu));\n"
          "  {0}(&state[first + {2}u], tag | (w{3} >> 16u));\n",
          function, 2 * i, 2 * i + 1, i);
    }
  }
  const std::size_t parts = 2 * words.size();
  std::string publish;
  if (lanes && traits.subgroup_min_size >= parts) {
    // A word a lane, in one store: scans by key take 208 us instead of 214 at 2^26 (H200, 2026-12-02).
    std::string word = "w0";
    for (std::size_t i = 1; i < words.size(); ++i) word = std::format("select({}, w{}, part >= {}u)", word, i, 2 * i);
    publish = std::format(
        "  let part = thread.lane;\n  if (thread.subgroup != 0u || part >= {}u) {{ return; }}\n{}"
        "  atomicStore(&state[first + part], tag | ((({}) >> (part % 2u * 16u)) & 0xffffu));\n",
        parts, values, word);
  } else {
    publish = std::format("  if (!is_leader(thread)) {{ return; }}\n{}{}", values, stores);
  }
  constexpr std::string_view address = "  let first = STATE_RECORDS + tile * RECORD_WORDS;\n";
  const std::string order =
      traits.test_shuffled_tiles
          ? "select(ticket * 7919u % tile_count, ticket, tile_count % 7919u == 0u || tile_count > 500000u)"
          : "ticket";
  return std::format(
      "// `tag` holds the run and the flag. publish(): all lanes of the subgroup that looks back have the value.\n"
      "fn publish(tile: u32, value: Accumulator, tag: u32, thread: Thread) {{\n{0}{1}}}\n"
      "fn lend(tile: u32, value: Accumulator, tag: u32) {{\n{0}{2}}}\n"
      "fn read_record(tile: u32, tag: u32) -> Record {{\n{0}{3}"
      "  let is_complete = ({4}) < 0x10000u && ((low0 ^ tag) >> 18u) == 0u;\n"
      "  return Record({5}, select(FLAG_MISSING, (low0 >> 16u) & 3u, is_complete));\n}}\n"
      "fn tile_of_ticket(ticket: u32, tile_count: u32) -> u32 {{ return {6}; }}\n"
      "fn starts_anew(total: Accumulator) -> bool {{ return {7}; }}\n",
      address, publish, values + lend, loads, same, value, order,
      accumulator.anew_member.empty() ? "false" : std::format("total.{} != 0u", accumulator.anew_member));
}

// add_window() and end_windows(): one value of every lane, the nearest tile in lane 0, so lanes count backwards.
// add_unit(): a value of every lane, the nearest in the last one, to a total that end_windows() takes, too.
// first_lane(): the first lane that is set, or a number that is not less than a subgroup's size.
std::string window_functions(const TileAccumulator& accumulator, const DeviceTraits& traits) {
  const std::string first =
      traits.subgroup_max_size <= 32
          ? "fn first_lane(lanes: vec4u) -> u32 { return countTrailingZeros(lanes.x); }\n"
          : "fn first_lane(lanes: vec4u) -> u32 {\n"
            "  let word = select(select(select(3u, 2u, lanes.z != 0u), 1u, lanes.y != 0u), 0u, lanes.x != 0u);\n"
            "  return word * 32u + countTrailingZeros(lanes[word]);\n}\n";
  constexpr std::string_view add =
      "fn add_window(value: Accumulator, nearer: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {\n";
  constexpr std::string_view unit =
      "fn add_unit(total: Accumulator, value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {\n";
  constexpr std::string_view end =
      "fn end_windows(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {\n";
  if (!accumulator.windows.empty()) return first + accumulator.windows;
  if (accumulator.commutative) {
    return std::format(
        "{}// Each lane keeps a fold of its own until the end.\n"
        "{}  return combine(value, nearer);\n}}\n{}  return combine(total, value);\n}}\n"
        "{}  return subgroup_fold(value, thread, workgroup);\n}}\n",
        first, add, unit, end);
  }
  return std::format(
      "{}{}  // Backwards: the farthest tile first.\n"
      "  let size = workgroup.subgroup_size;\n"
      "  let turned = subgroup_pick(value, size - 1u - thread.lane, thread);\n"
      "  return combine(subgroup_pick(subgroup_inclusive(turned, thread, workgroup), size - 1u, thread), nearer);\n}}\n"
      "{}  let folded = subgroup_inclusive(value, thread, workgroup);\n"
      "  return combine(total, subgroup_pick(folded, workgroup.subgroup_size - 1u, thread));\n}}\n"
      "{}  return value;\n}}\n",
      first, add, unit, end);
}

std::string list(std::uint32_t count, const auto& item) {
  std::string text;
  for (std::uint32_t k = 0; k < count; ++k) text += (k == 0 ? "" : ", ") + item(k);
  return text;
}

// Units and rows one by one.
std::string default_tile(const TileProgram& program, std::uint32_t rows) {
  std::string text = "struct Tile {\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  u{}: Unit,\n", k);
  text += "}\nstruct Rows {\n";
  for (std::uint32_t k = 0; k < rows; ++k) text += std::format("  r{}: Accumulator,\n", k);
  text += "}\nfn load_tile(unit: u32, step: u32, is_full: bool, range: Range) -> Tile {\n  if (is_full) {\n";
  for (std::uint32_t k = 0; k < rows; ++k)
    text += std::format("    let l{0} = load_unit(unit + {0}u * step, range);\n", k);
  text += std::format("    return Tile({});\n  }}\n  let ends = load_ends(range);\n", list(rows, [](std::uint32_t k) {
                        return std::format("import_unit(l{0}, unit + {0}u * step, range)", k);
                      }));
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += std::format(
        "  let l{0} = load_edge_unit(unit + {0}u * step, load_edge_items(unit + {0}u * step, ends, range), range);\n",
        k);
  }
  text += std::format("  return Tile({});\n}}\n", list(rows, [](std::uint32_t k) {
                        return std::format("import_edge_unit(l{0}, unit + {0}u * step, range)", k);
                      }));
  text += std::format(
      "fn tile_rows(tile: Tile, unit: u32, step: u32, range: Range) -> Rows {{\n  return Rows({});\n}}\n",
      list(rows, [](std::uint32_t k) { return std::format("unit_total(tile.u{0}, unit + {0}u * step, range)", k); }));
  if (program.accumulator.commutative) {
    std::vector<std::string> terms;
    terms.reserve(rows);
    for (std::uint32_t k = 0; k < rows; ++k) terms.push_back(std::format("rows.r{}", k));
    text +=
        std::format("fn fold_rows(rows: Rows) -> Accumulator {{\n  return {};\n}}\n", combine_tree(std::move(terms)));
  }
  return text;
}

std::string whole_tile_function(bool has_tail) {
  return std::format(
      "fn is_whole_tile(first: u32, range: Range) -> bool {{\n"
      "  return first >= range.begin && first + TILE_ITEMS <= range.end{};\n}}\n",
      has_tail ? " &&\n         last_place(first, range) < params.input_first + params.tail_items" : "");
}

// The functions that take a tile apart: text, because compilers do not keep arrays in registers across a loop.
std::string tile_functions(const TileProgram& program, LanePath path, const ScanTuning& tuning,
                           const DeviceTraits& traits, Role role) {
  const std::uint32_t rows = tuning.rows;
  const bool lanes = path != LanePath::workgroup;
  std::string text = program.own_tile ? program.own_tile(lanes) : default_tile(program, rows);
  const bool has_own_scan = program.own_tile && lanes;
  if (path == LanePath::workgroup) {
    text += "fn put_rows(rows: Rows, index: u32) {\n";
    for (std::uint32_t k = 0; k < rows; ++k)
      text += std::format("  row_values[row_slot({0}u * WORKGROUP_SIZE + index)] = rows.r{0};\n", k);
    text +=
        std::format("}}\nfn get_rows(index: u32) -> Rows {{\n  return Rows({});\n}}\n", list(rows, [](std::uint32_t k) {
                      return std::format("row_values[row_slot({}u * WORKGROUP_SIZE + index)]", k);
                    }));
  } else {
    text += "struct ScannedRows {\n  before: Rows,\n  total: Accumulator,\n}\n";
    if (path == LanePath::shuffle && program.lane_scan) {
      text += program.lane_scan(tuning, traits);
    } else if (!has_own_scan) {
      text += row_scan_text(rows);
    }
  }
  // The output's last block is bound item by item.
  const bool has_tail = role != Role::totals && program.vector_output;
  text += whole_tile_function(has_tail);
  if (role != Role::totals && !program.has_own_store_tile) {
    text +=
        "fn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: "
        "Thread,\n"
        "              workgroup: Workgroup) {\n"
        "  let step = unit_step(workgroup);\n  let before = combine(prefix.tile, prefix.subgroup);\n";
    for (std::uint32_t k = 0; k < rows; ++k)
      text +=
          std::format("  store_unit(tile.u{0}, unit + {0}u * step, combine(before, rows.r{0}), is_full, range);\n", k);
    text += "}\n";
  }
  if (role == Role::chunks && !program.has_own_start_sink) {
    text += "fn start_sink(first_chunk: u32, chunk_count: u32, thread: Thread, workgroup: Workgroup) {}\n";
  }
  return text;
}

// Look-back ends with a barrier of its own.
std::string stage_ahead_function(bool stages_early, Role role) {
  constexpr std::string_view head =
      "fn stage_ahead(tile: Tile, rows: Rows, before: Accumulator, total: Accumulator, unit: u32, range: Range,\n"
      "               thread: Thread, workgroup: Workgroup) {";
  if (!stages_early) return std::format("{}}}\n", head);
  return std::format("{}\n  stage_tile(tile, rows, before, total, unit, range, thread, workgroup);\n{}}}\n", head,
                     role == Role::chunks ? "  workgroupBarrier();  // the stage is filled\n" : "");
}

LanePath lane_path_of(const TileAccumulator& accumulator, const ScanTuning& tuning, const DeviceTraits& traits) {
  const std::uint32_t size = tuning.workgroup_size;
  if (!tuning.use_subgroups || accumulator_words(accumulator) == 0) return LanePath::workgroup;
  if (traits.emulated_subgroup_size != 0) {
    const bool fits = traits.emulated_subgroup_size <= size &&
                      3ull * size * accumulator.size_bytes + 1024 <= traits.max_workgroup_bytes;
    return fits ? LanePath::emulated : LanePath::workgroup;
  }
  if (!has_numbered_subgroups(traits) || !has_whole_subgroups(traits, size)) return LanePath::workgroup;
  return accumulator.fold_builtin.empty() || !accumulator.commutative ? LanePath::shuffle : LanePath::builtin;
}

std::uint32_t scan_bytes(const TileAccumulator& accumulator, LanePath path, const ScanTuning& tuning,
                         bool single_pass) {
  const std::uint32_t size = tuning.workgroup_size;
  const std::uint32_t one = accumulator.size_bytes;
  std::uint32_t bytes = 12;
  if (path == LanePath::workgroup) bytes += (tuning.rows + 3) * size * one;
  if (path != LanePath::workgroup) bytes += subgroup_slots(size) * one;
  if (path == LanePath::emulated) bytes += (accumulator.commutative ? 2 : 1) * size * one;
  if (single_pass) {
    bytes += one + 8;
    if (path == LanePath::workgroup || path == LanePath::emulated) bytes += std::min(16u, size) * (one + 4);
  }
  return bytes;
}

class TilePlanner {
 public:
  TilePlanner(PlanBuilder plan, const MakeTileProgram& make, bool use_vectors, const TileExtent& extent,
              const DeviceTraits& traits, const ScanTuning& tuning, ScanOffsets offsets)
      : plan_(std::move(plan)),
        make_(make),
        use_vectors_(use_vectors),
        extent_(extent),
        traits_(traits),
        tuning_(tuning),
        offsets_(offsets),
        main_(make(use_vectors, tuning)) {}

  Result<Plan> finish(bool may_single_pass) && {
    path_ = lane_path_of(main_.accumulator, tuning_, traits_);
    fit_tuning();
    plan_.note(std::format("tuning: {}", to_string(tuning_)));
    plan_.note(path_ == LanePath::workgroup ? "scans in workgroup memory"
               : path_ == LanePath::builtin ? "scans by subgroup operations, then across subgroups"
               : path_ == LanePath::shuffle ? "scans by subgroup shuffles, then across subgroups"
                                            : "emulated subgroups");
    if (extent_.row_count == 0) return std::move(plan_).finish();
    if (extent_.row_length == 0) {
      if (!main_.add_total) return std::move(plan_).finish();
      if (const Status ok = plan_empty(); !ok) return std::unexpected(ok.error());
      return std::move(plan_).finish();
    }
    const std::string obstacle = single_pass_obstacle(main_, extent_, tuning_, traits_);
    if (tuning_.path == ScanPath::single_pass && !obstacle.empty()) {
      return fail(ErrorKind::invalid_request, std::format("No single pass here: {}.", obstacle));
    }
    const bool is_small = extent_.row_length <= tuning_.one_workgroup_items;
    single_pass_ = tuning_.path == ScanPath::single_pass || (tuning_.path == ScanPath::automatic && obstacle.empty() &&
                                                             may_single_pass && traits_.look_back && !is_small);
    const std::string reason = tuning_.path == ScanPath::two_pass ? "asked for"
                               : !obstacle.empty()                ? obstacle
                               : !may_single_pass                 ? "the same bits in every run"
                               : !traits_.look_back ? "look-back has not passed the self-test of this context"
                                                    : "few items";
    plan_.note(main_.is_map   ? "one pass"
               : single_pass_ ? "one pass with look-back"
                              : std::format("two passes, or one where a row is one chunk: {}", reason));
    if (const Status ok = make_windows(); !ok) return std::unexpected(ok.error());
    if (main_.needs_one_window && windows_.size() > 1) {
      return fail(ErrorKind::unsupported,
                  std::format("This {} needs its {} items in one binding; the device's limit is {} bytes.", main_.name,
                              extent_.row_length, traits_.max_binding_bytes));
    }
    // More bindings than a default device has: vectors need two for a buffer.
    if (use_vectors_ && !vectors_fit()) use_vectors_ = false;
    if (main_.reverse && windows_.size() > 1) {
      std::ranges::reverse(windows_);
      for (Window& window : windows_) std::swap(window.is_first, window.is_last);
    }
    std::uint64_t tiles = 0;
    for (const Window& window : windows_) tiles += tile_count(window, window_program(window));
    for (const TileScratch& array : main_.tile_scratch) {
      tile_scratch_.push_back(plan_.scratch(array.variable, tiles * array.bytes));
    }
    for (const Window& window : windows_) {
      if (const Status ok = plan_window(window); !ok) return std::unexpected(ok.error());
    }
    if (tiles > 1 && main_.add_last) {
      if (const Status ok = main_.add_last(plan_, tile_scratch_, tiles); !ok) return std::unexpected(ok.error());
    }
    return std::move(plan_).finish();
  }

 private:
  struct Window {
    std::uint64_t first_row = 0;
    std::uint64_t row_count = 0;
    std::uint64_t first_item = 0;  // in the row
    std::uint64_t length = 0;      // of each row, in this window
    bool is_first = true;          // of its row
    bool is_last = true;
  };

  void fit_tuning() {
    const ScanTuning wanted = tuning_;
    const auto fits = [&] {
      return scan_bytes(main_.accumulator, path_, tuning_, true) <= traits_.max_workgroup_bytes;
    };
    while (!fits() && (tuning_.rows > 1 || tuning_.workgroup_size > 1)) {
      if (tuning_.rows > 2 || tuning_.workgroup_size == 1) {
        tuning_.rows /= 2;
      } else {
        tuning_.workgroup_size /= 2;
      }
      main_ = make_(use_vectors_, tuning_);
      path_ = lane_path_of(main_.accumulator, tuning_, traits_);
    }
    if (tuning_ == wanted) return;
    plan_.note(
        std::format("cut from {} threads x {} to fit into workgroup memory", wanted.workgroup_size, wanted.rows));
  }

  [[nodiscard]] std::uint64_t tile_items(const TileProgram& program) const {
    return std::uint64_t{tuning_.workgroup_size} * tuning_.rows * program.unit_items;
  }

  // Windows of whole rows, or parts of one row, that one dispatch can bind.
  Status make_windows() {
    const auto per_item = [&](const TileBinding& binding) { return binding.per_item && binding.items_per_entry == 1; };
    std::uint64_t widest = 1;
    constexpr std::uint64_t block = 4;  // windows are whole units
    std::uint64_t aligned_block = 4;    // and where there is room, views begin without items in front
    std::uint64_t unused = 0;           // bytes in front of an unaligned view
    const auto add = [&](std::uint64_t stride) {
      widest = std::max(widest, stride);
      const std::uint64_t period = std::lcm<std::uint64_t>(traits_.offset_alignment, stride);
      aligned_block = std::lcm(aligned_block, period / stride);
      unused = std::max(unused, period - stride + main_.halo * stride);
    };
    for (const TileBinding& binding : main_.bindings) {
      if (per_item(binding)) add(binding.stride_bytes);
    }
    if (main_.vector_output) add(main_.vector_output->stride_bytes);
    const std::uint64_t all = extent_.row_count * extent_.row_length;
    const auto fits = [&](std::uint64_t items, std::uint64_t lead) {
      return items <= most_window_items && items * widest + lead <= traits_.max_binding_bytes;
    };
    const std::uint64_t lead = std::max(offsets_.input_bytes, offsets_.output_bytes) % traits_.offset_alignment;
    if (fits(all, lead == 0 ? 0 : unused)) {
      windows_.push_back({0, extent_.row_count, 0, extent_.row_length});
      return {};
    }
    const std::uint64_t room = traits_.max_binding_bytes - std::min(traits_.max_binding_bytes, unused);
    const std::uint64_t most = std::min(room / widest, most_window_items);
    if (extent_.row_length <= most) {
      const std::uint64_t rows = most / extent_.row_length;
      for (std::uint64_t row = 0; row < extent_.row_count; row += rows) {
        windows_.push_back({row, std::min(rows, extent_.row_count - row), 0, extent_.row_length});
      }
      return {};
    }
    const std::uint64_t unit = most >= aligned_block ? aligned_block : block;
    const std::uint64_t step = align_down(most, unit);
    if (step == 0) {
      return fail(ErrorKind::unsupported, std::format("A binding of {} bytes is too small for items of {} bytes.",
                                                      traits_.max_binding_bytes, widest));
    }
    // A binding of vectors has to hold a whole one: so that the last window does, the one before leaves it some items.
    constexpr std::uint64_t least_items = 16;
    const std::uint64_t spare = align_up(least_items, unit);
    for (std::uint64_t row = 0; row < extent_.row_count; ++row) {
      for (std::uint64_t item = 0; item < extent_.row_length; item += windows_.back().length) {
        const std::uint64_t left = extent_.row_length - item;
        const bool shares = left > step && left - step < least_items && step > spare;
        const std::uint64_t length = shares ? step - spare : std::min(step, left);
        windows_.push_back({row, 1, item, length, item == 0, length == left});
      }
    }
    return {};
  }

  // Does every kernel of the plan stay inside the device's storage buffers with vectors?
  bool vectors_fit() {
    for (const Role role : {Role::totals,
                            main_.is_map   ? Role::map
                            : single_pass_ ? Role::single_pass
                                           : Role::chunks,
                            Role::values}) {
      if (role == Role::values && !main_.add_values) continue;
      const bool is_cut = windows_.size() > 1 && extent_.row_count == 1;
      const auto kernel = make_kernel(main_, {role, true, is_cut ? Initial::carry : Initial::program,
                                              is_cut && !main_.add_total ? Total::carry : Total::program});
      if (!kernel) return true;  // the error comes again where it is reported
      const auto storage = std::ranges::count_if((*kernel)->bindings,
                                                 [](const KernelBinding& b) { return b.kind != BindingKind::uniform; });
      if (static_cast<std::uint32_t>(storage) > traits_.max_storage_buffers) return false;
    }
    return true;
  }

  // Windows share kernels, and the count of bindings needs them before: each is assembled once.
  Result<std::shared_ptr<const Kernel>> make_kernel(const TileProgram& program, const Variant& variant) {
    for (const MadeKernel& made : kernels_) {
      if (made.unit_items == program.unit_items && made.variant == variant) return made.kernel;
    }
    auto kernel = assemble_kernel(program, variant);
    if (kernel) kernels_.push_back({program.unit_items, variant, *kernel});
    return kernel;
  }

  Result<std::shared_ptr<const Kernel>> assemble_kernel(const TileProgram& program, const Variant& variant) const {
    constexpr std::string_view names[] = {"totals", "chunks", "single_pass", "empty", "map", "values"};
    const std::string_view role = names[static_cast<std::size_t>(variant.role)];
    KernelBuilder builder(
        std::format("{}_{}", program.name, variant.role == Role::values ? program.values_name : role));
    const TileAccumulator& accumulator = program.accumulator;
    const bool is_empty = variant.role == Role::empty;
    const LanePath path = is_empty ? LanePath::workgroup : path_;
    const bool subgroups = path == LanePath::builtin || path == LanePath::shuffle;
    if (program.needs_f16) builder.enable("f16");
    const bool is_plain = is_empty || variant.role == Role::map;
    builder.workgroup(tuning_.workgroup_size,
                      is_plain ? 0 : scan_bytes(accumulator, path, tuning_, variant.role == Role::single_pass));
    builder.constant("UNIT_ITEMS", program.unit_items).constant("ROWS", tuning_.rows);
    builder.constant("TILE_ITEMS", u32(tile_items(program)));
    if (variant.role == Role::single_pass) builder.constant("POLL_ROUNDS", tuning_.poll_rounds);
    program.add_types(builder);
    builder.generated("params", params_text(program));
    add_entry(builder,
              path == LanePath::emulated ? Entry::emulated
              : subgroups                ? Entry::subgroups
                                         : Entry::plain,
              traits_);
    // One whole subgroup looks back, or takes its piece of values; the analysis knows of no flow that is uniform in a
    // subgroup only.
    if (subgroups && (variant.role == Role::single_pass || variant.role == Role::values))
      builder.relax("subgroup_uniformity");
    builder.generated("accumulator", accumulator_functions(accumulator, path));
    builder.part(program.reverse ? "tile_range.reverse.wgsl" : "tile_range.forward.wgsl");
    if (extent_.length_on_device) builder.constant("ITEMS_PER_COUNT", extent_.items_per_count);
    builder.part(extent_.length_on_device ? "tile_extent.device_items.wgsl"
                 : extent_.rows_on_device ? "tile_extent.device_rows.wgsl"
                                          : "tile_extent.host.wgsl");
    if (variant.role == Role::values) {
      if (const Status ok = program.add_values(builder); !ok) return std::unexpected(ok.error());
      builder.part("tile_prefix.wgsl");
      builder.generated("whole tiles", whole_tile_function(false));
      add_threads(builder, path);
      builder.part("grid.wgsl");
      return std::move(builder).build();
    }
    if (!is_empty) {
      if (const Status ok = add_tile(builder, program, path, variant); !ok) return std::unexpected(ok.error());
    }
    if (variant.role != Role::totals && variant.role != Role::map) {
      if (variant.initial == Initial::carry) {
        builder.part("tile_initial.carry.wgsl");
      } else if (program.add_initial) {
        program.add_initial(builder);
      } else {
        builder.part("tile_initial.none.wgsl");
      }
      if (variant.total == Total::carry) {
        builder.part("tile_total.carry.wgsl");
      } else if (program.add_total) {
        program.add_total(builder, !is_empty);
      } else {
        builder.part("tile_total.none.wgsl");
      }
    }
    const bool single_pass = variant.role == Role::single_pass;
    // A count in a buffer must be read, and told to all, before anything is loaded.
    const bool in_order = single_pass && tuning_.in_order && !extent_.length_on_device;
    if (!single_pass || in_order) builder.part("grid.wgsl");
    if (single_pass) builder.part("tile_records.wgsl");
    builder.part(std::format("tile_{}{}.wgsl", role, in_order ? "_in_order" : ""));
    return std::move(builder).build();
  }

  Status add_tile(KernelBuilder& builder, const TileProgram& program, LanePath path, const Variant& variant) const {
    const bool stores = variant.role != Role::totals;
    const bool commutative = program.accumulator.commutative;
    if (const Status ok = program.add_units(builder, stores); !ok) return ok;
    builder.part("tile_prefix.wgsl");
    builder.generated("tile", tile_functions(program, path, tuning_, traits_, variant.role));
    if (path == LanePath::workgroup) {
      builder.part("tile_scan.workgroup.wgsl");
    } else {
      if (path == LanePath::emulated) {
        builder.part("subgroup_scan.emulated.wgsl");
        if (commutative) builder.part("subgroup_fold.emulated.wgsl");
      } else if (path == LanePath::shuffle) {
        builder.part("subgroup_scan.shuffle.wgsl");
        if (commutative) builder.part("subgroup_fold.shuffle.wgsl");
      }
      if (path != LanePath::shuffle) builder.part("lane_scan.exclusive.wgsl");
      add_threads(builder, path);
      builder.part(commutative && !program.late_publish ? "tile_scan.subgroup_early.wgsl" : "tile_scan.subgroup.wgsl");
    }
    if (variant.role == Role::totals) {
      builder.part(commutative ? "tile_sum.commutative.wgsl" : "tile_sum.ordered.wgsl");
      return {};
    }
    program.add_sink(builder);
    if (variant.role == Role::map) return {};
    builder.generated("stage ahead", stage_ahead_function(program.stages_early, variant.role));
    if (variant.role == Role::chunks) {
      builder.generated("constants", std::format("const IS_COMMUTATIVE = {};\n", commutative));
      builder.part(variant.has_partials ? "tile_before.partials.wgsl" : "tile_before.none.wgsl");
      return {};
    }
    const bool lanes = path == LanePath::builtin || path == LanePath::shuffle;
    builder.generated("records", record_functions(program.accumulator, lanes, traits_));
    if (lanes) builder.generated("windows", window_functions(program.accumulator, traits_));
    builder.part(lanes ? "tile_look_back.subgroup.wgsl" : "tile_look_back.workgroup.wgsl");
    return {};
  }

  // What lanes need beyond scans: numbers, and totals across subgroups.
  void add_threads(KernelBuilder& builder, LanePath path) const {
    builder.constant("SUBGROUP_SLOTS", subgroup_slots(tuning_.workgroup_size));
    const std::uint32_t lanes =
        path == LanePath::emulated ? traits_.emulated_subgroup_size : known_subgroup_size(traits_);
    const std::uint32_t subgroups = lanes == 0 ? 0 : tuning_.workgroup_size / lanes;
    // A loop over groups of lanes cost small scans 2 to 4 % and reductions by key 6 to 10 % (H200, 2026-12-02).
    const bool in_turn = subgroups != 0 && subgroups <= 16;
    if (in_turn) builder.constant("WHOLE_SUBGROUPS", subgroups);
    builder.part("tile_threads.subgroup.wgsl");
    builder.part(in_turn ? "tile_share.in_turn.wgsl" : "tile_share.lane_groups.wgsl");
  }

  static std::string params_text(const TileProgram& program) {
    std::string text = "struct TileParams {\n";
    for (const std::string_view field : {"row_length", "row_count", "row_base", "index_base", "halo", "chunk_tiles",
                                         "chunks_per_row", "workgroup_count", "is_first_window", "rows", "flag_base",
                                         "hidden_tiles", "input_first", "count_first", "grid_width", "grid_height"}) {
      text += std::format("  {}: u32,\n", field);
    }
    for (const std::string& field : program.params) text += std::format("  {}: u32,\n", field);
    return text + "}\n@group(0) @binding(0) var<uniform> params: TileParams;\n";
  }

  // Bytes of the output before its last block, from the beginning of the slot; nothing if that leaves no whole block.
  [[nodiscard]] std::optional<std::uint64_t> tail_offset(const TileProgram& program, const Window& window) const {
    const std::uint64_t stride = program.vector_output->stride_bytes;
    const std::uint64_t begin = (window.first_row * extent_.row_length + window.first_item) * stride;
    const std::uint64_t end = begin + window.row_count * window.length * stride;
    const std::uint64_t base = offsets_.output_bytes % traits_.offset_alignment;
    const std::uint64_t tail = align_down(base + end - 1, traits_.offset_alignment);
    if (tail <= base + begin) return std::nullopt;
    return tail - base;
  }

  [[nodiscard]] TileProgram window_program(const Window& window) const {
    const bool vectors = use_vectors_ && (!main_.vector_output || tail_offset(main_, window));
    return vectors ? main_ : make_(false, tuning_);
  }
  [[nodiscard]] std::uint64_t tile_count(const Window& window, const TileProgram& program) const {
    const std::uint64_t ends = program.reverse ? 2 : 1;  // of a row that may be cut
    return div_ceil(window.length + ends * (program.unit_items - 1), tile_items(program));
  }

  Status plan_window(const Window& window) {
    const TileProgram program = window_program(window);
    if (const Status ok = plan_scan(window, program); !ok || !program.add_values) return ok;
    const std::uint64_t tiles = tile_count(window, program);
    PlanBuilder::Step step = window_step(window, program);
    step.params.push_back({"chunk_tiles", 1});
    step.params.push_back({"chunks_per_row", u32(tiles)});
    step.workgroup_count = div_ceil(tiles, program.values_tiles);
    step.params.push_back({"workgroup_count", u32(step.workgroup_count)});
    if (std::ranges::find(program.params, "is_last_window") != program.params.end())
      step.params.push_back({"is_last_window", window.is_last ? 1u : 0u});
    step.reason =
        std::format("{}, {} of {} items", counted(window.length, "item"), counted(tiles, "tile"), tile_items(program));
    step.bytes_read = window.length * program.values_bytes + left_bytes(program, tiles);
    step.bytes_written = window.length * program.values_bytes;
    if (!program.values_only_read) step.bytes_written += tiles * program.tile_scratch.back().bytes;
    tile_base_ += tiles;
    return dispatch(program, {.role = Role::values}, window, std::move(step), {}, {});
  }

  // What the scan leaves for X_values.
  static std::uint64_t left_bytes(const TileProgram& program, std::uint64_t tiles) {
    std::uint64_t bytes = 0;
    const std::size_t unread = program.values_only_read ? 0 : 1;
    for (std::size_t i = 0; i + unread < program.tile_scratch.size(); ++i) bytes += program.tile_scratch[i].bytes;
    return tiles * bytes;
  }

  [[nodiscard]] PlanBuilder::Step window_step(const Window& window, const TileProgram& program) const {
    PlanBuilder::Step step;
    step.params = {{"row_length", u32(window.length)},
                   {"row_count", u32(window.row_count)},
                   {"row_base", u32(window.first_row)},
                   {"index_base", u32(window.first_item)},
                   {"is_first_window", window.is_first ? 1u : 0u},
                   {"rows", tuning_.rows},
                   {"halo", window.is_first ? 0 : program.halo}};
    if (!program.tile_scratch.empty()) step.params.push_back({"tile_base", u32(tile_base_)});
    return step;
  }

  Status plan_scan(const Window& window, const TileProgram& program) {
    const std::uint64_t tile = tile_items(program);
    const std::uint64_t tiles = tile_count(window, program);
    Variant variant;
    if (!window.is_first && !program.is_map) variant.initial = Initial::carry;
    const SlotId carry_in = carry_;
    if (!window.is_last && !program.is_map) {
      variant.total = Total::carry;
      carry_ = plan_.scratch("carry", program.accumulator.size_bytes);
    }
    PlanBuilder::Step step = window_step(window, program);
    const std::uint64_t items = window.row_count * window.length;
    const std::string what = std::format("{}{} of {}", counted(window.row_count, "row"),
                                         windows_.size() > 1 ? " (window)" : "", counted(window.length, "item"));
    if (program.is_map) {
      variant.role = Role::map;
      step.workgroup_count = tiles;
      step.params.push_back({"chunk_tiles", 1});
      step.params.push_back({"chunks_per_row", u32(tiles)});
      step.params.push_back({"workgroup_count", u32(tiles)});
      step.reason = std::format("{}, {} of {} items", what, counted(tiles, "tile"), tile);
      step.bytes_read = items * program.item_bytes;
      step.bytes_written = items * program.written_bytes;
      return dispatch(program, variant, window, std::move(step), {}, carry_in);
    }
    if (single_pass_ && has_tickets(tiles, traits_)) {
      variant.role = Role::single_pass;
      step.workgroup_count = tiles;
      const auto grid = fold_grid(tiles, traits_);
      if (!grid) return fail(ErrorKind::unsupported, std::format("{} workgroups are too many for the device.", tiles));
      step.params.push_back({"workgroup_count", grid->x * grid->y * grid->z});
      step.params.push_back({"hidden_tiles", traits_.test_hidden_chunks});
      step.params.push_back({"chunk_tiles", 1});
      step.params.push_back({"chunks_per_row", u32(tiles)});
      step.reason = std::format("{}, {} of {} items", what, counted(tiles, "tile"), tile);
      step.bytes_read = items * program.item_bytes;
      step.bytes_written = items * program.written_bytes + left_bytes(program, tiles);
      const SlotId state = plan_.state("tiles", state_header_bytes + state_record_bytes * std::bit_ceil(tiles));
      return dispatch(program, variant, window, std::move(step), {{"state", state}}, carry_in);
    }
    const std::uint64_t wanted = std::max<std::uint64_t>(1, tuning_.max_workgroups / extent_.row_count);
    const std::uint64_t chunk_tiles =
        extent_.row_length <= tuning_.one_workgroup_items ? tiles : div_ceil(tiles, std::min(wanted, tiles));
    const std::uint64_t chunks = div_ceil(tiles, chunk_tiles);
    step.params.push_back({"chunk_tiles", u32(chunk_tiles)});
    step.params.push_back({"chunks_per_row", u32(chunks)});
    step.params.push_back({"workgroup_count", u32(window.row_count * chunks)});
    step.workgroup_count = window.row_count * chunks;
    variant.has_partials = chunks > 1 || program.needs_grand_total;
    std::vector<Binding> partials;
    if (variant.has_partials) {
      partials = {{"partials", plan_.scratch("partials", window.row_count * chunks * program.accumulator.size_bytes)}};
      PlanBuilder::Step totals = step;
      totals.reason = std::format("totals of {} of {} items, {}", counted(chunks, "chunk"), chunk_tiles * tile, what);
      totals.bytes_read = items * program.item_bytes;
      totals.bytes_written = window.row_count * chunks * program.accumulator.size_bytes;
      if (const Status ok = dispatch(program, {.role = Role::totals}, window, std::move(totals), partials, carry_in);
          !ok)
        return ok;
    }
    step.reason = std::format("{}, {} a row of {} of {} items", what, counted(chunks, "chunk"),
                              counted(chunk_tiles, "tile"), tile);
    step.bytes_read = items * program.item_bytes;
    step.bytes_written = items * program.written_bytes + left_bytes(program, tiles);
    return dispatch(program, variant, window, std::move(step), partials, carry_in);
  }

  Status dispatch(const TileProgram& program, const Variant& variant, const Window& window, PlanBuilder::Step step,
                  const std::vector<Binding>& own, SlotId carry_in) {
    const auto kernel = make_kernel(program, variant);
    if (!kernel) return std::unexpected(kernel.error());
    step.kernel = *kernel;
    const auto bind = [&](Binding binding) {
      if ((*kernel)->find_binding(binding.name) != nullptr) step.bindings.push_back(binding);
    };
    const std::uint64_t first = window.first_row * extent_.row_length + window.first_item;
    const std::uint64_t count = window.row_count * window.length;
    const std::uint64_t halo = window.is_first ? 0 : program.halo;
    for (const TileBinding& binding : program.bindings) {
      Binding bound{binding.variable, binding.slot, 0, 0, binding.first_field};
      if (binding.per_item) {
        const std::uint64_t entry = binding.items_per_entry;
        const std::uint64_t begin = first / entry - (entry == 1 ? halo : 0);
        if (entry != 1) step.params.push_back({"flag_base", u32(first % entry)});
        bound.offset_bytes = begin * binding.stride_bytes;
        bound.size_bytes = (div_ceil(first + count, entry) - begin) * binding.stride_bytes;
      } else if (binding.per_row) {
        bound.offset_bytes = window.first_row * binding.stride_bytes;
        bound.size_bytes = window.row_count * binding.stride_bytes;
      }
      bind(bound);
    }
    if (program.vector_output && (*kernel)->find_binding("output_units") != nullptr) {
      const std::uint64_t stride = program.vector_output->stride_bytes;
      const std::uint64_t tail = *tail_offset(program, window);
      const std::uint64_t begin = (first - halo) * stride;
      bind({"output_units", program.vector_output->slot, begin, tail - begin, program.vector_output->first_field});
      bind({"output_tail", program.vector_output->slot, tail, (first + count) * stride - tail, "tail_first"});
      step.params.push_back({"tail_items", u32((tail - begin) / stride)});
      // The units of input and output begin alike.
      if ((*kernel)->find_binding("input_units") != nullptr) step.alike_fields = {"input_first", "output_first"};
    }
    // Where the kernel has both.
    const bool has_alike = std::ranges::any_of(
        step.bindings, [&](const Binding& b) { return b.first_item_field == program.alike_fields.second; });
    if (program.unit_items > 1 && !program.alike_fields.first.empty() && has_alike) {
      step.alike_fields = {program.alike_fields.first, program.alike_fields.second};
    }
    if (variant.initial == Initial::carry) bind({"carry", carry_in});
    if (variant.total == Total::carry) bind({"carry_out", carry_});
    for (const Binding& binding : own) bind(binding);
    for (std::size_t i = 0; i < tile_scratch_.size(); ++i) bind({program.tile_scratch[i].variable, tile_scratch_[i]});
    if (extent_.length_on_device || extent_.rows_on_device)
      bind({"item_count", extent_.item_count, 0, 4, "count_first"});
    fill_params(program, step);
    plan_.dispatch(std::move(step));
    return {};
  }

  // Fields that nothing is bound to are 0.
  static void fill_params(const TileProgram& program, PlanBuilder::Step& step) {
    for (const PlanBuilder::Param& param : program.param_values) step.params.push_back(param);
    for (const std::string& field : step.kernel->params) {
      if (field == "grid_width" || field == "grid_height") continue;
      const bool given = std::ranges::find(step.params, field, &PlanBuilder::Param::name) != step.params.end();
      const bool patched =
          std::ranges::any_of(step.bindings, [&](const Binding& b) { return b.first_item_field == field; });
      if (!given && !patched) step.params.push_back({field, 0});
    }
  }

  Status plan_empty() {
    const Variant variant{.role = Role::empty};
    PlanBuilder::Step step;
    const std::uint64_t rows = extent_.row_count;
    step.workgroup_count = div_ceil(rows, tuning_.workgroup_size);
    step.params = {{"row_count", u32(rows)}};
    step.reason = "no items: the total alone";
    return dispatch(main_, variant, {0, rows, 0, 0}, std::move(step), {}, {});
  }

  PlanBuilder plan_;
  const MakeTileProgram& make_;
  bool use_vectors_;
  const TileExtent& extent_;
  const DeviceTraits& traits_;
  ScanTuning tuning_;
  ScanOffsets offsets_;
  TileProgram main_;
  LanePath path_ = LanePath::workgroup;
  struct MadeKernel {
    std::uint32_t unit_items = 1;
    Variant variant;
    std::shared_ptr<const Kernel> kernel;
  };

  bool single_pass_ = false;
  std::vector<MadeKernel> kernels_;
  std::vector<Window> windows_;
  SlotId carry_;
  std::vector<SlotId> tile_scratch_;
  std::uint64_t tile_base_ = 0;  // of the window
};

}  // namespace

std::uint32_t words_of_type(std::string_view wgsl_type) {
  if (wgsl_type == "u32" || wgsl_type == "i32" || wgsl_type == "f32") return 1;
  if (wgsl_type == "vec2u" || wgsl_type == "vec2i" || wgsl_type == "vec2f") return 2;
  if (wgsl_type == "vec4u" || wgsl_type == "vec4i" || wgsl_type == "vec4f") return 4;
  for (const std::string_view scalar : {"u32", "i32", "f32"}) {
    if (wgsl_type == std::format("vec2<{}>", scalar)) return 2;
    if (wgsl_type == std::format("vec4<{}>", scalar)) return 4;
  }
  return 0;
}

bool is_one_wave(std::uint32_t item_bytes, std::uint64_t item_count, std::uint64_t most_items,
                 const DeviceTraits& traits) {
  return item_bytes <= 4 && item_count > std::uint64_t{1} << 18 && item_count <= most_items &&
         traits.adapter_vendor == "nvidia" && traits.max_workgroup_size >= 512 && traits.max_workgroup_bytes >= 32768;
}

std::string row_scan_text(std::uint32_t rows) {
  std::string text =
      "fn scan_rows(rows: Rows, thread: Thread, workgroup: Workgroup) -> ScannedRows {\n"
      "  let last = workgroup.subgroup_size - 1u;\n";
  for (std::uint32_t k = 0; k < rows; ++k)
    text += std::format("  let l{0} = scan_lanes(rows.r{0}, thread, workgroup);\n", k);
  for (std::uint32_t k = 0; k < rows; ++k) {
    const std::string row = std::format("subgroup_pick(l{}.inclusive, last, thread)", k);
    text +=
        k == 0 ? std::format("  let t0 = {};\n", row) : std::format("  let t{} = combine(t{}, {});\n", k, k - 1, row);
  }
  return text + std::format("  return ScannedRows(Rows({}), t{});\n}}\n",
                            list(rows,
                                 [](std::uint32_t k) {
                                   return k == 0 ? std::string("l0.before")
                                                 : std::format("combine(t{}, l{}.before)", k - 1, k);
                                 }),
                            rows - 1);
}

bool scans_by_lanes(const TileAccumulator& accumulator, const ScanTuning& tuning, const DeviceTraits& traits) {
  const LanePath path = lane_path_of(accumulator, tuning, traits);
  return path == LanePath::builtin || path == LanePath::shuffle;
}

std::uint32_t scan_workgroup_bytes(const TileAccumulator& accumulator, const ScanTuning& tuning,
                                   const DeviceTraits& traits) {
  return scan_bytes(accumulator, lane_path_of(accumulator, tuning, traits), tuning, true);
}

TileAccumulator tile_accumulator(const LoweredOperator& op) {
  TileAccumulator accumulator{.type = op.accumulator, .size_bytes = op.accumulator_bytes};
  accumulator.commutative = op.commutative;
  // Only sums and products have exclusive forms.
  if (op.subgroup_builtin == "subgroupAdd" || op.subgroup_builtin == "subgroupMul") {
    accumulator.fold_builtin = op.subgroup_builtin;
  }
  return accumulator;
}

std::string single_pass_obstacle(const TileProgram& program, const TileExtent& extent, const ScanTuning& tuning,
                                 const DeviceTraits& traits) {
  const std::uint32_t words = accumulator_words(program.accumulator);
  if (words == 0) return "structs do not fit into atomic words";
  if (record_words(program.accumulator) > 4)
    return std::format("an accumulator of {} words is more than the 4 of a record", record_words(program.accumulator));
  if (program.needs_grand_total) return "what comes last starts where the others end";
  if (program.in_place) return "the output is the input, which a stalled tile's helper must still read";
  if (extent.row_count != 1) return "rows are scanned separately";
  const std::uint64_t tile = std::uint64_t{tuning.workgroup_size} * tuning.rows * program.unit_items;
  const std::uint64_t tiles = div_ceil(extent.row_length + 6, tile);
  if (!has_tickets(tiles, traits)) {
    const std::uint64_t side = traits.max_workgroups_per_dimension;
    return std::format("{} tiles, with the workgroups that fold them into a grid, are more than {}", tiles,
                       std::min<std::uint64_t>(most_tickets, side * side * side));
  }
  // The state is rounded up to a power of two.
  if (state_header_bytes + state_record_bytes * std::bit_ceil(tiles) > traits.max_binding_bytes) {
    return std::format("the state of {} tiles is larger than a binding", tiles);
  }
  return {};
}

std::vector<TileBinding> input_bindings(SlotId slot, std::uint32_t stride_bytes) {
  TileBinding binding{
      .variable = "input", .slot = slot, .stride_bytes = stride_bytes, .first_field = "input_first", .per_item = true};
  std::vector<TileBinding> bindings{binding};
  binding.variable = "input_units";
  bindings.push_back(std::move(binding));
  return bindings;
}

Status check_tile_request(const DeviceTraits& traits, std::initializer_list<const ElementType*> types,
                          std::uint64_t item_count) {
  if (traits.offset_alignment == 0 || traits.max_binding_bytes == 0) {
    return fail(ErrorKind::invalid_request, "The device traits lack limits.");
  }
  for (const ElementType* type : types) {
    if (type->size_bytes == 0 || type->stride_bytes < type->size_bytes) {
      return fail(ErrorKind::invalid_request, std::format("\"{}\" is no element type.", type->name));
    }
  }
  if (item_count > most_tile_items) {
    return fail(ErrorKind::unsupported, std::format("{} items are more than {}.", item_count, most_tile_items));
  }
  return {};
}

Result<Plan> plan_tiles(PlanBuilder plan, const MakeTileProgram& make, bool use_vectors, const TileExtent& extent,
                        const DeviceTraits& traits, const ScanTuning& tuning, ScanOffsets offsets,
                        bool may_single_pass) {
  if (!std::has_single_bit(tuning.workgroup_size) || tuning.rows == 0 || tuning.rows > 16 ||
      tuning.max_workgroups == 0) {
    return fail(ErrorKind::invalid_request, std::format("Tuning out of range: {}.", to_string(tuning)));
  }
  if (tuning.workgroup_size > traits.max_workgroup_size) {
    return fail(ErrorKind::unsupported, std::format("A workgroup of {} threads is larger than the device's limit ({}).",
                                                    tuning.workgroup_size, traits.max_workgroup_size));
  }
  if (use_vectors) {
    // Views begin at items: of vectors, at powers of two.
    const auto output = make(true, tuning).vector_output;
    if (output && offsets.output_bytes % output->stride_bytes != 0) {
      return fail(ErrorKind::invalid_request,
                  std::format("Offset {} of the output is not a multiple of its item ({} bytes).", offsets.output_bytes,
                              output->stride_bytes));
    }
  }
  return TilePlanner(std::move(plan), make, use_vectors, extent, traits, tuning, offsets).finish(may_single_pass);
}

}  // namespace upsweep
