// SPDX-License-Identifier: Apache-2.0
// What is made around sparse products: iterations of solvers, analysis and conversion of a matrix.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <format>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "benchmarking/bench_families.h"
#include "benchmarking/sparse_formats.h"
#include "benchmarking/sparse_matrices.h"
#include "exec/host_buffers.h"
#include "upsweep/conjugate_gradient.h"
#include "upsweep/pagerank.h"
#include "upsweep/sparse_convert.h"

namespace upsweep::bench {
namespace {

constexpr std::uint32_t cpu_share = 64;  // of the rows that suit a GPU

// A matrix on the device, with what each of the works below needs of it.
class MatrixBench : public LibraryBench {
 public:
  MatrixBench(std::string primitive, MatrixKind kind, std::uint32_t usual_rows)
      : LibraryBench(std::move(primitive), std::string(to_string(kind)), ElementType::f32()),
        kind_(kind),
        usual_rows_(usual_rows) {}

  [[nodiscard]] std::vector<std::uint64_t> sizes(const std::vector<std::uint64_t>& asked,
                                                 const std::vector<std::uint64_t>&,
                                                 const DeviceTraits& traits) const override {
    if (!asked.empty()) return asked;
    return {usual_rows_ / (traits.is_cpu ? cpu_share : 1)};
  }
  Status prepare(Session& /*session*/, std::uint64_t /*most_items*/) override { return {}; }

 protected:
  [[nodiscard]] CsrMatrix make_csr(std::uint64_t row_count) const {
    return make_matrix(kind_, static_cast<std::uint32_t>(row_count));
  }
  static Result<BufferView> filled(Session& session, const std::string& label, std::uint64_t count, float value) {
    const std::vector<float> items(count, value);
    return upload(session, label, std::as_bytes(std::span(items)));
  }
  struct NewBuffer {
    const char* label;
    BufferView* view;
    std::uint64_t words;
  };
  static Status make_buffers(Session& session, std::initializer_list<NewBuffer> wanted) {
    for (const NewBuffer& one : wanted) {
      const auto made = session.buffer(one.label, one.words);
      if (!made) return std::unexpected(made.error());
      *one.view = *made;
    }
    return {};
  }
  static std::string detail_of(const CsrMatrix& matrix) {
    return std::format("{} entries, at most {} a row", matrix.columns.size(), matrix.longest_row());
  }

 private:
  MatrixKind kind_;
  std::uint32_t usual_rows_;
};

template <typename T>
Result<T> read_struct(Context& context, const BufferView& view) {
  const auto bytes = context.read(view, sizeof(T));
  if (!bytes) return std::unexpected(bytes.error());
  T value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

// Of solvers: as many as are recorded before a host looks.
constexpr std::uint32_t iterations = 16;

// Iterations on Poisson's equation from a guess of 0, with a tolerance of 0: only a small one ends.
class CgBench : public MatrixBench {
 public:
  explicit CgBench(std::string format)
      : MatrixBench("conjugate_gradient", MatrixKind::grid5, usual_row_count(MatrixKind::grid5)),
        format_(std::move(format)) {}

  [[nodiscard]] std::string step() const override { return format_; }

  Result<Expectation> expect(Session& session, std::uint64_t row_count) override {
    CsrMatrix matrix = make_csr(row_count);
    for (std::uint32_t row = 0; row < matrix.row_count; ++row) {
      for (std::uint32_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
        matrix.values[k] = matrix.columns[k] == row ? 4.0f : -1.0f;
      }
    }
    const FormatChoice choice = parse_format(format_, operation()).value_or(FormatChoice{});
    const StoredMatrix stored = store_matrix(matrix, choice);
    const auto on_device = upload_matrix(session, stored, "solver");
    if (!on_device) return std::unexpected(on_device.error());
    shape_ = {.matrix = on_device->shape, .tolerance = 0, .zero_guess = true};
    buffers_ = {.matrix = on_device->buffers};
    const auto b = filled(session, "b", row_count, 1);
    if (!b) return std::unexpected(b.error());
    buffers_.b = *b;
    const Status made = make_buffers(session, {{"solution", &buffers_.x, row_count},
                                               {"residual", &buffers_.residual, row_count},
                                               {"direction", &buffers_.direction, row_count},
                                               {"state", &buffers_.state, cg_state_bytes / 4}});
    if (!made) return std::unexpected(made.error());
    constexpr std::uint64_t vectors = 12;  // read and written; see the room's README
    return Expectation{.outputs = {buffers_.x, buffers_.state},
                       .check = [this, &session] { return check(session.context()); },
                       .bytes_moved = iterations * (stored.bytes() + vectors * 4 * row_count),
                       .flops = iterations * (matrix.product_flops() + 10 * row_count),
                       .detail = std::format("{} iterations; {}", iterations, detail_of(matrix)),
                       .is_one_size = true};
  }

  Result<Work> make(Session& session, std::uint64_t /*row_count*/) override {
    auto plan = plan_cg_steps(shape_, iterations, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [this, &session](WGPUComputePassEncoder pass) -> Status {
                  const Status ok = record_cg_start(session.context(), pass, shape_, buffers_);
                  if (!ok) return ok;
                  return record_cg_steps(session.context(), pass, shape_, iterations, buffers_);
                }};
  }

 private:
  // What has ended is timed doing nothing: right for a small one only, which then is solved.
  [[nodiscard]] Result<Verdict> check(Context& context) const {
    const auto state = read_struct<CgState>(context, buffers_.state);
    if (!state) return std::unexpected(state.error());
    if (state->status == CgStatus::running) return Verdict{.correct = state->iteration == iterations};
    return Verdict{.correct = state->residual_norm <= 1e-4f * state->right_side_norm};
  }

  std::string format_;
  CgShape shape_;
  CgBuffers buffers_;
};

class PagerankBench : public MatrixBench {
 public:
  PagerankBench() : MatrixBench("pagerank", MatrixKind::power_law, usual_row_count(MatrixKind::power_law)) {}

  Result<Expectation> expect(Session& session, std::uint64_t row_count) override {
    const CsrMatrix matrix = make_csr(row_count);
    std::vector<float> inverse_out(row_count);
    for (const std::uint32_t column : matrix.columns) ++inverse_out[column];
    for (float& out : inverse_out) out = out == 0 ? 0 : 1 / out;
    StoredMatrix stored = store_matrix(matrix, {});
    stored.values.clear();
    stored.shape.values = SparseValues::ones;
    const auto on_device = upload_matrix(session, stored, "solver");
    if (!on_device) return std::unexpected(on_device.error());
    shape_ = {.incoming = on_device->shape, .tolerance = 0};
    buffers_ = {.incoming = on_device->buffers};
    const auto inverse = upload(session, "inverse_out", std::as_bytes(std::span(inverse_out)));
    if (!inverse) return std::unexpected(inverse.error());
    buffers_.inverse_out = *inverse;
    const Status made = make_buffers(session, {{"ranks", &buffers_.ranks, row_count},
                                               {"scaled_ranks", &buffers_.scaled_ranks, row_count},
                                               {"state", &buffers_.state, pagerank_state_bytes / 4}});
    if (!made) return std::unexpected(made.error());
    constexpr std::uint64_t vectors = 7;  // read and written; see the room's README
    return Expectation{.outputs = {buffers_.ranks, buffers_.state},
                       .check = [this, &session] { return check(session.context()); },
                       .bytes_moved = iterations * (stored.bytes() + vectors * 4 * row_count),
                       .flops = iterations * matrix.columns.size(),
                       .detail = std::format("{} iterations; {}", iterations, detail_of(matrix)),
                       .is_one_size = true};
  }

  Result<Work> make(Session& session, std::uint64_t /*row_count*/) override {
    auto plan = plan_pagerank_steps(shape_, iterations, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [this, &session](WGPUComputePassEncoder pass) -> Status {
                  // From the start: ranks that no longer change would end it.
                  const Status ok = record_pagerank_start(session.context(), pass, shape_, buffers_);
                  if (!ok) return ok;
                  return record_pagerank_steps(session.context(), pass, shape_, iterations, buffers_);
                }};
  }

 private:
  [[nodiscard]] Result<Verdict> check(Context& context) const {
    const auto state = read_struct<PagerankState>(context, buffers_.state);
    if (!state) return std::unexpected(state.error());
    // Ranks of a small graph no longer change after fewer.
    const bool has_ended = state->status == PagerankStatus::converged;
    return Verdict{.correct = (has_ended || state->iteration == iterations) && std::abs(state->total - 1) < 1e-3f};
  }

  PagerankShape shape_;
  PagerankBuffers buffers_;
};

// What tells the formats apart.
class StatisticsBench : public MatrixBench {
 public:
  explicit StatisticsBench(MatrixKind kind) : MatrixBench("csr_statistics", kind, usual_row_count(kind)) {}

  Result<Expectation> expect(Session& session, std::uint64_t row_count) override {
    const CsrMatrix matrix = make_csr(row_count);
    const auto on_device = upload_matrix(session, store_matrix(matrix, {}), "analysed");
    if (!on_device) return std::unexpected(on_device.error());
    csr_ = on_device->buffers;
    // As SparseMatrix asks.
    shape_ = {.csr = on_device->shape,
              .slice_rows = usual_slice_rows,
              .window_rows = usual_window_rows,
              .block_sizes = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 16,
              .skip_large_blocks = true};
    shape_.csr.longest_row = 0;
    const Status made = make_buffers(session, {{"statistics", &statistics_, sizeof(CsrStatistics) / 4}});
    if (!made) return std::unexpected(made.error());
    return Expectation{
        .outputs = {statistics_},
        .check = [this, &session, longest = matrix.longest_row()] { return check(session.context(), longest); },
        .bytes_moved = 4 * (row_count + matrix.columns.size()),
        .detail = detail_of(matrix),
        .is_one_size = true};
  }

  Result<Work> make(Session& session, std::uint64_t /*row_count*/) override {
    auto plan = plan_csr_statistics(shape_, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    return Work{std::make_shared<const Plan>(std::move(*plan)), [this, &session](WGPUComputePassEncoder pass) {
                  return record_csr_statistics(session.context(), pass, shape_, csr_, statistics_);
                }};
  }

 private:
  [[nodiscard]] Result<Verdict> check(Context& context, std::uint32_t longest) const {
    const auto found = read_struct<CsrStatistics>(context, statistics_);
    if (!found) return std::unexpected(found.error());
    std::uint64_t entries = 0;
    for (const std::uint32_t count : found->entries_by_length) entries += count;
    return Verdict{.correct = found->longest_row == longest && entries == shape_.csr.entry_count};
  }

  CsrStatisticsShape shape_;
  SparseBuffers csr_;
  BufferView statistics_;
};

// Entries in an order of their own: those of every 7th row first, then of the next ones.
class CooToCsrBench : public MatrixBench {
 public:
  explicit CooToCsrBench(MatrixKind kind) : MatrixBench("coo_to_csr", kind, usual_row_count(kind)) {}

  Result<Expectation> expect(Session& session, std::uint64_t row_count) override {
    const CsrMatrix matrix = make_csr(row_count);
    constexpr std::uint32_t step = 7;
    StoredMatrix mixed;
    mixed.shape = {.format = SparseFormat::coo,
                   .row_count = matrix.row_count,
                   .column_count = matrix.column_count,
                   .entry_count = static_cast<std::uint32_t>(matrix.columns.size())};
    for (std::uint32_t first = 0; first < step; ++first) {
      for (std::uint32_t row = first; row < matrix.row_count; row += step) {
        for (std::uint32_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
          mixed.rows.push_back(row);
          mixed.columns.push_back(matrix.columns[k]);
          mixed.values.push_back(matrix.values[k]);
        }
      }
    }
    const auto on_device = upload_matrix(session, mixed, "mixed");
    if (!on_device) return std::unexpected(on_device.error());
    shape_ = {.coo = on_device->shape};
    buffers_ = {.coo = on_device->buffers};
    const std::uint64_t entries = matrix.columns.size();
    const Status made = make_buffers(session, {{"offsets", &buffers_.csr.row_offsets, row_count + 1},
                                               {"columns", &buffers_.csr.columns, entries},
                                               {"values", &buffers_.csr.values, entries},
                                               {"count", &buffers_.stored_count, 1}});
    if (!made) return std::unexpected(made.error());
    columns_ = matrix.columns;
    return Expectation{.outputs = {buffers_.csr.columns, buffers_.stored_count},
                       .check = [this, &session] { return check(session.context()); },
                       .bytes_moved = 4 * (5 * entries + row_count),
                       .detail = detail_of(matrix),
                       .is_one_size = true};
  }

  Result<Work> make(Session& session, std::uint64_t /*row_count*/) override {
    auto plan = plan_coo_to_csr(shape_, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    return Work{std::make_shared<const Plan>(std::move(*plan)), [this, &session](WGPUComputePassEncoder pass) {
                  return record_coo_to_csr(session.context(), pass, shape_, buffers_);
                }};
  }

 private:
  [[nodiscard]] Result<Verdict> check(Context& context) const {
    const auto count = read_struct<std::uint32_t>(context, buffers_.stored_count);
    if (!count) return std::unexpected(count.error());
    const auto bytes = context.read(buffers_.csr.columns, columns_.size() * 4);
    if (!bytes) return std::unexpected(bytes.error());
    return Verdict{.correct =
                       *count == columns_.size() && std::memcmp(bytes->data(), columns_.data(), bytes->size()) == 0};
  }

  CooToCsrShape shape_;
  CooToCsrBuffers buffers_;
  std::vector<std::uint32_t> columns_;
};

// Those of the operations that are asked for.
Result<LibraryBenches> chosen(const BenchRequest& request, LibraryBenches all) {
  const std::string primitive(all.front()->primitive());
  if (!request.tuning.empty()) return refuse(std::format("The benchmark of {} takes no tuning.", primitive));
  std::string known;
  LibraryBenches benches;
  for (auto& bench : all) {
    // Formats share an operation.
    const std::string shown = std::format("{} of f32", bench->operation());
    if (!known.contains(shown)) known += (known.empty() ? "" : ", ") + shown;
    const bool is_wanted = request.operation.empty() || request.operation == bench->operation();
    const bool has_type = request.types.empty() || std::ranges::contains(request.types, ElementType::f32());
    if (is_wanted && has_type) benches.push_back(std::move(bench));
  }
  if (!benches.empty()) return benches;
  return refuse(std::format("The benchmark of {} shows {}, and nothing else.", primitive, known));
}

}  // namespace

Result<LibraryBenches> conjugate_gradient_benches(const BenchRequest& request) {
  LibraryBenches all;
  for (const char* format : {"csr", "ell"}) all.push_back(std::make_unique<CgBench>(format));
  return chosen(request, std::move(all));
}

Result<LibraryBenches> pagerank_benches(const BenchRequest& request) {
  LibraryBenches all;
  all.push_back(std::make_unique<PagerankBench>());
  return chosen(request, std::move(all));
}

Result<LibraryBenches> csr_statistics_benches(const BenchRequest& request) {
  LibraryBenches all;
  for (const MatrixKind kind : matrix_kinds) all.push_back(std::make_unique<StatisticsBench>(kind));
  return chosen(request, std::move(all));
}

Result<LibraryBenches> coo_to_csr_benches(const BenchRequest& request) {
  LibraryBenches all;
  for (const MatrixKind kind : {MatrixKind::grid5, MatrixKind::power_law}) {
    all.push_back(std::make_unique<CooToCsrBench>(kind));
  }
  return chosen(request, std::move(all));
}

}  // namespace upsweep::bench
