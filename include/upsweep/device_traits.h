// SPDX-License-Identifier: Apache-2.0
// What a planner may know of a device: limits and features as a plain value. Tests make them by hand.
#pragma once

#include <cstdint>
#include <string>

namespace upsweep {

struct DeviceTraits {
  // Limits; the defaults are WebGPU's own default limits.
  std::uint32_t max_workgroup_size = 256;  ///< Threads per workgroup.
  std::uint32_t max_workgroup_bytes = 16384;
  std::uint32_t max_workgroups_per_dimension = 65535;
  std::uint32_t max_storage_buffers = 8;  ///< Per kernel.
  std::uint64_t max_binding_bytes = std::uint64_t{128} << 20;
  std::uint64_t max_buffer_bytes = std::uint64_t{256} << 20;
  std::uint32_t offset_alignment = 256;  ///< Of a bound range, storage and uniform alike.

  // Features.
  bool subgroups = false;
  std::uint32_t subgroup_min_size = 0;  ///< 0: unknown.
  std::uint32_t subgroup_max_size = 0;  ///< 0: unknown.
  bool subgroup_id_builtin = false;     ///< WGSL's language feature subgroup_id.
  /// Subgroup number = local_invocation_index / subgroup_size, as the probe saw it. Used only without the builtin.
  bool subgroup_ids_follow_index = false;
  /// Single-pass plans with look-back gave right answers in the context's self-test.
  bool look_back = false;
  /// Atomic additions of a subgroup's lanes to one counter took effect in the order of the lanes, step after step, in
  /// the context's self-test; sorts then take what they return as ranks.
  bool lock_step = false;
  bool f16 = false;
  bool timestamps = false;

  /// Tests only: subgroup functions are emulated in workgroup memory with this size (0: not), and the numbering of
  /// subgroups and lanes is scrambled by `emulated_subgroup_seed`.
  std::uint32_t emulated_subgroup_size = 0;
  std::uint32_t emulated_subgroup_seed = 0;

  /// Tests only: chunk or tile numbers c with c % n = 1 are never published in single-pass plans (0: all are; scans: 1:
  /// none is), as if their workgroups stalled.
  std::uint32_t test_hidden_chunks = 0;
  /// Tests only: single-pass plans with look-back take their tiles in a scrambled order.
  bool test_shuffled_tiles = false;
  /// Tests only: their look-back finds nothing, and ranks in lock-step are not counted on, so that results are wrong.
  bool test_broken_look_back = false;

  std::string adapter;         ///< Human-readable name; planners do not look at it.
  std::string adapter_vendor;  ///< "nvidia", "amd", "mesa", ... as WebGPU reports it; tunings may.
  bool is_cpu = false;         ///< A software adapter.

  bool operator==(const DeviceTraits&) const = default;

  /// Every WebGPU device has at least this.
  static DeviceTraits webgpu_minimum() { return {}; }
  /// The same device inside WebGPU's default limits (features stay).
  [[nodiscard]] DeviceTraits with_default_limits() const;
  [[nodiscard]] DeviceTraits without_subgroups() const;
};

[[nodiscard]] std::string to_string(const DeviceTraits& traits);

}  // namespace upsweep
