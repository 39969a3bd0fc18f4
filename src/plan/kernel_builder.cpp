// SPDX-License-Identifier: Apache-2.0
#include "plan/kernel_builder.h"

#include <algorithm>
#include <format>

#include "plan/embedded.h"
#include "plan/hash.h"
#include "plan/wgsl_reader.h"

namespace upsweep {

KernelBuilder::KernelBuilder(std::string name) {
  kernel_.name = std::move(name);
  kernel_.entry = "main";
}

KernelBuilder& KernelBuilder::enable(std::string_view extension) {
  directives_ += std::format("enable {};\n", extension);
  if (extension == "subgroups") kernel_.needs_subgroups = true;
  if (extension == "f16") kernel_.needs_f16 = true;
  return *this;
}

KernelBuilder& KernelBuilder::require(std::string_view language_feature) {
  directives_ += std::format("requires {};\n", language_feature);
  return *this;
}

KernelBuilder& KernelBuilder::relax(std::string_view rule) {
  directives_ += std::format("diagnostic(off, {});\n", rule);
  return *this;
}

KernelBuilder& KernelBuilder::constant(std::string_view name, std::uint32_t value) {
  prelude_ += std::format("const {}: u32 = {}u;\n", name, value);
  return *this;
}

KernelBuilder& KernelBuilder::alias(std::string_view name, std::string_view type) {
  // `alias MinMax = MinMax;` would be a redeclaration.
  if (name != type) prelude_ += std::format("alias {} = {};\n", name, type);
  return *this;
}

namespace {

// Names of WGSL that the library's parts and adapters use: a caller who declares one would change their meaning.
constexpr std::string_view taken_names[] = {"abs",
                                            "all",
                                            "any",
                                            "array",
                                            "arrayLength",
                                            "atomic",
                                            "atomicAdd",
                                            "atomicLoad",
                                            "atomicMax",
                                            "atomicMin",
                                            "atomicStore",
                                            "bitcast",
                                            "bool",
                                            "clamp",
                                            "countOneBits",
                                            "countTrailingZeros",
                                            "f16",
                                            "f32",
                                            "firstLeadingBit",
                                            "i32",
                                            "max",
                                            "min",
                                            "select",
                                            "storageBarrier",
                                            "subgroupAdd",
                                            "subgroupAnd",
                                            "subgroupBallot",
                                            "subgroupExclusiveAdd",
                                            "subgroupExclusiveMul",
                                            "subgroupInclusiveAdd",
                                            "subgroupInclusiveMul",
                                            "subgroupMax",
                                            "subgroupMin",
                                            "subgroupMul",
                                            "subgroupOr",
                                            "subgroupShuffle",
                                            "subgroupShuffleUp",
                                            "subgroupShuffleXor",
                                            "subgroupXor",
                                            "u32",
                                            "unpack2x16float",
                                            "vec2",
                                            "vec2f",
                                            "vec2i",
                                            "vec2u",
                                            "vec3",
                                            "vec3u",
                                            "vec4",
                                            "vec4f",
                                            "vec4i",
                                            "vec4u",
                                            "workgroupBarrier",
                                            "workgroupUniformLoad"};

// Behind the comment that begins at `at`; `at` itself if none does; npos if it is not closed. Comments in /* and */
// nest.
std::size_t end_of_comment(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) != "/*") return at;
  std::size_t depth = 0;
  do {
    const std::string_view two = text.substr(at, 2);
    const bool is_mark = two == "/*" || two == "*/";
    if (two == "/*") ++depth;
    if (two == "*/") --depth;
    at += is_mark ? 2 : 1;
  } while (depth > 0 && at < text.size());
  return depth == 0 ? at : std::string_view::npos;
}

// The first of `characters` outside comments; npos if there is none.
std::size_t find_outside_comments(std::string_view text, std::string_view characters) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_comment(text, at);
    if (end == at && characters.contains(text[at])) return at;
    at = std::max(end, at + 1);
  }
  return std::string_view::npos;
}

// What is left open, and its line; nothing if all is well. It would swallow the library's text.
std::string what_is_open(std::string_view text) {
  constexpr std::string_view opening = "([{";
  constexpr std::string_view closing = ")]}";
  const auto at_line = [&](std::size_t at, std::string_view what) {
    return std::format("{}: {}", 1 + std::ranges::count(text.substr(0, at), '\n'), what);
  };
  constexpr std::string_view brackets = "brackets are opened and not closed, or the other way round.";
  std::string open;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t end = end_of_comment(text, at); end != at) {
      if (end == std::string_view::npos) return at_line(at, "a comment is not closed.");
      at = end;
      continue;
    }
    if (const std::size_t kind = opening.find(text[at]); kind != std::string_view::npos) open.push_back(closing[kind]);
    if (closing.contains(text[at])) {
      if (open.empty() || open.back() != text[at]) return at_line(at, brackets);
      open.pop_back();
    }
    ++at;
  }
  return open.empty() ? std::string() : at_line(text.find_last_not_of(" \t\r\n"), brackets);
}

}  // namespace

void KernelBuilder::refuse(std::string message) {
  if (refused_.empty()) refused_ = std::move(message);
}

void KernelBuilder::check_closed(std::string_view origin, std::string_view text) {
  if (const std::string open = what_is_open(text); !open.empty()) refuse(std::format("{}:{}", origin, open));
}

KernelBuilder& KernelBuilder::caller_text(std::string origin, std::string_view text) {
  if (text.empty()) return *this;
  check_closed(origin, text);
  for (const std::string_view name : declared_names(text)) {
    if (!std::ranges::contains(taken_names, name)) continue;
    refuse(std::format("The {} declares \"{}\", a name of WGSL that the library uses; choose another.", origin, name));
  }
  const bool known = std::ranges::any_of(caller_, [&](const Piece& piece) { return piece.text == text; });
  if (!known) caller_.push_back({std::move(origin), std::string(text)});
  return *this;
}

KernelBuilder& KernelBuilder::caller_type(const ElementType& type) {
  if (type.declaration.empty()) return *this;
  std::string origin = std::format("type \"{}\"", type.name);
  const auto same_name = std::ranges::find(caller_, origin, &Piece::origin);
  if (same_name != caller_.end() && same_name->text != type.declaration) {
    refuse(std::format("Two types of one kernel have the name \"{}\" and different declarations.", type.name));
  }
  return caller_text(std::move(origin), type.declaration);
}

KernelBuilder& KernelBuilder::caller_expression(std::string origin, std::string_view head,
                                                std::string_view expression) {
  const std::size_t wrong = find_outside_comments(expression, ";{}");
  if (wrong != std::string_view::npos) {
    refuse(
        std::format("The {} has a \"{}\": it is to be one WGSL expression. What it calls goes into the text beside it.",
                    origin, expression[wrong]));
  }
  check_closed(origin, expression);
  // A comment may end it.
  const std::string_view end = expression.contains("//") ? "\n" : "";
  return generated(std::move(origin), std::format("{} {{ return {}{}; }}\n", head, expression, end));
}

KernelBuilder& KernelBuilder::generated(std::string origin, std::string_view text) {
  if (!text.empty()) pieces_.push_back({std::move(origin), std::string(text)});
  return *this;
}

KernelBuilder& KernelBuilder::part(std::string_view file) {
  const bool known = std::ranges::any_of(pieces_, [&](const Piece& piece) { return piece.origin == file; });
  if (known) return *this;
  auto text = wgsl_file(file);
  if (!text) {
    missing_ = file;
    return *this;
  }
  pieces_.push_back({std::string(file), std::move(*text)});
  return *this;
}

KernelBuilder& KernelBuilder::workgroup(std::uint32_t size, std::uint32_t workgroup_bytes) {
  kernel_.workgroup_size = size;
  kernel_.workgroup_bytes = workgroup_bytes;
  return constant("WORKGROUP_SIZE", size);
}

KernelBuilder& KernelBuilder::more_workgroup_bytes(std::uint32_t bytes) {
  kernel_.workgroup_bytes += bytes;
  return *this;
}

Result<std::shared_ptr<const Kernel>> KernelBuilder::build() && {
  if (!refused_.empty()) return fail(ErrorKind::invalid_request, refused_);
  if (!missing_.empty()) {
    return fail(ErrorKind::internal,
                std::format("Kernel {} names a part that does not exist: {}.", kernel_.name, missing_));
  }
  std::string& text = kernel_.text;
  std::uint32_t line = 1;
  const auto append = [&](std::string_view origin, std::string_view piece) {
    if (piece.empty()) return;
    kernel_.lines.push_back({line, std::string(origin)});
    text += piece;
    if (!piece.ends_with('\n')) text += '\n';
    line += static_cast<std::uint32_t>(std::ranges::count(piece, '\n')) + (piece.ends_with('\n') ? 0 : 1);
  };
  append("directives", directives_);
  append("prelude", prelude_);
  for (const Piece& piece : caller_) append(piece.origin, piece.text);
  for (const Piece& piece : pieces_) append(piece.origin, piece.text);

  auto interface = read_wgsl_interface(text);
  if (!interface) return with_context(interface.error(), std::format("assembling kernel {}", kernel_.name));
  kernel_.bindings = std::move(interface->bindings);
  kernel_.params = std::move(interface->params);
  kernel_.text_hash = hash_bytes(text);
  return std::make_shared<const Kernel>(std::move(kernel_));
}

}  // namespace upsweep
