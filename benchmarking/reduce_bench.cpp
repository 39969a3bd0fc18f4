// SPDX-License-Identifier: Apache-2.0
#include "upsweep/reduce.h"

#include <array>
#include <cstring>
#include <format>
#include <optional>

#include "benchmarking/bench_families.h"
#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/reduce_ladder.h"
#include "benchmarking/tuning.h"

namespace upsweep::bench {
namespace {

class ReduceBench : public LibraryBench {
 public:
  ReduceBench(BinaryOperator combine, ElementType type, const RunningReference& expected,
              std::vector<std::string> tuning)
      : LibraryBench("reduce", to_string(combine), std::move(type)),
        combine_(std::move(combine)),
        expected_(expected),
        tuning_(std::move(tuning)) {}

  Status prepare(Session& session, std::uint64_t) override {
    if (const Status ok = session.fill_input(*type().scalar); !ok) return ok;
    const auto output = session.buffer("output", 1);
    if (!output) return std::unexpected(output.error());
    output_ = *output;
    return {};
  }

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const ReduceShape shape{.item_count = Count::on_host(item_count), .input = type(), .combine = combine_};
    const DeviceTraits& traits = session.context().traits();
    std::optional<ReduceTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_reduce_tuning(shape, traits);
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    auto plan = plan_reduce(shape, traits, tuning);
    if (!plan) return std::unexpected(plan.error());
    // Through the public call, with its look-up of the plan: that is what a caller pays for.
    const ReduceBuffers buffers{.input = session.input(), .output = output_};
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_reduce(session.context(), pass, shape, buffers, tuning);
                }};
  }

  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    expected_.advance(item_count);
    const auto check = [this, &session]() -> Result<Verdict> {
      const auto bytes = session.context().read(output_, 4);
      if (!bytes) return std::unexpected(bytes.error());
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes->data(), 4);
      return expected_.check(bits);
    };
    return Expectation{.outputs = {output_}, .check = check, .bytes_moved = item_count * 4};
  }

  [[nodiscard]] const BufferView& output() const { return output_; }
  // Of the last size that was expected.
  [[nodiscard]] Verdict check(std::uint32_t result_bits) const { return expected_.check(result_bits); }

 private:
  BinaryOperator combine_;
  RunningReference expected_;
  std::vector<std::string> tuning_;
  BufferView output_;
};

class ReduceLadder : public Ladder {
 public:
  explicit ReduceLadder(std::unique_ptr<ReduceBench> bench)
      : Ladder(std::move(bench)), bench_(&static_cast<ReduceBench&>(library())) {}

  [[nodiscard]] std::string_view cpu_title() const override {
    return bench_->type() == ElementType::f32() ? "CPU, one thread (adds in double)" : "CPU, one thread";
  }

  void measure_cpu(Measurement& row) const override {
    volatile std::uint32_t result = 0;
    if (bench_->type() == ElementType::f32()) {
      std::vector<float> items(row.item_count);
      for (std::uint64_t i = 0; i < items.size(); ++i) items[i] = input_float(static_cast<std::uint32_t>(i));
      row.call = time_on_host([&] { result = std::bit_cast<std::uint32_t>(static_cast<float>(cpu_sum(items))); });
    } else {
      std::vector<std::uint32_t> items(row.item_count);
      for (std::uint64_t i = 0; i < items.size(); ++i) items[i] = input_hash(static_cast<std::uint32_t>(i));
      row.call = time_on_host([&] { result = cpu_sum(items); });
    }
    const Verdict verdict = bench_->check(result);
    row.correct = verdict.correct;
    row.relative_error = verdict.relative_error;
  }

  [[nodiscard]] std::vector<LadderStep> steps(Session& session) const override {
    std::vector<LadderStep> all;
    for (const ReduceStep step : reduce_steps) {
      const bool needs_u32 = step == ReduceStep::atomic && bench_->type() != ElementType::u32();
      all.push_back(
          {.name = step_name(step),
           .title = step_title(step),
           .refusal = needs_u32 ? "needs u32" : "",
           .make = [this, &session, step](std::uint64_t item_count) { return make(session, step, item_count); }});
    }
    all.push_back({.name = library_step, .title = library_title, .make = [this, &session](std::uint64_t item_count) {
                     return bench_->make(session, item_count);
                   }});
    return all;
  }

 private:
  Result<Work> make(Session& session, ReduceStep step, std::uint64_t item_count) const {
    auto plan = plan_reduce_step(step, bench_->type(), item_count, session.context().traits());
    if (!plan) return std::unexpected(plan.error());
    auto shared = std::make_shared<const Plan>(std::move(*plan));
    return Work{shared, [&session, shared, output = bench_->output()](WGPUComputePassEncoder pass) {
                  const std::array arguments{Argument{"input", session.input()}, Argument{"output", output}};
                  return session.context().record(pass, *shared, arguments);
                }};
  }

  ReduceBench* bench_;
};

Result<std::vector<std::unique_ptr<ReduceBench>>> make_reduce_benches(const BenchRequest& request,
                                                                      const std::vector<ElementType>& usual_types) {
  auto combine = operator_from_name(request.operation.empty() ? "sum" : request.operation);
  if (!combine) return std::unexpected(combine.error());
  ReduceTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  std::vector<std::unique_ptr<ReduceBench>> benches;
  for (const ElementType& type : request.types.empty() ? usual_types : request.types) {
    if (type == byte_type()) return refuse("The benchmark of reduce has no items of u8.");
    auto expected = RunningReference::create(*combine, type);
    if (!expected) return std::unexpected(expected.error());
    benches.push_back(std::make_unique<ReduceBench>(*combine, type, *expected, request.tuning));
  }
  return benches;
}

}  // namespace

Result<LibraryBenches> reduce_benches(const BenchRequest& request) {
  auto made = make_reduce_benches(request, {ElementType::u32(), ElementType::f32()});
  if (!made) return std::unexpected(made.error());
  return LibraryBenches(std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
}

Result<Ladders> reduce_ladders(const BenchRequest& request) {
  auto made = make_reduce_benches(request, {ElementType::u32()});
  if (!made) return std::unexpected(made.error());
  Ladders ladders;
  for (std::unique_ptr<ReduceBench>& bench : *made) {
    if (bench->operation() != "sum") {
      return refuse(std::format("The ladder of reduce shows sums, not {}.", bench->operation()));
    }
    if (bench->type() == ElementType::i32()) return refuse("The ladder of reduce shows u32 and f32, not i32.");
    ladders.push_back(std::make_unique<ReduceLadder>(std::move(bench)));
  }
  return ladders;
}

}  // namespace upsweep::bench
