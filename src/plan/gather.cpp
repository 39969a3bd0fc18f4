// SPDX-License-Identifier: Apache-2.0
#include "plan/gather.h"

#include <utility>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

Result<std::shared_ptr<const Kernel>> gather_kernel(const Gather& gather) {
  KernelBuilder builder(gather.name);
  builder.workgroup(gather.most_threads, 0);
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl").part("gather_params.wgsl");
  builder.generated("count",
                    gather.counts
                        ? "@group(0) @binding(7) var<storage, read> item_counts: array<u32>;\n"
                          "fn item_count() -> u32 { return min(item_counts[params.count_first], params.item_count); }\n"
                        : "fn item_count() -> u32 { return params.item_count; }\n");
  if (gather.type.stride_bytes == 2) {
    builder.part("gather.halves.wgsl");
  } else {
    builder.constant("VALUE_WORDS", gather.type.stride_bytes / 4).part("gather.words.wgsl");
  }
  return std::move(builder).build();
}

}  // namespace

void add_gather(PlanBuilder& plan, const Gather& gather) {
  const std::uint64_t stride = gather.type.stride_bytes;
  PlanBuilder::Step step;
  // Halves are stored two by two.
  step.thread_count = stride == 2 ? div_ceil(gather.item_count, 2) : gather.item_count;
  step.params = {{"item_count", static_cast<std::uint32_t>(gather.item_count)},
                 {"source_count", static_cast<std::uint32_t>(gather.source_count)},
                 {"count_first", gather.count_word},
                 {"indices_first", 0},
                 {"values_first", 0},
                 {"output_values_first", 0}};
  step.bindings = {bind_items("indices", gather.indices, "indices_first"),
                   bind_items("values_in", gather.from, "values_first"),
                   bind_items("values_out", gather.to, "output_values_first")};
  if (gather.counts) step.bindings.push_back(bind_items("item_counts", *gather.counts, "count_first"));
  step.reason = gather.reason;
  step.bytes_read = gather.item_count * (4 + stride);
  step.bytes_written = gather.item_count * stride;
  plan.dispatch(gather_kernel(gather), std::move(step));
}

}  // namespace upsweep
