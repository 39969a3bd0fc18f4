// SPDX-License-Identifier: Apache-2.0
// PageRank by power iteration, wholly on the device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

/// ranks = damping (P' ranks + dangling / n) + (1 - damping) / n, where P moves from a node along its edges in
/// proportion to their weights, and dangling is the rank of nodes without a way out, shared by all. A start is recorded
/// once, then steps as often as wanted; nothing is read back between iterations, and what is recorded after the end
/// changes nothing. Ranks of f32, their sum kept at 1. Results repeat from run to run on one device.
struct PagerankShape {
  /// Square, any format, turned round: row j holds the edges that end at node j, in the columns that they come from. Of
  /// `ones` where all edges of a node are alike.
  SparseShape incoming = {};
  float damping = 0.85f;    ///< 0 to 1.
  float tolerance = 1e-6f;  ///< Converged once no more than this is the sum of all ranks' changes in an iteration.

  bool operator==(const PagerankShape&) const = default;
};

enum class PagerankStatus : std::uint32_t {
  running,
  converged,
  not_finite,  ///< Weights gave an overflow or NaN.
};
[[nodiscard]] std::string to_string(PagerankStatus status);

/// The state buffer, as the end of each plan leaves it.
struct PagerankState {
  PagerankStatus status = PagerankStatus::running;
  std::uint32_t iteration = 0;  ///< Iterations that changed the ranks.
  float change = 0;             ///< Of the latest one: sum |new - old|; 2 before the first.
  float dangling = 0;           ///< Rank of nodes without a way out.
  float total = 0;              ///< Of all ranks, before they are brought back to 1.
  std::uint32_t unused[3] = {};
};
constexpr std::uint64_t pagerank_state_bytes = sizeof(PagerankState);
/// Of one plan.
constexpr std::uint32_t pagerank_most_iterations = 64;

/// All ranks 1 / n. Pure; needs no device. Arguments: `inverse_out` (for each node 1 / the weights of its edges, all
/// together; 0 for a dangling one), `ranks`, `scaled_ranks` (each n f32) and `state`. Without nodes: `state` alone,
/// which says converged.
[[nodiscard]] Result<Plan> plan_pagerank_start(const PagerankShape& shape, const DeviceTraits& traits,
                                               std::optional<SolverTuning> tuning = std::nullopt);
/// So many iterations (at most pagerank_most_iterations) in one plan: a product and a pass over vectors each, and a
/// last pass that tells the state. Arguments: the matrix' as in plan_spmv, and those of the start as it or earlier
/// steps left them.
[[nodiscard]] Result<Plan> plan_pagerank_steps(const PagerankShape& shape, std::uint32_t iterations,
                                               const DeviceTraits& traits,
                                               std::optional<SolverTuning> tuning = std::nullopt);

/// Buffers; offsets must be multiples of 4. `scaled_ranks` (ranks times inverse_out) is the iteration's own between its
/// calls. None may overlap another.
struct PagerankBuffers {
  SparseBuffers incoming = {};
  BufferView inverse_out = {};
  BufferView ranks = {};
  BufferView scaled_ranks = {};
  BufferView state = {};  ///< pagerank_state_bytes
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
/// Source: Page, Brin, Motwani and Winograd 1999; Langville and Meyer 2006 (dangling nodes).
[[nodiscard]] Status record_pagerank_start(Context& context, RecordTarget target, const PagerankShape& shape,
                                           const PagerankBuffers& buffers,
                                           std::optional<SolverTuning> tuning = std::nullopt);
[[nodiscard]] Status record_pagerank_steps(Context& context, RecordTarget target, const PagerankShape& shape,
                                           std::uint32_t iterations, const PagerankBuffers& buffers,
                                           std::optional<SolverTuning> tuning = std::nullopt);

namespace host {

struct PagerankOptions {
  double damping = 0.85;
  double tolerance = 1e-6;  ///< Of the sum of all ranks' changes. Roundings of f32 alone are about 1e-7.
  std::uint32_t max_iterations = 1000;
  std::uint32_t iterations_per_check = 16;  ///< Recorded before the state is read, 1 to pagerank_most_iterations.
  std::function<void(std::uint32_t iterations, double change)> progress = {};
};

struct PagerankReport {
  std::vector<double> ranks;  ///< One a node; their sum is 1.
  bool is_converged = false;
  std::uint32_t iterations = 0;
  double change = 0;  ///< Of the latest iteration.
  std::uint32_t dangling_count = 0;
};

/// Ranks of the nodes of a graph: entry (i, j) is an edge from i to j with a weight of 0 or more; several edges between
/// two nodes add up. Uploads, iterates on the device, reads back; waits.
[[nodiscard]] Result<PagerankReport> pagerank(Context& context, const CsrArrays& edges,
                                              const PagerankOptions& options = {});

}  // namespace host
}  // namespace upsweep
