// SPDX-License-Identifier: Apache-2.0
// Plans of reductions. Two kernels: reduce_tile folds long rows chunk by chunk, in as many passes as it takes;
// reduce_segments folds many short segments, a few threads each.
#include <algorithm>
#include <bit>
#include <format>
#include <numeric>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "plan/subgroup_plan.h"
#include "upsweep/reduce.h"

namespace upsweep {
namespace {

using Binding = PlanBuilder::Binding;
using Param = PlanBuilder::Param;

constexpr std::uint64_t most_items = 0xfffffffe;

enum class Source : std::uint8_t { items, partials };
enum class Sink : std::uint8_t { partials, result };

// Everything that is decided before the first pass is planned.
struct Problem {
  const ReduceShape& shape;
  const DeviceTraits& traits;
  ReduceTuning tuning;
  LoweredOperator op;
  ElementType value;
  FoldPath fold = FoldPath::tree;
  bool use_vectors = false;
  std::uint64_t row_count = 1;
  std::uint64_t row_length = 0;
  std::uint64_t item_count = 0;
  std::uint64_t window_bytes = 0;  // of the input that one dispatch may bind

  [[nodiscard]] bool counts_on_device() const {
    return shape.segments.kind == Segmentation::Kind::whole ? shape.item_count.read_on_device
                                                            : shape.segments.count.read_on_device;
  }
  [[nodiscard]] std::uint32_t unit_items(Source source) const { return source == Source::items && use_vectors ? 4 : 1; }
  [[nodiscard]] std::uint64_t tile_items(Source source) const {
    return std::uint64_t{tuning.workgroup_size} * tuning.units_per_thread * unit_items(source);
  }
};

struct Slots {
  SlotId input;
  SlotId second_input;
  SlotId item_count;
  SlotId output;
  SlotId init;
  SlotId begins;
  SlotId ends;
};

std::uint32_t log2_ceil(std::uint64_t n) { return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1)); }

// Loads of one tile without a branch between them, then a tree: text, because compilers do not keep arrays of loads in
// registers across a loop.
std::string unrolled_fold(std::string_view name, std::uint32_t count, bool guarded, bool vectors) {
  std::string text = std::format("fn {}(first: u32, range: Range) -> Accumulator {{\n", name);
  std::vector<std::string> terms;
  for (std::uint32_t k = 0; k < count; ++k) {
    if (guarded) {
      text += std::format(
          "  let i{0} = first + {0}u * WORKGROUP_SIZE;\n"
          "  let is_in{0} = i{0} >= range.begin && i{0} < range.end;\n"
          "  let v{0} = load_item(select(range.begin, i{0}, is_in{0}), range);\n",
          k);
      terms.push_back(std::format("keep_if(v{0}, is_in{0})", k));
    } else if (vectors) {
      text += std::format("  let v{0} = load_unit(first + {0}u * WORKGROUP_SIZE, range);\n", k);
      terms.push_back(std::format("fold_unit(v{0}, first + {0}u * WORKGROUP_SIZE, range)", k));
    } else {
      text += std::format("  let v{0} = load_item(first + {0}u * WORKGROUP_SIZE, range);\n", k);
      terms.push_back(std::format("v{}", k));
    }
  }
  while (terms.size() > 1) {
    std::vector<std::string> next;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
      next.push_back(std::format("combine({}, {})", terms[i], terms[i + 1]));
    if (terms.size() % 2 != 0) next.push_back(terms.back());
    terms = std::move(next);
  }
  return text + std::format("  return {};\n}}\n", terms.front());
}

void add_sink(KernelBuilder& builder, const Problem& problem, Sink sink) {
  if (sink == Sink::partials) {
    builder.part("reduce_output.partials.wgsl");
    return;
  }
  if (!problem.shape.init) {
    builder.part("reduce_output.result.wgsl");
    return;
  }
  const StoredType init = stored_type(problem.value);
  // f16 constants travel as they are stored: 2 bytes.
  builder.alias("RawInit", init.raw);
  builder.generated("adapters", std::format("fn init_value(raw: RawInit) -> Value {{ return {}; }}\n", init.load));
  builder.part("reduce_output.result_with_init.wgsl");
}

void add_source(KernelBuilder& builder, const Problem& problem, Source source, bool vectors) {
  builder.part("reduce_range.wgsl");
  if (source == Source::partials) {
    builder.part("reduce_input.partials.wgsl");
    return;
  }
  const ReduceShape& shape = problem.shape;
  const StoredType item = stored_type(shape.input);
  builder.alias("RawItem", item.raw).alias("Item", item.value);
  builder.caller_text(std::format("type \"{}\"", shape.input.name), shape.input.declaration);
  std::string adapters = std::format("fn item_value(raw: RawItem) -> Item {{ return {}; }}\n", item.load);
  builder.caller_text("transform", shape.transform.wgsl);
  // The expression gets an origin of its own, so that a message about it does not name library text.
  if (shape.second_input) {
    const StoredType second = stored_type(*shape.second_input);
    builder.alias("RawSecond", second.raw).alias("Second", second.value);
    builder.caller_text(std::format("type \"{}\"", shape.second_input->name), shape.second_input->declaration);
    adapters += std::format("fn second_value(raw: RawSecond) -> Second {{ return {}; }}\n", second.load);
    builder.generated("transform expression",
                      std::format("fn transform(x: Item, y: Second, i: u32) -> Value {{ return {}; }}\n",
                                  shape.transform.expression));
    builder.generated("adapters", adapters);
    builder.part("reduce_input.pairs.wgsl");
    if (vectors) builder.part("reduce_input.pairs_vector.wgsl");
  } else {
    builder.generated("transform expression", std::format("fn transform(x: Item, i: u32) -> Value {{ return {}; }}\n",
                                                          shape.transform.expression));
    builder.generated("adapters", adapters);
    builder.part("reduce_input.items.wgsl");
    if (vectors) builder.part("reduce_input.items_vector.wgsl");
  }
}

void add_f16(KernelBuilder& builder, const Problem& problem) {
  const auto is_f16 = [](const ElementType& type) { return type.scalar == Scalar::f16; };
  if (is_f16(problem.shape.input) || is_f16(problem.value) || is_f16(problem.op.result) ||
      (problem.shape.second_input && is_f16(*problem.shape.second_input))) {
    builder.enable("f16");
  }
}

Result<std::shared_ptr<const Kernel>> tile_kernel(const Problem& problem, Source source, Sink sink) {
  KernelBuilder builder("reduce_tile");
  add_f16(builder, problem);
  add_fold(builder, problem.fold, problem.op, problem.traits, problem.tuning.workgroup_size);
  const std::uint32_t units = problem.tuning.units_per_thread;
  const bool vectors = problem.unit_items(source) == 4;
  builder.constant("UNITS_PER_THREAD", units);
  builder.constant("CHUNK_ALIGNMENT", problem.unit_items(source));
  add_operator(builder, problem.shape.combine, problem.value, problem.op);
  add_source(builder, problem, source, vectors);
  if (problem.op.commutative) {
    builder.constant("UNIT_ITEMS", problem.unit_items(source));
    builder.constant("TILE_ITEMS", static_cast<std::uint32_t>(problem.tile_items(source)));
    builder.constant("GUARDED_ITEMS", problem.tuning.workgroup_size * units);
    builder.generated("unrolled", unrolled_fold("fold_full_tile", units, false, vectors) +
                                      unrolled_fold("fold_guarded", units, true, false));
    builder.part("reduce_fold.striped.wgsl");
  } else {
    builder.part("reduce_fold.ordered.wgsl");
  }
  const bool from_device = source == Source::items && problem.counts_on_device();
  const bool counts_rows = problem.counts_on_device() && problem.shape.segments.kind == Segmentation::Kind::rows;
  builder.part(counts_rows   ? "reduce_extent.device_rows.wgsl"
               : from_device ? "reduce_extent.device_items.wgsl"
                             : "reduce_extent.host.wgsl");
  add_sink(builder, problem, sink);
  builder.part("grid.wgsl");
  builder.part("reduce_tile.wgsl");
  return std::move(builder).build();
}

// A run of rows, or of one row's items, that one dispatch binds.
struct Window {
  std::uint64_t first_row = 0;
  std::uint64_t row_count = 0;
  std::uint64_t first_item = 0;  // in the row
  std::uint64_t length = 0;      // of each row, in this window
};

std::vector<Window> make_windows(const Problem& problem) {
  const std::uint64_t stride = problem.shape.input.stride_bytes;
  const std::uint64_t most = std::max<std::uint64_t>(1, problem.window_bytes / stride);
  std::vector<Window> windows;
  if (problem.row_length <= most) {
    const std::uint64_t rows =
        problem.row_length == 0 ? problem.row_count : std::max<std::uint64_t>(1, most / problem.row_length);
    for (std::uint64_t row = 0; row < problem.row_count; row += rows) {
      windows.push_back({row, std::min(rows, problem.row_count - row), 0, problem.row_length});
    }
    return windows;
  }
  for (std::uint64_t row = 0; row < problem.row_count; ++row) {
    for (std::uint64_t item = 0; item < problem.row_length; item += most) {
      windows.push_back({row, 1, item, std::min(most, problem.row_length - item)});
    }
  }
  return windows;
}

struct Level {
  std::uint64_t chunk_items = 0;
  std::uint64_t chunks_per_row = 1;
};

// Chunks of a row of `length` items (per window): whole tiles, few enough workgroups, chains short enough.
Level choose_level(const Problem& problem, Source source, std::uint64_t length, std::uint64_t rows) {
  const std::uint64_t tile = problem.tile_items(source);
  // A row may begin anywhere between two vector loads.
  const std::uint64_t span = length + problem.unit_items(source) - 1;
  const std::uint64_t tiles = std::max<std::uint64_t>(1, div_ceil(span, tile));
  std::uint64_t tiles_per_chunk = 1;
  if (problem.op.commutative) {
    const std::uint64_t wanted =
        std::max<std::uint64_t>(1, problem.tuning.max_workgroups / std::max<std::uint64_t>(1, rows));
    tiles_per_chunk = std::clamp<std::uint64_t>(div_ceil(tiles, wanted), 1, problem.tuning.longest_chain);
    if (length <= problem.tuning.single_pass_items) {
      tiles_per_chunk = std::max(tiles_per_chunk, std::min<std::uint64_t>(tiles, problem.tuning.longest_chain));
    }
  }
  return {tiles_per_chunk * tile, div_ceil(tiles, tiles_per_chunk)};
}

std::vector<Binding> item_bindings(const Problem& problem, const Slots& slots, std::uint64_t first, std::uint64_t count,
                                   bool vectors) {
  const std::uint64_t stride = problem.shape.input.stride_bytes;
  std::vector<Binding> bindings{{"input", slots.input, first * stride, count * stride, "input_first"}};
  if (vectors) bindings.push_back({"input_vectors", slots.input, first * stride, count * stride, "input_first"});
  if (problem.shape.second_input) {
    const std::uint64_t second = problem.shape.second_input->stride_bytes;
    bindings.push_back({"second_input", slots.second_input, first * second, count * second, "second_first"});
    if (vectors)
      bindings.push_back({"second_vectors", slots.second_input, first * second, count * second, "second_first"});
  }
  return bindings;
}

void add_sink_bindings(std::vector<Binding>& bindings, const Problem& problem, const Slots& slots, std::uint64_t first,
                       std::uint64_t count) {
  const std::uint64_t stride = problem.op.result.stride_bytes;
  bindings.push_back({"output", slots.output, first * stride, count * stride, "output_first"});
  if (problem.shape.init) bindings.push_back({"init", slots.init});
}

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

Result<Plan> plan_rows(const Problem& problem, const Slots& slots, PlanBuilder plan) {
  const bool is_empty = problem.item_count == 0;
  const std::uint32_t accumulator = problem.op.accumulator_bytes;
  const std::vector<Window> windows = make_windows(problem);
  const bool rows_are_split = !windows.empty() && windows.front().length < problem.row_length;

  // Chunks of one row over all windows that it is split into.
  Level level = choose_level(problem, is_empty ? Source::partials : Source::items,
                             windows.empty() ? 0 : windows.front().length, problem.row_count);
  std::uint64_t chunks_per_row = level.chunks_per_row;
  if (rows_are_split) {
    chunks_per_row = 0;
    for (const Window& window : windows) {
      if (window.first_row == 0) {
        chunks_per_row += choose_level(problem, Source::items, window.length, problem.row_count).chunks_per_row;
      }
    }
  }
  const bool is_single = chunks_per_row == 1;
  const Sink sink = is_single ? Sink::result : Sink::partials;

  std::uint32_t depth = 0;
  const auto deepen = [&](Source source, const Level& at) {
    const std::uint64_t tiles =
        problem.op.commutative ? at.chunk_items / problem.tile_items(source) : problem.tile_items(source);
    depth += u32(tiles) + log2_ceil(std::uint64_t{problem.tuning.units_per_thread} * problem.unit_items(source)) +
             2 * problem.unit_items(source) + fold_depth(problem.fold, problem.traits, problem.tuning.workgroup_size);
  };

  SlotId from;
  if (!is_single) from = plan.scratch("partials", problem.row_count * chunks_per_row * accumulator);
  const SlotId nothing = is_empty ? plan.scratch("nothing", 16) : SlotId{};
  const Source first_source = is_empty ? Source::partials : Source::items;
  const auto kernel = tile_kernel(problem, first_source, sink);
  if (!kernel) return std::unexpected(kernel.error());
  const bool reads_count = (*kernel)->find_binding("item_count") != nullptr;
  std::uint64_t chunk_base = 0;
  for (const Window& window : windows) {
    if (window.first_item == 0) chunk_base = window.first_row * chunks_per_row;
    // The rest of a row that was cut into windows may be too short for a binding of vectors.
    const bool vectors = problem.use_vectors && window.length * problem.shape.input.stride_bytes >= 16;
    Problem scalar = problem;
    scalar.use_vectors = vectors;
    const Level at = choose_level(scalar, first_source, window.length, problem.row_count);
    const std::uint64_t first = window.first_row * problem.row_length + window.first_item;
    const std::uint64_t count = window.row_count * window.length;
    PlanBuilder::Step step;
    step.kernel = *kernel;
    if (vectors != problem.use_vectors) {
      const auto rest = tile_kernel(scalar, first_source, sink);
      if (!rest) return std::unexpected(rest.error());
      step.kernel = *rest;
    }
    step.workgroup_count = window.row_count * at.chunks_per_row;
    if (is_empty) {
      step.bindings.push_back({"input", nothing});
    } else {
      step.bindings = item_bindings(problem, slots, first, count, vectors);
    }
    if (sink == Sink::result) {
      add_sink_bindings(step.bindings, problem, slots, window.first_row, window.row_count);
    } else {
      step.bindings.push_back({"output", from});
    }
    if (reads_count) step.bindings.push_back({"item_count", slots.item_count, 0, 4, "count_first"});
    step.params = {{"row_length", u32(window.length)},     {"row_count", u32(window.row_count)},
                   {"chunk_items", u32(at.chunk_items)},   {"chunks_per_row", u32(at.chunks_per_row)},
                   {"index_base", u32(window.first_item)}, {"row_base", u32(window.first_row)}};
    if (is_empty) step.params.push_back({"input_first", 0});
    if (!problem.shape.second_input || is_empty) step.params.push_back({"second_first", 0});
    if (!reads_count) step.params.push_back({"count_first", 0});
    if (sink == Sink::partials) step.params.push_back({"output_first", u32(chunk_base)});
    step.reason =
        std::format("{} {}{} of {} items, {} items a chunk", window.row_count, window.row_count == 1 ? "row" : "rows",
                    rows_are_split ? " (window)" : "", window.length, at.chunk_items);
    const std::uint64_t item_bytes =
        problem.shape.input.stride_bytes + (problem.shape.second_input ? problem.shape.second_input->stride_bytes : 0);
    step.bytes_read = count * item_bytes;
    step.bytes_written =
        window.row_count * at.chunks_per_row * (sink == Sink::result ? problem.op.result.stride_bytes : accumulator);
    chunk_base += window.row_count * at.chunks_per_row;
    plan.dispatch(std::move(step));
  }
  deepen(first_source, level);

  // Partials of every row, until one is left.
  while (chunks_per_row > 1) {
    const Level at = choose_level(problem, Source::partials, chunks_per_row, problem.row_count);
    const bool is_last = at.chunks_per_row == 1;
    const auto pass = tile_kernel(problem, Source::partials, is_last ? Sink::result : Sink::partials);
    if (!pass) return std::unexpected(pass.error());
    SlotId to;
    PlanBuilder::Step step;
    step.kernel = *pass;
    step.workgroup_count = problem.row_count * at.chunks_per_row;
    step.bindings = {{"input", from}};
    if (is_last) {
      add_sink_bindings(step.bindings, problem, slots, 0, problem.row_count);
    } else {
      to = plan.scratch("partials", problem.row_count * at.chunks_per_row * accumulator);
      step.bindings.push_back({"output", to});
    }
    const bool counts = (*pass)->find_binding("item_count") != nullptr;
    if (counts) step.bindings.push_back({"item_count", slots.item_count, 0, 4, "count_first"});
    step.params = {{"row_length", u32(chunks_per_row)},
                   {"row_count", u32(problem.row_count)},
                   {"chunk_items", u32(at.chunk_items)},
                   {"chunks_per_row", u32(at.chunks_per_row)},
                   {"index_base", 0},
                   {"row_base", 0},
                   {"input_first", 0},
                   {"second_first", 0}};
    if (!counts) step.params.push_back({"count_first", 0});
    if (!is_last) step.params.push_back({"output_first", 0});
    step.reason = std::format("{} partials a row", chunks_per_row);
    step.bytes_read = problem.row_count * chunks_per_row * accumulator;
    step.bytes_written =
        problem.row_count * at.chunks_per_row * (is_last ? problem.op.result.stride_bytes : accumulator);
    plan.dispatch(std::move(step));
    deepen(Source::partials, at);
    from = to;
    chunks_per_row = at.chunks_per_row;
  }
  if (problem.op.summation_terms != 0) {
    plan.note(std::format("error of a float sum: at most {} * 2^-24 * sum |x|", depth));
  }
  return std::move(plan).finish();
}

Result<std::shared_ptr<const Kernel>> segments_kernel(const Problem& problem, Source source, std::uint32_t threads) {
  KernelBuilder builder("reduce_segments");
  add_f16(builder, problem);
  builder.workgroup(problem.tuning.workgroup_size, problem.tuning.workgroup_size * problem.op.accumulator_bytes);
  builder.part("thread.wgsl").part("entry.plain.wgsl");
  builder.constant("SEGMENT_THREADS", threads);
  add_operator(builder, problem.shape.combine, problem.value, problem.op);
  add_source(builder, problem, source, false);
  builder.part(problem.op.commutative ? "reduce_segment_fold.striped.wgsl" : "reduce_segment_fold.ordered.wgsl");
  builder.part(problem.shape.segments.kind == Segmentation::Kind::rows ? "reduce_segment_bounds.rows.wgsl"
                                                                       : "reduce_segment_bounds.offsets.wgsl");
  builder.part(problem.counts_on_device() ? "reduce_segment_count.device.wgsl" : "reduce_segment_count.host.wgsl");
  add_sink(builder, problem, Sink::result);
  builder.part("grid.wgsl").part("reduce_segments.wgsl");
  return std::move(builder).build();
}

// A quarter of the average length in threads: each folds about four items, and a tree over the threads ends it.
std::uint32_t threads_per_segment(const Problem& problem, std::uint64_t average_length) {
  const std::uint64_t threads = std::bit_ceil(std::max<std::uint64_t>(1, average_length / 4));
  return u32(std::min<std::uint64_t>(threads, problem.tuning.workgroup_size));
}

Result<Plan> plan_segments(const Problem& problem, const Slots& slots, PlanBuilder plan) {
  const bool by_rows = problem.shape.segments.kind == Segmentation::Kind::rows;
  const std::uint64_t segments = problem.row_count;
  const std::uint64_t stride = problem.shape.input.stride_bytes;
  const bool is_empty = problem.item_count == 0;
  const std::uint32_t threads = threads_per_segment(problem, problem.item_count / std::max<std::uint64_t>(1, segments));
  const auto kernel = segments_kernel(problem, is_empty ? Source::partials : Source::items, threads);
  if (!kernel) return std::unexpected(kernel.error());
  if (!by_rows && problem.item_count * stride > problem.window_bytes) {
    return fail(
        ErrorKind::unsupported,
        std::format(
            "Segments by offsets need the whole input ({} bytes) in one binding; the device's limit is {} bytes. "
            "Reduce parts of the input with a call each.",
            problem.item_count * stride, problem.traits.max_binding_bytes));
  }
  // Windows of segments: by the bytes of their items (rows) and of their results.
  std::uint64_t most = problem.traits.max_binding_bytes / 4 / std::max(4u, problem.op.result.stride_bytes);
  if (by_rows && problem.row_length != 0) {
    most = std::min(most, std::max<std::uint64_t>(1, problem.window_bytes / stride / problem.row_length));
  }
  const SlotId nothing = is_empty ? plan.scratch("nothing", 16) : SlotId{};
  for (std::uint64_t first = 0; first < segments; first += most) {
    const std::uint64_t count = std::min(most, segments - first);
    PlanBuilder::Step step;
    step.kernel = *kernel;
    step.workgroup_count = div_ceil(count * threads, problem.tuning.workgroup_size);
    if (is_empty) {
      step.bindings.push_back({"input", nothing});
    } else if (by_rows) {
      step.bindings = item_bindings(problem, slots, first * problem.row_length, count * problem.row_length, false);
    } else {
      step.bindings = item_bindings(problem, slots, 0, problem.item_count, false);
    }
    if (!by_rows) {
      step.bindings.push_back({"segment_begins", slots.begins, first * 4, count * 4, "begins_first"});
      step.bindings.push_back({"segment_ends", slots.ends, first * 4, count * 4, "ends_first"});
    }
    if (problem.counts_on_device()) step.bindings.push_back({"item_count", slots.item_count, 0, 4, "count_first"});
    add_sink_bindings(step.bindings, problem, slots, first, count);
    step.params = {{"segment_count", u32(count)},
                   {"item_count", u32(problem.item_count)},
                   {"row_length", u32(problem.row_length)},
                   {"index_base", 0},
                   {"segment_base", u32(first)}};
    if (is_empty) step.params.push_back({"input_first", 0});
    if (!problem.shape.second_input || is_empty) step.params.push_back({"second_first", 0});
    if (by_rows) {
      step.params.push_back({"begins_first", 0});
      step.params.push_back({"ends_first", 0});
    }
    if (!problem.counts_on_device()) step.params.push_back({"count_first", 0});
    step.reason = std::format("{} segments, {} {} each", count, threads, threads == 1 ? "thread" : "threads");
    const std::uint64_t items = by_rows ? count * problem.row_length : problem.item_count;
    const std::uint64_t item_bytes =
        stride + (problem.shape.second_input ? problem.shape.second_input->stride_bytes : 0);
    step.bytes_read = items * item_bytes + (by_rows ? 0 : count * 8);
    step.bytes_written = count * problem.op.result.stride_bytes;
    plan.dispatch(std::move(step));
  }
  return std::move(plan).finish();
}

Status check_shape(const ReduceShape& shape, const ElementType& value) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (shape.transform.is_identity() && (shape.second_input || value != shape.input)) {
    return refuse(
        std::format("A transform must say how {} comes from the input{}.", value.name, shape.second_input ? "s" : ""));
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
  if (shape.segments.kind == Segmentation::Kind::offsets && shape.item_count.read_on_device) {
    return refuse(
        "With segments by offsets the count of items is a bound known on the host; the offsets say the rest.");
  }
  return {};
}

Status check_tuning(const ReduceTuning& tuning) {
  if (!std::has_single_bit(tuning.workgroup_size) || tuning.units_per_thread == 0 || tuning.units_per_thread > 64 ||
      tuning.max_workgroups == 0 || tuning.longest_chain == 0) {
    return fail(ErrorKind::invalid_request, std::format("Tuning out of range: {}.", to_string(tuning)));
  }
  return {};
}

}  // namespace

Result<Plan> plan_reduce(const ReduceShape& shape, const DeviceTraits& traits, std::optional<ReduceTuning> tuning,
                         ReduceOffsets offsets) {
  const ElementType value = shape.value.value_or(shape.input);
  if (const Status ok = check_shape(shape, value); !ok) return std::unexpected(ok.error());
  auto lowered = lower_operator(shape.combine, value, shape.output ? &*shape.output : nullptr);
  if (!lowered) return with_context(lowered.error(), "planning a reduction");
  const ReduceTuning chosen = tuning.value_or(select_reduce_tuning(shape, traits));
  if (const Status ok = check_tuning(chosen); !ok) return std::unexpected(ok.error());

  Problem problem{.shape = shape, .traits = traits, .tuning = chosen, .op = std::move(*lowered), .value = value};
  problem.row_count = shape.segments.kind == Segmentation::Kind::whole ? 1 : shape.segments.count.max;
  const bool by_rows = shape.segments.kind == Segmentation::Kind::rows;
  problem.row_length = by_rows ? shape.segments.row_length : shape.item_count.max;
  if (by_rows && problem.row_length != 0 && problem.row_count > most_items / problem.row_length) {
    return fail(ErrorKind::unsupported, std::format("{} rows of {} items are more than {} items.", problem.row_count,
                                                    problem.row_length, most_items));
  }
  problem.item_count = by_rows ? problem.row_count * problem.row_length : shape.item_count.max;
  if (problem.item_count > most_items || problem.row_count > most_items) {
    return fail(ErrorKind::unsupported,
                std::format("{} items in {} segments are more than a reduction takes ({} of each).", problem.item_count,
                            problem.row_count, most_items));
  }
  problem.fold = choose_fold_path(problem.op, traits, chosen.workgroup_size, chosen.use_subgroups);

  // Of one binding, what an unaligned view leaves; a multiple of both the alignment and the item, so that later windows
  // begin as the first does.
  const std::uint64_t alignment = traits.offset_alignment;
  const auto leftover = [&](std::uint64_t offset, std::uint32_t stride) {
    std::uint64_t bytes = offset % alignment;
    while (bytes % stride != 0) bytes += alignment;
    return bytes;
  };
  const std::uint32_t stride = shape.input.stride_bytes;
  const std::uint64_t first_bytes = leftover(offsets.input_bytes, stride);
  const std::uint32_t second_stride = shape.second_input ? shape.second_input->stride_bytes : stride;
  const std::uint64_t second_bytes =
      shape.second_input ? leftover(offsets.second_input_bytes, second_stride) : first_bytes;
  const std::uint64_t unit = alignment * (stride / std::gcd<std::uint64_t>(alignment, stride)) *
                             (second_stride / std::gcd<std::uint64_t>(alignment, second_stride));
  const std::uint64_t room =
      (traits.max_binding_bytes - std::min(traits.max_binding_bytes, std::max(first_bytes, second_bytes))) * stride /
      std::max(stride, second_stride);
  problem.window_bytes = align_down(room, unit);
  if (problem.item_count != 0 && problem.window_bytes == 0) {
    return fail(ErrorKind::unsupported, std::format("A binding of {} bytes is too small for {} items.",
                                                    traits.max_binding_bytes, shape.input.name));
  }
  const bool vector_types = shape.input.components == 1 && stride <= 4 && !shape.input.is_struct() &&
                            (!shape.second_input || (shape.second_input->components == 1 && second_stride <= 4 &&
                                                     !shape.second_input->is_struct()));
  const bool begin_alike = (first_bytes / stride) % 4 == (second_bytes / second_stride) % 4;
  problem.use_vectors = chosen.use_vectors && vector_types && begin_alike && problem.op.commutative &&
                        problem.row_length >= 4 && problem.row_length * stride >= 16;

  PlanBuilder plan("reduce", traits);
  plan.note(std::format("{} of {} items, {}", to_string(shape.combine), shape.input.name,
                        to_string(problem.fold, problem.op)));
  plan.note(std::format("tuning: {}", to_string(chosen)));
  plan.least_bytes(problem.item_count * (stride + (shape.second_input ? second_stride : 0)) +
                   problem.row_count * problem.op.result.stride_bytes);
  Slots slots;
  if (problem.item_count != 0) {
    slots.input = plan.argument("input", problem.item_count * stride, stride);
    if (shape.second_input) {
      slots.second_input = plan.argument("second_input", problem.item_count * second_stride, second_stride);
    }
  }
  if (problem.row_count == 0) return std::move(plan).finish();
  if (shape.segments.kind == Segmentation::Kind::offsets) {
    slots.begins = plan.argument("segment_begins", problem.row_count * 4, 4);
    slots.ends = plan.argument("segment_ends", problem.row_count * 4, 4);
  }
  if (problem.counts_on_device()) slots.item_count = plan.argument("item_count", 4, 4);
  slots.output =
      plan.argument("output", problem.row_count * problem.op.result.stride_bytes, problem.op.result.stride_bytes, true);
  if (shape.init) slots.init = plan.constant(shape.init->bytes());

  // Rows of at least two tiles keep a workgroup busy with vector loads; shorter ones share it.
  const bool rows_are_short = by_rows && problem.row_length <= 2ull * chosen.workgroup_size * chosen.units_per_thread;
  if (shape.segments.kind == Segmentation::Kind::offsets ||
      (rows_are_short && problem.row_length * stride <= problem.window_bytes)) {
    return plan_segments(problem, slots, std::move(plan));
  }
  return plan_rows(problem, slots, std::move(plan));
}

}  // namespace upsweep
