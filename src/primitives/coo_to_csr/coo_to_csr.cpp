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
std::uint64_t hash_of(std::string_view name, const SparseShape& shape) {
  std::uint64_t hash = hash_bytes(name);
  hash = hash_number((std::uint64_t{shape.row_count} << 32) | shape.column_count, hash);
  return hash_number((std::uint64_t{shape.entry_count} << 2) | static_cast<std::uint64_t>(shape.values), hash);
}

}  // namespace

Status record_coo_to_csr(Context& context, RecordTarget target, const CooToCsrShape& shape,
                         const CooToCsrBuffers& buffers, const SparseConversionTuning& tuning) {
  const Key<CooToCsrShape> key{shape, tuning};
  const auto plan = cached_plan(context.impl(), hash_of("coo_to_csr", shape.coo), key,
                                [&] { return plan_coo_to_csr(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"rows", buffers.coo.rows},
                             Argument{"columns", buffers.coo.columns},
                             Argument{"values", buffers.coo.values},
                             Argument{"entry_count", buffers.entry_count},
                             Argument{"row_offsets", buffers.csr.row_offsets},
                             Argument{"csr_columns", buffers.csr.columns},
                             Argument{"csr_values", buffers.csr.values},
                             Argument{"stored_count", buffers.stored_count}};
  return context.record(target, **plan, arguments);
}

Status record_csr_transpose(Context& context, RecordTarget target, const SparseShape& csr,
                            const CsrTransposeBuffers& buffers, const SparseConversionTuning& tuning) {
  const Key<SparseShape> key{csr, tuning};
  const auto plan = cached_plan(context.impl(), hash_of("csr_transpose", csr), key,
                                [&] { return plan_csr_transpose(csr, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"row_offsets", buffers.csr.row_offsets},
                             Argument{"columns", buffers.csr.columns},
                             Argument{"values", buffers.csr.values},
                             Argument{"transposed_offsets", buffers.transposed.row_offsets},
                             Argument{"transposed_columns", buffers.transposed.columns},
                             Argument{"transposed_values", buffers.transposed.values}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
