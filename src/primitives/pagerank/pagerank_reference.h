// SPDX-License-Identifier: Apache-2.0
// PageRank for tests: the random surfer's distribution after so many steps, in double.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/spmv/spmv_reference.h"

namespace upsweep::testing {

// An entry (i, j) is an edge from i to j with its weight.
inline std::vector<double> surfed(const EntryList& edges, double damping, std::uint32_t steps) {
  const std::size_t n = edges.row_count;
  std::vector<double> weight(n);
  for (const Entry& edge : edges.entries) weight[edge.row] += double{edge.value};
  std::vector<double> ranks(n, 1.0 / static_cast<double>(n));
  for (std::uint32_t s = 0; s < steps; ++s) {
    std::vector<double> next(n, (1 - damping) / static_cast<double>(n));
    for (const Entry& edge : edges.entries) {
      if (weight[edge.row] > 0) next[edge.column] += damping * ranks[edge.row] * double{edge.value} / weight[edge.row];
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (weight[i] > 0) continue;
      for (double& rank : next) rank += damping * ranks[i] / static_cast<double>(n);
    }
    ranks = std::move(next);
  }
  return ranks;
}

// Up to five edges a node, some of them twice, some to itself; every seventh node has none.
inline EntryList random_graph(std::uint32_t nodes, std::uint64_t seed, bool has_weights) {
  EntryList list{.row_count = nodes, .column_count = nodes, .entries = {}};
  std::mt19937_64 random(seed);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (i % 7 == 3) continue;
    for (std::uint64_t e = random() % 6; e > 0; --e) {
      // Few targets, so that ranks differ.
      const auto j = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % (nodes / 16 + 1) : random() % nodes);
      const float weight = has_weights ? static_cast<float>(random() % 100) / 10 : 1.0f;
      list.entries.push_back({i, j, weight});
      if (e == 4) list.entries.push_back({i, j, weight});
      if (e == 5) list.entries.push_back({i, i, weight});
    }
  }
  return list;
}

}  // namespace upsweep::testing
