// SPDX-License-Identifier: Apache-2.0
// Assembles a kernel: directives, then a prelude of constants and aliases, the caller's text, one-line adapters, shared
// parts, the kernel file. WGSL lets names be used before they are declared, so no template engine is needed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/element.h"
#include "upsweep/plan.h"

namespace upsweep {

class KernelBuilder {
 public:
  // `name` labels the pipeline. The entry point is `main`, declared by one of the entry.*.wgsl parts.
  explicit KernelBuilder(std::string name);

  KernelBuilder& enable(std::string_view extension);          // "enable subgroups;"
  KernelBuilder& require(std::string_view language_feature);  // "requires subgroup_id;"
  KernelBuilder& relax(std::string_view rule);                // "diagnostic(off, subgroup_uniformity);"
  KernelBuilder& constant(std::string_view name, std::uint32_t value);
  KernelBuilder& alias(std::string_view name, std::string_view type);
  // Text that the caller wrote, named in messages by `origin`. Repeated texts are taken once.
  KernelBuilder& caller_text(std::string origin, std::string_view text);
  // The declaration of a type, if it has one. Types of one name must be the same.
  KernelBuilder& caller_type(const ElementType& type);
  // The function `head` of what the caller wrote as one expression, named in messages by `origin`.
  KernelBuilder& caller_expression(std::string origin, std::string_view head, std::string_view expression);
  // Text that a planner made: adapters, unrolled loops.
  KernelBuilder& generated(std::string origin, std::string_view text);
  // An embedded file, taken once.
  KernelBuilder& part(std::string_view file);
  KernelBuilder& workgroup(std::uint32_t size, std::uint32_t workgroup_bytes);
  KernelBuilder& more_workgroup_bytes(std::uint32_t bytes);

  Result<std::shared_ptr<const Kernel>> build() &&;

 private:
  struct Piece {
    std::string origin;
    std::string text;
  };
  void refuse(std::string message);  // the first one is told
  void check_closed(std::string_view origin, std::string_view text);
  Kernel kernel_;
  std::string directives_;
  std::string prelude_;
  std::vector<Piece> caller_;
  std::vector<Piece> pieces_;
  std::string missing_;  // a part that does not exist
  std::string refused_;  // what is wrong with the caller's text
};

}  // namespace upsweep
