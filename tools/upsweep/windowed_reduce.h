// SPDX-License-Identifier: Apache-2.0
// Reductions of arrays of any size: the items go to the device in windows.
#pragma once

#include <cstdint>
#include <functional>

#include "commands.h"
#include "fold.h"
#include "number.h"
#include "progress.h"
#include "upsweep/reduce.h"

namespace upsweep::cli {

struct WindowedReduce {
  const Fold& fold;
  bool by_rows = false;
  Rows rows;
  std::uint64_t window_bytes = 0;
};

using TakeResult = std::function<Outcome(const Number&)>;

// Gives the result of each row to `take`, in order: u32 or a 64-bit integer for argmin and argmax, otherwise a number
// of the value's type (f32 for f16). Rows that fit go to the device many at a time. A longer row goes window by window:
// one partial result a window, in order, and a last reduction over these on the device, a tree like every other. An
// upload overlaps the work on the window before it.
Outcome reduce_windows(Context& context, const WindowedReduce& job, Progress& progress, const TakeResult& take);

}  // namespace upsweep::cli
