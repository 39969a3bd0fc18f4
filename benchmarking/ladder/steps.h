// SPDX-License-Identifier: Apache-2.0
// What the last step of every ladder is called.
#pragma once

#include <string_view>

namespace upsweep::bench {

constexpr std::string_view library_step = "library";
constexpr std::string_view library_title = "the library's choice";

}  // namespace upsweep::bench
