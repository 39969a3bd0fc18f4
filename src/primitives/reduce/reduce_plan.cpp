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
#include "plan/narrow.h"
#include "plan/plan_builder.h"
#include "plan/subgroup_plan.h"
#include "upsweep/reduce.h"

namespace upsweep {
namespace {

using Binding = PlanBuilder::Binding;
using Param = PlanBuilder::Param;

constexpr std::uint64_t most_items = 0xfffffffe;
// Of one dispatch: the kernels' positions, which may pass the end by less than a chunk, must fit into 32 bits.
constexpr std::uint64_t most_window_items = 0x70000000;

enum class Source : std::uint8_t { items, partials };
enum class Sink : std::uint8_t {
  partials,
  result,
  last_arriver,  // the result, by the workgroup that arrives last
};

// State of reduce_finish.last_arriver.wgsl: 8 words, then a record of up to 8 words for each chunk.
constexpr std::uint64_t most_arrivals = 2048;
constexpr std::uint64_t arrival_state_bytes = 4 * (8 + 8 * most_arrivals);

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
  [[nodiscard]] std::uint64_t item_bytes() const {
    return shape.input.stride_bytes + (shape.second_input ? shape.second_input->stride_bytes : 0);
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

// Enough for all chunks at once, in registers that a small kernel has to spare.
std::uint32_t records_per_thread(const Problem& problem) {
  const std::uint64_t chunks = std::min<std::uint64_t>(problem.tuning.max_workgroups, most_arrivals);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(div_ceil(chunks, problem.tuning.workgroup_size), 1, 8));
}

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
  return text + std::format("  return {};\n}}\n", combine_tree(std::move(terms)));
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
  builder.caller_type(shape.input);
  std::string adapters = std::format("fn item_value(raw: RawItem) -> Item {{ return {}; }}\n", item.load);
  builder.caller_text("transform", shape.transform.wgsl);
  // The expression gets an origin of its own, so that a message about it does not name library text.
  if (shape.second_input) {
    const StoredType second = stored_type(*shape.second_input);
    builder.alias("RawSecond", second.raw).alias("Second", second.value);
    builder.caller_type(*shape.second_input);
    adapters += std::format("fn second_value(raw: RawSecond) -> Second {{ return {}; }}\n", second.load);
    builder.caller_expression("transform expression", "fn transform(x: Item, y: Second, i: u32) -> Value",
                              shape.transform.expression);
    builder.generated("adapters", adapters);
    builder.part("reduce_input.pairs.wgsl");
    if (vectors) builder.part("reduce_input.pairs_vector.wgsl");
  } else {
    builder.caller_expression("transform expression", "fn transform(x: Item, i: u32) -> Value",
                              shape.transform.expression);
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

// publish() and read_record() for an accumulator of 1, 2 or 4 words, and gather_records(), whose loads are all in
// flight together.
std::string record_functions(const Problem& problem) {
  const std::uint32_t words = problem.op.accumulator_bytes / 4;
  const std::string type = words == 1 ? "u32" : std::format("vec{}u", words);
  const auto word = [&](std::uint32_t i) {
    return words == 1 ? std::string("words") : std::format("words.{}", "xyzw"[i]);
  };
  std::string publish;
  std::string loads;
  std::string check;
  std::string value;
  for (std::uint32_t i = 0; i < words; ++i) {
    publish += std::format(
        "  atomicStore(&state[first + {}u], tag | ({} & 0xffffu));\n"
        "  atomicStore(&state[first + {}u], tag | ({} >> 16u));\n",
        2 * i, word(i), 2 * i + 1, word(i));
    loads += std::format(
        "  let low{0} = atomicLoad(&state[first + {1}u]);\n"
        "  let high{0} = atomicLoad(&state[first + {2}u]);\n",
        i, 2 * i, 2 * i + 1);
    check += std::format("{}((low{} ^ tag) | (high{} ^ tag)) < 0x10000u", i == 0 ? "" : " && ", i, i);
    value += std::format("{}(low{} & 0xffffu) | (high{} << 16u)", i == 0 ? "" : ", ", i, i);
  }
  const std::string address = std::format("  let first = STATE_RECORDS + slot * {}u;\n", 2 * words);
  std::string gather;
  std::vector<std::string> terms;
  const std::uint32_t records = records_per_thread(problem);
  for (std::uint32_t k = 0; k < records; ++k) {
    gather += std::format(
        "  let slot{0} = first + {0}u * WORKGROUP_SIZE;\n"
        "  let record{0} = read_record(min(slot{0}, chunk_count - 1u), tag);\n",
        k);
    // An incomplete record holds anything: no operator may see it.
    terms.push_back(std::format("keep_if(record{0}.value, record{0}.is_complete && slot{0} < chunk_count)", k));
  }
  for (std::uint32_t k = 0; k < records; ++k) {
    gather += std::format(
        "  if (!record{0}.is_complete && slot{0} < chunk_count) {{ atomicMin(&least_missing, slot{0}); }}\n", k);
  }
  const std::uint32_t hidden = problem.traits.test_hidden_chunks;
  return std::format(
      "fn publish(slot: u32, total: Accumulator, tag: u32) {{\n  let words = bitcast<{0}>(total);\n{1}{2}}}\n"
      "fn read_record(slot: u32, tag: u32) -> Record {{\n{1}{3}"
      "  return Record(bitcast<Accumulator>({0}({4})), {5});\n}}\n"
      "fn gather_records(first: u32, chunk_count: u32, tag: u32) -> Accumulator {{\n{6}  return {7};\n}}\n"
      "fn is_hidden(chunk: u32) -> bool {{ return {8}; }}\n",
      type, address, publish, loads, value, check, gather, combine_tree(std::move(terms)),
      hidden == 0 ? "false" : std::format("chunk % {}u == 1u", hidden));
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
  if (sink == Sink::last_arriver) {
    builder.constant("RECORDS_PER_THREAD", records_per_thread(problem));
    builder.generated("records", record_functions(problem)).more_workgroup_bytes(8);
    builder.part("reduce_finish.last_arriver.wgsl");
  } else {
    builder.part("reduce_finish.store.wgsl");
  }
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
    if (length <= problem.tuning.one_workgroup_items) {
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

// Long rows: a pass over the items, then passes over the partials of every row until one is left.
class RowPlanner {
 public:
  RowPlanner(const Problem& problem, const Slots& slots, PlanBuilder plan)
      : problem_(problem), slots_(slots), plan_(std::move(plan)) {}

  Result<Plan> finish() && {
    choose();
    Status status = plan_items();
    while (status && sink_ == Sink::partials && chunks_per_row_ > 1) status = plan_partials();
    if (!status) return std::unexpected(status.error());
    if (problem_.op.summation_terms != 0) {
      plan_.note(std::format("error of a float sum: at most {} * 2^-24 * sum |x|", depth_));
    }
    return std::move(plan_).finish();
  }

 private:
  void choose() {
    windows_ = make_windows(problem_);
    rows_are_split_ = !windows_.empty() && windows_.front().length < problem_.row_length;
    is_empty_ = problem_.item_count == 0;
    source_ = is_empty_ ? Source::partials : Source::items;
    level_ = choose_level(problem_, source_, windows_.empty() ? 0 : windows_.front().length, problem_.row_count);
    chunks_per_row_ = 0;
    for (const Window& window : windows_) {
      // Windows of the first row tell for all.
      if (window.first_row != 0) break;
      chunks_per_row_ += choose_level(inside(window), source_, window.length, problem_.row_count).chunks_per_row;
    }
    const bool has_words = !problem_.value.is_struct() && problem_.op.commutative;
    if (chunks_per_row_ == 1) {
      sink_ = Sink::result;
    } else if (problem_.tuning.single_pass && has_words && windows_.size() == 1 && problem_.row_count == 1 &&
               chunks_per_row_ <= most_arrivals && arrival_state_bytes <= problem_.traits.max_binding_bytes) {
      sink_ = Sink::last_arriver;
      state_ = plan_.state("reduce.arrivals", arrival_state_bytes);
      plan_.note("one pass: the workgroup that arrives last folds the chunks");
    } else {
      partials_ = plan_.scratch("partials", problem_.row_count * chunks_per_row_ * problem_.op.accumulator_bytes);
    }
    if (is_empty_) nothing_ = plan_.scratch("nothing", problem_.op.accumulator_bytes);
  }

  // The rest of a row that was cut into windows may be too short for a binding of vectors.
  [[nodiscard]] Problem inside(const Window& window) const {
    Problem local = problem_;
    local.use_vectors = problem_.use_vectors && window.length * problem_.shape.input.stride_bytes >= 16;
    return local;
  }

  Status plan_items() {
    std::uint64_t chunk_base = 0;
    for (const Window& window : windows_) {
      if (window.first_item == 0) chunk_base = window.first_row * chunks_per_row_;
      const Problem local = inside(window);
      const Level at = choose_level(local, source_, window.length, problem_.row_count);
      const auto kernel = tile_kernel(local, source_, sink_);
      if (!kernel) return std::unexpected(kernel.error());
      PlanBuilder::Step step = items_step(window, at, *kernel, local.use_vectors);
      if (sink_ == Sink::partials) step.params.push_back({"output_first", u32(chunk_base)});
      chunk_base += step.workgroup_count;
      plan_.dispatch(std::move(step));
    }
    deepen(source_, level_);
    if (sink_ == Sink::last_arriver) {
      depth_ += log2_ceil(records_per_thread(problem_)) +
                u32(div_ceil(chunks_per_row_, problem_.tuning.workgroup_size)) +
                fold_depth(problem_.fold, problem_.traits, problem_.tuning.workgroup_size);
    }
    return {};
  }

  PlanBuilder::Step items_step(const Window& window, const Level& at, const std::shared_ptr<const Kernel>& kernel,
                               bool vectors) const {
    const std::uint64_t first = window.first_row * problem_.row_length + window.first_item;
    const std::uint64_t count = window.row_count * window.length;
    PlanBuilder::Step step;
    step.kernel = kernel;
    step.workgroup_count = window.row_count * at.chunks_per_row;
    if (is_empty_) {
      step.bindings.push_back({"input", nothing_});
      step.params.push_back({"input_first", 0});
    } else {
      step.bindings = item_bindings(problem_, slots_, first, count, vectors);
    }
    if (vectors && problem_.shape.second_input) step.alike_fields = {"input_first", "second_first"};
    bind_sink(step, partials_, window.first_row, window.row_count);
    bind_count(step);
    step.params.insert(step.params.end(), {{"row_length", u32(window.length)},
                                           {"row_count", u32(window.row_count)},
                                           {"chunk_items", u32(at.chunk_items)},
                                           {"chunks_per_row", u32(at.chunks_per_row)},
                                           {"index_base", u32(window.first_item)},
                                           {"row_base", u32(window.first_row)}});
    if (!problem_.shape.second_input || is_empty_) step.params.push_back({"second_first", 0});
    step.reason =
        std::format("{}{} of {}, {} a chunk", counted(window.row_count, "row"), rows_are_split_ ? " (window)" : "",
                    counted(window.length, "item"), counted(at.chunk_items, "item"));
    step.bytes_read = count * problem_.item_bytes();
    step.bytes_written = written_bytes(window.row_count * at.chunks_per_row, sink_);
    return step;
  }

  Status plan_partials() {
    const Level at = choose_level(problem_, Source::partials, chunks_per_row_, problem_.row_count);
    sink_ = at.chunks_per_row == 1 ? Sink::result : Sink::partials;
    const auto kernel = tile_kernel(problem_, Source::partials, sink_);
    if (!kernel) return std::unexpected(kernel.error());
    const std::uint64_t chunks = problem_.row_count * at.chunks_per_row;
    const SlotId from = partials_;
    PlanBuilder::Step step;
    step.kernel = *kernel;
    step.workgroup_count = chunks;
    step.bindings = {{"input", from}};
    step.params = {{"row_length", u32(chunks_per_row_)},
                   {"row_count", u32(problem_.row_count)},
                   {"chunk_items", u32(at.chunk_items)},
                   {"chunks_per_row", u32(at.chunks_per_row)},
                   {"index_base", 0},
                   {"row_base", 0},
                   {"input_first", 0},
                   {"second_first", 0}};
    if (sink_ == Sink::partials) {
      partials_ = plan_.scratch("partials", chunks * problem_.op.accumulator_bytes);
      step.params.push_back({"output_first", 0});
    }
    bind_sink(step, partials_, 0, problem_.row_count);
    bind_count(step);
    step.reason = std::format("{} partials a row", chunks_per_row_);
    step.bytes_read = problem_.row_count * chunks_per_row_ * problem_.op.accumulator_bytes;
    step.bytes_written = written_bytes(chunks, sink_);
    plan_.dispatch(std::move(step));
    deepen(Source::partials, at);
    chunks_per_row_ = at.chunks_per_row;
    return {};
  }

  void bind_sink(PlanBuilder::Step& step, SlotId partials, std::uint64_t first_row, std::uint64_t row_count) const {
    if (sink_ == Sink::partials) {
      step.bindings.push_back({"output", partials});
      return;
    }
    add_sink_bindings(step.bindings, problem_, slots_, first_row, row_count);
    if (sink_ == Sink::last_arriver) step.bindings.push_back({"state", state_});
  }

  void bind_count(PlanBuilder::Step& step) const {
    if (step.kernel->find_binding("item_count") != nullptr) {
      step.bindings.push_back({"item_count", slots_.item_count, 0, 4, "count_first"});
    } else {
      step.params.push_back({"count_first", 0});
    }
  }

  [[nodiscard]] std::uint64_t written_bytes(std::uint64_t chunks, Sink sink) const {
    if (sink == Sink::last_arriver) return problem_.op.result.stride_bytes;
    return chunks * (sink == Sink::result ? problem_.op.result.stride_bytes : problem_.op.accumulator_bytes);
  }

  // Roundings on the longest way of an item through a pass: its tree in the tile, the tiles after its own (whose edges
  // are folded item by item), the workgroup's tree.
  void deepen(Source source, const Level& at) {
    const std::uint64_t tile = problem_.tile_items(source);
    const std::uint64_t tiles = problem_.op.commutative ? at.chunk_items / tile : tile;
    depth_ += u32(tiles) + log2_ceil(std::uint64_t{problem_.tuning.units_per_thread} * problem_.unit_items(source)) +
              2 * problem_.unit_items(source) +
              fold_depth(problem_.fold, problem_.traits, problem_.tuning.workgroup_size);
  }

  const Problem& problem_;
  const Slots& slots_;
  PlanBuilder plan_;
  std::vector<Window> windows_;
  bool rows_are_split_ = false;
  bool is_empty_ = false;
  Source source_ = Source::items;
  Sink sink_ = Sink::partials;
  Level level_;
  std::uint64_t chunks_per_row_ = 1;
  SlotId partials_;
  SlotId nothing_;
  SlotId state_;
  std::uint32_t depth_ = 0;
};

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
  const SlotId nothing = is_empty ? plan.scratch("nothing", problem.op.accumulator_bytes) : SlotId{};
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
    step.bytes_read = items * problem.item_bytes() + (by_rows ? 0 : count * 8);
    step.bytes_written = count * problem.op.result.stride_bytes;
    plan.dispatch(std::move(step));
  }
  if (problem.op.summation_terms != 0) {
    const std::uint64_t longest = by_rows ? problem.row_length : problem.item_count;
    plan.note(std::format("error of a float sum: at most {} * 2^-24 * sum |x|",
                          div_ceil(longest, threads) + log2_ceil(threads)));
  }
  return std::move(plan).finish();
}

Status check_shape(const ReduceShape& shape, const ElementType& value) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  for (const ElementType* type : {&shape.input, &value, shape.second_input ? &*shape.second_input : &shape.input}) {
    if (type->size_bytes == 0 || type->stride_bytes < type->size_bytes) {
      return refuse(std::format("\"{}\" is no element type: size {}, stride {}.", type->name, type->size_bytes,
                                type->stride_bytes));
    }
  }
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
  // A tile of one item would leave as many partials as there were items.
  const bool tiles_fold = std::uint64_t{tuning.workgroup_size} * tuning.units_per_thread > 1;
  if (!std::has_single_bit(tuning.workgroup_size) || !tiles_fold || tuning.units_per_thread > 64 ||
      tuning.max_workgroups == 0 || tuning.longest_chain == 0) {
    return fail(ErrorKind::invalid_request, std::format("Tuning out of range: {}.", to_string(tuning)));
  }
  return {};
}

}  // namespace

Result<Plan> plan_reduce(const ReduceShape& shape, const DeviceTraits& traits, std::optional<ReduceTuning> tuning,
                         ReduceOffsets offsets) {
  const ElementType value = shape.value.value_or(shape.input);
  if (traits.offset_alignment == 0 || traits.max_binding_bytes == 0) {
    return fail(ErrorKind::invalid_request, "The device traits lack limits.");
  }
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
  const std::uint32_t stride = shape.input.stride_bytes;
  const std::uint32_t second_stride = shape.second_input ? shape.second_input->stride_bytes : stride;
  const std::uint64_t second_offset = shape.second_input ? offsets.second_input_bytes : offsets.input_bytes;
  for (const auto& [offset, bytes] : {std::pair{offsets.input_bytes, stride}, {second_offset, second_stride}}) {
    if (offset % std::gcd<std::uint64_t>(alignment, bytes) == 0) continue;
    return fail(ErrorKind::invalid_request,
                std::format("Offset {} of an input is not a multiple of its item ({} bytes).", offset, bytes));
  }
  const auto leftover = [&](std::uint64_t offset, std::uint32_t item_bytes) {
    std::uint64_t bytes = offset % alignment;
    while (bytes % item_bytes != 0) bytes += alignment;
    return bytes;
  };
  const std::uint64_t first_bytes = leftover(offsets.input_bytes, stride);
  const std::uint64_t second_bytes = leftover(second_offset, second_stride);
  const auto room = [&](std::uint64_t unused_bytes) {
    const std::uint64_t bytes = traits.max_binding_bytes - std::min(traits.max_binding_bytes, unused_bytes);
    return std::min(bytes * stride / std::max(stride, second_stride), most_window_items * stride);
  };
  const auto items_a_block = [&](std::uint64_t item_bytes) { return std::lcm(alignment, item_bytes) / item_bytes; };
  const std::uint64_t unit = stride * std::lcm(items_a_block(stride), items_a_block(second_stride));
  problem.window_bytes = align_down(room(std::max(first_bytes, second_bytes)), unit);
  if (by_rows && problem.item_count * stride > problem.window_bytes) {
    // Windows of whole rows, and those of rows after the first, begin anywhere.
    const std::uint64_t most_unused =
        std::max((items_a_block(stride) - 1) * stride, (items_a_block(second_stride) - 1) * second_stride);
    problem.window_bytes = align_down(room(most_unused), stride);
  }
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
  return RowPlanner(problem, slots, std::move(plan)).finish();
}

}  // namespace upsweep
