// SPDX-License-Identifier: Apache-2.0
#include "upsweep/sort.h"

#include <optional>

#include "arrays.h"
#include "benchmarking/bench_plans.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/sort_ladder.h"
#include "benchmarking/sorted_check.h"

namespace upsweep::web {
namespace {

using KeyCheck = bench::SortedCheck<std::uint32_t, std::uint32_t (*)(std::uint32_t)>;

// Keys of u32.
class SortLadder : public Ladder {
 public:
  [[nodiscard]] std::string_view unit() const override { return "Mkeys/s"; }

  [[nodiscard]] std::vector<LadderStep> steps() const override {
    std::vector<LadderStep> all{cpu_step("CPU, std::sort on one thread")};
    all.push_back({.id = "cpu_threads",
                   .title = "CPU, std::stable_sort on all threads",
                   .on_cpu = true,
                   .refusal = "The module of this page has one thread; `upsweep bench --ladder sort` runs this step."});
    add_steps(all, bench::sort_steps);
    all.push_back(library_step());
    return all;
  }

  LadderSize set_size(std::uint64_t item_count) override {
    if (item_count != item_count_) items_.clear();
    item_count_ = item_count;
    return {.item_count = item_count, .output_bytes = item_count * 4, .bytes_moved = item_count * 8};
  }

  [[nodiscard]] Result<LadderWork> work(std::string_view step, const DeviceTraits& traits) override {
    auto work = array_work(plan_step(step, traits), bench::plan_fill(item_count_, bench::InputKind::words, traits),
                           item_count_ * 4, item_count_ * 4);
    if (work) work->run.arguments = {{"keys", "input"}, {"sorted_keys", std::string(output_name)}};
    return work;
  }

  void run_on_cpu(std::uint32_t repeats) override {
    if (items_.empty()) items_ = hashed_items(item_count_);
    // The copy that each run begins with is a small part of it.
    for (std::uint32_t i = 0; i < repeats; ++i) {
      sorted_ = items_;
      bench::cpu_sort(sorted_);
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> cpu_result() const override { return sorted_; }

  void begin_check() override {
    check_.emplace(item_count_, 0, [](std::uint32_t i) { return bench::input_hash(i); });
  }
  void check(std::span<const std::uint32_t> words) override { check_->take(words, {}); }
  [[nodiscard]] bench::Verdict end_check() override { return {.correct = check_->is_right()}; }

 private:
  [[nodiscard]] Result<Plan> plan_step(std::string_view name, const DeviceTraits& traits) const {
    const SortShape shape{.item_count = Count::on_host(item_count_), .key = ElementType::u32()};
    for (const bench::SortStep step : bench::sort_steps) {
      if (name != bench::step_name(step)) continue;
      const SortTuning tuning = bench::sort_step_tuning(step, shape, traits);
      if (step == bench::SortStep::one_sweep && !has_look_back(traits)) return no_look_back();
      if (step == bench::SortStep::ballots && !traits.subgroups) {
        return fail(ErrorKind::unsupported, "The device has no subgroups.");
      }
      return plan_sort(shape, traits, tuning);
    }
    return plan_sort(shape, traits);
  }

  std::uint64_t item_count_ = 0;
  std::vector<std::uint32_t> items_;
  std::vector<std::uint32_t> sorted_;
  std::optional<KeyCheck> check_;
};

}  // namespace

std::unique_ptr<Ladder> sort_ladder() { return std::make_unique<SortLadder>(); }

}  // namespace upsweep::web
