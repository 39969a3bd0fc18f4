// SPDX-License-Identifier: Apache-2.0
// The fields of one struct as data: one function reads all structs, which keeps the module small.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "value.h"

namespace upsweep::web {

class Reader;

// Where in a request a value is.
struct Place {
  std::string_view name;
  const Place* parent = nullptr;
};

struct FieldType {
  void (*read)(Reader& reader, const Value& value, void* to, const Place& at);
  Value (*write)(const void* from);  // null where nobody asks
};
template <typename T>
const FieldType* field_type();

struct Field {
  std::string_view name;
  void* member = nullptr;
  const FieldType* type = nullptr;
};

class FieldList {
 public:
  // DeviceTraits has most; a test looks.
  static constexpr std::size_t capacity = 32;

  template <typename T>
  void operator()(std::string_view name, T& member) {
    add(name, &member, field_type<T>());
  }
  [[nodiscard]] const Field* begin() const { return fields_.data(); }
  [[nodiscard]] const Field* end() const { return fields_.data() + count_; }

 private:
  [[gnu::noinline]] void add(std::string_view name, void* member, const FieldType* type) {
    fields_[count_++] = {name, member, type};
  }
  std::array<Field, capacity> fields_{};
  std::uint32_t count_ = 0;
};

}  // namespace upsweep::web
