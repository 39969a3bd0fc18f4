// SPDX-License-Identifier: Apache-2.0
// What tests read out of the plans of primitives that are scans underneath, without a device: limits, and which items
// each pass walks over.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <format>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/scan_tuning.h"

namespace upsweep::testing {

/// A hand-made GPU with more than the least, whose self-test passed.
inline DeviceTraits gpu_traits() {
  DeviceTraits traits;
  traits.max_workgroup_size = 1024;
  traits.max_workgroup_bytes = 32768;
  traits.max_storage_buffers = 16;
  traits.max_binding_bytes = (std::uint64_t{1} << 32) - 4;
  traits.max_buffer_bytes = std::uint64_t{1} << 40;
  traits.offset_alignment = 32;
  traits.subgroups = true;
  traits.subgroup_min_size = 32;
  traits.subgroup_max_size = 32;
  traits.subgroup_id_builtin = true;
  traits.look_back = true;
  traits.f16 = true;
  traits.adapter = "test GPU";
  return traits;
}

inline DeviceTraits least_traits() {
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
  traits.f16 = true;
  return traits;
}

inline DeviceTraits emulated_traits() {
  DeviceTraits traits = least_traits();
  traits.emulated_subgroup_size = 16;
  return traits;
}

inline DeviceTraits with_limits(std::uint32_t workgroups_per_dimension, std::uint64_t binding_bytes) {
  DeviceTraits traits = least_traits();
  if (workgroups_per_dimension != 0) traits.max_workgroups_per_dimension = workgroups_per_dimension;
  if (binding_bytes != 0) traits.max_binding_bytes = binding_bytes;
  return traits;
}

/// Tiles of 8192 32-bit items; whatever the library would choose.
inline ScanTuning fixed_tuning(ScanPath path = ScanPath::two_pass) { return {.path = path}; }

/// Tiles of 4 threads x 2 loads.
inline ScanTuning tiny_tuning(ScanPath path = ScanPath::two_pass) {
  return {.path = path, .workgroup_size = 4, .rows = 2, .max_workgroups = 64, .one_workgroup_items = 8};
}

inline bool is_role(const Dispatch& dispatch, std::string_view role) { return dispatch.kernel->name.ends_with(role); }

/// The role of each pass: "totals chunks".
inline std::string roles_of(const Plan& plan) {
  std::string roles;
  for (const Dispatch& dispatch : plan.dispatches) {
    const std::string& name = dispatch.kernel->name;
    roles += (roles.empty() ? "" : " ") + name.substr(plan.name.size() + 1);
  }
  return roles;
}

inline std::uint64_t param_of(const Dispatch& dispatch, std::string_view name) {
  const auto& fields = dispatch.kernel->params;
  const auto found = std::ranges::find(fields, name);
  EXPECT_NE(found, fields.end()) << name;
  std::uint32_t value = 0;
  if (found != fields.end()) std::memcpy(&value, dispatch.params.data() + 4 * (found - fields.begin()), 4);
  return value;
}

inline const BoundRange* range_of(const Dispatch& dispatch, std::string_view variable) {
  const KernelBinding* binding = dispatch.kernel->find_binding(variable);
  if (binding == nullptr) return nullptr;
  const auto found = std::ranges::find(dispatch.bindings, binding->index, &BoundRange::binding);
  return found == dispatch.bindings.end() ? nullptr : &*found;
}

/// Sizes and constants of a kernel, read from its text.
class KernelText {
 public:
  explicit KernelText(const Kernel& kernel) : text_(kernel.text) {}

  [[nodiscard]] std::uint64_t constant(const std::string& name) const {
    auto at = text_.find("const " + name + ":");
    if (at == std::string::npos) at = text_.find("const " + name + " =");
    if (at == std::string::npos) {
      ADD_FAILURE() << "no constant " << name;
      return 0;
    }
    const auto begin = text_.find('=', at) + 1;
    return value_of(text_.substr(begin, text_.find(';', begin) - begin));
  }

  /// Of an array that is bound as `variable`: its binding must hold one at least.
  [[nodiscard]] std::uint64_t item_bytes(std::string_view variable) const {
    const auto at = text_.find(std::format("> {}: array<", variable));
    if (at == std::string::npos) return 0;
    const auto begin = text_.find("array<", at) + 6;
    return layout_of(text_.substr(begin, text_.find(">;", begin) - begin)).size;
  }

  /// Bytes of the workgroup variables as WebGPU counts them: each rounded up to 16.
  [[nodiscard]] std::uint64_t workgroup_bytes() const {
    std::uint64_t bytes = 0;
    constexpr std::string_view start = "\nvar<workgroup> ";
    for (auto at = text_.find(start); at != std::string::npos; at = text_.find(start, at + 1)) {
      const auto colon = text_.find(": ", at) + 2;
      bytes += (layout_of(text_.substr(colon, text_.find(';', colon) - colon)).size + 15) / 16 * 16;
    }
    return bytes;
  }

 private:
  struct Layout {
    std::uint64_t size = 0;
    std::uint64_t alignment = 4;
  };

  // Sums, products, min() of two, literals and names.
  [[nodiscard]] std::uint64_t value_of(std::string expression) const {
    std::erase(expression, ' ');
    if (expression.starts_with("min(")) {
      const auto comma = expression.find(',');
      return std::min(value_of(expression.substr(4, comma - 4)),
                      value_of(expression.substr(comma + 1, expression.size() - comma - 2)));
    }
    for (const char op : {'+', '*', '/'}) {
      const auto at = expression.rfind(op);
      if (at == std::string::npos) continue;
      const std::uint64_t left = value_of(expression.substr(0, at));
      const std::uint64_t right = value_of(expression.substr(at + 1));
      return op == '+' ? left + right : op == '*' ? left * right : left / right;
    }
    if (expression.find_first_not_of("0123456789u") == std::string::npos)
      return std::strtoull(expression.c_str(), nullptr, 10);
    return constant(expression);
  }

  [[nodiscard]] Layout layout_of(std::string type) const {
    const auto inner = [&](std::size_t from) { return type.substr(from, type.size() - from - 1); };
    if (type == "u32" || type == "i32" || type == "f32") return {4, 4};
    if (type == "f16") return {2, 2};
    if (type.starts_with("atomic<")) return layout_of(inner(7));
    if (type.starts_with("vec2h") || type.starts_with("vec2<f16>")) return {4, 4};
    if (type.starts_with("vec4h") || type.starts_with("vec4<f16>")) return {8, 8};
    if (type.starts_with("vec2")) return {8, 8};
    if (type.starts_with("vec3")) return {12, 16};
    if (type.starts_with("vec4")) return {16, 16};
    if (type.starts_with("array<")) {
      const std::string arguments = inner(6);
      const auto comma = arguments.rfind(',');
      const Layout element = layout_of(arguments.substr(0, comma));
      const std::uint64_t stride = (element.size + element.alignment - 1) / element.alignment * element.alignment;
      return {stride * value_of(arguments.substr(comma + 1)), element.alignment};
    }
    if (const auto alias = text_.find("\nalias " + type + " = "); alias != std::string::npos) {
      const auto begin = text_.find('=', alias) + 2;
      return layout_of(text_.substr(begin, text_.find(';', begin) - begin));
    }
    const auto at = text_.find("struct " + type + " {");
    if (at == std::string::npos) {
      ADD_FAILURE() << "unknown type " << type;
      return {};
    }
    const auto open = text_.find('{', at) + 1;
    return layout_of_members(text_.substr(open, text_.find('}', open) - open));
  }

  [[nodiscard]] Layout layout_of_members(const std::string& members) const {
    Layout all{0, 4};
    for (auto colon = members.find(": "); colon != std::string::npos; colon = members.find(": ", colon + 1)) {
      std::size_t end = colon + 2;
      for (int depth = 0; end < members.size() && (depth > 0 || members[end] != ','); ++end) {
        depth += members[end] == '<' ? 1 : members[end] == '>' ? -1 : 0;
      }
      std::string type = members.substr(colon + 2, end - colon - 2);
      while (type.ends_with(' ') || type.ends_with('\n')) type.pop_back();
      const Layout member = layout_of(type);
      all.size = (all.size + member.alignment - 1) / member.alignment * member.alignment + member.size;
      all.alignment = std::max(all.alignment, member.alignment);
    }
    all.size = (all.size + all.alignment - 1) / all.alignment * all.alignment;
    return all;
  }

  const std::string& text_;
};

inline void expect_limits(const Plan& plan, const DeviceTraits& traits) {
  for (const Dispatch& dispatch : plan.dispatches) {
    const Kernel& kernel = *dispatch.kernel;
    EXPECT_LE(kernel.workgroup_size, traits.max_workgroup_size);
    EXPECT_LE(KernelText(kernel).workgroup_bytes(), traits.max_workgroup_bytes) << kernel.name;
    EXPECT_LE(kernel.workgroup_bytes, traits.max_workgroup_bytes);
    EXPECT_TRUE(traits.subgroups || !kernel.needs_subgroups);
    EXPECT_LE(std::ranges::count_if(kernel.bindings, [](const auto& b) { return b.kind != BindingKind::uniform; }),
              traits.max_storage_buffers)
        << kernel.name;
    for (const std::uint32_t size : {dispatch.grid.x, dispatch.grid.y, dispatch.grid.z}) {
      EXPECT_GE(size, 1u);
      EXPECT_LE(size, traits.max_workgroups_per_dimension);
    }
    for (const BoundRange& range : dispatch.bindings) {
      EXPECT_GT(range.size_bytes, 0u);
      EXPECT_LE(range.size_bytes, traits.max_binding_bytes);
      const auto binding = std::ranges::find(kernel.bindings, range.binding, &KernelBinding::index);
      ASSERT_NE(binding, kernel.bindings.end());
      // Bindings are whole words; whole blocks of the output are bound from in front of the range.
      if (binding->name != "output_units") {
        EXPECT_GE((range.size_bytes + 3) / 4 * 4, KernelText(kernel).item_bytes(binding->name))
            << kernel.name << ": " << binding->name;
      }
      EXPECT_TRUE(range.first_item_field || range.offset_bytes % traits.offset_alignment == 0);
    }
  }
  for (const ScratchSlot& slot : plan.scratch) {
    EXPECT_EQ(slot.offset_bytes % traits.offset_alignment, 0u);
    EXPECT_LE(slot.offset_bytes + slot.size_bytes, plan.scratch_bytes);
    for (const ScratchSlot& other : plan.scratch) {
      if (&slot == &other || slot.group != other.group) continue;
      if (slot.last_step < other.first_step || other.last_step < slot.first_step) continue;
      EXPECT_TRUE(slot.offset_bytes + slot.size_bytes <= other.offset_bytes ||
                  other.offset_bytes + other.size_bytes <= slot.offset_bytes);
    }
  }
}

/// What a plan must walk over: rows of so many items of `stride_bytes` each, in a view at `offset_bytes`.
struct Walk {
  std::uint64_t row_count = 1;
  std::uint64_t row_length = 0;
  std::uint32_t stride_bytes = 4;
  std::uint64_t offset_bytes = 0;
  bool is_reverse = false;
  std::uint32_t halo = 0;  // items in front of a window that it sees, too
};

inline void expect_whole_dispatch(const Dispatch& dispatch) {
  const KernelText text(*dispatch.kernel);
  const std::uint64_t tile = text.constant("TILE_ITEMS");
  const std::uint64_t unit = text.constant("UNIT_ITEMS");
  const std::uint64_t length = param_of(dispatch, "row_length");
  const std::uint64_t chunk = param_of(dispatch, "chunk_tiles") * tile;
  const std::uint64_t chunks = param_of(dispatch, "chunks_per_row");
  // A row may begin, and reversed also end, inside a unit.
  EXPECT_GE(chunk * chunks, length + unit - 1) << "items are left out";
  EXPECT_LT(chunk * (chunks - 1), length + 2 * (unit - 1)) << "a chunk is empty";
  EXPECT_LT(param_of(dispatch, "row_count") * length + chunk * chunks - length + 2 * tile, std::uint64_t{1} << 32)
      << "positions overflow";
  const std::uint64_t grid = std::uint64_t{dispatch.grid.x} * dispatch.grid.y * dispatch.grid.z;
  const std::uint64_t wanted = param_of(dispatch, "row_count") * chunks;
  EXPECT_GE(grid, wanted);
  // All workgroups of a single pass take tickets; the kernel must know how many there are.
  EXPECT_EQ(param_of(dispatch, "workgroup_count"), is_role(dispatch, "single_pass") ? grid : wanted);
}

/// Every item of every row is stored by one pass, windows follow one another in the scan's direction and hand over
/// their totals, and every chunk's total is known before it is used.
inline void expect_walk(const Plan& plan, const Walk& walk, const DeviceTraits& traits) {
  std::uint64_t row = 0;
  std::uint64_t item = 0;  // of the row, in the scan's direction
  for (std::size_t step = 0; step < plan.dispatches.size(); ++step) {
    const Dispatch& dispatch = plan.dispatches[step];
    expect_whole_dispatch(dispatch);
    const std::uint64_t rows = param_of(dispatch, "row_count");
    const std::uint64_t length = param_of(dispatch, "row_length");
    const std::uint64_t first = param_of(dispatch, "index_base");
    const bool is_first = item == 0;
    ASSERT_LE(row + rows, walk.row_count);
    const std::uint64_t row_now = walk.is_reverse ? walk.row_count - row - rows : row;
    ASSERT_EQ(param_of(dispatch, "row_base"), row_now);
    ASSERT_EQ(first, walk.is_reverse ? walk.row_length - item - length : item);
    ASSERT_EQ(param_of(dispatch, "is_first_window"), is_first ? 1u : 0u);
    const char* variable = dispatch.kernel->find_binding("input") != nullptr ? "input" : "input_units";
    if (const BoundRange* input = range_of(dispatch, variable)) {
      const std::uint64_t halo = is_first ? 0 : walk.halo;
      ASSERT_EQ(input->offset_bytes, (row_now * walk.row_length + first - halo) * walk.stride_bytes);
      ASSERT_EQ(input->size_bytes, (rows * length + halo) * walk.stride_bytes);
      // Bound from the last aligned offset on.
      const std::uint64_t lead = (walk.offset_bytes + input->offset_bytes) % traits.offset_alignment;
      ASSERT_LE(lead + input->size_bytes, traits.max_binding_bytes);
    }
    if (is_role(dispatch, "totals")) {
      ASSERT_LT(step + 1, plan.dispatches.size());
      ASSERT_TRUE(is_role(plan.dispatches[step + 1], "chunks"));
      ASSERT_EQ(range_of(dispatch, "partials")->slot, range_of(plan.dispatches[step + 1], "partials")->slot);
      continue;
    }
    const bool is_last = item + length == walk.row_length;
    if (!is_role(dispatch, "map")) {
      EXPECT_EQ(range_of(dispatch, "carry") != nullptr, !is_first);
      EXPECT_EQ(range_of(dispatch, "carry_out") != nullptr, !is_last);
    }
    if (range_of(dispatch, "partials") != nullptr) {
      ASSERT_GT(step, 0u);
      ASSERT_TRUE(is_role(plan.dispatches[step - 1], "totals"));
    }
    item += length;
    if (item == walk.row_length) {
      item = 0;
      row += rows;
    } else {
      ASSERT_EQ(rows, 1u);
    }
  }
  EXPECT_EQ(item, 0u);
  EXPECT_EQ(row, walk.row_count);
}

/// Compares with the file's text; UPSWEEP_UPDATE_GOLDEN writes it first.
inline void expect_golden(const std::string& room, const std::string& now) {
  const std::string path = std::format("{}/src/primitives/{}/{}_plans.golden.txt", UPSWEEP_SOURCE_DIR, room, room);
  if (std::getenv("UPSWEEP_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << now;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << path;
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(now, golden) << "If the change is wanted, run this test with UPSWEEP_UPDATE_GOLDEN=1 and review the diff.";
}

}  // namespace upsweep::testing
