// SPDX-License-Identifier: Apache-2.0
// Recording: resolve the arguments, check them, then write one dispatch after the other. Dull on purpose.
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

// Which read bindings must become read_write, since the dispatch writes another range of their buffer. One buffer may
// be bound several times in a dispatch if all its bindings read, or all may write and are disjoint.
Result<SharedBindings> find_shared(const Kernel& kernel, const BoundSet& bound, std::uint32_t alignment) {
  const std::span<const BoundBuffer> items = bound.used();
  const auto kind_of = [&](const BoundBuffer& item) {
    return std::ranges::find(kernel.bindings, item.binding, &KernelBinding::index)->kind;
  };
  const auto meet = [](const BoundBuffer& a, const BoundBuffer& b) {
    return a.buffer == b.buffer && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
  };
  SharedBindings shared = 0;
  for (const BoundBuffer& written : items) {
    if (kind_of(written) != BindingKind::storage_read_write) continue;
    for (const BoundBuffer& other : items) {
      if (other.binding == written.binding || other.buffer != written.buffer) continue;
      if (meet(written, other)) {
        return fail(
            ErrorKind::invalid_request,
            std::format(
                "Ranges of one buffer meet in a {}-byte block: {}+{} and {}+{}. WebGPU cannot bind them together; "
                "move one of them.",
                alignment, written.offset, written.size, other.offset, other.size));
      }
      if (kind_of(other) == BindingKind::storage_read) shared |= 1u << other.binding;
    }
  }
  for (const BoundBuffer& a : items) {
    for (const BoundBuffer& b : items) {
      const bool both_shared = (shared >> a.binding & 1u) != 0 && (shared >> b.binding & 1u) != 0;
      if (a.binding == b.binding || !both_shared || !meet(a, b)) continue;
      return fail(ErrorKind::invalid_request,
                  std::format("The plan reads bytes {}+{} of a buffer through two bindings while it writes another "
                              "range of the same buffer; use separate buffers. Where the two are one range, a tuning "
                              "without vectors reads it through one.",
                              a.offset, a.size));
    }
  }
  return shared;
}

}  // namespace

std::uint64_t Context::Impl::scratch_offset(const Plan& plan, std::uint32_t slot) const {
  if (!options.debug) return plan.scratch[slot].offset_bytes;
  // Debug contexts never reuse bytes, so that every slot can be read back after every pass.
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < slot; ++i) offset += align_up(plan.scratch[i].size_bytes, traits.offset_alignment);
  return offset;
}

WGPUBuffer Context::Impl::scratch_buffer(const Plan& plan, std::uint32_t slot) const {
  return scratch[static_cast<std::size_t>(plan.scratch[slot].group)].buffer.get();
}

Status Context::Impl::ensure_scratch(const Plan& plan) {
  auto wanted = plan.scratch_group_bytes;
  if (options.debug) {
    const std::uint64_t all = scratch_offset(plan, static_cast<std::uint32_t>(plan.scratch.size()));
    for (std::uint64_t& bytes : wanted) bytes = bytes != 0 ? all : 0;
  }
  constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc;
  for (const StateSlot& slot : plan.states) {
    // A larger one starts from zero again, which is a state that kernels accept.
    if (const Status ok = grow(states[slot.name], slot.size_bytes, usage, slot.name); !ok) return ok;
  }
  for (std::size_t group = 0; group < scratch_group_count; ++group) {
    const bool has_grids = static_cast<ScratchGroup>(group) == ScratchGroup::grids;
    const WGPUBufferUsage wanted_usage = has_grids ? usage | WGPUBufferUsage_Indirect : usage;
    if (const Status ok = grow(scratch[group], wanted[group], wanted_usage, "scratch"); !ok) return ok;
  }
  return {};
}

Status Context::Impl::grow(GrowingBuffer& buffer, std::uint64_t size_bytes, WGPUBufferUsage usage,
                           std::string_view label) {
  if (size_bytes <= buffer.size_bytes) return {};
  const std::uint64_t wanted =
      std::max<std::uint64_t>(size_bytes, std::min<std::uint64_t>(std::bit_ceil(size_bytes), traits.max_buffer_bytes));
  auto created = create_buffer(wanted, usage, label);
  if (!created) return with_context(created.error(), std::format("making {} bytes of scratch", wanted));
  // Commands recorded before hold their own references to the old buffer.
  buffer.buffer = std::move(*created);
  buffer.size_bytes = wanted;
  statistics.scratch_bytes = 0;
  for (const GrowingBuffer& group : scratch) statistics.scratch_bytes += group.size_bytes;
  bind_groups.clear();
  return {};
}

// The range of an argument, from the last aligned offset before it; `params` learns of the items in between.
Result<BoundBuffer> Context::Impl::bind_argument(const Plan& plan, const BoundRange& range, const BufferView& view,
                                                 std::span<std::byte> params) const {
  const ArgumentSlot& slot = plan.arguments[range.slot.index];
  const std::uint64_t wanted = view.offset_bytes + range.offset_bytes;
  BoundBuffer item{range.binding, view.buffer, align_down(wanted, traits.offset_alignment), range.size_bytes};
  if (range.first_item_field) {
    // The items in front of the wanted one must be whole: 256 is no multiple of a 12-byte struct.
    while ((wanted - item.offset) % slot.stride_bytes != 0) item.offset -= traits.offset_alignment;
    const auto first_item = static_cast<std::uint32_t>((wanted - item.offset) / slot.stride_bytes);
    std::memcpy(params.data() + std::size_t{*range.first_item_field} * 4, &first_item, 4);
  } else if (item.offset != wanted) {
    return fail(ErrorKind::invalid_request, std::format("Offset {} of argument {} must be a multiple of {}.",
                                                        view.offset_bytes, slot.name, traits.offset_alignment));
  }
  // Bindings are whole words: three f16 items take 8 bytes of the buffer, the last two of which are not touched.
  item.size = align_up(item.size + wanted - item.offset, 4);
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
  return item;
}

Result<ReadyDispatch> Context::Impl::bind_dispatch(const Plan& plan, const Dispatch& dispatch,
                                                   std::span<const BufferView> views) {
  const Kernel& kernel = *dispatch.kernel;
  ReadyDispatch result;
  BoundSet& bound = result.bound;
  std::array<std::byte, most_params_bytes> params{};  // zeros in the padding: params are found by their bytes
  if (dispatch.params.size() > params.size() || kernel.bindings.size() > BoundSet::most) {
    return fail(ErrorKind::internal, std::format("Kernel {} has too many params or bindings.", kernel.name));
  }
  std::ranges::copy(dispatch.params, params.begin());
  for (const BoundRange& range : dispatch.bindings) {
    BoundBuffer& item = bound.items[bound.count++];
    if (range.slot.kind == SlotKind::argument) {
      const auto argument = bind_argument(plan, range, views[range.slot.index], params);
      if (!argument) return std::unexpected(argument.error());
      item = *argument;
    } else if (range.slot.kind == SlotKind::scratch) {
      item = {range.binding, scratch_buffer(plan, range.slot.index),
              scratch_offset(plan, range.slot.index) + range.offset_bytes, range.size_bytes};
    } else if (range.slot.kind == SlotKind::state) {
      // All of it, whatever this plan needs: kernels keep in order what other plans left there.
      const GrowingBuffer& state = states.find(plan.states[range.slot.index].name)->second;
      item = {range.binding, state.buffer.get(), 0, std::min(state.size_bytes, traits.max_binding_bytes / 16 * 16)};
    } else {
      const auto place = constants.put(*this, plan.constants[range.slot.index]);
      if (!place) return std::unexpected(place.error());
      item = {range.binding, place->buffer, place->offset + range.offset_bytes, range.size_bytes};
    }
  }
  if (dispatch.alike_fields) {
    const auto field = [&](std::uint32_t index) {
      std::uint32_t value = 0;
      std::memcpy(&value, params.data() + std::size_t{index} * 4, 4);
      return value;
    };
    if (field(dispatch.alike_fields->first) % 4 != field(dispatch.alike_fields->second) % 4) {
      return fail(
          ErrorKind::invalid_request,
          "The inputs begin differently modulo four items, and the plan reads four at a time; give their offsets "
          "when planning.");
    }
  }
  const auto shared = find_shared(kernel, bound, traits.offset_alignment);
  if (!shared) return std::unexpected(shared.error());
  if (!dispatch.params.empty()) {
    const std::uint64_t size = align_up(dispatch.params.size(), 16);
    const auto place = constants.put(*this, {params.data(), size});
    if (!place) return std::unexpected(place.error());
    const auto uniform = std::ranges::find(kernel.bindings, BindingKind::uniform, &KernelBinding::kind);
    bound.items[bound.count++] = {uniform->index, place->buffer, place->offset, size};
  }

  result.shared = *shared;
  if (const auto& slot = dispatch.grid.indirect) {
    const bool is_scratch = slot->kind == SlotKind::scratch;
    result.grid_buffer = is_scratch ? scratch_buffer(plan, slot->index) : views[slot->index].buffer;
    result.grid_offset = (is_scratch ? scratch_offset(plan, slot->index) : views[slot->index].offset_bytes) +
                         dispatch.grid.indirect_offset_bytes;
  }
  return result;
}

Status Context::Impl::resolve_pipeline(const Dispatch& dispatch, ReadyDispatch& resolved) {
  const auto pipeline = pipelines.get(*this, dispatch.kernel, resolved.shared);
  if (!pipeline) return std::unexpected(pipeline.error());
  resolved.pipeline = *pipeline;
  const auto group = bind_groups.get(*this, **pipeline, resolved.bound);
  if (!group) return std::unexpected(group.error());
  resolved.group = *group;
  return {};
}

Status Context::Impl::resolve_dispatches(const Plan& plan, std::span<const BufferView> views) {
  if (const Status ok = ensure_scratch(plan); !ok) return ok;
  if (constants.is_full()) {
    constants.clear();
    bind_groups.clear();
  }
  bind_groups.begin_recording(plan.dispatches.size(), options.kept_buffer_bytes);
  const auto at_step = [&](std::size_t step, const Error& error) {
    return with_context(
        error, std::format("recording pass {} ({}) of {}", step, plan.dispatches[step].kernel->name, plan.name));
  };
  ready.clear();
  std::vector<WantedPipeline> missing;
  for (std::size_t step = 0; step < plan.dispatches.size(); ++step) {
    const Dispatch& dispatch = plan.dispatches[step];
    const auto bound = bind_dispatch(plan, dispatch, views);
    if (!bound) return at_step(step, bound.error());
    ready.push_back(*bound);
    if (!pipelines.is_ready(*dispatch.kernel, bound->shared)) missing.push_back({dispatch.kernel, bound->shared});
  }
  pipelines.begin_all(*this, missing);
  for (std::size_t step = 0; step < plan.dispatches.size(); ++step) {
    if (const Status ok = resolve_pipeline(plan.dispatches[step], ready[step]); !ok) return at_step(step, ok.error());
  }
  return {};
}

namespace {

void encode_dispatch(WGPUComputePassEncoder pass, const Grid& grid, const ReadyDispatch& ready) {
  wgpuComputePassEncoderSetPipeline(pass, ready.pipeline->pipeline.get());
  wgpuComputePassEncoderSetBindGroup(pass, 0, ready.group, 0, nullptr);
  if (ready.grid_buffer != nullptr) {
    wgpuComputePassEncoderDispatchWorkgroupsIndirect(pass, ready.grid_buffer, ready.grid_offset);
  } else {
    wgpuComputePassEncoderDispatchWorkgroups(pass, grid.x, grid.y, grid.z);
  }
}

PassHandle begin_pass(WGPUCommandEncoder encoder, const Plan& plan) {
  WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
  descriptor.label = to_wgpu(plan.name);
  return PassHandle(wgpuCommandEncoderBeginComputePass(encoder, &descriptor));
}

}  // namespace

void Context::Impl::encode_plan(RecordTarget target, const Plan& plan) {
  PassHandle own;
  if (target.pass() == nullptr) own = begin_pass(target.encoder(), plan);
  const WGPUComputePassEncoder pass = own ? own.get() : target.pass();
  wgpuComputePassEncoderPushDebugGroup(pass, to_wgpu(plan.name));
  for (std::size_t step = 0; step < ready.size(); ++step) {
    encode_dispatch(pass, plan.dispatches[step].grid, ready[step]);
  }
  wgpuComputePassEncoderPopDebugGroup(pass);
  if (own) wgpuComputePassEncoderEnd(pass);
}

Status Context::Impl::encode_with_snapshots(WGPUCommandEncoder encoder, const Plan& plan) {
  for (std::uint32_t step = 0; step < ready.size(); ++step) {
    const PassHandle pass = begin_pass(encoder, plan);
    wgpuComputePassEncoderPushDebugGroup(pass.get(), to_wgpu(plan.name));
    encode_dispatch(pass.get(), plan.dispatches[step].grid, ready[step]);
    wgpuComputePassEncoderPopDebugGroup(pass.get());
    wgpuComputePassEncoderEnd(pass.get());
    if (const Status ok = snapshot_pass(encoder, plan, step); !ok) return ok;
  }
  return {};
}

Status Context::Impl::record(RecordTarget target, const Plan& plan, std::span<const Argument> arguments) {
  if (target.encoder() == nullptr && target.pass() == nullptr) {
    return fail(ErrorKind::invalid_request, "There is neither an encoder nor a compute pass to record into.");
  }
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
  // First everything that can fail, so that an error leaves the caller's encoder as it was.
  if (const Status ok = resolve_dispatches(plan, used); !ok) return ok;
  if (options.debug) return encode_with_snapshots(target.encoder(), plan);
  encode_plan(target, plan);
  return {};
}

}  // namespace upsweep
