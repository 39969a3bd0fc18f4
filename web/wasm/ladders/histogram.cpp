// SPDX-License-Identifier: Apache-2.0
#include "upsweep/histogram.h"

#include <algorithm>

#include "arrays.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/histogram_ladder.h"

namespace upsweep::web {
namespace {

constexpr std::uint32_t bin_count = 256;
constexpr bench::Samples samples = bench::Samples::uniform;

// Even bins of f32 samples in [0, 1).
class HistogramLadder : public Ladder {
 public:
  [[nodiscard]] std::string_view unit() const override { return "GB/s"; }

  [[nodiscard]] std::vector<LadderStep> steps() const override {
    std::vector<LadderStep> all{cpu_step("CPU, one thread")};
    add_steps(all, bench::histogram_steps);
    all.push_back(library_step());
    return all;
  }

  LadderSize set_size(std::uint64_t item_count) override {
    if (item_count != item_count_) {
      items_.clear();
      expected_.clear();
    }
    item_count_ = item_count;
    return {.item_count = item_count,
            .output_bytes = std::uint64_t{bin_count} * 4,
            .bytes_moved = item_count * 4 + std::uint64_t{bin_count} * 4};
  }

  [[nodiscard]] Result<LadderWork> work(std::string_view step, const DeviceTraits& traits) override {
    return array_work(plan_step(step, traits), bench::plan_samples(samples, item_count_, traits), item_count_ * 4,
                      std::uint64_t{bin_count} * 4);
  }

  void run_on_cpu(std::uint32_t repeats) override {
    if (items_.empty()) {
      items_.resize(static_cast<std::size_t>(item_count_));
      for (std::size_t i = 0; i < items_.size(); ++i) {
        const std::uint32_t units = bench::sample_units(samples, static_cast<std::uint32_t>(i), item_count_);
        items_[i] = static_cast<float>(units) * (1.0f / 16777216.0f);
      }
    }
    counts_.resize(bin_count);
    for (std::uint32_t i = 0; i < repeats; ++i) {
      std::ranges::fill(counts_, 0u);
      bench::cpu_histogram(items_, counts_);
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> cpu_result() const override { return counts_; }

  void begin_check() override {
    if (expected_.empty()) expected_ = bench::count_samples(samples, bin_count, item_count_);
    got_.clear();
  }
  void check(std::span<const std::uint32_t> words) override { got_.append_range(words); }
  [[nodiscard]] bench::Verdict end_check() override { return {.correct = got_ == expected_}; }

 private:
  [[nodiscard]] Result<Plan> plan_step(std::string_view name, const DeviceTraits& traits) const {
    for (const bench::HistogramStep step : bench::histogram_steps) {
      if (name == bench::step_name(step)) return bench::plan_histogram_step(step, bin_count, item_count_, traits);
    }
    return plan_histogram({.item_count = Count::on_host(item_count_),
                           .sample = SampleType::f32,
                           .bins = HistogramBins::even(bin_count, 0, 1)},
                          traits);
  }

  std::uint64_t item_count_ = 0;
  std::vector<float> items_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> expected_;
  std::vector<std::uint32_t> got_;
};

}  // namespace

std::unique_ptr<Ladder> histogram_ladder() { return std::make_unique<HistogramLadder>(); }

}  // namespace upsweep::web
