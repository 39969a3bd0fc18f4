// SPDX-License-Identifier: Apache-2.0
// Plans and errors as values: web/src/plan.ts has the same fields.
#pragma once

#include "upsweep/plan.h"
#include "upsweep/status.h"
#include "value.h"

namespace upsweep::web {

Value plan_value(const Plan& plan);
// {error: {kind, message}}: what a call answers when it fails.
Value error_value(const Error& failed);

}  // namespace upsweep::web
