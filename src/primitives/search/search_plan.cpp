// SPDX-License-Identifier: Apache-2.0
// Plans of searches: one pass, a few queries a thread.
#include <algorithm>
#include <bit>
#include <format>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/order.h"
#include "plan/plan_builder.h"
#include "plan/subgroup_plan.h"
#include "upsweep/search.h"

namespace upsweep {
namespace {

constexpr std::uint64_t most_items = std::uint64_t{1} << 31;
constexpr std::uint32_t most_queries_per_thread = 64;

Status check(const SearchShape& shape, const DeviceTraits& traits) {
  if (const Status ok = check_order(shape.item, shape.order, "A search"); !ok) return ok;
  for (const auto& [count, what] : {std::pair{shape.item_count.max, "items"}, {shape.query_count.max, "queries"}}) {
    if (count > most_items) {
      return fail(ErrorKind::unsupported,
                  std::format("{} {} are more than a search takes ({}).", count, what, most_items));
    }
    const std::uint64_t stride = std::max(shape.item.stride_bytes, 4u);
    if (count * shape.item.stride_bytes > traits.max_binding_bytes) {
      return fail(ErrorKind::unsupported,
                  std::format("{} {} of {} bytes are larger than the device's limit of one binding ({} bytes); a "
                              "search needs each array in one.",
                              count, what, stride, traits.max_binding_bytes));
    }
  }
  return {};
}

Status check(const SearchTuning& tuning) {
  const bool is_sound = std::has_single_bit(tuning.workgroup_size) && tuning.queries_per_thread >= 1 &&
                        tuning.queries_per_thread <= most_queries_per_thread;
  if (is_sound) return {};
  return fail(ErrorKind::invalid_request, std::format("Tuning of a search out of range: {}.", to_string(tuning)));
}

std::string total_text(std::string_view function, std::string_view count, std::uint32_t binding, bool on_device) {
  if (!on_device) return std::format("fn {}() -> u32 {{ return params.{}; }}\n", function, count);
  return std::format(
      "@group(0) @binding({2}) var<storage, read> {1}s: array<u32>;\n"
      "fn {0}() -> u32 {{ return min({1}s[params.{1}_first], params.{1}); }}\n",
      function, count, binding);
}

std::uint32_t sample_count(const SearchShape& shape, const SearchTuning& tuning, const DeviceTraits& traits) {
  const std::uint32_t bytes = std::min(tuning.sample_bytes, traits.max_workgroup_bytes);
  const std::uint32_t stride = std::max(shape.item.stride_bytes, 4u);
  return std::bit_floor(std::max(bytes / stride, 1u));
}

Result<std::shared_ptr<const Kernel>> search_kernel(const SearchShape& shape, const SearchTuning& tuning,
                                                    std::uint32_t samples) {
  KernelBuilder builder("search_positions");
  builder.workgroup(tuning.workgroup_size, samples * std::max(shape.item.stride_bytes, 4u));
  add_entry(builder, Entry::plain, {});
  builder.constant("SAMPLES", samples).constant("QUERIES_PER_THREAD", tuning.queries_per_thread);
  add_order(builder, shape.item, shape.order);
  const MovedItem item = moved_item(shape.item);
  const bool is_lower = shape.bound == SearchBound::lower;
  builder.generated("items", std::format("@group(0) @binding(1) var<storage, read> items: array<{0}>;\n"
                                         "@group(0) @binding(2) var<storage, read> queries: array<{0}>;\n{1}{2}"
                                         "fn is_behind(query: RawKey, item: RawKey) -> bool {{ return {3}; }}\n",
                                         item.stored, load_function("load_item", item, "items", "items_first"),
                                         load_function("load_query", item, "queries", "queries_first"),
                                         is_lower ? "comes_before(item, query)" : "!comes_before(query, item)"));
  builder.generated("counts", total_text("item_total", "item_count", 4, shape.item_count.read_on_device) +
                                  total_text("query_total", "query_count", 5, shape.query_count.read_on_device));
  builder.part("grid.wgsl").part("search_positions.wgsl");
  return std::move(builder).build();
}

}  // namespace

Result<Plan> plan_search(const SearchShape& shape, const DeviceTraits& traits, std::optional<SearchTuning> tuning) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  SearchTuning chosen = tuning.value_or(select_search_tuning(shape, traits));
  if (const Status ok = check(chosen); !ok) return std::unexpected(ok.error());
  chosen.workgroup_size = std::min(chosen.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  const std::uint64_t items = shape.item_count.max;
  const std::uint64_t queries = shape.query_count.max;
  PlanBuilder plan("search", traits);
  plan.note(
      std::format("{} bounds in {} items, order {}", to_string(shape.bound), shape.item.name, to_string(shape.order)));
  if (queries == 0) return std::move(plan).finish();
  const std::uint32_t samples = sample_count(shape, chosen, traits);
  plan.note(std::format("the first levels in workgroup memory: up to {} of the items", samples));
  auto kernel = search_kernel(shape, chosen, samples);
  if (!kernel) return std::unexpected(kernel.error());
  const std::uint32_t stride = shape.item.stride_bytes;
  const SlotId query_slot = plan.argument("queries", queries * stride, stride);
  // Something has to be bound where there are no items.
  const SlotId item_slot = items == 0 ? query_slot : plan.argument("items", items * stride, stride);
  const SlotId positions = plan.argument("positions", queries * 4, 4, true);
  PlanBuilder::Step step;
  step.kernel = *kernel;
  step.workgroup_count = div_ceil(queries, std::uint64_t{chosen.workgroup_size} * chosen.queries_per_thread);
  step.bindings = {{"items", item_slot, 0, 0, "items_first"},
                   {"queries", query_slot, 0, 0, "queries_first"},
                   {"positions", positions, 0, 0, "positions_first"}};
  step.params = {{"item_count", static_cast<std::uint32_t>(items)},
                 {"query_count", static_cast<std::uint32_t>(queries)},
                 {"item_count_first", 0},
                 {"query_count_first", 0}};
  if (shape.item_count.read_on_device) {
    step.bindings.push_back({"item_counts", plan.argument("item_count", 4, 4), 0, 0, "item_count_first"});
  }
  if (shape.query_count.read_on_device) {
    step.bindings.push_back({"query_counts", plan.argument("query_count", 4, 4), 0, 0, "query_count_first"});
  }
  step.reason = std::format("{} steps a query", std::bit_width(items));
  // An item a step, at worst; caches hold those that many queries look at.
  step.bytes_read = queries * stride * (1 + static_cast<std::uint64_t>(std::bit_width(items)));
  step.bytes_written = queries * 4;
  plan.least_bytes(queries * (stride + 4));
  plan.dispatch(std::move(step));
  return std::move(plan).finish();
}

}  // namespace upsweep
