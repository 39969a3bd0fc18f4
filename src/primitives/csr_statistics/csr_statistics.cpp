// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"
#include "upsweep/sparse_convert.h"

namespace upsweep {
namespace {

struct Key {
  CsrStatisticsShape shape;
  SparseConversionTuning tuning;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const CsrStatisticsShape& shape) {
  std::uint64_t hash = hash_bytes("csr_statistics");
  hash = hash_number((std::uint64_t{shape.csr.row_count} << 32) | shape.csr.entry_count, hash);
  return hash_number((std::uint64_t{shape.slice_rows} << 32) | shape.block_sizes, hash);
}

}  // namespace

Status record_csr_statistics(Context& context, RecordTarget target, const CsrStatisticsShape& shape,
                             const SparseBuffers& csr, const BufferView& statistics,
                             const SparseConversionTuning& tuning) {
  const Key key{shape, tuning};
  const auto plan = cached_plan(context.impl(), hash_of(shape), key,
                                [&] { return plan_csr_statistics(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"row_offsets", csr.row_offsets}, Argument{"columns", csr.columns},
                             Argument{"statistics", statistics}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
