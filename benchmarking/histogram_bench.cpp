// SPDX-License-Identifier: Apache-2.0
#include "upsweep/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <format>
#include <optional>

#include "benchmarking/bench_families.h"
#include "benchmarking/expected.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/histogram_ladder.h"
#include "benchmarking/tuning.h"

namespace upsweep::bench {
namespace {

// Even bins of so many samples: f32 in [0, 1), or the bytes of the words of the shared input.
struct HistogramOperation {
  std::uint32_t bin_count = 256;
  Samples samples = Samples::uniform;
};

// "even_256", "even_4096_skewed"; the number of bins is a power of two.
std::optional<HistogramOperation> parse_operation(std::string_view text) {
  constexpr std::string_view prefix = "even_";
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  HistogramOperation operation;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), operation.bin_count);
  if (error != std::errc() || !std::has_single_bit(operation.bin_count) || operation.bin_count > 1u << 24) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return operation;
  for (const Samples kind : sample_kinds) {
    if (kind == Samples::uniform || text != std::format("_{}", to_string(kind))) continue;
    operation.samples = kind;
    return operation;
  }
  return std::nullopt;
}

std::string name_of(const HistogramOperation& operation) {
  const std::string bins = std::format("even_{}", operation.bin_count);
  return operation.samples == Samples::uniform ? bins : std::format("{}_{}", bins, to_string(operation.samples));
}

class HistogramBench : public LibraryBench {
 public:
  HistogramBench(const HistogramOperation& operation, ElementType type, std::vector<std::string> tuning)
      : LibraryBench("histogram", name_of(operation), std::move(type)),
        operation_(operation),
        tuning_(std::move(tuning)) {}

  Status prepare(Session& session, std::uint64_t most_items) override {
    if (const Status ok = session.fill_input(is_bytes() ? Scalar::u32 : Scalar::f32); !ok) return ok;
    const auto output = session.buffer("output", operation_.bin_count);
    if (!output) return std::unexpected(output.error());
    output_ = *output;
    input_ = session.input();
    if (operation_.samples == Samples::uniform) return {};
    const auto samples = session.buffer("samples", std::max<std::uint64_t>(most_items, 1));
    if (!samples) return std::unexpected(samples.error());
    input_ = *samples;
    return {};
  }

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const HistogramShape shape{.item_count = Count::on_host(item_count),
                               .sample = is_bytes() ? SampleType::u8 : SampleType::f32,
                               .bins = HistogramBins::even(operation_.bin_count, 0, is_bytes() ? 256 : 1)};
    const DeviceTraits& traits = session.context().traits();
    std::optional<HistogramTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_histogram_tuning(shape, traits);
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    auto plan = plan_histogram(shape, traits, tuning);
    if (!plan) return std::unexpected(plan.error());
    // Through the public call, with its look-up of the plan: that is what a caller pays for.
    const HistogramBuffers buffers{.input = input_, .output = output_};
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_histogram(session.context(), pass, shape, buffers, tuning);
                }};
  }

  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    if (operation_.samples != Samples::uniform) {
      if (const Status ok = fill_samples(session, item_count); !ok) return std::unexpected(ok.error());
    }
    counts_ = count_on_host(item_count);
    return Expectation{.outputs = {output_},
                       .check = [this, &session]() -> Result<Verdict> {
                         const ExpectedWords words{.view = output_, .word_count = counts_.size(), .source = source()};
                         return check_words(session.context(), words);
                       },
                       .bytes_moved = item_count* type().stride_bytes + std::uint64_t{operation_.bin_count} * 4};
  }

  // Of the last size that was expected.
  [[nodiscard]] WordSource source() const {
    return [counts = counts_, next = std::size_t{0}](std::span<std::uint32_t> words) mutable {
      for (std::uint32_t& word : words) word = counts[next++];
    };
  }
  [[nodiscard]] const HistogramOperation& what() const { return operation_; }
  [[nodiscard]] const BufferView& output() const { return output_; }
  [[nodiscard]] const BufferView& input() const { return input_; }

 private:
  [[nodiscard]] bool is_bytes() const { return type().stride_bytes == 1; }

  [[nodiscard]] Status fill_samples(Session& session, std::uint64_t item_count) const {
    const auto plan = plan_samples(operation_.samples, item_count, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    return session.run_once(*plan, input_);
  }

  [[nodiscard]] std::vector<std::uint32_t> count_on_host(std::uint64_t item_count) const {
    if (!is_bytes()) return count_samples(operation_.samples, operation_.bin_count, item_count);
    std::vector<std::uint32_t> counts(operation_.bin_count);
    // Bins are as wide as a power of two, or narrower than 1.
    for (std::uint64_t i = 0; i < item_count; ++i) {
      const std::uint32_t byte = input_hash(static_cast<std::uint32_t>(i / 4)) >> (8 * (i % 4)) & 0xff;
      ++counts[static_cast<std::size_t>(std::uint64_t{byte} * operation_.bin_count / 256)];
    }
    return counts;
  }

  HistogramOperation operation_;
  std::vector<std::string> tuning_;
  std::vector<std::uint32_t> counts_;
  BufferView output_;
  BufferView input_;
};

class HistogramLadder : public Ladder {
 public:
  explicit HistogramLadder(std::unique_ptr<HistogramBench> bench)
      : Ladder(std::move(bench)), bench_(&static_cast<HistogramBench&>(library())) {}

  [[nodiscard]] std::string_view cpu_title() const override { return "CPU, one thread"; }

  void measure_cpu(Measurement& row) const override {
    std::vector<float> items(row.item_count);
    for (std::uint64_t i = 0; i < items.size(); ++i) {
      const std::uint32_t units = sample_units(bench_->what().samples, static_cast<std::uint32_t>(i), row.item_count);
      items[i] = static_cast<float>(units) * (1.0f / 16777216.0f);
    }
    std::vector<std::uint32_t> counts(bench_->what().bin_count);
    row.call = time_on_host([&] {
      std::ranges::fill(counts, 0u);
      cpu_histogram(items, counts);
    });
    row.correct = check_words(counts, bench_->source(), false).correct;
  }

  [[nodiscard]] std::vector<LadderStep> steps(Session& session) const override {
    std::vector<LadderStep> all;
    all.reserve(std::size(histogram_steps) + 1);
    for (const HistogramStep step : histogram_steps) {
      all.push_back(
          {.name = step_name(step),
           .title = step_title(step),
           .make = [this, &session, step](std::uint64_t item_count) { return make(session, step, item_count); }});
    }
    all.push_back({.name = library_step, .title = library_title, .make = [this, &session](std::uint64_t item_count) {
                     return bench_->make(session, item_count);
                   }});
    return all;
  }

 private:
  Result<Work> make(Session& session, HistogramStep step, std::uint64_t item_count) const {
    auto plan = plan_histogram_step(step, bench_->what().bin_count, item_count, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    auto shared = std::make_shared<const Plan>(std::move(*plan));
    return Work{shared,
                [&session, shared, input = bench_->input(), output = bench_->output()](WGPUComputePassEncoder pass) {
                  const std::array arguments{Argument{"input", input}, Argument{"output", output}};
                  return session.context().record(pass, *shared, arguments);
                }};
  }

  HistogramBench* bench_;
};

Result<std::vector<std::unique_ptr<HistogramBench>>> make_histogram_benches(
    const BenchRequest& request, std::vector<HistogramOperation> usual, const std::vector<ElementType>& usual_types) {
  HistogramTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  if (!request.operation.empty()) {
    const auto operation = parse_operation(request.operation);
    if (!operation) {
      return refuse(
          std::format("The benchmark of histogram has even_N and even_N_constant, _sorted or _skewed, where N "
                      "is a power of two, not {}.",
                      request.operation));
    }
    usual = {*operation};
  }
  std::vector<std::unique_ptr<HistogramBench>> benches;
  for (const ElementType& type : request.types.empty() ? usual_types : request.types) {
    if (type != ElementType::f32() && type != byte_type()) {
      return refuse(std::format("The benchmark of histogram has samples of f32 and u8, not of {}.", type.name));
    }
    for (const HistogramOperation& operation : usual) {
      if (type == byte_type() && operation.samples != Samples::uniform) {
        return refuse("The benchmark of histogram has u8 samples of one kind only: the bytes of the shared input.");
      }
      if (type == byte_type() && operation.bin_count > 256 && request.types.empty()) continue;
      benches.push_back(std::make_unique<HistogramBench>(operation, type, request.tuning));
    }
  }
  return benches;
}

}  // namespace

ElementType byte_type() {
  return {
      .name = "u8", .wgsl_type = "u32", .declaration = {}, .size_bytes = 1, .stride_bytes = 1, .scalar = Scalar::u32};
}

Result<LibraryBenches> histogram_benches(const BenchRequest& request) {
  const bool all_kinds = request.operation.empty() || !parse_operation(request.operation) ||
                         parse_operation(request.operation)->samples == Samples::uniform;
  const std::vector<ElementType> types =
      all_kinds ? std::vector{ElementType::f32(), byte_type()} : std::vector{ElementType::f32()};
  auto made = make_histogram_benches(request, {{.bin_count = 256}, {.bin_count = 4096}}, types);
  if (!made) return std::unexpected(made.error());
  return LibraryBenches(std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
}

Result<Ladders> histogram_ladders(const BenchRequest& request) {
  std::vector<HistogramOperation> usual;
  usual.reserve(std::size(sample_kinds));
  for (const Samples kind : sample_kinds) usual.push_back({.bin_count = 256, .samples = kind});
  auto made = make_histogram_benches(request, usual, {ElementType::f32()});
  if (!made) return std::unexpected(made.error());
  Ladders ladders;
  for (std::unique_ptr<HistogramBench>& bench : *made) {
    if (bench->type() != ElementType::f32()) return refuse("The ladder of histogram shows f32, not u8.");
    if (bench->what().bin_count < 4) return refuse("The ladder of histogram has at least 4 bins.");
    ladders.push_back(std::make_unique<HistogramLadder>(std::move(bench)));
  }
  return ladders;
}

}  // namespace upsweep::bench
