// SPDX-License-Identifier: Apache-2.0
// Plans of is_sorted: the answer is set to yes, then every pair of neighbours is looked at.
#include <algorithm>
#include <bit>
#include <format>
#include <numeric>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/order.h"
#include "plan/plan_builder.h"
#include "plan/subgroup_plan.h"
#include "upsweep/is_sorted.h"

namespace upsweep {
namespace {

constexpr std::uint64_t most_items = 0xfffffffe;
// Of one dispatch: positions, which may pass the end by less than a workgroup's, must fit into 32 bits.
constexpr std::uint64_t most_window_pairs = 0x70000000;
constexpr std::uint32_t workgroup_size = 256;
constexpr std::uint32_t workgroup_size_of_cpu = 64;
constexpr std::uint32_t pairs_per_thread = 8;

// Of one binding, which begins at an aligned offset that is a whole number of items before the first one.
std::uint64_t most_bound_items(const IsSortedShape& shape, const DeviceTraits& traits) {
  const std::uint64_t stride = shape.input.stride_bytes;
  const std::uint64_t lead = std::lcm<std::uint64_t>(traits.offset_alignment, stride) - stride;
  return lead >= traits.max_binding_bytes ? 0 : (traits.max_binding_bytes - lead) / stride;
}

Status check(const IsSortedShape& shape, const DeviceTraits& traits) {
  if (const Status ok = check_order(shape.input, shape.order, "A look whether items are sorted"); !ok) return ok;
  if (!shape.write_result && !shape.write_leading_count) {
    return fail(ErrorKind::invalid_request, "A look whether items are sorted that writes nothing has no result.");
  }
  if (shape.item_count.max > most_items) {
    return fail(ErrorKind::unsupported,
                std::format("{} items are more than can be looked at ({}).", shape.item_count.max, most_items));
  }
  if (most_bound_items(shape, traits) < 4) {
    return fail(ErrorKind::unsupported,
                std::format("Items of {} bytes are too large for the device's limit of one binding ({} bytes).",
                            shape.input.stride_bytes, traits.max_binding_bytes));
  }
  return {};
}

KernelBuilder start_kernel(const std::string& name, const IsSortedShape& shape, std::uint32_t threads) {
  KernelBuilder builder(name);
  builder.workgroup(threads, 0);
  add_entry(builder, Entry::plain, {});
  builder.part("is_sorted_params.wgsl");
  builder.generated("count", shape.item_count.read_on_device
                                 ? "@group(0) @binding(4) var<storage, read> item_counts: array<u32>;\n"
                                   "fn item_total() -> u32 { return min(item_counts[params.count_first], "
                                   "params.item_count); }\n"
                                 : "fn item_total() -> u32 { return params.item_count; }\n");
  return builder;
}

Result<std::shared_ptr<const Kernel>> compare_kernel(const IsSortedShape& shape, std::uint32_t threads) {
  KernelBuilder builder = start_kernel("is_sorted_compare", shape, threads);
  builder.constant("PAIRS_PER_THREAD", pairs_per_thread);
  add_order(builder, shape.input, shape.order);
  const MovedItem item = moved_item(shape.input);
  builder.generated("items", std::format("@group(0) @binding(1) var<storage, read> items: array<{}>;\n{}", item.stored,
                                         load_function("load_item", item, "items", "items_first")));
  builder.part("grid.wgsl").part("is_sorted_compare.wgsl");
  return std::move(builder).build();
}

}  // namespace

Result<Plan> plan_is_sorted(const IsSortedShape& shape, const DeviceTraits& traits) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  const std::uint32_t threads =
      std::min(traits.is_cpu ? workgroup_size_of_cpu : workgroup_size, std::bit_floor(traits.max_workgroup_size));
  auto start = std::move(start_kernel("is_sorted_start", shape, threads).part("is_sorted_start.wgsl")).build();
  if (!start) return std::unexpected(start.error());
  auto compare = compare_kernel(shape, threads);
  if (!compare) return std::unexpected(compare.error());
  PlanBuilder plan("is_sorted", traits);
  const std::uint64_t items = shape.item_count.max;
  const std::uint64_t stride = shape.input.stride_bytes;
  plan.note(std::format("are {} {} sorted, order {}", items, shape.input.name, to_string(shape.order)));
  plan.least_bytes(items * stride);
  // A window sees the first item of the next one. Windows of f16 begin with a word.
  const std::uint64_t window_pairs = std::min(most_window_pairs, align_down(most_bound_items(shape, traits) - 2, 2));
  const SlotId input = items < 2 ? SlotId{} : plan.argument("input", items * stride, shape.input.stride_bytes);
  const auto answer = [&](bool is_wanted, std::string name) {
    return is_wanted ? plan.argument(std::move(name), 4, 4, true) : plan.scratch(std::move(name), 4);
  };
  const SlotId result = answer(shape.write_result, "result");
  const SlotId leading = answer(shape.write_leading_count, "leading_count");
  const SlotId item_count = shape.item_count.read_on_device ? plan.argument("item_count", 4, 4) : SlotId{};
  const auto step = [&](const std::shared_ptr<const Kernel>& kernel, std::uint64_t first, std::uint64_t pairs) {
    PlanBuilder::Step made;
    made.kernel = kernel;
    made.bindings = {{"sorted_result", result, 0, 0, shape.write_result ? "result_first" : ""},
                     {"leading_count", leading, 0, 0, shape.write_leading_count ? "leading_first" : ""}};
    if (shape.item_count.read_on_device) made.bindings.push_back({"item_counts", item_count, 0, 0, "count_first"});
    made.params = {{"item_count", static_cast<std::uint32_t>(items)},
                   {"index_base", static_cast<std::uint32_t>(first)},
                   {"pair_count", static_cast<std::uint32_t>(pairs)},
                   {"items_first", 0},
                   {"result_first", 0},
                   {"leading_first", 0},
                   {"count_first", 0}};
    return made;
  };
  PlanBuilder::Step begin = step(*start, 0, 0);
  begin.workgroup_count = 1;
  begin.reason = "sorted, unless a fault is found";
  begin.bytes_written = 8;
  plan.dispatch(std::move(begin));
  for (std::uint64_t first = 0; first + 1 < items; first += window_pairs) {
    const std::uint64_t pairs = std::min(window_pairs, items - 1 - first);
    PlanBuilder::Step look = step(*compare, first, pairs);
    look.workgroup_count = div_ceil(pairs, std::uint64_t{threads} * pairs_per_thread);
    look.bindings.push_back({"items", input, first * stride, (pairs + 1) * stride, "items_first"});
    look.reason = "every pair of neighbours";
    look.bytes_read = (pairs + 1) * stride;
    plan.dispatch(std::move(look));
  }
  return std::move(plan).finish();
}

}  // namespace upsweep
