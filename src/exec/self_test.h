// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "upsweep/status.h"

namespace upsweep {

class Context;

// Runs small cases of the single-pass plans with look-back, tiles that never publish among them, and sets the trait
// `look_back` if every answer is right. Needs the instance. Rooms implement it: src/primitives/scan/scan_self_test.cpp.
Status run_self_test(Context& context);

// The same for the trait `lock_step`: a sort of one tile, many times. src/primitives/sort/sort_self_test.cpp.
Status run_lock_step_test(Context& context);

}  // namespace upsweep
