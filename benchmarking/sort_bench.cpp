// SPDX-License-Identifier: Apache-2.0
#include "upsweep/sort.h"

#include <algorithm>
#include <array>
#include <format>
#include <thread>

#include "benchmarking/bench_families.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/sort_ladder.h"
#include "benchmarking/sorted_bench.h"
#include "benchmarking/tuning.h"

namespace upsweep::bench {
namespace {

struct SortOperation {
  std::string_view name;
  bool has_values = false;
  std::uint64_t segment_items = 0;  // on average; 0: one sort of all
};
constexpr std::array sort_operations{
    SortOperation{.name = "keys"},
    SortOperation{.name = "pairs", .has_values = true},
    SortOperation{.name = "segments_of_4", .segment_items = 4},
    SortOperation{.name = "segments_of_16", .segment_items = 16},
    SortOperation{.name = "segments_of_40", .segment_items = 40},
    SortOperation{.name = "segments_of_1000", .segment_items = 1000},
    SortOperation{.name = "segments_of_100000", .segment_items = 100'000},
    SortOperation{.name = "pairs_in_segments_of_16", .has_values = true, .segment_items = 16},
    SortOperation{.name = "pairs_in_segments_of_1000", .has_values = true, .segment_items = 1000},
};

class SortBench : public SortedBench {
 public:
  SortBench(const SortOperation& operation, ElementType type, std::vector<std::string> tuning)
      : SortedBench("sort", std::string(operation.name), std::move(type), operation.has_values,
                    operation.segment_items),
        tuning_(std::move(tuning)) {}

  Status prepare(Session& session, std::uint64_t most_items) override {
    if (const Status ok = SortedBench::prepare(session, most_items); !ok) return ok;
    if (segment_items() == 0) return {};
    const std::uint64_t most = std::max<std::uint64_t>(most_items, 1);
    // They depend on the number of items at their end alone, where they are cut off.
    const std::uint64_t offset_count = most / segment_items() + 2;
    const auto offsets = session.buffer("offsets", offset_count);
    if (!offsets) return std::unexpected(offsets.error());
    offsets_ = *offsets;
    std::vector<std::uint32_t> words;
    words.reserve(offset_count);
    for (std::uint64_t s = 0; s < offset_count; ++s) {
      words.push_back(static_cast<std::uint32_t>(segment_begin(s, segment_items(), most)));
    }
    if (const Status ok = session.context().write(offsets_, std::as_bytes(std::span(words))); !ok) return ok;
    return {};
  }

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const SortShape shape = shape_of(item_count);
    std::optional<SortTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_sort_tuning(shape, session.context().traits());
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    return make_with(session, item_count, tuning);
  }

  [[nodiscard]] SortShape shape_of(std::uint64_t item_count) const {
    SortShape shape{.item_count = Count::on_host(item_count), .key = type()};
    if (has_values()) shape.value = ElementType::u32();
    if (segment_items() != 0) shape.segment_count = Count::on_host(item_count / segment_items() + 1);
    return shape;
  }

  Result<Work> make_with(Session& session, std::uint64_t item_count, std::optional<SortTuning> tuning) const {
    const SortShape shape = shape_of(item_count);
    auto plan = plan_sort(shape, session.context().traits(), tuning);
    if (!plan) return std::unexpected(plan.error());
    SortBuffers buffers{.keys = session.input(), .sorted_keys = sorted_keys()};
    if (has_values()) {
      buffers.values = values();
      buffers.sorted_values = sorted_values();
    }
    if (segment_items() != 0) {
      buffers.segment_begins = offsets_;
      buffers.segment_ends = BufferView(offsets_.buffer, offsets_.offset_bytes + 4);
    }
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_sort(session.context(), pass, shape, buffers, tuning);
                }};
  }

 private:
  std::vector<std::string> tuning_;
  BufferView offsets_;
};

class SortLadder : public Ladder {
 public:
  explicit SortLadder(std::unique_ptr<SortBench> bench)
      : Ladder(std::move(bench)), bench_(&static_cast<SortBench&>(library())) {}

  [[nodiscard]] std::string_view cpu_title() const override { return "CPU, std::sort on one thread"; }

  void measure_cpu(Measurement& row) const override {
    measure_on_host(row, [](std::vector<std::uint32_t>& items) { cpu_sort(items); });
  }

  [[nodiscard]] std::vector<CpuStep> more_cpu_steps() const override {
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    return {{"cpu_threads", std::format("CPU, std::stable_sort on {} threads", threads), [this, threads](auto& row) {
               std::vector<std::uint32_t> spare(row.item_count);
               measure_on_host(row, [&](std::vector<std::uint32_t>& items) { cpu_stable_sort(items, spare, threads); });
             }}};
  }

  [[nodiscard]] std::vector<LadderStep> steps(Session& session) const override {
    std::vector<LadderStep> all;
    all.reserve(sort_steps.size() + 1);
    for (const SortStep step : sort_steps) {
      all.push_back({.name = step_name(step),
                     .title = step_title(step),
                     .make = [this, &session, step](std::uint64_t item_count) {
                       const DeviceTraits& traits = session.context().traits();
                       return bench_->make_with(session, item_count,
                                                sort_step_tuning(step, bench_->shape_of(item_count), traits));
                     }});
    }
    all.push_back({.name = library_step, .title = library_title, .make = [this, &session](std::uint64_t item_count) {
                     return bench_->make_with(session, item_count, std::nullopt);
                   }});
    return all;
  }

 private:
  template <typename Sort>
  void measure_on_host(Measurement& row, Sort sort) const {
    const Scalar scalar = *bench_->type().scalar;
    std::vector<std::uint32_t> words(row.item_count);
    std::uint64_t wanted = 0;
    for (std::uint64_t i = 0; i < words.size(); ++i) {
      words[i] = input_bits(static_cast<std::uint32_t>(i), scalar);
      wanted += mixed(words[i]);
    }
    std::vector<std::uint32_t> sorted;
    // The copy that each run begins with is a small part of it.
    row.call = time_on_host([&] {
      sorted = words;
      sort(sorted);
    });
    std::uint64_t sum = 0;
    for (const std::uint32_t word : sorted) sum += mixed(word);
    row.correct = std::ranges::is_sorted(sorted) && sorted.size() == words.size() && sum == wanted;
  }

  SortBench* bench_;
};

Result<std::vector<std::unique_ptr<SortBench>>> make_sort_benches(const BenchRequest& request, bool for_ladder) {
  SortTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  std::vector<std::unique_ptr<SortBench>> benches;
  std::string known;
  for (const SortOperation& operation : sort_operations) {
    if (for_ladder && (operation.has_values || operation.segment_items != 0)) continue;
    std::vector<ElementType> types{ElementType::u32(), ElementType::f32()};
    if (operation.segment_items != 0) types = {ElementType::u32()};
    if (!for_ladder && operation.segment_items == 0) types.push_back(ElementType::u64());
    for (const ElementType& type : types) {
      known += std::format("{}{} of {}", known.empty() ? "" : ", ", operation.name, type.name);
      const bool is_wanted = request.operation.empty() || request.operation == operation.name;
      const bool has_type =
          request.types.empty() ? type == ElementType::u32() : std::ranges::contains(request.types, type);
      if (is_wanted && has_type) benches.push_back(std::make_unique<SortBench>(operation, type, request.tuning));
    }
  }
  if (benches.empty()) {
    return fail(ErrorKind::invalid_request,
                std::format("The {} of sort shows {}, and nothing else.", for_ladder ? "ladder" : "benchmark", known));
  }
  return benches;
}

}  // namespace

Result<LibraryBenches> sort_benches(const BenchRequest& request) {
  auto made = make_sort_benches(request, false);
  if (!made) return std::unexpected(made.error());
  return LibraryBenches(std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
}

Result<Ladders> sort_ladders(const BenchRequest& request) {
  auto made = make_sort_benches(request, true);
  if (!made) return std::unexpected(made.error());
  Ladders ladders;
  for (std::unique_ptr<SortBench>& bench : *made) ladders.push_back(std::make_unique<SortLadder>(std::move(bench)));
  return ladders;
}

}  // namespace upsweep::bench
