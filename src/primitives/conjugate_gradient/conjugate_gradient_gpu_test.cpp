// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients on a device against the iteration in double, and the front against elimination.
#include "upsweep/conjugate_gradient.h"

#include <gmock/gmock.h>

#include <format>
#include <limits>

#include "primitives/conjugate_gradient/conjugate_gradient_reference.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

constexpr float nan_f32 = std::numeric_limits<float>::quiet_NaN();

std::vector<float> floats_of(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

// A system on the device, with guards around every array.
struct System {
  System(Context& context, const SparseArrays& m, const std::vector<double>& b, const std::vector<double>& x,
         const std::vector<double>& inverse)
      : offsets(context, bytes_of(m.row_offsets), 4),
        columns(context, bytes_of(m.columns), 8),
        values(context, bytes_of(m.values), 12),
        b_buffer(context, bytes_of(floats_of(b)), 16),
        x_buffer(context, bytes_of(floats_of(x)), 20),
        residual(context, bytes_of(unwritten<float>(b.size())), 28),
        direction(context, bytes_of(unwritten<float>(b.size())), 36),
        inverse_buffer(context, bytes_of(floats_of(inverse)), 44),
        state_buffer(context, bytes_of(unwritten<std::uint32_t>(cg_state_bytes / 4)), 52),
        buffers{.b = b_buffer.view(),
                .x = x_buffer.view(),
                .residual = residual.view(),
                .direction = direction.view(),
                .inverse_diagonal = inverse_buffer.view(),
                .state = state_buffer.view()} {
    buffers.matrix.row_offsets = offsets.view();
    buffers.matrix.columns = columns.view();
    buffers.matrix.values = values.view();
    shape.matrix = m.shape;
  }

  [[nodiscard]] CgState state() const {
    const auto bytes = state_buffer.read_and_check_guards();
    CgState state;
    std::memcpy(&state, bytes.data(), sizeof(state));
    return state;
  }
  [[nodiscard]] std::vector<float> x() const { return items_of<float>(x_buffer.read_and_check_guards()); }

  GuardedBuffer offsets;
  GuardedBuffer columns;
  GuardedBuffer values;
  GuardedBuffer b_buffer;
  GuardedBuffer x_buffer;
  GuardedBuffer residual;
  GuardedBuffer direction;
  GuardedBuffer inverse_buffer;
  GuardedBuffer state_buffer;
  CgBuffers buffers;
  CgShape shape;
};

class CgGpu : public GpuTest {
 protected:
  [[nodiscard]] std::optional<SolverTuning> tuning() const {
    if (is_tiny()) {
      return SolverTuning{.workgroup_size = 4,
                          .items_per_thread = 3,
                          .max_workgroups = 5,
                          .product = SpmvTuning{.path = SpmvPath::rows, .workgroup_size = 8, .lanes_per_row = 2}};
    }
    // Kernels of 256 threads with barriers take software devices long; one profile has them.
    SolverTuning tuning = select_solver_tuning(context().traits());
    if (GetParam() == Profile::minimum_limits) tuning.workgroup_size = 256;
    return tuning;
  }

  void start_and_step(const System& system, std::initializer_list<std::uint32_t> steps) {
    run([&](WGPUCommandEncoder encoder) -> Status {
      if (const Status ok = record_cg_start(context(), encoder, system.shape, system.buffers, tuning()); !ok) return ok;
      return record_steps(encoder, system, steps);
    });
  }
  void step(const System& system, std::initializer_list<std::uint32_t> steps) {
    run([&](WGPUCommandEncoder encoder) { return record_steps(encoder, system, steps); });
  }
  Status record_steps(WGPUCommandEncoder encoder, const System& system, std::initializer_list<std::uint32_t> steps) {
    for (const std::uint32_t count : steps) {
      const Status ok = record_cg_steps(context(), encoder, system.shape, count, system.buffers, tuning());
      if (!ok) return ok;
    }
    return {};
  }

  static void expect_near(const std::vector<float>& actual, const std::vector<double>& expected, double scale,
                          std::string_view what) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      // NaN fails, too.
      if (std::abs(static_cast<double>(actual[i]) - expected[i]) <= 2e-5 * scale) continue;
      ADD_FAILURE() << what << " " << i << " of " << actual.size() << " is " << actual[i] << ", not " << expected[i];
      return;
    }
  }

  static double largest(const std::vector<double>& items) {
    double most = 0;
    for (const double item : items) most = std::max(most, std::abs(item));
    return most;
  }
};
INSTANTIATE_TEST_SUITE_P(, CgGpu, all_profiles, profile_name);

TEST_P(CgGpu, EveryIterationIsAsDefined) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const std::uint32_t rows : {1u, 2u, 11u, 12u, 13u, 60u, 61u, 255u, 256u, 257u, 1000u, 3001u}) {
    const EntryList a = random_definite(rows, seed + rows);
    const auto b = random_numbers(rows, seed + 1);
    const auto guess = random_numbers(rows, seed + 2);
    auto inverse = random_numbers(rows, seed + 3);
    for (double& item : inverse) item = std::abs(item) / 64 + 0.125;
    for (const bool jacobi : {false, true}) {
      for (const bool zero_guess : {false, true}) {
        if (jacobi == zero_guess && rows > 13 && !is_thorough()) continue;
        SCOPED_TRACE(std::format("{} rows{}{}", rows, jacobi ? ", Jacobi" : "", zero_guess ? ", from 0" : ""));
        System system(context(), csr_of(a), b, guess, inverse);
        system.shape.preconditioner = jacobi ? CgPreconditioner::jacobi : CgPreconditioner::none;
        system.shape.zero_guess = zero_guess;
        system.shape.tolerance = 0;
        const std::vector<double> d = jacobi ? inverse : std::vector<double>(rows, 1.0);
        const std::vector<double> x0 = zero_guess ? std::vector<double>(rows) : guess;
        const std::uint32_t steps = rows < 11 ? 1 : 4;
        if (steps == 1) {
          start_and_step(system, {1});
        } else {
          start_and_step(system, {1, 0, 3});
        }
        const CgReference expected = conjugate_gradients(a, b, x0, d, steps);
        const CgReference first = conjugate_gradients(a, b, x0, d, 0);
        const CgState state = system.state();
        expect_near(system.x(), expected.x, largest(expected.x) + largest(x0), "x");
        expect_near(items_of<float>(system.residual.read_and_check_guards()), expected.r, largest(first.r) + largest(b),
                    "residual");
        if (rows > 1) {
          EXPECT_EQ(state.status, CgStatus::running) << to_string(state.status);
          expect_near(items_of<float>(system.direction.read_and_check_guards()), expected.p,
                      largest(first.p) + largest(b), "direction");
          EXPECT_NEAR(state.curvature, expected.curvature, 1e-4 * expected.curvature);
          EXPECT_NEAR(state.step, expected.step, 1e-4 * expected.step);
          EXPECT_NEAR(state.rho, expected.rho, 1e-4 * expected.rho + 1e-6 * first.rho);
          EXPECT_NEAR(state.residual_norm, std::sqrt(dot(expected.r, expected.r)),
                      1e-4 * std::sqrt(dot(expected.r, expected.r)) + 1e-6 * std::sqrt(dot(first.r, first.r)));
        }
        EXPECT_EQ(state.iteration, steps);
        EXPECT_EQ(state.limit, 0);
        EXPECT_NEAR(state.right_side_norm, std::sqrt(dot(b, b)), 1e-5 * std::sqrt(dot(b, b)));
        // Inputs and guards are as they were.
        expect_items(items_of<float>(system.b_buffer.read_and_check_guards()), floats_of(b));
        expect_items(items_of<float>(system.inverse_buffer.read_and_check_guards()), floats_of(inverse));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(CgGpu, WhatIsRecordedAfterTheEndChangesNothing) {
  const std::uint64_t seed = test_seed();
  const EntryList a = random_definite(700, seed);
  const auto b = random_numbers(700, seed + 1);
  System system(context(), csr_of(a), b, std::vector<double>(700), std::vector<double>(700, 1.0));
  system.shape.tolerance = 1e-4f;
  system.shape.zero_guess = true;
  start_and_step(system, {40});
  const CgState state = system.state();
  ASSERT_EQ(state.status, CgStatus::converged) << to_string(state.status);
  EXPECT_LE(state.residual_norm, state.limit);
  EXPECT_NEAR(state.limit, 1e-4 * std::sqrt(dot(b, b)), 1e-8 * std::sqrt(dot(b, b)));
  // The first iteration that is good enough is the last.
  const std::vector<double> zeros(700);
  const std::vector<double> ones(700, 1.0);
  const auto norm_after = [&](std::uint32_t steps) {
    const auto r = conjugate_gradients(a, b, zeros, ones, steps).r;
    return std::sqrt(dot(r, r) / dot(b, b));
  };
  ASSERT_GT(state.iteration, 2u);
  ASSERT_LT(state.iteration, 40u);
  EXPECT_LT(norm_after(state.iteration), 1.01e-4);
  EXPECT_GT(norm_after(state.iteration - 1), 0.99e-4);
  const auto residual = system.residual.read_and_check_guards();
  const auto x = system.x();
  step(system, {1, 3});
  EXPECT_EQ(system.state_buffer.read_and_check_guards().size(), cg_state_bytes);
  EXPECT_EQ(system.state().iteration, state.iteration);
  EXPECT_EQ(system.state().status, CgStatus::converged);
  expect_items(system.x(), x);
  EXPECT_EQ(system.residual.read_and_check_guards(), residual);
  const auto r = conjugate_gradients(a, b, {x.begin(), x.end()}, ones, 0).r;
  EXPECT_LT(std::sqrt(dot(r, r)), 1.05e-4 * std::sqrt(dot(b, b)));
}

TEST_P(CgGpu, PlansOfOneIterationGiveTheBitsOfAPlanOfMany) {
  const EntryList a = random_definite(900, test_seed());
  const auto b = random_numbers(900, test_seed() + 1);
  std::vector<std::vector<float>> results;
  for (const auto& steps : {std::initializer_list<std::uint32_t>{6}, {6}, {1, 1, 1, 1, 1, 1}, {2, 4}}) {
    System system(context(), csr_of(a), b, std::vector<double>(900), std::vector<double>(900, 0.25));
    system.shape.preconditioner = CgPreconditioner::jacobi;
    system.shape.zero_guess = true;
    system.shape.tolerance = 0;
    start_and_step(system, steps);
    results.push_back(system.x());
    EXPECT_EQ(system.state().iteration, 6u);
  }
  for (const auto& result : results) expect_items(result, results[0]);
}

TEST_P(CgGpu, ABreakdownIsToldAndLeavesXAsItWas) {
  struct Case {
    std::string_view what;
    EntryList a;
    std::vector<double> b;
    CgStatus status;
    std::uint32_t iterations;
    std::vector<double> inverse = {1, 1, 1};
  };
  const EntryList zero{.row_count = 3, .column_count = 3, .entries = {}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Case& c : std::vector<Case>{
           {"a negative matrix", diagonal_matrix({-1, -2, -3}), {1, 1, 1}, CgStatus::not_positive_definite, 0},
           {"an indefinite matrix", diagonal_matrix({1, 1, -1}), {3, 1, 1}, CgStatus::not_positive_definite, 1},
           {"no entries", zero, {1, 2, 3}, CgStatus::not_positive_definite, 0},
           {"stored zeros", diagonal_matrix({0, 0, 0}), {1, 2, 3}, CgStatus::not_positive_definite, 0},
           {"a singular matrix, right side outside",
            diagonal_matrix({1, 1, 0}),
            {1, 1, 1},
            CgStatus::not_positive_definite,
            1},
           {"NaN on the right", diagonal_matrix({1, 1, 1}), {1, nan, 1}, CgStatus::not_finite, 0},
           {"NaN in the matrix", diagonal_matrix({1, nan_f32, 1}), {1, 1, 1}, CgStatus::not_finite, 0},
           {"infinity in the matrix",
            diagonal_matrix({1, std::numeric_limits<float>::infinity(), 1}),
            {1, 1, 1},
            CgStatus::not_finite,
            0},
           {"squares beyond f32", diagonal_matrix({1, 1, 1}), {1e30, 1, 1}, CgStatus::not_finite, 0},
           {"p'Ap beyond f32", diagonal_matrix({1e20f, 1e20f, 1e20f}), {1e12, 1, 1}, CgStatus::not_finite, 0},
           {"a residual beyond f32", diagonal_matrix({1, 1e6f, 1}), {1e18, 1e15, 0}, CgStatus::not_finite, 0},
           {"a preconditioner that is not definite",
            diagonal_matrix({1, 1, 1}),
            {3, 1, 1},
            CgStatus::not_positive_definite,
            1,
            {1, -0.5, -0.5}},
           {"a preconditioner that turns round",
            diagonal_matrix({1, 1, 1}),
            {1, 1, 1},
            CgStatus::not_positive_definite,
            0,
            {-1, -1, -1}},
           {"b = 0", diagonal_matrix({1, 1, 1}), {0, 0, 0}, CgStatus::converged, 0}}) {
    SCOPED_TRACE(c.what);
    System system(context(), csr_of(c.a), c.b, {7, 7, 7}, c.inverse);
    system.shape.zero_guess = true;
    system.shape.preconditioner = CgPreconditioner::jacobi;
    start_and_step(system, {4});
    const CgState state = system.state();
    EXPECT_EQ(state.status, c.status) << to_string(state.status);
    EXPECT_EQ(state.iteration, c.iterations);
    const auto x = system.x();
    for (const float item : x) EXPECT_TRUE(std::isfinite(item)) << item;
    if (c.iterations == 0) {
      EXPECT_EQ(x, (std::vector<float>{0, 0, 0}));
    }
  }
}

TEST_P(CgGpu, FirstGuessesThatSolveTheSystemEndAtOnce) {
  System solved(context(), csr_of(diagonal_matrix({2, 4, 8})), {2, 8, 32}, {1, 2, 4}, {1, 1, 1});
  start_and_step(solved, {3});
  EXPECT_EQ(solved.state().status, CgStatus::converged);
  EXPECT_EQ(solved.state().iteration, 0u);
  EXPECT_EQ(solved.x(), (std::vector<float>{1, 2, 4}));
  // A right side of 0 is met exactly or not at all.
  System zero(context(), csr_of(diagonal_matrix({2, 2, 2})), {0, 0, 0}, {1, 2, 4}, {1, 1, 1});
  start_and_step(zero, {3});
  EXPECT_EQ(zero.state().status, CgStatus::converged);
  EXPECT_EQ(zero.state().iteration, 1u);
  EXPECT_EQ(zero.x(), (std::vector<float>{0, 0, 0}));
}

TEST_P(CgGpu, ATinyToleranceStalls) {
  const EntryList a = random_definite(100, test_seed());
  System system(context(), csr_of(a), random_numbers(100, test_seed() + 1), std::vector<double>(100),
                std::vector<double>(100, 1.0));
  system.shape.zero_guess = true;
  system.shape.tolerance = 0;
  start_and_step(system, {64, 64, 64});
  const CgState state = system.state();
  EXPECT_EQ(state.status, CgStatus::stalled) << to_string(state.status);
  EXPECT_LE(state.residual_norm, 1.001e-12 * state.right_side_norm);
  EXPECT_GT(state.residual_norm, 1e-14 * state.right_side_norm);
  EXPECT_LT(state.iteration, 192u);
}

TEST_P(CgGpu, NoRowsAreSolved) {
  const GuardedBuffer state(context(), bytes_of(unwritten<std::uint32_t>(16)), 8);
  run([&](WGPUCommandEncoder encoder) -> Status {
    if (const Status ok = record_cg_start(context(), encoder, {}, {.state = state.view()}, tuning()); !ok) return ok;
    return record_cg_steps(context(), encoder, {}, 2, {.state = state.view()}, tuning());
  });
  const auto words = items_of<std::uint32_t>(state.read_and_check_guards());
  EXPECT_EQ(words[0], static_cast<std::uint32_t>(CgStatus::converged));
  EXPECT_EQ(words[1], 0u);
}

TEST_P(CgGpu, MatricesOfOtherFormatsDoTheSame) {
  if (GetParam() != Profile::full && !is_tiny()) return;
  const EntryList a = random_definite(300, test_seed());
  const auto b = random_numbers(300, test_seed() + 1);
  const auto expected = conjugate_gradients(a, b, std::vector<double>(300), std::vector<double>(300, 1.0), 3);
  for (const SparseArrays& m : {coo_of(a), ell_of(a, SparseFormat::ell, a.longest_row(), 3),
                                ell_of(a, SparseFormat::hybrid, 4, 0), sliced_ell_of(a, 32, true)}) {
    SCOPED_TRACE(to_string(m.shape));
    System system(context(), m, b, std::vector<double>(300), {});
    const auto buffer = [&](const auto& items) {
      return std::make_unique<GuardedBuffer>(context(), bytes_of(items), 4);
    };
    const auto rows = buffer(m.rows);
    const auto slices = buffer(m.slice_offsets);
    const auto order = buffer(m.row_order);
    const auto rest_rows = buffer(m.rest_rows);
    const auto rest_offsets = buffer(m.rest_offsets);
    const auto rest_columns = buffer(m.rest_columns);
    const auto rest_values = buffer(m.rest_values);
    SparseBuffers& views = system.buffers.matrix;
    views.rows = rows->view();
    views.slice_offsets = slices->view();
    views.row_order = order->view();
    views.rest_rows = rest_rows->view();
    views.rest_offsets = rest_offsets->view();
    views.rest_columns = rest_columns->view();
    views.rest_values = rest_values->view();
    system.shape.zero_guess = true;
    system.shape.tolerance = 0;
    start_and_step(system, {3});
    expect_near(system.x(), expected.x, largest(expected.x), "x");
  }
}

// So many workgroups that their grid is folded, by a limit that no device has.
TEST_P(CgGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 3;
  context().override_traits(narrow);
  const EntryList a = poisson(100);
  const auto b = random_numbers(100, test_seed());
  System system(context(), csr_of(a), b, std::vector<double>(100), std::vector<double>(100, 1.0));
  system.shape.zero_guess = true;
  SolverTuning narrow_tuning = *tuning();
  narrow_tuning.max_workgroups = 4;  // 2 x 2 workgroups
  narrow_tuning.product->workgroup_size = 64;
  run([&](WGPUCommandEncoder encoder) -> Status {
    const auto& [shape, buffers] = std::pair{system.shape, system.buffers};
    if (const Status ok = record_cg_start(context(), encoder, shape, buffers, narrow_tuning); !ok) return ok;
    narrow_tuning.max_workgroups = 5;  // and one too many
    return record_cg_steps(context(), encoder, shape, 3, buffers, narrow_tuning);
  });
  context().override_traits(traits);
  const auto expected = conjugate_gradients(a, b, std::vector<double>(100), std::vector<double>(100, 1.0), 3);
  expect_near(system.x(), expected.x, largest(expected.x), "x");
  EXPECT_EQ(system.state().iteration, 3u);
}

TEST_P(CgGpu, DiagonalsAreInvertedAndBadOnesNamed) {
  if (is_tiny() || GetParam() == Profile::emulated) return;  // nothing here depends on them
  const auto inverses = [&](SparseArrays m, std::uint32_t expected_bad_row) {
    std::vector<std::uint32_t> halves((m.values.size() + 1) / 2);
    for (std::size_t i = 0; i < m.values.size(); ++i) {
      halves[i / 2] |= static_cast<std::uint32_t>(half_of(m.values[i]).bits) << (i % 2 * 16);
    }
    const GuardedBuffer offsets(context(), bytes_of(m.row_offsets), 4);
    const GuardedBuffer columns(context(), bytes_of(m.columns), 8);
    const GuardedBuffer values(context(), m.shape.values == SparseValues::f16 ? bytes_of(halves) : bytes_of(m.values),
                               12);
    const GuardedBuffer inverse(context(), bytes_of(unwritten<float>(m.shape.row_count)), 20);
    const GuardedBuffer bad_row(context(), bytes_of(unwritten<std::uint32_t>(1)), 28);
    SparseBuffers views;
    views.row_offsets = offsets.view();
    views.columns = columns.view();
    views.values = values.view();
    for (int time = 0; time < 2; ++time) {  // repeated, the answer is the same
      run([&](WGPUCommandEncoder encoder) {
        return record_cg_diagonal(context(), encoder, m.shape, views, inverse.view(), bad_row.view());
      });
      EXPECT_EQ(items_of<std::uint32_t>(bad_row.read_and_check_guards())[0], expected_bad_row);
    }
    return items_of<float>(inverse.read_and_check_guards());
  };
  EntryList list{.row_count = 300, .column_count = 300, .entries = {}};
  std::vector<float> expected(300);
  for (std::uint32_t i = 0; i < 300; ++i) {
    list.entries.push_back({i, (i + 7) % 300, -50});
    list.entries.push_back({i, i, static_cast<float>(i % 4)});
    list.entries.push_back({i, i, 1});  // the other part
    expected[i] = 1.0f / static_cast<float>(i % 4 + 1);
  }
  expect_items(inverses(csr_of(list), no_column), expected);
  SparseArrays pattern = csr_of(list);
  pattern.shape.values = SparseValues::f16;
  expect_items(inverses(pattern, no_column), expected);
  pattern.shape.values = SparseValues::ones;
  expect_items(inverses(pattern, no_column), std::vector<float>(300, 0.5f));
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {0.0f, -0.0f, -2.0f, nan_f32, infinity, 1e-39f, 2e38f}) {
    SCOPED_TRACE(bad);
    std::vector<float> diagonal(130, 4.0f);
    diagonal[129] = -1;
    diagonal[66] = bad;
    std::vector<float> wanted(130, 0.25f);
    wanted[66] = wanted[129] = 1;
    expect_items(inverses(csr_of(diagonal_matrix(diagonal)), 66), wanted);
  }
  const EntryList empty{.row_count = 5, .column_count = 5, .entries = {}};
  expect_items(inverses(csr_of(empty), 0), std::vector<float>(5, 1.0f));
  inverses(csr_of({}), no_column);
}

// The front.

class CgFront : public CgGpu {
 protected:
  host::SolveReport solved(const EntryList& a, const std::vector<double>& b, const host::SolveOptions& options = {}) {
    const host::CsrMatrix matrix = host_csr(a);
    auto report = host::solve(context(), matrix.arrays(), b, options);
    if (!report) {
      ADD_FAILURE() << report.error().message;
      return {};
    }
    // Whatever the status, the residual is told as it is.
    auto r = product_of(a, report->x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    const double b_norm = std::sqrt(dot(b, b));
    if (b_norm > 0 && std::isfinite(dot(b, b))) {
      EXPECT_NEAR(report->relative_residual, std::sqrt(dot(r, r)) / b_norm, 1e-12 + 1e-9 * report->relative_residual);
    }
    EXPECT_EQ(report->status == host::SolveStatus::converged, report->relative_residual <= options.tolerance)
        << report->words;
    return std::move(*report);
  }

  void expect_refused(const EntryList& a, const std::vector<double>& b, const host::SolveOptions& options,
                      const std::string& words) {
    const host::CsrMatrix matrix = host_csr(a);
    const auto report = host::solve(context(), matrix.arrays(), b, options);
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().kind, ErrorKind::invalid_request);
    EXPECT_THAT(report.error().message, HasSubstr(words));
  }

  static double distance(const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return std::sqrt(sum / dot(y, y));
  }
};
INSTANTIATE_TEST_SUITE_P(, CgFront, ::testing::Values(Profile::full), profile_name);

TEST_P(CgFront, PoissonInOneAndTwoDimensionsAgreesWithElimination) {
  for (const EntryList& a : {poisson(1), poisson(2), poisson(150), poisson(19, 13)}) {
    const auto b = random_numbers(a.row_count, test_seed());
    const auto expected = eliminated(a, b);
    for (const auto preconditioner : {CgPreconditioner::none, CgPreconditioner::jacobi}) {
      SCOPED_TRACE(std::format("{} rows, {}", a.row_count, to_string(preconditioner)));
      const auto report = solved(a, b, {.tolerance = 1e-12, .preconditioner = preconditioner});
      EXPECT_EQ(report.status, host::SolveStatus::converged) << report.words;
      EXPECT_LT(distance(report.x, expected), 1e-8);
    }
    // 150 points in a row: f32 alone comes down to 1e-4 or so.
    const auto once = solved(a, b, {.tolerance = 5e-3, .refine = false});
    EXPECT_EQ(once.status, host::SolveStatus::converged) << once.words;
    EXPECT_LE(once.refinements, 1u);
  }
}

TEST_P(CgFront, SimpleMatricesTakeFewIterations) {
  const auto b = random_numbers(200, test_seed());
  const auto identity = solved(diagonal_matrix(std::vector<float>(200, 1.0f)), b);
  EXPECT_EQ(identity.status, host::SolveStatus::converged);
  EXPECT_EQ(identity.iterations, 1u);
  EXPECT_LT(distance(identity.x, b), 1e-6);
  // Three eigenvalues without a preconditioner, one with Jacobi.
  std::vector<float> diagonal(200);
  for (std::size_t i = 0; i < 200; ++i) diagonal[i] = static_cast<float>(i % 3 + 1);
  EXPECT_EQ(
      solved(diagonal_matrix(diagonal), b, {.tolerance = 1e-5, .preconditioner = CgPreconditioner::none}).iterations,
      3u);
  EXPECT_EQ(solved(diagonal_matrix(diagonal), b).iterations, 1u);
  const auto one = solved(diagonal_matrix({4}), {2});
  EXPECT_NEAR(one.x.at(0), 0.5, 1e-6);
  const auto none = solved({}, {});
  EXPECT_EQ(none.status, host::SolveStatus::converged);
  EXPECT_TRUE(none.x.empty());
}

TEST_P(CgFront, NothingIsIteratedWhereNothingIsLeftToDo) {
  const EntryList a = poisson(20);
  const std::vector<double> guess = random_numbers(20, test_seed());
  const auto zero = solved(a, std::vector<double>(20), {.first_guess = guess});
  EXPECT_EQ(zero.status, host::SolveStatus::converged);
  EXPECT_EQ(zero.iterations, 0u);
  EXPECT_EQ(zero.x, std::vector<double>(20));
  const auto known = solved(a, product_of(a, guess), {.first_guess = guess});
  EXPECT_EQ(known.iterations, 0u);
  EXPECT_EQ(known.x, guess);
  const auto limited = solved(a, guess, {.max_iterations = 0});
  EXPECT_EQ(limited.status, host::SolveStatus::iteration_limit);
  EXPECT_EQ(limited.relative_residual, 1);
  EXPECT_EQ(limited.x, std::vector<double>(20));
}

TEST_P(CgFront, AFirstGuessHelps) {
  const EntryList a = poisson(19, 13);
  const auto b = random_numbers(a.row_count, test_seed());
  auto guess = eliminated(a, b);
  for (std::size_t i = 0; i < guess.size(); ++i) guess[i] *= 1 + 1e-4 * static_cast<double>(i % 3);
  for (const bool refine : {true, false}) {
    const auto with = solved(a, b, {.tolerance = 1e-4, .refine = refine, .first_guess = guess});
    const auto without = solved(a, b, {.tolerance = 1e-4, .refine = refine});
    EXPECT_EQ(with.status, host::SolveStatus::converged) << with.words;
    EXPECT_LT(with.iterations, without.iterations);
  }
}

TEST_P(CgFront, RightSidesOfAnySizeAreScaled) {
  const EntryList a = poisson(30);
  const auto b = random_numbers(30, test_seed());
  const auto expected = eliminated(a, b);
  for (const double factor : {1e-290, 1e-40, 1e60, 1e290}) {
    SCOPED_TRACE(factor);
    std::vector<double> scaled_b = b;
    for (double& item : scaled_b) item *= factor;
    auto report = solved(a, scaled_b, {.tolerance = 1e-10});
    EXPECT_EQ(report.status, host::SolveStatus::converged) << report.words;
    for (double& item : report.x) item /= factor;
    EXPECT_LT(distance(report.x, expected), 1e-6);
  }
}

TEST_P(CgFront, WhatCannotBeSolvedIsTold) {
  using host::SolveStatus;
  const host::SolveOptions plain{.preconditioner = CgPreconditioner::none};
  const auto indefinite = solved(diagonal_matrix({1, -1, 2}), {1, 2, 1}, plain);
  EXPECT_EQ(indefinite.status, SolveStatus::not_positive_definite);
  EXPECT_THAT(indefinite.words, HasSubstr("p'Ap = -"));
  const auto jacobi = solved(diagonal_matrix({1, -1, 2}), {1, 2, 1});
  EXPECT_EQ(jacobi.status, SolveStatus::not_positive_definite);
  EXPECT_THAT(jacobi.words, HasSubstr("diagonal entry of row 1 is -1"));
  // Free at both ends: constants have no energy.
  EntryList free = poisson(40);
  for (Entry& entry : free.entries) {
    if (entry.row == entry.column && (entry.row == 0 || entry.row == 39)) entry.value = 1;
  }
  std::vector<double> b(40);
  b[3] = 1;
  b[30] = -1;
  EXPECT_EQ(solved(free, b).status, SolveStatus::converged);  // within its range
  b[3] = 2;
  const auto outside = solved(free, b, {.max_iterations = 500});
  EXPECT_NE(outside.status, SolveStatus::converged) << outside.words;
  const auto limited = solved(poisson(150), random_numbers(150, 1), {.tolerance = 1e-10, .max_iterations = 17});
  EXPECT_EQ(limited.status, SolveStatus::iteration_limit);
  EXPECT_EQ(limited.iterations, 17u);
  EXPECT_THAT(limited.words, HasSubstr("17 iterations"));
  const auto once = solved(poisson(19, 13), random_numbers(247, 1), {.tolerance = 1e-13, .refine = false});
  EXPECT_EQ(once.status, SolveStatus::stalled) << once.words;
  EXPECT_LT(once.relative_residual, 1e-5);
  const auto tiny = solved(poisson(19, 13), random_numbers(247, 1), {.tolerance = 1e-30});
  EXPECT_EQ(tiny.status, SolveStatus::stalled) << tiny.words;
  EXPECT_LT(tiny.relative_residual, 1e-13);
  const auto large = solved(diagonal_matrix({3e38f, 1, 1}), {1, 1, 1}, plain);
  EXPECT_NE(large.status, SolveStatus::not_positive_definite) << large.words;
  // Two of the entries are 0 beside the first in f32, which does not make the matrix indefinite.
  const auto far_apart = solved(diagonal_matrix({3e38f, 1e-30f, 1e-30f}), {0, 1, 1}, plain);
  EXPECT_EQ(far_apart.status, SolveStatus::not_finite) << far_apart.words;
  EXPECT_THAT(far_apart.words, HasSubstr("beyond f32"));
}

TEST_P(CgFront, AnIllConditionedMatrixIsRefinedOrGivenUpHonestly) {
  // Hilbert's: condition numbers of 1e4 to 1e16; rounded to f32 the last ones are no longer definite.
  for (const std::uint32_t rows : {4u, 6u, 12u}) {
    EntryList a{.row_count = rows, .column_count = rows, .entries = {}};
    for (std::uint32_t i = 0; i < rows; ++i) {
      for (std::uint32_t j = 0; j < rows; ++j) a.entries.push_back({i, j, 1.0f / static_cast<float>(i + j + 1)});
    }
    const auto report = solved(a, std::vector<double>(rows, 1.0), {.tolerance = 1e-10, .max_iterations = 2000});
    if (rows == 4) {
      EXPECT_EQ(report.status, host::SolveStatus::converged) << report.words;
    }
    EXPECT_LE(report.relative_residual, 1.0);
  }
}

TEST_P(CgFront, WhatIsNoSystemIsRefused) {
  const EntryList a = poisson(4);
  const std::vector<double> b{1, 2, 3, 4};
  EntryList skew = a;
  skew.entries.push_back({3, 1, 0.5f});
  expect_refused(skew, b, {}, "not symmetric: the entry in row 1, column 3 is 0, and that in row 3, column 1 is 0.5");
  const auto unchecked = solved(skew, b, {.max_iterations = 50, .check_symmetry = false});
  EXPECT_FALSE(unchecked.words.empty());
  expect_refused(a, {1, 2}, {}, "right side of 2 numbers");
  expect_refused(a, {1, 2, std::numeric_limits<double>::infinity(), 4}, {}, "Number 2 of the right side is inf");
  const std::vector<double> guess{1};
  expect_refused(a, b, {.first_guess = guess}, "first guess of 1");
  expect_refused(a, b, {.tolerance = 0}, "tolerance of 0");
  expect_refused(a, b, {.iterations_per_check = 65}, "65 iterations");
  EntryList wide = a;
  wide.column_count = 5;
  expect_refused(wide, b, {}, "4 rows and 5 columns");
  EntryList broken = a;
  broken.entries[0].value = nan_f32;
  expect_refused(broken, b, {}, "row 0, column 0 is nan");
  host::CsrMatrix matrix = host_csr(a);
  matrix.values[1] = matrix.values[2] = 1e39;
  const auto large = host::solve(context(), matrix.arrays(), b);
  ASSERT_FALSE(large.has_value());
  EXPECT_THAT(large.error().message, HasSubstr("beyond f32"));
}

TEST_P(CgFront, ValuesOfDoublePrecisionAreKept) {
  // What f32 rounds away matters to the solution; refinement sees it.
  host::CsrMatrix matrix = host_csr(poisson(30));
  for (std::size_t e = 0; e < matrix.columns.size(); ++e) {
    if (matrix.values[e] > 0) matrix.values[e] += 1e-9;
  }
  const auto b = random_numbers(30, test_seed());
  const auto report = host::solve(context(), matrix.arrays(), b, {.tolerance = 1e-13});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->status, host::SolveStatus::converged) << report->words;
  double norm = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    double r = b[i];
    for (std::uint32_t e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
      r -= matrix.values[e] * report->x[matrix.columns[e]];
    }
    norm += r * r;
  }
  EXPECT_LE(std::sqrt(norm / dot(b, b)), 1.001e-13);
}

TEST_P(CgFront, ProgressIsTold) {
  std::vector<host::SolveProgress> told;
  const auto report =
      solved(poisson(150), random_numbers(150, 1),
             {.tolerance = 1e-10, .iterations_per_check = 8, .progress = [&](const host::SolveProgress& now) {
                told.push_back(now);
              }});
  ASSERT_GT(told.size(), 3u);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].iterations, told[i - 1].iterations);
    EXPECT_LE(told[i].iterations - told[i - 1].iterations, 8u);
  }
  EXPECT_EQ(told.back().iterations, report.iterations);
  EXPECT_EQ(told.back().refinements + 1, report.refinements);
  EXPECT_GT(report.refinements, 1u);
}

TEST_P(CgFront, TheScaleOfTheMatrixDoesNotMatter) {
  const std::vector<double> b = random_numbers(144, 5);
  const host::SolveOptions options{.tolerance = 1e-9};
  const auto iterations = solved(poisson(144), b, options).iterations;
  for (const double factor : {1e30, 1e36, 1e-30, 1e-200}) {
    host::CsrMatrix matrix = host_csr(poisson(144));
    for (double& value : matrix.values) value *= factor;
    const auto report = host::solve(context(), matrix.arrays(), b, options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->status, host::SolveStatus::converged) << factor << ": " << report->words;
    EXPECT_NEAR(report->iterations, iterations, iterations / 5.0) << factor;
  }
}

TEST(HostCsr, FaultsAreNamed) {
  const std::vector<std::uint32_t> offsets{0, 2, 3};
  const std::vector<std::uint32_t> columns{0, 1, 1};
  const std::vector<double> values{1, 2, 3};
  const host::CsrArrays good{2, 2, offsets, columns, values};
  EXPECT_TRUE(host::check_csr(good).has_value());
  const auto fault = [](const host::CsrArrays& arrays) {
    const Status status = host::check_csr(arrays);
    return status ? std::string("none") : status.error().message;
  };
  host::CsrArrays bad = good;
  bad.row_count = 3;
  EXPECT_THAT(fault(bad), HasSubstr("3 row offsets are not those of 3 rows"));
  bad = good;
  bad.column_count = 1;
  EXPECT_THAT(fault(bad), HasSubstr("Row 0 has an entry in column 1"));
  const std::vector<std::uint32_t> descending{0, 5, 3};
  bad = good;
  bad.row_offsets = descending;
  EXPECT_THAT(fault(bad), HasSubstr("Row 1 begins at entry 5 and ends at 3"));
  const std::vector<std::uint32_t> short_offsets{0, 1, 2};
  bad.row_offsets = short_offsets;
  EXPECT_THAT(fault(bad), HasSubstr("from 0 to 2 are not those of 3 entries"));
  bad = good;
  bad.values = std::span(values).first(1);
  EXPECT_THAT(fault(bad), HasSubstr("1 values"));
  bad.values = {};
  EXPECT_EQ(fault(bad), "none");
  EXPECT_EQ(bad.longest_row(), 2u);
  const host::CsrMatrix turned = host::transpose(good);
  EXPECT_EQ(turned.row_offsets, (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(turned.columns, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(turned.values, (std::vector<double>{1, 2, 3}));
}

TEST(HostCsr, AsymmetriesAreFoundBeyondTheTolerance) {
  EntryList a = random_definite(50, 3);
  EXPECT_FALSE(host::find_asymmetry(host_csr(a).arrays(), 1e-6).has_value());
  host::CsrMatrix matrix = host_csr(poisson(5));
  matrix.values[1] *= 1 + 1e-9;  // in row 0, column 1
  EXPECT_FALSE(host::find_asymmetry(matrix.arrays(), 1e-8).has_value());
  const auto found = host::find_asymmetry(matrix.arrays(), 1e-10);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->row, 0u);
  EXPECT_EQ(found->column, 1u);
  EXPECT_EQ(found->mirror, -1);
  a.entries.push_back({49, 2, 0});  // a stored 0 has no need of a mirror
  EXPECT_FALSE(host::find_asymmetry(host_csr(a).arrays(), 0).has_value());
}

}  // namespace
}  // namespace upsweep::testing
