// SPDX-License-Identifier: Apache-2.0
// PageRank on a device against the same in double.
#include "upsweep/pagerank.h"

#include <gmock/gmock.h>

#include <cmath>
#include <format>
#include <limits>
#include <numeric>

#include "primitives/pagerank/pagerank_reference.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

EntryList turned(const EntryList& edges) {
  EntryList list{.row_count = edges.column_count, .column_count = edges.row_count, .entries = {}};
  for (const Entry& edge : edges.entries) list.entries.push_back({edge.column, edge.row, edge.value});
  return list;
}

// A graph on the device, with guards around every array.
struct Graph {
  Graph(Context& context, const EntryList& edges, bool has_weights)
      : m(csr_of(turned(edges))),
        offsets(context, bytes_of(m.row_offsets), 4),
        columns(context, bytes_of(m.columns), 8),
        values(context, bytes_of(m.values), 12),
        inverse(context, bytes_of(inverses(edges)), 16),
        ranks_buffer(context, bytes_of(unwritten<float>(edges.row_count)), 20),
        scaled(context, bytes_of(unwritten<float>(edges.row_count)), 28),
        state_buffer(context, bytes_of(unwritten<std::uint32_t>(pagerank_state_bytes / 4)), 36),
        buffers{.inverse_out = inverse.view(),
                .ranks = ranks_buffer.view(),
                .scaled_ranks = scaled.view(),
                .state = state_buffer.view()} {
    buffers.incoming.row_offsets = offsets.view();
    buffers.incoming.columns = columns.view();
    buffers.incoming.values = values.view();
    shape.incoming = m.shape;
    shape.incoming.values = has_weights ? SparseValues::f32 : SparseValues::ones;
    shape.tolerance = 0;
  }

  static std::vector<float> inverses(const EntryList& edges) {
    std::vector<float> weights(edges.row_count);
    for (const Entry& edge : edges.entries) weights[edge.row] += edge.value;
    for (float& weight : weights) weight = weight > 0 ? 1 / weight : 0;
    return weights;
  }
  [[nodiscard]] PagerankState state() const {
    const auto bytes = state_buffer.read_and_check_guards();
    PagerankState state;
    std::memcpy(&state, bytes.data(), sizeof(state));
    return state;
  }
  [[nodiscard]] std::vector<float> ranks() const { return items_of<float>(ranks_buffer.read_and_check_guards()); }
  void check() const {
    for (const GuardedBuffer* buffer : {&offsets, &columns, &values, &inverse, &scaled}) {
      std::ignore = buffer->read_and_check_guards();
    }
  }

  SparseArrays m;
  GuardedBuffer offsets;
  GuardedBuffer columns;
  GuardedBuffer values;
  GuardedBuffer inverse;
  GuardedBuffer ranks_buffer;
  GuardedBuffer scaled;
  GuardedBuffer state_buffer;
  PagerankBuffers buffers;
  PagerankShape shape;
};

class PagerankGpu : public GpuTest {
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

  void start_and_step(const Graph& graph, std::initializer_list<std::uint32_t> steps) {
    run([&](WGPUCommandEncoder encoder) -> Status {
      const Status ok = record_pagerank_start(context(), encoder, graph.shape, graph.buffers, tuning());
      return ok ? record_steps(encoder, graph, steps) : ok;
    });
  }
  Status record_steps(WGPUCommandEncoder encoder, const Graph& graph, std::initializer_list<std::uint32_t> steps) {
    for (const std::uint32_t count : steps) {
      const Status ok = record_pagerank_steps(context(), encoder, graph.shape, count, graph.buffers, tuning());
      if (!ok) return ok;
    }
    return {};
  }

  static void expect_ranks(const std::vector<float>& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      // NaN fails, too.
      if (std::abs(static_cast<double>(actual[i]) - expected[i]) <= 3e-6 * expected[i]) continue;
      ADD_FAILURE() << "rank " << i << " of " << actual.size() << " is " << actual[i] << ", not " << expected[i];
      return;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, PagerankGpu, all_profiles, profile_name);

TEST_P(PagerankGpu, EveryIterationIsAsDefined) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  for (const std::uint32_t nodes : {1u, 2u, 11u, 12u, 13u, 60u, 61u, 255u, 256u, 257u, 1000u, 4001u}) {
    for (const bool has_weights : {false, true}) {
      SCOPED_TRACE(std::format("{} nodes{}", nodes, has_weights ? ", weights" : ""));
      const EntryList edges = random_graph(nodes, seed + nodes, has_weights);
      Graph graph(context(), edges, has_weights);
      graph.shape.damping = has_weights ? 0.5f : 0.85f;
      // Both parities, and sums that come from the state and from the pass before.
      start_and_step(graph, {1, 2, 0, 3});
      const auto ranks = graph.ranks();
      expect_ranks(ranks, surfed(edges, static_cast<double>(graph.shape.damping), 6));
      graph.check();
      const PagerankState state = graph.state();
      EXPECT_NEAR(state.total, 1, 1e-5);
      const auto inverse = Graph::inverses(edges);
      double dangling = 0;
      for (std::uint32_t i = 0; i < nodes; ++i) dangling += inverse[i] == 0 ? static_cast<double>(ranks[i]) : 0;
      EXPECT_NEAR(state.dangling, dangling, 1e-5);
      const auto before = surfed(edges, static_cast<double>(graph.shape.damping), 5);
      const auto after = surfed(edges, static_cast<double>(graph.shape.damping), 6);
      double change = 0;
      for (std::uint32_t i = 0; i < nodes; ++i) change += std::abs(after[i] - before[i]);
      EXPECT_NEAR(state.change, change, 2e-6);
      // An iteration that finds no change at all is the last, whatever follows.
      if (state.status == PagerankStatus::running) {
        EXPECT_EQ(state.iteration, 6u);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(PagerankGpu, WhatIsRecordedAfterTheEndChangesNothing) {
  const EntryList edges = random_graph(900, test_seed(), false);
  Graph graph(context(), edges, false);
  graph.shape.tolerance = 1e-3f;
  start_and_step(graph, {64});
  const PagerankState state = graph.state();
  ASSERT_EQ(state.status, PagerankStatus::converged) << to_string(state.status);
  EXPECT_LE(state.change, 1e-3f);
  ASSERT_GT(state.iteration, 2u);
  ASSERT_LT(state.iteration, 64u);
  // The first iteration with so little change is the last.
  const auto change_of = [&](std::uint32_t steps) {
    const auto before = surfed(edges, 0.85, steps - 1);
    const auto after = surfed(edges, 0.85, steps);
    double change = 0;
    for (std::size_t i = 0; i < after.size(); ++i) change += std::abs(after[i] - before[i]);
    return change;
  };
  EXPECT_LE(change_of(state.iteration), 1.001e-3);
  EXPECT_GT(change_of(state.iteration - 1), 0.999e-3);
  const auto ranks = graph.ranks();
  expect_ranks(ranks, surfed(edges, static_cast<double>(graph.shape.damping), state.iteration));
  run([&](WGPUCommandEncoder encoder) { return record_steps(encoder, graph, {1, 2, 3}); });
  expect_items(graph.ranks(), ranks);
  EXPECT_EQ(graph.state().iteration, state.iteration);
  EXPECT_EQ(graph.state().status, PagerankStatus::converged);
  EXPECT_EQ(graph.state().change, state.change);
  // A start begins anew.
  start_and_step(graph, {64});
  expect_items(graph.ranks(), ranks);
}

TEST_P(PagerankGpu, NoChangeMeetsAToleranceOfZero) {
  Graph graph(context(), random_graph(100, test_seed(), false), false);
  graph.shape.damping = 0;
  start_and_step(graph, {1, 3});
  EXPECT_EQ(graph.state().status, PagerankStatus::converged);
  EXPECT_EQ(graph.state().change, 0);
  EXPECT_EQ(graph.state().iteration, 1u);
}

TEST_P(PagerankGpu, PlansOfOneIterationGiveTheRanksOfAPlanOfMany) {
  const EntryList edges = random_graph(800, test_seed(), true);
  std::vector<std::vector<float>> results;
  for (const auto& steps : {std::initializer_list<std::uint32_t>{7}, {7}, {1, 1, 1, 1, 1, 1, 1}, {3, 4}}) {
    Graph graph(context(), edges, true);
    start_and_step(graph, steps);
    results.push_back(graph.ranks());
    EXPECT_EQ(graph.state().iteration, 7u);
  }
  for (const auto& result : results) expect_items(result, results[0]);
}

// As if roundings had gone far.
TEST_P(PagerankGpu, RanksAreBroughtBackToASumOfOne) {
  const EntryList edges = random_graph(300, test_seed(), true);
  Graph graph(context(), edges, true);
  start_and_step(graph, {1});
  const auto write = [&](const GuardedBuffer& buffer, const std::vector<float>& items) {
    EXPECT_TRUE(context().write({buffer.buffer(), buffer.view().offset_bytes}, bytes_of(items)).has_value());
  };
  for (const GuardedBuffer* buffer : {&graph.ranks_buffer, &graph.scaled}) {
    auto items = items_of<float>(buffer->read_and_check_guards());
    for (float& item : items) item *= 1.5f;
    write(*buffer, items);
  }
  auto words = items_of<float>(graph.state_buffer.read_and_check_guards());
  words[3] *= 1.5f;  // what dangles, and the total
  words[4] *= 1.5f;
  write(graph.state_buffer, words);
  run([&](WGPUCommandEncoder encoder) { return record_steps(encoder, graph, {1, 2}); });
  expect_ranks(graph.ranks(), surfed(edges, static_cast<double>(graph.shape.damping), 4));
  EXPECT_NEAR(graph.state().total, 1, 1e-6);
}

TEST_P(PagerankGpu, WeightsThatAreNoNumbersAreTold) {
  EntryList edges = random_graph(40, test_seed(), true);
  edges.entries[5].value = std::numeric_limits<float>::quiet_NaN();
  Graph graph(context(), edges, true);
  start_and_step(graph, {3});
  EXPECT_EQ(graph.state().status, PagerankStatus::not_finite);
}

TEST_P(PagerankGpu, NoNodesHaveNoRanks) {
  const GuardedBuffer state(context(), bytes_of(unwritten<std::uint32_t>(8)), 8);
  run([&](WGPUCommandEncoder encoder) -> Status {
    if (const Status ok = record_pagerank_start(context(), encoder, {}, {.state = state.view()}, tuning()); !ok) {
      return ok;
    }
    return record_pagerank_steps(context(), encoder, {}, 2, {.state = state.view()}, tuning());
  });
  EXPECT_EQ(items_of<std::uint32_t>(state.read_and_check_guards())[0],
            static_cast<std::uint32_t>(PagerankStatus::converged));
}

// So many workgroups that their grid is folded, by a limit that no device has.
TEST_P(PagerankGpu, GridsOfSeveralDimensions) {
  if (!is_tiny()) return;
  const DeviceTraits traits = context().traits();
  DeviceTraits narrow = traits;
  narrow.max_workgroups_per_dimension = 4;  // 2 x 3 workgroups for five
  context().override_traits(narrow);
  const EntryList edges = random_graph(100, test_seed(), false);
  Graph graph(context(), edges, false);
  SolverTuning narrow_tuning = *tuning();
  narrow_tuning.product->workgroup_size = 64;
  run([&](WGPUCommandEncoder encoder) -> Status {
    const Status ok = record_pagerank_start(context(), encoder, graph.shape, graph.buffers, narrow_tuning);
    return ok ? record_pagerank_steps(context(), encoder, graph.shape, 3, graph.buffers, narrow_tuning) : ok;
  });
  context().override_traits(traits);
  expect_ranks(graph.ranks(), surfed(edges, static_cast<double>(graph.shape.damping), 3));
  EXPECT_EQ(graph.state().iteration, 3u);
}

// The front.
class PagerankFront : public PagerankGpu {
 protected:
  host::PagerankReport ranked(const EntryList& edges, const host::PagerankOptions& options = {}) {
    const SparseArrays m = csr_of(edges);
    std::vector<double> weights(m.values.begin(), m.values.end());
    const bool is_plain = std::ranges::all_of(weights, [](double weight) { return weight == 1; });
    if (is_plain) weights.clear();
    const auto report =
        host::pagerank(context(), {edges.row_count, edges.column_count, m.row_offsets, m.columns, weights}, options);
    if (!report) {
      ADD_FAILURE() << report.error().message;
      return {};
    }
    if (edges.row_count > 0) {
      EXPECT_NEAR(std::accumulate(report->ranks.begin(), report->ranks.end(), 0.0), 1, 1e-12);
    }
    return *report;
  }

  void check(const EntryList& edges, std::string_view what) {
    SCOPED_TRACE(what);
    const auto report = ranked(edges);
    EXPECT_TRUE(report.is_converged) << report.change;
    EXPECT_LE(report.change, 1e-6);
    const auto expected = surfed(edges, 0.85, 200);
    double distance = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) distance += std::abs(report.ranks.at(i) - expected[i]);
    // What is left of the last change, and roundings.
    EXPECT_LE(distance, 0.85 / 0.15 * 1e-6 + 2e-6);
  }

  static EntryList graph(std::uint32_t nodes, std::vector<Entry> edges) { return {nodes, nodes, std::move(edges)}; }
};
INSTANTIATE_TEST_SUITE_P(, PagerankFront, ::testing::Values(Profile::full), profile_name);

TEST_P(PagerankFront, GraphsOfEveryKindAgreeWithTheDefinition) {
  check(graph(1, {}), "one node");
  check(graph(1, {{0, 0, 1}}), "one node with a loop");
  check(graph(30, {}), "all dangle");
  EntryList cycle = graph(30, {});
  EntryList star = graph(30, {});
  EntryList burst = graph(30, {});
  for (std::uint32_t i = 0; i < 30; ++i) {
    cycle.entries.push_back({i, (i + 1) % 30, 1});
    if (i > 0) star.entries.push_back({i, 0, 1});
    if (i > 0) burst.entries.push_back({0, i, 1});
  }
  check(cycle, "a cycle");
  check(star, "a star, inwards");
  check(burst, "a star, outwards");
  EntryList loops = cycle;
  for (std::uint32_t i = 0; i < 30; i += 3) loops.entries.push_back({i, i, 1});
  check(loops, "loops");
  EntryList twice = loops;
  twice.entries.push_back({4, 20, 1});
  twice.entries.push_back({4, 20, 1});
  check(twice, "several edges between two nodes");
  check(random_graph(3000, test_seed(), false), "random");
  check(random_graph(3000, test_seed(), true), "random, weights");
  EntryList zeros = graph(4, {{0, 1, 0}, {1, 2, 3}, {1, 3, 0}, {2, 0, 1}});
  check(zeros, "weights of 0: node 0 dangles");
  EXPECT_EQ(ranked(zeros).dangling_count, 2u);
  const auto none = ranked({});
  EXPECT_TRUE(none.is_converged);
  EXPECT_TRUE(none.ranks.empty());
}

TEST_P(PagerankFront, WeightsOfAnySizeAreShares) {
  EntryList edges = random_graph(500, test_seed(), true);
  const auto expected = ranked(edges).ranks;
  for (const double factor : {1e-300, 1e300}) {
    const SparseArrays m = csr_of(edges);
    std::vector<double> weights(m.values.begin(), m.values.end());
    for (double& weight : weights) weight *= factor;
    const auto report = host::pagerank(context(), {500, 500, m.row_offsets, m.columns, weights});
    ASSERT_TRUE(report.has_value());
    for (std::size_t i = 0; i < 500; ++i) EXPECT_NEAR(report->ranks[i], expected[i], 1e-6 * expected[i]);
  }
}

TEST_P(PagerankFront, DampingAndLimitsAreObeyed) {
  const EntryList edges = random_graph(300, test_seed(), false);
  const auto flat = ranked(edges, {.damping = 0});
  EXPECT_TRUE(flat.is_converged);
  for (const double rank : flat.ranks) EXPECT_NEAR(rank, 1.0 / 300, 1e-9);
  EntryList cycle = graph(5, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {4, 0, 1}, {0, 2, 1}});
  const auto undamped = ranked(cycle, {.damping = 1});
  EXPECT_TRUE(undamped.is_converged);
  // 0 is left by two ways, and 1 is on one of them.
  EXPECT_NEAR(undamped.ranks[1], undamped.ranks[0] / 2, 1e-5);
  EXPECT_NEAR(undamped.ranks[2], undamped.ranks[0], 1e-5);
  std::vector<std::uint32_t> told;
  const auto limited =
      ranked(edges, {.tolerance = 1e-6,
                     .max_iterations = 7,
                     .iterations_per_check = 3,
                     .progress = [&](std::uint32_t iterations, double) { told.push_back(iterations); }});
  EXPECT_FALSE(limited.is_converged);
  EXPECT_EQ(limited.iterations, 7u);
  EXPECT_EQ(told, (std::vector<std::uint32_t>{3, 6, 7}));
  const auto at_once = ranked(edges, {.max_iterations = 0});
  EXPECT_FALSE(at_once.is_converged);
  EXPECT_EQ(at_once.iterations, 0u);
  EXPECT_NEAR(at_once.ranks[0], 1.0 / 300, 1e-9);
  // Below what f32 resolves it ends by the limit, or at a fixed point.
  const auto exact = ranked(edges, {.tolerance = 0, .max_iterations = 200});
  EXPECT_LE(exact.change, 2e-6);
}

TEST_P(PagerankFront, WhatIsNoGraphIsRefused) {
  const std::vector<std::uint32_t> offsets{0, 1, 1};
  const std::vector<std::uint32_t> columns{1};
  const std::vector<double> negative{-2};
  const auto refusal = [&](const host::CsrArrays& edges, const host::PagerankOptions& options = {}) {
    const auto report = host::pagerank(context(), edges, options);
    return report ? std::string("none") : report.error().message;
  };
  EXPECT_THAT(refusal({2, 2, offsets, columns, negative}), HasSubstr("edge from 0 to 1 has a weight of -2"));
  EXPECT_THAT(refusal({2, 3, offsets, columns, {}}), HasSubstr("2 rows and 3 columns"));
  EXPECT_THAT(refusal({2, 1, offsets, columns, {}}), HasSubstr("column 1"));
  EXPECT_THAT(refusal({2, 2, offsets, columns, {}}, {.damping = 1.5}), HasSubstr("damping of 1.5"));
  EXPECT_THAT(refusal({2, 2, offsets, columns, {}}, {.tolerance = -1}), HasSubstr("tolerance of -1"));
  EXPECT_THAT(refusal({2, 2, offsets, columns, {}}, {.iterations_per_check = 0}), HasSubstr("0 iterations per check"));
}

}  // namespace
}  // namespace upsweep::testing
