// SPDX-License-Identifier: Apache-2.0
// upsweep solve: a linear system by conjugate gradients.
#include <chrono>
#include <format>
#include <iostream>

#include "json_result.h"
#include "matrix_files.h"
#include "upsweep/conjugate_gradient.h"

namespace upsweep::cli {
namespace {

struct SolveCommand {
  std::string matrix;
  std::string right_side;
  std::string output;
  std::string guess;
  host::SolveOptions options;
  std::string preconditioner = "jacobi";
  bool no_refinement = false;
  bool quiet = false;
  bool json = false;
};

Outcome run_solve(Program& program, const SolveCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  const auto matrix = read_square_matrix(command.matrix, "solve");
  if (!matrix) return std::unexpected(matrix.error());
  const auto b = read_vector(command.right_side, matrix->row_count, "B");
  if (!b) return std::unexpected(b.error());
  if (const auto ok = check_finite(*b, command.right_side, "B"); !ok) return ok;
  std::vector<double> guess;
  if (!command.guess.empty()) {
    auto read = read_vector(command.guess, matrix->row_count, "the guess");
    if (!read) return std::unexpected(read.error());
    guess = std::move(*read);
    if (const auto ok = check_finite(guess, command.guess, "the guess"); !ok) return ok;
  }
  Outputs outputs;
  if (const auto ok = outputs.open("--output", command.output); !ok) return ok;
  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());

  host::SolveOptions options = command.options;
  options.preconditioner = command.preconditioner == "none" ? CgPreconditioner::none : CgPreconditioner::jacobi;
  options.refine = !command.no_refinement;
  options.first_guess = guess;
  auto last = start;
  if (!command.quiet) {
    std::cerr << describe(command.matrix, *matrix) << '\n';
    options.progress = [&last](const host::SolveProgress& progress) {
      const auto now = std::chrono::steady_clock::now();
      if (now - last < std::chrono::milliseconds(500)) return;
      last = now;
      std::cerr << std::format("{} iterations, relative residual {:.3g}\n", progress.iterations,
                               progress.relative_residual);
    };
  }
  if (const auto ok = check_sizes(*matrix, command.matrix, (*context)->traits()); !ok) return ok;
  const host::CsrMatrix csr = compressed_rows(*matrix);
  const auto report = host::solve(**context, csr.arrays(), *b, options);
  if (!report) return failed_in(command.matrix, report.error());
  if (const auto ok = check_device(**context); !ok) return ok;
  const bool is_solved = report->status == host::SolveStatus::converged;
  if (is_solved) {
    if (const auto ok = write_vector(*outputs.find("--output"), std::span<const double>(report->x)); !ok) return ok;
    if (const auto ok = outputs.commit(); !ok) return ok;
  }
  if (command.json) {
    print_json({{"rows", matrix->row_count},
                {"entries", matrix->rows.size()},
                {"status", to_string(report->status)},
                {"iterations", report->iterations},
                {"corrections", report->refinements},
                {"relative_residual", report->relative_residual}},
               **context, start);
  } else if (is_solved && !command.quiet) {
    std::cerr << report->words << '\n';
  }
  if (is_solved) return {};
  return refuse(std::format("{}: not solved, {} not written: {}", npy::one_line(command.matrix),
                            npy::one_line(command.output), report->words));
}

constexpr const char* solve_examples = R"(  upsweep solve stiffness.mtx forces.npy -o displacements.npy
  upsweep solve A.mtx B.npy -o X.npy --tol 1e-10 --max-iter 50000 --preconditioner none
A must be symmetric and positive definite; that it is symmetric is checked. B is a .npy file of any numbers or a .mtx
array; X is f8. The device iterates in f32; the host computes the residual in f64 and lets the device solve for
corrections until |b - A x| <= tol |b|, so that tolerances far below those of f32 can be met. --no-refinement does one
solve in f32. What does not converge writes no file and ends with exit code 2 and the reason.)";

}  // namespace

void add_solve(Program& program) {
  auto command = std::make_shared<SolveCommand>();
  CLI::App& app = program.add(program.app, "solve", "Solve a linear system by conjugate gradients", solve_examples,
                              command, run_solve);
  program.reads(app.add_option("matrix", command->matrix, "Matrix Market file; - reads standard input"))
      ->required()
      ->type_name("A.mtx");
  program.reads(app.add_option("right_side", command->right_side, "Right-hand side"))->required()->type_name("B.npy");
  program.writes(app.add_option("-o,--output", command->output, "File for the solution"))
      ->required()
      ->type_name("X.npy");
  program.reads(app.add_option("--guess", command->guess, "Where to begin; default: 0"))->type_name("X0.npy");
  app.add_option("--tol", command->options.tolerance, "Of the relative residual |b - A x| / |b|")
      ->capture_default_str()
      ->check(positive_number());
  app.add_option("--max-iter", command->options.max_iterations, "Iterations in all")
      ->capture_default_str()
      ->transform(count_text());
  app.add_option("--preconditioner", command->preconditioner, "none or jacobi")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "jacobi"}));
  app.add_flag("--no-refinement", command->no_refinement, "One solve in f32, without corrections from f64 residuals");
  app.add_flag("-q,--quiet", command->quiet, "No progress and no summary");
  program.prints(app.add_flag("--json", command->json, "Print what happened as JSON"));
}

}  // namespace upsweep::cli
