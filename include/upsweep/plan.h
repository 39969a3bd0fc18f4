// SPDX-License-Identifier: Apache-2.0
// A plan: kernels, dispatches and scratch as plain data. Made by planners without a device, run by Context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "upsweep/status.h"

namespace upsweep {

enum class BindingKind : std::uint8_t { uniform, storage_read, storage_read_write };

/// One `@group(0) @binding(n) var<...>` line of a kernel.
struct KernelBinding {
  std::string name;
  std::uint32_t index = 0;
  BindingKind kind = BindingKind::storage_read;
};

/// Where a run of lines of an assembled kernel came from: "scan_tile.wgsl", "operator \"my_max\"", ...
struct LineOrigin {
  std::uint32_t first_line = 1;  ///< In the assembled text, from 1.
  std::string origin;
};

/// The complete WGSL text of one pipeline and what is known of it. Never depends on an item count.
struct Kernel {
  std::string name;   ///< "reduce_tile"; also the label.
  std::string entry;  ///< Entry point.
  std::string text;
  std::uint64_t text_hash = 0;
  std::vector<LineOrigin> lines;
  std::vector<KernelBinding> bindings;
  std::vector<std::string> params;  ///< Fields of the uniform struct, 4 bytes each, in order.
  std::uint32_t workgroup_size = 0;
  std::uint32_t workgroup_bytes = 0;
  bool needs_subgroups = false;
  bool needs_f16 = false;

  /// "scan_tile.wgsl:31" for a line of the assembled text.
  [[nodiscard]] std::string locate(std::uint32_t line) const;
  [[nodiscard]] const KernelBinding* find_binding(std::string_view binding_name) const;
};

/// A buffer that a dispatch uses: given by the caller, working memory of the plan, constant bytes of the plan, or state
/// that the context keeps from one recording to the next.
enum class SlotKind : std::uint8_t { argument, scratch, constant, state };

struct SlotId {
  SlotKind kind = SlotKind::argument;
  std::uint32_t index = 0;
  bool operator==(const SlotId&) const = default;
};

/// A buffer that the caller names when the plan is recorded.
struct ArgumentSlot {
  std::string name;
  std::uint64_t size_bytes = 0;    ///< The view must have at least these.
  std::uint32_t stride_bytes = 4;  ///< The view's offset must be a multiple of this.
  bool is_written = false;
};

/// Scratch lies in up to six buffers, since WebGPU looks at whole buffers: a dispatch must not write the buffer that
/// its grid is read from, nor bind one buffer for reading and for writing.
enum class ScratchGroup : std::uint8_t {
  working,  ///< Bound to read_write variables only.
  grids,    ///< Holds the grid of an indirect dispatch; and what is read beside arrays of other groups, such as the few
            ///< words of a top-k's search.
  first,    ///< Bound to read variables, too: a dispatch reads slots of this group or writes them, not both.
  second,   ///< The same again, for dispatches that read one and write the other.
  third,    ///< And again, for plans around plans that need the first two.
  fourth,
};
constexpr std::size_t scratch_group_count = 6;

struct ScratchSlot {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset_bytes = 0;  ///< In the scratch of its group; slots whose lives do not meet may share bytes.
  std::uint32_t first_step = 0;
  std::uint32_t last_step = 0;
  ScratchGroup group = ScratchGroup::working;
};

/// Memory that is zero at first and then keeps what kernels leave in it. All plans of a context that name the same
/// state share it; their kernels leave it fit for the next one, whatever its plan.
struct StateSlot {
  std::string name;
  std::uint64_t size_bytes = 0;
};

struct BoundRange {
  std::uint32_t binding = 0;  ///< Index of the @binding.
  SlotId slot;
  std::uint64_t offset_bytes = 0;  ///< From the slot's beginning.
  std::uint64_t size_bytes = 0;
  /// Index of the params field that receives the items between the bound offset (a multiple of the device's offset
  /// alignment) and the wanted one. Without it the offset must be aligned as it is.
  std::optional<std::uint32_t> first_item_field;
};

/// Workgroups of a dispatch: fixed, or three u32 read from a buffer.
struct Grid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  std::optional<SlotId> indirect;
  std::uint64_t indirect_offset_bytes = 0;
  bool operator==(const Grid&) const = default;
};

struct Dispatch {
  std::shared_ptr<const Kernel> kernel;
  Grid grid;
  std::vector<BoundRange> bindings;
  std::vector<std::byte> params;
  /// Params fields that must be equal modulo 4 once the offsets of the arguments are known: vector loads rely on it.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> alike_fields = {};
  std::string reason;  ///< One sentence for `explain`.
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

/// What to run. Dispatches only, so that it can be recorded into a compute pass as well as into an encoder; each
/// dispatch sees the writes of those before it.
struct Plan {
  std::string name;
  std::vector<ArgumentSlot> arguments;
  std::vector<ScratchSlot> scratch;
  std::vector<StateSlot> states;
  std::vector<std::vector<std::byte>> constants;
  std::vector<Dispatch> dispatches;
  std::vector<std::string> notes;  ///< Reasons and properties: chosen path, error bound, ...
  std::array<std::uint64_t, scratch_group_count> scratch_group_bytes = {};  ///< By ScratchGroup.
  std::uint64_t scratch_bytes = 0;                                          ///< Of all groups together.
  std::uint64_t least_bytes = 0;  ///< Bytes that any implementation must move, whatever the items are.
  bool counts_results = false;    ///< The items decide how many results there are.

  /// By all passes together; where the items decide how many results there are, with as many as there is room for.
  [[nodiscard]] std::uint64_t bytes_moved() const;
  [[nodiscard]] const ArgumentSlot* find_argument(std::string_view argument_name) const;
};

/// Stable text: passes, grids, bindings, scratch. Used by `explain` and by the golden plans.
[[nodiscard]] std::string to_string(const Plan& plan);

}  // namespace upsweep
