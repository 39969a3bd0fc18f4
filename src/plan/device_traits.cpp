// SPDX-License-Identifier: Apache-2.0
#include "upsweep/device_traits.h"

#include <algorithm>
#include <format>

namespace upsweep {

DeviceTraits DeviceTraits::with_default_limits() const {
  const DeviceTraits least;
  DeviceTraits traits = *this;
  traits.max_workgroup_size = std::min(max_workgroup_size, least.max_workgroup_size);
  traits.max_workgroup_bytes = std::min(max_workgroup_bytes, least.max_workgroup_bytes);
  traits.max_workgroups_per_dimension = std::min(max_workgroups_per_dimension, least.max_workgroups_per_dimension);
  traits.max_storage_buffers = std::min(max_storage_buffers, least.max_storage_buffers);
  traits.max_binding_bytes = std::min(max_binding_bytes, least.max_binding_bytes);
  traits.max_buffer_bytes = std::min(max_buffer_bytes, least.max_buffer_bytes);
  traits.offset_alignment = std::max(offset_alignment, least.offset_alignment);
  return traits;
}

DeviceTraits DeviceTraits::without_subgroups() const {
  DeviceTraits traits = *this;
  traits.subgroups = false;
  traits.subgroup_min_size = traits.subgroup_max_size = 0;
  traits.subgroup_id_builtin = traits.subgroup_ids_follow_index = false;
  traits.emulated_subgroup_size = 0;
  return traits;
}

std::string to_string(const DeviceTraits& traits) {
  return std::format(
      "{}: {} threads and {} bytes a workgroup, {} workgroups a dimension, {} storage buffers, {} bytes a binding, "
      "subgroups {}",
      traits.adapter.empty() ? "device" : traits.adapter, traits.max_workgroup_size, traits.max_workgroup_bytes,
      traits.max_workgroups_per_dimension, traits.max_storage_buffers, traits.max_binding_bytes,
      traits.subgroups ? std::format("{} to {}", traits.subgroup_min_size, traits.subgroup_max_size) : "no");
}

}  // namespace upsweep
