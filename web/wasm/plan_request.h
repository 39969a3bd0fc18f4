// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "upsweep/plan.h"
#include "upsweep/status.h"
#include "value.h"

namespace upsweep::web {

struct Planned {
  Plan plan;     // empty if the request wants the tuning only
  Value tuning;  // all knobs as they were used
};

// A request is an object: `primitive`, a name such as "sort"; `shape`, `traits`, `tuning` and `offsets` with the fields
// of shapes.h, each of which may be left out; `want`: "tuning" if no plan is needed. A knob of the tuning that is given
// takes the place of the library's choice.
Result<Planned> plan_request(const Value& request);

}  // namespace upsweep::web
