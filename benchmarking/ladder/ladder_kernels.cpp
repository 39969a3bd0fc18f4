// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/ladder_kernels.h"

#include <bit>
#include <format>

#include "benchmarking/embedded_kernels.h"
#include "plan/kernel_builder.h"
#include "plan/subgroup_plan.h"

namespace upsweep::bench {

bool ladder_has_subgroups(const DeviceTraits& traits) {
  if (traits.emulated_subgroup_size != 0) return true;
  return has_numbered_subgroups(traits);
}

Status check_ladder_request(const ElementType& type, std::uint64_t item_count, std::uint32_t workgroup_size,
                            const DeviceTraits& traits) {
  if (type != ElementType::u32() && type != ElementType::f32()) {
    return fail(ErrorKind::invalid_request, std::format("The ladder has u32 and f32, not {}.", type.name));
  }
  if (item_count == 0 || item_count > traits.max_binding_bytes / 4) {
    return fail(ErrorKind::unsupported,
                std::format("The ladder takes 1 to {} items on this device (one binding), not {}.",
                            traits.max_binding_bytes / 4, item_count));
  }
  if (!std::has_single_bit(workgroup_size)) {
    return fail(ErrorKind::invalid_request,
                std::format("A workgroup of {} threads is no power of two.", workgroup_size));
  }
  return {};
}

Result<std::shared_ptr<const Kernel>> build_ladder_kernel(const LadderKernel& wanted, const ElementType& type,
                                                          std::uint32_t workgroup_size, const DeviceTraits& traits) {
  KernelBuilder builder{std::string(wanted.name)};
  const bool emulates = wanted.uses_subgroups && traits.emulated_subgroup_size != 0;
  std::uint32_t values = wanted.value_count;
  if (wanted.uses_subgroups) {
    const std::uint32_t slots = subgroup_slots(workgroup_size);
    builder.constant("SUBGROUP_SLOTS", slots);
    values += slots;
  }
  if (emulates) values += workgroup_size;
  const std::uint32_t unit_items = items_of(wanted.unit);
  builder.workgroup(workgroup_size, values * type.stride_bytes);
  builder.constant("UNIT_ITEMS", unit_items);
  builder.constant("TILE_ITEMS", wanted.tile_items != 0 ? wanted.tile_items : workgroup_size * unit_items);
  builder.alias("Item", type.wgsl_type).alias("Unit", unit_items == 4 ? "vec4<Item>" : "Item");
  add_entry(builder, emulates ? Entry::emulated : wanted.uses_subgroups ? Entry::subgroups : Entry::plain, traits);
  builder.part("grid.wgsl");
  add_benchmark_part(builder, "ladder_params.wgsl");
  if (wanted.loads_units) {
    // Scratch can be bound read_write only; the caller's input is bound for reading, as it should be.
    builder.generated("input binding", std::format("@group(0) @binding(1) var<storage, {}> input: array<Unit>;\n",
                                                   wanted.reads_scratch ? "read_write" : "read"));
    add_benchmark_part(builder, unit_items == 4 ? "ladder_unit.vectors.wgsl" : "ladder_unit.items.wgsl");
  }
  if (wanted.uses_subgroups) {
    add_benchmark_part(builder, emulates ? "ladder_subgroups.emulated.wgsl" : "ladder_subgroups.builtin.wgsl");
  }
  for (const std::string_view part : wanted.parts) add_benchmark_part(builder, part);
  add_benchmark_part(builder, std::format("{}.wgsl", wanted.name));
  return std::move(builder).build();
}

}  // namespace upsweep::bench
