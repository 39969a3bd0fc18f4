// SPDX-License-Identifier: Apache-2.0
// Element types: what one item of a buffer is, in bytes and in WGSL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "upsweep/status.h"

namespace upsweep {

/// The number that a built-in element type is made of.
/// `u64` and `i64` are stored little-endian as two 32-bit words (low word first) and are `vec2u` in WGSL.
enum class Scalar : std::uint8_t { u32, i32, f32, f16, u64, i64 };

/// One item of a buffer. A value; compare with ==.
struct ElementType {
  std::string name;         ///< "f32", "vec4<u32>", or the name of the caller's struct.
  std::string wgsl_type;    ///< The type as WGSL spells it: "f32", "vec4<u32>", "vec2u" for u64, "MinMax".
  std::string declaration;  ///< WGSL text that declares `wgsl_type`; empty for built-in types.
  std::uint32_t size_bytes = 0;
  std::uint32_t stride_bytes = 0;  ///< Distance between items of an array (WGSL's stride).
  std::optional<Scalar> scalar;    ///< Empty for structs.
  std::uint32_t components = 1;    ///< 1, 2 or 4; more than 1 only for 32-bit scalars.

  bool operator==(const ElementType&) const = default;

  [[nodiscard]] bool is_struct() const { return !scalar.has_value(); }
  [[nodiscard]] bool is_float() const { return scalar == Scalar::f32 || scalar == Scalar::f16; }
  [[nodiscard]] bool is_64_bit() const { return scalar == Scalar::u64 || scalar == Scalar::i64; }

  static ElementType u32();
  static ElementType i32();
  static ElementType f32();
  static ElementType f16();  ///< Needs the feature shader-f16; arithmetic is done in f32.
  static ElementType u64();
  static ElementType i64();
  /// A vector of 2 or 4 components of u32, i32 or f32; operators act on each component. Anything else gives a type of
  /// no size, which planners refuse.
  static ElementType vec(Scalar scalar, std::uint32_t components);

  /// A struct (or any other host-shareable type) declared by `wgsl`, e.g.
  ///   ElementType::structure("MinMax", "struct MinMax { low: f32, high: f32 }", 8, 8)
  /// `size_bytes` and `stride_bytes` are those of WGSL's storage layout (a vec3f member aligns to 16); both must be
  /// multiples of 4. `Context::check_element` compares the stride with the device's.
  static Result<ElementType> structure(std::string name, std::string wgsl, std::uint32_t size_bytes,
                                       std::uint32_t stride_bytes);
};

/// A built-in type by name: "u32", "vec2<f32>" or "vec2f", ... Error if there is none.
[[nodiscard]] Result<ElementType> element_type_from_name(std::string_view name);

/// Bytes of one value, for `init`. Holds a copy.
class ConstantValue {
 public:
  ConstantValue() = default;
  /// The bytes of `value` as the device stores its element type (8-byte integers are two words).
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  static ConstantValue of(const T& value) {
    return from_bytes(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  static ConstantValue from_bytes(std::span<const std::byte> bytes) {
    ConstantValue constant;
    constant.bytes_.assign(bytes.begin(), bytes.end());
    return constant;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  bool operator==(const ConstantValue&) const = default;

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace upsweep
