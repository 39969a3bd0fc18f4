// SPDX-License-Identifier: Apache-2.0
#include "histogram_plot.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <vector>

namespace upsweep::cli {
namespace {

struct Bars {
  std::vector<double> edges;
  std::vector<double> bins;
  double largest = 0;
};

// Neighbouring bins together, so that there are at most so many.
Bars merged(std::span<const double> edges, std::span<const double> bins, std::size_t most) {
  const std::size_t together = (bins.size() + most - 1) / most;
  Bars bars;
  for (std::size_t first = 0; first < bins.size(); first += together) {
    double sum = 0;
    for (std::size_t i = first; i < std::min(first + together, bins.size()); ++i) sum += bins[i];
    bars.edges.push_back(edges[first]);
    bars.bins.push_back(sum);
    bars.largest = std::max(bars.largest, sum);
  }
  bars.edges.push_back(edges[bins.size()]);
  return bars;
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      default: safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string plot_bins(std::span<const double> edges, std::span<const double> bins, std::size_t most_rows,
                      std::size_t width) {
  const Bars bars = merged(edges, bins, most_rows);
  std::vector<std::string> labels;
  std::size_t label_width = 0;
  for (std::size_t i = 0; i < bars.bins.size(); ++i) {
    labels.push_back(std::format("{:.6g} to {:.6g}", bars.edges[i], bars.edges[i + 1]));
    label_width = std::max(label_width, labels.back().size());
  }
  // A full block and its eighths.
  constexpr const char* eighths[] = {"",
                                     "\xe2\x96\x8f",
                                     "\xe2\x96\x8e",
                                     "\xe2\x96\x8d",
                                     "\xe2\x96\x8c",
                                     "\xe2\x96\x8b",
                                     "\xe2\x96\x8a",
                                     "\xe2\x96\x89"};
  std::string text;
  for (std::size_t i = 0; i < bars.bins.size(); ++i) {
    const double share = bars.largest > 0 ? std::max(bars.bins[i], 0.0) / bars.largest : 0;
    const auto units = static_cast<std::size_t>(std::lround(share * static_cast<double>(width) * 8));
    std::string bar;
    for (std::size_t k = 0; k < units / 8; ++k) bar += "\xe2\x96\x88";
    bar += eighths[units % 8];
    text += std::format("{:>{}}  {}{}{:.10g}\n", labels[i], label_width, bar, bar.empty() ? "" : " ", bars.bins[i]);
  }
  return text;
}

std::string svg_of_bins(std::span<const double> edges, std::span<const double> bins, std::string_view title) {
  constexpr double width = 800;
  constexpr double height = 320;
  constexpr double margin = 40;
  constexpr std::size_t most_bars = 800;
  const Bars bars = merged(edges, bins, most_bars);
  std::string text = std::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<g fill=\"#3b6ea5\">\n",
      width + 2 * margin, height + 2 * margin, escaped(title));
  const double step = width / static_cast<double>(bars.bins.size());
  for (std::size_t i = 0; i < bars.bins.size(); ++i) {
    const double bar = bars.largest > 0 ? std::max(bars.bins[i], 0.0) / bars.largest * height : 0;
    text += std::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
                        margin + static_cast<double>(i) * step, margin + height - bar, step * 0.95, bar);
  }
  text += std::format(
      "</g>\n<path d=\"M{0} {1}h{2}\" stroke=\"black\"/>\n"
      "<text x=\"{0}\" y=\"{3}\">{4:.6g}</text>\n<text x=\"{5}\" y=\"{3}\" text-anchor=\"end\">{6:.6g}</text>\n"
      "<text x=\"{0}\" y=\"{7}\">{8} (largest bar: {9:.10g})</text>\n</svg>\n",
      margin, margin + height, width, margin + height + 18, bars.edges.front(), margin + width, bars.edges.back(),
      margin - 14, escaped(title), bars.largest);
  return text;
}

}  // namespace upsweep::cli
