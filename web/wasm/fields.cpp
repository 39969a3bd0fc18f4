// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

namespace upsweep::web {

std::string camel_case(std::string_view name) {
  std::string result;
  bool up = false;
  for (const char c : name) {
    if (c == '_') {
      up = true;
    } else {
      result += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      up = false;
    }
  }
  return result;
}

std::string to_string(const Place& place) {
  const std::string name = camel_case(place.name);
  return place.parent == nullptr ? name : to_string(*place.parent) + "." + name;
}

void Reader::refuse(const Place& at, std::string_view what) {
  if (error_.empty()) error_ = to_string(at) + " " + std::string(what) + ".";
}

void Reader::refuse_unknown(const Value& value, const FieldList& fields, const Place& at) {
  std::string list;
  for (const Field& field : fields) list += (list.empty() ? "" : ", ") + camel_case(field.name);
  for (const std::string& name : value.names) {
    if (std::ranges::find(fields, name, &Field::name) != fields.end()) continue;
    return refuse(at, "has no field \"" + camel_case(name) + "\"; there are " + list);
  }
  refuse(at, "names a field twice");
}

void Reader::read_fields(const Value& value, const FieldList& fields, const Place& at) {
  if (value.kind != Value::Kind::object) return refuse(at, "is no object");
  std::size_t known = 0;
  for (const Field& field : fields) {
    const Value* given = value.find(field.name);
    if (given == nullptr) continue;
    ++known;
    if (given->kind != Value::Kind::none) field.type->read(*this, *given, field.member, Place{field.name, &at});
  }
  if (known != value.names.size()) refuse_unknown(value, fields, at);
}

Value written_fields(const FieldList& fields) {
  Value value = Value::object();
  for (const Field& field : fields) {
    if (field.type->write != nullptr) value.set(field.name, field.type->write(field.member));
  }
  return value;
}

double Reader::whole_number(const Value& value, double least, double most, const Place& at) {
  if (value.kind == Value::Kind::number && std::trunc(value.number) == value.number && value.number >= least &&
      value.number <= most) {
    return value.number;
  }
  refuse(at, "is no whole number from " + std::to_string(static_cast<std::int64_t>(least)) + " to " +
                 std::to_string(static_cast<std::int64_t>(most)));
  return 0;
}

std::size_t Reader::name_index(const Value& value, std::span<const std::string_view> names, const Place& at) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (value.kind == Value::Kind::text && value.text == names[i]) return i;
    list += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  refuse(at, "is none of " + list);
  return 0;
}

void Reader::read(const Value& value, bool& to, const Place& at) {
  if (!value.is_bool()) return refuse(at, "is neither true nor false");
  to = value.kind == Value::Kind::boolean_true;
}

void Reader::read(const Value& value, std::string& to, const Place& at) {
  if (value.kind != Value::Kind::text) return refuse(at, "is no text");
  to = value.text;
}

// A number, or {max: number}: read on the device.
void Reader::read(const Value& value, Count& to, const Place& at) {
  const Value* max = value.kind == Value::Kind::object && value.names.size() == 1 ? value.find("max") : nullptr;
  if (value.kind != Value::Kind::number && max == nullptr) return refuse(at, "is neither a number nor {max: number}");
  to.read_on_device = max != nullptr;
  read(max != nullptr ? *max : value, to.max, at);
}

void Reader::read(const Value& value, ElementType& to, const Place& at) {
  const auto take = [&](Result<ElementType> type) {
    if (!type && error_.empty()) error_ = type.error().message;
    if (type) to = std::move(*type);
  };
  if (value.kind == Value::Kind::text) return take(element_type_from_name(value.text));
  StructureFields fields;
  read(value, fields, at);
  if (!error_.empty()) return;
  take(ElementType::structure(std::move(fields.name), std::move(fields.wgsl), fields.size_bytes, fields.stride_bytes));
}

void Reader::read(const Value& value, BinaryOperator& to, const Place& at) {
  if (value.kind == Value::Kind::text) {
    auto known = operator_from_name(value.text);
    if (!known && error_.empty()) error_ = known.error().message;
    if (known) to = std::move(*known);
    return;
  }
  to = BinaryOperator::custom({}, {}, {});
  read<BinaryOperator>(value, to, at);
}

void Reader::read(const Value& value, KeyOrder& to, const Place& at) {
  if (value.kind == Value::Kind::text) {
    if (value.text != "ascending" && value.text != "descending") return refuse(at, "is none of ascending, descending");
    to.reverse = value.text == "descending";
    return;
  }
  read<KeyOrder>(value, to, at);
}

void Reader::read(const Value& value, std::vector<double>& to, const Place& at) {
  if (value.kind != Value::Kind::bytes || value.text.size() % 8 != 0) return refuse(at, "is no list of numbers");
  to.resize(value.text.size() / 8);
  std::memcpy(to.data(), value.text.data(), value.text.size());
}

void Reader::read(const Value& value, ConstantValue& to, const Place& at) {
  if (value.kind != Value::Kind::bytes) return refuse(at, "is not the bytes of a value");
  to = ConstantValue::from_bytes(std::as_bytes(std::span(value.text)));
}

}  // namespace upsweep::web
