// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients: A x = b with a symmetric positive definite sparse A, wholly on the device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "upsweep/buffer_view.h"
#include "upsweep/csr_arrays.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/solver_tuning.h"
#include "upsweep/sparse.h"
#include "upsweep/spmv.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

enum class CgPreconditioner : std::uint8_t {
  none,
  jacobi,  ///< Residuals are multiplied by `inverse_diagonal`.
};
[[nodiscard]] std::string to_string(CgPreconditioner preconditioner);

/// A solve with vectors of f32. A start is recorded once, then steps as often as wanted: all numbers that steer the
/// iteration live in a small state buffer, so nothing is read back between iterations, and what is recorded after the
/// end changes nothing. Results repeat from run to run on one device.
struct CgShape {
  SparseShape matrix = {};  ///< Square; any format.
  CgPreconditioner preconditioner = CgPreconditioner::none;
  /// Converged once |r| <= tolerance |b| (2-norms), with the residual r that the iteration updates; the true residual
  /// b - A x departs from it by rounding. Squares of norms must be within the range of f32: |b| of 1e-15 to 1e15.
  float tolerance = 1e-5f;
  bool zero_guess = false;  ///< The start sets x to 0; otherwise x holds a first guess.

  bool operator==(const CgShape&) const = default;
};

/// How a solve stands.
enum class CgStatus : std::uint32_t {
  running,
  converged,
  not_positive_definite,  ///< p'Ap <= 0 or r'z < 0. x is as it was before the iteration that met it.
  stalled,                ///< r'z has become 1e-24 of what it was at first, or underflowed: f32 has no more to give.
  not_finite,             ///< An overflow or NaN. x is as it was before.
};
[[nodiscard]] std::string to_string(CgStatus status);

/// The first 32 bytes of the state buffer.
struct CgState {
  CgStatus status = CgStatus::running;
  std::uint32_t iteration = 0;  ///< Iterations that changed x.
  float residual_norm = 0;      ///< |r|
  float limit = 0;              ///< tolerance |b|
  float right_side_norm = 0;    ///< |b|
  float rho = 0;                ///< r'z
  float curvature = 0;          ///< p'Ap of the latest iteration
  float step = 0;               ///< Its rho / p'Ap: x moved by as much of p.
};
/// Bytes of the state buffer; those past CgState are the kernels' own.
constexpr std::uint64_t cg_state_bytes = 64;
/// Of one plan.
constexpr std::uint32_t cg_most_iterations = 64;

/// r = b - A x, z = M r, p = z, |b|, |r|, r'z. Pure; needs no device. Arguments of the plan: the matrix' as in
/// plan_spmv (none with zero_guess), `b`, `x`, `residual`, `direction`, `inverse_diagonal` (all row_count f32, the last
/// one for Jacobi) and `state`. Without rows: `state` alone, which says converged.
[[nodiscard]] Result<Plan> plan_cg_start(const CgShape& shape, const DeviceTraits& traits,
                                         std::optional<SolverTuning> tuning = std::nullopt);
/// So many iterations (at most cg_most_iterations) in one plan: q = A p, then three passes over vectors. Arguments: the
/// matrix', `x`, `residual`, `direction`, `inverse_diagonal` and `state`, as the start or earlier steps left them.
[[nodiscard]] Result<Plan> plan_cg_steps(const CgShape& shape, std::uint32_t iterations, const DeviceTraits& traits,
                                         std::optional<SolverTuning> tuning = std::nullopt);
/// The inverse of the diagonal of a csr matrix, for Jacobi. Arguments: `row_offsets`, `columns`, `values`,
/// `inverse_diagonal` (row_count f32) and `bad_row` (one u32): the first row whose diagonal is missing or not
/// from 2^-126 to 2^126, 0xffffffff if there is none. Such rows get the inverse 1.
[[nodiscard]] Result<Plan> plan_cg_diagonal(const SparseShape& matrix, const DeviceTraits& traits);

/// Buffers of a solve; offsets must be multiples of 4. `residual` and `direction` are the solver's own between its
/// calls. None may overlap another.
struct CgBuffers {
  SparseBuffers matrix = {};
  BufferView b = {};  ///< Read by the start only.
  BufferView x = {};
  BufferView residual = {};
  BufferView direction = {};
  BufferView inverse_diagonal = {};
  BufferView state = {};  ///< cg_state_bytes
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
/// Source: Hestenes and Stiefel 1952; Saad, Iterative Methods for Sparse Linear Systems, 2003, section 9.2.
[[nodiscard]] Status record_cg_start(Context& context, RecordTarget target, const CgShape& shape,
                                     const CgBuffers& buffers, std::optional<SolverTuning> tuning = std::nullopt);
[[nodiscard]] Status record_cg_steps(Context& context, RecordTarget target, const CgShape& shape,
                                     std::uint32_t iterations, const CgBuffers& buffers,
                                     std::optional<SolverTuning> tuning = std::nullopt);
[[nodiscard]] Status record_cg_diagonal(Context& context, RecordTarget target, const SparseShape& matrix,
                                        const SparseBuffers& buffers, BufferView inverse_diagonal, BufferView bad_row);

namespace host {

/// How far a solve has come, for people who wait.
struct SolveProgress {
  std::uint32_t iterations = 0;
  std::uint32_t refinements = 0;  ///< Corrections finished before.
  double relative_residual = 0;   ///< By the device's own count.
};

struct SolveOptions {
  double tolerance = 1e-6;               ///< Of the relative residual |b - A x| / |b| in f64; more than 0.
  std::uint32_t max_iterations = 10000;  ///< Of all corrections together.
  CgPreconditioner preconditioner = CgPreconditioner::jacobi;
  std::uint32_t iterations_per_check = 16;  ///< Recorded before the state is read, 1 to cg_most_iterations.
  /// Residuals are computed in f64 on the host, and the device solves for corrections in f32, until the tolerance is
  /// met. Without it one solve in f32 does what it can.
  bool refine = true;
  /// Refuse a matrix with entries (i, j) and (j, i) that differ by more than symmetry_tolerance times the larger one.
  bool check_symmetry = true;
  double symmetry_tolerance = 1e-8;
  std::span<const double> first_guess = {};  ///< row_count numbers, or none: 0.
  std::function<void(const SolveProgress&)> progress = {};
};

enum class SolveStatus : std::uint8_t {
  converged,
  not_positive_definite,
  stalled,  ///< Further corrections do not bring the residual down, or f32 alone cannot.
  iteration_limit,
  not_finite,  ///< Numbers beyond f32 arose.
};
[[nodiscard]] std::string to_string(SolveStatus status);

struct SolveReport {
  std::vector<double> x;  ///< The best found, whatever the status.
  SolveStatus status = SolveStatus::converged;
  std::uint32_t iterations = 0;
  std::uint32_t refinements = 0;  ///< Corrections that the device solved for; 1 without refinement.
  double relative_residual = 0;   ///< |b - A x| / |b| in f64 on the host, with the f64 matrix; 0 where b is 0.
  std::string words;              ///< The status in a sentence.
};

/// An entry without its like on the other side of the diagonal.
struct Asymmetry {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  double value = 0;   ///< In (row, column), summed.
  double mirror = 0;  ///< In (column, row); what is not stored is 0.
};
/// The first entry whose mirror image differs by more than `tolerance` times the larger of both. The matrix passes
/// `check_csr` and is square.
[[nodiscard]] std::optional<Asymmetry> find_asymmetry(const CsrArrays& matrix, double tolerance);

/// Solves A x = b. Uploads, iterates on the device, reads back; waits. Values are rounded to f32 for the device, and
/// are errors where they are beyond it. What is no linear system, or not symmetric, is an error; what goes wrong in the
/// iteration is a status. Source of the refinement: Moler 1967; Higham, Accuracy and Stability of Numerical Algorithms,
/// 2002, chapter 12.
[[nodiscard]] Result<SolveReport> solve(Context& context, const CsrArrays& matrix, std::span<const double> b,
                                        const SolveOptions& options = {});

}  // namespace host
}  // namespace upsweep
