// SPDX-License-Identifier: Apache-2.0
// Kernels of histograms: every two properties meet; samples, bins and where they are counted all with each other.
#include <format>

#include "combinations.h"
#include "kernel_cases.h"
#include "upsweep/histogram.h"

namespace upsweep {
namespace {

struct HistogramCase {
  HistogramShape shape{.item_count = Count::on_host(100'000), .bins = HistogramBins::even(100, -1, 1)};
  HistogramTuning tuning{};
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
};

bool is_float(SampleType type) { return type == SampleType::f16 || type == SampleType::f32; }

bool is_possible(const HistogramCase& c) {
  const HistogramShape& shape = c.shape;
  if (shape.bins.kind == HistogramBins::Kind::integers && is_float(shape.sample)) return false;
  const std::uint32_t channels = shape.channel_mask == 0 ? shape.channels : 2;
  return c.tuning.path != HistogramPath::registers ||
         (shape.weights == HistogramWeights::none && shape.bins.count * channels <= 16);
}

Factor<HistogramCase> sample_factor() {
  Factor<HistogramCase> samples;
  for (const SampleType type :
       {SampleType::f32, SampleType::u8, SampleType::u16, SampleType::u32, SampleType::i32, SampleType::f16}) {
    samples.push_back({to_string(type), [type](HistogramCase& c) { c.shape.sample = type; }});
  }
  return samples;
}

Factor<HistogramCase> bin_factor() {
  const auto bins = [](const char* name, const HistogramBins& wanted) {
    return Level<HistogramCase>{name, [wanted](HistogramCase& c) { c.shape.bins = wanted; }};
  };
  return {bins("even", HistogramBins::even(100, -1, 1)),
          bins("few even", HistogramBins::even(3, -1, 1)),
          bins("five even", HistogramBins::even(5, -1, 1.5)),
          bins("many even", HistogramBins::even(1 << 22, -1, 1)),
          bins("edges", HistogramBins::between({-1, 0, 0.25, 7})),
          bins("edges in a buffer", HistogramBins::edges_on_device(3)),
          bins("integers", HistogramBins::integers(200, 0, 1))};
}

Factor<HistogramCase> path_factor() {
  Factor<HistogramCase> paths;
  for (const HistogramPath path :
       {HistogramPath::automatic, HistogramPath::registers, HistogramPath::workgroup, HistogramPath::cache}) {
    paths.push_back({to_string(path), [path](HistogramCase& c) { c.tuning.path = path; }});
  }
  return paths;
}

Factor<HistogramCase> weight_factor() {
  const auto weights = [](const char* name, HistogramWeights wanted) {
    return Level<HistogramCase>{name, [wanted](HistogramCase& c) { c.shape.weights = wanted; }};
  };
  return {weights("", HistogramWeights::none), weights("weights of u32", HistogramWeights::words),
          weights("weights of f32", HistogramWeights::floats)};
}

Factor<HistogramCase> channel_factor() {
  const auto channels = [](const char* name, std::uint32_t count, std::uint32_t mask) {
    return Level<HistogramCase>{name, [count, mask](HistogramCase& c) {
                                  c.shape.channels = count;
                                  c.shape.channel_mask = mask;
                                }};
  };
  return {channels("", 1, 0), channels("two channels", 2, 0), channels("two of four channels", 4, 10)};
}

Factor<HistogramCase> device_factor() {
  Factor<HistogramCase> devices;
  for (const NamedTraits& named : all_traits()) {
    devices.push_back({named.name, [traits = named.traits](HistogramCase& c) { c.traits = traits; }});
  }
  return devices;
}

Level<HistogramCase> change(const char* name, std::function<void(HistogramCase&)> set) {
  return {name, std::move(set)};
}

}  // namespace

void add_histogram_kernels(KernelSink& sink) {
  const auto use = [&](const HistogramCase& c, const std::string& name) {
    sink.add("histogram: " + name, plan_histogram(c.shape, c.traits, c.tuning));
  };
  const Factor<HistogramCase> counts{
      {"", [](HistogramCase&) {}},
      {"count on the device", [](HistogramCase& c) { c.shape.item_count = Count::on_device(100'000); }},
      {"one workgroup", [](HistogramCase& c) { c.shape.item_count = Count::on_host(1000); }},
      {"no items", [](HistogramCase& c) { c.shape.item_count = Count::on_host(0); }}};
  const Factor<HistogramCase> results{{"", [](HistogramCase&) {}},
                                      change("accumulated", [](HistogramCase& c) { c.shape.accumulate = true; })};
  const Factor<HistogramCase> tunings{{"", [](HistogramCase&) {}},
                                      change("words", [](HistogramCase& c) { c.tuning.use_vectors = false; }),
                                      change("one copy, one load",
                                             [](HistogramCase& c) {
                                               c.tuning.copies = 1;
                                               c.tuning.units_per_thread = 1;
                                             }),
                                      change("tiny", [](HistogramCase& c) {
                                        c.tuning.workgroup_size = 4;
                                        c.tuning.window_bins = 24;
                                        c.tuning.cache_slots = 8;
                                      })};
  for_each_case<HistogramCase>({sample_factor(), bin_factor(), path_factor(), weight_factor(), channel_factor(),
                                device_factor(), counts, results, tunings},
                               choose_pairs, is_possible, use);
  for_each_case<HistogramCase>({sample_factor(), bin_factor(), path_factor()}, choose_all, is_possible, use);
  for_each_case<HistogramCase>({path_factor(), weight_factor(), channel_factor(), results}, choose_all, is_possible,
                               use);
  HistogramCase with_weights;
  with_weights.shape.weights = HistogramWeights::words;
  with_weights.tuning.path = HistogramPath::registers;
  with_weights.shape.bins.count = 4;
  sink.expect_refused("histogram: weights in registers",
                      plan_histogram(with_weights.shape, with_weights.traits, with_weights.tuning));
}

}  // namespace upsweep
