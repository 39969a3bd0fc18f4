// SPDX-License-Identifier: Apache-2.0
// Cases of histograms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <format>
#include <limits>

#include "fuzz.h"
#include "primitives/histogram/histogram_reference.h"

namespace upsweep::fuzz {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_float(SampleType type) { return type == SampleType::f16 || type == SampleType::f32; }

struct Limits {
  double least;
  double greatest;
};
Limits limits_of(SampleType type) {
  switch (type) {
    case SampleType::u8: return {0, 255};
    case SampleType::u16: return {0, 65535};
    case SampleType::u32: return {0, 4294967295.0};
    case SampleType::i32: return {-2147483648.0, 2147483647.0};
    case SampleType::f16: return {-65504, 65504};
    case SampleType::f32: break;
  }
  constexpr double greatest = std::numeric_limits<float>::max();
  return {-greatest, greatest};
}

float nearest_float(double number) {
  if (std::isinf(number) || std::isnan(number)) return static_cast<float>(number);
  const Limits limits = limits_of(SampleType::f32);
  return static_cast<float>(std::clamp(number, limits.least, limits.greatest));
}

// The bits of the sample nearest to a number.
std::uint32_t bits_of(SampleType type, double number) {
  if (type == SampleType::f32) return std::bit_cast<std::uint32_t>(nearest_float(number));
  if (type == SampleType::f16) return testing::half_of(number).bits;
  const Limits limits = limits_of(type);
  return static_cast<std::uint32_t>(
      static_cast<std::int64_t>(std::clamp(std::floor(number), limits.least, limits.greatest)));
}

double number_of(SampleType type, std::uint32_t bits) {
  if (type == SampleType::f32) return std::bit_cast<float>(bits);
  if (type == SampleType::f16) return testing::number_of(testing::Half{static_cast<std::uint16_t>(bits)});
  if (type == SampleType::i32) return static_cast<std::int32_t>(bits);
  return bits;
}

// Any finite f32: every exponent as likely.
double draw_float(Random& random) {
  const double number = random.any_number();
  return std::isinf(number) ? 0.5 : number;
}

// Mostly of the size that samples have.
double draw_number(Random& random, SampleType type) {
  const Limits limits = limits_of(type);
  const double unit = 0.5 + 0.5 * double{random.between_minus_one_and_one()};
  if (is_float(type)) {
    if (one_in(random, 3)) return draw_float(random);
    return one_in(random, 2) ? random.between_minus_one_and_one() : std::floor(unit * 20) - 10;
  }
  if (one_in(random, 4)) return std::floor(unit * 20) / 4 - 2;
  const double number = limits.least + (limits.greatest - limits.least) * (1.2 * unit - 0.1);
  return one_in(random, 2) ? number : std::floor(number);
}

HistogramBins draw_bins(Random& random, SampleType type, std::uint32_t count) {
  const std::uint32_t kind = random.below(is_float(type) ? 3 : 4);
  if (kind == 0) {
    std::vector<double> edges;
    for (std::uint32_t i = 0; i <= count; ++i) edges.push_back(draw_number(random, type));
    if (one_in(random, 4)) edges.front() = -infinity;
    if (one_in(random, 4)) edges.back() = infinity;
    std::ranges::sort(edges);
    // Some repeat.
    for (std::size_t i = 1; i < edges.size(); ++i) {
      if (one_in(random, 10)) edges[i] = edges[i - 1];
    }
    return HistogramBins::between(std::move(edges));
  }
  if (kind == 1) return HistogramBins::edges_on_device(count);
  if (kind == 3) {
    const Limits limits = limits_of(type);
    const double first = std::clamp(std::floor(draw_number(random, type)), limits.least, limits.greatest);
    return HistogramBins::integers(count, static_cast<std::int64_t>(one_in(random, 3) ? limits.least : first),
                                   one_in(random, 3) ? 0 : random.below(32));
  }
  for (;;) {
    const double lower = draw_number(random, type);
    const double upper = one_in(random, 4) ? lower + count : draw_number(random, type);
    const double largest = std::max(std::fabs(lower), std::fabs(upper));
    if (lower < upper && largest <= std::numeric_limits<float>::max()) return HistogramBins::even(count, lower, upper);
  }
}

// Edges of a buffer, as numbers of the samples' kind; f16 samples have f32 edges.
std::vector<double> draw_device_edges(Random& random, SampleType type, std::uint32_t count) {
  const SampleType stored = is_float(type) ? SampleType::f32 : type == SampleType::i32 ? type : SampleType::u32;
  std::vector<double> edges;
  for (std::uint32_t i = 0; i <= count; ++i) {
    edges.push_back(number_of(stored, bits_of(stored, draw_number(random, type))));
  }
  std::ranges::sort(edges);
  return edges;
}

// Anything, or at an edge and beside it.
std::vector<std::uint32_t> draw_samples(Random& random, SampleType type, std::size_t count,
                                        const std::vector<double>& edges, std::string& text) {
  const std::uint32_t mask = bytes_of(type) == 4 ? ~0u : (1u << (8 * bytes_of(type))) - 1;
  const std::uint32_t distribution = random.below(4);
  text += distribution == 0   ? " random"
          : distribution == 1 ? " equal"
          : distribution == 2 ? " at edges"
                              : " of all sorts";
  const auto at_edge = [&] {
    const std::uint32_t bits = bits_of(type, pick(random, edges));
    return (bits + random.below(3) - 1) & mask;  // neighbours of an f32 or f16 are those of its bits
  };
  std::vector<std::uint32_t> samples(count);
  const std::uint32_t equal = one_in(random, 2) ? at_edge() : random.next32() & mask;
  for (std::uint32_t& sample : samples) {
    switch (distribution == 3 ? random.below(4) : distribution) {
      case 0: sample = random.next32() & mask; break;
      case 1: sample = equal; break;
      case 2: sample = at_edge(); break;
      default: sample = bits_of(type, draw_number(random, type)) & mask; break;
    }
  }
  return samples;
}

Bytes packed(SampleType type, const std::vector<std::uint32_t>& samples) {
  Bytes bytes;
  for (const std::uint32_t sample : samples) {
    for (std::uint32_t b = 0; b < bytes_of(type); ++b) bytes.push_back(static_cast<std::byte>(sample >> (8 * b)));
  }
  return bytes;
}

std::int64_t units_of(float weight, std::uint32_t fraction_bits) {
  const double units = std::round(std::ldexp(double{weight}, static_cast<int>(fraction_bits)));
  if (std::isnan(units)) return 0;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return units >= 0x1p63 ? most : units <= -0x1p63 ? -most : static_cast<std::int64_t>(units);
}

// Sums of so many stay far below 2^63 units.
float draw_weight(Random& random, std::uint32_t fraction_bits) {
  if (one_in(random, 40)) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = static_cast<int>(random.below(48)) - 3 - static_cast<int>(fraction_bits);
  return std::ldexp(random.between_minus_one_and_one(), exponent);
}

}  // namespace

std::optional<std::string> run_histogram(Case& current) {
  Random& random = current.random;
  current.text = "histogram";
  current.choose_device();
  HistogramShape shape{.sample = pick(random, current.palette.samples)};
  auto tuning = pick(random, current.palette.histograms);
  if (one_in(random, 3)) shape.channels = 1 + random.below(4);
  if (one_in(random, 2)) shape.channel_mask = random.below(1u << shape.channels);
  const std::uint32_t channels =
      shape.channel_mask == 0 ? shape.channels : static_cast<std::uint32_t>(std::popcount(shape.channel_mask));
  const std::vector<std::uint32_t> bin_counts{1, 2, 3, 7, 8, 16, 17, 24, 25, 100, 257, 1000, 4097};
  const std::uint32_t bins = pick(random, bin_counts);
  shape.bins = draw_bins(random, shape.sample, bins);
  shape.accumulate = one_in(random, 3);
  if (one_in(random, 3)) shape.weights = one_in(random, 2) ? HistogramWeights::words : HistogramWeights::floats;
  shape.fraction_bits = one_in(random, 2) ? 24 : random.below(63);
  const std::uint32_t cells = bins * channels;
  const bool is_fixed = shape.weights == HistogramWeights::floats;
  if (tuning && tuning->path == HistogramPath::registers && (cells > 16 || shape.weights != HistogramWeights::none)) {
    tuning->path = HistogramPath::automatic;
  }

  const HistogramTuning used = tuning ? *tuning : select_histogram_tuning(shape, current.context.traits());
  const std::uint32_t tile =
      used.workgroup_size * used.units_per_thread * (used.use_vectors ? 4 : 1) * 4 / bytes_of(shape.sample);
  std::uint32_t count = draw_count(
      random, {used.workgroup_size, tile, tile * std::min(used.max_workgroups, 50u), used.one_workgroup_samples, 4, 16},
      6000);
  count = count / shape.channels;
  std::optional<std::uint32_t> device_count;
  if (one_in(random, 4)) device_count = draw_device_count(random, count);
  shape.item_count = {count, device_count.has_value()};
  if (one_in(random, 5)) {
    // Inputs are read window by window; what cannot be must fit.
    DeviceTraits traits = current.context.traits();
    traits.max_binding_bytes = std::max(1000 + random.below(3000), cells * 8 + bins * 4 + 300);
    current.text += std::format(", bindings of {} bytes", traits.max_binding_bytes);
    current.context.override_traits(traits);
  }
  current.text += std::format(", {} x {} {}", count, shape.channels, to_string(shape.sample));

  const bool has_device_edges = shape.bins.kind == HistogramBins::Kind::edges_on_device;
  std::vector<double> device_edges;
  if (has_device_edges) device_edges = draw_device_edges(random, shape.sample, bins);
  const std::vector<double> edges = reference::edges_of(shape.bins, shape.sample, device_edges);
  const auto samples = draw_samples(random, shape.sample, std::size_t{count} * shape.channels, edges, current.text);
  const char* kinds[] = {"even", "given", "given on the device", "integer"};
  current.text += std::format(", {} {} bins", bins, kinds[static_cast<std::size_t>(shape.bins.kind)]);
  if (shape.bins.kind == HistogramBins::Kind::even) {
    current.text += std::format(" from {} to {}", shape.bins.lower, shape.bins.upper);
  } else if (shape.bins.kind == HistogramBins::Kind::integers) {
    current.text += std::format(" from {} shift {}", shape.bins.first, shape.bins.shift);
  } else if (bins < 10) {
    for (const double edge : edges) current.text += std::format(" {}", edge);
  }
  current.text += std::format(", mask {}{}{}{}, {}", shape.channel_mask,
                              is_fixed ? std::format(", float weights of {} bits", shape.fraction_bits)
                              : shape.weights == HistogramWeights::words ? ", weights"
                                                                         : "",
                              shape.accumulate ? ", accumulated" : "",
                              device_count ? std::format(", {} on the device", *device_count) : "",
                              tuning ? to_string(*tuning) : "tuning of the library");

  std::vector<double> numbers;
  for (const std::uint32_t sample : samples) numbers.push_back(number_of(shape.sample, sample));
  std::vector<std::uint32_t> weights;
  std::vector<std::uint32_t> before(cells, 0x4d4d4d4d);
  if (shape.accumulate) {
    for (std::uint32_t& word : before) {
      word = is_fixed ? std::bit_cast<std::uint32_t>(random.between_minus_one_and_one()) : random.next32();
    }
  }
  std::vector<std::uint32_t> after(cells, 0);
  const std::uint64_t used_count = std::min(count, device_count.value_or(count));
  if (is_fixed) {
    std::vector<std::int64_t> units;
    for (std::uint32_t i = 0; i < count; ++i) {
      const float weight = draw_weight(random, shape.fraction_bits);
      weights.push_back(std::bit_cast<std::uint32_t>(weight));
      units.push_back(units_of(weight, shape.fraction_bits));
    }
    if (!units.empty() && one_in(random, 20)) {
      std::ranges::fill(weights, 0u);
      std::ranges::fill(units, 0);
      const float huge = one_in(random, 2) ? -HUGE_VALF : HUGE_VALF;
      weights.front() = std::bit_cast<std::uint32_t>(huge);
      units.front() = units_of(huge, shape.fraction_bits);
    }
    std::vector<std::int64_t> sums(cells, 0);
    reference::add_samples(sums, shape, numbers, edges, units, count == 0 ? 0 : used_count);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float sum = std::ldexp(static_cast<float>(sums[i]), -static_cast<int>(shape.fraction_bits));
      after[i] = std::bit_cast<std::uint32_t>(shape.accumulate ? std::bit_cast<float>(before[i]) + sum : sum);
    }
  } else {
    if (shape.weights == HistogramWeights::words) {
      for (std::uint32_t i = 0; i < count; ++i) weights.push_back(random.next32());
    }
    reference::add_samples(after, shape, numbers, edges, weights, used_count);
    for (std::size_t i = 0; i < after.size() && shape.accumulate; ++i) after[i] += before[i];
  }

  Arrays arrays = current.new_arrays();
  const auto input = arrays.add("input", packed(shape.sample, samples), bytes_of(shape.sample), current.draw_first());
  const auto weight_array = arrays.add("weights", fuzz::bytes_of(weights), 4, current.draw_first());
  std::vector<std::uint32_t> edge_words;
  const SampleType stored = is_float(shape.sample)            ? SampleType::f32
                            : shape.sample == SampleType::i32 ? SampleType::i32
                                                              : SampleType::u32;
  for (const double edge : device_edges) edge_words.push_back(bits_of(stored, edge));
  const auto edge_array = arrays.add("edges", fuzz::bytes_of(edge_words), 4, current.draw_first());
  const auto item_count =
      arrays.add("item_count", fuzz::bytes_of(std::vector{device_count.value_or(0)}), 4, current.draw_first());
  const auto output = arrays.add("output", fuzz::bytes_of(before), 4, current.draw_first());
  arrays.expect(output, fuzz::bytes_of(after));
  if (const Status created = arrays.create(current.context); !created) return created.error().message;

  HistogramBuffers buffers{.input = arrays.view(input), .output = arrays.view(output)};
  if (shape.weights != HistogramWeights::none) buffers.weights = arrays.view(weight_array);
  if (has_device_edges) buffers.edges = arrays.view(edge_array);
  if (device_count) buffers.item_count = arrays.view(item_count);
  return run_and_compare(current, arrays, !shape.accumulate, [&](RecordTarget target) {
    return record_histogram(current.context, target, shape, buffers, tuning);
  });
}

}  // namespace upsweep::fuzz
