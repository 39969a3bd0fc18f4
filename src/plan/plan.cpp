// SPDX-License-Identifier: Apache-2.0
#include "upsweep/plan.h"

#include <algorithm>
#include <cstring>
#include <format>

namespace upsweep {

std::string Kernel::locate(std::uint32_t line) const {
  const LineOrigin* found = nullptr;
  for (const LineOrigin& origin : lines) {
    if (origin.first_line <= line) found = &origin;
  }
  if (found == nullptr) return std::format("line {}", line);
  return std::format("{}:{}", found->origin, line - found->first_line + 1);
}

const KernelBinding* Kernel::find_binding(std::string_view binding_name) const {
  const auto found = std::ranges::find(bindings, binding_name, &KernelBinding::name);
  return found == bindings.end() ? nullptr : &*found;
}

std::uint64_t Plan::bytes_moved() const {
  std::uint64_t bytes = 0;
  for (const Dispatch& dispatch : dispatches) bytes += dispatch.bytes_read + dispatch.bytes_written;
  return bytes;
}

const ArgumentSlot* Plan::find_argument(std::string_view argument_name) const {
  const auto found = std::ranges::find(arguments, argument_name, &ArgumentSlot::name);
  return found == arguments.end() ? nullptr : &*found;
}

namespace {

std::string slot_name(const Plan& plan, SlotId slot) {
  switch (slot.kind) {
    case SlotKind::argument: return plan.arguments[slot.index].name;
    case SlotKind::scratch: return "scratch." + plan.scratch[slot.index].name;
    case SlotKind::constant: return std::format("constant[{}]", slot.index);
    case SlotKind::state: return "state." + plan.states[slot.index].name;
  }
  return "?";
}

std::string dispatch_text(const Plan& plan, const Dispatch& dispatch) {
  const Kernel& kernel = *dispatch.kernel;
  std::string text = kernel.name;
  if (dispatch.grid.indirect) {
    text +=
        std::format("  grid from {}+{}", slot_name(plan, *dispatch.grid.indirect), dispatch.grid.indirect_offset_bytes);
  } else {
    text += std::format("  grid {}", dispatch.grid.x);
    if (dispatch.grid.y > 1 || dispatch.grid.z > 1) text += std::format(" x {}", dispatch.grid.y);
    if (dispatch.grid.z > 1) text += std::format(" x {}", dispatch.grid.z);
  }
  text += std::format("  workgroup {} threads, {} bytes\n", kernel.workgroup_size, kernel.workgroup_bytes);
  if (!dispatch.reason.empty()) text += std::format("      why     {}\n", dispatch.reason);
  for (const BoundRange& range : dispatch.bindings) {
    const auto variable = std::ranges::find(kernel.bindings, range.binding, &KernelBinding::index);
    text +=
        std::format("      {:<7} {} = {} [{}, +{})\n", variable->kind == BindingKind::storage_read ? "read" : "access",
                    variable->name, slot_name(plan, range.slot), range.offset_bytes, range.size_bytes);
  }
  text += "      params ";
  for (std::size_t field = 0; field < kernel.params.size(); ++field) {
    std::uint32_t value = 0;
    std::memcpy(&value, dispatch.params.data() + field * 4, 4);
    const bool is_patched = std::ranges::any_of(
        dispatch.bindings, [&](const BoundRange& range) { return range.first_item_field == field; });
    text += is_patched ? std::format(" {}=<offset>", kernel.params[field])
                       : std::format(" {}={}", kernel.params[field], value);
  }
  return text + '\n';
}

}  // namespace

std::string to_string(const Plan& plan) {
  std::string text = std::format("plan {}: {} {}, {} bytes of scratch\n", plan.name, plan.dispatches.size(),
                                 plan.dispatches.size() == 1 ? "pass" : "passes", plan.scratch_bytes);
  for (const std::string& note : plan.notes) text += std::format("  note    {}\n", note);
  for (const ArgumentSlot& argument : plan.arguments) {
    text += std::format("  {}  {}: {} bytes, stride {}\n", argument.is_written ? "output" : "input ", argument.name,
                        argument.size_bytes, argument.stride_bytes);
  }
  for (const ScratchSlot& slot : plan.scratch) {
    text += std::format("  scratch {}: {} bytes at {}, passes {} to {}\n", slot.name, slot.size_bytes,
                        slot.offset_bytes, slot.first_step, slot.last_step);
  }
  for (const StateSlot& slot : plan.states) {
    text += std::format("  state   {}: {} bytes, kept by the context\n", slot.name, slot.size_bytes);
  }
  for (std::size_t i = 0; i < plan.dispatches.size(); ++i) {
    text += std::format("  [{}] {}", i, dispatch_text(plan, plan.dispatches[i]));
  }
  text += std::format("  moves {}{} bytes; {} must move\n", plan.counts_results ? "at most " : "", plan.bytes_moved(),
                      plan.least_bytes);
  return text;
}

}  // namespace upsweep
