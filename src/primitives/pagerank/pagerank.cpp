// SPDX-License-Identifier: Apache-2.0
#include "upsweep/pagerank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <format>
#include <utility>

#include "exec/context_impl.h"
#include "exec/host_buffers.h"
#include "exec/matrix_arguments.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  PagerankShape shape;
  std::optional<SolverTuning> tuning;
  std::optional<std::uint32_t> iterations;  // of steps; none: the start
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  std::uint64_t hash = hash_bytes("pagerank");
  hash = hash_number((std::uint64_t{key.shape.incoming.row_count} << 32) | key.shape.incoming.entry_count, hash);
  return hash_number(key.iterations.value_or(~0u), hash);
}

Status record(Context& context, RecordTarget target, const Key& key, const PagerankBuffers& buffers) {
  const auto plan = cached_plan(context.impl(), hash_of(key), key, [&] {
    return key.iterations ? plan_pagerank_steps(key.shape, *key.iterations, context.traits(), key.tuning)
                          : plan_pagerank_start(key.shape, context.traits(), key.tuning);
  });
  if (!plan) return std::unexpected(plan.error());
  const auto arguments = with_matrix(
      buffers.incoming, std::array{Argument{"inverse_out", buffers.inverse_out}, Argument{"ranks", buffers.ranks},
                                   Argument{"scaled_ranks", buffers.scaled_ranks}, Argument{"state", buffers.state}});
  return context.record(target, **plan, arguments);
}

}  // namespace

Status record_pagerank_start(Context& context, RecordTarget target, const PagerankShape& shape,
                             const PagerankBuffers& buffers, std::optional<SolverTuning> tuning) {
  return record(context, target, {shape, tuning, std::nullopt}, buffers);
}

Status record_pagerank_steps(Context& context, RecordTarget target, const PagerankShape& shape,
                             std::uint32_t iterations, const PagerankBuffers& buffers,
                             std::optional<SolverTuning> tuning) {
  return record(context, target, {shape, tuning, iterations}, buffers);
}

namespace host {
namespace {

Status check_request(const CsrArrays& edges, const PagerankOptions& options) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (const Status ok = check_csr(edges); !ok) return ok;
  if (const Status ok = check_finite(edges); !ok) return ok;
  if (edges.row_count != edges.column_count) {
    return refuse(std::format("PageRank needs a square matrix; this one has {} rows and {} columns.", edges.row_count,
                              edges.column_count));
  }
  // Finer than f32, which the planner sees.
  const bool is_damping = options.damping >= 0 && options.damping <= 1;  // NaN is none
  if (!is_damping) {
    return refuse(std::format("A damping of {} is not from 0 to 1.", options.damping));
  }
  if (!(options.tolerance >= 0)) return refuse(std::format("A tolerance of {} is not 0 or more.", options.tolerance));
  if (options.iterations_per_check < 1 || options.iterations_per_check > pagerank_most_iterations) {
    return refuse(std::format("{} iterations per check: 1 to {} are possible.", options.iterations_per_check,
                              pagerank_most_iterations));
  }
  for (std::size_t row = 0; row < edges.row_count; ++row) {
    for (std::uint32_t e = edges.row_offsets[row]; e < edges.row_offsets[row + 1]; ++e) {
      if (edges.value(e) < 0) {
        return refuse(std::format("The edge from {} to {} has a weight of {}; nodes count from 0.", row,
                                  edges.columns[e], edges.value(e)));
      }
    }
  }
  return {};
}

}  // namespace

Result<PagerankReport> pagerank(Context& context, const CsrArrays& edges, const PagerankOptions& options) {
  if (const Status ok = check_request(edges, options); !ok) return std::unexpected(ok.error());
  PagerankReport report;
  const std::size_t nodes = edges.row_count;
  if (nodes == 0) {
    report.is_converged = true;
    return report;
  }
  // Weights are brought to a sum of 1 in f64, so that they may be of any size; edges that are all alike have none.
  std::vector<float> inverse_out(nodes, 0.0f);
  std::vector<double> shares(edges.values.size());
  for (std::size_t row = 0; row < nodes; ++row) {
    const std::uint32_t begin = edges.row_offsets[row];
    const std::uint32_t end = edges.row_offsets[row + 1];
    double largest = 0;
    for (std::uint32_t e = begin; e < end; ++e) largest = std::max(largest, edges.value(e));
    if (largest == 0) {
      ++report.dangling_count;
      continue;
    }
    if (edges.values.empty()) {
      inverse_out[row] = static_cast<float>(1.0 / (end - begin));
      continue;
    }
    double sum = 0;
    for (std::uint32_t e = begin; e < end; ++e) sum += edges.values[e] / largest;
    for (std::uint32_t e = begin; e < end; ++e) shares[e] = edges.values[e] / largest / sum;
    inverse_out[row] = 1;
  }
  CsrArrays weighted = edges;
  weighted.values = shares;
  const CsrMatrix incoming = transpose(weighted);
  const std::vector<float> values(incoming.values.begin(), incoming.values.end());
  const PagerankShape shape{.incoming = {.format = SparseFormat::csr,
                                         .values = values.empty() ? SparseValues::ones : SparseValues::f32,
                                         .row_count = edges.row_count,
                                         .column_count = edges.row_count,
                                         .entry_count = static_cast<std::uint32_t>(incoming.columns.size()),
                                         .longest_row = incoming.arrays().longest_row()},
                            .damping = static_cast<float>(options.damping),
                            .tolerance = static_cast<float>(options.tolerance)};
  HostBuffers buffers(context);
  PagerankBuffers views;
  views.incoming.row_offsets = buffers.make(std::span(std::as_const(incoming.row_offsets)), "row_offsets");
  views.incoming.columns = buffers.make(std::span(std::as_const(incoming.columns)), "columns");
  if (!values.empty()) views.incoming.values = buffers.make(std::span(values), "values");
  views.inverse_out = buffers.make(std::span(std::as_const(inverse_out)), "inverse_out");
  views.ranks = buffers.make(nodes * 4, "ranks");
  views.scaled_ranks = buffers.make(nodes * 4, "scaled_ranks");
  views.state = buffers.make(pagerank_state_bytes, "state");
  if (!buffers.status()) return std::unexpected(buffers.status().error());

  std::uint32_t recorded = 0;
  PagerankState state;
  do {
    const std::uint32_t steps = std::min(options.iterations_per_check, options.max_iterations - recorded);
    const Status done = submit(context, [&](WGPUCommandEncoder encoder) -> Status {
      if (recorded == 0) {
        if (const Status ok = record_pagerank_start(context, encoder, shape, views); !ok) return ok;
      }
      return record_pagerank_steps(context, encoder, shape, steps, views);
    });
    if (!done) return std::unexpected(done.error());
    recorded += steps;
    const auto read = read_one<PagerankState>(context, views.state);
    if (!read) return std::unexpected(read.error());
    state = *read;
    if (options.progress) options.progress(state.iteration, static_cast<double>(state.change));
  } while (state.status == PagerankStatus::running && recorded < options.max_iterations);

  const auto ranks = read_items<float>(context, views.ranks, nodes);
  if (!ranks) return std::unexpected(ranks.error());
  report.ranks.assign(ranks->begin(), ranks->end());
  double total = 0;
  for (const double rank : report.ranks) total += rank;
  for (double& rank : report.ranks) rank /= total;
  report.is_converged = state.status == PagerankStatus::converged;
  report.iterations = state.iteration;
  report.change = static_cast<double>(state.change);
  return report;
}

}  // namespace host
}  // namespace upsweep
