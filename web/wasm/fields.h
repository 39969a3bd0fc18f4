// SPDX-License-Identifier: Apache-2.0
// Reads structs with list_fields() from values, and writes them. Errors name the place: "shape.segments.rowLength".
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shapes.h"
#include "value.h"

namespace upsweep::web {

template <typename T>
concept Described = requires(T& it, FieldList& fields) { list_fields(it, fields); };

std::string to_string(const Place& place);
// "row_length" as JavaScript spells it: "rowLength".
std::string camel_case(std::string_view name);

class Reader {
 public:
  // The first error; empty if all went well.
  [[nodiscard]] const std::string& error() const { return error_; }

  void read(const Value& value, bool& to, const Place& at);
  void read(const Value& value, std::string& to, const Place& at);
  void read(const Value& value, Count& to, const Place& at);
  void read(const Value& value, ElementType& to, const Place& at);
  void read(const Value& value, BinaryOperator& to, const Place& at);
  void read(const Value& value, Transform& to, const Place& at) { read_text_or_fields(value, to, to.expression, at); }
  void read(const Value& value, Equality& to, const Place& at) { read_text_or_fields(value, to, to.expression, at); }
  void read(const Value& value, Predicate& to, const Place& at) { read_text_or_fields(value, to, to.expression, at); }
  void read(const Value& value, KeyOrder& to, const Place& at);
  void read(const Value& value, ConstantValue& to, const Place& at);

  template <typename T>
    requires(std::integral<T> && !std::same_as<T, bool>)
  void read(const Value& value, T& to, const Place& at) {
    // What a double holds exactly is enough for every size.
    constexpr double exact = 9007199254740991.0;
    constexpr double most = sizeof(T) == 8 ? exact : static_cast<double>(std::numeric_limits<T>::max());
    constexpr double least = std::is_unsigned_v<T> ? 0.0 : sizeof(T) == 8 ? -exact : -most - 1;
    to = static_cast<T>(whole_number(value, least, most, at));
  }
  template <std::floating_point T>
  void read(const Value& value, T& to, const Place& at) {
    if (value.kind != Value::Kind::number) return refuse(at, "is no number");
    to = static_cast<T>(value.number);
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void read(const Value& value, Enum& to, const Place& at) {
    to = static_cast<Enum>(name_index(value, names_of<Enum>, at));
  }
  template <typename T>
  void read(const Value& value, std::optional<T>& to, const Place& at) {
    read(value, to.emplace(), at);
  }
  // Many numbers come as packed f64.
  void read(const Value& value, std::vector<double>& to, const Place& at);
  template <typename T>
  void read(const Value& value, std::vector<T>& to, const Place& at) {
    if (value.kind != Value::Kind::list) return refuse(at, "is no list");
    to.resize(value.items.size());
    for (std::size_t i = 0; i < to.size(); ++i) read(value.items[i], to[i], at);
  }
  template <Described T>
  void read(const Value& value, T& to, const Place& at) {
    FieldList fields;
    list_fields(to, fields);
    read_fields(value, fields, at);
  }

 private:
  // A text alone stands for the whole.
  template <typename T>
  void read_text_or_fields(const Value& value, T& to, std::string& text, const Place& at) {
    if (value.kind == Value::Kind::text) {
      text = value.text;
    } else {
      read<T>(value, to, at);
    }
  }
  void read_fields(const Value& value, const FieldList& fields, const Place& at);
  void refuse(const Place& at, std::string_view what);
  void refuse_unknown(const Value& value, const FieldList& fields, const Place& at);
  double whole_number(const Value& value, double least, double most, const Place& at);
  std::size_t name_index(const Value& value, std::span<const std::string_view> names, const Place& at);

  std::string error_;
};

Value written_fields(const FieldList& fields);
template <Described T>
Value written(T& it) {
  FieldList fields;
  list_fields(it, fields);
  return written_fields(fields);
}

// Numbers, flags, texts, enumerators and structs of these: tunings and traits have nothing else.
template <typename T>
constexpr bool is_written =
    std::is_arithmetic_v<T> || std::same_as<T, std::string> || (std::is_enum_v<T> && names_of<T>.size() != 0) ||
    std::same_as<T, ScanTuning> || std::same_as<T, SortTuning>;

template <typename T>
void read_field(Reader& reader, const Value& value, void* to, const Place& at) {
  reader.read(value, *static_cast<T*>(to), at);
}

template <typename T>
Value write_field(const void* from) {
  T it = *static_cast<const T*>(from);
  if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    return it;
  } else if constexpr (std::is_enum_v<T>) {
    return names_of<T>[static_cast<std::size_t>(it)];
  } else if constexpr (Described<T>) {
    return written(it);
  } else {
    return Value::of_number(static_cast<double>(it));
  }
}

template <typename T>
const FieldType* field_type() {
  if constexpr (is_written<T>) {
    static constexpr FieldType type{read_field<T>, write_field<T>};
    return &type;
  } else {
    static constexpr FieldType type{read_field<T>, nullptr};
    return &type;
  }
}

}  // namespace upsweep::web
