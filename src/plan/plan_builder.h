// SPDX-License-Identifier: Apache-2.0
// The only way to make a Plan. Checks names, sizes and limits as it goes, so that a plan that exists can be recorded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "upsweep/device_traits.h"
#include "upsweep/plan.h"

namespace upsweep {

class PlanBuilder {
 public:
  struct Binding {
    std::string_view name;  // of the variable in the kernel
    SlotId slot;
    std::uint64_t offset_bytes = 0;
    std::uint64_t size_bytes = 0;  // 0: to the end of the slot
    // Params field that receives the items between the aligned offset and the wanted one; argument slots only.
    std::string_view first_item_field = {};
  };
  struct Param {
    std::string_view name;
    std::uint32_t value = 0;
  };
  struct Step {
    std::shared_ptr<const Kernel> kernel;
    std::uint64_t workgroup_count = 0;  // folded; the kernel's params grid_width and grid_height are filled in
    std::uint64_t thread_count = 0;     // instead of workgroup_count: as many threads as these
    std::optional<Grid> grid = {};      // instead of workgroup_count: an indirect grid
    std::vector<Binding> bindings;
    std::vector<Param> params;
    // Two params fields that must be equal modulo 4 when the offsets are known.
    std::optional<std::pair<std::string_view, std::string_view>> alike_fields = {};
    std::string reason;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
  };

  PlanBuilder(std::string name, const DeviceTraits& traits);

  SlotId argument(std::string name, std::uint64_t size_bytes, std::uint32_t stride_bytes, bool is_written = false);
  SlotId scratch(std::string name, std::uint64_t size_bytes, ScratchGroup group = ScratchGroup::working);
  SlotId constant(std::span<const std::byte> bytes);
  SlotId state(std::string name, std::uint64_t size_bytes);
  // What an argument of an appended plan is here. Offsets are of scratch only.
  struct Outer {
    std::string_view name;
    SlotId slot;
    std::uint64_t offset_bytes = 0;
  };
  // Adds the passes of a finished plan to this one, with its scratch, constants, state and notes; or its error.
  void append(const Result<Plan>& inner, std::span<const Outer> arguments);
  void note(std::string text);
  void least_bytes(std::uint64_t bytes);
  // The same where the items decide how many results there are.
  void least_bytes_of_counted(std::uint64_t bytes);
  void dispatch(Step step);
  // The same of a kernel that may have failed: its error becomes that of the plan.
  void dispatch(const Result<std::shared_ptr<const Kernel>>& kernel, Step step);

  // The first error that any step met, or the plan with its scratch laid out.
  Result<Plan> finish() &&;

 private:
  Status add(Step&& step);
  Status add_all(const Plan& inner, std::span<const Outer> arguments);
  Status add_binding(const Binding& binding, Dispatch& dispatch);
  Status add_indirect(const Grid& grid);
  Status check_scratch_use(const Dispatch& dispatch) const;
  [[nodiscard]] const ScratchSlot* bound_scratch(const Dispatch& dispatch, ScratchGroup group, BindingKind kind) const;
  Status check_kind(SlotId slot, const KernelBinding& variable) const;
  void use_scratch(SlotId slot);
  std::uint64_t slot_size(SlotId slot) const;

  DeviceTraits traits_;
  Plan plan_;
  Status status_;
};

// A binding whose params field receives its first item if the slot is an argument; others begin at 0.
inline PlanBuilder::Binding bind_items(std::string_view variable, SlotId slot, std::string_view first_field) {
  return {variable, slot, 0, 0, slot.kind == SlotKind::argument ? first_field : std::string_view()};
}

// As "1 tile", "2 tiles".
std::string counted(std::uint64_t count, std::string_view noun);

// Offsets for the slots of one group: those whose [first_step, last_step] do not meet may share bytes. Returns the
// total.
std::uint64_t lay_out_scratch(std::vector<ScratchSlot>& slots, std::uint64_t alignment,
                              ScratchGroup group = ScratchGroup::working);

}  // namespace upsweep
