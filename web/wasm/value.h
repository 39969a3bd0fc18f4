// SPDX-License-Identifier: Apache-2.0
// Trees of plain values and their bytes: what passes between JavaScript and the planners. web/src/codec.ts is the other
// side. A tag byte, then: number: f64; text and bytes: u32 length and the bytes; list: u32 count and the values;
// object: u32 count, and for each field its name as a text without tag, and its value. Little-endian, nothing aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace upsweep::web {

struct Value {
  enum class Kind : std::uint8_t { none, boolean_false, boolean_true, number, text, bytes, list, object };
  Kind kind = Kind::none;
  double number = 0;
  std::string text;                // of text and bytes
  std::vector<Value> items;        // of list and object
  std::vector<std::string> names;  // of the object's items

  Value() = default;
  Value(bool value) : kind(value ? Kind::boolean_true : Kind::boolean_false) {}  // NOLINT(*-explicit-*)
  Value(std::string value) : kind(Kind::text), text(std::move(value)) {}         // NOLINT(*-explicit-*)
  Value(std::string_view value) : Value(std::string(value)) {}                   // NOLINT(*-explicit-*)
  Value(const char* value) : Value(std::string(value)) {}                        // NOLINT(*-explicit-*)
  static Value of_number(double number) {
    Value value;
    value.kind = Kind::number;
    value.number = number;
    return value;
  }
  static Value of_bytes(std::span<const std::byte> bytes) {
    Value value(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    value.kind = Kind::bytes;
    return value;
  }
  static Value list() { return of_kind(Kind::list); }
  static Value object() { return of_kind(Kind::object); }

  // Adds a field to an object, or an item to a list.
  Value& set(std::string_view name, Value value) {
    names.emplace_back(name);
    items.push_back(std::move(value));
    return *this;
  }
  void push(Value value) { items.push_back(std::move(value)); }
  [[nodiscard]] const Value* find(std::string_view name) const;
  [[nodiscard]] bool is_bool() const { return kind == Kind::boolean_false || kind == Kind::boolean_true; }

 private:
  static Value of_kind(Kind kind) {
    Value value;
    value.kind = kind;
    return value;
  }
};

// Nothing if the bytes are no value.
std::optional<Value> decode(std::string_view bytes);
std::string encode(const Value& value);

}  // namespace upsweep::web
