// SPDX-License-Identifier: Apache-2.0
// Plans of reductions by key: a segmented scan; the item that begins a run stores what the run before came to.
#include <algorithm>
#include <format>

#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "plan/subgroup_plan.h"
#include "plan/tile_runs.h"
#include "plan/tile_segments.h"
#include "plan/tile_select.h"
#include "upsweep/runs.h"

namespace upsweep {
namespace {

struct Slots {
  SlotId keys;
  SlotId input;
  SlotId unique_keys;
  SlotId output;
  SlotId count;
};

struct Problem {
  const ReduceByKeyShape& shape;
  LoweredOperator op;
  [[nodiscard]] bool is_custom() const { return shape.combine.kind == OperatorKind::custom; }
};

// Sums that wrap come back as differences of prefix sums.
bool sums_wrap(const ReduceByKeyShape& shape) {
  return shape.combine.kind == OperatorKind::sum &&
         (shape.input == ElementType::u32() || shape.input == ElementType::i32());
}

// WGSL's atomic operation that folds one more value into a result; empty if there is none.
std::string_view atomic_operation(const ReduceByKeyShape& shape) {
  if (shape.input != ElementType::u32() && shape.input != ElementType::i32()) return {};
  switch (shape.combine.kind) {
    case OperatorKind::sum: return "atomicAdd";
    case OperatorKind::min: return "atomicMin";
    case OperatorKind::max: return "atomicMax";
    case OperatorKind::bit_and: return "atomicAnd";
    case OperatorKind::bit_or: return "atomicOr";
    case OperatorKind::bit_xor: return "atomicXor";
    default: return {};
  }
}

// Of the values in a unit: how they are bound and loaded, and what expressions say of unit `unit`.
struct ValueText {
  std::string declarations;
  std::string inside;   // bit k: item k is the row's; `first` is the position of the first
  std::string by_item;  // loads, one an item, separated by commas
  std::string before;   // the key in front of the unit's first
};

// Of storage buffers that kernels bind which take keys and values apart, with what windows do.
std::uint32_t split_buffers(const ReduceByKeyShape& shape) { return shape.item_count.read_on_device ? 9 : 8; }

// Do tiles fold their parts of a run into its result, so that no last pass has to? One buffer more.
bool folds_ends(const ReduceByKeyShape& shape, const DeviceTraits& traits) {
  return !atomic_operation(shape).empty() && traits.max_storage_buffers > split_buffers(shape);
}

// More tiles than these, and keys and values are taken one after the other. H200, runs of 4, in us: of f32 16.1 instead
// of 13.0 at 2^20, 18.3 instead of 20.0 at 2^21, 73 instead of 100 at 2^24 (2026-12-01). Sums of u32 have a faster
// single pass (512 threads x 4): with ends folded 19.2 instead of 19.8 at 2^22, but 42.1 instead of 34.4 with runs of
// 1, and 37.7 instead of 40.3 at 2^23; else 42.9 at 2^23, 68.9 instead of 71.6 at 2^24 (2026-12-03).
constexpr std::uint64_t least_split_tiles = 192;
constexpr std::uint64_t least_split_tiles_of_folded_differences = 256;
constexpr std::uint64_t least_split_tiles_of_differences = 1024;

// Items of a thread in the pass over keys. The pass over values takes groups of neighbouring values; of runs of 4 the
// stage holds a tile's.
constexpr std::uint32_t thread_values = 32;
constexpr std::uint32_t group_items = 8;
constexpr std::uint32_t staged_values = 9;

std::uint32_t subgroup_count(const ScanTuning& tuning, const DeviceTraits& traits) {
  return tuning.workgroup_size / traits.subgroup_min_size;
}

// Of sums that wrap, in tiles of 512 threads: where they are taken apart, 256 threads are faster (H200, 2026-12-03,
// 2^23: 37.7 us instead of 38.9).
std::uint64_t most_items_of_wide_tiles(const ReduceByKeyShape& shape, const DeviceTraits& traits) {
  return std::uint64_t{1} << (folds_ends(shape, traits) ? 22 : 23);
}

std::uint64_t least_split_items(const ReduceByKeyShape& shape, const DeviceTraits& traits,
                                std::uint32_t workgroup_size) {
  const bool has_fast_single_pass = sums_wrap(shape) && traits.look_back;
  const std::uint64_t tiles = !has_fast_single_pass       ? least_split_tiles
                              : folds_ends(shape, traits) ? least_split_tiles_of_folded_differences
                                                          : least_split_tiles_of_differences;
  return tiles * workgroup_size * thread_values;
}

// Of what a tile leaves for the last pass.
std::uint32_t record_bytes_of(const LoweredOperator& op) {
  return 2 * op.accumulator_bytes + std::clamp(op.accumulator_bytes, 4u, 16u);
}

std::uint32_t values_workgroup_bytes(const LoweredOperator& op, const ScanTuning& tuning, const DeviceTraits& traits) {
  return 4 + op.accumulator_bytes * (staged_values * tuning.workgroup_size) +
         (4 + 2 * op.accumulator_bytes) * subgroup_count(tuning, traits);
}

// Masks of heads go from one kernel to the other, so subgroups must have one size.
bool has_known_lanes(const DeviceTraits& traits) { return known_subgroup_size(traits) >= 4; }

// Keys and values that may be taken one after the other.
bool has_split_types(const ReduceByKeyShape& shape) {
  return shape.key.stride_bytes == 4 && unit_items_of(shape.key) == 4 && shape.input.stride_bytes == 4 &&
         unit_items_of(shape.input) == 4;
}

// Keys with their equality, values with their types.
ValueText add_keys_and_values(KernelBuilder& builder, const Problem& problem, const TileItems& keys) {
  const StoredType value = stored_type(problem.shape.input);
  builder.alias("RawValue", value.raw);
  add_tile_items(builder, keys);
  add_equality(builder, "same_item", problem.shape.key, problem.shape.equality);
  const std::uint32_t count = keys.unit_items;
  builder.alias("ValueUnit", unit_type(problem.shape.input, count));
  ValueText text;
  text.declarations = std::format(
      "@group(0) @binding(7) var<storage, read> values: array<RawValue>;\n{}"
      "fn load_value(raw: RawValue) -> Value {{ return {}; }}\n"
      "fn load_value_at(position: u32, range: Range) -> RawValue {{\n"
      "  return values[clamp(position, range.begin, range.end - 1u) - params.input_first + params.values_first];\n}}\n",
      count > 1 ? "@group(0) @binding(8) var<storage, read> value_units: array<ValueUnit>;\n" : "", value.load);
  for (std::uint32_t k = 0; k < count; ++k) {
    text.inside += std::format("{}select(0u, {}u, (first + {}u >= range.begin) & (first + {}u < range.end))",
                               k == 0 ? "" : " | ", 1u << k, k, k);
    text.by_item += std::format("{}load_value_at(unit * UNIT_ITEMS + {}u, range)", k == 0 ? "" : ", ", k);
  }
  text.before = "load_item(clamp(unit * UNIT_ITEMS, params.input_first + 1u, max(range.end, 1u)) - 1u, range)";
  return text;
}

Status add_units(KernelBuilder& builder, const Problem& problem, const TileItems& keys) {
  const ValueText value_text = add_keys_and_values(builder, problem, keys);
  const std::uint32_t count = keys.unit_items;
  const bool vectors = count > 1;
  const TileItems values{.type = problem.shape.input, .unit_items = count};
  std::string text = head_mask_text(keys) + value_text.declarations;
  const std::string keep = words_of_type(problem.op.accumulator) != 0
                               ? "  return select(no_value(), value, is_kept);\n"
                               : "  if (is_kept) { return value; }\n  return no_value();\n";
  std::vector<std::string> terms;
  for (std::uint32_t k = 0; k < count; ++k) {
    // Made when needed: an accumulator an item would take twice the registers.
    text += std::format(
        "fn item_sum{0}(u: Unit, unit: u32, range: Range) -> Accumulator {{\n"
        "  let value = import_value(load_value({1}), item_index(unit * UNIT_ITEMS + {0}u, range));\n"
        "  return Accumulator(keep_inside(value, (u.mask & {2}u) != 0u), (u.mask >> {0}u) & 1u);\n}}\n",
        k, values.item("u.values", k), 16u << k);
    terms.push_back(std::format("item_sum{}(u, unit, range)", k));
  }
  const std::string total =
      count == 1   ? terms[0]
      : count == 2 ? std::format("combine({}, {})", terms[0], terms[1])
                   : std::format("combine(combine({}, {}), combine({}, {}))", terms[0], terms[1], terms[2], terms[3]);
  text += std::format(
      "struct Loaded {{\n  items: RawUnit,\n  before: RawItem,\n  values: ValueUnit,\n}}\n"
      "// mask: bits 0 to 3 where runs begin, bits 4 to 7 where the items are the row's.\n"
      "struct Unit {{\n  items: RawUnit,\n  values: ValueUnit,\n  mask: u32,\n}}\n"
      "fn keep_inside(value: InnerAccumulator, is_kept: bool) -> InnerAccumulator {{\n{0}}}\n"
      "fn load_unit(unit: u32, range: Range) -> Loaded {{\n  return Loaded(load_items(unit, range), {1}, {2});\n}}\n"
      "fn import_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n"
      "  return Unit(loaded.items, loaded.values, item_mask(loaded, unit, range) | 0xf0u);\n}}\n"
      "fn load_edge_unit(unit: u32, items: RawUnit, range: Range) -> Loaded {{\n"
      "  return Loaded(items, {1}, {3});\n}}\n"
      "fn import_edge_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n"
      "  let first = unit * UNIT_ITEMS;\n  let inside = {4};\n"
      "  return Unit(loaded.items, loaded.values, (item_mask(loaded, unit, range) & inside) | (inside << 4u));\n}}\n"
      "fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator {{ return {5}; }}\n",
      keep, value_text.before,
      vectors ? "value_units[(unit * UNIT_ITEMS - params.input_first + params.values_first) / UNIT_ITEMS]"
              : "load_value_at(unit, range)",
      vectors ? std::format("ValueUnit({})", value_text.by_item) : value_text.by_item, value_text.inside, total);
  builder.generated("units", text);
  return {};
}

// Words of keys and values go through workgroup memory where there is a stage: the stores are coalesced.
void add_sink(KernelBuilder& builder, const TileItems& keys, std::uint32_t stage, const ScanTuning& tuning) {
  const std::uint32_t count = keys.unit_items;
  std::string text =
      "@group(0) @binding(3) var<storage, read_write> output: array<RawItem>;\n"
      "@group(0) @binding(4) var<storage, read_write> results: array<RawResult>;\n"
      "fn end_run(runs: Accumulator) {\n"
      "  if (runs.heads != 0u) { results[params.results_first + runs.heads - 1u] = result_value(runs.value); }\n}\n";
  if (stage == 0) {
    text +=
        "fn store_unit(u: Unit, unit: u32, prefix: Accumulator, is_full: bool, range: Range) {\n  var runs = prefix;\n";
    for (std::uint32_t k = 0; k < count; ++k) {
      text += std::format(
          "  if ((u.mask & {0}u) != 0u) {{\n    end_run(runs);\n    output[params.output_first + runs.heads] = "
          "{1};\n  }}\n",
          1u << k, keys.item("u.items", k));
      if (k + 1 < count) text += std::format("  runs = combine(runs, item_sum{}(u, unit, range));\n", k);
    }
    builder.generated("store", text + "}\n");
    return;
  }
  builder.constant("STAGE", stage * tuning.workgroup_size);
  text +=
      "var<workgroup> shared_runs: u32;\n"
      "// Behind the stage one slot a thread takes what begins no run: cheaper than a branch.\n"
      "var<workgroup> staged_keys: array<RawItem, STAGE + WORKGROUP_SIZE>;\n"
      "// Of the run before each.\n"
      "var<workgroup> staged_values: array<InnerAccumulator, STAGE + WORKGROUP_SIZE>;\n"
      "fn stage_unit(u: Unit, unit: u32, prefix: Accumulator, first: u32, spare: u32, range: Range) {\n  var runs = "
      "prefix;\n";
  for (std::uint32_t k = 0; k < count; ++k) {
    text += std::format(
        "  let slot{0} = runs.heads - first;\n"
        "  let to{0} = select(spare, slot{0}, ((u.mask & {1}u) != 0u) & (slot{0} < STAGE));\n"
        "  staged_keys[to{0}] = {2};\n  staged_values[to{0}] = runs.value;\n",
        k, 1u << k, keys.item("u.items", k));
    if (k + 1 < count) text += std::format("  runs = combine(runs, item_sum{}(u, unit, range));\n", k);
  }
  text +=
      "}\nfn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: "
      "Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  let step = unit_step(workgroup);\n  let before = combine(prefix.tile, prefix.subgroup);\n"
      "  if (thread.index == 0u) { shared_runs = prefix.total.heads; }\n"
      "  let count = workgroupUniformLoad(&shared_runs);\n"
      "  let spare = STAGE + thread.index;\n"
      "  for (var done = 0u; done < count; done += STAGE) {\n"
      "    let first = prefix.tile.heads + done;\n";
  for (std::uint32_t k = 0; k < tuning.rows; ++k) {
    text += std::format(
        "    stage_unit(tile.u{0}, unit + {0}u * step, combine(before, rows.r{0}), first, spare, range);\n", k);
  }
  text +=
      "    workgroupBarrier();  // the stage is filled\n"
      "    let staged_count = min(STAGE, count - done);\n";
  text += each_staged_text;
  text +=
      "      output[params.output_first + first + i] = staged_keys[i];\n"
      "      end_run(Accumulator(staged_values[i], first + i));\n    }\n"
      "    workgroupBarrier();  // the stage may be filled again\n  }\n}\n";
  builder.generated("store", text);
  builder.more_workgroup_bytes(4 + (stage + 1) * 2 * 4 * tuning.workgroup_size);
}

// For sums that wrap: nothing but sums and counts is scanned.
Status add_difference_units(KernelBuilder& builder, const Problem& problem, const TileItems& keys) {
  const ValueText value_text = add_keys_and_values(builder, problem, keys);
  const std::uint32_t count = keys.unit_items;
  const bool vectors = count > 1;
  const TileItems values{.type = problem.shape.input, .unit_items = count};
  std::string text = heads_text(keys) + value_text.declarations;
  std::string items;
  std::string sum;
  std::string to_head;
  for (std::uint32_t k = 0; k < count; ++k) {
    text += std::format(
        "fn value_item{0}(unit_values: ValueUnit, unit: u32, range: Range) -> InnerAccumulator {{\n"
        "  return import_value(load_value({1}), item_index(unit * UNIT_ITEMS + {0}u, range));\n}}\n",
        k, values.item("unit_values", k));
    items += std::format("  let x{0} = keep_inside(value_item{0}(u.values, unit, range), (u.mask & {1}u) != 0u);\n", k,
                         16u << k);
    sum += std::format("{}x{}", k == 0 ? "" : " + ", k);
  }
  for (std::uint32_t k = 0; k < 3; ++k) to_head += k + 1 < count ? std::format("x{}, ", k) : "no_value(), ";
  text += std::format(
      "fn keep_inside(value: InnerAccumulator, is_kept: bool) -> InnerAccumulator {{\n"
      "  return select(no_value(), value, is_kept);\n}}\n"
      "fn inside_mask(unit: u32, range: Range) -> u32 {{\n  let first = unit * UNIT_ITEMS;\n  return {0};\n}}\n"
      "fn load_before(unit: u32, range: Range) -> RawItem {{\n  return {2};\n}}\n"
      "fn load_values(unit: u32, range: Range) -> ValueUnit {{\n  return {1};\n}}\n",
      value_text.inside,
      // Both begin alike: what they differ by is whole units.
      vectors ? "value_units[unit - params.input_first / UNIT_ITEMS + params.values_first / UNIT_ITEMS]"
              : "values[unit - params.input_first + params.values_first]",
      value_text.before);
  // As add_tile_items() does with the keys.
  text += std::format("fn load_values_apart(unit: u32, range: Range) -> ValueUnit {{\n  return {};\n}}\n",
                      vectors ? std::format("ValueUnit({})", value_text.by_item) : value_text.by_item);
  text += vectors ? "struct ValueEnds {\n  first: ValueUnit,\n  last: ValueUnit,\n}\n"
                    "fn load_value_ends(range: Range) -> ValueEnds {\n"
                    "  return ValueEnds(load_values_apart(range.begin / UNIT_ITEMS, range),\n"
                    "                   load_values_apart((range.end - 1u) / UNIT_ITEMS, range));\n}\n"
                    "fn load_edge_values(unit: u32, ends: ValueEnds, range: Range) -> ValueUnit {\n"
                    "  let first_whole = (range.begin + UNIT_ITEMS - 1u) / UNIT_ITEMS;\n"
                    "  let end_whole = range.end / UNIT_ITEMS;\n"
                    "  let whole = load_values(clamp(unit, first_whole, max(end_whole, 1u) - 1u), range);\n"
                    "  return select(select(whole, ends.last, unit >= end_whole), ends.first, unit < first_whole);\n}\n"
                  : "struct ValueEnds {\n  unused: u32,\n}\n"
                    "fn load_value_ends(range: Range) -> ValueEnds { return ValueEnds(0u); }\n"
                    "fn load_edge_values(unit: u32, ends: ValueEnds, range: Range) -> ValueUnit {\n"
                    "  return load_values_apart(unit, range);\n}\n";
  // What helps a stalled tile folds unit by unit.
  text += std::format(
      "struct Loaded {{\n  items: RawUnit,\n  before: RawItem,\n  values: ValueUnit,\n}}\n"
      "// mask: bits 0 to 3 where runs begin, bits 4 to 7 where the items are the row's.\n"
      "struct Unit {{\n  values: ValueUnit,\n  mask: u32,\n}}\n"
      "fn load_edge_unit(unit: u32, items: RawUnit, range: Range) -> Loaded {{\n"
      "  return Loaded(items, load_before(unit, range), load_values_apart(unit, range));\n}}\n"
      "fn import_edge_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n"
      "  let inside = inside_mask(unit, range);\n"
      "  return Unit(loaded.values, (heads_of(loaded.items, loaded.before, unit, range) & inside) | (inside << "
      "4u));\n}}\n"
      "fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator {{\n"
      "{}  return Accumulator({}, countOneBits(u.mask & 15u), sum_to_head({}u.mask & 15u));\n}}\n",
      items, sum, to_head);
  builder.generated("units", text);
  return {};
}

// Each run is staged as its key and the sum of what lies before it in the tile; neighbours there give the sums of runs.
void add_difference_sink(KernelBuilder& builder, const TileItems& keys, std::uint32_t stage, const ScanTuning& tuning) {
  const std::uint32_t count = keys.unit_items;
  builder.constant("STAGE", stage * tuning.workgroup_size);
  std::string text =
      "@group(0) @binding(3) var<storage, read_write> output: array<RawItem>;\n"
      "@group(0) @binding(4) var<storage, read_write> results: array<RawResult>;\n"
      "var<workgroup> shared_runs: u32;\n"
      "var<workgroup> staged: array<vec2u, STAGE>;\n"
      "fn end_run(ended: u32, value: InnerAccumulator) {\n"
      "  if (ended != 0u) { results[params.results_first + ended - 1u] = result_value(value); }\n}\n"
      "fn stage_runs(items: RawUnit, ";
  for (std::uint32_t j = 0; j < count; ++j) text += std::format("x{}: InnerAccumulator, ", j);
  text += "mask: u32, before: InnerAccumulator, first: u32) {\n  var sum = before;\n  var slot = first;\n";
  for (std::uint32_t j = 0; j < count; ++j) {
    // Slots before the window wrap to huge numbers and fail the test, too. A branch: with a slot a thread behind the
    // stage for the others it took 15.7 us instead of 12.4 at 2^21 and 28.0 instead of 21.5 at 2^22 (H200, 2026-12-02).
    text += std::format(
        "  let is_head{0} = (mask & {1}u) != 0u;\n"
        "  if (is_head{0} & (slot < STAGE)) {{ staged[slot] = vec2u(bitcast<u32>({2}), bitcast<u32>(sum)); }}\n",
        j, 1u << j, keys.item("items", j));
    if (j + 1 < count) text += std::format("  slot += select(0u, 1u, is_head{0});\n  sum += x{0};\n", j);
  }
  text +=
      "}\nfn staged_sum(slot: u32) -> InnerAccumulator { return bitcast<InnerAccumulator>(staged[slot].y); }\n"
      "fn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: Thread,\n"
      "              workgroup: Workgroup) {\n"
      "  if (thread.index == 0u) { shared_runs = prefix.total.heads; }\n"
      "  let count = workgroupUniformLoad(&shared_runs);\n"
      "  // The sum before the last run of the tiles before, counted from this tile on.\n"
      "  var previous = prefix.tile.last - prefix.tile.sum;\n"
      "  for (var done = 0u; done < count; done += STAGE) {\n"
      "    let first = prefix.subgroup.heads - done;\n";
  for (std::uint32_t k = 0; k < tuning.rows; ++k) {
    text += std::format("    stage_runs(tile.u{}, ", k);
    for (std::uint32_t j = 0; j < count; ++j) text += std::format("tile.x{}_{}, ", k, j);
    text += std::format("{}, prefix.subgroup.sum + row_sum{}(rows), first + row_before{}(rows));\n", mask_of(k), k, k);
  }
  text +=
      "    workgroupBarrier();  // the stage is filled\n"
      "    let staged_count = min(STAGE, count - done);\n";
  text += each_staged_text;
  text +=
      "      let run_number = prefix.tile.heads + done + i;\n"
      "      output[params.output_first + run_number] = bitcast<RawItem>(staged[i].x);\n"
      "      end_run(run_number, staged_sum(i) - select(staged_sum(max(i, 1u) - 1u), previous, i == 0u));\n    }\n"
      "    previous = staged_sum(staged_count - 1u);\n"
      "    workgroupBarrier();  // the stage may be filled again\n  }\n}\n";
  builder.generated("store", text);
  builder.more_workgroup_bytes(4 + stage * 2 * 4 * tuning.workgroup_size);
}

// What a tile leaves for reduce_by_key_carries.
constexpr std::string_view tile_run_text =
    "const NO_HEADS = 0xffffffffu;\n"
    "// lead: of the items before the first head; tail: from the last head on, or of all items.\n"
    "struct TileRun {\n  lead: InnerAccumulator,\n  tail: InnerAccumulator,\n  heads_before: u32,  // or NO_HEADS\n}\n";

// The pass over the keys also leaves its masks of heads, a word a thread, and where the runs of each subgroup begin.
constexpr std::string_view leave_heads_text =
    "  if (thread.lane == 0u) {\n"
    "    tile_starts[tile_number * (SUBGROUPS + 1u) + thread.subgroup] = prefix.tile + prefix.subgroup;\n  }\n"
    "  if (thread.index == 0u) {\n    let end = prefix.tile + prefix.total;\n"
    "    tile_starts[tile_number * (SUBGROUPS + 1u) + SUBGROUPS] = end;\n"
    "    if (prefix.total != 0u) { leave_identity(end - 1u); }\n  }\n"
    "  head_masks[tile_number * WORKGROUP_SIZE + thread_rank(thread, workgroup)] = tile.masks0;\n";

std::string heads_text_bindings(const ScanTuning& tuning, const DeviceTraits& traits) {
  return std::format(
      "const SUBGROUPS = {}u;\n"
      "@group(0) @binding(4) var<storage, read_write> head_masks: array<u32>;\n"
      "// Of each subgroup of a tile the runs that begin before it, and those before the tile's end.\n"
      "@group(0) @binding(5) var<storage, read_write> tile_starts: array<u32>;\n",
      subgroup_count(tuning, traits));
}

// Groups of neighbouring values, how they are loaded and folded; for reduce_by_key_values.wgsl.
void add_values_text(KernelBuilder& builder, const Problem& problem, const ScanTuning& tuning,
                     const DeviceTraits& traits, bool folds_ends) {
  constexpr std::uint32_t count = 4;  // of a unit
  const bool custom = problem.is_custom();
  const StoredType value = stored_type(problem.shape.input);
  const TileItems items{.type = problem.shape.input, .unit_items = count};
  builder.alias("RawValue", value.raw).alias("ValueUnit", unit_type(problem.shape.input, count));
  builder.constant("LANES", traits.subgroup_min_size).constant("STAGE", staged_values * tuning.workgroup_size);
  const auto list = [](std::uint32_t length, std::string_view separator, const auto& item) {
    std::string text;
    for (std::uint32_t k = 0; k < length; ++k) text += (k == 0 ? "" : std::string(separator)) + item(k);
    return text;
  };
  std::string text = std::format(
      "// Not read: where it begins says where tiles do.\n"
      "@group(0) @binding(1) var<storage, read> input: array<u32>;\n"
      "@group(0) @binding(7) var<storage, read> values: array<RawValue>;\n"
      "@group(0) @binding(8) var<storage, read> value_units: array<ValueUnit>;\n{}{}"
      "fn load_value(raw: RawValue) -> Value {{ return {}; }}\n"
      "fn load_value_at(position: u32, range: Range) -> RawValue {{\n"
      "  return values[clamp(position, range.begin, range.end - 1u) - params.input_first + params.values_first];\n}}\n"
      "fn inside_mask(unit: u32, range: Range) -> u32 {{\n  let first = unit * UNIT_ITEMS;\n  return {};\n}}\n"
      "// Both begin alike: what they differ by is whole units.\n"
      "fn load_values(unit: u32, range: Range) -> ValueUnit {{\n"
      "  return value_units[unit - params.input_first / UNIT_ITEMS + params.values_first / UNIT_ITEMS];\n}}\n"
      "fn load_edge_values(unit: u32, range: Range) -> ValueUnit {{\n  return ValueUnit({});\n}}\n",
      heads_text_bindings(tuning, traits), folds_ends ? "" : tile_run_text, value.load,
      list(count, " | ",
           [](std::uint32_t k) {
             return std::format("select(0u, {}u, (first + {}u >= range.begin) & (first + {}u < range.end))", 1u << k, k,
                                k);
           }),
      list(count, ", ",
           [](std::uint32_t k) { return std::format("load_value_at(unit * UNIT_ITEMS + {}u, range)", k); }));
  text += std::format(
      "struct Group {{\n{}}}\nfn load_group(unit: u32, is_tile: bool, is_full: bool, range: Range) -> Group {{\n"
      "  var group: Group;\n",
      list(group_items, "", [](std::uint32_t k) { return std::format("  x{}: InnerAccumulator,\n", k); }));
  for (const bool full : {true, false}) {
    text += full ? "  if (is_full) {\n" : "  } else if (is_tile) {\n";
    for (std::uint32_t k = 0; k < group_items / count; ++k) {
      text += std::format("    let v{0} = load_{1}values(unit + {0}u, range);\n", k, full ? "" : "edge_");
      if (!full) text += std::format("    let i{0} = inside_mask(unit + {0}u, range);\n", k);
    }
    for (std::uint32_t k = 0; k < group_items; ++k) {
      const std::string item = std::format("import_value(load_value({}), item_index(unit * UNIT_ITEMS + {}u, range))",
                                           items.item(std::format("v{}", k / count), k % count), k);
      text += full ? std::format("    group.x{} = {};\n", k, item)
                   : std::format("    group.x{} = select(no_value(), {}, (i{} & {}u) != 0u);\n", k, item, k / count,
                                 1u << k % count);
    }
  }
  text += std::format("  }} else {{\n{}  }}\n  return group;\n}}\n", list(group_items, "", [](std::uint32_t k) {
                        return std::format("    group.x{} = no_value();\n", k);
                      }));
  text +=
      "// Stages what runs come to where the next ones begin, from slot `first` on. Gives the run that is open behind\n"
      "// the group.\n"
      "fn fold_group(group: Group, mask: u32, first: u32) -> InnerAccumulator {\n"
      "  var slot = first;\n  var value = no_value();\n";
  // Branches: with selects sums of u32 took 4 registers more, which cost a workgroup of 5 on a multiprocessor (H200,
  // 2026-12-01, 2^26: 114 us instead of 103).
  for (std::uint32_t k = 0; k < group_items; ++k) {
    text += std::format(
        "  if ((mask & {0}u) != 0u) {{\n    staged[slot] = value;\n    slot += 1u;\n    value = "
        "group.x{1};\n"
        "  }} else {{\n    value = combine_values(value, group.x{1});\n  }}\n",
        1u << k, k);
  }
  text += std::format(
      "  return value;\n}}\n"
      "fn combine_if(left: InnerAccumulator, value: InnerAccumulator, is_real: bool) -> InnerAccumulator {{\n{}}}\n{}",
      custom ? "  if (is_real) { return combine_values(left, value); }\n  return value;\n"
             : "  return select(value, combine_values(left, value), is_real);\n",
      segment_scan_text(custom, traits, traits.subgroup_min_size));
  if (folds_ends) {
    text += std::format(
        "fn fold_into_result(run_number: u32, value: InnerAccumulator) {{\n"
        "  {}(&results[params.results_first + run_number], result_value(value));\n}}\n",
        atomic_operation(problem.shape));
  }
  builder.generated("values", text);
  builder.part(folds_ends ? "reduce_by_key_ends.atomic.wgsl" : "reduce_by_key_ends.records.wgsl");
  builder.part("reduce_by_key_values.wgsl");
  builder.more_workgroup_bytes(values_workgroup_bytes(problem.op, tuning, traits));
}

// Adds up runs that cross tiles.
Status add_carries(PlanBuilder& plan, const Problem& problem, const Slots& slots, std::uint32_t workgroup_size,
                   SlotId records, std::uint64_t record_count) {
  KernelBuilder builder("reduce_by_key_carries");
  const LoweredOperator& op = problem.op;
  builder.workgroup(workgroup_size,
                    workgroup_size * 2 * (op.accumulator_bytes + std::clamp(op.accumulator_bytes, 4u, 16u)) + 12);
  add_operator(builder, problem.shape.combine, problem.shape.input, op, segment_operator_names);
  add_entry(builder, Entry::plain, {});
  builder.generated("records", tile_run_text);
  builder.part("grid.wgsl").part("reduce_by_key_carries.wgsl");
  auto kernel = std::move(builder).build();
  if (!kernel) return std::unexpected(kernel.error());
  PlanBuilder::Step step;
  step.kernel = *kernel;
  step.workgroup_count = (record_count + workgroup_size - 1) / workgroup_size;
  step.params = {{"record_count", static_cast<std::uint32_t>(record_count)}};
  step.bindings = {{"results", slots.output, 0, 0, "results_first"},
                   {"records", records},
                   {"count", slots.count, 0, 0, "count_out_first"}};
  step.reason = std::format("runs that go on past one of {}", counted(record_count, "tile"));
  step.bytes_read = record_count * record_bytes_of(op);
  plan.dispatch(std::move(step));
  return {};
}

// store_total() that writes the number of runs; `end_run` stores what the last of them came to.
void add_count_of_runs(KernelBuilder& builder, std::string_view end_run) {
  builder.generated("total", std::format("@group(0) @binding(6) var<storage, read_write> count: array<u32>;\n"
                                         "fn store_total(row: u32, sum: Accumulator, range: Range) {{\n"
                                         "  count[params.count_out_first] = sum.heads;\n{}}}\n",
                                         end_run));
}

// Heads first, then values: for many tiles, whose look-back is short if it carries counts only.
bool splits(const Problem& problem, const DeviceTraits& traits, const ScanTuning& tuning, std::uint32_t unit_items) {
  if (!has_known_lanes(traits) || !scans_by_lanes(count_accumulator(), tuning, traits)) return false;
  // Vectors must be sure to fit.
  return traits.max_storage_buffers >= split_buffers(problem.shape) && has_split_types(problem.shape) &&
         tuning.rows * unit_items == thread_values && unit_items == 4 && words_of_type(problem.op.accumulator) != 0 &&
         scan_workgroup_bytes(count_accumulator(), tuning, traits) +
                 values_workgroup_bytes(problem.op, tuning, traits) <=
             traits.max_workgroup_bytes &&
         problem.shape.item_count.max > least_split_items(problem.shape, traits, tuning.workgroup_size);
}

TileProgram make_split_program(const Problem& problem, const Slots& slots, const DeviceTraits& traits,
                               const ScanTuning& tuning, TileProgram program) {
  const ReduceByKeyShape& shape = problem.shape;
  const TileItems keys{.type = shape.key, .unit_items = program.unit_items};
  program.accumulator = count_accumulator();
  program.late_publish = true;
  program.params.emplace_back("tile_base");
  program.item_bytes = shape.key.stride_bytes;
  program.written_bytes = shape.key.stride_bytes;
  program.values_bytes = shape.input.stride_bytes;
  const bool folds = folds_ends(shape, traits);
  program.tile_scratch = {{"head_masks", 4 * tuning.workgroup_size},
                          {"tile_starts", 4 * (subgroup_count(tuning, traits) + 1)}};
  program.values_only_read = folds;
  if (!folds) program.tile_scratch.push_back({"records", record_bytes_of(problem.op)});
  program.add_types = [&problem](KernelBuilder& builder) {
    add_count_types(builder);
    add_operator(builder, problem.shape.combine, problem.shape.input, problem.op, segment_operator_names);
  };
  program.add_units = [&problem, keys](KernelBuilder& builder, bool) -> Status {
    add_equality(builder, "same_item", problem.shape.key, problem.shape.equality);
    add_marked_units(builder, keys, head_mask_text(keys), true, true);
    return {};
  };
  program.own_tile = [tuning, &traits](bool lanes) { return marked_tile(tuning.rows, lanes, traits); };
  SelectSink sink =
      choose_select_sink(keys, true, false, tuning, traits, scan_workgroup_bytes(program.accumulator, tuning, traits));
  sink.at_start = std::string(tile_number_text) + std::string(leave_heads_text);
  program.has_own_store_tile = true;
  sink.stages_early = program.stages_early = sink.stage_per_thread != 0;
  program.add_sink = [keys, sink, tuning, &traits, folds](KernelBuilder& builder) {
    std::string text = heads_text_bindings(tuning, traits);
    text += folds ? "@group(0) @binding(7) var<storage, read_write> results: array<RawResult>;\n"
                    "// Values are folded into it, of several tiles.\n"
                    "fn leave_identity(run_number: u32) {\n"
                    "  results[params.results_first + run_number] = result_value(no_value());\n}\n"
                  : "fn leave_identity(run_number: u32) {}\n";
    builder.generated("heads", text);
    add_select_sink(builder, keys, sink, tuning);
  };
  program.add_total = [&traits](KernelBuilder& builder, bool) { add_count_total(builder, 0, traits); };
  program.add_values = [&problem, &traits, tuning, folds](KernelBuilder& builder) -> Status {
    add_values_text(builder, problem, tuning, traits, folds);
    return {};
  };
  if (folds) return program;
  program.add_last = [&problem, &slots, tuning](PlanBuilder& plan, const std::vector<SlotId>& scratch,
                                                std::uint64_t tile_count) {
    return add_carries(plan, problem, slots, tuning.workgroup_size, scratch.back(), tile_count);
  };
  return program;
}

TileProgram make_program(const Problem& problem, const Slots& slots, const DeviceTraits& traits,
                         const ScanTuning& tuning, bool vectors) {
  const ReduceByKeyShape& shape = problem.shape;
  TileProgram program;
  program.name = "reduce_by_key";
  program.accumulator = segmented_accumulator(problem.op, problem.is_custom());
  program.unit_items = vectors ? unit_items_of(shape.key) : 1;
  for (const ElementType* type : {&shape.key, &shape.input, &problem.op.result}) {
    if (type->scalar == Scalar::f16) program.needs_f16 = true;
  }
  program.halo = 1;
  program.params = {"values_first", "output_first", "results_first", "indices_first", "count_out_first"};
  const std::uint32_t key_stride = shape.key.stride_bytes;
  const std::uint32_t stride = shape.input.stride_bytes;
  const std::uint32_t result_stride = problem.op.result.stride_bytes;
  program.item_bytes = key_stride + stride;
  program.written_bytes = key_stride + result_stride;
  program.bindings = input_bindings(slots.keys, key_stride);
  program.bindings.append_range(std::initializer_list<TileBinding>{
      {.variable = "values",
       .slot = slots.input,
       .stride_bytes = stride,
       .first_field = "values_first",
       .per_item = true},
      {.variable = "value_units",
       .slot = slots.input,
       .stride_bytes = stride,
       .first_field = "values_first",
       .per_item = true},
      {.variable = "output", .slot = slots.unique_keys, .stride_bytes = key_stride, .first_field = "output_first"},
      {.variable = "results", .slot = slots.output, .stride_bytes = result_stride, .first_field = "results_first"},
      {.variable = "count", .slot = slots.count, .first_field = "count_out_first"}});
  program.alike_fields = {"input_first", "values_first"};
  const TileItems keys{.type = shape.key, .unit_items = program.unit_items};
  const TileAccumulator pairs = difference_accumulator(problem.op);
  std::uint32_t stage = 0;
  if (splits(problem, traits, tuning, program.unit_items))
    return make_split_program(problem, slots, traits, tuning, std::move(program));
  if (sums_wrap(shape) && tuning.rows <= 8) {
    // A round for runs of 4 where there is memory (H200, 2026-11-30, 8 vectors, a variant: 355 us instead of 367).
    stage = choose_pair_stage(keys, pairs, tuning, traits, std::max(5u, keys.unit_items * tuning.rows * 5 / 16));
    if (stage == 0) stage = choose_pair_stage(keys, pairs, tuning, traits);
  }
  if (stage != 0) {
    program.accumulator = pairs;
    program.add_types = [&problem](KernelBuilder& builder) {
      add_operator(builder, problem.shape.combine, problem.shape.input, problem.op, segment_operator_names);
      builder.generated("difference operator", difference_operator());
    };
    program.add_units = [&problem, keys](KernelBuilder& builder, bool) {
      return add_difference_units(builder, problem, keys);
    };
    program.own_tile = [keys, pairs, tuning, &traits](bool lanes) {
      return difference_tile(keys, pairs, tuning, lanes, traits);
    };
    program.has_own_store_tile = true;
    program.add_sink = [keys, stage, tuning](KernelBuilder& builder) {
      add_difference_sink(builder, keys, stage, tuning);
    };
    program.add_total = [](KernelBuilder& builder, bool has_items) {
      add_count_of_runs(builder, has_items ? "  end_run(sum.heads, sum.sum - sum.last);\n" : "");
    };
    return program;
  }
  program.lane_scan = [&problem](const ScanTuning& lane_tuning, const DeviceTraits& device) {
    return segmented_lane_scan(problem.is_custom(), lane_tuning, device);
  };
  program.add_types = [&problem](KernelBuilder& builder) {
    add_operator(builder, problem.shape.combine, problem.shape.input, problem.op, segment_operator_names);
    builder.generated("segmented operator", segmented_operator(problem.op, problem.is_custom()));
  };
  program.add_units = [&problem, keys](KernelBuilder& builder, bool) { return add_units(builder, problem, keys); };
  const bool has_words = words_of_type(problem.op.accumulator) == 1;
  stage = has_words ? choose_pair_stage(keys, program.accumulator, tuning, traits) : 0;
  program.has_own_store_tile = stage != 0;
  program.add_sink = [keys, stage, tuning](KernelBuilder& builder) { add_sink(builder, keys, stage, tuning); };
  program.add_total = [](KernelBuilder& builder, bool has_items) {
    add_count_of_runs(builder, has_items ? "  end_run(sum);\n" : "");
  };
  return program;
}

}  // namespace

ScanTuning select_scan_tuning(const ReduceByKeyShape& shape, const DeviceTraits& traits) {
  const std::uint32_t widest = std::max(shape.key.stride_bytes, shape.input.stride_bytes);
  ScanTuning tuning = select_scan_tuning(widest, shape.item_count.max, traits);
  // H200, 2026-11-30, runs of 4 at 2^26: sums that wrap 332 us with 8 vectors, about 450 with 4 (variants of this
  // text); others 476 with 6, 529 with 4, 647 with 8, which spill, unless keys and values are taken apart.
  const bool may_split = has_split_types(shape) && has_known_lanes(traits) && traits.emulated_subgroup_size == 0;
  tuning.rows = std::min(tuning.rows, sums_wrap(shape) || may_split ? 8u : 6u);
  // H200, 2026-12-02, runs of 4, sums of u32: at 2^22 20.0 us, 20.7 with 256 threads x 8 and 22.4 with 256 x 4; at 2^20
  // 9.0, 9.6 and 9.1.
  if (sums_wrap(shape) && is_one_wave(widest, shape.item_count.max, most_items_of_wide_tiles(shape, traits), traits)) {
    tuning.workgroup_size = 512;
    tuning.rows = 4;
  }
  // Fewer rows than the two passes take are for a single pass.
  if (may_split && shape.item_count.max > least_split_items(shape, traits, tuning.workgroup_size)) tuning.rows = 8;
  return tuning;
}

Result<Plan> plan_reduce_by_key(const ReduceByKeyShape& shape, const DeviceTraits& traits,
                                std::optional<ScanTuning> tuning, ScanOffsets offsets) {
  const std::uint64_t count = shape.item_count.max;
  const std::uint32_t key_stride = shape.key.stride_bytes;
  const std::uint32_t stride = shape.input.stride_bytes;
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (const Status ok = check_tile_request(traits, {&shape.key, &shape.input}, count); !ok)
    return std::unexpected(ok.error());
  if (const Status ok = check_equality(shape.key, shape.equality); !ok) return std::unexpected(ok.error());
  auto lowered = lower_operator(shape.combine, shape.input, shape.output ? &*shape.output : nullptr);
  if (!lowered) return with_context(lowered.error(), "planning a reduction by key");
  const Problem problem{shape, std::move(*lowered)};
  const ScanTuning chosen = tuning.value_or(select_scan_tuning(shape, traits));
  PlanBuilder plan("reduce_by_key", traits);
  plan.note(std::format("{} of runs of {} by {} keys", to_string(shape.combine), shape.input.name, shape.key.name));
  plan.least_bytes_of_counted(count * (key_stride + stride));
  Slots slots;
  if (count != 0) {
    slots.keys = plan.argument("keys", count * key_stride, key_stride);
    slots.input = plan.argument("input", count * stride, stride);
    slots.unique_keys = plan.argument("unique_keys", count * key_stride, key_stride, true);
    slots.output =
        plan.argument("output", count * problem.op.result.stride_bytes, problem.op.result.stride_bytes, true);
  }
  slots.count = plan.argument("count", 4, 4, true);
  SlotId item_count;
  if (shape.item_count.read_on_device) item_count = plan.argument("item_count", 4, 4);
  const TileExtent extent{
      .row_length = count, .length_on_device = shape.item_count.read_on_device, .item_count = item_count};
  const std::uint32_t units = unit_items_of(shape.key);
  const bool begin_alike = offsets.input_bytes % traits.offset_alignment / key_stride % 4 ==
                           offsets.output_bytes % traits.offset_alignment / stride % 4;
  const bool vectors = chosen.use_vectors && units > 1 && units == unit_items_of(shape.input) && begin_alike &&
                       count * std::min(key_stride, stride) >= 64;
  const bool is_float = problem.op.summation_terms != 0 || shape.combine.kind == OperatorKind::custom ||
                        (shape.combine.kind == OperatorKind::product && shape.input.is_float());
  const bool repeats = shape.determinism == Determinism::run_to_run && is_float;
  // Where only counts look back, the order is always the same.
  const bool may_single_pass = !repeats || splits(problem, traits, chosen, vectors ? units : 1);
  if (!may_single_pass && chosen.path == ScanPath::single_pass)
    return refuse("A single pass does not repeat float sums bit for bit.");
  return plan_tiles(
      std::move(plan),
      [&](bool with_vectors, const ScanTuning& fitted) {
        return make_program(problem, slots, traits, fitted, with_vectors);
      },
      vectors, extent, traits, chosen, offsets, may_single_pass);
}

}  // namespace upsweep
