// SPDX-License-Identifier: Apache-2.0
#include "upsweep/spmv.h"

#include <algorithm>
#include <cstring>
#include <format>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "benchmarking/bench_families.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/spmv_ladder.h"
#include "benchmarking/sparse_formats.h"
#include "benchmarking/sparse_matrices.h"
#include "benchmarking/tuning.h"
#include "exec/host_buffers.h"
#include "upsweep/sparse_matrix.h"

namespace upsweep::bench {
namespace {

constexpr std::uint32_t cpu_share = 64;  // of the rows that suit a GPU

// A matrix by name, with the product that it must give. What was made last is kept, and shared by all formats.
class MatrixSource {
 public:
  explicit MatrixSource(MatrixKind kind) : name_(to_string(kind)), kind_(kind) {}
  explicit MatrixSource(GivenMatrix given) : name_(std::move(given.name)), matrix_(std::move(given.matrix)) {}

  void make(std::uint64_t row_count) {
    if (kind_ && (!matrix_ || matrix_->row_count != row_count)) {
      matrix_ = std::make_shared<const CsrMatrix>(make_matrix(*kind_, static_cast<std::uint32_t>(row_count)));
      x_.clear();
    }
    if (!x_.empty()) return;
    x_ = make_vector(matrix_->column_count);
    expected_ = multiply(*matrix_, x_);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::vector<std::uint64_t> sizes(const std::vector<std::uint64_t>& asked, bool is_cpu) const {
    if (!kind_) return {matrix_->row_count};
    if (!asked.empty()) return asked;
    return {usual_row_count(*kind_) / (is_cpu ? cpu_share : 1)};
  }
  // Of the last size.
  [[nodiscard]] const CsrMatrix& matrix() const { return *matrix_; }
  [[nodiscard]] const std::vector<float>& x() const { return x_; }
  [[nodiscard]] const ProductReference& expected() const { return expected_; }

 private:
  std::string name_;
  std::optional<MatrixKind> kind_;
  std::shared_ptr<const CsrMatrix> matrix_;
  std::vector<float> x_;
  ProductReference expected_;
};

Verdict to_verdict(const ProductVerdict& found) {
  return {.correct = found.correct, .relative_error = found.relative_error};
}

class SpmvBench : public LibraryBench {
 public:
  SpmvBench(std::shared_ptr<MatrixSource> source, std::string step, const FormatChoice& choice,
            std::vector<std::string> tuning)
      : LibraryBench("spmv", source->name(), ElementType::f32()),
        source_(std::move(source)),
        step_(std::move(step)),
        choice_(choice),
        tuning_(std::move(tuning)) {}

  [[nodiscard]] std::vector<std::uint64_t> sizes(const std::vector<std::uint64_t>& asked,
                                                 const std::vector<std::uint64_t>&,
                                                 const DeviceTraits& traits) const override {
    return source_->sizes(asked, traits.is_cpu);
  }
  [[nodiscard]] std::string step() const override { return step_; }
  [[nodiscard]] std::string refusal() const override { return refusal_; }

  // The matrix of each size is made by expect().
  Status prepare(Session& /*session*/, std::uint64_t /*most_items*/) override { return {}; }

  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    source_->make(item_count);
    const CsrMatrix& matrix = source_->matrix();
    refusal_ = refuse_format(matrix, choice_);
    Expectation expected{
        .outputs = {},
        .check = [this, &session] { return check(session.context()); },
        .bytes_moved = matrix.product_bytes(),
        .flops = matrix.product_flops(),
        .detail = std::format("{} entries, at most {} a row", matrix.columns.size(), matrix.longest_row()),
        .is_one_size = true};
    if (!refusal_.empty()) return expected;
    const auto x = upload(session, "spmv x", std::as_bytes(std::span(source_->x())));
    if (!x) return std::unexpected(x.error());
    const auto y = session.buffer("spmv y", matrix.row_count);
    if (!y) return std::unexpected(y.error());
    const StoredMatrix stored = store_matrix(matrix, choice_);
    const auto on_device = upload_matrix(session, stored, "spmv " + step_);
    if (!on_device) return std::unexpected(on_device.error());
    x_ = *x;
    y_ = *y;
    on_device_ = *on_device;
    expected.outputs = {y_};
    expected.bytes_moved = stored.bytes() + 4 * (std::uint64_t{matrix.row_count} + matrix.column_count);
    return expected;
  }

  Result<Work> make(Session& session, std::uint64_t /*item_count*/) override { return make_tuned(session, on_device_); }

  // With the changes of the tuning that the user asked for.
  Result<Work> make_tuned(Session& session, const DeviceMatrix& matrix) const {
    const SpmvShape shape{.matrix = matrix.shape};
    std::optional<SpmvTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_spmv_tuning(shape, session.context().traits());
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    return make(session, matrix, tuning);
  }

  Result<Work> make(Session& session, const DeviceMatrix& matrix, const std::optional<SpmvTuning>& tuning) const {
    SpmvShape shape{.matrix = matrix.shape};
    SpmvBuffers buffers{.matrix = matrix.buffers, .x = x_, .y = y_};
    if (const Status ok = prepare_tiles(session, shape, buffers, tuning); !ok) return std::unexpected(ok.error());
    auto plan = plan_spmv(shape, session.context().traits(), tuning);
    if (!plan) return std::unexpected(plan.error());
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_spmv(session.context(), pass, shape, buffers, tuning);
                }};
  }

  [[nodiscard]] const MatrixSource& source() const { return *source_; }
  [[nodiscard]] const DeviceMatrix& on_device() const { return on_device_; }
  [[nodiscard]] const BufferView& x() const { return x_; }
  [[nodiscard]] const BufferView& y() const { return y_; }

 private:
  // What many products of one matrix share is made once and not timed, as that of the peers.
  static Status prepare_tiles(Session& session, SpmvShape& shape, SpmvBuffers& buffers,
                              const std::optional<SpmvTuning>& tuning) {
    if (shape.matrix.format != SparseFormat::csr) return {};
    const auto plan = plan_spmv_tiles(shape, session.context().traits(), tuning);
    if (!plan) return std::unexpected(plan.error());
    const ArgumentSlot* slot = plan->find_argument("tiles");
    if (slot == nullptr) return {};
    const auto tiles = session.buffer("tiles", slot->size_bytes / 4);
    if (!tiles) return std::unexpected(tiles.error());
    buffers.tiles = *tiles;
    shape.has_tiles = true;
    return host::submit(session.context(), [&](WGPUCommandEncoder encoder) {
      return record_spmv_tiles(session.context(), encoder, shape, buffers, tuning);
    });
  }

  [[nodiscard]] Result<Verdict> check(Context& context) const {
    std::vector<float> y(source_->matrix().row_count);
    const auto bytes = context.read(y_, y.size() * 4);
    if (!bytes) return std::unexpected(bytes.error());
    std::memcpy(y.data(), bytes->data(), bytes->size());
    return to_verdict(check_product(source_->expected(), y));
  }

  std::shared_ptr<MatrixSource> source_;
  std::string step_;
  FormatChoice choice_;
  std::vector<std::string> tuning_;
  std::string refusal_;
  DeviceMatrix on_device_;
  BufferView x_;
  BufferView y_;
};

class SpmvLadder : public Ladder {
 public:
  explicit SpmvLadder(std::unique_ptr<SpmvBench> bench)
      : Ladder(std::move(bench)), bench_(&static_cast<SpmvBench&>(library())) {}

  [[nodiscard]] std::string_view cpu_title() const override { return cpu_spmv_title(); }

  void measure_cpu(Measurement& row) const override {
    const CsrMatrix& matrix = bench_->source().matrix();
    if (matrix.columns.size() > cpu_spmv_most_entries) {
      row.not_timed = "more entries than the CPU's step takes";
      return;
    }
    std::vector<float> y(matrix.row_count);
    row.call =
        time_on_host([&] { cpu_spmv(matrix.row_offsets, matrix.columns, matrix.values, bench_->source().x(), y); });
    row.correct = check_product(bench_->source().expected(), y).correct;
  }

  [[nodiscard]] std::vector<LadderStep> steps(Session& session) const override {
    const CsrMatrix& matrix = bench_->source().matrix();
    const FormatChoice ell{.format = SparseFormat::ell};
    const FormatChoice blocks = parse_format("bell", bench_->source().name()).value_or(FormatChoice{});
    const std::string no_ell = refuse_format(matrix, ell);
    const std::string no_blocks = refuse_format(matrix, blocks);
    block_title_ = std::format("{0}, {1} x {1}", step_title(SpmvStep::block_ell), blocks.block_size);
    std::vector<LadderStep> all;
    for (const SpmvStep step : spmv_steps) {
      const bool in_blocks = step == SpmvStep::block_ell;
      all.push_back({.name = step_name(step),
                     .title = in_blocks ? block_title_ : step_title(step),
                     .refusal = takes_csr(step) ? ""
                                : in_blocks     ? no_blocks
                                                : no_ell,
                     .make = [this, &session, step, choice = in_blocks ? blocks : ell](std::uint64_t) {
                       if (step == SpmvStep::ell_row_major) return make_row_major(session);
                       return takes_csr(step) ? make_csr(session, step) : make_stored(session, step_name(step), choice);
                     }});
    }
    const auto chosen = choose(session);
    library_title_ = std::format("{}{}", library_title, chosen ? ": " + to_string((*chosen)->shape().format) : "");
    all.push_back({.name = library_step,
                   .title = library_title_,
                   .refusal = chosen ? "" : chosen.error().message,
                   .make = [this, &session, chosen](std::uint64_t) { return make_chosen(session, *chosen); }});
    return all;
  }

 private:
  [[nodiscard]] Result<Work> make_csr(Session& session, SpmvStep step) const {
    const SpmvTuning tuning = spmv_step_tuning(step, bench_->on_device().shape, session.context().traits());
    return bench_->make(session, bench_->on_device(), tuning);
  }

  [[nodiscard]] Result<Work> make_stored(Session& session, std::string_view label, const FormatChoice& choice) const {
    const auto matrix =
        upload_matrix(session, store_matrix(bench_->source().matrix(), choice), std::format("spmv {}", label));
    if (!matrix) return std::unexpected(matrix.error());
    return bench_->make(session, *matrix, std::nullopt);
  }

  // The format that the library takes after it has looked at the rows.
  [[nodiscard]] Result<std::shared_ptr<const SparseMatrix>> choose(Session& session) const {
    const CsrMatrix& matrix = bench_->source().matrix();
    const std::vector<double> values(matrix.values.begin(), matrix.values.end());
    auto made = SparseMatrix::create(session.context(), host::CsrArrays{.row_count = matrix.row_count,
                                                                        .column_count = matrix.column_count,
                                                                        .row_offsets = matrix.row_offsets,
                                                                        .columns = matrix.columns,
                                                                        .values = values});
    if (!made) return std::unexpected(made.error());
    return std::make_shared<const SparseMatrix>(std::move(*made));
  }

  [[nodiscard]] Result<Work> make_chosen(Session& session, const std::shared_ptr<const SparseMatrix>& chosen) const {
    auto work = bench_->make_tuned(session, {chosen->shape(), chosen->buffers()});
    // The buffers are the matrix's.
    if (work)
      work->record = [record = std::move(work->record), chosen](WGPUComputePassEncoder pass) { return record(pass); };
    return work;
  }

  [[nodiscard]] Result<Work> make_row_major(Session& session) const {
    const StoredMatrix slots = store_matrix(bench_->source().matrix(), {.format = SparseFormat::ell});
    const RowMajorMatrix shape{
        .row_count = slots.shape.row_count, .column_count = slots.shape.column_count, .width = slots.shape.width};
    auto plan = plan_row_major(shape, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    const auto put = [&](const std::string& label, const auto& items) {
      const auto rows = to_row_major(items, shape.row_count, shape.width);
      return upload(session, label, std::as_bytes(std::span(rows)));
    };
    const auto columns = put("spmv row_major columns", slots.columns);
    if (!columns) return std::unexpected(columns.error());
    const auto values = put("spmv row_major values", slots.values);
    if (!values) return std::unexpected(values.error());
    auto shared = std::make_shared<const Plan>(std::move(*plan));
    return Work{shared, [&session, shared, columns = *columns, values = *values, x = bench_->x(),
                         y = bench_->y()](WGPUComputePassEncoder pass) {
                  const std::array arguments{Argument{"columns", columns}, Argument{"values", values}, Argument{"x", x},
                                             Argument{"y", y}};
                  return session.context().record(pass, *shared, arguments);
                }};
  }

  SpmvBench* bench_;
  // Of the matrix whose steps were asked for last.
  mutable std::string block_title_;
  mutable std::string library_title_;
};

Result<std::vector<std::shared_ptr<MatrixSource>>> make_sources(const BenchRequest& request) {
  std::vector<std::shared_ptr<MatrixSource>> sources;
  for (const std::string& name : request.matrices) {
    const auto kind = matrix_kind_from_name(name);
    if (!kind) {
      std::string known;
      for (const MatrixKind k : matrix_kinds) known += std::format("{}{}", known.empty() ? "" : ", ", to_string(k));
      return refuse(std::format("There is no matrix {}; there are: {}.", name, known));
    }
    sources.push_back(std::make_shared<MatrixSource>(*kind));
  }
  for (const GivenMatrix& given : request.given_matrices) sources.push_back(std::make_shared<MatrixSource>(given));
  if (!sources.empty()) return sources;
  for (const MatrixKind kind : matrix_kinds) sources.push_back(std::make_shared<MatrixSource>(kind));
  return sources;
}

Result<std::vector<std::unique_ptr<SpmvBench>>> make_spmv_benches(const BenchRequest& request) {
  SpmvTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  if (!request.operation.empty()) {
    return refuse(std::format("The benchmark of spmv shows matrices, and no {}.", request.operation));
  }
  for (const ElementType& type : request.types) {
    if (type != ElementType::f32()) {
      return refuse(std::format("The benchmark of spmv has values of f32, not of {}.", type.name));
    }
  }
  auto sources = make_sources(request);
  if (!sources) return std::unexpected(sources.error());
  const std::vector<std::string> formats = request.formats.empty() ? std::vector<std::string>{"csr"} : request.formats;
  std::vector<std::unique_ptr<SpmvBench>> benches;
  for (const auto& source : *sources) {
    for (const std::string& format : formats) {
      const auto choice = parse_format(format, source->name());
      if (!choice) return refuse(std::format("There is no format {}; there are: {}.", format, format_names));
      benches.push_back(std::make_unique<SpmvBench>(source, format, *choice, request.tuning));
    }
  }
  return benches;
}

}  // namespace

Result<LibraryBenches> spmv_benches(const BenchRequest& request) {
  auto made = make_spmv_benches(request);
  if (!made) return std::unexpected(made.error());
  return LibraryBenches(std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
}

Result<Ladders> spmv_ladders(const BenchRequest& request) {
  if (!request.formats.empty()) return refuse("The ladder of spmv shows formats of its own.");
  auto made = make_spmv_benches(request);
  if (!made) return std::unexpected(made.error());
  Ladders ladders;
  for (std::unique_ptr<SpmvBench>& bench : *made) ladders.push_back(std::make_unique<SpmvLadder>(std::move(bench)));
  return ladders;
}

}  // namespace upsweep::bench
