// SPDX-License-Identifier: Apache-2.0
// One run of the benchmark: buffers, harness, rates, progress, and the steps that every measurement goes through.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarking/bench.h"
#include "benchmarking/harness.h"
#include "benchmarking/input.h"
#include "benchmarking/rates.h"
#include "benchmarking/report.h"

namespace upsweep::bench {

// Says what begins, when nothing has been said for more than a second.
class Progress {
 public:
  explicit Progress(std::ostream& out) : out_(out) {}
  void begin(const std::string& what);

 private:
  std::ostream& out_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Work at one size. The recorder holds on to the plan.
struct Work {
  std::shared_ptr<const Plan> plan;
  Recorder record;
};

// What work at one size must leave.
struct Expectation {
  // Overwritten before each run that is checked, so that the answer of an earlier one cannot pass.
  std::vector<BufferView> outputs;
  std::function<Result<Verdict>()> check;
  std::uint64_t bytes_moved = 0;  // that any implementation must move
  std::uint64_t flops = 0;        // where the work is counted in them
  std::string detail = {};        // of the input, for tables
  bool is_one_size = false;       // no smaller size can be made

  void describe(Measurement& row) const;
};

class Session {
 public:
  // `word_counts` are those of the inputs to come; the buffers are made for them.
  static Result<std::unique_ptr<Session>> open(Context& context, const BenchOptions& options,
                                               const std::vector<std::uint64_t>& word_counts, std::ostream& progress);

  // Makes the whole input buffer the shared input of a type, if it is not yet. u64 items are u32 items two by two.
  Status fill_input(Scalar scalar);

  // A buffer of exactly so many words, kept until drop_buffers() or until another size is wanted.
  Result<BufferView> buffer(std::string_view label, std::uint64_t word_count);
  Status fill_runs(const BufferView& view, const Runs& runs);
  // Runs a plan that writes argument `output`, and waits.
  Status run_once(const Plan& plan, const BufferView& output);
  void drop_buffers();

  // Prepares, times and checks the work at row.item_count, and fills the row. `make` plans it at any size, up to which
  // the buffers reach.
  Status measure(Measurement& row, const std::function<Result<Work>(std::uint64_t)>& make, const Expectation& expected,
                 bool with_amortised);

  // Whether inputs of so many words have room.
  [[nodiscard]] bool fits(std::uint64_t word_count) const { return word_count <= input_words_; }
  [[nodiscard]] Context& context() const { return context_; }
  [[nodiscard]] const BenchOptions& options() const { return options_; }
  [[nodiscard]] BufferView input() const { return input_.get(); }
  [[nodiscard]] Report& report() { return report_; }
  [[nodiscard]] Progress& progress() { return progress_; }

 private:
  Session(Context& context, const BenchOptions& options, std::ostream& progress)
      : context_(context), options_(options), progress_(progress) {}
  Status make_buffers(const std::vector<std::uint64_t>& word_counts);
  Status measure_rates();
  void describe();
  // Whether one run is expected to take longer than anybody would wait for; CPU adapters only.
  // `pilot`: the size to try first.
  Result<bool> takes_too_long(std::uint64_t item_count, std::uint64_t pilot,
                              const std::function<Result<Work>(std::uint64_t)>& make);
  Result<bool> run_and_check(const Recorder& record, const Expectation& expected, Measurement& row);

  Context& context_;
  const BenchOptions& options_;
  Progress progress_;
  Report report_;
  std::unique_ptr<Harness> harness_;
  BufferHandle input_;
  BufferHandle copy_to_;
  struct Buffer {
    BufferHandle handle;
    std::uint64_t word_count = 0;
  };
  std::map<std::string, Buffer, std::less<>> buffers_;
  std::uint64_t input_words_ = 0;
  std::uint64_t copy_words_ = 0;
  std::uint64_t read_words_ = 0;
  std::optional<InputKind> filled_;
};

}  // namespace upsweep::bench
