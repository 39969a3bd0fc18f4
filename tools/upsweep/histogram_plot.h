// SPDX-License-Identifier: Apache-2.0
// Pictures of histograms: bars in a terminal, bars in an SVG file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace upsweep::cli {

// One line a bin, at most `most_rows`: neighbours are added up where there are more. `edges` has one more than `bins`.
std::string plot_bins(std::span<const double> edges, std::span<const double> bins, std::size_t most_rows,
                      std::size_t width);

// A picture of its own, without scripts and fonts of others.
std::string svg_of_bins(std::span<const double> edges, std::span<const double> bins, std::string_view title);

}  // namespace upsweep::cli
