// SPDX-License-Identifier: Apache-2.0
// Debug contexts: every scratch slot is kept after every pass.
#include "exec/context_impl.h"

namespace upsweep {

Status Context::Impl::snapshot_pass(WGPUCommandEncoder encoder, const Plan& plan, std::uint32_t step) {
  for (std::uint32_t slot = 0; slot < plan.scratch.size(); ++slot) {
    const ScratchSlot& scratch_slot = plan.scratch[slot];
    if (step < scratch_slot.first_step || step > scratch_slot.last_step) continue;
    auto buffer = create_buffer(scratch_slot.size_bytes, WGPUBufferUsage_CopyDst | WGPUBufferUsage_CopySrc, "snapshot");
    if (!buffer) return std::unexpected(buffer.error());
    wgpuCommandEncoderCopyBufferToBuffer(encoder, scratch_buffer(plan, slot), scratch_offset(plan, slot), buffer->get(),
                                         0, scratch_slot.size_bytes);
    snapshots.push_back(
        {{plan.name, step, plan.dispatches[step].kernel->name, scratch_slot.name, {}}, std::move(*buffer)});
  }
  return {};
}

Result<std::vector<DebugSnapshot>> Context::debug_snapshots() {
  std::vector<DebugSnapshot> result;
  for (PendingSnapshot& pending : impl_->snapshots) {
    auto bytes = read(BufferView(pending.buffer.get()), wgpuBufferGetSize(pending.buffer.get()));
    if (!bytes) return std::unexpected(bytes.error());
    pending.snapshot.bytes = std::move(*bytes);
    result.push_back(std::move(pending.snapshot));
  }
  impl_->snapshots.clear();
  return result;
}

}  // namespace upsweep
