// SPDX-License-Identifier: Apache-2.0
#include "upsweep/spmv.h"

#include <array>

#include "exec/context_impl.h"
#include "exec/matrix_arguments.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  SpmvShape shape;
  std::optional<SpmvTuning> tuning;
  bool is_tiles = false;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  const SparseShape& matrix = key.shape.matrix;
  std::uint64_t hash = hash_bytes("spmv");
  hash = hash_number(static_cast<std::uint64_t>(matrix.format) * 4 + static_cast<std::uint64_t>(matrix.values), hash);
  hash = hash_number((std::uint64_t{matrix.row_count} << 32) | matrix.column_count, hash);
  hash = hash_number((std::uint64_t{matrix.entry_count} << 32) | matrix.width, hash);
  hash = hash_number(std::bit_cast<std::uint32_t>(key.shape.alpha), hash);
  return hash_number(std::bit_cast<std::uint32_t>(key.shape.beta), hash);
}

}  // namespace

Status record_spmv(Context& context, RecordTarget target, const SpmvShape& shape, const SpmvBuffers& buffers,
                   std::optional<SpmvTuning> tuning) {
  const Key key{shape, tuning, false};
  const auto plan =
      cached_plan(context.impl(), hash_of(key), key, [&] { return plan_spmv(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const auto arguments =
      with_matrix(buffers.matrix, std::array{Argument{"x", buffers.x}, Argument{"y", buffers.y},
                                             Argument{"scalars", buffers.scalars}, Argument{"tiles", buffers.tiles}});
  return context.record(target, **plan, arguments);
}

Status record_spmv_tiles(Context& context, RecordTarget target, const SpmvShape& shape, const SpmvBuffers& buffers,
                         std::optional<SpmvTuning> tuning) {
  const Key key{shape, tuning, true};
  const auto plan =
      cached_plan(context.impl(), hash_of(key), key, [&] { return plan_spmv_tiles(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"row_offsets", buffers.matrix.row_offsets}, Argument{"tiles", buffers.tiles}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
