// SPDX-License-Identifier: Apache-2.0
// Histograms as NumPy defines them: each sample is looked up among all edges, in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "upsweep/histogram.h"

namespace upsweep::reference {

/// numpy.linspace(lower, upper, bins + 1), in f32 where the samples are floats.
inline std::vector<double> even_edges(std::uint32_t bins, double lower, double upper, bool as_floats) {
  std::vector<double> edges;
  const double step = (upper - lower) / bins;
  for (std::uint32_t i = 0; i <= bins; ++i) {
    const double product = static_cast<double>(i) * step;
    edges.push_back(i == bins ? upper : product + lower);
    if (as_floats) edges.back() = static_cast<float>(edges.back());
  }
  return edges;
}

/// numpy.searchsorted(edges, sample, "right") - 1, the last bin closed.
inline std::optional<std::uint32_t> bin_of(const std::vector<double>& edges, double sample) {
  if (std::isnan(sample) || sample < edges.front() || sample > edges.back()) return {};
  const auto above = std::upper_bound(edges.begin(), edges.end() - 1, sample);
  return static_cast<std::uint32_t>(above - edges.begin() - 1);
}

/// Edges of any bins, as numbers that samples are compared with; `on_device` are those of a buffer.
inline std::vector<double> edges_of(const HistogramBins& bins, SampleType type, const std::vector<double>& on_device) {
  switch (bins.kind) {
    case HistogramBins::Kind::even:
      return even_edges(bins.count, bins.lower, bins.upper, type == SampleType::f32 || type == SampleType::f16);
    case HistogramBins::Kind::edges: return bins.edges;
    case HistogramBins::Kind::edges_on_device: return on_device;
    case HistogramBins::Kind::integers: break;
  }
  std::vector<double> edges;
  const double width = std::ldexp(1.0, static_cast<int>(bins.shift));
  for (std::uint32_t i = 0; i <= bins.count; ++i) edges.push_back(static_cast<double>(bins.first) + i * width);
  edges.back() -= 0.5;  // half open
  return edges;
}

/// Adds weights (1 each if there are none) of the counted channels to `cells`.
template <typename Weight, typename Sum>
void add_samples(std::vector<Sum>& cells, const HistogramShape& shape, const std::vector<double>& samples,
                 const std::vector<double>& edges, const std::vector<Weight>& weights, std::uint64_t items) {
  const std::uint32_t mask = shape.channel_mask != 0 ? shape.channel_mask : (1u << shape.channels) - 1;
  for (std::uint64_t item = 0; item < items; ++item) {
    std::uint32_t rank = 0;
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
      if ((mask >> channel & 1u) == 0) continue;
      const auto bin = bin_of(edges, samples[item * shape.channels + channel]);
      if (bin) cells[std::uint64_t{rank} * shape.bins.count + *bin] += weights.empty() ? Sum(1) : Sum(weights[item]);
      ++rank;
    }
  }
}

}  // namespace upsweep::reference

namespace upsweep::testing {

/// A handful of samples, bins and workgroups each: every path at small sizes.
inline HistogramTuning tiny_histogram_tuning(HistogramPath path = HistogramPath::automatic) {
  return {.path = path,
          .workgroup_size = 4,
          .units_per_thread = 1,
          .register_bins = 3,
          .copies = 2,
          .window_bins = 24,
          .max_windows = 3,
          .cache_slots = 8,
          .max_workgroups = 5,
          .one_workgroup_samples = 30};
}

}  // namespace upsweep::testing
