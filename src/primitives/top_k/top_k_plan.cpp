// SPDX-License-Identifier: Apache-2.0
// Plans of top-k: digits of the k-th key are found from the greatest on by counting; then one ordered compaction keeps
// the keys before it and the first of its equals, and a sort orders them.
#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <utility>
#include <vector>

#include "plan/gather.h"
#include "plan/grid.h"
#include "plan/plan_builder.h"
#include "plan/tile_select.h"
#include "primitives/top_k/top_k_choice.h"
#include "primitives/top_k/top_k_kernels.h"

namespace upsweep {
namespace {

using Binding = PlanBuilder::Binding;
using Outer = PlanBuilder::Outer;

constexpr std::uint64_t most_items = (std::uint64_t{1} << 30) - 1;  // as a sort takes
constexpr std::uint64_t search_words = 9;                           // as top_k_search.wgsl
constexpr std::uint32_t result_count_word = 5;
constexpr std::uint64_t input_length_word = 6;
constexpr std::uint64_t candidate_length_word = 7;
constexpr std::uint64_t gather_length_word = 8;

bool is_half(const ElementType& type) { return type.stride_bytes == 2; }

// Keys as words, which is how they move.
ElementType moved_key(const SortLayout& keys) { return keys.key_words == 2 ? ElementType::u64() : ElementType::u32(); }

Status check(const TopKShape& shape, const DeviceTraits& traits) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (!shape.key.scalar || shape.key.components != 1) {
    return fail(
        ErrorKind::unsupported,
        std::format("Top-k finds no keys of type {}: u32, i32, f32, f16, u64 and i64 it does.", shape.key.name));
  }
  if (shape.key_is_f64 && shape.key.scalar != Scalar::u64) {
    return refuse(std::format("Bits of doubles are keys of type u64, not {}.", shape.key.name));
  }
  if (!has_results(shape) && !shape.write_count && !shape.write_threshold) {
    return refuse("A top-k that writes neither keys nor values nor indices nor a threshold nor a count has no result.");
  }
  if (shape.value && shape.value->size_bytes == 0) {
    return refuse(std::format("Type {} has no size.", shape.value->name));
  }
  const std::uint64_t count = shape.item_count.max;
  if (count > most_items) {
    return fail(ErrorKind::unsupported, std::format("{} items are more than a top-k takes ({}).", count, most_items));
  }
  const std::uint64_t stride =
      std::max<std::uint64_t>({4u, shape.key.stride_bytes, shape.value ? shape.value->stride_bytes : 0});
  if (count * stride > traits.max_binding_bytes) {
    return fail(ErrorKind::unsupported,
                std::format("{} items of {} bytes are larger than the device's limit of one binding ({} bytes); a "
                            "top-k needs each array in one.",
                            count, stride, traits.max_binding_bytes));
  }
  return {};
}

Status check(const TopKTuning& tuning) {
  const bool is_sound = std::has_single_bit(tuning.workgroup_size) && tuning.workgroup_size >= 16 &&
                        tuning.items_per_thread >= 1 && tuning.items_per_thread <= 64 && tuning.digit_bits >= 1 &&
                        tuning.digit_bits <= 11 && tuning.max_workgroups >= 1 && tuning.candidate_share >= 1;
  if (is_sound) return {};
  return fail(ErrorKind::invalid_request, std::format("Tuning of a top-k out of range: {}.", to_string(tuning)));
}

// The group of scratch from which a sort can read its input: not the one that its first pass writes.
ScratchGroup group_before(const Plan& sort) {
  const auto is_input = [&](const Dispatch& dispatch, const BoundRange& range) {
    const auto variable = std::ranges::find(dispatch.kernel->bindings, range.binding, &KernelBinding::index);
    return range.slot.kind == SlotKind::argument && variable->kind == BindingKind::storage_read &&
           sort.arguments[range.slot.index].name == "keys";
  };
  for (const Dispatch& dispatch : sort.dispatches) {
    if (!std::ranges::any_of(dispatch.bindings, [&](const BoundRange& range) { return is_input(dispatch, range); })) {
      continue;
    }
    for (const BoundRange& range : dispatch.bindings) {
      if (range.slot.kind == SlotKind::scratch && sort.scratch[range.slot.index].group == ScratchGroup::first) {
        return ScratchGroup::second;
      }
    }
  }
  return ScratchGroup::first;
}

ScratchGroup other_group(ScratchGroup group) {
  return group == ScratchGroup::first ? ScratchGroup::second : ScratchGroup::first;
}

// Slots of a compaction's own plan.
struct CompactionSlots {
  SlotId input;
  SlotId search;
  SlotId item_count;
  SlotId output;
  SlotId indices;
  SlotId source_indices;
};

// Which compaction: of what a later digit may need, or of the result, from the input or from the candidates.
struct Compaction {
  bool takes_result = false;
  bool from_candidates = false;
  bool keeps_lesser = true;  // candidates: all keys up to the digit, not only those with it
  bool writes_keys = true;
  bool writes_indices = true;
};

constexpr std::string_view search_text = "@group(0) @binding(15) var<storage, read> search: array<u32>;\n";

// A unit's items up to the digit.
std::string candidate_mask_text(const TileItems& items, bool keeps_lesser) {
  std::string text(search_text);
  text +=
      "fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 {\n"
      "  let high = key_of_words(search[HIGH], search[HIGH + 1u]);\n";
  if (!keeps_lesser) text += "  let low = key_of_words(search[LOW], search[LOW + 1u]);\n";
  text += "  var mask = 0u;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text +=
        std::format("  let b{0} = ordered_bits({1});\n  mask |= select({2}u, 0u, is_less(high, b{0}){3});\n", k,
                    items.item("loaded.items", k), 1u << k, keeps_lesser ? "" : std::format(" | is_less(b{}, low)", k));
  }
  return text + "  return mask;\n}\n";
}

// One by one, since most threads have no candidates.
std::string candidate_sink_text(const TileItems& items, const Compaction& compaction, std::uint32_t rows) {
  std::string text = "@group(0) @binding(3) var<storage, read_write> output: array<RawItem>;\n";
  if (compaction.writes_indices) text += "@group(0) @binding(8) var<storage, read_write> indices: array<u32>;\n";
  text +=
      "fn store_marked(items: RawUnit, mask: u32, unit: u32, first: u32, range: Range) {\n"
      "  if (mask == 0u) { return; }\n  var slot = first;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text += std::format("  if ((mask & {}u) != 0u) {{\n    output[params.output_first + slot] = {};\n", 1u << k,
                        items.item("items", k));
    if (compaction.writes_indices) {
      text +=
          std::format("    indices[params.indices_first + slot] = item_index(unit * UNIT_ITEMS + {}u, range);\n", k);
    }
    text += "    slot++;\n  }\n";
  }
  text +=
      "}\nfn store_tile(tile: Tile, rows: Rows, prefix: Prefix, unit: u32, is_full: bool, range: Range, thread: "
      "Thread,\n"
      "              workgroup: Workgroup) {\n  if ((";
  for (std::uint32_t w = 0; w < (rows + 7) / 8; ++w) text += std::format("{}tile.masks{}", w == 0 ? "" : " | ", w);
  text +=
      ") == 0u) { return; }\n  let step = unit_step(workgroup);\n"
      "  let first = prefix.tile + prefix.subgroup;\n";
  for (std::uint32_t k = 0; k < rows; ++k) {
    text += std::format("  store_marked(tile.u{0}, {1}, unit + {0}u * step, first + row_before{0}(rows), range);\n", k,
                        mask_of(k));
  }
  return text + "}\n";
}

// Bits 0 to 3: keys before the k-th; bits 4 to 7: its equals.
std::string result_mask_text(const TileItems& items) {
  std::string text(search_text);
  text +=
      "fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 {\n"
      "  let kth = key_of_words(search[LOW], search[LOW + 1u]);\n  var mask = 0u;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    text += std::format(
        "  let b{0} = ordered_bits({1});\n"
        "  mask |= select(0u, {2}u, is_less(b{0}, kth)) | select(0u, {3}u, is_equal(b{0}, kth));\n",
        k, items.item("loaded.items", k), 1u << k, 16u << k);
  }
  return text + "  return mask;\n}\n";
}

// Of the equals the first RANK ones.
std::string result_sink_text(const TileItems& items, const Compaction& compaction) {
  std::string text;
  if (compaction.writes_keys) text += "@group(0) @binding(3) var<storage, read_write> output: array<RawItem>;\n";
  if (compaction.writes_indices) {
    text += "@group(0) @binding(8) var<storage, read_write> indices: array<u32>;\n";
    if (compaction.from_candidates) {
      text += "@group(0) @binding(7) var<storage, read> source_indices: array<u32>;\n";
    }
  }
  text +=
      "fn store_unit(u: Unit, unit: u32, prefix: Accumulator, is_full: bool, range: Range) {\n"
      "  if (u.mask == 0u) { return; }\n"
      "  let rank = search[RANK];\n  var before = prefix;\n";
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    std::string index = std::format("item_index(unit * UNIT_ITEMS + {}u, range)", k);
    if (compaction.from_candidates) index = std::format("source_indices[{}]", index);
    text += std::format(
        "  let less{0} = (u.mask & {1}u) != 0u;\n  let equal{0} = (u.mask & {2}u) != 0u;\n"
        "  if (less{0} || (equal{0} && before.y < rank)) {{\n    let slot = before.x + min(before.y, rank);\n",
        k, 1u << k, 16u << k);
    if (compaction.writes_keys) {
      text += std::format("    output[params.output_first + slot] = {};\n", items.item("u.items", k));
    }
    if (compaction.writes_indices) text += std::format("    indices[params.indices_first + slot] = {};\n", index);
    text += std::format("  }}\n  before += vec2u(u32(less{0}), u32(equal{0}));\n", k);
  }
  return text + "}\n";
}

TileProgram make_program(const TopKLayout& layout, const Compaction& compaction, const CompactionSlots& slots,
                         const DeviceTraits& traits, const ScanTuning& tuning, bool vectors) {
  const ElementType key = moved_key(layout.keys);
  TileProgram program;
  program.name = compaction.takes_result ? "top_k_results" : "top_k_candidates";
  program.unit_items = vectors ? unit_items_of(key) : 1;
  program.params = {"output_first", "indices_first"};
  program.item_bytes = key.stride_bytes;
  program.written_bytes = 0;  // the planner of the whole says
  program.bindings = input_bindings(slots.input, key.stride_bytes);
  program.bindings.push_back({.variable = "search", .slot = slots.search});
  if (compaction.writes_keys) {
    program.bindings.push_back(
        {.variable = "output", .slot = slots.output, .stride_bytes = key.stride_bytes, .first_field = "output_first"});
  }
  if (compaction.writes_indices) {
    program.bindings.push_back({.variable = "indices", .slot = slots.indices, .first_field = "indices_first"});
    if (compaction.from_candidates) {
      program.bindings.push_back({.variable = "source_indices", .slot = slots.source_indices});
    }
  }
  const TileItems items{.type = key, .unit_items = program.unit_items};
  if (compaction.takes_result) {
    program.accumulator = {.type = "vec2u", .size_bytes = 8, .fold_builtin = "subgroupAdd"};
    program.add_types = [&layout](KernelBuilder& builder) {
      add_key_bits(builder, layout);
      builder.alias("Accumulator", "vec2u");
      builder.generated("counts",
                        "fn identity() -> Accumulator { return vec2u(0u); }\n"
                        "fn combine(a: Accumulator, b: Accumulator) -> Accumulator { return a + b; }\n");
    };
    program.add_units = [items](KernelBuilder& builder, bool) -> Status {
      add_marked_units(builder, items, result_mask_text(items), false, false);
      builder.generated("totals",
                        "fn unit_total(u: Unit, unit: u32, range: Range) -> Accumulator {\n"
                        "  return vec2u(countOneBits(u.mask & 15u), countOneBits(u.mask >> 4u));\n}\n");
      return {};
    };
    program.add_sink = [items, compaction](KernelBuilder& builder) {
      builder.generated("store", result_sink_text(items, compaction));
    };
    return program;
  }
  program.accumulator = count_accumulator();
  program.late_publish = true;
  program.own_tile = [tuning, &traits](bool lanes) { return marked_tile(tuning.rows, lanes, traits); };
  program.add_types = [&layout](KernelBuilder& builder) {
    add_key_bits(builder, layout);
    add_count_types(builder);
  };
  program.add_units = [items, compaction](KernelBuilder& builder, bool) -> Status {
    add_marked_units(builder, items, candidate_mask_text(items, compaction.keeps_lesser), false, true);
    return {};
  };
  program.has_own_store_tile = true;
  program.add_sink = [items, compaction, tuning](KernelBuilder& builder) {
    builder.generated("store", candidate_sink_text(items, compaction, tuning.rows));
  };
  return program;
}

class TopKPlanner {
 public:
  TopKPlanner(const TopKShape& shape, const DeviceTraits& traits, const TopKTuning& tuning, std::uint64_t input_bytes)
      : shape_(shape),
        traits_(traits),
        input_bytes_(input_bytes),
        count_(shape.item_count.max),
        result_count_(std::min(shape.k.max, shape.item_count.max)),
        plan_("top_k", traits) {
    layout_.caller = {.key = *shape.key.scalar,
                      .is_f64 = shape.key_is_f64,
                      .descending = shape.largest,
                      .key_words = shape.key.stride_bytes == 8 ? 2u : 1u};
    layout_.keys = layout_.caller;
    if (is_half(shape.key)) layout_.keys = {.key = Scalar::u32};
    layout_.key_bits = is_half(shape.key) ? 16 : 32 * layout_.keys.key_words;
    layout_.items_on_device = shape.item_count.read_on_device;
    layout_.k_on_device = shape.k.read_on_device;
    layout_.writes_count = shape.write_count;
    layout_.writes_threshold = shape.write_threshold;
    layout_.tuning = tuning;
    TopKTuning& fitted = layout_.tuning;
    fitted.workgroup_size = std::min(fitted.workgroup_size, std::bit_floor(traits.max_workgroup_size));
    while (fitted.digit_bits > 1 && count_bytes() > traits.max_workgroup_bytes) --fitted.digit_bits;
  }

  Result<Plan> finish() && {
    plan_.note(std::format("the {} {} of {} {}{}{}", result_count_, shape_.largest ? "largest" : "smallest", count_,
                           shape_.key_is_f64 ? "f64" : shape_.key.name,
                           has_results(shape_) ? ", " + to_string(shape_.order) : "",
                           shape_.value ? " with " + shape_.value->name : ""));
    name_arguments();
    if (result_count_ == 0) {
      if (shape_.write_count) write_nothing();
      return std::move(plan_).finish();
    }
    name_search();
    const std::uint64_t value_bytes = shape_.value ? shape_.value->stride_bytes : 0;
    plan_.least_bytes(count_ * shape_.key.stride_bytes +
                      result_count_ * ((shape_.write_keys ? shape_.key.stride_bytes : 0) + 2 * value_bytes +
                                       (shape_.write_indices ? 4 : 0)));
    if (sorts_all(shape_, layout_.tuning)) {
      sort_all();
    } else {
      search();
    }
    if (gathers_keys()) gather(keys_, top_keys_, shape_.key, "keys");
    if (shape_.value) gather(values_, top_values_, *shape_.value, "values");
    return std::move(plan_).finish();
  }

 private:
  [[nodiscard]] bool gathers_keys() const { return shape_.write_keys && is_half(shape_.key); }
  [[nodiscard]] bool stores_keys() const { return shape_.write_keys && !is_half(shape_.key); }
  [[nodiscard]] bool needs_indices() const { return shape_.write_indices || shape_.value || gathers_keys(); }
  [[nodiscard]] bool count_is_on_device() const { return layout_.items_on_device || layout_.k_on_device; }
  [[nodiscard]] std::uint64_t key_bytes() const { return std::uint64_t{4} * layout_.keys.key_words; }
  // Of the counts of one digit.
  [[nodiscard]] std::uint64_t count_bytes() const { return std::uint64_t{4} * layout_.digit_count(); }

  void name_arguments() {
    if (result_count_ != 0) {
      const std::uint32_t key_stride = shape_.key.stride_bytes;
      keys_ = plan_.argument("keys", count_ * key_stride, key_stride);
      if (shape_.write_keys) top_keys_ = plan_.argument("top_keys", result_count_ * key_stride, key_stride, true);
      if (shape_.value) {
        const std::uint32_t stride = shape_.value->stride_bytes;
        values_ = plan_.argument("values", count_ * stride, stride);
        top_values_ = plan_.argument("top_values", result_count_ * stride, stride, true);
      }
      if (shape_.write_indices) indices_ = plan_.argument("indices", result_count_ * 4, 4, true);
      if (shape_.write_threshold) {
        const std::uint32_t stride = std::max(4u, key_stride);
        threshold_ = plan_.argument("threshold", stride, stride, true);
      }
      if (layout_.items_on_device) item_count_ = plan_.argument("item_count", 4, 4);
      if (layout_.k_on_device) k_ = plan_.argument("k", 4, 4);
    }
    if (shape_.write_count) count_out_ = plan_.argument("count", 4, 4, true);
  }

  void bind_counts(PlanBuilder::Step& step) const {
    if (layout_.items_on_device) step.bindings.push_back({"item_counts", item_count_, 0, 0, "count_first"});
    if (layout_.k_on_device) step.bindings.push_back({"wanted_counts", k_, 0, 0, "wanted_first"});
  }

  // f16 keys become ordered bits, a word each.
  void widen(ScratchGroup group) {
    source_ = keys_;
    if (!is_half(shape_.key)) return;
    source_ = plan_.scratch("ordered bits", count_ * 4, group);
    PlanBuilder::Step step;
    step.thread_count = count_;
    step.params = {{"item_count", static_cast<std::uint32_t>(count_)}, {"keys_first", 0}, {"count_first", 0}};
    step.bindings = {{"keys_in", keys_, 0, 0, "keys_first"}, {"bits_out", source_}};
    if (layout_.items_on_device) step.bindings.push_back({"item_counts", item_count_, 0, 0, "count_first"});
    step.reason = "f16 keys become ordered bits, a word each";
    step.bytes_read = 2 * count_;
    step.bytes_written = 4 * count_;
    plan_.dispatch(top_k_widen_kernel(layout_), std::move(step));
  }

  // In a buffer of its own, since passes read it that write scratch of all the other groups.
  void name_search() { search_ = plan_.scratch("search", search_words * 4, ScratchGroup::grids); }

  // Nothing is wanted: only the count is written.
  void write_nothing() {
    name_search();
    layout_.items_on_device = false;
    layout_.k_on_device = false;
    find(plan_.state("top_k_counts", count_bytes()), 0, true, false, 0);
  }

  // What a sort of all items, or of the result, gets and gives.
  [[nodiscard]] SortShape sort_shape(Count count, bool write_keys) const {
    SortShape sort{.item_count = count,
                   .key = shape_.key,
                   .key_is_f64 = shape_.key_is_f64,
                   .descending = shape_.largest,
                   .write_keys = write_keys};
    if (is_half(shape_.key)) {
      sort.key = ElementType::u32();
      sort.descending = false;
      sort.end_bit = layout_.key_bits;
    }
    return sort;
  }

  void sort_all() {
    const bool takes_keys = stores_keys() || shape_.write_threshold;
    SortShape shape = sort_shape(shape_.item_count, takes_keys);
    shape.write_indices = needs_indices();
    const auto sort = plan_sort(shape, traits_, layout_.tuning.sort);
    if (!sort) return plan_.append(sort, {});
    widen(group_before(*sort));
    SlotId sorted_keys;
    if (takes_keys) sorted_keys = plan_.scratch("sorted keys", count_ * key_bytes(), ScratchGroup::second);
    if (needs_indices()) result_indices_ = plan_.scratch("sorted indices", count_ * 4, ScratchGroup::second);
    plan_.append(sort, std::vector<Outer>{{"keys", source_},
                                          {"sorted_keys", sorted_keys},
                                          {"indices", result_indices_},
                                          {"item_count", item_count_}});
    if (!takes_keys && !shape_.write_indices && !shape_.write_count && !count_is_on_device()) return;
    // Everything at once may be more bindings than a device has.
    const TakenArrays all{stores_keys(), shape_.write_indices, shape_.write_count, shape_.write_threshold};
    const std::uint32_t buffers = 1u + (takes_keys ? 1 : 0) + (all.keys ? 1 : 0) + (all.indices ? 2 : 0) +
                                  (all.count ? 1 : 0) + (all.threshold ? 1 : 0) + (layout_.items_on_device ? 1 : 0) +
                                  (layout_.k_on_device ? 1 : 0);
    if (buffers <= traits_.max_storage_buffers) {
      take(all, sorted_keys);
    } else {
      take({.keys = all.keys, .count = all.count, .threshold = all.threshold}, sorted_keys);
      take({.indices = true}, sorted_keys);
    }
  }

  void take(const TakenArrays& arrays, SlotId sorted_keys) {
    PlanBuilder::Step step;
    step.thread_count = result_count_;
    step.params = {{"item_count", static_cast<std::uint32_t>(count_)},
                   {"wanted_count", static_cast<std::uint32_t>(result_count_)}};
    for (const std::string_view field :
         {"count_first", "wanted_first", "count_out_first", "threshold_first", "top_keys_first", "indices_first"}) {
      step.params.push_back({field, 0});
    }
    step.bindings = {{"search", search_}};
    if (arrays.keys || arrays.threshold) step.bindings.push_back({"sorted_keys", sorted_keys});
    if (arrays.keys) step.bindings.push_back({"top_keys", top_keys_, 0, 0, "top_keys_first"});
    if (arrays.indices) {
      step.bindings.push_back({"sorted_indices", result_indices_});
      step.bindings.push_back({"indices", indices_, 0, 0, "indices_first"});
    }
    if (arrays.count) step.bindings.push_back({"count_out", count_out_, 0, 0, "count_out_first"});
    if (arrays.threshold) step.bindings.push_back({"threshold", threshold_, 0, 0, "threshold_first"});
    bind_counts(step);
    step.reason = "the first items of the sort are the result";
    step.bytes_read = result_count_ * ((arrays.keys ? key_bytes() : 0) + (arrays.indices ? 4 : 0));
    step.bytes_written = step.bytes_read;
    plan_.dispatch(top_k_take_kernel(layout_, arrays), std::move(step));
  }

  void histogram(SlotId counts, std::uint32_t shift, std::uint32_t bits, bool is_first) {
    const TopKTuning& tuning = layout_.tuning;
    const std::uint64_t groups = std::min<std::uint64_t>(div_ceil(count_, layout_.tile_items()), tuning.max_workgroups);
    PlanBuilder::Step step;
    step.workgroup_count = groups;
    step.params = {
        {"item_count", static_cast<std::uint32_t>(count_)},      {"shift", shift},  {"digit_mask", (1u << bits) - 1},
        {"workgroup_count", static_cast<std::uint32_t>(groups)}, {"keys_first", 0}, {"count_first", 0}};
    step.bindings = {bind_items("keys_in", source_, "keys_first"), {"counts", counts}};
    if (!is_first) {
      step.bindings.push_back({"search", search_});
      if (layout_.has_candidates) step.bindings.push_back({"candidates", candidates_});
    } else if (layout_.items_on_device) {
      step.bindings.push_back({"item_counts", item_count_, 0, 0, "count_first"});
    }
    const bool reads_candidates = !is_first && layout_.has_candidates;
    step.reason = std::format("bits {} to {} are counted{}", shift, shift + bits - 1,
                              is_first           ? ""
                              : reads_candidates ? ", of the candidates; where they are too many, of the input"
                                                 : ", of the keys with the greater bits found so far");
    step.bytes_read = key_bytes() * (reads_candidates ? expected_candidates() : count_);
    plan_.dispatch(top_k_histogram_kernel(layout_, is_first), std::move(step));
  }

  void find(SlotId counts, std::uint32_t shift, bool is_first, bool is_last, std::uint64_t capacity) {
    PlanBuilder::Step step;
    step.workgroup_count = 1;
    step.params = {{"item_count", static_cast<std::uint32_t>(count_)},
                   {"wanted_count", static_cast<std::uint32_t>(result_count_)},
                   {"shift", shift},
                   {"capacity", static_cast<std::uint32_t>(capacity)},
                   {"keeps_lesser", has_results(shape_) ? 1u : 0u}};
    for (const std::string_view field : {"count_first", "wanted_first", "count_out_first", "threshold_first"}) {
      step.params.push_back({field, 0});
    }
    step.bindings = {{"search", search_}, {"counts", counts}};
    if (is_first) {
      bind_counts(step);
      if (shape_.write_count) step.bindings.push_back({"count_out", count_out_, 0, 0, "count_out_first"});
    }
    if (is_last && shape_.write_threshold) {
      step.bindings.push_back({"threshold", threshold_, 0, 0, "threshold_first"});
    }
    step.reason = result_count_ == 0 ? "no items: the count alone" : "the digit that holds the last wanted key";
    step.bytes_read = count_bytes();
    step.bytes_written = count_bytes();
    plan_.dispatch(top_k_find_kernel(layout_, is_first, is_last), std::move(step));
  }

  // Where keys are spread evenly over the values of the first digit.
  [[nodiscard]] std::uint64_t expected_candidates() const {
    return (has_results(shape_) ? result_count_ : 0) + count_ / layout_.digit_count();
  }

  void search() {
    const std::uint64_t capacity = count_ / layout_.tuning.candidate_share;
    // A result that does not fit itself has no candidates that do.
    layout_.has_candidates = !is_half(shape_.key) && count_ >= layout_.tuning.candidate_items && capacity > 0 &&
                             (!has_results(shape_) || result_count_ < capacity);
    const bool is_sorted = has_results(shape_) && shape_.order == TopKOrder::sorted;
    Result<Plan> sort = Plan();
    if (is_sorted) {
      SortShape shape = sort_shape({result_count_, count_is_on_device()}, stores_keys());
      if (needs_indices()) shape.value = ElementType::u32();
      sort = plan_sort(shape, traits_, layout_.tuning.sort);
      if (!sort) return plan_.append(sort, {});
    }
    const ScratchGroup results = group_before(*sort);
    widen(other_group(results));
    const SlotId counts = plan_.state("top_k_counts", count_bytes());
    const bool gathers_indices = has_results(shape_) && needs_indices();
    if (layout_.has_candidates) {
      candidates_ = plan_.scratch("candidates", capacity * key_bytes(), other_group(results));
      if (gathers_indices) {
        candidate_indices_ = plan_.scratch("candidate indices", capacity * 4, other_group(results));
      }
      plan_.note(
          std::format("up to {} candidates are gathered; bytes are those of keys that are spread evenly", capacity));
    }
    std::uint32_t end = layout_.key_bits;
    for (bool is_first = true; end > 0; is_first = false) {
      const std::uint32_t bits = std::min(end, layout_.tuning.digit_bits);
      end -= bits;
      histogram(counts, end, bits, is_first);
      find(counts, end, is_first, end == 0, layout_.has_candidates ? capacity : 0);
      if (is_first && layout_.has_candidates && end > 0) {
        compact({.keeps_lesser = has_results(shape_), .writes_indices = gathers_indices}, count_, gather_length_word,
                candidates_, candidate_indices_);
      }
    }
    if (!has_results(shape_)) return;
    SlotId keys = top_keys_;
    result_indices_ = indices_;
    if (is_sorted) {
      keys = plan_.scratch("keys of the result", result_count_ * key_bytes(), results);
      if (needs_indices()) result_indices_ = plan_.scratch("indices of the result", result_count_ * 4, results);
    } else if (needs_indices() && !shape_.write_indices) {
      result_indices_ = plan_.scratch("indices of the result", result_count_ * 4, results);
    }
    Compaction taking{
        .takes_result = true, .writes_keys = is_sorted || stores_keys(), .writes_indices = needs_indices()};
    compact(taking, count_, input_length_word, keys, result_indices_);
    if (layout_.has_candidates) {
      taking.from_candidates = true;
      compact(taking, capacity, candidate_length_word, keys, result_indices_);
    }
    if (!is_sorted) return;
    const SlotId unsorted = result_indices_;
    if (needs_indices()) {
      result_indices_ =
          shape_.write_indices ? indices_ : plan_.scratch("sorted indices", result_count_ * 4, ScratchGroup::second);
    }
    plan_.append(sort, std::vector<Outer>{{"keys", keys},
                                          {"values", unsorted},
                                          {"sorted_keys", top_keys_},
                                          {"sorted_values", result_indices_},
                                          {"item_count", search_, std::uint64_t{result_count_word} * 4}});
  }

  [[nodiscard]] std::string_view what_is_kept(const Compaction& compaction) const {
    if (!compaction.takes_result) return "candidates are gathered, if they are few";
    if (compaction.from_candidates) return "the result, from the candidates";
    return layout_.has_candidates ? "the result, from the input if there are no candidates" : "the result";
  }

  // One ordered compaction on the tile frame, of as many items as a word of the search says.
  void compact(const Compaction& compaction, std::uint64_t most, std::uint64_t length_word, SlotId keys,
               SlotId indices) {
    const bool from_argument = !compaction.from_candidates && source_.kind == SlotKind::argument;
    const ElementType key = moved_key(layout_.keys);
    const std::uint64_t room = compaction.takes_result ? result_count_ : count_ / layout_.tuning.candidate_share;
    PlanBuilder inner(compaction.takes_result ? "top_k_results" : "top_k_candidates", traits_);
    CompactionSlots slots;
    slots.input = inner.argument("input", most * key.stride_bytes, key.stride_bytes);
    slots.search = inner.argument("search", search_words * 4, 4);
    slots.item_count = inner.argument("item_count", 4, 4);
    if (compaction.writes_keys)
      slots.output = inner.argument("output", room * key.stride_bytes, key.stride_bytes, true);
    if (compaction.writes_indices) {
      slots.indices = inner.argument("indices", room * 4, 4, true);
      if (compaction.from_candidates) slots.source_indices = inner.argument("source_indices", most * 4, 4);
    }
    const TileExtent extent{.row_length = most, .length_on_device = true, .item_count = slots.item_count};
    const ScanTuning& tuning = layout_.tuning.compaction;
    const bool vectors = tuning.use_vectors && unit_items_of(key) > 1 && most * key.stride_bytes >= 64;
    const MakeTileProgram make = [&](bool with_vectors, const ScanTuning& fitted) {
      return make_program(layout_, compaction, slots, traits_, fitted, with_vectors);
    };
    auto made = plan_tiles(std::move(inner), make, vectors, extent, traits_, tuning,
                           {.input_bytes = from_argument ? input_bytes_ : 0}, true);
    if (made) {
      const std::uint64_t written = compaction.takes_result ? result_count_ : expected_candidates();
      const std::uint64_t read = !compaction.takes_result ? count_
                                 : compaction.from_candidates == layout_.has_candidates
                                     ? (layout_.has_candidates ? expected_candidates() : count_)
                                     : 0;
      for (Dispatch& pass : made->dispatches) {
        pass.bytes_read = read * key.stride_bytes;
        pass.reason = std::format("{}: {}", what_is_kept(compaction), pass.reason);
      }
      Dispatch& last = made->dispatches.back();
      if (read != 0) {
        last.bytes_written =
            written * ((compaction.writes_keys ? key.stride_bytes : 0) + (compaction.writes_indices ? 4 : 0));
      }
    }
    plan_.append(made, std::vector<Outer>{{"input", compaction.from_candidates ? candidates_ : source_},
                                          {"search", search_},
                                          {"item_count", search_, length_word * 4},
                                          {"output", keys},
                                          {"indices", indices},
                                          {"source_indices", candidate_indices_}});
  }

  // What belongs to the result follows by index.
  void gather(SlotId from, SlotId to, const ElementType& type, std::string_view what) {
    Gather gather{.name = "top_k_gather",
                  .indices = result_indices_,
                  .from = from,
                  .to = to,
                  .type = type,
                  .source_count = count_,
                  .item_count = result_count_,
                  .count_word = result_count_word,
                  .most_threads = top_k_item_threads(layout_),
                  .reason = std::format("{} of the result follow by index", what)};
    if (count_is_on_device()) gather.counts = search_;
    add_gather(plan_, gather);
  }

  const TopKShape& shape_;
  const DeviceTraits& traits_;
  std::uint64_t input_bytes_;
  std::uint64_t count_;
  std::uint64_t result_count_;  // at most
  TopKLayout layout_;
  PlanBuilder plan_;
  SlotId keys_;
  SlotId values_;
  SlotId top_keys_;
  SlotId top_values_;
  SlotId indices_;
  SlotId count_out_;
  SlotId threshold_;
  SlotId item_count_;
  SlotId k_;
  SlotId search_;
  SlotId source_;  // of the keys as they are searched
  SlotId candidates_;
  SlotId candidate_indices_;
  SlotId result_indices_;
};

}  // namespace

Result<Plan> plan_top_k(const TopKShape& shape, const DeviceTraits& traits, std::optional<TopKTuning> tuning,
                        std::uint64_t input_bytes) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  const TopKTuning chosen = tuning.value_or(select_top_k_tuning(shape, traits));
  if (const Status ok = check(chosen); !ok) return std::unexpected(ok.error());
  return TopKPlanner(shape, traits, chosen, input_bytes).finish();
}

}  // namespace upsweep
