// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_builder.h"

#include <algorithm>
#include <cstring>
#include <format>

#include "plan/grid.h"

namespace upsweep {

PlanBuilder::PlanBuilder(std::string name, const DeviceTraits& traits) : traits_(traits) {
  plan_.name = std::move(name);
}

SlotId PlanBuilder::argument(std::string name, std::uint64_t size_bytes, std::uint32_t stride_bytes, bool is_written) {
  plan_.arguments.push_back({std::move(name), size_bytes, stride_bytes, is_written});
  return {SlotKind::argument, static_cast<std::uint32_t>(plan_.arguments.size() - 1)};
}

SlotId PlanBuilder::scratch(std::string name, std::uint64_t size_bytes, ScratchGroup group) {
  // Bound as arrays of up to 16-byte elements: a multiple of 16 is never too short for the last one.
  const std::uint64_t size = align_up(std::max<std::uint64_t>(size_bytes, 16), 16);
  plan_.scratch.push_back({.name = std::move(name), .size_bytes = size, .first_step = ~0u, .group = group});
  return {SlotKind::scratch, static_cast<std::uint32_t>(plan_.scratch.size() - 1)};
}

SlotId PlanBuilder::constant(std::span<const std::byte> bytes) {
  std::vector<std::byte> padded(bytes.begin(), bytes.end());
  padded.resize(static_cast<std::size_t>(align_up(std::max<std::uint64_t>(bytes.size(), 16), 16)));
  plan_.constants.push_back(std::move(padded));
  return {SlotKind::constant, static_cast<std::uint32_t>(plan_.constants.size() - 1)};
}

SlotId PlanBuilder::state(std::string name, std::uint64_t size_bytes) {
  plan_.states.push_back({std::move(name), size_bytes});
  return {SlotKind::state, static_cast<std::uint32_t>(plan_.states.size() - 1)};
}

void PlanBuilder::note(std::string text) { plan_.notes.push_back(std::move(text)); }

void PlanBuilder::least_bytes(std::uint64_t bytes) { plan_.least_bytes = bytes; }

void PlanBuilder::least_bytes_of_counted(std::uint64_t bytes) {
  least_bytes(bytes);
  plan_.counts_results = true;
}

void PlanBuilder::dispatch(Step step) {
  if (!status_) return;
  const std::string kernel_name = step.kernel ? step.kernel->name : "?";
  if (const Status added = add(std::move(step)); !added) {
    status_ = with_context(
        added.error(), std::format("planning pass {} ({}) of {}", plan_.dispatches.size(), kernel_name, plan_.name));
  }
}

void PlanBuilder::dispatch(const Result<std::shared_ptr<const Kernel>>& kernel, Step step) {
  if (!status_) return;
  if (!kernel) {
    status_ = std::unexpected(kernel.error());
    return;
  }
  step.kernel = *kernel;
  dispatch(std::move(step));
}

std::uint64_t PlanBuilder::slot_size(SlotId slot) const {
  switch (slot.kind) {
    case SlotKind::argument: return plan_.arguments[slot.index].size_bytes;
    case SlotKind::scratch: return plan_.scratch[slot.index].size_bytes;
    case SlotKind::constant: return plan_.constants[slot.index].size();
    case SlotKind::state: return plan_.states[slot.index].size_bytes;
  }
  return 0;
}

Status PlanBuilder::add(Step&& step) {
  const Kernel& kernel = *step.kernel;
  if (kernel.workgroup_size > traits_.max_workgroup_size) {
    return fail(ErrorKind::unsupported, std::format("A workgroup of {} threads is larger than the device's limit ({}).",
                                                    kernel.workgroup_size, traits_.max_workgroup_size));
  }
  if (kernel.workgroup_bytes > traits_.max_workgroup_bytes) {
    return fail(ErrorKind::unsupported,
                std::format("Workgroup memory of {} bytes is larger than the device's limit ({}).",
                            kernel.workgroup_bytes, traits_.max_workgroup_bytes));
  }
  if (kernel.needs_subgroups && !traits_.subgroups) {
    return fail(ErrorKind::unsupported, "The kernel needs the feature subgroups, which the device does not have.");
  }
  if (kernel.needs_f16 && !traits_.f16) {
    return fail(ErrorKind::unsupported, "f16 items need the feature shader-f16, which the device does not have.");
  }
  const auto storage_count =
      std::ranges::count_if(kernel.bindings, [](const KernelBinding& b) { return b.kind != BindingKind::uniform; });
  if (static_cast<std::uint32_t>(storage_count) > traits_.max_storage_buffers) {
    return fail(ErrorKind::unsupported, std::format("{} storage buffers are more than the device's limit ({}).",
                                                    storage_count, traits_.max_storage_buffers));
  }

  Dispatch dispatch;
  dispatch.kernel = step.kernel;
  dispatch.reason = std::move(step.reason);
  dispatch.bytes_read = step.bytes_read;
  dispatch.bytes_written = step.bytes_written;
  if (step.grid) {
    dispatch.grid = *step.grid;
  } else {
    const std::uint64_t workgroups =
        step.thread_count != 0 ? div_ceil(step.thread_count, kernel.workgroup_size) : step.workgroup_count;
    const auto grid = fold_grid(workgroups, traits_);
    if (!grid) {
      return fail(ErrorKind::unsupported,
                  std::format("{} workgroups do not fit into three dimensions of at most {}, numbered by a u32.",
                              workgroups, traits_.max_workgroups_per_dimension));
    }
    dispatch.grid = *grid;
  }

  dispatch.params.resize(kernel.params.size() * 4);
  for (std::size_t field = 0; field < kernel.params.size(); ++field) {
    const std::string& name = kernel.params[field];
    const auto given = std::ranges::find(step.params, name, &Param::name);
    const bool is_patched =
        std::ranges::any_of(step.bindings, [&](const Binding& b) { return b.first_item_field == name; });
    std::uint32_t value = 0;
    if (given != step.params.end()) {
      value = given->value;
    } else if (name == "grid_width") {
      value = dispatch.grid.x;
    } else if (name == "grid_height") {
      value = dispatch.grid.y;
    } else if (!is_patched) {
      return fail(ErrorKind::internal, std::format("Params field {} has no value.", name));
    }
    std::memcpy(dispatch.params.data() + field * 4, &value, 4);
  }
  for (const Param& param : step.params) {
    if (std::ranges::find(kernel.params, param.name) == kernel.params.end()) {
      return fail(ErrorKind::internal, std::format("The kernel has no params field {}.", param.name));
    }
  }

  for (const Binding& binding : step.bindings) {
    if (const Status added = add_binding(binding, dispatch); !added) return added;
  }
  if (step.alike_fields) {
    const auto index = [&](std::string_view name) {
      return static_cast<std::uint32_t>(std::ranges::find(kernel.params, name) - kernel.params.begin());
    };
    dispatch.alike_fields = {index(step.alike_fields->first), index(step.alike_fields->second)};
    if (std::max(dispatch.alike_fields->first, dispatch.alike_fields->second) >= kernel.params.size()) {
      return fail(ErrorKind::internal, "The kernel lacks the params fields that must be alike.");
    }
  }
  for (const KernelBinding& wanted : kernel.bindings) {
    if (wanted.kind == BindingKind::uniform) continue;
    const auto count = std::ranges::count(dispatch.bindings, wanted.index, &BoundRange::binding);
    if (count != 1) {
      return fail(ErrorKind::internal, std::format("Binding {} is given {} times.", wanted.name, count));
    }
  }
  if (dispatch.grid.indirect) {
    if (const Status added = add_indirect(dispatch.grid); !added) return added;
  }
  plan_.dispatches.push_back(std::move(dispatch));
  return {};
}

Status PlanBuilder::check_kind(SlotId slot, const KernelBinding& variable) const {
  const bool is_own = slot.kind == SlotKind::state ||
                      (slot.kind == SlotKind::scratch && plan_.scratch[slot.index].group == ScratchGroup::working);
  if (is_own && variable.kind != BindingKind::storage_read_write) {
    return fail(
        ErrorKind::internal,
        std::format("Working scratch and state may be bound to read_write variables only, not to {}.", variable.name));
  }
  if (slot.kind == SlotKind::constant && variable.kind != BindingKind::storage_read) {
    return fail(ErrorKind::internal,
                std::format("Constants may be bound to read variables only, not to {}.", variable.name));
  }
  return {};
}

void PlanBuilder::use_scratch(SlotId slot_id) {
  if (slot_id.kind != SlotKind::scratch) return;
  ScratchSlot& slot = plan_.scratch[slot_id.index];
  const auto step = static_cast<std::uint32_t>(plan_.dispatches.size());
  slot.first_step = std::min(slot.first_step, step);
  slot.last_step = std::max(slot.last_step, step);
}

Status PlanBuilder::add_indirect(const Grid& grid) {
  const std::uint64_t whole = slot_size(*grid.indirect);
  const bool is_readable = grid.indirect->kind == SlotKind::argument || grid.indirect->kind == SlotKind::scratch;
  if (!is_readable || grid.indirect_offset_bytes % 4 != 0 || grid.indirect_offset_bytes + 12 > whole) {
    return fail(ErrorKind::internal,
                std::format("A grid cannot be read at {} from a slot of {} bytes.", grid.indirect_offset_bytes, whole));
  }
  if (grid.indirect->kind == SlotKind::scratch) {
    ScratchSlot& slot = plan_.scratch[grid.indirect->index];
    const auto step = static_cast<std::uint32_t>(plan_.dispatches.size());
    if (slot.first_step >= step) {
      return fail(ErrorKind::internal, std::format("No earlier pass writes the grid in {}.", slot.name));
    }
    slot.last_step = step;
    slot.group = ScratchGroup::grids;
  }
  return {};
}

Status PlanBuilder::add_binding(const Binding& binding, Dispatch& dispatch) {
  const Kernel& kernel = *dispatch.kernel;
  const KernelBinding* variable = kernel.find_binding(binding.name);
  if (variable == nullptr || variable->kind == BindingKind::uniform) {
    return fail(ErrorKind::internal, std::format("The kernel has no storage binding {}.", binding.name));
  }
  if (const Status ok = check_kind(binding.slot, *variable); !ok) return ok;
  BoundRange range;
  range.binding = variable->index;
  range.slot = binding.slot;
  range.offset_bytes = binding.offset_bytes;
  const std::uint64_t whole = slot_size(binding.slot);
  range.size_bytes = binding.size_bytes != 0 ? binding.size_bytes : whole - std::min(whole, binding.offset_bytes);
  if (range.size_bytes == 0 || range.offset_bytes + range.size_bytes > whole) {
    return fail(ErrorKind::internal, std::format("Range {}+{} of binding {} does not fit into its slot of {} bytes.",
                                                 range.offset_bytes, range.size_bytes, binding.name, whole));
  }
  if (range.size_bytes > traits_.max_binding_bytes) {
    return fail(ErrorKind::unsupported,
                std::format("{} of {} bytes is larger than the device's limit of one binding ({} bytes).", binding.name,
                            range.size_bytes, traits_.max_binding_bytes));
  }
  if (!binding.first_item_field.empty()) {
    const auto field = std::ranges::find(kernel.params, binding.first_item_field);
    if (field == kernel.params.end() || binding.slot.kind != SlotKind::argument ||
        range.offset_bytes % plan_.arguments[binding.slot.index].stride_bytes != 0) {
      return fail(ErrorKind::internal, std::format("Binding {} cannot report its first item in {}.", binding.name,
                                                   binding.first_item_field));
    }
    range.first_item_field = static_cast<std::uint32_t>(field - kernel.params.begin());
  } else if (range.offset_bytes % traits_.offset_alignment != 0) {
    return fail(ErrorKind::internal,
                std::format("Offset {} of binding {} is not aligned.", range.offset_bytes, binding.name));
  }
  use_scratch(binding.slot);
  if (binding.slot.kind == SlotKind::argument && variable->kind == BindingKind::storage_read_write) {
    plan_.arguments[binding.slot.index].is_written = true;
  }
  dispatch.bindings.push_back(range);
  return {};
}

void PlanBuilder::append(const Result<Plan>& inner, std::span<const Outer> arguments) {
  if (!status_) return;
  if (!inner) {
    status_ = std::unexpected(inner.error());
    return;
  }
  if (const Status added = add_all(*inner, arguments); !added) {
    status_ = with_context(added.error(), std::format("appending {} to {}", inner->name, plan_.name));
  }
}

Status PlanBuilder::add_all(const Plan& inner, std::span<const Outer> arguments) {
  std::vector<Outer> outers;
  for (const ArgumentSlot& argument : inner.arguments) {
    const auto given = std::ranges::find(arguments, std::string_view(argument.name), &Outer::name);
    if (given == arguments.end()) return fail(ErrorKind::internal, std::format("{} is nothing here.", argument.name));
    const std::uint64_t whole = slot_size(given->slot);
    if (given->offset_bytes + argument.size_bytes > whole) {
      return fail(ErrorKind::internal, std::format("{} needs {} bytes from {} on; its slot has {}.", argument.name,
                                                   argument.size_bytes, given->offset_bytes, whole));
    }
    if (given->slot.kind == SlotKind::argument) {
      ArgumentSlot& outer = plan_.arguments[given->slot.index];
      if (outer.stride_bytes != argument.stride_bytes || given->offset_bytes != 0) {
        return fail(ErrorKind::internal,
                    std::format("Items of {} bytes in {} are not the {} bytes of {}.", outer.stride_bytes, outer.name,
                                argument.stride_bytes, argument.name));
      }
      outer.is_written = outer.is_written || argument.is_written;
    }
    outers.push_back(*given);
  }
  const auto first = [](const auto& slots) { return static_cast<std::uint32_t>(slots.size()); };
  const std::uint32_t first_scratch = first(plan_.scratch);
  const std::uint32_t first_constant = first(plan_.constants);
  const std::uint32_t first_state = first(plan_.states);
  for (ScratchSlot slot : inner.scratch) {
    slot.first_step = ~0u;
    slot.last_step = 0;
    plan_.scratch.push_back(std::move(slot));
  }
  plan_.constants.append_range(inner.constants);
  plan_.states.append_range(inner.states);
  plan_.notes.append_range(inner.notes);
  const auto moved = [&](SlotId slot) -> SlotId {
    switch (slot.kind) {
      case SlotKind::argument: return outers[slot.index].slot;
      case SlotKind::scratch: return {slot.kind, first_scratch + slot.index};
      case SlotKind::constant: return {slot.kind, first_constant + slot.index};
      case SlotKind::state: return {slot.kind, first_state + slot.index};
    }
    return slot;
  };
  for (Dispatch dispatch : inner.dispatches) {
    for (BoundRange& range : dispatch.bindings) {
      const SlotId slot = moved(range.slot);
      const auto variable = std::ranges::find(dispatch.kernel->bindings, range.binding, &KernelBinding::index);
      if (const Status ok = check_kind(slot, *variable); !ok) return ok;
      if (range.slot.kind == SlotKind::argument && slot.kind != SlotKind::argument) {
        // No view of a caller's, so the offset is known here.
        const std::uint64_t wanted = outers[range.slot.index].offset_bytes + range.offset_bytes;
        const std::uint64_t aligned = align_down(wanted, traits_.offset_alignment);
        const std::uint64_t stride = inner.arguments[range.slot.index].stride_bytes;
        if ((wanted != aligned && !range.first_item_field) || (wanted - aligned) % stride != 0) {
          return fail(ErrorKind::internal, std::format("{} cannot begin at {} in scratch.", variable->name, wanted));
        }
        if (range.first_item_field) {
          const auto first_item = static_cast<std::uint32_t>((wanted - aligned) / stride);
          std::memcpy(dispatch.params.data() + std::size_t{*range.first_item_field} * 4, &first_item, 4);
        }
        range.first_item_field = std::nullopt;
        range.offset_bytes = aligned;
        range.size_bytes += wanted - aligned;
      }
      range.slot = slot;
      use_scratch(slot);
    }
    if (dispatch.grid.indirect) {
      dispatch.grid.indirect = moved(*dispatch.grid.indirect);
      use_scratch(*dispatch.grid.indirect);
    }
    plan_.dispatches.push_back(std::move(dispatch));
  }
  return {};
}

Result<Plan> PlanBuilder::finish() && {
  if (!status_) return std::unexpected(status_.error());
  for (const Dispatch& dispatch : plan_.dispatches) {
    if (const Status ok = check_scratch_use(dispatch); !ok) return std::unexpected(ok.error());
  }
  for (std::size_t group = 0; group < scratch_group_count; ++group) {
    std::uint64_t& bytes = plan_.scratch_group_bytes[group];
    bytes = lay_out_scratch(plan_.scratch, traits_.offset_alignment, static_cast<ScratchGroup>(group));
    plan_.scratch_bytes += bytes;
    if (bytes > traits_.max_buffer_bytes) {
      return fail(ErrorKind::unsupported,
                  std::format("{} needs {} bytes of scratch, more than the device's largest buffer ({} bytes).",
                              plan_.name, bytes, traits_.max_buffer_bytes));
    }
  }
  return std::move(plan_);
}

const ScratchSlot* PlanBuilder::bound_scratch(const Dispatch& dispatch, ScratchGroup group, BindingKind kind) const {
  for (const BoundRange& range : dispatch.bindings) {
    if (range.slot.kind != SlotKind::scratch || plan_.scratch[range.slot.index].group != group) continue;
    const auto variable = std::ranges::find(dispatch.kernel->bindings, range.binding, &KernelBinding::index);
    if (variable->kind == kind) return &plan_.scratch[range.slot.index];
  }
  return nullptr;
}

// What WebGPU would refuse, since the slots of a group lie in one buffer.
Status PlanBuilder::check_scratch_use(const Dispatch& dispatch) const {
  const auto read = [&](ScratchGroup group) { return bound_scratch(dispatch, group, BindingKind::storage_read); };
  const auto written = [&](ScratchGroup group) {
    return bound_scratch(dispatch, group, BindingKind::storage_read_write);
  };
  if (dispatch.grid.indirect && dispatch.grid.indirect->kind == SlotKind::scratch) {
    const ScratchSlot* slot = written(ScratchGroup::grids);
    if (slot == nullptr) slot = read(ScratchGroup::grids);
    if (slot != nullptr) {
      return fail(ErrorKind::internal,
                  std::format("{} reads its grid from scratch and binds scratch slot {}, which holds a grid, too.",
                              dispatch.kernel->name, slot->name));
    }
  }
  for (const ScratchGroup group :
       {ScratchGroup::grids, ScratchGroup::first, ScratchGroup::second, ScratchGroup::third, ScratchGroup::fourth}) {
    if (read(group) != nullptr && written(group) != nullptr) {
      return fail(ErrorKind::internal, std::format("{} reads scratch slot {} and writes {} of the same buffer.",
                                                   dispatch.kernel->name, read(group)->name, written(group)->name));
    }
  }
  return {};
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::uint64_t lay_out_scratch(std::vector<ScratchSlot>& slots, std::uint64_t alignment, ScratchGroup group) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    ScratchSlot& slot = slots[i];
    if (slot.group != group) continue;
    std::uint64_t offset = 0;
    // First fit: move past every placed slot that lives at the same time, until nothing overlaps.
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t j = 0; j < i; ++j) {
        const ScratchSlot& other = slots[j];
        if (other.group != group) continue;
        const bool lives_meet = slot.first_step <= other.last_step && other.first_step <= slot.last_step;
        const bool bytes_meet =
            offset < other.offset_bytes + other.size_bytes && other.offset_bytes < offset + slot.size_bytes;
        if (lives_meet && bytes_meet) {
          offset = align_up(other.offset_bytes + other.size_bytes, alignment);
          moved = true;
        }
      }
    }
    slot.offset_bytes = offset;
    total = std::max(total, offset + slot.size_bytes);
  }
  return total;
}

}  // namespace upsweep
