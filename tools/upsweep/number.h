// SPDX-License-Identifier: Apache-2.0
// Single values: results of the device, as NumPy prints and stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "npy.h"
#include "upsweep/element.h"

namespace upsweep::cli {

using Number = std::variant<std::uint64_t, std::int64_t, double>;

npy::Dtype dtype_of(Scalar scalar);

// Item `index` of packed items of a scalar type.
Number number_at(std::span<const std::byte> items, Scalar type, std::size_t index);

// The nearest value of `dtype`: integers are clamped, floats rounded to nearest even. Other functions expect it.
Number settle(const Number& number, npy::Dtype dtype);

// As NumPy prints a scalar: "True", "-7", "0.1", "1e-05", "nan".
std::string format_number(const Number& settled, npy::Dtype dtype);

// The bytes that a file of `dtype` holds.
void append_bytes(std::vector<std::byte>& bytes, const Number& settled, npy::Dtype dtype);

// Nothing if `text` is no number or beyond those of `dtype`; "true" and "false" are 1 and 0, "inf" and "nan" are
// floats.
std::optional<Number> parse_number(std::string_view text, npy::Dtype dtype);

// Order of minima (is_min) or maxima in which NaN comes first; false for equal numbers.
bool comes_first(const Number& a, const Number& b, bool is_min);

}  // namespace upsweep::cli
