// SPDX-License-Identifier: Apache-2.0
// The state behind Context, divided by what it keeps.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/handle.h"
#include "upsweep/context.h"

namespace upsweep {

// The same place of the same buffer: what makes a primitive work in place.
inline bool is_same_view(const BufferView& a, const BufferView& b) {
  return a.buffer != nullptr && a.buffer == b.buffer && a.offset_bytes == b.offset_bytes;
}

// Waits for futures, where there is an instance to wait with.
class Waiter {
 public:
  void set(WGPUInstance instance, bool can_time) {
    instance_ = instance;
    can_time_ = can_time;
  }
  // Returns once `done` is true; false if that cannot be waited for.
  bool wait(WGPUFuture future, const bool& done) const;
  [[nodiscard]] bool can_wait() const { return instance_ != nullptr; }
  void process_events() const;

 private:
  WGPUInstance instance_ = nullptr;
  bool can_time_ = false;  // the instance has TimedWaitAny
};

// Errors that arrive by themselves; shared with callbacks that may outlive the context.
struct ErrorInbox {
  std::mutex mutex;
  std::deque<Error> errors;

  void put(Error error);
  std::optional<Error> take();
};

// Collects what goes wrong in the library's own calls between push and pop.
class ErrorScope {
 public:
  explicit ErrorScope(Context::Impl& context);
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
  ~ErrorScope();
  // The first message; empty if all went well. What cannot be waited for goes to the inbox when it arrives.
  std::string pop();

 private:
  Context::Impl& context_;
  bool open_ = true;
};

// Bits of binding indices that are bound read_write although the kernel says read, since the dispatch uses other
// ranges of the same buffer.
using SharedBindings = std::uint32_t;

struct Pipeline {
  std::shared_ptr<const Kernel> kernel;
  SharedBindings shared = 0;
  std::string text;  // kernel->text, or its variant with shared access
  BindGroupLayoutHandle layout;
  PipelineHandle pipeline;
  // While it is being created asynchronously: who wants to know of its end.
  std::vector<std::function<void(Status)>> waiting;
  WGPUFuture creation{};
  bool is_settled = true;
};

struct WantedPipeline {
  std::shared_ptr<const Kernel> kernel;
  SharedBindings shared = 0;
};

class PipelineCache {
 public:
  // Waits for the compiler if the pipeline does not exist yet.
  Result<const Pipeline*> get(Context::Impl& context, const std::shared_ptr<const Kernel>& kernel,
                              SharedBindings shared);
  void get_async(Context::Impl& context, const std::shared_ptr<const Kernel>& kernel,
                 std::function<void(Status)> ready);
  // Before several get(): begins all that do not exist, as drivers compile on several threads.
  void begin_all(Context::Impl& context, std::span<const WantedPipeline> wanted);
  enum class Progress : std::uint8_t { absent, pending, ready };
  [[nodiscard]] Progress progress_of(const Kernel& kernel, SharedBindings shared = 0);
  [[nodiscard]] bool is_ready(const Kernel& kernel, SharedBindings shared) {
    return progress_of(kernel, shared) == Progress::ready;
  }
  // An asynchronous creation has ended. Who waits is told at once, or by tell() if this happens while recording.
  void settle(Pipeline& pipeline, const Status& status);
  void tell();
  // Tells all who still wait that nothing will come.
  void cancel();

 private:
  Pipeline* find(const Kernel& kernel, SharedBindings shared);
  void begin(Context::Impl& context, const std::shared_ptr<const Kernel>& kernel, SharedBindings shared,
             std::function<void(Status)> ready);
  struct Untold {
    std::function<void(Status)> ready;
    Status status;
  };
  std::vector<Untold> untold_;
  bool is_recording_ = false;
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<Pipeline>>> pipelines_;
};

// Params and constants by content. Bytes once written are never written again, so recorded commands that were not yet
// submitted cannot see those of a later recording; a full pool is dropped, and WebGPU keeps what is still referenced.
class ConstantPool {
 public:
  struct Place {
    WGPUBuffer buffer = nullptr;
    std::uint64_t offset = 0;
  };
  Result<Place> put(Context::Impl& context, std::span<const std::byte> bytes);
  [[nodiscard]] bool is_full() const { return entry_count_ >= most_entries; }
  void clear();

 private:
  static constexpr std::size_t most_entries = 16384;
  static constexpr std::uint64_t chunk_bytes = 65536;
  struct Entry {
    std::vector<std::byte> bytes;
    Place place;
  };
  std::unordered_map<std::uint64_t, std::vector<Entry>> entries_;
  std::size_t entry_count_ = 0;
  std::vector<BufferHandle> chunks_;
  std::uint64_t used_ = chunk_bytes;
};

struct BoundBuffer {
  std::uint32_t binding = 0;
  WGPUBuffer buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool operator==(const BoundBuffer&) const = default;
};

// At most this many bindings a kernel: WebGPU's default is 8 storage buffers, plus params; devices with more are rare.
struct BoundSet {
  static constexpr std::size_t most = 16;
  std::array<BoundBuffer, most> items;
  std::uint32_t count = 0;
  [[nodiscard]] std::span<const BoundBuffer> used() const { return std::span(items).first(count); }
  bool operator==(const BoundSet& other) const { return std::ranges::equal(used(), other.used()); }
};

class BindGroupCache {
 public:
  // Valid until the next begin_recording() or clear().
  Result<WGPUBindGroup> get(Context::Impl& context, const Pipeline& pipeline, const BoundSet& bound);
  // New buffers every frame would fill the cache for ever, and the memory with buffers that only groups still name:
  // drops all groups if so many more may be too many, and those of stale buffers if these hold too many bytes.
  void begin_recording(std::size_t groups, std::uint64_t kept_bytes);
  void clear();

 private:
  static constexpr std::size_t most_groups = 1024;
  static constexpr std::uint64_t patience = 4;  // recordings after which a buffer may be stale
  struct Entry {
    WGPUBindGroupLayout layout = nullptr;
    BoundSet bound;
    BindGroupHandle group;
    std::uint64_t last_recording = 0;  // that used it
  };
  void drop_stale(std::uint64_t kept_bytes);

  std::unordered_map<std::uint64_t, std::vector<Entry>> groups_;
  std::size_t count_ = 0;
  std::uint64_t recording_ = 0;
  std::uint64_t bytes_since_ = 0;  // of the buffers of new groups since the last drop_stale()
};

// A cached plan of any shape type: record_x() looks its shape up here instead of planning again.
struct CachedPlan {
  CachedPlan() = default;
  CachedPlan(const CachedPlan&) = delete;
  CachedPlan& operator=(const CachedPlan&) = delete;
  virtual ~CachedPlan() = default;
  Plan plan;
};

struct PendingSnapshot {
  DebugSnapshot snapshot;
  BufferHandle buffer;
};

struct GrowingBuffer {
  BufferHandle buffer;
  std::uint64_t size_bytes = 0;
};

// A dispatch with everything that encoding it needs.
struct ReadyDispatch {
  BoundSet bound;
  SharedBindings shared = 0;
  const Pipeline* pipeline = nullptr;
  WGPUBindGroup group = nullptr;
  WGPUBuffer grid_buffer = nullptr;  // of an indirect grid
  std::uint64_t grid_offset = 0;
};

struct Context::Impl {
  InstanceHandle instance;
  AdapterHandle adapter;
  DeviceHandle device;
  QueueHandle queue;
  Waiter waiter;
  ContextOptions options;
  DeviceTraits traits;
  ProbeReport probe;
  std::string driver;
  std::string backend;
  std::shared_ptr<ErrorInbox> inbox = std::make_shared<ErrorInbox>();
  std::shared_ptr<const bool> lives = std::make_shared<const bool>(true);
  ContextStatistics statistics;
  PipelineCache pipelines;
  ConstantPool constants;
  BindGroupCache bind_groups;
  std::array<GrowingBuffer, scratch_group_count> scratch;  // by ScratchGroup
  std::unordered_map<std::string, GrowingBuffer> states;
  std::vector<ReadyDispatch> ready;  // of the plan being recorded; kept for its memory
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<CachedPlan>>> plans;
  std::size_t plan_count = 0;
  std::vector<PendingSnapshot> snapshots;

  Result<BufferHandle> create_buffer(std::uint64_t size_bytes, WGPUBufferUsage usage, std::string_view label);
  Status record(RecordTarget target, const Plan& plan, std::span<const Argument> arguments);
  Status resolve_dispatches(const Plan& plan, std::span<const BufferView> views);
  Result<ReadyDispatch> bind_dispatch(const Plan& plan, const Dispatch& dispatch, std::span<const BufferView> views);
  Status resolve_pipeline(const Dispatch& dispatch, ReadyDispatch& resolved);
  Result<BoundBuffer> bind_argument(const Plan& plan, const BoundRange& range, const BufferView& view,
                                    std::span<std::byte> params) const;
  void encode_plan(RecordTarget target, const Plan& plan);
  Status encode_with_snapshots(WGPUCommandEncoder encoder, const Plan& plan);
  Status ensure_scratch(const Plan& plan);
  Status grow(GrowingBuffer& buffer, std::uint64_t size_bytes, WGPUBufferUsage usage, std::string_view label);
  Status snapshot_pass(WGPUCommandEncoder encoder, const Plan& plan, std::uint32_t step);
  [[nodiscard]] std::uint64_t scratch_offset(const Plan& plan, std::uint32_t slot) const;
  [[nodiscard]] WGPUBuffer scratch_buffer(const Plan& plan, std::uint32_t slot) const;
};

Status run_probe(Context& context);

// The cached plan for (shape, tuning, extra), made by `make` when it is new. Key is any value type with == whose
// hash is given; a hit allocates nothing.
template <typename Key, typename Make>
Result<const Plan*> cached_plan(Context::Impl& context, std::uint64_t hash, const Key& key, Make make) {
  struct Keyed final : CachedPlan {
    Key key;
  };
  if (const auto bucket = context.plans.find(hash); bucket != context.plans.end()) {
    for (const auto& cached : bucket->second) {
      const auto* keyed = dynamic_cast<const Keyed*>(cached.get());
      if (keyed != nullptr && keyed->key == key) return &keyed->plan;
    }
  }
  auto plan = make();
  if (!plan) return std::unexpected(plan.error());
  // Counts that change every frame make new plans: drop them all at times rather than grow for ever.
  constexpr std::size_t most_plans = 1024;
  if (context.plan_count >= most_plans) {
    context.plans.clear();
    context.plan_count = 0;
  }
  auto keyed = std::make_unique<Keyed>();
  keyed->key = key;
  keyed->plan = std::move(*plan);
  ++context.plan_count;
  ++context.statistics.plans_made;
  const Plan* result = &keyed->plan;
  context.plans[hash].push_back(std::move(keyed));
  return result;
}

}  // namespace upsweep
