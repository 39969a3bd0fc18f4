// SPDX-License-Identifier: Apache-2.0
// Reductions of arrays of any size: the items go to the device in windows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "commands.h"
#include "items.h"
#include "number.h"
#include "progress.h"
#include "upsweep/reduce.h"

namespace upsweep::cli {

struct WindowedReduce {
  BinaryOperator op;
  ElementType value;  // that the transform gives
  // For a window whose first item has this index in its row.
  std::function<Transform(std::uint64_t first_index)> transform_at;
  bool has_user_text = false;  // in the transform or the operator
  std::optional<Number> init;  // an item; not for argmin and argmax
  bool by_rows = false;
  std::uint64_t row_count = 1;
  std::uint64_t row_length = 0;
  std::uint64_t window_bytes = std::uint64_t{64} << 20;
};

using TakeResult = std::function<Outcome(const Number&)>;

// Gives the result of each row to `take`, in order: u32 or a 64-bit integer for argmin and argmax, otherwise a number
// of the value's type (f32 for f16). Rows that fit go to the device many at a time. A longer row goes window by window:
// one partial result a window, in order, and a last reduction over these on the device, a tree like every other. An
// upload overlaps the work on the window before it.
Outcome reduce_windows(Context& context, const Items& items, const WindowedReduce& job, Progress& progress,
                       const TakeResult& take);

}  // namespace upsweep::cli
