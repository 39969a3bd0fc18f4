// SPDX-License-Identifier: Apache-2.0
// Plans of products: one pass over the rows, or two of the merge path; coo and hybrid put others around them.
#include <algorithm>
#include <array>
#include <bit>
#include <format>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "plan/row_offsets.h"
#include "plan/sparse_parts.h"
#include "plan/subgroup_plan.h"
#include "upsweep/spmv.h"

namespace upsweep {
namespace {

using Kernels = Result<std::shared_ptr<const Kernel>>;

// Threads and places are counted in u32, with room for a few steps past the end.
constexpr std::uint64_t most_places = std::uint64_t{1} << 31;
constexpr std::uint32_t most_vectors = 16;
constexpr std::uint32_t most_unrolled = 16;
constexpr std::array block_sizes{2u, 3u, 4u, 8u, 16u};
// Of a tile: rows that a thread adds up by itself, and lanes for each of the others.
constexpr std::uint32_t short_row = 16;
constexpr std::uint32_t merge_lanes = 16;
// What tells of a tile, and the bits that no sum has.
constexpr std::uint32_t record_words = 3;
constexpr std::uint32_t no_part = 0xffffffffu;

// The most rows of a tile that are longer than short ones.
constexpr std::uint32_t most_long_rows(std::uint32_t tile_items) { return tile_items / (short_row + 1) + 1; }
// Of the workgroup's memory: the items between two more row ends, the queue, and the sums of lanes.
constexpr std::uint32_t merge_bytes(std::uint32_t workgroup_size, std::uint32_t tile_items, bool by_shuffles) {
  return (tile_items + 2 + most_long_rows(tile_items) + 2 + (by_shuffles ? 0 : workgroup_size)) * 4;
}

// A part of a matrix that one pass, or the two of a merge, multiply.
struct Piece {
  SparseFormat format = SparseFormat::csr;
  std::uint32_t row_count = 0;
  std::uint64_t column_items = 0;
  bool is_rest = false;  // compressed rows beside the others: added to y
};

Status refuse(std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); }

Status check(const SpmvShape& shape, const DeviceTraits& traits) {
  const SparseShape& matrix = shape.matrix;
  if (shape.vector_count < 1 || shape.vector_count > most_vectors) {
    return refuse(std::format("A product with {} vectors: 1 to {} are possible.", shape.vector_count, most_vectors));
  }
  if (shape.has_tiles && matrix.format != SparseFormat::csr) {
    return refuse(std::format("Tiles are prepared for csr, not for {}.", to_string(matrix.format)));
  }
  const bool has_stride = matrix.format == SparseFormat::ell || matrix.format == SparseFormat::hybrid ||
                          matrix.format == SparseFormat::block_ell;
  if (matrix.format == SparseFormat::block_ell && !std::ranges::contains(block_sizes, matrix.block_size)) {
    return refuse(
        std::format("Blocks of {} x {}: 2, 3, 4, 8 and 16 are possible.", matrix.block_size, matrix.block_size));
  }
  if (matrix.format == SparseFormat::sliced_ell && matrix.slice_rows == 0) return refuse("Slices of 0 rows.");
  const std::uint32_t least_stride = matrix.format == SparseFormat::block_ell ? matrix.group_count() : matrix.row_count;
  if (has_stride && matrix.stride() < least_stride) {
    return refuse(std::format("A row_stride of {} is smaller than the {} {} between two slots.", matrix.row_stride,
                              least_stride, matrix.format == SparseFormat::block_ell ? "block rows" : "rows"));
  }
  const std::uint64_t value_bytes = matrix.values == SparseValues::f16 ? 2 : 4;
  const std::uint64_t vectors = shape.vector_count;
  for (const auto& [items, bytes, what] : {std::tuple{matrix.value_items(), value_bytes, "values"},
                                           {matrix.column_items(), std::uint64_t{4}, "columns"},
                                           {std::uint64_t{matrix.rest_entry_count}, std::uint64_t{4}, "rest_columns"},
                                           {matrix.row_count + std::uint64_t{1}, std::uint64_t{4}, "row_offsets"},
                                           {matrix.column_count * vectors, std::uint64_t{4}, "x"},
                                           {matrix.row_count * vectors, std::uint64_t{4}, "y"}}) {
    if (items > most_places) {
      return fail(ErrorKind::unsupported,
                  std::format("{} items of {} are more than a product takes ({}).", items, what, most_places));
    }
    if (items * bytes > traits.max_binding_bytes) {
      return fail(ErrorKind::unsupported,
                  std::format("{} of {} bytes is larger than the device's limit of one binding ({} bytes); a product "
                              "needs each array in one.",
                              what, items * bytes, traits.max_binding_bytes));
    }
  }
  return {};
}

Status check(const SpmvTuning& tuning) {
  const bool is_sound = std::has_single_bit(tuning.workgroup_size) && tuning.loads_ahead >= 1 &&
                        tuning.loads_ahead <= most_unrolled && tuning.items_per_thread >= 1 &&
                        tuning.items_per_thread <= most_unrolled &&
                        (tuning.lanes_per_row == 0 || std::has_single_bit(tuning.lanes_per_row));
  if (is_sound) return {};
  return refuse(std::format("Tuning of a product out of range: {}.", to_string(tuning)));
}

// What is worked out once for all kernels of a plan.
struct Layout {
  SpmvShape shape;
  SpmvTuning tuning;
  DeviceTraits traits;
};

// load_column(at), load_value(at), load_x(column, vector).
void add_loads(KernelBuilder& builder, const Layout& layout) {
  std::string text =
      "@group(0) @binding(2) var<storage, read> columns: array<u32>;\n"
      "fn load_column(at: u32) -> u32 { return columns[params.columns_first + at]; }\n";
  switch (layout.shape.matrix.values) {
    case SparseValues::f32:
      text +=
          "@group(0) @binding(3) var<storage, read> values: array<f32>;\n"
          "fn load_value(at: u32) -> f32 { return values[params.values_first + at]; }\n";
      break;
    case SparseValues::f16:
      text +=
          "@group(0) @binding(3) var<storage, read> values: array<u32>;\n"
          "fn load_value(at: u32) -> f32 {\n"
          "  return unpack2x16float(values[params.values_first + at / 2u])[at % 2u];\n}\n";
      break;
    case SparseValues::ones: text += "fn load_value(at: u32) -> f32 { return 1.0; }\n"; break;
  }
  text +=
      "@group(0) @binding(6) var<storage, read> x: array<f32>;\n"
      "fn load_x(column: u32, vector: u32) -> f32 {\n"
      "  return x[params.x_first + min(column, params.column_count - 1u) * VECTORS + vector];\n}\n";
  builder.generated("loads", text);
}

// alpha(), beta().
void add_scalars(KernelBuilder& builder, const Layout& layout, bool is_rest) {
  std::string text;
  if (layout.shape.scalars_on_device) {
    text =
        "@group(0) @binding(8) var<storage, read> scalars: array<f32>;\n"
        "fn alpha() -> f32 { return scalars[params.scalars_first]; }\n";
    text += is_rest ? "fn beta() -> f32 { return 1.0; }\n"
                    : "fn beta() -> f32 { return scalars[params.scalars_first + 1u]; }\n";
  } else {
    text = "fn alpha() -> f32 { return params.alpha; }\nfn beta() -> f32 { return params.beta; }\n";
  }
  builder.generated("scalars", text);
}

// row_of(place): the row of the matrix. store_y(place, sum).
void add_store(KernelBuilder& builder, const Layout& layout, const Piece& piece) {
  builder.constant("VECTORS", layout.shape.vector_count).part("spmv_params.wgsl");
  const bool is_mapped =
      piece.is_rest || (piece.format == SparseFormat::sliced_ell && layout.shape.matrix.is_reordered);
  builder.generated("rows", is_mapped
                                ? "@group(0) @binding(7) var<storage, read> row_order: array<u32>;\n"
                                  "fn row_of(place: u32) -> u32 { return row_order[params.order_first + place]; }\n"
                                : "fn row_of(place: u32) -> u32 { return place; }\n");
  add_scalars(builder, layout, piece.is_rest);
}

constexpr std::string_view store_text =
    "@group(0) @binding(4) var<storage, read_write> y: array<f32>;\n"
    "fn store_y(place: u32, sum: f32) {\n"
    "  let at = params.y_first + place;\n"
    "  var result = alpha() * sum;\n"
    "  if (beta() != 0.0) { result = fma(beta(), y[at], result); }\n"
    "  y[at] = result;\n}\n";

// row_sum(place, lane, vector) of formats whose entries lie a step apart. A loop of counted rounds with a way out: Tint
// counts those of others in 64 bits.
std::string row_sum_text(SparseFormat format, std::uint32_t unroll) {
  std::string entries;
  switch (format) {
    case SparseFormat::csr:
    case SparseFormat::coo:
      entries =
          "  var at = row_offsets[params.offsets_first + place] + lane;\n"
          "  let end = row_offsets[params.offsets_first + place + 1u];\n"
          "  let step = LANES;\n";
      break;
    case SparseFormat::sliced_ell:
      entries =
          "  let slice = params.offsets_first + place / SLICE_ROWS;\n"
          "  var at = row_offsets[slice] + place % SLICE_ROWS;\n"
          "  let end = row_offsets[slice + 1u];\n"
          "  let step = SLICE_ROWS;\n";
      break;
    default:
      entries =
          "  var at = place;\n"
          "  let end = params.entry_count;\n"
          "  let step = params.row_stride;\n";
  }
  const bool has_padding = format != SparseFormat::csr && format != SparseFormat::coo;
  std::string loads;
  std::string adds;
  for (std::uint32_t u = 0; u < unroll; ++u) {
    loads += std::format("    let at{0} = min(at + {0}u * step, end - 1u);\n", u);
  }
  for (std::uint32_t u = 0; u < unroll; ++u) {
    loads += std::format("    let c{0} = load_column(at{0});\n    let v{0} = load_value(at{0});\n", u);
  }
  for (std::uint32_t u = 0; u < unroll; ++u) loads += std::format("    let x{0} = load_x(c{0}, vector);\n", u);
  for (std::uint32_t u = 0; u < unroll; ++u) {
    const std::string is_entry =
        std::format("at + {0}u * step < end{1}", u, has_padding ? std::format(" && c{} != 0xffffffffu", u) : "");
    adds += std::format("    sum = select(sum, fma(v{0}, x{0}, sum), {1});\n", u, is_entry);
  }
  return std::format(
      "fn row_sum(place: u32, lane: u32, vector: u32) -> f32 {{\n{}  var sum = 0.0;\n"
      "  for (var round = 0u; round < 0x80000000u; round++) {{\n    if (at >= end) {{ break; }}\n"
      "{}{}    at += {}u * step;\n  }}\n  return sum;\n}}\n",
      entries, loads, adds, unroll);
}

// row_sum() of blocks: a thread has one row of each block.
std::string block_row_sum_text(std::uint32_t block_size, std::uint32_t slots) {
  std::string loads;
  std::string adds;
  for (std::uint32_t s = 0; s < slots; ++s) {
    loads += std::format(
        "    let s{0} = min(slot + {0}u, width - 1u);\n"
        "    let b{0} = load_column(s{0} * params.row_stride + block_row);\n",
        s);
  }
  for (std::uint32_t s = 0; s < slots; ++s) {
    for (std::uint32_t j = 0; j < block_size; ++j) {
      loads +=
          std::format("    let v{0}_{1} = load_value((s{0} * {2}u + {1}u) * (params.row_stride * {2}u) + place);\n", s,
                      j, block_size);
      adds += std::format(
          "    let c{0}_{1} = b{0} * {2}u + {1}u;\n"
          "    sum = select(sum, fma(v{0}_{1}, x{0}_{1}, sum), is{0} && c{0}_{1} < params.column_count);\n",
          s, j, block_size);
    }
  }
  std::string vectors;
  for (std::uint32_t s = 0; s < slots; ++s) {
    vectors += std::format("    let is{0} = slot + {0}u < width && b{0} < 0xffffffffu / {1}u;\n", s, block_size);
    for (std::uint32_t j = 0; j < block_size; ++j) {
      vectors += std::format("    let x{0}_{1} = load_x(min(b{0}, 0xffffffffu / {2}u) * {2}u + {1}u, vector);\n", s, j,
                             block_size);
    }
  }
  return std::format(
      "fn row_sum(place: u32, lane: u32, vector: u32) -> f32 {{\n"
      "  let block_row = place / {0}u;\n"
      "  let width = params.entry_count / params.row_stride;\n"
      "  var sum = 0.0;\n"
      "  for (var slot = 0u; slot < width; slot += {1}u) {{\n{2}{3}{4}  }}\n  return sum;\n}}\n",
      block_size, slots, loads, vectors, adds);
}

// The product's passes, each with the bindings that its format has.
class SpmvPlanner {
 public:
  SpmvPlanner(const SpmvShape& shape, const SpmvTuning& tuning, const DeviceTraits& traits)
      : layout_{shape, tuning, traits}, plan_("spmv", traits) {}

  // The tiles alone.
  Result<Plan> run_tiles() && {
    const SparseShape& matrix = layout_.shape.matrix;
    plan_.note(to_string(matrix));
    const Piece piece{.row_count = matrix.row_count, .column_items = matrix.column_items()};
    if (merges() && tile_count(piece) > 0) {
      offsets_ = plan_.argument("row_offsets", (matrix.row_count + std::uint64_t{1}) * 4, 4);
      tile_words_ = plan_.argument("tiles", tile_words(piece) * 4, 4, true);
      add_splits(piece);
    }
    return std::move(plan_).finish();
  }

  Result<Plan> run() && {
    const SpmvShape& shape = layout_.shape;
    const SparseShape& matrix = shape.matrix;
    plan_.note(to_string(matrix) + (shape.vector_count == 1 ? "" : std::format(", {} vectors", shape.vector_count)));
    if (matrix.row_count == 0) return std::move(plan_).finish();
    const std::uint64_t vectors = shape.vector_count;
    y_ = plan_.argument("y", matrix.row_count * vectors * 4, 4, true);
    if (shape.scalars_on_device) scalars_ = plan_.argument("scalars", 8, 4);
    const bool has_rest =
        matrix.format == SparseFormat::hybrid && matrix.rest_entry_count > 0 && matrix.column_count > 0;
    const bool has_entries = matrix.column_items() > 0 && matrix.column_count > 0;
    if (has_entries || has_rest) x_ = plan_.argument("x", matrix.column_count * vectors * 4, 4);
    if (has_entries) {
      add_entries();
    } else {
      add_no_entries();
    }
    if (has_rest) add_rest();
    plan_.least_bytes(matrix.column_items() * 4 + matrix.value_items() * value_bytes() +
                      (matrix.column_count + matrix.row_count) * vectors * 4);
    return std::move(plan_).finish();
  }

 private:
  [[nodiscard]] bool merges() const {
    const SparseFormat format = layout_.shape.matrix.format;
    return (format == SparseFormat::csr || format == SparseFormat::coo) && layout_.tuning.path == SpmvPath::merge;
  }

  [[nodiscard]] std::uint64_t value_bytes() const { return bytes_of(layout_.shape.matrix.values); }

  SlotId values_argument(std::string name, std::uint64_t items) {
    return plan_.argument(std::move(name), value_array_bytes(layout_.shape.matrix.values, items), 4);
  }

  void add_entries() {
    const SparseShape& matrix = layout_.shape.matrix;
    const Piece piece{.format = matrix.format, .row_count = matrix.row_count, .column_items = matrix.column_items()};
    columns_ = plan_.argument("columns", piece.column_items * 4, 4);
    if (value_bytes() != 0) values_ = values_argument("values", matrix.value_items());
    switch (matrix.format) {
      case SparseFormat::csr:
        offsets_ = plan_.argument("row_offsets", (matrix.row_count + std::uint64_t{1}) * 4, 4);
        break;
      case SparseFormat::coo: {
        const SlotId rows = plan_.argument("rows", matrix.entry_count * std::uint64_t{4}, 4);
        offsets_ = plan_.scratch("row_offsets", (matrix.row_count + std::uint64_t{1}) * 4, ScratchGroup::first);
        add_row_offsets(
            plan_,
            {.rows = rows, .offsets = offsets_, .entry_count = matrix.entry_count, .row_count = matrix.row_count});
        break;
      }
      case SparseFormat::sliced_ell:
        offsets_ = plan_.argument("slice_offsets", (matrix.group_count() + std::uint64_t{1}) * 4, 4);
        if (matrix.is_reordered) order_ = plan_.argument("row_order", matrix.row_count * std::uint64_t{4}, 4);
        break;
      case SparseFormat::ell:
      case SparseFormat::block_ell:
      case SparseFormat::hybrid: break;
    }
    if (merges()) {
      for (std::uint32_t v = 0; v < layout_.shape.vector_count; ++v) add_merge(piece, v);
    } else {
      add_rows(piece);
    }
  }

  void add_rest() {
    const SparseShape& matrix = layout_.shape.matrix;
    columns_ = plan_.argument("rest_columns", matrix.rest_entry_count * std::uint64_t{4}, 4);
    if (value_bytes() != 0) values_ = values_argument("rest_values", matrix.rest_entry_count);
    offsets_ = plan_.argument("rest_offsets", (matrix.rest_row_count + std::uint64_t{1}) * 4, 4);
    order_ = plan_.argument("rest_rows", matrix.rest_row_count * std::uint64_t{4}, 4);
    const Piece piece{.format = SparseFormat::csr,
                      .row_count = matrix.rest_row_count,
                      .column_items = matrix.rest_entry_count,
                      .is_rest = true};
    if (layout_.traits.is_cpu && layout_.tuning.path != SpmvPath::merge) {
      add_rows(piece);
      return;
    }
    for (std::uint32_t v = 0; v < layout_.shape.vector_count; ++v) add_merge(piece, v);
  }

  static std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

  // Binds what the kernel declares, and gives all params.
  PlanBuilder::Step step(const Piece& piece, const Kernel& kernel, std::uint32_t vector) const {
    PlanBuilder::Step step;
    const auto bind = [&](std::string_view variable, SlotId slot, std::string_view first_field) {
      if (kernel.find_binding(variable) == nullptr) return;
      step.bindings.push_back(bind_items(variable, slot, first_field));
    };
    bind("row_offsets", offsets_, "offsets_first");
    bind("columns", columns_, "columns_first");
    bind("values", values_, "values_first");
    bind("row_order", order_, "order_first");
    bind("x", x_, "x_first");
    bind("y", y_, "y_first");
    bind("scalars", scalars_, "scalars_first");
    bind("tile_words", tile_words_, "tiles_first");
    const SpmvShape& shape = layout_.shape;
    step.params = {{"row_count", piece.row_count},
                   {"column_count", shape.matrix.column_count},
                   {"entry_count", static_cast<std::uint32_t>(piece.column_items)},
                   {"row_stride", shape.matrix.stride()},
                   {"tile_count", 0},
                   {"vector", vector},
                   {"alpha", bits(shape.alpha)},
                   {"beta", bits(piece.is_rest ? 1.0f : shape.beta)}};
    for (const std::string_view field : {"offsets_first", "columns_first", "values_first", "order_first", "x_first",
                                         "y_first", "scalars_first", "tiles_first"}) {
      step.params.push_back({field, 0});
    }
    return step;
  }

  void dispatch(const Piece& piece, const Kernels& kernel, std::uint32_t vector, auto fill) {
    if (!kernel) {
      plan_.dispatch(kernel, {});
      return;
    }
    PlanBuilder::Step made = step(piece, **kernel, vector);
    fill(made);
    plan_.dispatch(kernel, std::move(made));
  }

  // A kernel that stores alpha 0 + beta y.
  void add_no_entries() {
    const Piece piece{.row_count = layout_.shape.matrix.row_count};
    KernelBuilder builder("spmv_rows");
    builder.workgroup(layout_.tuning.workgroup_size, 0).constant("LANES", 1);
    add_entry(builder, Entry::plain, layout_.traits);
    builder.part("grid.wgsl");
    add_store(builder, layout_, piece);
    builder.generated("store", store_text);
    builder.generated("row_sum", "fn row_sum(place: u32, lane: u32, vector: u32) -> f32 { return 0.0; }\n");
    builder.part("spmv_lanes.one.wgsl").part("spmv_rows.wgsl");
    dispatch(piece, std::move(builder).build(), 0, [&](PlanBuilder::Step& made) {
      made.thread_count = std::uint64_t{piece.row_count} * layout_.shape.vector_count;
      made.reason = "no entries: beta y alone";
      made.bytes_read = layout_.shape.beta == 0 ? 0 : made.thread_count * 4;
      made.bytes_written = made.thread_count * 4;
    });
  }

  // Lanes a row: as asked, as far as threads can be counted and fold.
  [[nodiscard]] std::uint32_t lanes(const Piece& piece) const {
    if (piece.format != SparseFormat::csr && piece.format != SparseFormat::coo) return 1;
    const std::uint64_t items = std::uint64_t{piece.row_count} * layout_.shape.vector_count;
    std::uint32_t lanes = layout_.tuning.lanes_per_row;
    if (lanes == 0) {
      const std::uint64_t mean = piece.column_items / std::max(1u, piece.row_count);
      lanes = static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(mean / 6, 1, 32)));
    }
    lanes = std::min(lanes, layout_.tuning.workgroup_size);
    while (lanes > 1 && items * lanes > most_places) lanes /= 2;
    return lanes;
  }

  [[nodiscard]] bool has_shuffles() const {
    const DeviceTraits& traits = layout_.traits;
    return layout_.tuning.use_subgroups && traits.emulated_subgroup_size == 0 && has_numbered_subgroups(traits) &&
           has_whole_subgroups(traits, layout_.tuning.workgroup_size);
  }

  void add_rows(const Piece& piece) {
    const SparseShape& matrix = layout_.shape.matrix;
    const SpmvTuning& tuning = layout_.tuning;
    const std::uint32_t lane_count = lanes(piece);
    const bool by_shuffles = lane_count > 1 && has_shuffles() && layout_.traits.subgroup_min_size >= lane_count;
    KernelBuilder builder("spmv_rows");
    const bool in_memory = lane_count > 1 && !by_shuffles;
    builder.workgroup(tuning.workgroup_size, in_memory ? tuning.workgroup_size * 4 : 0);
    add_entry(builder, by_shuffles ? Entry::subgroups : Entry::plain, layout_.traits);
    builder.constant("LANES", lane_count).part("grid.wgsl");
    add_store(builder, layout_, piece);
    builder.generated("store", store_text);
    add_loads(builder, layout_);
    const bool has_offsets = piece.format != SparseFormat::ell && piece.format != SparseFormat::hybrid &&
                             piece.format != SparseFormat::block_ell;
    if (piece.format == SparseFormat::sliced_ell) builder.constant("SLICE_ROWS", matrix.slice_rows);
    std::string sum = has_offsets ? "@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;\n" : "";
    sum += piece.format == SparseFormat::block_ell
               ? block_row_sum_text(matrix.block_size, std::max(1u, tuning.loads_ahead / matrix.block_size))
               : row_sum_text(piece.format, tuning.loads_ahead);
    builder.generated("row_sum", sum);
    builder.part(lane_count == 1 ? "spmv_lanes.one.wgsl"
                 : by_shuffles   ? "spmv_lanes.subgroup.wgsl"
                                 : "spmv_lanes.workgroup.wgsl");
    builder.part("spmv_rows.wgsl");
    dispatch(piece, std::move(builder).build(), 0, [&](PlanBuilder::Step& made) {
      const std::uint64_t results = std::uint64_t{piece.row_count} * layout_.shape.vector_count;
      made.workgroup_count = div_ceil(results, tuning.workgroup_size / lane_count);
      made.reason = std::format("{} a row{}", counted(lane_count, "lane"),
                                lane_count == 1 ? ""
                                : by_shuffles   ? ", summed by shuffles"
                                                : ", summed in workgroup memory");
      count_bytes(piece, made);
    });
  }

  void count_bytes(const Piece& piece, PlanBuilder::Step& made) const {
    const SpmvShape& shape = layout_.shape;
    const std::uint64_t values = piece.format == SparseFormat::block_ell
                                     ? piece.column_items * shape.matrix.block_size * shape.matrix.block_size
                                     : piece.column_items;
    const bool reads_y = piece.is_rest || shape.scalars_on_device || shape.beta != 0;
    const std::uint64_t results = std::uint64_t{piece.row_count} * shape.vector_count;
    made.bytes_read =
        piece.column_items * 4 + values * value_bytes() +
        (offsets_.kind == SlotKind::argument && piece.format == SparseFormat::csr ? piece.row_count * std::uint64_t{4}
                                                                                  : 0) +
        std::uint64_t{shape.matrix.column_count} * shape.vector_count * 4 + (reads_y ? results * 4 : 0);
    made.bytes_written = results * 4;
  }

  KernelBuilder start_merge(std::string name, std::uint32_t workgroup_bytes, bool by_shuffles) const {
    KernelBuilder builder(std::move(name));
    builder.workgroup(layout_.tuning.workgroup_size, workgroup_bytes);
    add_entry(builder, by_shuffles ? Entry::subgroups : Entry::plain, layout_.traits);
    builder.constant("TILE_ITEMS", tile_items())
        .constant("RECORD_WORDS", record_words)
        .constant("NO_PART", no_part)
        .part("grid.wgsl");
    return builder;
  }

  [[nodiscard]] std::uint32_t tile_items() const {
    return layout_.tuning.workgroup_size * layout_.tuning.items_per_thread;
  }

  // load_products(): `loads_ahead` entries of a thread on their way together, of a rest all.
  [[nodiscard]] std::string load_products_text(const Piece& piece) const {
    const std::uint32_t items = layout_.tuning.items_per_thread;
    const std::uint32_t ahead = piece.is_rest ? items : layout_.tuning.loads_ahead;
    std::string text = "fn load_products(first: u32, count: u32, stage_first: u32, rank: u32) {\n";
    for (std::uint32_t begin = 0; begin < items; begin += ahead) {
      const std::uint32_t end = std::min(begin + ahead, items);
      text += std::format("  if (count > {}u * WORKGROUP_SIZE) {{\n", begin);
      for (std::uint32_t i = begin; i < end; ++i) {
        text += std::format(
            "    let p{0} = rank + {0}u * WORKGROUP_SIZE;\n    let at{0} = first + min(p{0}, count - 1u);\n"
            "    let c{0} = load_column(at{0});\n    let v{0} = load_value(at{0});\n",
            i);
      }
      for (std::uint32_t i = begin; i < end; ++i) {
        text += std::format("    let x{0} = load_x(c{0}, params.vector);\n", i);
      }
      for (std::uint32_t i = begin; i < end; ++i) {
        text += std::format("    if (p{0} < count) {{ stage[stage_first + p{0}] = bitcast<u32>(v{0} * x{0}); }}\n", i);
      }
      text += "  }\n";
    }
    return text + "}\n";
  }

  static void set_tile_count(PlanBuilder::Step& made, std::uint64_t tiles) {
    std::ranges::find(made.params, "tile_count", &PlanBuilder::Param::name)->value = static_cast<std::uint32_t>(tiles);
  }

  [[nodiscard]] std::uint64_t tile_count(const Piece& piece) const {
    return div_ceil(piece.row_count + piece.column_items, tile_items());
  }

  // A record for each tile and for what is behind the last, then a word for each in which parts of rows meet.
  [[nodiscard]] std::uint64_t tile_words(const Piece& piece) const {
    return (tile_count(piece) + 1) * (record_words + 1);
  }

  void add_splits(const Piece& piece) {
    const std::uint64_t tiles = tile_count(piece);
    KernelBuilder splits = start_merge("spmv_splits", 0, false);
    splits.part("spmv_params.wgsl").part("spmv_splits.wgsl");
    dispatch(piece, std::move(splits).build(), 0, [&](PlanBuilder::Step& made) {
      set_tile_count(made, tiles);
      made.thread_count = tiles + 1;
      made.reason = "where tiles of as many rows and entries together begin";
      made.bytes_read = tiles * 4 * static_cast<std::uint64_t>(std::bit_width(piece.row_count));
      made.bytes_written = tile_words(piece) * 4;
    });
  }

  void add_merge(const Piece& piece, std::uint32_t vector) {
    const SpmvTuning& tuning = layout_.tuning;
    const std::uint64_t tiles = tile_count(piece);
    // The products of all vectors share their tiles; the rest of a hybrid has its own.
    if (vector == 0 && layout_.shape.has_tiles) {
      tile_words_ = plan_.argument("tiles", tile_words(piece) * 4, 4, true);
    } else if (vector == 0) {
      tile_words_ = plan_.scratch(piece.is_rest ? "rest_tiles" : "tiles", tile_words(piece) * 4);
      add_splits(piece);
    }
    const std::uint32_t lanes = std::min(merge_lanes, tuning.workgroup_size);
    const bool by_shuffles = has_shuffles() && layout_.traits.subgroup_min_size >= lanes;
    KernelBuilder merge =
        start_merge("spmv_merge", merge_bytes(tuning.workgroup_size, tile_items(), by_shuffles), by_shuffles);
    merge.constant("LANES", lanes).constant("SHORT_ROW", short_row).constant("LONG_ROWS", most_long_rows(tile_items()));
    add_store(merge, layout_, piece);
    merge.generated("store", store_text);
    add_loads(merge, layout_);
    merge.generated("load_products", load_products_text(piece));
    merge.part(by_shuffles ? "spmv_lanes.subgroup.wgsl" : "spmv_lanes.workgroup.wgsl").part("spmv_merge.wgsl");
    dispatch(piece, std::move(merge).build(), vector, [&](PlanBuilder::Step& made) {
      set_tile_count(made, tiles);
      made.workgroup_count = tiles;
      made.reason = std::format("tiles of {} rows and entries, longer rows summed {}", tile_items(),
                                by_shuffles ? "by shuffles" : "in workgroup memory");
      count_bytes(piece, made);
    });
  }

  Layout layout_;
  PlanBuilder plan_;
  SlotId columns_;
  SlotId values_;
  SlotId offsets_;
  SlotId order_;
  SlotId x_;
  SlotId y_;
  SlotId scalars_;
  SlotId tile_words_;
};

}  // namespace

namespace {

// The tuning as asked or chosen, cut to the device.
Result<SpmvTuning> settle(const SpmvShape& shape, const DeviceTraits& traits, std::optional<SpmvTuning> tuning) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  SpmvTuning chosen = tuning.value_or(select_spmv_tuning(shape, traits));
  if (const Status ok = check(chosen); !ok) return std::unexpected(ok.error());
  if (chosen.path == SpmvPath::automatic) chosen.path = select_spmv_tuning(shape, traits).path;
  chosen.workgroup_size = std::min(chosen.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  const auto fits = [&] {
    return merge_bytes(chosen.workgroup_size, chosen.workgroup_size * chosen.items_per_thread, false) <=
           traits.max_workgroup_bytes;
  };
  while (chosen.items_per_thread > 1 && !fits()) --chosen.items_per_thread;
  while (chosen.workgroup_size > 1 && !fits()) chosen.workgroup_size /= 2;
  return chosen;
}

}  // namespace

Result<Plan> plan_spmv(const SpmvShape& shape, const DeviceTraits& traits, std::optional<SpmvTuning> tuning) {
  const auto chosen = settle(shape, traits, tuning);
  if (!chosen) return std::unexpected(chosen.error());
  return SpmvPlanner(shape, *chosen, traits).run();
}

Result<Plan> plan_spmv_tiles(const SpmvShape& shape, const DeviceTraits& traits, std::optional<SpmvTuning> tuning) {
  if (shape.matrix.format != SparseFormat::csr) {
    return fail(ErrorKind::invalid_request,
                std::format("Tiles are prepared for csr, not for {}.", to_string(shape.matrix.format)));
  }
  const auto chosen = settle(shape, traits, tuning);
  if (!chosen) return std::unexpected(chosen.error());
  return SpmvPlanner(shape, *chosen, traits).run_tiles();
}

}  // namespace upsweep
