// SPDX-License-Identifier: Apache-2.0
#include "upsweep/scan.h"

#include "arrays.h"
#include "benchmarking/bench_plans.h"
#include "benchmarking/expected.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/scan_ladder.h"

namespace upsweep::web {
namespace {

// Exclusive sums of u32.
class ScanLadder : public Ladder {
 public:
  [[nodiscard]] std::string_view unit() const override { return "GB/s"; }

  [[nodiscard]] std::vector<LadderStep> steps() const override {
    std::vector<LadderStep> all{cpu_step("CPU, one thread")};
    add_steps(all, bench::scan_steps);
    for (const bench::LibraryScan& scan : bench::library_scans) {
      all.push_back({.id = std::string(scan.name), .title = std::string(scan.title)});
    }
    all.push_back(library_step());
    return all;
  }

  LadderSize set_size(std::uint64_t item_count) override {
    if (item_count != item_count_) items_.clear();
    item_count_ = item_count;
    return {.item_count = item_count, .output_bytes = item_count * 4, .bytes_moved = item_count * 8};
  }

  [[nodiscard]] Result<LadderWork> work(std::string_view step, const DeviceTraits& traits) override {
    return array_work(plan_step(step, traits), bench::plan_fill(item_count_, bench::InputKind::words, traits),
                      item_count_ * 4, item_count_ * 4);
  }

  void run_on_cpu(std::uint32_t repeats) override {
    if (items_.empty()) items_ = hashed_items(item_count_);
    sums_.resize(items_.size());
    for (std::uint32_t i = 0; i < repeats; ++i) bench::cpu_exclusive_sum(items_, sums_);
  }
  [[nodiscard]] std::span<const std::uint32_t> cpu_result() const override { return sums_; }

  void begin_check() override {
    expected_ = bench::expected_sums(ScanKind::exclusive, Scalar::u32);
    verdict_ = {.correct = true};
  }
  void check(std::span<const std::uint32_t> words) override {
    verdict_ = bench::both(verdict_, bench::check_next(words, expected_, false));
  }
  [[nodiscard]] bench::Verdict end_check() override { return verdict_; }

 private:
  [[nodiscard]] Result<Plan> plan_step(std::string_view name, const DeviceTraits& traits) const {
    for (const bench::ScanStep step : bench::scan_steps) {
      if (name == bench::step_name(step)) {
        return bench::plan_scan_step(step, ElementType::u32(), item_count_, traits);
      }
    }
    const ScanShape shape{
        .item_count = Count::on_host(item_count_), .input = ElementType::u32(), .kind = ScanKind::exclusive};
    for (const bench::LibraryScan& scan : bench::library_scans) {
      if (name != scan.name) continue;
      if (scan.path == ScanPath::single_pass && !has_look_back(traits)) return no_look_back();
      ScanTuning tuning = select_scan_tuning(shape, traits);
      tuning.path = scan.path;
      return plan_scan(shape, traits, tuning);
    }
    return plan_scan(shape, traits);
  }

  std::uint64_t item_count_ = 0;
  std::vector<std::uint32_t> items_;
  std::vector<std::uint32_t> sums_;
  bench::WordSource expected_;
  bench::Verdict verdict_;
};

}  // namespace

std::unique_ptr<Ladder> scan_ladder() { return std::make_unique<ScanLadder>(); }

}  // namespace upsweep::web
