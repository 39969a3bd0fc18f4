// SPDX-License-Identifier: Apache-2.0
#include "plan/row_offsets.h"

#include <utility>

#include "plan/kernel_builder.h"
#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

constexpr std::uint32_t workgroup_size = 256;

}  // namespace

void add_row_offsets(PlanBuilder& plan, const RowOffsets& what) {
  KernelBuilder builder("sparse_row_offsets");
  builder.workgroup(workgroup_size, workgroup_size * 12 + 8);
  add_entry(builder, Entry::plain, {});
  builder.part("grid.wgsl");
  builder.generated(
      "count", what.counts
                   ? "@group(0) @binding(3) var<storage, read> entry_counts: array<u32>;\n"
                     "fn entry_count() -> u32 { return min(entry_counts[params.count_first], params.entry_count); }\n"
                   : "fn entry_count() -> u32 { return params.entry_count; }\n");
  builder.part("sparse_row_offsets.wgsl");
  PlanBuilder::Step step;
  step.thread_count = what.entry_count + 1;
  step.bindings = {bind_items("rows", what.rows, "rows_first"), bind_items("offsets", what.offsets, "offsets_first")};
  if (what.counts) step.bindings.push_back(bind_items("entry_counts", *what.counts, "count_first"));
  step.params = {{"entry_count", static_cast<std::uint32_t>(what.entry_count)},
                 {"row_count", what.row_count},
                 {"rows_first", 0},
                 {"offsets_first", 0},
                 {"count_first", what.count_word}};
  step.reason = "where each row begins";
  step.bytes_read = what.entry_count * 4;
  step.bytes_written = (what.row_count + std::uint64_t{1}) * 4;
  plan.dispatch(std::move(builder).build(), std::move(step));
}

}  // namespace upsweep
