// SPDX-License-Identifier: Apache-2.0
#include "upsweep/conjugate_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <format>
#include <limits>
#include <utility>

#include "exec/context_impl.h"
#include "exec/host_buffers.h"
#include "exec/matrix_arguments.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  CgShape shape;
  std::optional<SolverTuning> tuning;
  std::optional<std::uint32_t> iterations;  // of steps; none: the start
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  std::uint64_t hash = hash_bytes("conjugate_gradient");
  hash = hash_number((std::uint64_t{key.shape.matrix.row_count} << 32) | key.shape.matrix.entry_count, hash);
  return hash_number(key.iterations.value_or(~0u), hash);
}

struct DiagonalKey {
  SparseShape matrix;
  bool operator==(const DiagonalKey&) const = default;
};

Status record(Context& context, RecordTarget target, const Key& key, const CgBuffers& buffers) {
  const auto plan = cached_plan(context.impl(), hash_of(key), key, [&] {
    return key.iterations ? plan_cg_steps(key.shape, *key.iterations, context.traits(), key.tuning)
                          : plan_cg_start(key.shape, context.traits(), key.tuning);
  });
  if (!plan) return std::unexpected(plan.error());
  const auto arguments =
      with_matrix(buffers.matrix,
                  std::array{Argument{"b", buffers.b}, Argument{"x", buffers.x}, Argument{"residual", buffers.residual},
                             Argument{"direction", buffers.direction},
                             Argument{"inverse_diagonal", buffers.inverse_diagonal}, Argument{"state", buffers.state}});
  return context.record(target, **plan, arguments);
}

}  // namespace

Status record_cg_start(Context& context, RecordTarget target, const CgShape& shape, const CgBuffers& buffers,
                       std::optional<SolverTuning> tuning) {
  return record(context, target, {shape, tuning, std::nullopt}, buffers);
}

Status record_cg_steps(Context& context, RecordTarget target, const CgShape& shape, std::uint32_t iterations,
                       const CgBuffers& buffers, std::optional<SolverTuning> tuning) {
  Key key{shape, tuning, iterations};
  // Steps are alike wherever the solve begins and ends: one plan for all corrections.
  key.shape.zero_guess = false;
  key.shape.tolerance = 0;
  return record(context, target, key, buffers);
}

Status record_cg_diagonal(Context& context, RecordTarget target, const SparseShape& matrix,
                          const SparseBuffers& buffers, BufferView inverse_diagonal, BufferView bad_row) {
  const DiagonalKey key{matrix};
  const std::uint64_t hash =
      hash_number((std::uint64_t{matrix.row_count} << 32) | matrix.entry_count, hash_bytes("cg_diagonal"));
  const auto plan = cached_plan(context.impl(), hash, key, [&] { return plan_cg_diagonal(matrix, context.traits()); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"row_offsets", buffers.row_offsets}, Argument{"columns", buffers.columns},
                             Argument{"values", buffers.values}, Argument{"inverse_diagonal", inverse_diagonal},
                             Argument{"bad_row", bad_row}};
  return context.record(target, **plan, arguments);
}

namespace host {
namespace {

// Corrections aim at half of what is wanted, so that rounding does not spoil it,
constexpr double aim = 0.5;
// and at no more than this, since residuals of f32 soon have little to do with the true one. Poisson's equation on 128
// x 128 points takes about as many iterations with 1e-3 to 1e-6, but more corrections with the former.
constexpr double least_reduction = 1e-5;
// A correction that leaves more than this of the residual is none.
constexpr double most_left = 0.5;

double norm(std::span<const double> v) {
  // Scaled, so that squares stay in range.
  double largest = 0;
  for (const double item : v) largest = std::max(largest, std::abs(item));
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (const double item : v) sum += (item / largest) * (item / largest);
  return largest * std::sqrt(sum);
}

std::vector<double> residual_of(const CsrArrays& a, std::span<const double> x, std::span<const double> b) {
  std::vector<double> r(b.begin(), b.end());
  for (std::size_t row = 0; row < a.row_count; ++row) {
    double sum = 0;
    for (std::uint32_t e = a.row_offsets[row]; e < a.row_offsets[row + 1]; ++e) sum += a.value(e) * x[a.columns[e]];
    r[row] -= sum;
  }
  return r;
}

std::vector<float> scaled(std::span<const double> v, double factor) {
  std::vector<float> items(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) items[i] = static_cast<float>(v[i] * factor);
  return items;
}

Status check_request(const CsrArrays& matrix, std::span<const double> b, const SolveOptions& options) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (const Status ok = check_csr(matrix); !ok) return ok;
  if (const Status ok = check_finite(matrix); !ok) return ok;
  const std::size_t rows = matrix.row_count;
  if (matrix.column_count != rows) {
    return refuse(
        std::format("A solve needs a square matrix; this one has {} rows and {} columns.", rows, matrix.column_count));
  }
  if (b.size() != rows)
    return refuse(std::format("A right side of {} numbers does not go with {} rows.", b.size(), rows));
  if (!options.first_guess.empty() && options.first_guess.size() != rows) {
    return refuse(
        std::format("A first guess of {} numbers does not go with {} rows.", options.first_guess.size(), rows));
  }
  for (const auto& [numbers, what] : {std::pair{b, "right side"}, {options.first_guess, "first guess"}}) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!std::isfinite(numbers[i])) {
        return refuse(std::format("Number {} of the {} is {}; numbers count from 0.", i, what, numbers[i]));
      }
    }
  }
  if (!(options.tolerance > 0)) return refuse(std::format("A tolerance of {} is not more than 0.", options.tolerance));
  if (options.iterations_per_check < 1 || options.iterations_per_check > cg_most_iterations) {
    return refuse(std::format("{} iterations per check: 1 to {} are possible.", options.iterations_per_check,
                              cg_most_iterations));
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::uint32_t e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
      if (std::abs(matrix.value(e)) > std::numeric_limits<float>::max()) {
        return refuse(std::format("The entry in row {}, column {} is {}, beyond f32; rows and columns count from 0.",
                                  row, matrix.columns[e], matrix.value(e)));
      }
    }
  }
  if (!options.check_symmetry) return {};
  if (const auto found = find_asymmetry(matrix, options.symmetry_tolerance)) {
    return refuse(
        std::format("The matrix is not symmetric: the entry in row {}, column {} is {}, and that in row {}, "
                    "column {} is {}; rows and columns count from 0.",
                    found->row, found->column, found->value, found->column, found->row, found->mirror));
  }
  return {};
}

// A system on the device, for one right side after the other.
class DeviceSystem {
 public:
  DeviceSystem(Context& context, const CsrArrays& matrix, const SolveOptions& options)
      : context_(context), options_(options), buffers_(context), rows_(matrix.row_count) {
    shape_.matrix = {.format = SparseFormat::csr,
                     .values = matrix.values.empty() ? SparseValues::ones : SparseValues::f32,
                     .row_count = matrix.row_count,
                     .column_count = matrix.column_count,
                     .entry_count = static_cast<std::uint32_t>(matrix.columns.size()),
                     .longest_row = matrix.longest_row()};
    shape_.preconditioner = options.preconditioner;
    // By a power of two, which changes no digit: squares and products stay in the range of f32.
    double largest = 0;
    for (const double value : matrix.values) largest = std::max(largest, std::abs(value));
    if (largest > 0) scale_ = std::ldexp(1.0, -std::ilogb(largest));
    const std::vector<float> values = scaled(matrix.values, scale_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (matrix.values[i] != 0 && std::abs(values[i]) < std::numeric_limits<float>::min()) has_tiny_entries_ = true;
    }
    views_.matrix.row_offsets = buffers_.make(matrix.row_offsets, "row_offsets");
    views_.matrix.columns = buffers_.make(matrix.columns, "columns");
    if (!values.empty()) views_.matrix.values = buffers_.make(std::span<const float>(values), "values");
    const std::uint64_t bytes = std::uint64_t{matrix.row_count} * 4;
    views_.b = buffers_.make(bytes, "b");
    views_.x = buffers_.make(bytes, "x");
    views_.residual = buffers_.make(bytes, "residual");
    views_.direction = buffers_.make(bytes, "direction");
    views_.state = buffers_.make(cg_state_bytes, "state");
    if (options.preconditioner == CgPreconditioner::jacobi) {
      views_.inverse_diagonal = buffers_.make(bytes, "inverse_diagonal");
    }
  }

  // The matrix on the device is so many times the caller's.
  [[nodiscard]] double scale() const { return scale_; }
  // Beside the largest entry there are some that are 0 in f32, or on devices without subnormal numbers.
  [[nodiscard]] bool has_tiny_entries() const { return has_tiny_entries_; }

  // The first row that Jacobi cannot work with; no_column if there is none.
  Result<std::uint32_t> prepare() {
    if (!buffers_.status()) return std::unexpected(buffers_.status().error());
    if (shape_.preconditioner == CgPreconditioner::none) return no_column;
    const BufferView bad_row = buffers_.make(4, "bad_row");
    if (!buffers_.status()) return std::unexpected(buffers_.status().error());
    const Status done = submit(context_, [&](WGPUCommandEncoder encoder) {
      return record_cg_diagonal(context_, encoder, shape_.matrix, views_.matrix, views_.inverse_diagonal, bad_row);
    });
    if (!done) return std::unexpected(done.error());
    return read_one<std::uint32_t>(context_, bad_row);
  }

  struct Solution {
    CgState state;
    std::vector<float> x;
  };
  // At most so many iterations; from 0, or from a first guess. `report` is told of the state after every check.
  template <typename Report>
  Result<Solution> solve(std::span<const float> b, std::span<const float> guess, double tolerance,
                         std::uint32_t iterations, Report report) {
    shape_.tolerance = static_cast<float>(tolerance);
    shape_.zero_guess = guess.empty();
    if (const Status ok = context_.write(views_.b, std::as_bytes(b)); !ok) return std::unexpected(ok.error());
    if (!guess.empty()) {
      if (const Status ok = context_.write(views_.x, std::as_bytes(guess)); !ok) return std::unexpected(ok.error());
    }
    std::uint32_t recorded = 0;
    for (CgState state;;) {
      const std::uint32_t steps = std::min(options_.iterations_per_check, iterations - recorded);
      const Status done = submit(context_, [&](WGPUCommandEncoder encoder) -> Status {
        if (recorded == 0) {
          if (const Status ok = record_cg_start(context_, encoder, shape_, views_); !ok) return ok;
        }
        return record_cg_steps(context_, encoder, shape_, steps, views_);
      });
      if (!done) return std::unexpected(done.error());
      recorded += steps;
      const auto read = read_one<CgState>(context_, views_.state);
      if (!read) return std::unexpected(read.error());
      state = *read;
      report(state);
      if (state.status != CgStatus::running || recorded >= iterations) {
        auto x = read_items<float>(context_, views_.x, rows_);
        if (!x) return std::unexpected(x.error());
        return Solution{state, std::move(*x)};
      }
    }
  }

 private:
  Context& context_;
  const SolveOptions& options_;
  HostBuffers buffers_;
  std::size_t rows_;
  double scale_ = 1;
  bool has_tiny_entries_ = false;
  CgShape shape_;
  CgBuffers views_;
};

std::string words_of(const SolveReport& report, const SolveOptions& options, const CgState& state) {
  const std::string so_far = std::format("{} iterations, relative residual {:.3g}, tolerance {:.3g}", report.iterations,
                                         report.relative_residual, options.tolerance);
  switch (report.status) {
    case SolveStatus::converged: return std::format("Converged: {}.", so_far);
    case SolveStatus::not_positive_definite:
      return state.rho < 0
                 ? std::format("The preconditioner is not positive definite: r'z = {:.6g}; {}.", state.rho, so_far)
                 : std::format("The matrix is not positive definite in f32: p'Ap = {:.6g} in iteration {}; {}.",
                               state.curvature, state.iteration + 1, so_far);
    case SolveStatus::stalled:
      return options.refine
                 ? std::format("Stalled: a further correction in f32 does not bring the residual down; {}.", so_far)
                 : std::format("Stalled: f32 alone does not bring the residual down any further; {}.", so_far);
    case SolveStatus::iteration_limit: return std::format("Not converged within the limit: {}.", so_far);
    case SolveStatus::not_finite: return std::format("Numbers beyond f32 arose; {}.", so_far);
  }
  return {};
}

}  // namespace

std::string to_string(SolveStatus status) {
  switch (status) {
    case SolveStatus::converged: return "converged";
    case SolveStatus::not_positive_definite: return "not_positive_definite";
    case SolveStatus::stalled: return "stalled";
    case SolveStatus::iteration_limit: return "iteration_limit";
    case SolveStatus::not_finite: return "not_finite";
  }
  return "?";
}

std::optional<Asymmetry> find_asymmetry(const CsrArrays& matrix, double tolerance) {
  // The transpose of the transpose has its rows in order, so that both can be walked together.
  const CsrMatrix turned = transpose(matrix);
  const CsrMatrix ordered = transpose(turned.arrays());
  const CsrArrays a = ordered.arrays();
  const CsrArrays t = turned.arrays();
  for (std::uint32_t row = 0; row < matrix.row_count; ++row) {
    std::uint32_t in_a = a.row_offsets[row];
    std::uint32_t in_t = t.row_offsets[row];
    const std::uint32_t a_end = a.row_offsets[row + std::size_t{1}];
    const std::uint32_t t_end = t.row_offsets[row + std::size_t{1}];
    while (in_a < a_end || in_t < t_end) {
      const std::uint32_t column =
          std::min(in_a < a_end ? a.columns[in_a] : no_column, in_t < t_end ? t.columns[in_t] : no_column);
      double value = 0;
      double mirror = 0;
      for (; in_a < a_end && a.columns[in_a] == column; ++in_a) value += a.value(in_a);
      for (; in_t < t_end && t.columns[in_t] == column; ++in_t) mirror += t.value(in_t);
      if (std::abs(value - mirror) > tolerance * std::max(std::abs(value), std::abs(mirror))) {
        return Asymmetry{row, column, value, mirror};
      }
    }
  }
  return std::nullopt;
}

Result<SolveReport> solve(Context& context, const CsrArrays& matrix, std::span<const double> b,
                          const SolveOptions& options) {
  if (const Status ok = check_request(matrix, b, options); !ok) return std::unexpected(ok.error());
  SolveReport report;
  report.x.assign(options.first_guess.begin(), options.first_guess.end());
  report.x.resize(b.size(), 0.0);
  const double b_norm = norm(b);
  CgState state;
  const auto end = [&](SolveStatus status) {
    report.status = status;
    report.words = words_of(report, options, state);
    return std::move(report);
  };
  if (b_norm == 0) {
    report.x.assign(b.size(), 0.0);
    return end(SolveStatus::converged);
  }
  std::vector<double> r = residual_of(matrix, report.x, b);
  double r_norm = norm(r);
  report.relative_residual = r_norm / b_norm;
  if (report.relative_residual <= options.tolerance) return end(SolveStatus::converged);
  if (options.max_iterations == 0) return end(SolveStatus::iteration_limit);

  DeviceSystem system(context, matrix, options);
  const auto bad_row = system.prepare();
  if (!bad_row) return std::unexpected(bad_row.error());
  if (*bad_row != no_column) {
    report.status = SolveStatus::not_positive_definite;
    double diagonal = 0;
    for (std::uint32_t e = matrix.row_offsets[*bad_row]; e < matrix.row_offsets[*bad_row + std::size_t{1}]; ++e) {
      if (matrix.columns[e] == *bad_row) diagonal += matrix.value(e);
    }
    report.words = std::format(
        "The matrix is not positive definite in f32: the diagonal entry of row {} is {}; rows count from 0.", *bad_row,
        diagonal);
    return report;
  }
  for (;;) {
    const double outer = options.refine ? r_norm : b_norm;  // what 1 is on the device, of right sides
    const double unit = outer * system.scale();             // and of solutions
    const double wanted = aim * options.tolerance * b_norm / outer;
    const std::uint32_t before = report.iterations;
    const auto solution = system.solve(
        scaled(options.refine ? std::span<const double>(r) : b, 1 / outer),
        options.refine || options.first_guess.empty() ? std::vector<float>{} : scaled(options.first_guess, 1 / unit),
        options.refine ? std::max(wanted, least_reduction) : wanted, options.max_iterations - before,
        [&](const CgState& now) {
          if (!options.progress) return;
          options.progress({before + now.iteration, report.refinements, now.residual_norm * outer / b_norm});
        });
    if (!solution) return std::unexpected(solution.error());
    state = solution->state;
    report.iterations += state.iteration;
    ++report.refinements;
    std::vector<double> x(b.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = (options.refine ? report.x[i] : 0.0) + unit * static_cast<double>(solution->x[i]);
    }
    std::vector<double> new_r = residual_of(matrix, x, b);
    const double new_norm = norm(new_r);
    const double left = new_norm / r_norm;
    if (new_norm < r_norm) {
      report.x = std::move(x);
      r = std::move(new_r);
      r_norm = new_norm;
      report.relative_residual = r_norm / b_norm;
    }
    if (report.relative_residual <= options.tolerance) return end(SolveStatus::converged);
    if (state.status == CgStatus::not_positive_definite) {
      // What has been taken for 0 says nothing of the matrix.
      const bool is_lost = state.curvature == 0 && state.rho >= 0 && system.has_tiny_entries();
      return end(is_lost ? SolveStatus::not_finite : SolveStatus::not_positive_definite);
    }
    if (state.status == CgStatus::not_finite) return end(SolveStatus::not_finite);
    if (report.iterations >= options.max_iterations) return end(SolveStatus::iteration_limit);
    if (!options.refine || !(left < most_left)) return end(SolveStatus::stalled);
  }
}

}  // namespace host
}  // namespace upsweep
