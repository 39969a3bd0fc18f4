// SPDX-License-Identifier: Apache-2.0
// Merging by merge path, shared by merge and merge sort: one kernel finds where the left and the right range of each
// tile begin, another merges a tile through workgroup memory. What differs is where the two ranges lie: in two arrays,
// or as neighbouring sorted runs of one.
// Sources: Odeh, Green, Mwassi, Shmueli and Birk 2012; Green, McColl and Bader 2012 (merge path).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plan/kernel_builder.h"
#include "plan/order.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/order.h"

namespace upsweep {

enum class MergeSource : std::uint8_t {
  runs,    // neighbouring sorted runs of `keys_in`, pair by pair
  arrays,  // `left_keys` and `right_keys`
};

// How values are moved.
enum class MergeValues : std::uint8_t {
  none,
  items,    // of 4, 8 or 16 bytes
  halves,   // of 2 bytes
  words,    // of any multiple of 4 bytes, word by word
  indices,  // made by the first kernel of a sort: where the item was; moved as items of 4 bytes
};

// What the kernels of a plan agree on.
struct MergeLayout {
  MergeSource source = MergeSource::runs;
  ElementType key;
  KeyOrder order = {};
  MergeValues values = MergeValues::none;
  std::uint32_t value_bytes = 0;
  bool may_drop_keys = false;  // the last pass may write values alone
  bool counts_left = false;    // on the device: the left array's items, or those of all runs
  bool counts_right = false;   // on the device, the right array's
  bool splits_ahead = true;    // found by a pass of their own, else by each workgroup
  std::uint32_t workgroup_size = 256;
  std::uint32_t items_per_thread = 1;

  [[nodiscard]] std::uint32_t tile_items() const { return workgroup_size * items_per_thread; }
  [[nodiscard]] std::uint32_t key_bytes() const { return key.stride_bytes < 4 ? 4 : key.stride_bytes; }
  // Words in which a thread keeps where its items came from, two a word.
  [[nodiscard]] std::uint32_t source_words() const { return (items_per_thread + 1) / 2; }
  [[nodiscard]] std::uint32_t workgroup_bytes() const;
};

// Makes tiles smaller until they fit; an error if not even the smallest does. `call` begins the message.
Status fit_merge_tile(MergeLayout& layout, const DeviceTraits& traits, std::string_view call);

// Threads of kernels that take an item a thread.
constexpr std::uint32_t merge_small_workgroup = 64;

using MergeKernel = Result<std::shared_ptr<const Kernel>>;

// Where the ranges of each tile begin, and how many items there are.
MergeKernel merge_splits_kernel(std::string name, const MergeLayout& layout);
// Merges a tile.
MergeKernel merge_tiles_kernel(std::string name, const MergeLayout& layout);

// What every kernel that works on a tile in workgroup memory consists of, but for its run().
KernelBuilder start_merge_tile_kernel(std::string name, const MergeLayout& layout);

// range_counts() -> vec2u: the items of the two arrays, or of all runs and 0.
std::string merge_counts_text(const MergeLayout& layout);

// How values of a type are moved.
MergeValues merge_values_of(const ElementType& value);

}  // namespace upsweep
