// SPDX-License-Identifier: Apache-2.0
// Plans of compressed rows becoming slots and blocks.
#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <utility>
#include <vector>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "plan/sparse_parts.h"
#include "plan/subgroup_plan.h"
#include "upsweep/scan.h"
#include "upsweep/select.h"

namespace upsweep {
namespace {

using Outer = PlanBuilder::Outer;

constexpr std::uint64_t most_places = std::uint64_t{1} << 31;
constexpr std::uint32_t rows_per_group = 64;  // of ELLPACK: writes in a row, and reads that are near
constexpr std::uint32_t no_source = 0xffffffffu;

Status refuse(std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); }

bool has_stride(SparseFormat format) {
  return format == SparseFormat::ell || format == SparseFormat::hybrid || format == SparseFormat::block_ell;
}

Status check_result(const SparseShape& csr, const SparseShape& result) {
  const SparseFormat format = result.format;
  if (!has_stride(format) && format != SparseFormat::sliced_ell) {
    return refuse(std::format("Compressed rows do not become {}: ell, hybrid, sliced_ell and block_ell they can.",
                              to_string(format)));
  }
  if (result.row_count != csr.row_count || result.column_count != csr.column_count) {
    return refuse(std::format("A conversion of {} x {} to {} x {}.", csr.row_count, csr.column_count, result.row_count,
                              result.column_count));
  }
  const bool counts = format == SparseFormat::block_ell && csr.values == SparseValues::ones;
  const SparseValues values = counts ? SparseValues::f32 : csr.values;
  if (result.values != values) {
    return refuse(std::format("Compressed rows of {} become {} of {}, not of {}.", to_string(csr.values),
                              to_string(format), to_string(values), to_string(result.values)));
  }
  if (format == SparseFormat::block_ell && !std::ranges::contains(CsrStatistics::block_size_list, result.block_size)) {
    return refuse(std::format("Blocks of {0} x {0}: 2, 3, 4, 8 and 16 are possible.", result.block_size));
  }
  if (format == SparseFormat::sliced_ell) {
    if (const Status ok = check_slice_rows(result.slice_rows, 0, "A conversion"); !ok) return ok;
  }
  const std::uint32_t least_stride = format == SparseFormat::block_ell ? result.group_count() : result.row_count;
  if (has_stride(format) && result.stride() < least_stride) {
    return refuse(std::format("A row_stride of {} is smaller than the {} {} between two slots.", result.row_stride,
                              least_stride, format == SparseFormat::block_ell ? "block rows" : "rows"));
  }
  if (format == SparseFormat::block_ell && values == SparseValues::f16 && result.block_size % 2 != 0 &&
      result.stride() % 2 != 0) {
    return refuse(std::format("f16 blocks of {0} x {0} need an even row_stride: {1} instead of {2}.", result.block_size,
                              result.stride() + 1, result.stride()));
  }
  return {};
}

std::string_view lesser_formats(SparseFormat format) {
  switch (format) {
    case SparseFormat::ell: return "hybrid, sliced_ell or csr";
    case SparseFormat::hybrid: return "csr, or fewer slots";
    case SparseFormat::sliced_ell: return "hybrid or csr, or slices of fewer rows";
    default: return "csr, or smaller blocks";
  }
}

Status check_size(const CsrConversion& shape) {
  const std::uint64_t csr_bytes = stored_bytes(shape.csr);
  const std::uint64_t bytes = stored_bytes(shape.result);
  if (shape.result.value_items() > most_places) {
    return fail(ErrorKind::unsupported, std::format("{} values of {} are more than a conversion takes ({}); {} may do.",
                                                    shape.result.value_items(), to_string(shape.result), most_places,
                                                    lesser_formats(shape.result.format)));
  }
  if (bytes <= csr_bytes * shape.most_growth) return {};
  return refuse(std::format(
      "{} takes {} bytes, {:.2f} times the {} of csr, where most_growth allows {} times: use {}, or allow more.",
      to_string(shape.result), bytes, static_cast<double>(bytes) / static_cast<double>(csr_bytes), csr_bytes,
      shape.most_growth, lesser_formats(shape.result.format)));
}

class ConversionPlanner {
 public:
  ConversionPlanner(const CsrConversion& shape, const SparseConversionTuning& tuning, const DeviceTraits& traits)
      : csr_(shape.csr),
        result_(shape.result),
        tuning_(tuning),
        traits_(traits),
        workgroup_size_(fitted_workgroup(tuning, traits)),
        plan_("csr_conversion", traits) {}

  Result<Plan> finish() && {
    plan_.note(std::format("{} to {}", to_string(csr_), to_string(result_)));
    plan_.least_bytes(stored_bytes(csr_) + stored_bytes(result_));
    const std::uint64_t places = result_.column_items();
    const bool is_hybrid = result_.format == SparseFormat::hybrid;
    if (places == 0 && !is_hybrid) return std::move(plan_).finish();
    row_offsets_ = plan_.argument("row_offsets", (csr_.row_count + std::uint64_t{1}) * 4, 4);
    // Something has to be bound where there are no entries.
    columns_ = row_offsets_;
    values_ = row_offsets_;
    if (csr_.entry_count != 0) {
      columns_ = plan_.argument("columns", csr_.entry_count * std::uint64_t{4}, 4);
      if (csr_.values != SparseValues::ones) {
        values_ = plan_.argument("values", value_array_bytes(csr_.values, csr_.entry_count), 4);
      }
    }
    if (places != 0) {
      result_columns_ = plan_.argument("result_columns", places * 4, 4, true);
      if (result_.values != SparseValues::ones) {
        result_values_ =
            plan_.argument("result_values", value_array_bytes(result_.values, result_.value_items()), 4, true);
      }
      if (result_.format == SparseFormat::block_ell) {
        add_blocks();
      } else if (result_.format == SparseFormat::sliced_ell) {
        add_sliced();
      } else {
        add_ell();
      }
    }
    if (is_hybrid) add_rest();
    return std::move(plan_).finish();
  }

 private:
  KernelBuilder start(std::string name) const {
    KernelBuilder builder(std::move(name));
    builder.workgroup(workgroup_size_, 0);
    add_entry(builder, Entry::plain, {});
    builder.part("grid.wgsl").part("csr_conversion_params.wgsl");
    return builder;
  }

  // All params, and the bindings of the CSR that the kernel declares.
  PlanBuilder::Step step(const Result<std::shared_ptr<const Kernel>>& kernel, std::uint64_t places) const {
    PlanBuilder::Step step;
    const auto bind = [&](std::string_view variable, SlotId slot, std::string_view first_field) {
      if (kernel && (*kernel)->find_binding(variable) != nullptr) {
        step.bindings.push_back(bind_items(variable, slot, first_field));
      }
    };
    bind("row_offsets", row_offsets_, "offsets_first");
    bind("columns", columns_, "columns_first");
    bind("values", values_, "values_first");
    bind("result_columns", result_columns_, "result_columns_first");
    bind("result_values", result_values_, "result_values_first");
    step.params = {{"row_count", csr_.row_count},
                   {"entry_count", csr_.entry_count},
                   {"place_count", static_cast<std::uint32_t>(places)},
                   {"row_stride", result_.stride()},
                   {"width", result_.width},
                   {"block_size", result_.block_size},
                   {"slice_rows", result_.slice_rows},
                   {"slice_count", result_.group_count()},
                   {"rest_row_room", result_.rest_row_count},
                   {"rows_per_group", rows_of_group()}};
    for (const std::string_view field :
         {"offsets_first", "columns_first", "values_first", "starts_first", "order_first", "counts_first",
          "result_columns_first", "result_values_first"}) {
      step.params.push_back({field, 0});
    }
    return step;
  }

  [[nodiscard]] std::uint32_t rows_of_group() const {
    return std::min(
        {rows_per_group, workgroup_size_, std::bit_ceil(std::max(1u, std::min(result_.stride(), 1u << 20)))});
  }

  [[nodiscard]] std::uint64_t entry_bytes() const { return 4 + bytes_of(csr_.values); }

  // Values move as they are: bits of f32, or halves of words.
  [[nodiscard]] std::string store_value_text() const {
    switch (csr_.values) {
      case SparseValues::ones: return "fn store_value(place: u32, source: u32, total: u32) {}\n";
      case SparseValues::f32:
        return "@group(0) @binding(3) var<storage, read> values: array<u32>;\n"
               "@group(0) @binding(8) var<storage, read_write> result_values: array<u32>;\n"
               "fn store_value(place: u32, source: u32, total: u32) {\n"
               "  var value = 0u;\n"
               "  if (source != NO_SOURCE) { value = values[params.values_first + source]; }\n"
               "  result_values[params.result_values_first + place] = value;\n}\n";
      case SparseValues::f16: break;
    }
    return "@group(0) @binding(3) var<storage, read> values: array<u32>;\n"
           "@group(0) @binding(8) var<storage, read_write> result_values: array<u32>;\n"
           "fn half_from(source: u32) -> u32 {\n"
           "  if (source == NO_SOURCE) { return 0u; }\n"
           "  return (values[params.values_first + source / 2u] >> (source % 2u * 16u)) & 0xffffu;\n}\n"
           "fn store_value(place: u32, source: u32, total: u32) {\n"
           "  if (place % 2u == 1u) { return; }\n"
           "  var pair = half_from(source);\n"
           "  if (place + 1u < total) { pair |= half_from(source_of(place + 1u)) << 16u; }\n"
           "  result_values[params.result_values_first + place / 2u] = pair;\n}\n";
  }

  KernelBuilder start_copy() const {
    KernelBuilder builder = start("csr_conversion_copy");
    builder.constant("NO_SOURCE", no_source);
    builder.generated("values", store_value_text());
    return builder;
  }

  static constexpr std::string_view row_offsets_text =
      "@group(0) @binding(4) var<storage, read> row_offsets: array<u32>;\n";

  void copy(KernelBuilder builder, std::uint64_t places, std::uint64_t workgroups, std::string reason,
            std::initializer_list<PlanBuilder::Binding> bindings) {
    builder.part("csr_conversion_copy.wgsl");
    const auto kernel = std::move(builder).build();
    PlanBuilder::Step made = step(kernel, places);
    made.bindings.append_range(bindings);
    made.workgroup_count = workgroups;
    made.reason = std::move(reason);
    made.bytes_read = csr_.entry_count * entry_bytes() + csr_.row_count * std::uint64_t{4};
    made.bytes_written = places * entry_bytes();
    plan_.dispatch(kernel, std::move(made));
  }

  void add_ell() {
    KernelBuilder builder = start_copy();
    builder.generated("row_offsets", row_offsets_text).part("csr_conversion_places.ell.wgsl");
    const std::uint64_t slots = workgroup_size_ / rows_of_group();
    copy(std::move(builder), result_.column_items(),
         div_ceil(result_.stride(), rows_of_group()) * div_ceil(result_.width, slots),
         std::format("slots of {} rows x {} a workgroup", rows_of_group(), slots), {});
  }

  void add_sliced() {
    const std::uint64_t places = result_.entry_count;
    const SlotId slice_offsets = plan_.argument("slice_offsets", (result_.group_count() + std::uint64_t{1}) * 4, 4);
    KernelBuilder builder = start_copy();
    builder.generated("row_offsets", row_offsets_text);
    builder.generated("rows", result_.is_reordered
                                  ? "@group(0) @binding(6) var<storage, read> row_order: array<u32>;\n"
                                    "fn row_at(place: u32) -> u32 { return row_order[params.order_first + place]; }\n"
                                  : "fn row_at(place: u32) -> u32 { return place; }\n");
    add_search(builder);
    builder.part("csr_conversion_places.sliced.wgsl");
    const PlanBuilder::Binding starts = bind_items("slice_offsets", slice_offsets, "starts_first");
    const std::uint64_t workgroups = div_ceil(places, workgroup_size_);
    if (!result_.is_reordered) {
      copy(std::move(builder), places, workgroups, "places of slices", {starts});
      return;
    }
    const SlotId row_order = plan_.argument("row_order", csr_.row_count * std::uint64_t{4}, 4);
    copy(std::move(builder), places, workgroups, "places of slices, rows in their order",
         {starts, bind_items("row_order", row_order, "order_first")});
  }

  void add_rest() {
    const std::uint64_t rows = csr_.row_count;
    const std::uint64_t row_room = result_.rest_row_count;
    const std::uint64_t entry_room = result_.rest_entry_count;
    const SlotId lengths = plan_.scratch("rest of rows", rows * 4, ScratchGroup::first);
    const SlotId rest_lengths = plan_.scratch("rest lengths", rows * 4, ScratchGroup::second);
    const SlotId rest_rows = plan_.scratch("rows with a rest", rows * 4, ScratchGroup::second);
    const SlotId row_totals = plan_.scratch("count of rows with a rest", 4, ScratchGroup::second);
    const SlotId rest_ends = plan_.scratch("rest ends", rows * 4, ScratchGroup::third);
    if (rows != 0) {
      KernelBuilder builder = start("csr_conversion_rest_lengths");
      builder.generated("row_offsets", row_offsets_text).part("csr_conversion_rest_lengths.wgsl");
      const auto kernel = std::move(builder).build();
      PlanBuilder::Step made = step(kernel, 0);
      made.bindings.push_back({"lengths", lengths});
      made.thread_count = rows;
      made.reason = std::format("entries of each row past {}", result_.width);
      made.bytes_read = rows * 4;
      made.bytes_written = rows * 4;
      plan_.dispatch(kernel, std::move(made));
    }
    const SelectShape select{.item_count = Count::on_host(rows),
                             .input = ElementType::u32(),
                             .predicate = Predicate::of("x != 0u"),
                             .write_indices = true};
    plan_.append(plan_select(select, traits_, tuning_.scan),
                 std::vector<Outer>{
                     {"input", lengths}, {"output", rest_lengths}, {"indices", rest_rows}, {"count", row_totals}});
    if (rows != 0) {
      const ScanShape scan{.item_count = Count::on_device(rows),
                           .input = ElementType::u32(),
                           .combine = BinaryOperator::sum(),
                           .kind = ScanKind::inclusive};
      plan_.append(plan_scan(scan, traits_, tuning_.scan),
                   std::vector<Outer>{{"input", rest_lengths}, {"output", rest_ends}, {"item_count", row_totals}});
    }
    const SlotId offsets_out = plan_.argument("rest_offsets", (row_room + 1) * 4, 4, true);
    const SlotId counts_out = plan_.argument("rest_counts", 8, 4, true);
    SlotId rows_out;
    if (row_room != 0) rows_out = plan_.argument("rest_rows", row_room * 4, 4, true);
    KernelBuilder builder = start("csr_conversion_rest_rows");
    builder.generated("rows", row_room == 0
                                  ? "fn store_row(i: u32) {}\n"
                                  : "@group(0) @binding(5) var<storage, read> selected_rows: array<u32>;\n"
                                    "@group(0) @binding(6) var<storage, read_write> rest_rows: array<u32>;\n"
                                    "fn store_row(i: u32) { rest_rows[params.order_first + i] = selected_rows[i]; }\n");
    builder.part("csr_conversion_rest_rows.wgsl");
    const auto kernel = std::move(builder).build();
    PlanBuilder::Step made = step(kernel, entry_room);
    made.bindings.append_range(
        std::initializer_list<PlanBuilder::Binding>{{"row_totals", row_totals},
                                                    {"rest_ends", rest_ends},
                                                    bind_items("rest_offsets", offsets_out, "starts_first"),
                                                    bind_items("rest_counts", counts_out, "counts_first")});
    if (row_room != 0) {
      made.bindings.push_back({"selected_rows", rest_rows});
      made.bindings.push_back(bind_items("rest_rows", rows_out, "order_first"));
    }
    made.thread_count = row_room + 1;
    made.reason = "rows with a rest, where theirs begins, and how many there are";
    made.bytes_read = row_room * 8;
    made.bytes_written = row_room * 8 + 12;
    plan_.dispatch(kernel, std::move(made));
    if (row_room == 0 || entry_room == 0 || csr_.entry_count == 0) return;
    result_columns_ = plan_.argument("rest_columns", entry_room * 4, 4, true);
    if (csr_.values != SparseValues::ones) {
      result_values_ = plan_.argument("rest_values", value_array_bytes(csr_.values, entry_room), 4, true);
    }
    KernelBuilder entries = start_copy();
    entries.generated("row_offsets", row_offsets_text);
    add_search(entries);
    entries.part("csr_conversion_places.rest.wgsl");
    copy(std::move(entries), entry_room, div_ceil(entry_room, workgroup_size_), "the rest's entries",
         {bind_items("rest_offsets", offsets_out, "starts_first"), bind_items("rest_rows", rows_out, "order_first"),
          bind_items("rest_counts", counts_out, "counts_first")});
  }

  // column_at(), block_size() and what sparse_blocks.wgsl needs else.
  static void add_block_parts(KernelBuilder& builder) {
    add_row_starts(builder);
    builder.generated("columns",
                      "@group(0) @binding(1) var<storage, read> columns: array<u32>;\n"
                      "fn column_at(entry: u32) -> u32 { return columns[params.columns_first + entry]; }\n"
                      "fn block_size() -> u32 { return params.block_size; }\n");
    builder.part("sparse_blocks.wgsl");
  }

  // value_at(), store_elements(): sums of lines, two of them in a word of f16.
  [[nodiscard]] std::string elements_text() const {
    const std::string values = "@group(0) @binding(5) var<storage, read> values: array<u32>;\n";
    const std::string store =
        "@group(0) @binding(8) var<storage, read_write> result_values: array<u32>;\n"
        "fn store_elements(place: u32, sums: array<f32, LINES>) {\n";
    switch (csr_.values) {
      case SparseValues::f32:
        return values +
               "fn value_at(entry: u32) -> f32 { return bitcast<f32>(values[params.values_first + entry]); }\n" +
               store + "  result_values[params.result_values_first + place] = bitcast<u32>(sums[0]);\n}\n";
      case SparseValues::ones:
        return "fn value_at(entry: u32) -> f32 { return 1.0; }\n" + store +
               "  result_values[params.result_values_first + place] = bitcast<u32>(sums[0]);\n}\n";
      case SparseValues::f16: break;
    }
    return values +
           "fn value_at(entry: u32) -> f32 {\n"
           "  return unpack2x16float(values[params.values_first + entry / 2u])[entry % 2u];\n}\n" +
           store +
           "  result_values[params.result_values_first + place / 2u] = f16_bits(bitcast<u32>(sums[0])) |\n"
           "      (f16_bits(bitcast<u32>(sums[1])) << 16u);\n}\n";
  }

  void add_blocks() {
    const std::uint64_t entries = csr_.entry_count;
    const SlotId ranks = plan_.scratch("ranks of blocks", (entries + 1) * 4, ScratchGroup::second);
    if (entries != 0) {
      const SlotId heads = plan_.scratch("first entries of blocks", (entries + 1) * 4, ScratchGroup::first);
      KernelBuilder marking = start("csr_conversion_heads");
      add_block_parts(marking);
      add_search(marking);
      marking.part("csr_conversion_heads.wgsl");
      const auto heads_kernel = std::move(marking).build();
      PlanBuilder::Step mark = step(heads_kernel, 0);
      mark.bindings.push_back({"heads", heads});
      mark.thread_count = entries + 1;
      mark.reason = "the first entry of each block is marked";
      mark.bytes_read = entries * 4;
      mark.bytes_written = (entries + 1) * 4;
      plan_.dispatch(heads_kernel, std::move(mark));
      const ScanShape scan{.item_count = Count::on_host(entries + 1),
                           .input = ElementType::u32(),
                           .combine = BinaryOperator::sum(),
                           .kind = ScanKind::exclusive};
      plan_.append(plan_scan(scan, traits_, tuning_.scan), std::vector<Outer>{{"input", heads}, {"output", ranks}});
      KernelBuilder placing = start("csr_conversion_slots");
      add_block_parts(placing);
      add_search(placing);
      placing.part("csr_conversion_slots.wgsl");
      const auto slots_kernel = std::move(placing).build();
      PlanBuilder::Step place = step(slots_kernel, 0);
      place.bindings.push_back({"ranks", ranks});
      place.thread_count = entries;
      place.reason = "block columns go to their slots, in ascending order";
      place.bytes_read = entries * 8;
      place.bytes_written = result_.column_items() * 4;
      plan_.dispatch(slots_kernel, std::move(place));
    }
    const bool is_half = csr_.values == SparseValues::f16;
    KernelBuilder filling = start("csr_conversion_blocks");
    filling.constant("LINES", is_half ? 2 : 1);
    add_block_parts(filling);
    if (is_half) filling.part("float16.wgsl");
    filling.generated("elements", elements_text()).part("csr_conversion_blocks.wgsl");
    const auto kernel = std::move(filling).build();
    PlanBuilder::Step fill = step(kernel, 0);
    fill.bindings.push_back({"ranks", ranks});
    fill.thread_count = result_.column_items() * result_.block_size / (is_half ? 2 : 1);
    fill.reason = "elements of blocks; unused slots";
    fill.bytes_read = entries * entry_bytes() + result_.column_items() * 4;
    fill.bytes_written = result_.value_items() * bytes_of(result_.values);
    plan_.dispatch(kernel, std::move(fill));
  }

  const SparseShape& csr_;
  const SparseShape& result_;
  const SparseConversionTuning& tuning_;
  const DeviceTraits& traits_;
  std::uint32_t workgroup_size_;
  PlanBuilder plan_;
  SlotId row_offsets_;
  SlotId columns_;
  SlotId values_;
  SlotId result_columns_;
  SlotId result_values_;
};

}  // namespace

Result<Plan> plan_csr_conversion(const CsrConversion& shape, const DeviceTraits& traits,
                                 const SparseConversionTuning& tuning) {
  if (const Status ok = check_csr(shape.csr, "A conversion"); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_result(shape.csr, shape.result); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(shape); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_tuning(tuning); !ok) return std::unexpected(ok.error());
  return ConversionPlanner(shape, tuning, traits).finish();
}

}  // namespace upsweep
