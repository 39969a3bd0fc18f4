// SPDX-License-Identifier: Apache-2.0
#include "plan_value.h"

#include <algorithm>
#include <format>

#include "fields.h"

namespace upsweep::web {
namespace {

Value number(std::uint64_t value) { return Value::of_number(static_cast<double>(value)); }

Value slot_value(SlotId slot) {
  constexpr std::string_view kinds[] = {"argument", "scratch", "constant", "state"};
  Value value = Value::object();
  value.set("kind", kinds[static_cast<std::size_t>(slot.kind)]).set("index", number(slot.index));
  return value;
}

Value kernel_value(const Kernel& kernel) {
  constexpr std::string_view kinds[] = {"uniform", "storage_read", "storage_read_write"};
  Value lines = Value::list();
  for (const LineOrigin& line : kernel.lines) {
    Value origin = Value::object();
    origin.set("first_line", number(line.first_line)).set("origin", line.origin);
    lines.push(std::move(origin));
  }
  Value bindings = Value::list();
  for (const KernelBinding& binding : kernel.bindings) {
    Value one = Value::object();
    one.set("name", binding.name)
        .set("index", number(binding.index))
        .set("kind", kinds[static_cast<std::size_t>(binding.kind)]);
    bindings.push(std::move(one));
  }
  Value params = Value::list();
  for (const std::string& field : kernel.params) params.push(field);
  Value value = Value::object();
  value.set("name", kernel.name)
      .set("entry", kernel.entry)
      .set("text", kernel.text)
      .set("text_hash", std::format("{:016x}", kernel.text_hash))
      .set("lines", std::move(lines))
      .set("bindings", std::move(bindings))
      .set("params", std::move(params))
      .set("workgroup_size", number(kernel.workgroup_size))
      .set("workgroup_bytes", number(kernel.workgroup_bytes))
      .set("needs_subgroups", kernel.needs_subgroups)
      .set("needs_f16", kernel.needs_f16);
  return value;
}

Value bound_range_value(const BoundRange& range) {
  Value value = Value::object();
  value.set("binding", number(range.binding))
      .set("slot", slot_value(range.slot))
      .set("offset_bytes", number(range.offset_bytes))
      .set("size_bytes", number(range.size_bytes));
  if (range.first_item_field) value.set("first_item_field", number(*range.first_item_field));
  return value;
}

Value dispatch_value(const Dispatch& dispatch, std::size_t kernel) {
  Value bindings = Value::list();
  for (const BoundRange& range : dispatch.bindings) bindings.push(bound_range_value(range));
  Value value = Value::object();
  value.set("kernel", number(kernel)).set("bindings", std::move(bindings));
  if (dispatch.grid.indirect) {
    Value indirect = Value::object();
    indirect.set("slot", slot_value(*dispatch.grid.indirect))
        .set("offset_bytes", number(dispatch.grid.indirect_offset_bytes));
    value.set("indirect", std::move(indirect));
  } else {
    Value grid = Value::list();
    for (const std::uint32_t count : {dispatch.grid.x, dispatch.grid.y, dispatch.grid.z}) grid.push(number(count));
    value.set("grid", std::move(grid));
  }
  value.set("params", Value::of_bytes(dispatch.params));
  if (dispatch.alike_fields) {
    Value alike = Value::list();
    alike.push(number(dispatch.alike_fields->first));
    alike.push(number(dispatch.alike_fields->second));
    value.set("alike_fields", std::move(alike));
  }
  value.set("reason", dispatch.reason)
      .set("bytes_read", number(dispatch.bytes_read))
      .set("bytes_written", number(dispatch.bytes_written));
  return value;
}

}  // namespace

Value error_value(const Error& failed) {
  constexpr std::string_view kinds[] = {"invalid_request", "unsupported", "device", "internal"};
  Value error = Value::object();
  error.set("kind", kinds[static_cast<std::size_t>(failed.kind)]).set("message", failed.message);
  Value answer = Value::object();
  answer.set("error", std::move(error));
  return answer;
}

Value plan_value(const Plan& plan) {
  Value arguments = Value::list();
  for (const ArgumentSlot& slot : plan.arguments) {
    Value one = Value::object();
    one.set("name", camel_case(slot.name))
        .set("size_bytes", number(slot.size_bytes))
        .set("stride_bytes", number(slot.stride_bytes))
        .set("is_written", slot.is_written);
    arguments.push(std::move(one));
  }
  Value scratch = Value::list();
  for (const ScratchSlot& slot : plan.scratch) {
    Value one = Value::object();
    one.set("name", slot.name)
        .set("group", number(static_cast<std::uint64_t>(slot.group)))
        .set("offset_bytes", number(slot.offset_bytes))
        .set("size_bytes", number(slot.size_bytes))
        .set("first_step", number(slot.first_step))
        .set("last_step", number(slot.last_step));
    scratch.push(std::move(one));
  }
  Value states = Value::list();
  for (const StateSlot& slot : plan.states) {
    Value one = Value::object();
    one.set("name", slot.name).set("size_bytes", number(slot.size_bytes));
    states.push(std::move(one));
  }
  Value constants = Value::list();
  for (const auto& bytes : plan.constants) constants.push(Value::of_bytes(bytes));
  // Passes of one kernel share it.
  std::vector<const Kernel*> known;
  Value kernels = Value::list();
  Value dispatches = Value::list();
  for (const Dispatch& dispatch : plan.dispatches) {
    const auto found = std::ranges::find_if(known, [&](const Kernel* kernel) {
      return kernel == dispatch.kernel.get() || kernel->text == dispatch.kernel->text;
    });
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(dispatch.kernel.get());
      kernels.push(kernel_value(*dispatch.kernel));
    }
    dispatches.push(dispatch_value(dispatch, index));
  }
  Value notes = Value::list();
  for (const std::string& note : plan.notes) notes.push(note);
  Value groups = Value::list();
  for (const std::uint64_t bytes : plan.scratch_group_bytes) groups.push(number(bytes));
  Value value = Value::object();
  value.set("name", plan.name)
      .set("arguments", std::move(arguments))
      .set("scratch", std::move(scratch))
      .set("states", std::move(states))
      .set("constants", std::move(constants))
      .set("kernels", std::move(kernels))
      .set("dispatches", std::move(dispatches))
      .set("notes", std::move(notes))
      .set("scratch_group_bytes", std::move(groups))
      .set("scratch_bytes", number(plan.scratch_bytes))
      .set("least_bytes", number(plan.least_bytes))
      .set("counts_results", plan.counts_results);
  return value;
}

}  // namespace upsweep::web
