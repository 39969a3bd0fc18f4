// SPDX-License-Identifier: Apache-2.0
// Plans of what makes compressed rows by one sort: of coordinates, and of compressed rows by column (the transpose).
#include <algorithm>
#include <bit>
#include <format>
#include <utility>
#include <vector>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "plan/row_offsets.h"
#include "plan/sparse_parts.h"
#include "plan/subgroup_plan.h"
#include "upsweep/runs.h"

namespace upsweep {
namespace {

using Outer = PlanBuilder::Outer;

constexpr std::uint64_t most_entries = (std::uint64_t{1} << 30) - 1;  // as a sort takes

std::uint32_t index_bits(std::uint32_t count) {
  return std::max(1u, static_cast<std::uint32_t>(std::bit_width(std::max(count, 1u) - 1)));
}

// What is sorted: keys of two parts, the greater of which becomes the row of the result.
struct Request {
  SparseShape input;  // coo or csr
  bool count_on_device = false;
  bool merges = false;  // entries of one place become one
  SparseConversionTuning tuning;

  [[nodiscard]] bool is_transpose() const { return input.format == SparseFormat::csr; }
  [[nodiscard]] std::uint32_t result_rows() const { return is_transpose() ? input.column_count : input.row_count; }
  [[nodiscard]] std::uint32_t result_columns() const { return is_transpose() ? input.row_count : input.column_count; }
};

class CooToCsrPlanner {
 public:
  CooToCsrPlanner(const Request& request, const DeviceTraits& traits)
      : request_(request),
        traits_(traits),
        count_(request_.input.entry_count),
        greater_bits_(index_bits(request_.result_rows())),
        lesser_bits_(index_bits(request_.result_columns())),
        plan_(request_.is_transpose() ? "csr_transpose" : "coo_to_csr", traits) {}

  Result<Plan> finish() && {
    const SparseShape& input = request_.input;
    plan_.note(to_string(input) + (request_.count_on_device ? ", fewer as the device says" : ""));
    if (count_ != 0) {
      plan_.note(
          std::format("keys of {} + {} bits in {}", greater_bits_, lesser_bits_, is_wide_ ? "two words" : "a word"));
    }
    const std::uint64_t entry_bytes = 4 + bytes_of(input.values);
    plan_.least_bytes(count_ * (2 * entry_bytes + (request_.is_transpose() ? 0 : 4)) +
                      (request_.result_rows() + std::uint64_t{1}) * 4);
    name_arguments();
    if (count_ != 0) {
      make_keys();
      sort();
      if (request_.merges) merge_duplicates();
    } else {
      sorted_keys_ = plan_.scratch("no keys", 0, ScratchGroup::second);
    }
    split();
    add_row_offsets(plan_, {.rows = rows_,
                            .offsets = offsets_out_,
                            .entry_count = count_,
                            .row_count = request_.result_rows(),
                            .counts = result_count_});
    return std::move(plan_).finish();
  }

 private:
  [[nodiscard]] SparseValues values() const { return request_.input.values; }
  [[nodiscard]] ElementType key_type() const { return is_wide_ ? ElementType::u64() : ElementType::u32(); }

  void name_arguments() {
    const SparseShape& input = request_.input;
    const bool is_transpose = request_.is_transpose();
    const std::uint64_t value_bytes = value_array_bytes(values(), count_);
    if (count_ != 0) {
      if (is_transpose) {
        row_source_ = plan_.argument("row_offsets", (input.row_count + std::uint64_t{1}) * 4, 4);
      } else {
        row_source_ = plan_.argument("rows", count_ * 4, 4);
      }
      columns_ = plan_.argument("columns", count_ * 4, 4);
      columns_out_ = plan_.argument(is_transpose ? "transposed_columns" : "csr_columns", count_ * 4, 4, true);
      if (value_bytes != 0) {
        values_ = plan_.argument("values", value_bytes, 4);
        values_out_ = plan_.argument(is_transpose ? "transposed_values" : "csr_values", value_bytes, 4, true);
      }
      if (request_.count_on_device) {
        entry_count_ = plan_.argument("entry_count", 4, 4);
        result_count_ = entry_count_;
      }
    } else {
      columns_out_ = plan_.scratch("no columns", 0);
    }
    offsets_out_ = plan_.argument(is_transpose ? "transposed_offsets" : "row_offsets",
                                  (request_.result_rows() + std::uint64_t{1}) * 4, 4, true);
    if (!is_transpose) stored_count_ = plan_.argument("stored_count", 4, 4, true);
  }

  KernelBuilder start(std::string name) const {
    KernelBuilder builder(std::move(name));
    builder.workgroup(fitted_workgroup(request_.tuning, traits_), 0);
    add_entry(builder, Entry::plain, {});
    builder.alias("Key", is_wide_ ? "vec2u" : "u32");
    builder.part("grid.wgsl").part("coo_to_csr_params.wgsl");
    return builder;
  }

  static void add_total(KernelBuilder& builder, bool on_device) {
    builder.generated(
        "count", on_device
                     ? "@group(0) @binding(7) var<storage, read> entry_counts: array<u32>;\n"
                       "fn entry_total() -> u32 { return min(entry_counts[params.count_first], params.entry_count); }\n"
                     : "fn entry_total() -> u32 { return params.entry_count; }\n");
  }

  PlanBuilder::Step step(std::uint64_t threads) const {
    PlanBuilder::Step step;
    step.thread_count = threads;
    step.params = {{"entry_count", static_cast<std::uint32_t>(count_)},
                   {"row_count", request_.input.row_count},
                   {"minor_bits", lesser_bits_}};
    for (const std::string_view field :
         {"offsets_first", "rows_first", "columns_first", "values_first", "count_first", "stored_first"}) {
      step.params.push_back({field, 0});
    }
    return step;
  }

  // make_key(row, column)
  [[nodiscard]] std::string make_key_text() const {
    const std::string_view parts = request_.is_transpose() ? "  let greater = column;\n  let lesser = row;\n"
                                                           : "  let greater = row;\n  let lesser = column;\n";
    return std::format("fn make_key(row: u32, column: u32) -> Key {{\n{}{}}}\n", parts,
                       is_wide_ ? "  if (params.minor_bits == 32u) { return vec2u(lesser, greater); }\n"
                                  "  return vec2u(lesser | (greater << params.minor_bits), "
                                  "greater >> (32u - params.minor_bits));\n"
                                : "  return lesser | (greater << params.minor_bits);\n");
  }

  [[nodiscard]] std::string_view key_parts_text() const {
    if (!is_wide_) {
      return "fn lesser_part(key: Key) -> u32 { return key & ((1u << params.minor_bits) - 1u); }\n"
             "fn greater_part(key: Key) -> u32 { return key >> params.minor_bits; }\n";
    }
    return "fn lesser_part(key: Key) -> u32 {\n"
           "  return select(key.x & ((1u << params.minor_bits) - 1u), key.x, params.minor_bits == 32u);\n}\n"
           "fn greater_part(key: Key) -> u32 {\n"
           "  if (params.minor_bits == 32u) { return key.y; }\n"
           "  return (key.x >> params.minor_bits) | (key.y << (32u - params.minor_bits));\n}\n";
  }

  // Sorts read keys of group third and write second, whatever their passes.
  void make_keys() {
    const bool widens = values() == SparseValues::f16;
    keys_ = plan_.scratch("keys", count_ * key_type().stride_bytes, ScratchGroup::third);
    KernelBuilder builder = start("coo_to_csr_keys");
    add_total(builder, request_.count_on_device);
    if (request_.is_transpose()) {
      add_row_starts(builder);
      add_search(builder);
      builder.generated("rows",
                        "fn begin_rows(first: u32, thread: Thread) {\n"
                        "  bound_starts(first, first + WORKGROUP_SIZE - 1u, params.row_count, thread);\n}\n"
                        "fn row_of(entry: u32) -> u32 { return find_start(entry); }\n");
    } else {
      builder.generated("rows",
                        "@group(0) @binding(4) var<storage, read> rows: array<u32>;\n"
                        "fn begin_rows(first: u32, thread: Thread) {}\n"
                        "fn row_of(entry: u32) -> u32 { return rows[params.rows_first + entry]; }\n");
    }
    builder.generated("key", make_key_text());
    builder.generated("values",
                      widens ? std::format("@group(0) @binding(5) var<storage, read> values: array<u32>;\n"
                                           "@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;\n"
                                           "fn store_value(entry: u32) {{\n"
                                           "  let pair = values[params.values_first + entry / 2u];\n"
                                           "  values_out[entry] = {};\n}}\n",
                                           request_.merges ? "bitcast<u32>(unpack2x16float(pair)[entry % 2u])"
                                                           : "(pair >> (entry % 2u * 16u)) & 0xffffu")
                             : "fn store_value(entry: u32) {}\n");
    builder.part("coo_to_csr_keys.wgsl");
    PlanBuilder::Step made = step(count_);
    made.bindings = {
        bind_items("columns", columns_, "columns_first"),
        {"keys_out", keys_},
        bind_items(request_.is_transpose() ? "row_offsets" : "rows", row_source_,
                   request_.is_transpose() ? "offsets_first" : "rows_first"),
    };
    if (widens) {
      const SlotId wide = plan_.scratch("wide values", count_ * 4, ScratchGroup::third);
      made.bindings.push_back(bind_items("values", values_, "values_first"));
      made.bindings.push_back({"values_out", wide});
      values_ = wide;
    }
    if (request_.count_on_device) made.bindings.push_back(bind_items("entry_counts", entry_count_, "count_first"));
    made.reason = std::format("keys of row and column{}", widens ? "; f16 values get a word each" : "");
    made.bytes_read = count_ * (request_.is_transpose() ? 4 : 8) + (widens ? 2 * count_ : 0);
    made.bytes_written = count_ * (key_type().stride_bytes + (widens ? 4 : 0));
    plan_.dispatch(std::move(builder).build(), std::move(made));
  }

  void sort() {
    // Rows of compressed rows ascend already, and the sort is stable.
    SortShape shape{.item_count = {count_, request_.count_on_device},
                    .key = key_type(),
                    .begin_bit = request_.is_transpose() ? lesser_bits_ : 0,
                    .end_bit = greater_bits_ + lesser_bits_};
    sorted_keys_ = plan_.scratch("sorted keys", count_ * key_type().stride_bytes, ScratchGroup::second);
    if (values() != SparseValues::ones) {
      shape.value = ElementType::u32();
      sorted_values_ = values() == SparseValues::f32 && !request_.merges
                           ? values_out_
                           : plan_.scratch("sorted values", count_ * 4, ScratchGroup::second);
    }
    plan_.append(plan_sort(shape, traits_, request_.tuning.sort), std::vector<Outer>{{"keys", keys_},
                                                                                     {"values", values_},
                                                                                     {"sorted_keys", sorted_keys_},
                                                                                     {"sorted_values", sorted_values_},
                                                                                     {"item_count", entry_count_}});
  }

  void merge_duplicates() {
    const SlotId keys = plan_.scratch("distinct keys", count_ * key_type().stride_bytes, ScratchGroup::third);
    const SlotId count = plan_.scratch("distinct count", 4, ScratchGroup::third);
    const Count items{count_, request_.count_on_device};
    if (values() == SparseValues::ones) {
      plan_.append(plan_unique({.item_count = items, .input = key_type()}, traits_, request_.tuning.scan),
                   std::vector<Outer>{
                       {"input", sorted_keys_}, {"output", keys}, {"count", count}, {"item_count", entry_count_}});
    } else {
      const SlotId sums =
          values() == SparseValues::f32 ? values_out_ : plan_.scratch("sums", count_ * 4, ScratchGroup::third);
      const ReduceByKeyShape shape{.item_count = items,
                                   .key = key_type(),
                                   .input = ElementType::f32(),
                                   .combine = BinaryOperator::sum(),
                                   .determinism = Determinism::run_to_run};
      plan_.append(plan_reduce_by_key(shape, traits_, request_.tuning.scan),
                   std::vector<Outer>{{"keys", sorted_keys_},
                                      {"input", sorted_values_},
                                      {"unique_keys", keys},
                                      {"output", sums},
                                      {"count", count},
                                      {"item_count", entry_count_}});
      sorted_values_ = sums;
    }
    sorted_keys_ = keys;
    result_count_ = count;
  }

  void split() {
    const bool narrows = values() == SparseValues::f16 && count_ != 0;
    rows_ = plan_.scratch("rows of entries", count_ * 4, ScratchGroup::fourth);
    KernelBuilder builder = start("coo_to_csr_split");
    add_total(builder, result_count_.has_value());
    builder.generated("key", key_parts_text());
    builder.generated("stored", request_.is_transpose()
                                    ? "fn store_count(count: u32) {}\n"
                                    : "@group(0) @binding(4) var<storage, read_write> stored_count: array<u32>;\n"
                                      "fn store_count(count: u32) { stored_count[params.stored_first] = count; }\n");
    if (narrows) {
      if (request_.merges) builder.part("float16.wgsl");
      builder.generated("values", std::format("@group(0) @binding(5) var<storage, read> values_in: array<u32>;\n"
                                              "@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;\n"
                                              "fn half_at(entry: u32) -> u32 {{ return {}; }}\n"
                                              "fn store_value(entry: u32, count: u32) {{\n"
                                              "  if (entry % 2u == 1u) {{ return; }}\n"
                                              "  var pair = half_at(entry);\n"
                                              "  if (entry + 1u < count) {{ pair |= half_at(entry + 1u) << 16u; }}\n"
                                              "  values_out[params.values_first + entry / 2u] = pair;\n}}\n",
                                              request_.merges ? "f16_bits(values_in[entry])" : "values_in[entry]"));
    } else {
      builder.generated("values", "fn store_value(entry: u32, count: u32) {}\n");
    }
    builder.part("coo_to_csr_split.wgsl");
    PlanBuilder::Step made = step(std::max<std::uint64_t>(count_, 1));
    made.bindings = {
        {"keys_in", sorted_keys_}, {"rows_out", rows_}, bind_items("columns_out", columns_out_, "columns_first")};
    if (result_count_) made.bindings.push_back(bind_items("entry_counts", *result_count_, "count_first"));
    if (!request_.is_transpose()) made.bindings.push_back(bind_items("stored_count", stored_count_, "stored_first"));
    if (narrows) {
      made.bindings.push_back({"values_in", sorted_values_});
      made.bindings.push_back(bind_items("values_out", values_out_, "values_first"));
    }
    made.reason = count_ == 0 ? "no entries" : "keys become rows and columns";
    made.bytes_read = count_ * (key_type().stride_bytes + (narrows ? 4 : 0));
    made.bytes_written = count_ * (8 + (narrows ? 2 : 0));
    plan_.dispatch(std::move(builder).build(), std::move(made));
  }

  Request request_;
  const DeviceTraits& traits_;
  std::uint64_t count_;
  std::uint32_t greater_bits_;
  std::uint32_t lesser_bits_;
  bool is_wide_{greater_bits_ + lesser_bits_ > 32};
  PlanBuilder plan_;
  SlotId row_source_;
  SlotId columns_;
  SlotId values_;
  SlotId entry_count_;
  SlotId offsets_out_;
  SlotId columns_out_;
  SlotId values_out_;
  SlotId stored_count_;
  SlotId keys_;
  SlotId sorted_keys_;
  SlotId sorted_values_;
  SlotId rows_;
  std::optional<SlotId> result_count_;  // where it is known on the device alone
};

Status check_entries(const SparseShape& shape, std::string_view call) {
  if (shape.entry_count <= most_entries) return {};
  return fail(ErrorKind::unsupported,
              std::format("{} entries are more than {} takes ({}).", shape.entry_count, call, most_entries));
}

}  // namespace

Result<Plan> plan_coo_to_csr(const CooToCsrShape& shape, const DeviceTraits& traits,
                             const SparseConversionTuning& tuning) {
  const SparseShape& coo = shape.coo;
  if (coo.format != SparseFormat::coo) {
    return fail(ErrorKind::invalid_request,
                std::format("A conversion of coordinates takes coo, not {}.", to_string(coo.format)));
  }
  if (coo.entry_count != 0 && (coo.row_count == 0 || coo.column_count == 0)) {
    return fail(ErrorKind::invalid_request,
                std::format("A conversion of {}: there is no place for entries.", to_string(coo)));
  }
  if (const Status ok = check_entries(coo, "a conversion of coordinates"); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_tuning(tuning); !ok) return std::unexpected(ok.error());
  const Request request{.input = coo,
                        .count_on_device = shape.count_on_device,
                        .merges = !shape.keep_duplicates && coo.entry_count != 0,
                        .tuning = tuning};
  return CooToCsrPlanner(request, traits).finish();
}

Result<Plan> plan_csr_transpose(const SparseShape& csr, const DeviceTraits& traits,
                                const SparseConversionTuning& tuning) {
  if (const Status ok = check_csr(csr, "A transpose"); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_entries(csr, "a transpose"); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_tuning(tuning); !ok) return std::unexpected(ok.error());
  return CooToCsrPlanner({.input = csr, .tuning = tuning}, traits).finish();
}

}  // namespace upsweep
