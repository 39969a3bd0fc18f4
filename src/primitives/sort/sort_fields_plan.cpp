// SPDX-License-Identifier: Apache-2.0
#include "primitives/sort/sort_fields.h"

#include <bit>
#include <format>
#include <utility>
#include <vector>

#include "plan/grid.h"
#include "plan/plan_builder.h"
#include "primitives/sort/sort_kernels.h"

namespace upsweep {
namespace {

// Sorts indices by one field after the other, the last one first; keys and values follow at the end.
class FieldPlanner {
 public:
  FieldPlanner(const SortShape& shape, const DeviceTraits& traits, const SortTuning& tuning)
      : shape_(shape), traits_(traits), tuning_(tuning), count_(shape.item_count.max), plan_("sort", traits) {
    layout_.counts_on_device = shape.item_count.read_on_device;
    layout_.tuning.workgroup_size = std::bit_floor(traits.max_workgroup_size);
  }

  Result<Plan> finish() && {
    plan_.note(std::format("sort of {} by {} fields{}{}", shape_.key.name, shape_.key_fields.size(),
                           shape_.value ? " with " : "", shape_.value ? shape_.value->name : ""));
    if (count_ == 0) return std::move(plan_).finish();
    name_arguments();
    SlotId order;
    for (std::size_t f = shape_.key_fields.size(); f-- > 0;) order = sort_by(f, order);
    if (shape_.write_keys) gather(order, keys_, sorted_keys_, shape_.key, "keys");
    if (shape_.value) gather(order, values_, sorted_values_, *shape_.value, "values");
    return std::move(plan_).finish();
  }

 private:
  void name_arguments() {
    const std::uint64_t key_stride = shape_.key.stride_bytes;
    const std::uint64_t value_stride = shape_.value ? shape_.value->stride_bytes : 0;
    plan_.least_bytes(count_ *
                      (key_stride * (shape_.write_keys ? 2 : 1) + 2 * value_stride + (shape_.write_indices ? 4 : 0)));
    keys_ = plan_.argument("keys", count_ * key_stride, shape_.key.stride_bytes);
    if (shape_.value) values_ = plan_.argument("values", count_ * value_stride, shape_.value->stride_bytes);
    if (shape_.write_keys) {
      sorted_keys_ = plan_.argument("sorted_keys", count_ * key_stride, shape_.key.stride_bytes, true);
    }
    if (shape_.value) {
      sorted_values_ = plan_.argument("sorted_values", count_ * value_stride, shape_.value->stride_bytes, true);
    }
    if (shape_.write_indices) indices_ = plan_.argument("indices", count_ * 4, 4, true);
    if (layout_.counts_on_device) item_count_ = plan_.argument("item_count", 4, 4);
  }

  // The last fields have led to `order`; the first field sorted by has none. Returns the order by this one.
  SlotId sort_by(std::size_t number, SlotId order) {
    const KeyField& field = shape_.key_fields[number];
    const bool has_order = number + 1 < shape_.key_fields.size();
    // The sort of a field needs the other groups; one order is read while the next one is written.
    const SlotId bits = plan_.scratch("field", count_ * field.type.stride_bytes, ScratchGroup::grids);
    PlanBuilder::Step step = item_step({"keys_first"});
    step.bindings.push_back({"keys_in", keys_, 0, 0, "keys_first"});
    step.bindings.push_back({"field_out", bits});
    if (has_order) step.bindings.push_back({"indices", order});
    step.reason = std::format("field {} of {} is read", number, shape_.key_fields.size());
    step.bytes_read = count_ * (field.type.stride_bytes + (has_order ? 4 : 0));
    step.bytes_written = count_ * field.type.stride_bytes;
    plan_.dispatch(sort_field_kernel(layout_, shape_.key.stride_bytes / 4, field, has_order), std::move(step));

    const bool is_last = number == 0;
    const SlotId next =
        is_last && shape_.write_indices
            ? indices_
            : plan_.scratch("order", count_ * 4, number % 2 == 0 ? ScratchGroup::third : ScratchGroup::fourth);
    SortShape inner{.item_count = shape_.item_count,
                    .key = field.type,
                    .key_is_f64 = field.is_f64,
                    .descending = field.descending != shape_.descending,
                    .write_keys = false,
                    .write_indices = !has_order};
    if (has_order) inner.value = ElementType::u32();
    std::vector<PlanBuilder::Outer> outer{{"keys", bits}, {has_order ? "sorted_values" : "indices", next}};
    if (has_order) outer.push_back({"values", order});
    if (layout_.counts_on_device) outer.push_back({"item_count", item_count_});
    plan_.append(plan_sort(inner, traits_, tuning_), outer);
    return next;
  }

  void gather(SlotId order, SlotId from, SlotId to, const ElementType& type, std::string_view what) {
    add_gather(plan_, sort_gather(layout_, count_, item_count_, order, from, to, type,
                                  std::format("{} follow by index", what)));
  }

  PlanBuilder::Step item_step(std::initializer_list<std::string_view> first_fields) const {
    PlanBuilder::Step step;
    step.thread_count = count_;
    step.params = {{"item_count", static_cast<std::uint32_t>(count_)}, {"count_first", 0}};
    for (const std::string_view field : first_fields) step.params.push_back({field, 0});
    if (layout_.counts_on_device) step.bindings.push_back({"item_counts", item_count_, 0, 0, "count_first"});
    return step;
  }

  const SortShape& shape_;
  const DeviceTraits& traits_;
  SortTuning tuning_;
  std::uint64_t count_;
  SortLayout layout_;
  PlanBuilder plan_;
  SlotId keys_;
  SlotId values_;
  SlotId sorted_keys_;
  SlotId sorted_values_;
  SlotId indices_;
  SlotId item_count_;
};

}  // namespace

Status check_sort_fields(const SortShape& shape) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  const auto cannot = [](std::string_view what) {
    return fail(ErrorKind::unsupported, std::format("Keys cannot be sorted by their fields {}.", what));
  };
  if (shape.key.stride_bytes == 0 || shape.key.stride_bytes % 4 != 0) {
    return refuse(std::format("Keys of {} bytes have no fields: a multiple of 4 bytes has.", shape.key.stride_bytes));
  }
  for (const KeyField& field : shape.key_fields) {
    const ElementType& type = field.type;
    if (!type.scalar || type.components != 1 || type.scalar == Scalar::f16) {
      return fail(ErrorKind::unsupported,
                  std::format("A field of type {} cannot be sorted by: u32, i32, f32, u64 and i64 can.", type.name));
    }
    if (field.is_f64 && type.scalar != Scalar::u64) {
      return refuse(std::format("Bits of doubles are fields of type u64, not {}.", type.name));
    }
    if (field.offset_bytes % 4 != 0 || field.offset_bytes + type.stride_bytes > shape.key.stride_bytes) {
      return refuse(std::format("A field of {} bytes at offset {} does not lie in whole words of a key of {} bytes.",
                                type.stride_bytes, field.offset_bytes, shape.key.stride_bytes));
    }
  }
  if (shape.begin_bit != 0 || shape.end_bit != 0) return cannot("and by a range of bits");
  if (shape.key_is_f64) return refuse("Keys with a list of fields are no doubles; fields may be.");
  if (shape.in_place) return cannot("in place: give another output");
  if (shape.segment_count) return cannot("in segments");
  if (shape.value && shape.value->stride_bytes % 4 != 0) return cannot("with values of 2 bytes");
  return {};
}

Result<Plan> plan_sort_by_fields(const SortShape& shape, const DeviceTraits& traits, const SortTuning& tuning) {
  return FieldPlanner(shape, traits, tuning).finish();
}

}  // namespace upsweep
