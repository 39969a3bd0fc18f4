// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <format>
#include <functional>
#include <unordered_set>
#include <vector>

#include "exec/context_impl.h"
#include "plan/grid.h"
#include "plan/hash.h"

namespace upsweep {

Result<ConstantPool::Place> ConstantPool::put(Context::Impl& context, std::span<const std::byte> bytes) {
  const std::uint64_t hash = hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  auto& bucket = entries_[hash];
  for (const Entry& entry : bucket) {
    if (std::ranges::equal(entry.bytes, bytes)) return entry.place;
  }
  const std::uint64_t size = align_up(bytes.size(), context.traits.offset_alignment);
  if (used_ + size > chunk_bytes) {
    auto chunk =
        context.create_buffer(std::max(chunk_bytes, size),
                              WGPUBufferUsage_Uniform | WGPUBufferUsage_Storage | WGPUBufferUsage_CopyDst, "constants");
    if (!chunk) return std::unexpected(chunk.error());
    chunks_.push_back(std::move(*chunk));
    used_ = 0;
  }
  const Place place{chunks_.back().get(), used_};
  used_ += size;
  wgpuQueueWriteBuffer(context.queue.get(), place.buffer, place.offset, bytes.data(), bytes.size());
  bucket.push_back({{bytes.begin(), bytes.end()}, place});
  ++entry_count_;
  return place;
}

void ConstantPool::clear() {
  entries_.clear();
  entry_count_ = 0;
  chunks_.clear();
  used_ = chunk_bytes;
}

Result<WGPUBindGroup> BindGroupCache::get(Context::Impl& context, const Pipeline& pipeline, const BoundSet& bound) {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(pipeline.layout.get());
  for (const BoundBuffer& item : bound.used()) {
    hash = hash_number(reinterpret_cast<std::uintptr_t>(item.buffer), hash);
    hash = hash_number(item.offset, hash);
    hash = hash_number(item.size, hash);
  }
  if (const auto found = groups_.find(hash); found != groups_.end()) {
    for (Entry& entry : found->second) {
      if (entry.layout != pipeline.layout.get() || entry.bound != bound) continue;
      entry.last_recording = recording_;
      return entry.group.get();
    }
  }
  std::array<WGPUBindGroupEntry, BoundSet::most> entries;
  for (std::uint32_t i = 0; i < bound.count; ++i) {
    const BoundBuffer& item = bound.items[i];
    entries[i] = WGPU_BIND_GROUP_ENTRY_INIT;
    entries[i].binding = item.binding;
    entries[i].buffer = item.buffer;
    entries[i].offset = item.offset;
    entries[i].size = item.size;
    bytes_since_ += wgpuBufferGetSize(item.buffer);
  }
  WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  const std::string label = "upsweep." + pipeline.kernel->name;
  descriptor.label = to_wgpu(label);
  descriptor.layout = pipeline.layout.get();
  descriptor.entryCount = bound.count;
  descriptor.entries = entries.data();
  ErrorScope scope(context);
  BindGroupHandle group(wgpuDeviceCreateBindGroup(context.device.get(), &descriptor));
  const std::string message = scope.pop();
  if (!message.empty()) return fail(ErrorKind::device, "The device refused the buffers: " + message);
  ++context.statistics.bind_groups_created;
  ++count_;
  auto& bucket = groups_[hash];
  bucket.push_back({pipeline.layout.get(), bound, std::move(group), recording_});
  return bucket.back().group.get();
}

void BindGroupCache::begin_recording(std::size_t groups, std::uint64_t kept_bytes) {
  ++recording_;
  if (count_ + groups > most_groups) clear();
  if (bytes_since_ > kept_bytes / 2) drop_stale(kept_bytes);
}

// Buffers stay from the last used on, as many as the bytes allow; groups that name another are dropped.
void BindGroupCache::drop_stale(std::uint64_t kept_bytes) {
  bytes_since_ = 0;
  std::vector<Entry*> newest_first;
  newest_first.reserve(count_);
  for (auto& [hash, bucket] : groups_) {
    for (Entry& entry : bucket) newest_first.push_back(&entry);
  }
  std::ranges::sort(newest_first, std::greater(), &Entry::last_recording);
  std::unordered_set<WGPUBuffer> kept;
  std::uint64_t bytes = 0;
  for (Entry* entry : newest_first) {
    std::uint64_t more = 0;
    for (const BoundBuffer& item : entry->bound.used()) {
      if (!kept.contains(item.buffer)) more += wgpuBufferGetSize(item.buffer);
    }
    if (more != 0 && bytes + more > kept_bytes && entry->last_recording + patience < recording_) {
      entry->group = {};
      continue;
    }
    bytes += more;
    for (const BoundBuffer& item : entry->bound.used()) kept.insert(item.buffer);
  }
  for (auto& [hash, bucket] : groups_) {
    count_ -= std::erase_if(bucket, [](const Entry& entry) { return !entry.group; });
  }
  std::erase_if(groups_, [](const auto& bucket) { return bucket.second.empty(); });
}

void BindGroupCache::clear() {
  groups_.clear();
  count_ = 0;
  bytes_since_ = 0;
}

}  // namespace upsweep
