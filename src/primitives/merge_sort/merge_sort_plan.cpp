// SPDX-License-Identifier: Apache-2.0
// Plans of merge sorts: one pass sorts tiles, then runs are merged until one is left; where there are many items, each
// merge has a pass before it that finds where the ranges of its tiles begin.
#include <algorithm>
#include <bit>
#include <format>
#include <utility>
#include <vector>

#include "plan/gather.h"
#include "plan/grid.h"
#include "plan/merge_tiles.h"
#include "plan/plan_builder.h"
#include "plan/subgroup_plan.h"
#include "upsweep/merge_sort.h"

namespace upsweep {
namespace {

constexpr std::uint64_t most_items = std::uint64_t{1} << 30;
constexpr std::uint32_t most_items_per_thread = 32;

// What travels with the keys. Larger values would be moved in every pass: indices move instead.
MergeValues payload_of(const MergeSortShape& shape) {
  if (shape.write_indices) return MergeValues::indices;
  if (!shape.value) return MergeValues::none;
  return shape.value->stride_bytes <= 8 ? merge_values_of(*shape.value) : MergeValues::indices;
}

Status check(const MergeSortShape& shape, const DeviceTraits& traits) {
  if (const Status ok = check_order(shape.key, shape.order, "A merge sort"); !ok) return ok;
  if (!shape.write_keys && !shape.value && !shape.write_indices) {
    return fail(ErrorKind::invalid_request, "A sort that writes neither keys nor values nor indices has no result.");
  }
  if (shape.value && shape.value->size_bytes == 0) {
    return fail(ErrorKind::invalid_request, std::format("Type {} has no size.", shape.value->name));
  }
  const std::uint64_t count = shape.item_count.max;
  if (count > most_items) {
    return fail(ErrorKind::unsupported,
                std::format("{} items are more than a merge sort takes ({}).", count, most_items));
  }
  const std::uint64_t stride =
      std::max<std::uint64_t>(shape.key.stride_bytes, shape.value ? shape.value->stride_bytes : 0);
  if (count * stride > traits.max_binding_bytes) {
    return fail(ErrorKind::unsupported,
                std::format("{} items of {} bytes are larger than the device's limit of one binding ({} bytes); a "
                            "merge sort needs each array in one.",
                            count, stride, traits.max_binding_bytes));
  }
  return {};
}

Status check(const MergeSortTuning& tuning) {
  const auto is_share = [](std::uint32_t items) { return items >= 1 && items <= most_items_per_thread; };
  const auto is_size = [](std::uint32_t threads) { return std::has_single_bit(threads) && threads >= 2; };
  const bool is_sound = is_size(tuning.sort_workgroup_size) && is_size(tuning.merge_workgroup_size) &&
                        is_share(tuning.sort_items_per_thread) && is_share(tuning.merge_items_per_thread);
  if (is_sound) return {};
  return fail(ErrorKind::invalid_request, std::format("Tuning of a merge sort out of range: {}.", to_string(tuning)));
}

// sort_own(room, thread): the items of a thread's places, sorted by exchanges of neighbours, which keep equal items in
// order. Places behind the last item hold the greatest of the thread's items, so that they stay behind.
std::string sort_own_text(const MergeLayout& layout) {
  const bool has_sources = layout.values != MergeValues::none;
  const std::uint32_t count = layout.items_per_thread;
  std::string text =
      "fn sort_own(room: u32, thread: Thread) -> Merged {\n"
      "  var own: Merged;\n"
      "  let base = thread.index * ITEMS_PER_THREAD;\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    text += std::format("  own.k{0} = stage_keys[base + {0}u];\n", i);
    if (has_sources) text += std::format("  own.s{0} = base + {0}u;\n", i);
  }
  if (count > 1) {
    text += "  if (room < TILE_ITEMS) {\n    var greatest = own.k0;\n";
    for (std::uint32_t i = 1; i < count; ++i) {
      text += std::format(
          "    if (base + {0}u >= room) {{ own.k{0} = greatest; }}\n"
          "    else if (!comes_before(own.k{0}, greatest)) {{ greatest = own.k{0}; }}\n",
          i);
    }
    text += "  }\n";
  }
  for (std::uint32_t round = 0; round < count; ++round) {
    for (std::uint32_t i = round % 2; i + 1 < count; i += 2) {
      text += std::format(
          "  {{\n    let a = own.k{0};\n    let b = own.k{1};\n    let swaps = comes_before(b, a);\n"
          "    own.k{0} = pick_key(a, b, swaps);\n    own.k{1} = pick_key(b, a, swaps);\n",
          i, i + 1);
      if (has_sources) {
        text += std::format(
            "    let c = own.s{0};\n    let d = own.s{1};\n"
            "    own.s{0} = select(c, d, swaps);\n    own.s{1} = select(d, c, swaps);\n",
            i, i + 1);
      }
      text += "  }\n";
    }
  }
  return text + "  return own;\n}\n";
}

MergeKernel sort_tiles_kernel(const MergeLayout& layout) {
  KernelBuilder builder = start_merge_tile_kernel("merge_sort_tiles", layout);
  builder.generated("counts", merge_counts_text(layout));
  if (layout.values != MergeValues::none) {
    builder.generated("adapters", "fn origin_of(place: u32) -> u32 { return source_of(place); }\n");
  }
  builder.generated("unrolled sort", sort_own_text(layout));
  builder.part("merge_sort_tiles.wgsl");
  return std::move(builder).build();
}

// Where an array lies after a pass: an argument, scratch, or nowhere.
struct Place {
  SlotId slot;
  bool exists = false;
  [[nodiscard]] bool is_argument() const { return exists && slot.kind == SlotKind::argument; }
};

class MergeSortPlanner {
 public:
  MergeSortPlanner(const MergeSortShape& shape, const DeviceTraits& traits, MergeLayout sorts, MergeLayout merges)
      : shape_(shape),
        count_(shape.item_count.max),
        sorts_(std::move(sorts)),
        merges_(std::move(merges)),
        plan_("merge_sort", traits) {}

  Result<Plan> finish() && {
    plan_.note(std::format("merge sort of {}{}{}, order {}", shape_.key.name, shape_.value ? " with " : "",
                           shape_.value ? shape_.value->name : "", to_string(shape_.order)));
    if (count_ == 0) return std::move(plan_).finish();
    plan_.note(std::format("sorted tiles of {} x {} items, merged ones of {} x {}", sorts_.workgroup_size,
                           sorts_.items_per_thread, merges_.workgroup_size, merges_.items_per_thread));
    const std::uint64_t key_bytes = shape_.key.stride_bytes;
    const std::uint64_t value_bytes = shape_.value ? shape_.value->stride_bytes : 0;
    plan_.least_bytes(count_ *
                      (key_bytes * (shape_.write_keys ? 2 : 1) + 2 * value_bytes + (shape_.write_indices ? 4 : 0)));
    name_arguments();
    for (std::uint64_t run = sorts_.tile_items(); run < count_; run *= 2) ++pass_count_;
    lay_out_arrays();
    sort_tiles();
    if (pass_count_ != 0) merge_runs();
    if (sorts_.values == MergeValues::indices && shape_.value) gather();
    return std::move(plan_).finish();
  }

 private:
  [[nodiscard]] bool has_payload() const { return sorts_.values != MergeValues::none; }
  [[nodiscard]] std::uint32_t payload_bytes() const { return has_payload() ? sorts_.value_bytes : 0; }

  void name_arguments() {
    const auto argument = [&](std::string name, std::uint32_t stride, bool is_written) {
      return Place{plan_.argument(std::move(name), count_ * stride, stride, is_written), true};
    };
    keys_argument_ = argument("keys", shape_.key.stride_bytes, false);
    if (shape_.value) values_argument_ = argument("values", shape_.value->stride_bytes, false);
    if (shape_.write_keys) sorted_keys_ = argument("sorted_keys", shape_.key.stride_bytes, true);
    if (shape_.value) sorted_values_ = argument("sorted_values", shape_.value->stride_bytes, true);
    if (shape_.write_indices) indices_ = argument("indices", 4, true);
    if (shape_.item_count.read_on_device) item_count_ = plan_.argument("item_count", 4, 4);
  }

  // Where an array is after the first pass and after each merge. From the end: the result, scratch, the result, ...
  // Scratch that is read and scratch that is written at the same time lie in different buffers.
  std::vector<Place> places_of(const std::string& name, const Place& result, std::uint64_t stride, bool is_dropped) {
    Place odd;
    Place even = result;
    std::vector<Place> places;
    for (std::uint32_t pass = 0; pass <= pass_count_; ++pass) {
      const bool is_odd = (pass_count_ - pass) % 2 == 1;
      Place& place = is_odd ? odd : even;
      if (pass == pass_count_ && is_dropped) {
        places.emplace_back();
        continue;
      }
      if (!place.exists) {
        place = {plan_.scratch(name + (is_odd ? " a" : " b"), count_ * stride,
                               is_odd ? ScratchGroup::first : ScratchGroup::second),
                 true};
      }
      places.push_back(place);
    }
    return places;
  }

  void lay_out_arrays() {
    keys_ = places_of("keys", sorted_keys_, shape_.key.stride_bytes, !shape_.write_keys);
    if (!has_payload()) return;
    const Place& result = sorts_.values == MergeValues::indices ? indices_ : sorted_values_;
    payload_ = places_of(sorts_.values == MergeValues::indices ? "indices" : "values", result, payload_bytes(), false);
  }

  static PlanBuilder::Binding bind(std::string_view variable, const Place& place, std::string_view first_field) {
    return {variable, place.slot, 0, 0, place.is_argument() ? first_field : std::string_view()};
  }

  PlanBuilder::Step start_step(std::uint64_t run, std::uint64_t pair_tiles, std::uint64_t tiles) const {
    PlanBuilder::Step step;
    step.params = {{"left_count", static_cast<std::uint32_t>(count_)},
                   {"right_count", 0},
                   {"run_items", static_cast<std::uint32_t>(run)},
                   {"pair_tiles", static_cast<std::uint32_t>(pair_tiles)},
                   {"tile_count", static_cast<std::uint32_t>(tiles)}};
    for (const std::string_view field :
         {"left_keys_first", "right_keys_first", "output_keys_first", "left_values_first", "right_values_first",
          "output_values_first", "left_count_first", "right_count_first"}) {
      step.params.push_back({field, 0});
    }
    return step;
  }

  void bind_count(PlanBuilder::Step& step) const {
    if (sorts_.counts_left) step.bindings.push_back({"left_counts", item_count_, 0, 0, "left_count_first"});
  }

  // Where the items of a tile go after so many merges.
  void bind_outputs(PlanBuilder::Step& step, std::uint32_t pass) {
    const Place& keys = keys_[pass];
    step.params.push_back({"write_keys", keys.exists ? 1u : 0u});
    // Something has to be bound where the last pass writes no keys.
    const Place bound = keys.exists ? keys : Place{plan_.scratch("unused", 16), true};
    step.bindings.push_back(bind("keys_out", bound, "output_keys_first"));
    if (has_payload()) step.bindings.push_back(bind("values_out", payload_[pass], "output_values_first"));
    step.bytes_written = count_ * ((keys.exists ? shape_.key.stride_bytes : 0) + payload_bytes());
  }

  void sort_tiles() {
    const std::uint64_t tiles = div_ceil(count_, sorts_.tile_items());
    PlanBuilder::Step step = start_step(0, 1, tiles);
    step.workgroup_count = tiles;
    step.bindings.push_back(bind("keys_in", keys_argument_, "left_keys_first"));
    const bool reads_values = has_payload() && sorts_.values != MergeValues::indices;
    if (reads_values) step.bindings.push_back(bind("values_in", values_argument_, "left_values_first"));
    bind_outputs(step, 0);
    bind_count(step);
    step.reason = tiles == 1 ? "one workgroup sorts all items" : "each workgroup sorts a tile";
    step.bytes_read = count_ * (shape_.key.stride_bytes + (reads_values ? payload_bytes() : 0));
    plan_.dispatch(sort_tiles_kernel(sorts_), std::move(step));
  }

  // Tiles of a pass over runs of such a length: those of a pair do not reach into the next.
  [[nodiscard]] std::uint64_t tiles_of(std::uint64_t run) const {
    const std::uint64_t tile = merges_.tile_items();
    return count_ / (2 * run) * div_ceil(2 * run, tile) + div_ceil(count_ % (2 * run), tile);
  }

  void merge_runs() {
    const std::uint64_t first_run = sorts_.tile_items();
    std::uint64_t most_tiles = 0;
    for (std::uint32_t pass = 0; pass < pass_count_; ++pass) {
      most_tiles = std::max(most_tiles, tiles_of(first_run << pass));
    }
    const SlotId splits = merges_.splits_ahead ? plan_.scratch("splits", 4 * (2 + most_tiles)) : SlotId{};
    const MergeKernel tiles_kernel = merge_tiles_kernel("merge_sort_merge", merges_);
    MergeKernel splits_kernel;
    if (merges_.splits_ahead) splits_kernel = merge_splits_kernel("merge_sort_splits", merges_);
    for (std::uint32_t pass = 0; pass < pass_count_; ++pass) {
      const std::uint64_t run = first_run << pass;
      const std::uint64_t tiles = tiles_of(run);
      const std::uint64_t pair_tiles = div_ceil(2 * run, merges_.tile_items());
      if (merges_.splits_ahead) {
        PlanBuilder::Step split = start_step(run, pair_tiles, tiles);
        split.params.push_back({"write_keys", 0});
        split.bindings = {bind("keys_in", keys_[pass], "left_keys_first"), {"splits", splits}};
        bind_count(split);
        split.reason = std::format("merge {} of {}: where the ranges of each tile begin", pass + 1, pass_count_);
        split.bytes_read = tiles * 2 * shape_.key.stride_bytes * static_cast<std::uint64_t>(std::bit_width(run));
        split.bytes_written = 4 * (2 + tiles);
        split.thread_count = tiles;
        plan_.dispatch(splits_kernel, std::move(split));
      }
      PlanBuilder::Step merge = start_step(run, pair_tiles, tiles);
      merge.workgroup_count = tiles;
      merge.bindings = {bind("keys_in", keys_[pass], "left_keys_first")};
      if (merges_.splits_ahead) {
        merge.bindings.push_back({"splits", splits});
      } else {
        bind_count(merge);
      }
      if (has_payload()) merge.bindings.push_back(bind("values_in", payload_[pass], "left_values_first"));
      bind_outputs(merge, pass + 1);
      merge.reason = std::format("runs of {} items become runs of {}", run, 2 * run);
      merge.bytes_read = count_ * (shape_.key.stride_bytes + payload_bytes()) + 8 * tiles;
      plan_.dispatch(tiles_kernel, std::move(merge));
    }
  }

  void gather() {
    Gather gather{.name = "merge_sort_gather",
                  .indices = payload_.back().slot,
                  .from = values_argument_.slot,
                  .to = sorted_values_.slot,
                  .type = *shape_.value,
                  .source_count = count_,
                  .item_count = count_,
                  .most_threads = std::min(sorts_.workgroup_size, 4 * merge_small_workgroup),
                  .reason = "values follow their keys by index"};
    if (sorts_.counts_left) gather.counts = item_count_;
    add_gather(plan_, gather);
  }

  const MergeSortShape& shape_;
  std::uint64_t count_;
  MergeLayout sorts_;
  MergeLayout merges_;
  PlanBuilder plan_;
  std::uint32_t pass_count_ = 0;  // of merges
  Place keys_argument_;
  Place values_argument_;
  Place sorted_keys_;
  Place sorted_values_;
  Place indices_;
  SlotId item_count_;
  std::vector<Place> keys_;     // after the first pass and after each merge
  std::vector<Place> payload_;  // the same
};

}  // namespace

Result<Plan> plan_merge_sort(const MergeSortShape& shape, const DeviceTraits& traits,
                             std::optional<MergeSortTuning> tuning) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  const MergeSortTuning chosen = tuning.value_or(select_merge_sort_tuning(shape, traits));
  if (const Status ok = check(chosen); !ok) return std::unexpected(ok.error());
  const MergeValues payload = payload_of(shape);
  MergeLayout sorts{.source = MergeSource::runs,
                    .key = shape.key,
                    .order = shape.order,
                    .values = payload,
                    .value_bytes = payload == MergeValues::indices ? 4
                                   : shape.value                   ? shape.value->stride_bytes
                                                                   : 0,
                    .may_drop_keys = !shape.write_keys,
                    .counts_left = shape.item_count.read_on_device,
                    .splits_ahead = shape.item_count.max >= chosen.split_pass_items,
                    .workgroup_size = chosen.sort_workgroup_size,
                    .items_per_thread = chosen.sort_items_per_thread};
  MergeLayout merges = sorts;
  merges.workgroup_size = chosen.merge_workgroup_size;
  merges.items_per_thread = chosen.merge_items_per_thread;
  if (payload == MergeValues::indices) merges.values = MergeValues::items;
  for (MergeLayout* layout : {&sorts, &merges}) {
    if (const Status ok = fit_merge_tile(*layout, traits, "A merge sort"); !ok) return std::unexpected(ok.error());
  }
  return MergeSortPlanner(shape, traits, std::move(sorts), std::move(merges)).finish();
}

}  // namespace upsweep
