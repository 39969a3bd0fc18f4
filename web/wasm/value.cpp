// SPDX-License-Identifier: Apache-2.0
#include "value.h"

#include <algorithm>
#include <cstring>

namespace upsweep::web {
namespace {

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::optional<Value> read() {
    Value value;
    std::uint8_t tag = 0;
    if (!take(&tag, 1) || tag > static_cast<std::uint8_t>(Value::Kind::object)) return std::nullopt;
    value.kind = static_cast<Value::Kind>(tag);
    switch (value.kind) {
      case Value::Kind::number: return take(&value.number, 8) ? std::optional(std::move(value)) : std::nullopt;
      case Value::Kind::text:
      case Value::Kind::bytes: return take_text(value.text) ? std::optional(std::move(value)) : std::nullopt;
      case Value::Kind::list:
      case Value::Kind::object: return read_items(std::move(value));
      default: return value;
    }
  }

 private:
  std::optional<Value> read_items(Value value) {
    std::uint32_t count = 0;
    if (!take(&count, 4)) return std::nullopt;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (value.kind == Value::Kind::object && !take_text(value.names.emplace_back())) return std::nullopt;
      auto item = read();
      if (!item) return std::nullopt;
      value.items.push_back(std::move(*item));
    }
    return value;
  }
  bool take(void* to, std::size_t size) {
    if (bytes_.size() < size) return false;
    std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return true;
  }
  bool take_text(std::string& text) {
    std::uint32_t size = 0;
    if (!take(&size, 4) || bytes_.size() < size) return false;
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  std::string_view bytes_;
};

void append(std::string& out, const void* from, std::size_t size) { out.append(static_cast<const char*>(from), size); }

void append_text(std::string& out, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  append(out, &size, 4);
  out += text;
}

void append_value(std::string& out, const Value& value) {
  out += static_cast<char>(value.kind);
  if (value.kind == Value::Kind::number) append(out, &value.number, 8);
  if (value.kind == Value::Kind::text || value.kind == Value::Kind::bytes) append_text(out, value.text);
  if (value.kind != Value::Kind::list && value.kind != Value::Kind::object) return;
  const auto count = static_cast<std::uint32_t>(value.items.size());
  append(out, &count, 4);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (value.kind == Value::Kind::object) append_text(out, value.names[i]);
    append_value(out, value.items[i]);
  }
}

}  // namespace

const Value* Value::find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

std::optional<Value> decode(std::string_view bytes) { return Decoder(bytes).read(); }

std::string encode(const Value& value) {
  std::string out;
  append_value(out, value);
  return out;
}

}  // namespace upsweep::web
