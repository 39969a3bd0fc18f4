// SPDX-License-Identifier: Apache-2.0
// Search: where many queries belong in sorted items (lower_bound, upper_bound; numpy.searchsorted).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/order.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

enum class SearchBound : std::uint8_t {
  lower,  ///< The first position whose item does not come before the query: numpy's side "left".
  upper,  ///< The first position whose item the query comes before: "right".
};

/// What to search: sizes and types, no buffers, no device.
struct SearchShape {
  Count item_count = {};                  ///< Sorted by `order`. 0 items: all positions are 0.
  Count query_count = {};                 ///< In any order; neighbours that are close together are found faster.
  ElementType item = ElementType::u32();  ///< Of items and queries. f16 needs no feature of the device.
  KeyOrder order = {};
  SearchBound bound = SearchBound::lower;

  bool operator==(const SearchShape&) const = default;
};

/// The knobs. Plans whose tunings differ may need different pipelines. Planners cut what does not fit the device.
struct SearchTuning {
  std::uint32_t workgroup_size = 256;    ///< Threads; a power of two.
  std::uint32_t queries_per_thread = 4;  ///< Step by step together, 1 to 64; they share the samples.
  std::uint32_t sample_bytes = 4096;     ///< Workgroup memory for the first levels of the search.

  bool operator==(const SearchTuning&) const = default;
};
[[nodiscard]] std::string to_string(SearchBound bound);
[[nodiscard]] std::string to_string(const SearchTuning& tuning);
/// The library's choice of knobs for a shape.
[[nodiscard]] SearchTuning select_search_tuning(const SearchShape& shape, const DeviceTraits& traits);

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `items`, `queries`,
/// `positions` (u32, one a query), `item_count` and `query_count` (one u32 each), each present only where the shape
/// calls for it. No queries write nothing. At most 2^31 items and as many queries, and each array must fit into one
/// binding. No scratch.
[[nodiscard]] Result<Plan> plan_search(const SearchShape& shape, const DeviceTraits& traits,
                                       std::optional<SearchTuning> tuning = std::nullopt);

/// Buffers of one search; leave those empty that the shape does not use. Offsets must be multiples of the item's stride
/// (4 for f16), no more. `positions` must not overlap the others; it may be a range of the same buffer if no
/// 256-byte block holds parts of two of them. Positions past the number of queries keep their bytes.
struct SearchBuffers {
  BufferView items = {};
  BufferView queries = {};
  BufferView positions = {};
  BufferView item_count = {};
  BufferView query_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_search(Context& context, RecordTarget target, const SearchShape& shape,
                                   const SearchBuffers& buffers, std::optional<SearchTuning> tuning = std::nullopt);

}  // namespace upsweep
