// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"
#include "upsweep/sparse_convert.h"

namespace upsweep {
namespace {

template <typename Shape>
struct Key {
  Shape shape;
  SparseConversionTuning tuning;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(std::string_view name, const SparseShape& csr, std::uint64_t more) {
  std::uint64_t hash = hash_bytes(name);
  hash = hash_number((std::uint64_t{csr.row_count} << 32) | csr.entry_count, hash);
  return hash_number(more, hash);
}

}  // namespace

Status record_slice_rows(Context& context, RecordTarget target, const SliceRowsShape& shape,
                         const SliceRowsBuffers& buffers, const SparseConversionTuning& tuning) {
  const Key<SliceRowsShape> key{shape, tuning};
  const std::uint64_t hash =
      hash_of("slice_rows", shape.csr, (std::uint64_t{shape.slice_rows} << 32) | shape.window_rows);
  const auto plan =
      cached_plan(context.impl(), hash, key, [&] { return plan_slice_rows(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"row_offsets", buffers.row_offsets}, Argument{"row_order", buffers.row_order},
                             Argument{"slice_offsets", buffers.slice_offsets},
                             Argument{"slot_count", buffers.slot_count}};
  return context.record(target, **plan, arguments);
}

Status record_csr_conversion(Context& context, RecordTarget target, const CsrConversion& shape,
                             const CsrConversionBuffers& buffers, const SparseConversionTuning& tuning) {
  const Key<CsrConversion> key{shape, tuning};
  const std::uint64_t hash =
      hash_of("csr_conversion", shape.csr,
              (std::uint64_t{shape.result.width} << 8) | static_cast<std::uint64_t>(shape.result.format));
  const auto plan =
      cached_plan(context.impl(), hash, key, [&] { return plan_csr_conversion(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const SparseBuffers& result = buffers.result;
  const std::array arguments{
      Argument{"row_offsets", buffers.csr.row_offsets}, Argument{"columns", buffers.csr.columns},
      Argument{"values", buffers.csr.values},           Argument{"slice_offsets", result.slice_offsets},
      Argument{"row_order", result.row_order},          Argument{"result_columns", result.columns},
      Argument{"result_values", result.values},         Argument{"rest_rows", result.rest_rows},
      Argument{"rest_offsets", result.rest_offsets},    Argument{"rest_columns", result.rest_columns},
      Argument{"rest_values", result.rest_values},      Argument{"rest_counts", buffers.rest_counts}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
