// SPDX-License-Identifier: Apache-2.0
// Plans of scans: what an item is, where segments begin and what is stored; src/plan/tile_scan.h makes the passes.
#include <algorithm>
#include <format>

#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "plan/tile_items.h"
#include "plan/tile_scan.h"
#include "plan/tile_segments.h"
#include "upsweep/scan.h"

namespace upsweep {
namespace {

using Kind = ScanSegments::Kind;

struct Problem {
  const ScanShape& shape;
  ElementType value;
  ElementType output;
  LoweredOperator op;
  bool is_segmented = false;  // heads travel with the values; rows may be walked as one
  std::uint64_t row_count = 1;
  std::uint64_t row_length = 0;

  [[nodiscard]] bool is_custom() const { return shape.combine.kind == OperatorKind::custom; }
  [[nodiscard]] bool has_keys() const { return shape.segments.kind == Kind::keys; }
};

struct Slots {
  SlotId input;
  SlotId output;
  SlotId total;
  SlotId heads;
  SlotId keys;
  SlotId item_count;
  SlotId init;
};

TileAccumulator accumulator_of(const Problem& problem) {
  if (problem.is_segmented) {
    TileAccumulator accumulator = segmented_accumulator(problem.op, problem.is_custom());
    accumulator.anew_member = "heads";
    accumulator.recorded = {"value.value", ""};
    return accumulator;
  }
  TileAccumulator accumulator = tile_accumulator(problem.op);
  accumulator.is_custom = problem.is_custom();
  return accumulator;
}

void add_types(KernelBuilder& builder, const Problem& problem) {
  add_operator(builder, problem.shape.combine, problem.value, problem.op,
               problem.is_segmented ? segment_operator_names : OperatorNames{});
  if (problem.is_segmented)
    builder.generated("segmented operator", segmented_operator(problem.op, problem.is_custom()));
}

std::string init_functions(const Problem& problem, KernelBuilder& builder, std::string_view name) {
  if (!problem.shape.init) return {};
  const StoredType init = stored_type(problem.value);
  builder.alias("RawInit", init.raw);
  return std::format(
      "@group(0) @binding(7) var<storage, read> init: array<RawInit>;\n"
      "fn init_value(raw: RawInit) -> Value {{ return {}; }}\n"
      "fn {}() -> {} {{ return import_value(init_value(init[0]), 0u); }}\n",
      init.load, name, problem.is_segmented ? "InnerAccumulator" : "Accumulator");
}

// is_head(position, range): does a segment begin there? And where whole units are the row's, full_heads(unit, range): a
// bit for each of their items.
Result<std::string> head_functions(const Problem& problem, const TileItems& items, KernelBuilder& builder) {
  const ScanSegments& segments = problem.shape.segments;
  const bool reverse = problem.shape.reverse;
  std::string text;
  std::string test;
  switch (segments.kind) {
    case Kind::whole: return text;
    case Kind::rows:
      test = reverse ? "(item_index(position, range) + 1u) % SEGMENT_ITEMS == 0u"
                     : "item_index(position, range) % SEGMENT_ITEMS == 0u";
      builder.constant("SEGMENT_ITEMS", segments.row_length);
      break;
    case Kind::flags:
      text += "@group(0) @binding(8) var<storage, read> heads: array<u32>;\n";
      text += flag_function("is_flagged", segments.format, "heads", "heads_first");
      // Backwards a segment begins at the item in front of which, in memory, another one starts.
      test = std::format("is_flagged(item_index(position{}, range) - params.index_base + params.flag_base)",
                         reverse ? " - 1u" : "");
      break;
    case Kind::keys: {
      const StoredType key = stored_type(segments.key);
      builder.alias("RawKey", key.raw);
      builder.caller_type(segments.key);
      if (const Status ok = check_equality(segments.key, segments.equality); !ok) return std::unexpected(ok.error());
      add_equality(builder, "same_key", segments.key, segments.equality);
      text += std::format(
          "@group(0) @binding(8) var<storage, read> keys: array<RawKey>;\n"
          "fn key_value(raw: RawKey) -> {} {{ return {}; }}\n"
          "fn load_key(position: u32, range: Range) -> {} {{\n"
          "  return key_value(keys[item_place(position, range) - params.input_first + params.keys_first]);\n}}\n",
          key.value, key.load, key.value);
      test = reverse ? "!same_key(load_key(position, range), load_key(before, range))"
                     : "!same_key(load_key(before, range), load_key(position, range))";
      break;
    }
  }
  // The first position of a window has one before it only if it is not the row's first. No branches: all loads of a
  // tile are to be on their way.
  constexpr std::string_view is_first = "((position == range.begin) & (params.is_first_window == 1u))";
  const std::string before =
      problem.has_keys() ? "  let before = max(position, first_readable(range) + 1u) - 1u;\n" : "";
  text += std::format(
      "fn is_head(position: u32, range: Range) -> bool {{\n{}  return {} | ({});\n}}\n"
      "fn full_heads(unit: u32, range: Range) -> u32 {{\n  let position = unit * UNIT_ITEMS;\n",
      before, is_first, test);
  if (problem.has_keys()) text += before + "  let key = load_key(before, range);\n";
  std::string mask;
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    mask += std::format("{}select(0u, {}u, ", k == 0 ? "" : " | ", 1u << k);
    if (!problem.has_keys()) {
      mask += std::format("is_head(position + {}u, range))", k);
      continue;
    }
    text += std::format("  let key{0} = load_key(position + {0}u, range);\n", k);
    const std::string earlier = k == 0 ? "key" : std::format("key{}", k - 1);
    mask += std::format("{}!same_key({}, {}))", k == 0 ? std::string(is_first) + " | " : std::string(),
                        reverse ? std::format("key{}", k) : earlier, reverse ? earlier : std::format("key{}", k));
  }
  return text + std::format("  return {};\n}}\n", mask);
}

// Item k of a Unit u as an accumulator.
std::string item_sum(const Problem& problem, std::uint32_t k) {
  return problem.is_segmented ? std::format("Accumulator(u.v{0}, (u.heads >> {0}u) & 1u)", k) : std::format("u.v{}", k);
}

Status add_units(KernelBuilder& builder, const Problem& problem, const TileItems& items) {
  const std::uint32_t count = items.unit_items;
  builder.caller_text("transform", problem.shape.transform.wgsl);
  builder.caller_expression("transform expression", "fn transform(x: Item, i: u32) -> Value",
                            problem.shape.transform.expression);
  add_tile_items(builder, items);
  std::string text;
  const auto heads = head_functions(problem, items, builder);
  if (!heads) return std::unexpected(heads.error());
  text += *heads;
  const bool segmented = problem.is_segmented;
  text +=
      std::format("struct Loaded {{\n  items: RawUnit,\n{}}}\nstruct Unit {{\n", segmented ? "  heads: u32,\n" : "");
  // Of segmented scans the heads are bits: an accumulator an item would take twice the registers.
  const std::string_view member = segmented ? "InnerAccumulator" : "Accumulator";
  for (std::uint32_t k = 0; k < count; ++k) text += std::format("  v{}: {},\n", k, member);
  text += segmented ? "  heads: u32,\n}\n" : "}\n";
  if (segmented) {
    text += init_functions(problem, builder, "start_value");
    if (!problem.shape.init) text += "fn start_value() -> InnerAccumulator { return no_value(); }\n";
    text += "fn head_mask(unit: u32, range: Range) -> u32 {\n  var mask = 0u;\n";
    for (std::uint32_t k = 0; k < count; ++k) {
      text += std::format(
          "  mask |= select(0u, {}u, is_head(clamp(unit * UNIT_ITEMS + {}u, range.begin, range.end - 1u), range));\n",
          1u << k, k);
    }
    text += "  return mask;\n}\n";
    const std::string start =
        problem.shape.init ? "  if (is_head) { return combine_values(start_value(), value); }\n" : "";
    text += std::format(
        "fn item_at(raw: RawItem, position: u32, range: Range, is_head: bool) -> InnerAccumulator {{\n"
        "  let index = item_index(position, range){};\n"
        "  let value = import_value(transform(item_value(raw), index), index);\n{}  return value;\n}}\n",
        problem.shape.segments.kind == Kind::rows ? " % SEGMENT_ITEMS" : "", start);
  } else {
    text +=
        "fn item_at(raw: RawItem, position: u32, range: Range) -> Accumulator {\n"
        "  let index = item_index(position, range);\n"
        "  return import_value(transform(item_value(raw), index), index);\n}\n";
  }
  const auto item = [&](std::uint32_t k, std::string_view loaded) {
    return std::format("item_at({}, unit * UNIT_ITEMS + {}u, range{})", items.item(std::string(loaded) + ".items", k),
                       k, segmented ? std::format(", ({}.heads & {}u) != 0u", loaded, 1u << k) : "");
  };
  const std::string mask = segmented ? ", head_mask(unit, range)" : "";
  text +=
      std::format("fn load_unit(unit: u32, range: Range) -> Loaded {{ return Loaded(load_items(unit, range){}); }}\n",
                  segmented ? ", full_heads(unit, range)" : "");
  std::string imported;
  std::string edges;
  std::string inside;
  std::vector<std::string> terms;
  for (std::uint32_t k = 0; k < count; ++k) {
    imported += std::format("{}{}", k == 0 ? "" : ", ", item(k, "loaded"));
    edges += std::format("{}keep_inside({}, unit * UNIT_ITEMS + {}u, range)", k == 0 ? "" : ", ", item(k, "loaded"), k);
    inside +=
        std::format("{}select(0u, {}u, is_inside(unit * UNIT_ITEMS + {}u, range))", k == 0 ? "" : " | ", 1u << k, k);
    terms.push_back(item_sum(problem, k));
  }
  const std::string total =
      count == 1   ? terms[0]
      : count == 2 ? std::format("combine({}, {})", terms[0], terms[1])
                   : std::format("combine(combine({}, {}), combine({}, {}))", terms[0], terms[1], terms[2], terms[3]);
  const std::string keep_value = !segmented ? "choose(identity(), value, is_inside(position, range))"
                                 : words_of_type(problem.op.accumulator) != 0
                                     ? "select(no_value(), value, is_inside(position, range))"
                                     : "";
  text += std::format(
      "fn is_inside(position: u32, range: Range) -> bool {{ return (position >= range.begin) & (position < range.end); "
      "}}\n"
      "fn keep_inside(value: {0}, position: u32, range: Range) -> {0} {{\n{1}}}\n"
      "fn import_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n  return Unit({2}{5});\n}}\n"
      "fn load_edge_unit(unit: u32, items: RawUnit, range: Range) -> Loaded {{\n"
      "  return Loaded(items{3});\n}}\n"
      "fn import_edge_unit(loaded: Loaded, unit: u32, range: Range) -> Unit {{\n  return Unit({4}{6});\n}}\n"
      "fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator {{ return {7}; }}\n",
      member,
      keep_value.empty() ? "  if (is_inside(position, range)) { return value; }\n  return no_value();\n"
                         : std::format("  return {};\n", keep_value),
      imported, mask, edges, segmented ? ", loaded.heads" : "",
      segmented ? std::format(", loaded.heads & ({})", inside) : "", total);
  builder.generated("units", text);
  return {};
}

void add_sink(KernelBuilder& builder, const Problem& problem, const TileItems& items) {
  const ScanShape& shape = problem.shape;
  add_tile_output(builder, problem.output, items);
  const StoredType result = stored_type(problem.op.result);
  builder.caller_text("store transform", shape.store.wgsl);
  const std::string inner = problem.is_segmented ? "a.value" : "a";
  std::string text;
  if (shape.store.is_identity()) {
    text = std::format("fn stored(a: Accumulator, i: u32) -> RawOutput {{ return result_value({}); }}\n", inner);
  } else {
    const StoredType output = stored_type(problem.output);
    builder.caller_expression("store expression",
                              std::format("fn store_transform(x: {}, i: u32) -> {}", result.value, output.value),
                              shape.store.expression);
    std::string raw = "value";
    if (problem.output.scalar == Scalar::f32) {
      raw = std::format("bitcast<{}>(value)", output.raw);
    } else if (problem.output.scalar == Scalar::f16) {
      builder.part("float16.wgsl");
      raw = "f16(unpack2x16float(f16_bits(bitcast<u32>(value))).x)";
    }
    text = std::format(
        "fn scanned_value(raw: RawResult) -> {} {{ return {}; }}\n"
        "fn stored(a: Accumulator, i: u32) -> RawOutput {{\n"
        "  let value = store_transform(scanned_value(result_value({})), i);\n  return {};\n}}\n",
        result.value, result.load, inner, raw);
  }
  const std::uint32_t count = items.unit_items;
  text += "fn store_unit(u: Unit, unit: u32, prefix: Accumulator, is_full: bool, range: Range) {\n";
  std::string before = "prefix";
  std::string values;
  const std::string modulo = problem.is_segmented && shape.segments.kind == Kind::rows ? " % SEGMENT_ITEMS" : "";
  for (std::uint32_t k = 0; k < count; ++k) {
    // The last sum of an exclusive scan is of no use.
    if (shape.kind == ScanKind::inclusive || k + 1 < count) {
      text += std::format("  let a{} = combine({}, {});\n", k, before, item_sum(problem, k));
    }
    std::string scanned = shape.kind == ScanKind::inclusive ? std::format("a{}", k) : before;
    if (shape.kind == ScanKind::exclusive && problem.is_segmented) {
      scanned = std::format("choose({}, Accumulator(start_value(), 0u), (u.heads & {}u) != 0u)", before, 1u << k);
    }
    values += std::format("stored({}, item_index(unit * UNIT_ITEMS + {}u, range){}), ", scanned, k, modulo);
    before = std::format("a{}", k);
  }
  text += std::format("  store_items({}unit, is_full, range);\n}}\n", values);
  builder.generated("store", text);
}

TileProgram make_program(const Problem& problem, const Slots& slots, const DeviceTraits& traits,
                         const ScanTuning& tuning, bool vectors) {
  const ScanShape& shape = problem.shape;
  TileProgram program;
  program.name = "scan";
  program.accumulator = accumulator_of(problem);
  program.reverse = shape.reverse;
  program.unit_items = vectors ? std::min(unit_items_of(shape.input), unit_items_of(problem.output)) : 1;
  program.in_place = shape.in_place;
  program.halo = problem.has_keys() && !shape.reverse ? 1 : 0;
  program.needs_one_window = shape.reverse && (problem.has_keys() || shape.segments.kind == Kind::flags);
  program.item_bytes = shape.input.stride_bytes + (problem.has_keys() ? shape.segments.key.stride_bytes : 0);
  program.written_bytes = problem.output.stride_bytes;
  for (const ElementType* type :
       {&shape.input, &problem.value, &problem.op.result, &problem.output, &shape.segments.key}) {
    const bool is_used = type != &shape.segments.key || problem.has_keys();
    if (is_used && type->scalar == Scalar::f16) program.needs_f16 = true;
  }
  program.params = {"output_first", "tail_first", "tail_items", "total_first", "heads_first", "keys_first"};
  const bool splits = program.unit_items > 1;
  const std::uint32_t stride = shape.input.stride_bytes;
  program.bindings = {{.variable = "input",
                       .slot = slots.input,
                       .stride_bytes = stride,
                       .first_field = "input_first",
                       .per_item = true},
                      {.variable = "output",
                       .slot = slots.output,
                       .stride_bytes = problem.output.stride_bytes,
                       .first_field = shape.in_place ? "input_first" : "output_first",
                       .per_item = true}};
  if (splits) {
    program.bindings.push_back({.variable = "input_units",
                                .slot = slots.input,
                                .stride_bytes = stride,
                                .first_field = "input_first",
                                .per_item = true});
    program.vector_output =
        TileOutput{slots.output, problem.output.stride_bytes, shape.in_place ? "input_first" : "output_first"};
  }
  if (shape.write_total) {
    program.bindings.push_back({.variable = "total",
                                .slot = slots.total,
                                .stride_bytes = problem.op.result.stride_bytes,
                                .first_field = "total_first",
                                .per_row = true});
    program.add_total = [](KernelBuilder& builder, bool) {
      builder.generated("total",
                        "@group(0) @binding(6) var<storage, read_write> total: array<RawResult>;\n"
                        "fn store_total(row: u32, sum: Accumulator, range: Range) {\n"
                        "  total[params.total_first + row] = result_value(sum);\n}\n");
    };
  }
  if (shape.segments.kind == Kind::flags) {
    program.bindings.push_back({.variable = "heads",
                                .slot = slots.heads,
                                .stride_bytes = 4,
                                .first_field = "heads_first",
                                .per_item = true,
                                .items_per_entry = items_per_flag_word(shape.segments.format)});
  }
  if (problem.has_keys()) {
    program.bindings.push_back({.variable = "keys",
                                .slot = slots.keys,
                                .stride_bytes = shape.segments.key.stride_bytes,
                                .first_field = "keys_first",
                                .per_item = true});
  }
  if (shape.init) {
    program.bindings.push_back({.variable = "init", .slot = slots.init});
    if (!problem.is_segmented) {
      program.add_initial = [&problem](KernelBuilder& builder) {
        builder.generated("initial", init_functions(problem, builder, "initial"));
      };
    }
  }
  const bool own_tile = problem.is_segmented && scans_by_lanes(program.accumulator, tuning, traits);
  if (own_tile) {
    program.own_tile = [&problem, units = program.unit_items, tuning, &traits](bool) {
      return segmented_tile(units, problem.is_custom(), tuning, traits);
    };
    program.has_own_store_tile = true;
  }
  const TileItems items{
      .type = shape.input, .unit_items = program.unit_items, .reverse = shape.reverse, .in_place = shape.in_place};
  program.add_types = [&problem](KernelBuilder& builder) { add_types(builder, problem); };
  program.add_units = [&problem, items](KernelBuilder& builder, bool is_store_pass) {
    TileItems own = items;
    own.from_output = items.in_place && is_store_pass;
    return add_units(builder, problem, own);
  };
  program.add_sink = [&problem, items, own_tile, tuning](KernelBuilder& builder) {
    add_sink(builder, problem, items);
    if (own_tile) builder.generated("segmented store", segmented_store(items.unit_items, tuning));
  };
  return program;
}

Status check_shape(const ScanShape& shape, const ElementType& value) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  for (const ElementType* type : {&shape.input, &value, &shape.segments.key}) {
    if (type->size_bytes == 0 || type->stride_bytes < type->size_bytes) {
      return refuse(std::format("\"{}\" is no element type: size {}, stride {}.", type->name, type->size_bytes,
                                type->stride_bytes));
    }
  }
  if (shape.transform.is_identity() && value != shape.input) {
    return refuse(std::format("A transform must say how {} comes from the input.", value.name));
  }
  if (shape.init) {
    if (shape.combine.kind == OperatorKind::argmin || shape.combine.kind == OperatorKind::argmax) {
      return refuse("argmin and argmax take no initial value: it has no index.");
    }
    if (shape.init->bytes().size() != value.size_bytes) {
      return refuse(std::format("The initial value has {} bytes; a {} has {}.", shape.init->bytes().size(), value.name,
                                value.size_bytes));
    }
  }
  const bool by_heads = shape.segments.kind == Kind::flags || shape.segments.kind == Kind::keys;
  if (shape.write_total && by_heads) {
    return refuse("A scan by flags or keys has no total; reduce by key gives one for each segment.");
  }
  if (shape.segments.kind == Kind::rows && shape.item_count != Count{}) {
    return refuse("With rows item_count stays empty: rows and their length say it.");
  }
  return {};
}

}  // namespace

ScanTuning select_scan_tuning(const ScanShape& shape, const DeviceTraits& traits) {
  const std::uint64_t items = shape.segments.kind == Kind::rows
                                  ? shape.segments.row_count.max * shape.segments.row_length
                                  : shape.item_count.max;
  const std::uint32_t item_bytes = std::max(shape.input.stride_bytes, shape.output.value_or(shape.input).stride_bytes);
  ScanTuning tuning = select_scan_tuning(item_bytes, items, traits);
  // Heads take registers (H200, 2026-12-01, u32 by u32 keys: at 2^22 21.6 us with 4, 23.1 with 6; at 2^26 254 with 4,
  // 236 with 6).
  if (shape.segments.kind != Kind::whole)
    tuning.rows = std::min(tuning.rows, items <= std::uint64_t{1} << 22 ? 4u : 6u);
  // H200, 2026-12-02, u32 in us: at 2^24 44.4 with 9, 45.0 with 10; at 2^26 146 and 150; at 2^28 557 and 574.
  if (item_bytes == 4) tuning.rows = std::min(tuning.rows, 9u);
  // f32 at 2^20 8.0 us instead of 8.5, u32 at 2^21 9.1 instead of 9.8; at 2^22 15.4 instead of 13.9.
  if (shape.segments.kind == Kind::whole && is_one_wave(item_bytes, items, std::uint64_t{1} << 21, traits)) {
    tuning.workgroup_size = 512;
    tuning.rows = 3;
  }
  return tuning;
}

Result<Plan> plan_scan(const ScanShape& shape, const DeviceTraits& traits, std::optional<ScanTuning> tuning,
                       ScanOffsets offsets) {
  if (traits.offset_alignment == 0 || traits.max_binding_bytes == 0) {
    return fail(ErrorKind::invalid_request, "The device traits lack limits.");
  }
  const ElementType value = shape.value.value_or(shape.input);
  if (const Status ok = check_shape(shape, value); !ok) return std::unexpected(ok.error());
  auto lowered = lower_operator(shape.combine, value, shape.result ? &*shape.result : nullptr);
  if (!lowered) return with_context(lowered.error(), "planning a scan");
  const ElementType output = shape.output.value_or(lowered->result);
  if (shape.store.is_identity() && output != lowered->result) {
    return fail(ErrorKind::invalid_request,
                std::format("A store transform must say how {} comes from {}.", output.name, lowered->result.name));
  }
  if (shape.in_place && output.stride_bytes != shape.input.stride_bytes) {
    return fail(ErrorKind::invalid_request,
                std::format("In place needs equal strides: {} has {} bytes, {} has {}.", shape.input.name,
                            shape.input.stride_bytes, output.name, output.stride_bytes));
  }
  if (shape.in_place && stored_type(output).raw != stored_type(shape.input).raw) {
    return fail(ErrorKind::invalid_request, std::format("In place needs types that are stored alike, not {} and {}.",
                                                        shape.input.name, output.name));
  }
  const ScanTuning chosen = tuning.value_or(select_scan_tuning(shape, traits));
  Problem problem{.shape = shape, .value = value, .output = output, .op = std::move(*lowered)};
  const bool by_rows = shape.segments.kind == Kind::rows;
  const std::uint64_t rows = by_rows ? shape.segments.row_count.max : 1;
  const std::uint64_t length = by_rows ? shape.segments.row_length : shape.item_count.max;
  if (rows > most_tile_items || (length != 0 && rows > most_tile_items / length)) {
    return fail(ErrorKind::unsupported,
                by_rows ? std::format("{} rows of {} items are more than {} items.", rows, length, most_tile_items)
                        : std::format("{} items are more than a scan takes ({}).", length, most_tile_items));
  }
  // Short rows are walked as one, so that a workgroup takes many.
  const bool walks_rows = by_rows && !shape.write_total && length != 0 && length < 2ull * chosen.workgroup_size;
  problem.is_segmented = shape.segments.kind == Kind::flags || problem.has_keys() || walks_rows;
  problem.row_count = walks_rows ? 1 : rows;
  problem.row_length = walks_rows ? rows * length : length;

  PlanBuilder plan("scan", traits);
  plan.note(std::format("{} scan with {} of {} items", shape.kind == ScanKind::inclusive ? "inclusive" : "exclusive",
                        to_string(shape.combine), shape.input.name));
  const std::uint64_t items = rows * length;
  const std::uint32_t stride = shape.input.stride_bytes;
  plan.least_bytes(items * (stride + output.stride_bytes));
  Slots slots;
  if (items != 0) {
    slots.output = plan.argument("output", items * output.stride_bytes, output.stride_bytes, true);
    slots.input = shape.in_place ? slots.output : plan.argument("input", items * stride, stride);
    if (shape.segments.kind == Kind::flags) {
      slots.heads = plan.argument("heads", flag_bytes(shape.segments.format, items), 4);
    }
    if (problem.has_keys()) {
      const std::uint32_t key_stride = shape.segments.key.stride_bytes;
      slots.keys = plan.argument("keys", items * key_stride, key_stride);
    }
  }
  const bool counts = by_rows ? shape.segments.row_count.read_on_device : shape.item_count.read_on_device;
  if (shape.write_total && rows != 0) {
    slots.total = plan.argument("total", rows * problem.op.result.stride_bytes, problem.op.result.stride_bytes, true);
  }
  if (counts && rows != 0 && (items != 0 || shape.write_total)) slots.item_count = plan.argument("item_count", 4, 4);
  if (shape.init) slots.init = plan.constant(shape.init->bytes());

  const TileExtent extent{.row_count = problem.row_count,
                          .row_length = problem.row_length,
                          .length_on_device = counts && (!by_rows || walks_rows),
                          .items_per_count = walks_rows ? shape.segments.row_length : 1,
                          .rows_on_device = counts && by_rows && !walks_rows,
                          .item_count = slots.item_count};
  const std::uint32_t units = std::min(unit_items_of(shape.input), unit_items_of(output));
  const std::uint64_t in_item = offsets.input_bytes % traits.offset_alignment / std::max(1u, stride);
  const std::uint64_t out_item = offsets.output_bytes % traits.offset_alignment / std::max(1u, output.stride_bytes);
  const bool begin_alike = shape.in_place || in_item % 4 == out_item % 4;
  const bool vectors = chosen.use_vectors && units > 1 && begin_alike && items * output.stride_bytes >= 512;
  const bool is_float_sum = problem.op.summation_terms != 0 ||
                            (shape.combine.kind == OperatorKind::product && value.is_float()) ||
                            shape.combine.kind == OperatorKind::custom;
  const bool repeats = shape.determinism == Determinism::run_to_run && is_float_sum;
  if (repeats && chosen.path == ScanPath::single_pass) {
    return fail(ErrorKind::invalid_request, "A single pass does not repeat float sums bit for bit.");
  }
  return plan_tiles(
      std::move(plan),
      [&](bool with_vectors, const ScanTuning& fitted) {
        return make_program(problem, slots, traits, fitted, with_vectors);
      },
      vectors, extent, traits, chosen, offsets, !repeats);
}

}  // namespace upsweep
