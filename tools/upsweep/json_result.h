// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "upsweep/context.h"

namespace upsweep::cli {

// Prints a command's result as one line, with the time since `start` and the adapter at its end.
inline void print_json(nlohmann::ordered_json json, const Context& context,
                       std::chrono::steady_clock::time_point start) {
  json["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  json["adapter"] = context.traits().adapter;
  std::cout << json.dump() << '\n';
}

}  // namespace upsweep::cli
