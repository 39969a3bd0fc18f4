// SPDX-License-Identifier: Apache-2.0
// Sparse matrix times vectors: y = alpha A x + beta y.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/buffer_view.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/sparse.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

/// y = alpha A x + beta y, with x and y of f32. beta = 0 overwrites y, whatever it holds; rows without entries give
/// beta y. Sums are f32, in an order that repeats from run to run: |error of a row| <= (its entries + 4) 2^-24
/// (|alpha| sum |a x| + |beta y|), up to the device's rounding of a single operation.
struct SpmvShape {
  SparseShape matrix = {};
  float alpha = 1;
  float beta = 0;
  bool scalars_on_device = false;  ///< alpha and beta are read from `scalars`, two f32, when the commands run.
  /// csr: the buffer `tiles` holds what record_spmv_tiles made of the row offsets, which spares path merge a pass. It
  /// must have been made for the same shape and tuning; a product keeps sums there, and leaves it as it was.
  bool has_tiles = false;
  /// Right-hand sides, 1 to 16. Item v of column c's row of x lies at c * vector_count + v, of y's row r at
  /// r * vector_count + v.
  std::uint32_t vector_count = 1;

  bool operator==(const SpmvShape&) const = default;
};

enum class SpmvPath : std::uint8_t {
  automatic,
  rows,   ///< Some lanes a row: fast where rows are about equally long. Formats other than csr always take it.
  merge,  ///< Rows and entries dealt out evenly: the time does not depend on how long the rows are.
};

/// The knobs. Planners cut what does not fit the device.
struct SpmvTuning {
  SpmvPath path = SpmvPath::automatic;
  std::uint32_t workgroup_size = 256;  ///< Threads; a power of two.
  std::uint32_t lanes_per_row = 0;  ///< Path rows of csr: a power of two up to workgroup_size. 0: by the mean length.
  std::uint32_t loads_ahead = 4;    ///< Path rows: entries of a thread whose loads are on their way together, 1 to 16.
  std::uint32_t items_per_thread = 5;  ///< Path merge: rows and entries of a tile, a thread, 1 to 16.
  bool use_subgroups = true;           ///< Sums across lanes by shuffles.

  bool operator==(const SpmvTuning&) const = default;
};
[[nodiscard]] std::string to_string(SpmvPath path);
[[nodiscard]] std::string to_string(const SpmvTuning& tuning);
/// The library's choice of knobs for a shape.
[[nodiscard]] SpmvTuning select_spmv_tuning(const SpmvShape& shape, const DeviceTraits& traits);

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: those fields of SparseBuffers
/// that the format uses, `x` (column_count * vector_count f32), `y` (row_count * vector_count f32) and `scalars`. No
/// rows write nothing. Each array must fit into one binding. Path rows needs no scratch, path merge 16 bytes for every
/// workgroup_size * items_per_thread rows and entries, coo 4 bytes a row more.
[[nodiscard]] Result<Plan> plan_spmv(const SpmvShape& shape, const DeviceTraits& traits,
                                     std::optional<SpmvTuning> tuning = std::nullopt);

/// What path merge finds out about row offsets, once for many products. Arguments: `row_offsets`, `tiles` (its size is
/// the plan's to say; about 16 bytes for every workgroup_size * items_per_thread rows and entries). Where the tuning
/// takes path rows the plan is empty and has no arguments.
[[nodiscard]] Result<Plan> plan_spmv_tiles(const SpmvShape& shape, const DeviceTraits& traits,
                                           std::optional<SpmvTuning> tuning = std::nullopt);

/// Buffers of one product. Offsets must be multiples of 4. `y` must not overlap the others; it may be a range of the
/// same buffer if no 256-byte block holds parts of two of them. Indices out of range read what the device likes, never
/// past a buffer's end.
struct SpmvBuffers {
  SparseBuffers matrix = {};
  BufferView x = {};
  BufferView y = {};
  BufferView scalars = {};
  BufferView tiles = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
/// Sources: Bell and Garland 2009 (formats, lanes a row); Merrill and Garland 2016 (merge path); Monakov, Lokhmotov and
/// Avetisyan 2010 (slices).
[[nodiscard]] Status record_spmv(Context& context, RecordTarget target, const SpmvShape& shape,
                                 const SpmvBuffers& buffers, std::optional<SpmvTuning> tuning = std::nullopt);

/// Records plan_spmv_tiles; of the buffers `matrix.row_offsets` and `tiles` are used.
[[nodiscard]] Status record_spmv_tiles(Context& context, RecordTarget target, const SpmvShape& shape,
                                       const SpmvBuffers& buffers, std::optional<SpmvTuning> tuning = std::nullopt);

}  // namespace upsweep
