// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "number.h"

namespace upsweep::cli {

// A number of `dtype`; text for infinities and NaN, which JSON does not have.
inline nlohmann::json json_number(const Number& settled, npy::Dtype dtype) {
  std::string text = format_number(settled, dtype);
  const double* value = std::get_if<double>(&settled);
  if (value != nullptr && !std::isfinite(*value)) return text;
  if (dtype == npy::Dtype::b1) return text == "True";
  return nlohmann::json::parse(text);
}

}  // namespace upsweep::cli
