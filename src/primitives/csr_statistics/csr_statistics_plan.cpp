// SPDX-License-Identifier: Apache-2.0
// Plans of the analysis of compressed rows: lengths, slices, blocks.
#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <utility>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "plan/sparse_parts.h"
#include "plan/subgroup_plan.h"

namespace upsweep {
namespace {

constexpr std::uint32_t length_bins = 33;
constexpr std::uint32_t slice_slots_word = 3;
constexpr std::uint32_t reordered_slots_word = 4;
// Each workgroup adds its bins to memory once.
constexpr std::uint64_t most_walkers = 1024;
// Entries in a row of a thread, of each chunk where blocks are counted.
constexpr std::uint32_t rounds = 8;

// Of block_size_list: 3 first, as many matrices have blocks of three unknowns, in a row of neighbours that other sizes
// fit almost as well.
constexpr std::array counting_order{1u, 2u, 0u, 3u, 4u};

static_assert(sizeof(CsrStatistics) == 83 * sizeof(std::uint32_t), "csr_statistics_params.wgsl numbers 83 words");

Status check(const CsrStatisticsShape& shape) {
  if (const Status ok = check_csr(shape.csr, "An analysis"); !ok) return ok;
  if (const Status ok = check_slice_rows(shape.slice_rows, shape.window_rows, "An analysis"); !ok) return ok;
  std::uint32_t known = 0;
  for (const std::uint32_t size : CsrStatistics::block_size_list) known |= 1u << size;
  if ((shape.block_sizes & ~known) != 0) {
    return fail(ErrorKind::invalid_request,
                std::format("Bits {:#x} of block sizes: only those of blocks of 2, 3, 4, 8 and 16 may be set ({:#x}).",
                            shape.block_sizes, known));
  }
  return {};
}

class StatisticsPlanner {
 public:
  StatisticsPlanner(const CsrStatisticsShape& shape, const SparseConversionTuning& tuning, const DeviceTraits& traits)
      : shape_(shape),
        tuning_(tuning),
        traits_(traits),
        workgroup_size_(fitted_workgroup(tuning, traits)),
        plan_("csr_statistics", traits) {}

  Result<Plan> finish() && {
    const SparseShape& csr = shape_.csr;
    plan_.note(to_string(csr));
    const std::uint64_t rows = csr.row_count;
    const bool counts_blocks = shape_.block_sizes != 0 && csr.entry_count != 0;
    plan_.least_bytes((rows + 1) * 4 + (counts_blocks ? csr.entry_count * std::uint64_t{4} : 0));
    statistics_ = plan_.argument("statistics", sizeof(CsrStatistics), 4, true);
    std::uint64_t counter_count = 0;
    if (counts_blocks) {
      for (const std::uint32_t size : CsrStatistics::block_size_list) {
        if (is_counted(size)) counter_count += div_ceil(rows, size);
      }
      runs_first_ = counter_count;
      counter_count += CsrStatistics::block_size_list.size();
      columns_ = plan_.argument("columns", csr.entry_count * std::uint64_t{4}, 4);
      counters_ = plan_.scratch("blocks of block rows", counter_count * 4);
    }
    clear(counter_count);
    if (rows == 0) return std::move(plan_).finish();
    row_offsets_ = plan_.argument("row_offsets", (rows + 1) * 4, 4);
    count_rows(counts_blocks);
    SliceWidths slices{.row_offsets = row_offsets_,
                       .row_count = csr.row_count,
                       .slice_rows = shape_.slice_rows,
                       .slice_count = div_ceil(rows, shape_.slice_rows),
                       .widths = statistics_,
                       .sum_word = slice_slots_word,
                       .workgroup_size = workgroup_size_};
    add_slice_widths(plan_, slices);
    if (shape_.window_rows != 0) {
      slices.row_order = plan_.scratch("row order", rows * 4, ScratchGroup::second);
      slices.sum_word = reordered_slots_word;
      add_row_order(plan_,
                    {.row_offsets = row_offsets_,
                     .row_order = *slices.row_order,
                     .csr = csr,
                     .window_rows = shape_.window_rows,
                     .tuning = tuning_},
                    traits_);
      add_slice_widths(plan_, slices);
    }
    if (counts_blocks) count_blocks();
    return std::move(plan_).finish();
  }

 private:
  [[nodiscard]] bool is_counted(std::uint32_t block_size) const { return (shape_.block_sizes >> block_size & 1) != 0; }

  KernelBuilder start(std::string name, std::uint32_t workgroup_bytes) const {
    KernelBuilder builder(std::move(name));
    builder.workgroup(workgroup_size_, workgroup_bytes);
    add_entry(builder, Entry::plain, {});
    builder.part("grid.wgsl").part("csr_statistics_params.wgsl");
    return builder;
  }

  struct BlockPass {
    std::uint32_t size = 0;
    std::uint32_t number = 0;
    std::uint64_t counter_first = 0;
    std::uint64_t counter_count = 0;
  };

  PlanBuilder::Step step(const BlockPass& block, std::uint64_t workgroups) const {
    PlanBuilder::Step step;
    step.workgroup_count = workgroups;
    step.params = {{"row_count", shape_.csr.row_count},
                   {"entry_count", shape_.csr.entry_count},
                   {"slice_rows", shape_.slice_rows},
                   {"window_rows", shape_.window_rows},
                   {"block_sizes", shape_.block_sizes},
                   {"block_size", block.size},
                   {"block_number", block.number},
                   {"counter_first", static_cast<std::uint32_t>(block.counter_first)},
                   {"counter_count", static_cast<std::uint32_t>(block.counter_count)},
                   {"runs_first", static_cast<std::uint32_t>(runs_first_)},
                   {"most_runs", most_runs(block.size)},
                   {"run_bytes", bits(run_bytes(block.size))},
                   {"width_bytes_2", bits(width_bytes(2))},
                   {"width_bytes_3", bits(width_bytes(3))},
                   {"width_bytes_4", bits(width_bytes(4))},
                   {"width_bytes_8", bits(width_bytes(8))},
                   {"width_bytes_16", bits(width_bytes(16))},
                   {"chunk_count", static_cast<std::uint32_t>(chunk_count())},
                   {"workgroup_count", static_cast<std::uint32_t>(workgroups)},
                   {"offsets_first", 0},
                   {"columns_first", 0},
                   {"statistics_first", 0}};
    step.bindings = {bind_items("statistics", statistics_, "statistics_first")};
    return step;
  }

  // Chunks of entries that a workgroup takes: more of them spare searches for its rows, as long as there are workgroups
  // enough and their block rows stay near.
  [[nodiscard]] std::uint64_t chunk_count() const {
    const std::uint64_t entries = shape_.csr.entry_count;
    const std::uint64_t mean = entries / std::max(1u, shape_.csr.row_count);
    const std::uint64_t chunks = entries / (std::uint64_t{rounds} * workgroup_size_) / most_walkers;
    return std::clamp<std::uint64_t>(std::min(mean, chunks), 1, 8);
  }

  [[nodiscard]] std::uint64_t walkers(std::uint64_t items) const {
    return std::min(div_ceil(items, workgroup_size_), most_walkers);
  }

  void clear(std::uint64_t counter_count) {
    KernelBuilder builder = start("csr_statistics_clear", 0);
    builder.generated("counters", counter_count == 0
                                      ? "fn clear_counter(word: u32) {}\n"
                                      : "@group(0) @binding(2) var<storage, read_write> block_counters: array<u32>;\n"
                                        "fn clear_counter(word: u32) {\n"
                                        "  if (word < params.counter_count) { block_counters[word] = 0u; }\n}\n");
    builder.part("csr_statistics_clear.wgsl");
    const std::uint64_t words = std::max<std::uint64_t>(counter_count, sizeof(CsrStatistics) / 4);
    PlanBuilder::Step made = step({.counter_count = counter_count}, div_ceil(words, workgroup_size_));
    if (counter_count != 0) made.bindings.push_back({"block_counters", counters_});
    made.reason = "counts begin at zero";
    made.bytes_written = sizeof(CsrStatistics) + counter_count * 4;
    plan_.dispatch(std::move(builder).build(), std::move(made));
  }

  static std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

  [[nodiscard]] std::uint64_t block_bytes(std::uint32_t block_size) const {
    const SparseValues values = shape_.csr.values == SparseValues::f16 ? SparseValues::f16 : SparseValues::f32;
    return 4 + std::uint64_t{block_size} * block_size * bytes_of(values);
  }

  [[nodiscard]] float run_bytes(std::uint32_t block_size) const {
    if (!shape_.skip_large_blocks || block_size == 0) return 0;
    return static_cast<float>(block_bytes(block_size)) / static_cast<float>(block_size);
  }

  [[nodiscard]] float width_bytes(std::uint32_t block_size) const {
    return static_cast<float>(div_ceil(shape_.csr.row_count, block_size)) * static_cast<float>(block_bytes(block_size));
  }

  // More runs than so many are more blocks than the CSR's bytes hold. The largest number is more than the most.
  [[nodiscard]] std::uint32_t most_runs(std::uint32_t block_size) const {
    constexpr std::uint32_t any = 0xffffffffu;
    if (!shape_.skip_large_blocks || block_size == 0) return any;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(any - 1, stored_bytes(shape_.csr) * block_size / block_bytes(block_size)));
  }

  void count_rows(bool counts_blocks) {
    KernelBuilder builder = start("csr_statistics_rows", 2 * length_bins * 4 + 8 + 8);
    builder.generated("descents", counts_blocks
                                      ? "@group(0) @binding(3) var<storage, read> columns: array<u32>;\n"
                                        "fn begins_lower(entry: u32) -> bool {\n"
                                        "  let at = params.columns_first + entry;\n"
                                        "  return entry != 0u && columns[at] < columns[at - min(entry, 1u)];\n}\n"
                                      : "fn begins_lower(entry: u32) -> bool { return false; }\n");
    builder.part("csr_statistics_rows.wgsl");
    PlanBuilder::Step made = step({}, walkers(shape_.csr.row_count));
    made.bindings.push_back(bind_items("row_offsets", row_offsets_, "offsets_first"));
    if (counts_blocks) made.bindings.push_back(bind_items("columns", columns_, "columns_first"));
    made.reason = "rows by length";
    made.bytes_read = (shape_.csr.row_count + std::uint64_t{1}) * 4;
    plan_.dispatch(std::move(builder).build(), std::move(made));
  }

  // count_runs(begin, step): of a thread's entries. What it counts stays in registers, as arrays do not.
  static std::string runs_text() {
    constexpr std::uint32_t loads = 4;
    constexpr std::size_t words = CsrStatistics::block_size_list.size() + 1;
    std::string text = "fn count_runs(begin: u32, step: u32) {\n";
    for (std::size_t w = 0; w < words; ++w) text += std::format("  var count{} = 0u;\n", w);
    text += std::format("  for (var first = begin; first < params.entry_count; first += {}u * step) {{\n", loads);
    std::array<std::string, words> sums;
    for (std::uint32_t i = 0; i < loads; ++i) {
      // What is past the end counts for nothing: its column is that before it.
      text += std::format(
          "    let entry{0} = min(first + {0}u * step, params.entry_count - 1u);\n"
          "    let is_real{0} = first + {0}u * step < params.entry_count && entry{0} > 0u;\n"
          "    let own{0} = columns[params.columns_first + entry{0}];\n"
          "    let before{0} = columns[params.columns_first + select(entry{0}, entry{0} - 1u, is_real{0})];\n",
          i);
      sums[0] += std::format(" + u32(own{0} < before{0})", i);
      for (std::size_t w = 1; w < words; ++w) {
        sums.at(w) +=
            std::format(" + u32(own{0} / {1}u != before{0} / {1}u)", i, CsrStatistics::block_size_list.at(w - 1));
      }
    }
    for (std::size_t w = 0; w < words; ++w) text += std::format("    count{0} = count{0}{1};\n", w, sums.at(w));
    text += "  }\n";
    for (std::size_t w = 0; w < words; ++w) {
      text += std::format("  if (count{0} != 0u) {{ atomicAdd(&sums[{0}], count{0}); }}\n", w);
    }
    return text + "}\n";
  }

  void count_runs() {
    constexpr auto words = static_cast<std::uint32_t>(CsrStatistics::block_size_list.size() + 1);
    KernelBuilder builder = start("csr_statistics_runs", words * 4);
    builder.constant("RUN_WORDS", words);
    builder.generated("runs", runs_text()).part("csr_statistics_runs.wgsl");
    PlanBuilder::Step made = step({}, walkers(shape_.csr.entry_count));
    made.bindings.push_back({"block_counters", counters_});
    made.bindings.push_back(bind_items("columns", columns_, "columns_first"));
    made.reason = "how many blocks there are at least";
    made.bytes_read = shape_.csr.entry_count * std::uint64_t{4};
    plan_.dispatch(std::move(builder).build(), std::move(made));
  }

  void count_blocks() {
    // Block rows for each thread whose counts are near.
    constexpr std::uint32_t near_rows = 4;
    const std::uint64_t entries = shape_.csr.entry_count;
    count_runs();
    BlockPass block;
    for (const std::uint32_t number : counting_order) {
      block.number = number;
      block.size = CsrStatistics::block_size_list.at(number);
      if (!is_counted(block.size)) continue;
      block.counter_count = div_ceil(shape_.csr.row_count, block.size);
      KernelBuilder blocks = start("csr_statistics_blocks", near_rows * workgroup_size_ * 4 + 16);
      blocks.constant("ROUNDS", rounds).constant("NEAR_ROWS", near_rows * workgroup_size_);
      add_row_starts(blocks);
      add_search(blocks);
      blocks.part("sparse_blocks.wgsl").part("csr_statistics_blocks.wgsl");
      PlanBuilder::Step counting = step(block, div_ceil(entries, chunk_count() * rounds * workgroup_size_));
      counting.bindings.push_back({"block_counters", counters_});
      counting.bindings.push_back(bind_items("columns", columns_, "columns_first"));
      counting.bindings.push_back(bind_items("row_offsets", row_offsets_, "offsets_first"));
      counting.reason = std::format("blocks of {0} x {0} are counted, each by its first entry", block.size);
      counting.bytes_read = entries * 4;
      plan_.dispatch(std::move(blocks).build(), std::move(counting));
      KernelBuilder widths = start("csr_statistics_widths", 32);
      widths.part("csr_statistics_widths.wgsl");
      PlanBuilder::Step folding = step(block, walkers(block.counter_count));
      folding.bindings.push_back({"block_counters", counters_});
      folding.reason = "the widest block row, and all blocks";
      folding.bytes_read = block.counter_count * 4;
      plan_.dispatch(std::move(widths).build(), std::move(folding));
      block.counter_first += block.counter_count;
    }
  }

  const CsrStatisticsShape& shape_;
  const SparseConversionTuning& tuning_;
  const DeviceTraits& traits_;
  std::uint32_t workgroup_size_;
  PlanBuilder plan_;
  SlotId statistics_;
  SlotId row_offsets_;
  SlotId counters_;
  SlotId columns_;
  std::uint64_t runs_first_ = 0;
};

}  // namespace

Result<Plan> plan_csr_statistics(const CsrStatisticsShape& shape, const DeviceTraits& traits,
                                 const SparseConversionTuning& tuning) {
  if (const Status ok = check(shape); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_tuning(tuning); !ok) return std::unexpected(ok.error());
  return StatisticsPlanner(shape, tuning, traits).finish();
}

}  // namespace upsweep
