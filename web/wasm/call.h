// SPDX-License-Identifier: Apache-2.0
// What a module has behind its interface to JavaScript.
#pragma once

#include "value.h"

namespace upsweep::web {

Value answer_request(const Value& request);

}  // namespace upsweep::web
