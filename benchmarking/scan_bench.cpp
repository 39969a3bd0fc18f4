// SPDX-License-Identifier: Apache-2.0
#include "upsweep/scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <optional>

#include "benchmarking/bench_families.h"
#include "benchmarking/expected.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/scan_ladder.h"
#include "benchmarking/tuning.h"
#include "plan/grid.h"

namespace upsweep::bench {
namespace {

struct ScanOperation {
  std::string_view name;
  ScanKind kind = ScanKind::exclusive;
  bool by_key = false;
  bool is_usual = true;
};
constexpr std::array scan_operations{
    ScanOperation{.name = "exclusive_sum", .kind = ScanKind::exclusive},
    ScanOperation{.name = "inclusive_sum", .kind = ScanKind::inclusive, .is_usual = false},
    ScanOperation{.name = "inclusive_sum_by_key", .kind = ScanKind::inclusive, .by_key = true},
};

class ScanBench : public LibraryBench {
 public:
  ScanBench(const ScanOperation& operation, ElementType type, std::vector<std::string> tuning)
      : LibraryBench("scan", std::string(operation.name), std::move(type)),
        kind_(operation.kind),
        by_key_(operation.by_key),
        tuning_(std::move(tuning)) {}

  Status prepare(Session& session, std::uint64_t most_items) override {
    if (const Status ok = session.fill_input(*type().scalar); !ok) return ok;
    // The ladder moves whole 16-byte units.
    const auto output = session.buffer("output", std::max<std::uint64_t>(align_up(words_of(most_items), 4), 4));
    if (!output) return std::unexpected(output.error());
    output_ = *output;
    if (!by_key_ || most_items == 0) return {};
    const auto keys = session.buffer("keys", most_items);
    if (!keys) return std::unexpected(keys.error());
    keys_ = *keys;
    return session.fill_runs(keys_, {.item_count = most_items});
  }

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    return make_on_path(session, item_count, std::nullopt);
  }

  Result<Work> make_on_path(Session& session, std::uint64_t item_count, std::optional<ScanPath> path) const {
    ScanShape shape{.item_count = Count::on_host(item_count), .input = type(), .combine = BinaryOperator::sum()};
    shape.kind = kind_;
    if (by_key_) shape.segments = ScanSegments::keys(ElementType::u32());
    const DeviceTraits& traits = session.context().traits();
    std::optional<ScanTuning> tuning;
    if (!tuning_.empty() || path) {
      tuning = select_scan_tuning(shape, traits);
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
      if (path) tuning->path = *path;
    }
    auto plan = plan_scan(shape, traits, tuning);
    if (!plan) return std::unexpected(plan.error());
    // Through the public call, with its look-up of the plan: that is what a caller pays for.
    const ScanBuffers buffers{.input = session.input(), .output = output_, .keys = by_key_ ? keys_ : BufferView()};
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_scan(session.context(), pass, shape, buffers, tuning);
                }};
  }

  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    const std::uint64_t word_count = words_of(item_count);
    const ExpectedWords sums{
        .view = output_, .word_count = word_count, .source = source(), .is_float = type() == ElementType::f32()};
    return Expectation{.outputs = {BufferView(output_.buffer, 0, word_count * 4)},
                       .check = [&session, sums] { return check_words(session.context(), sums); },
                       .bytes_moved = 2 * word_count * 4 + (by_key_ ? item_count * 4 : 0)};
  }

  [[nodiscard]] WordSource source() const {
    return by_key_ ? expected_sums_by_key(kind_) : expected_sums(kind_, *type().scalar);
  }
  [[nodiscard]] const BufferView& output() const { return output_; }

 private:
  ScanKind kind_;
  bool by_key_;
  std::vector<std::string> tuning_;
  BufferView output_;
  BufferView keys_;
};

class ScanLadder : public Ladder {
 public:
  explicit ScanLadder(std::unique_ptr<ScanBench> bench)
      : Ladder(std::move(bench)), bench_(&static_cast<ScanBench&>(library())) {}

  [[nodiscard]] std::string_view cpu_title() const override {
    return bench_->type() == ElementType::f32() ? "CPU, one thread (adds in double)" : "CPU, one thread";
  }

  void measure_cpu(Measurement& row) const override {
    std::vector<std::uint32_t> words(row.item_count);
    if (bench_->type() == ElementType::f32()) {
      std::vector<float> items(row.item_count);
      std::vector<float> sums(row.item_count);
      for (std::uint64_t i = 0; i < items.size(); ++i) items[i] = input_float(static_cast<std::uint32_t>(i));
      row.call = time_on_host([&] { cpu_exclusive_sum(items, sums); });
      for (std::uint64_t i = 0; i < sums.size(); ++i) words[i] = std::bit_cast<std::uint32_t>(sums[i]);
    } else {
      std::vector<std::uint32_t> items(row.item_count);
      for (std::uint64_t i = 0; i < items.size(); ++i) items[i] = input_hash(static_cast<std::uint32_t>(i));
      row.call = time_on_host([&] { cpu_exclusive_sum(items, words); });
    }
    const Verdict verdict = check_words(words, bench_->source(), bench_->type() == ElementType::f32());
    row.correct = verdict.correct;
    row.relative_error = verdict.relative_error;
  }

  [[nodiscard]] std::vector<LadderStep> steps(Session& session) const override {
    std::vector<LadderStep> all;
    all.reserve(scan_steps.size() + 3);
    for (const ScanStep step : scan_steps) {
      all.push_back(
          {.name = step_name(step),
           .title = step_title(step),
           .make = [this, &session, step](std::uint64_t item_count) { return make(session, step, item_count); }});
    }
    const auto library = [&](std::string_view name, std::string_view title, std::optional<ScanPath> path) {
      all.push_back({.name = name, .title = title, .make = [this, &session, path](std::uint64_t item_count) {
                       return bench_->make_on_path(session, item_count, path);
                     }});
    };
    for (const LibraryScan& scan : library_scans) library(scan.name, scan.title, scan.path);
    library(library_step, library_title, std::nullopt);
    return all;
  }

 private:
  Result<Work> make(Session& session, ScanStep step, std::uint64_t item_count) const {
    auto plan = plan_scan_step(step, bench_->type(), item_count, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    auto shared = std::make_shared<const Plan>(std::move(*plan));
    return Work{shared, [&session, shared, output = bench_->output()](WGPUComputePassEncoder pass) {
                  const std::array arguments{Argument{"input", session.input()}, Argument{"output", output}};
                  return session.context().record(pass, *shared, arguments);
                }};
  }

  ScanBench* bench_;
};

Result<std::vector<std::unique_ptr<ScanBench>>> make_scan_benches(const BenchRequest& request, bool for_ladder) {
  ScanTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  std::vector<std::unique_ptr<ScanBench>> benches;
  std::string known;
  for (const ScanOperation& operation : scan_operations) {
    if (for_ladder && operation.name != "exclusive_sum") continue;
    std::vector<ElementType> types{ElementType::u32()};
    if (!operation.by_key) types.push_back(ElementType::f32());
    if (!operation.by_key && !for_ladder) types.push_back(ElementType::u64());
    for (const ElementType& type : types) {
      known += std::format("{}{} of {}", known.empty() ? "" : ", ", operation.name, type.name);
      const bool is_wanted = request.operation.empty() ? operation.is_usual : request.operation == operation.name;
      const bool is_usual_type = !for_ladder || type == ElementType::u32();
      const bool has_type = request.types.empty() ? is_usual_type : std::ranges::contains(request.types, type);
      if (is_wanted && has_type) benches.push_back(std::make_unique<ScanBench>(operation, type, request.tuning));
    }
  }
  if (benches.empty()) {
    return fail(ErrorKind::invalid_request,
                std::format("The {} of scan shows {}, and nothing else.", for_ladder ? "ladder" : "benchmark", known));
  }
  return benches;
}

}  // namespace

Result<LibraryBenches> scan_benches(const BenchRequest& request) {
  auto made = make_scan_benches(request, false);
  if (!made) return std::unexpected(made.error());
  return LibraryBenches(std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
}

Result<Ladders> scan_ladders(const BenchRequest& request) {
  auto made = make_scan_benches(request, true);
  if (!made) return std::unexpected(made.error());
  Ladders ladders;
  for (std::unique_ptr<ScanBench>& bench : *made) ladders.push_back(std::make_unique<ScanLadder>(std::move(bench)));
  return ladders;
}

}  // namespace upsweep::bench
