// SPDX-License-Identifier: Apache-2.0
// Primitives whose output is shorter than their input: select, and those of runs.
#include <algorithm>
#include <charconv>
#include <format>
#include <optional>

#include "benchmarking/bench_families.h"
#include "benchmarking/expected.h"
#include "benchmarking/tuning.h"
#include "upsweep/runs.h"
#include "upsweep/select.h"

namespace upsweep::bench {
namespace {

class CompactBench : public LibraryBench {
 public:
  // `run_items`: the mean length of the runs that keys lie in.
  CompactBench(std::string primitive, std::string operation, std::uint32_t run_items, std::vector<std::string> tuning,
               ElementType type)
      : LibraryBench(std::move(primitive), std::move(operation), std::move(type)),
        run_items_(run_items),
        tuning_(std::move(tuning)) {}

 protected:
  // Fills the inputs and makes buffers for up to `most_items` results and their number.
  Status prepare_buffers(Session& session, std::uint64_t most_items, bool with_keys, bool with_second_output) {
    if (const Status ok = session.fill_input(*type().scalar); !ok) return ok;
    const std::uint64_t words = std::max<std::uint64_t>(most_items, 1);
    struct Wanted {
      BufferView& view;
      std::string_view label;
      std::uint64_t word_count;
      bool is_wanted;
    };
    for (const Wanted& wanted :
         {Wanted{views_.keys, "keys", words, with_keys}, Wanted{views_.output, "output", words, true},
          Wanted{views_.second_output, "second output", words, with_second_output},
          Wanted{views_.count, "count", 1, true}}) {
      if (!wanted.is_wanted) continue;
      const auto made = session.buffer(wanted.label, wanted.word_count);
      if (!made) return std::unexpected(made.error());
      wanted.view = *made;
    }
    return with_keys ? session.fill_runs(views_.keys, runs(words)) : Status{};
  }

  [[nodiscard]] Runs runs(std::uint64_t item_count) const { return {.item_count = item_count, .mean = run_items_}; }

  template <typename Shape>
  [[nodiscard]] Result<std::optional<ScanTuning>> tuning(const Shape& shape, const DeviceTraits& traits) const {
    if (tuning_.empty()) return std::nullopt;
    ScanTuning changed = select_scan_tuning(shape, traits);
    if (const Status ok = change_tuning(changed, tuning_); !ok) return std::unexpected(ok.error());
    return changed;
  }

  // `plan` and `record` are those of a primitive: plan_x() and record_x().
  template <typename Shape, typename Buffers>
  Result<Work> make_work(Session& session, const Shape& shape, const Buffers& buffers, auto plan, auto record) const {
    const DeviceTraits& traits = session.context().traits();
    const auto wanted = tuning(shape, traits);
    if (!wanted) return std::unexpected(wanted.error());
    auto made = plan(shape, traits, *wanted, ScanOffsets{});
    if (!made) return std::unexpected(made.error());
    return Work{std::make_shared<const Plan>(std::move(*made)),
                [&session, shape, buffers, record, tuning = *wanted](WGPUComputePassEncoder pass) {
                  return record(session.context(), pass, shape, buffers, tuning);
                }};
  }

  // `result_count` results in each of the outputs. Outputs are overwritten from end to end.
  [[nodiscard]] Expectation make_expectation(Session& session, std::uint64_t item_count, std::uint64_t result_count,
                                             WordSource first, std::optional<WordSource> second,
                                             std::uint64_t input_words) const {
    std::vector<ExpectedWords> all{{.view = views_.output, .word_count = result_count, .source = std::move(first)},
                                   {.view = views_.count, .word_count = 1, .source = expected_word(result_count)}};
    const std::uint64_t output_words = second ? 2 : 1;
    if (second) {
      all.push_back({.view = views_.second_output,
                     .word_count = result_count,
                     .source = std::move(*second),
                     .is_float = type() == ElementType::f32()});
    }
    Expectation expected;
    for (const ExpectedWords& words : all) {
      const bool is_count = words.view == views_.count;
      expected.outputs.emplace_back(words.view.buffer, 0, is_count ? 4 : item_count * 4);
    }
    expected.check = [&session, all]() -> Result<Verdict> {
      Verdict verdict{.correct = true};
      for (const ExpectedWords& words : all) {
        const auto found = check_words(session.context(), words);
        if (!found) return std::unexpected(found.error());
        verdict = both(verdict, *found);
      }
      return verdict;
    };
    expected.bytes_moved = 4 * (input_words * item_count + output_words * result_count + 1);
    return expected;
  }

  struct Views {
    BufferView keys;
    BufferView output;
    BufferView second_output;
    BufferView count;
  };
  [[nodiscard]] const Views& views() const { return views_; }

 private:
  Views views_;
  std::uint32_t run_items_;
  std::vector<std::string> tuning_;
};

class SelectBench : public CompactBench {
 public:
  static constexpr std::string_view name = "select";
  static constexpr std::string_view usual_operation = "lower_half";
  static constexpr std::string_view runs_prefix = {};
  using CompactBench::CompactBench;

  Status prepare(Session& session, std::uint64_t most_items) override {
    return prepare_buffers(session, most_items, false, false);
  }
  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const SelectShape shape{.item_count = Count::on_host(item_count),
                            .input = ElementType::u32(),
                            .predicate = Predicate::of("x < 0x80000000u")};
    const SelectBuffers buffers{.input = session.input(), .output = views().output, .count = views().count};
    return make_work(session, shape, buffers, plan_select, record_select);
  }
  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    return make_expectation(session, item_count, count_selected(item_count), expected_selected(), std::nullopt, 1);
  }
};

class UniqueBench : public CompactBench {
 public:
  static constexpr std::string_view name = "unique";
  static constexpr std::string_view usual_operation = "runs_of_4";
  static constexpr std::string_view runs_prefix = "runs_of_";
  using CompactBench::CompactBench;

  Status prepare(Session& session, std::uint64_t most_items) override {
    return prepare_buffers(session, most_items, true, false);
  }
  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const UniqueShape shape{.item_count = Count::on_host(item_count), .input = ElementType::u32()};
    const UniqueBuffers buffers{.input = views().keys, .output = views().output, .count = views().count};
    return make_work(session, shape, buffers, plan_unique, record_unique);
  }
  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    return make_expectation(session, item_count, count_runs(runs(item_count)), expected_run_keys(runs(item_count)),
                            std::nullopt, 1);
  }
};

class RunLengthBench : public CompactBench {
 public:
  static constexpr std::string_view name = "run_length";
  static constexpr std::string_view usual_operation = "runs_of_4";
  static constexpr std::string_view runs_prefix = "runs_of_";
  using CompactBench::CompactBench;

  Status prepare(Session& session, std::uint64_t most_items) override {
    return prepare_buffers(session, most_items, true, true);
  }
  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const RunLengthShape shape{.item_count = Count::on_host(item_count), .input = ElementType::u32()};
    const RunLengthBuffers buffers{
        .input = views().keys, .values = views().output, .lengths = views().second_output, .count = views().count};
    return make_work(session, shape, buffers, plan_run_length, record_run_length);
  }
  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    return make_expectation(session, item_count, count_runs(runs(item_count)), expected_run_keys(runs(item_count)),
                            expected_run_lengths(runs(item_count)), 1);
  }
};

class ReduceByKeyBench : public CompactBench {
 public:
  static constexpr std::string_view name = "reduce_by_key";
  static constexpr std::string_view usual_operation = "sum";  // keys in runs of 4
  static constexpr std::string_view runs_prefix = "sum_in_runs_of_";
  using CompactBench::CompactBench;

  Status prepare(Session& session, std::uint64_t most_items) override {
    return prepare_buffers(session, most_items, true, true);
  }
  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const ReduceByKeyShape shape{.item_count = Count::on_host(item_count),
                                 .key = ElementType::u32(),
                                 .input = type(),
                                 .combine = BinaryOperator::sum()};
    const ReduceByKeyBuffers buffers{.keys = views().keys,
                                     .input = session.input(),
                                     .unique_keys = views().output,
                                     .output = views().second_output,
                                     .count = views().count};
    return make_work(session, shape, buffers, plan_reduce_by_key, record_reduce_by_key);
  }
  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    return make_expectation(session, item_count, count_runs(runs(item_count)), expected_run_keys(runs(item_count)),
                            expected_run_sums(runs(item_count), *type().scalar), 2);
  }
};

// The mean length of the runs of an operation: "runs_of_4".
template <typename Bench>
std::optional<std::uint32_t> parse_run_items(std::string_view operation) {
  if (operation == Bench::usual_operation) return usual_run_items;
  if (Bench::runs_prefix.empty() || !operation.starts_with(Bench::runs_prefix)) return std::nullopt;
  operation.remove_prefix(Bench::runs_prefix.size());
  std::uint32_t items = 0;
  const auto [end, error] = std::from_chars(operation.data(), operation.data() + operation.size(), items);
  if (error != std::errc() || end != operation.data() + operation.size() || items < 1 || items > most_run_items)
    return std::nullopt;
  return items;
}

// Each of them has one operation, with runs of any length if there are any, on u32 unless other types are asked for.
template <typename Bench>
Result<LibraryBenches> only_bench(const BenchRequest& request,
                                  const std::vector<ElementType>& types = {ElementType::u32()}) {
  ScanTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  const std::string operation = request.operation.empty() ? std::string(Bench::usual_operation) : request.operation;
  const std::optional<std::uint32_t> run_items = parse_run_items<Bench>(operation);
  LibraryBenches benches;
  for (const ElementType& type : types) {
    const bool is_wanted =
        request.types.empty() ? type == ElementType::u32() : std::ranges::contains(request.types, type);
    if (!run_items || !is_wanted) continue;
    benches.push_back(std::make_unique<Bench>(std::string(Bench::name), operation, *run_items, request.tuning, type));
  }
  if (benches.empty()) {
    std::string names;
    for (const ElementType& type : types) names += std::format("{}{}", names.empty() ? "" : " and ", type.name);
    const std::string runs = Bench::runs_prefix.empty()
                                 ? std::string()
                                 : std::format(" and {}N, where N is 1 to {},", Bench::runs_prefix, most_run_items);
    return fail(ErrorKind::invalid_request, std::format("The benchmark of {} shows {}{} of {}, and nothing else.",
                                                        Bench::name, Bench::usual_operation, runs, names));
  }
  return benches;
}

}  // namespace

Result<LibraryBenches> select_benches(const BenchRequest& request) { return only_bench<SelectBench>(request); }
Result<LibraryBenches> unique_benches(const BenchRequest& request) { return only_bench<UniqueBench>(request); }
Result<LibraryBenches> run_length_benches(const BenchRequest& request) { return only_bench<RunLengthBench>(request); }
Result<LibraryBenches> reduce_by_key_benches(const BenchRequest& request) {
  return only_bench<ReduceByKeyBench>(request, {ElementType::u32(), ElementType::f32()});
}

}  // namespace upsweep::bench
