// SPDX-License-Identifier: Apache-2.0
// Plans of conjugate gradients: a product and three passes over vectors an iteration. Sums pass from one to the next as
// partial sums in scratch, which every workgroup of the next pass folds for itself.
#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <initializer_list>
#include <vector>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "plan/repeated_product.h"
#include "plan/subgroup_plan.h"
#include "plan/vector_pass.h"
#include "upsweep/conjugate_gradient.h"

namespace upsweep {
namespace {

using Kernels = Result<std::shared_ptr<const Kernel>>;

constexpr std::uint64_t most_rows = std::uint64_t{1} << 31;
constexpr std::uint32_t diagonal_threads = 256;

Status refuse(std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); }

Status check(const CgShape& shape, const DeviceTraits& traits) {
  const SparseShape& matrix = shape.matrix;
  if (matrix.row_count != matrix.column_count) {
    return refuse(std::format("Conjugate gradients need a square matrix; this one has {} rows and {} columns.",
                              matrix.row_count, matrix.column_count));
  }
  if (!(shape.tolerance >= 0)) return refuse(std::format("A tolerance of {} is not 0 or more.", shape.tolerance));
  if (matrix.row_count > most_rows) {
    return fail(ErrorKind::unsupported,
                std::format("{} rows are more than conjugate gradients take ({}).", matrix.row_count, most_rows));
  }
  if (matrix.row_count * std::uint64_t{4} > traits.max_binding_bytes) {
    return fail(ErrorKind::unsupported,
                std::format("Vectors of {} bytes are larger than the device's limit of one binding ({} bytes); "
                            "conjugate gradients need each in one.",
                            matrix.row_count * std::uint64_t{4}, traits.max_binding_bytes));
  }
  return {};
}

Status check(const SolverTuning& tuning) {
  if (VectorPass::of(tuning).is_sound()) return {};
  return refuse(std::format("Tuning of conjugate gradients out of range: {}.", to_string(tuning)));
}

class CgPlanner {
 public:
  CgPlanner(std::string name, const CgShape& shape, const SolverTuning& tuning, const DeviceTraits& traits)
      : shape_(shape),
        tuning_(tuning),
        traits_(traits),
        pass_(VectorPass::of(tuning).fitted(traits)),
        rows_(shape.matrix.row_count),
        groups_(pass_.group_count(rows_)),
        plan_(std::move(name), traits) {}

  Result<Plan> start() && {
    note();
    state_ = plan_.argument("state", cg_state_bytes, 4, true);
    partials_ = plan_.scratch("sums", groups_ * std::uint64_t{16});
    if (rows_ != 0) {
      b_ = vector("b", false);
      x_ = vector("x", shape_.zero_guess);
      add_vectors();
      if (!shape_.zero_guess) {
        q_ = plan_.scratch("product", rows_ * 4);
        add_product(x_);
      }
      dispatch_over_vectors(start_kernel(), 0, "the first residual", (shape_.zero_guess ? 1u : 2u) + jacobi_vectors(),
                            2u + (shape_.zero_guess ? 1u : 0u));
    }
    dispatch(begin_kernel(), groups_, 1, "how the solve stands at the start", groups_ * std::uint64_t{16},
             cg_state_bytes);
    plan_.least_bytes(product_least_bytes() + rows_ * 4 * 3);
    return std::move(plan_).finish();
  }

  Result<Plan> steps(std::uint32_t iterations) && {
    note();
    if (rows_ == 0 || iterations == 0) return std::move(plan_).finish();
    state_ = plan_.argument("state", cg_state_bytes, 4, true);
    x_ = vector("x", true);
    add_vectors();
    q_ = plan_.scratch("product", rows_ * 4);
    curvatures_ = plan_.scratch("curvatures", groups_ * std::uint64_t{4});
    partials_ = plan_.scratch("sums", groups_ * std::uint64_t{8});
    const Kernels curvature = curvature_kernel();
    const Kernels residual = residual_kernel();
    const Kernels direction = direction_kernel();
    for (std::uint32_t i = 0; i < iterations; ++i) {
      add_product(direction_);
      dispatch_over_vectors(curvature, 0, "p'Ap", 2, 0);
      dispatch_over_vectors(residual, groups_, "r -= alpha q", 2 + jacobi_vectors(), 1);
      dispatch_over_vectors(direction, groups_, "x += alpha p, p = z + beta p", 3 + jacobi_vectors(), 2);
    }
    // Each of x, r and p is read and written once.
    plan_.least_bytes(iterations * (product_least_bytes() + rows_ * 4 * 4));
    return std::move(plan_).finish();
  }

 private:
  [[nodiscard]] bool is_jacobi() const { return shape_.preconditioner == CgPreconditioner::jacobi; }
  [[nodiscard]] std::uint32_t jacobi_vectors() const { return is_jacobi() ? 1 : 0; }

  void note() {
    plan_.note(std::format("conjugate gradients, preconditioner {}", to_string(shape_.preconditioner)));
    plan_.note(std::format("{} over vectors, {} threads x {} items", counted(groups_, "workgroup"),
                           pass_.workgroup_size, pass_.items_per_thread));
  }

  SlotId vector(std::string name, bool is_written) { return plan_.argument(std::move(name), rows_ * 4, 4, is_written); }

  void add_vectors() {
    residual_ = vector("residual", true);
    direction_ = vector("direction", true);
    if (is_jacobi()) inverse_ = vector("inverse_diagonal", false);
  }

  // q = A v. The arguments of the matrix become arguments of the whole when they are first met.
  void add_product(SlotId v) {
    if (!product_) product_.emplace(plan_, SpmvShape{.matrix = shape_.matrix}, traits_, tuning_.product);
    product_->append(plan_, v, q_);
  }
  [[nodiscard]] std::uint64_t product_least_bytes() const { return product_ ? product_->least_bytes() : 0; }

  [[nodiscard]] KernelBuilder begin(std::string name, std::uint32_t components) const {
    KernelBuilder builder = start_vector_pass(std::move(name), components, pass_, traits_);
    builder.part("conjugate_gradient_params.wgsl");
    return builder;
  }

  // Of the kernels' vectors, those by name. Bindings of a number have one name in all of them.
  static void declare(KernelBuilder& builder, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      const std::string_view access = name == "b" || name == "inverse_diagonal" ? "read" : "read_write";
      const int binding = name == "b"           ? 4
                          : name == "x"         ? 5
                          : name == "residual"  ? 6
                          : name == "direction" ? 7
                          : name == "product"   ? 8
                                                : 9;
      builder.generated(
          "vectors", std::format("@group(0) @binding({}) var<storage, {}> {}: array<f32>;\n", binding, access, name));
    }
  }

  void declare_inverse(KernelBuilder& builder) const {
    if (is_jacobi()) declare(builder, {"inverse_diagonal"});
    builder.generated("preconditioner",
                      is_jacobi() ? "fn load_inverse(i: u32) -> f32 { return inverse_diagonal[params.inverse_first + "
                                    "i]; }\n"
                                  : "fn load_inverse(i: u32) -> f32 { return 1.0; }\n");
  }

  [[nodiscard]] Kernels start_kernel() const {
    KernelBuilder builder = begin("conjugate_gradient_start", 4);
    declare(builder, {"b", "residual", "direction"});
    declare_inverse(builder);
    const std::string_view end =
        "  residual[params.residual_first + i#] = r#;\n"
        "  direction[params.direction_first + i#] = r# * d#;\n"
        "  let s# = vec4f(r# * r# * d#, r# * r#, b# * b#, 0.0);\n";
    const std::string_view loads =
        "  let b# = b[params.b_first + i#];\n"
        "  let d# = load_inverse(i#);\n";
    if (shape_.zero_guess) {
      declare(builder, {"x"});
      add_item_functions(builder, "start", "", true, pass_,
                         {loads, "  let r# = b#;\n", "  x[params.x_first + i#] = 0.0;\n", end});
    } else {
      declare(builder, {"product"});
      add_item_functions(builder, "start", "", true, pass_,
                         {loads, "  let q# = product[i#];\n", "  let r# = b# - q#;\n", end});
    }
    builder.part("conjugate_gradient_start.wgsl");
    return std::move(builder).build();
  }

  [[nodiscard]] Kernels begin_kernel() const {
    KernelBuilder builder = begin("conjugate_gradient_begin", 4);
    builder.part("conjugate_gradient_begin.wgsl");
    return std::move(builder).build();
  }

  [[nodiscard]] Kernels curvature_kernel() const {
    KernelBuilder builder = begin("conjugate_gradient_curvature", 1);
    declare(builder, {"direction", "product"});
    add_item_functions(
        builder, "curvature", "", true, pass_,
        {"  let p# = direction[params.direction_first + i#];\n  let q# = product[i#];\n", "  let s# = p# * q#;\n"});
    builder.part("conjugate_gradient_curvature.wgsl");
    return std::move(builder).build();
  }

  [[nodiscard]] Kernels residual_kernel() const {
    KernelBuilder builder = begin("conjugate_gradient_residual", 2);
    declare(builder, {"residual", "product"});
    declare_inverse(builder);
    add_item_functions(builder, "residual", ", alpha: f32", true, pass_,
                       {"  let q# = product[i#];\n  let o# = residual[params.residual_first + i#];\n"
                        "  let d# = load_inverse(i#);\n",
                        "  let r# = fma(-alpha, q#, o#);\n  residual[params.residual_first + i#] = r#;\n"
                        "  let s# = vec2f(r# * r# * d#, r# * r#);\n"});
    builder.part("conjugate_gradient_residual.wgsl");
    return std::move(builder).build();
  }

  [[nodiscard]] Kernels direction_kernel() const {
    KernelBuilder builder = begin("conjugate_gradient_direction", 2);
    declare(builder, {"x", "residual", "direction"});
    declare_inverse(builder);
    add_item_functions(
        builder, "direction", ", alpha: f32, beta: f32", false, pass_,
        {"  let r# = residual[params.residual_first + i#];\n  let p# = direction[params.direction_first + i#];\n"
         "  let x# = x[params.x_first + i#];\n  let d# = load_inverse(i#);\n",
         "  x[params.x_first + i#] = fma(alpha, p#, x#);\n"
         "  direction[params.direction_first + i#] = fma(beta, p#, r# * d#);\n"});
    builder.part("conjugate_gradient_direction.wgsl");
    return std::move(builder).build();
  }

  void dispatch_over_vectors(const Kernels& kernel, std::uint32_t partials, std::string reason, std::uint64_t reads,
                             std::uint64_t writes) {
    dispatch(kernel, partials, groups_, std::move(reason), reads * rows_ * 4, writes * rows_ * 4);
  }

  // Binds what the kernel declares, and gives all params.
  void dispatch(const Kernels& kernel, std::uint32_t partials, std::uint32_t workgroups, std::string reason,
                std::uint64_t bytes_read, std::uint64_t bytes_written) {
    if (!kernel) {
      plan_.dispatch(kernel, {});
      return;
    }
    PlanBuilder::Step step;
    const auto bind = [&](std::string_view variable, SlotId slot, std::string_view first_field) {
      if ((*kernel)->find_binding(variable) != nullptr) step.bindings.push_back({variable, slot, 0, 0, first_field});
    };
    bind("state", state_, "state_first");
    // Curvatures lie apart from the other sums: conjugate_gradient_residual reads the former and writes the latter.
    const bool is_curvature = (*kernel)->name == "conjugate_gradient_curvature";
    bind("partials_in", (*kernel)->name == "conjugate_gradient_residual" ? curvatures_ : partials_, "");
    bind("partials_out", is_curvature ? curvatures_ : partials_, "");
    bind("b", b_, "b_first");
    bind("x", x_, "x_first");
    bind("residual", residual_, "residual_first");
    bind("direction", direction_, "direction_first");
    bind("product", q_, "");
    bind("inverse_diagonal", inverse_, "inverse_first");
    step.params = {{"row_count", static_cast<std::uint32_t>(rows_)},
                   {"group_count", groups_},
                   {"stride_items", groups_ * pass_.tile_items()},
                   {"partial_count", partials},
                   {"tolerance", std::bit_cast<std::uint32_t>(shape_.tolerance)}};
    for (const std::string_view field :
         {"b_first", "x_first", "residual_first", "direction_first", "inverse_first", "state_first"}) {
      step.params.push_back({field, 0});
    }
    step.workgroup_count = workgroups;
    step.reason = std::move(reason);
    step.bytes_read = bytes_read;
    step.bytes_written = bytes_written;
    plan_.dispatch(kernel, std::move(step));
  }

  CgShape shape_;
  SolverTuning tuning_;
  DeviceTraits traits_;
  VectorPass pass_;
  std::uint64_t rows_;
  std::uint32_t groups_;
  PlanBuilder plan_;
  std::optional<RepeatedProduct> product_;
  SlotId state_;
  SlotId b_;
  SlotId x_;
  SlotId residual_;
  SlotId direction_;
  SlotId inverse_;
  SlotId q_;
  SlotId curvatures_;
  SlotId partials_;
};

Kernels diagonal_kernel(SparseValues values, std::uint32_t threads) {
  KernelBuilder builder("conjugate_gradient_diagonal");
  builder.workgroup(threads, 0);
  add_entry(builder, Entry::plain, {});
  std::string loads;
  switch (values) {
    case SparseValues::f32:
      loads =
          "@group(0) @binding(3) var<storage, read> values: array<f32>;\n"
          "fn load_value(at: u32) -> f32 { return values[params.values_first + at]; }\n";
      break;
    case SparseValues::f16:
      loads =
          "@group(0) @binding(3) var<storage, read> values: array<u32>;\n"
          "fn load_value(at: u32) -> f32 { return unpack2x16float(values[params.values_first + at / 2u])[at % 2u]; }\n";
      break;
    case SparseValues::ones: loads = "fn load_value(at: u32) -> f32 { return 1.0; }\n"; break;
  }
  builder.generated("loads", loads).part("grid.wgsl").part("conjugate_gradient_diagonal.wgsl");
  return std::move(builder).build();
}

}  // namespace

Result<Plan> plan_cg_start(const CgShape& shape, const DeviceTraits& traits, std::optional<SolverTuning> tuning) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  const SolverTuning chosen = tuning.value_or(select_solver_tuning(traits));
  if (const Status ok = check(chosen); !ok) return std::unexpected(ok.error());
  return CgPlanner("conjugate_gradient_start", shape, chosen, traits).start();
}

Result<Plan> plan_cg_steps(const CgShape& shape, std::uint32_t iterations, const DeviceTraits& traits,
                           std::optional<SolverTuning> tuning) {
  if (const Status ok = check(shape, traits); !ok) return std::unexpected(ok.error());
  const SolverTuning chosen = tuning.value_or(select_solver_tuning(traits));
  if (const Status ok = check(chosen); !ok) return std::unexpected(ok.error());
  if (iterations > cg_most_iterations) {
    const Status refused =
        refuse(std::format("{} iterations in one plan: at most {} are possible.", iterations, cg_most_iterations));
    return std::unexpected(refused.error());
  }
  return CgPlanner("conjugate_gradient_steps", shape, chosen, traits).steps(iterations);
}

Result<Plan> plan_cg_diagonal(const SparseShape& matrix, const DeviceTraits& traits) {
  if (matrix.format != SparseFormat::csr) {
    return fail(ErrorKind::invalid_request,
                std::format("The diagonal is taken from csr matrices, not from {}.", to_string(matrix.format)));
  }
  const std::uint32_t threads =
      std::min(traits.is_cpu ? 64u : diagonal_threads, std::bit_floor(traits.max_workgroup_size));
  PlanBuilder plan("conjugate_gradient_diagonal", traits);
  plan.note(to_string(matrix));
  const SlotId bad_row = plan.argument("bad_row", 4, 4, true);
  KernelBuilder clear("conjugate_gradient_no_bad_row");
  clear.workgroup(1, 0);
  add_entry(clear, Entry::plain, {});
  clear.part("conjugate_gradient_no_bad_row.wgsl");
  PlanBuilder::Step none;
  none.workgroup_count = 1;
  none.bindings = {{"bad_row", bad_row, 0, 0, "bad_row_first"}};
  none.reason = "no row is bad, until one is found";
  none.bytes_written = 4;
  plan.dispatch(std::move(clear).build(), std::move(none));
  if (matrix.row_count == 0) return std::move(plan).finish();
  const std::uint64_t rows = matrix.row_count;
  const std::uint64_t entries = matrix.entry_count;
  const std::uint64_t value_bytes = matrix.values == SparseValues::f32   ? entries * 4
                                    : matrix.values == SparseValues::f16 ? align_up(entries * 2, 4)
                                                                         : 0;
  PlanBuilder::Step step;
  step.thread_count = rows;
  step.bindings = {{"row_offsets", plan.argument("row_offsets", (rows + 1) * 4, 4), 0, 0, "offsets_first"},
                   {"inverse_diagonal", plan.argument("inverse_diagonal", rows * 4, 4, true), 0, 0, "inverse_first"},
                   {"bad_row", bad_row, 0, 0, "bad_row_first"}};
  step.params = {{"row_count", matrix.row_count}};
  for (const std::string_view field :
       {"offsets_first", "columns_first", "values_first", "inverse_first", "bad_row_first"}) {
    step.params.push_back({field, 0});
  }
  // Without entries there is nothing to bind: every diagonal is missing.
  step.reason = "the inverse of each diagonal";
  step.bytes_read = (rows + 1) * 4 + entries * 4 + rows * 4;
  step.bytes_written = rows * 4;
  plan.least_bytes(step.bytes_read + step.bytes_written);
  const std::array<std::byte, 4> nothing{};
  const SlotId columns = entries != 0 ? plan.argument("columns", entries * 4, 4) : plan.constant(nothing);
  step.bindings.push_back({"columns", columns, 0, 0, entries != 0 ? "columns_first" : ""});
  if (matrix.values != SparseValues::ones) {
    const SlotId values = entries != 0 ? plan.argument("values", value_bytes, 4) : plan.constant(nothing);
    step.bindings.push_back({"values", values, 0, 0, entries != 0 ? "values_first" : ""});
  }
  plan.dispatch(diagonal_kernel(matrix.values, threads), std::move(step));
  return std::move(plan).finish();
}

}  // namespace upsweep
