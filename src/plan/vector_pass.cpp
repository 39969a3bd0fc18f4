// SPDX-License-Identifier: Apache-2.0
#include "plan/vector_pass.h"

#include <algorithm>
#include <bit>
#include <format>
#include <utility>
#include <vector>

#include "plan/grid.h"
#include "plan/lowering.h"
#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

constexpr std::uint32_t most_unrolled = 16;
// Each workgroup of the next pass folds as many partial sums.
constexpr std::uint32_t most_workgroups = 4096;
// For what else a kernel shares: a vector of a few words.
constexpr std::uint32_t shared_bytes = 16;

std::string unrolled(std::uint32_t count, std::string_view line) {
  std::string text;
  for (std::uint32_t k = 0; k < count; ++k) {
    for (const char c : line) {
      if (c == '#') {
        text += std::to_string(k);
      } else {
        text += c;
      }
    }
  }
  return text;
}

}  // namespace

std::uint32_t VectorPass::group_count(std::uint64_t items) const {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(div_ceil(items, tile_items()), max_workgroups));
}

bool VectorPass::is_sound() const {
  return std::has_single_bit(workgroup_size) && items_per_thread >= 1 && items_per_thread <= most_unrolled &&
         max_workgroups >= 1 && max_workgroups <= most_workgroups;
}

VectorPass VectorPass::fitted(const DeviceTraits& traits) const {
  VectorPass pass = *this;
  pass.workgroup_size = std::min(pass.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  // A value of 16 bytes a thread, and one a subgroup.
  const auto bytes = [&] { return (pass.workgroup_size + subgroup_slots(pass.workgroup_size)) * 16 + shared_bytes; };
  while (pass.workgroup_size > 1 && bytes() > traits.max_workgroup_bytes) pass.workgroup_size /= 2;
  return pass;
}

KernelBuilder start_vector_pass(std::string name, std::uint32_t components, const VectorPass& pass,
                                const DeviceTraits& traits) {
  const ElementType type = components == 1 ? ElementType::f32() : ElementType::vec(Scalar::f32, components);
  const auto op = lower_operator(BinaryOperator::sum(), type, nullptr);  // defined for every such type
  KernelBuilder builder(std::move(name));
  const FoldPath path = choose_fold_path(*op, traits, pass.workgroup_size, pass.use_subgroups);
  add_fold(builder, path, *op, traits, pass.workgroup_size);
  builder.more_workgroup_bytes(shared_bytes);
  builder.alias("Accumulator", op->accumulator);
  builder.generated("sum", std::format("fn combine(a: Accumulator, b: Accumulator) -> Accumulator {{ return {}; }}\n"
                                       "fn identity() -> Accumulator {{ return {}; }}\n",
                                       op->combine_expression, op->identity_expression));
  builder.constant("TILE_ITEMS", pass.tile_items());
  builder.part("grid.wgsl");
  return builder;
}

void add_item_functions(KernelBuilder& builder, std::string_view name, std::string_view more_parameters,
                        bool returns_sum, const VectorPass& pass, std::initializer_list<std::string_view> lines) {
  const auto add = [&](std::string_view role, std::uint32_t count) {
    std::string text =
        std::format("fn {}_{}(first: u32{}){} {{\n", name, role, more_parameters, returns_sum ? " -> Accumulator" : "");
    text += unrolled(count, "  let i# = first + #u * WORKGROUP_SIZE;\n");
    for (const std::string_view line : lines) text += unrolled(count, line);
    if (returns_sum) {
      std::vector<std::string> terms;
      terms.reserve(count);
      for (std::uint32_t k = 0; k < count; ++k) terms.push_back(std::format("s{}", k));
      text += std::format("  return {};\n", combine_tree(std::move(terms)));
    }
    builder.generated(std::string(name), text + "}\n");
  };
  add("tile", pass.items_per_thread);
  add("item", 1);
}

}  // namespace upsweep
