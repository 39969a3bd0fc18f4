// SPDX-License-Identifier: Apache-2.0
// Plans of merges: one pass merges the tiles; where there are many, one before it finds where their ranges begin.
#include <algorithm>
#include <bit>
#include <format>

#include "plan/grid.h"
#include "plan/merge_tiles.h"
#include "plan/plan_builder.h"
#include "upsweep/merge.h"

namespace upsweep {
namespace {

constexpr std::uint64_t most_items = std::uint64_t{1} << 30;
constexpr std::uint32_t most_items_per_thread = 32;

Status check(const MergeShape& shape, const DeviceTraits& traits) {
  if (const Status ok = check_order(shape.key, shape.order, "A merge"); !ok) return ok;
  if (shape.value && shape.value->size_bytes == 0) {
    return fail(ErrorKind::invalid_request, std::format("Type {} has no size.", shape.value->name));
  }
  const std::uint64_t left = shape.left_count.max;
  const std::uint64_t right = shape.right_count.max;
  if (left > most_items || right > most_items || left + right > most_items) {
    return fail(ErrorKind::unsupported,
                std::format("{} and {} items are more than a merge takes ({}).", left, right, most_items));
  }
  const std::uint64_t stride =
      std::max<std::uint64_t>(shape.key.stride_bytes, shape.value ? shape.value->stride_bytes : 0);
  if ((left + right) * stride > traits.max_binding_bytes) {
    return fail(ErrorKind::unsupported,
                std::format("{} items of {} bytes are larger than the device's limit of one binding ({} bytes); a "
                            "merge needs each array in one.",
                            left + right, stride, traits.max_binding_bytes));
  }
  return {};
}

Status check(const MergeTuning& tuning) {
  const bool is_sound = std::has_single_bit(tuning.workgroup_size) && tuning.workgroup_size >= 2 &&
                        tuning.items_per_thread >= 1 && tuning.items_per_thread <= most_items_per_thread;
  if (is_sound) return {};
  return fail(ErrorKind::invalid_request, std::format("Tuning of a merge out of range: {}.", to_string(tuning)));
}

// The two arrays of keys or of values. One without items is not asked for: the other one is bound in its place.
struct Inputs {
  SlotId left;
  SlotId right;
};

}  // namespace

Result<Plan> plan_merge(const MergeShape& shape, const DeviceTraits& traits, std::optional<MergeTuning> tuning) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  const MergeTuning chosen = tuning.value_or(select_merge_tuning(shape, traits));
  if (const Status ok = check(chosen); !ok) return std::unexpected(ok.error());
  MergeLayout layout{.source = MergeSource::arrays,
                     .key = shape.key,
                     .order = shape.order,
                     .values = shape.value ? merge_values_of(*shape.value) : MergeValues::none,
                     .value_bytes = shape.value ? shape.value->stride_bytes : 0,
                     .counts_left = shape.left_count.read_on_device,
                     .counts_right = shape.right_count.read_on_device,
                     .splits_ahead = shape.left_count.max + shape.right_count.max >= chosen.split_pass_items,
                     .workgroup_size = chosen.workgroup_size,
                     .items_per_thread = chosen.items_per_thread};
  if (const Status ok = fit_merge_tile(layout, traits, "A merge"); !ok) return std::unexpected(ok.error());

  PlanBuilder plan("merge", traits);
  const std::uint64_t left = shape.left_count.max;
  const std::uint64_t right = shape.right_count.max;
  const std::uint64_t count = left + right;
  plan.note(std::format("merge of {}{}{}, order {}", shape.key.name, shape.value ? " with " : "",
                        shape.value ? shape.value->name : "", to_string(shape.order)));
  if (count == 0) return std::move(plan).finish();
  plan.note(std::format("tiles of {} x {} items", layout.workgroup_size, layout.items_per_thread));
  const std::uint64_t key_bytes = shape.key.stride_bytes;
  const std::uint64_t value_bytes = layout.value_bytes;
  plan.least_bytes(2 * count * (key_bytes + value_bytes));
  const auto inputs = [&](const std::string& array, std::uint64_t stride) {
    const auto argument = [&](std::string_view side, std::uint64_t items) {
      return plan.argument(std::format("{}_{}", side, array), items * stride, static_cast<std::uint32_t>(stride));
    };
    Inputs made;
    if (left != 0) made.left = argument("left", left);
    made.right = right != 0 ? argument("right", right) : made.left;
    if (left == 0) made.left = made.right;
    return made;
  };
  const Inputs keys = inputs("keys", key_bytes);
  const SlotId merged_keys = plan.argument("merged_keys", count * key_bytes, shape.key.stride_bytes, true);
  Inputs values;
  SlotId merged_values;
  if (shape.value) {
    values = inputs("values", value_bytes);
    merged_values = plan.argument("merged_values", count * value_bytes, shape.value->stride_bytes, true);
  }
  const std::uint64_t tiles = div_ceil(count, layout.tile_items());
  SlotId left_count;
  SlotId right_count;
  if (layout.counts_left) left_count = plan.argument("left_count", 4, 4);
  if (layout.counts_right) right_count = plan.argument("right_count", 4, 4);
  const SlotId splits = layout.splits_ahead ? plan.scratch("splits", 4 * (2 + tiles)) : SlotId{};
  const auto step = [&] {
    PlanBuilder::Step made;
    made.bindings = {{"left_keys", keys.left, 0, 0, "left_keys_first"},
                     {"right_keys", keys.right, 0, 0, "right_keys_first"}};
    made.params = {{"left_count", static_cast<std::uint32_t>(left)},
                   {"right_count", static_cast<std::uint32_t>(right)},
                   {"run_items", 0},
                   {"pair_tiles", static_cast<std::uint32_t>(tiles)},
                   {"tile_count", static_cast<std::uint32_t>(tiles)},
                   {"write_keys", 1}};
    for (const std::string_view field :
         {"left_keys_first", "right_keys_first", "output_keys_first", "left_values_first", "right_values_first",
          "output_values_first", "left_count_first", "right_count_first"}) {
      made.params.push_back({field, 0});
    }
    return made;
  };

  const auto bind_counts = [&](PlanBuilder::Step& made) {
    if (layout.counts_left) made.bindings.push_back({"left_counts", left_count, 0, 0, "left_count_first"});
    if (layout.counts_right) made.bindings.push_back({"right_counts", right_count, 0, 0, "right_count_first"});
  };

  if (layout.splits_ahead) {
    const auto splits_kernel = merge_splits_kernel("merge_splits", layout);
    if (!splits_kernel) return std::unexpected(splits_kernel.error());
    PlanBuilder::Step split = step();
    split.kernel = *splits_kernel;
    split.workgroup_count = div_ceil(tiles, split.kernel->workgroup_size);
    split.bindings.push_back({"splits", splits});
    bind_counts(split);
    split.reason = "where the ranges of each tile begin";
    split.bytes_read = tiles * 2 * key_bytes * static_cast<std::uint64_t>(std::bit_width(std::min(left, right)));
    split.bytes_written = 4 * (2 + tiles);
    plan.dispatch(std::move(split));
  }

  const auto tiles_kernel = merge_tiles_kernel("merge_tiles", layout);
  if (!tiles_kernel) return std::unexpected(tiles_kernel.error());
  PlanBuilder::Step merge = step();
  merge.kernel = *tiles_kernel;
  merge.workgroup_count = tiles;
  if (layout.splits_ahead) {
    merge.bindings.push_back({"splits", splits});
  } else {
    bind_counts(merge);
  }
  merge.bindings.push_back({"keys_out", merged_keys, 0, 0, "output_keys_first"});
  if (shape.value) {
    merge.bindings.push_back({"left_values", values.left, 0, 0, "left_values_first"});
    merge.bindings.push_back({"right_values", values.right, 0, 0, "right_values_first"});
    merge.bindings.push_back({"values_out", merged_values, 0, 0, "output_values_first"});
  }
  merge.reason = "each workgroup merges a tile";
  merge.bytes_read = count * (key_bytes + value_bytes) + 8 * tiles;
  merge.bytes_written = count * (key_bytes + value_bytes);
  plan.dispatch(std::move(merge));
  return std::move(plan).finish();
}

}  // namespace upsweep
