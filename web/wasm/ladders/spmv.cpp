// SPDX-License-Identifier: Apache-2.0
#include "upsweep/spmv.h"

#include <algorithm>
#include <format>

#include "arrays.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/spmv_ladder.h"
#include "benchmarking/sparse_formats.h"
#include "benchmarking/sparse_matrices.h"

namespace upsweep::web {
namespace {

// A cube of nodes, each coupled with its 27 neighbours: all formats are to be had.
constexpr bench::MatrixKind kind = bench::MatrixKind::grid27;
constexpr std::uint64_t entries_a_row = 27;
constexpr bench::FormatChoice blocks{.format = SparseFormat::block_ell, .block_size = 2};

class SpmvLadder : public Ladder {
 public:
  [[nodiscard]] std::string_view unit() const override { return "GFLOP/s"; }

  [[nodiscard]] std::vector<LadderStep> steps() const override {
    std::vector<LadderStep> all{cpu_step(std::string(bench::cpu_spmv_title()))};
    add_steps(all, bench::spmv_steps);
    // The choice between formats needs the matrix on the device (SparseMatrix of the C++ library).
    all.push_back({.id = "library", .title = "the library's choice for CSR"});
    return all;
  }

  LadderSize set_size(std::uint64_t item_count) override {
    const std::uint64_t rows = std::max<std::uint64_t>(item_count / entries_a_row, 1);
    if (matrix_.row_count != rows) {
      matrix_ = bench::make_matrix(kind, static_cast<std::uint32_t>(rows));
      x_ = bench::make_vector(matrix_.column_count);
      expected_ = {};
    }
    return {.item_count = matrix_.columns.size(),
            .output_bytes = rows * 4,
            .bytes_moved = matrix_.product_bytes(),
            .flops = matrix_.product_flops()};
  }

  [[nodiscard]] Result<LadderWork> work(std::string_view name, const DeviceTraits& traits) override {
    for (const bench::SpmvStep step : bench::spmv_steps) {
      if (name != bench::step_name(step)) continue;
      if (bench::takes_csr(step)) {
        store({.format = SparseFormat::csr});
        return product(name, "csr", traits, bench::spmv_step_tuning(step, stored_.shape, traits));
      }
      const bool in_blocks = step == bench::SpmvStep::block_ell;
      const bench::FormatChoice choice = in_blocks ? blocks : bench::FormatChoice{.format = SparseFormat::ell};
      if (std::string why = bench::refuse_format(matrix_, choice); !why.empty()) {
        return fail(ErrorKind::unsupported, std::format("The format {}.", why));
      }
      store(choice);
      return step == bench::SpmvStep::ell_row_major ? row_major_product(traits)
                                                    : product(name, name, traits, std::nullopt);
    }
    store({.format = SparseFormat::csr});
    return product(name, "csr", traits, std::nullopt);
  }

  void run_on_cpu(std::uint32_t repeats) override {
    y_.resize(matrix_.row_count);
    for (std::uint32_t i = 0; i < repeats; ++i) {
      bench::cpu_spmv(matrix_.row_offsets, matrix_.columns, matrix_.values, x_, y_);
    }
    words_.assign(y_.size(), 0);
    std::ranges::transform(y_, words_.begin(), [](float item) { return std::bit_cast<std::uint32_t>(item); });
  }
  [[nodiscard]] std::span<const std::uint32_t> cpu_result() const override { return words_; }

  void begin_check() override {
    if (expected_.sums.empty()) expected_ = bench::multiply(matrix_, x_);
    got_.clear();
  }
  void check(std::span<const std::uint32_t> words) override {
    for (const std::uint32_t word : words) got_.push_back(std::bit_cast<float>(word));
  }
  [[nodiscard]] bench::Verdict end_check() override {
    const bench::ProductVerdict verdict = bench::check_product(expected_, got_);
    return {.correct = verdict.correct, .relative_error = verdict.relative_error};
  }

 private:
  void store(const bench::FormatChoice& choice) { stored_ = bench::store_matrix(matrix_, choice); }

  // `items` live until the next step.
  template <typename T>
  static void add(LadderWork& work, std::string_view argument, const std::string& buffer, const std::vector<T>& items) {
    if (items.empty()) return;
    const auto bytes = std::as_bytes(std::span(items));
    work.buffers.push_back({.name = buffer, .size_bytes = bytes.size(), .bytes = bytes});
    work.run.arguments.push_back({std::string(argument), buffer});
  }

  void add_vectors(LadderWork& work) {
    add(work, "x", "x", x_);
    work.buffers.push_back({.name = std::string(output_name), .size_bytes = std::uint64_t{matrix_.row_count} * 4});
    work.run.arguments.push_back({"y", std::string(output_name)});
  }

  Result<LadderWork> product(std::string_view step, std::string_view label, const DeviceTraits& traits,
                             const std::optional<SpmvTuning>& tuning) {
    LadderWork work;
    const auto put = [&](std::string_view name, const auto& items) {
      add(work, name, std::format("{} {}", label, name), items);
    };
    put("row_offsets", stored_.row_offsets);
    put("columns", stored_.columns);
    put("values", stored_.values);
    add_vectors(work);
    SpmvShape shape{.matrix = stored_.shape};
    // What many products of one matrix share is made once and not timed.
    if (shape.matrix.format == SparseFormat::csr) {
      auto tiles = plan_spmv_tiles(shape, traits, tuning);
      if (!tiles) return std::unexpected(std::move(tiles).error());
      if (const ArgumentSlot* slot = tiles->find_argument("tiles"); slot != nullptr) {
        const std::string buffer = std::format("tiles {}", step);
        work.buffers.push_back({.name = buffer, .size_bytes = slot->size_bytes});
        work.run.arguments.push_back({"tiles", buffer});
        work.before.push_back(
            {.plan = std::move(*tiles), .arguments = {{"row_offsets", "csr row_offsets"}, {"tiles", buffer}}});
        shape.has_tiles = true;
      }
    }
    auto plan = plan_spmv(shape, traits, tuning);
    if (!plan) return std::unexpected(std::move(plan).error());
    work.run.plan = std::move(*plan);
    return work;
  }

  Result<LadderWork> row_major_product(const DeviceTraits& traits) {
    const SparseShape& shape = stored_.shape;
    auto plan = bench::plan_row_major(
        {.row_count = shape.row_count, .column_count = shape.column_count, .width = shape.width}, traits);
    if (!plan) return std::unexpected(std::move(plan).error());
    stored_.columns = bench::to_row_major(stored_.columns, shape.row_count, shape.width);
    stored_.values = bench::to_row_major(stored_.values, shape.row_count, shape.width);
    LadderWork work;
    work.run.plan = std::move(*plan);
    add(work, "columns", "rows columns", stored_.columns);
    add(work, "values", "rows values", stored_.values);
    add_vectors(work);
    return work;
  }

  bench::CsrMatrix matrix_;
  std::vector<float> x_;
  bench::StoredMatrix stored_;
  bench::ProductReference expected_;
  std::vector<float> y_;
  std::vector<std::uint32_t> words_;
  std::vector<float> got_;
};

}  // namespace

std::unique_ptr<Ladder> spmv_ladder() { return std::make_unique<SpmvLadder>(); }

}  // namespace upsweep::web
