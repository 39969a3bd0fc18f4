// SPDX-License-Identifier: Apache-2.0
// Plans of radix sorts, least digit first: one workgroup for what fits a tile, else one pass or three passes a digit.
#include <algorithm>
#include <bit>
#include <format>
#include <utility>
#include <vector>

#include "plan/grid.h"
#include "plan/plan_builder.h"
#include "plan/subgroup_plan.h"
#include "primitives/sort/sort_fields.h"
#include "primitives/sort/sort_kernels.h"

namespace upsweep {
namespace {

using Binding = PlanBuilder::Binding;
using Param = PlanBuilder::Param;

// Records hold counts of 30 bits beside the flag.
constexpr std::uint64_t most_items = (std::uint64_t{1} << 30) - 1;
constexpr std::uint64_t most_tile_items = 65535;  // places have 16 bits
constexpr std::uint32_t histogram_items_per_thread = 8;
constexpr std::uint32_t clear_words_per_thread = 8;  // as sort_clear.wgsl
// A window has at most 4096 items and as many runs as threads: sort_merges.wgsl counts on it.
constexpr std::uint32_t window_threads = 128;
constexpr std::uint32_t large_window_threads = 256;
// So that three workgroups of windows are on a multiprocessor at a time (H200, 2026-12-02, pairs of u32 in segments of
// 1000 at 2^24: 806 us; with more items, of which there is room for two, 1017).
constexpr std::uint32_t most_window_bytes = 15 * 1024;
constexpr std::uint32_t short_items_per_thread = 16;
// Where items are few, a dispatch of its own costs more than short segments or small windows save (H200, 2026-12-03):
// segments of 16, 2^12 items in all, 17 us without sort_short, 20 with it; pairs in segments of 1000, 2^16 in all, 28
// us in large windows alone, 45 in both sizes.
constexpr std::uint64_t most_items_without_short = std::uint64_t{1} << 14;
constexpr std::uint64_t most_items_of_large_windows = std::uint64_t{1} << 18;
constexpr std::uint32_t join_steps = 2;
// Up to here joining is faster whatever the segments are (H200, 2026-12-03, segments of 100000: 67 us against 87 at
// 2^18, 173 against 95 at 2^20); with more items it is where few are in long segments.
constexpr std::uint64_t always_joined_items = std::uint64_t{1} << 18;

// Where an array lies between two passes: an argument, scratch, or nowhere.
struct Place {
  SlotId slot;
  bool exists = false;
  [[nodiscard]] bool is_argument() const { return exists && slot.kind == SlotKind::argument; }
};

std::uint32_t bits_of(const SortShape& shape) { return shape.key.size_bytes * 8; }

enum class Payload : std::uint8_t { none, values, halves, indices };

// What travels with the keys.
Payload payload_of(const SortShape& shape) {
  if (shape.write_indices) return Payload::indices;
  if (!shape.value) return Payload::none;
  if (shape.value->scalar == Scalar::f16) return Payload::halves;
  const std::uint32_t stride = shape.value->stride_bytes;
  return stride == 4 || stride == 8 || stride == 16 ? Payload::values : Payload::indices;
}

Status check(const SortShape& shape, const DeviceTraits& traits) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (!shape.key_fields.empty()) {
    if (const Status ok = check_sort_fields(shape); !ok) return ok;
  } else if (!shape.key.scalar || shape.key.components != 1) {
    return fail(ErrorKind::unsupported,
                std::format("Keys of type {} cannot be sorted: u32, i32, f32, f16, u64 and i64 can, others by a list "
                            "of their fields.",
                            shape.key.name));
  }
  if (shape.key_is_f64 && shape.key.scalar != Scalar::u64) {
    return refuse(std::format("Bits of doubles are keys of type u64, not {}.", shape.key.name));
  }
  if (shape.key_fields.empty() &&
      (shape.end_bit > bits_of(shape) || (shape.end_bit != 0 && shape.begin_bit >= shape.end_bit) ||
       shape.begin_bit >= bits_of(shape))) {
    return refuse(std::format("Bits [{}, {}) are no range of the {} bits of {}.", shape.begin_bit, shape.end_bit,
                              bits_of(shape), shape.key.name));
  }
  if (!shape.write_keys && !shape.value && !shape.write_indices) {
    return refuse("A sort that writes neither keys nor values nor indices has no result.");
  }
  if (shape.in_place && !shape.write_keys) return refuse("A sort in place writes its keys.");
  if (shape.segment_count && shape.segment_count->max > 0xffffffffu) {
    return fail(ErrorKind::unsupported,
                std::format("{} segments are more than u32 can count.", shape.segment_count->max));
  }
  if (!shape.segment_count && shape.longest_segment != 0) {
    return refuse(std::format("A sort without segments has no longest one ({} items).", shape.longest_segment));
  }
  if (shape.value && shape.value->size_bytes == 0) {
    return refuse(std::format("Type {} has no size.", shape.value->name));
  }
  if (shape.segment_count && shape.in_place && shape.value &&
      (shape.key.scalar == Scalar::f16) != (shape.value->scalar == Scalar::f16)) {
    return fail(ErrorKind::unsupported,
                std::format("Segments of {} keys with {} values cannot be sorted in place: give other outputs.",
                            shape.key.name, shape.value->name));
  }
  const std::uint64_t count = shape.item_count.max;
  if (count > most_items) {
    return fail(ErrorKind::unsupported, std::format("{} items are more than a sort takes ({}).", count, most_items));
  }
  // Items go anywhere: an array cannot be bound piece by piece.
  const std::uint64_t stride =
      std::max<std::uint64_t>(shape.key.stride_bytes, shape.value ? shape.value->stride_bytes : 0);
  if (count * stride > traits.max_binding_bytes) {
    return fail(ErrorKind::unsupported,
                std::format("{} items of {} bytes are larger than the device's limit of one binding ({} bytes); a sort "
                            "needs each array in one.",
                            count, stride, traits.max_binding_bytes));
  }
  if (shape.key_fields.empty() && payload_of(shape) == Payload::indices && shape.value) {
    if (shape.segment_count && shape.write_indices) {
      return fail(ErrorKind::unsupported, "Values and indices cannot be written by one sort of segments.");
    }
    if (shape.value->scalar == Scalar::f16) {
      return fail(ErrorKind::unsupported, "Values of type f16 and indices cannot be written by one sort.");
    }
    if (shape.in_place) {
      return fail(ErrorKind::unsupported,
                  std::format("Values of {} bytes{} cannot be sorted in place: give another output.",
                              shape.value->stride_bytes, shape.write_indices ? " beside indices" : ""));
    }
  }
  return {};
}

Status check(const SortTuning& tuning, const SortShape& shape) {
  const bool is_sound = std::has_single_bit(tuning.workgroup_size) && tuning.workgroup_size >= 16 &&
                        tuning.items_per_thread >= 1 && tuning.items_per_thread <= 64 && tuning.digit_bits >= 1 &&
                        tuning.digit_bits <= 8 && tuning.stage_rounds >= 1 &&
                        tuning.items_per_thread % tuning.stage_rounds == 0 && tuning.look_records >= 1 &&
                        tuning.look_records <= 16 && tuning.max_workgroups >= 1;
  if (is_sound) return {};
  return fail(ErrorKind::invalid_request,
              std::format("Tuning of a sort of {} out of range: {}.", shape.key.name, to_string(tuning)));
}

SortRanking choose_ranking(const SortTuning& tuning, const DeviceTraits& traits) {
  if (!tuning.use_subgroups) return SortRanking::workgroup;
  if (traits.emulated_subgroup_size != 0) {
    return traits.emulated_subgroup_size <= tuning.workgroup_size ? SortRanking::emulated : SortRanking::workgroup;
  }
  // Each subgroup owns whole rows of the tile.
  const bool serve = has_numbered_subgroups(traits) && has_whole_subgroups(traits, tuning.workgroup_size);
  if (!serve || traits.subgroup_min_size < 4) return SortRanking::workgroup;
  return traits.subgroup_max_size <= 32 ? SortRanking::subgroup : SortRanking::subgroup_wide;
}

std::uint32_t counter_rows(SortRanking ranking, std::uint32_t threads, const DeviceTraits& traits) {
  switch (ranking) {
    case SortRanking::workgroup: return 0;
    case SortRanking::emulated: return threads / traits.emulated_subgroup_size;
    default: return threads / traits.subgroup_min_size;
  }
}

// Cuts the tuning to what the device has.
void fit(SortLayout& layout, const DeviceTraits& traits) {
  SortTuning& tuning = layout.tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  tuning.digit_bits =
      std::min(tuning.digit_bits, static_cast<std::uint32_t>(std::bit_width(tuning.workgroup_size) - 1));
  const auto choose = [&] {
    layout.ranking = choose_ranking(tuning, traits);
    layout.counter_rows = counter_rows(layout.ranking, tuning.workgroup_size, traits);
  };
  choose();
  const auto is_too_large = [&] {
    return layout.workgroup_bytes() > traits.max_workgroup_bytes || layout.tile_items() > most_tile_items;
  };
  tuning.lock_step = tuning.lock_step && layout.ranking != SortRanking::emulated;
  // Counters of many narrow subgroups: digits of 6 bits at least, or no subgroups.
  while (layout.counter_rows * layout.digit_count() * 8 > traits.max_workgroup_bytes && tuning.digit_bits > 6) {
    --tuning.digit_bits;
  }
  while (is_too_large()) {
    if (tuning.stage_rounds < tuning.items_per_thread && layout.tile_items() <= most_tile_items &&
        layout.ranking != SortRanking::workgroup) {
      do {
        ++tuning.stage_rounds;
      } while (tuning.items_per_thread % tuning.stage_rounds != 0);
    } else if (tuning.items_per_thread > 1) {
      --tuning.items_per_thread;
      tuning.stage_rounds = layout.ranking == SortRanking::workgroup ? 1 : tuning.stage_rounds;
      while (tuning.items_per_thread % tuning.stage_rounds != 0) --tuning.stage_rounds;
    } else if (layout.ranking != SortRanking::workgroup) {
      tuning.use_subgroups = false;
      choose();
    } else if (tuning.workgroup_size > 16) {
      tuning.workgroup_size /= 2;
      tuning.digit_bits =
          std::min(tuning.digit_bits, static_cast<std::uint32_t>(std::bit_width(tuning.workgroup_size) - 1));
    } else {
      return;  // the builder says what does not fit
    }
  }
}

class SortPlanner {
 public:
  SortPlanner(const SortShape& shape, const DeviceTraits& traits, const SortTuning& tuning)
      : shape_(shape),
        traits_(traits),
        wanted_(tuning),
        count_(shape.item_count.max),
        payload_(payload_of(shape)),
        plan_("sort", traits) {
    layout_.key = *shape.key.scalar;
    layout_.is_f64 = shape.key_is_f64;
    layout_.descending = shape.descending;
    layout_.key_words = shape.key.stride_bytes == 8 ? 2 : 1;
    layout_.value_words = payload_ == Payload::none     ? 0
                          : payload_ == Payload::values ? shape.value->stride_bytes / 4
                                                        : 1;
    layout_.makes_values = payload_ == Payload::indices;
    layout_.may_drop_keys = !shape.write_keys;
    layout_.counts_on_device = shape.item_count.read_on_device;
    layout_.takes_all_bits = shape.begin_bit == 0 && (shape.end_bit == 0 || shape.end_bit == bits_of(shape));
    layout_.tuning = tuning;
    layout_.is_broken = traits.test_broken_look_back;
    layout_.has_segments = shape.segment_count.has_value();
    layout_.segments_on_device = layout_.has_segments && shape.segment_count->read_on_device;
    longest_ = shape.longest_segment == 0 ? count_ : std::min(shape.longest_segment, count_);
  }

  Result<Plan> finish() && {
    plan_.note(std::format("{} sort of {}{}{}", shape_.descending ? "descending" : "ascending",
                           shape_.key_is_f64 ? "f64" : shape_.key.name, shape_.value ? " with " : "",
                           shape_.value ? shape_.value->name : ""));
    if (count_ == 0 || (layout_.has_segments && shape_.segment_count->max == 0)) return std::move(plan_).finish();
    const std::uint64_t key_bytes = shape_.key.stride_bytes;
    const std::uint64_t value_bytes = shape_.value ? shape_.value->stride_bytes : 0;
    plan_.least_bytes(count_ *
                      (key_bytes * (shape_.write_keys ? 2 : 1) + 2 * value_bytes + (shape_.write_indices ? 4 : 0)));
    name_arguments();
    const SortLayout one = one_tile_layout();
    // One of two arrays in place and the other not: the kernel of one tile does not come in that form.
    const bool is_mixed = shape_.in_place && layout_.value_words != 0 && payload_ != Payload::indices &&
                          is_half_key() != (payload_ == Payload::halves);
    is_one_tile_ = !layout_.has_segments && !is_mixed &&
                   count_ <= std::min<std::uint64_t>(wanted_.one_workgroup_items, one.tile_items());
    window_ = window_layout(true, window_threads, most_window_bytes);
    large_ = window_layout(true, large_window_threads, traits_.max_workgroup_bytes);
    if (large_.tile_items() < window_.tile_items()) large_ = window_;
    short_ = window_layout(false, window_threads, most_window_bytes);
    if (count_ <= most_items_of_large_windows) window_ = large_;
    if (is_one_tile_) {
      layout_ = one;
    } else {
      fit(layout_, traits_);
    }
    const std::uint32_t end = shape_.end_bit == 0 ? bits_of(shape_) : shape_.end_bit;
    end_bit_ = end;
    layout_.pass_count =
        joins() ? join_steps : static_cast<std::uint32_t>(div_ceil(end - shape_.begin_bit, layout_.tuning.digit_bits));
    // In place the last pass cannot be the first: it would write what others still read.
    if (shape_.in_place && !is_one_tile_ && has_passes()) layout_.pass_count = std::max(layout_.pass_count, 2u);
    note_tuning();
    lay_out_arrays();
    if (is_half_key()) widen(keys_argument_, keys_.front(), "f16 keys get a word each");
    if (payload_ == Payload::halves) widen(values_argument_, values_.front(), "f16 values get a word each");
    if (is_one_tile_) {
      sort_one_tile();
    } else if (layout_.has_segments) {
      sort_segments();
    } else if (layout_.tuning.path == SortPath::single_pass ||
               (layout_.tuning.path == SortPath::automatic && traits_.look_back)) {
      sort_by_look_back();
    } else {
      sort_by_chunks();
    }
    if (is_half_key() && shape_.write_keys) narrow(keys_.back(), sorted_keys_, "keys take 16 bits again");
    if (payload_ == Payload::halves) narrow(values_.back(), sorted_values_, "values take 16 bits again");
    if (payload_ == Payload::indices && shape_.value) gather();
    return std::move(plan_).finish();
  }

 private:
  [[nodiscard]] bool is_half_key() const { return layout_.key == Scalar::f16; }
  // Are items moved from array to array, digit by digit or to be joined?
  [[nodiscard]] bool has_passes() const { return !layout_.has_segments || longest_ > large_.tile_items(); }
  // Are long segments joined of sorted chunks, which takes fewer dispatches than a pass a digit?
  [[nodiscard]] bool joins() const {
    if (!layout_.has_segments) return false;
    const bool are_likely_short = count_ <= std::uint64_t{large_.tile_items()} * shape_.segment_count->max;
    return has_passes() && layout_.tuning.path != SortPath::three_pass && longest_ <= most_joined_items &&
           (count_ <= always_joined_items || are_likely_short);
  }

  SortLayout one_tile_layout() const {
    SortLayout one = layout_;
    one.tuning.stage_rounds = 1;
    // Two kernels: few items, and as many as fit.
    const std::uint64_t threads = wanted_.workgroup_size;
    const std::uint64_t most = std::max<std::uint64_t>(1, wanted_.one_workgroup_items / threads);
    one.tuning.items_per_thread = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(count_ <= 4 * threads ? std::min<std::uint64_t>(4, most) : most, 1, 64));
    fit(one, traits_);
    while (one.tuning.stage_rounds > 1) {
      // The tile stays in workgroup memory from pass to pass: parts will not do.
      one.tuning.items_per_thread = std::max(1u, one.tuning.items_per_thread / one.tuning.stage_rounds);
      one.tuning.stage_rounds = 1;
      fit(one, traits_);
    }
    return one;
  }

  // With merges, of all segments that fit a window; without, of short ones.
  SortLayout window_layout(bool has_merges, std::uint32_t threads, std::uint32_t most_bytes) const {
    SortLayout layout = layout_;
    layout.has_merges = has_merges;
    layout.tuning.workgroup_size =
        std::min({wanted_.workgroup_size, threads, std::bit_floor(traits_.max_workgroup_size)});
    const std::uint32_t most_items_per_thread = has_merges ? merged_run_items : short_items_per_thread;
    layout.tuning.items_per_thread =
        std::clamp(wanted_.one_workgroup_items / layout.tuning.workgroup_size, 1u, most_items_per_thread);
    while (true) {
      layout.small_items = has_merges ? layout.tile_items() / 4 : std::min(short_run_items, layout.tile_items() / 2);
      if (layout.window_bytes() <= std::min(most_bytes, traits_.max_workgroup_bytes)) return layout;
      if (layout.tuning.items_per_thread == 1) return layout;
      --layout.tuning.items_per_thread;
    }
  }
  // Are there likely to be many segments that are short?
  [[nodiscard]] bool has_short() const {
    if (!layout_.has_segments) return false;
    return longest_ <= short_.small_items ||
           (count_ > most_items_without_short && count_ / shape_.segment_count->max < short_.small_items);
  }

  void note_tuning() {
    const SortTuning& fitted = layout_.tuning;
    std::string how;
    switch (layout_.ranking) {
      case SortRanking::workgroup: how = "ranks in workgroup memory"; break;
      case SortRanking::emulated: how = "ranks by emulated subgroups"; break;
      default: how = fitted.lock_step ? "ranks by atomics, lanes in order" : "ranks by ballots, a barrier each"; break;
    }
    plan_.note(std::format("tiles of {} x {} items in {}, digits of {} bits, {}", fitted.workgroup_size,
                           fitted.items_per_thread, counted(fitted.stage_rounds, "part"), fitted.digit_bits, how));
  }

  void name_arguments() {
    const auto argument = [&](std::string name, std::uint32_t stride, bool is_written) {
      return Place{plan_.argument(std::move(name), count_ * stride, stride, is_written), true};
    };
    const std::uint32_t key_stride = shape_.key.stride_bytes;
    if (!shape_.in_place) keys_argument_ = argument("keys", key_stride, false);
    if (shape_.value && !shape_.in_place) values_argument_ = argument("values", shape_.value->stride_bytes, false);
    if (shape_.write_keys) sorted_keys_ = argument("sorted_keys", key_stride, true);
    if (shape_.value) sorted_values_ = argument("sorted_values", shape_.value->stride_bytes, true);
    if (shape_.write_indices) indices_ = argument("indices", 4, true);
    if (shape_.item_count.read_on_device) item_count_ = plan_.argument("item_count", 4, 4);
    if (layout_.has_segments) {
      segment_begins_ = plan_.argument("segment_begins", shape_.segment_count->max * 4, 4);
      segment_ends_ = plan_.argument("segment_ends", shape_.segment_count->max * 4, 4);
    }
    if (layout_.segments_on_device) segment_count_ = plan_.argument("segment_count", 4, 4);
    if (shape_.in_place) {
      keys_argument_ = sorted_keys_;
      values_argument_ = sorted_values_;
    }
  }

  // How often items go from one array to another.
  [[nodiscard]] std::uint32_t moves() const { return is_one_tile_ || !has_passes() ? 1 : layout_.pass_count; }

  Place scratch(std::string name, std::uint32_t words, ScratchGroup group) {
    return {plan_.scratch(std::move(name), count_ * words * 4, group), true};
  }

  // Where an array is before the first pass and after each one. From the end: the result, scratch, the result, ...
  std::vector<Place> places_of(const std::string& name, Place source, Place result, std::uint32_t words,
                               bool makes_first) {
    const std::uint32_t passes = moves();
    Place first;
    Place second;
    const auto scratch_of = [&](Place& place, ScratchGroup group) {
      if (!place.exists) place = scratch(name + (group == ScratchGroup::first ? " a" : " b"), words, group);
      return place;
    };
    std::vector<Place> places{source};
    for (std::uint32_t pass = 1; pass <= passes; ++pass) {
      const std::uint32_t left = passes - pass;
      if (left % 2 == 1) {
        places.push_back(scratch_of(first, ScratchGroup::first));
        continue;
      }
      const bool is_read_now =
          pass == 1 && !makes_first && source.exists && result.exists && source.slot == result.slot;
      const bool is_dropped = left == 0 && !result.exists && !joins();  // chunks lie there before they are joined
      if (is_dropped) {
        places.emplace_back();
      } else if (result.exists && (!is_read_now || moves() == 1)) {
        places.push_back(result);
      } else {
        places.push_back(scratch_of(second, ScratchGroup::second));
      }
    }
    return places;
  }

  void lay_out_arrays() {
    const std::uint32_t passes = moves();
    // What the first pass reads must not lie in the buffer that it writes.
    ScratchGroup before_first = passes % 2 == 0 ? ScratchGroup::second : ScratchGroup::first;
    // Windows go from the first array to the last, passes from the first to the second: a third group.
    if (layout_.has_segments) before_first = ScratchGroup::third;
    Place key_source = keys_argument_;
    Place key_result = sorted_keys_;
    if (is_half_key()) {
      key_source = scratch("wide keys", 1, before_first);
      if (shape_.write_keys) key_result = scratch("wide sorted keys", 1, ScratchGroup::second);
    }
    keys_ = places_of("keys", key_source, key_result, layout_.key_words, false);
    if (payload_ == Payload::none) return;
    Place value_source = values_argument_;
    Place value_result = payload_ == Payload::indices ? indices_ : sorted_values_;
    if (payload_ == Payload::halves) {
      value_source = scratch("wide values", 1, before_first);
      value_result = scratch("wide sorted values", 1, ScratchGroup::second);
    }
    if (payload_ == Payload::indices) {
      // Never read, but bound: not by another view of the keys, which may share a buffer with an output.
      value_source = {plan_.scratch("no values", 16, ScratchGroup::grids), true};
      if (!value_result.exists) value_result = scratch("indices", 1, ScratchGroup::second);
    }
    values_ = places_of("values", value_source, value_result, layout_.value_words, layout_.makes_values);
  }

  static Binding bind(std::string_view variable, const Place& place, std::string_view first_field) {
    return {variable, place.slot, 0, 0, place.is_argument() ? first_field : std::string_view()};
  }

  void bind_count(PlanBuilder::Step& step) const {
    if (layout_.counts_on_device) step.bindings.push_back({"item_counts", item_count_, 0, 0, "count_first"});
  }

  PlanBuilder::Step item_step(std::initializer_list<std::string_view> first_fields, std::string reason,
                              std::uint64_t read, std::uint64_t written) {
    PlanBuilder::Step step;
    step.params = {{"item_count", static_cast<std::uint32_t>(count_)}, {"count_first", 0}};
    for (const std::string_view field : first_fields) step.params.push_back({field, 0});
    step.reason = std::move(reason);
    step.bytes_read = read;
    step.bytes_written = written;
    bind_count(step);
    return step;
  }

  void widen(const Place& from, const Place& to, std::string reason) {
    auto step = item_step({"keys_first"}, std::move(reason), 2 * count_, 4 * count_);
    step.bindings.push_back(bind("keys_in", from, "keys_first"));
    step.bindings.push_back(bind("keys_out", to, {}));
    step.thread_count = count_;
    plan_.dispatch(sort_widen_kernel(layout_), std::move(step));
  }

  void narrow(const Place& from, const Place& to, std::string reason) {
    auto step = item_step({"output_keys_first"}, std::move(reason), 4 * count_, 2 * count_);
    step.bindings.push_back(bind("keys_in", from, {}));
    step.bindings.push_back(bind("keys_out", to, "output_keys_first"));
    step.thread_count = div_ceil(count_, 2);
    plan_.dispatch(sort_narrow_kernel(layout_), std::move(step));
  }

  void gather() {
    add_gather(plan_, sort_gather(layout_, count_, item_count_, values_.back().slot, values_argument_.slot,
                                  sorted_values_.slot, *shape_.value, "values follow their keys by index"));
  }

  // Params and bindings of a kernel that moves items, for one pass.
  PlanBuilder::Step moving_step(std::uint32_t pass, std::uint64_t chunk_count, bool reads_own_output) {
    const bool is_last = is_one_tile_ || pass + 1 == layout_.pass_count;
    PlanBuilder::Step step;
    step.params = params_of(pass, chunk_count);
    step.params.push_back({"make_values", layout_.makes_values && pass == 0 ? 1u : 0u});
    step.params.push_back({"write_keys", is_last && !shape_.write_keys ? 0u : 1u});
    if (!reads_own_output) step.bindings.push_back(bind("keys_in", keys_[pass], "keys_first"));
    const Place& out = keys_[pass + 1];
    // Something has to be bound where the last pass writes no keys.
    const Place unused = out.exists ? out : Place{plan_.scratch("unused", 16), true};
    step.bindings.push_back(bind("keys_out", unused, "output_keys_first"));
    const std::uint64_t item_bytes = 4 * (std::uint64_t{layout_.key_words} + layout_.value_words);
    step.bytes_read = count_ * item_bytes;
    step.bytes_written = count_ * (item_bytes - (out.exists ? 0 : 4 * layout_.key_words));
    if (payload_ != Payload::none) {
      if (!reads_own_output) step.bindings.push_back(bind("values_in", values_[pass], "values_first"));
      step.bindings.push_back(bind("values_out", values_[pass + 1], "output_values_first"));
      if (layout_.makes_values && pass == 0) step.bytes_read -= 4 * count_;
    }
    bind_count(step);
    return step;
  }

  std::vector<Param> params_of(std::uint32_t pass, std::uint64_t chunk_count) const {
    return {{"item_count", static_cast<std::uint32_t>(count_)},
            {"begin_bit", shape_.begin_bit},
            {"end_bit", end_bit_},
            {"pass_number", pass},
            {"pass_count", layout_.pass_count},
            {"record_first", 0},
            {"chunk_count", static_cast<std::uint32_t>(chunk_count)},
            {"hidden_tiles", 0},
            {"keys_first", 0},
            {"values_first", 0},
            {"output_keys_first", 0},
            {"output_values_first", 0},
            {"count_first", 0}};
  }

  void sort_one_tile() {
    // Halves are widened first: they are read elsewhere.
    const bool in_place = shape_.in_place && !is_half_key() && payload_ != Payload::halves;
    auto step = moving_step(0, 1, in_place);
    step.workgroup_count = 1;
    step.reason = "one workgroup sorts all items";
    plan_.dispatch(sort_one_kernel(layout_, traits_, in_place), std::move(step));
  }

  void sort_by_look_back() {
    const SortTuning& tuning = layout_.tuning;
    const std::uint64_t tiles = div_ceil(count_, layout_.tile_items());
    const std::uint64_t digits = layout_.digit_count();
    // Tiles that never publish would leave the records of a pass unfit for the next.
    const bool hides = traits_.test_hidden_chunks != 0;
    const std::uint64_t record_words = tiles * digits * (hides ? layout_.pass_count : 1);
    const std::uint64_t count_words = layout_.pass_count * (digits + 1);
    const SlotId records = plan_.scratch("records", record_words * 4);
    const SlotId counts = plan_.scratch("counts", count_words * 4);
    plan_.note(std::format("{} bytes of records a tile", 4 * digits));
    plan_.dispatch(sort_clear_kernel(layout_),
                   {.kernel = {},
                    .workgroup_count = div_ceil(std::max(record_words, count_words),
                                                std::uint64_t{tuning.workgroup_size} * clear_words_per_thread),
                    .bindings = {{"counts", counts}, {"records", records}},
                    .params = {{"count_words", static_cast<std::uint32_t>(count_words)},
                               {"record_words", static_cast<std::uint32_t>(record_words)}},
                    .reason = "counts and records begin at zero",
                    .bytes_written = 4 * (record_words + count_words)});
    const std::uint64_t histogram_tile = std::uint64_t{tuning.workgroup_size} * histogram_items_per_thread;
    const std::uint64_t counting = std::min<std::uint64_t>(div_ceil(count_, histogram_tile), tuning.max_workgroups);
    PlanBuilder::Step histogram;
    histogram.workgroup_count = counting;
    histogram.bindings = {bind("keys_in", keys_.front(), "keys_first"), {"counts", counts}};
    bind_count(histogram);
    histogram.params = {{"item_count", static_cast<std::uint32_t>(count_)},
                        {"begin_bit", shape_.begin_bit},
                        {"end_bit", end_bit_},
                        {"workgroup_count", static_cast<std::uint32_t>(counting)},
                        {"keys_first", 0},
                        {"count_first", 0}};
    histogram.reason = "the digits of all passes are counted at once";
    histogram.bytes_read = 4 * count_ * layout_.key_words;
    plan_.dispatch(sort_histogram_kernel(layout_, histogram_items_per_thread), std::move(histogram));
    const SortKernel kernel = sort_pass_kernel(layout_, traits_);
    for (std::uint32_t pass = 0; pass < layout_.pass_count; ++pass) {
      auto step = moving_step(pass, 1, false);
      step.workgroup_count = tiles;
      step.bindings.push_back({"records", records});
      step.bindings.push_back({"counts", counts});
      set(step, "hidden_tiles", traits_.test_hidden_chunks);
      if (hides) set(step, "record_first", static_cast<std::uint32_t>(tiles * pass));
      step.reason = std::format("digit {} of {}; tiles look back", pass, layout_.pass_count);
      step.bytes_read += 8 * tiles * digits;
      step.bytes_written += 8 * tiles * digits;
      plan_.dispatch(kernel, std::move(step));
    }
  }

  void sort_by_chunks() {
    const std::uint64_t tiles = div_ceil(count_, layout_.tile_items());
    const std::uint64_t chunks = std::min<std::uint64_t>(tiles, layout_.tuning.max_workgroups);
    const std::uint64_t digits = layout_.digit_count();
    const SlotId partials = plan_.scratch("partials", digits * chunks * 4);
    const SlotId totals = plan_.scratch("totals", digits * 4);
    const SortKernel count = sort_count_kernel(layout_);
    const SortKernel spine = sort_spine_kernel(layout_);
    const SortKernel scatter = sort_scatter_kernel(layout_, traits_);
    for (std::uint32_t pass = 0; pass < layout_.pass_count; ++pass) {
      PlanBuilder::Step counting;
      counting.workgroup_count = chunks;
      counting.params = params_of(pass, chunks);
      counting.params.push_back({"make_values", 0});
      counting.params.push_back({"write_keys", 0});
      counting.bindings = {bind("keys_in", keys_[pass], "keys_first"), {"partials", partials}};
      bind_count(counting);
      counting.reason = std::format("digit {} of {} is counted, chunk by chunk", pass, layout_.pass_count);
      counting.bytes_read = 4 * count_ * layout_.key_words;
      counting.bytes_written = 4 * digits * chunks;
      plan_.dispatch(count, std::move(counting));
      plan_.dispatch(spine, {.kernel = {},
                             .workgroup_count = digits,
                             .bindings = {{"partials", partials}, {"totals", totals}},
                             .params = {{"chunk_count", static_cast<std::uint32_t>(chunks)},
                                        {"digit_count", static_cast<std::uint32_t>(digits)}},
                             .reason = "counts become positions, a workgroup a digit",
                             .bytes_read = 8 * digits * chunks,
                             .bytes_written = 4 * digits * (chunks + 1)});
      auto step = moving_step(pass, chunks, false);
      step.workgroup_count = chunks;
      step.bindings.push_back({"partials", partials});
      step.bindings.push_back({"totals", totals});
      step.reason = "items move to where their digit goes";
      step.bytes_read += 4 * digits * (chunks + 1);
      plan_.dispatch(scatter, std::move(step));
    }
  }

  void bind_segments(PlanBuilder::Step& step) const {
    step.bindings.push_back({"segment_begins", segment_begins_, 0, 0, "begins_first"});
    step.bindings.push_back({"segment_ends", segment_ends_, 0, 0, "ends_first"});
  }

  // Positions outside all segments keep what the outputs hold.
  void keep_outside() {
    const std::string reason = "what lies outside all segments stays";
    if (is_half_key() && shape_.write_keys) widen(sorted_keys_, keys_.back(), reason);
    if (payload_ == Payload::halves) widen(sorted_values_, values_.back(), reason);
    if (payload_ != Payload::indices || !shape_.value) return;
    auto step = item_step({}, "items outside all segments have no index", 0, 4 * count_);
    step.bindings.push_back(bind("indices", values_.back(), {}));
    step.thread_count = count_;
    plan_.dispatch(sort_missing_kernel(layout_), std::move(step));
  }

  // Where their chunks are listed, and how much room there is.
  struct LongSegments {
    SlotId lists;
    SlotId segments;
    SlotId chunks;
    std::uint64_t most = 0;
    std::uint64_t most_chunks = 0;
    std::uint64_t chunk_items = 0;
  };

  // What a kernel of windows goes through: all windows, or a list.
  struct WindowJobs {
    std::uint32_t shortest = 0;
    std::uint64_t windows_first = 0;
    std::uint64_t first = 0;
    std::uint32_t counter = 0;  // in lists, of how many there are
    std::uint64_t most = 0;
    std::uint64_t workers = 0;
  };

  void sort_segments() {
    keep_outside();
    const auto words = [](std::uint64_t count) { return static_cast<std::uint32_t>(count); };
    const std::uint64_t segments = shape_.segment_count->max;
    const std::uint64_t windows = div_ceil(count_, window_.window_step());
    const std::uint64_t short_windows = has_short() ? div_ceil(count_, short_.window_step()) : 0;
    const std::uint32_t shortest = has_short() ? short_.small_items + 1 : 1;
    const auto most_longer_than = [&](std::uint32_t items) {
      return longest_ <= items ? 0 : std::min(segments, count_ / (std::uint64_t{items} + 1));
    };
    const std::uint64_t most_long = most_longer_than(large_.tile_items());
    const std::uint64_t tile = layout_.tile_items();
    const std::uint64_t chunk_items =
        joins() ? large_.tile_items() : tile * div_ceil(div_ceil(count_, layout_.tuning.max_workgroups), tile);
    const std::uint64_t most_chunks = has_passes() ? count_ / chunk_items + most_long : 0;
    const std::uint64_t chunk_jobs = joins() ? most_chunks : 0;
    const bool has_large = large_.tile_items() != window_.tile_items() && longest_ > window_.tile_items();
    const std::uint64_t most_large = has_large ? most_longer_than(window_.tile_items()) + chunk_jobs : 0;
    const std::uint64_t short_first = sort_lists_header + 2 * windows + 1;
    const std::uint64_t jobs_first = short_first + short_windows + 1;
    const std::uint64_t most_jobs = windows + most_longer_than(window_.small_items) + (has_large ? 0 : chunk_jobs);
    const std::uint64_t large_first = jobs_first + 2 * most_jobs;
    const SlotId lists = plan_.scratch("lists", 4 * (large_first + 2 * most_large));
    const LongSegments long_segments{
        .lists = lists,
        .segments = plan_.scratch("long segments", 16 * std::max<std::uint64_t>(most_long, 1)),
        .chunks = plan_.scratch("chunk segments", 4 * std::max<std::uint64_t>(most_chunks, 1)),
        .most = most_long,
        .most_chunks = most_chunks,
        .chunk_items = chunk_items};
    plan_.note(std::format("windows of {} x {} items; segments of more than {} have one of their own",
                           window_.tuning.workgroup_size, window_.tuning.items_per_thread, window_.small_items));
    plan_.dispatch(sort_clear_kernel(layout_),
                   {.kernel = {},
                    .workgroup_count = div_ceil(sort_lists_header + windows,
                                                std::uint64_t{layout_.tuning.workgroup_size} * clear_words_per_thread),
                    .bindings = {{"counts", lists}, {"records", long_segments.segments}},
                    .params = {{"count_words", words(sort_lists_header + windows)}, {"record_words", 0}},
                    .reason = "the lists of segments begin empty",
                    .bytes_written = 4 * (sort_lists_header + windows)});
    PlanBuilder::Step listing;
    listing.params = {{"item_count", words(count_)},
                      {"segment_count", words(segments)},
                      {"window_count", words(windows)},
                      {"short_window_count", words(short_windows)},
                      {"short_first", words(short_first)},
                      {"shortest", shortest},
                      {"longest", words(longest_)},
                      {"jobs_first", words(jobs_first)},
                      {"large_first", words(has_large ? large_first : jobs_first)},
                      {"most_jobs", words(most_jobs)},
                      {"most_large", words(has_large ? most_large : most_jobs)},
                      {"large_counter", has_large ? 4u : 0u},
                      {"most_long", words(most_long)},
                      {"most_chunks", words(most_chunks)},
                      {"chunk_items", words(chunk_items)},
                      {"chunks_are_jobs", joins()},
                      {"begins_first", 0},
                      {"ends_first", 0},
                      {"count_first", 0},
                      {"segment_count_first", 0}};
    bind_segments(listing);
    listing.bindings.push_back({"lists", lists});
    listing.bindings.push_back({"long_segments", long_segments.segments});
    listing.bindings.push_back({"chunk_segments", long_segments.chunks});
    bind_count(listing);
    if (layout_.segments_on_device) {
      listing.bindings.push_back({"segment_counts", segment_count_, 0, 0, "segment_count_first"});
    }
    listing.reason = "segments are told apart by their length";
    listing.bytes_read = 8 * segments;
    listing.thread_count = std::max({segments, windows + 1, short_windows + 1});
    plan_.dispatch(sort_lists_kernel(window_, large_, short_), std::move(listing));

    // Halves are widened first: they are read elsewhere.
    const bool in_place = shape_.in_place && !is_half_key() && payload_ != Payload::halves;
    const auto sort_windows = [&](const SortLayout& layout, const WindowJobs& jobs, std::string reason) {
      auto step = segment_step(0, keys_.front(), keys_.back(), values_.empty() ? Place{} : values_.front(),
                               values_.empty() ? Place{} : values_.back(), in_place);
      step.workgroup_count = jobs.workers;
      step.params.append_range(std::initializer_list<Param>{{"write_keys", shape_.write_keys || joins()},
                                                            {"begins_first", 0},
                                                            {"ends_first", 0},
                                                            {"shortest", jobs.shortest},
                                                            {"windows_first", words(jobs.windows_first)},
                                                            {"jobs_first", words(jobs.first)},
                                                            {"job_counter", jobs.counter},
                                                            {"most_jobs", words(jobs.most)},
                                                            {"workgroup_count", words(jobs.workers)}});
      bind_segments(step);
      step.bindings.push_back({"lists", lists});
      step.reason = std::move(reason);
      plan_.dispatch(sort_window_kernel(layout, in_place), std::move(step));
    };
    if (has_short()) {
      sort_windows(short_, {.shortest = 1, .windows_first = short_first, .workers = short_windows},
                   std::format("segments of up to {} items are sorted in registers", short_.small_items));
      if (longest_ <= short_.small_items) return;
    }
    const auto workers = [&](std::uint64_t jobs) {
      return std::min<std::uint64_t>(jobs, 4 * std::uint64_t{wanted_.max_workgroups});
    };
    const std::string_view with_chunks = joins() ? " and chunks of longer ones" : "";
    sort_windows(window_,
                 {.shortest = shortest,
                  .windows_first = sort_lists_header + windows,
                  .first = jobs_first,
                  .most = most_jobs,
                  .workers = workers(most_jobs)},
                 std::format("segments of up to {} items{} are merged in workgroup memory", window_.tile_items(),
                             has_large ? "" : with_chunks));
    if (has_large) {
      sort_windows(
          large_,
          {.shortest = 1, .first = large_first, .counter = 4, .most = most_large, .workers = workers(most_large)},
          std::format("the same with up to {} items{}", large_.tile_items(), with_chunks));
    }
    if (most_long == 0) return;
    if (joins()) {
      join_chunks(long_segments);
    } else {
      sort_long_segments(long_segments);
    }
  }

  // From where windows are sorted to the array before and back again.
  void join_chunks(const LongSegments& segments) {
    const std::uint64_t workers = std::min<std::uint64_t>(segments.most_chunks * large_.tuning.items_per_thread,
                                                          4 * std::uint64_t{wanted_.max_workgroups});
    const SortKernel kernel = sort_join_kernel(large_);
    for (std::uint32_t number = 0; number < join_steps; ++number) {
      const bool is_last = number + 1 == join_steps;
      const std::size_t from = is_last ? keys_.size() - 2 : keys_.size() - 1;
      const std::size_t to = is_last ? keys_.size() - 1 : keys_.size() - 2;
      const bool write_keys = !is_last || shape_.write_keys;
      const bool has_values = payload_ != Payload::none;
      // As of a later pass: the windows have made the values.
      auto step = segment_step(number + 1, keys_[from], write_keys ? keys_[to] : Place{},
                               has_values ? values_[from] : Place{}, has_values ? values_[to] : Place{}, false);
      take_chunks(step, segments, number, workers, false);
      step.reason = is_last ? "and the runs that these make" : "chunks are joined, the root of their number at a time";
      plan_.dispatch(kernel, std::move(step));
    }
  }

  // Bindings and params that kernels of segments share.
  PlanBuilder::Step segment_step(std::uint32_t pass, const Place& keys, const Place& sorted_keys, const Place& values,
                                 const Place& sorted_values, bool reads_own_output) {
    PlanBuilder::Step step;
    step.params = {{"begin_bit", shape_.begin_bit}, {"end_bit", end_bit_},     {"keys_first", 0}, {"values_first", 0},
                   {"output_keys_first", 0},        {"output_values_first", 0}};
    if (!reads_own_output) step.bindings.push_back(bind("keys_in", keys, "keys_first"));
    const Place unused = sorted_keys.exists ? sorted_keys : Place{plan_.scratch("unused", 16), true};
    step.bindings.push_back(bind("keys_out", unused, "output_keys_first"));
    const std::uint64_t item_bytes = 4 * (std::uint64_t{layout_.key_words} + layout_.value_words);
    step.bytes_read = count_ * item_bytes;
    step.bytes_written = count_ * (item_bytes - (sorted_keys.exists ? 0 : 4 * layout_.key_words));
    if (payload_ == Payload::none) return step;
    if (!reads_own_output) step.bindings.push_back(bind("values_in", values, "values_first"));
    step.bindings.push_back(bind("values_out", sorted_values, "output_values_first"));
    if (layout_.makes_values && pass == 0) step.bytes_read -= 4 * count_;
    return step;
  }

  // Params and bindings of a kernel whose workgroups take chunks, beside those of segment_step().
  void take_chunks(PlanBuilder::Step& step, const LongSegments& segments, std::uint32_t pass, std::uint64_t workers,
                   bool makes_values) const {
    const bool drops_keys = pass + 1 == layout_.pass_count && !shape_.write_keys;
    step.params.append_range(
        std::initializer_list<Param>{{"pass_number", pass},
                                     {"chunk_count", static_cast<std::uint32_t>(segments.most_chunks)},
                                     {"chunk_items", static_cast<std::uint32_t>(segments.chunk_items)},
                                     {"workgroup_count", static_cast<std::uint32_t>(workers)},
                                     {"make_values", makes_values},
                                     {"write_keys", !drops_keys}});
    step.bindings.push_back({"long_segments", segments.segments});
    step.bindings.push_back({"chunk_segments", segments.chunks});
    step.bindings.push_back({"lists", segments.lists});
    step.workgroup_count = workers;
  }

  void sort_long_segments(const LongSegments& segments) {
    const auto words = [](std::uint64_t count) { return static_cast<std::uint32_t>(count); };
    const std::uint64_t digits = layout_.digit_count();
    const std::uint64_t workers = std::min<std::uint64_t>(segments.most_chunks, layout_.tuning.max_workgroups);
    const std::uint64_t spines = std::min<std::uint64_t>(segments.most, layout_.tuning.max_workgroups);
    const SlotId partials = plan_.scratch("partials", 4 * digits * segments.most_chunks);
    const SortKernel count = sort_count_kernel(layout_);
    const SortKernel spine = sort_segment_spine_kernel(layout_);
    const SortKernel scatter = sort_scatter_kernel(layout_, traits_);
    for (std::uint32_t pass = 0; pass < layout_.pass_count; ++pass) {
      PlanBuilder::Step counting;
      counting.params = {
          {"begin_bit", shape_.begin_bit}, {"end_bit", end_bit_},     {"keys_first", 0}, {"values_first", 0},
          {"output_keys_first", 0},        {"output_values_first", 0}};
      counting.bindings = {bind("keys_in", keys_[pass], "keys_first"), {"partials", partials}};
      take_chunks(counting, segments, pass, workers, false);
      counting.reason = std::format("digit {} of {} of long segments is counted", pass, layout_.pass_count);
      counting.bytes_read = 4 * count_ * layout_.key_words;
      plan_.dispatch(count, std::move(counting));
      plan_.dispatch(
          spine, {.kernel = {},
                  .workgroup_count = spines,
                  .bindings = {{"partials", partials}, {"long_segments", segments.segments}, {"lists", segments.lists}},
                  .params = {{"most_long", words(segments.most)},
                             {"most_chunks", words(segments.most_chunks)},
                             {"workgroup_count", words(spines)}},
                  .reason = "counts become positions, a workgroup a segment",
                  .bytes_read = 8 * digits * segments.most_chunks,
                  .bytes_written = 4 * digits * segments.most_chunks});
      const bool has_values = payload_ != Payload::none;
      auto step = segment_step(pass, keys_[pass], keys_[pass + 1], has_values ? values_[pass] : Place{},
                               has_values ? values_[pass + 1] : Place{}, false);
      step.bindings.push_back({"partials", partials});
      take_chunks(step, segments, pass, workers, layout_.makes_values && pass == 0);
      step.reason = "items move to where their digit goes";
      plan_.dispatch(scatter, std::move(step));
    }
  }

  static void set(PlanBuilder::Step& step, std::string_view name, std::uint32_t value) {
    std::ranges::find(step.params, name, &Param::name)->value = value;
  }

  const SortShape& shape_;
  const DeviceTraits& traits_;
  SortTuning wanted_;
  std::uint64_t count_;
  Payload payload_;
  SortLayout layout_;
  SortLayout window_;          // windows of segments
  SortLayout large_;           // of longer ones
  SortLayout short_;           // of short ones
  std::uint64_t longest_ = 0;  // segment
  PlanBuilder plan_;
  std::uint32_t end_bit_ = 0;
  bool is_one_tile_ = false;
  Place keys_argument_;
  Place values_argument_;
  Place sorted_keys_;
  Place sorted_values_;
  Place indices_;
  SlotId item_count_;
  SlotId segment_begins_;
  SlotId segment_ends_;
  SlotId segment_count_;
  std::vector<Place> keys_;    // before the first pass and after each one
  std::vector<Place> values_;  // the same
};

}  // namespace

Result<Plan> plan_sort(const SortShape& shape, const DeviceTraits& traits, std::optional<SortTuning> tuning) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  const SortTuning chosen = tuning.value_or(select_sort_tuning(shape, traits));
  if (const Status ok = check(chosen, shape); !ok) return std::unexpected(ok.error());
  if (!shape.key_fields.empty()) return plan_sort_by_fields(shape, traits, chosen);
  return SortPlanner(shape, traits, chosen).finish();
}

}  // namespace upsweep
