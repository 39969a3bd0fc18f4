// SPDX-License-Identifier: Apache-2.0
// Kernels of the iterative solvers: conjugate gradients and PageRank.
#include <format>

#include "kernel_cases.h"
#include "upsweep/conjugate_gradient.h"
#include "upsweep/pagerank.h"

namespace upsweep {
namespace {

SparseShape square(SparseValues values) {
  return {.values = values, .row_count = 10'000, .column_count = 10'000, .entry_count = 50'000, .longest_row = 9};
}

}  // namespace

void add_solver_kernels(KernelSink& sink) {
  for (const NamedTraits& device : all_traits()) {
    for (const auto& [threads, items] : {std::pair{256u, 4u}, {4u, 1u}}) {
      for (const bool use_subgroups : {true, false}) {
        const std::string with =
            std::format("{} threads x {}{}, {}", threads, items, use_subgroups ? "" : ", no subgroups", device.name);
        const SolverTuning cg{.workgroup_size = threads, .items_per_thread = items, .use_subgroups = use_subgroups};
        for (const auto preconditioner : {CgPreconditioner::none, CgPreconditioner::jacobi}) {
          CgShape shape{.matrix = square(SparseValues::f32), .preconditioner = preconditioner};
          const std::string what = std::format("{}, {}", to_string(preconditioner), with);
          sink.add("cg start: " + what, plan_cg_start(shape, device.traits, cg));
          sink.add("cg steps: " + what, plan_cg_steps(shape, 1, device.traits, cg));
          shape.zero_guess = true;
          sink.add("cg start from 0: " + what, plan_cg_start(shape, device.traits, cg));
        }
        const SolverTuning ranks{.workgroup_size = threads, .items_per_thread = items, .use_subgroups = use_subgroups};
        const PagerankShape graph{.incoming = square(SparseValues::ones)};
        sink.add("pagerank start: " + with, plan_pagerank_start(graph, device.traits, ranks));
        sink.add("pagerank steps: " + with, plan_pagerank_steps(graph, 1, device.traits, ranks));
      }
    }
    for (const SparseValues values : {SparseValues::f32, SparseValues::f16, SparseValues::ones}) {
      sink.add(std::format("diagonal of {} on {}", to_string(values), device.name),
               plan_cg_diagonal(square(values), device.traits));
    }
    // What the library takes by itself.
    const CgShape shape{.matrix = square(SparseValues::f32)};
    sink.add(std::format("cg on {}", device.name), plan_cg_steps(shape, 1, device.traits));
    sink.add(std::format("pagerank on {}", device.name),
             plan_pagerank_steps({.incoming = square(SparseValues::ones)}, 1, device.traits));
  }
}

}  // namespace upsweep
