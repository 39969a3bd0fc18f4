// SPDX-License-Identifier: Apache-2.0
#include "upsweep/sparse_matrix.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <format>
#include <functional>
#include <limits>
#include <utility>

#include "exec/context_impl.h"
#include "exec/host_buffers.h"
#include "plan/sparse_parts.h"

namespace upsweep {
namespace {

using Clock = std::chrono::steady_clock;

// Rows are reordered by length within so many, if at all: x is read from about as many places as before.
constexpr std::uint32_t reorder_window = 4096;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& items) {
  return std::as_bytes(std::span<const T>(items));
}

Status check_indices(std::span<const std::uint32_t> indices, std::uint32_t count, const char* what) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < count) continue;
    return fail(ErrorKind::invalid_request,
                std::format("Entry {} is in {} {}; there are {}; all count from 0.", i, what, indices[i], count));
  }
  return {};
}

Status check_coo(const host::CooArrays& coo) {
  if (coo.rows.size() != coo.columns.size() || (!coo.values.empty() && coo.values.size() != coo.rows.size())) {
    return fail(ErrorKind::invalid_request, std::format("{} rows, {} columns and {} values are not the same entries.",
                                                        coo.rows.size(), coo.columns.size(), coo.values.size()));
  }
  if (coo.rows.size() >= std::size_t{1} << 30) {
    return fail(ErrorKind::unsupported, std::format("{} entries are more than a matrix from coordinates takes ({}).",
                                                    coo.rows.size(), (1u << 30) - 1));
  }
  if (const Status ok = check_indices(coo.rows, coo.row_count, "row"); !ok) return ok;
  return check_indices(coo.columns, coo.column_count, "column");
}

// The bits of the nearest f16, to even.
std::uint32_t half_bits(double value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  const int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | ((static_cast<std::uint32_t>(exponent + 14) << 10) + steps);
}

}  // namespace

struct SparseMatrix::Impl {
  Context* context = nullptr;
  SparseShape shape;
  SparseBuffers buffers;
  SparseAnalysis analysis;
  BufferView tiles;  // of path merge, or none
  std::vector<BufferHandle> owned;

  // A buffer for so many words, at least one; `view` tells of it.
  Status add(BufferView& view, std::uint64_t words, std::string_view label) {
    auto raw = context->create_buffer(std::max<std::uint64_t>(words, 1) * 4, label);
    if (!raw) return std::unexpected(raw.error());
    view = owned.emplace_back(*raw).get();
    return {};
  }
  Status upload(BufferView& view, std::span<const std::byte> bytes, std::string_view label) {
    if (Status ok = add(view, (bytes.size() + 3) / 4, label); !ok) return ok;
    return bytes.empty() ? Status{} : context->write(view, bytes);
  }

  // Buffers for all arrays of a matrix but those of compressed rows, coordinates and the order of slices.
  Status add_arrays(const SparseShape& wanted, SparseBuffers& arrays) {
    const auto value_words = [&](std::uint64_t items) { return value_array_bytes(wanted.values, items) / 4; };
    if (Status ok = add(arrays.columns, wanted.column_items(), "columns"); !ok) return ok;
    const bool has_values = wanted.values != SparseValues::ones;
    if (has_values) {
      if (Status ok = add(arrays.values, value_words(wanted.value_items()), "values"); !ok) return ok;
    }
    if (wanted.format != SparseFormat::hybrid) return {};
    const std::uint64_t rest = wanted.rest_entry_count;
    for (const auto& [view, words, label] :
         {std::tuple{&arrays.rest_rows, std::uint64_t{wanted.rest_row_count}, "rest_rows"},
          {&arrays.rest_offsets, wanted.rest_row_count + std::uint64_t{1}, "rest_offsets"},
          {&arrays.rest_columns, rest, "rest_columns"}}) {
      if (Status ok = add(*view, words, label); !ok) return ok;
    }
    return has_values ? add(arrays.rest_values, value_words(rest), "rest_values") : Status{};
  }

  // `place` names the row and the column of an entry.
  using Place = std::function<std::pair<std::uint32_t, std::uint32_t>(std::size_t)>;
  Status upload_values(BufferView& view, std::span<const double> values, SparseValues kind, const Place& place);
  Status analyse(const SparseMatrixOptions& options);
  Status convert_to(const SparseShape& wanted, std::uint32_t most_growth);
  Status expand_rows();
  Status prepare_tiles();
  Status settle(const SparseMatrixOptions& options);
};

SparseMatrix::SparseMatrix(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SparseMatrix::SparseMatrix(SparseMatrix&&) noexcept = default;
SparseMatrix& SparseMatrix::operator=(SparseMatrix&&) noexcept = default;
SparseMatrix::~SparseMatrix() = default;

const SparseShape& SparseMatrix::shape() const { return impl_->shape; }
const SparseBuffers& SparseMatrix::buffers() const { return impl_->buffers; }
const SparseAnalysis& SparseMatrix::analysis() const { return impl_->analysis; }

Status SparseMatrix::Impl::upload_values(BufferView& view, std::span<const double> values, SparseValues kind,
                                         const Place& place) {
  const double most = kind == SparseValues::f16 ? 65504.0 : std::numeric_limits<float>::max();
  std::vector<std::uint32_t> words(kind == SparseValues::f16 ? (values.size() + 1) / 2 : values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (std::isfinite(values[i]) && !(std::abs(value) <= most)) {
      const auto [row, column] = place(i);
      return fail(ErrorKind::invalid_request,
                  std::format("The entry in row {}, column {} is {}, beyond the range of {} (+-{}); rows and columns "
                              "count from 0.",
                              row, column, values[i], to_string(kind), most));
    }
    if (kind == SparseValues::f16) {
      words[i / 2] |= half_bits(values[i]) << (i % 2 * 16);
    } else {
      words[i] = std::bit_cast<std::uint32_t>(value);
    }
  }
  return upload(view, bytes_of(words), "values");
}

Status SparseMatrix::Impl::analyse(const SparseMatrixOptions& options) {
  const Clock::time_point begin = Clock::now();
  CsrStatisticsShape wanted{.csr = shape, .window_rows = reorder_window, .skip_large_blocks = !options.format};
  if (!options.format || options.format == SparseFormat::block_ell) {
    for (const std::uint32_t size : CsrStatistics::block_size_list) {
      if (options.block_size == 0 || options.block_size == size) wanted.block_sizes |= 1u << size;
    }
  }
  host::HostBuffers own(*context);
  const BufferView view = own.make(sizeof(CsrStatistics), "statistics");
  if (!own.status()) return own.status();
  const Status recorded = host::submit(*context, [&](WGPUCommandEncoder encoder) {
    return record_csr_statistics(*context, encoder, wanted, buffers, view);
  });
  if (!recorded) return recorded;
  const auto statistics = host::read_one<CsrStatistics>(*context, view);
  if (!statistics) return std::unexpected(statistics.error());
  analysis.statistics = *statistics;
  shape.longest_row = statistics->longest_row;
  analysis.csr_bytes = stored_bytes(shape);
  analysis.statistics_seconds = seconds_since(begin);
  return {};
}

// Replaces the compressed rows by the format.
Status SparseMatrix::Impl::convert_to(const SparseShape& wanted, std::uint32_t most_growth) {
  const SparseShape csr = shape;
  const CsrConversion conversion{.csr = csr, .result = wanted, .most_growth = most_growth};
  // What is refused is refused before anything is made for it.
  if (const auto plan = plan_csr_conversion(conversion, context->traits()); !plan) {
    return std::unexpected(plan.error());
  }
  const std::vector<BufferHandle> sources = std::exchange(owned, {});
  SparseBuffers results;
  BufferView rest_counts;
  if (wanted.format == SparseFormat::sliced_ell) {
    const SliceRowsShape slices{.csr = csr,
                                .slice_rows = wanted.slice_rows,
                                .window_rows = wanted.is_reordered ? analysis.statistics.window_rows : 0};
    if (Status ok = add(results.slice_offsets, wanted.group_count() + std::uint64_t{1}, "slice_offsets"); !ok)
      return ok;
    if (wanted.is_reordered) {
      if (Status ok = add(results.row_order, csr.row_count, "row_order"); !ok) return ok;
    }
    BufferView slot_count;
    if (Status ok = add(slot_count, 1, "slot_count"); !ok) return ok;
    const Status recorded = host::submit(*context, [&](WGPUCommandEncoder encoder) {
      return record_slice_rows(*context, encoder, slices,
                               {.row_offsets = buffers.row_offsets,
                                .row_order = results.row_order,
                                .slice_offsets = results.slice_offsets,
                                .slot_count = slot_count});
    });
    if (!recorded) return recorded;
    const auto slots = host::read_one<std::uint32_t>(*context, slot_count);
    if (!slots) return std::unexpected(slots.error());
    // What the statistics foretold.
    const std::uint64_t places = std::uint64_t{*slots} * wanted.slice_rows;
    if (places != wanted.entry_count) {
      return fail(ErrorKind::internal,
                  std::format("Slices take {} places, not the {} of the statistics.", places, wanted.entry_count));
    }
  }
  if (wanted.format == SparseFormat::hybrid) {
    if (Status ok = add(rest_counts, 2, "rest_counts"); !ok) return ok;
  }
  if (Status ok = add_arrays(wanted, results); !ok) return ok;
  const Status recorded = host::submit(*context, [&](WGPUCommandEncoder encoder) {
    return record_csr_conversion(*context, encoder, conversion,
                                 {.csr = buffers, .result = results, .rest_counts = rest_counts});
  });
  if (!recorded) return recorded;
  // The compressed rows go when their last reader is done.
  if (const Status done = context->wait(); !done) return done;
  context->release_bindings();
  shape = wanted;
  buffers = results;
  return {};
}

// The rows of compressed rows, one an entry: for the format coo, which nothing converts to on the device.
Status SparseMatrix::Impl::expand_rows() {
  const auto offsets = host::read_items<std::uint32_t>(*context, buffers.row_offsets, shape.row_count + std::size_t{1});
  if (!offsets) return std::unexpected(offsets.error());
  std::vector<std::uint32_t> rows;
  rows.reserve(shape.entry_count);
  for (std::uint32_t row = 0; row < shape.row_count; ++row)
    rows.insert(rows.end(), (*offsets)[row + 1] - (*offsets)[row], row);
  shape.format = SparseFormat::coo;
  buffers.row_offsets = {};
  return upload(buffers.rows, bytes_of(rows), "rows");
}

// What path merge needs to know of the row offsets.
Status SparseMatrix::Impl::prepare_tiles() {
  if (shape.format != SparseFormat::csr) return {};
  const SpmvShape product{.matrix = shape, .has_tiles = true};
  const auto plan = plan_spmv_tiles(product, context->traits());
  if (!plan) return std::unexpected(plan.error());
  const ArgumentSlot* slot = plan->find_argument("tiles");
  if (slot == nullptr) return {};
  if (Status ok = add(tiles, slot->size_bytes / 4, "tiles"); !ok) return ok;
  return host::submit(*context, [&](WGPUCommandEncoder encoder) {
    return record_spmv_tiles(*context, encoder, product, {.matrix = buffers, .tiles = tiles});
  });
}

// From compressed rows in `shape` and `buffers` to the format.
Status SparseMatrix::Impl::settle(const SparseMatrixOptions& options) {
  if (const Status ok = analyse(options); !ok) return ok;
  const Clock::time_point begin = Clock::now();
  const auto suggestion = options.format
                              ? shape_in_format(shape, analysis.statistics, *options.format)
                              : Result<FormatSuggestion>(suggest_format(shape, analysis.statistics, context->traits()));
  if (!suggestion) return std::unexpected(suggestion.error());
  analysis.reason = suggestion->reason;
  Status ok;
  if (suggestion->shape.format == SparseFormat::coo) {
    ok = expand_rows();
  } else if (suggestion->shape.format == SparseFormat::csr) {
    shape = suggestion->shape;
  } else {
    ok = convert_to(suggestion->shape, options.most_growth);
  }
  if (ok) ok = prepare_tiles();
  analysis.bytes = stored_bytes(shape);
  analysis.conversion_seconds += seconds_since(begin);
  return ok;
}

Result<SparseMatrix> SparseMatrix::create(Context& context, const host::CsrArrays& csr,
                                          const SparseMatrixOptions& options) {
  if (const Status ok = host::check_csr(csr); !ok) return std::unexpected(ok.error());
  auto impl = std::make_unique<Impl>();
  impl->context = &context;
  impl->shape = {.values = csr.values.empty() ? SparseValues::ones : options.values,
                 .row_count = csr.row_count,
                 .column_count = csr.column_count,
                 .entry_count = static_cast<std::uint32_t>(csr.columns.size())};
  SparseBuffers& buffers = impl->buffers;
  Status ok = impl->upload(buffers.row_offsets, std::as_bytes(csr.row_offsets), "row_offsets");
  if (ok) ok = impl->upload(buffers.columns, std::as_bytes(csr.columns), "columns");
  if (ok && impl->shape.values != SparseValues::ones) {
    ok = impl->upload_values(buffers.values, csr.values, impl->shape.values, [&csr](std::size_t entry) {
      const auto end = std::ranges::upper_bound(csr.row_offsets, entry);
      return std::pair(static_cast<std::uint32_t>(end - csr.row_offsets.begin() - 1), csr.columns[entry]);
    });
  }
  if (ok) ok = impl->settle(options);
  if (!ok) return std::unexpected(ok.error());
  return SparseMatrix(std::move(impl));
}

Result<SparseMatrix> SparseMatrix::create(Context& context, const host::CooArrays& coo,
                                          const SparseMatrixOptions& options) {
  if (const Status ok = check_coo(coo); !ok) return std::unexpected(ok.error());
  auto impl = std::make_unique<Impl>();
  impl->context = &context;
  const Clock::time_point begin = Clock::now();
  const CooToCsrShape conversion{.coo = {.format = SparseFormat::coo,
                                         .values = coo.values.empty() ? SparseValues::ones : options.values,
                                         .row_count = coo.row_count,
                                         .column_count = coo.column_count,
                                         .entry_count = static_cast<std::uint32_t>(coo.rows.size())},
                                 // The entries of a pattern are ones: products add them up.
                                 .keep_duplicates = coo.values.empty() || options.values == SparseValues::ones};
  impl->shape = conversion.coo;
  impl->shape.format = SparseFormat::csr;
  const bool has_values = impl->shape.values != SparseValues::ones;
  {
    Impl source;
    source.context = &context;
    SparseBuffers given;
    BufferView stored;
    Status ok = source.upload(given.rows, std::as_bytes(coo.rows), "rows");
    if (ok) ok = source.upload(given.columns, std::as_bytes(coo.columns), "columns");
    if (ok && has_values) {
      ok = source.upload_values(given.values, coo.values, impl->shape.values,
                                [&coo](std::size_t entry) { return std::pair(coo.rows[entry], coo.columns[entry]); });
    }
    if (ok) ok = source.add(stored, 1, "stored_count");
    if (ok) ok = impl->add(impl->buffers.row_offsets, coo.row_count + std::uint64_t{1}, "row_offsets");
    if (ok) ok = impl->add_arrays(impl->shape, impl->buffers);
    if (!ok) return std::unexpected(ok.error());
    const Status recorded = host::submit(context, [&](WGPUCommandEncoder encoder) {
      return record_coo_to_csr(context, encoder, conversion,
                               {.coo = given, .csr = impl->buffers, .stored_count = stored});
    });
    if (!recorded) return std::unexpected(recorded.error());
    const auto count = host::read_one<std::uint32_t>(context, stored);
    context.release_bindings();
    if (!count) return std::unexpected(count.error());
    impl->shape.entry_count = *count;
  }
  impl->analysis.conversion_seconds = seconds_since(begin);
  if (const Status ok = impl->settle(options); !ok) return std::unexpected(ok.error());
  return SparseMatrix(std::move(impl));
}

Status SparseMatrix::record_product(RecordTarget target, const BufferView& x, const BufferView& y, float alpha,
                                    float beta, std::uint32_t vector_count) const {
  return record_spmv(*impl_->context, target,
                     {.matrix = impl_->shape,
                      .alpha = alpha,
                      .beta = beta,
                      .has_tiles = impl_->tiles.buffer != nullptr && vector_count == 1,
                      .vector_count = vector_count},
                     {.matrix = impl_->buffers, .x = x, .y = y, .tiles = impl_->tiles});
}

Result<std::vector<float>> host::multiply(Context& context, const SparseMatrix& matrix, std::span<const float> x) {
  const SparseShape& shape = matrix.shape();
  if (x.size() != shape.column_count) {
    return fail(ErrorKind::invalid_request,
                std::format("{} items of x do not go with {} columns.", x.size(), shape.column_count));
  }
  HostBuffers own(context);
  const BufferView x_view = own.make(x, "x");
  const BufferView y_view = own.make(shape.row_count * std::uint64_t{4}, "y");
  if (!own.status()) return std::unexpected(own.status().error());
  const Status recorded =
      submit(context, [&](WGPUCommandEncoder encoder) { return matrix.record_product(encoder, x_view, y_view); });
  if (!recorded) return std::unexpected(recorded.error());
  return read_items<float>(context, y_view, shape.row_count);
}

}  // namespace upsweep
