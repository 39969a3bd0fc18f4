// SPDX-License-Identifier: Apache-2.0
// Sorts of structs by a list of their fields, made of sorts of one field each.
#pragma once

#include "upsweep/device_traits.h"
#include "upsweep/sort.h"
#include "upsweep/status.h"

namespace upsweep {

// Whether the key has the fields of the shape, and the shape asks for nothing that does not go with them.
Status check_sort_fields(const SortShape& shape);

// Shape and tuning have been checked.
Result<Plan> plan_sort_by_fields(const SortShape& shape, const DeviceTraits& traits, const SortTuning& tuning);

}  // namespace upsweep
