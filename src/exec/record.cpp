// SPDX-License-Identifier: Apache-2.0
// Recording: resolve the arguments, check them, and write one dispatch after the other. Dull on purpose.
#include <algorithm>
#include <bit>
#include <cstring>
#include <format>

#include "exec/context_impl.h"
#include "plan/grid.h"

namespace upsweep {
namespace {

constexpr std::size_t most_arguments = 16;
constexpr std::size_t most_params_bytes = 256;

std::uint64_t end_of(const BufferView& view) { return view.offset_bytes + view.size_bytes; }

bool overlap(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.offset_bytes < end_of(b) && b.offset_bytes < end_of(a);
}

// The view of one argument, cut to what the plan uses.
Result<BufferView> resolve(const ArgumentSlot& slot, std::span<const Argument> arguments) {
  const auto given = std::ranges::find(arguments, std::string_view(slot.name), &Argument::name);
  if (given == arguments.end() || given->view.buffer == nullptr) {
    return fail(ErrorKind::invalid_request, std::format("Argument {} has no buffer.", slot.name));
  }
  BufferView view = given->view;
  const std::uint64_t buffer_bytes = wgpuBufferGetSize(view.buffer);
  const std::uint64_t rest = buffer_bytes - std::min(buffer_bytes, view.offset_bytes);
  const std::uint64_t available = std::min(view.size_bytes, rest);
  if (view.size_bytes != BufferView::whole && view.size_bytes > rest) {
    return fail(ErrorKind::invalid_request,
                std::format("View {}+{} of argument {} reaches past the end of its buffer ({} bytes).",
                            view.offset_bytes, view.size_bytes, slot.name, buffer_bytes));
  }
  if (available < slot.size_bytes) {
    return fail(ErrorKind::invalid_request,
                std::format("Argument {} has {} bytes; the plan needs {}.", slot.name, available, slot.size_bytes));
  }
  if (view.offset_bytes % slot.stride_bytes != 0) {
    return fail(ErrorKind::invalid_request,
                std::format("Offset {} of argument {} is not a multiple of its item ({} bytes).", view.offset_bytes,
                            slot.name, slot.stride_bytes));
  }
  view.size_bytes = slot.size_bytes;
  return view;
}

Status check_overlaps(const Plan& plan, std::span<const BufferView> views) {
  for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!plan.arguments[i].is_written && !plan.arguments[j].is_written) continue;
      if (!overlap(views[i], views[j])) continue;
      return fail(ErrorKind::invalid_request,
                  std::format("Arguments {} (bytes {} to {}) and {} (bytes {} to {}) overlap in one buffer.",
                              plan.arguments[j].name, views[j].offset_bytes, end_of(views[j]), plan.arguments[i].name,
                              views[i].offset_bytes, end_of(views[i])));
    }
  }
  return {};
}

}  // namespace

std::uint64_t Context::Impl::scratch_offset(const Plan& plan, std::uint32_t slot) const {
  if (!options.debug) return plan.scratch[slot].offset_bytes;
  // Debug contexts never reuse bytes, so that every slot can be read back after every pass.
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < slot; ++i) offset += align_up(plan.scratch[i].size_bytes, traits.offset_alignment);
  return offset;
}

std::uint64_t Context::Impl::scratch_needed(const Plan& plan) const {
  if (!options.debug) return plan.scratch_bytes;
  std::uint64_t bytes = 0;
  for (const ScratchSlot& slot : plan.scratch) bytes += align_up(slot.size_bytes, traits.offset_alignment);
  return bytes;
}

Status Context::Impl::ensure_scratch(std::uint64_t size_bytes) {
  if (size_bytes <= scratch_bytes) return {};
  const std::uint64_t wanted =
      std::max<std::uint64_t>(size_bytes, std::min<std::uint64_t>(std::bit_ceil(size_bytes), traits.max_buffer_bytes));
  auto buffer =
      create_buffer(wanted, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_Indirect, "scratch");
  if (!buffer) return with_context(buffer.error(), std::format("making {} bytes of scratch", wanted));
  // Commands recorded before hold their own references to the old buffer.
  scratch = std::move(*buffer);
  scratch_bytes = wanted;
  statistics.scratch_bytes = wanted;
  bind_groups.clear();
  return {};
}

Status Context::Impl::record_dispatch(WGPUComputePassEncoder pass, const Plan& plan, const Dispatch& dispatch,
                                      std::span<const BufferView> views) {
  const Kernel& kernel = *dispatch.kernel;
  BoundSet bound;
  std::array<std::byte, most_params_bytes> params;
  if (dispatch.params.size() > params.size() || kernel.bindings.size() > BoundSet::most) {
    return fail(ErrorKind::internal, std::format("Kernel {} has too many params or bindings.", kernel.name));
  }
  std::ranges::copy(dispatch.params, params.begin());

  for (const BoundRange& range : dispatch.bindings) {
    BoundBuffer& item = bound.items[bound.count++];
    item.binding = range.binding;
    item.size = range.size_bytes;
    if (range.slot.kind == SlotKind::constant) {
      const auto place = constants.put(*this, plan.constants[range.slot.index]);
      if (!place) return std::unexpected(place.error());
      item.buffer = place->buffer;
      item.offset = place->offset + range.offset_bytes;
      continue;
    }
    if (range.slot.kind == SlotKind::scratch) {
      item.buffer = scratch.get();
      item.offset = scratch_offset(plan, range.slot.index) + range.offset_bytes;
      continue;
    }
    const ArgumentSlot& slot = plan.arguments[range.slot.index];
    const BufferView& view = views[range.slot.index];
    const std::uint64_t wanted = view.offset_bytes + range.offset_bytes;
    item.buffer = view.buffer;
    item.offset = align_down(wanted, traits.offset_alignment);
    if (range.first_item_field) {
      // The items in front of the wanted one must be whole: 256 is no multiple of a 12-byte struct.
      while ((wanted - item.offset) % slot.stride_bytes != 0) item.offset -= traits.offset_alignment;
      const auto first_item = static_cast<std::uint32_t>((wanted - item.offset) / slot.stride_bytes);
      std::memcpy(params.data() + *range.first_item_field * 4, &first_item, 4);
    } else if (item.offset != wanted) {
      return fail(ErrorKind::invalid_request, std::format("Offset {} of argument {} must be a multiple of {}.",
                                                          view.offset_bytes, slot.name, traits.offset_alignment));
    }
    item.size += wanted - item.offset;
    // Bindings are whole words: three f16 items take 8 bytes of the buffer, the last two of which are not touched.
    item.size = align_up(item.size, 4);
    if (item.offset + item.size > wgpuBufferGetSize(item.buffer)) {
      return fail(
          ErrorKind::invalid_request,
          std::format("The buffer of argument {} must reach to a multiple of 4 bytes after its last item.", slot.name));
    }
    if (item.size > traits.max_binding_bytes) {
      return fail(ErrorKind::unsupported,
                  std::format("Argument {} at offset {} needs a binding of {} bytes; the device's limit is {}.",
                              slot.name, view.offset_bytes, item.size, traits.max_binding_bytes));
    }
  }

  // One buffer may be bound several times in a dispatch if all its bindings read, or all may write and are disjoint.
  SharedBindings shared = 0;
  for (std::uint32_t i = 0; i < bound.count; ++i) {
    const auto kind_of = [&](const BoundBuffer& item) {
      return std::ranges::find(kernel.bindings, item.binding, &KernelBinding::index)->kind;
    };
    if (kind_of(bound.items[i]) != BindingKind::storage_read_write) continue;
    for (std::uint32_t j = 0; j < bound.count; ++j) {
      const BoundBuffer& a = bound.items[i];
      const BoundBuffer& b = bound.items[j];
      if (i == j || a.buffer != b.buffer) continue;
      if (a.offset < b.offset + b.size && b.offset < a.offset + a.size) {
        return fail(
            ErrorKind::invalid_request,
            std::format(
                "Ranges of one buffer meet in a {}-byte block: {}+{} and {}+{}. WebGPU cannot bind them together; "
                "move one of them.",
                traits.offset_alignment, a.offset, a.size, b.offset, b.size));
      }
      if (kind_of(b) == BindingKind::storage_read) shared |= 1u << b.binding;
    }
  }
  // All readers of a buffer of which one range is bound read_write must be; then they must be disjoint, too.
  for (std::uint32_t i = 0; i < bound.count; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      const BoundBuffer& a = bound.items[i];
      const BoundBuffer& b = bound.items[j];
      const bool both_shared = (shared >> a.binding & 1u) != 0 && (shared >> b.binding & 1u) != 0;
      if (both_shared && a.buffer == b.buffer && a.offset < b.offset + b.size && b.offset < a.offset + a.size) {
        return fail(
            ErrorKind::invalid_request,
            std::format(
                "The plan reads bytes {}+{} of a buffer through two bindings while it writes another range of the "
                "same buffer; use a tuning without vectors, or separate buffers.",
                a.offset, a.size));
      }
    }
  }

  if (!dispatch.params.empty()) {
    const auto place = constants.put(*this, {params.data(), align_up(dispatch.params.size(), 16)});
    if (!place) return std::unexpected(place.error());
    const auto uniform = std::ranges::find(kernel.bindings, BindingKind::uniform, &KernelBinding::kind);
    bound.items[bound.count++] = {uniform->index, place->buffer, place->offset, align_up(dispatch.params.size(), 16)};
  }

  const auto pipeline = pipelines.get(*this, dispatch.kernel, shared);
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto group = bind_groups.get(*this, **pipeline, bound);
  if (!group) return std::unexpected(group.error());
  wgpuComputePassEncoderSetPipeline(pass, (*pipeline)->pipeline.get());
  wgpuComputePassEncoderSetBindGroup(pass, 0, *group, 0, nullptr);
  if (dispatch.grid.indirect) {
    const SlotId slot = *dispatch.grid.indirect;
    const bool is_scratch = slot.kind == SlotKind::scratch;
    const WGPUBuffer buffer = is_scratch ? scratch.get() : views[slot.index].buffer;
    const std::uint64_t base = is_scratch ? scratch_offset(plan, slot.index) : views[slot.index].offset_bytes;
    wgpuComputePassEncoderDispatchWorkgroupsIndirect(pass, buffer, base + dispatch.grid.indirect_offset_bytes);
  } else {
    wgpuComputePassEncoderDispatchWorkgroups(pass, dispatch.grid.x, dispatch.grid.y, dispatch.grid.z);
  }
  return {};
}

Status Context::Impl::record(RecordTarget target, const Plan& plan, std::span<const Argument> arguments) {
  if (plan.arguments.size() > most_arguments) return fail(ErrorKind::internal, "The plan has too many arguments.");
  std::array<BufferView, most_arguments> views;
  for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
    const auto view = resolve(plan.arguments[i], arguments);
    if (!view) return std::unexpected(view.error());
    views[i] = *view;
  }
  const std::span<const BufferView> used(views.data(), plan.arguments.size());
  if (const Status ok = check_overlaps(plan, used); !ok) return ok;
  if (plan.dispatches.empty()) return {};
  if (options.debug && target.pass() != nullptr) {
    return fail(ErrorKind::invalid_request,
                "A debug context records into encoders only: it copies scratch between passes.");
  }
  if (const Status ok = ensure_scratch(scratch_needed(plan)); !ok) return ok;
  if (constants.is_full()) {
    constants.clear();
    bind_groups.clear();
  }
  // Pipelines first: nothing is recorded if one does not compile.
  for (const Dispatch& dispatch : plan.dispatches) {
    if (const auto pipeline = pipelines.get(*this, dispatch.kernel, 0); !pipeline)
      return std::unexpected(pipeline.error());
  }

  WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
  descriptor.label = to_wgpu(plan.name);
  const auto begin = [&] { return PassHandle(wgpuCommandEncoderBeginComputePass(target.encoder(), &descriptor)); };
  PassHandle own;
  if (target.pass() == nullptr) own = begin();
  WGPUComputePassEncoder pass = own ? own.get() : target.pass();
  wgpuComputePassEncoderPushDebugGroup(pass, to_wgpu(plan.name));
  Status status;
  for (std::uint32_t step = 0; step < plan.dispatches.size() && status; ++step) {
    status = record_dispatch(pass, plan, plan.dispatches[step], used);
    if (!status) {
      status = with_context(status.error(), std::format("recording pass {} ({}) of {}", step,
                                                        plan.dispatches[step].kernel->name, plan.name));
    } else if (options.debug) {
      wgpuComputePassEncoderPopDebugGroup(pass);
      wgpuComputePassEncoderEnd(pass);
      status = snapshot_pass(target.encoder(), plan, step);
      own = begin();
      pass = own.get();
      wgpuComputePassEncoderPushDebugGroup(pass, to_wgpu(plan.name));
    }
  }
  wgpuComputePassEncoderPopDebugGroup(pass);
  if (own) wgpuComputePassEncoderEnd(pass);
  return status;
}

}  // namespace upsweep
