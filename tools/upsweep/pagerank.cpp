// SPDX-License-Identifier: Apache-2.0
// upsweep pagerank: ranks of the nodes of a graph.
#include "upsweep/pagerank.h"

#include <algorithm>
#include <chrono>
#include <format>
#include <iostream>
#include <numeric>

#include "json_result.h"
#include "matrix_files.h"

namespace upsweep::cli {
namespace {

struct PagerankCommand {
  std::string matrix;
  std::string output;
  host::PagerankOptions options;
  std::uint32_t top = 0;
  bool quiet = false;
  bool json = false;
};

Outcome run_pagerank(Program& program, const PagerankCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  const auto matrix = read_square_matrix(command.matrix, "pagerank");
  if (!matrix) return std::unexpected(matrix.error());
  Outputs outputs;
  if (const auto ok = outputs.open("--output", command.output); !ok) return ok;
  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  if (const auto ok = check_sizes(*matrix, command.matrix, (*context)->traits()); !ok) return ok;
  const host::CsrMatrix edges = compressed_rows(*matrix);
  const auto report = host::pagerank(**context, edges.arrays(), command.options);
  if (!report) return failed_in(command.matrix, report.error());
  if (const auto ok = check_device(**context); !ok) return ok;
  if (!report->is_converged) {
    return refuse(std::format("{}: after {} iterations ranks still change by {:.3g}, more than {:.3g}; {} not written",
                              npy::one_line(command.matrix), report->iterations, report->change,
                              command.options.tolerance, npy::one_line(command.output)));
  }
  if (const auto ok = write_vector(*outputs.find("--output"), std::span<const double>(report->ranks)); !ok) return ok;
  if (const auto ok = outputs.commit(); !ok) return ok;
  nlohmann::ordered_json top = nlohmann::json::array();
  if (command.top != 0) {
    std::vector<std::uint32_t> order(report->ranks.size());
    std::ranges::iota(order, 0u);
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t node) { return report->ranks[node]; });
    for (std::size_t i = 0; i < std::min<std::size_t>(command.top, order.size()); ++i) {
      const std::uint64_t node = std::uint64_t{order[i]} + 1;
      if (command.json) {
        top.push_back({{"node", node}, {"rank", report->ranks[order[i]]}});
      } else {
        std::cout << std::format("{} {:.6g}\n", node, report->ranks[order[i]]);
      }
    }
  }
  if (command.json) {
    nlohmann::ordered_json json{{"nodes", matrix->row_count},
                                {"edges", matrix->rows.size()},
                                {"dangling", report->dangling_count},
                                {"iterations", report->iterations},
                                {"change", report->change}};
    if (command.top != 0) json["top"] = std::move(top);
    print_json(std::move(json), **context, start);
  } else if (!command.quiet) {
    std::cerr << std::format("{}; {} nodes without a way out; {} iterations, the last change {:.3g}\n",
                             describe(command.matrix, *matrix), report->dangling_count, report->iterations,
                             report->change);
  }
  return {};
}

constexpr const char* pagerank_examples = R"(  upsweep pagerank web.mtx -o ranks.npy
  upsweep pagerank web.mtx -o ranks.npy --damping 0.9 --tol 1e-7 --top 10
Entry (i, j) is an edge from node i to node j with a weight of 0 or more; 1 in a pattern. A node without edges passes its
rank to all. Ranks are f8, one a node, computed in f4: they are off by about 1e-7 in all, whatever --tol is; their sum is
1. --top prints the first nodes, numbered from 1 as in the file.)";

}  // namespace

void add_pagerank(Program& program) {
  auto command = std::make_shared<PagerankCommand>();
  CLI::App& app =
      program.add(program.app, "pagerank", "Rank the nodes of a graph", pagerank_examples, command, run_pagerank);
  program.reads(app.add_option("matrix", command->matrix, "Matrix Market file; - reads standard input"))
      ->required()
      ->type_name("A.mtx");
  program.writes(app.add_option("-o,--output", command->output, "File for the ranks"))->required()->type_name("R.npy");
  app.add_option("--damping", command->options.damping, "Share of the rank that follows edges")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--tol", command->options.tolerance, "Of the sum of all ranks' changes in an iteration")
      ->capture_default_str()
      ->check(positive_number());
  app.add_option("--max-iter", command->options.max_iterations, "Iterations in all")
      ->capture_default_str()
      ->transform(count_text());
  program.prints(app.add_option("--top", command->top, "Print so many of the first nodes with their ranks"))
      ->transform(count_text())
      ->type_name("N");
  app.add_flag("-q,--quiet", command->quiet, "No summary");
  program.prints(app.add_flag("--json", command->json, "Print what happened as JSON"));
}

}  // namespace upsweep::cli
