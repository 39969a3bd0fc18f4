// SPDX-License-Identifier: Apache-2.0
// Context: the library's view of one WebGPU device. Caches pipelines and bind groups, owns scratch, records plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/buffer_view.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/handles.h"
#include "upsweep/operator.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep {

/// What a few small kernels found out about a device.
struct ProbeReport {
  bool ran = false;
  std::uint32_t subgroup_size = 0;         ///< As seen inside a kernel; 0 without subgroups.
  std::uint32_t ballot_width = 0;          ///< Lanes that answered a ballot.
  bool subgroup_ids_follow_index = false;  ///< subgroup = index / size and lane = index % size for every thread.
  bool workgroup_atomics = false;          ///< Counted right.
  bool integer_division = false;           ///< u32 division and remainder were right on sampled values.
  bool keeps_subnormals = false;           ///< f32 arithmetic does not flush subnormal results to zero.
  bool self_test_ran = false;
  bool look_back = false;            ///< Every single-pass scan and selection of the self-test was right.
  bool lock_step = false;            ///< So was every sort that ranks in lock-step (tried on devices of NVIDIA).
  std::string self_test_error = {};  ///< Why the self-test could not run to its end.
};

/// Which adapter a context of its own should use. Empty fields do not restrict.
struct AdapterRequest {
  std::string name = {};     ///< A part of the adapter's name, case-insensitive ("llvmpipe", "H200").
  std::string backend = {};  ///< "vulkan", "metal", "d3d12", ...
  bool low_power = false;
  bool default_limits = false;  ///< Ask for WebGPU's default limits only, as a browser page might.
  bool without_subgroups = false;
  bool exact_timestamps = false;  ///< Switch off Dawn's quantisation of timestamps (benchmarks).
};

struct ContextOptions {
  /// Needed on a caller's device for everything that waits: probe, readback, `wait`. Without it there is no probe, and
  /// traits assume the least.
  WGPUInstance instance = nullptr;
  bool probe = true;  ///< Run the probe's kernels at creation (a few milliseconds, waits for the device).
  /// Try the single-pass kernels with look-back at creation (GPUs only; compiles two pipelines, a few tenths of a
  /// second without the driver's cache). Without it plans take two passes.
  bool self_test = true;
  /// Cached bind groups keep buffers alive that the caller has released: those of the last 4 recordings, and of earlier
  /// ones only while all buffers of cached groups are about this large together, in bytes.
  std::uint64_t kept_buffer_bytes = std::uint64_t{512} << 20;
  /// Keep every scratch slot after every pass, readable through `debug_snapshots`. Slow; records passes of its own.
  bool debug = false;
};

/// Where commands go: an encoder (each plan gets a compute pass of its own) or an open compute pass.
class RecordTarget {
 public:
  RecordTarget(WGPUCommandEncoder encoder) : encoder_(encoder) {}  // NOLINT(*-explicit-*)
  RecordTarget(WGPUComputePassEncoder pass) : pass_(pass) {}       // NOLINT(*-explicit-*)
  [[nodiscard]] WGPUCommandEncoder encoder() const { return encoder_; }
  [[nodiscard]] WGPUComputePassEncoder pass() const { return pass_; }

 private:
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
};

/// A view for one of a plan's arguments.
struct Argument {
  std::string_view name;
  BufferView view;
};

/// What a context has made so far and holds now; for tests of reuse, and for the curious.
struct ContextStatistics {
  std::uint64_t pipelines_created = 0;
  std::uint64_t bind_groups_created = 0;
  std::uint64_t buffers_created = 0;
  std::uint64_t plans_made = 0;
  std::uint64_t scratch_bytes = 0;
  double pipeline_milliseconds = 0;  ///< Host time spent in creating pipelines.
};

/// A scratch slot as it was after a pass (debug contexts).
struct DebugSnapshot {
  std::string plan;
  std::uint32_t pass = 0;
  std::string kernel;
  std::string slot;
  std::vector<std::byte> bytes;
};

/// Not thread-safe: one thread at a time, like the encoders that it records into. All recorded commands must be
/// submitted to the same queue: they share scratch, which is safe because a queue runs them in order.
class Context {
 public:
  /// Opens an instance, adapter and device of its own: the best adapter that fits the request (a GPU before a CPU),
  /// with its limits raised to what it offers and the features that kernels can use. Waits.
  [[nodiscard]] static Result<std::unique_ptr<Context>> create(const AdapterRequest& request = {},
                                                               const ContextOptions& options = {});
  /// Works on the caller's device; takes references, never settings. Request the features Subgroups, ShaderF16 and
  /// TimestampQuery and raised limits for it where the adapter has them: plans use what the device was created with.
  /// Errors of the device go to the caller's own
  /// callbacks; those of the library's objects are reported here.
  [[nodiscard]] static Result<std::unique_ptr<Context>> adopt(WGPUDevice device, const ContextOptions& options = {});
  /// The names of the adapters that `create` can choose from.
  [[nodiscard]] static std::vector<std::string> adapter_names();

  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] WGPUDevice device() const;
  [[nodiscard]] WGPUQueue queue() const;
  [[nodiscard]] WGPUInstance instance() const;  ///< Null on a caller's device given without one.
  /// Limits, features and probe results; what planners see. Tests and tools may override it.
  [[nodiscard]] const DeviceTraits& traits() const;
  void override_traits(const DeviceTraits& traits);
  [[nodiscard]] const ProbeReport& probe_report() const;
  [[nodiscard]] std::string driver() const;   ///< Driver description as WebGPU reports it.
  [[nodiscard]] std::string backend() const;  ///< "Vulkan", ...

  /// Creates the plan's pipelines, so that the first `record` does not. Waits for the compiler.
  [[nodiscard]] Status prepare(const Plan& plan);
  /// Starts to create them and returns. `ready` is called once, from `poll`, `wait`, the device's
  /// own processing or the context's destructor (with an error).
  void prepare_async(const Plan& plan, std::function<void(Status)> ready);

  /// Records every dispatch of the plan. Views are checked against the plan (size, alignment, overlap) before anything
  /// is recorded; arguments that the plan does not have are left alone. Neither submits nor waits; repeated with the
  /// same plan and buffers it allocates nothing, but for bind groups after another plan has made the scratch larger.
  [[nodiscard]] Status record(RecordTarget target, const Plan& plan, std::span<const Argument> arguments);

  /// Lets callbacks run without waiting.
  void poll();
  /// Submits nothing; waits until all work submitted so far is done. Needs the instance.
  [[nodiscard]] Status wait();
  /// The oldest error that arrived by itself (uncaptured, device lost) and was not taken yet.
  [[nodiscard]] std::optional<Error> take_error();

  // Small helpers for programs that have arrays, not buffers.
  /// A new buffer with usage Storage | CopySrc | CopyDst (released by the caller with wgpuBufferRelease).
  [[nodiscard]] Result<WGPUBuffer> create_buffer(std::uint64_t size_bytes, std::string_view label = {});
  /// Queues a write. The size is rounded up to 4 with zeros inside the buffer.
  [[nodiscard]] Status write(const BufferView& view, std::span<const std::byte> bytes);
  /// Submits a copy, waits, and returns the bytes. Needs the instance.
  [[nodiscard]] Result<std::vector<std::byte>> read(const BufferView& view, std::uint64_t size_bytes);

  /// Compares the stride that an element type states with the device's own. Needs the instance.
  [[nodiscard]] Status check_element(const ElementType& type);
  /// Tries (a b) c = a (b c), the identity and, if the operator is stated to commute, a b = b a on sampled items, on
  /// the device, by comparing stored bytes; with a tolerance for floats of `relative_tolerance`. `samples` holds at
  /// least three packed items of the type. Needs the instance.
  [[nodiscard]] Status check_operator(const BinaryOperator& op, const ElementType& type,
                                      std::span<const std::byte> samples, double relative_tolerance = 1e-5);

  [[nodiscard]] const ContextStatistics& statistics() const;
  /// Drops all cached bind groups, which keep the caller's buffers alive (see ContextOptions::kept_buffer_bytes).
  void release_bindings();
  /// Snapshots of debug contexts, in order of recording; clears them. Submit before. Needs the instance.
  [[nodiscard]] Result<std::vector<DebugSnapshot>> debug_snapshots();

  struct Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }  // for record_x() of the rooms

 private:
  explicit Context(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace upsweep
