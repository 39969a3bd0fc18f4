// SPDX-License-Identifier: Apache-2.0
// What explanations of calls on keys with values share: options, and the types that they name.
#pragma once

#include <format>
#include <string>

#include "explain.h"

namespace upsweep::cli {

struct KeyedExplainOptions : ExplainOptions {
  std::string values;
  bool indices = false;
  bool no_keys = false;
};

inline void add_key_type(CLI::App& command, KeyedExplainOptions& options) {
  command
      .add_option(
          "--type", options.type,
          "Keys: u32, i32, f32, f16, u64, i64 or f64 (shown as u64 bits); or NumPy's u4, i4, f4, f2, u8, i8, f8")
      ->capture_default_str()
      ->type_name("TYPE");
}

inline void add_keyed_options(CLI::App& command, KeyedExplainOptions& options) {
  add_key_type(command, options);
  command.add_option("--values", options.values, "Values: f16, u32, u64, vec4f, ...; or NumPy's f2, u4, u8")
      ->type_name("TYPE");
  command.add_flag("--indices", options.indices, "Write where each item was");
  command.add_flag("--no-keys", options.no_keys, "Do not write the keys");
}

// Into `key`, `key_is_f64` and `value` of the shape.
template <typename Shape>
Outcome read_keyed_types(const KeyedExplainOptions& options, Shape& shape) {
  // WebGPU has no doubles: their bits are keys of two words.
  shape.key_is_f64 = type_name(options.type) == "f64";
  const auto key = read_type("--type", shape.key_is_f64 ? "u64" : options.type);
  if (!key || key->components != 1) {
    return refuse(std::format("--type {}: keys are u32, i32, f32, f16, u64, i64 or f64", options.type));
  }
  shape.key = *key;
  if (options.values.empty()) return {};
  const auto value = read_type("--values", options.values);
  if (!value) return std::unexpected(value.error());
  shape.value = *value;
  return {};
}

}  // namespace upsweep::cli
