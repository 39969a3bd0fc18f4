// SPDX-License-Identifier: Apache-2.0
// Sparse matrices from format to format on the device: coordinates to compressed rows, the transpose, compressed rows
// to the formats of slots and blocks; and what decides between these.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/buffer_view.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/scan_tuning.h"
#include "upsweep/sort.h"
#include "upsweep/sparse.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

/// The knobs of all conversions. Planners cut what does not fit the device.
struct SparseConversionTuning {
  std::uint32_t workgroup_size = 256;   ///< Threads of the kernels beside sorts and scans; a power of two.
  std::optional<SortTuning> sort = {};  ///< Of the sort within; the library's choice if not set.
  std::optional<ScanTuning> scan = {};  ///< Of scans, selections and the sum of duplicates; the same.

  bool operator==(const SparseConversionTuning&) const = default;
};
[[nodiscard]] std::string to_string(const SparseConversionTuning& tuning);

/// Bytes of all arrays of a matrix.
[[nodiscard]] std::uint64_t stored_bytes(const SparseShape& shape);

// Coordinates to compressed rows.

/// Entries in any order become compressed rows with ascending columns. Entries of one place become one, the sum of
/// their values; in a pattern one of them is kept. Sums are f32 and repeat from run to run; f16 values are summed in
/// f32 and rounded once, to nearest. Stored zeros stay, also those that sums come to. Rows and columns out of range
/// give a matrix that is not specified, within its buffers.
struct CooToCsrShape {
  /// format coo, but with rows in any order. entry_count: or the most that the device may say, up to 2^30 - 1.
  SparseShape coo = {.format = SparseFormat::coo};
  bool count_on_device = false;  ///< The number of entries is read from `entry_count`; more are taken as the most.
  bool keep_duplicates = false;  ///< Entries of one place all stay, in the order of the input.

  bool operator==(const CooToCsrShape&) const = default;
};
/// Pure; needs no device. Arguments of the plan: `rows`, `columns`, `values`, `entry_count` (one u32), `row_offsets`
/// (row_count + 1), `csr_columns` and `csr_values` (room for all entries), `stored_count` (one u32: the entries of the
/// result), each present only where the shape calls for it. No entries write offsets of 0 and the count. One sort of
/// keys that hold row and column in the bits that both need: up to 32 of them in one word, else in two. Scratch: up to
/// 36 bytes an entry.
[[nodiscard]] Result<Plan> plan_coo_to_csr(const CooToCsrShape& shape, const DeviceTraits& traits,
                                           const SparseConversionTuning& tuning = {});
/// Buffers of one conversion; leave those empty that the shape does not use. Offsets must be multiples of 4. What is
/// written must not overlap anything else; it may be a range of the same buffer if no 256-byte block holds parts of
/// two. Places past the stored entries keep their bytes, or hold what is not specified.
struct CooToCsrBuffers {
  SparseBuffers coo = {};
  SparseBuffers csr = {};
  BufferView entry_count = {};
  BufferView stored_count = {};
};
/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_coo_to_csr(Context& context, RecordTarget target, const CooToCsrShape& shape,
                                       const CooToCsrBuffers& buffers, const SparseConversionTuning& tuning = {});

// The transpose.

/// Compressed rows of the transpose: column c's entries become row c, in ascending order of their rows; duplicates
/// stay, in their order. Compressed columns (CSC) are the compressed rows of the transpose: this turns one into the
/// other. Pure. `csr.entry_count` must be what row_offsets says, up to 2^30 - 1. Arguments of the plan: `row_offsets`,
/// `columns`, `values`, `transposed_offsets` (column_count + 1), `transposed_columns`, `transposed_values`. Scratch: up
/// to 36 bytes an entry.
[[nodiscard]] Result<Plan> plan_csr_transpose(const SparseShape& csr, const DeviceTraits& traits,
                                              const SparseConversionTuning& tuning = {});
/// As CooToCsrBuffers.
struct CsrTransposeBuffers {
  SparseBuffers csr = {};
  SparseBuffers transposed = {};
};
[[nodiscard]] Status record_csr_transpose(Context& context, RecordTarget target, const SparseShape& csr,
                                          const CsrTransposeBuffers& buffers,
                                          const SparseConversionTuning& tuning = {});

// Which format?

/// What to find out about compressed rows.
struct CsrStatisticsShape {
  SparseShape csr = {};
  std::uint32_t slice_rows = 32;  ///< Slices of sliced_ell are measured with so many rows, 1 to 65536.
  std::uint32_t window_rows = 0;  ///< And those of rows reordered as in SliceRowsShape; 0: they are not measured.
  /// Blocks of block_ell that are counted: bit b stands for blocks of b x b (2, 3, 4, 8, 16). Columns of each row must
  /// ascend, or the figures mean nothing; `descent_count` tells.
  std::uint32_t block_sizes = 0;
  /// Leave out block sizes whose blocks would surely take more bytes than the CSR, or than block_ell of another size
  /// that was counted before, as the columns show at once: that spares most of the work. Sizes are looked at in the
  /// order 3, 4, 2, 8, 16. `block_sizes` of the result are those that were counted.
  bool skip_large_blocks = false;

  bool operator==(const CsrStatisticsShape&) const = default;
};

/// What the device writes, word for word.
struct CsrStatistics {
  static constexpr std::array<std::uint32_t, 5> block_size_list = {2, 3, 4, 8, 16};

  std::uint32_t longest_row = 0;  ///< In entries, as all lengths.
  std::uint32_t slice_rows = 0;   ///< Of the shape, as the next.
  std::uint32_t window_rows = 0;
  std::uint32_t slice_slots = 0;            ///< Slots of all slices: times slice_rows they are sliced_ell's places.
  std::uint32_t reordered_slice_slots = 0;  ///< The same where rows are reordered.
  std::uint32_t block_sizes = 0;            ///< That were counted.
  std::uint32_t descent_count =
      0;  ///< Entries with a smaller column than the one before in their row, if blocks are counted.
  /// Rows by length: bin 0 are the empty ones, bin k those of more than 2^(k-2) and up to 2^(k-1) entries.
  std::array<std::uint32_t, 33> rows_by_length = {};
  std::array<std::uint32_t, 33> entries_by_length = {};  ///< Entries of the rows of each bin.
  std::array<std::uint32_t, 5> block_widths = {};        ///< By block_size_list: blocks of the widest block row.
  std::array<std::uint32_t, 5> block_counts = {};        ///< Blocks in all.

  bool operator==(const CsrStatistics&) const = default;

  [[nodiscard]] std::uint32_t empty_row_count() const { return rows_by_length[0]; }
  /// Rows with more than 2^log2_width entries, and their entries past these: the rest of a hybrid of that width.
  [[nodiscard]] std::uint32_t rest_row_count(std::uint32_t log2_width) const;
  [[nodiscard]] std::uint32_t rest_entry_count(std::uint32_t log2_width) const;
};

/// Pure. Arguments of the plan: `row_offsets`, `columns` (with block sizes only), `statistics` (a CsrStatistics).
[[nodiscard]] Result<Plan> plan_csr_statistics(const CsrStatisticsShape& shape, const DeviceTraits& traits,
                                               const SparseConversionTuning& tuning = {});
[[nodiscard]] Status record_csr_statistics(Context& context, RecordTarget target, const CsrStatisticsShape& shape,
                                           const SparseBuffers& csr, const BufferView& statistics,
                                           const SparseConversionTuning& tuning = {});

struct FormatSuggestion {
  SparseShape shape = {};   ///< Complete: what a CsrConversion wants as its result.
  std::uint64_t bytes = 0;  ///< stored_bytes(): what a product reads of the matrix.
  std::string reason;
};
/// The format whose product moves the fewest bytes, among those of at most 1.05 times the CSR's, or 1.15 times where
/// its product takes path merge: padding pays up to there, since such formats read in order. Blocks must take no more
/// than the CSR, a hybrid's rest no more than one row in 8. Formats in which a thread walks a row are left out where it
/// would walk over more than 64 slots and more than 1/16384 of all entries; so are arrays larger than a binding of the
/// device. Else csr. `csr.entry_count` must be exact.
[[nodiscard]] FormatSuggestion suggest_format(const SparseShape& csr, const CsrStatistics& statistics,
                                              const DeviceTraits& traits);
/// The smallest shape in one format, whatever it takes; csr where there are no entries, and ell for a hybrid where no
/// row is longer than one entry. An error where the statistics do not tell.
[[nodiscard]] Result<FormatSuggestion> shape_in_format(const SparseShape& csr, const CsrStatistics& statistics,
                                                       SparseFormat format);

// Compressed rows to slots and blocks.

/// The first step to sliced_ell: where each slice begins, and the rows' order if it is to be by length.
struct SliceRowsShape {
  SparseShape csr = {};
  std::uint32_t slice_rows = 32;  ///< 1 to 65536.
  /// Rows are ordered by descending length within windows of so many rows, a multiple of slice_rows (stable; row_count
  /// or more: in all); 0: rows keep their order.
  std::uint32_t window_rows = 0;

  bool operator==(const SliceRowsShape&) const = default;
};
/// Pure. Arguments of the plan: `row_offsets`, `row_order` (row_count, with windows only), `slice_offsets` (slices + 1)
/// and `slot_count` (one u32): slots of all slices. Times slice_rows these are the places, the entry_count of the
/// result, to be computed in 64 bits: the offsets of more than 2^32 places wrap.
[[nodiscard]] Result<Plan> plan_slice_rows(const SliceRowsShape& shape, const DeviceTraits& traits,
                                           const SparseConversionTuning& tuning = {});
struct SliceRowsBuffers {
  BufferView row_offsets = {};
  BufferView row_order = {};
  BufferView slice_offsets = {};
  BufferView slot_count = {};
};
[[nodiscard]] Status record_slice_rows(Context& context, RecordTarget target, const SliceRowsShape& shape,
                                       const SliceRowsBuffers& buffers, const SparseConversionTuning& tuning = {});

/// Compressed rows to ell, hybrid, sliced_ell or block_ell. Entries keep their order within rows; unused slots get
/// `no_column` and the value 0.
///
/// ell: entries past `width` are left out: take the longest row. hybrid: the rest goes to the rest arrays, up to
/// rest_row_count and rest_entry_count, which are the room that there is; `rest_counts` says how many there are, which
/// is what a product's shape must say. sliced_ell: after SliceRowsShape, whose slice_offsets and row_order are read.
/// block_ell: columns of each row must ascend; a block row's blocks ascend, too; those past `width` are left out;
/// entries of one place are summed in f32, elements past the matrix's edge and missing ones are 0. Patterns become
/// blocks of f32 that count entries: `result.values` must be f32 there, else as the CSR's. f16 blocks need an even
/// row_stride where block_size is 3.
struct CsrConversion {
  SparseShape csr = {};
  SparseShape result = {};
  /// A result of more than so many times the CSR's bytes is refused, with what to use instead.
  std::uint32_t most_growth = 3;

  bool operator==(const CsrConversion&) const = default;
};
/// Pure. Arguments of the plan: `row_offsets`, `columns`, `values` of the CSR; `slice_offsets` and `row_order` are
/// read; `result_columns`, `result_values`, `rest_rows`, `rest_offsets`, `rest_columns`, `rest_values`, `rest_counts`
/// (two u32: rows, entries) are written, each present only where the result has it. At most 2^31 places, each array in
/// one binding. Scratch: hybrid 20 bytes a row, block_ell 8 an entry.
[[nodiscard]] Result<Plan> plan_csr_conversion(const CsrConversion& shape, const DeviceTraits& traits,
                                               const SparseConversionTuning& tuning = {});
/// As CooToCsrBuffers.
struct CsrConversionBuffers {
  SparseBuffers csr = {};
  SparseBuffers result = {};
  BufferView rest_counts = {};
};
[[nodiscard]] Status record_csr_conversion(Context& context, RecordTarget target, const CsrConversion& shape,
                                           const CsrConversionBuffers& buffers,
                                           const SparseConversionTuning& tuning = {});

}  // namespace upsweep
