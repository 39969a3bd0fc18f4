// SPDX-License-Identifier: Apache-2.0
// Runs the index arithmetic of the reduce kernels on the host, from nothing but a plan: constants of the kernel texts,
// params bytes, grids and bound ranges. Values are sums that tell which items went in, with which index and in which
// order, so that a plan that skips, repeats or swaps an item anywhere is found without a device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/reduce.h"

namespace upsweep::testing {

/// What a fold has seen. `content` does not depend on the order of the items, `sequence` does.
struct Seen {
  std::uint64_t count = 0;
  std::uint64_t content = 0;
  std::uint64_t sequence = 0;
  std::uint64_t power = 1;
  bool operator==(const Seen&) const = default;

  /// The item at `position` of the input, given to the transform with `index`.
  static Seen item(std::uint64_t position, std::uint64_t index) {
    std::uint64_t word = position * 0x9e3779b97f4a7c15u + index * 0xd1b54a32d192ed03u + 0x632be59bd9b4e019u;
    word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9u;
    word ^= word >> 32;
    return {1, word, word, 0x100000001b3u};
  }
  friend Seen operator*(const Seen& a, const Seen& b) {
    return {a.count + b.count, a.content + b.content, a.sequence * b.power + b.sequence, a.power * b.power};
  }
};

/// What lies in the caller's buffers, as far as index arithmetic depends on it.
struct SimulatedBuffers {
  std::map<std::string, std::uint64_t> offset_bytes = {};  // of each view, 0 if not named
  std::uint32_t item_count = 0;
  std::vector<std::uint32_t> begins = {};
  std::vector<std::uint32_t> ends = {};
};

class Simulation {
 public:
  Simulation(const Plan& plan, const DeviceTraits& traits, SimulatedBuffers buffers, std::uint32_t accumulator_bytes)
      : plan_(plan), traits_(traits), buffers_(std::move(buffers)), accumulator_bytes_(accumulator_bytes) {
    for (const ScratchSlot& slot : plan.scratch) scratch_.emplace_back(slot.size_bytes / accumulator_bytes);
    if (const ArgumentSlot* output = plan.find_argument("output")) {
      results_.resize(output->size_bytes / output->stride_bytes);
    }
  }

  /// Runs every dispatch. Results that no workgroup stored stay empty.
  const std::vector<std::optional<Seen>>& run() {
    for (const Dispatch& dispatch : plan_.dispatches) {
      load(dispatch);
      for (std::uint32_t z = 0; z < dispatch.grid.z; ++z) {
        for (std::uint32_t y = 0; y < dispatch.grid.y; ++y) {
          for (std::uint32_t x = 0; x < dispatch.grid.x; ++x) {
            const std::uint32_t tile = (z * param("grid_height") + y) * param("grid_width") + x;
            dispatch.kernel->name == "reduce_tile" ? run_tile(tile) : run_segments(tile);
            if (::testing::Test::HasFailure()) return results_;
          }
        }
      }
      if (finishes_in_one_pass_) store_arrivals();
    }
    return results_;
  }

 private:
  struct Range {
    std::uint32_t origin, begin, end, row_first, second_row_first;
  };

  void load(const Dispatch& dispatch) {
    dispatch_ = &dispatch;
    const Kernel& kernel = *dispatch.kernel;
    params_.clear();
    for (std::size_t field = 0; field < kernel.params.size(); ++field) {
      std::memcpy(&params_[kernel.params[field]], dispatch.params.data() + field * 4, 4);
    }
    for (const BoundRange& range : dispatch.bindings) {
      EXPECT_LE(bound_bytes(range), traits_.max_binding_bytes) << "binding " << range.binding;
      if (range.first_item_field) params_[kernel.params[*range.first_item_field]] = first_item(range);
    }
    is_ordered_ = has_part("reduce_fold.ordered.wgsl") || has_part("reduce_segment_fold.ordered.wgsl");
    reads_partials_ = has_part("reduce_input.partials.wgsl");
    finishes_in_one_pass_ = has_part("reduce_finish.last_arriver.wgsl");
    arrivals_.clear();
    workgroup_size_ = constant("WORKGROUP_SIZE");
    if (kernel.name != "reduce_tile") return;
    units_per_thread_ = constant("UNITS_PER_THREAD");
    if (is_ordered_) return;
    tile_items_ = constant("TILE_ITEMS");
    unit_items_ = constant("UNIT_ITEMS");
    guarded_items_ = constant("GUARDED_ITEMS");
  }

  // As the executor binds: from the last aligned offset from which the items before the wanted one are whole.
  std::uint64_t bound_offset(const BoundRange& range) const {
    if (range.slot.kind != SlotKind::argument) return range.offset_bytes;
    const std::uint64_t wanted = wanted_offset(range);
    std::uint64_t offset = wanted / traits_.offset_alignment * traits_.offset_alignment;
    if (!range.first_item_field) {
      EXPECT_EQ(offset, wanted) << "this binding cannot start at any offset";
      return offset;
    }
    const std::uint32_t stride = plan_.arguments[range.slot.index].stride_bytes;
    while ((wanted - offset) % stride != 0) {
      EXPECT_GE(offset, traits_.offset_alignment);
      offset -= traits_.offset_alignment;
    }
    return offset;
  }
  std::uint64_t wanted_offset(const BoundRange& range) const {
    const auto view = buffers_.offset_bytes.find(plan_.arguments[range.slot.index].name);
    return range.offset_bytes + (view == buffers_.offset_bytes.end() ? 0 : view->second);
  }
  std::uint64_t bound_bytes(const BoundRange& range) const {
    if (range.slot.kind != SlotKind::argument) return range.size_bytes;
    return (range.size_bytes + wanted_offset(range) - bound_offset(range) + 3) / 4 * 4;
  }
  std::uint32_t first_item(const BoundRange& range) const {
    return static_cast<std::uint32_t>((wanted_offset(range) - bound_offset(range)) /
                                      plan_.arguments[range.slot.index].stride_bytes);
  }

  std::uint32_t param(std::string_view name) const {
    const auto found = params_.find(name);
    EXPECT_NE(found, params_.end()) << name;
    return found == params_.end() ? 0 : found->second;
  }
  std::uint32_t constant(std::string_view name) const {
    const std::string& text = dispatch_->kernel->text;
    const std::string start = "const " + std::string(name) + ": u32 = ";
    const auto at = text.find(start);
    std::uint32_t value = 0;
    EXPECT_NE(at, std::string::npos) << name;
    if (at != std::string::npos) {
      std::from_chars(text.data() + at + start.size(), text.data() + text.size(), value);
    }
    return value;
  }
  bool has_part(std::string_view file) const {
    return std::ranges::any_of(dispatch_->kernel->lines, [&](const LineOrigin& line) { return line.origin == file; });
  }
  const BoundRange* find(std::string_view name) const {
    const KernelBinding* variable = dispatch_->kernel->find_binding(name);
    if (variable == nullptr) return nullptr;
    const auto range = std::ranges::find(dispatch_->bindings, variable->index, &BoundRange::binding);
    return range == dispatch_->bindings.end() ? nullptr : &*range;
  }

  // The item of the argument at a position of the bound range. Items in front of the view and behind the range are not
  // the plan's to read.
  std::uint64_t item_at(std::string_view name, std::uint32_t position) const {
    const BoundRange& range = *find(name);
    const std::uint32_t stride = plan_.arguments[range.slot.index].stride_bytes;
    const std::uint32_t first = first_item(range);
    EXPECT_GE(position, first) << name;
    EXPECT_LT(position, first + range.size_bytes / stride) << name;
    EXPECT_EQ(range.offset_bytes % stride, 0u);
    return range.offset_bytes / stride + position - first;
  }

  // `vectors`: through the bindings of four items.
  Seen load_item(std::uint32_t position, const Range& range, bool vectors = false) const {
    if (reads_partials_) {
      const BoundRange& bound = *find("input");
      const std::uint64_t slot = bound.offset_bytes / accumulator_bytes_ + position;
      const auto& values = scratch_[bound.slot.index];
      if (slot >= values.size() || !values[slot]) {
        ADD_FAILURE() << "partial " << slot << " of " << values.size() << " was never stored";
        return {};
      }
      return *values[slot];
    }
    const std::uint64_t item = item_at(vectors ? "input_vectors" : "input", position);
    const std::string_view second = vectors ? "second_vectors" : "second_input";
    if (find(second) != nullptr) {
      const std::uint32_t partner = position - range.row_first + range.second_row_first;
      EXPECT_EQ(item_at(second, partner), item);
      EXPECT_TRUE(!vectors || partner % 4 == position % 4) << "the vectors of the inputs do not begin alike";
    }
    return Seen::item(item, position - range.row_first + param("index_base"));
  }

  void store(std::uint32_t slot, const Seen& total) {
    const BoundRange& bound = *find("output");
    auto& values = bound.slot.kind == SlotKind::scratch ? scratch_[bound.slot.index] : results_;
    std::uint64_t position = slot;
    if (bound.slot.kind == SlotKind::argument) position = item_at("output", slot);
    ASSERT_LT(position, values.size());
    EXPECT_FALSE(values[position]) << "result " << position << " is stored twice";
    values[position] = total;
  }

  Seen guarded_fold(std::uint32_t first, const Range& range) const {
    Seen total;
    for (std::uint32_t k = 0; k < units_per_thread_; ++k) {
      const std::uint32_t i = first + k * workgroup_size_;
      if (i >= range.begin && i < range.end) total = total * load_item(i, range);
    }
    return total;
  }

  Seen fold_range(const Range& range, std::uint32_t thread) const {
    Seen total;
    if (is_ordered_) {
      const std::uint32_t first = range.origin + thread * units_per_thread_;
      for (std::uint32_t i = std::max(first, range.begin); i < std::min(first + units_per_thread_, range.end); ++i) {
        total = total * load_item(i, range);
      }
      return total;
    }
    for (std::uint32_t tile = range.origin; tile < range.end; tile += tile_items_) {
      if (tile >= range.begin && tile + tile_items_ <= range.end) {
        for (std::uint32_t k = 0; k < units_per_thread_; ++k) {
          const std::uint32_t unit = tile / unit_items_ + thread + k * workgroup_size_;
          for (std::uint32_t c = 0; c < unit_items_; ++c) {
            total = total * load_item(unit * unit_items_ + c, range, unit_items_ > 1);
          }
        }
      } else {
        const std::uint32_t tile_end = std::min(tile + tile_items_, range.end);
        for (std::uint32_t i = tile; i < tile_end; i += guarded_items_) {
          total = total * guarded_fold(i + thread, range);
        }
      }
    }
    return total;
  }

  void run_tile(std::uint32_t chunk) {
    const std::uint32_t alignment = constant("CHUNK_ALIGNMENT");
    const std::uint32_t row = chunk / param("chunks_per_row");
    std::uint32_t length = param("row_length");
    std::uint32_t rows = param("row_count");
    if (has_part("reduce_extent.device_items.wgsl")) {
      length = std::min(std::max(buffers_.item_count, param("index_base")) - param("index_base"), length);
    }
    if (has_part("reduce_extent.device_rows.wgsl")) {
      rows = std::min(std::max(buffers_.item_count, param("row_base")) - param("row_base"), rows);
    }
    if (row >= rows) return;
    Range range;
    range.row_first = param("input_first") + row * param("row_length");
    range.second_row_first = param("second_first") + row * param("row_length");
    range.origin = range.row_first / alignment * alignment + (chunk % param("chunks_per_row")) * param("chunk_items");
    range.begin = std::max(range.origin, range.row_first);
    range.end = std::min(range.origin + param("chunk_items"), range.row_first + length);
    Seen total;
    for (std::uint32_t thread = 0; thread < workgroup_size_; ++thread) total = total * fold_range(range, thread);
    if (finishes_in_one_pass_) {
      EXPECT_TRUE(arrivals_.emplace(chunk, total).second) << "chunk " << chunk << " is published twice";
    } else {
      store(param("output_first") + chunk, total);
    }
  }

  void store_arrivals() {
    Seen total;
    EXPECT_EQ(arrivals_.size(), param("chunks_per_row"));
    for (const auto& [chunk, value] : arrivals_) total = total * value;
    store(param("output_first"), total);
  }

  void run_segments(std::uint32_t tile) {
    const std::uint32_t threads = constant("SEGMENT_THREADS");
    std::uint32_t segments = param("segment_count");
    if (has_part("reduce_segment_count.device.wgsl")) {
      segments = std::min(std::max(buffers_.item_count, param("segment_base")) - param("segment_base"), segments);
    }
    for (std::uint32_t s = 0; s < workgroup_size_ / threads; ++s) {
      const std::uint32_t segment = tile * (workgroup_size_ / threads) + s;
      if (segment >= segments) return;
      std::uint32_t begin = segment * param("row_length");
      std::uint32_t end = begin + param("row_length");
      if (has_part("reduce_segment_bounds.offsets.wgsl")) {
        begin = std::min(buffers_.begins.at(item_at("segment_begins", param("begins_first") + segment)),
                         param("item_count"));
        end = std::min(buffers_.ends.at(item_at("segment_ends", param("ends_first") + segment)), param("item_count"));
        end = std::max(begin, end);
      }
      Range range;
      range.row_first = param("input_first") + begin;
      range.second_row_first = param("second_first") + begin;
      range.origin = range.begin = range.row_first;
      range.end = range.row_first + end - begin;
      const std::uint32_t share = (end - begin + threads - 1) / threads;
      Seen total;
      for (std::uint32_t lane = 0; lane < threads; ++lane) {
        const std::uint32_t first = range.begin + (is_ordered_ ? std::min(lane * share, end - begin) : lane);
        const std::uint32_t last = is_ordered_ ? std::min(first + share, range.end) : range.end;
        for (std::uint32_t i = first; i < last; i += is_ordered_ ? 1 : threads) total = total * load_item(i, range);
      }
      store(param("output_first") + segment, total);
    }
  }

  const Plan& plan_;
  const DeviceTraits& traits_;
  SimulatedBuffers buffers_;
  std::uint32_t accumulator_bytes_;
  std::vector<std::vector<std::optional<Seen>>> scratch_;
  std::vector<std::optional<Seen>> results_;
  const Dispatch* dispatch_ = nullptr;
  std::map<std::string, std::uint32_t, std::less<>> params_;
  bool is_ordered_ = false;
  bool reads_partials_ = false;
  bool finishes_in_one_pass_ = false;
  std::map<std::uint32_t, Seen> arrivals_;  // totals of the chunks of a single pass
  std::uint32_t workgroup_size_ = 0;
  std::uint32_t units_per_thread_ = 0;
  std::uint32_t tile_items_ = 0;
  std::uint32_t unit_items_ = 0;
  std::uint32_t guarded_items_ = 0;
};

}  // namespace upsweep::testing
