// SPDX-License-Identifier: Apache-2.0
#include "plan/wgsl_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <format>

namespace upsweep {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view next_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

constexpr std::string_view binding_start = "@group(0) @binding(";

// `line` starts with binding_start. Returns the binding and the name of its type.
Result<std::pair<KernelBinding, std::string_view>> read_binding(std::string_view line) {
  const auto malformed = [&] {
    return fail(ErrorKind::internal, std::format("Cannot read the binding line \"{}\".", line));
  };
  std::string_view rest = line.substr(binding_start.size());
  KernelBinding binding;
  const auto number = std::from_chars(rest.data(), rest.data() + rest.size(), binding.index);
  // The executor keeps sets of bindings in 32 bits.
  if (number.ec != std::errc{} || binding.index > 31) return malformed();
  rest.remove_prefix(static_cast<std::size_t>(number.ptr - rest.data()));
  const auto take = [&](std::string_view prefix) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    return true;
  };
  if (!take(") var<")) return malformed();
  if (take("uniform> ")) {
    binding.kind = BindingKind::uniform;
  } else if (take("storage, read> ")) {
    binding.kind = BindingKind::storage_read;
  } else if (take("storage, read_write> ")) {
    binding.kind = BindingKind::storage_read_write;
  } else {
    return malformed();
  }
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos || !rest.ends_with(';')) return malformed();
  binding.name = trim(rest.substr(0, colon));
  const std::string_view type = trim(rest.substr(colon + 1, rest.size() - colon - 2));
  return std::pair{std::move(binding), type};
}

Result<std::vector<std::string>> read_struct_fields(std::string_view text, std::string_view name) {
  const std::string head = std::format("struct {} {{", name);
  // The last one: the kernel's file ends the text, and a caller's comment before it may hold anything.
  const auto start = text.rfind(head);
  if (start == std::string_view::npos) {
    return fail(ErrorKind::internal, std::format("The kernel declares no struct {}.", name));
  }
  std::vector<std::string> fields;
  std::string_view rest = text.substr(start + head.size());
  next_line(rest);
  for (;;) {
    std::string_view line = trim(next_line(rest));
    if (line.starts_with("}")) return fields;
    line = trim(line.substr(0, line.find("//")));
    if (line.empty()) {
      if (rest.empty()) return fail(ErrorKind::internal, std::format("Struct {} has no end.", name));
      continue;
    }
    const auto colon = line.find(':');
    std::string_view type = colon == std::string_view::npos ? std::string_view{} : trim(line.substr(colon + 1));
    if (type.ends_with(',')) type = trim(type.substr(0, type.size() - 1));
    if (type != "u32" && type != "i32" && type != "f32") {
      return fail(ErrorKind::internal,
                  std::format("Struct {} may hold u32, i32 and f32 only, not \"{}\".", name, line));
    }
    fields.emplace_back(trim(line.substr(0, colon)));
  }
}

}  // namespace

Result<WgslInterface> read_wgsl_interface(std::string_view text) {
  WgslInterface interface;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = trim(next_line(rest));
    if (!line.starts_with(binding_start)) {
      const std::string_view code = line.substr(0, line.find("//"));
      if (!code.contains("@binding(") && !code.contains("@group(")) continue;
      return fail(ErrorKind::internal, std::format("The line \"{}\" must begin with \"{}n)\".", line, binding_start));
    }
    auto read = read_binding(line);
    if (!read) return std::unexpected(read.error());
    auto& [binding, type] = *read;
    const bool repeated = std::ranges::any_of(interface.bindings, [&](const KernelBinding& other) {
      return other.index == binding.index || other.name == binding.name;
    });
    if (repeated) {
      return fail(ErrorKind::internal,
                  std::format("Binding {} \"{}\" is declared twice.", binding.index, binding.name));
    }
    if (binding.kind == BindingKind::uniform) {
      auto fields = read_struct_fields(text, type);
      if (!fields) return std::unexpected(fields.error());
      interface.params = std::move(*fields);
    }
    interface.bindings.push_back(std::move(binding));
  }
  std::ranges::sort(interface.bindings, {}, &KernelBinding::index);
  return interface;
}

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '_' || byte >= 0x80 || std::isalnum(byte) != 0;
}

std::vector<std::string_view> declared_names(std::string_view text) {
  std::vector<std::string_view> names;
  std::string_view previous;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const bool is_declared = previous == "fn" || previous == "struct" || previous == "alias" || previous == "const";
    if (is_declared) names.push_back(word);
    previous = word;
    at = end;
  }
  return names;
}

std::string with_shared_access(std::string_view text, std::uint32_t binding) {
  const std::string head = std::format("{}{}) ", binding_start, binding);
  constexpr std::string_view from = "var<storage, read> ";
  std::string result(text);
  const auto at = result.find(head + std::string(from));
  if (at != std::string::npos) result.replace(at + head.size(), from.size(), "var<storage, read_write> ");
  return result;
}

}  // namespace upsweep
