// SPDX-License-Identifier: Apache-2.0
#include "upsweep/sort.h"

#include <algorithm>
#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct SortKey {
  SortShape shape;
  SortTuning tuning;
  bool operator==(const SortKey&) const = default;
};

Result<const Plan*> find_plan(Context& context, const SortKey& key) {
  const SortShape& shape = key.shape;
  std::uint64_t hash = hash_bytes("sort");
  hash = hash_bytes(shape.key.name, hash);
  hash = hash_number(shape.item_count.max, hash);
  hash = hash_number(shape.begin_bit * 64ull + shape.end_bit, hash);
  hash = hash_number(key.tuning.items_per_thread, hash);
  if (shape.segment_count) hash = hash_number(shape.segment_count->max, hash);
  hash = hash_number(shape.key_fields.size(), hash);
  if (shape.value) hash = hash_bytes(shape.value->name, hash);
  return cached_plan(context.impl(), hash, key, [&] { return plan_sort(shape, context.traits(), key.tuning); });
}

bool is_ready(Context::Impl& impl, const Plan& plan) {
  return std::ranges::all_of(plan.dispatches,
                             [&](const Dispatch& dispatch) { return impl.pipelines.is_ready(*dispatch.kernel, 0); });
}

// Begins those pipelines of the plan that nobody has asked for yet. Where one cannot be made, small tiles serve on.
void begin(Context::Impl& impl, const Plan& plan) {
  for (const Dispatch& dispatch : plan.dispatches) {
    if (impl.pipelines.progress_of(*dispatch.kernel) != PipelineCache::Progress::absent) continue;
    impl.pipelines.get_async(impl, dispatch.kernel, [](const Status&) {});
  }
}

// Kernels for large tiles take a second to compile on some devices: one for small tiles serves until then.
// H200, 2026-12-01, cold, u32 pairs, four programs each: 101 to 166 ms (median 115) with 2 items a thread, 122 to 184
// (164) with 4. Tiles of 2 have twice the records of tiles of 4: many items would take much more scratch.
std::uint32_t stand_in_items(std::uint64_t item_count) { return item_count <= std::uint64_t{1} << 24 ? 2 : 4; }

}  // namespace

Status record_sort(Context& context, RecordTarget target, const SortShape& shape, const SortBuffers& buffers,
                   std::optional<SortTuning> tuning) {
  const bool same_keys = is_same_view(buffers.keys, buffers.sorted_keys);
  const bool same_values = is_same_view(buffers.values, buffers.sorted_values);
  const bool is_in_place = same_keys && (!shape.value || same_values);
  if (!is_in_place && (same_keys || same_values)) {
    return fail(ErrorKind::invalid_request,
                "A sort in place has one view for keys and one for values; only one of the two is in place.");
  }
  if (shape.in_place && buffers.keys.buffer != nullptr && !is_in_place) {
    return fail(ErrorKind::invalid_request, "A sort in place has one view; the keys are another than the sorted keys.");
  }
  thread_local SortKey key;  // its strings keep their memory from call to call
  key.shape = shape;
  key.shape.in_place = shape.in_place || is_in_place;
  key.tuning = tuning ? *tuning : select_sort_tuning(key.shape, context.traits());
  auto plan = find_plan(context, key);
  if (!plan) return std::unexpected(plan.error());
  Context::Impl& impl = context.impl();
  const std::array arguments{Argument{"keys", buffers.keys},
                             Argument{"values", buffers.values},
                             Argument{"indices", buffers.indices},
                             Argument{"sorted_keys", buffers.sorted_keys},
                             Argument{"sorted_values", buffers.sorted_values},
                             Argument{"item_count", buffers.item_count},
                             Argument{"segment_begins", buffers.segment_begins},
                             Argument{"segment_ends", buffers.segment_ends},
                             Argument{"segment_count", buffers.segment_count}};
  const std::uint32_t small_items = stand_in_items(shape.item_count.max);
  const bool may_stand_in =
      !tuning && !impl.traits.is_cpu && impl.waiter.can_wait() && key.tuning.items_per_thread > small_items;
  if (!may_stand_in || is_ready(impl, **plan)) return context.record(target, **plan, arguments);
  // Small tiles serve until the pipelines of large ones are ready.
  const SortTuning large = key.tuning;
  key.tuning.items_per_thread = small_items;
  key.tuning.stage_rounds = 1;
  key.tuning.look_records = 1;
  if (shape.segment_count) key.tuning.one_workgroup_items = small_items * key.tuning.workgroup_size;
  plan = find_plan(context, key);
  if (!plan) return std::unexpected(plan.error());
  const bool has_stood_in = is_ready(impl, **plan);
  const Status recorded = context.record(target, **plan, arguments);
  // The large ones are begun by the next call: reading their text alone takes tens of milliseconds, and compilers get
  // into each other's way.
  if (!has_stood_in) return recorded;
  key.tuning = large;
  plan = find_plan(context, key);
  if (plan) begin(impl, **plan);
  return recorded;
}

}  // namespace upsweep
