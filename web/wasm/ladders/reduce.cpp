// SPDX-License-Identifier: Apache-2.0
#include "upsweep/reduce.h"

#include "arrays.h"
#include "benchmarking/bench_plans.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/reduce_ladder.h"

namespace upsweep::web {
namespace {

class ReduceLadder : public Ladder {
 public:
  [[nodiscard]] std::string_view unit() const override { return "GB/s"; }

  [[nodiscard]] std::vector<LadderStep> steps() const override {
    std::vector<LadderStep> all{cpu_step("CPU, one thread")};
    add_steps(all, bench::reduce_steps);
    all.push_back(library_step());
    return all;
  }

  LadderSize set_size(std::uint64_t item_count) override {
    if (item_count != item_count_) items_.clear();
    item_count_ = item_count;
    return {.item_count = item_count, .output_bytes = 4, .bytes_moved = item_count * 4};
  }

  [[nodiscard]] Result<LadderWork> work(std::string_view step, const DeviceTraits& traits) override {
    return array_work(plan_step(step, traits), bench::plan_fill(item_count_, bench::InputKind::words, traits),
                      item_count_ * 4, 4);
  }

  void run_on_cpu(std::uint32_t repeats) override {
    if (items_.empty()) items_ = hashed_items(item_count_);
    for (std::uint32_t i = 0; i < repeats; ++i) sum_ = bench::cpu_sum(items_);
  }
  [[nodiscard]] std::span<const std::uint32_t> cpu_result() const override { return {&sum_, 1}; }

  void begin_check() override {
    expected_.advance(item_count_);
    verdict_ = {};
  }
  void check(std::span<const std::uint32_t> words) override { verdict_ = expected_.check(words[0]); }
  [[nodiscard]] bench::Verdict end_check() override { return verdict_; }

 private:
  [[nodiscard]] Result<Plan> plan_step(std::string_view name, const DeviceTraits& traits) const {
    for (const bench::ReduceStep step : bench::reduce_steps) {
      if (name == bench::step_name(step)) {
        return bench::plan_reduce_step(step, ElementType::u32(), item_count_, traits);
      }
    }
    return plan_reduce({.item_count = Count::on_host(item_count_), .input = ElementType::u32()}, traits);
  }

  std::uint64_t item_count_ = 0;
  std::vector<std::uint32_t> items_;
  std::uint32_t sum_ = 0;
  bench::RunningReference expected_ = *bench::RunningReference::create(BinaryOperator::sum(), ElementType::u32());
  bench::Verdict verdict_;
};

}  // namespace

std::unique_ptr<Ladder> reduce_ladder() { return std::make_unique<ReduceLadder>(); }

}  // namespace upsweep::web
